"""Ten learners of a class take random steps, compared with a model: no learner's step is visible to another."""

import asyncio
import json
import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import pytest

from workbench.base.system.messages import Request, Response
from workbench.course.classroom import ClassServer
from workbench.course.classroom.class_state import LESSONS
from workbench.course.task_files import EXERCISES
from workbench.sandbox.internals import internals

LEARNERS = 10
PURCHASE = {"currency": "USD", "merchantName": "Example Coffee", "merchantCategoryCode": "5814"}
MAX_HELD = 900_000  # in cents, below the card's limit


@attrs.define
class Expected:
    """The expected state of a learner's sandbox and of the learner's row on the board."""

    held: int = 0
    posted: int = 0
    faults: int = 0
    notes: int = 0
    tries: int = 0
    endpoints: int = 0
    hours: int = 0
    locked: set[str] = attrs.field(factory=set)
    open: dict[str, int] = attrs.field(factory=dict)  # cents of each open authorization, by transaction id
    snapshots: dict[str, tuple[int, int, int, dict[str, int]]] = attrs.field(factory=dict)


class Class:
    """A class server, its model, and steps that change both."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.server = ClassServer([f"Learner {number}" for number in range(LEARNERS)], folder)
        self.loop = asyncio.new_event_loop()
        self.learners = list(self.server._by_name.values())
        self.model = [Expected() for _ in self.learners]
        self.guide = self.learners[0].sandbox("").guide()
        self.card = self.guide["cards"]["active"][0]
        self.begun = self.learners[0].sandbox("").clock.now()
        self.digests = [self.digest(number) for number in range(LEARNERS)]
        self.held, self.posted = self.digests[0][:2]  # holds and postings that the seeded sandbox contains
        self.steps: list[Callable[[int], None]] = [
            self.buy, self.buy, self.buy, self.settle, self.reverse, self.fault, self.no_faults, self.advance, self.snapshot,
            self.restore, self.reset, self.endpoint, self.note, self.lock, self.unlock, self.report, self.wrong_key, self.foreign,
        ]  # fmt: skip

    def send(self, number: int, path: str, content: Any, key: str | None = None) -> Response:
        """Send a request to a learner's URL of the class server."""
        place = self.learners[number]
        headers = {
            "host": "127.0.0.1",
            "content-type": "application/json",
            "api-key": key or place.sandbox("").full_key,
        }
        target = f"/{place.learner.code}/{path}"
        answer = self.server.handle(
            Request(method="POST", path=target, headers=headers, body=json.dumps(content).encode(), local=True)
        )
        return answer if isinstance(answer, Response) else self.loop.run_until_complete(answer)

    def control(self, number: int, name: str, /, **arguments: Any) -> None:
        assert self.send(number, f"_sandbox/{name}", arguments).status == 200, name

    # steps

    def buy(self, number: int) -> None:
        mine, cents = self.model[number], self.chance.randrange(1, 500)
        if mine.held + mine.posted + cents > MAX_HELD or mine.faults:
            return
        answer = self.send(
            number, "v1/simulate/transactions/authorize", {"cardId": self.card, "amount": cents, **PURCHASE}
        )
        assert answer.status == 200
        mine.open[json.loads(answer.body)["transactionId"]] = cents
        mine.held += cents

    def settle(self, number: int) -> None:
        mine = self.model[number]
        if mine.open:
            one = self.chance.choice(list(mine.open))
            self.control(number, "settle", transaction_id=one)
            cents = mine.open.pop(one)
            mine.held, mine.posted = mine.held - cents, mine.posted + cents

    def reverse(self, number: int) -> None:
        mine = self.model[number]
        if mine.open and not mine.faults:
            one = self.chance.choice(list(mine.open))
            assert self.send(number, f"v1/simulate/transactions/{one}/reverse", {"newAmount": 0}).status == 200
            mine.held -= mine.open.pop(one)

    def fault(self, number: int) -> None:
        if self.model[number].faults < 3:
            self.control(number, "add_fault", kind="status", of="simulate_authorization")
            self.model[number].faults += 1
            answer = self.send(
                number, "v1/simulate/transactions/authorize", {"cardId": self.card, "amount": 1, **PURCHASE}
            )
            assert answer.status == 500

    def no_faults(self, number: int) -> None:
        self.control(number, "clear_faults")
        self.model[number].faults = 0

    def advance(self, number: int) -> None:
        self.control(number, "advance", hours=1)
        self.model[number].hours += 1

    def snapshot(self, number: int) -> None:
        mine, name = self.model[number], self.chance.choice("abc")
        self.control(number, "snapshot", name=name)
        mine.snapshots[name] = mine.held, mine.posted, mine.hours, dict(mine.open)

    def restore(self, number: int) -> None:
        mine, name = self.model[number], self.chance.choice("abc")
        answer = self.send(number, "_sandbox/restore", {"name": name})
        assert answer.status == (200 if name in mine.snapshots else 404)
        if name in mine.snapshots:
            mine.held, mine.posted, mine.hours, kept = mine.snapshots[name]
            mine.open = dict(kept)

    def reset(self, number: int) -> None:
        if self.chance.random() < 0.2:
            mine = self.model[number]
            self.control(number, "reset")
            self.no_faults(number)
            for one in self.learners[number].sandbox("").endpoints():
                self.control(number, "remove_endpoint", endpoint_id=one.id)
            self.model[number] = Expected(
                notes=mine.notes, tries=mine.tries, locked=mine.locked, snapshots=mine.snapshots
            )

    def endpoint(self, number: int) -> None:
        sandbox = self.learners[number].sandbox("")
        for one in sandbox.endpoints():
            self.control(number, "remove_endpoint", endpoint_id=one.id)
        if self.chance.random() < 0.1:
            self.control(number, "register_endpoint", endpoint_url=f"http://127.0.0.1:9/{number}")
            assert [one.url for one in sandbox.endpoints()] == [f"http://127.0.0.1:9/{number}"]
            self.control(number, "remove_endpoint", endpoint_id=sandbox.endpoints()[0].id)

    def note(self, number: int) -> None:
        self.server.act([self.learners[number].learner.name], "note", text=f"for {number}")
        self.model[number].notes += 1

    def lock(self, number: int) -> None:
        lesson = self.chance.choice(LESSONS)
        self.server.act([self.learners[number].learner.name], "lock", lesson=lesson)
        for each in self.model:  # a lesson is always locked for the entire class
            each.locked.add(lesson)

    def unlock(self, number: int) -> None:
        for lesson in list(self.model[number].locked):
            self.server.act([self.learners[number].learner.name], "unlock", lesson=lesson)
        for each in self.model:
            each.locked.clear()

    def report(self, number: int) -> None:
        content = {"kind": "check", "task": "start-1"}
        is_locked = EXERCISES["start-1"].notebook in self.model[number].locked
        self.learners[number].entries.clear()  # avoid the limit of task actions per minute, which another test covers
        answer = self.send(number, "_class", content)
        if answer.status == 400 and not is_locked:  # the learner has not started the task in this sandbox
            assert self.send(number, "_class", {**content, "kind": "start"}).status == 200
            answer = self.send(number, "_class", content)
        assert answer.status == (400 if is_locked else 200)
        self.model[number].tries += not is_locked and json.loads(answer.body)["tried"]

    def wrong_key(self, number: int) -> None:
        other = self.learners[(number + 1) % LEARNERS]
        assert self.send(number, "_sandbox/reset", {}, other.sandbox("").full_key).status == 401
        assert self.send(number, "v1/simulate/transactions/x/refund", {}, other.sandbox("").full_key).status == 401

    def foreign(self, number: int) -> None:
        """Check that the next learner's purchase is not in this learner's sandbox, unless both made an equal one."""
        theirs = set(self.model[(number + 1) % LEARNERS].open) - set(self.model[number].open)
        for one in list(theirs)[:1]:
            state = self.send(number, "_sandbox/state", {"record_id": one})
            held = json.loads(state.body).get("held", 0) if state.status == 200 else 0
            assert held == 0 or one in self.model[number].open, state.body

    # comparison

    def digest(self, number: int) -> tuple[Any, ...]:
        """Return a summary of a learner's sandbox."""
        sandbox = self.learners[number].sandbox("")
        money = sandbox.balance(self.card)
        return (
            money.held,
            money.posted,
            len(sandbox.list_faults()),
            len(sandbox.endpoints()),
            sandbox.clock.now(),
            internals(sandbox).last_event(),
        )

    def step(self) -> None:
        """Take one learner's step, compare the learner with the model, and check that another one did not change."""
        number = self.chance.randrange(LEARNERS)
        self.chance.choice(self.steps)(number)
        mine = self.model[number]
        held, posted, faults, endpoints, now, _ = self.digests[number] = self.digest(number)
        assert (held - self.held, posted - self.posted, faults, endpoints) == (
            mine.held,
            mine.posted,
            mine.faults,
            mine.endpoints,
        )
        assert (now - self.begun).total_seconds() == 3600 * mine.hours
        assert set(self.server.board()["locked"]) == mine.locked
        other = self.chance.randrange(LEARNERS)
        assert self.digest(other) == self.digests[other], f"{number} changed {other}"

    def compare_boards(self) -> None:
        """Compare each learner's tries and notes with the model."""
        for mine, row in zip(self.model, self.server.board()["learners"], strict=True):
            assert row["results"].get("start-1", {}).get("tries", 0) == mine.tries
            notes = self.server.results.notes(row["learner"])
            assert notes == [f"for {row['learner'].rpartition(' ')[2]}"] * mine.notes

    def close(self) -> None:
        self.server.close()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


def walk(steps: int, seed: int) -> None:
    """Take random steps. A failure names the seed and the step."""
    with TemporaryDirectory() as folder, closing(Class(seed, Path(folder))) as class_:
        for number in range(steps):
            try:
                class_.step()
                if number % 1_000 == 999:
                    class_.compare_boards()
            except AssertionError as error:
                error.add_note(f"step {number} of seed {seed}")
                raise
        class_.compare_boards()


@pytest.mark.slow
def test_learners_do_not_see_each_other() -> None:
    walk(300, 1)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", range(2, 6))
def test_learners_do_not_see_each_other_for_long(seed: int) -> None:
    walk(50_000, seed)
