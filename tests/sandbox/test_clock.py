"""A fixed clock and a running clock."""

import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

import workbench as wb
from tests.each import each
from tests.sandbox.driver import Api
from workbench.sandbox import Sandbox
from workbench.sandbox.remote import RemoteClock


def until(done, seconds=10):
    """Wait until a condition is true."""
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        time.sleep(0.02)
    return done()


def test_an_embedded_clock_stands_unless_it_is_set():
    sandbox = Sandbox()
    before = sandbox.clock.now()
    time.sleep(0.01)

    assert before == sandbox.clock.now() == Sandbox(clock="fixed").clock.now()
    assert not sandbox.clock.runs


@pytest.mark.parametrize("clock", ["now", "2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC), "x60", "×60"])
def test_a_clock_runs_from_now_or_a_time(clock):
    began = datetime.now(UTC)
    sandbox = Sandbox(clock=clock)
    first = sandbox.clock.now()

    assert until(lambda: sandbox.clock.now() > first)
    if clock in ("now", "x60", "×60"):
        assert abs(first - began) < timedelta(minutes=5)
    else:
        assert timedelta() <= first - datetime(2026, 3, 1, 12, tzinfo=UTC) < timedelta(minutes=5)


@each("clock", ["later", "x0x", "60", "2026-03-01T12:00:00", datetime(2026, 3, 1), 5])  # noqa: DTZ001
def test_another_clock_is_refused(clock):
    with pytest.raises(ValueError, match="clock must be"):
        Sandbox(clock=clock)


def test_reviews_finish_on_a_running_clock():
    """A fast clock ends a review of one minute almost immediately."""
    api = Api(Sandbox(clock="x6000"))
    user = api.apply().body["id"]

    assert until(lambda: api.sandbox.state(user)["status"] == "approved")
    filed, approved = (one.at for one in api.sandbox.events("user.updated"))
    assert timedelta(seconds=60) == approved - filed


def test_a_running_clock_can_be_moved_and_reset():
    sandbox = Sandbox(clock="now")
    sandbox.advance(days=2)
    ahead = sandbox.clock.now() - datetime.now(UTC)
    sandbox.reset()

    assert timedelta(days=1.9) < ahead < timedelta(days=2.1)
    assert abs(sandbox.clock.now() - datetime.now(UTC)) < timedelta(minutes=5)
    assert sandbox.clock.runs


def test_signatures_of_a_served_running_sandbox_end_in_the_future():
    """With a running clock a signature expires in the future, so that a real client can use it."""
    with Sandbox(clock="now").serve() as url, wb.connect(url) as api:
        contract = api.list_contracts()[0]
        signature = api.sign_withdrawal(
            token=contract.tokens[0].address, amount="100", admin_address=contract.admin_addresses[0],
            recipient_address=contract.admin_addresses[1], is_amount_native=False,
        )  # fmt: skip

        assert signature.expires_at > datetime.now(UTC)


def test_retries_of_webhooks_come_by_themselves():
    """With a running clock retries are sent without a control or a request."""
    with closing(Sandbox(clock="x600")) as sandbox:
        sandbox.register_endpoint("http://127.0.0.1:9/webhooks")
        Api(sandbox).authorize()

        assert until(lambda: len(sandbox.deliveries()) == 2 and all(len(d.attempts) > 2 for d in sandbox.deliveries()))


def test_the_world_of_a_later_clock_lies_before_it():
    """No seeded time is later than the sandbox's clock."""
    sandbox = Sandbox(clock="2027-05-05T00:00:00Z")
    user = sandbox.guide()["rewards_users"][0]["id"]
    items = Api(sandbox).call("GET", "/issuing/rewards/activity", userId=user).body["items"]

    assert "2027-04" < items[0]["createdAt"] < "2027-05-06"


def test_a_file_keeps_its_clock(tmp_path):
    """A file preserves its clock. A running clock continues while the file is closed."""
    path = tmp_path / "sandbox.db"
    Sandbox(path=path, clock="x60").close()
    again = Sandbox(path=path)

    assert again.clock.runs
    again.close()
    stopped = Sandbox(path=path, clock="fixed")
    assert not stopped.clock.runs
    stopped.close()


def test_the_clock_of_a_served_sandbox_moves_by_a_control():
    """The clock passes the seconds to the control, and returns the new time."""
    asked: list[dict[str, float]] = []

    def advance(**by: float) -> Any:
        asked.append(by)
        return SimpleNamespace(now=datetime(2026, 1, 15, 17, tzinfo=UTC))

    served: Any = SimpleNamespace(advance=advance)

    assert RemoteClock(served).advance(seconds=6.5) == datetime(2026, 1, 15, 17, tzinfo=UTC)
    assert asked == [{"seconds": 6.5}]
