"""An inbox stores each event once, with its exact bytes."""

import itertools
import json
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.each import each
from workbench.base.errors import AdviceWarning, EventTimeout, InvalidWebhook, UnusableFile, UsageError
from workbench.client.webhooks.inbox import Inbox, last_event
from workbench.client.webhooks.verify import sample as sample_event

NOON = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
USER = "00000000-0000-4000-8000-000000000001"


@pytest.fixture(params=["memory", "file"])
def inbox(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Inbox]:
    """Yield an inbox in memory and one in a file."""
    with Inbox(tmp_path / "inbox.db" if request.param == "file" else None, accept_unsigned=True) as made:
        yield made


def put(inbox: Inbox, status: str = "approved", minutes: int | None = 0, **how: Any) -> str:
    """Deliver an event about the user; return its id."""
    at = None if minutes is None else NOON + timedelta(minutes=minutes)
    sample = sample_event("user.updated", id=USER, application_status=status, event_received_at=at, **how)
    return inbox.receive(sample.headers, sample.body).event.id


# each event once


def test_same_delivery_again(inbox: Inbox) -> None:
    """A hundred deliveries of one event from eight threads are one event and 99 duplicates."""
    sample = sample_event("user.updated")
    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(lambda _: inbox.receive(sample.headers, sample.body), range(100)))

    assert sum(not receipt.duplicate for receipt in receipts) == 1
    assert [(one.times, one.conflicting) for one in inbox.stored()] == [(100, False)]


def test_duplicate_after_restart(tmp_path: Path) -> None:
    """A duplicate is recognized after a restart."""
    sample = sample_event("user.updated")
    with Inbox(tmp_path / "inbox.db", accept_unsigned=True) as first:
        first.receive(sample.headers, sample.body)
    with Inbox(tmp_path / "inbox.db", accept_unsigned=True) as second:
        receipt = second.receive(sample.headers, sample.body)

        assert (receipt.duplicate, receipt.conflict, len(second)) == (True, False, 1)


def test_conflicting_bodies(inbox: Inbox) -> None:
    """A delivery with a known id and other bytes is stored as a conflict, and the first delivery stays the event."""
    first = sample_event("user.updated", event_id="e-1", application_status="approved")
    second = sample_event("user.updated", event_id="e-1", application_status="denied")
    inbox.receive(first.headers, first.body)
    receipts = [inbox.receive(second.headers, second.body) for _ in range(2)]

    assert [(one.duplicate, one.conflict) for one in receipts] == [(True, True)] * 2
    assert [(one.raw, one.conflicting) for one in inbox.stored()] == [(first.body, True)]
    assert [one.raw for one in inbox.conflicts("e-1")] == [second.body]
    assert "conflicting" in repr(inbox.stored())


def test_verified_later(tmp_path: Path) -> None:
    """A signed delivery verifies an event whose first delivery was unsigned."""
    sample = sample_event("user.updated", "key")
    inbox = Inbox(keys=["key"], accept_unsigned=True)
    inbox.receive({}, sample.body)
    inbox.receive(sample.headers, sample.body)

    assert [one.verified for one in inbox.stored()] == [True]


def test_repeat_under_another_id(inbox: Inbox) -> None:
    """The same state of a resource under a new envelope id is stored and marked as a repeat."""
    first = put(inbox, "approved", 0)
    put(inbox, "approved", 5)
    links = {"url": "https://example.com/new"}
    put(inbox, "approved", 6, application_completion_link=links)

    assert [one.repeat_of for one in inbox.stored()][:2] == [None, first]
    assert inbox.stored()[2].repeat_of is not None


def test_state_that_returns_is_not_a_repeat(inbox: Inbox) -> None:
    """Approved, locked, approved are three events without a repeat. A late copy of the first event is a repeat."""
    first = put(inbox, "approved", 0)
    put(inbox, "locked", 1)
    put(inbox, "approved", 2)
    put(inbox, "approved", 0)

    assert [one.repeat_of for one in inbox.stored()][:3] == [None, None, None]
    assert inbox.stored()[3].repeat_of is not None
    assert first == inbox.stored()[0].event.id


# history


@each("order", list(itertools.permutations(range(3))), ids=str)
def test_any_order_of_arrival(order: tuple[int, ...]) -> None:
    """In any order of arrival, all events are stored, and the newest by event time and by arrival are known."""
    inbox = Inbox(accept_unsigned=True)
    statuses = ["pending", "approved", "denied"]
    for i in order:
        put(inbox, statuses[i], i)
    latest = inbox.latest(USER)

    assert [event.body.application_status for event in inbox.events()] == [statuses[i] for i in order]
    assert latest.by_arrival is not None
    assert latest.by_event_time is not None
    assert latest.by_arrival.body.application_status == statuses[order[-1]]
    assert latest.by_event_time.body.application_status == "denied"
    assert latest.differ == (order[-1] != 2)


def test_events_without_time() -> None:
    """If no event has a time, there is no newest event by event time."""
    inbox = Inbox(accept_unsigned=True)
    put(inbox, "pending", None)
    put(inbox, "approved", None)
    latest = inbox.latest(USER)

    assert (latest.by_event_time, latest.differ) == (None, False)


def test_reading_by_kind_condition_and_time(inbox: Inbox) -> None:
    """Events can be selected by kind, by attribute paths or a function, and after a mark."""
    put(inbox, "pending", 0)
    mark = last_event(inbox)
    last = put(inbox, "approved", 1)
    other = sample_event("card.updated")
    inbox.receive(other.headers, other.body)

    assert [one.id for one in inbox.events("user.updated", {"application_status": "approved"})] == [last]
    assert [one.id for one in inbox.events("user.*", since=mark)] == [last]
    assert [one.id for one in inbox.events(where=lambda event: event.resource == "card")] == [other.event.id]
    assert len(inbox.events(where={"body.id": USER})) == 2
    assert inbox.events(since=datetime.now(UTC) + timedelta(hours=1)) == []


# waiting


def test_wait_for_what_is_there(inbox: Inbox) -> None:
    """`wait` returns the newest matching event at once if there is one."""
    put(inbox, "pending", 0)
    last = put(inbox, "approved", 1)

    assert inbox.wait("user.updated", timeout=0).id == last


def test_wait_for_what_comes(inbox: Inbox) -> None:
    """`wait` returns an event that arrives during the wait."""
    put(inbox, "pending", 0)
    thread = threading.Timer(0.05, put, (inbox, "approved", 1))
    thread.start()
    event = inbox.wait("user.updated", where={"application_status": "approved"}, timeout=10)
    thread.join()

    assert event.body.application_status == "approved"


def test_wait_without_a_match(inbox: Inbox) -> None:
    """A wait that times out says what arrived instead, without values."""
    put(inbox, "pending", 0, first_name="Canary")

    with pytest.raises(EventTimeout, match=r"1 of that kind.*application_status") as caught:
        inbox.wait("user.updated", where={"application_status": "denied", "first_name": "Canary"}, timeout=0.01)
    with pytest.raises(TimeoutError, match=r"1 events stored \(user\.updated\)"):
        inbox.wait("card.updated", timeout=0)
    assert "Canary" not in str(caught.value)


def test_wait_by_a_clock() -> None:
    """With a clock, `wait` advances the clock and takes no real time."""
    inbox = Inbox(accept_unsigned=True)

    class Clock:
        passed = 0.0

        def advance(self, *, seconds: float) -> None:
            self.passed += seconds
            if self.passed == 60:
                put(inbox, "approved")

    clock = Clock()
    event = inbox.wait("user.updated", timeout=3600, clock=clock)

    assert (event.body.id, clock.passed) == (USER, 60)


def test_source_is_read_first() -> None:
    """Before each read an inbox pulls the deliveries of its source, each once, and skips invalid ones."""
    samples = [sample_event("user.updated") for _ in range(3)]
    queue = [(i, sample.headers, sample.body) for i, sample in enumerate(samples, start=1)]
    queue.insert(1, (9, {}, b"broken"))
    asked = []

    def source(after: int) -> tuple[list[tuple[int, Any, bytes]], int]:
        asked.append(after)
        return ([], after) if after else (queue, 3)

    inbox = Inbox(source=source, accept_unsigned=True)

    assert [event.id for event in inbox.events()] == [sample.event.id for sample in samples]
    # `events()` reads until a batch is empty (0, 3); `len()` reads once more (3)
    assert (len(inbox), asked, len(inbox.refusals)) == (3, [0, 3, 3], 1)


# on disk


def test_file_is_private(tmp_path: Path) -> None:
    """Only the owner can access the file, and a folder that was created for it."""
    with Inbox(tmp_path / "made" / "inbox.db", accept_unsigned=True) as inbox:
        put(inbox)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "made").iterdir()}

    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o700


def test_full_disk_is_not_acknowledged(tmp_path: Path, fill_disk: Callable[[bool], None]) -> None:
    """A delivery that cannot be stored raises an error, so that it is not acknowledged. Later deliveries are stored."""
    with Inbox(tmp_path / "inbox.db", accept_unsigned=True) as inbox:
        fill_disk(True)
        sample = sample_event("user.updated", application_reason="x" * 100_000)
        with pytest.raises(UnusableFile, match="Nothing was stored"):
            inbox.receive(sample.headers, sample.body)
        assert inbox.respond(sample.headers, sample.body) == 503
        fill_disk(False)

        assert inbox.receive(sample.headers, sample.body).duplicate is False


def test_two_inboxes_on_one_file(tmp_path: Path) -> None:
    """Two inboxes on one file agree about duplicates, and see each other's events."""
    with (
        Inbox(tmp_path / "inbox.db", accept_unsigned=True) as one,
        Inbox(tmp_path / "inbox.db", accept_unsigned=True) as other,
    ):
        sample = sample_event("user.updated")

        assert [box.receive(sample.headers, sample.body).duplicate for box in (one, other)] == [False, True]
        assert other.wait("user.updated", timeout=0).id == sample.event.id


def test_purged_is_gone(tmp_path: Path) -> None:
    """A purged id is erased from the bytes of the file, and a redelivery is not a new event."""
    path = tmp_path / "inbox.db"
    with Inbox(path, accept_unsigned=True) as inbox:
        inbox.on("user.updated")(lambda event: None)
        doomed = sample_event("user.updated", id=USER, first_name="Canarybird")
        stays = sample_event("user.updated")
        for one in (doomed, stays):
            inbox.receive(one.headers, one.body)

        assert inbox.purge(USER) == 1
        assert b"Canarybird" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
        assert inbox.receive(doomed.headers, doomed.body).duplicate is True
        assert [event.id for event in inbox.events()] == [stays.event.id]


def test_retention(tmp_path: Path) -> None:
    """Events older than `keep_for` are purged when the inbox is opened, including events without a time."""
    now = [NOON]
    with Inbox(tmp_path / "inbox.db", now=lambda: now[0], accept_unsigned=True) as inbox:
        put(inbox, "pending")
        put(inbox, "denied", minutes=None)
        now[0] += timedelta(days=2)
        put(inbox, "approved", minutes=2 * 24 * 60)
    with Inbox(tmp_path / "inbox.db", keep_for=timedelta(days=1), now=lambda: now[0], accept_unsigned=True) as inbox:
        assert [event.body.application_status for event in inbox.events()] == ["approved"]


def test_retention_where_the_clock_is_ahead(tmp_path: Path) -> None:
    """A clock that is years ahead purges no event, even if an event arrives meanwhile."""
    now = [NOON]
    with Inbox(tmp_path / "inbox.db", now=lambda: now[0], accept_unsigned=True) as inbox:
        put(inbox, "pending")
        now[0] += timedelta(days=2000)
        put(inbox, "approved", minutes=10)
    with Inbox(tmp_path / "inbox.db", keep_for=timedelta(days=1), now=lambda: now[0], accept_unsigned=True) as inbox:
        assert len(inbox) == 2


@pytest.mark.parametrize("timed", [True, False])
def test_retention_of_events_without_a_time(tmp_path: Path, timed: bool) -> None:
    """A clock that is years ahead purges no event without a time, whether or not other events have one."""
    now = [NOON]
    with Inbox(tmp_path / "inbox.db", now=lambda: now[0], accept_unsigned=True) as inbox:
        put(inbox, "denied", minutes=None)
        if timed:
            put(inbox, "pending")
        put(inbox, "approved", minutes=None)
    now[0] += timedelta(days=2000)
    with Inbox(tmp_path / "inbox.db", keep_for=timedelta(days=1), now=lambda: now[0], accept_unsigned=True) as inbox:
        assert len(inbox) == 2 + timed


def test_empty_id_purges_nothing() -> None:
    """`purge` refuses an empty id, which every event contains."""
    inbox = Inbox(accept_unsigned=True)
    put(inbox)

    with pytest.raises(ValueError, match="empty"):
        inbox.purge("")
    assert len(inbox) == 1


def test_file_of_others_is_left_alone(tmp_path: Path) -> None:
    """A database of another program is refused and left unchanged."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE t(x)")
    before = path.read_bytes()

    with pytest.raises(UnusableFile, match="not a workbench database"):
        Inbox(path, accept_unsigned=True)
    assert path.read_bytes() == before


def test_body_is_kept_byte_for_byte(inbox: Inbox) -> None:
    """Spacing, escapes and member order of a body are preserved."""
    raw = json.dumps({"action": "a", "id": "é", "body": {"n": 1.50}, "resource": "r"}, indent=3).encode()
    inbox.receive({}, raw)

    assert [raw] == [stored.raw for stored in inbox.stored()]
    assert os.linesep not in repr(inbox)


def test_a_closed_inbox_can_still_be_printed(inbox: Inbox) -> None:
    """The repr of a closed inbox says that it is closed."""
    put(inbox)
    inbox.close()

    assert "closed" in repr(inbox)


@pytest.mark.parametrize("body", [b"1", b'"x"', b"true", b"1.5"])
def test_a_body_that_is_a_scalar_is_refused(body: bytes) -> None:
    """A delivery whose body is a scalar raises InvalidWebhook, not an error of a library."""
    with Inbox(accept_unsigned=True) as inbox, pytest.raises(InvalidWebhook, match="not a JSON object"):
        inbox.receive({}, b'{"id":"a","resource":"user","action":"updated","body":%s}' % body)


def test_a_damaged_conflict_is_set_aside(tmp_path: Path) -> None:
    """A damaged conflict is not returned, and the event stays."""
    path = tmp_path / "inbox.db"
    with Inbox(path, accept_unsigned=True) as inbox:
        for status in ("approved", "denied", "pending"):
            sample = sample_event("user.updated", event_id="e-1", application_status=status)
            inbox.receive(sample.headers, sample.body)
        assert len(inbox.conflicts()) == 2
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE conflicts SET verified = 1 WHERE sequence = 1")
        database.commit()
    with pytest.warns(AdviceWarning, match="damaged records of conflicts are set aside"):
        inbox = Inbox(path, accept_unsigned=True)
    with inbox:
        assert [conflict.event.body.application_status for conflict in inbox.conflicts()] == ["pending"]
        assert len(inbox) == 1


@pytest.mark.parametrize("again", [False, True], ids=["received", "read again"])
def test_an_event_accepted_unsigned_carries_the_mark(tmp_path: Path, again: bool) -> None:
    """Handlers recognize an unsigned event by its mark. A signed event has no mark."""
    unsigned, signed = sample_event("user.updated"), sample_event("user.updated", "key")
    inbox = Inbox(tmp_path / "inbox.db", keys=["key"], accept_unsigned=True)
    for delivery in (unsigned, signed):
        inbox.receive(delivery.headers, delivery.body)
    if again:
        inbox.close()
        inbox = Inbox(tmp_path / "inbox.db", keys=["key"], accept_unsigned=True)
    marks = [[mark.rule for mark in event.marks] for event in inbox.events()]
    inbox.close()

    assert marks == [["unsigned"], []]


def test_a_wait_has_an_end() -> None:
    """NaN, which comes before and after no time, is refused, and a negative timeout ends at once."""
    with pytest.raises(UsageError, match="timeout must be a number of seconds, not NaN"):
        Inbox(accept_unsigned=True).wait("card.updated", timeout=float("nan"))
    with pytest.raises(EventTimeout):
        Inbox(accept_unsigned=True).wait("card.updated", timeout=-1)
