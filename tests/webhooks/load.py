"""A receiver in a process of its own, to be killed, and senders that do not give up."""

import http.client
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from urllib.parse import urlsplit

import attrs

from workbench.webhooks.samples import sample as sample_event

KEY = "load-key"
CHILD = """
import sys, threading
from workbench.webhooks.inbox import Inbox
inbox = Inbox(sys.argv[1], keys=[sys.argv[3]])
@inbox.on("*", name="book", atomic=True)
def book(event, db):
    db.execute("CREATE TABLE IF NOT EXISTS book(id TEXT)")
    db.execute("INSERT INTO book VALUES (?)", (event.id,))
with inbox.serve(port=int(sys.argv[2])) as url:
    print(url, flush=True)
    threading.Event().wait()
"""


class Receiver:
    """A serving inbox that is killed and started again on the same port."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start it, and wait until it says its URL."""
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(self.path), str(self.port), KEY], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.port = urlsplit(self.url).port or 0
        assert self.port, "the receiver did not start"

    def kill(self) -> None:
        """End it without a chance to tidy up."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@attrs.frozen
class Sent:
    """What the senders saw."""

    seconds: float
    acknowledged: frozenset[str]
    waits: tuple[float, ...]  # seconds of each acknowledged delivery


def deliveries(events: int, repeats: float, seed: int) -> list[tuple[str, dict[str, str], bytes]]:
    """Return signed deliveries of that many events, some of them twice, in a random order."""
    chance = random.Random(seed)
    once = []
    for _ in range(events):
        sample = sample_event("user.updated", KEY)
        once.append((sample.event.id, dict(sample.headers), sample.body))
    made = once + [chance.choice(once) for _ in range(round(events * repeats / (1 - repeats)))]
    chance.shuffle(made)
    return made


def send(receiver: Receiver, work: list[tuple[str, dict[str, str], bytes]], senders: int, kills: int) -> Sent:
    """Send everything until it is acknowledged, and kill the receiver at even distances meanwhile."""
    queue = deque(work)
    acknowledged: list[tuple[str, float]] = []
    marks = [len(work) * (i + 1) // (kills + 1) for i in range(kills)]

    def run() -> None:
        connection: http.client.HTTPConnection | None = None
        while True:
            try:
                event_id, headers, body = queue.popleft()
            except IndexError:
                break
            began = time.perf_counter()
            try:
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=30)
                connection.request("POST", "/webhooks", body, headers)
                answer = connection.getresponse()
                answer.read()
                if answer.status == 204:
                    acknowledged.append((event_id, time.perf_counter() - began))
                    continue
            except (OSError, http.client.HTTPException):
                if connection is not None:
                    connection.close()
                connection = None
            queue.append((event_id, headers, body))
        if connection is not None:
            connection.close()

    began = time.perf_counter()
    threads = [threading.Thread(target=run) for _ in range(senders)]
    for thread in threads:
        thread.start()
    for mark in marks:
        while len(acknowledged) < mark and any(thread.is_alive() for thread in threads):
            threads[0].join(0.002)
        receiver.kill()
        receiver.start()
    for thread in threads:
        thread.join()
    return Sent(
        time.perf_counter() - began,
        frozenset(event_id for event_id, _ in acknowledged),
        tuple(wait for _, wait in acknowledged),
    )


def wait_for_effects(path: Path, expected: int, seconds: float = 60) -> None:
    """Wait until the handler has nothing left to do."""
    connection = sqlite3.connect(path)
    deadline = time.monotonic() + seconds
    query = "SELECT count(*) FROM effects WHERE state = 'done'"
    while connection.execute(query).fetchone()[0] < expected and time.monotonic() < deadline:
        threading.Event().wait(0.02)
    connection.close()
