"""Where a command acts: one sandbox of this user's kept in a file, a fresh one, a served one, or a profile's service."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Group, Parameter

from workbench.terminal.ends import Stopped, say, wrong

_WHERE = Group("Where", sort_key=8)
_LISTED = 10  # unknown calls that are listed when a command is interrupted


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Where:
    """Options that say where a command acts."""

    profile: Annotated[str | None, Parameter(help="Act on the service of a profile.", group=_WHERE)] = None
    url: Annotated[str | None, Parameter(help="Act on a sandbox served at this URL.", group=_WHERE)] = None
    fresh: Annotated[
        bool,
        Parameter(
            help="Act on a fresh sandbox in memory; what it did is gone afterwards.",
            negative="",
            show_default=False,
            group=_WHERE,
        ),
    ] = False
    live: Annotated[
        bool, Parameter(help="Say that a production profile is meant.", negative="", show_default=False, group=_WHERE)
    ] = False


def chosen_profile(where: Where) -> str | None:
    """Return the profile that is meant, by option or by `WORKBENCH_PROFILE`."""
    if where.url or where.fresh:
        return where.profile
    return where.profile or os.environ.get("WORKBENCH_PROFILE")


@contextmanager
def session(where: Where) -> Iterator[Any]:
    """Return a session where the command acts.

    Raises:
        Exit: Options contradict each other, or production was not said aloud.
    """
    said = [name for name in ("profile", "url", "fresh") if getattr(where, name)]
    if len(said) > 1:
        raise wrong(f"--{said[0]} and --{said[1]} contradict each other.")
    api = _opened(where)
    try:
        yield api
    except (KeyboardInterrupt, Stopped):
        for entry in api.journal.unknown()[-_LISTED:]:
            say(str(entry))
        raise
    finally:
        api.close()


def _opened(where: Where) -> Any:
    from workbench.session import connect

    name = chosen_profile(where)
    if where.url:
        return connect(where.url)
    if where.fresh:
        return connect()
    if name is None:
        from workbench.terminal.keeping import kept_session

        return kept_session()
    from workbench.client.settings import open_profile

    profile = open_profile(name)
    if profile.environment == "production" and not where.live:
        raise wrong(f"Profile {name} is a production service. Say --live if it is meant.")
    api = connect(name)
    if api.environment == "production":
        from workbench.terminal.arming import arm_if_allowed

        arm_if_allowed(api, name)
    return api
