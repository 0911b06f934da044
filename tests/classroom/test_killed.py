"""A class server is killed at random moments: acknowledged actions are stored once, the others once or not at all."""

import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.ports import free_port
from workbench.course.classroom import ClassServer

LEARNERS = 6
PURCHASE = {"currency": "USD", "merchantName": "Example Coffee", "merchantCategoryCode": "5814"}
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def _serve(folder: str, port: int, ready: Any) -> None:
    server = ClassServer((), Path(folder))
    with server.serve(port=port):
        ready.send_bytes(b"1")
        threading.Event().wait()


@contextmanager
def served(folder: Path, port: int) -> Iterator[Any]:
    """Serve the class in a process that is forked from this one, so that it does not load the modules again."""
    context: Any = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(str(folder), port, there), daemon=True)
    process.start()
    here.recv_bytes()
    try:
        yield process
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.join()


class Ledger:
    """A learner's actions and their outcomes: purchases of one cent, and tries of an exercise."""

    def __init__(self, url: str, code: str) -> None:
        self.url = f"{url}/{code}"
        self.card = self.key = ""
        self.bought = self.unknown_bought = self.tries = self.unknown_tries = 0

    def work(self, http: httpx.Client) -> None:
        """Make a purchase of one cent, and report a try."""
        if not self.key:
            guide = http.get(f"{self.url}/_sandbox/guide").json()
            http.post(f"{self.url}/_class", json={"kind": "start", "task": "start-1"}).raise_for_status()
            self.card, self.key = guide["cards"]["active"][0], guide["api_keys"]["full"]
        self.unknown_bought += 1
        body = {"cardId": self.card, "amount": 1, **PURCHASE}
        url = f"{self.url}/v1/simulate/transactions/authorize"
        http.post(url, json=body, headers={"api-key": self.key}).raise_for_status()
        self.bought, self.unknown_bought = self.bought + 1, self.unknown_bought - 1
        self.unknown_tries += 1
        content = {"kind": "check", "task": "start-1"}
        http.post(f"{self.url}/_class", json=content).raise_for_status()
        self.tries, self.unknown_tries = self.tries + 1, self.unknown_tries - 1

    def agree(self, http: httpx.Client, tries: int) -> None:
        """Compare the ledger with the server's state, and take over the outcomes of unanswered requests."""
        if not self.key:
            return
        url = f"{self.url}/_sandbox/balance"
        held = http.post(url, json={"card_id": self.card}, headers={"api-key": self.key}).json()["held"]
        assert self.bought <= held <= self.bought + self.unknown_bought, (self.bought, held, self.unknown_bought)
        assert self.tries <= tries <= self.tries + self.unknown_tries, (self.tries, tries, self.unknown_tries)
        self.bought, self.tries, self.unknown_bought, self.unknown_tries = held, tries, 0, 0


def campaign(folder: Path, kills: int, seed: int) -> dict[str, float]:
    """Kill a class server repeatedly while learners work, and compare its state with the acknowledged actions."""
    made = ClassServer([f"Learner {number}" for number in range(LEARNERS)], folder)
    codes, key = [one.code for one in made.learners], {"trainer-key": made.trainer_key}
    with made.serve() as url, httpx.Client(trust_env=False) as http:  # load all modules before forking
        http.get(f"{url}/{codes[0]}/_sandbox/guide")
    made.close()
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    chance = random.Random(seed)
    ledgers = [Ledger(url, code) for code in codes]
    begun, lost = time.process_time() + sum(os.times()[2:4]), 0
    for number in range(kills):
        one, other = chance.sample(ledgers, 2)
        with served(folder, port) as process, httpx.Client(timeout=10, trust_env=False) as http:
            rows = http.get(f"{url}/board/data", headers=key).json()["learners"]
            tries = [row["results"].get("start-1", {}).get("tries", 0) for row in rows]
            try:
                for ledger in (one, other):
                    ledger.agree(http, tries[ledgers.index(ledger)])
            except AssertionError as error:
                error.add_note(f"kill {number} of seed {seed}")
                raise
            killer = threading.Timer(chance.uniform(0, 0.008), os.kill, (process.pid, signal.SIGKILL))
            steps = chance.randrange(8)
            try:
                for step in range(10**9):
                    if step == steps:
                        killer.start()
                    chance.choice((one, other)).work(http)
            except httpx.HTTPError:
                lost += one.unknown_bought + other.unknown_bought + one.unknown_tries + other.unknown_tries
            killer.join()
    used = time.process_time() + sum(os.times()[2:4]) - begun
    bought, tried = sum(one.bought for one in ledgers), sum(one.tries for one in ledgers)
    return {
        "kills": kills,
        "purchases": bought,
        "tries": tried,
        "in flight": lost,
        "milliseconds each": used * 1e3 / kills,
    }


@pytest.mark.slow
def test_a_killed_class_server_continues(tmp_path: Path) -> None:
    assert campaign(tmp_path / "class", 10, 1)["purchases"] > 10


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_class_server_is_killed_two_thousand_times(tmp_path: Path) -> None:
    print(campaign(tmp_path / "class", 2_000, 7))
