"""Receivers, workers and senders of one inbox file. The processes are killed or forked, or cannot write the file."""

import http.client
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path

import attrs

from workbench.client.webhooks.verify import sample as sample_event

OLD, NEW, FORGED = "old-key", "new-key", "a-key-of-nobody"
PROCESS = """
import os, sys, threading
from workbench.client.webhooks.inbox import Inbox
role, path, port, notes = sys.argv[1:]
inbox = Inbox(path, keys=["old-key", "new-key"])
@inbox.on("*", name="book", atomic=True, retry_after=(0.1,) * 100)
def book(event, db):
    db.execute("CREATE TABLE IF NOT EXISTS book(id TEXT)")
    db.execute("INSERT INTO book VALUES (?)", (event.id,))
@inbox.on("*", name="note", retry_after=(0.1,) * 100)
def note(event):
    with open(notes, "a") as file:
        file.write(event.id + "\\n")
if role == "forked" and os.fork():
    role = "worker"  # the parent continues with the inbox that it opened before
if role == "worker":
    with inbox.running():
        print("ready", flush=True)
        threading.Event().wait()
else:
    with inbox.serve(port=int(port)) as url:
        print("ready", flush=True)
        threading.Event().wait()
"""


@attrs.define
class Member:
    """A process of the campaign."""

    role: str
    path: Path
    port: int
    notes: Path
    process: "subprocess.Popen[str] | None" = None

    def start(self) -> None:
        """Start the process, and wait until it is ready."""
        command = [sys.executable, "-c", PROCESS, self.role, str(self.path), str(self.port), str(self.notes)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert self.process.stdout is not None
        for _ in range(2 if self.role == "forked" else 1):
            assert self.process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        """Kill the process and its forks without cleanup."""
        process, self.process = self.process, None
        if process is not None and process.stdout is not None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()

    def limit_files(self, size: int) -> None:
        """Limit the size of the files that the process writes, as on a full disk. -1 removes the limit."""
        assert self.process is not None
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def deliveries(events: int, seed: int) -> deque[tuple[str | None, dict[str, str], bytes]]:
    """Return signed deliveries in random order: some repeated, some forged, the later half with a rotated key.

    A forged delivery has no id.
    """
    chance = random.Random(seed)
    made: list[tuple[str | None, dict[str, str], bytes]] = []
    for i in range(events):
        sample = sample_event("user.updated", OLD if i < events / 2 else NEW)
        made += [(sample.event.id, dict(sample.headers), sample.body)] * (2 if chance.random() < 0.2 else 1)
        if chance.random() < 0.05:
            forged = sample_event("user.updated", FORGED)
            made.append((None, dict(forged.headers), forged.body))
    for i in range(0, len(made), 500):  # shuffle within windows of 500, since deliveries can arrive out of order
        part = made[i : i + 500]
        chance.shuffle(part)
        made[i : i + 500] = part
    return deque(made)


class Senders:
    """Threads that send each delivery to any receiver until all are acknowledged."""

    def __init__(self, ports: list[int], queue: deque[tuple[str | None, dict[str, str], bytes]], count: int) -> None:
        self.acknowledged: set[str] = set()
        self.wrong: list[int] = []  # unexpected statuses
        self._ports, self._queue = ports, queue
        self.threads = [threading.Thread(target=self._run, args=(seed,)) for seed in range(count)]
        for thread in self.threads:
            thread.start()

    def _run(self, seed: int) -> None:
        chance = random.Random(seed)
        while True:
            try:
                event_id, headers, body = self._queue.popleft()
            except IndexError:
                return
            connection = http.client.HTTPConnection("127.0.0.1", chance.choice(self._ports), timeout=30)
            try:
                connection.request("POST", "/webhooks", body, headers)
                status = connection.getresponse().status
            except (OSError, http.client.HTTPException):
                status = 503
            finally:
                connection.close()
            if status == 503:
                time.sleep(0.05)
                self._queue.append((event_id, headers, body))
            elif status != (401 if event_id is None else 204):
                self.wrong.append(status)
            elif event_id is not None:
                self.acknowledged.add(event_id)


def hold(path: Path, seconds: float) -> None:
    """Lock a database for some seconds, as another program does during a long write."""
    connection = sqlite3.connect(path, timeout=30, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    time.sleep(seconds)
    connection.execute("ROLLBACK")
    connection.close()


def recover(path: Path) -> None:
    """Write the log of a database into its file and check the file, as a restart does. No other process may have it open."""
    connection = sqlite3.connect(path, timeout=30)
    assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


def count(path: Path, query: str) -> int:
    """Return the result of a counting query; 0 if the table does not exist yet."""
    connection = sqlite3.connect(path, timeout=30)
    try:
        found: int = connection.execute(query).fetchone()[0]
        return found
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()
