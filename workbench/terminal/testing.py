"""`workbench test …`: test an application in simulated runs, also behind HTTP."""

import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from workbench.base.errors import WorkbenchError, visible
from workbench.terminal.exits import DONE, INTERRUPTED, PARTLY, TYPED, say, usage_error
from workbench.terminal.where import CommandLine, Name, Url, Whole

KEY_VARIABLE = "WORKBENCH_WEBHOOK_KEY"


def _load(name: str) -> Callable[..., Any]:
    """Return the object named by `module:name`. Modules in the current folder can be imported."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        loaded: Any = resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise usage_error(f"{visible(name, 100)}: {visible(str(error), 200)}") from None
    if not callable(loaded):
        raise usage_error(
            f"{visible(name, 100)}: expected MODULE:NAME of a class or function, such as shop:Application"
        )
    return loaded  # type: ignore[no-any-return]


def _show(result: Any) -> int:
    """Print a result, and for a failure the command that replays it. Return the exit code."""
    print(result)
    again = re.sub(r" --universe[ =]\d+", "", shlex.join(["workbench", *TYPED]))
    if result.interrupted:
        say("Stopped. Another --seed tries other universes.")
        return INTERRUPTED
    if result.failure is not None and result.universes > 1:
        say(f"Replay with: {again} --universe {result.failure.universe}")
    return DONE if result.failure is None else PARTLY


def explore(
    application: str,
    /,
    *,
    universes: Whole = 500,
    seed: Whole = 1,
    universe: Whole | None = None,
    behavior: Name | None = None,
) -> int:
    """Run an application in many universes (simulated runs) until an invariant does not hold.

    The exit code is 5 if an invariant does not hold, and 130 if the command is stopped.

    Args:
        application: MODULE:NAME of the application's class or factory function, such as shop:Application.
        universes: Number of universes.
        seed: Random seed of the exploration.
        universe: Run only this universe.
        behavior: documented, observed, or a TOML file.
    """
    from workbench import testing
    from workbench.sandbox import Sandbox

    factory, sandbox = _load(application), None if behavior is None else Sandbox(behavior=behavior)
    try:
        result = testing.explore(
            factory, universes=universes, seed=seed, universe=universe, sandbox=sandbox, progress=True
        )
    except WorkbenchError:
        raise
    except Exception as error:  # noqa: BLE001 - any error of the application
        where = "; ".join(getattr(error, "__notes__", ()))
        text = visible(f"{application} failed: {type(error).__name__}: {error}", 500)
        raise usage_error(f"{text}{where and f' ({where})'}") from None
    return _show(result)


def http(
    *,
    deliveries: Url,
    books: Url,
    reset: Url | None = None,
    kill: CommandLine = "",
    start: CommandLine = "",
    api_port: Whole | None = None,
    unknown: Url | None = None,
    clock: Path | None = None,
    universes: Whole = 20,
    seed: Whole = 1,
    universe: Whole | None = None,
) -> int:
    """Explore an application behind HTTP, in any language, with parallel deliveries and crashes during them.

    Deliveries are signed with the key in WORKBENCH_WEBHOOK_KEY, or `universe-signing-key-1`. The exit code is 5 if an
    invariant does not hold.

    Args:
        deliveries: URL that receives deliveries.
        books: URL that returns a JSON object that maps transaction ids to whole cents.
        reset: URL that empties the books (POST). Without it, failures are not shrunk.
        kill: Command that kills the process. Without this command there are no crashes.
        start: Command that starts the process and returns.
        api_port: Port at which the sandbox is served for the application's calls.
        unknown: URL that returns a JSON array of the calls with an unknown outcome.
        clock: File from which libfaketime reads the time, to simulate the machine's clock for the application.
        universes: Number of universes.
        seed: Random seed of the exploration.
        universe: Run only this universe.
    """
    from workbench import testing
    from workbench.testing.deliveries import KEY

    application = testing.HttpApplication(
        url=deliveries,
        books=books,
        reset=reset,
        kill=kill,
        start=start,
        api_port=api_port,
        unknown=unknown,
        clock=clock,
        key=os.environ.get(KEY_VARIABLE) or KEY,
    )
    result = testing.explore(application, universes=universes, seed=seed, universe=universe, progress=True)
    return _show(result)
