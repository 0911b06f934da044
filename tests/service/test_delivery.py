"""Outgoing webhooks: in order, signed, retried by the schedule, and with fault rules."""

import asyncio
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from workbench.base.errors import UsageError
from workbench.base.system.http_server import running
from workbench.base.system.messages import Request, Response
from workbench.client.webhooks.inbox import Inbox
from workbench.client.webhooks.verify import hmac_signature, read_delivery, sign
from workbench.sandbox import Sandbox
from workbench.sandbox.control_records import Delivery
from workbench.sandbox.internals import internals
from workbench.service.interface.assumptions import BEHAVIORS

TRIES, FIRST, FACTOR, MOST = BEHAVIORS["event_retries"].documented
SPREAD = BEHAVIORS["event_retry_spread"].documented


class Endpoint:
    """A receiver that answers with the given statuses and stores the deliveries."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.came: list[tuple[dict[str, str], bytes]] = []
        self.blocked = threading.Event()
        self.blocked.set()

    def answer(self, request: Request) -> Response:
        """Answer with the next status, or with 200 if none remains."""
        self.blocked.wait(20)
        self.came.append((dict(request.headers), request.body))
        return Response(status=self.statuses.pop(0) if self.statuses else 200)

    @property
    def seen(self) -> list[str]:
        """The deliveries, as application status or event kind."""
        events = [read_delivery(body) for _, body in self.came]
        return [getattr(event.body, "application_status", None) or event.action for event in events]


@pytest.fixture(scope="module")
def receivers() -> Iterator[tuple[dict[str, Endpoint], str]]:
    """Yield the receivers by path, and the URL of their server."""
    by_path: dict[str, Endpoint] = {}
    with running(lambda request: by_path[request.path.split("/")[1]].answer(request)) as url:
        yield by_path, url


@pytest.fixture
def endpoint(receivers: tuple[dict[str, Endpoint], str]) -> tuple[Endpoint, str]:
    """Return a receiver and its URL."""
    by_path, url = receivers
    path = f"hook{len(by_path)}"
    by_path[path] = Endpoint()
    return by_path[path], f"{url}/{path}"


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """Yield a sandbox in memory."""
    made = Sandbox()
    yield made
    made.close()


def review(sandbox: Sandbox, *statuses: str) -> None:
    """Move one user's application through some statuses."""
    user = sandbox.records("user")[32]["id"]  # this user is initially exempt from review
    for status in statuses:
        sandbox.review(user, status)


def flushed(sandbox: Sandbox) -> list[Delivery]:
    """Wait until no delivery is due; return the deliveries."""
    assert sandbox.flush().ok
    return sandbox.deliveries()


def test_events_come_in_order_and_signed(sandbox: Sandbox, endpoint: tuple[Endpoint, str]) -> None:
    """Every event after the registration arrives once, in order, and an inbox with the key verifies it."""
    receiver, url = endpoint
    review(sandbox, "locked")
    sandbox.register_endpoint(url)
    statuses = ["approved", "denied", "manualReview", "approved", "locked"]
    review(sandbox, *statuses)
    found = flushed(sandbox)
    inbox = Inbox(keys=[sandbox.full_key])

    assert receiver.seen == statuses
    assert [one.state for one in found] == ["delivered"] * 5
    assert all(inbox.receive(headers, body).verified for headers, body in receiver.came)
    assert [event.id for event in inbox.events()] == [one.event_id for one in found]


def test_events_of_another_tenant_do_not_come(sandbox: Sandbox, endpoint: tuple[Endpoint, str]) -> None:
    """An endpoint gets only the events of its key's tenant."""
    receiver, url = endpoint
    keys = sandbox.guide()["api_keys"]
    internals(sandbox).for_key(keys["company team"]).register_endpoint(url)
    review(sandbox, "locked")

    assert flushed(sandbox) == []
    assert receiver.came == []


def test_schedule_of_retries(sandbox: Sandbox, endpoint: tuple[Endpoint, str]) -> None:
    """A rejected delivery is retried on the sandbox's clock: after 2.5 s, then three times as long, at most a day.

    The seed shortens each delay by up to a tenth.
    """
    receiver, url = endpoint
    receiver.statuses = [500, 404, 301, 199 + 301] * 10
    sandbox.register_endpoint(url)
    review(sandbox, "locked")
    flushed(sandbox)
    sandbox.advance(seconds=FIRST * (1 - SPREAD) - 0.1)
    early = len(flushed(sandbox)[0].attempts)
    sandbox.advance(days=30)
    (delivery,) = flushed(sandbox)
    times = [one.at for one in delivery.attempts]
    waits = [(after - before).total_seconds() for before, after in pairwise(times)]

    assert early == 1
    shares = [wait / min(FIRST * FACTOR**i, MOST) for i, wait in enumerate(waits)]
    assert len(waits) == TRIES - 1
    assert all(1 - SPREAD <= share <= 1 for share in shares)
    assert len(set(shares)) > TRIES / 2
    assert (delivery.state, len(receiver.came)) == ("failed", TRIES)
    assert len({body for _, body in receiver.came}) == 1


@pytest.mark.slow
def test_taken_after_a_while(sandbox: Sandbox, endpoint: tuple[Endpoint, str]) -> None:
    """A delivery that is accepted after retries has every attempt recorded. Later deliveries do not wait for it."""
    receiver, url = endpoint
    receiver.statuses = [503, 200, 429]
    sandbox.register_endpoint(url)
    review(sandbox, "locked", "approved")
    flushed(sandbox)
    sandbox.advance(seconds=10)
    first, second = flushed(sandbox)

    assert receiver.seen == ["locked", "approved", "locked", "locked"]
    assert [one.status for one in first.attempts] == [503, 429, 200]
    assert (first.state, second.state) == ("delivered", "delivered")


@pytest.mark.slow
def test_gone_disables(sandbox: Sandbox, endpoint: tuple[Endpoint, str]) -> None:
    """An endpoint that answers 410 is disabled. After it is enabled, it gets the missed events."""
    receiver, url = endpoint
    receiver.statuses = [410]
    made = sandbox.register_endpoint(url)
    review(sandbox, "locked")
    flushed(sandbox)
    review(sandbox, "approved")
    sandbox.advance(days=2)
    before = flushed(sandbox)

    assert (receiver.seen, sandbox.endpoints()[0].enabled) == (["locked"], False)
    assert [one.state for one in before] == ["failed"]
    sandbox.update_endpoint(made.id, enabled=True)
    flushed(sandbox)
    assert receiver.seen == ["locked", "approved"]


@pytest.mark.slow
def test_resend(sandbox: Sandbox, endpoint: tuple[Endpoint, str]) -> None:
    """A resent event has the same id and bytes."""
    receiver, url = endpoint
    sandbox.register_endpoint(url)
    review(sandbox, "locked")
    (first,) = flushed(sandbox)
    sandbox.resend(first.event_id)
    (again,) = flushed(sandbox)

    assert (len(again.attempts), again.state) == (2, "delivered")
    assert receiver.came[0] == receiver.came[1]


def test_rotating_keys(sandbox: Sandbox, endpoint: tuple[Endpoint, str]) -> None:
    """During a rotation both keys sign. After the next rotation the oldest key no longer signs."""
    receiver, url = endpoint
    made = sandbox.register_endpoint(url, signing_key="first-key")
    for key in ("second-key", "third-key"):
        sandbox.update_endpoint(made.id, signing_key=key)
        review(sandbox, "locked" if key == "second-key" else "approved")
        flushed(sandbox)
    (one, first), (two, second) = receiver.came

    assert (one["signature"], one["secondary-signature"]) == (sign(first, "second-key"), sign(first, "first-key"))
    assert hmac_signature(two, second, [b"second-key"]) is True
    assert hmac_signature(two, second, [b"first-key"]) is False
    assert "key" not in str(sandbox.endpoints()).replace("keys", "")


@pytest.mark.parametrize("key", ["", " ", "\0"], ids=repr)
def test_an_empty_signing_key_is_refused(sandbox: Sandbox, key: str) -> None:
    """An empty key is refused at registration and at rotation, and nothing is stored."""
    made = sandbox.register_endpoint("http://127.0.0.1:9/hook", signing_key="first-key")

    with pytest.raises(UsageError, match="signing_key"):
        sandbox.register_endpoint("http://127.0.0.1:9/other", signing_key=key)
    with pytest.raises(UsageError, match="signing_key"):
        sandbox.update_endpoint(made.id, signing_key=key)

    assert sandbox.endpoints() == [made]


@pytest.mark.slow
def test_slow_endpoint_delays_no_other(sandbox: Sandbox, endpoint: tuple[Endpoint, str]) -> None:
    """While one endpoint does not respond, another gets its events, and the sandbox answers."""
    slow, url = endpoint
    slow.blocked.clear()
    quick = Endpoint()
    with running(quick.answer) as other:
        sandbox.register_endpoint(url)
        sandbox.register_endpoint(other)
        review(sandbox, "locked", "approved")
        waited = threading.Event()
        while len(quick.came) < 2:
            waited.wait(0.01)

        assert slow.came == []
        slow.blocked.set()
        assert flushed(sandbox)
    assert quick.seen == slow.seen == ["locked", "approved"]


FAULTS = {
    "duplicate": ({"nth": 1}, ["locked", "locked", "approved", "denied"]),
    "swap": ({"nth": 1}, ["approved", "locked", "denied"]),
    "delay": ({"nth": 2, "seconds": 60}, ["locked", "denied", "approved"]),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_of_delivery(sandbox: Sandbox, endpoint: tuple[Endpoint, str], kind: str) -> None:
    """A rule delivers events twice, out of order, or late."""
    receiver, url = endpoint
    how, expected = FAULTS[kind]
    sandbox.register_endpoint(url)
    sandbox.add_fault(kind, of="user.updated", **how)  # type: ignore[arg-type]
    review(sandbox, "locked", "approved", "denied")
    flushed(sandbox)
    early = list(receiver.seen)
    sandbox.advance(seconds=61)
    found = flushed(sandbox)

    assert receiver.seen == expected
    assert (early == expected) == (kind != "delay")
    assert {one.state for one in found} == {"delivered"}


def test_swapped_with_nothing(sandbox: Sandbox, endpoint: tuple[Endpoint, str]) -> None:
    """An event that is held for the next one is delivered when the clock moves, if no other event follows."""
    receiver, url = endpoint
    sandbox.register_endpoint(url)
    sandbox.add_fault("swap")
    review(sandbox, "locked")
    flushed(sandbox)
    early = list(receiver.seen)
    sandbox.advance(seconds=1)
    flushed(sandbox)

    assert (early, receiver.seen) == ([], ["locked"])


def test_bad_signature(sandbox: Sandbox) -> None:
    """An inbox refuses a delivery with a bad signature, and accepts the correctly signed retry."""
    with Inbox(keys=[sandbox.full_key]) as inbox, inbox.serve() as url:
        sandbox.register_endpoint(url)
        sandbox.add_fault("bad_signature", times=1)
        review(sandbox, "locked")
        flushed(sandbox)
        refused = len(inbox)
        sandbox.advance(seconds=5)
        (delivery,) = flushed(sandbox)

        assert (refused, len(inbox)) == (0, 1)
        assert [one.status for one in delivery.attempts] == [401, 204]


@pytest.mark.slow
def test_deliveries_survive_a_restart(tmp_path: Path, endpoint: tuple[Endpoint, str]) -> None:
    """The next process delivers pending deliveries when they are due."""
    receiver, url = endpoint
    receiver.statuses = [500]
    first = Sandbox(path=tmp_path / "s.db")
    first.register_endpoint(url)
    review(first, "locked")
    flushed(first)
    first.close()
    second = Sandbox(path=tmp_path / "s.db")
    flushed(second)
    early = len(receiver.came)
    second.advance(seconds=3)
    (delivery,) = flushed(second)
    second.close()

    assert (early, len(receiver.came), delivery.state) == (1, 2, "delivered")


@pytest.mark.slow
def test_one_process_delivers(tmp_path: Path, endpoint: tuple[Endpoint, str]) -> None:
    """If two sandboxes share a file, one of them delivers the events of both."""
    receiver, url = endpoint
    first, second = Sandbox(path=tmp_path / "s.db"), Sandbox(path=tmp_path / "s.db")
    first.register_endpoint(url)
    review(first, "locked")
    flushed(first)
    review(second, "approved")
    flushed(first)
    first.close()
    second.close()

    assert receiver.seen == ["locked", "approved"]


def test_reset_drops_what_is_due(sandbox: Sandbox, endpoint: tuple[Endpoint, str]) -> None:
    """A reset preserves endpoints and drops the pending deliveries."""
    receiver, url = endpoint
    receiver.statuses = [500]
    sandbox.register_endpoint(url)
    review(sandbox, "locked")
    flushed(sandbox)
    sandbox.reset()
    sandbox.advance(days=1)
    dropped = flushed(sandbox)
    review(sandbox, "denied")
    flushed(sandbox)

    assert (dropped, receiver.seen, len(sandbox.endpoints())) == ([], ["locked", "denied"], 1)


def test_removed_endpoint(sandbox: Sandbox, endpoint: tuple[Endpoint, str]) -> None:
    """A removed endpoint gets no events, and its deliveries are not listed."""
    receiver, url = endpoint
    made = sandbox.register_endpoint(url)
    sandbox.remove_endpoint(made.id)
    review(sandbox, "locked")

    assert (sandbox.flush().ok, sandbox.endpoints(), sandbox.deliveries(), receiver.came) == (True, [], [], [])


@pytest.mark.slow
def test_endpoint_that_another_process_adds(tmp_path: Path, endpoint: tuple[Endpoint, str]) -> None:
    """The delivering process also serves endpoints that another process registers in the file."""
    receiver, url = endpoint
    first, second = Sandbox(path=tmp_path / "s.db"), Sandbox(path=tmp_path / "s.db")
    removed = first.register_endpoint(url)
    flushed(first)
    second.register_endpoint(f"{url}/second")
    second.remove_endpoint(removed.id)
    review(second, "locked")
    waited = threading.Event()
    while not receiver.came:
        waited.wait(0.01)
    first.close()
    second.close()

    assert receiver.seen == ["locked"]


@pytest.mark.slow
def test_endpoints_that_hang_delay_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While three of ten endpoints do not respond for a minute, the other seven get each event long before."""
    monkeypatch.setattr("workbench.base.system.http_post.TIMEOUT", 60)
    release, arrived = threading.Event(), Counter[str]()

    async def answer(request: Request) -> Response:
        if request.path.startswith("/hangs"):
            await asyncio.to_thread(release.wait, 60)
        arrived[request.path] += 1
        return Response(status=204)

    sandbox = Sandbox(path=tmp_path / "s.db")
    names = [f"/hangs/{i}" for i in range(3)] + [f"/works/{i}" for i in range(7)]
    with running(answer) as url:
        for name in names:
            sandbox.register_endpoint(url + name)
        began = time.monotonic()
        sandbox.review(sandbox.guide()["users"]["approved"][0], "locked")
        while sum(arrived.values()) < 7:
            assert time.monotonic() < began + 30
            time.sleep(0.005)
        release.set()

    assert set(arrived) >= set(names[3:])
    sandbox.close()


IDLE = """
import sys, time
from workbench.sandbox import Sandbox
folder, seconds = sys.argv[1], float(sys.argv[2])
sandboxes = [Sandbox(path=path) for count in (0, 1, 2, 50) for path in (None, f"{folder}/{count}.db")]
for number, sandbox in enumerate(sandboxes):
    for i in range((0, 1, 2, 50)[number // 2]):
        sandbox.register_endpoint(f"http://127.0.0.1:9/{i}")
    assert sandbox.flush().ok
before = time.process_time()
time.sleep(seconds)
print((time.process_time() - before) / seconds)
"""
"""Script with idle sandboxes, for a separate process without other threads."""


@pytest.mark.parametrize(
    "seconds, most",
    [
        pytest.param(2, 0.05, marks=pytest.mark.slow),  # on a busy machine, a wake-up costs several times as much
        pytest.param(10, 0.01, marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_idle_dispatchers_use_no_processor(tmp_path: Path, seconds: float, most: float) -> None:
    """With 0, 1, 2 and 50 idle endpoints, in memory and in a file, less than 5 % of a processor is used.

    On a quiet machine, as in `make soak`, it is less than 1 %.
    """
    done = subprocess.run(
        [sys.executable, "-c", IDLE, str(tmp_path), str(seconds)], capture_output=True, text=True, check=True
    )
    used = float(done.stdout)
    print(f"\nprocessor used by 106 idle endpoints of 8 sandboxes: {used:.2%}")

    assert used < most
