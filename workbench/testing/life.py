"""Course of a universe: its time and planned actions, and the application's process with its crashes."""

import hashlib
import heapq
import importlib
import inspect
import itertools
import sqlite3
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import UTC, datetime
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import attrs

from workbench.base.errors import Problem, UsageError
from workbench.client.calls.journal import Journal
from workbench.client.calls.messages import Broken, HttpRequest, HttpResponse
from workbench.client.calls.pace import Clock
from workbench.client.session import AsyncSession, Session
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals
from workbench.testing.decisions import Breach, Decisions, Moment
from workbench.testing.loop import LABEL, NotSimulated, VirtualLoop
from workbench.testing.machine import ZONES, MachineClock
from workbench.testing.process import Action, Connected, ConnectedAsync, Database, Process, ProcessKilled

T = TypeVar("T", Connected, ConnectedAsync)
MAX_FAULTS = {"call": 4, "crash": 3, "event": 6, "acknowledgment": 3}
"""Maximum number of faults in one universe, by the first word of the decision."""
_RESTART = 2.0
_ROUND_TRIP = 0.05
_MINUTE = 60.0
_TICK = 300.0  # seconds between runs of a synchronous application's job
FAULTS = (
    "", "lost before it was carried out", "lost after it was carried out", "cut", "answered too late",
    "carried out too late", "not connected", "answered 503", "answered 429",
)  # fmt: skip
"""Possible faults of a call."""
_EXECUTED = frozenset({"", "lost after it was carried out", "cut", "answered too late"})
_LOST = Broken("the connection was lost while waiting for the answer", left=True)
_LATE = Broken("no answer in time", left=True, timeout=True)
_BROKEN = {
    "lost before it was carried out": _LOST,
    "lost after it was carried out": _LOST,
    "answered too late": _LATE,
    "carried out too late": _LATE,
    "not connected": Broken("no connection: Connection refused", left=False),
}


class UniverseClock(Clock):
    """Clock of a universe, which also supplies deterministic randomness and call ids."""

    def __init__(self, life: "Life") -> None:
        self._life = life
        self._ids = itertools.count(1)

    def now(self) -> datetime:
        return self._life.wall

    def monotonic(self) -> float:
        return self._life.now

    def sleep(self, seconds: float) -> None:
        self._life.move(self._life.now + seconds)

    def random(self) -> float:
        return 0.5

    def new_id(self) -> str:
        return f"{next(self._ids):016x}"


class Life:
    """An application that runs, crashes and restarts in virtual time, against a fork of a sandbox.

    Args:
        application: Factory of the application, called with the universe at the start and after each crash.
        sandbox: The sandbox to fork.
        decisions: Decisions about faults, order and traffic.
        folder: An empty folder for the application's files.
        fork: Whether to fork the sandbox. With False, the sandbox itself is used.
        machine: Clock that shows the universe's time as the machine's time; None if the application runs elsewhere.
        fresh_modules: Modules of the application that are reloaded at each start.
    """

    def __init__(
        self,
        application: Callable[[Any], Any],
        sandbox: Sandbox,
        decisions: Decisions,
        folder: Path,
        *,
        fork: bool = True,
        machine: MachineClock | None = None,
        fresh_modules: Collection[str] = (),
    ) -> None:
        self.now = 0.0
        self.folder = folder
        self.sandbox = sandbox.fork() if fork else sandbox
        self._engine = internals(self.sandbox).engine
        self._machine, self._fresh = machine, fresh_modules
        self._epoch = self.sandbox.clock.now().timestamp()
        if machine is not None:
            machine.show(self._epoch)
            machine.use_zone(decisions.choose("machine zone", len(ZONES), 0.1))
        self.clock: Clock = UniverseClock(self)
        self.decisions = decisions
        self.story: list[Moment] = []
        self.counts: Counter[str] = Counter()
        self.breaches: list[Breach] = []
        self.refunds: Counter[tuple[str, str]] = Counter()  # number of the application's refunds, by path and body
        self.calm = False  # whether no more faults occur
        self._factory = application
        self._agenda: list[tuple[float, int, Action]] = []
        self._count = itertools.count()
        self._ordinals: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._ticks = self._moved = 0
        self._process = Process(dead=True)

    @cached_property
    def journal(self) -> Journal:
        """Journal of the application's calls."""
        return Journal(clock=self.clock)

    def connect_async(self, **options: object) -> AsyncSession:
        """Return an asynchronous session for the application. It takes the arguments of a client."""
        return self._connect(ConnectedAsync, options)

    def connect(self, **options: object) -> Session:
        """Return a synchronous session for the application."""
        return self._connect(Connected, options)

    def database(self, name: str = "application.db") -> sqlite3.Connection:
        """Open a SQLite database for the application. Only committed data survive a crash."""
        process = self._alive()
        database = sqlite3.connect(self.folder / name, factory=Database, check_same_thread=False)
        database.process, database.at_commit = process, partial(self.commit, process)
        # only the process is killed, not the machine, so writes need no sync
        for setting in ("synchronous=OFF", "journal_mode=MEMORY"):
            sqlite3.Connection.execute(database, f"PRAGMA {setting}")
        process.databases.append(database)
        return database

    @property
    def trace(self) -> str:
        """Return a hash of all that happened, in order. Equal seeds give equal hashes."""
        return hashlib.sha256("\n".join(map(str, self.story)).encode()).hexdigest()[:16]

    def add_line(self, kind: str, text: str) -> None:
        """Add a line to the story."""
        self.story.append(Moment(round(self.now, 3), kind, text))

    def move(self, to: float) -> None:
        """Advance the time of the universe and of its machine. The sandbox's clock follows later, in `sync`."""
        self.now = max(to, self.now)
        if self._machine is not None:
            self._machine.show(self._epoch + self.now)

    def sync(self) -> None:
        """Advance the sandbox to the universe's time, and process the events that became due."""
        step = int(self.now * 1000) - self._moved
        if step > 0:
            self._moved += step
            self.sandbox.clock.advance(seconds=step / 1000)
        self.collect()

    @property
    def wall(self) -> datetime:
        """The universe's time as shown by a wall clock."""
        return datetime.fromtimestamp(self._epoch + self.now, UTC)

    def point(self, process: Process, name: str, probability: float = 0.04) -> None:
        """Kill the process at this crash point, if a decision says so."""
        process.check()
        if self._decide(self._numbered(f"crash {LABEL.get()} {name}"), 2, probability):
            self._kill(process, name)
            raise ProcessKilled

    def commit(self, process: Process, run: Action) -> None:
        """Commit, with a possible crash before and after."""
        self.point(process, "before a commit")
        run()
        self.counts["commits"] += 1
        self.add_line("commit", f"in {LABEL.get()}")
        self.point(process, "after a commit")

    async def call(
        self,
        process: Process,
        outgoing: HttpRequest,
        send: Callable[[HttpRequest], HttpResponse],
        pause: Callable[[float], Awaitable[object]],
    ) -> Any:
        """Return the answer to a call of the application, or the fault that replaces the answer."""
        name, effect = outgoing.operation.name, outgoing.operation.effect
        self.point(process, f"before {name}")
        fault = FAULTS[self._decide(self._numbered(f"call {name}"), len(FAULTS), 0.12)]
        self.counts[f"calls {fault}" if fault else "calls"] += 1
        await pause(_ROUND_TRIP)
        process.check()
        timeout = min(outgoing.deadline - self.now, 3_600.0)
        response = self._carry_out(outgoing, send) if fault in _EXECUTED else None
        shown = fault or f"answered {getattr(response, 'status', 0)}"
        self.add_line("call", f"{name}{what(outgoing.body or b'')}: {shown}")
        if fault == "carried out too late":
            self._after(timeout + _MINUTE, lambda: self._carry_out(outgoing, send, late=True))
        if fault.endswith("too late"):
            await pause(timeout)
        answer: Any = _BROKEN.get(fault, response)
        if fault == "cut":
            broken = Broken("the connection ended before the end of the answer", left=True)
            answer = attrs.evolve(answer, body=answer.body[: len(answer.body) // 2], broken=broken)
        elif fault in ("answered 503", "answered 429"):
            answer = HttpResponse(outgoing, int(fault[-3:]), {"retry-after": "2"}, b"")
        process.check()
        if effect:
            self.point(process, f"after {name}")
        outgoing.status = getattr(answer, "status", None)
        return answer

    def _connect(self, cls: type[T], options: Mapping[str, Any]) -> T:
        arguments: Any = {
            "sandbox": self.sandbox,
            "base_url": self.sandbox.base_url,
            "api_key": self.sandbox.full_key,
            "environment": internals(self.sandbox).environment,
            "transport": internals(self.sandbox).direct(),
            "clock": self.clock,
            "journal": self.journal,
        }
        session = cls(**{**arguments, **options})
        session.through = partial(self.call, self._alive())
        return session

    def _alive(self) -> Process:
        self._process.check()
        return self._process

    def _after(self, seconds: float, action: Action) -> None:
        heapq.heappush(self._agenda, (self.now + seconds, next(self._count), action))

    def _numbered(self, name: str) -> str:
        """Return a name with a number that counts its uses."""
        self._ordinals[name] += 1
        return f"{name} {self._ordinals[name]}"

    def _decide(self, name: str, options: int, probability: float) -> int:
        """Choose a fault, or 0 for none. At most `MAX_FAULTS` of a kind occur, and none once faults have ended."""
        kind = name.partition(" ")[0]
        if self.calm or self._faults[kind] >= MAX_FAULTS[kind]:
            return 0
        number = self.decisions.choose(name, options, probability)
        self._faults[kind] += bool(number)
        return number

    def _boot(self) -> None:
        if not self._process.dead:
            return
        if self._process.loop is not None:
            self.add_line("start", "the application starts again")
        hooks = (lambda: self.now, self._choose_ready, self._before, self._failed_task)
        loop = VirtualLoop(*hooks)
        process = self._process = Process(loop)

        def start() -> None:
            process.application = self._loaded()(self)
            lacking = [name for name in ("receive", "books") if not hasattr(process.application, name)]
            if lacking:
                problems = [Problem(f"application.{name}", "required", "is missing") for name in lacking]
                raise UsageError(problems, of="explore")
            main = getattr(process.application, "main", None)
            if inspect.iscoroutinefunction(main):
                loop.start(main(), "main")
            elif main is not None:
                self._tick(process)

        self._guard(process, "start", start)

    def _loaded(self) -> Callable[[Any], Any]:
        """Return the factory of the application. If modules are named, they are reloaded first."""
        if not self._fresh:
            return self._factory
        for name in [*sys.modules]:
            if f"{name}.".startswith(tuple(f"{fresh}." for fresh in self._fresh)):
                del sys.modules[name]
        module = importlib.import_module(self._factory.__module__)
        loaded: Callable[[Any], Any] = attrgetter(self._factory.__qualname__)(module)
        return loaded

    def kill_between(self, what: str) -> None:
        """Kill the process between two steps, if a decision says so."""
        process = self._process
        if not process.dead and self._decide(f"crash {what}", 2, 0.015):
            self._kill(process, what)
            self._bury(process)

    def _tick(self, process: Process) -> None:
        """Run the periodic job of a synchronous application, now and every five minutes from then on."""

        def again() -> None:
            self._ticks -= 1
            self._tick(process)

        if process.dead:
            return
        self._guard(process, "main", process.application.main)
        if not process.dead:
            self._ticks += 1
            self._after(_TICK, again)

    def _guard(self, process: Process, label: str, run: Action) -> Any:
        """Run the application's code outside a task. Return None if the process is killed meanwhile.

        A failing job or request is recorded in the story, like a failing task.
        """
        token = LABEL.set(label)
        try:
            return process.loop.run(run)
        except ProcessKilled:
            return None
        except Exception as error:
            if isinstance(error, NotSimulated) or label in ("start", "books", "holds"):
                raise
            self.counts[f"failures of {label} ({type(error).__name__})"] += 1
            self.add_line("error", f"{label} failed: {type(error).__name__}: {error}")
            return None
        finally:
            LABEL.reset(token)
            self._bury(process)

    def _kill(self, process: Process, where: str) -> None:
        process.dead = True
        self.counts["crashes"] += 1
        label = LABEL.get()
        if label.startswith("delivery"):
            self.counts["crashes inside a delivery"] += 1
        self.add_line("crash", f"the process is killed: {where}{f', in {label}' if label else ''}")

    def _bury(self, process: Process) -> None:
        """Close the resources of a dead process, and schedule its restart."""
        if process.dead and process.application is not _BURIED:
            process.application = _BURIED
            process.end()
            self._after(_RESTART, self._boot)

    def _choose_ready(self, count: int) -> int:
        name = self._numbered("order")
        return 0 if self.calm else self.decisions.choose(name, min(count, 8), 0.15)

    def _failed_task(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None and not isinstance(error, ProcessKilled):
            self.counts[f"failures of a task ({type(error).__name__})"] += 1
            self.add_line("error", f"a task failed: {type(error).__name__}: {error}")

    def _before(self) -> None:
        if LABEL.get():
            self.point(self._process, "at an await", 0.006)

    def _carry_out(
        self, outgoing: HttpRequest, send: Callable[[HttpRequest], HttpResponse], late: bool = False
    ) -> HttpResponse:
        self.sync()
        answer = send(outgoing)
        name, body = outgoing.operation.name, outgoing.body or b""
        if late:
            self.add_line("service", f"{name}{what(body)} is carried out late: {answer.status}")
        self._count_call(name, outgoing.target, body, answer.status, answer.headers)
        self.collect()
        return answer

    def _count_call(self, name: str, target: str, body: bytes, status: int, headers: Mapping[str, str]) -> None:
        """Count the application's calls that simulate a refund and were carried out."""
        if name == "simulate_refund" and status < 300 and "idempotency-cached" not in headers:
            self.refunds[target, body.decode()] += 1

    def unknown_outcomes(self) -> list[str]:
        """Return the calls whose outcome the application has not resolved."""
        return [entry.what for entry in self.journal.unknown()] if "journal" in vars(self) else []

    def collect(self) -> None:
        """Process the changes that the service made since the last call of this method."""


_BURIED = object()


def short(value: object) -> str:
    """Return the beginning of an id."""
    return str(value)[:8]


def what(body: bytes) -> str:
    """Return the beginning of a call's body, with a leading space."""
    return f" {body.decode()[:80]}" if body else ""
