"""What is shown of anything that this package returns."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from workbench.errors import (
    ApiError,
    DuplicateSuspected,
    InvalidProfile,
    InvalidRequest,
    NotArmed,
    NotSent,
    OutcomeUnknown,
    Problem,
    UnexpectedAnswer,
    WorkbenchError,
    WrongEnvironment,
    visible,
)
from workbench.interface import checks, masks
from workbench.interface.assumptions import Assumption
from workbench.interface.events import Event
from workbench.interface.fields import OPEN, Answer
from workbench.interface.strict_json import JsonObject
from workbench.interface.walk import Array, Member, Nested, is_record, members, record_of
from workbench.rendering.layout import MAX_ROWS, Block, Cell, Grid, Row, Sheet, Stack
from workbench.rendering.values import LONGEST, NO_FUNDS, TEST_CHAINS, cell, label, member_cell, status_cell

Reveal = Collection[str]

_DEEPEST = 12
_FEW = 8


def describe(x: Any, *, reveal: Reveal = (), columns: Sequence[str] | None = None, rows: int = MAX_ROWS) -> Block:
    """Return what is to be shown of x: a record, an error, problems, a mapping, many of one of them, or what has a `sheet()`.

    Args:
        reveal: Attribute names, or dotted paths, of private members that are shown as they are.
        columns: Of many: the dotted attribute names, or keys, to show, in this order.
        rows: Of many: how many to show; the rest is counted.
    """
    if isinstance(x, BaseException):
        return error_sheet(x)
    if (own := getattr(type(x), "sheet", None)) is not None:  # an object of a higher package that describes itself
        block: Block = own(x)
        return block
    if is_record(x) and not isinstance(x, type):
        return record_sheet(x, reveal)
    if isinstance(x, Problem):
        return problem_grid([x])
    if isinstance(x, Assumption):
        return assumption_grid([x], 1)
    if isinstance(x, Mapping):
        return mapping_sheet("", x)
    if isinstance(x, list | tuple) and x:
        return _many(x, reveal, columns, rows)
    if isinstance(x, list | tuple):
        return Cell(("nothing",), "muted")
    return cell(x)


def _many(x: Sequence[Any], reveal: Reveal, columns: Sequence[str] | None, rows: int) -> Block:
    first = type(x[0])
    alike = all(type(item) is first for item in x)
    shown = x[:rows]
    if alike and is_record(x[0]):
        names = tuple(columns or _columns(shown))
        if columns or not _holds_many(first):
            return Grid(
                title=plural(first, len(x)),
                columns=tuple(label(name.replace(".", "_")) for name in names),
                rows=tuple(tuple(_leaf(item, name, reveal) for name in names) for item in shown),
                total=len(x),
            )
        return Stack(
            title=plural(first, len(x)), parts=tuple(record_sheet(item, reveal) for item in shown), total=len(x)
        )
    if alike and first is Problem:
        return problem_grid(shown, len(x))
    if alike and first is Assumption:
        return assumption_grid(shown, len(x))
    if all(isinstance(item, Mapping) for item in x):
        return mapping_grid(shown, columns, len(x))
    return Grid(
        title=f"{len(x):,} items", columns=("",), rows=tuple((_inline(item, reveal),) for item in shown), total=len(x)
    )


def plural(cls: type[Any], count: int) -> str:
    """Return `3 issuing contracts`."""
    noun = label(cls.__name__)
    ending = {"address": "es", "rewards activity": "", "issuing contract": "s"}.get(noun, "s")
    return f"{count:,} {noun}{ending if count != 1 else ''}"


def _holds_many(cls: type[Any]) -> bool:
    return any(isinstance(one.kind, Array) and record_of(one.kind) for one in members(cls)) or cls is Event


def _columns(shown: Sequence[Any]) -> Iterator[str]:
    """Yield the dotted names of those members that any of the records has."""

    def names(cls: type[Any], prefix: str, held: Sequence[Any]) -> Iterator[str]:
        for one in members(cls):
            values = [value for item in held if (value := getattr(item, one.name)) not in (None, ())]
            if not values:
                continue
            if isinstance(one.kind, Nested) and all(is_record(value) for value in values):
                yield from names(one.kind.of, f"{prefix}{one.name}.", values)
            else:
                yield prefix + one.name

    yield from names(type(shown[0]), "", shown)


def _leaf(record: Any, path: str, reveal: Reveal) -> Cell:
    holder, (*way, last) = record, path.split(".")
    for name in way:
        holder = getattr(holder, name, None)
    if holder is None:
        return Cell(("",))
    found = {one.name: one for one in members(type(holder))}.get(last)
    if found is None:
        raise KeyError(f"{type(holder).__name__} has no member {last}")
    value = getattr(holder, last)
    if value is None or value == ():
        return Cell(("",))
    return _inline(value, reveal) if is_record(value) else member_cell(found, value, holder, path, reveal)


def _inline(value: Any, reveal: Reveal) -> Cell:
    if is_record(value):
        held = record_sheet(value, reveal)
        return Cell(tuple(f"{row.label} {row.value.text}" for row in held.rows if isinstance(row.value, Cell)))
    if isinstance(value, Mapping):
        return Cell((f"<{len(value)} members>",), "muted")
    if isinstance(value, tuple | list):
        return Cell(tuple(_inline(item, reveal).text for item in value[:20]))
    return cell(value)


def record_sheet(record: Any, reveal: Reveal = (), prefix: str = "") -> Sheet:
    """Put a record on a sheet: its members in the order of its declaration, and what is unusual about it."""
    rows = []
    for one in members(type(record)):
        value = getattr(record, one.name)
        if value is None or value == ():
            continue
        shown = _value(one, value, record, f"{prefix}{one.name}", reveal)
        rows.append(Row(label(one.name), shown, one.about.assumed, _warning(one, record)))
    for name, value in (getattr(record, "extra", None) or {}).items():
        known = name in reveal or "extra" in reveal
        rows.append(Row(visible(str(name), 80), _inline(value, ()) if known else Cell((masks.DOTS,), "private")))
    title = "" if prefix else label(type(record).__name__)
    if isinstance(record, Event):
        title = f"event {visible(record.kind, 80)}"
    status = getattr(record, "application_status", None) or getattr(record, "status", None)
    chip = isinstance(status, str) and status and not prefix and len(rows) > _FEW
    return Sheet(
        title=title,
        status=status_cell(str(status)) if chip else None,
        rows=tuple(rows),
        notes=() if prefix else tuple(_unusual(record)),
    )


def _value(one: Member, value: Any, record: Any, path: str, reveal: Reveal) -> Cell | Sheet | Grid:
    if is_record(value):
        return record_sheet(value, reveal, f"{path}.")
    if isinstance(value, tuple) and value and all(is_record(item) for item in value):
        kept = value[:MAX_ROWS]
        return Grid(
            title="",
            columns=tuple(label(name.replace(".", "_")) for name in _columns(kept)),
            rows=tuple(tuple(_leaf(item, name, reveal) for name in _columns(kept)) for item in kept),
            total=len(value),
        )
    if isinstance(value, Mapping) and (one.about.privacy is OPEN or one.name in reveal):
        return mapping_sheet("", value)
    return member_cell(one, value, record, path, reveal)


def _warning(one: Member, record: Any) -> str | None:
    deposits = one.name == "deposit_address" or (one.name == "onramp" and getattr(record, "onramp", None) is not None)
    return NO_FUNDS if deposits and getattr(record, "chain_id", None) in TEST_CHAINS else None


def _unusual(record: Any) -> Iterator[str]:
    if not isinstance(record, Answer):
        return
    alike: dict[str, list[str]] = {}
    for flag in checks.flags(record):
        alike.setdefault(flag.message, []).append(visible(flag.path, 80))
    for message, paths in islice(alike.items(), 12):
        more = f" and {len(paths) - 3:,} more" if len(paths) > 3 else ""
        yield f"unusual: {', '.join(paths[:3])}{more} {visible(message, 200)}".replace(":  ", ": ")


def mapping_sheet(title: str, given: Mapping[Any, Any], deep: int = 0) -> Sheet:
    """Put a mapping on a sheet: a plan, a balance, a guide. A wire body shows its names alone."""
    given = _printed(given)
    rows = []
    for name, value in given.items():
        shown: Cell | Sheet | Grid
        if isinstance(given, JsonObject):
            shown = Cell((masks.DOTS,), "private")
        elif isinstance(value, Mapping) and deep < _DEEPEST:
            shown = mapping_sheet("", value, deep + 1)
        elif is_record(value):
            shown = record_sheet(value)
        elif isinstance(value, list | tuple) and value and all(isinstance(item, Mapping) for item in value):
            shown = mapping_grid(value[:MAX_ROWS], None, len(value))
        elif isinstance(value, list | tuple):
            shown = Cell(tuple(_inline(item, ()).text for item in value[:MAX_ROWS]) or ("–",))
        elif _is_status(name, value):
            shown = status_cell(str(value))
        else:
            shown = cell(value)
        rows.append(Row(label(str(name)), shown))
    return Sheet(title=title, rows=tuple(rows))


def _printed(given: Mapping[Any, Any]) -> Mapping[Any, Any]:
    return given.shown() if isinstance(given, masks.MaskedDict) else given


def _is_status(name: Any, value: Any) -> bool:
    """Whether a mapping's value is shown as a status; an empty one is none."""
    return (
        str(name) in {"status", "application_status", "end", "outcome", "state"}
        and isinstance(value, str)
        and bool(value)
    )


def mapping_grid(shown: Sequence[Mapping[Any, Any]], columns: Sequence[str] | None, total: int) -> Grid:
    """Put mappings into a grid: a column for each key any of them has, in the order first met."""
    shown = [_printed(one) for one in shown]
    names = list(columns or dict.fromkeys(name for item in shown for name in item))

    def look(name: Any, item: Mapping[Any, Any]) -> Cell:
        if name not in item:
            return Cell(("",))
        value = item[name]
        if isinstance(item, JsonObject):
            return Cell((masks.DOTS,), "private")
        if _is_status(name, value):
            return status_cell(str(value))
        return _inline(value, ())

    return Grid(
        title="",
        columns=tuple(label(str(name)) for name in names),
        rows=tuple(tuple(look(name, item) for name in names) for item in shown),
        total=total,
    )


def problem_grid(problems: Iterable[Problem], total: int | None = None) -> Grid:
    """Put problems into a grid: where, what is wrong, and which rule is broken."""
    held = tuple(problems)
    return Grid(
        title="1 problem" if (total or len(held)) == 1 else f"{total or len(held):,} problems",
        columns=("where", "problem", "rule"),
        rows=tuple(
            (
                Cell((visible(one.path, 200) or "(all)",)),
                Cell((visible(one.message, 500),)),
                Cell((visible(one.rule, 40),), "muted"),
            )
            for one in held
        ),
        total=len(held) if total is None else total,
    )


def assumption_grid(rows: Iterable[Assumption], total: int) -> Grid:
    """Put assumptions about the service into a grid."""
    return Grid(
        title="1 assumption" if total == 1 else f"{total:,} assumptions",
        columns=("id", "where", "assumed", "reason", "confidence", "where to change it"),
        rows=tuple(
            (
                Cell((one.id,)),
                Cell((one.where,)),
                Cell((one.value,)),
                Cell((one.reason,)),
                Cell((f"{_known(one)} {one.confidence}",), f"status:{one.confidence}"),
                Cell((one.change,)),
            )
            for one in rows
        ),
        total=total,
    )


def _known(one: Assumption) -> str:
    return status_cell(str(one.confidence)).lines[0].partition(" ")[0]


_OUTCOMES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (OutcomeUnknown, "unknown"),
    (ApiError, "refused"),
    (UnexpectedAnswer, "done"),
    ((InvalidRequest, WrongEnvironment, NotArmed, DuplicateSuspected, NotSent), "not_sent"),
)
"""How a call ended, by the error that says so."""


def _outcome_of(error: BaseException) -> str | None:
    """Return how a call ended by its error: "refused", "not_sent", "unknown", "done", or None where none was made."""
    return next((outcome for kind, outcome in _OUTCOMES if isinstance(error, kind)), None)


def error_sheet(error: BaseException) -> Sheet:
    """Put an error on a sheet: what happened, what it means, and each problem on a line of its own."""
    outcome = _outcome_of(error)
    ours = isinstance(error, WorkbenchError)
    rows: list[Row] = []
    words: tuple[str, ...] = tuple(visible(line, LONGEST) for line in str(error).split("\n") if line.strip())
    title = label(type(error).__name__)
    if isinstance(error, InvalidRequest | InvalidProfile | UnexpectedAnswer) and error.problems:
        rows.append(Row("problems", problem_grid(error.problems)))
        if isinstance(error, InvalidRequest):
            words = ("Nothing was sent.",)
            title += f" of {error.operation}" if error.operation else ""
        elif isinstance(error, InvalidProfile):
            words = ()
        else:
            words = words[:1]
    if isinstance(error, OutcomeUnknown):
        rows.append(Row("attempt", Cell((visible(error.attempt.id, 200),))))
    return Sheet(
        title=title if ours else type(error).__name__,
        status=status_cell(outcome) if outcome else None,
        words=words,
        rows=tuple(rows),
    )
