"""Rewards read as raw pages over real connections: equal rows, equal refusals, and only reads."""

import asyncio
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any
from uuid import UUID

import pandas as pd
import pytest

from workbench.analysis.rewards import read_job
from workbench.analysis.rewards.reading import fetch
from workbench.analysis.tables.frames import to_frame
from workbench.base.errors import InvalidRequest, NotSent, Unauthorized, UsageError
from workbench.base.schema.walk import build
from workbench.client.calls.client import Client, RawReader
from workbench.client.session import connect
from workbench.sandbox import Sandbox
from workbench.service.interface.contracts import SignWithdrawal
from workbench.service.interface.transactions import ListRewardsActivity, SimulateRefund


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Sandbox(seed=3).serve() as served:
        yield served


@pytest.mark.slow
def test_a_served_sandbox_gives_the_same_rows(url: str) -> None:
    """Frames read over HTTP and in process are equal."""
    with connect(url) as there, connect(seed=3) as here:
        users = [one["id"] for one in there.sandbox.guide()["rewards_users"]][:8]
        over_http = fetch(there, users, progress=False)
        in_process = fetch(here, users, progress=False)

    assert over_http.complete
    pd.testing.assert_frame_equal(in_process.frame(), over_http.frame())
    pd.testing.assert_frame_equal(to_frame(over_http), over_http.frame())


def test_a_wrong_key_is_refused_as_ever(url: str) -> None:
    """The error has the usual hint, and not the key."""
    user = "00000000-0000-4000-8000-000000000001"
    with (
        Client(base_url=f"{url}/v1", api_key="CANARY-KEY", journal=False) as api,
        pytest.raises(Unauthorized) as caught,
    ):
        fetch(api, [user], progress=False)

    assert "Check the key" in str(caught.value)
    assert "CANARY" not in str(caught.value)


@pytest.mark.usefixtures("short_pauses")
def test_nobody_there(url: str) -> None:
    """A closed port raises NotSent."""
    with Client(base_url="http://127.0.0.1:9/v1", api_key="k", journal=False) as api, pytest.raises(NotSent):
        fetch(api, ["00000000-0000-4000-8000-000000000001"], progress=False)


@pytest.mark.parametrize(
    "request_",
    [build(SimulateRefund, {"transaction_id": "t", "amount": 1}), build(SignWithdrawal, {"token": "t", "amount": "1"})],
    ids=["refund", "withdrawal"],
)
def test_calls_with_an_effect_are_never_made_this_way(request_: object) -> None:
    """Neither refunds nor withdrawal signatures, although a GET, can be requested as raw pages."""
    with connect(seed=1) as api, pytest.raises(UsageError, match="only reads"):
        asyncio.run(RawReader(api).fetch(request_))


def test_rules_are_checked_before_anything_leaves() -> None:
    """A limit of 101 is refused before a request is sent."""
    wrong = build(ListRewardsActivity, {"user_id": "00000000-0000-4000-8000-000000000001", "limit": 101})
    with connect(seed=1) as api, pytest.raises(InvalidRequest, match="limit must be at most 100"):
        asyncio.run(RawReader(api).fetch(wrong))


def test_an_interrupt_before_a_read_begins_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The read ends without a request, and its result has the reason."""
    stopped = threading.Event()

    class Interrupted(SimpleQueue):  # type: ignore[type-arg]
        def get(self, *_: Any, **__: Any) -> None:
            if not stopped.is_set():
                raise KeyboardInterrupt

    async def begin_late(run: Any = read_job.Reading.run) -> Any:
        assert await asyncio.to_thread(stopped.wait, 5)
        return await run(reading)

    monkeypatch.setattr(read_job, "SimpleQueue", Interrupted)
    with connect(seed=1) as api:
        how: Any = {"concurrency": 1, "report": lambda _: None}
        reading = read_job.Reading(api, (str(UUID(int=1)),), read_job.ReadFilter(), **how)
        stop = reading.stop
        monkeypatch.setattr(reading, "run", begin_late)
        monkeypatch.setattr(reading, "stop", lambda reason: (stop(reason), stopped.set()))
        rewards = read_job.read_in_thread(reading)

    assert "interrupted" in rewards.stopped
    assert not rewards.cursors
