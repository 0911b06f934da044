"""Client, journal and sandbox under faults, compared at each step with a model that knows the true effects."""

import multiprocessing
import os
import random
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.client.test_faults import EFFECTS, FAULTS, Rig, agrees
from workbench.base.errors import WorkbenchError
from workbench.client.calls.effects import Outcome
from workbench.service.interface.table import OPERATIONS

STEPS = 50


class Model:
    """Calls with and without faults, resolutions and resends. The model stores each call's true effect."""

    def __init__(self) -> None:
        self.rig = Rig()
        self.truth: dict[str, int] = {}  # number of effects in the service, by attempt id
        self.ends: dict[str, Outcome] = {}
        self.lost: dict[str, tuple[str, dict[str, Any]]] = {}  # calls whose outcome is unknown and was not resolved
        self.first_name: str | None = None
        self.entries: list[Any] = []  # journal entries as read after the last step that could change them

    def _read(self) -> list[Any]:
        self.entries = list(self.rig.client.journal)
        return self.entries

    def _note(self, effects: int, name: str, arguments: dict[str, Any]) -> Any:
        """Store the new journal entries. The last one is this call's; earlier ones are helper calls, which are done."""
        made = [entry for entry in self._read() if entry.id not in self.truth]
        for entry in made[:-1]:
            self.truth[entry.id], self.ends[entry.id] = 1, Outcome.DONE
        newest = made[-1]
        self.truth[newest.id], self.ends[newest.id] = effects, newest.outcome
        if newest.outcome is Outcome.UNKNOWN:
            self.lost[newest.id] = (name, arguments)
        if effects and name == "update_user":
            self.first_name = arguments["first_name"]
        return newest

    def call(self, name: str, fault: str | None, once: bool) -> None:
        arguments = self.rig.arguments(name)
        if fault is not None:
            self.rig.network.fault, self.rig.network.only_once = FAULTS[fault][0], once
        made = self.rig.network.effects
        result: Any
        try:
            result = getattr(self.rig.client, name)(**arguments)
        except (WorkbenchError, KeyboardInterrupt) as error:
            result = error
        self.rig.network.fault = None
        effects = self.rig.network.effects - made
        newest = self._note(effects, name, arguments)

        assert agrees(result, newest.outcome, effects), (name, fault, result, newest.outcome, effects)

    def read(self, fault: str) -> None:
        self.rig.network.fault, self.rig.network.only_once = FAULTS[fault][0], True
        try:
            self.rig.client.list_contracts()
        except (WorkbenchError, KeyboardInterrupt) as error:
            assert not isinstance(error, AssertionError)  # noqa: PT017 - any error of this package is accepted
        self.rig.network.fault = None
        self._read()

    def resolve(self, attempt: str, end: Any) -> None:
        self.rig.client.journal.resolve(attempt, end, note="looked")
        del self.lost[attempt]
        self._read()

    def resend(self, attempt: str) -> None:
        name, arguments = self.lost[attempt]
        made = self.rig.network.effects
        try:
            self.rig.client.journal.resend(attempt, OPERATIONS[name].request(**arguments), accept_double=True)
        except WorkbenchError as error:
            settled = False
            assert str(error)  # noqa: PT017 - a refusal, for example of a second deletion
        else:
            settled = True
        self._note(self.rig.network.effects - made, name, arguments)
        if settled:
            del self.lost[attempt]

    def check(self) -> None:
        """Check that no effect is lost or doubled, and that journal, outcomes and sandbox agree with the model."""
        entries = {entry.id: entry for entry in self.entries}

        assert set(entries) == set(self.truth)
        assert {attempt: entry.outcome for attempt, entry in entries.items()} == self.ends
        for attempt, effects in self.truth.items():
            end = entries[attempt].outcome
            assert effects <= 1
            if end is Outcome.DONE:
                assert effects == 1
            elif end in {Outcome.REFUSED, Outcome.NOT_SENT}:
                assert effects == 0
        assert sum(self.truth.values()) == self.rig.network.effects
        assert {entry.id for entry in self.entries if entry.final_outcome is Outcome.UNKNOWN} == set(self.lost)
        if len(self.truth) % 5 == 0:
            assert self._read() == list(entries.values())
            assert {entry.id for entry in self.rig.client.journal.unknown()} == set(self.lost)
        if self.first_name is not None:
            user = self.rig.guide["users"]["approved"][0]

            assert self.rig.sandbox.state(user)["first_name"] == self.first_name


class Life(RuleBasedStateMachine):
    """The model under random steps, which are reduced if they fail."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()

    @rule(name=st.sampled_from(EFFECTS), fault=st.none() | st.sampled_from(sorted(FAULTS)), once=st.booleans())
    def call(self, name: str, fault: str | None, once: bool) -> None:
        self.model.call(name, fault, once)

    @rule(fault=st.sampled_from(sorted(FAULTS)))
    def read(self, fault: str) -> None:
        self.model.read(fault)

    @precondition(lambda self: self.model.lost)
    @rule(data=st.data(), end=st.sampled_from(["done", "not_sent"]))
    def resolve(self, data: st.DataObject, end: Any) -> None:
        self.model.resolve(data.draw(st.sampled_from(list(self.model.lost))), end)

    @precondition(lambda self: self.model.lost)
    @rule(data=st.data())
    def resend(self, data: st.DataObject) -> None:
        self.model.resend(data.draw(st.sampled_from(list(self.model.lost))))

    @invariant()
    def agrees(self) -> None:
        self.model.check()


@pytest.mark.parametrize("lives", [pytest.param(10, marks=pytest.mark.slow), pytest.param(40, marks=pytest.mark.soak)])
def test_lives(lives: int) -> None:
    """In lives of fifty steps, journal, caller and sandbox never disagree."""
    case = Life.TestCase
    case.settings = settings(
        max_examples=lives, stateful_step_count=STEPS, deadline=None, suppress_health_check=list(HealthCheck)
    )
    case("runTest").runTest()


def _live(seed: str) -> float:
    """Run the random steps of a seed without reducing a failure, and return the processor time."""
    began = time.process_time()
    chance, model, faults = random.Random(seed), Model(), sorted(FAULTS)
    for number in range(STEPS):
        lost = list(model.lost)  # in call order, since ids differ in each run
        do = chance.choice(("call", "call", "read", *(("resolve", "resend") if lost else ())))
        try:
            if do == "call":
                model.call(chance.choice(EFFECTS), chance.choice((None, *faults)), chance.random() < 0.5)
            elif do == "read":
                model.read(chance.choice(faults))
            elif do == "resolve":
                model.resolve(chance.choice(lost), chance.choice(("done", "not_sent")))
            else:
                model.resend(chance.choice(lost))
            model.check()
        except BaseException as error:
            error.add_note(f"life {seed!r}, step {number}: {do}")
            raise
    return time.process_time() - began


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_million_steps() -> None:
    """Run 20,000 lives of fifty steps in two processes. `LIVES` selects other lives, such as `0:5000`."""
    first, last = map(int, os.environ.get("LIVES", "0:20000").split(":"))
    with ProcessPoolExecutor(2, multiprocessing.get_context("forkserver")) as pool:
        seconds = sum(pool.map(_live, [f"life {number}" for number in range(first, last)], chunksize=20))
    steps = (last - first) * STEPS
    print(f"\n{steps:,} steps, lives {first} to {last - 1}: no difference, {seconds:,.0f} s of processor time")
