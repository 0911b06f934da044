"""An interrupt at any line of the storage leaves everything usable: no open transaction, no held lock."""

import linecache
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import pytest

from tests.client.doubles import AUTHORIZED, PURCHASE, URL
from workbench import storage
from workbench.client import recorder
from workbench.client.client import Client
from workbench.client.journal import Journal
from workbench.storage import Database

SCHEMA = "CREATE TABLE things (name TEXT NOT NULL) STRICT"


def interrupted_at(number: int, files: set[str], act: Callable[[], Any]) -> bool:
    """Run something, with a KeyboardInterrupt at its n-th line in some files; return whether it came that far.

    A line that is only `try:`, and the end of a `with` statement, which is traced as its line once more, do not count:
    Python delivers no signal there.
    """
    seen = 0
    begun: set[tuple[int, int]] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        if frame.f_code.co_filename not in files:
            return None
        place = id(frame), frame.f_lineno
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        if event == "line" and line != "try:" and not (line.startswith("with ") and place in begun):
            begun.add(place)
            seen += 1
            if seen == number:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def free(lock: Any) -> bool:
    """Whether another thread can take a lock."""
    got: list[bool] = []

    def take() -> None:
        got.append(lock.acquire(timeout=1))
        if got[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return got[0]


@pytest.mark.parametrize("in_file", [True, False], ids=["file", "memory"])
def test_an_interrupt_at_any_line_of_a_transaction(in_file: bool, tmp_path: Path) -> None:
    """The next transaction works, and what was interrupted is there whole or not at all."""
    database = Database(tmp_path / "x.db" if in_file else None, application=7, schema=SCHEMA)

    def write() -> None:
        with database.write() as run:
            run.execute("INSERT INTO things VALUES ('a')")
            run.execute("INSERT INTO things VALUES ('b')")

    number = 1
    while interrupted_at(number, {storage.__file__}, write):
        number += 1
        assert free(database.lock), number
        write()
        counts = dict(database.run("SELECT name, count(*) FROM things GROUP BY name"))
        assert counts["a"] == counts["b"]
        assert not database.connection.in_transaction
    assert number > 8


def test_a_transaction_left_open_is_rolled_back_before_the_next_use() -> None:
    """Whatever left it open, the next one begins anew."""
    database = Database(None, application=7, schema=SCHEMA)
    database.connection.execute("BEGIN IMMEDIATE")
    database.connection.execute("INSERT INTO things VALUES ('lost')")
    with database.write() as run:
        run.execute("INSERT INTO things VALUES ('kept')")

    assert database.run("SELECT name FROM things") == [("kept",)]


@pytest.mark.parametrize("in_file", [True, False], ids=["file", "memory"])
def test_an_interrupt_at_any_line_of_the_journal(in_file: bool, tmp_path: Path) -> None:
    """After each, the next call works, none is shown as in flight, and what the service saw is done or unknown."""
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.path)
        return httpx.Response(200, json=AUTHORIZED)

    journal = Journal(tmp_path / "journal.db" if in_file else None)
    client = Client(base_url=URL, api_key="a-key-1234", transport=httpx.MockTransport(answer), journal=journal)
    files = {storage.__file__, recorder.__file__}
    number = 1
    while interrupted_at(number, files, lambda: client.simulate_authorization(**PURCHASE)):
        number += 1
        client.simulate_authorization(**PURCHASE)
    outcomes = [str(entry.outcome) for entry in journal]

    assert number > 30
    assert "sending" not in outcomes
    assert outcomes.count("done") <= len(sent) <= outcomes.count("done") + outcomes.count("unknown")
    assert outcomes.count("done") >= number
