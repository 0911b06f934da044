"""Sessions for tests, each on a new sandbox, and the operations, answers, events and event statuses that they used."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.base.errors import Problem, UsageError
from workbench.base.schema.walk import get_path
from workbench.client.calls.base import EnvironmentName
from workbench.client.session import Session, connect
from workbench.runs.sequences.player import event_kind
from workbench.sandbox.behavior import Behavior
from workbench.sandbox.programs import World
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import OPERATIONS
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Grid


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


Item = tuple[str, str]
"""A group ("answer", "event", or "word" of an event), and the item covered in it."""
_STATUS_MEMBERS = {
    "user.updated": ("applicationStatus", "application status"),
    "transaction.created": ("spend.declinedReason", "declined"),
    "card.updated": ("status", "card status"),
}
"""Members of events whose every value counts for coverage, with their display name."""


def possible() -> list[Item]:
    """Return everything that coverage counts."""
    ends = ((name, (row.success, *(failure.status for failure in row.failures))) for name, row in OPERATIONS.items())
    answers = [("answer", f"{name} {status}") for name, statuses in ends for status in dict.fromkeys(statuses)]
    called = ((label, EVENT_KINDS[kind].words.get(member, ())) for kind, (member, label) in _STATUS_MEMBERS.items())
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
        counter.update(covered(stored.payload))
    return counter


def covered(event: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the items that an event covers."""
    kind = event_kind(event)
    yield "event", kind
    member, label = _STATUS_MEMBERS.get(kind, ("", ""))
    if member and (word := get_path(event["body"], member)) is not None:
        yield "word", f"{label}: {word}"


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

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per item: group, item, and count."""
        return [{"group": group, "what": what, "count": count} for (group, what), count in self.counts.items()]

    def sheet(self) -> Grid:
        """Return the gaps as a sheet."""
        gaps = self.gaps()
        groups = Counter(group for group, _ in self.counts)
        touched = Counter(group for (group, _), count in self.counts.items() if count)
        title = f"Coverage: {touched.total()} of {groups.total()}{'; gaps:' if gaps else ''}"
        notes = tuple(f"{group}: {touched[group]} of {of}" for group, of in groups.items())
        return Grid.of_texts(title, ("group", "not touched"), gaps, notes)
