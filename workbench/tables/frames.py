"""One `to_frame(x)` for everything: what x is selects the conversion, from an ordered list of (applies, build)."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import attrs
import pandas as pd

from workbench.client.journal import Entry, Journal
from workbench.interface.events import Event
from workbench.interface.table import OPERATIONS, Operation
from workbench.interface.transactions import RewardsActivity, RewardsItem
from workbench.interface.walk import is_record
from workbench.tables.columns import json_text, plan
from workbench.tables.events import events_frame, has_events
from workbench.tables.rows import check_in_memory, mark_report, records_frame

Reveal = Collection[str]
Applies = Callable[[Any, Any], bool]  # of x and `of`
Build = Callable[[Any, Any, Reveal], pd.DataFrame]


def to_frame(x: Any, *, of: Any = None, reveal: Collection[str] = ()) -> pd.DataFrame:
    """Return a DataFrame of a record, a list of records, a page, events, or a result of this package.

    Columns are named like the attributes, with dots for nested ones; a contract makes one row per token. Dtypes follow
    the field's rule and are the same in an empty frame: text `str` (leading zeros kept), cents Int64, decimals exact,
    flags boolean, times datetime64[us, UTC], enums categories with unknown values kept.

    Args:
        x: What to convert.
        of: What the rows are, where x may be empty: a record class, an operation or its name, or an event kind such as
            "user.updated" or "transaction.*".
        reveal: Names of masked columns to show. The frame is marked (`frame.attrs["revealed"]`), and so are its exports.

    Returns:
        The frame. `frame.attrs` holds `kind`, `notes` (caveats as sentences) and `unknown` (members that the document
        does not name, with their number of rows). The column `extra` holds those members.

    Raises:
        TypeError: x cannot be converted, or its rows are of several kinds.
        ValueError: `reveal` names a column that is not masked, or x is a frame of a cluster.
    """
    check_in_memory(x)
    names = frozenset({reveal} if isinstance(reveal, str) else reveal)
    for applies, build in _ROUTES:
        if applies(x, of):
            return build(x, of, names)
    raise _no_frame(x)


def _no_frame(x: Any) -> TypeError:
    item = next((one for one in x if not isinstance(one, Mapping)), None) if isinstance(x, list | tuple) else None
    name = x.__name__ if isinstance(x, type) else type(x).__name__
    of = f" of {type(item).__name__}" if item is not None else ""
    return TypeError(
        f"cannot convert {name}{of} to a DataFrame; it takes records, events, mappings, lists of these, and what has "
        "frame() or rows()"
    )


def _as_list(x: Any) -> list[Any]:
    return [x] if isinstance(x, Mapping | str | bytes) or not isinstance(x, Iterable) else list(x)


def _is_events(x: Any, of: Any) -> bool:
    return of is Event or (isinstance(of, str) and "." in of) or has_events(x)


def _of_records(x: Any, of: Any, reveal: Reveal) -> pd.DataFrame:
    items: list[Any] = []
    for record in _as_list(x):
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
        return _of_mappings(items)
    if not isinstance(cls, type) or not (is_record(cls) or attrs.has(cls)):
        raise _no_frame(x if of is None else cls)
    others = [c.__name__ for c in classes if c is not cls]
    if others:
        raise TypeError(f"cannot convert rows of several kinds to one DataFrame: {', '.join([cls.__name__, *others])}")
    return records_frame(plan(cls), items, reveal)


def _of_mappings(items: list[Any]) -> pd.DataFrame:
    """Return mappings as rows with dotted columns, as a guide lists them or a sandbox stores them; private members masked."""
    rows = [dict(_flat(one.shown() if hasattr(one, "shown") else one)) for one in items]
    made = pd.DataFrame({name: pd.Series([row.get(name) for row in rows]) for row in rows for name in row})
    made = made.convert_dtypes() if len(made) else made
    return mark_report(made, "mapping", [])


def _flat(one: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in one.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", json_text(value) if isinstance(value, list | tuple) else value


def guide_rows(guide: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the records that a sandbox's guide lists, each with its kind, its status and its id; no keys."""
    rows: list[dict[str, Any]] = []
    for kind, listed in guide.items():
        groups = listed if isinstance(listed, Mapping) else {None: listed}
        for status, ids in groups.items():
            for one in ids if isinstance(ids, list | tuple) else ():
                of = one if isinstance(one, Mapping) else {"id": one}
                rows.append({"kind": kind, "status": status, **of})
    return [row for row in rows if "id" in row]


def _class_of(of: Any) -> Any:
    if isinstance(of, str):
        of = OPERATIONS.get(of, of)
    if isinstance(of, Operation) or hasattr(of, "operation"):
        of = getattr(of, "operation", of).answer
    return RewardsItem if of is RewardsActivity else of


def _of_runs(x: Any, _: Any) -> bool:
    return isinstance(x, list | tuple) and bool(x) and all(hasattr(one, "row_type") for one in x)


_ROUTES: tuple[tuple[Applies, Build], ...] = (
    (lambda x, _: isinstance(x, pd.DataFrame), lambda x, *_: x),
    (lambda x, _: callable(getattr(x, "frame", None)), lambda x, *_: x.frame()),
    (
        lambda x, _: hasattr(x, "rows") and hasattr(x, "row_type"),
        lambda x, _, reveal: records_frame(plan(x.row_type), x.rows(), reveal),
    ),
    (lambda x, _: isinstance(x, Mapping) and "base_url" in x, lambda x, *_: _of_mappings(guide_rows(x))),
    (lambda x, _: isinstance(x, pd.Series), lambda x, *_: x.to_frame()),
    (_of_runs, lambda x, *_: pd.concat([to_frame(run).assign(run=i) for i, run in enumerate(x)], ignore_index=True)),
    (lambda x, _: isinstance(x, Journal), lambda x, _, reveal: records_frame(plan(Entry), x, reveal)),
    (_is_events, lambda x, of, reveal: events_frame(x, of if isinstance(of, str) else None, reveal)),
    (lambda x, _: is_record(x) or attrs.has(type(x)) or isinstance(x, Iterable), _of_records),
)
