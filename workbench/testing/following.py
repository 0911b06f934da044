"""Follow recorded traffic with a twin. Calls become steps, and events are assigned to their causes.

Events without a cause become changes from outside.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any
from urllib.parse import urlencode

import attrs

from workbench.base.schema import walk
from workbench.base.schema.rules import FULL
from workbench.base.system.messages import Request, Response
from workbench.sandbox import cards, rewards
from workbench.sandbox.context import RequestContext
from workbench.service.interface.table import PREFIX
from workbench.service.interface.transactions import ListRewardsActivity
from workbench.service.interface.vocabulary import DeclineReason
from workbench.testing.adoption import Adoption, snaked
from workbench.testing.facts import seconds_of
from workbench.testing.recorded import MALFORMED, Delivery, Exchange, Item, Members, Texts
from workbench.testing.twin import Change, Run, Step, Twin, outside

MAX_KEPT = 20_000  # maximum number of calls and events to replay
_MAX_ALIKE = 50  # maximum number of calls of one kind to replay
_NEW = {
    "simulate_authorization": "transaction",
    "create_user_application": "user",
    "create_payment_account": "payment_account",
}


@cache
def assumed_names(cls: type[Any]) -> Texts:
    """Return the assumptions about a record's member names, by wire name."""
    of = f"{walk.snake(cls.__name__)}."
    return {member.wire: of + member.name for member in walk.members(cls) if member.about.assumed}


QUERY_NAMES = assumed_names(ListRewardsActivity)
"""Names in the query for a page of rewards, with their assumptions. A service ignores names that it does not know."""
Steps = Iterator[tuple[Step, list[Change]]]
"""Steps, each with other states in which the service may have been."""
_TICK = 0.5  # maximum difference between the recorder's and the service's clock, in seconds


def resource_of(x: Exchange) -> str:
    """Return the id of the record whose events a call causes; empty if there is none."""
    path, new = x.path_members, x.answered
    asked = path.get("transactionId") or path.get("uboId") or path.get("userId") or ""
    return str(new.get("transactionId") or new.get("id") or "").lower() if x.name in _NEW else asked.lower()


@attrs.define
class Sample:
    """Traffic to replay, in bounded memory: some calls of each kind, and all later calls for the same records."""

    calls: list[Exchange] = attrs.field(factory=list)
    events: list[Delivery] = attrs.field(factory=list)  # each event once, even if it was delivered repeatedly
    left: int = 0  # number of calls that the replay leaves out
    _alike: Counter[tuple[object, ...]] = attrs.field(factory=Counter)
    _kept: set[str] = attrs.field(factory=set)
    _delivered: set[int] = attrs.field(factory=set)

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

    def __init__(self, sample: Sample, settings: dict[str, Any]) -> None:
        self.twin = Twin(settings)
        self.adoption = Adoption(self.twin)
        self.left: Counter[str] = Counter()  # number of calls that cannot be replayed, by reason
        self._sample = sample
        # number of successful calls left to replay, by record
        self._left = Counter(resource_of(x) for x in sample.calls if x.ok)
        self._queues: dict[str, list[Delivery]] = {}
        self._now = 0.0
        self._emitted = 0
        self._refunded: dict[str, str] = {}  # refunded transaction, by refund with a separate id
        self.adoption.followed.update(resource_of(x) for x in sample.calls if x.name == "settle" and x.ok)
        resources = {resource_of(x) for x in sample.calls}
        accepted = [x for x in sample.calls if x.name == "simulate_refund" and x.ok]
        refunds = [(resource_of(x), x.members.get("amount")) for x in accepted]
        for event in sample.events:
            with suppress(*MALFORMED):
                self._assign(event, resources, refunds)
        self._has_users = any(event.resource == "user" for event in sample.events)

    def _assign(self, event: Delivery, resources: set[str], refunds: list[tuple[str, Any]]) -> None:
        """Queue an event for its record, and store what the event shows about other records.

        A refund with a separate id is queued for the transaction of the next refund call with the same amount.
        """
        key, spend, cents = str(event.body.get("id", "")).lower(), event.spend, event.cents or 0
        if event.resource == "card" and isinstance(limit := (event.body.get("limit") or {}).get("amount"), int):
            self.adoption.limits[key] = limit
        elif event.resource == "transaction":
            self.adoption.followed.add(key)
            if isinstance(spend.get("userId"), str):
                self.adoption.holders[str(spend.get("cardId", "")).lower()] = spend["userId"].lower()
            calls = [refund for refund in refunds if refund[1] in (None, -cents)]
            if cents < 0 and calls and key not in resources | self._refunded.keys():
                refunds.remove(calls[0])
                self._refunded[key] = calls[0][0]
        self._queues.setdefault(self._refunded.get(key, key), []).append(event)

    def steps(self) -> Steps:
        """Yield each step, with other states in which the service may have been. Replay a step before the next one."""
        for x in self._sample.calls:
            resource = resource_of(x)
            self._move(x.at)
            if x.name not in _NEW:
                yield from self._outside(resource, self._now - _TICK)
            yield from self._step(x, resource)
        for resource in [*self._queues]:
            yield from self._outside(resource, float("inf"))

    def _move(self, at: float | None) -> None:
        self._now = self._now if at is None else at
        self.twin.move(self._now)

    def _step(self, x: Exchange, resource: str) -> Steps:
        """Yield a call as a step, with other states of the service, if the call can be replayed."""
        headers, key = dict(x.sent_headers), x.key
        if not key and x.status != 401:
            key = headers["api-key"] = "recorded"  # recorders leave API keys out; any key will do
        tenant = self.twin.learn_key(key) if key else ""
        if x.sent and not headers.keys() - {"api-key"}:
            headers["content-type"] = "application/json"  # no headers were recorded; bodies are JSON
        request = Request(x.method, PREFIX + x.path, "", headers, x.sent)
        self.twin.ids.update(str(x.answered.get(name)).lower() for name in ("id", "transactionId"))
        missing = self._missing(x, tenant)
        states: list[Change] = []
        with suppress(*MALFORMED):
            states = self.adoption.states(x, self._now, tenant)
        self._left[resource] -= x.ok
        step = Step(
            x.place,
            self._now,
            self._called(x, request),
            x.name,
            x.status,
            new_ids={_NEW[x.name]: resource} if x.ok and resource and x.name in _NEW else {},
            has_key=bool(headers.get("idempotency-key")) and x.method != "GET",
            events=self._expected(x, resource),
            is_last=x.name in ("simulate_reversal", "simulate_refund") and self._left[resource] == 0,
            exchange=x,
        )
        with self.twin.store:
            step.facts = self.twin.answer_facts(step, x.status, x.headers, x.received, recorded=True)
        if missing:
            self.left[missing] += 1
        else:
            yield step, states

    def _missing(self, x: Exchange, tenant: str) -> str:
        """Return which earlier records the replay of a call lacks, as text; empty if it lacks none."""
        if x.name == "sign_withdrawal" and not self.twin.store.get("contracts_of", tenant):
            return "signatures for contracts that were never listed"
        asked = x.members
        rows = self.twin.store.all(rewards.kept_in(str(asked.get("userId")).lower()))
        earlier = sum(asked.get("type") in (None, row.get("type")) for row in rows)
        offset = str(asked.get("offset", 0))
        if x.answered.get("items") and not (offset.isdecimal() and int(offset[:9]) <= earlier):
            return "pages of rewards that begin after items that no page showed"
        return ""

    def _called(self, x: Exchange, request: Request) -> Run:
        """Return a function that answers a call like a service that ignores some names in the query."""
        items = x.answered.get("items")

        def run(twin: Twin) -> Response:
            asked = QUERY_NAMES if x.name == "list_rewards_activity" else {}
            settings = twin.environment.settings
            ignored = {name for name, _ in x.query if name in asked and not settings[asked[name]]}
            query = [pair for pair in x.query if pair[0] not in ignored]
            if "limit" in ignored and isinstance(items, list):
                query.append(("limit", str(len(items) + 1)))
            return twin.engine.service.handle(attrs.evolve(request, query=urlencode(query)))

        return run

    def _expected(self, x: Exchange, resource: str) -> list[Members] | None:
        """Return the events that a call may have caused, oldest first; None if unknown."""
        queue = self._queues.get(resource) if resource else None
        if queue is None:
            return [] if x.name == "update_ubo" and x.ok and self._has_users else None
        settles = x.name in ("settle", "simulate_refund")
        return [event.event for event in queue if settles or not event.is_settlement]

    def done(self, step: Step, emitted: int) -> None:
        """After a step, remove the events that the step explained from the record's queue."""
        self._emitted = emitted
        if step.exchange is not None and (queue := self._queues.get(resource_of(step.exchange))):
            del queue[:emitted]
            while queue and step.is_last and not queue[0].is_settlement:
                del queue[0]

    def _outside(self, resource: str, before: float) -> Steps:
        """Yield the changes of a record that events show but no call made, up to a time."""
        queue = self._queues.get(resource)
        while queue:
            event = queue[0]
            times = (event.event.get("eventReceivedAt"), event.spend.get("postedAt"), event.spend.get("authorizedAt"))
            at = next((at for at in map(seconds_of, times) if at is not None), None)  # by the service's clock
            if (at is None and before != float("inf")) or (at or 0.0) >= before:
                return
            self._move(at)
            self._emitted = 0
            with suppress(*MALFORMED):
                if step := self._from_event(event, queue, resource):
                    yield step, []
                else:
                    self.left["events that show a change that no sandbox makes"] += 1
            del queue[: max(self._emitted, 1)]

    def _from_event(self, event: Delivery, queue: list[Delivery], resource: str) -> Step | None:
        """Return the change behind the first event of a queue as a step."""
        self.adoption.at, self.adoption.tenant = int(self._now * 1000), self.twin.learn_key("recorded")
        change = (_spent if event.resource == "transaction" else _changed)(event, resource, self.adoption)
        if change is None:
            return None
        step = Step(event.place, self._now, change, is_last=True, events=[other.event for other in _group(queue)])
        step.new_ids = {} if self.twin.store.get("transaction", resource) else {"transaction": resource}
        return step


def _spent(event: Delivery, key: str, adoption: Adoption) -> Run | None:
    """Return the purchase, settlement, reversal or refund that an event shows."""
    spend, cents, card = event.spend, event.cents, event.spend.get("cardId")
    transaction = adoption.store.get("transaction", key)
    if cents is None:
        return None
    if transaction is not None:
        handler: Any = cards.reverse if event.action == "updated" else cards.refund if cents < 0 else None
        handler = cards.settle if event.is_settlement else handler
        amounts = {"amount": abs(cents), "new_amount": cents or FULL}
        return handler and outside(transaction["tenant"], handler, transaction_id=key, **amounts)
    if cents <= 0 or not isinstance(card, str):
        return None
    adoption.card(card.lower())
    reason = str(spend.get("declinedReason") or "").lower().replace(" ", "_")
    is_declined = event.action == "created" and spend.get("status") == "declined"
    usual = DeclineReason.CVV_MISMATCH if is_declined else None
    return outside(
        adoption.tenant,
        cards.authorize,
        card_id=card,
        amount=cents,
        currency="USD",
        merchant_name=str(spend.get("merchantName") or "M").rstrip(),
        merchant_category_code=str(spend.get("merchantCategoryCode") or "5411"),
        decline_reason=DeclineReason(reason) if reason in tuple(DeclineReason) else usual,
    )


def _changed(event: Delivery, key: str, adoption: Adoption) -> Run | None:
    """Return the change of a user, owner or card that an event shows."""
    members, kind, of = snaked(event.body), event.resource, {}
    if kind == "card":
        adoption.card(key)
        numbers = ("status", "last4", "expiration_month", "expiration_year")
        changes = {name: members[name] for name in numbers if name in members}
    elif kind == "user" and isinstance(status := members.get("application_status"), str):
        kind = "owner" if adoption.store.get("owner", key) else "user"
        if kind == "user":
            names = ("first_name", "last_name", "email", "company_id", "is_active")
            adoption.user(key, **{name: members[name] for name in names if members.get(name) is not None})
        changes = {"status": status, "reason": members.get("application_reason") or ""}
        of = {"why": members.get("status_change_reason")}
    else:
        return None

    def change(context: RequestContext, _: object) -> None:
        record = context.store.save(kind, context.store.get(kind, key), **changes)
        name = "card" if kind == "card" else "applicant"
        context.emit(f"{event.resource}.updated", record["tenant"], **{name: record}, **of)

    return outside(adoption.tenant, change)


_FOLLOWS = {("requested", 1): "created", ("created", -1): "completed", ("updated", 0): "completed"}
"""The action of the next event that the same change causes, by the event's action and the sign of its amount."""


def _group(queue: list[Delivery]) -> list[Delivery]:
    """Return the first event, with further events that the same change may have caused."""
    group, cents = queue[:1], queue[0].cents
    for event in queue[1:3]:
        follows = None if cents is None else _FOLLOWS.get((group[-1].action, (cents > 0) - (cents < 0)))
        if event.cents != cents or event.action != follows:
            break
        group.append(event)
    return group
