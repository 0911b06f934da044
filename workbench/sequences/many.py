"""A sequence run many times: once per row, repeated, side by side up to a limit."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import attrs

from workbench.errors import Problem, WorkbenchError, discreet
from workbench.runs.progress import Line, silent
from workbench.sequences import audit
from workbench.sequences.ledger import Ledger, merged
from workbench.sequences.play import Player, Venue
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
        """Give the books of all runs in one."""
        return merged(one.ledger() for one in self)

    def rows(self) -> list[StepRow]:
        """Give the steps of all runs as rows, with the number of their run."""
        return [attrs.evolve(row, run=number) for number, one in enumerate(self, 1) for row in one.rows()]

    @property
    def row_type(self) -> type[StepRow]:
        """What a row is, for `frame`."""
        return StepRow

    def __repr__(self) -> str:
        return f"<{len(self)} runs: {sum(one.ok for one in self)} as expected>"


@discreet
def run_many(
    sequence: Sequence,
    api: Any,
    rows: Iterable[Mapping[str, Any]] | Any = None,
    *,
    times: int = 1,
    workers: int = 1,
    **values: Any,
) -> Runs:
    """Run a sequence once per row, or several times, up to `workers` at a time.

    Args:
        rows: Mappings of parameters, a DataFrame, the path of a CSV, JSON, XLSX or Parquet file, or None for one row of
            `values`. Empty cells mean "not given"; the cells of a file are read by the types of the parameters.
        times: How often each row is run.
        workers: How many run side by side; 1 keeps the order, and with it the hash, the same each time.
        values: Parameters that all rows share.

    Raises:
        InvalidSequence: The sequence or any row is wrong; all problems with their row, nothing was sent.
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
    told = Line(f"{sequence.name} x {len(todo):,}") if len(todo) >= LONG else silent
    done: list[Run] = []

    def kept(each: Run) -> Run:
        done.append(each)
        told(len(done), len(todo), "runs", last=len(done) == len(todo))
        return each

    if workers == 1:
        return Runs(kept(_one(sequence, venue, row)) for row in todo)
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="sequence") as pool:
        return Runs(map(kept, pool.map(lambda row: _one(sequence, venue, row), todo)))


def _one(sequence: Sequence, venue: Venue, row: Mapping[str, Any]) -> Run:
    player = Player(sequence, venue, row, lean=True)
    began = player.venue.now()
    drive(player)
    return Run(player, began)


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
    """Give the Python value of a number of another library."""
    item = getattr(value, "item", None)
    return item() if item is not None and not isinstance(value, str) else value
