"""Commands about the service and this installation: assumptions, rules and checks."""

import json
import os
import platform
import stat
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from workbench import __version__
from workbench.base.errors import WorkbenchError, unknown_name, visible
from workbench.base.schema.fields import Confidence
from workbench.client.calls.keys import state_folder, state_path
from workbench.client.calls.profiles import config_path, open_profile, profile_names
from workbench.client.session import connect
from workbench.service.interface.assumptions import assumptions
from workbench.service.interface.convert import converter, placeholders
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.examples import example
from workbench.service.interface.naming import operation_named
from workbench.service.interface.table import OPERATIONS, VERSION
from workbench.service.rendering.operations import event_blocks, operation_blocks
from workbench.service.rendering.text import screen_of, write
from workbench.terminal.binding import command
from workbench.terminal.commands import kebab
from workbench.terminal.exits import DONE, PARTLY, usage_error
from workbench.terminal.output import page
from workbench.terminal.where import complete_documented, complete_operations, kept_path, read_operation

_Confidence: Any = Literal[tuple(map(str, Confidence))]


@command
def list_assumptions(word: str = "", *, confidence: _Confidence | None = None) -> Any:
    """List the assumptions about the service, with the reason for each and where to change it.

    Args:
        word: Show only assumptions that contain this word.
        confidence: Show only assumptions with this confidence.
    """
    return [
        row
        for row in assumptions()
        if confidence in (None, row.confidence)
        and word.lower() in f"{row.id} {row.where} {row.value} {row.reason}".lower()
    ]


@command
def docs(*names: Annotated[str, Parameter(completer=complete_documented)]) -> None:
    """Show the rules of an operation or an event kind, with their sources and assumptions.

    Args:
        names: Operation, such as simulate-refund, or event kind, such as user.updated. Without a name, all are listed.
    """
    name = " ".join(names)
    operation = operation_named(name)
    if not name:
        rows = [(kebab(name), row.source, row.doc) for name, row in OPERATIONS.items()]
        rows += [(name, "Events", f"{kind.doc}.") for name, kind in EVENT_KINDS.items()]
        return print("\n".join(f"{name:24} {source:14} {doc}" for name, source, doc in rows))
    if operation is not None:
        head = f"{operation.name}: {operation.method} {operation.path}"
        blocks = operation_blocks(operation, converter())
    elif name in EVENT_KINDS:
        head, blocks = name, event_blocks(EVENT_KINDS[name], converter())
    else:
        known = [*map(kebab, OPERATIONS), *EVENT_KINDS]
        raise usage_error(str(unknown_name(name, known, "an operation or a kind of event")))
    width = screen_of(sys.stdout).width
    return page("\n\n".join([head, *(write(block, width) for block in blocks)]))


@command
def skeleton(operation: Annotated[str, Parameter(completer=complete_operations)], /) -> None:
    """Print an example body of an operation as JSON, for use with --from.

    Args:
        operation: Operation, such as create-user-application.
    """
    row = read_operation(operation)
    _, body = converter().write_request(row, example(row.request))
    body = {name: value for name, value in body.items() if name not in placeholders(row.path)}
    print(json.dumps(body, indent=2, default=str, ensure_ascii=False))


ENVIRONMENT = {
    "WORKBENCH_PROFILE": (
        "default profile of commands and sessions; arguments such as a seed override it and open an embedded sandbox"
    ),
    "WORKBENCH_API_KEY": "API key for profiles without a `WORKBENCH_NAME_API_KEY`",
    "WORKBENCH_NAME_API_KEY": "API key of the profile NAME (in capitals); takes precedence",
    "WORKBENCH_BASE_URL": "base URL instead of the profile's",
    "WORKBENCH_ENVIRONMENT": "environment of `WORKBENCH_BASE_URL`: sandbox or production",
    "WORKBENCH_WEBHOOK_KEY": "key that signs and verifies webhooks, if different from the API key",
    "WORKBENCH_SANDBOX_KEY": "full API key for a new sandbox of `workbench sandbox serve`",
    "WORKBENCH_READONLY": "1: no call with an effect is sent, except to a sandbox of the workbench",
    "WORKBENCH_CLASS": "URL of your sandbox in a class; notebooks and commands use this sandbox",
    "WORKBENCH_CLASS_CA": "certificate of a class server, if it is self-signed",
    "WORKBENCH_TRAINER_KEY": "key for the trainer's board, printed by the class server",
    "WORKBENCH_CONFIG": "path of the profiles file",
    "WORKBENCH_STATE": "folder for your sandbox, journals and inboxes, and the installation's secret",
    "WORKBENCH_TRACE": "1: commands print the traceback of an internal error",
    "NO_COLOR": "any value: disables colors",
    "PAGER": "program for output taller than the terminal; default `less`",
}
"""Environment variables and their purpose."""


@command
def config() -> Any:
    """Show this user's files, and for each environment variable its purpose and whether it is set.

    Values of environment variables are never shown.
    """
    state = {"name": "state", "set": str(state_path()), "meaning": "folder of the user's sandbox, journals and inboxes"}
    profiles = {"name": "profiles", "set": str(config_path()), "meaning": "file of the profiles"}
    variables = [
        {"name": name, "set": "yes" if os.environ.get(name) else "", "meaning": text}
        for name, text in ENVIRONMENT.items()
    ]
    return [profiles, state, *variables]


_EXTRAS = {"tables": "pandas", "server": "uvicorn", "lab": "ipywidgets"}
"""One library of each extra. The extra counts as installed if this library is installed."""


def check_installation() -> int:
    """Check this installation. Nothing is sent and nothing is changed."""
    paint = screen_of(sys.stdout).paint
    marks = {True: paint("✓", "status:done"), False: paint("✗", "status:refused"), None: paint("–", "muted")}
    findings = list(_findings())
    for good, text in findings:
        print(f"{marks[good]} {text}")
    return PARTLY if any(good is False for good, _ in findings) else DONE


def _findings() -> Iterator[tuple[bool | None, str]]:
    """Yield each finding with True (in order), False (a problem) or None (something optional is missing)."""
    yield True, f"workbench {__version__}, interface {VERSION}, Python {platform.python_version()}"
    for extra, library in _EXTRAS.items():
        is_there = find_spec(library) is not None
        yield is_there or None, f"extra {extra}{'' if is_there else ' is not installed'}"
    with connect(seed=1, public_webhooks=False) as api:  # a seed opens an embedded sandbox even in a class
        yield bool(api.list_contracts()), "an embedded sandbox answers a call"
    try:
        yield _private("state in", state_folder(), 700)
        if kept_path().exists():
            from workbench.sandbox import Sandbox

            with closing(Sandbox(path=kept_path())) as sandbox:
                yield True, f"sandbox: {sandbox!r}"
    except WorkbenchError as error:
        yield False, str(error)
    path = config_path()
    if path.exists():
        yield _private("profiles in", path, 600)
    else:
        yield None, f"no profiles yet; add them to {path}"
    for name in profile_names():
        try:
            profile = open_profile(name)
        except WorkbenchError as error:
            yield False, f"profile {name}: {error}"
        else:
            yield True, f"profile {name}: {profile.environment}, {profile.base_url or 'embedded sandbox'}"
    chosen = os.environ.get("WORKBENCH_PROFILE")
    if chosen and chosen not in profile_names():
        yield False, f"WORKBENCH_PROFILE names the profile {visible(chosen, 60)!r}, which does not exist"


def _private(what: str, path: Path, mode: int) -> tuple[bool, str]:
    private = not stat.S_IMODE(path.stat().st_mode) & 0o077
    return private, f"{what} {path}" + ("" if private else f"; readable by other users: chmod {mode} {path}")


@command
def agent() -> None:
    """Print documentation for coding agents (operations, events, rules and configuration) as a `SKILL.md`."""
    print(files("workbench.testing").joinpath("SKILL.md").read_text(encoding="utf-8"), end="")
