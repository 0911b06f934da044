"""What controls tell of records and events: plain values by their names, and masked wherever the whole is printed."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from workbench.interface import masks
from workbench.interface.events import EVENT_KINDS
from workbench.interface.fields import OPEN, About
from workbench.interface.table import OPERATIONS
from workbench.interface.walk import leaves, record_of

_DEPOSIT = "originator_name"  # beside it an amount proves who owns an account; elsewhere amounts are open


class Body(masks.MaskedDict):
    """The body of an event, by its wire names."""

    __slots__ = ()

    def shown(self) -> dict[str, Any]:
        """Mask all: what kind of event it is does not stand in it."""
        return {name: value if name == "id" else masks.DOTS for name, value in self.items()}


class Envelope(masks.MaskedDict):
    """An event by its wire names, printed with its private values masked by its kind."""

    __slots__ = ()

    def shown(self) -> dict[str, Any]:
        """Mask the body by its kind; all of it where the kind is not known."""
        kind = EVENT_KINDS.get(f"{self.get('resource')}.{self.get('action')}")
        return {**self, "body": masks.masked(dict(self.get("body") or {}), of=kind.body if kind else None)}


class State(masks.MaskedDict):
    """A record as the sandbox keeps it, by attribute names."""

    __slots__ = ()

    def shown(self) -> dict[str, Any]:
        """Mask what is private in every record of the interface that has it."""
        return _masked(self)


class Delivered(bytes):
    """The bytes of a delivery, printed by their number."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"


def envelope(raw: Mapping[str, Any]) -> Envelope:
    """Return an event in its wire form."""
    return Envelope({**raw, "body": Body(raw.get("body") or {})})


def _listed(raw: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**one, "event": envelope(one["event"])} for one in raw]


TELLING: Mapping[str, Callable[[Any], Any]] = {"events": _listed, "state": State}
"""For the control of a served sandbox: what its answers are here."""


@cache
def _private() -> Mapping[str, About]:
    roots = [cls for row in OPERATIONS.values() for cls in (row.request, row.answer)]
    members = [one for cls in [*roots, *(kind.body for kind in EVENT_KINDS.values())] for _, one in leaves(cls)]
    opened = {one.name for one in members if one.about.privacy is OPEN}
    return {one.name: one.about for one in members if one.name not in opened and record_of(one.kind) is None}


def _masked(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _look(name, value, _DEPOSIT in raw) for name, value in raw.items()}


def _look(name: str, value: Any, of_deposit: bool) -> Any:
    if isinstance(value, Mapping):
        return _masked(value)
    if isinstance(value, list | tuple):
        return [_look(name, one, of_deposit) for one in value]
    about = _private().get(name)
    if about is None:
        return masks.DOTS if of_deposit and name == "amount" else value
    return about.mask(value)
