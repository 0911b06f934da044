"""One `to_frame(x)` for everything: what x is selects the conversion, from an ordered list of (applies, build)."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import attrs
import pandas as pd

from workbench.client.journal import Entry, Journal
from workbench.interface.events import EVENT_KINDS, Event
from workbench.interface.operation import Operation
from workbench.interface.rewards import RewardsActivity, RewardsItem
from workbench.interface.table import OPERATIONS
from workbench.interface.walk import Text, is_record, snake
from workbench.tables.columns import OPEN, Column, Plan, plan
from workbench.tables.rows import records_frame
from workbench.webhooks.inbox import Inbox

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
        of: What the rows are, where x may be empty: a record class, an operation or its name, or an event kind.
        reveal: Names of masked columns to show. The frame is marked (`frame.attrs["revealed"]`), and so are its exports.

    Returns:
        The frame. `frame.attrs` holds `kind`, `notes` (caveats as sentences) and `unknown` (members that the document
        does not name, with their number of rows). The column `extra` holds those members.

    Raises:
        TypeError: x cannot be converted, or its rows are of several kinds.
        ValueError: `reveal` names a column that is not masked.
    """
    names = frozenset({reveal} if isinstance(reveal, str) else reveal)
    for applies, build in (*_MORE, *_ROUTES):
        if applies(x, of):
            return build(x, of, names)
    raise _no_frame(x)


def register(applies: Callable[[Any], bool], build: Callable[[Any, Collection[str]], pd.DataFrame]) -> None:
    """Register how `to_frame` converts another type of object. An object may offer `rows()` and `row_type` instead.

    Args:
        applies: Whether an object is of this sort.
        build: Returns the frame of an object; its second argument is `reveal`.
    """
    _MORE.append((lambda x, _: applies(x), lambda x, _, reveal: build(x, reveal)))


def _no_frame(x: Any) -> TypeError:
    name = x.__name__ if isinstance(x, type) else type(x).__name__
    return TypeError(f"cannot convert {name} to a DataFrame")


def _as_list(x: Any) -> list[Any]:
    return [x] if isinstance(x, Mapping | str | bytes) or not isinstance(x, Iterable) else list(x)


def _is_events(x: Any, of: Any) -> bool:
    if of is Event or (isinstance(of, str) and of in EVENT_KINDS):
        return True
    return isinstance(x, Event) or (isinstance(x, list | tuple) and bool(x) and all(isinstance(e, Event) for e in x))


def _of_events(x: Any, of: Any, reveal: Reveal) -> pd.DataFrame:
    return events_frame(_as_list(x), of if isinstance(of, str) else None, reveal)


def _of_records(x: Any, of: Any, reveal: Reveal) -> pd.DataFrame:
    items: list[Any] = []
    for record in _as_list(x):
        page = isinstance(record, RewardsActivity)
        items += record.items if page else [record]
        of = RewardsItem if page and of is None else of
    if items and all(isinstance(item, Event) for item in items):
        return events_frame(items, None, reveal)
    classes = {type(item): None for item in items if not isinstance(item, Mapping)}
    cls = _class_of(of) if of is not None else next(iter(classes), None)
    if cls is None and not items:
        empty = pd.DataFrame()
        empty.attrs.update(kind="nothing", notes=["No rows; `of=` sets the columns of an empty table."])
        return empty
    if not isinstance(cls, type) or not (is_record(cls) or attrs.has(cls)):
        raise _no_frame(x if cls is None else cls)
    others = [c.__name__ for c in classes if c is not cls]
    if others:
        raise TypeError(f"cannot convert rows of several kinds to one DataFrame: {', '.join([cls.__name__, *others])}")
    return records_frame(plan(cls), items, reveal)


def _class_of(of: Any) -> Any:
    if isinstance(of, str):
        of = OPERATIONS.get(of, of)
    if isinstance(of, Operation) or hasattr(of, "operation"):
        of = getattr(of, "operation", of).answer
    return RewardsItem if of is RewardsActivity else of


_MORE: list[tuple[Applies, Build]] = []
_ROUTES: tuple[tuple[Applies, Build], ...] = (
    (lambda x, _: isinstance(x, pd.DataFrame), lambda x, *_: x),
    (lambda x, _: callable(getattr(x, "frame", None)), lambda x, *_: x.frame()),
    (
        lambda x, _: hasattr(x, "rows") and hasattr(x, "row_type"),
        lambda x, _, reveal: records_frame(plan(x.row_type), x.rows(), reveal),
    ),
    (lambda x, _: isinstance(x, Journal), lambda x, _, reveal: records_frame(plan(Entry), x, reveal)),
    (lambda x, _: isinstance(x, Inbox), lambda x, of, reveal: _of_events(x.events(), of, reveal)),
    (_is_events, _of_events),
    (lambda x, _: is_record(x) or attrs.has(type(x)) or isinstance(x, Iterable), _of_records),
)


def events_frame(events: Iterable[Event], kind: str | None, reveal: Collection[str] = ()) -> pd.DataFrame:
    """Return the frame of events: the envelope, then `body.…` columns for each kind that occurs.

    Args:
        events: The events.
        kind: Keep events of this kind only; its columns are there even without events.
        reveal: Names of masked columns to show.
    """
    kept = [event for event in events if kind in (None, event.kind)]
    kinds = {kind} if kind else {event.kind for event in kept}
    return records_frame(events_plan(kinds), kept, reveal)


def events_plan(kinds: Collection[str]) -> Plan:
    """Return the columns of events of these kinds, in the order of the interface."""
    envelope = plan(Event)
    columns = [column for column in envelope.columns if column.name != "body"]
    columns.insert(3, Column(name="kind", wire="kind", kind=Text(), about=OPEN))
    answers = [*envelope.answers, ("body.", "body.")]
    for row in EVENT_KINDS.values():
        if row.name in kinds:
            body = plan(row.body)  # type: ignore[arg-type]  # records are compared by value, their classes are not
            columns += [attrs.evolve(c, name=f"body.{c.name}", wire=f"body.{c.wire}") for c in body.columns]
            answers += [(f"body.{path}", f"body.{wire}") for path, wire in body.answers]
    return Plan(
        of=Event,
        kind=snake("Event"),
        columns=tuple({column.name: column for column in columns}.values()),
        answers=tuple(dict.fromkeys(answers)),
        rows_of=None,
        has_extra=True,
        seals_extra=False,
    )
