"""The two clients: the same calls, one answering at once, one awaited. The only file that imports httpx besides `transports`.

httpx is used from its transports down: nothing follows redirects, reads the environment, keeps cookies or logs queries.
"""

import asyncio
import os
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

import attrs
import httpx

from workbench.client.base import BaseClient, Connections
from workbench.client.exchange import Exchange
from workbench.client.messages import WRITTEN, Body, Broken, Pause, Request, Response, TooLarge
from workbench.client.probe import Findings, Probe
from workbench.client.transports import FAILURES, TimelyTransport, Trace, as_httpx
from workbench.errors import InvalidRequest, NotSent, advise, hide_arguments, visible
from workbench.interface.operation import Async, Sync
from workbench.interface.table import KEY_HEADER, OPERATIONS

# Raised before a byte of a request is written; anything else may have been acted on.
_NOT_SENT = (
    httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.LocalProtocolError,
    httpx.ProxyError,
)  # fmt: skip
# Their texts hold no header and no body.
_HARMLESS = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ReadTimeout, httpx.WriteTimeout)
_WORDS: dict[type[Exception], str] = {
    httpx.ConnectTimeout: "no connection in time",
    httpx.PoolTimeout: "no free connection in time",
    httpx.ReadTimeout: "no answer in time",
    httpx.WriteTimeout: "not written in time",
    httpx.RemoteProtocolError: "the connection ended before the end of the answer",
    httpx.ReadError: "the connection was lost while waiting for the answer",
    httpx.WriteError: "the connection was lost while sending",
    httpx.LocalProtocolError: "the request cannot be written",
}
_KEY_HEADER = KEY_HEADER.encode()
_FOREVER = float("inf")


@lru_cache(1024)
def _url(base: str, target: str) -> httpx.URL:
    return httpx.URL(base + target)


def _described(failure: httpx.TransportError, clean: Callable[[str], str]) -> str:
    """Return what the transport met, without its text where that may hold a header."""
    connecting = isinstance(failure, httpx.ConnectError)
    words = _WORDS.get(type(failure)) or ("no connection" if connecting else "the connection failed")
    text = visible(clean(str(failure)), 200) if connecting else ""
    return f"{words}: {text}" if text else words


def _broken(failure: httpx.TransportError, outgoing: Request) -> Broken:
    left = outgoing.phase >= WRITTEN if isinstance(failure, _NOT_SENT) else not outgoing.surely_not_sent
    cause: Exception | None = None
    if isinstance(failure, _HARMLESS):
        cause = type(failure)(
            outgoing.clean(str(failure))
        )  # a fresh one: the caught one holds the request with its key
    return Broken(
        _described(failure, outgoing.clean), left=left, timeout=isinstance(failure, httpx.TimeoutException), cause=cause
    )


class _Incoming:
    """An answer while it arrives."""

    def __init__(self, outgoing: Request) -> None:
        self._outgoing = outgoing
        self._headers: dict[str, str] = {}
        self._body = Body(None)
        self._broken: Broken | None = None

    @contextmanager
    def arriving(self) -> Iterator[None]:
        """Note what breaks the answer off."""
        outgoing = self._outgoing
        try:
            yield
        except (httpx.TransportError, *FAILURES) as failure:
            self._broken = _broken(as_httpx(failure), outgoing)
        except TimeoutError:
            self._broken = Broken("no answer in time", left=not outgoing.surely_not_sent, timeout=True)
        except TooLarge:
            self._broken = Broken("it is too large", left=True, too_large=True)
        except zlib.error:
            self._broken = Broken("it cannot be unpacked", left=True)

    def head(self, answer: httpx.Response) -> None:
        """Take the status and the headers."""
        self._outgoing.status = answer.status_code
        self._headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers.raw}
        self._body = Body(self._headers.get("content-encoding"))

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the body."""
        self._body.feed(chunk)

    def result(self) -> Response | Broken:
        """Return the answer, or what broke it off."""
        status = self._outgoing.status
        if status is None:
            assert self._broken is not None
            return self._broken
        return Response(status, self._headers, self._body.whole(), self._broken)


class _HttpxClient(BaseClient):
    """What both clients need of httpx."""

    def _wired(self, outgoing: Request) -> tuple[httpx.Request, float]:
        """Return a request for the transport, and the seconds it may take."""
        left = outgoing.deadline - self._context.clock.monotonic()
        seconds = None if left == _FOREVER else max(left, 0.001)
        request = httpx.Request(
            outgoing.method,
            _url(str(self._url), outgoing.target),
            headers=[*outgoing.headers, (_KEY_HEADER, self._key.header())],
            stream=httpx.ByteStream(outgoing.body or b""),
            extensions={"timeout": {"connect": seconds, "read": seconds, "write": seconds, "pool": seconds}},
        )
        outgoing.traced = self._given is None
        return request, left

    def _ssl_context(self) -> ssl.SSLContext:
        if self._url.scheme == "http":  # to this machine only
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if os.environ.get("SSLKEYLOGFILE"):
            advise("SSLKEYLOGFILE is set: TLS keys are being written to a file, and who has it can read every call")
        if self._ca_file is not None:
            return ssl.create_default_context(cafile=self._ca_file)
        return httpx.create_ssl_context(trust_env=False)


class Client(_HttpxClient, Sync):
    """The service's operations as methods; each returns its answer."""

    def _new_transport(self) -> Any:
        return TimelyTransport(self._ssl_context())

    def _run(self, begin: Callable[[], Exchange]) -> Any:
        call = begin()
        steps = call.steps()
        try:
            step = next(steps)
            while True:
                outcome: Any = None
                try:
                    if isinstance(step, Pause):
                        self._pause(step.seconds)
                    else:
                        outcome = self._transmit(step)
                except BaseException as error:  # noqa: BLE001 - after an interrupt too the outcome is to be recorded
                    step = steps.throw(error)
                else:
                    step = steps.send(outcome)
        except StopIteration as stop:
            return stop.value
        finally:
            call.active = False  # first, without a call: an interrupt cannot come between
            steps.close()

    def _pause(self, seconds: float) -> None:
        """Wait; in a view that is stopped meanwhile, nothing is sent any more."""
        stopped = self._stopped or (lambda: False)
        step = seconds if self._stopped is None else 0.1
        while seconds > 0 and not stopped():
            self._context.clock.sleep(min(step, seconds))
            seconds -= step
        if stopped():
            raise NotSent("stopped during a pause, so nothing was sent; it is safe to send it later")

    def _transmit(self, outgoing: Request) -> Any:
        clock, incoming = self._context.clock, _Incoming(outgoing)
        transport = self._connections.get()
        request, left = self._wired(outgoing)
        if outgoing.traced:
            request.extensions |= {"trace": Trace(outgoing), "deadline": time.monotonic() + max(left, 0.0)}
        with incoming.arriving():
            answer = transport.handle_request(request)
            try:
                incoming.head(answer)
                for chunk in answer.stream:
                    incoming.feed(chunk)
                    if clock.monotonic() > outgoing.deadline:
                        raise httpx.ReadTimeout("")
            finally:
                answer.stream.close()
        return incoming.result()

    def verify_assumptions(self, *, user_id: str | None = None) -> Findings:
        """Check assumptions about the service by at most seven reads, and report which are confirmed or contradicted.

        Args:
            user_id: A user with rewards; without one the names of the rewards query are tried on an unknown user only.

        Raises:
            WorkbenchError: The service cannot be reached, refuses the key, or does not answer as this API.
        """
        return Probe(self).run(user_id)

    def close(self) -> None:
        """Close connections and the journal's file."""
        if self._given is None and (opened := self._connections.take()) is not None:
            opened.close()
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


class AsyncClient(_HttpxClient, Async):
    """The service's operations as methods; each is awaited."""

    def _new_transport(self) -> Any:
        return httpx.AsyncHTTPTransport(verify=self._ssl_context(), trust_env=False)

    @hide_arguments
    async def _run(self, begin: Callable[[], Exchange]) -> Any:
        call = begin()
        steps = call.steps()
        try:
            step = next(steps)
            while True:
                outcome: Any = None
                try:
                    if isinstance(step, Pause):
                        await self._context.clock.asleep(step.seconds)
                    else:
                        outcome = await self._transmit(step)
                except BaseException as error:  # noqa: BLE001 - after a cancellation too the outcome is to be recorded
                    step = steps.throw(error)
                else:
                    step = steps.send(outcome)
        except StopIteration as stop:
            return stop.value
        finally:
            call.active = False  # first, without a call: an interrupt cannot come between
            steps.close()

    async def _transmit(self, outgoing: Request) -> Any:
        incoming = _Incoming(outgoing)
        transport = self._connections.get(id(asyncio.get_running_loop()))
        request, left = self._wired(outgoing)
        if outgoing.traced:
            request.extensions["trace"] = Trace(outgoing).awaited
        with incoming.arriving():
            async with asyncio.timeout(None if left == _FOREVER else left):
                answer = await transport.handle_async_request(request)
                try:
                    incoming.head(answer)
                    async for chunk in answer.stream:
                        incoming.feed(chunk)
                finally:
                    await answer.stream.aclose()
        return incoming.result()

    async def aclose(self) -> None:
        """Close connections and the journal's file."""
        await self._close_connections()
        if self._journal is not None:
            self._journal.close()

    async def _close_connections(self) -> None:
        opened = self._connections.take(id(asyncio.get_running_loop()))
        if opened is not None and self._given is None:
            await opened.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.aclose()


_READS = frozenset(row.request for row in OPERATIONS.values() if not row.effect)


class Bodies(AsyncClient):
    """Reads whose bodies are wanted as they came, many in flight at once, for tables that parse whole batches.

    It shares key, rates, pauses and budget with the client it is made of. The exchange is the usual one (checks, rates,
    retries, refusals); only the last step, reading the answer, is left out.
    """

    def __init__(self, client: BaseClient, *, on_rate_limit: Callable[[], None] = lambda: None) -> None:
        """Make it of a client.

        Args:
            client: The client whose calls these are; a transport of its own is used here too.
            on_rate_limit: Called for each 429, before its pause.
        """
        self.__dict__.update(client.__dict__)
        self._context = attrs.evolve(self._context, as_bytes=True, on_rate_limit=on_rate_limit)
        self._connections = Connections(self._transport)

    def _new_transport(self) -> Any:
        return _Pools(self._ssl_context())

    async def fetch(self, request: Any) -> bytes:
        """Send the request of a read and return the body of its answer, unread.

        Raises:
            InvalidRequest: The operation has an effect, or the request breaks a rule.
            WorkbenchError: As for any call.
        """
        if type(request) not in _READS:
            raise InvalidRequest("only reads return bodies", of="fetch")
        body: bytes = await self.send(request)
        return body

    async def aclose(self) -> None:
        """Close the connections; the journal belongs to the client this was made of."""
        await self._close_connections()


class _Pools(httpx.AsyncBaseTransport):
    """A connection pool for each request in flight, since a common one examines all its connections for each request."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._pools: list[httpx.AsyncHTTPTransport] = []
        self._idle: list[httpx.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send through the pool that was used last, or through a new one."""
        if not self._idle:
            self._idle.append(httpx.AsyncHTTPTransport(verify=self._context, trust_env=False))
            self._pools += self._idle
        pool = self._idle.pop()
        try:
            answer = await pool.handle_async_request(request)
        except BaseException:
            self._idle.append(pool)
            raise
        answer.stream = _Stream(answer.stream, lambda: self._idle.append(pool))
        return answer

    async def aclose(self) -> None:
        for pool in self._pools:
            await pool.aclose()


class _Stream(httpx.AsyncByteStream):
    """The body of an answer; calls a function when it is closed."""

    def __init__(self, stream: Any, on_close: Callable[[], object]) -> None:
        self._stream, self._on_close = stream, on_close

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        await self._stream.aclose()
        self._on_close()
