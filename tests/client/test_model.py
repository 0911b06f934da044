"""Client, journal and sandbox under faults, held step by step against a model that knows what really happened."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.client.test_faults import EFFECTS, FAULTS, Rig, agrees
from workbench.client.effects import Outcome
from workbench.errors import WorkbenchError
from workbench.interface.table import OPERATIONS

STEPS = 50


class Life(RuleBasedStateMachine):
    """Calls with and without faults, resolutions and resends; the model keeps each call's true effect."""

    def __init__(self) -> None:
        super().__init__()
        self.rig = Rig()
        self.truth: dict[str, int] = {}  # effects by attempt
        self.ends: dict[str, Outcome] = {}
        self.lost: dict[str, tuple[str, dict[str, Any]]] = {}  # unknown and not yet settled
        self.first_name: str | None = None

    def _entries(self) -> dict[str, Any]:
        return {entry.id: entry for entry in self.rig.client.journal}

    def _note(self, before: set[str], effects: int, name: str, arguments: dict[str, Any]) -> Any:
        """Take down what a call added to the journal, which is its last entry; its helpers' calls are done."""
        made = [entry for entry in self.rig.client.journal if entry.id not in before]
        for entry in made[:-1]:
            self.truth[entry.id], self.ends[entry.id] = 1, Outcome.DONE
        newest = made[-1]
        self.truth[newest.id], self.ends[newest.id] = effects, newest.outcome
        if newest.outcome is Outcome.UNKNOWN:
            self.lost[newest.id] = (name, arguments)
        if effects and name == "update_user":
            self.first_name = arguments["first_name"]
        return newest

    @rule(name=st.sampled_from(EFFECTS), fault=st.none() | st.sampled_from(sorted(FAULTS)), once=st.booleans())
    def call(self, name: str, fault: str | None, once: bool) -> None:
        before = set(self.truth)
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
        newest = self._note(before, effects, name, arguments)

        assert agrees(result, newest.outcome, effects), (name, fault, result, newest.outcome, effects)

    @rule(fault=st.sampled_from(sorted(FAULTS)))
    def read(self, fault: str) -> None:
        self.rig.network.fault, self.rig.network.only_once = FAULTS[fault][0], True
        try:
            self.rig.client.list_contracts()
        except (WorkbenchError, KeyboardInterrupt) as error:
            assert not isinstance(error, AssertionError)  # noqa: PT017 - any error of ours is right
        self.rig.network.fault = None

    @precondition(lambda self: self.lost)
    @rule(data=st.data(), end=st.sampled_from(["done", "not_sent"]))
    def resolve(self, data: st.DataObject, end: Any) -> None:
        attempt = data.draw(st.sampled_from(sorted(self.lost)))
        self.rig.client.journal.resolve(attempt, end, note="looked")
        del self.lost[attempt]

    @precondition(lambda self: self.lost)
    @rule(data=st.data())
    def resend(self, data: st.DataObject) -> None:
        attempt = data.draw(st.sampled_from(sorted(self.lost)))
        name, arguments = self.lost[attempt]
        before = set(self.truth)
        made = self.rig.network.effects
        try:
            self.rig.client.journal.resend(attempt, OPERATIONS[name].request(**arguments), accept_double=True)
        except WorkbenchError as error:
            settled = False
            assert str(error)  # noqa: PT017 - refused, as a deletion of what is gone elsewhere would be
        else:
            settled = True
        self._note(before, self.rig.network.effects - made, name, arguments)
        if settled:
            del self.lost[attempt]

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        entries = self._entries()

        assert set(entries) == set(self.truth)
        assert {attempt: entry.outcome for attempt, entry in entries.items()} == self.ends
        for attempt, effects in self.truth.items():
            end = entries[attempt].outcome
            assert effects <= 1
            if end is Outcome.DONE:
                # A deletion resent and not found is done without an effect of its own.
                assert effects == 1 or entries[attempt].resend_of
            elif end in {Outcome.REFUSED, Outcome.NOT_SENT}:
                assert effects == 0
        assert sum(self.truth.values()) == self.rig.network.effects

    @invariant()
    def unknown_is_what_cannot_be_determined(self) -> None:
        assert {entry.id for entry in self.rig.client.journal.unknown()} == set(self.lost)

    @invariant()
    def the_sandbox_has_what_was_carried_out(self) -> None:
        if self.first_name is not None:
            user = self.rig.guide["users"]["approved"][0]

            assert self.rig.sandbox.state(user)["first_name"] == self.first_name


def _run(examples: int) -> None:
    case = Life.TestCase
    case.settings = settings(
        max_examples=examples, stateful_step_count=STEPS, deadline=None, suppress_health_check=list(HealthCheck)
    )
    case("runTest").runTest()


@pytest.mark.slow
def test_two_thousand_steps() -> None:
    """Forty lives of fifty steps: the journal, the caller and the sandbox never disagree."""
    _run(40)


@pytest.mark.soak
def test_two_hundred_thousand_steps() -> None:
    """Four thousand lives of fifty steps."""
    _run(4000)
