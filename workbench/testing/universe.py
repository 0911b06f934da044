"""A universe: one run of an application against a fork of a sandbox, with faults that a seed decides."""

import heapq
import inspect
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from workbench.base.arguments import a_type
from workbench.base.errors import ApiError, Problem, UsageError
from workbench.base.schema.rules import FULL
from workbench.sandbox.cards import authorize, refund, reverse
from workbench.sandbox.draws import Lists, Options, draw, read_lists
from workbench.service.interface.transactions import SimulatedTransaction
from workbench.testing.deliveries import MADE_UP, Deliveries, Event
from workbench.testing.life import short
from workbench.testing.loop import NotSimulated
from workbench.testing.process import Action, Process

MAX_STEPS = 50_000
_MINUTE = 60.0
_CALM = 3_600.0  # seconds at the end without faults, in which the application can catch up
_GAPS = (30.0, 1.0, 600.0, 3_600.0, 40_000.0)
_PAUSES = (30.0, 1.0, 3_600.0, 30_000.0)
_MONTH = 16.3 * 86_400.0  # seconds from the start time of the sandbox to the last hours of the month
_EXPIRY = 2 * 86_400.0  # seconds until a hold expires
_LIKELY = {"amount": 0.9, "fate": 0.45, "merchant": 0.25}
"""Probability of an unusual choice in a purchase, by name; 0 for any other choice."""
_SHAPES = ("1", "2", "3", "4", "12", "13", "14", "23", "24", "34", "123", "124", "134", "234", "1234")
"""Subsets of four purchases, smallest first, so that shrinking can keep any of them."""


Books = Mapping[str, Any]
"""Cents by transaction."""


class Universe(Deliveries):
    """One simulated run of an application. The application gets its sessions, database and clock from the universe.

    Args:
        given: Application, sandbox, decisions and folder, in the order of `Life`.
        scenario: Function that is called with the universe to plan its traffic. The default plans one to four purchases
            and their follow-ups.
        guide: Guide of the sandbox.
        options: Arguments of `Deliveries`.
    """

    def __init__(
        self,
        *given: object,
        scenario: Callable[["Universe"], object] | None = None,
        guide: Mapping[str, Any],
        **options: Any,
    ) -> None:
        super().__init__(*given, **options)
        self.books: Books = {}
        self.holds: Books | None = None  # held cents by transaction; None if the application has no `holds()`
        self._scenario = scenario or _purchases
        self._steps = 0
        self._threads_before = threading.active_count()
        self._over = False
        self.guide = guide
        self.latest: dict[str, Event] = {}  # latest event, by transaction
        self.captures: dict[str, int] = {}  # cents of the first of two captures, by transaction

    def after(self, seconds: float, action: Action) -> None:
        """Schedule an action as part of the traffic."""

        def act() -> None:
            self.sync()
            action()
            self.collect()

        self._after(seconds, act)

    def simulate(self, handler: Callable[..., SimulatedTransaction], **members: object) -> SimulatedTransaction:
        """Run a handler of the sandbox as a cardholder or merchant would, without faults."""
        context = self._engine.context(handler.__name__, {"tenant": self._tenant})
        with self._engine.store:
            return handler(context, SimpleNamespace(**members))

    def request(self, method: str, *arguments: object) -> None:
        """Call a method of the application, as a user or client would. A crash loses the request."""
        process = self._process
        if process.dead:
            self.add_line("request", f"{method}: the application is down")
            return
        self.add_line("request", f"{method}({', '.join(map(short, arguments))})")
        called = getattr(process.application, method)
        if inspect.iscoroutinefunction(called):
            process.loop.start(called(*arguments), f"request {method}")
        else:
            self._guard(process, f"request {method}", lambda: called(*arguments))

    def purchase(self, name: str, at: float = 0.0) -> None:
        """Plan a purchase, with its amount, merchant and outcome."""
        self.after(at, _Purchase(self, name).authorize)

    def happen(self, event: Event) -> None:
        """Emit an event, or in its place two captures if the purchase is captured twice."""
        key, cents = event["body"].get("id", ""), event["body"].get("spend", {}).get("amount", 0)
        if event["resource"] == "transaction":
            self.latest[key] = event
        first = self.captures.pop(key, 0) if event["action"] == "completed" else 0
        if 0 < first < cents:
            super().happen(_changed(event, "capture 1", "completed", amount=first))
            event = _changed(event, "capture 2", "completed", amount=cents - first)
        super().happen(event)

    def run(self) -> "Universe":
        """Run the universe to its end, and check the built-in invariants."""
        if self.decisions.choose("machine at the end of a month", 2, 0.05):
            self.sandbox.clock.advance(seconds=_MONTH)
            self._epoch += _MONTH
            self.move(0.0)
        self._boot()
        if not self._process.dead and self._books_at_start(self._process):
            self._break(
                "nothing outlives a universe", "the books were not empty at the start: module-level state, a file"
            )
            return self
        self._scenario(self)
        self.collect()
        while not self._over:
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise NotSimulated(f"the application did not become idle within {MAX_STEPS:,} steps of one universe")
            self._next()
        self._finish()
        return self

    def _next(self) -> None:
        """Run one ready callback of the application, or the next planned action."""
        process = self._process
        if not process.dead:
            stepped = process.loop.step()
            self._bury(process)
            if stepped:
                return
        if not self.calm and len(self._agenda) == self._ticks:
            self.kill_between("after the last delivery")
            self.calm = True
            self._after(_CALM, self._end)
        due = None if process.dead else process.loop.next_time()
        if due is None or self._agenda[0][0] <= due:
            when, _, action = heapq.heappop(self._agenda)
            self.move(when)
            self.sync()
            action()
        else:
            self.move(due)

    def _books_at_start(self, process: Process) -> Books:
        """Return the books before the universe's first event; empty if the application reads them asynchronously."""
        if inspect.iscoroutinefunction(process.application.books):
            return {}
        return self._read_books(process, "books")

    def _end(self) -> None:
        """End the universe unless deliveries are in flight."""
        self.sync()
        self._over = len(self._agenda) == self._ticks
        if not self._over:
            self._after(_MINUTE, self._end)

    def _read_books(self, process: Process, name: str) -> Books:
        """Return the books or holds of the application. Transactions of 0 cents are left out."""
        books = self._guard(process, name, getattr(process.application, name))
        if inspect.iscoroutine(books):
            task = process.loop.start(books, "books")
            while not task.done():
                if not process.loop.step():
                    self.move(process.loop.next_time() or self.now)
            books = task.result()
        try:
            return {str(key): cents for key, cents in dict(books).items() if cents != 0}
        except (TypeError, ValueError):
            problem = Problem(f"application.{name}", "type", f"must return a mapping, not {a_type(books)}")
        raise UsageError([problem], of="explore")

    def _finish(self) -> None:
        process = self._alive()
        self.books = self._read_books(process, "books")
        if hasattr(process.application, "holds"):
            self.holds = self._read_books(process, "holds")
        for database in process.databases:
            with suppress(sqlite3.ProgrammingError):  # the application may have closed the database
                sqlite3.Connection.execute(database, "PRAGMA query_only=ON")
        if threading.active_count() > self._threads_before:
            raise NotSimulated(
                "the application started a thread, which is not reproducible; try it behind HTTP, with HttpApplication"
            )

    @property
    def application(self) -> Any:
        """The application at the end of the universe, for invariants. Its databases can be read."""
        return self._alive().application

    def close(self) -> None:
        """End the application's process."""
        if not self._process.dead:
            self._process.dead = True
            self._process.end()


def unequal(ours: Books, service: Books) -> Iterator[tuple[str, Any, int]]:
    """Yield each transaction whose cents differ, with the application's and the service's cents."""
    for name in sorted({*ours, *service}):
        booked, posted = ours.get(name, 0), service.get(name, 0)
        if booked != posted:
            yield name, booked, posted


_PARTS = {"reversed": (1,), "expired": (1,), "cleared with 0": (1,), "reduced": (2,), "reduced twice": (4, 2)}
"""Divisors of the hold for its reversals, by fate: 1 releases all of the hold, 2 a half, 4 a quarter."""


@lru_cache(maxsize=1)
def _lists() -> Lists:
    return read_lists(Path(__file__).with_name("universe.toml"))


class _Purchase:
    """A purchase in a universe's traffic."""

    def __init__(self, universe: Universe, name: str) -> None:
        self.universe, self.name, self.key = universe, name, ""
        self.settled = 0
        self.drawn = draw(self, _lists())
        self.cents, self.fate = self.drawn.amount, self.drawn.outcome
        self.refunds = self.choose("refunds", ((), (1,), (2,), (1, 2)), 0.5)
        self.gaps = [self.choose(f"gap {i}", _GAPS, 0.3) for i in range(3)]
        self.card = self.choose("card", universe.guide["cards"]["active"], 0.5)

    def pick(self, what: str, options: Options) -> str:
        """Choose an option from a list by a decision."""
        option: str = self.choose(what, options[0], _LIKELY.get(what, 0.0))
        return option

    def between(self, what: str, knots: Sequence[float]) -> float:
        """Choose one of the values `knots` by a decision."""
        value: float = self.choose(what, knots, _LIKELY.get(what, 0.0))
        return value

    def choose(self, what: str, options: Sequence[Any], probability: float) -> Any:
        """Choose an option by a decision, usually the first option."""
        decisions = self.universe.decisions
        return options[decisions.choose(f"traffic {self.name} {what}", len(options), probability)]

    def add_line(self, text: str) -> None:
        self.universe.add_line("traffic", f"{text} of purchase {self.name}")

    def emit(self, why: str, action: str, **spend: Any) -> None:
        """Emit the purchase's latest event again, with other members, as a service may do without a call."""
        self.universe.happen(_changed(self.universe.latest[self.key], why, action, **spend))

    def authorize(self) -> None:
        universe, reason = self.universe, self.drawn.decline_reason
        members = {"card_id": self.card, "amount": self.cents, "currency": "USD", **self.drawn.merchant}
        answer = universe.simulate(authorize, **members, decline_reason=reason)
        self.key = str(answer.transaction_id)
        universe.names[self.key] = f"purchase {self.name}"
        universe.add_line("traffic", f"purchase {self.name} of {self.cents} cents: {answer.status} ({short(self.key)})")
        if answer.status == "authorized" and self.fate != "left open":
            universe.after(_EXPIRY if self.fate == "expired" else self.gaps[0], self.complete)
        self.choose("other events", (lambda: None, self.lock, self.review), 0.1)()

    def lock(self) -> None:
        """Lock and unlock the card, which emits events that are not about money."""
        self.universe.sandbox.cards.lock(self.card)
        self.universe.sandbox.cards.unlock(self.card)

    def review(self) -> None:
        """Change the status of a user twice, which emits events that are not about money."""
        for user in self.universe.guide["users"].get("approved", ())[:1]:
            self.universe.sandbox.review(user, "needsInformation")
            self.universe.sandbox.review(user, "approved")

    def complete(self) -> None:
        """Reverse the purchase, settle it, or both, and plan its refunds."""
        universe, held = self.universe, self.cents
        for part in _PARTS.get(self.fate, ()):
            held -= held // part
            universe.simulate(reverse, transaction_id=self.key, new_amount=held or FULL)
            self.add_line(f"reversal to {held} cents")
        universe.collect()
        if self.fate == "cleared with 0" and universe.latest[self.key]["action"] != "completed":
            self.emit("clearing", "completed", amount=0, status="completed")
        if self.fate == "increased":
            held += held // 2
            self.add_line(f"increment to {held} cents")
            self.emit("increment", "updated", amount=held, authorizationUpdateAmount=held - self.cents)
            if self.choose("stays open", (False, True), 0.5):
                return
        if held:
            self.settle(held + {"settled below": -1, "settled above": 1}.get(self.fate, 0) * (held // 5), held)

    def settle(self, cents: int, held: int) -> None:
        """Settle the purchase, above its hold only if the sandbox accepts that, and plan its refunds."""
        universe = self.universe
        if self.fate == "captured twice":
            universe.captures[self.key] = held // 2
        try:
            universe.sandbox.settle(self.key, amount=cents)
        except ApiError:
            cents = universe.held.get(self.key, cents)
            universe.sandbox.settle(self.key)
        self.settled = cents
        self.add_line(f"settlement of {cents} cents")
        for i in self.refunds:
            universe.after(self.gaps[1] + i * self.gaps[2], partial(self.refund, i))
        if self.choose("refund of another", (False, True, True), 0.1):
            universe.after(self.gaps[1], self.refund_alone)

    def refund(self, i: int) -> None:
        universe, part = self.universe, max(self.settled // 5, 1)
        universe.simulate(refund, transaction_id=self.key, amount=part)
        universe.add_line("traffic", f"refund {i} of purchase {self.name}, {part} cents")
        universe.cause = f", refund {i}"
        universe.collect()
        universe.cause = ""

    def refund_alone(self) -> None:
        """Emit an event that refunds a purchase unknown to the service."""
        universe, cents, key = self.universe, max(self.cents // 3, 1), MADE_UP.uuid(f"{self.key} refund alone")
        universe.names[key] = f"refund without a purchase, like {universe.names[self.key]}"
        universe.add_line("traffic", f"refund of {cents} cents without a purchase")
        self.emit("refund alone", "completed", key=key, amount=-cents, status="completed")


def _changed(event: Event, why: str, action: str, key: str = "", **spend: object) -> Event:
    """Return a copy of an event with a different id, changed spend members, and another transaction if it is passed."""
    body = {**event["body"], "id": key or event["body"]["id"], "spend": {**event["body"]["spend"], **spend}}
    return {**event, "id": MADE_UP.uuid(event["id"] + why), "action": action, "body": body}


def _purchases(universe: Universe) -> None:
    """Plan one to four purchases."""
    shape = _SHAPES[universe.decisions.choose("traffic purchases", len(_SHAPES), 0.9)]
    at = 0.0
    for name in shape:
        universe.purchase(name, at)
        at += _PAUSES[universe.decisions.choose(f"traffic pause {name}", len(_PAUSES), 0.15)]
