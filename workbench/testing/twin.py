"""A sandbox that follows recorded traffic. Records are adopted when they first occur, and each call can be tried first.

The twin has no state other than the sandbox's. The sandbox's clock shows the recorded time, and no scheduled change
happens. Changes without a call are taken from events and answers.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import attrs
import orjson

from workbench.base.errors import ApiError
from workbench.base.system.messages import Request, Response
from workbench.sandbox.context import NEVER, RequestContext, Seeds
from workbench.sandbox.delivery import wire_event
from workbench.sandbox.engine import Engine
from workbench.sandbox.store import Store
from workbench.service.interface.table import INVALID_ACCOUNT
from workbench.service.interface.vocabulary import Role
from workbench.testing.facts import Facts, Reader, differing

TENANT = {"name": "recorded", "team": "individual", "management": "self", "corporate_cards": True}
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError, RecursionError)
"""Python errors raised if a service's answer has another form than adoption expects."""
Change = Callable[["Twin"], object]
"""Another state in which a call may have found the service."""
Run = Callable[["Twin"], Any]
"""A call, which returns its response, or a change."""


class _Seeds(Seeds):
    """Seeds that give new records the recorded ids."""

    wanted: dict[str, str]

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        object.__setattr__(self, "wanted", {})

    def uuid(self, label: str) -> str:
        """Return the recorded id for a kind once; afterwards return a seeded id."""
        return self.wanted.pop(label.partition(":")[0], None) or super().uuid(label)


class Settings(dict[str, Any]):
    """Settings that record which of them are read."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.touched: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        value = self.touched[name] = super().__getitem__(name)
        return value

    def get(self, name: str, default: object = None) -> Any:
        """Return the value of a setting."""
        return self[name] if name in self else default  # noqa: SIM401 - it is what `get` is for


@attrs.define(eq=False)
class Step:
    """A recorded call or a change from outside, with the facts that it shows."""

    place: str
    at: float
    run: Run
    name: str = ""  # name of the operation
    status: int = 0
    new_ids: Mapping[str, str] = {}
    facts: Facts = attrs.field(factory=dict)
    has_key: bool = False  # whether the call had an idempotency key
    events: list[Mapping[str, Any]] | None = None  # events that the call may have caused; None if unknown
    is_last: bool = False  # whether no later call can explain the events
    exchange: Any = None
    request: Any = None


@attrs.frozen(eq=False)
class Attempt:
    """The twin's answer to a step, and its differences from the recorded answer."""

    response: Response | None
    events: list[dict[str, Any]]
    touched: Collection[str]
    shown: Facts
    recorded: Facts
    differences: frozenset[str]


class _Undone(Exception):
    """Internal signal that rolls an attempt back."""


class Twin:
    """A sandbox without a world, whose state follows recorded traffic.

    Args:
        settings: The value of each behavior.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        store = Store()
        origin = {"seed": 1, "environment": "sandbox", "behavior": "documented", "start": 0, "world": 1}
        with store:
            for name, value in {"made": origin, "clock": 0, "next_due": NEVER}.items():
                store.put("meta", name, value)
        self.engine = Engine(store, settings, {}, (), ())
        self.store, self.environment = store, self.engine.environment
        self.environment.seeds = self.seeds = _Seeds(1)
        self.ids: set[str] = set()
        # signatures in the recording (True) and of the twin (False)
        self.signatures: dict[bool, set[str]] = {True: set(), False: set()}

    def move(self, at: float) -> None:
        """Set the twin's clock to a Unix time, in seconds."""
        with self.store:
            self.engine.clock.set(int(at * 1000), None)

    def attempt(self, step: Step, settings: Mapping[str, Any], change: Change | None = None, *, keep: bool) -> Attempt:
        """Return the twin's answer to a step with some settings, in another state if `change` is passed.

        Changes of the twin stay only with `keep`.
        """
        chosen = self.environment.settings = Settings(settings)
        result: list[Attempt] = []
        self.engine.service.rate_limit.clear()
        with suppress(_Undone, *MALFORMED), self.store:
            if change is not None:
                change(self)
            self.seeds.wanted.clear()
            self.seeds.wanted.update(step.new_ids)
            before = self._last_event()
            response = step.run(self)
            events = []
            for number in range(before + 1, self._last_event() + 1):
                events.append(wire_event(self.environment, self.store.get("event", str(number))))
                self.store.delete("event", str(number))
            result.append(self._compared(step, response, events, chosen.touched))
            if not keep:
                raise _Undone
        facts = step.facts
        return result[0] if result else Attempt(None, [], chosen.touched, {}, facts, frozenset(facts))

    def _last_event(self) -> int:
        return self.store.get("counter", "event") or 0

    def _compared(
        self, step: Step, response: Response | None, events: list[dict[str, Any]], touched: Collection[str]
    ) -> Attempt:
        shown: Facts = {}
        recorded: Facts = dict(step.facts)
        if response is not None:
            shown = self.answer_facts(step, response.status, response.headers, response.body, recorded=False)
        if step.events is not None:
            for number, event in enumerate(events):
                shown |= self.event_facts(step, number, event)
            likely = len(step.events) if step.is_last else len(events)
            for number, expected in enumerate(step.events[:likely]):
                recorded |= self.event_facts(step, number, expected)
        return Attempt(response, events, touched, shown, recorded, frozenset(differing(shown, recorded)))

    def answer_facts(
        self, step: Step, status: int, headers: Mapping[str, str], body: bytes, *, recorded: bool
    ) -> Facts:
        """Return the facts of an answer."""
        reader = Reader(step.at, self.ids, self.signatures[recorded])
        facts = reader.read_answer(status, body)
        limit = headers.get("x-ratelimit-limit", "")
        if limit.isdigit() and len(limit) < 8:  # a number with more digits may identify a person
            facts["limit"] = int(limit)
        if step.has_key and status < 300:
            facts["repeats"] = "idempotency-key" in headers or "idempotency-cached" in headers
        if step.name == "create_payment_account" and "error/message" in facts:
            facts["documented message"] = f'"{INVALID_ACCOUNT.message}"'.encode() in body
        return facts

    def event_facts(self, step: Step, number: int, event: Mapping[str, Any]) -> Facts:
        """Return the facts of an event."""
        parts = {name: event.get(name) for name in ("resource", "action", "version", "body")}
        return Reader(step.at, self.ids).read(f"event {number}", parts)

    def remember(self, step: Step, attempt: Attempt) -> None:
        """Store the signatures in an answer, to recognize them in a later answer."""
        answers = {True: step.exchange.received if step.exchange is not None else b""}
        answers[False] = attempt.response.body if attempt.response is not None else b""
        for side, body in answers.items():
            if b'"signature"' in body:
                with suppress(orjson.JSONDecodeError, LookupError, TypeError):
                    self.signatures[side].add(orjson.loads(body)["signature"]["data"])

    def call(self, request: Request) -> Run:
        """Return a function that answers a request."""
        return lambda twin: twin.engine.service.handle(request)

    def control(self, tenant: str, handler: Callable[..., object], *arguments: object) -> None:
        """Run a handler for a tenant. A refusal rolls the handler's changes back."""
        context = RequestContext(self.environment, "outside")
        context.tenant = self.store.get("tenant", tenant) or TENANT
        with suppress(ApiError), self.store:
            handler(context, *arguments)

    def learn_key(self, key: str) -> str:
        """Return the tenant of an API key. A new key gets a new tenant."""
        known = self.store.get("key", key)
        if known is None:
            tenant = self.seeds.uuid(f"tenant of {key}")
            known = {"tenant": tenant, "name": "recorded", "roles": list(Role)}
            with self.store:
                self.store.put("tenant", tenant, {"id": tenant, **TENANT})
                self.store.put("key", key, known)
        return str(known["tenant"])


def nothing(**members: object) -> Any:
    """Return a request for a handler that is not checked."""
    return SimpleNamespace(**members)
