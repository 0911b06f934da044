"""Render records, errors and results as plain text, HTML or tables."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

import attrs

from workbench.base import errors
from workbench.base.errors import Problem, WorkbenchError, visible
from workbench.base.remedies import Remedy, declare
from workbench.base.schema import checks, masks, strict_json
from workbench.base.schema.fields import OPEN, Answer
from workbench.base.schema.walk import Array, Member, Nested, get_path, is_record, member, members, record_of
from workbench.base.system.private import show_traceback
from workbench.service.interface.assumptions import Assumption
from workbench.service.interface.events import Event
from workbench.service.interface.people import CompanyApplication, User
from workbench.service.interface.table import OPERATIONS
from workbench.service.interface.transactions import Dispute, SimulatedTransaction
from workbench.service.rendering import text
from workbench.service.rendering.text import (
    LONGEST,
    MAX_ROWS,
    NO_FUNDS,
    TEST_CHAINS,
    Block,
    Cell,
    Grid,
    Paint,
    Row,
    Sheet,
    cell,
    label,
    member_cell,
    status_cell,
    unpainted,
)

declare(
    "all_rows",
    python="wb.to_frame shows all rows",
    other="the other rows are not shown",
)

Reveal = Collection[str]

_DEEPEST = 12
_FEW = 8
_STATES: Mapping[type[Any], str] = {
    SimulatedTransaction: "transaction",
    User: "application",
    CompanyApplication: "application",
    Dispute: "dispute",
}
"""Kind of state diagram, by type of record."""
_STATUSES = frozenset({"status", "application_status", "end", "outcome", "state"})
"""Keys of mappings whose values are shown as a status."""


def plain(x: object, width: int = 100, *, reveal: Collection[str] = (), paint: Paint = unpainted) -> str:
    """Return any workbench object as plain text.

    Args:
        width: Width of the terminal in columns. Prose wraps, but ids and addresses never do.
        reveal: Attribute names, or dotted paths, of private members to show unmasked.
        paint: Function that colors text: `design.paint` for a terminal.
    """
    return text.write(describe(x, reveal=reveal), width, paint)


def html(x: object, *, reveal: Collection[str] = ()) -> str:
    """Return any workbench object as static, escaped HTML for light and dark themes."""
    from workbench.service.rendering import markup  # imported late, since a terminal does not need it

    return markup.write(describe(x, reveal=reveal))


def table(
    rows: Sequence[Any],
    columns: Sequence[str] | None = None,
    *,
    width: int = 100,
    limit: int = MAX_ROWS,
    reveal: Collection[str] = (),
    paint: Paint = unpainted,
) -> str:
    """Return records or mappings as a plain-text table. Rows beyond `limit` are only counted.

    Args:
        columns: Dotted attribute names, or keys, in display order; default: all columns with a value.
    """
    return text.write(describe(list(rows), reveal=reveal, columns=columns, rows=limit), width, paint)


def html_table(rows: Sequence[Any], *, limit: int = MAX_ROWS) -> str:
    """Return records or mappings as an HTML table. Rows beyond `limit` are only counted."""
    from workbench.service.rendering import markup

    return markup.write(describe(list(rows), rows=limit))


def describe(x: object, *, reveal: Reveal = (), columns: Sequence[str] | None = None, rows: int = MAX_ROWS) -> Block:
    """Return the block that shows a record, an error, problems, a mapping, a list of them, or an object with `sheet()`.

    Args:
        reveal: Attribute names, or dotted paths, of private members to show unmasked.
        columns: For lists: the dotted attribute names, or keys, to show, in this order.
        rows: For lists: the number of rows to show. The other rows are only counted.
    """
    if isinstance(x, BaseException):
        return error_sheet(x)
    if (own := getattr(type(x), "sheet", None)) is not None:  # an object of a higher package can describe itself
        block: Block = own(x)
        return block
    if is_record(x) and not isinstance(x, type):
        return record_sheet(x, reveal)
    if isinstance(x, Mapping):
        return mapping_sheet(x)
    if isinstance(x, Problem | Assumption):
        x = [x]
    if isinstance(x, list | tuple):
        return _many(x, reveal, columns, rows) if x else Cell(("No rows",), "muted")
    return cell(x)


def _many(x: Sequence[Any], reveal: Reveal, columns: Sequence[str] | None, rows: int) -> Block:
    first, shown, total = type(x[0]), x[:rows], len(x)
    alike = all(type(item) is first for item in x)
    title = plural(first, total) if alike else f"{total:,} items"
    if alike and first is Event and total > MAX_EVENTS and not columns:
        shown = shown[:SHOWN_EVENTS]
        title += f", the first {len(shown)}; {Remedy('all_rows')}" if total > len(shown) else ""
        return mapping_grid([*map(event_row, shown)], ("event", "about", "status", "time"), total, title)
    if alike and is_record(x[0]):
        large = first is Event or any(
            isinstance(field.kind, Array) and record_of(field.kind) for field in members(first)
        )
        if columns or not large:
            return record_grid(title, shown, total, reveal, columns)
        parts = [attrs.evolve(record_sheet(item, reveal), state=None) for item in shown]
        more = (f"… and {total - len(parts):,} more",) if total > len(parts) else ()
        every = Sheet(title=title, rows=tuple(Row("", part) for part in parts), notes=more)
        return every if total > 1 else parts[0]
    if alike and first in _LINES:
        return mapping_grid([*map(_LINES[first], shown)], None, total, title)
    if all(isinstance(item, Mapping) for item in x):
        return mapping_grid(shown, columns, total)
    return mapping_grid([{"": _inline(item, reveal)} for item in shown], None, total, f"{total:,} items")


def event_row(event: Event, *, reveal: bool = False) -> dict[str, str]:
    """Return the cells of an event in a list: time, kind, status, amount, subject and id."""
    body: object = event.body
    reported = getattr(body, "spend", None) or body
    status = getattr(body, "application_status", None) or getattr(reported, "status", None)
    amount, currency = getattr(reported, "amount", None), getattr(reported, "currency", None)
    if isinstance(amount, int):
        amount = text.money(amount, currency)
    elif amount is not None:  # a micro deposit in dollars, whose amount can prove ownership of an account
        amount = f"{amount} {str(currency).upper()}" if reveal else masks.DOTS
    times = [event.event_received_at, *(getattr(reported, name, None) for name in _EVENT_TIMES)]
    at = next((time for time in times if isinstance(time, datetime)), None)
    return {
        "time": f"{at:%m-%d %H:%M}" if at is not None else "",
        "event": event.kind,
        "status": str(status or ""),
        "amount": str(amount or ""),
        "about": str(getattr(body, "id", "") or ""),
        "event id": event.id,
    }


_LINES: Mapping[type[Any], Callable[[Any], Mapping[str, Any]]] = {
    Problem: lambda problem: {
        "where": problem.path or "(all)",
        "problem": problem.text,
        "rule": Cell((visible(problem.rule, 40),), "muted"),
    },
    Assumption: lambda assumption: {
        "id": assumption.id,
        "where": assumption.where,
        "assumed": assumption.value,
        "reason": assumption.reason,
        "confidence": status_cell(assumption.confidence),
        "where to change it": assumption.change,
    },
}
"""Function that returns the columns and values of a listed object, by the object's type."""


def plural(cls: type[Any], count: int) -> str:
    """Return a count with the plural of a record's name, such as `3 issuing contracts`."""
    noun = label(cls.__name__)
    if count != 1 and noun != "rewards activity":
        noun = f"{noun.removesuffix('y')}ies" if noun[-1] == "y" else f"{noun}{'es' if noun[-1] == 's' else 's'}"
    return f"{count:,} {noun}"


def present_columns(cls: type[Any], shown: Sequence[Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of the members that at least one record has."""
    for column in members(cls):
        values = [value for item in shown if (value := getattr(item, column.name)) not in (None, ())]
        if values and isinstance(column.kind, Nested) and all(is_record(value) for value in values):
            yield from present_columns(column.kind.of, values, f"{prefix}{column.name}.")
        elif values:
            yield prefix + column.name


def record_grid(
    title: str, shown: Sequence[Any], total: int, reveal: Reveal = (), columns: Sequence[str] | None = None
) -> Grid:
    """Return records as a grid with one column for each member, including nested members, that any record has."""
    names = tuple(columns or present_columns(type(shown[0]), shown))
    lines = [{name.replace(".", "_"): _leaf(item, name, reveal) for name in names} for item in shown]
    return mapping_grid(lines, None, total, title)


def _leaf(record: object, path: str, reveal: Reveal) -> Cell:
    way, _, last = path.rpartition(".")
    holder = get_path(record, way) if way else record
    if holder is None:
        return Cell(("",))
    leaf, value = member(type(holder), last), getattr(holder, last, None)
    if value is None or value == ():
        return Cell(("",))
    return _inline(value, reveal) if is_record(value) else member_cell(leaf, value, holder, path, reveal)


def _inline(value: object, reveal: Reveal, deep: int = 0) -> Cell:
    if is_record(value):
        held = record_sheet(value, reveal)
        return Cell(tuple(f"{row.label} {row.value.text}" for row in held.rows if isinstance(row.value, Cell)))
    if isinstance(value, Mapping):
        return Cell((f"<{len(value)} members>",), "muted")
    if isinstance(value, tuple | list) and deep == _DEEPEST:
        return Cell((f"<{len(value)} items>",), "muted")
    if isinstance(value, tuple | list):
        return Cell(tuple(_inline(item, reveal, deep + 1).text for item in value[:20]))
    return cell(value)


def record_sheet(record: object, reveal: Reveal = (), prefix: str = "") -> Sheet:
    """Return a record as a sheet, with members in declaration order and notes on unusual values."""
    rows = []
    for field in members(type(record)):
        value = getattr(record, field.name)
        if value is None or value == ():
            continue
        shown = _value(field, value, record, f"{prefix}{field.name}", reveal)
        deposit = field.name in ("deposit_address", "onramp") and getattr(record, "chain_id", None) in TEST_CHAINS
        rows.append(Row(label(field.name), shown, field.about.assumed, NO_FUNDS if deposit else None))
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
        state=(kind, str(status)) if status and not prefix and (kind := _STATES.get(type(record))) else None,
    )


def _value(field: Member, value: object, record: object, path: str, reveal: Reveal) -> Block:
    if is_record(value):
        return record_sheet(value, reveal, f"{path}.")
    if isinstance(value, tuple) and value and all(is_record(item) for item in value):
        return record_grid("", value[:MAX_ROWS], len(value), reveal)
    if isinstance(value, Mapping) and (field.about.privacy is OPEN or field.name in reveal):
        return mapping_sheet(value)
    return member_cell(field, value, record, path, reveal)


def _unusual(record: object) -> Iterator[str]:
    if not isinstance(record, Answer):
        return
    alike: dict[str, list[str]] = {}
    for flag in checks.flags(record):
        alike.setdefault(flag.message, []).append(visible(flag.path, 80))
    for message, paths in islice(alike.items(), 12):
        more = f" and {len(paths) - 3:,} more" if len(paths) > 3 else ""
        yield f"unusual: {', '.join(paths[:3])}{more} {visible(message, 200)}".replace(":  ", ": ")


def mapping_sheet(given: Mapping[Any, Any], deep: int = 0) -> Sheet:
    """Return a mapping, such as a plan or balance, as a sheet. Wire bodies show only the names of their members."""

    def shown(name: object, value: object) -> Block:
        if isinstance(value, Mapping) and deep < _DEEPEST:
            return mapping_sheet(value, deep + 1)
        if is_record(value):
            return record_sheet(value)
        if isinstance(value, list | tuple) and value and all(isinstance(item, Mapping) for item in value):
            return mapping_grid(value[:MAX_ROWS], None, len(value))
        if isinstance(value, list | tuple):
            return Cell(tuple(_inline(item, ()).text for item in value[:MAX_ROWS]) or ("–",))
        return _plain(name, value)

    return Sheet(
        title="", rows=tuple(Row(label(str(name)), shown(name, value)) for name, value in _printed(given).items())
    )


def _printed(given: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a mapping for display. In arguments and wire bodies, only the names are shown, and values are masked."""
    if isinstance(given, strict_json.JsonObject):
        return dict.fromkeys(given, Cell((masks.DOTS,), "private"))
    return given.shown() if isinstance(given, masks.MaskedDict) else given


def _plain(name: object, value: object) -> Cell:
    """Return a value of a mapping as a cell. A status has its mark and color."""
    if isinstance(value, Cell):
        return value
    return status_cell(value) if str(name) in _STATUSES and isinstance(value, str) and value else _inline(value, ())


def mapping_grid(
    shown: Sequence[Mapping[Any, Any]], columns: Sequence[str] | None, total: int, title: str = ""
) -> Grid:
    """Return mappings as a grid with a column for each key, in order of first appearance."""
    shown = [_printed(mapping) for mapping in shown]
    names = list(columns or dict.fromkeys(name for item in shown for name in item))
    rows = tuple(tuple(_plain(name, item[name]) if name in item else Cell(("",)) for name in names) for item in shown)
    return Grid(title=title, columns=tuple(label(str(name)) for name in names), rows=rows, total=total)


MAX_EVENTS, SHOWN_EVENTS = 5, 20
"""Maximum number of events shown in full, and maximum number of rows in a longer list."""
_EVENT_TIMES = ("posted_at", "received_at", "authorized_at")
_OUTCOMES: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (errors.UnexpectedAnswer, "done"),
    (errors.OutcomeUnknown, "unknown"),
    (errors.ApiError, "refused"),
    (
        (errors.InvalidRequest, errors.WrongEnvironment, errors.NotArmed, errors.DuplicateSuspected, errors.NotSent),
        "not_sent",
    ),
)
"""Outcome of a call, by class of error."""


def error_sheet(error: BaseException) -> Sheet:
    """Return an error as a sheet, with message, meaning, and a separate line for each problem."""
    outcome = next((outcome for kind, outcome in _OUTCOMES if isinstance(error, kind)), None)
    title = label(type(error).__name__) if isinstance(error, WorkbenchError) else type(error).__name__
    lines = tuple(visible(line, LONGEST) for line in str(error).split("\n") if line.strip())
    rows: tuple[Row, ...] = ()
    if (
        isinstance(error, errors.InvalidRequest | errors.UsageError | errors.InvalidProfile | errors.UnexpectedAnswer)
        and error.problems
    ):
        rows = (Row("problems", describe(error.problems)),)
        lines = lines[:1] if isinstance(error, errors.UnexpectedAnswer) else ()
        if isinstance(error, errors.InvalidRequest):
            lines = ("Nothing was sent.",)
            title += f" of {error.operation}" if error.operation else ""
    elif isinstance(error, errors.OutcomeUnknown):
        rows = (Row("attempt", Cell((visible(error.attempt.id, 200),))),)
    return Sheet(title=title, status=status_cell(outcome) if outcome else None, words=lines, rows=rows)


# Display in IPython and notebooks. IPython is passed as an argument, and never imported.


def register(shell: Any) -> Callable[[], None]:
    """Register formatters in an IPython shell for records and lists of records, and show errors without tracebacks.

    Returns:
        A function that unregisters the formatters.
    """
    formatters = shell.display_formatter.formatters
    as_html, as_text = formatters["text/html"], formatters["text/plain"]
    before = [(formatter.type_printers, dict(formatter.type_printers)) for formatter in (as_html, as_text)]
    for cls in (Answer, *(row.request for row in OPERATIONS.values()), Problem, Assumption):
        as_html.for_type(cls, html)
        as_text.for_type(cls, lambda x, printer, cycle: printer.text("…" if cycle else plain(x, printer.max_width)))
    for cls in (list, tuple):
        as_html.for_type(cls, lambda x: html(x) if _ours(x) else None)
        as_text.for_type(cls, partial(_pretty_of_many, as_text.type_printers[cls]))
    shell.set_custom_exc((WorkbenchError,), _say)

    def undo() -> None:
        for printers, earlier in before:
            printers.clear()
            printers.update(earlier)
        shell.set_custom_exc((), None)

    return undo


def _ours(x: Any) -> bool:
    """Return whether an object is a plain list or tuple of records, problems or assumptions."""
    alike = type(x) in (list, tuple) and all(type(item) is type(x[0]) for item in x[:50])
    return alike and bool(x) and isinstance(x[0], Problem | Assumption | Answer)


def _pretty_of_many(usual: Callable[..., None], x: object, printer: Any, cycle: bool) -> None:
    if not cycle and _ours(x):
        printer.text(plain(x, printer.max_width))
    else:
        usual(x, printer, cycle)


def _say(
    shell: Any, kind: type[BaseException], error: BaseException, trace: object, tb_offset: object = None
) -> list[str]:
    """Show only the message of a workbench error. `%tb` shows the traceback, without values of the request."""
    parts = plain(error).split("\n")
    show_traceback(shell, kind, error, parts)
    return parts
