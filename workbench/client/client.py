"""The two clients: the same calls, one answering at once, one awaited. The only file that imports httpx.

httpx is used from its transports down: nothing follows redirects, reads the environment, keeps cookies or logs queries.
"""

import asyncio
import os
import ssl
import time
import zlib
from collections.abc import Callable
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

import httpx

from workbench.client.advice import advise
from workbench.client.calls import Calls
from workbench.client.flight import DEADLINE, Timely, Trace
from workbench.client.messages import WRITTEN, Body, Broken, Pause, Request, Response, TooLarge
from workbench.client.probe import Findings, Probe
from workbench.client.wire import Exchange
from workbench.errors import visible
from workbench.interface.operation import Async, Sync
from workbench.interface.table import KEY_HEADER

# Raised before a byte of a request is written; anything else may have been acted on.
_NOT_SENT = (
    httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.LocalProtocolError,
    httpx.ProxyError,
)  # fmt: skip
# Their texts hold no header and no body.
_HARMLESS = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ReadTimeout, httpx.WriteTimeout)

_KEY_HEADER = KEY_HEADER.encode()


@lru_cache(1024)
def _url(base: str, target: str) -> httpx.URL:
    return httpx.URL(base + target)


def _told(failure: httpx.TransportError, clean: Callable[[str], str]) -> str:
    """Say what the transport met, without its text where that may hold a header."""
    words = {
        httpx.ConnectTimeout: "no connection in time",
        httpx.PoolTimeout: "no free connection in time",
        httpx.ReadTimeout: "no answer in time",
        httpx.WriteTimeout: "not written in time",
        httpx.RemoteProtocolError: "the connection ended before a whole answer",
        httpx.ReadError: "the connection was lost while waiting for the answer",
        httpx.WriteError: "the connection was lost while sending",
        httpx.LocalProtocolError: "the request cannot be written",
    }.get(type(failure))
    if words is None:
        words = "no connection" if isinstance(failure, httpx.ConnectError) else "the connection failed"
    text = visible(clean(str(failure)), 200) if isinstance(failure, httpx.ConnectError) else ""
    return f"{words}: {text}" if text else words


def _broken(failure: httpx.TransportError, outgoing: Request) -> Broken:
    kind = type(failure)
    if isinstance(failure, _NOT_SENT):
        left = outgoing.phase >= WRITTEN
    else:
        left = not outgoing.surely_not_sent
    cause: Exception | None = None
    if isinstance(failure, _HARMLESS):
        cause = kind(outgoing.clean(str(failure)))  # a fresh one: the caught one holds the request with its key
    return Broken(
        _told(failure, outgoing.clean), left=left, timeout=isinstance(failure, httpx.TimeoutException), cause=cause
    )


def _headers(answer: httpx.Response) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers.raw}


class _Httpx(Calls):
    """What both drivers need of httpx."""

    def _wired(self, outgoing: Request) -> httpx.Request:
        __tracebackhide__ = True
        left = outgoing.deadline - self._context.clock.monotonic()
        seconds = None if left == float("inf") else max(left, 0.001)
        return httpx.Request(
            outgoing.method,
            _url(str(self._url), outgoing.target),
            headers=[*outgoing.headers, (_KEY_HEADER, self._key.header())],
            stream=httpx.ByteStream(outgoing.body or b""),
            extensions={"timeout": {"connect": seconds, "read": seconds, "write": seconds, "pool": seconds}},
        )

    def _ssl_context(self) -> ssl.SSLContext:
        if self._url.scheme == "http":  # to this machine only
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if os.environ.get("SSLKEYLOGFILE"):
            advise("SSLKEYLOGFILE is set: TLS keys are being written to a file, and who has it can read every call")
        if self._ca_file is not None:
            return ssl.create_default_context(cafile=self._ca_file)
        return httpx.create_ssl_context(trust_env=False)


class Client(_Httpx, Sync):
    """The service's operations as methods; each returns its answer."""

    def _drive(self, exchange: Exchange) -> Any:
        __tracebackhide__ = True
        step: Any
        try:
            step = next(exchange)
            while True:
                failure: BaseException | None = None
                outcome: Any = None
                try:
                    if step.__class__ is Pause:
                        self._context.clock.sleep(step.seconds)
                    else:
                        outcome = self._transmit(step)
                except BaseException as error:  # noqa: BLE001 - an interrupt in flight too leaves a call whose end is to be told
                    failure = error
                # Outside the block: no frame below this one, with its headers and bodies, goes along.
                step = exchange.send(outcome) if failure is None else exchange.throw(failure.with_traceback(None))
        except StopIteration as stop:
            return stop.value

    def _transmit(self, outgoing: Request) -> Response | Broken:
        __tracebackhide__ = True
        transport = self._transport()
        outgoing.traced = self._given is None
        request = self._wired(outgoing)
        clock = self._context.clock
        if outgoing.traced:
            request.extensions["trace"] = Trace(outgoing)
            DEADLINE.at = time.monotonic() + max(outgoing.deadline - clock.monotonic(), 0.0)
        body, headers = Body(None), {}
        broken: Broken
        try:
            answer = transport.handle_request(request)
            outgoing.status = answer.status_code
            try:
                headers = _headers(answer)
                body = Body(headers.get("content-encoding"))
                for chunk in answer.stream:  # type: ignore[union-attr]
                    body.feed(chunk)
                    if clock.monotonic() > outgoing.deadline:
                        raise httpx.ReadTimeout("")
            finally:
                answer.close()
            return Response(answer.status_code, headers, body.whole())
        except httpx.TransportError as failure:
            broken = _broken(failure, outgoing)
        except TooLarge:
            broken = Broken("it is too large", left=True, too_large=True)
        except zlib.error:
            broken = Broken("it cannot be unpacked", left=True)
        if outgoing.status is None:
            return broken
        return Response(outgoing.status, headers, body.whole(), broken)

    def _transport(self) -> httpx.BaseTransport:
        if self._given is not None:
            given: httpx.BaseTransport = self._given
            return given
        holder = self._parent
        # A process that was forked must not share its parent's connections: answers would mix.
        if holder._opened is None or holder._owner != os.getpid():
            with holder._opening:
                if holder._opened is None or holder._owner != os.getpid():
                    made = httpx.HTTPTransport(verify=self._ssl_context(), trust_env=False)
                    backend = Timely(made._pool._network_backend, lambda: httpx.ReadTimeout(""))
                    made._pool._network_backend = backend  # type: ignore[assignment]
                    holder._opened, holder._owner = made, os.getpid()
        opened: httpx.BaseTransport = holder._opened
        return opened

    def verify_assumptions(self, *, user_id: str | None = None) -> Findings:
        """Check assumptions about the service by at most seven reads, and report which are confirmed or contradicted.

        Args:
            user_id: A user with rewards; without one the names of the rewards query are tried on an unknown user only.
        """
        return Probe(self).run(user_id)

    def close(self) -> None:
        """Close connections and the journal's file."""
        holder = self._parent
        if holder._opened is not None and holder._owner == os.getpid():
            holder._opened.close()
        holder._opened = None
        if self._context.journal is not None:
            self._context.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


class AsyncClient(_Httpx, Async):
    """The service's operations as methods; each is awaited."""

    async def _drive(self, exchange: Exchange) -> Any:
        __tracebackhide__ = True
        step: Any
        try:
            step = next(exchange)
            while True:
                failure: BaseException | None = None
                outcome: Any = None
                try:
                    if step.__class__ is Pause:
                        await self._context.clock.asleep(step.seconds)
                    else:
                        outcome = await self._transmit(step)
                except BaseException as error:  # noqa: BLE001 - a cancellation in flight too leaves a call whose end is to be told
                    failure = error
                step = exchange.send(outcome) if failure is None else exchange.throw(failure.with_traceback(None))
        except StopIteration as stop:
            return stop.value

    async def _transmit(self, outgoing: Request) -> Response | Broken:
        __tracebackhide__ = True
        transport = self._transport()
        outgoing.traced = self._given is None
        request = self._wired(outgoing)
        left = outgoing.deadline - self._context.clock.monotonic()
        if outgoing.traced:
            request.extensions["trace"] = Trace(outgoing).awaited
        body, headers = Body(None), {}
        broken: Broken
        try:
            async with asyncio.timeout(None if left == float("inf") else left):
                answer = await transport.handle_async_request(request)
                outgoing.status = answer.status_code
                try:
                    headers = _headers(answer)
                    body = Body(headers.get("content-encoding"))
                    async for chunk in answer.stream:  # type: ignore[union-attr]
                        body.feed(chunk)
                finally:
                    await answer.aclose()
            return Response(answer.status_code, headers, body.whole())
        except httpx.TransportError as failure:
            broken = _broken(failure, outgoing)
        except TimeoutError:
            broken = Broken("no answer in time", left=not outgoing.surely_not_sent, timeout=True)
        except TooLarge:
            broken = Broken("it is too large", left=True, too_large=True)
        except zlib.error:
            broken = Broken("it cannot be unpacked", left=True)
        if outgoing.status is None:
            return broken
        return Response(outgoing.status, headers, body.whole(), broken)

    def _transport(self) -> httpx.AsyncBaseTransport:
        if self._given is not None:
            given: httpx.AsyncBaseTransport = self._given
            return given
        holder = self._parent
        # Connections belong to one event loop of one process.
        owner = (os.getpid(), id(asyncio.get_running_loop()))
        if holder._opened is None or holder._owner != owner:
            made = httpx.AsyncHTTPTransport(verify=self._ssl_context(), trust_env=False)
            holder._opened, holder._owner = made, owner
        opened: httpx.AsyncBaseTransport = holder._opened
        return opened

    async def aclose(self) -> None:
        """Close connections and the journal's file."""
        holder = self._parent
        if holder._opened is not None and holder._owner == (os.getpid(), id(asyncio.get_running_loop())):
            await holder._opened.aclose()
        holder._opened = None
        if self._context.journal is not None:
            self._context.journal.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.aclose()
