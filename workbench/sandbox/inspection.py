"""Looking inside the sandbox: the controls that change nothing, and what all controls stand on."""

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from workbench.errors import ApiError, BadRequest, NotFound
from workbench.interface.events import EVENT_KINDS
from workbench.sandbox.clock import Clock
from workbench.sandbox.events import listed, signed
from workbench.sandbox.guide import guide
from workbench.sandbox.store import Store
from workbench.sandbox.told import State
from workbench.sandbox.turn import Environment, RequestContext
from workbench.sandbox.world import key_of

if TYPE_CHECKING:
    from workbench.sandbox.service import Service

F = TypeVar("F", bound=Callable[..., Any])
Record = dict[str, Any]
_STATEFUL = (
    "card", "transaction", "user", "company", "owner", "dispute", "payment_account", "payment_route", "contract", "deposit",
)  # fmt: skip


@attrs.frozen
class Control:
    """A control: its name, what it does, and what it takes."""

    name: str
    doc: str
    signature: inspect.Signature
    changes: bool  # whether it may change something


def control(*, changes: bool) -> Callable[[F], F]:
    """Make a method a control."""

    def mark(method: F) -> F:
        method.__dict__["changes"] = changes
        return method

    return mark


class Inspection:
    """The controls that look, as methods of a sandbox."""

    ground: Environment
    store: Store
    clock: Clock
    service: "Service"
    base_url: str

    def turn(self, name: str) -> RequestContext:
        """Return a turn for a control."""
        raise AttributeError(name)

    def tell(self) -> None:
        """Return subscribers what they have not had yet."""

    @control(changes=False)
    def guide(self) -> Record:
        """Return base URL, keys by what they may do, and example ids of every kind and state."""
        with self.store:
            return guide(self.ground, self.base_url)

    @cached_property
    def full_key(self) -> str:
        """The key that may do everything."""
        return key_of(self.ground.seeds, "full")

    @control(changes=False)
    def events(self, kind: str | None = None, since: int | None = None) -> list[Record]:
        """Return the events in order, each with the request that caused it. They print masked, and hold plain values.

        Args:
            kind: Only of this kind, as "user.updated".
            since: Only after this sequence number.
        """
        if kind is not None and kind not in EVENT_KINDS:
            raise bad("events", f"kind must be one of {', '.join(EVENT_KINDS)}")
        with self.store:
            return [
                listed(self.ground, sequence, kept)
                for sequence, kept in self._after(since or 0)
                if kind is None or kept["kind"] == kind
            ]

    @control(changes=False)
    def last_event(self) -> int:
        """Return the sequence number of the last event, 0 where there is none."""
        return self.store.get("counter", "event") or 0

    @control(changes=False)
    def requests(self) -> list[Record]:
        """Return the last requests and how they were answered, their private values masked, the oldest first."""
        return self.service.requests()

    @control(changes=False)
    def balance(self, card_id: str) -> dict[str, int]:
        """Return the money of a card in cents: limit, available, held, posted, refunded."""
        with self.store:
            card = self._record("balance", "card", card_id)
        return {name: card[name] for name in ("limit", "available", "held", "posted", "refunded")}

    @control(changes=False)
    def state(self, record_id: str) -> Record:
        """Return a record as the sandbox keeps it, with its kind. It prints masked, and holds plain values."""
        with self.store:
            for kind in _STATEFUL:
                found = self.store.get(kind, record_id.lower())
                if found is not None:
                    return State({"kind": kind, **found})
        raise unknown("state", "Record")

    def drain(self, after: int = 0, api_key: str | None = None) -> tuple[list[tuple[int, dict[str, str], bytes]], int]:
        """Return the deliveries after a sequence number, each with its own, and the last number there is.

        Args:
            api_key: A key of the tenant whose events are wanted; it signs them. The full key where left out.
        """
        key = api_key or self.full_key
        with self.store:
            tenant = (self.store.get("key", key) or {}).get("tenant")
            due = [
                (sequence, *signed(self.ground, sequence, kept, (key,)))
                for sequence, kept in self._after(after)
                if kept["tenant"] == tenant
            ]
            return due, self.store.get("counter", "event") or 0

    def _after(self, sequence: int) -> list[tuple[int, Record]]:
        last = self.store.get("counter", "event") or 0
        numbers = range(max(sequence, 0) + 1, last + 1)
        return [(number, kept) for number in numbers if (kept := self.store.get("event", str(number))) is not None]

    def _record(self, name: str, kind: str, key: object) -> Record:
        found: Record | None = self.store.get(kind, key.lower()) if isinstance(key, str) else None
        if found is None:
            raise unknown(name, kind.replace("_", " ").capitalize())
        return found

    def _for(self, record: Record, name: str) -> RequestContext:
        turn = self.turn(name)
        turn.tenant = self.store.get("tenant", record["tenant"])
        return turn


def bad(name: str, message: str) -> ApiError:
    """Return the 400 of a control."""
    return BadRequest(operation=name, status=400, error="BadRequestError", message=message)


def unknown(name: str, what: str) -> ApiError:
    """Return the 404 of a control."""
    return NotFound(operation=name, status=404, error="NotFoundError", message=f"{what} not found")
