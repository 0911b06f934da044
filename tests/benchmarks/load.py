"""Send the same request over keep-alive connections, and count the answers, with little processor time.

Run: python -m tests.benchmarks.load PORT SECONDS CONNECTIONS < request
"""

import asyncio
import re
import sys
import time
from collections.abc import Callable

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Caller(asyncio.Protocol):
    """A connection that repeats its request after each answer."""

    def __init__(self, request: bytes, tally: list[int], again: Callable[[], object]) -> None:
        self.request = request
        self.again: Callable[[], object] | None = again
        self.tally = tally
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self.transport = transport
        transport.write(self.request)  # type: ignore[attr-defined]

    def connection_lost(self, error: Exception | None) -> None:
        """Connect again if the server closes the connection after each answer."""
        if self.again is not None:
            self.again()

    def data_received(self, data: bytes) -> None:
        """Count an answer once it is complete, and send the next request."""
        self.buffer += data
        while True:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            found = _LENGTH.search(self.buffer, 0, end + 4)
            if found is None:
                chunked = self.buffer.find(b"0\r\n\r\n", end)
                if chunked < 0:
                    return
                size = chunked + 5
            else:
                size = end + 4 + int(found[1])
            if len(self.buffer) < size:
                return
            self.tally[0 if self.buffer[9:12] == b"200" else 1] += 1
            if b"connection: close" in self.buffer[:end].lower():
                self.transport.close()  # type: ignore[attr-defined]
                return
            self.buffer = self.buffer[size:]
            self.transport.write(self.request)  # type: ignore[attr-defined]


async def load(port: int, seconds: float, connections: int, request: bytes) -> tuple[float, int]:
    """Return the answers per second, and the number of answers with another status than 200."""
    loop = asyncio.get_running_loop()
    tally = [0, 0]
    tasks: set[asyncio.Task[None]] = set()
    callers: set[Caller] = set()

    async def connect() -> None:
        _, caller = await loop.create_connection(lambda: Caller(request, tally, again), "127.0.0.1", port)
        callers.add(caller)

    def again() -> None:
        task = loop.create_task(connect())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    for _ in range(connections):
        await connect()
    began = time.perf_counter()
    before = sum(tally)
    await asyncio.sleep(seconds)
    rate = (sum(tally) - before) / (time.perf_counter() - began)
    for caller in callers:
        caller.again = None
        caller.transport.abort()  # type: ignore[attr-defined]
    return rate, tally[1]


if __name__ == "__main__":
    rate, odd = asyncio.run(load(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.stdin.buffer.read()))
    print(rate, odd)
