"""A receiver in a separate process that is killed, and senders that retry."""

import contextlib
import itertools
import os
import random
import socket
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import attrs

from tests.ports import free_port
from tests.processes import PROCESSES
from workbench.client.webhooks.inbox import Inbox
from workbench.client.webhooks.verify import sample as sample_event
from workbench.client.webhooks.verify import sign

KEY = "load-key"


def receive(path: Path, port: int, notes: Path | None, ready: Connection) -> None:
    """Receive and handle events until this process is killed."""
    inbox = Inbox(path, keys=[KEY])

    @inbox.on("*", name="book", atomic=True)
    def book(event: Any, db: Any) -> None:
        db.execute("CREATE TABLE IF NOT EXISTS book(id TEXT)")
        db.execute("INSERT INTO book VALUES (?)", (event.id,))

    if notes is not None:
        written = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

        @inbox.on("*", name="note")
        def note(event: Any) -> None:
            os.write(written, f"{event.id}\n".encode())

    with inbox.serve(port=port) as url:
        ready.send(url)
        threading.Event().wait()


class Receiver:
    """A serving inbox that is killed and restarted on the same port."""

    def __init__(self, path: Path, notes: Path | None = None) -> None:
        self.path = path
        self.notes = notes  # file to which a second, non-atomic handler writes; None: no second handler
        self.port = free_port()  # not ephemeral, so that no other connection takes the port while the receiver is down
        self.start()

    def start(self, patience: float = 60) -> None:
        """Start the process, and wait until it prints its URL, for at most `patience` seconds."""
        self.ready, sender = PROCESSES.Pipe(duplex=False)
        self.process = PROCESSES.Process(target=receive, args=(self.path, self.port, self.notes, sender), daemon=True)
        self.process.start()
        sender.close()
        if self.ready.poll(patience):
            assert urlsplit(self.ready.recv()).port == self.port

    def kill(self) -> None:
        """Kill the process without cleanup."""
        self.process.kill()
        self.process.join()
        self.process.close()
        self.ready.close()


@attrs.frozen
class Sent:
    """The result of the senders."""

    seconds: float
    acknowledged: frozenset[str]
    waits: tuple[float, ...]  # seconds until each delivery was acknowledged


def deliveries(events: int, repeats: float, seed: int) -> list[tuple[str, bytes]]:
    """Return signed requests of `events` events in random order, some repeated, each with the id of its event."""
    chance = random.Random(seed)
    sample = sample_event("user.updated", KEY)
    once = []
    for _ in range(events):
        event_id, user = (str(UUID(int=chance.getrandbits(128), version=4)) for _ in range(2))
        body = sample.body.replace(sample.event.id.encode(), event_id.encode())
        body = body.replace(sample.event.body.id.encode(), user.encode())
        head = f"POST /webhooks HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nsignature: {sign(body, KEY)}\r\n"
        once.append((event_id, f"{head}content-length: {len(body)}\r\n\r\n".encode() + body))
    made = once + [chance.choice(once) for _ in range(round(events * repeats / (1 - repeats)))]
    chance.shuffle(made)
    return made


def _post(connection: socket.socket, requests: Sequence[bytes]) -> int:
    """Send requests without waiting for responses; return how many of the first ones were acknowledged without a gap."""
    found = b""
    with contextlib.suppress(OSError):
        connection.sendall(b"".join(requests))
        while found.count(b"\r\n\r\n") < len(requests) and (chunk := connection.recv(65536)):
            found += chunk
    heads = found.split(b"\r\n\r\n")[:-1]
    return len(list(itertools.takewhile(lambda head: head.startswith(b"HTTP/1.1 204"), heads)))


def send(
    receiver: Receiver, work: list[tuple[str, bytes]], senders: int, kills: int, burst: int = 1, seed: int = 0
) -> Sent:
    """Send all deliveries, `burst` at once, until all are acknowledged, and kill the receiver `kills` times meanwhile."""
    queue, chance = deque(work), random.Random(seed)
    acknowledged: list[tuple[str, float]] = []
    marks = [len(work) * (i + 1) // (kills + 1) for i in range(kills)]

    def run() -> None:
        connection: socket.socket | None = None
        while True:
            part: list[tuple[str, bytes]] = []
            with contextlib.suppress(IndexError):
                while len(part) < burst:
                    part.append(queue.popleft())
            if not part:
                break
            began = time.perf_counter()
            taken = 0
            with contextlib.suppress(OSError):
                connection = connection or socket.create_connection(("127.0.0.1", receiver.port), 30)
                taken = _post(connection, [request for _, request in part])
            waited = time.perf_counter() - began
            acknowledged.extend((event_id, waited) for event_id, _ in part[:taken])
            queue.extend(part[taken:])
            if taken < len(part) and connection is not None:
                connection.close()
                connection = None
            if taken < len(part):
                time.sleep(0.005)
        if connection is not None:
            connection.close()

    began = time.perf_counter()
    threads = [threading.Thread(target=run, daemon=True) for _ in range(senders)]
    for thread in threads:
        thread.start()
    for mark in marks:
        while len(acknowledged) < mark and any(thread.is_alive() for thread in threads):
            threads[0].join(0.002)
        time.sleep(chance.uniform(0, 0.01))
        receiver.kill()
        receiver.start(*([chance.uniform(0, 0.05)] if chance.random() < 0.2 else []))
    if kills:
        receiver.kill()  # the last start may not have waited for the receiver, so restart the receiver and wait
        receiver.start()
    for thread in threads:
        thread.join()
    return Sent(
        time.perf_counter() - began,
        frozenset(event_id for event_id, _ in acknowledged),
        tuple(wait for _, wait in acknowledged),
    )


def wait_for_effects(path: Path, expected: int, seconds: float = 60) -> None:
    """Wait until the handler has processed all events, or has processed no further event for some seconds."""
    connection = sqlite3.connect(path)
    query = "SELECT count(*) FROM effects WHERE state = 'done'"
    done, moved = -1, time.monotonic()
    while (now := connection.execute(query).fetchone()[0]) < expected and time.monotonic() - moved < seconds:
        if now != done:
            done, moved = now, time.monotonic()
        threading.Event().wait(0.05)
    connection.close()
