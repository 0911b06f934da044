"""Sessions for tests, each on a new sandbox, and assertions on the sandbox's requests and events.

Coverage reports which operations, answers, events and event statuses a session or test run has used, and what would
fill the gaps.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from workbench.base.errors import Problem, UsageError, WorkbenchError, visible
from workbench.base.schema.walk import get_path
from workbench.client.calls.base import EnvironmentName
from workbench.client.session import Session, connect
from workbench.runs import sequences
from workbench.runs.sequences.player import event_kind
from workbench.sandbox.behavior import Behavior
from workbench.sandbox.programs import World
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import OPERATIONS
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Cell, Grid


def session(
    *,
    seed: int = 1,
    behavior: Behavior = "documented",
    environment: EnvironmentName = "sandbox",
    faults: Any = (),
    world: World = "small",
) -> Session:
    """Open a session on a new sandbox, like `wb.connect()` but independent of the profile and class in the environment.

    Args:
        seed: Random seed of the sandbox.
        behavior: "documented", "observed", or a TOML file or mapping with settings, such as {"settle_route": False}.
        environment: "sandbox" or "production".
        faults: Fault rules to begin with: kinds, such as "lost", or dicts with the arguments of `add_fault`.
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


_SHOWN = 12


def assert_requests(
    sandbox: Any, operation: str, times: int | None = None, *, status: int | None = None, **members: object
) -> None:
    """Assert that the sandbox received requests of an operation.

    Args:
        sandbox: The sandbox of a session, embedded or served.
        operation: Name of the operation, such as "simulate_refund".
        times: Exact number; None requires at least one.
        status: Only requests answered with this status.
        members: Only requests with these members of the body or query, by wire name.
    """
    seen = sandbox.requests()
    called = (call for call in seen if call.operation == operation and status in (None, call.status))
    matching = [call for call in called if _has(call.body, members)]
    lines = (f"{call.operation or call.method} {call.status} {_short(call.body)}" for call in seen)
    _assert(f"{operation}{_how(status, members)}", times, "received", len(matching), lines)


def assert_events(sandbox: Any, kind: str, times: int | None = None, **members: object) -> None:
    """Assert that the sandbox sent events of a kind.

    Args:
        sandbox: The sandbox of a session, embedded or served.
        kind: Kind of event, such as "transaction.completed".
        times: Exact number; None requires at least one.
        members: Only events with these members of the body, by wire name; `__` stands for a dot: `spend__amount=420`.
    """
    seen = [(event_kind(event.payload), event.payload["body"]) for event in sandbox.events()]
    named = {name.replace("__", "."): value for name, value in members.items()}
    matching = [body for event_name, body in seen if event_name == kind and _has(body, named)]
    lines = (
        f"{event_name} {' '.join(f'{name}={get_path(body, name)!r}' for name in named)}" for event_name, body in seen
    )
    _assert(f"{kind}{_how(None, named)}", times, "sent", len(matching), lines)


def assert_balance(sandbox: Any, card_id: str, **cents: int) -> None:
    """Assert a card's balances in cents: any of `limit`, `available`, `held`, `posted`, `refunded`."""
    balance = sandbox.balance(card_id)
    wrong = {name: wanted for name, wanted in cents.items() if getattr(balance, name) != wanted}
    if wrong:
        listed = "; ".join(f"{name}: expected {wanted}, is {getattr(balance, name)}" for name, wanted in wrong.items())
        raise AssertionError(_explained(f"card {card_id}: {listed}", [str(balance)]))


def _has(body: object, members: dict[str, Any]) -> bool:
    return all(get_path(body or {}, name) == value for name, value in members.items())


def _how(status: int | None, members: dict[str, Any]) -> str:
    parts = [] if status is None else [f"status {status}"]
    parts += [f"{name}={value!r}" for name, value in members.items()]
    return f" ({', '.join(parts)})" if parts else ""


def _assert(what: str, times: int | None, verb: str, count: int, lines: Iterable[str]) -> None:
    """Raise AssertionError unless the count matches; None requires at least one."""
    if count != times and (times is not None or not count):
        wanted = "at least once" if times is None else f"{times} times"
        raise AssertionError(_explained(f"{what}: expected {wanted}, {verb} {count} times", list(lines)))


def _short(body: Any) -> str:
    return visible(", ".join(f"{name}={value}" for name, value in dict(body or {}).items()), 120)


def _explained(message: str, lines: list[str]) -> str:
    """Return a message followed by the last requests or events."""
    skipped = len(lines) - _SHOWN
    more = [f"  ({skipped} earlier)"] if skipped > 0 else []
    listed = [*more, *(f"  {line}" for line in lines[-_SHOWN:])]
    return "\n".join([message, "there was:" if lines else "there was nothing", *listed])


Item = tuple[str, str]
"""A group ("answer", "event", or "word" of an event), and the item covered in it."""
STATUS_MEMBERS = {
    "user.updated": ("applicationStatus", "application status"),
    "transaction.created": ("spend.declinedReason", "declined"),
    "card.updated": ("status", "card status"),
}
"""Members of events whose every value counts for coverage, with their display name."""


def possible() -> list[Item]:
    """Return everything that coverage counts."""
    ends = ((name, (row.success, *(failure.status for failure in row.failures))) for name, row in OPERATIONS.items())
    answers = [("answer", f"{name} {status}") for name, statuses in ends for status in dict.fromkeys(statuses)]
    called = ((label, EVENT_KINDS[kind].words.get(member, ())) for kind, (member, label) in STATUS_MEMBERS.items())
    items = [("word", f"{label}: {word}") for label, known in called for word in known]
    return [*answers, *(("event", kind) for kind in EVENT_KINDS), *items]


def touched(sandbox: Any) -> Counter[Item]:
    """Return the items that a sandbox's requests and events covered, with counts."""
    counter: Counter[Item] = Counter(
        ("answer", f"{request.operation} {request.status}")
        for request in sandbox.requests()
        if request.operation in OPERATIONS
    )
    for stored in sandbox.events():
        event = stored.payload
        kind = event_kind(event)
        counter["event", kind] += 1
        member, label = STATUS_MEMBERS.get(kind, ("", ""))
        if member and (word := get_path(event["body"], member)) is not None:
            counter["word", f"{label}: {word}"] += 1
    return counter


class Coverage(Shown):
    """Coverage of operations, responses and events."""

    def __init__(self, counts: Mapping[Item, int]) -> None:
        self.counts = Counter({item: counts.get(item, 0) for item in possible()})

    @classmethod
    def of(cls, *sandboxes: object) -> "Coverage":
        """Return the coverage of the requests and events of sandboxes, or of sessions on them."""
        counter: Counter[Item] = Counter()
        for sandbox in sandboxes:
            counter += touched(getattr(sandbox, "sandbox", sandbox))
        return cls(counter)

    def gaps(self) -> list[Item]:
        """Return the items not covered."""
        return [item for item, count in self.counts.items() if not count]

    def rows(self, *, gaps: bool = False) -> list[dict[str, Any]]:
        """Return one row per item: group, item, count, and for a gap the catalogue sequence that would fill it.

        Args:
            gaps: Return only the gaps.
        """
        listed = ((item, count, "" if count else fillers().get(item, "")) for item, count in self.counts.items())
        return [
            {"group": group, "what": what, "count": count, "fill with": filler}
            for (group, what), count, filler in listed
            if not (gaps and count)
        ]

    def sheet(self) -> Grid:
        """Return the gaps as a sheet."""
        rows = self.rows(gaps=True)
        cells = tuple(tuple(Cell((row[name],)) for name in ("group", "what", "fill with")) for row in rows)
        groups = Counter(group for group, _ in self.counts)
        touched = Counter(group for (group, _), count in self.counts.items() if count)
        title = f"Coverage: {touched.total()} of {groups.total()}{'; gaps:' if rows else ''}"
        notes = tuple(f"{group}: {touched[group]} of {of}" for group, of in groups.items())
        columns = ("group", "not touched", "fill with")
        return Grid(title=title, columns=columns, rows=cells, total=len(cells), notes=notes)


@cache
def fillers() -> dict[Item, str]:
    """Run each sequence of the catalogue once, and return the first that covers each item."""
    reached: dict[Item, str] = {}
    for name, sequence in sorted(sequences.catalogue.items(), key=lambda entry: len(entry[1].steps)):
        with session(behavior="observed") as api, suppress(WorkbenchError):  # the sequence may need another sandbox
            sequences.run(api, sequence, progress=False)
            reached = dict.fromkeys(touched(api.sandbox), name) | reached
    return reached
