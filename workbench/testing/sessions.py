"""Sessions for tests, on copies of a sandbox that was made once, and assertions on what it received and sent."""

from collections.abc import Iterable
from functools import cache
from typing import Any

from workbench.client.journal import Journal
from workbench.errors import InvalidProfile, visible
from workbench.interface.assumptions import BEHAVIORS
from workbench.interface.walk import get_path
from workbench.sandbox import Sandbox
from workbench.sequences.player import event_kind
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


_SHOWN = 12


def assert_requests(
    sandbox: Any, operation: str, times: int | None = None, *, status: int | None = None, **members: Any
) -> None:
    """Assert that the sandbox received requests of an operation.

    Args:
        sandbox: The sandbox of a session, embedded or served.
        operation: As "simulate_refund".
        times: How often; None: at least once.
        status: Only those answered with this status.
        members: Only those with these members of the body or the query, by wire name.
    """
    seen = sandbox.requests()
    called = (one for one in seen if one.operation == operation and status in (None, one.status))
    found = [one for one in called if _has(one.body, members)]
    lines = (f"{one.operation or one.method} {one.status} {_short(one.body)}" for one in seen)
    _assert(f"{operation}{_how(status, members)}", times, "received", len(found), lines)


def assert_events(sandbox: Any, kind: str, times: int | None = None, **members: Any) -> None:
    """Assert that the sandbox sent events of a kind.

    Args:
        sandbox: The sandbox of a session, embedded or served.
        kind: As "transaction.completed".
        times: How often; None: at least once.
        members: Only those with these members of the body, by wire name; `__` stands for a dot, as `spend__amount=420`.
    """
    seen = [(event_kind(one["event"]), one["event"]["body"]) for one in sandbox.events()]
    named = {name.replace("__", "."): value for name, value in members.items()}
    found = [body for one, body in seen if one == kind and _has(body, named)]
    lines = (f"{one} {' '.join(f'{name}={get_path(body, name)!r}' for name in named)}" for one, body in seen)
    _assert(f"{kind}{_how(None, named)}", times, "sent", len(found), lines)


def assert_balance(sandbox: Any, card_id: str, **cents: int) -> None:
    """Assert the money of a card in cents: any of `limit`, `available`, `held`, `posted`, `refunded`."""
    balance = sandbox.balance(card_id)
    wrong = {name: wanted for name, wanted in cents.items() if getattr(balance, name) != wanted}
    if wrong:
        listed = "; ".join(f"{name}: expected {wanted}, is {getattr(balance, name)}" for name, wanted in wrong.items())
        raise AssertionError(_explained(f"card {card_id}: {listed}", [str(balance)]))


def _has(body: Any, members: dict[str, Any]) -> bool:
    return all(get_path(body or {}, name) == value for name, value in members.items())


def _how(status: int | None, members: dict[str, Any]) -> str:
    parts = [] if status is None else [f"status {status}"]
    parts += [f"{name}={value!r}" for name, value in members.items()]
    return f" ({', '.join(parts)})" if parts else ""


def _assert(what: str, times: int | None, verb: str, count: int, lines: Iterable[str]) -> None:
    """Raise AssertionError unless it was there so often; at least once for None."""
    if count != times and (times is not None or not count):
        wanted = "at least once" if times is None else f"{times} times"
        raise AssertionError(_explained(f"{what}: expected {wanted}, {verb} {count} times", list(lines)))


def _short(body: Any) -> str:
    return visible(", ".join(f"{name}={value}" for name, value in dict(body or {}).items()), 120)


def _explained(message: str, lines: list[str]) -> str:
    """Return a message and the last of what there was."""
    skipped = len(lines) - _SHOWN
    more = [f"  ({skipped} earlier)"] if skipped > 0 else []
    listed = [*more, *(f"  {line}" for line in lines[-_SHOWN:])]
    return "\n".join([message, "there was:" if lines else "there was nothing", *listed])
