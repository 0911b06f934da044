"""An interrupt at any line of the storage leaves no open transaction and no locked file."""

import asyncio
import contextlib
import json
import linecache
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import _base
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import pytest

import workbench as wb
from tests import interrupts
from tests.client.doubles import AUTHORIZED, PURCHASE, URL
from tests.each import some
from workbench.analysis.rewards import read_job
from workbench.base.system import database, locks
from workbench.base.system import files as system_files
from workbench.base.system import interrupts as signals
from workbench.base.system.database import Database
from workbench.client.calls import client as client_module
from workbench.client.calls import exchange
from workbench.client.calls import journal as journal_module
from workbench.client.calls.base import BaseClient
from workbench.client.calls.client import AsyncClient, Client
from workbench.client.calls.journal import Journal

SCHEMA = "CREATE TABLE things (name TEXT NOT NULL) STRICT"

STORAGE = tuple(str(module.__file__) for module in (database, system_files, signals, locks))


def interrupted_at(
    number: int, files: set[str], act: Callable[[], Any], error: type[BaseException] = KeyboardInterrupt
) -> bool:
    """Run a function with an exception at its n-th line in some files, and return whether this line was reached.

    Lines at which Python delivers no signal do not count: a line that is only `try:`, the end of a `with` statement (traced as
    its line again), and the comparisons and assignments that begin a `finally:`. Code that defers SIGINT does not count either,
    nor does a finalizer, which may belong to another test and whose exceptions Python only prints.
    """
    seen = 0
    begun: set[tuple[int, int]] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        if frame.f_code.co_filename not in files or frame.f_code.co_name == "__del__":
            return None
        place = id(frame), frame.f_lineno
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        quiet = line == "try:" or line.endswith(("is mine:", "holder = None", "active = False", "_pulling = None"))
        if event == "line" and not quiet and not (line.startswith("with ") and place in begun):
            begun.add(place)
            seen += signals.uninterrupted.depth == 0
            if seen == number:
                raise error
        return trace

    sys.settrace(trace)
    try:
        act()
    except error:
        return True
    finally:
        sys.settrace(None)
    return False


def free(lock: Any) -> bool:
    """Return whether another thread can acquire a lock."""
    got: list[bool] = []

    def take() -> None:
        got.append(lock.acquire(timeout=1))
        if got[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return got[0]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, TimeoutError])
@pytest.mark.parametrize("in_file", [True, False], ids=["file", "memory"])
def test_an_interrupt_at_any_line_of_a_transaction(in_file: bool, error: type[BaseException], tmp_path: Path) -> None:
    """The next transaction works, and the interrupted one is stored completely or not at all."""
    database = Database(tmp_path / "x.db" if in_file else None, application=7, schema=SCHEMA)

    def write() -> None:
        with database.write() as run:
            run.execute("INSERT INTO things VALUES ('a')")
            run.execute("INSERT INTO things VALUES ('b')")

    number = 1
    while interrupted_at(number, set(STORAGE), write, error):
        number += 1
        assert free(database.lock), number
        write()
        counts = dict(database.run("SELECT name, count(*) FROM things GROUP BY name"))
        assert counts["a"] == counts["b"]
        assert not database.connection.in_transaction
    assert number > 8


def test_a_transaction_left_open_is_rolled_back_before_the_next_use() -> None:
    """The next transaction starts without the changes of the open one."""
    database = Database(None, application=7, schema=SCHEMA)
    database.connection.execute("BEGIN IMMEDIATE")
    database.connection.execute("INSERT INTO things VALUES ('lost')")
    with database.write() as run:
        run.execute("INSERT INTO things VALUES ('kept')")

    assert database.run("SELECT name FROM things") == [("kept",)]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGALRM"])
def test_signals_wait_for_a_transaction(name: str) -> None:
    """The exception of a handler is raised once after the commit, when the previous handlers are restored."""
    database = Database(None, application=7, schema=SCHEMA)
    number = signal.Signals[name]

    def handler(*_: object) -> None:
        raise TimeoutError

    def write() -> None:
        with database.write() as run:
            signal.raise_signal(number)
            run.execute("INSERT INTO things VALUES ('a')")

    before = {one: signal.getsignal(one) for one in signal.Signals if one is not number}
    original = signal.signal(number, handler)
    try:
        with pytest.raises(TimeoutError):
            write()

        assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, original)
    assert {one: signal.getsignal(one) for one in before} == before
    assert database.run("SELECT name FROM things") == [("a",)]
    assert signals.uninterrupted.depth == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "in_file, kind", some(3, [(True, Client), (True, AsyncClient), (False, Client), (False, AsyncClient)])
)
def test_an_interrupt_at_any_line_of_a_call(in_file: bool, kind: type[BaseClient], tmp_path: Path) -> None:
    """The next call works, no entry is in flight, and calls that the service received are done or unknown."""
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.path)
        return httpx.Response(200, json=AUTHORIZED)

    journal = Journal(tmp_path / "journal.db" if in_file else None)
    client: Any = kind(base_url=URL, api_key="a-key-1234", transport=httpx.MockTransport(answer), journal=journal)
    kept: list[BaseException] = []  # keeps exceptions with their frames, as a notebook keeps the last one

    def call() -> None:
        made = client.simulate_authorization(**PURCHASE)
        if kind is AsyncClient:
            asyncio.run(made)

    def interrupted_call() -> None:
        try:
            call()
        except KeyboardInterrupt as error:
            kept.append(error)
            raise

    files = {
        str(module.__file__)
        for module in (database, signals, locks, system_files, journal_module, exchange, client_module)
    }
    number = 1
    while interrupted_at(number, files, interrupted_call):
        number += 1
        call()
    outcomes = [str(entry.outcome) for entry in journal]
    seen_by_another = [str(entry.outcome) for entry in Journal(tmp_path / "journal.db")] if in_file else outcomes

    assert number > 100
    assert seen_by_another == outcomes
    assert "sending" not in outcomes
    assert outcomes.count("done") <= len(sent) <= outcomes.count("done") + outcomes.count("unknown")
    assert outcomes.count("done") >= number


@pytest.mark.parametrize(
    "every", [pytest.param(5, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.soak)], ids=["a fifth", "all"]
)
@pytest.mark.parametrize("in_file", [True, False], ids=["file", "memory"])
def test_an_interrupt_at_any_line_of_the_sandbox(in_file: bool, every: int, tmp_path: Path) -> None:
    """The next call works, and cards, events and clock show only complete calls."""
    api = wb.connect(path=tmp_path / "sandbox.db") if in_file else wb.connect()
    card = interrupts.example_card(api)
    files = {*STORAGE, *map(str, (Path(wb.__file__).parent / "sandbox").glob("*.py"))}

    def act() -> None:
        made = interrupts.purchase(api, card)
        api.sandbox.settle(made.transaction_id)
        api.sandbox.advance(minutes=1)

    number = 1
    while interrupted_at(number, files, act):
        number += every
        before = api.sandbox.balance(card).held
        interrupts.purchase(api, card)
        assert api.sandbox.balance(card).held == before + 1
    events = api.inbox.events()
    kinds = [event.kind for event in events]

    print(f"{number:,} interrupts")
    assert number > 100
    assert kinds.count("transaction.requested") == kinds.count("transaction.created")
    assert len({event.id for event in events}) == len(events)


@pytest.mark.parametrize(
    "every", [pytest.param(5, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.soak)], ids=["a fifth", "all"]
)
@pytest.mark.parametrize("in_file", [True, False], ids=["file", "memory"])
def test_an_interrupt_at_any_line_of_the_inbox(in_file: bool, every: int, tmp_path: Path) -> None:
    """The next delivery is stored once, and a handler gets every stored event."""
    inbox = wb.Inbox(tmp_path / "inbox.db" if in_file else None, keys=["a-signing-key"])
    handled: list[str] = []
    inbox.on("user.updated")(lambda event: handled.append(event.id))
    files = {*STORAGE, *map(str, (Path(wb.__file__).parent / "webhooks").glob("*.py"))}

    def act() -> None:
        sample = wb.events.sample("user.updated", "a-signing-key")
        inbox.receive(sample.headers, sample.body)
        inbox.run_handlers()

    number = 1
    while interrupted_at(number, files, act):
        number += every
        act()
    kept = [event.id for event in inbox.events()]

    assert number > 100
    assert len(set(kept)) == len(kept)
    assert set(kept) <= set(handled), inbox.failures()


def test_an_interrupt_at_any_moment_of_a_read() -> None:
    """The read's thread ends, also if the interrupt occurred while a lock that it needs was held."""
    api = wb.connect(seed=6)
    users = api.sandbox.guide()["users"]["approved"][:1]
    files = {read_job.__file__, threading.__file__, _base.__file__}
    number, reached = 0, True
    while reached:
        number, seen, reached = number + 1, 0, False

        def trace(frame: FrameType, event: str, _: Any, number: int = number) -> Any:
            nonlocal seen, reached
            if frame.f_code.co_filename not in files:
                return None
            seen += event in {"line", "return"} and signals.uninterrupted.depth == 0
            if seen == number and not reached:
                reached = True
                raise KeyboardInterrupt
            return trace

        sys.settrace(trace)
        with contextlib.suppress(KeyboardInterrupt):
            wb.rewards.fetch(api, users, progress=False)
        sys.settrace(None)
        for thread in threading.enumerate():
            if thread.name == "workbench-read" and thread.ident is not None:
                thread.join(10)
                assert not thread.is_alive(), number
    assert number > 10


ROUNDS = {
    "client": 200, "sandbox_file": 200, "sandbox_memory": 150, "sequences": 150, "inbox": 150, "bulk": 60,
    "async_client": 40, "forms": 20, "panel": 20, "reads": 15,
}  # fmt: skip


def interrupted(scenario: str, rounds: int, seed: int, folder: Path) -> dict[str, int]:
    """Run a scenario in a separate process that starts with SIGINT ignored, as with a shell's `&`."""
    command = [sys.executable, "-m", "tests.interrupts", scenario, str(rounds), str(seed), str(folder)]
    done = subprocess.run(
        ["bash", "-c", 'trap "" INT; exec "$@"', "bash", *command],
        capture_output=True, text=True, cwd=Path(__file__).parent.parent, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    counts: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("scenario", sorted(interrupts.SCENARIOS))
def test_interrupts_at_random_moments(scenario: str, tmp_path: Path) -> None:
    """After many SIGINTs the next call works, and the records agree with the service."""
    rounds = max(ROUNDS[scenario] // 20, 3)
    counts = interrupted(scenario, rounds, 1, tmp_path)

    assert counts["caught"] >= rounds // 3


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("scenario", interrupts.SCENARIOS)
def test_twenty_thousand_interrupts(scenario: str, tmp_path: Path) -> None:
    """After twenty campaigns of more SIGINTs the next call works, and the records agree with the service."""
    counts: dict[str, int] = {"caught": 0, "swallowed": 0}
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        for name, count in interrupted(scenario, ROUNDS[scenario], seed + 2, folder).items():
            counts[name] += count
    print(scenario, counts)

    assert counts["caught"] >= ROUNDS[scenario] * 7


STOPS = [(signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGHUP, False), (signal.SIGTERM, True)]
ONCE = [
    pytest.param(name, 1, STOPS[number : number + 2], id=name, marks=pytest.mark.slow)
    for number, name in enumerate(interrupts.COMMANDS)
]
OFTEN = [
    pytest.param(name, 50, STOPS, id=f"{name}-often", marks=[pytest.mark.soak, pytest.mark.timeout(0)])
    for name in interrupts.COMMANDS
]
"""Each command with two of the signals in `make test`, and with all of them in `make soak`."""


@pytest.mark.parametrize("name, rounds, stops", [*ONCE, *OFTEN])
def test_commands_end_at_any_signal(name: str, rounds: int, stops: list[Any], tmp_path: Path) -> None:
    """SIGINT, SIGTERM and SIGHUP end a server within 2 s without losing acknowledged data.

    An ignored SIGINT has no effect.
    """
    chance = random.Random(1)
    took = []
    for round_number in range(rounds):
        # each round uses a new folder, since a growing file would slow the rounds down
        folder = tmp_path / str(round_number)
        folder.mkdir()
        for number, ignored in stops:
            took.append(interrupts.stopped(name, folder, number, chance.uniform(0, 0.3), ignored=ignored))
    print(f"{name}: ended {len(took)} times, slowest {max(took):.2f} s")

    assert max(took) < 2 or max(took) < 10 * interrupts.start_of_python()


@pytest.mark.slow
@pytest.mark.parametrize("name, hold", [("serve", "served.db"), ("listen", "inbox-far.db")])
def test_commands_end_beside_a_held_file(name: str, hold: str, tmp_path: Path) -> None:
    """A request that waits for a file locked by another process does not delay the end."""
    took = interrupts.stopped(name, tmp_path, signal.SIGTERM, 0.1, hold=hold)

    assert took < 2 or took < 10 * interrupts.start_of_python()
