"""Events and outgoing webhooks. Each event is signed and delivered to its tenant's endpoints in order, with retries.

Events are stored as records and serialized when read. The store contains the state of every delivery, so that
deliveries survive a restart. Each endpoint has a separate thread, so that a slow endpoint delays no other endpoint. If
several processes share a file, one process delivers. Retries are due by the sandbox's clock. Delivery is at least once:
if the process is killed after the receiver responded but before the response is recorded, the event is sent again.

# Registration, signing and retries are not documented.
# assumed: event_endpoints, event_signing, event_retries, event_retry_spread, event_ids, event_order, event_gone
"""

import hashlib
import hmac
import threading
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from typing import Any

from workbench.base.schema import strict_json
from workbench.base.schema.readers import write_time
from workbench.base.schema.walk import build
from workbench.base.system.http_post import PostResult, Target, check_url, send
from workbench.base.system.seconds import monotonic
from workbench.sandbox.context import Environment, due_by, moment_of
from workbench.sandbox.control_records import SandboxEvent
from workbench.sandbox.extensions import rehearse
from workbench.sandbox.faults import OF_DELIVERIES, FaultRules
from workbench.sandbox.people import holder_of, links
from workbench.sandbox.rewards import category_of
from workbench.sandbox.store import Record, Texts
from workbench.service.interface.events import (
    CardUpdated,
    Event,
    MicroDepositReceived,
    Spend,
    TransactionChanged,
    UserUpdated,
)

EventDelivery = tuple[int, dict[str, str], bytes]
"""Sequence number of an event, and the headers and body of its delivery."""
Post = Callable[[str, Texts, bytes], PostResult]
_BUSY_INTERVAL = 0.5  # seconds until a busy file is tried again
_CLOSING = 0.5  # seconds for which `close` waits for deliveries in flight
_GONE = 410
_SLOW = 1_000  # milliseconds; shorter durations are not recorded, since they vary between runs


class WebhookDispatcher:
    """Delivers events that are due. It runs one thread per endpoint, and no thread without endpoints."""

    def __init__(
        self,
        environment: Environment,
        faults: FaultRules,
        reach: Collection[str],
        hosts: Collection[str],
        keep_time: Callable[[], None],
    ) -> None:
        self._keep_time = keep_time  # called only if an endpoint is registered
        self.reach = frozenset(reach)
        self.hosts = frozenset(hosts)
        self._relay: Post | None = None
        self._environment = environment
        self._store = environment.store
        self._faults = faults
        self._news = threading.Condition()
        self._notices = 0  # number of notifications so far
        self._threads: dict[str, threading.Thread] = {}
        self._idle: dict[str, int] = {}  # number of the notification after which no delivery was due, by endpoint
        self._seen: dict[str, int] = {}  # number of the next event to inspect, by endpoint
        self._closed = threading.Event()

    @property
    def active(self) -> bool:
        """Whether any endpoint is registered."""
        return bool(self._store.count("endpoint"))

    def distrust_callers(self, relay: Post | None = None) -> None:
        """Send no deliveries to this machine, since callers are not trusted.

        Args:
            relay: Relay that posts to receivers on the caller's own machine.
        """
        self._relay = relay
        if relay is None:
            self.reach -= {"loopback"}

    def check(self, url: str) -> Target:
        """Resolve a URL and return its target.

        Raises:
            ForbiddenUrl: Webhooks to this URL are not allowed.
        """
        return check_url(url, reach=self.reach, hosts=self.hosts)

    def notify(self) -> None:
        """Wake the threads, because a delivery may be due."""
        endpoints = self._endpoints()
        if not endpoints:
            return
        self._keep_time()
        with self._news:
            self._notices += 1
            for endpoint in endpoints:
                if endpoint not in self._threads and not self._closed.is_set():
                    thread = threading.Thread(
                        target=self._work, args=(endpoint,), name="workbench-webhooks", daemon=True
                    )
                    self._threads[endpoint] = thread
                    thread.start()
            self._news.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until no delivery is due or the timeout expires, and return whether no delivery is due."""
        endpoints = self._endpoints()
        self.notify()
        with self._news:
            notice = self._notices
            return self._news.wait_for(
                lambda: all(self._idle.get(key, -1) >= notice for key in endpoints if key in self._threads), timeout
            )

    def _endpoints(self) -> list[str]:
        """Return the ids of the endpoints. Do not hold `_news` meanwhile: a thread in a transaction may wait for it."""
        return [endpoint for endpoint, _ in self._store.items("endpoint")]

    def close(self) -> None:
        """End the threads that deliver events."""
        with self._news:
            self._closed.set()
            self._news.notify_all()
            threads = tuple(self._threads.values())  # copied, since a thread removes itself when it ends
        deadline = monotonic() + _CLOSING
        for thread in threads:
            thread.join(max(deadline - monotonic(), 0))  # a restart repeats a delivery that is still in flight

    def _work(self, endpoint: str) -> None:
        while not self._closed.is_set():
            with self._news:
                notice = self._notices
            try:
                while not self._closed.is_set() and self._store.lease("deliveries") and self._step(endpoint):
                    pass
                removed = self._store.get("endpoint", endpoint) is None
            except Exception:  # noqa: BLE001 - the file may be busy: the next round tries again
                self._closed.wait(_BUSY_INTERVAL)
                continue
            with self._news:
                # wake `flush`, which may be waiting; the other threads keep waiting for the next notification
                self._news.notify_all()
                if removed:
                    del self._threads[endpoint]
                    return
                self._idle[endpoint] = notice
                while self._notices == notice and not self._closed.is_set():
                    self._news.wait()

    def _step(self, endpoint: str) -> bool:
        """Send the delivery that is due first, and return whether a delivery was due."""
        with self._store:
            row = self._store.get("endpoint", endpoint)
            due_delivery = self._due(row) if row is not None and row["enabled"] else None
            if due_delivery is None:
                return False
            at, delivery, event = due_delivery
            first = not delivery["attempts"] and delivery["held"] is None
            headers, body = signed(self._environment, event, tuple(row["keys"]), len(delivery["attempts"]))
            fault = (
                self._faults.match(event["kind"], OF_DELIVERIES, lambda: strict_json.loads(body)["body"])
                if first
                else None
            )
            if fault is not None and fault.kind in {"swap", "delay"}:
                due = at + int(fault.seconds * 1000)
                self.enqueue(row, {**delivery, "due": due, "held": "next" if fault.kind == "swap" else "time"})
                return True
        if fault is not None and fault.kind == "bad_signature":
            headers = {**headers, "signature": headers["signature"][::-1]}
        begun = monotonic()
        result = self._send(row["url"], headers, body)
        took = int((monotonic() - begun) * 1000)
        if fault is not None and fault.kind == "duplicate":
            result = self._send(row["url"], headers, body)
        noted = {"fault": None if fault is None else fault.kind, "milliseconds": took if took >= _SLOW else None}
        with self._store:
            self._record(row["id"], delivery, at, result, noted)
        return True

    def _due(self, row: Record) -> tuple[int, Record, Record] | None:
        """Return the due time, the delivery and the event of the delivery that is due first; None if none is due."""
        now = self._environment.clock.ms
        waiting = (number for _, number in self._store.until(f"waiting/{row['id']}", due_by(now), 1))
        candidates = [self._delivery(row["id"], number) for number in waiting]
        fresh = self._fresh(row)
        if fresh is not None:
            candidates.append(fresh)
        if not candidates:  # no later delivery came before the clock moved, so a held delivery is sent now
            held = (self._delivery(row["id"], number) for number in islice(self._store.all(f"held/{row['id']}"), 1))
            candidates = [delivery for delivery in held if delivery and delivery["due"] < now]
        if not candidates:
            return None
        delivery = min(candidates, key=lambda delivery: (delivery["due"], delivery["sequence"]))
        event = self._store.get("event", str(delivery["sequence"]))
        if event is None:  # the sandbox was reset meanwhile
            self._leave(row["id"], delivery)
            self._store.delete(f"delivery/{row['id']}", str(delivery["sequence"]))
            return self._due(row)
        return now if delivery["held"] == "next" else delivery["due"], delivery, event

    def _fresh(self, row: Record) -> Record | None:
        """Return a new delivery of the first event that was not sent to the endpoint yet; None if all were sent."""
        after = max(row["next"], self._seen.get(row["id"], 0)) - 1
        for event in self._store.numbered("event", after):
            if event["tenant"] == row["tenant"]:
                return self.new_delivery(row["id"], event)
            self._seen[row["id"]] = event["sequence"] + 1
        return None

    def new_delivery(self, endpoint: str, event: Record) -> Record:
        """Return the delivery of an event to an endpoint, before its first attempt."""
        sequence = event["sequence"]
        return {
            "id": f"{endpoint}:{sequence}",
            "endpoint": endpoint,
            "sequence": sequence,
            "kind": event["kind"],
            "event_id": self._environment.seeds.uuid(f"event:{sequence}"),
            "state": "waiting",
            "due": event["at"],
            "held": None,
            "attempts": [],
        }

    def _send(self, url: str, headers: Texts, body: bytes) -> PostResult:
        # Each attempt checks the URL, because the address of a host name may change.
        return send(url, headers, body, check=self.check, relay=self._relay)

    def _record(self, endpoint: str, delivery: Record, at: int, result: PostResult, noted: Record) -> None:
        row = self._store.get("endpoint", endpoint)
        if row is None:
            return
        settings = self._environment.settings
        now = max(at, delivery["due"])
        attempt = {
            "at": write_time(moment_of(now)),
            "status": result.status,
            "error": result.error,
            "length": result.length,
            **{name: value for name, value in noted.items() if value is not None},
        }
        attempts = [*delivery["attempts"], attempt]
        max_tries, first, factor, longest = settings["event_retries"]
        tried = delivery.get("tried", 0) + 1
        state, due = "waiting", now
        if result.accepted:
            state = "delivered"
        elif tried >= max_tries or result.status == _GONE:
            state = "failed"
        else:
            wait = int(min(first * factor ** (tried - 1), longest) * 1000)
            # spread the retries of deliveries that failed together
            spread = int(wait * settings["event_retry_spread"])
            due = now + wait - self._environment.seeds.number(f"retry:{delivery['id']}:{len(attempts)}", 0, spread)
        self.enqueue(row, {**delivery, "attempts": attempts, "tried": tried, "state": state, "due": due, "held": None})
        if result.status == _GONE:
            self._store.put("endpoint", endpoint, {**self._store.get("endpoint", endpoint), "enabled": False})
        # this delivery went first, so release the earlier deliveries that were held back for it
        for sequence in self._store.all(f"held/{endpoint}"):
            if sequence != delivery["sequence"]:
                self.enqueue(row, {**self._delivery(endpoint, sequence), "held": "released"})

    def enqueue(self, row: Record, delivery: Record) -> None:
        """Store a delivery to an endpoint. It is sent when it is due, if its state is "waiting"."""
        sequence = delivery["sequence"]
        self._leave(row["id"], self._delivery(row["id"], sequence))
        self._store.put(f"delivery/{row['id']}", str(sequence), delivery)
        if delivery["state"] == "waiting":
            self._store.put(*_place(row["id"], delivery), sequence)
        if sequence >= row["next"]:
            self._store.put("endpoint", row["id"], {**row, "next": sequence + 1})

    def _delivery(self, endpoint: str, sequence: int) -> Any:
        return self._store.get(f"delivery/{endpoint}", str(sequence))

    def _leave(self, endpoint: str, delivery: Record | None) -> None:
        """Remove a delivery from the queue."""
        if delivery is not None and delivery["state"] == "waiting":
            self._store.delete(*_place(endpoint, delivery))


def _place(endpoint: str, delivery: Record) -> tuple[str, str]:
    """Return the store kind and id of a queued delivery, which is ordered by due time or held back for a swap."""
    held = delivery["held"] == "next"
    number = f"{delivery['sequence']:012d}"
    return (f"held/{endpoint}", number) if held else (f"waiting/{endpoint}", f"{delivery['due']:015d}:{number}")


class Delivered(bytes):
    """Body of a delivery. The repr shows only the length."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"


def wire_event(environment: Environment, kept: Record) -> Record:
    """Return an event in the envelope of a delivery."""
    resource, _, action = kept["kind"].partition(".")
    event = Event(
        id=environment.seeds.uuid(f"event:{kept['sequence']}"),
        resource=resource,
        action=action,
        version=environment.settings["event_version"]  # assumed: event_version
        or ("1.1.0" if kept.get("why") or _completion_reason(environment, kept) else "1.0.0"),
        # present only on user.updated
        event_received_at=moment_of(kept["at"]) if kept["kind"] == "user.updated" else None,
        body=_BODIES[resource](environment, kept),
    )
    record: Record = environment.converter.unstructure(event)
    return {**record, "body": rehearse(environment.settings, record["body"], kept["kind"])}


def listed(environment: Environment, kept: Record) -> SandboxEvent:
    """Return a stored event with its cause."""
    return SandboxEvent(
        sequence=kept["sequence"],
        payload=wire_event(environment, kept),
        request_id=environment.seeds.uuid(f"request:{kept['request']}"),
        cause=kept["cause"],
        tenant=kept["tenant"],
        at=moment_of(kept["at"]),
    )


def signed(
    environment: Environment, kept: Record, keys: tuple[str, ...], attempt: int = 0
) -> tuple[dict[str, str], bytes]:
    """Return the headers and the body of a delivery. assumed: event_signing, event_ids"""
    event = wire_event(environment, kept)
    if attempt and environment.settings["event_ids"] == "new":
        event["id"] = environment.seeds.uuid(f"event:{kept['sequence']}:{attempt}")
    body = Delivered(strict_json.dumps(event))
    headers = {"content-type": "application/json"}
    for name, key in zip(("signature", "secondary-signature"), keys, strict=False):
        headers[name] = hmac.new(key.encode(), body, hashlib.sha256).hexdigest()
    return headers, body


def _user(environment: Environment, kept: Record) -> Any:
    applicant = kept["applicant"]
    return build(
        UserUpdated,
        {
            **{name: applicant.get(name) for name in ("id", "first_name", "last_name", "email", "company_id")},
            "is_active": applicant.get("is_active", True),
            "is_terms_of_service_accepted": environment.settings["user_event_terms"]  # assumed: user_event_terms
            if applicant["status"] == "tosNotAccepted"
            else applicant.get("terms", True),
            "application_status": applicant["status"],
            "application_reason": applicant["reason"],
            "status_change_reason": kept["why"],
            **links(
                environment.settings,
                applicant,
                lambda page, key: environment.seeds.octets(f"link:{page}:{key}", 16).hex(),
            ),
        },
    )


def _transaction(environment: Environment, kept: Record) -> Any:
    kind = kept["kind"]
    spend = {**environment.store.get("transaction", kept["transaction"]), **kept["state"]}
    user = holder_of(environment.store, spend["user"], kept["names"])
    refund, change = kept.get("refund"), kept.get("change")
    status = {"authorized": "pending", "settled": "completed"}.get(spend["status"], spend["status"])
    amount = spend["settled"] if spend["status"] == "settled" else spend["held"]
    authorized = spend["held"]
    if spend["status"] in {"declined", "settled"}:  # assumed: event_authorized_amount
        reduced = environment.settings["event_authorized_amount"] == "reduced" and spend["status"] == "settled"
        authorized = spend["cleared"] if reduced else spend["authorized"]
    if kind == "transaction.requested" or status == "declined":
        amount = authorized = spend["authorized"]
    if kind == "transaction.requested":  # assumed: declined_events
        status = "pending"
    elif kind == "transaction.completed":
        status = "completed"
    elif change is not None:
        status = environment.settings["reversal_events"]  # assumed: reversal_events
    elif refund:
        status = "pending"
    if refund:  # assumed: refund_events
        amount = authorized = -refund
    if "refund_id" in kept:  # assumed: refund_event_id
        at = kept["refunded_at"]
        spend = {**spend, "id": kept["refund_id"], "authorized_at": at, "posted_at": at}
    if refund and status == "pending":  # assumed: refund_event_created
        spend = {**spend, "posted_at": None}
    previously = 0 if kind == "transaction.requested" and environment.settings["previously_authorized"] else None
    padded = environment.settings["merchant_padding"]
    return TransactionChanged(
        id=spend["id"],
        type="spend",
        spend=Spend(
            amount=amount,
            authorized_amount=authorized,
            previously_authorized_amount=previously,  # assumed: previously_authorized
            authorization_update_amount=change,
            currency="usd",
            local_amount=amount,
            local_currency=spend["currency"].lower(),
            authorization_method="online",  # assumed: event_merchant
            merchant_name=spend["merchant_name"].ljust(25 if padded else 0),  # assumed: merchant_padding
            merchant_category=category_of(environment.store, spend["merchant_category_code"]).description,
            merchant_category_code=spend["merchant_category_code"],
            merchant_city="Springfield".ljust(13 if padded else 0),
            merchant_country="US",
            card_id=spend["card"],
            card_type="virtual",
            user_id=user["id"],
            user_first_name=user.get("first_name"),
            user_last_name=user.get("last_name"),
            user_email=user.get("email"),
            status=status,
            declined_reason=_declined_reason(environment, spend) if kind != "transaction.requested" else None,
            completion_reason=_completion_reason(environment, kept),
            authorized_at=moment_of(spend["authorized_at"]),
            posted_at=None if spend["posted_at"] is None else moment_of(spend["posted_at"]),
        ),
    )


def _completion_reason(environment: Environment, kept: Record) -> str | None:
    settings = environment.settings
    sent = settings["event_completion_reason"]  # assumed: event_completion_reason
    if kept["kind"] != "transaction.completed" or not sent:
        return None
    if kept["state"]["status"] != "settled":
        reversal: str | None = settings["full_reversal_reason"]
        return reversal
    reason = "REFUND" if kept.get("refund") else "SETTLEMENT"
    return reason if settings["completion_reason_case"] == "upper" else reason.lower()


def _declined_reason(environment: Environment, spend: Record) -> str | None:
    reason: str | None = spend["declined_reason"]
    in_words = environment.settings["event_declined_reason"] == "words"  # assumed: event_declined_reason
    return reason.replace("_", " ") if reason and in_words else reason


def _card(environment: Environment, kept: Record) -> Any:
    card = kept["card"]
    same = {name: card[name] for name in ("id", "status", "last4", "expiration_month", "expiration_year")}
    limit = {"amount": card["limit"], "frequency": "allTime"}
    return build(CardUpdated, {**same, "user_id": card["user"], "type": "virtual", "limit": limit})


def _deposit(environment: Environment, kept: Record) -> Any:
    deposit = {name: value for name, value in kept["deposit"].items() if name != "tenant"}
    return build(MicroDepositReceived, {**deposit, "received_at": moment_of(deposit["received_at"])})


# assumed: transaction_events, card_events
_BODIES: Mapping[str, Callable[[Environment, Record], Any]] = {
    "user": _user,
    "transaction": _transaction,
    "card": _card,
    "microDeposit": _deposit,
}
