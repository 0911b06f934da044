"""What this session knows, where the service has no list: the sandbox's guide, the journal, the events that came."""

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.interface import walk
from workbench.session import sandbox_of


def guide(api: Any) -> Mapping[str, Any]:
    """Return the ids that the sandbox of a session tells of; nothing for another service."""
    sandbox = sandbox_of(api)
    found: Mapping[str, Any] = {} if sandbox is None else sandbox.guide()
    return found


def told(api: Any) -> list[Any]:
    """Return the events that came, each with when."""
    inbox = getattr(api, "inbox", None)
    return [] if inbox is None else inbox.kept()


def entries(api: Any) -> list[Any]:
    """Return the calls with an effect that the client's journal knows, oldest first."""
    return [] if api.info()["journal"] == "none" else list(api.journal)


def answered(api: Any, *operations: str) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield the entries of operations that were done, with their masked answers."""
    for entry in entries(api):
        if entry.operation in operations and entry.outcome == "done" and isinstance(entry.answer, Mapping):
            yield entry, entry.answer


def events_about(api: Any, key: str) -> list[Any]:
    """Return the events that name an id anywhere in their body."""
    return [kept.event for kept in told(api) if key and mentions(kept.event.body, key)]


def made_by(api: Any, key: str) -> list[Any]:
    """Return the journal's entries whose request or answer names an id, oldest first."""
    return [
        one for one in entries(api) if key and (_names(one.request, key) or _names(one.answer, key) or one.id == key)
    ]


def _names(value: Any, key: str) -> bool:
    if isinstance(value, Mapping):
        return any(_names(one, key) for one in value.values())
    if isinstance(value, list | tuple):
        return any(_names(one, key) for one in value)
    return bool(value == key)


def mentions(record: Any, key: str) -> bool:
    """Whether a record holds a text anywhere."""
    if walk.is_record(record):
        return any(mentions(getattr(record, one.name), key) for one in walk.members(type(record)))
    return _names(record, key)
