"""Regression test with a log: send the same deliveries to two versions of an application, and compare their books."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from workbench.base.errors import InvalidRequest, visible
from workbench.base.schema import strict_json
from workbench.base.system.progress import Progress, ProgressCallback, progress_callback
from workbench.client.webhooks.verify import MAX_BODY, SIGNATURE, sign
from workbench.sandbox import Sandbox
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Cell, Grid
from workbench.testing.decisions import Decisions
from workbench.testing.deliveries import KEY
from workbench.testing.universe import Universe

Application = Callable[[Universe], Any]
_CHUNK = 1_000  # events after which the books are compared
_SHOWN = 20


@attrs.frozen
class Difference:
    """A transaction whose books differ, with amounts in cents."""

    transaction: str
    old: Any
    new: Any


@attrs.frozen(kw_only=True)
class Regression(Shown):
    """Result of a regression test: what was compared, and the differences of the books.

    `first` is the first event after which they differ: its line in the log, kind and id. `answers` counts the
    deliveries
    that the two versions answered differently.
    """

    events: int
    transactions: int
    differences: tuple[Difference, ...] = ()
    first: str = ""
    answers: int = 0

    @property
    def ok(self) -> bool:
        """Whether something was compared and there are no differences."""
        return bool(self.events) and not self.differences and not self.answers

    def sheet(self) -> Grid:
        """Return the differences as a sheet."""
        rows = tuple((Cell((d.transaction,)), Cell((str(d.old),)), Cell((str(d.new),))) for d in self.differences)
        notes = [f"compared: {self.events:,} events, {self.transactions:,} transactions"]
        notes += [f"the books differ first after {self.first}"] if self.first else []
        notes += [f"{self.answers:,} deliveries were answered differently"] if self.answers else []
        title = f"{len(rows):,} transactions differ" if rows else "The books agree" if self.ok else "Nothing to compare"
        title = "The answers differ" if self.answers and not rows else title
        return Grid(
            title=title, columns=("transaction", "old", "new"), rows=rows[:_SHOWN], total=len(rows), notes=tuple(notes)
        )


class _Version(Universe):
    """One version of an application, given deliveries one after the other without faults."""

    def __init__(self, application: Application, folder: str) -> None:
        super().__init__(application, Sandbox(seed=1), Decisions(), Path(folder))
        self.calm = self.threaded = True  # no faults, and no story
        self._boot()

    def take(self, body: bytes) -> Any:
        """Send a delivery and return the status of the response."""
        process = self._alive()
        statuses: list[Any] = []
        headers = {"content-type": "application/json", SIGNATURE: sign(body, KEY)}
        self._receive(process, headers, body, statuses.append)
        while not statuses:
            if not process.loop.step():
                self.move(process.loop.next_time() or self.now)
        return statuses[0]

    def read(self) -> Mapping[str, Any]:
        """Return the books."""
        return self._read_books(self._alive(), "books")


def bodies_of(path: str | Path) -> Iterator[bytes]:
    """Yield the deliveries of a log: one event per line, or an object with the event as `event`.

    Raises:
        InvalidRequest: A line is not an event.
    """
    with Path(path).open("rb") as lines:
        for number, line in enumerate(iter(lambda: lines.readline(MAX_BODY), b""), 1):
            if not line.strip():
                continue
            try:
                event = strict_json.loads(line)
                event = event.get("event", event)
                event["id"], event["resource"], event["action"]
            except (ValueError, AttributeError, KeyError, TypeError):
                raise InvalidRequest(
                    f"log: line {number} of {visible(str(path), 200)} is not an event", of="regress"
                ) from None
            yield strict_json.dumps(event)


def regress(
    log: str | Path | Sequence[bytes], old: Application, new: Application, *, progress: bool | ProgressCallback = False
) -> Regression:
    """Send the deliveries of a log, signed again, to two versions of an application, and compare their books.

    Args:
        log: File with one event per line, or the bodies of the deliveries.
        old: Factory of the correct version, as for `explore`.
        new: Factory of the version to test.
        progress: True for a line, or a function that is called with the progress.

    Raises:
        InvalidRequest: A line of the log is not an event.
    """
    bodies = list(bodies_of(log)) if isinstance(log, str | Path) else list(log)
    show, state = progress_callback(progress), Progress(total=len(bodies), unit="events")
    chunk, answers = None, 0
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        versions = _Version(old, folder), _Version(new, other)
        for start in range(0, len(bodies), _CHUNK):
            for body in bodies[start : start + _CHUNK]:
                answers += versions[0].take(body) != versions[1].take(body)
            state.done = min(start + _CHUNK, len(bodies))
            show(state)
            if chunk is None and versions[0].read() != versions[1].read():
                chunk = start
        books = [version.read() for version in versions]
    state.ended = True
    show(state)
    names = sorted({*books[0], *books[1]})
    differences = tuple(
        Difference(name, books[0].get(name, 0), books[1].get(name, 0))
        for name in names
        if books[0].get(name, 0) != books[1].get(name, 0)
    )
    first = "" if chunk is None else _first(bodies, chunk, old, new)
    return Regression(
        events=len(bodies), transactions=len(names), differences=differences, first=first, answers=answers
    )


def _first(bodies: Sequence[bytes], chunk: int, old: Application, new: Application) -> str:
    """Return the first event of a chunk after which the books differ."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        versions = _Version(old, folder), _Version(new, other)
        for number, body in enumerate(bodies, 1):
            for version in versions:
                version.take(body)
            if number > chunk and versions[0].read() != versions[1].read():
                event = strict_json.loads(body)
                return f"event {number}, {event['resource']}.{event['action']} {event['id']}"
    return ""
