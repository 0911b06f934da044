"""Run an application in many universes (simulated runs), and report the shortest story of a failure.

from workbench import testing

testing.explore(lambda universe: Application(universe.connect_async(), universe.database(), universe.key))
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import attrs

from workbench.base.arguments import a_type
from workbench.base.errors import Problem, UsageError, visible
from workbench.base.system.progress import Progress, progress_callback
from workbench.base.system.seconds import monotonic
from workbench.sandbox import Sandbox
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Cell, Sheet, counted
from workbench.testing.decisions import Breach, Decisions, Moment, Numbers
from workbench.testing.http_application import HttpApplication, HttpUniverse
from workbench.testing.loop import NotSimulated
from workbench.testing.machine import MachineClock, machine_clock
from workbench.testing.universe import Universe, unequal

Invariant = Callable[[Universe], object]
"""Function that receives a finished universe and raises AssertionError if the application is wrong."""
_SHRINK_SECONDS = 60.0  # maximum seconds to make a failing universe smaller; behind HTTP, each run takes long
_OUTLIVES = "nothing outlives a universe"
_MAX_EFFECTS = 8  # maximum number of a transaction's events to combine: each event doubles the combinations


def transactions_agree(universe: Universe) -> None:
    """Check that the books show the net posted amount of each transaction, with each event counted exactly once."""
    for name, cents in universe.books.items():
        if type(cents) is not int:
            raise InvariantBroken("amounts are whole cents", f"the books show {cents!r} for {name}")
    for name, booked, posted in unequal(universe.books, universe.service):
        effects = [cents for transaction, cents in universe.posted if transaction == name]
        rules = _explanations(booked - posted, effects) or ["the books agree with the service"]
        evidence = f"transaction {name}: the books show {booked} cents, the service posted {posted}"
        raise InvariantBroken(rules[0], " or ".join([evidence, *rules[1:]]))


def _explanations(extra: int, effects: list[int]) -> list[str]:
    """Return the explanations of a transaction's difference that need the fewest events."""
    repeated = (effects * 2)[:_MAX_EFFECTS]  # up to two repetitions, so that an event may count three times
    for size in range(1, len(repeated) + 1):
        sums = {sum(some) for some in combinations(repeated, size)}
        lost = {sum(some) for some in combinations(effects, size)}
        rules = [rule for rule, explains in zip(_RULES, (extra in sums, -extra in lost), strict=True) if explains]
        if rules:
            return rules
    return []


_RULES = ("each event counts once", "no event is lost")


def holds_agree(universe: Universe) -> None:
    """Check that an application with `holds()` has the same holds as the service."""
    for name, booked, pending in unequal(universe.holds, universe.held) if universe.holds is not None else ():
        evidence = f"transaction {name}: the application holds {booked} cents, the service {pending}"
        raise InvariantBroken("holds agree with the service", evidence)


def refunds_are_made_once(universe: Universe) -> None:
    """Check that the application made no refund twice."""
    for (target, body), count in universe.refunds.items():
        if count > 1:
            raise InvariantBroken("no refund is made twice", f"{target} {body} was carried out {count} times")


def outcomes_are_resolved(universe: Universe) -> None:
    """Check that the application resolved each call with an unknown outcome in the journal."""
    for call in universe.unknown_outcomes():
        raise InvariantBroken("unknown outcomes are resolved", f"{call} is unknown at the end")


MONEY: tuple[Invariant, ...] = (transactions_agree, holds_agree, refunds_are_made_once, outcomes_are_resolved)
"""Built-in invariants about money. Refused forgeries and acknowledged events are always checked."""


class InvariantBroken(AssertionError):
    """An invariant does not hold."""

    def __init__(self, invariant: str, broken: str) -> None:
        super().__init__(f"{invariant}: {broken}")
        self.breach = Breach(invariant, broken)


_LONGEST_LINE = 2_000  # maximum length of a line in the story, in characters


@attrs.frozen(kw_only=True)
class Failure:
    """A universe in which the application fails, made as small as possible.

    The exploration's seed and `universe` replay the original universe. `decisions`, `story` and `trace` belong to the
    small universe.
    """

    universe: int
    found_trace: str
    decisions: Numbers
    breach: Breach
    story: tuple[Moment, ...]
    trace: str
    books: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return the story as numbered lines, the books of both sides, and the decisions that replay the universe."""
        story = [f"{number:>3}  {moment}" for number, moment in enumerate(self.story, 1)]
        broken = f"broken: {self.breach.invariant}: {self.breach.found}"
        lines = [*story, *self.books, broken, f"decisions={dict(self.decisions)}"]
        return [visible(line, _LONGEST_LINE) for line in lines]


@attrs.frozen(kw_only=True)
class Exploration(Shown):
    """Result of an exploration: the number of universes that ran, and the failure, if there is one."""

    seed: int
    universes: int
    seconds: float
    counts: Numbers
    failure: Failure | None = None
    interrupted: bool = False

    def check(self) -> None:
        """Raise AssertionError with the story if an invariant does not hold.

        Raises:
            AssertionError: An invariant does not hold.
        """
        if self.failure is not None:
            raise AssertionError(str(self))

    def sheet(self) -> Sheet:
        """Return the result as a sheet."""
        failure, status = self.failure, Cell(("tried",))
        code: list[str] = []
        lines = [f"tried: {counted(self.universes, 'universes')}, {self.universes / self.seconds:,.0f} a second"]
        lines += [", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()) if count)]
        if failure is not None:
            status = Cell(("✗ wrong",), "status:failed")
            lines.insert(0, f"{failure.breach.invariant}: {failure.breach.found}")
            lines.append(f"replay: seed {self.seed}, universe {failure.universe}, trace {failure.found_trace}")
            code = [f"The shortest story (trace {failure.trace}):", *failure.lines()]
        return Sheet(title=f"Universes, seed {self.seed}", status=status, words=lines, code=code)


@attrs.define
class _Explorer:
    """Settings that all universes of an exploration share."""

    application: Any
    invariants: Sequence[Invariant]
    sandbox: Sandbox
    options: Mapping[str, Any]  # arguments of `Universe`
    plain_was_right: bool | None = None  # whether the invariants held in the first universe, which has no faults

    def run(self, decisions: Decisions) -> Universe:
        """Run and return one universe. The first invariant that does not hold is added to its `breaches`."""
        machine: MachineClock | None = self.options["machine"]
        make = Universe if machine is not None else HttpUniverse
        is_first = decisions.seed is None and not decisions.fixed
        with tempfile.TemporaryDirectory() as folder:
            universe = make(self.application, self.sandbox, decisions, Path(folder), **self.options)
            try:
                with machine.counting(universe.counts) if machine is not None and is_first else nullcontext():
                    try:
                        universe.run()
                    except SystemExit as error:
                        raise NotSimulated(f"the application called sys.exit({error.code!r})") from None
                for invariant in () if universe.breaches else self.invariants:
                    try:
                        returned = invariant(universe)
                    except AssertionError as error:
                        name = getattr(invariant, "__name__", "invariant").replace("_", " ")
                        breach = getattr(error, "breach", Breach(name, str(error) or "does not hold"))
                        universe.breaches.append(breach)
                        break
                    if returned is not None:  # the result of a function that is asynchronous or returns False
                        problem = Problem(
                            "invariants", "type", f"must raise AssertionError, not return {a_type(returned)}"
                        )
                        raise UsageError([problem], of="explore")
            finally:
                universe.close()
        if is_first and self.plain_was_right is None:
            self.plain_was_right = not universe.breaches
        return universe

    def failure(self, number: int, found: Universe, *, shrinks: bool) -> Failure:
        """Return the failure of a universe, which is made smaller if it can be repeated.

        If the universe without faults passed at first but fails now, the failure is state that outlives a universe.
        """
        small, breach = found, found.breaches[0]
        repeatable = not isinstance(self.application, HttpApplication) or self.application.reset is not None
        was_right = repeatable and self.plain_was_right and breach.invariant != _OUTLIVES
        outlives = was_right and self.run(Decisions()).breaches
        if outlives:
            text = f"{outlives[0].invariant} in a universe without any fault, which passed before"
            breach = Breach(_OUTLIVES, f"module-level state, a file or a cache of the application: {text}")
        elif shrinks and repeatable:
            small = self._shrunk(found)
            breach = small.breaches[0]
        rows = [("transaction", "application", "service"), *unequal(small.books, small.service)]
        books = (f"     {name:<38} {booked:>12} {posted:>12}" for name, booked, posted in rows)
        return Failure(
            universe=number,
            found_trace=found.trace,
            decisions=small.decisions.taken,
            breach=breach,
            story=() if outlives else tuple(small.story),
            trace=small.trace,
            books=() if outlives or not rows[1:] else tuple(books),
        )

    def _shrunk(self, found: Universe) -> Universe:
        """Return the universe without the decisions that the failure does not need. Stop after `_SHRINK_SECONDS`."""
        ends, size = monotonic() + _SHRINK_SECONDS, len(found.decisions.taken)
        while size and monotonic() < ends:
            for fixed in _simpler(found.decisions.taken, size):
                universe = self.run(Decisions(fixed=fixed))
                if [row.invariant for row in universe.breaches[:1]] == [found.breaches[0].invariant]:
                    found, size = universe, min(size, len(universe.decisions.taken))
                    break
            else:
                size //= 2
        return found


def _simpler(taken: Numbers, size: int) -> Iterator[dict[str, int]]:
    """Yield the decisions without each group of `size` decisions. For size 1, also reduce each number."""
    names = [*taken]
    groups = [dict.fromkeys(names[start : start + size], 0) for start in range(0, len(names), size)]
    if size == 1:
        groups += [{name: number} for name in names for number in range(1, taken[name])]
    for group in groups:
        yield {name: number for name, number in {**taken, **group}.items() if number}


def explore(
    application: Callable[[Universe], Any] | HttpApplication,
    *,
    invariants: Sequence[Invariant] = MONEY,
    universes: int = 500,
    seed: int = 1,
    universe: int | None = None,
    decisions: Numbers | None = None,
    scenario: Callable[[Universe], object] | None = None,
    sandbox: Sandbox | None = None,
    fresh_modules: Sequence[str] = (),
    progress: bool = False,
) -> Exploration:
    """Run an application in many universes until an invariant breaks, then shrink the failing universe.

    The first universe has no faults; the others are random. The universes of an application behind HTTP run in real
    time.

    Args:
        application: Factory of the application, called with the universe at the start and after each crash. The
            application has `receive(headers, body)`, which returns an HTTP status, and `books()`, which returns cents
            by transaction. An optional `main()` runs when the application starts. If it is not asynchronous, it runs
            again every five minutes.
        invariants: Functions that receive a finished universe and raise AssertionError if the application is wrong.
        universes: Number of universes.
        seed: Seed of the exploration.
        universe: Number of the only universe to run, in its original size.
        decisions: Decisions of a failure. Only the universe with these decisions runs.
        scenario: Function that is called with each universe to plan its traffic. The default plans purchases and their
            follow-ups.
        sandbox: Sandbox whose forks are used; default: a new one.
        fresh_modules: Modules of the application, such as ["shop"], that are reloaded when the application starts and
            after each crash, as in a new process.
        progress: Whether to show a line with universes per second. Ctrl-C ends the exploration, which then returns its
            results so far.

    Raises:
        NotSimulated: The application does something that cannot be reproduced, such as starting a thread.
        UsageError: An argument is not allowed, or the application or an invariant has an unexpected form.
    """
    problems = []
    if type(universes) is not int or universes < 1:
        problems.append(Problem("universes", "minimum", "must be a whole number, at least 1"))
    if isinstance(fresh_modules, str):
        problems.append(Problem("fresh_modules", "type", "must be a list of module names, not text"))
    else:
        unknown = [name for name in fresh_modules if name not in sys.modules and find_spec(name) is None]
        problems += [Problem("fresh_modules", "unknown", f"there is no module {name}") for name in unknown]
    if problems:
        raise UsageError(problems, of="explore")
    with nullcontext() if isinstance(application, HttpApplication) else machine_clock() as machine:
        sandbox = sandbox or Sandbox(seed=1, behavior={"settle_bounds": "posted"})
        options = {"guide": sandbox.guide(), "scenario": scenario, "machine": machine, "fresh_modules": fresh_modules}
        explorer = _Explorer(application, invariants, sandbox, options)
        failure, counts = None, Counter[str]()
        numbers: Sequence[int] = range(universes) if universe is None else (universe,)
        numbers = numbers if decisions is None else (0,)
        show, state = progress_callback(progress), Progress(total=len(numbers), unit="universes")
        with suppress(KeyboardInterrupt):
            for number in numbers:
                explored = explorer.run(Decisions(seed=f"{seed}/{number}" if number else None, fixed=decisions or {}))
                counts += explored.counts
                state.done += 1
                show(state)
                if explored.breaches:
                    failure = explorer.failure(number, explored, shrinks=universe is None and decisions is None)
                    break
    state.ended = True
    show(state)
    return Exploration(
        seed=seed,
        interrupted=failure is None and state.done < len(numbers),
        universes=state.done,
        seconds=state.seconds,
        counts=counts,
        failure=failure,
    )
