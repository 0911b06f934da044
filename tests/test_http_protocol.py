"""The server parses requests equally, however their bytes are split and whatever upgrade they offer."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import attrs
import hypothesis.strategies as st
import pytest
import uvicorn
from hypothesis import given, settings
from uvicorn.server import ServerState

from tests.each import each
from workbench.base.system.http_server import _App, _LimitedProtocol, bare
from workbench.base.system.messages import Request, Response

OFFERS = (
    b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n",
    b"Upgrade: h2c\r\nConnection: HTTP2-Settings,Upgrade\r\nHTTP2-Settings: AAM\r\n",
    b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: AAM=\r\n",
    b"connection: keep-alive, upgrade\r\nupgrade: TLS/1.0\r\n",
)
PLAIN = b""


class Transport(asyncio.Transport):
    """A connection that records the bytes written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closing = False

    def write(self, data: Any) -> None:
        if not self.closing:
            self.written += data

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = True

    def pause_reading(self) -> None:
        """Do nothing, because the test passes segments one by one."""

    def resume_reading(self) -> None:
        """Do nothing, because the test passes segments one by one."""


@attrs.frozen
class Call:
    """A request with its upgrade offer, which is not part of the expected request."""

    method: str
    path: str
    body: bytes | None
    chunks: tuple[int, ...]  # empty for a body with a Content-Length
    offer: bytes
    expect: bool

    @property
    def raw(self) -> bytes:
        lines = [f"{self.method} {self.path} HTTP/1.1".encode(), b"host: localhost"]
        if self.expect:
            lines.append(b"expect: 100-continue")
        body = self.body or b""
        if self.body is None:
            return b"\r\n".join([*lines, self.offer, b""])
        if not self.chunks:
            return b"\r\n".join([*lines, b"content-length: %d" % len(body), self.offer]) + b"\r\n" + body
        parts, left = [], body
        for size in self.chunks:
            part, left = left[:size], left[size:]
            parts.append(part)
        chunked = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, left) if part)
        return b"\r\n".join([*lines, b"transfer-encoding: chunked", self.offer]) + b"\r\n" + chunked + b"0\r\n\r\n"


INNER = b"POST /inner HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n" + OFFERS[0] + b"\r\n{}"
BODIES = st.none() | st.sampled_from([b"", b'{"amount":100}', INNER, OFFERS[0] * 3]) | st.binary(max_size=40)
CALLS = st.builds(
    Call,
    method=st.sampled_from(["POST", "PATCH", "PUT", "DELETE"]),
    path=st.sampled_from(["/v1/a", "/v1/b?x=1"]),
    body=BODIES,
    chunks=st.lists(st.integers(1, 20), max_size=3).map(tuple),
    offer=st.sampled_from([*OFFERS, PLAIN]),
    expect=st.booleans(),
)


async def converse(segments: Sequence[bytes], answered: Any = None) -> tuple[list[Request], bytes]:
    """Pass segments to the protocol, and return the requests that reached the application and the response bytes."""
    seen: list[Request] = []

    async def answer(request: Request) -> Response:
        seen.append(request)
        if answered is not None:
            await answered.wait()
        return Response(status=200, body=request.path.encode())

    app: Any = _App(answer, bare, frozenset({"localhost"}), 2**20)
    config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None, server_header=False, date_header=False)
    config.load()
    config.loaded_app = app
    protocol, transport = _LimitedProtocol(config, ServerState(), {}), Transport()
    protocol.connection_made(transport)
    for segment in segments:
        if not transport.closing:
            protocol.data_received(segment)
        await asyncio.sleep(0)
    for _ in range(50):
        await asyncio.sleep(0)
    if answered is not None:
        answered.set()
    for _ in range(50):
        await asyncio.sleep(0)
    protocol.connection_lost(None)
    return seen, transport.written


@given(st.lists(CALLS, min_size=1, max_size=3), st.data())
@settings(max_examples=60, deadline=None)
def test_every_split_reads_the_same(calls: list[Call], data: st.DataObject) -> None:
    """Requests with any offer, length, chunks and pipelining arrive complete, however the bytes are split."""
    raw = b"".join(call.raw for call in calls)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    segments = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]

    seen, written = asyncio.run(converse([segment for segment in segments if segment]))

    assert [(one.method, one.path, one.body) for one in seen] == [
        (call.method, call.path.partition("?")[0], call.body or b"") for call in calls
    ]
    assert not any({"upgrade", "http2-settings"} & one.headers.keys() for one in seen)
    assert written.count(b"HTTP/1.1 200 OK") == len(calls)


POST = b"POST /a HTTP/1.1\r\nhost: localhost\r\n%scontent-length: 9\r\n\r\n"


@each("offer", [PLAIN, *OFFERS])
@each("arrived", [b"", b'{"a"'])
def test_a_short_body_reaches_no_handler(offer: bytes, arrived: bytes) -> None:
    """A request whose body ends before its announced length is not answered."""
    seen, written = asyncio.run(converse([POST % offer, *filter(None, [arrived])]))

    assert (seen, written) == ([], b"")


@pytest.mark.parametrize(
    "bad",
    [b"\0\0\0\r\n\r\n", b"CONNECT a.example:443 HTTP/1.1\r\nhost: a\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
)
def test_refusal_follows_the_answers_before_it(bad: bytes) -> None:
    """An unreadable request is refused only after the requests before it are answered."""

    async def run() -> tuple[list[Request], bytes]:
        return await converse([POST % PLAIN + b'{"a": 12}' + bad], asyncio.Event())

    seen, written = asyncio.run(run())
    statuses = [int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", written)]

    assert len(seen) == 1
    assert statuses == [200, 400]


def test_long_pipeline_is_not_a_long_head() -> None:
    """Short requests in one segment count separately, also if the last head is incomplete."""
    seen, written = asyncio.run(
        converse([b"GET /a HTTP/1.1\r\nhost: localhost\r\n\r\n" * 600 + b"GET /b HTTP/1.1\r\n"])
    )

    assert b" 431 " not in written
    assert len(seen) > 10
