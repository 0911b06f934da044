"""Simulated deliveries to an application: late, duplicate, concurrent, forged, unknown kinds, a rotated key."""

import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import attrs

from workbench.base.keys import Key
from workbench.base.schema import strict_json
from workbench.base.system.messages import HeaderDict
from workbench.client.webhooks.verify import SECONDARY, SIGNATURE, sign
from workbench.sandbox.context import Seeds
from workbench.sandbox.delivery import wire_event
from workbench.testing.decisions import Breach
from workbench.testing.life import Life, short
from workbench.testing.loop import NotSimulated
from workbench.testing.process import Process

KEY = "universe-signing-key-1"
"""Signing key of deliveries, known to the application."""
_NEXT = Key.of("universe-signing-key-2", "keys")
"""Signing key after a rotation. The secondary header is then signed with the first key."""
_FORGER = Key.of("not-the-signing-key", "keys")
MADE_UP = Seeds(1)
"""Source of fictitious ids. Equal names give equal ids."""
_TIMEOUT = 10.0  # maximum seconds until the application answers a delivery
_RETRIES = (10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0, 86_400.0)
_LATE = ((0.2, ""), (2.5, "2 s late"), (95.0, "95 s late"), (7_200.0, "2 h late"))
"""Seconds until a delivery, and their description."""
_AGAIN = ((0.0, ""), (0.0, "at the same time"), (1.0, "1 s later"), (3_600.0, "1 h later"), (100_000.0, "28 h later"))
"""Seconds until the repeat of a delivery, and their description. The first entry stands for no repeat."""
_FORGED = {"": (), "wrong signature": (_FORGER,), "no signature": (), "signature of another body": ()}
"""Keys that sign a forged copy of an event, by the kind of forgery. The first entry stands for no forgery."""
_FORMS: tuple[Callable[[Any], bytes], ...] = (
    strict_json.dumps,
    lambda event: json.dumps(event).encode(),
    lambda event: json.dumps(event, ensure_ascii=False, indent=2).encode(),
    lambda event: json.dumps(event, ensure_ascii=False).replace("/", "\\/").encode(),
)
"""Forms of the same JSON: compact, with blanks and escapes, indented, with escaped slashes."""
_UNKNOWN = ("", "unknown version", "unknown kind")


Event = dict[str, Any]


@attrs.define(eq=False)
class Delivery:
    """A delivery, with its attempts and whether the application acknowledged it."""

    name: str  # name of the event, used in the names of decisions
    text: str
    headers: dict[str, str]
    body: bytes
    kind: str = "event"  # "event", "unknown" or "forged"
    acknowledged: bool = False
    attempts: int = 0


class Deliveries(Life):
    """Course of a universe, including the deliveries of its events.

    Args:
        key: Key with which the deliveries are signed.
        options: Arguments of `Life`.
    """

    def __init__(self, *given: Any, key: str = KEY, **options: Any) -> None:
        super().__init__(*given, **options)
        self.key, self._signing = key, Key.of(key, "keys")
        self._tenant = self._engine.store.get("key", self.sandbox.full_key)["tenant"]
        self.service: Counter[str] = Counter()  # net cents that the service has posted, by transaction
        self.posted: list[tuple[str, int]] = []  # transaction and posted cents, by event
        self.held: dict[str, int] = {}  # held cents of open authorizations, by transaction
        self.names: dict[str, str] = {}  # names of records by id
        self.cause = ""  # current action of the traffic, such as ", refund 1", which distinguishes events of a record
        self._seen = self._engine.last_event

    def collect(self) -> None:
        """Plan the deliveries of new events."""
        if self._engine.last_event == self._seen:
            return
        after, self._seen = self._seen, self._engine.last_event
        for kept in self._engine.events(after):
            if kept["tenant"] == self._tenant:
                self.happen(wire_event(self._engine.environment, kept))

    def happen(self, event: Event) -> None:
        """Add the amounts of an event to the service's totals, and plan the deliveries of the event."""
        if event["resource"] == "transaction":
            transaction, spend = event["body"]["id"], event["body"]["spend"]
            is_open = event["action"] != "completed" and spend.get("status") == "pending" and spend["amount"] > 0
            self.held[transaction] = spend["amount"] if is_open else 0
            if event["action"] == "completed":
                self.service[transaction] += spend["amount"]
                self.posted.append((transaction, spend["amount"]))
        self._plan(event)

    def _plan(self, event: Event) -> None:
        """Plan the deliveries of one event."""
        body, kind = event["body"], f"{event['resource']}.{event['action']}"
        key = body.get("id", "")
        record = f"{kind} of {self.names.get(key, short(key))}{self.cause}"
        self._ordinals[record] += 1
        name = record if self._ordinals[record] == 1 else f"{record}, {self._ordinals[record]}"
        text = f"{name}, {body['spend']['amount']} cents" if kind == "transaction.completed" else name
        self._ordinals["events"] += 1
        # number of the event at which the key rotation starts; 0 for no rotation
        rotates = (0, 1, 4)[self.decisions.choose("event rotation", 3, 0.15)]
        keys = (_NEXT, self._signing) if 0 < rotates <= self._ordinals["events"] else (self._signing,)
        unknown = _UNKNOWN[self._decide(f"event {name} unknown", 3, 0.03)]
        if unknown == "unknown version":
            event = {**event, "version": "1.9.0", "addedLater": {"members": ["of", "1.9.0"]}}
            text += f", {unknown}"
        elif unknown:
            key = MADE_UP.uuid(f"unknown {name}")
            other = {**event, "id": key, "resource": "loyalty", "action": "expired", "body": {"id": key}}
            what = f"loyalty.expired after {name}"
            self._send_later(0.5, _delivery(what, "loyalty.expired, unknown kind", other, keys, "unknown"))
        forged = [*_FORGED][self._decide(f"event {name} forged", 4, 0.03)]
        if forged:
            copy, story = {**event, "id": MADE_UP.uuid(f"forged {name}")}, f"forged copy of {text} ({forged})"
            fake = _delivery(f"forged {name}", story, copy, _FORGED[forged], "forged")
            if forged == "signature of another body":
                fake.headers[SIGNATURE] = sign(strict_json.dumps(event), self._signing)
            self._send_later(0.7, fake)
        seconds, late = _LATE[self._decide(f"event {name} late", len(_LATE), 0.12)]
        twice = self._decide(f"event {name} twice", 4, 0.12)
        pause, again = _AGAIN[twice or 4 * self._decide(f"event {name} much later again", 2, 0.006)]
        form = self.decisions.choose(f"traffic form of {name}", len(_FORMS), 0.06)
        delivery = _delivery(name, f"{text}, {late}" if late else text, event, keys, form=form)
        kinds = {
            "events": True,
            "events late": late,
            "events with the new signing key": len(keys) == 2,
            f"events of {unknown}s": unknown,
            f"events twice, {again}": again,
            "events in another form of JSON": form,
        }
        self.counts.update(kind for kind, is_so in kinds.items() if is_so)
        self._send_later(seconds, delivery)
        if again:
            repeated = attrs.evolve(delivery, name=f"{name} again", text=f"{text}, again ({again})")
            self._send_later(seconds + pause, repeated)

    def _send_later(self, seconds: float, delivery: Delivery) -> None:
        self._after(seconds, lambda: self._deliver(delivery))

    def _deliver(self, delivery: Delivery) -> None:
        process = self._process
        delivery.attempts += 1
        attempt = "" if delivery.attempts == 1 else f", attempt {delivery.attempts}"
        self.counts["deliveries"] += 1
        self.kill_between(f"before delivery of {delivery.name}{attempt}")
        if delivery.kind != "forged":
            self._after(_TIMEOUT, lambda: self._check(delivery))
        if process.dead:
            self.add_line("delivery", f"{delivery.text}{attempt}: the application is down")
            return

        async def received() -> None:
            try:
                status = process.application.receive(HeaderDict(delivery.headers), delivery.body)
                status = await status if inspect.isawaitable(status) else status
            except NotSimulated:
                raise
            except Exception as error:  # noqa: BLE001 - a web framework answers 500 to any
                status = f"500 ({type(error).__name__}: {error})"
            self._answered(process, delivery, status, attempt)

        self.add_line("delivery", f"{delivery.text}{attempt}")
        process.loop.start(received(), f"delivery of {delivery.name}{attempt}")

    def _answered(self, process: Process, delivery: Delivery, status: object, attempt: str) -> None:
        process.check()
        accepted = isinstance(status, int) and 200 <= status < 300
        lost = (
            delivery.kind == "event"
            and accepted
            and delivery.attempts < 3
            and self._decide(f"acknowledgment of {delivery.name} {delivery.attempts}", 2, 0.06)
        )
        shown = repr(status) if isinstance(status, str) and not status.startswith("500 (") else status
        self.add_line("response", f"{shown} to {delivery.text}{attempt}{', which is lost' if lost else ''}")
        if lost:
            self.counts["acknowledgments lost"] += 1
        if delivery.kind == "forged":
            self.counts["forgeries"] += 1
            if accepted:
                self._break("forgeries are refused", f"{delivery.text} was accepted ({status})")
        elif accepted and not lost:
            delivery.acknowledged = True

    def _check(self, delivery: Delivery) -> None:
        """Redeliver an event if it was not acknowledged."""
        if delivery.acknowledged:
            return
        if delivery.attempts > len(_RETRIES):
            rule = "unknown kinds are acknowledged" if delivery.kind == "unknown" else "events are acknowledged"
            self._break(rule, f"{delivery.text} was not acknowledged in {delivery.attempts} attempts")
            return
        self._after(_RETRIES[delivery.attempts - 1], lambda: self._deliver(delivery))

    def _break(self, invariant: str, breach: str) -> None:
        self.breaches.append(Breach(invariant, breach))


def _delivery(name: str, text: str, event: Event, keys: Iterable[Key], kind: str = "event", form: int = 0) -> Delivery:
    body = _FORMS[form](event)
    signed = {name: sign(body, key) for name, key in zip((SIGNATURE, SECONDARY), keys, strict=False)}
    return Delivery(name, text, {"content-type": "application/json", **signed}, body, kind)
