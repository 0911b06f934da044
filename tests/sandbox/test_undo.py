"""Undo with several actors: a reported undo reverts only its own action, and a refused undo reverts nothing."""

import itertools
import random
import secrets
import sqlite3
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from time import monotonic, sleep
from types import FrameType
from typing import Any

import attrs
import pytest

import workbench as wb
from tests.client.doubles import PURCHASE
from workbench.base.system import database
from workbench.base.system.messages import acting
from workbench.client.session import Session
from workbench.sandbox import Sandbox, store
from workbench.sandbox.controls import declaration, state
from workbench.sandbox.internals import internals
from workbench.screens.panel import panel as panel_module
from workbench.screens.panel.panel import Panel, browse

PLACES = ("memory", "file", "two views of a file", "served")


@contextmanager
def sessions(place: str, folder: Path) -> Iterator[tuple[Session, Session]]:
    """Yield two sessions on the same sandbox."""
    with ExitStack() as stack:
        if place == "served":
            url = stack.enter_context(Sandbox(seed=7).serve())
            yield stack.enter_context(wb.connect(url)), stack.enter_context(wb.connect(url))
            return
        path = None if place == "memory" else folder / "sandbox.db"
        first = stack.enter_context(wb.connect(seed=7, path=path))
        second = first if path is None or place == "file" else stack.enter_context(wb.connect(path=path))
        yield first, second


@attrs.define
class Actor:
    """An actor who saves the state, acts and undoes the action, each in one transaction of the sandbox.

    `action` is "purchase", "nothing" (which succeeds without a change) or "refused".
    """

    api: Session
    action: str
    name: str = attrs.field(factory=lambda: secrets.token_hex(8))
    savepoint: int = 0
    made: str = ""
    offered: bool = False
    undone: bool = False

    def save(self) -> None:
        self.savepoint = internals(self.api.sandbox).savepoint()

    def act(self) -> None:
        """Carry out the action, as a form or a control does."""
        with acting(self.name):
            if self.action == "purchase":
                self.made = purchase(self.api)
            elif self.action == "nothing":
                self.api.sandbox.clear_faults()
            else:
                with suppress(wb.errors.ApiError):
                    self.api.sandbox.settle(self.name)

    def look(self) -> None:
        self.offered = internals(self.api.sandbox).changes(actor=self.name) == self.savepoint + 1

    def undo(self) -> None:
        """Undo the action, even if an undo is not offered."""
        with suppress(wb.errors.ApiError):
            internals(self.api.sandbox).undo(savepoint=self.savepoint, actor=self.name)
            self.undone = True

    steps = (save, act, look, undo)


def purchase(api: Session) -> str:
    """Make a purchase, and return the id of the transaction."""
    card = api.sandbox.guide()["cards"]["active"][0]
    return str(api.simulate_authorization(**{**PURCHASE, "card_id": card}).transaction_id)


def is_there(api: Session, key: str) -> bool:
    """Return whether a transaction exists."""
    with suppress(wb.errors.NotFound):
        return bool(key and api.sandbox.state(key))
    return False


@cache
def orders() -> list[tuple[int, ...]]:
    """Return each order of the four steps of two actors and one purchase of a third."""
    return sorted(set(itertools.permutations((0,) * 4 + (1,) * 4 + (2,))))


def wrong(api: Session, actors: tuple[Actor, Actor], others: list[str]) -> list[str]:
    """Return the differences between reports and state."""
    there = [key for key in (*others, *(actor.made for actor in actors)) if is_there(api, key)]
    said = [f"a purchase of nobody's action is gone: {key}" for key in others if key not in there]
    for actor in actors:
        if actor.made and (actor.made in there) == actor.undone:
            said.append(
                f"{actor.action} {'reported undone and there' if actor.undone else 'is gone, not reported undone'}"
            )
        if actor.undone and not actor.made:
            said.append(f"{actor.action} was undone without a change")
        if actor.offered and not actor.made:
            said.append(f"{actor.action} was offered without a change")
    return said


def run(api: Session, second: Session, kinds: tuple[str, str], order: tuple[int, ...]) -> tuple[list[str], int]:
    """Run the steps of two actors and a purchase in an order; return the problems and the number of undos."""
    actors = Actor(api, kinds[0]), Actor(second, kinds[1])
    done, others = [0, 0], []
    for turn in order:
        if turn == 2:
            others.append(purchase(second))
        else:
            actors[turn].steps[done[turn]](actors[turn])
            done[turn] += 1
    return wrong(api, actors, others), sum(actor.undone for actor in actors)


KINDS = tuple(itertools.product(("purchase", "nothing", "refused"), repeat=2))


def histories(count: int) -> list[tuple[tuple[str, str], tuple[int, ...]]]:
    """Return random histories; 0 returns all."""
    every = list(itertools.product(KINDS, orders()))
    return every if not count else random.Random(1).sample(every, count)


@pytest.mark.slow
@pytest.mark.parametrize(
    "place, count",
    [
        *[(place, 15 if place == "served" else 30) for place in PLACES],
        *[pytest.param(place, 0, marks=pytest.mark.soak) for place in PLACES],
    ],
)
def test_steps_of_two_actors_and_a_purchase_in_each_order(place: str, count: int, tmp_path: Path) -> None:
    """Two actors' steps and a third's purchase run in 630 orders, with nine pairs of actions."""
    said, undone, chosen = [], 0, histories(count)
    with sessions(place, tmp_path) as (first, second):
        for number, (kinds, order) in enumerate(chosen):
            if number % 50 == 49:
                first.sandbox.reset()
            problems, successes = run(first, second, kinds, order)
            undone += successes
            said += [f"{kinds} {order}: {problem}" for problem in problems]
    print(f"{place}: {len(chosen)} histories, {undone} undone")

    assert not said, said[:5]
    assert undone > len(chosen) / 20


FILES = {str(module.__file__) for module in (state, store, declaration, database, panel_module)}


class Stopped:
    """A thread that stops before a line of the storage, the controls or the panel, until it is released."""

    def __init__(self, line: int, call: Any) -> None:
        self._line, self._call = line, call
        self.at_line, self.released = threading.Event(), threading.Event()
        self.count = 0
        self.answer: Any = None
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        sys.settrace(self._trace)
        try:
            self.answer = self._call()
        finally:
            sys.settrace(None)
            self.at_line.set()

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            self.count += 1
            if self.count == self._line:
                self.at_line.set()
                self.released.wait(20)
        return self._trace


def lines_of(call: Any) -> int:
    """Return the number of lines of these modules that a call runs."""
    stopped = Stopped(0, call)
    stopped.thread.start()
    stopped.thread.join()
    return stopped.count


@pytest.mark.parametrize(
    "stops", [pytest.param(12, marks=pytest.mark.slow), pytest.param(10_000, marks=pytest.mark.soak)]
)
@pytest.mark.parametrize("shared", [False, True], ids=["memory", "file"])
def test_a_thread_that_stops_at_each_line_of_an_undo(shared: bool, stops: int, tmp_path: Path) -> None:
    """During another's purchase, a reported undo reverts only its action, and an error reverts nothing."""
    with sessions("two views of a file" if shared else "memory", tmp_path) as (api, other):
        view, messages = browse(api), []
        view.widget.send = messages.append  # type: ignore[method-assign]
        lines = lines_of(lambda: _bought(view) and view.answer({"ask": 1, "do": "undo"}))
        first = lines_of(lambda: _bought(view)) + 1
        outcomes = {"undone": 0, "refused": 0}
        for line in range(0, lines - first + 1, max(1, (lines - first) // stops)):
            made = _bought(view)
            stopped = Stopped(line + 1, lambda: view.answer({"ask": 1, "do": "undo"}))
            stopped.thread.start()
            assert stopped.at_line.wait(20)
            bought: list[str] = []
            buyer = threading.Thread(target=lambda into=bought: into.append(purchase(other)))
            buyer.start()
            buyer.join(0.05)
            stopped.released.set()
            stopped.thread.join()
            buyer.join()
            undone = "error" not in stopped.answer
            outcomes["undone" if undone else "refused"] += 1

            assert bought
            assert is_there(api, bought[0]), f"line {line}"
            assert undone != is_there(api, made), f"line {line}: {stopped.answer}"
    print(f"{lines - first} lines, {outcomes}")

    assert all(outcomes.values())


def _bought(view: Panel) -> str:
    """Make a purchase by a panel's form."""
    view.open("transactions")
    assert "error" not in view.answer(
        {
            "ask": 1,
            "do": "form",
            "do_what": "simulate_authorization",
            "list": "transactions",
            "label": "Simulate purchase",
        }
    )
    return str(view.form.submit().transaction_id)  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_file_that_is_held_at_each_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If another program holds the file during saving, acting or undoing, reports are correct and a retry works."""
    monkeypatch.setattr(store, "Database", partial(database.Database, busy_seconds=0.05))
    with sessions("file", tmp_path) as (api, _):
        view = browse(api)
        for held in ("save", "act", "undo"):
            with closing(sqlite3.connect(tmp_path / "sandbox.db", isolation_level=None)) as other:
                view.open("transactions")
                view.answer(
                    {
                        "ask": 1,
                        "do": "form",
                        "do_what": "simulate_authorization",
                        "list": "transactions",
                        "label": "Simulate purchase",
                    }
                )
                before = {record["id"] for record in api.sandbox.records("transaction")}
                opened = view.form.acting  # type: ignore[union-attr]

                @contextmanager
                def hold(opened: Any = opened, other: Any = other, held: str = held) -> Iterator[None]:
                    if held == "save":
                        other.execute("BEGIN IMMEDIATE")
                    with opened():
                        if held != "undo":
                            other.execute("ROLLBACK" if held == "save" else "BEGIN IMMEDIATE")
                        yield

                view.form.acting = hold  # type: ignore[union-attr]
                with suppress(wb.errors.WorkbenchError):
                    view.form.submit()  # type: ignore[union-attr]
                if held == "undo":
                    other.execute("BEGIN IMMEDIATE")
                answer = view.answer({"ask": 1, "do": "undo"})
                if other.in_transaction:
                    other.execute("ROLLBACK")
                there = {record["id"] for record in api.sandbox.records("transaction")}

                assert "error" in answer
                assert (held != "act") == (there != before)
                again = view.answer({"ask": 1, "do": "undo"})
                assert ("error" in again) == (held != "undo")
                assert (held == "save") == (before != {record["id"] for record in api.sandbox.records("transaction")})


def test_an_action_without_a_change_offers_no_undo(tmp_path: Path) -> None:
    """A panel's action without a change offers no undo, even if another purchase happens meanwhile."""
    with sessions("file", tmp_path) as (api, _):
        view, messages = browse(api), []
        view.widget.send = messages.append  # type: ignore[method-assign]
        with view.last_action.acting():
            made = purchase_of_another(api)
        view.act("simulate_authorization").when_done("Nothing changed")

        assert not messages[-1]["undo"]
        assert "there is nothing to undo" in view.answer({"ask": 1, "do": "undo"})["error"]
        assert is_there(api, made)


def purchase_of_another(api: Session) -> str:
    """Make a purchase in another thread, so that it is not part of this action."""
    made: list[str] = []
    thread = threading.Thread(target=lambda: made.append(purchase(api)))
    thread.start()
    thread.join()
    return made[0]


@pytest.mark.parametrize("where", ["note", "state", "static page"])
@pytest.mark.parametrize("do", ["action", "undo"])
def test_what_fails_after_the_commit_is_not_an_error(where: str, do: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure behind the commit, the panel reports success and asks for a refresh."""
    with wb.connect(seed=7) as api:
        view, messages = browse(api), []
        view.widget.send = messages.append  # type: ignore[method-assign]
        card = api.sandbox.guide()["cards"]["active"][0]
        view.show("cards", card)
        ask = {"ask": 1, "do": "control", "do_what": "lock_card"}
        if do == "undo":
            assert "error" not in view.answer(ask)
            ask = {"ask": 2, "do": "undo"}

        after = "locked" if do == "action" else "active"

        def fail(*_: object, **__: object) -> None:
            if api.sandbox.state(card)["status"] == after:
                raise wb.errors.CannotRecord("the journal cannot be written")

        if where == "note":
            monkeypatch.setattr(type(panel_module.context_of(api)), "note", fail)
        elif where == "state":
            monkeypatch.setattr(panel_module.things, "stamp", fail)
        else:
            view.update_static = fail  # type: ignore[method-assign]

        answer = view.answer(ask)

        assert "error" not in answer
        assert after == api.sandbox.state(card)["status"]
        noted = where != "note" or do == "undo"
        assert ("the journal cannot be written" in messages[-1]["text"]) == noted


def test_an_undo_without_an_answer_is_not_said_to_be_refused() -> None:
    """If the answer of an undo is lost, the error says that it may have been carried out."""
    with Sandbox(seed=7).serve() as url, wb.connect(url) as api:
        actor = Actor(api, "purchase")
        actor.save()
        actor.act()
        sandbox: Any = api.sandbox
        answered = internals(sandbox).http.request

        def lose(*arguments: Any, **options: Any) -> Any:
            import httpx

            answered(*arguments, **options)
            raise httpx.ReadTimeout("")

        internals(sandbox).http.request = lose
        try:
            with pytest.raises(wb.errors.NoAnswer, match="undo may have been carried out"):
                internals(sandbox).undo(savepoint=actor.savepoint, actor=actor.name)
        finally:
            internals(sandbox).http.request = answered

        assert not is_there(api, actor.made)


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(1.5, marks=pytest.mark.slow),
        pytest.param(300, marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
@pytest.mark.parametrize("place", ["file", "two views of a file", "served"])
def test_undo_beside_writers(place: str, seconds: float, tmp_path: Path) -> None:
    """While two threads undo purchases and two others buy, a purchase is missing only after a reported undo."""
    until, problems, counts = monotonic() + seconds / 3, [], {"undone": 0, "refused": 0, "bought": 0}
    with sessions(place, tmp_path) as (first, second):

        def undo(api: Session) -> None:
            while monotonic() < until:
                actor = Actor(api, "purchase")
                for step in actor.steps:
                    step(actor)
                counts["undone" if actor.undone else "refused"] += 1
                if is_there(api, actor.made) == actor.undone:
                    problems.append(f"{'undone' if actor.undone else 'refused'}: {actor.made}")

        def buy(api: Session) -> None:
            chance = random.Random(place)
            while monotonic() < until:
                made = purchase(api)
                counts["bought"] += 1
                sleep(chance.choice([0, 0.05, 0.2, 0.5]))
                if not is_there(api, made):
                    problems.append(f"gone: {made}")

        with ThreadPoolExecutor(4) as pool:
            for ended in [pool.submit(act, api) for act in (undo, buy) for api in (first, second)]:
                ended.result()
    print(f"{place}: {counts}, {len(problems)} wrong")

    assert not problems, problems[:5]
    assert seconds < 10 or (counts["undone"] and counts["refused"])
