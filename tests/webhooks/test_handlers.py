"""Handlers of events: isolated, recorded, tried again, awaited, resumed after a crash."""

import asyncio
import functools
import logging
import sqlite3
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from workbench.interface.events import Event
from workbench.webhooks.handlers import MAX_TRIES
from workbench.webhooks.inbox import Inbox
from workbench.webhooks.samples import sample as sample_event


def put(inbox: Inbox, kind: str = "user.updated") -> str:
    """Let an event arrive; return its id."""
    sample = sample_event(kind)
    return inbox.receive(sample.headers, sample.body).event.id


def boom(event: Event) -> None:
    """Fail, with words that hold a private value."""
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
    """A handler sees the events of its kind, in order, each once, duplicates apart."""
    inbox, seen = Inbox(), []

    @inbox.on(pattern)
    def note(event: Event) -> None:
        seen.append(event.kind)

    for kind in ("user.updated", "transaction.created", "transaction.completed"):
        sample = sample_event(kind)
        for _ in range(2):
            inbox.receive(sample.headers, sample.body)

    assert seen == kinds


def test_failure_is_isolated_and_recorded(caplog: pytest.LogCaptureFixture) -> None:
    """A failing handler stops neither the delivery nor another handler; its words are kept, but not shown or logged."""
    inbox, seen = Inbox(), []
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
    """A failure is tried again after a while, three times in all, and then only when asked for."""
    times = [0.0]
    inbox = Inbox(now=lambda: datetime.fromtimestamp(times[0], UTC))
    calls = []

    @inbox.on("*", name="bad")
    def bad(event: Event) -> None:
        calls.append(times[0])
        raise ValueError

    put(inbox)
    for moment in (0.5, 1.5, 2.0, 20.0, 1000.0):
        times[0] = moment
        inbox.run_handlers()

    assert calls == [0.0, 1.5, 20.0]
    assert [(one.tries, one.given_up) for one in inbox.failures()] == [(MAX_TRIES, True)]
    assert inbox.retry("bad") == 0
    assert calls == [0.0, 1.5, 20.0, 1000.0]


def test_retry_that_goes_well() -> None:
    """A failure that goes well later is one no more."""
    inbox, ready = Inbox(), []

    @inbox.on("*", name="later")
    def later(event: Event) -> None:
        if not ready:
            raise ValueError

    event_id = put(inbox)
    ready.append(True)

    assert inbox.retry(event_id=event_id) == 1
    assert inbox.failures() == ()


def test_effects_go_on_after_a_restart(tmp_path: Path) -> None:
    """What a handler had not finished when the process ended, the handler of that name does after the restart."""
    with Inbox(tmp_path / "inbox.db") as first:

        @first.on("*", name="book")
        def interrupted(event: Event) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            put(first)
    seen: list[str] = []
    with Inbox(tmp_path / "inbox.db") as second:
        second.on("*", name="book")(lambda event: seen.append(event.id))

        assert (second.run_handlers(), second.run_handlers()) == (1, 0)
        assert seen == [event.id for event in second.events()]


def test_atomic_effect_is_undone_by_a_failure(tmp_path: Path) -> None:
    """What an atomic handler writes stands with the note that it is done, or not at all."""
    with Inbox(tmp_path / "inbox.db") as inbox:
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


def test_one_process_runs_a_handler(tmp_path: Path) -> None:
    """Of two inboxes on one file only one runs a handler, until it is closed."""
    path, seen = tmp_path / "inbox.db", []
    first, second = Inbox(path), Inbox(path)
    for name, inbox in (("first", first), ("second", second)):
        inbox.on("*", name="book")(lambda event, name=name: seen.append(name))
    put(first)
    put(second)
    first.run_handlers()
    first.close()
    put(second)
    second.close()

    assert seen == ["first", "first", "second"]


def test_handler_that_reads_its_inbox() -> None:
    """A handler may read the inbox and let events arrive; it is not called inside itself."""
    inbox, depth, seen = Inbox(), [], []

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


def test_blocked_handler_holds_up_nobody() -> None:
    """While handlers run in threads, one that blocks delays neither acknowledgements nor the others."""
    inbox, release, seen = Inbox(), threading.Event(), threading.Event()
    inbox.on("*", name="stuck")(lambda event: release.wait(30))
    inbox.on("*", name="quick")(lambda event: seen.set())
    with inbox.running():
        put(inbox)

        assert seen.wait(10)
        assert not release.is_set()
        release.set()


def test_handler_registered_while_others_run() -> None:
    """A handler registered while others run gets a thread as well."""
    inbox, seen = Inbox(), threading.Event()
    with inbox.running():
        inbox.on("*", name="late")(lambda event: seen.set())
        put(inbox)

        assert seen.wait(10)


def test_replay(caplog: pytest.LogCaptureFixture) -> None:
    """A replay calls a function with each kept event in order, and gives back what failed."""
    inbox, seen = Inbox(), []
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
    """Running a cell again registers its handler once, not twice."""
    inbox, seen = Inbox(), []
    for version in (1, 2):

        def note(event: Event, version: int = version) -> None:
            seen.append(version)

        inbox.on("*")(note)
    put(inbox)

    assert seen == [2]


async def note_later(seen: list[str], event: Event, db: sqlite3.Connection | None = None) -> None:
    """Note an event after a turn of the event loop."""
    await asyncio.sleep(0)
    if db is not None:
        db.execute("INSERT INTO ledger VALUES (?)", (event.id,))
    seen.append(event.id)


@pytest.mark.parametrize("mode", ["receive", "receive in a loop", "threads"])
def test_async_handlers_are_awaited(mode: str) -> None:
    """An async handler is awaited before it counts as done, wherever the delivery is received."""
    inbox, seen, done = Inbox(), [], threading.Event()

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


def test_async_handlers_share_one_loop_each() -> None:
    """An async client that a handler makes once can be used for every event: its event loop stays the same."""
    inbox, loops = Inbox(), []

    @inbox.on("*")
    async def note(event: Event) -> None:
        loops.append(asyncio.get_running_loop())

    put(inbox)
    put(inbox)

    assert loops[0] is loops[1]
    inbox.close()


def test_a_failing_async_handler_is_recorded() -> None:
    """A failure of an async handler is recorded and can be tried again."""
    inbox, ready = Inbox(), []

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
    """What an atomic async handler writes stands with the record that it is done."""
    with Inbox(tmp_path / "inbox.db") as inbox:
        ledger = sqlite3.connect(tmp_path / "inbox.db", isolation_level=None)
        ledger.execute("CREATE TABLE ledger(id TEXT)")
        inbox.on("*", name="book", atomic=True)(functools.partial(note_later, []))
        event_id = put(inbox)

        assert ledger.execute("SELECT * FROM ledger").fetchall() == [(event_id,)]
        ledger.close()


def numbers(event: Event) -> Any:
    """Be a generator, whose body never runs."""
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
    """What cannot be called as a handler is refused when it is registered."""
    with pytest.raises(TypeError):
        Inbox().on("*", name="wrong", atomic=atomic)(call)


def test_a_handler_that_exits_does_not_end_its_thread() -> None:
    """SystemExit in a handler is recorded as a failure, and later events are still handled."""
    inbox, seen = Inbox(), threading.Event()

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
