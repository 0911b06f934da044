"""Commands that tell about the service and this installation: rules, guesses, health, the tour."""

import os
import platform
import stat
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from workbench.errors import UnusableFile, WorkbenchError, visible
from workbench.interface.assumptions import assumptions
from workbench.interface.fields import Confidence
from workbench.interface.operation import Operation
from workbench.interface.table import OPERATIONS, VERSION
from workbench.interface.walk import Member, leaves, rule_words
from workbench.rendering.screen import screen_of
from workbench.terminal.ends import DONE, PARTLY, wrong
from workbench.terminal.output import Output, show

_HOW = Output()


def demo(
    *,
    bodies: Annotated[Path | None, Parameter(help="A folder of request bodies and answers.")] = None,
    out: Annotated[Path | None, Parameter(help="Where the picture goes; the folder `out` here by default.")] = None,
) -> int:
    """Run the main job on a sandbox in this process, as a tour.

    What a folder given by --bodies lacks comes from the package: request bodies are named
    `<operation>.request.<variant>.json`, answers `<operation>.<status>.<variant>.json`, error bodies
    `error.<status>.<case>.json`.
    """
    from workbench.demo import tour

    tour(bodies=bodies, out=out)
    return DONE


def assumed(
    word: Annotated[str | None, Parameter(help="Only those that hold this word.")] = None,
    *,
    known: Annotated[str | None, Parameter(help=f"Only those known this well: {', '.join(Confidence)}.")] = None,
    how: Annotated[Output, Parameter(name="*")] = _HOW,
) -> int:
    """List every guess about the service, its reason, and where to change it."""
    if known is not None and known not in frozenset(Confidence):
        raise wrong(f"--known is one of: {', '.join(Confidence)}.")
    found = [
        one
        for one in assumptions()
        if (known is None or one.confidence == known)
        and (word is None or word.lower() in f"{one.id} {one.where} {one.value} {one.reason}".lower())
    ]
    show(found, how)
    return DONE


def docs(
    operation: Annotated[
        str | None, Parameter(help="The operation; all of them in a line each where left out.")
    ] = None,
    /,
) -> int:
    """Show the rules of an operation, each with its section and its marks. Needs no network."""
    screen = screen_of(sys.stdout)
    if operation is None:
        print(screen.fit("\n".join(f"{one.name:24} {one.source:14} {one.doc}" for one in OPERATIONS.values())))
        return DONE
    row = OPERATIONS.get(operation.replace("-", "_"))
    if row is None:
        raise wrong(f"There is no operation {visible(operation, 60)!r}; there are {', '.join(OPERATIONS)}.")
    print(screen.fit("\n".join(line.rstrip() for line in _page(row))))
    return DONE


def _page(row: Operation[..., object]) -> Iterator[str]:
    yield f"{row.name}    {row.method} {row.path}    (source: {row.source})"
    yield row.doc
    if row.assumed:
        yield f"~ assumed: {row.assumed}"
    if row.roles:
        yield f"The key needs the role {', '.join(sorted(row.roles))}."
    if row.sandbox_only:
        yield "In the sandbox only."
    yield ""
    yield "Takes"
    yield from _members(row.request) or ("  nothing",)
    for rule in getattr(row.request, "rules", ()):
        yield f"  {rule.doc}." + (f" ~ assumed: {rule.assumed}" if rule.assumed else "")
    yield ""
    yield f"Answers with {row.success}: {'a list of ' if row.many else ''}{row.answer.__name__}"
    yield from _members(row.answer)
    yield ""
    yield "Refused with"
    for failure in row.failures:
        mark = f"  ~ assumed: {failure.assumed}" if failure.assumed else ""
        yield f"  {failure.status} {failure.error}: {failure.message}, when {failure.when}{mark}"


def _members(cls: type[object]) -> list[str]:
    return [line for path, one in leaves(cls) for line in _member(path, one)]


def _member(path: str, one: Member) -> Iterator[str]:
    marks = [one.about.privacy.value] if one.about.privacy.value != "open" else []
    if one.required:
        marks.append("required")
    rule = rule_words(one)
    indent = "  " * (path.count(".") + 1)
    yield (
        f"{indent}{one.wire}  {one.about.doc}."
        + (f" Rule: {rule}." if rule else "")
        + (f" ({', '.join(marks)})" if marks else "")
    )
    if one.about.assumed:
        yield f"{indent}  ~ assumed ({one.about.confidence}): {one.about.assumed}"


def doctor() -> int:
    """Look at this installation and say what is wrong. Nothing is sent and nothing is changed."""
    screen = screen_of(sys.stdout)
    fine = True
    for good, words in _findings():
        fine = fine and good
        print(
            screen.fit(f"{screen.paint('✓', 'status:done') if good else screen.paint('✗', 'status:refused')} {words}")
        )
    return DONE if fine else PARTLY


def _findings() -> Iterator[tuple[bool, str]]:
    from workbench.client.settings import config_path, open_profile, profile_names
    from workbench.client.state import state_folder

    yield (
        True,
        f"workbench {version('card-issuing-workbench')}, interface {VERSION}, Python {platform.python_version()}",
    )
    for name in ("httpx", "cattrs", "pandas", "matplotlib", "IPython"):
        yield (find_spec(name) is not None), f"{name} {_version(name)}"
    for name in ("jupyterlab", "ipywidgets"):
        there = find_spec(name) is not None
        yield True, f"{name} {_version(name) if there else 'is not installed; notebooks need the extra `lab`'}"
    try:
        folder = state_folder()
        open_to = stat.S_IMODE(folder.stat().st_mode) & 0o077
        yield not open_to, f"state in {folder}" + (f"; others can look into it: chmod 700 {folder}" if open_to else "")
        if (folder / "sandbox.db").exists():
            from workbench.terminal.keeping import kept_sandbox

            try:
                with closing(kept_sandbox()) as sandbox:
                    yield True, f"sandbox kept there: {sandbox!r}"
            except UnusableFile as error:
                yield False, str(error)
    except WorkbenchError as error:
        yield False, str(error)
    path = config_path()
    yield from _config(path)
    for name in profile_names():
        try:
            profile = open_profile(name)
        except WorkbenchError as error:
            yield False, f"profile {name}: {error}"
        else:
            yield True, f"profile {name}: {profile.environment}, {profile.base_url or 'a sandbox of its own'}"
    if os.environ.get("SSLKEYLOGFILE"):
        yield False, "SSLKEYLOGFILE is set: TLS keys are being written to a file"


def _config(path: Path) -> Iterator[tuple[bool, str]]:
    if not path.exists():
        yield True, f"no profiles yet; they would stand in {path}"
        return
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        yield False, f"others can read {path}: chmod 600 {path}"
    if any((folder / ".git").exists() for folder in path.absolute().parents):
        yield False, f"{path} lies in a git checkout; a profile belongs to one person"
    if not mode & 0o077:
        yield True, f"profiles in {path}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "is not installed"
