"""Which operations, answers, events and words of events a session or a test run has touched, and what would fill the gaps."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from workbench import sequences
from workbench.errors import WorkbenchError
from workbench.interface.events import EVENT_KINDS
from workbench.interface.table import OPERATIONS
from workbench.interface.walk import get_path
from workbench.rendering.layout import Cell, Grid
from workbench.rendering.markup import Shown
from workbench.sequences.player import event_kind

Item = tuple[str, str]
"""A group ("answer", "event" or "word", of an event) and what was touched of it."""
_WORDS = {
    "user.updated": ("applicationStatus", "application status"),
    "transaction.created": ("spend.declinedReason", "declined"),
    "card.updated": ("status", "card status"),
}
"""The members of events whose every word counts, and what they are called here."""


def possible() -> list[Item]:
    """Return everything that can be touched."""
    ends = ((name, (row.success, *(one.status for one in row.failures))) for name, row in OPERATIONS.items())
    answers = [("answer", f"{name} {status}") for name, statuses in ends for status in dict.fromkeys(statuses)]
    called = ((label, EVENT_KINDS[kind].words.get(member, ())) for kind, (member, label) in _WORDS.items())
    words = [("word", f"{label}: {word}") for label, known in called for word in known]
    return [*answers, *(("event", kind) for kind in EVENT_KINDS), *words]


def touched(sandbox: Any) -> Counter[Item]:
    """Return what the requests to a sandbox, and its events, have touched, with how often."""
    found: Counter[Item] = Counter(
        ("answer", f"{one.operation} {one.status}") for one in sandbox.requests() if one.operation in OPERATIONS
    )
    for one in sandbox.events():
        event = one["event"]
        kind = event_kind(event)
        found["event", kind] += 1
        member, label = _WORDS.get(kind, ("", ""))
        if member and (word := get_path(event["body"], member)) is not None:
            found["word", f"{label}: {word}"] += 1
    return found


class Coverage(Shown):
    """What was touched of everything that can be."""

    def __init__(self, counts: Mapping[Item, int]) -> None:
        self.counts = Counter({item: counts.get(item, 0) for item in possible()})

    @classmethod
    def of(cls, *sandboxes: Any) -> "Coverage":
        """Return what the requests to these sandboxes (or sessions on them), and their events, have touched."""
        found: Counter[Item] = Counter()
        for one in sandboxes:
            found += touched(getattr(one, "sandbox", one))
        return cls(found)

    def gaps(self) -> list[Item]:
        """Return what was not touched."""
        return [item for item, count in self.counts.items() if not count]

    def rows(self, *, gaps: bool = False) -> list[dict[str, Any]]:
        """Return a row for each thing: group, what, count and, of a gap, the sequence of the catalogue that would fill it.

        Args:
            gaps: Only the gaps.
        """
        listed = ((item, count, "" if count else fillers().get(item, "")) for item, count in self.counts.items())
        return [
            {"group": group, "what": what, "count": count, "fill with": filler}
            for (group, what), count, filler in listed
            if not (gaps and count)
        ]

    def sheet(self) -> Grid:
        """Return the gaps as they are shown."""
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
    """Return the first sequence of the catalogue that touches each thing, by running them all once."""
    from workbench.testing.sessions import session

    found: dict[Item, str] = {}
    for name, sequence in sorted(sequences.catalogue.items(), key=lambda entry: len(entry[1].steps)):
        with session(behavior="observed") as api, suppress(WorkbenchError):  # it may need another sandbox
            sequences.run(sequence, api, progress=False)
            found = dict.fromkeys(touched(api.sandbox), name) | found
    return found
