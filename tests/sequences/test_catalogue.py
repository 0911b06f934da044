"""Each sequence of the catalogue is valid, reads back from its text, and has its expected result everywhere."""

import asyncio

import pytest

from workbench.client.client import AsyncClient, Client
from workbench.interface.rules import DeclineReason, EventApplicationStatus
from workbench.sandbox import Sandbox
from workbench.sequences import catalogue, dumps, loads, problems, run, run_async

PROFILES = ("documented", "observed")
BASES = {profile: Sandbox(seed=3, behavior=profile) for profile in PROFILES}
CASES = [
    pytest.param(name, profile, id=f"{name}-{profile}")
    for name, sequence in catalogue.items()
    for profile in PROFILES
    if sequence.profile in (None, profile)
]


class Api(Client):
    """A client on a sandbox of its own."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(base_url=sandbox.base_url, api_key=sandbox.full_key, transport=sandbox.transport())
        self.sandbox = sandbox


class AsyncApi(AsyncClient):
    """The same, awaited."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(base_url=sandbox.base_url, api_key=sandbox.full_key, transport=sandbox.transport())
        self.sandbox = sandbox


@pytest.mark.parametrize("name", catalogue)
def test_sequence_is_valid_and_reads_back_from_its_text(name: str) -> None:
    """It has no problems, and its TOML text means the same."""
    sequence = catalogue[name]

    assert problems(sequence) == ()
    assert loads(dumps(sequence)) == sequence


@pytest.mark.parametrize("name, profile", CASES)
def test_sequence_has_the_same_result_in_every_way_of_running_it(name: str, profile: str) -> None:
    """On a sandbox, through a client and through an async client: as expected, with one hash."""
    sequence, base = catalogue[name], BASES[profile]
    runs = [
        run(sequence, base.fork()),
        run(loads(dumps(sequence)), base.fork()),
        run(sequence, Api(base.fork())),
        asyncio.run(run_async(sequence, AsyncApi(base.fork()))),
    ]

    assert [one.verdict for one in runs if not one.ok] == []
    assert len({one.hash for one in runs}) == 1


def test_every_decline_reason_has_a_sequence() -> None:
    """All eleven of the interface document."""
    asked = {
        step.arguments["decline_reason"]
        for name, sequence in catalogue.items()
        if name.startswith("decline-")
        for step in sequence.steps
    }

    assert set(DeclineReason) == asked
    assert len(asked) == 11


def test_every_application_status_is_reached() -> None:
    """All eleven of the events."""
    reached = {
        event.where.get("applicationStatus")
        for name, sequence in catalogue.items()
        if name.startswith("application-")
        for step in sequence.steps
        for event in step.expect.events
    }

    assert set(EventApplicationStatus) <= reached
