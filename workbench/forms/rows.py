"""The rows of a view: plain values in named columns, with what each row opens to."""

from collections.abc import Iterable
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class View:
    """Rows of plain values in named columns, the thing behind each row, and the id that others know it by."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    things: tuple[Any, ...] = attrs.field(repr=False)
    ids: tuple[str, ...]
    frame: Any = attrs.field(default=None, repr=False)  # the typed frame, where the rows came from one
    notes: tuple[str, ...] = ()


def view(columns: tuple[str, ...], found: Iterable[tuple[tuple[Any, ...], Any, str]], *notes: str) -> View:
    """Put rows, things and ids together; a column in which nothing stands is left out."""
    held = list(found)
    kept = [place for place in range(len(columns)) if not held or any(row[place] is not None for row, _, _ in held)]
    return View(
        columns=tuple(columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row, _, _ in held),
        things=tuple(thing for _, thing, _ in held),
        ids=tuple(key for _, _, key in held),
        notes=notes,
    )


def of_frame(frame: Any, key: str) -> View:
    """Return a typed frame as rows; the frame goes with them for exports and charts."""
    every = {str(name): _values(frame[name]) for name in frame.columns if name != "user_id"}
    kept = {name: values for name, values in every.items() if not values or any(one is not None for one in values)}
    names, columns = tuple(kept), list(kept.values())
    rows = tuple(zip(*columns, strict=True))
    ids = tuple(str(value) for value in frame[key].tolist()) if key in names else ("",) * len(rows)
    things = tuple(_Lazy(names, row) for row in rows)
    return View(
        columns=names, rows=rows, things=things, ids=ids, frame=frame, notes=tuple(frame.attrs.get("notes", ()))
    )


@attrs.frozen
class _Lazy:
    """A row that becomes a mapping when it is opened."""

    names: tuple[str, ...]
    row: tuple[Any, ...]

    def mapping(self) -> dict[str, Any]:
        return {name: value for name, value in zip(self.names, self.row, strict=True) if value is not None}


def thing_of(thing: Any) -> Any:
    """Return what a row opens to, as faces take it."""
    return thing.mapping() if isinstance(thing, _Lazy) else thing


def _values(column: Any) -> list[Any]:
    empty = column.isna().tolist()
    values = column.dt.to_pydatetime().tolist() if str(column.dtype).startswith("datetime") else column.tolist()
    return [None if gone else value for value, gone in zip(values, empty, strict=True)]
