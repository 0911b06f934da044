"""Target of a command: a sandbox (the user's, a class's, new or served), or the service of a profile."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from workbench.base.frozen import frozen
from workbench.base.schema.walk import Boolean, Choice, Member
from workbench.base.system.process import own_address
from workbench.client.calls.keys import state_folder
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.naming import operation_named, unknown_operation
from workbench.service.interface.table import OPERATIONS, Operation
from workbench.terminal.exits import Stopped, say, usage_error

if TYPE_CHECKING:
    from workbench.client.session import Session


def _whole(_: object, tokens: Any) -> int:
    if not re.fullmatch("[+-]?[0-9]+", tokens[0].value):  # cyclopts would round 1.5
        raise ValueError(f"{tokens[0].value!r} is not a whole number")
    return int(tokens[0].value)


Whole = Annotated[int, Parameter(converter=_whole)]
"""An integer option or argument."""
Text = Annotated[str, Parameter(metavar="TEXT")]
Name = Annotated[str, Parameter(metavar="NAME")]
Setting = Annotated[str, Parameter(metavar="NAME=VALUE")]
CommandLine = Annotated[str, Parameter(metavar="COMMAND")]
Url = Annotated[str, Parameter(metavar="URL")]
Uuid = Annotated[str, Parameter(metavar="UUID")]
Address = Annotated[str, Parameter(metavar="ADDRESS")]
Hex = Annotated[str, Parameter(metavar="HEX")]
Usd = Annotated[str, Parameter(metavar="USD")]
Units = Annotated[str, Parameter(metavar="INT")]
"""Text that help shows as `INT`: an amount in native units."""
Files = Annotated[Path, Parameter(required=True)]
"""One or more paths."""
Last = Annotated[Whole | None, Parameter(name=("--last", "-n"), help="Show only the last N.")]
MAX_ARMED_MINUTES = 60
_MAX_LISTED = 10  # maximum number of unknown calls to list when a command is interrupted


def read_duration(text: str) -> timedelta:
    """Return a duration such as `2d 3h` or `1h30m`.

    Raises:
        Exit: The text is not a duration.
    """
    from workbench.runs.sequences.sequence import duration

    try:
        return duration(text)
    except ValueError as error:
        raise usage_error(f"{text[:40]!a} {error}.") from None


def kept_path() -> Path:
    """Return the file with the user's sandbox, which commands share."""
    return state_folder() / "sandbox.db"


def complete_profiles(context: object) -> Iterable[str]:
    """Complete the name of a profile."""
    from workbench.client.calls.profiles import profile_names

    return profile_names()


@Parameter(name="*", group=Group("Where", sort_key=8))
@frozen(kw_only=True)
class Where:
    """Options for the target of a command.

    Attributes:
        profile: Use the service of this profile.
        url: Use the sandbox served at this URL.
        fresh: Use a new sandbox in memory, which is discarded afterwards.
        tenant: Use the key of this tenant of the sandbox.
        live: Confirm the use of a production profile.
    """

    profile: Annotated[str | None, Parameter(metavar="NAME", completer=complete_profiles)] = None
    url: Annotated[str | None, Parameter(metavar="URL")] = None
    fresh: bool = False
    tenant: Annotated[str | None, Parameter(metavar="NAME")] = None
    live: bool = False


def chosen_profile(where: Where) -> str | None:
    """Return the profile that an option or `WORKBENCH_PROFILE` selects."""
    if where.url or where.fresh:
        return where.profile
    return where.profile or os.environ.get("WORKBENCH_PROFILE")


@contextmanager
def session(where: Where) -> Iterator[Any]:
    """Yield a session on the target of a command.

    Raises:
        Exit: Options contradict each other, or a production profile was not confirmed.
    """
    from workbench.client.session import connect

    api = connect(**arguments_of(where))
    name = chosen_profile(where)
    if name and api.environment == "production" and not (where.url or where.fresh):
        _arm_if_allowed(api, name)
    try:
        yield api
    except (KeyboardInterrupt, Stopped):
        for entry in api.journal.unknown()[-_MAX_LISTED:]:
            say(str(entry))
        raise
    finally:
        api.close()


def arguments_of(where: Where) -> dict[str, Any]:
    """Return the arguments of `connect` for the target of a command.

    Raises:
        Exit: Options contradict each other, or a production profile was not confirmed.
    """
    chosen = [name for name in ("profile", "url", "fresh") if getattr(where, name)]
    if len(chosen) > 1:
        raise usage_error(f"--{chosen[0]} and --{chosen[1]} cannot be combined.")
    name = chosen_profile(where)
    if where.url:
        return {"where": where.url, "tenant": where.tenant}
    if where.fresh:
        return {"seed": 1, "tenant": where.tenant}
    if name is None and own_address() is not None:
        return {"tenant": where.tenant}
    if name is None:
        path = kept_path()
        return {"path": path, "tenant": where.tenant, "journal": path.with_name("journal-sandbox.db")}
    if where.tenant:
        raise usage_error("--tenant applies only to a sandbox; the key of a profile determines its tenant.")
    from workbench.client.calls.profiles import open_profile  # imported late, as a sandbox needs no profile

    profile = open_profile(name)
    if profile.environment == "production" and not where.live:
        raise usage_error(f"Profile {name} is a production service. Add --live to confirm.")
    return {"where": name}


def armed_path(profile: str) -> Path:
    """Return the file in which `workbench profiles arm` records its permission."""
    return state_folder() / f"armed-{profile}.json"


def _arm_if_allowed(api: "Session", profile: str) -> None:
    """Arm a session with the operations and expiry that `workbench profiles arm` permitted."""
    path = armed_path(profile)
    if not path.exists():
        return
    try:
        armed = json.loads(path.read_text(encoding="utf-8"))
        left = (datetime.fromisoformat(armed["until"]) - datetime.now(UTC)).total_seconds() / 60
        names, reason, host = armed["operations"], armed["reason"], armed["host"]
    except (ValueError, KeyError, TypeError):
        left = 0.0
    if not 0 < left <= MAX_ARMED_MINUTES or host != api.host:
        path.unlink(missing_ok=True)
        return
    api.arm(operations=names, minutes=left, reason=reason)


def complete_member(member: Member) -> Callable[[Any], Iterable[str]]:
    """Return a completer for a member's values: its choices, or true and false."""
    choices: list[str] = [*member.kind.of] if isinstance(member.kind, Choice) else []
    if isinstance(member.kind, Boolean):
        choices = ["true", "false"]
    return lambda context: choices


def complete_operations(context: object) -> Iterable[str]:
    """Complete the name of an operation."""
    return [name.replace("_", "-") for name in OPERATIONS]


def read_operation(text: str) -> Operation[..., Any]:
    """Return the operation that a text names.

    Raises:
        Exit: The text names no operation or several operations.
    """
    if (row := operation_named(text)) is None:
        raise usage_error(f"{unknown_operation(text)}.")
    return row


def complete_documented(context: object) -> Iterable[str]:
    """Complete the name of an operation or event kind."""
    return [*complete_operations(context), *EVENT_KINDS]
