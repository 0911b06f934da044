"""Handlers of events are isolated, recorded, retried, awaited, and resumed after a crash."""

import asyncio
import functools
import itertools
import logging
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import UsageError
from workbench.client.webhooks.handlers import RETRY_AFTER, Failure
from workbench.client.webhooks.inbox import Inbox
from workbench.client.webhooks.verify import sample as sample_event
from workbench.service.interface.events import Event


def put(inbox: Inbox, kind: str = "user.updated") -> str:
    """Deliver an event; return its id."""
    sample = sample_event(kind)
    return inbox.receive(sample.headers, sample.body).event.id


def given_up(inbox: Inbox) -> list[Failure]:
    """Return the runs whose retries all failed."""
    return [failure for failure in inbox.failures() if failure.given_up]


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Wait until a condition is true; fail after a timeout."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def boom(event: Event) -> None:
    """Raise an error whose message contains a private value."""
    raise LookupError(f"no account of {event.body.first_name} Canary")


@pytest.mark.parametrize(
    "pattern,kinds",
    [
        ("user.updated", ["user.updated"]),
        ("transaction.*", ["transaction.created", "transaction.completed"]),
        ("*", ["user.updated", "transaction.created", "transaction.completed"]),
        ("card.updated", []),
    ],
)
def test_handlers_by_kind(pattern: str, kinds: list[str]) -> None:
    """A handler gets the events of its kind in order, each once, without duplicates."""
    inbox, seen = Inbox(accept_unsigned=True), []

    @inbox.on(pattern)
    def note(event: Event) -> None:
        seen.append(event.kind)

    for kind in ("user.updated", "transaction.created", "transaction.completed"):
        sample = sample_event(kind)
        for _ in range(2):
            inbox.receive(sample.headers, sample.body)

    assert seen == kinds


def test_failure_is_isolated_and_recorded(caplog: pytest.LogCaptureFixture) -> None:
    """A failing handler stops neither delivery nor other handlers. Its message is stored, but not shown or logged."""
    inbox, seen = Inbox(accept_unsigned=True), []
    inbox.on("*", name="bad")(boom)
    inbox.on("*", name="good")(lambda event: seen.append(event.id))
    with caplog.at_level(logging.DEBUG):
        first, second = put(inbox), put(inbox)
    failures = inbox.failures()

    assert seen == [first, second]
    assert [(one.handler, one.event_id, one.tries, one.given_up) for one in failures] == [
        ("bad", first, 1, False),
        ("bad", second, 1, False),
    ]
    assert failures[0].error == "LookupError: no account of Ada Canary"
    assert "Canary" not in repr(failures) + caplog.text
    assert "LookupError" in caplog.text


def test_tried_again_until_given_up() -> None:
    """A failure is retried at the handler's intervals, and afterwards only on request."""
    times = [0.0]
    inbox = Inbox(now=lambda: datetime.fromtimestamp(times[0], UTC), accept_unsigned=True)
    calls = []

    @inbox.on("*", name="bad", retry_after=(1, 10))
    def bad(event: Event) -> None:
        calls.append(times[0])
        raise ValueError

    event_id = put(inbox)
    for moment in (0.5, 1.5, 2.0, 20.0, 1000.0):
        times[0] = moment
        assert not given_up(inbox) or moment == 1000
        inbox.run_handlers()

    assert calls == [0.0, 1.5, 20.0]
    assert [(one.event_id, one.tries) for one in given_up(inbox)] == [(event_id, 3)]
    assert inbox.retry("bad") == 0
    assert calls == [0.0, 1.5, 20.0, 1000.0]
    assert given_up(inbox) == []


def test_a_clock_that_goes_back_delays_no_retry() -> None:
    """A failure is retried after its interval at the latest, even if the clock was set back."""
    times = [1_000_000.0]
    inbox = Inbox(now=lambda: datetime.fromtimestamp(times[0], UTC), accept_unsigned=True)
    calls = []

    @inbox.on("*", name="bad", retry_after=(5, 50_000))
    def bad(event: Event) -> None:
        calls.append(times[0])
        raise ValueError

    put(inbox)
    for moment in (1_000_004.0, 1_000_000.0 - 20_000, 1_000_000.0 - 19_000):
        times[0] = moment
        inbox.run_handlers()

    assert calls == [1_000_000.0, 1_000_000.0 - 20_000]


@pytest.mark.slow
def test_tries_last_about_a_day_and_vary() -> None:
    """By default a failure is retried for about a day, at growing intervals that vary by at most 10 %."""
    times = [0.0]
    inbox = Inbox(now=lambda: datetime.fromtimestamp(times[0], UTC), accept_unsigned=True)
    calls: list[float] = []

    @inbox.on("*", name="bad")
    def bad(event: Event) -> None:
        calls.append(times[0])
        raise ValueError

    put(inbox)
    while not given_up(inbox):
        times[0] += max(0.1, times[0] / 300)
        inbox.run_handlers()
    pauses = [later - earlier for earlier, later in itertools.pairwise(calls)]

    assert len(pauses) == len(RETRY_AFTER)
    assert all(0.85 * usual <= pause <= 1.15 * usual + 0.2 for pause, usual in zip(pauses, RETRY_AFTER, strict=True))
    assert 0.8 * 86_400 < calls[-1] < 1.2 * 86_400


def test_the_programs_random_numbers_are_left_alone() -> None:
    """Retries do not change the random numbers of a seeded program."""
    inbox = Inbox(accept_unsigned=True)
    inbox.on("*", name="bad")(lambda event: 1 / 0)
    random.seed(7)
    expected = random.Random(7).random()
    put(inbox)
    inbox.run_handlers()

    assert random.random() == expected


@pytest.mark.parametrize("ordered", [True, False])
def test_the_order_of_a_resource_is_kept_if_asked(ordered: bool) -> None:
    """With `ordered`, later events about a resource wait while an event is retried."""
    times, down, seen = [0.0], {"u-1"}, []
    inbox = Inbox(now=lambda: datetime.fromtimestamp(times[0], UTC), accept_unsigned=True)
    inbox.on("*", name="another", ordered=True)(boom)

    @inbox.on("*", name="book", ordered=ordered, retry_after=(1, 1))
    def book(event: Event) -> None:
        if event.body.id in down:
            raise LookupError
        seen.append((event.body.id, event.body.application_status))

    for user, status in (("u-1", "pending"), ("u-2", "pending"), ("u-1", "approved"), ("u-2", "approved")):
        sample = sample_event("user.updated", id=user, application_status=status)
        inbox.receive(sample.headers, sample.body)
    down.clear()
    times[0] = 0.5
    inbox.run_handlers()
    early = [status for user, status in seen if user == "u-1"]
    times[0] = 1.5
    inbox.run_handlers()

    assert early == []
    assert [status for user, status in seen if user == "u-2"] == ["pending", "approved"]
    assert [status for user, status in seen if user == "u-1"] == ["pending", "approved"]
    assert [one.handler for one in inbox.failures()] == ["another"] * 2


def test_an_event_that_is_given_up_holds_up_no_later_one() -> None:
    """With `ordered`, later events continue after an event whose retries all failed, also after a restart."""
    times, seen = [0.0], []
    inbox = Inbox(now=lambda: datetime.fromtimestamp(times[0], UTC), accept_unsigned=True)

    @inbox.on("*", name="book", ordered=True, retry_after=(1,))
    def book(event: Event) -> None:
        if event.body.application_status == "pending":
            raise LookupError
        seen.append(event.body.application_status)

    for status in ("pending", "approved", "locked"):
        sample = sample_event("user.updated", id="u-1", application_status=status)
        inbox.receive(sample.headers, sample.body)
    assert (seen, len(inbox.failures())) == ([], 1)
    times[0] = 2.0
    inbox.run_handlers()

    assert seen == ["approved", "locked"]
    assert len(given_up(inbox)) == 1


def test_retry_that_goes_well() -> None:
    """A failure whose retry succeeds is no longer listed."""
    inbox, ready = Inbox(accept_unsigned=True), []

    @inbox.on("*", name="later")
    def later(event: Event) -> None:
        if not ready:
            raise ValueError

    event_id = put(inbox)
    ready.append(True)

    assert inbox.retry(event_id=event_id) == 1
    assert inbox.failures() == ()


def test_effects_go_on_after_a_restart(tmp_path: Path) -> None:
    """After a restart the handler with the same name processes the remaining events."""
    with Inbox(tmp_path / "inbox.db", accept_unsigned=True) as first:

        @first.on("*", name="book")
        def interrupted(event: Event) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            put(first)
    seen: list[str] = []
    with Inbox(tmp_path / "inbox.db", accept_unsigned=True) as second:
        second.on("*", name="book")(lambda event: seen.append(event.id))

        assert (second.run_handlers(), second.run_handlers()) == (1, 0)
        assert seen == [event.id for event in second.events()]


def test_atomic_effect_is_undone_by_a_failure(tmp_path: Path) -> None:
    """The writes of an atomic handler are stored together with the record of its run, or not at all."""
    with Inbox(tmp_path / "inbox.db", accept_unsigned=True) as inbox:
        ledger = sqlite3.connect(tmp_path / "inbox.db", isolation_level=None)
        ledger.execute("CREATE TABLE ledger(id TEXT)")
        fail = [True]

        @inbox.on("*", name="book", atomic=True)
        def book(event: Event, db: sqlite3.Connection) -> None:
            db.execute("INSERT INTO ledger VALUES (?)", (event.id,))
            if fail:
                raise ValueError

        event_id = put(inbox)

        assert ledger.execute("SELECT * FROM ledger").fetchall() == []
        fail.clear()
        inbox.retry()
        assert ledger.execute("SELECT * FROM ledger").fetchall() == [(event_id,)]
        ledger.close()


@pytest.mark.slow
def test_one_process_at_a_time_runs_a_handler(tmp_path: Path) -> None:
    """Of several inboxes on one file, one at a time runs a handler, and each event is handled once."""
    path, seen, inside = tmp_path / "inbox.db", [], threading.Lock()
    inboxes = [Inbox(path, accept_unsigned=True) for _ in range(4)]

    def book(event: Event) -> None:
        assert inside.acquire(blocking=False)
        time.sleep(0.001)
        seen.append(event.id)
        inside.release()

    for inbox in inboxes:
        inbox.on("*", name="book")(book)
    with ThreadPoolExecutor(len(inboxes)) as pool:
        ids = list(pool.map(put, inboxes * 25))
    wait_until(lambda: len(seen) == len(ids))

    assert sorted(seen) == sorted(ids)
    assert [failure for inbox in inboxes for failure in inbox.failures()] == []
    for inbox in inboxes:
        inbox.close()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["quiet", "busy", "running"])
def test_an_event_of_another_worker_is_handled_within_a_second(tmp_path: Path, mode: str) -> None:
    """An event that one worker acknowledges is handled by any worker, without another delivery."""
    path, seen, began, release = tmp_path / "inbox.db", [], threading.Event(), threading.Event()
    first, second = Inbox(path, accept_unsigned=True), Inbox(path, accept_unsigned=True)

    def book(event: Event) -> None:
        began.set()
        if mode == "busy":
            release.wait(10)
        seen.append(event.id)

    for inbox in (first, second):
        inbox.on("*", name="book")(book)
    with first.running() if mode == "running" else nullcontext(), ThreadPoolExecutor(1) as pool:
        pool.submit(put, first)
        assert began.wait(10)
        event_id = put(second)
        release.set()
        wait_until(lambda: event_id in seen, seconds=1)
    first.close()
    second.close()


HOLDER = """
import sys, threading
from workbench.client.webhooks.inbox import Inbox
inbox = Inbox(sys.argv[1], accept_unsigned=True)
@inbox.on("*", name="book")
def book(event):
    print("in hand", flush=True)
    threading.Event().wait()
inbox.run_handlers()
"""


@pytest.mark.slow
def test_a_worker_that_is_killed_holds_nothing_up(tmp_path: Path) -> None:
    """If the worker that runs a handler is killed, another worker takes over all its events."""
    path, seen = tmp_path / "inbox.db", []
    with Inbox(path, accept_unsigned=True) as inbox:
        ids = [put(inbox)]
        with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "in hand\n"
            inbox.on("*", name="book")(lambda event: seen.append(event.id))
            ids.append(put(inbox))
            assert seen == []
            holder.kill()
        wait_until(lambda: seen == ids, seconds=2)


@pytest.mark.slow
def test_one_process_receives_and_another_handles(tmp_path: Path) -> None:
    """A process without handlers receives, and a handling process gets every event, including earlier ones."""
    path, seen = tmp_path / "inbox.db", []
    with Inbox(path, accept_unsigned=True) as receiver, Inbox(path, accept_unsigned=True) as worker:
        ids = [put(receiver) for _ in range(3)]
        worker.on("user.*", name="book")(lambda event: seen.append(event.id))
        with worker.running():
            wait_until(lambda: seen == ids)
            put(receiver, "transaction.created")
            ids.append(put(receiver))
            wait_until(lambda: seen == ids)


@pytest.mark.parametrize("since, expected", [("beginning", [0, 1, 2, 3]), ("now", [3]), (1, [2, 3]), (2, [3])])
def test_where_a_handler_begins(tmp_path: Path, since: str | int, expected: list[int]) -> None:
    """A new handler begins where its registration says, and continues at its position after a restart."""
    path, seen = tmp_path / "inbox.db", []
    with Inbox(path, accept_unsigned=True) as first:
        ids = [put(first) for _ in range(3)]
        begin = ids[since] if isinstance(since, int) else since
        first.on("*", name="book", since=begin)(lambda event: None)
    with Inbox(path, accept_unsigned=True) as second:
        ids.append(put(second))
        second.on("*", name="book", since="beginning")(lambda event: seen.append(event.id))
        second.run_handlers()

    assert seen == [ids[place] for place in expected]


def test_a_handler_cannot_begin_at_an_unknown_event() -> None:
    """An unknown event id as start position is refused at registration."""
    with pytest.raises(UsageError, match="since must be"):
        Inbox(accept_unsigned=True).on("*", since="nothing")(lambda event: None)


@pytest.mark.slow
def test_handlers_survive_a_busy_store(tmp_path: Path) -> None:
    """While another program holds the file, `failures()` says so. Afterwards the same threads handle the events."""
    path, seen = tmp_path / "inbox.db", []
    with Inbox(path, accept_unsigned=True) as inbox:
        first = put(inbox)
        holder = sqlite3.connect(path, isolation_level=None)
        inbox.on("*", name="book")(lambda event: seen.append(event.id))
        holder.execute("BEGIN IMMEDIATE")
        with inbox.running():
            wait_until(lambda: inbox.failures() != ())
            assert [(one.handler, one.event_id, one.given_up) for one in inbox.failures()] == [("book", None, False)]
            assert "FileBusy" in inbox.failures()[0].error
            holder.execute("ROLLBACK")
            last = put(inbox)
            wait_until(lambda: last in seen and inbox.failures() == ())
        holder.close()

    assert {first, last} == set(seen)


@pytest.mark.slow
def test_no_exception_of_a_handler_ends_its_thread() -> None:
    """After any exception, even one of a canceled task, the handler's thread goes on and handles all events."""
    inbox, seen = Inbox(accept_unsigned=True), []
    errors = [asyncio.CancelledError(), GeneratorExit(), KeyboardInterrupt()]

    @inbox.on("*", retry_after=(0, 0))
    def leave(event: Event) -> None:
        if errors:
            raise errors.pop(0)
        seen.append(event.id)

    with inbox.running():
        ids = [put(inbox), put(inbox)]
        wait_until(lambda: sorted(seen) == sorted(ids))


def test_handler_that_reads_its_inbox() -> None:
    """A handler may read the inbox and deliver events, and is not called recursively."""
    inbox, depth, seen = Inbox(accept_unsigned=True), [], []

    @inbox.on("*")
    def nested(event: Event) -> None:
        assert not depth
        depth.append(event)
        if len(inbox.events()) < 3:
            put(inbox)
        seen.append(event.id)
        depth.clear()

    put(inbox)

    assert seen == [event.id for event in inbox.events()]
    assert (len(seen), inbox.failures()) == (3, ())


@pytest.mark.slow
def test_blocked_handler_holds_up_nobody() -> None:
    """A blocked handler in a thread delays neither acknowledgements nor other handlers."""
    inbox, release, seen = Inbox(accept_unsigned=True), threading.Event(), threading.Event()
    inbox.on("*", name="stuck")(lambda event: release.wait(30))
    inbox.on("*", name="quick")(lambda event: seen.set())
    with inbox.running():
        put(inbox)

        assert seen.wait(10)
        assert not release.is_set()
        release.set()


@pytest.mark.slow
def test_handler_registered_while_others_run() -> None:
    """A handler that is registered while others run gets a thread too."""
    inbox, seen = Inbox(accept_unsigned=True), threading.Event()
    with inbox.running():
        inbox.on("*", name="late")(lambda event: seen.set())
        put(inbox)

        assert seen.wait(10)


def test_replay(caplog: pytest.LogCaptureFixture) -> None:
    """A replay calls a function with each stored event in order, and returns the failures."""
    inbox, seen = Inbox(accept_unsigned=True), []
    ids = [put(inbox) for _ in range(3)]

    def picky(event: Event) -> Any:
        seen.append(event.id)
        if event.id == ids[1]:
            raise ValueError

    played = inbox.replay(picky, "user.updated")

    assert seen == ids
    assert (played.handled, [event.id for event, _ in played.failures]) == (2, [ids[1]])
    assert inbox.failures() == ()


def test_handler_of_the_same_name_takes_its_place() -> None:
    """Running a cell again replaces its handler instead of registering a second one."""
    inbox, seen = Inbox(accept_unsigned=True), []
    for version in (1, 2):

        def note(event: Event, version: int = version) -> None:
            seen.append(version)

        inbox.on("*")(note)
    put(inbox)

    assert seen == [2]


async def note_later(seen: list[str], event: Event, db: sqlite3.Connection | None = None) -> None:
    """Note an event after one turn of the event loop."""
    await asyncio.sleep(0)
    if db is not None:
        db.execute("INSERT INTO ledger VALUES (?)", (event.id,))
    seen.append(event.id)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["receive", "receive in a loop", "threads"])
def test_async_handlers_are_awaited(mode: str) -> None:
    """An async handler is awaited before its run counts as done, wherever the delivery is received."""
    inbox, seen, done = Inbox(accept_unsigned=True), [], threading.Event()

    @inbox.on("*")
    async def note(event: Event) -> None:
        await note_later(seen, event)
        done.set()

    async def receive() -> str:
        return put(inbox)

    if mode == "receive":
        first = put(inbox)
    elif mode == "receive in a loop":
        first = asyncio.run(receive())
    else:
        with inbox.running():
            first = put(inbox)
            assert done.wait(10)

    assert seen == [first]
    assert inbox.run_handlers() == 0
    assert inbox.failures() == ()
    inbox.close()


def test_an_inbox_with_an_async_handler_closes_in_an_event_loop() -> None:
    """An inbox with an async handler can be closed in a running event loop, as an async session does."""

    async def main() -> list[str]:
        seen: list[str] = []
        inbox = Inbox(accept_unsigned=True)

        @inbox.on("*")
        async def note(event: Event) -> None:
            seen.append(event.id)

        put(inbox)
        inbox.close()
        return seen

    assert len(asyncio.run(main())) == 1


@pytest.mark.slow
def test_async_handlers_share_one_loop_each() -> None:
    """An async client can be used for all events of a handler, because the handler's event loop stays the same."""
    inbox, loops = Inbox(accept_unsigned=True), []

    @inbox.on("*")
    async def note(event: Event) -> None:
        loops.append(asyncio.get_running_loop())

    put(inbox)
    put(inbox)

    assert loops[0] is loops[1]
    inbox.close()


def test_a_failing_async_handler_is_recorded() -> None:
    """A failure of an async handler is recorded and can be retried."""
    inbox, ready = Inbox(accept_unsigned=True), []

    @inbox.on("*")
    async def later(event: Event) -> None:
        if not ready:
            raise LookupError

    put(inbox)

    assert [one.error for one in inbox.failures()] == ["LookupError: "]
    ready.append(True)
    assert inbox.retry() == 1
    inbox.close()


def test_an_atomic_async_handler_writes_in_the_transaction(tmp_path: Path) -> None:
    """The writes of an atomic async handler are stored together with the record of its run."""
    with Inbox(tmp_path / "inbox.db", accept_unsigned=True) as inbox:
        ledger = sqlite3.connect(tmp_path / "inbox.db", isolation_level=None)
        ledger.execute("CREATE TABLE ledger(id TEXT)")
        inbox.on("*", name="book", atomic=True)(functools.partial(note_later, []))
        event_id = put(inbox)

        assert ledger.execute("SELECT * FROM ledger").fetchall() == [(event_id,)]
        ledger.close()


def numbers(event: Event) -> Any:
    """A generator function, whose body never runs."""
    yield event


@pytest.mark.parametrize(
    "call, atomic",
    [
        (None, False),
        (lambda: None, False),
        (lambda event: None, True),
        (lambda event, db: None, False),
        (numbers, False),
    ],
    ids=["no function", "no argument", "no database", "too many", "generator"],
)
def test_what_cannot_be_a_handler_is_refused(call: Any, atomic: bool) -> None:
    """A function that cannot be called as a handler is refused at registration."""
    with pytest.raises(UsageError, match=r"does not accept|a function of|not be a generator"):
        Inbox(accept_unsigned=True).on("*", name="wrong", atomic=atomic)(call)


def test_a_handler_that_exits_does_not_end_its_thread() -> None:
    """SystemExit in a handler is recorded as a failure, and later events are still handled."""
    inbox, seen = Inbox(accept_unsigned=True), threading.Event()

    @inbox.on("*")
    def leave(event: Event) -> None:
        if not inbox.failures():
            raise SystemExit(3)
        seen.set()

    with inbox.running():
        put(inbox)
        while not inbox.failures():
            pass
        put(inbox)

        assert seen.wait(10)


def test_a_registered_function_stays_a_function() -> None:
    """The decorator returns the function itself, so that it can be called and tested."""
    inbox = Inbox(accept_unsigned=True)

    def handler(event: object) -> str:
        return "called"

    assert inbox.on("user.*")(handler) is handler


def test_a_block_ends_when_its_handlers_have_ended() -> None:
    """`running` waits for a handler that has begun, and a second block starts threads again."""
    inbox, seen, begun = Inbox(accept_unsigned=True), [], threading.Event()

    @inbox.on("*")
    def slowly(event: Event) -> None:
        begun.set()
        time.sleep(0.2)
        seen.append(event.id)

    for _ in range(2):
        with inbox.running():
            last = put(inbox)
            assert begun.wait(10)
        begun.clear()
        assert seen[-1:] == [last]


@pytest.mark.slow
def test_a_block_that_begins_while_another_ends_has_all_its_handlers() -> None:
    """While a block waits for one of its handlers, another block begins, and starts the handlers that have ended."""
    inbox, seen, release, begun = Inbox(accept_unsigned=True), [], threading.Event(), threading.Event()
    inbox.on("*", name="quick")(lambda event: seen.append(event.id))
    inbox.on("*", name="slow")(lambda event: (begun.set(), release.wait(30)))

    def first_block() -> None:
        with inbox.running():
            put(inbox)
            assert begun.wait(10)

    ending = threading.Thread(target=first_block)
    ending.start()
    wait_until(lambda: begun.is_set() and "inbox-quick" not in {thread.name for thread in threading.enumerate()})
    with inbox.running():
        last = put(inbox)
        wait_until(lambda: last in seen)
        release.set()
    ending.join(20)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_runs_handlers_that_were_running_at_the_fork() -> None:
    """A handler that runs in another thread at the fork runs there only, so the new process is free to run it."""
    inbox, seen, release, begun = Inbox(accept_unsigned=True), [], threading.Event(), threading.Event()

    @inbox.on("*")
    def slowly(event: Event) -> None:
        seen.append(event.id)
        if len(seen) == 1:
            begun.set()
            release.wait(30)

    thread = threading.Thread(target=put, args=(inbox,))
    thread.start()
    assert begun.wait(10)
    process = os.fork()
    if not process:
        try:
            put(inbox)
        finally:
            os._exit(len(seen))
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    release.set()
    thread.join(20)

    assert status == 3  # length of `seen` in the child: the other thread's event twice, and the new event
