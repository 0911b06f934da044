"""Runs of drills, graded by the final state of the service and the journal.

run = wb.course.drill(api, "fraud-burst")   # sets the incident up and shows the situation
run.check()                                 # what is still missing
run.debrief()                               # timeline, actions, and a good answer
"""

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.base.errors import UsageError, WorkbenchError, visible
from workbench.client.calls.client import Client, refuse_async
from workbench.client.session import Session
from workbench.course import debrief, incidents
from workbench.course.debrief import CHECK, minutes_taken, seconds_between
from workbench.course.drills import DRILLS, Drill
from workbench.course.incidents import Facts
from workbench.course.learner import Display, named, read_stored, report, write_stored
from workbench.service.rendering import money
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Cell, Sheet

_PURCHASE: Mapping[str, Any] = {"currency": "USD", "merchant_category_code": "5411"}
FILE = "drills.json"
_INTERNAL = frozenset(
    {"ledger", "requests", "started_at", "solved_at", "answers", "bookings", "after", "until", "own", "before", "nonce",
     "world", "used", "played", "live", "looks", "pairs"}
)  # fmt: skip
_ON: dict[str, "DrillRun"] = {}  # the runs of this process, by drill


def _buy(
    api: Any, sandbox: Any, card_id: str, cents: int, merchant: str = "Example Market", settle: bool = True
) -> Any:
    """Make a purchase, and settle it unless declined."""
    authorized = api.simulate_authorization(card_id=card_id, amount=cents, merchant_name=merchant, **_PURCHASE)
    if settle and authorized.status == "authorized":
        sandbox.settle(authorized.transaction_id)
    return authorized


class DrillRun(Shown):
    """A drill started on a session: situation, live traffic, check and debrief.

    Attributes:
        drill: The drill.
        facts: Facts that the drill states, such as ids; a dict.
    """

    def __init__(self, drill: Drill, api: Any, facts: Facts) -> None:
        self.drill = drill
        self.facts = facts
        self._api = api
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        threading.Thread(target=self._play, name=f"drill-{drill.name}", daemon=True).start()

    # live traffic

    def _play(self) -> None:
        """Make the purchases of the live traffic on schedule, while the drill is active and the session open."""
        while not self._stopped.wait(self.drill.traffic["every"] / 4) and "solved_at" not in self.facts:
            try:
                self.catch_up()
            except (WorkbenchError, RuntimeError):  # the session was closed, or its service has ended
                return

    def catch_up(self) -> None:
        """Make the due purchases of the live traffic; none once the drill is solved or its time is over."""
        with self._lock:
            traffic, facts = self.drill.traffic, self.facts
            kept = read_stored(FILE).get(self.drill.name, {})
            if kept.get("world") == facts["world"]:
                facts.update(kept)  # what another process did, as a command
            end = facts.get("solved_at") or debrief.now()
            due = min(seconds_between(facts["started_at"], end), self.drill.minutes * 60) // traffic["every"]
            while facts["played"] < due and not self._stopped.is_set():
                facts["played"] += 1
                self._buy_live(traffic)
            self._keep()

    def _buy_live(self, traffic: Mapping[str, Any]) -> None:
        guide = self._api.sandbox.guide()
        with Client(
            base_url=guide["base_url"],
            api_key=self._api.sandbox.full_key,
            journal=False,
            ca_file=self._api._ca_file,
            transport=self._api.sandbox.transport() if self._api._given else None,
        ) as others:
            try:
                bought = _buy(
                    others,
                    self._api.sandbox,
                    self.facts["used"],
                    traffic["cents"],
                    traffic["merchant"],
                    traffic.get("settle", True),
                )
            except WorkbenchError:  # a card that was stopped, or a fault that was injected
                return
        self.facts["live"].append(str(bought.transaction_id))
        if "ledger" in self.facts and bought.status == "authorized":
            self.facts["ledger"].append(incidents.booking(self._api, str(bought.transaction_id)))
            self.facts["bookings"] += 1

    def _keep(self, did: str = "") -> None:
        """Store the facts, so that another cell or command can continue the drill, with the step and event count for
        its debrief.
        """
        sandbox = self._api.sandbox
        delivered = len(sandbox.deliveries(state="delivered")) if "endpoint" in self.facts else 0
        counts = [len(sandbox.requests()) + len(sandbox.events()), delivered]
        looks = self.facts["looks"]
        if did or not looks or looks[-1][1:3] != counts:
            looks.append([seconds_between(self.facts["started_at"], debrief.now()), *counts, did])
        write_stored(FILE, {**read_stored(FILE), self.drill.name: self.facts})

    # what a learner does

    @property
    def ledger(self) -> list[Facts]:
        """Bookings of the drill's ledger: event, transaction and cents. Add one with `book`."""
        with self._lock:
            return [dict(row) for row in self.facts.get("ledger", ())]

    def book(self, transaction_id: str, cents: int) -> None:
        """Add a booking to the drill's ledger; a negative amount is a refund."""
        if "ledger" not in self.facts or type(cents) is not int:
            raise UsageError("only the drill duplicate-bookings has a ledger; amounts are whole cents", of="drill.book")
        with self._lock:
            self.facts["ledger"].append({"event": None, "transaction": transaction_id, "cents": cents})
            self._keep(f"book {money(cents)} {transaction_id[:8]}")

    def answer(self, **values: Any) -> None:
        """Submit an answer to the drill's question, such as `answer(earned=120)`."""
        with self._lock:
            self.facts.setdefault("answers", {}).update(values)
            self._keep(f"answer {', '.join(f'{name}={value}' for name, value in values.items())}")

    def check(self) -> "DrillResult":
        """Return whether the incident is solved, or what is missing. In a class the trainer's board shows the
        result.
        """
        with self._lock:
            self.catch_up()
            missing = self._missing()
            if not missing:
                self.facts.setdefault("solved_at", debrief.now())
            self._keep(f"{CHECK}{f'{len(missing)} missing' if missing else 'solved'}")
        report(self._api, "check", f"drill-{self.drill.name}", missing=missing)
        title = f"Drill {self.drill.name}: {self.drill.title}"
        lines = missing or (
            f"Solved after {minutes_taken(self.facts)}; {self.drill.minutes} are planned.",
            f"{self.drill.command('debrief')} shows the timeline and what a good answer does.",
        )
        return DrillResult(Sheet(title=title, status=_NOT_SOLVED if missing else _SOLVED, words=lines), missing)

    def _missing(self) -> tuple[str, ...]:
        return tuple(visible(what) for what in self.drill.check(self._api, self.facts))

    def debrief(self) -> Display:
        """Return the timeline since the drill began (actions, live traffic, checks), followed by a good answer."""
        return debrief.debrief(self.drill, self.facts, self._api, self._missing())

    def end_traffic(self) -> None:
        """Stop the live traffic."""
        self._stopped.set()

    def stop(self) -> None:
        """End the drill: stop its traffic, remove its fault rules, and delete its state. `sandbox.reset()` removes
        its records.
        """
        self.end_traffic()
        with self._lock:
            self._api.sandbox.clear_faults()
            for endpoint in self._api.sandbox.endpoints():
                if endpoint.id == self.facts.get("endpoint"):
                    self._api.sandbox.remove_endpoint(endpoint.id)
            write_stored(FILE, {name: run for name, run in read_stored(FILE).items() if name != self.drill.name})

    __repr__ = Shown.__str__

    def sheet(self) -> Sheet:
        """Return the situation and the facts as a sheet."""
        check = self.drill.command("check")
        planned = f"Planned time: {self.drill.minutes} minutes. {check} tells what is missing."
        lines = tuple(line for name, value in shown_facts(self.facts).items() for line in _lines(name, value))
        title = f"Drill {self.drill.name}: {self.drill.title}"
        return Sheet(title=title, words=(self.drill.described(), planned), code=lines)


def _lines(name: str, value: object) -> Iterator[str]:
    """Yield a fact as lines; a list or mapping has one line per entry."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None or not value:
        yield f"facts[{name!r}] = {visible(str(value), 200)}"
    else:
        yield from (f"facts[{name!r}][{key!r}] = {visible(str(inner), 200)}" for key, inner in items)


class DrillResult(Display):
    """The result of a drill's check: `solved`, or what is `missing`."""

    def __init__(self, sheet: Sheet, missing: tuple[str, ...]) -> None:
        super().__init__(sheet)
        self.missing = missing
        self.solved = not missing


_SOLVED = Cell(("✓ solved",), "status:done")
_NOT_SOLVED = Cell(("○ not solved",), "status:planned")


def begin(api: Session, drill: Drill) -> Facts:
    """Create the incident of a drill in a session's sandbox, and return its facts."""
    cards = api.sandbox.guide()["cards"]["active"]
    bought = [str(_buy(api, api.sandbox, cards[card], *of).transaction_id) for card, *of in drill.purchases]
    facts = dict(drill.set_up(api, bought))
    facts |= {"world": api.sandbox._world_id(), "used": cards[drill.traffic["card"]], "started_at": debrief.now()}
    facts |= {"played": 0, "live": [], "looks": [], "requests": len(api.sandbox.requests(all_tenants=True))}
    return facts


def shown_facts(facts: Facts) -> Facts:
    """Return the facts that a drill shows."""
    return {name: value for name, value in facts.items() if name not in _INTERNAL}


def drill(api: Any, name: str) -> DrillRun:
    """Start a drill on a session's sandbox, or return the active one; `DRILLS` lists all.

    Args:
        name: Name of the drill, such as "fraud-burst".
        api: The session.

    Raises:
        UsageError: The drill does not exist.
        WrongEnvironment: The session is connected to a real service.
    """
    named_drill = named(DRILLS, name, "drill", "course.drill")
    refuse_async(api, "course.drill")
    kept, on = read_stored(FILE).get(name, {}), _ON.get(name)
    world = api.sandbox._world_id()  # another one after a reset, and in another sandbox
    if on is not None:
        if kept.get("world") == world and on._api is api and not on._stopped.is_set():
            return on
        on.end_traffic()
    if kept.get("world") == world:
        _ON[name] = DrillRun(named_drill, api, kept)
        return _ON[name]
    facts = begin(api, named_drill)
    run = _ON[name] = DrillRun(named_drill, api, facts)
    run._keep()
    report(api, "start", f"drill-{name}")
    return run
