"""Rows of plain values in columns, with the record that each row opens. Rows come from facts, columns or frames."""

import gc
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from itertools import compress
from operator import ne
from typing import Any

import attrs

from workbench.base.schema import walk
from workbench.base.system.change_log import ChangeLog
from workbench.sandbox.control_records import StoredRecord
from workbench.service import rendering
from workbench.service.rendering.text import sentence

MOST = 200_000
"""Rows that a page holds; a longer list is shown in parts of this size, by time."""


@attrs.frozen
class Column:
    """A column: its name, the type of its values, and the kind of record to which an id links."""

    name: str
    kind: str = "text"  # otherwise "id", "address", "money" (cents), "number", "time" or "status"
    to: str | None = None

    @property
    def label(self) -> str:
        """Head of the column: "Amount" for `amount_cents`, "Card" for `card_id`, "ID" for `id`."""
        return sentence(rendering.label(re.sub(r"_id$" if self.kind == "id" else "_cents$", "", self.name)))


class Times(Sequence[datetime | None]):
    """Times in UTC. They are stored as milliseconds since 1970 and converted when they are read."""

    def __init__(self, stored: Sequence[int | None]) -> None:
        self.stored = stored

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, number: int) -> datetime | None:  # type: ignore[override]
        at = self.stored[number]
        return None if at is None else datetime.fromtimestamp(at / 1000, UTC)


def milliseconds(at: datetime) -> int:
    """Return a time in milliseconds since 1970. A time without a time zone is in UTC."""
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


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


def stored_cells(cells: Sequence[Any]) -> Any:
    """Return the cells of a column in their stored form, with times in milliseconds."""
    return cells.stored if isinstance(cells, Times) else cells


class StoredRecords(Sequence[StoredRecord]):
    """Records of the sandbox by id. A record is read when its row is opened."""

    def __init__(self, sandbox: Any, ids: Sequence[str]) -> None:
        self._sandbox, self._ids = sandbox, ids

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, number: int) -> StoredRecord:  # type: ignore[override]
        record: StoredRecord = self._sandbox.state(self._ids[number])
        return record


@attrs.define(kw_only=True, slots=False, eq=False)
class Rows:
    """Rows of plain values in columns, with each row's id and record."""

    columns: tuple[Column, ...]
    cells: tuple[Sequence[Any], ...] = attrs.field(repr=False)
    """The values of each column."""
    things: Sequence[Any] = attrs.field(repr=False)
    ids: Sequence[str] = attrs.field(repr=False)
    newest: str | None = None
    """Column of times by which rows are shown, the newest first. "" shows the last row first, None the first row."""
    names: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """Label shown for the id of a linked record: the digits of a card, a masked name."""
    frame: Any = attrs.field(default=None, repr=False)  # the typed frame, if the rows came from a frame
    notes: tuple[str, ...] = ()
    log: ChangeLog[int] = attrs.field(factory=ChangeLog, init=False, repr=False)
    """Positions of rows that changed or were added since the list was first read."""

    def put(self, ids: Sequence[str], cells: Iterable[Sequence[Any]]) -> None:
        """Change rows with known ids in place, and append rows with new ids.

        Args:
            cells: The values of these rows in each column.
        """
        positions, columns = self.positions, [*map(stored_cells, self.cells), self.ids]
        for key, *values in zip(ids, *cells, ids, strict=True):
            position = positions.setdefault(key, len(self.ids))
            self.log.note(position)
            for column, value in zip(columns, values, strict=True):
                column[position : position + 1] = [value]
        self.__dict__.pop("order", None)

    def follows(self, former: "Rows") -> bool:
        """Return whether the rows of an earlier read have their places. If so, log the changed and new rows."""
        count = len(former.ids)
        if self is former:
            return True
        if self.columns != former.columns or self.ids[:count] != former.ids:
            return False
        if not former.names.items() <= self.names.items():
            return False
        changed = {*range(count, len(self.ids))}
        for was, now in zip(map(stored_cells, former.cells), map(stored_cells, self.cells), strict=True):
            if was != now[:count]:
                changed.update(compress(range(count), map(ne, was, now)))
        self.log = former.log
        for position in sorted(changed):
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
            rows = sorted(rows, key=stored_cells(self.column(self.newest)).__getitem__)
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

    def facts(self, number: int) -> dict[str, Any]:
        """Return the values of a row by column name."""
        return {column.name: cells[number] for column, cells in zip(self.columns, self.cells, strict=True)}

    def known(self, number: int) -> dict[str, Any]:
        """Return all known values of a row by attribute name, for the arguments of actions."""
        thing = self.things[number]
        held = dict(thing) if isinstance(thing, Mapping) else walk.given(thing) if walk.is_record(thing) else {}
        return {**held, "id": self.ids[number], **self.facts(number)}


Found = tuple[str, Mapping[str, Any], Any]
"""An id, values by column, and the record that a row opens."""


def rows_of(
    columns: str,
    entries: Iterable[Found],
    *notes: str,
    newest: bool = True,
    names: Mapping[str, str] | None = None,
) -> Rows:
    """Return rows.

    Args:
        newest: Whether the last rows are shown first.
        columns: Each column as `name`, `name:kind`, `name:id>list`, or `name:label` for the label of the row's own
            record.
    """
    known, called = list(entries), names or {}
    cells = {
        name: [called.get(key, facts.get(name)) if rest == "label" else facts.get(name) for key, facts, _ in known]
        for name, _, rest in (part.partition(":") for part in columns.split())
    }
    ids, things = [key for key, _, _ in known], [thing for _, _, thing in known]
    return rows_of_cells(columns, cells, ids, things, called, notes, newest="" if newest else None)


def rows_of_cells(
    columns: str,
    cells: Mapping[str, Sequence[object]],
    ids: Sequence[str],
    things: Sequence[object],
    names: Mapping[str, str],
    notes: tuple[str, ...] = (),
    newest: str | None = None,
) -> Rows:
    """Return rows, as `rows_of` does, from the cells of each column."""
    kept = []
    for name, _, rest in (part.partition(":") for part in columns.split()):
        kind, _, to = rest.partition(">")
        kept.append(Column(name, "text" if kind in ("", "label") else kind, to or None))
    values = tuple(cells[column.name] for column in kept)
    return Rows(columns=tuple(kept), cells=values, things=things, ids=ids, names=names, notes=notes, newest=newest)


def cells_of_frame(frame: Any) -> dict[str, Sequence[Any]]:
    """Return the columns of a frame as plain values."""
    columns: dict[str, Sequence[Any]] = {}
    for name in frame.columns:
        column, empty = frame[name], frame[name].isna().tolist()
        is_time, is_period = column.dtype.kind == "M", _is_period(column)
        if is_time and not is_period:
            values = column.to_numpy("datetime64[ms]").astype("int64").tolist()
        else:
            values = (column.dt.strftime("%Y-%m-%d") if is_period else column).tolist()
        plain = [None if missing else value for value, missing in zip(values, empty, strict=True)]
        columns[str(name)] = Times(plain) if is_time and not is_period else plain
    return columns


def _is_period(column: Any) -> bool:
    """Return whether a column holds the days after which periods are named."""
    if column.dtype.kind != "M" or column.dt.tz is not None:
        return False
    days = column.dropna()
    return bool((days == days.dt.normalize()).all())


def rows_of_frame(frame: Any) -> Rows:
    """Return a frame as rows, with cents as money, and with typed times, numbers and statuses."""
    columns = []
    for name in map(str, frame.columns):
        dtype = str(frame[name].dtype).lower()
        kind = "id" if name.endswith("_id") or name == "id" else "text"
        if dtype.startswith("datetime") and not _is_period(frame[name]):
            kind = "time"
        if dtype.startswith(("int", "uint", "float", "double", "decimal")):
            kind = "money" if name.endswith("_cents") and dtype.startswith(("int", "uint")) else "number"
        if name in ("status", "outcome"):
            kind = "status"
        columns.append(Column(name, kind))
    return Rows(
        columns=tuple(columns),
        cells=tuple(cells_of_frame(frame).values()),
        things=(None,) * len(frame),
        ids=tuple(str(number) for number in range(1, len(frame) + 1)),
        frame=frame,
        notes=tuple(map(str, frame.attrs.get("notes", ()))),
    )
