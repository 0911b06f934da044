"""Convert any object to a DataFrame. An ordered list of (applies, build) pairs selects the conversion."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import attrs
import pandas as pd

from workbench.analysis.tables.columns import json_text, layout_of
from workbench.analysis.tables.event_frames import events_frame, has_events
from workbench.analysis.tables.rows import (
    check_in_memory,
    mark_report,
    records_frame,
)
from workbench.base.errors import Problem, UsageError
from workbench.base.schema.walk import flat, is_record
from workbench.client.calls.journal import Journal, JournalEntry
from workbench.sandbox.control_records import StoredRecord
from workbench.service.interface.events import Event
from workbench.service.interface.table import OPERATIONS, Operation
from workbench.service.interface.transactions import RewardsActivity, RewardsItem

Reveal = Collection[str]
Applies = Callable[[Any, Any], bool]  # called with the value and the class given as `of`
Build = Callable[[Any, Any, Reveal], pd.DataFrame]


def to_frame(x: object, *, of: object = None, reveal: Collection[str] = ()) -> pd.DataFrame:
    """Return a DataFrame of a record, a list of records, a page, events, or a result of this package.

    Columns are named after the attributes, with dots for nested attributes. A contract makes one row per token. Dtypes
    do not depend on the data, so an empty frame has the same dtypes: `str` for text (with leading zeros), Int64 for
    cents, exact decimals, boolean flags, datetime64[us, UTC] for times, and categories for enums (unknown values
    included).

    Args:
        x: Object to convert.
        of: Type of the rows, needed if x may be empty: a record class, an operation or its name, or an event kind
            such as "user.updated" or "transaction.*".
        reveal: Names of masked columns to show. The frame is marked (`frame.attrs["revealed"]`), as are files exported
            from it.

    Returns:
        The frame. `frame.attrs` holds `kind`, `notes` (caveats as sentences) and `unknown` (undocumented members, with
        the number of rows of each). The column `extra` holds the values of these members.

    Raises:
        UsageError: x cannot be converted, or its rows are of several kinds.
        UsageError: `reveal` names a column that is not masked, or x is a Dask DataFrame.
    """
    check_in_memory(x)
    columns = [reveal] if isinstance(reveal, str) else list(reveal)
    if not all(isinstance(name, str) for name in columns):
        raise UsageError([Problem("reveal", "type", "must be column names")], of="to_frame")
    names = frozenset(columns)
    for applies, build in _ROUTES:
        if applies(x, of):
            return build(x, of, names)
    raise _no_frame(x)


def _no_frame(x: object) -> UsageError:
    item = next((item for item in x if not isinstance(item, Mapping)), None) if isinstance(x, list | tuple) else None
    name = x.__name__ if isinstance(x, type) else type(x).__name__
    of = f" of {type(item).__name__}" if item is not None else ""
    return UsageError(
        f"cannot convert {name}{of} to a DataFrame; allowed are records, events, mappings, lists of these, and "
        "objects with frame() or rows()"
    )


def _of_records(x: Any, of: object, reveal: Reveal) -> pd.DataFrame:
    items: list[Any] = []
    several = isinstance(x, Iterable) and not isinstance(x, Mapping | str | bytes)
    for record in x if several else [x]:
        page = isinstance(record, RewardsActivity)
        items += record.items if page else [record]
        of = RewardsItem if page and of is None else of
    if items and has_events(items):
        return events_frame(items, None, reveal)
    classes = {type(item): None for item in items if not isinstance(item, Mapping)}
    cls = _class_of(of) if of is not None else next(iter(classes), None)
    if cls is None and not items:
        empty = pd.DataFrame()
        empty.attrs.update(kind="nothing", notes=["No rows; `of=` sets the columns of an empty table."])
        return empty
    if cls is None:
        return _of_mappings(items, reveal)
    if not isinstance(cls, type) or not (is_record(cls) or attrs.has(cls)):
        raise _no_frame(x if of is None else cls)
    others = [c.__name__ for c in classes if c is not cls]
    if others:
        raise UsageError(f"cannot convert rows of several kinds to one DataFrame: {', '.join([cls.__name__, *others])}")
    return records_frame(layout_of(cls), items, reveal)


def _of_mappings(items: list[Any], reveal: Reveal) -> pd.DataFrame:
    """Return mappings from a guide or a sandbox as rows with dotted columns and masked private members.

    Sandboxes store times in milliseconds.
    """
    stored = any(isinstance(item, StoredRecord) for item in items)
    rows = [dict(flat(item.shown() if hasattr(item, "shown") else item)) for item in items]
    raw = [dict(flat(item)) for item in items] if stored else rows
    private = {path for row, values in zip(rows, raw, strict=True) for path in row if row[path] != values[path]}
    revealed = set[str]()
    for name in reveal:
        fits = {path for path in private if name in (path, path.rpartition(".")[2])}
        if not fits:
            may = ", ".join(sorted(private)) or "none"
            raise UsageError(f"{name} is not a masked column here; columns that can be revealed: {may}")
        revealed |= fits
    for row, values in zip(rows, raw, strict=True):
        row |= {path: values[path] for path in revealed & row.keys()}
        row |= {path: json_text(value) for path, value in row.items() if isinstance(value, list | tuple)}
    frame = pd.DataFrame(rows)
    frame = frame.convert_dtypes() if len(frame) else frame
    for time in [name for name in map(str, frame) if stored and name.endswith("_at") and frame[name].dtype == "Int64"]:
        frame[time] = pd.to_datetime(frame[time], unit="ms", utc=True).astype("datetime64[us, UTC]")
    frame = mark_report(frame, "mapping", [])
    frame.attrs["revealed"] = sorted(revealed)
    return frame


def guide_rows(guide: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the kind, status and id of each record in a sandbox's guide. Keys are left out."""
    rows: list[dict[str, Any]] = []
    for kind, listed in guide.items():
        groups = listed if isinstance(listed, Mapping) else {None: listed}
        for status, ids in groups.items():
            for id_ in ids if isinstance(ids, list | tuple) else ():
                of = id_ if isinstance(id_, Mapping) else {"id": id_}
                rows.append({"kind": kind, "status": status, **of})
    return [row for row in rows if "id" in row]


def _class_of(of: Any) -> Any:
    if isinstance(of, str):
        of = OPERATIONS.get(of, of)
    if isinstance(of, Operation) or hasattr(of, "operation"):
        of = getattr(of, "operation", of).answer
    return RewardsItem if of is RewardsActivity else of


_ROUTES: tuple[tuple[Applies, Build], ...] = (
    (lambda x, _: isinstance(x, pd.DataFrame), lambda x, *_: x),
    (lambda x, _: callable(getattr(x, "frame", None)), lambda x, *_: x.frame()),
    (
        lambda x, _: hasattr(x, "rows") and hasattr(x, "row_type"),
        lambda x, _, reveal: records_frame(layout_of(x.row_type), x.rows(), reveal),
    ),
    (lambda x, _: isinstance(x, Mapping) and "base_url" in x, lambda x, _, reveal: _of_mappings(guide_rows(x), reveal)),
    (lambda x, _: isinstance(x, pd.Series), lambda x, *_: x.to_frame()),
    (
        lambda x, _: isinstance(x, list | tuple) and bool(x) and all(hasattr(item, "row_type") for item in x),
        lambda x, *_: pd.concat([to_frame(run).assign(run=i) for i, run in enumerate(x)], ignore_index=True),
    ),
    (lambda x, _: isinstance(x, Journal), lambda x, _, reveal: records_frame(layout_of(JournalEntry), x, reveal)),
    (
        lambda x, of: of is Event or (isinstance(of, str) and "." in of) or has_events(x),
        lambda x, of, reveal: events_frame(x, of if isinstance(of, str) else None, reveal),
    ),
    (lambda x, _: is_record(x) or attrs.has(type(x)) or isinstance(x, Iterable), _of_records),
)
