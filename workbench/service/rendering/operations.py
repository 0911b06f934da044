"""Descriptions of operations and event kinds, with members, rules and errors, for pages and terminals."""

from collections.abc import Iterable, Iterator
from typing import Any

from workbench.base.schema.fields import OPEN
from workbench.base.schema.walk import described, members, record_of
from workbench.service.interface.convert import Converter
from workbench.service.interface.events import ORDER, EventKind
from workbench.service.interface.table import Operation
from workbench.service.rendering.text import Block, Grid, Sheet


def operation_blocks(row: Operation[..., Any], converter: Converter) -> Iterator[Block]:
    """Yield the description of an operation: purpose, request, response and errors.

    Args:
        converter: Converter with the wire names to show.
    """
    roles = f"The key needs the role {', '.join(sorted(row.roles))}." if row.roles else ""
    only = "Sandbox only." if row.sandbox_only else ""
    yield Sheet(title="", words=_present(row.doc, _assumed(row.assumed), roles, only, f"Source: {row.source}."))
    rules = [f"{rule.doc}.{_assumed(rule.assumed)}" for rule in getattr(row.request, "rules", ())]
    yield _members("Request", row.request, converter, rules)
    yield _members(
        f"Response {row.success}: {'list of ' if row.many else ''}{row.answer.__name__}", row.answer, converter
    )
    errors = [
        (str(failure.status), failure.error, f"{failure.message}, when {failure.when}.{_assumed(failure.assumed)}")
        for failure in row.failures
    ]
    yield Grid.of_texts("Errors", ("status", "error", "meaning"), errors)


def event_blocks(kind: EventKind, converter: Converter) -> Iterator[Block]:
    """Yield the description of an event kind: purpose, order, body, and the meaning of its values."""
    assumed = f"Assumed ({kind.assumed.confidence}): {kind.assumed}." if kind.assumed else ""
    yield Sheet(title="", words=_present(f"{kind.doc}.", assumed, f"Source: {kind.source}."))
    orders = ((what, ", then ".join(events)) for what, events in ORDER.items() if _is_in(kind, events))
    yield Grid.of_texts("Sent in this order", ("record", "events"), orders)
    yield _members(f"Body: {kind.body.__name__}", kind.body, converter)
    for path, meanings in kind.words.items():
        yield Grid.of_texts(path, ("value", "meaning"), meanings.items())


def _is_in(kind: EventKind, events: Iterable[str]) -> bool:
    return any(event.startswith(kind.name) for event in events)


def _assumed(reason: object) -> str:
    return f" Assumed: {reason}." if reason else ""


def _present(*texts: str) -> tuple[str, ...]:
    return tuple(text.strip() for text in texts if text)


def _members(title: str, cls: type[Any], converter: Converter, rules: Iterable[str] = ()) -> Grid:
    rows = list(_fields(cls, converter)) or [("", "no members")]
    return Grid.of_texts(title, ("member", "meaning"), rows, rules)


def _fields(cls: type[Any], converter: Converter, prefix: str = "") -> Iterator[tuple[str, str]]:
    for field in members(cls):
        name = prefix + converter.wire_name(cls, field)
        private = "" if field.about.privacy is OPEN else f" ({field.about.privacy.value})"
        yield name, f"{described(field)}{private}"
        if (nested := record_of(field.kind)) is not None:
            yield from _fields(nested, converter, f"{name}.")
