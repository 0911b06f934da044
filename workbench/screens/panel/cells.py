"""Rows of a list, stored as columns of plain values, with the record that each row opens.

Times are integers: milliseconds since 1970.
"""

import gc
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from itertools import zip_longest
from typing import Any

import attrs

from workbench.base.system.change_log import ChangeLog
from workbench.service import rendering
from workbench.service.rendering.text import sentence

MOST = 200_000
"""Maximum number of rows in a page. A longer list is shown in parts of this size, ordered by time."""
_EPOCH = datetime.fromtimestamp(0, UTC)
Facts = dict[str, Any]
"""Values of a row or a record, by column or member."""
Message = dict[str, Any]
"""Message between the page and the kernel: JSON values by name."""


@attrs.frozen
class Column:
    """A column, with its name, the kind of its values, and the list that its ids link to."""

    name: str
    kind: str = "text"  # otherwise "id", "address", "money" (cents), "number", "time", "wall" (a time) or "status"
    to: str | None = None
    path: str = attrs.field(default="", eq=False)
    """Path of the value within the row's record, or "label" for the label of this record."""

    @property
    def label(self) -> str:
        """Head of the column: "Amount" for `amount_cents`, "Card" for `card_id`, "ID" for `id`."""
        return sentence(rendering.label(re.sub(r"_id$" if self.kind == "id" else "_cents$", "", self.name)))


@cache
def columns_of(text: str) -> tuple[Column, ...]:
    """Parse columns: `name`, `name:kind` or `name:id>list`, followed by `=path` if the path is not the name."""
    found = re.findall(r"(\w+)(?::(\w+))?(?:>(\w+))?(?:=(\S+))?", text)
    return tuple(Column(name, kind or "text", to or None, path or name) for name, kind, to, path in found)


def milliseconds(at: datetime) -> int:
    """Return a time in milliseconds since 1970. A time without a time zone is in UTC."""
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // timedelta(milliseconds=1)


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the garbage collector, which would otherwise scan all rows repeatedly while many rows are created."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@attrs.define(kw_only=True, slots=False, eq=False)
class Rows:
    """Rows of a list, as columns of plain values, with the id and record of each row."""

    columns: tuple[Column, ...]
    cells: tuple[Sequence[Any], ...] = attrs.field(repr=False)
    """The values of each column."""
    things: Sequence[Any] | Callable[[str], Any] = attrs.field(repr=False)
    """The record of each row, or a function that reads a record by its id."""
    ids: Sequence[str] = attrs.field(repr=False)
    newest: str | None = None
    """Time column that orders the rows, newest first. "" reverses the stored order, and None retains it."""
    names: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Labels of linked records by id, such as a card's last digits or a masked name."""
    frame: Any = attrs.field(default=None, repr=False)  # the typed frame from which the rows came; None without a frame
    notes: tuple[str, ...] = ()
    log: ChangeLog[int] = attrs.field(factory=ChangeLog, init=False, repr=False)
    """Positions of rows that changed or were added since the list was first read."""

    def put(self, ids: Sequence[str], cells: Iterable[Sequence[Any]]) -> None:
        """Change rows with known ids in place, and append rows with new ids.

        Args:
            cells: For each column, the values of these rows.
        """
        columns: list[Any] = [*self.cells, self.ids]
        positions = self.positions
        for key, *values in zip(ids, *cells, ids, strict=True):
            position = positions.setdefault(key, len(self.ids))
            self.log.note(position)
            for column, value in zip(columns, values, strict=True):
                column[position : position + 1] = [value]
        self.__dict__.pop("order", None)

    def follows(self, former: "Rows") -> bool:
        """Return whether the rows of an earlier read have the same positions. If so, log changed and new rows."""
        if self is former:
            return True
        is_longer = self.columns == former.columns and self.ids[: len(former.ids)] == former.ids
        if not is_longer or not former.names.items() <= self.names.items():
            return False
        self.log = former.log
        rows = zip_longest(zip(*former.cells, strict=True), zip(*self.cells, strict=True))
        for position, (was, now) in enumerate(rows):
            if was != now:
                self.log.note(position)
        return True

    @cached_property
    def positions(self) -> dict[str, int]:
        """Return the position of each row by id."""
        return dict(zip(self.ids, range(len(self.ids)), strict=True))

    @cached_property
    def order(self) -> Sequence[int]:
        """Return the positions of the rows in display order."""
        rows: Sequence[int] = range(len(self.ids))
        if self.newest:
            rows = sorted(rows, key=self.column(self.newest).__getitem__)
        return rows if self.newest is None else rows[::-1]

    def only(self, numbers: Sequence[int]) -> "Rows":
        """Return the rows at some positions, in the order of the positions, without their records."""
        cells = tuple([column[number] for number in numbers] for column in self.cells)
        ids = [self.ids[number] for number in numbers]
        return attrs.evolve(self, cells=cells, ids=ids, things=(), newest=None, frame=None)

    def column(self, name: str) -> Sequence[Any]:
        """Return the values of a column; a column that does not exist has None in each row."""
        names = [column.name for column in self.columns]
        return self.cells[names.index(name)] if name in names else (None,) * len(self.ids)

    def facts(self, number: int) -> Facts:
        """Return the id of a row, and its values by column name."""
        named = zip(self.columns, self.cells, strict=True)
        return {"id": self.ids[number], **{column.name: cells[number] for column, cells in named}}

    def thing(self, number: int) -> Any:
        """Return the record of a row."""
        return self.things(self.ids[number]) if callable(self.things) else self.things[number]


Found = tuple[str, Facts, Any]
"""An id, values by column, and the record that a row opens."""


def rows_of(
    columns: str,
    entries: Iterable[Found],
    *notes: str,
    newest: bool = True,
    names: Mapping[str, str] | None = None,
) -> Rows:
    """Return records and their values as the rows of a list, with times in milliseconds.

    Args:
        columns: The columns, as for `columns_of`.
        entries: For each row: its id, its values by column name, and the record that it opens.
        notes: Sentences to show with the rows.
        newest: Whether the last rows are shown first.
        names: Labels of linked records by id.
    """
    found, called = list(entries), names or {}

    def cell(column: Column, key: str, facts: Facts) -> Any:
        value = facts.get(column.name)
        if column.path == "label":
            return called.get(key, value)
        return milliseconds(value) if isinstance(value, datetime) else value

    kept = columns_of(columns)
    return Rows(
        columns=kept,
        cells=tuple([cell(column, key, facts) for key, facts, _ in found] for column in kept),
        things=[thing for *_, thing in found],
        ids=[key for key, *_ in found],
        names=called,
        notes=notes,
        newest="" if newest else None,
    )


def _is_period(times: Any) -> bool:
    """Return whether a column has days instead of times: no time zone, and midnight in each row."""
    days = times.dropna()
    return times.dt.tz is None and bool((days == days.dt.normalize()).all())


def rows_of_frame(frame: Any, declared: str = "") -> Rows:
    """Return a frame as rows, with cents as money, and with typed times, numbers and statuses.

    Args:
        declared: Columns whose kind does not follow from the frame, as for `columns_of`.
    """
    from workbench.analysis.tables.to_file import notes_of

    columns, cells = [], []
    known = {column.name: column for column in columns_of(declared)}
    for name, column in frame.items():
        name, dtype, values = str(name), str(column.dtype).lower(), column
        kind = "id" if name.endswith("_id") or name == "id" else "text"
        if column.dtype.kind == "M" and _is_period(column):
            values = column.dt.strftime("%Y-%m-%d")
        elif column.dtype.kind == "M":
            kind, values = "time", column.to_numpy("datetime64[ms]").astype("int64")
        elif dtype.startswith(("int", "uint")) and name.endswith("_cents"):
            kind = "money"
        elif dtype.startswith(("int", "uint", "float", "double", "decimal")):
            kind = "number"
        if name in ("status", "outcome"):
            kind = "status"
        columns.append(known.get(name, Column(name, kind)))
        cells.append([None if no else value for value, no in zip(values.tolist(), column.isna(), strict=True)])
    return Rows(
        columns=tuple(columns),
        cells=tuple(cells),
        things=(None,) * len(frame),
        ids=[*map(str, range(1, len(frame) + 1))],
        frame=frame,
        notes=tuple(notes_of(frame)),
    )
