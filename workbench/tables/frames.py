"""One `frame(x)` for everything: the way is chosen by what x is, from an ordered list of (applies, build)."""

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
from workbench.tables.columns import OPEN_FACT, Column, Plan, plan
from workbench.tables.rows import records_frame
from workbench.webhooks.inbox import Inbox


@attrs.frozen(kw_only=True)
class Wanted:
    """What a caller of `frame` asks for besides x."""

    of: Any
    reveal: frozenset[str]


Applies = Callable[[Any, Wanted], bool]
Build = Callable[[Any, Wanted], pd.DataFrame]
_MORE: list[tuple[Applies, Build]] = []


def to_frame(x: Any, *, of: Any = None, reveal: Collection[str] = ()) -> pd.DataFrame:
    """Make a DataFrame of a record, a list of records, a page, events, or a result of this package.

    Columns are named like the attributes, nested ones dotted; a contract makes one row per token. Dtypes follow the
    field's rule and are the same when empty: text `str` (leading zeros kept), cents Int64, decimals exact
    (decimal128), flags boolean, times datetime64[us, UTC], enums categories with unknown values kept.

    Args:
        of: What the rows are, where x may be empty: a record class, an operation or its name, or an event kind.
        reveal: Names of masked columns to show. The frame is marked: `frame.attrs["revealed"]`, and so are its exports.

    Returns:
        The frame. `frame.attrs` holds `kind`, `notes` (what is to be known of it, in words) and `unknown` (members
        that the document does not name, with their number of rows). The column `extra` holds those members.

    Raises:
        TypeError: No table is known for x, or its rows are of several kinds.
        ValueError: `reveal` names no masked column.
    """
    if isinstance(reveal, str):
        reveal = {reveal}
    wanted = Wanted(of=of, reveal=frozenset(reveal))
    for applies, build in (*_MORE, *_ROUTES):
        if applies(x, wanted):
            return build(x, wanted)
    raise TypeError(f"no table is known for {_named(x)}")


def register(applies: Callable[[Any], bool], build: Callable[[Any, Collection[str]], pd.DataFrame]) -> None:
    """Let `frame` make tables of what a higher floor brings. An object may offer `rows()` and `row_type` instead.

    Args:
        applies: Whether x is such a thing.
        build: Gives the frame of x; its second argument is `reveal`.
    """
    _MORE.append((lambda x, _: applies(x), lambda x, wanted: build(x, wanted.reveal)))


def _named(x: Any) -> str:
    return x.__name__ if isinstance(x, type) else f"a {type(x).__name__}"


def _listed(x: Any) -> list[Any]:
    if isinstance(x, Mapping | str | bytes) or not isinstance(x, Iterable):
        return [x]
    return list(x)


def _class_of(of: Any) -> Any:
    if isinstance(of, str):
        of = OPERATIONS.get(of, of)
    if isinstance(of, Operation) or hasattr(of, "operation"):
        of = getattr(of, "operation", of).answer
    return RewardsItem if of is RewardsActivity else of


def _of_rows(x: Any, wanted: Wanted) -> pd.DataFrame:
    return records_frame(plan(x.row_type), x.rows(), wanted.reveal)


def _of_events(x: Any, wanted: Wanted) -> pd.DataFrame:
    return events_frame(_listed(x), wanted.of if isinstance(wanted.of, str) else None, wanted.reveal)


def _is_events(x: Any, wanted: Wanted) -> bool:
    if wanted.of is Event or (isinstance(wanted.of, str) and wanted.of in EVENT_KINDS):
        return True
    return isinstance(x, Event) or (isinstance(x, list | tuple) and bool(x) and all(isinstance(e, Event) for e in x))


def _of_records(x: Any, wanted: Wanted) -> pd.DataFrame:
    items: list[Any] = []
    for one in _listed(x):
        items += one.items if isinstance(one, RewardsActivity) else [one]
        if isinstance(one, RewardsActivity) and wanted.of is None:
            wanted = attrs.evolve(wanted, of=RewardsItem)
    if items and all(isinstance(one, Event) for one in items):
        return events_frame(items, None, wanted.reveal)
    classes = {type(one): None for one in items if not isinstance(one, Mapping)}
    cls = _class_of(wanted.of) if wanted.of is not None else next(iter(classes), None)
    if cls is None and not items:
        empty = pd.DataFrame()
        empty.attrs.update(kind="nothing", notes=["Nothing to show; `of=` gives an empty table its columns."])
        return empty
    if not isinstance(cls, type) or not (is_record(cls) or attrs.has(cls)):
        raise TypeError(f"no table is known for {_named(cls) if cls is not None else _named(x)}")
    others = [c.__name__ for c in classes if c is not cls]
    if others:
        raise TypeError(f"rows of several kinds have no one table: {', '.join([cls.__name__, *others])}")
    return records_frame(plan(cls), items, wanted.reveal)


_ROUTES: tuple[tuple[Applies, Build], ...] = (
    (lambda x, _: isinstance(x, pd.DataFrame), lambda x, _: x),
    (lambda x, _: callable(getattr(x, "frame", None)), lambda x, _: x.frame()),
    (lambda x, _: hasattr(x, "rows") and hasattr(x, "row_type"), _of_rows),
    (lambda x, _: isinstance(x, Journal), lambda x, wanted: records_frame(plan(Entry), x, wanted.reveal)),
    (lambda x, _: isinstance(x, Inbox), lambda x, wanted: _of_events(x.events(), wanted)),
    (_is_events, _of_events),
    (lambda x, _: is_record(x) or attrs.has(type(x)) or isinstance(x, Iterable), _of_records),
)


def events_frame(events: Iterable[Event], kind: str | None, reveal: Collection[str] = ()) -> pd.DataFrame:
    """Make the frame of events: the envelope, then `body.…` columns for each kind that occurs.

    Args:
        kind: Keep events of this kind, and give its columns even where there are none.
    """
    kept = [event for event in events if kind in (None, event.kind)]
    kinds = {kind} if kind else {event.kind for event in kept}
    return records_frame(events_plan(kinds), kept, reveal)


def events_plan(kinds: Collection[str]) -> Plan:
    """Return the columns of events of these kinds, in the order of the interface."""
    envelope = plan(Event)
    columns = [column for column in envelope.columns if column.name != "body"]
    columns.insert(3, Column(name="kind", wire="kind", kind=Text(), about=OPEN_FACT))
    answers = [*envelope.answers, ("body.", "body.")]
    for row in EVENT_KINDS.values():
        if row.name in kinds:
            body = plan(row.body)
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
