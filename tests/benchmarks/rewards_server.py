"""A rewards service with little processor time: it sends prepared pages after a fixed delay.

Run as a separate process: `python -m tests.benchmarks.rewards_server <delay in seconds>`. It prints its port.
"""

import asyncio
import sys
from urllib.parse import parse_qs, urlsplit

from tests.tables.pages import page

ROWS = 150


class Answering(asyncio.Protocol):
    """A connection that answers GET requests in order."""

    def __init__(self, delay: float, answers: dict[int, bytes]) -> None:
        self.delay = delay
        self.answers = answers
        self.kept = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.kept += data
        while b"\r\n\r\n" in self.kept:
            head, _, self.kept = self.kept.partition(b"\r\n\r\n")
            target = head.split(b" ", 2)[1].decode()
            query = parse_qs(urlsplit(target).query)
            answer = self.answers.get(int(query["offset"][0]), self.answers[-1])
            if self.delay:
                asyncio.get_running_loop().call_later(self.delay, self.send, answer)
            else:
                self.send(answer)

    def send(self, answer: bytes) -> None:
        self.transport.write(answer)  # type: ignore[attr-defined]


def answers() -> dict[int, bytes]:
    """Return the answers by offset: 100 rows at 0, 51 at 99, and none at 150 or any other offset (-1)."""
    whole = page(ROWS, 1)
    import orjson

    rows = orjson.loads(whole)["items"]
    made = {}
    for offset in (0, 99, ROWS):
        body = orjson.dumps({"items": rows[offset : offset + 100]})
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        made[offset] = head.encode() + body
    made[-1] = made[ROWS]
    return made


async def serve(delay: float) -> None:
    """Serve until the process is killed."""
    loop = asyncio.get_running_loop()
    made = answers()
    server = await loop.create_server(lambda: Answering(delay, made), "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
