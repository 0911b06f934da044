"""Follow recorded traffic with a twin. Calls become steps, and events are assigned to their causes.

Events without a cause become changes from outside.
"""

import re
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any
from urllib.parse import urlencode

import attrs

from workbench.base.schema.rules import FULL
from workbench.base.system.messages import Request
from workbench.sandbox import cards, rewards
from workbench.sandbox.context import RequestContext
from workbench.service.interface.table import PREFIX
from workbench.service.interface.vocabulary import DeclineReason
from workbench.testing.adoption import FILLER, Adoption, Clues, settlement, snaked
from workbench.testing.facts import seconds_of
from workbench.testing.recorded import Delivery, Exchange, Item
from workbench.testing.twin import MALFORMED, Change, Run, Step, Twin, nothing

MAX_KEPT = 20_000  # maximum number of calls and events to replay
_MAX_ALIKE = 50  # maximum number of calls of one kind
_NEW = {
    "simulate_authorization": "transaction",
    "create_user_application": "user",
    "create_payment_account": "payment_account",
}
_TICK = 0.5  # maximum difference between the clocks, in seconds


def resource_of(x: Exchange) -> str:
    """Return the id of the record whose events a call causes; empty if there is none."""
    path = x.path_members
    asked = path.get("transactionId") or path.get("uboId") or path.get("userId") or ""
    new = {"simulate_authorization": "transactionId", "create_user_application": "id"}.get(x.name)
    return str(x.answered.get(new) or "").lower() if new else asked.lower()


@attrs.define
class Sample:
    """Traffic to replay, in bounded memory. It has some calls of each kind, and all later calls for their records."""

    calls: list[Exchange] = attrs.field(factory=list)
    events: list[Delivery] = attrs.field(factory=list)  # each event once, even if it was delivered repeatedly
    left: int = 0  # calls that the replay leaves out
    _alike: Counter[tuple[object, ...]] = attrs.field(factory=Counter)
    _kept: set[str] = attrs.field(factory=set)
    _delivered: set[bytes] = attrs.field(factory=set)

    def add(self, item: Item) -> None:
        """Add a call or event, unless the sample already has enough of the same kind."""
        if not isinstance(item, Exchange):
            if len(self.events) < MAX_KEPT and item.content not in self._delivered:
                self._delivered.add(item.content)
                self.events.append(item)
            return
        resource = resource_of(item)
        kind = (item.name, item.status, *sorted(item.members)[:40], *sorted(map(str, item.answered))[:40])
        self._alike[kind] += 1
        if len(self.calls) < MAX_KEPT and (self._alike[kind] <= _MAX_ALIKE or (resource and resource in self._kept)):
            self.calls.append(item)
            self._kept.add(resource)
        else:
            self.left += 1


class Following:
    """One pass of a twin over a sample.

    Args:
        sample: The traffic.
        settings: The value of each behavior.
    """

    def __init__(self, sample: Sample, settings: Mapping[str, Any]) -> None:
        self.twin = Twin(settings)
        self.clues = Clues()
        self.unlisted = 0  # number of signatures whose contract was never listed
        self._sample = sample
        self._left = Counter(resource_of(x) for x in sample.calls if x.ok)  # by record, the number of calls that remain
        self._queues: dict[str, deque[Delivery]] = {}
        self._now = 0.0
        self._emitted = 0
        self._refunded: dict[str, str] = {}  # by refund with a separate id, its transaction
        self.clues.followed.update(resource_of(x) for x in sample.calls if x.name == "settle" and x.ok)
        resources = {resource_of(x) for x in sample.calls}
        accepted = [x for x in sample.calls if x.name == "simulate_refund" and x.ok]
        refunds = [(resource_of(x), x.members.get("amount")) for x in accepted]
        for event in sample.events:
            with suppress(*MALFORMED):
                self._assign(event, resources, refunds)
        self._resources = {str(event.event.get("resource")) for event in sample.events}

    def _assign(self, event: Delivery, resources: set[str], refunds: list[tuple[str, Any]]) -> None:
        """Queue an event for its record, and store what the event shows about other records.

        A refund with a separate id is queued for the transaction of the next refund call with the same amount.
        """
        key, spend = str(event.body.get("id", "")).lower(), event.spend
        if event.event.get("resource") == "card":
            limit = (event.body.get("limit") or {}).get("amount")
            if isinstance(limit, int):
                self.clues.limits[key] = limit
        elif event.event.get("resource") == "transaction":
            amount = spend.get("amount")
            self.clues.followed.add(key)
            if isinstance(spend.get("userId"), str):
                self.clues.holders[str(spend.get("cardId", "")).lower()] = spend["userId"].lower()
            if isinstance(amount, int) and amount < 0 and key not in resources | self._refunded.keys():
                call = next((refund for refund in refunds if refund[1] in (None, -amount)), None)
                if call is not None:
                    refunds.remove(call)
                    self._refunded[key] = call[0]
        self._queues.setdefault(self._refunded.get(key, key), deque()).append(event)

    def steps(self) -> Iterator[tuple[Step, list[Change]]]:
        """Yield each step, with other states in which the service may have been. Replay each step at once."""
        for x in self._sample.calls:
            resource = resource_of(x)
            self._move(x.at)
            if x.name not in _NEW:
                yield from self._outside(resource, self._now - _TICK)
            step, states, tenant = self._step(x, resource)
            if x.name == "sign_withdrawal" and not self.twin.store.get("contracts_of", tenant):
                self.unlisted += 1
                continue
            yield step, states
        for resource in [*self._queues]:
            yield from self._outside(resource, float("inf"))

    def _move(self, at: float | None) -> None:
        self._now = self._now if at is None else at
        self.twin.move(self._now)

    def _step(self, x: Exchange, resource: str) -> tuple[Step, list[Change], str]:
        """Return a call as a step, after the adoption of its records."""
        headers = dict(x.sent_headers)
        key = headers.get("api-key") or headers.get("authorization", "").partition(" ")[2]
        if not key and x.status != 401:
            key = headers["api-key"] = "recorded"  # recorders leave API keys out
        tenant = self.twin.learn_key(key) if key else ""
        if x.sent and not headers.keys() - {"api-key"}:
            headers["content-type"] = "application/json"  # this recorder left all headers out
        request = Request(x.method, PREFIX + x.path.partition("?")[0], urlencode(x.query), headers, x.sent)
        step = Step(x.place, self._now, self.twin.call(request), x.name, x.status, exchange=x, request=request)
        step.has_key = bool(headers.get("idempotency-key")) and x.method != "GET"
        if kind := _NEW.get(x.name):
            new_id = str(x.answered.get("transactionId") or x.answered.get("id") or "").lower()
            step.new_ids = {kind: new_id} if new_id and x.ok else {}
        self.twin.ids.update(str(x.answered.get(name)).lower() for name in ("id", "transactionId"))
        states: list[Change] = []
        with suppress(*MALFORMED):
            states = Adoption(self.twin, self._now, tenant, self.clues, x).states()
        if resource and x.ok:
            self._left[resource] -= 1
        step.is_last = x.name in ("simulate_reversal", "simulate_refund") and self._left[resource] == 0
        step.events = self._expected(x, resource)
        step.facts = self.twin.answer_facts(step, x.status, x.headers, x.received, recorded=True)
        return step, states, tenant

    def without(self, step: Step, names: Collection[str]) -> Step:
        """Return the call for a page as executed by a service that ignores some names in its query."""
        query = {name: text for name, text in step.exchange.query if name not in names}
        items = step.exchange.answered.get("items")
        if "limit" in names and isinstance(items, list):
            query["limit"] = str(len(items) + 1)
        return attrs.evolve(step, run=self.twin.call(attrs.evolve(step.request, query=urlencode(query))))

    def begins_inside(self, x: Exchange) -> bool:
        """Return whether no page before the page of a call was seen."""
        return self.twin.store.get(rewards.kept_in(str(x.members.get("userId"))), FILLER) is not None

    def _expected(self, x: Exchange, resource: str) -> list[Mapping[str, Any]] | None:
        """Return the events that a call may have caused, oldest first; None if unknown."""
        queue = self._queues.get(resource) if resource else None
        if queue is None:
            return [] if x.name == "update_ubo" and x.ok and "user" in self._resources else None
        settles = x.name in ("settle", "simulate_refund")
        return [event.event for event in queue if settles or not is_settlement(event)]

    def done(self, step: Step, emitted: int) -> None:
        """Remove the events that a step explained from their queue."""
        self._emitted = emitted
        queue = self._queues.get(resource_of(step.exchange)) if step.exchange is not None else None
        for _ in range(min(emitted, len(queue or ()))):
            queue.popleft()  # type: ignore[union-attr]
        while queue and step.is_last and not is_settlement(queue[0]):
            queue.popleft()

    # changes from outside

    def _outside(self, resource: str, before: float) -> Iterator[tuple[Step, list[Change]]]:
        """Yield changes of a record, before a time, that events show and that no call made."""
        queue = self._queues.get(resource)
        while queue:
            at = _time_of(queue[0])
            if (at is None and before != float("inf")) or (at or 0.0) >= before:
                return
            if at is not None:
                self._move(at)
            left = len(queue)
            with suppress(*MALFORMED):
                yield from self._from_event(queue[0], resource, queue)
            if len(queue) == left:
                queue.popleft()

    def _from_event(
        self, event: Delivery, resource: str, queue: deque[Delivery]
    ) -> Iterator[tuple[Step, list[Change]]]:
        """Yield the change behind an event as a step."""
        adoption = Adoption(self.twin, self._now, self.twin.learn_key("recorded"), self.clues)
        is_spend = event.event.get("resource") == "transaction"
        change = self._spent(event, resource, adoption) if is_spend else _changed(event, resource, adoption)
        if change is None:
            return
        step = Step(event.place, self._now, change, is_last=True, events=[other.event for other in _group(queue)])
        if not self.twin.store.get("transaction", resource):
            step.new_ids = {"transaction": resource}
        yield step, []
        for _ in range(min(self._emitted, len(queue))):
            queue.popleft()

    def _spent(self, event: Delivery, key: str, adoption: Adoption) -> Run | None:
        spend, action = event.spend, event.event.get("action")
        amount, card = spend.get("amount"), spend.get("cardId")
        transaction = self.twin.store.get("transaction", key)
        if not isinstance(amount, int):
            return None
        if transaction is None:
            if amount <= 0 or not isinstance(card, str):
                return None
            with self.twin.store:
                adoption.card(card.lower())
            reason = re.sub(" ", "_", str(spend.get("declinedReason") or "").lower())
            is_declined = action == "created" and spend.get("status") == "declined"
            usual = DeclineReason.CVV_MISMATCH if is_declined else None
            purchase = nothing(
                card_id=card,
                amount=amount,
                currency="USD",
                merchant_name=str(spend.get("merchantName") or "M").rstrip(),
                merchant_category_code=str(spend.get("merchantCategoryCode") or "5411"),
                decline_reason=DeclineReason(reason) if reason in tuple(DeclineReason) else usual,
            )
            return lambda twin: twin.control(adoption.tenant, cards.authorize, purchase)
        tenant = transaction["tenant"]
        if action == "completed" and amount > 0:
            return settlement(tenant, key, amount)
        if action == "updated":
            reversal = nothing(transaction_id=key, new_amount=amount or FULL)
            return lambda twin: twin.control(tenant, cards.reverse, reversal)
        refund = nothing(transaction_id=key, amount=-amount)
        return (lambda twin: twin.control(tenant, cards.refund, refund)) if amount < 0 else None


def _changed(event: Delivery, key: str, adoption: Adoption) -> Run | None:
    """Return the change of a user, owner or card that an event shows."""
    members, kind = snaked(event.body), str(event.event.get("resource"))
    if kind == "card":
        with adoption.store:
            adoption.card(key)
        numbers = ("status", "last4", "expiration_month", "expiration_year")
        changes = {name: members[name] for name in numbers if name in members}
        return _emitting(kind, key, "card.updated", changes, lambda record: {"card": record})
    status, why = members.get("application_status"), members.get("status_change_reason")
    if kind != "user" or not isinstance(status, str):
        return None
    if adoption.store.get("owner", key):
        kind = "owner"
    else:
        names = ("first_name", "last_name", "email", "company_id", "is_active")
        with adoption.store:
            adoption.user(key, **{name: members[name] for name in names if members.get(name) is not None})
    changes = {"status": status, "reason": members.get("application_reason") or ""}
    return _emitting(kind, key, "user.updated", changes, lambda record: {"applicant": record, "why": why})


def _emitting(kind: str, key: str, event: str, changes: Mapping[str, Any], of: Any) -> Run:
    """Return a change of a record that sends an event."""

    def run(twin: Twin) -> None:
        context = RequestContext(twin.environment, "outside")
        record = twin.store.save(kind, twin.store.get(kind, key), **changes)
        context.emit(event, record["tenant"], **of(record))

    return run


_FOLLOWS = {("requested", 1): "created", ("created", -1): "completed", ("updated", 0): "completed"}
"""Actions of events that one change causes, by the action before them and the sign of the amount."""


def _group(queue: deque[Delivery]) -> list[Delivery]:
    """Return the first event, with further events that the same change may have caused."""
    group = [queue[0]]
    for event in islice(queue, 1, 3):
        before, amount = group[-1], group[-1].spend.get("amount")
        if not isinstance(amount, int) or event.spend.get("amount") != amount:
            break
        sign = (amount > 0) - (amount < 0)
        if event.event.get("action") != _FOLLOWS.get((str(before.event.get("action")), sign)):
            break
        group.append(event)
    return group


def is_settlement(event: Delivery) -> bool:
    """Return whether an event shows a settlement."""
    amount = event.spend.get("amount")
    return event.event.get("action") == "completed" and isinstance(amount, int) and amount > 0


def _time_of(event: Delivery) -> float | None:
    """Return the time of an event on the service's clock; None if the event has no time."""
    times = (event.event.get("eventReceivedAt"), event.spend.get("postedAt"), event.spend.get("authorizedAt"))
    return next((at for at in map(seconds_of, times) if at is not None), None)
