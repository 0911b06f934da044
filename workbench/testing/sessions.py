"""Sessions for tests: each on a copy of a sandbox that was made once, which takes less than a millisecond."""

from functools import cache
from typing import Any

from workbench.client.journal import Journal
from workbench.errors import InvalidProfile
from workbench.interface.assumptions import BEHAVIORS
from workbench.sandbox import Sandbox
from workbench.session import SandboxTime, Session


@cache
def _original(seed: int, behavior: str, environment: str, settings: tuple[tuple[str, Any], ...]) -> Sandbox:
    return Sandbox(seed, environment, behavior, dict(settings))  # type: ignore[arg-type]


def session(
    *, seed: int = 1, behavior: str = "documented", environment: str = "sandbox", faults: Any = (), **settings: Any
) -> Session:
    """Open a session on a sandbox of its own, as `wb.connect()` does, by copying one that was made before.

    Args:
        seed: Random seed of the sandbox.
        behavior: "documented" or "observed".
        environment: "sandbox" or "production".
        faults: Fault rules to begin with: kinds, as "lost", or dicts with the arguments of `add_fault`.
        settings: Single behaviors by the id of their assumption, as `settle_route=False`.

    Raises:
        InvalidProfile: Arguments cannot be used.
    """
    unknown = [name for name in settings if name not in BEHAVIORS]
    if unknown:
        raise InvalidProfile(f"unknown settings: {', '.join(unknown)}; see assumptions()")
    try:
        sandbox = _original(seed, behavior, environment, tuple(sorted(settings.items()))).fork()
    except ValueError as error:
        raise InvalidProfile(str(error)) from None
    for fault in (faults,) if isinstance(faults, str | dict) else faults:
        sandbox.add_fault(**({"kind": fault} if isinstance(fault, str) else fault))
    clock = SandboxTime(sandbox)
    return Session(
        sandbox=sandbox, base_url=sandbox.base_url, api_key=sandbox.full_key, environment=sandbox.environment,
        transport=sandbox.transport(), clock=clock, journal=Journal(clock=clock),
    )  # fmt: skip
