"""Effects in production from a prompt: never in one breath. `workbench arm` asks for a typed word, and lasts some minutes."""

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from cyclopts import Parameter

from workbench.client.guards import confirmation
from workbench.client.settings import open_profile
from workbench.client.state import state_folder
from workbench.errors import InvalidRequest, visible
from workbench.interface.operation import Operation
from workbench.interface.table import OPERATIONS
from workbench.terminal.ends import DONE, say, wrong

_LONGEST = 60


def arm(
    operations: Annotated[str, Parameter(help="Operations with an effect, separated by commas.")],
    /,
    *,
    profile: Annotated[str, Parameter(help="A production profile.")],
    reason: Annotated[str, Parameter(help="Why; it is kept in the journal.")],
    minutes: Annotated[int, Parameter(help=f"For how long, at most {_LONGEST}.")] = 10,
) -> int:
    """Allow operations with an effect in production, for some minutes. It asks for a typed word."""
    named = [one.strip().replace("-", "_") for one in operations.split(",") if one.strip()]
    strange = [one for one in named if one not in OPERATIONS or not OPERATIONS[one].effect]
    if strange or not named:
        raise wrong(f"These are no operations with an effect: {visible(', '.join(strange), 100) or 'none given'}.")
    if not 1 <= minutes <= _LONGEST:
        raise wrong(f"--minutes is 1 to {_LONGEST}.")
    if not reason.strip():
        raise wrong("--reason says why.")
    opened = open_profile(profile)
    if opened.environment != "production":
        raise wrong(f"Profile {profile} is a sandbox: nothing needs arming there.")
    host = str(opened.base_url).split("/")[2]
    say(f"PRODUCTION, {host}: {', '.join(named)} for {minutes} minutes.")
    typed(f"Type {host} to allow it: ", host)
    until = datetime.now(UTC) + timedelta(minutes=minutes)
    path = _path(profile)
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump({"operations": named, "until": until.isoformat(), "reason": reason.strip(), "host": host}, file)
    say(f"Armed until {until:%H:%M:%S} UTC. Use --live with --profile {profile}.")
    return DONE


def _path(profile: str) -> Any:
    return state_folder() / f"armed-{profile}.json"


def arm_if_allowed(api: Any, profile: str) -> None:
    """Arm a session as far, and as long, as `workbench arm` allowed it."""
    path = _path(profile)
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        left = (datetime.fromisoformat(said["until"]) - datetime.now(UTC)).total_seconds() / 60
        names, reason, host = said["operations"], said["reason"], said["host"]
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError):
        path.unlink(missing_ok=True)
        return
    if left <= 0 or left > _LONGEST or host != api.host:
        path.unlink(missing_ok=True)
        return
    api.arm(operations=names, minutes=left, reason=reason)


def confirm(api: Any, operation: Operation[..., Any], request: Any) -> None:
    """Ask for a typed word before a call in production that cannot be taken back.

    Raises:
        Exit: There is no terminal to type at.
        InvalidRequest: Something else was typed; nothing was sent.
    """
    asked = confirmation(operation, request)
    if asked is None:
        return
    say(f"PRODUCTION, {api.host}: {asked.says}.")
    typed(f"Type {asked.types} to go on: ", asked.types)


def typed(question: str, word: str) -> None:
    """Ask for a typed word.

    Raises:
        Exit: There is no terminal to type at.
        InvalidRequest: Something else was typed.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise wrong("This needs a terminal to type at. Nothing was sent.")
    print(question, end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() != word:
        raise InvalidRequest("something else was typed", of="confirm")
