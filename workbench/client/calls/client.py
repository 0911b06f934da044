"""Synchronous and asynchronous client. The first call imports the network modules."""

import os
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import attrs

from workbench.base.arguments import hide_arguments
from workbench.base.errors import InvalidArguments, NotSent, Problem, UsageError, advise
from workbench.base.schema.walk import UnknownMember, build, given
from workbench.client.calls.base import BaseClient, Connections
from workbench.client.calls.building import argument_problems
from workbench.client.calls.exchange import Exchange
from workbench.client.calls.messages import Broken, HttpRequest, HttpResponse
from workbench.service.interface.table import KEY_HEADER, OPERATIONS, Async, Operation, Sync

R = TypeVar("R")

_KEY_HEADER = KEY_HEADER.encode()
_BY_REQUEST: Mapping[type[Any], Operation[..., Any]] = {row.request: row for row in OPERATIONS.values()}


def network() -> Any:
    """Import and return the module `transports`, which loads httpx, TLS and the event loop."""
    from workbench.client.calls import transports

    return transports


class _Calls(BaseClient):
    """Build and run the calls of either client over the network."""

    @hide_arguments
    def call(self, operation: Operation[..., Any], arguments: dict[str, Any]) -> Any:
        """Check and send an operation, with the keyword arguments of its method as a dict."""
        return self._run(operation, arguments)

    @hide_arguments
    def send(self, request: object) -> Any:
        """Send a request record, for example `SimulateRefund(transaction_id=…, amount=FULL)`."""
        return self._run(_BY_REQUEST.get(type(request)), request)

    @hide_arguments
    def _resend(self, request: object, attempt: str) -> Any:
        entry = OPERATIONS[self.journal[attempt].operation]
        return self._run(entry if isinstance(request, Mapping) else _BY_REQUEST.get(type(request)), request, attempt)

    @abstractmethod
    def _run(self, operation: Operation[..., Any] | None, request: object, resend_of: str | None = None) -> Any:
        """Run the coroutine `_call` to completion (`Client`), or return it to be awaited (`AsyncClient`)."""

    async def _call(self, operation: Operation[..., Any] | None, request: object, resend_of: str | None = None) -> Any:
        return await self._exchange(operation, request, resend_of)

    def _exchange(
        self, operation: Operation[..., Any] | None, request: object, resend_of: str | None = None
    ) -> Coroutine[Any, Any, Any]:
        """Build the request of an operation, and return the coroutine that sends it.

        Raises:
            InvalidArguments: No operation has such a request, or an argument is unknown.
        """
        if operation is None:
            raise InvalidArguments(
                f"send() takes the request of an operation, such as SimulateRefund(…), not a {type(request).__name__}"
            )
        # The nested records of a request may be mappings.
        arguments = request if isinstance(request, Mapping) else given(request)
        try:
            built = build(operation.request, arguments)
        except UnknownMember:
            raise InvalidArguments(argument_problems(operation, arguments), of=operation.name) from None
        call = Exchange(operation, built, self._context, self._allowing, resend_of)
        return call.run(self._transmit, self._pause, self._renew_key)

    @abstractmethod
    def _transmit(self, outgoing: HttpRequest) -> Any:
        """Return an awaitable that sends a request and returns an `HttpResponse` or a `Broken`."""

    async def _pause(self, seconds: float) -> None:
        await self._context.clock.asleep(seconds)

    async def _renew_key(self, version: int) -> bool:
        return self._key.renew(version)

    def _send_directly(self, outgoing: HttpRequest) -> Any:
        """Return the `HttpResponse` of an in-process sandbox, or a transport that simulates a connection fault."""
        headers = {name.decode().lower(): value.decode() for name, value in outgoing.headers}
        outgoing.key_version = self._key.version
        headers[KEY_HEADER.lower()] = self._key.header().decode()
        target = self._url.path + outgoing.target
        answer = self._given.respond(outgoing.operation.method, target, headers, outgoing.body or b"")
        if not hasattr(answer, "status"):
            return answer
        outgoing.status = answer.status
        return HttpResponse(outgoing, answer.status, answer.headers, answer.body)

    def _refused_in_test(self) -> Broken | None:
        """Return the error of a pytest test that would call a real service; None if the call is allowed or mocked."""
        if self._given is not None or self._url.local or not os.environ.get("PYTEST_CURRENT_TEST"):
            return None
        if network().is_replaced():
            return None
        text = (
            f"a pytest test would call {self._url.host}; give the client a transport, such as sandbox.transport(), "
            "a mock, or httpx.HTTPTransport() for real calls"
        )
        return Broken(text, left=False, final=True)

    def _wire(self, outgoing: HttpRequest) -> dict[str, Any]:
        outgoing.traced = self._given is None and not network().is_replaced()
        outgoing.key_version = self._key.version
        return {
            "base": str(self._url),
            "key": (_KEY_HEADER, self._key.header()),
            "clock": self._context.clock,
            "http": self._http,
        }

    def _ssl_context(self) -> Any:
        import ssl

        if self._url.scheme == "http":  # HTTP without TLS is allowed only to this machine
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if os.environ.get("SSLKEYLOGFILE"):
            advise("SSLKEYLOGFILE is set: TLS keys are written to a file, whose readers can decrypt every call")
        if self._ca_file is not None:
            from workbench.base.system.certificates import trusted  # this import loads ssl

            context = trusted(self._ca_file)
        else:  # trust httpx's default certificates, or the certificates that the environment names
            context = network().httpx.create_ssl_context(trust_env=self._http.trust_env)
        if (certificate := self._http.client_cert_file) is not None:
            try:  # pass an empty password, because OpenSSL would otherwise ask for a password at the terminal
                context.load_cert_chain(certificate, self._http.client_key_file, password=lambda: b"")
            except (OSError, ValueError) as error:
                text = (
                    "cannot be loaded; the certificate and its unencrypted key must be in PEM format "
                    f"({type(error).__name__})"
                )
                raise UsageError([Problem("http.client_cert_file", "file", text)]) from None
        return context

    def _options(self) -> dict[str, Any]:
        return {"http": self._http, "proxy": self._proxy}


class Client(_Calls, Sync):
    """Synchronous client. Each operation of the service is a method that returns its answer."""

    def _new_transport(self) -> Any:
        return network().TimelyTransport(self._ssl_context(), **self._options())

    def _run(self, operation: Operation[..., Any] | None, request: object, resend_of: str | None = None) -> Any:
        return self._finish(self._call(operation, request, resend_of))

    def _finish(self, call: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine to completion. Nothing that this client awaits ever suspends."""
        try:
            call.send(None)
        except StopIteration as stop:
            value: R = stop.value
            return value
        finally:
            call.close()
        raise AssertionError("a synchronous client awaited a coroutine")

    async def _pause(self, seconds: float) -> None:
        """Wait for a number of seconds. A view that is stopped meanwhile sends no more calls."""
        stopped = self._stopped or (lambda: False)
        step = seconds if self._stopped is None else 0.1
        while seconds > 0 and not stopped():
            self._context.clock.sleep(min(step, seconds))
            seconds -= step
        if stopped():
            raise NotSent("stopped during a pause, so nothing was sent; the call can be sent again")

    async def _transmit(self, outgoing: HttpRequest) -> Any:
        if self._key.is_due:
            self._key.renew(self._key.version)
        transport = self._connections.get()
        if self._given is not None and hasattr(transport, "respond"):  # the sandbox runs in this process
            answer = self._send_directly(outgoing)
            if isinstance(answer, HttpResponse):
                return answer
            transport = answer  # the transport simulates a connection fault
        return self._refused_in_test() or network().transmit(transport, outgoing, **self._wire(outgoing))

    def close(self) -> None:
        """Close the connections and the journal file. A session also closes the inbox and an embedded sandbox."""
        if self._given is None and (opened := self._connections.take()) is not None:
            opened.close()
        self._close_rest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


def _running_loop() -> int:
    import asyncio

    return id(asyncio.get_running_loop())


class AsyncClient(_Calls, Async):
    """Asynchronous client. Each operation of the service is a method to be awaited."""

    def _new_transport(self) -> Any:
        return network().AsyncTransport(self._ssl_context(), **self._options())

    _run = hide_arguments(_Calls._call)

    async def _transmit(self, outgoing: HttpRequest) -> Any:
        if self._key.is_due:
            await self._renew_key(self._key.version)
        transport = self._connections.get(_running_loop())
        return self._refused_in_test() or await network().atransmit(transport, outgoing, **self._wire(outgoing))

    async def _renew_key(self, version: int) -> bool:
        import asyncio

        return await asyncio.to_thread(self._key.renew, version)  # the function may wait for a vault

    async def aclose(self) -> None:
        """Close the connections and the journal file. A session also closes the inbox and an embedded sandbox."""
        opened = self._connections.take(_running_loop())
        if opened is not None and self._given is None:
            await opened.aclose()
        self._close_rest()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.aclose()


_READS = frozenset(row.request for row in OPERATIONS.values() if not row.effect)


class RawReader(AsyncClient):
    """Client for concurrent reads. It returns unparsed bodies, which the caller can parse in batches.

    The reader shares key, rate limits, pauses and retry budget with its client. Calls are checked, limited and retried
    as usual, but answers are not parsed.
    """

    def __init__(self, client: BaseClient, *, on_rate_limit: Callable[[], None] = lambda: None) -> None:
        """Create a reader from a client.

        Args:
            client: The client whose settings and transport are used.
            on_rate_limit: Function called for each 429, before the pause that follows.
        """
        self.__dict__.update(client.__dict__)
        self._context = attrs.evolve(self._context, as_bytes=True, on_rate_limit=on_rate_limit)
        self._connections = Connections(self._transport)

    def _new_transport(self) -> Any:
        return network().SeparateConnections(self._ssl_context(), **self._options())

    def fetch(self, request: object) -> Coroutine[Any, Any, bytes]:
        """Return a coroutine that sends a read and returns its unparsed body.

        Raises:
            UsageError: The operation has an effect.
            InvalidRequest: The request breaks a rule.
            WorkbenchError: As for any call.
        """
        if type(request) not in _READS:
            raise UsageError("only reads return bodies", of="fetch")
        return self._exchange(_BY_REQUEST[type(request)], request)  # errors are raised where the result is awaited

    def _close_rest(self) -> None:
        """Leave the journal open, since it belongs to the original client."""


def refuse_async(api: object, of: str) -> None:
    """Raise UsageError for an async client, with the synchronous alternative."""
    if isinstance(api, AsyncClient):
        message = (
            "must be a synchronous session from wb.connect(); in an event loop call this in a thread: `await "
            "asyncio.to_thread(…)`"
        )
        raise UsageError([Problem("api", "type", message)], of=of)
