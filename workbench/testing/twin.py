"""A sandbox that follows recorded traffic. A record is adopted when it first occurs. Calls can be tried without effect.

The twin has no state other than the sandbox's. The sandbox's clock shows the recorded time, and no scheduled change
happens. Changes without a call are taken from events and answers.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import attrs

from workbench.base.errors import ApiError
from workbench.base.schema import strict_json
from workbench.base.system.messages import Response
from workbench.sandbox.context import NEVER, Seeds
from workbench.sandbox.delivery import wire_event
from workbench.sandbox.engine import Engine
from workbench.sandbox.store import Store
from workbench.service.interface.table import INVALID_ACCOUNT
from workbench.service.interface.vocabulary import Role
from workbench.testing.facts import Facts, Reader, differing
from workbench.testing.recorded import MALFORMED, Members, Texts

TENANT = {"name": "recorded", "team": "individual", "management": "self", "corporate_cards": True}
Change = Callable[["Twin"], object]
"""Another state in which a call may have found the service."""
Run = Callable[["Twin"], Any]
"""A call, which returns its response, or a change."""


@attrs.frozen
class _Seeds(Seeds):
    """Seeds that give new records the recorded ids."""

    wanted: dict[str, str] = attrs.field(factory=dict, eq=False)  # not compared, because a dict has no hash

    def uuid(self, label: str) -> str:
        """Return the recorded id for the first new record of a kind, and seeded ids for later records."""
        return self.wanted.pop(label.partition(":")[0], None) or super().uuid(label)


class Settings(dict[str, Any]):
    """Settings that record the names of the settings that are read."""

    def __init__(self, values: Members) -> None:
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
    new_ids: Texts = attrs.field(factory=dict)
    facts: Facts = attrs.field(factory=dict)
    has_key: bool = False  # whether the call had an idempotency key
    events: list[Members] | None = None  # events that the call may have caused; None if unknown
    is_last: bool = False  # whether no later call can explain the events
    exchange: Any = None


@attrs.frozen(eq=False)
class Attempt:
    """The twin's answer to a step, and its differences from the recorded answer."""

    state: Change | None  # other state in which the step was tried; None for the twin's own state
    changes: Members  # settings that were changed for the attempt
    touched: Collection[str]  # names of the settings that were read
    shown: Facts
    recorded: Facts
    differences: Collection[str]
    emitted: int = 0  # number of events that the twin emitted


class _Undone(Exception):
    """Internal signal that rolls an attempt back."""


class Twin:
    """A sandbox without a world, whose state follows recorded traffic.

    Args:
        settings: The value of each behavior, which the owner may change.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        store = Store()
        origin = {"seed": 1, "environment": "sandbox", "behavior": "documented", "start": 0, "world": 1}
        with store:
            for name, value in {"made": origin, "clock": 0, "next_due": NEVER}.items():
                store.put("meta", name, value)
        self.settings, self.engine = settings, Engine(store, settings, {}, (), ())
        self.store, self.environment = store, self.engine.environment
        self.environment.seeds = self.seeds = _Seeds(1)
        self.ids: set[str] = set()
        self.failed: dict[str, str] = {}  # Python error that the replay of a step raised, by place of the step
        self.unnamed: set[str] = set()  # paths of recorded members that the interface document does not name

    def move(self, at: float) -> None:
        """Set the twin's clock to a Unix time, in seconds."""
        with self.store:
            self.engine.clock.set(int(at * 1000), None)

    def attempt(self, step: Step, changes: Members, state: Change | None = None, *, keep: bool = False) -> Attempt:
        """Return the twin's answer to a step with changed settings, in another state if `state` is passed.

        Changes of the twin stay only with `keep`. If the replay raises a Python error, every recorded fact differs, and
        with `keep` the error is recorded in `failed`.
        """
        settings = self.environment.settings = Settings({**self.settings, **changes})
        attempt = Attempt(state, changes, settings.touched, {}, step.facts, step.facts.keys())
        self.engine.service.rate_limit.clear()
        try:
            with suppress(_Undone), self.store:
                if state is not None:
                    state(self)
                self.seeds.wanted.clear()
                self.seeds.wanted.update(step.new_ids)
                before = self.engine.last_event
                response = step.run(self)
                events = [wire_event(self.environment, event) for event in self.engine.events(before)]
                shown, recorded = self._facts(step, response, events)
                differences = differing(shown, recorded)
                attempt = Attempt(state, changes, settings.touched, shown, recorded, differences, len(events))
                if not keep:
                    raise _Undone
        except MALFORMED as error:  # a recorded value has an unexpected structure, or the sandbox has a defect
            if keep:
                self.failed[step.place] = type(error).__name__
        return attempt

    def _facts(self, step: Step, response: Response | None, events: list[dict[str, Any]]) -> tuple[Facts, Facts]:
        """Return the facts of the twin's answer and events, and the recorded facts."""
        shown: Facts = {}
        recorded: Facts = dict(step.facts)
        if response is not None:
            shown = self.answer_facts(step, response.status, response.headers, response.body, recorded=False)
        if step.events is not None:
            likely = step.events if step.is_last else step.events[: len(events)]
            for facts, emitted in ((shown, events), (recorded, likely)):
                for number, event in enumerate(emitted):
                    parts = {name: event.get(name) for name in ("resource", "action", "version", "body")}
                    reader = Reader(step.at, self.ids, self.unnamed if facts is recorded else set())
                    facts |= reader.read(f"event {number}", parts)
        return shown, recorded

    def answer_facts(self, step: Step, status: int, headers: Texts, body: bytes, *, recorded: bool) -> Facts:
        """Return the facts of an answer: body, status, rate limit, and whether it repeats an earlier answer."""
        facts = Reader(step.at, self.ids, self.unnamed if recorded else set()).read_answer(status, body)
        limit = headers.get("x-ratelimit-limit", "")
        if limit.isdigit() and len(limit) < 8:  # a number with more digits may identify a person
            facts["limit"] = int(limit)
        if step.has_key and status < 300:
            facts["repeats"] = "idempotency-key" in headers or "idempotency-cached" in headers
        if step.name == "create_payment_account" and "error/message" in facts:
            facts["documented message"] = f'"{INVALID_ACCOUNT.message}"'.encode() in body
        if (path := "answer/signature/data") in facts:
            kind, data = f"signature {recorded}", str(strict_json.stored(body)["signature"]["data"])
            facts[path] = "new" if self.store.get(kind, data) is None else "as before"
            self.store.put(kind, data, True)
        return facts

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


def outside(tenant: str, handler: Callable[..., object], **members: object) -> Change:
    """Return a change that the service made without a call. A refusal rolls the handler's changes back."""

    def change(twin: Twin) -> None:
        context = twin.engine.context("outside", {"tenant": tenant})
        twin.environment.settings["settle_bounds"] = "posted"  # type: ignore[index] # what happened was accepted
        with suppress(ApiError), twin.store:
            handler(context, SimpleNamespace(**members))

    return change
