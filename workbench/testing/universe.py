"""A universe: one run of an application against a fork of a sandbox, with faults decided by a seed."""

import heapq
import inspect
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from workbench.client.session import Session
from workbench.testing.deliveries import Deliveries
from workbench.testing.life import short
from workbench.testing.loop import NotSimulated
from workbench.testing.process import Process, ProcessKilled

MAX_STEPS = 50_000
_MINUTE = 60.0
_GAPS = (30.0, 1.0, 600.0, 3_600.0)
_PAUSES = (30.0, 1.0, 3_600.0, 86_400.0)
_AMOUNTS = (1_000, 420, 9_999, 101, 2_500, 735, 5_500, 4)
_SHAPES = ("1", "2", "3", "4", "12", "13", "14", "23", "24", "34", "123", "124", "134", "234", "1234")
"""Subsets of four purchases, smallest first, so that shrinking can keep any of them."""


class Universe(Deliveries):
    """One run of an application, which gets its sessions, database and clock from the universe.

    Args:
        given: Application, sandbox, decisions and folder, as for `Life`.
        scenario: Called with the universe to plan its traffic; default: one to four purchases and their follow-ups.
        settle: Seconds without faults at the end, in which the application can catch up.
        options: Arguments of `Deliveries`.
    """

    def __init__(
        self,
        *given: Any,
        scenario: Callable[["Universe"], object] | None = None,
        settle: float = 3_600.0,
        **options: Any,
    ) -> None:
        super().__init__(*given, **options)
        self.sometimes: Counter[str] = Counter()
        self.books: Mapping[str, Any] = {}
        self.outside: Session = self._open(Session, self.clock, transport=self.sandbox._direct(faults=False))
        """A session as cardholders and merchants: its calls are the traffic, and nothing goes wrong with them."""
        self._scenario, self._settle = scenario or _purchases, settle
        self._steps = 0
        self._threads_before = threading.active_count()
        self._over = False
        self._cards = self.sandbox.guide()["cards"]["active"]

    def after(self, seconds: float, action: Callable[[], object]) -> None:
        """Schedule an action as part of the traffic."""
        self._at(self.now + seconds, action)

    def request(self, method: str, *arguments: object) -> None:
        """Call a method of the application, like a user or client would; a crash loses the request."""
        process = self._process
        if process is None or process.dead:
            self.add_line("request", f"{method}: the application is down")
            return
        self.add_line("request", f"{method}({', '.join(map(short, arguments))})")
        called = getattr(process.application, method)
        if inspect.iscoroutinefunction(called):
            process.loop.start(called(*arguments), f"request {method}")
        else:
            self._guard(process, f"request {method}", lambda: called(*arguments))

    def purchase(self, name: str, at: float = 0.0) -> None:
        """Plan a purchase: amount, and whether it is declined, reversed, settled and refunded."""
        choose = self.decisions.choose
        cents = _AMOUNTS[choose(f"traffic {name} amount", len(_AMOUNTS), 0.9)]
        fate = choose(f"traffic {name} fate", 5, 0.35)
        refunds = choose(f"traffic {name} refunds", 4, 0.5)
        gaps = [_GAPS[choose(f"traffic {name} gap {i}", len(_GAPS), 0.3)] for i in range(3)]
        card = self._cards[choose(f"traffic {name} card", len(self._cards), 0.5) if len(self._cards) > 1 else 0]
        events: list[Any] = []

        def authorize() -> None:
            answer = self.outside.simulate_authorization(
                card_id=card,
                amount=cents,
                currency="USD",
                merchant_name="Example Market",
                merchant_category_code="5411",
                decline_reason="cvv_mismatch" if fate == 2 else None,
            )
            self.names[str(answer.transaction_id)] = f"purchase {name}"
            self.add_line(
                "traffic", f"purchase {name} of {cents} cents: {answer.status} ({short(answer.transaction_id)})"
            )
            if answer.status == "authorized" and fate != 4:
                events.append(answer.transaction_id)
                self.after(gaps[0], complete)

        def complete() -> None:
            if fate in (1, 3):
                left = cents // 2 if fate == 3 else 0
                self.outside.simulate_reversal(transaction_id=events[0], new_amount=left)
                self.add_line("traffic", f"reversal of purchase {name} to {left} cents")
            if fate != 1:
                self.sandbox.settle(str(events[0]))
                self.add_line("traffic", f"settlement of purchase {name}")
                for i in ((), (1,), (2,), (1, 2))[refunds]:
                    self.after(gaps[1] + i * gaps[2], partial(refund, i))

        def refund(i: int) -> None:
            part = max(cents // 5, 1)
            self.outside.simulate_refund(transaction_id=events[0], amount=part)
            self.add_line("traffic", f"refund {i} of purchase {name}, {part} cents")
            self.cause = f"refund {i}"
            self.collect()
            self.cause = ""

        self.after(at, authorize)

    def run(self) -> "Universe":
        """Run the universe to its end, and check the built-in invariants."""
        self._boot()
        self._scenario(self)
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
        assert process is not None
        if not process.dead:
            try:
                stepped = process.loop.step(self._before)
            except ProcessKilled:
                stepped = True
            self._bury(process)
            if stepped:
                return
        if not self.calm and len(self._agenda) == self._ticks:
            self.calm = True
            self._at(self.now + self._settle, self._end)
        due = None if process.dead else process.loop.next_time()
        if due is None or self._agenda[0][0] <= due:
            when, _, action = heapq.heappop(self._agenda)
            self.move(when)
            action()
            self.collect()
        else:
            self.move(due)

    def _end(self) -> None:
        """End the universe, unless deliveries are in flight."""
        self._over = len(self._agenda) == self._ticks
        if not self._over:
            self._at(self.now + _MINUTE, self._end)

    def _read_books(self, process: Process) -> Mapping[str, Any]:
        """Return the books of the application, without transactions of 0 cents."""
        books = self._guard(process, "books", process.application.books)
        if inspect.iscoroutine(books):
            task = process.loop.start(books, "books")
            while not task.done():
                if not process.loop.step():
                    self.move(process.loop.next_time() or self.now)
            books = task.result()
        return {str(name): cents for name, cents in dict(books).items() if cents != 0}

    def _finish(self) -> None:
        process = self._alive()
        self.books = self._read_books(process)
        process.dead = True
        process.loop.kill()
        process.loop.dispose()
        for database in process.databases:
            sqlite3.Connection.close(database)
        if threading.active_count() > self._threads_before:
            raise NotSimulated("the application started a thread, which is not reproducible; see docs/testing.md")


def _purchases(universe: Universe) -> None:
    """Plan one to four purchases."""
    shape = _SHAPES[universe.decisions.choose("traffic purchases", len(_SHAPES), 0.9)]
    at = 0.0
    for name in shape:
        universe.purchase(name, at)
        at += _PAUSES[universe.decisions.choose(f"traffic pause {name}", len(_PAUSES), 0.15)]
