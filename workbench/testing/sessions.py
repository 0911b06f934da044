"""Sessions for tests, each on a new sandbox."""

from collections.abc import Mapping
from typing import Any

from workbench.base.errors import Problem, UsageError
from workbench.client.calls.base import EnvironmentName
from workbench.client.session import Session, connect
from workbench.sandbox.behavior import Behavior
from workbench.sandbox.programs import World


def session(
    *,
    seed: int = 1,
    behavior: Behavior = "documented",
    environment: EnvironmentName = "sandbox",
    faults: Any = (),
    world: World = "small",
) -> Session:
    """Open a session on a new sandbox, like `wb.connect()`, but ignore the profile and class in the environment.

    Args:
        seed: Random seed of the sandbox.
        behavior: "documented", "observed", or a TOML file or mapping with settings, such as {"settle_route": False}.
        environment: "sandbox" or "production".
        faults: Initial fault rules: kinds, such as "lost", or dicts with the arguments of `add_fault`.
        world: "small", "program", "large", or a TOML file of a card program.

    Raises:
        UsageError: Arguments are not allowed.
    """
    api = connect(seed=seed, behavior=behavior, environment=environment, world=world)
    for fault in (faults,) if isinstance(faults, str | dict) else faults:
        if not isinstance(fault, str) and not (isinstance(fault, Mapping) and all(isinstance(x, str) for x in fault)):
            raise UsageError([Problem("faults", "type", "each must be a kind or a mapping of arguments")], of="session")
        api.sandbox.add_fault(**({"kind": fault} if isinstance(fault, str) else fault))
    return api
