"""Each sequence of the catalogue is valid, can be read back from its text, and gives the expected result."""

import asyncio
import re

import pytest

from tests.each import across
from workbench.base.errors import WrongEnvironment
from workbench.client.calls.client import AsyncClient, Client
from workbench.runs.sequences import Stepper, catalogue, from_toml, ref, run
from workbench.runs.sequences.reading import problems
from workbench.runs.sequences.sequence import dumps
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals
from workbench.service.interface.vocabulary import DeclineReason, EventApplicationStatus

pytestmark = pytest.mark.slow  # each sequence runs on a sandbox, a client and an async client

PROFILES = ("documented", "observed")
BASES = {profile: Sandbox(seed=3, behavior=profile) for profile in PROFILES}
CASES = [
    pytest.param(name, profile, id=f"{name}-{profile}")
    for name, sequence in catalogue.items()
    for profile in PROFILES
    if sequence.profile in (None, profile)
]


class Api(Client):
    """A client that also has the controls of its sandbox."""

    def __init__(self, sandbox: Sandbox, key: str | None = None) -> None:
        super().__init__(base_url=sandbox.base_url, api_key=key or sandbox.full_key, transport=sandbox.transport())
        self.sandbox = internals(sandbox).for_key(key) if key else sandbox


class AsyncApi(AsyncClient):
    """An async client that also has the controls of its sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(base_url=sandbox.base_url, api_key=sandbox.full_key, transport=sandbox.transport())
        self.sandbox = sandbox


@pytest.mark.parametrize("name", catalogue)
def test_sequence_is_valid_and_reads_back_from_its_text(name: str) -> None:
    """The sequence has no problems, and its TOML text parses to an equal sequence."""
    sequence = catalogue[name]

    assert problems(sequence) == ()
    assert from_toml(dumps(sequence)) == sequence


@pytest.mark.parametrize("name, profile", CASES)
def test_sequence_has_the_same_result_in_every_way_of_running_it(name: str, profile: str) -> None:
    """A sandbox, a client and an async client give the expected result with the same hash."""
    sequence, base = catalogue[name], BASES[profile]
    runs = [
        run(base.fork(), sequence),
        run(base.fork(), from_toml(dumps(sequence))),
        run(Api(base.fork()), sequence),
        asyncio.run(run(AsyncApi(base.fork()), sequence)),
    ]

    assert [one.verdict for one in runs if not one.ok] == []
    assert len({one.hash for one in runs}) == 1


@pytest.mark.parametrize("behavior, tenant", across(PROFILES, [tenant.name for tenant in Sandbox().tenants()]))
def test_every_sequence_runs_in_every_tenant_or_says_what_is_missing(tenant: str, behavior: str) -> None:
    """The error comes before the first step, and names only what the tenant lacks.

    Events of other tenants are not seen.
    """
    base = BASES[behavior]
    key_name = next(one.keys[0] for one in base.tenants() if one.name == tenant)
    missing: dict[str, str] = {}
    for name, sequence in catalogue.items():
        sandbox = base.fork()
        api = Api(sandbox, sandbox.guide()["api_keys"][key_name])
        before = internals(sandbox).last_event()
        try:
            result = run(api, sequence, progress=False)
        except WrongEnvironment as error:
            assert internals(sandbox).last_event() == before
            missing[name] = str(error)
        else:
            assert result.ok, result.verdict
    expected = {name for name, one in catalogue.items() if one.profile not in (None, behavior)}
    if tenant != "primary":
        expected.add("dispute-canceled-with-evidence")
    if tenant == "company team":
        expected.add("payment-account-made-and-deleted")
    if tenant == "no corporate cards":
        expected |= {"micro-deposit"} | {
            name
            for name, one in catalogue.items()
            if any(parameter.default == ref("guide.cards.active") for parameter in one.parameters)
        }

    assert expected == missing.keys()
    assert all(re.search("needs|the guide has no", said) for said in missing.values())


def test_expectations_see_the_events_of_the_sessions_tenant_alone() -> None:
    """A run ignores events of another tenant, also if the steps of two runs alternate."""
    sandbox = BASES["documented"].fork()
    keys = sandbox.guide()["api_keys"]
    steppers = [Stepper(Api(sandbox, keys[name]), catalogue["refund-full"]) for name in ("full", "provider-managed")]
    for _ in range(3):
        for stepper in steppers:
            stepper.next()
    runs = [stepper.result for stepper in steppers]

    assert [one.verdict for one in runs if not one.ok] == []
    assert {len(one.events()) for one in runs} == {5}
    assert not {event.id for event in runs[0].events()} & {event.id for event in runs[1].events()}


def test_every_decline_reason_has_a_sequence() -> None:
    """The interface document has eleven decline reasons."""
    asked = {
        step.arguments["decline_reason"]
        for name, sequence in catalogue.items()
        if name.startswith("decline-")
        for step in sequence.steps
    }

    assert set(DeclineReason) == asked
    assert len(asked) == 11


def test_every_application_status_is_reached() -> None:
    """Events have eleven application statuses."""
    reached = {
        event.where.get("applicationStatus")
        for name, sequence in catalogue.items()
        if name.startswith("application-")
        for step in sequence.steps
        for event in step.expect.events
    }

    assert set(EventApplicationStatus) <= reached
