"""Where a command acts: the user's own sandbox kept in a file, that of a class, a new or served one, or the service of a profile."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import attrs
from cyclopts import Group, Parameter

from workbench.terminal.completion import kept_path, profiles
from workbench.terminal.exits import Stopped, say, usage_error

MAX_ARMED_MINUTES = 60
_MAX_LISTED = 10  # unknown calls listed when a command is interrupted


@Parameter(name="*", group=Group("Where", sort_key=8))
@attrs.frozen(kw_only=True)
class Where:
    """Options that say where a command acts.

    Attributes:
        profile: Use the service of this profile.
        url: Use the sandbox served at this URL.
        fresh: Use a new sandbox in memory, discarded afterwards.
        tenant: Use the key of this tenant of the sandbox.
        live: Confirm the use of a production profile.
    """

    profile: Annotated[str | None, Parameter(completer=profiles)] = None
    url: str | None = None
    fresh: bool = False
    tenant: str | None = None
    live: bool = False


def chosen_profile(where: Where) -> str | None:
    """Return the profile chosen by option or by `WORKBENCH_PROFILE`."""
    if where.url or where.fresh:
        return where.profile
    return where.profile or os.environ.get("WORKBENCH_PROFILE")


@contextmanager
def session(where: Where) -> Iterator[Any]:
    """Yield a session where the command acts.

    Raises:
        Exit: Options contradict each other, or a production profile was not confirmed.
    """
    from workbench.session import connect

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
    """Return the arguments of `connect` for where a command acts.

    Raises:
        Exit: Options contradict each other, or a production profile was not confirmed.
    """
    from workbench.client.guards import class_url

    chosen = [name for name in ("profile", "url", "fresh") if getattr(where, name)]
    if len(chosen) > 1:
        raise usage_error(f"--{chosen[0]} and --{chosen[1]} cannot be combined.")
    name = chosen_profile(where)
    if where.url:
        return {"where": where.url, "tenant": where.tenant}
    if where.fresh:
        return {"seed": 1, "tenant": where.tenant}
    if name is None and class_url():
        return {"tenant": where.tenant}
    if name is None:
        path = kept_path()
        return {"path": path, "tenant": where.tenant, "journal": path.with_name("journal-sandbox.db")}
    if where.tenant:
        raise usage_error("--tenant is a tenant of a sandbox; the key of a profile has its own.")
    from workbench.client.settings import open_profile

    profile = open_profile(name)
    if profile.environment == "production" and not where.live:
        raise usage_error(f"Profile {name} is a production service. Add --live to confirm.")
    return {"where": name}


def armed_path(profile: str) -> Path:
    """Return the file in which `workbench arm` records what it allowed."""
    from workbench.client.keys import state_folder

    return state_folder() / f"armed-{profile}.json"


def _arm_if_allowed(api: Any, profile: str) -> None:
    """Arm a session with the operations, and until the time, that `workbench arm` allowed."""
    path = armed_path(profile)
    try:
        armed = json.loads(path.read_text(encoding="utf-8"))
        left = (datetime.fromisoformat(armed["until"]) - datetime.now(UTC)).total_seconds() / 60
        names, reason, host = armed["operations"], armed["reason"], armed["host"]
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError):
        path.unlink(missing_ok=True)
        return
    if left <= 0 or left > MAX_ARMED_MINUTES or host != api.host:
        path.unlink(missing_ok=True)
        return
    api.arm(operations=names, minutes=left, reason=reason)
