"""A sequence run many times: once per row, repeated, side by side up to a limit."""

import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from itertools import takewhile
from pathlib import Path
from typing import Any

import attrs

from workbench.bulk.thread_pool import Interrupted, ThreadPool
from workbench.errors import Problem, WorkbenchError, hide_arguments
from workbench.progress import Progress, progress_callback
from workbench.sequences import audit
from workbench.sequences.ledger import Ledger, merged
from workbench.sequences.play import Player, Target
from workbench.sequences.running import LONG, Run, StepRow, drive
from workbench.sequences.steps import InvalidSequence, Sequence
from workbench.sequences.venues import venue_of
from workbench.tables.bodies import load_bodies


class Runs(tuple[Run, ...]):
    """Runs of one sequence, in the order of their rows."""

    __slots__ = ()

    @property
    def ok(self) -> bool:
        """Whether every run came out as expected."""
        return all(one.ok for one in self)

    @property
    def verdict(self) -> str:
        """Say how many came out as expected, and what the others came to."""
        wrong = [(number, one) for number, one in enumerate(self, 1) if not one.ok]
        head = f"{len(self) - len(wrong)} of {len(self)} runs as expected"
        return "\n".join([head, *(f"run {number}: {one.verdict}" for number, one in wrong[:20])])

    def ledger(self) -> Ledger:
        """Return the books of all runs in one."""
        return merged(one.ledger() for one in self)

    def rows(self) -> list[StepRow]:
        """Return the steps of all runs as rows, with the number of their run."""
        return [attrs.evolve(row, run=number) for number, one in enumerate(self, 1) for row in one.rows()]

    @property
    def row_type(self) -> type[StepRow]:
        """What a row is, for `frame`."""
        return StepRow

    def __repr__(self) -> str:
        return f"<{len(self)} runs: {sum(one.ok for one in self)} as expected>"


@hide_arguments
def run_many(
    sequence: Sequence,
    api: Any,
    rows: Iterable[Mapping[str, Any]] | Any = None,
    *,
    times: int = 1,
    workers: int = 1,
    resume: Runs | None = None,
    **values: Any,
) -> Runs:
    """Run a sequence once per row, or several times, up to `workers` at a time.

    Ctrl-C starts no more runs, waits for those that are being played, and keeps them.

    Args:
        rows: Mappings of parameters, a DataFrame, the path of a CSV, JSON, XLSX or Parquet file, or None for one row of
            `values`. Empty cells mean "not given"; the cells of a file are read by the types of the parameters.
        times: How often each row is run.
        workers: How many run side by side; 1 keeps the order, and with it the hash, the same each time.
        resume: The `.result` of the same call that was interrupted: its runs are kept, and the rest is run.
        values: Parameters that all rows share.

    Raises:
        InvalidSequence: The sequence or any row is wrong; all problems with their row, nothing was sent.
        Interrupted: By Ctrl-C; `.result` has the runs that were played.
    """
    if isinstance(rows, str | os.PathLike):
        rows = [_typed(sequence, one) for one in load_bodies(Path(rows))]
    given = [{**values, **_row(one)} for one in _listed(rows)]
    found = [
        Problem(f"row {number}: {one.path}" if rows is not None else one.path, one.rule, one.message)
        for number, row in enumerate(given, 1)
        for one in (audit.problems(sequence, row) if number == 1 else audit.problems_of_values(sequence, row))
    ]
    if found:
        raise InvalidSequence(tuple(found), sequence.name)
    todo = [row for row in given for _ in range(times)]
    venue = venue_of(api)
    before = _again(resume, sequence, todo)
    many = _Many(sequence, venue, todo, len(before))
    progress = Progress(total=len(todo), unit="runs", label=sequence.name, on_stop=many.stop)
    show = progress_callback(len(todo) >= LONG)

    def report() -> None:
        progress.done = len(before) + many.count
        show(progress)

    try:
        many.pool(workers).run(report)
    except KeyboardInterrupt:
        raise Interrupted(Runs((*before, *many.played()))) from None
    progress.ended = True
    report()
    return Runs((*before, *many.played()))


def _again(earlier: Runs | None, sequence: Sequence, todo: list[dict[str, Any]]) -> Runs:
    if earlier is None:
        return Runs()
    same = len(earlier) <= len(todo) and all(one.sequence == sequence for one in earlier)
    pairs = zip(earlier, todo, strict=False)
    if not same or any(one.values.get(name) != value for one, row in pairs for name, value in row.items()):
        raise InvalidSequence(
            (Problem("resume", "changed", "holds other runs than those of this call"),), sequence.name
        )
    return earlier


class _Many:
    """Runs that threads play in order; the one that called waits, so an interrupt falls between runs."""

    def __init__(self, sequence: Sequence, venue: Target, todo: list[dict[str, Any]], start: int) -> None:
        self._sequence = sequence
        self._venue = venue
        self._todo = todo
        self._start = start
        self._numbers = iter(range(start, len(todo)))
        self._lock = threading.Lock()
        self._done: dict[int, Run] = {}
        self._pool: ThreadPool | None = None

    def pool(self, workers: int) -> ThreadPool:
        """Return the threads that play."""
        self._pool = ThreadPool(self._play_next, workers, "sequence")
        return self._pool

    def stop(self, _: str) -> None:
        """Start no more runs."""
        if self._pool is not None:
            self._pool.stop()

    @property
    def count(self) -> int:
        """The number of runs that were played."""
        return len(self._done)

    def played(self) -> list[Run]:
        """Return the runs in the order of their rows, up to the first that is not played."""
        numbers = takewhile(lambda number: number in self._done, range(self._start, len(self._todo)))
        return [self._done[number] for number in numbers]

    def _play_next(self) -> bool:
        with self._lock:
            number = next(self._numbers, None)
        if number is None:
            return False
        player = Player(self._sequence, self._venue, self._todo[number], lean=True)
        began = player.venue.now()
        drive(player)
        self._done[number] = Run(player, began)
        return True


def _listed(rows: Any) -> Iterator[Mapping[str, Any]]:
    if rows is None:
        return iter(({},))
    to_dict = getattr(rows, "to_dict", None)
    if to_dict is not None and not isinstance(rows, Mapping):
        return iter(to_dict("records"))
    if isinstance(rows, str | bytes | Mapping):
        raise WorkbenchError("rows must be mappings or a DataFrame; read a file with load_bodies(path)")
    return iter(rows)


def _typed(sequence: Sequence, row: Mapping[str, Any]) -> dict[str, Any]:
    """Read the cells of a file by the types of the parameters; what does not fit stays, and is a problem later."""
    types = {one.name: one.type for one in sequence.parameters}
    return {name: _read(types.get(name), value) for name, value in row.items()}


def _read(kind: str | None, text: Any) -> Any:
    if not isinstance(text, str):
        return text
    if kind == "whole" and re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    if kind == "flag" and text in ("true", "false"):
        return text == "true"
    if kind == "date" and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        with suppress(ValueError):
            return date.fromisoformat(text)
    return text


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in row.items() if not _empty(value)}


def _empty(value: Any) -> bool:
    return value is None or value == "" or value != value


def _plain(value: Any) -> Any:
    """Return the Python value of a number of another library."""
    item = getattr(value, "item", None)
    return item() if item is not None and not isinstance(value, str) else value
