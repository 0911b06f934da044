"""Base class of both clients: construction, views, arming and preparation of calls. It performs no network I/O."""

import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Self

from workbench import __version__
from workbench.base.arguments import hide_arguments, hide_arguments_of_methods
from workbench.base.errors import Problem, UsageError, advise
from workbench.base.keys import Key
from workbench.base.system.forks import INHERITING
from workbench.client.calls.base_url import base_url as read_base_url
from workbench.client.calls.building import from_wire
from workbench.client.calls.exchange import IDEMPOTENCY, RESPONSES
from workbench.client.calls.guards import Arming, ClientContext, Limits
from workbench.client.calls.journal import Journal, recorder_of
from workbench.client.calls.keys import state_path, warn_if_in_cell
from workbench.client.calls.messages import HttpResponse
from workbench.client.calls.options import HttpOptions, client_problems, unused_proxy
from workbench.client.calls.pace import Clock, Pace
from workbench.service.interface.convert import Converter, converter
from workbench.service.interface.table import VERSION as INTERFACE
from workbench.service.interface.table import Call, Operation, Operations

EnvironmentName = Literal["sandbox", "production"]


class Connections:
    """Transport that a client shares with its views, created on first use in each process and event loop.

    A forked process must not share its parent's connections, because answers would be mixed up. Asynchronous
    connections belong to one event loop.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._held: tuple[Any, Any] = ((), None)

    def get(self, *owner: object) -> Any:
        """Return the transport of this process and owner. Create it if the current transport has another owner."""
        whose = (os.getpid(), *owner)
        current = self._held
        if current[0] != whose:
            with INHERITING:
                current = self._held = self._held if self._held[0] == whose else (whose, self._make())
        return current[1]

    def take(self, *owner: object) -> Any:
        """Remove and return the owner's transport, if there is one, so that the caller can close it."""
        held, self._held = self._held, ((), None)
        return held[1] if held[0] == (os.getpid(), *owner) else None


@hide_arguments_of_methods
class BaseClient(Operations, ABC):
    """Base class of `Client` and `AsyncClient`."""

    _context: ClientContext
    _key: Key
    _allowing: frozenset[str]
    _stopped: Callable[[], bool] | None = None  # function that returns whether this view must stop sending

    @hide_arguments
    def __init__(
        self,
        *,
        base_url: str,
        api_key: str | Key | Callable[[], str],
        environment: EnvironmentName = "sandbox",
        timeout: float | None = 30.0,
        transport: Any = None,
        check: bool = True,
        wire_names: Mapping[str, str] | None = None,
        journal: Journal | str | Path | Literal[False] | None = None,
        limits: Limits | None = None,
        ca_file: str | Path | None = None,
        idempotency_header: str | None = None,
        clock: Clock | None = None,
        http: Mapping[str, Any] | None = None,
    ) -> None:
        """Create a client.

        Args:
            base_url: Base URL of the service, such as https://api.example.com/v1. Only URLs of this machine may use
                http.
            api_key: The key, or a function that fetches the key. The function is called again every 15 minutes and
                after a 401. Prefer a profile or the environment to a literal key.
            environment: "sandbox" or "production". In production simulations are refused and writes need `arm()`.
            timeout: Seconds per call, including retries; None waits forever.
            transport: An httpx transport to use in place of the network, such as `sandbox.transport()`.
            check: Whether requests are checked before they are sent. False also sends invalid requests.
            wire_names: Wire names that differ from the assumed names, such as {"simulate_authorization.decline_reason":
                "declineReason"}.
            journal: Journal, or path of a journal, that records calls with an effect. False records no calls.
            limits: Rate limits, caps and the list of allowed recipients.
            ca_file: Certificates to trust in place of the default certificates. Certificate checks cannot be turned
                off.
            idempotency_header: Header that carries an idempotency key for each write, equal for all attempts. None
                sends only keys from `idempotency`. The interface documents no such header: see `docs/connections.md`.
            clock: Clock of the client.
            http: Options of the connections, such as {"trust_env": True, "max_connections": 10}; see
                `docs/connections.md`.

        Raises:
            UsageError: Arguments are invalid. The message lists all problems.
        """
        problems = client_problems(
            base_url=base_url,
            environment=environment,
            timeout=timeout,
            limits=limits,
            wire_names=wire_names,
            idempotency_header=idempotency_header,
            journal=journal,
            http=http,
            ca_file=ca_file,
        )
        if problems:
            raise UsageError(problems, of=type(self).__name__)
        if isinstance(api_key, str):
            warn_if_in_cell(api_key)
        self._key = Key.of(api_key)
        self._url = read_base_url(base_url)
        self._given = transport
        self._connections = Connections(self._transport)
        self._http = HttpOptions(**(http or {}))
        self._proxy = None if transport is not None else self._http.proxy_for(self._url.scheme, self._url.host)
        if transport is None and not self._url.local and (variable := unused_proxy(self._http)):
            advise(f"{variable} is set but not used; pass http={{'trust_env': True}} to use it")
        self._ca_file = None if ca_file is None else str(ca_file)
        self._allowing = frozenset()
        limits, clock = limits or Limits(), clock or Clock()
        if journal is None and environment == "production":
            journal = state_path() / "journal.db"
        self._journal: Journal | None
        if isinstance(journal, Journal) or journal is False:
            self._journal = journal or None
        else:
            self._journal = Journal(journal, clock=clock)
        real = environment == "production" or (transport is None and not self._url.local)
        self._context = ClientContext(
            host=self._url.host,
            key=self._key,
            environment=environment,
            timeout=timeout,
            check=check,
            converter=converter(wire_names or {}),
            clock=clock,
            limits=limits,
            real=real,
            is_embedded=getattr(transport, "is_embedded", False),
            pace=Pace(reads=limits.reads_per_second, writes=limits.writes_per_second),
            recorder=None if self._journal is None else recorder_of(self._journal),
            headers=[
                (b"Host", self._url.host.encode()),
                (b"Accept", b"application/json"),
                (b"Accept-Encoding", b"gzip, deflate"),
                (b"User-Agent", f"card-issuing-workbench/{__version__}".encode()),
            ],
            idempotency_header=idempotency_header,
            attempts=self._http.retries + 1,
        )
        if self._context.recorder is not None:
            self._context.recorder.send_again = self._resend

    # views and descriptions

    def allowing(
        self,
        *,
        partial_address: bool = False,
        masked_value: bool = False,
        unusual_text: bool = False,
        unverified_address: bool = False,
        again: bool = False,
        resend: bool = False,
    ) -> Self:
        """Return a view of this client that also accepts the given kinds of unusual requests.

        Args:
            partial_address: Send part of an address. The document does not say whether the service merges or replaces
                addresses.
            masked_value: Send values that contain •, like masked values.
            unusual_text: Send invisible characters.
            unverified_address: Send the zero address, or an address with a wrong checksum or of another chain
                family.
            again: Send a write that repeats a write of the last 24 hours.
            resend: Send a call with an effect again after a 429, which means that it was not carried out.
        """
        chosen = {name for name, yes in locals().items() if yes and name != "self"}
        return self._view(_allowing=self._allowing | chosen)

    def _view(self, **changes: object) -> Self:
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__, **changes)
        return view

    def arm(self, *, operations: Any, minutes: float, reason: str) -> Arming:
        """Allow writes in production for a limited time. The permission ends after `minutes` or with the process.

        Args:
            operations: Names or operations, such as {"update_user"}.
            minutes: Duration in minutes (maximum 120).
            reason: Reason, recorded in the journal.
        """
        arming = self._context.new_arming(operations, minutes, reason)
        until = f"{arming.until:%Y-%m-%d %H:%M:%S} UTC"
        self._context.note("armed", f"{', '.join(sorted(arming.operations))} until {until}: {arming.reason}")
        self._context.arming = arming  # set only after the note is written, because every arming must be recorded
        return arming

    def disarm(self) -> None:
        """Revoke the permission of `arm`, so that writes in production are refused again."""
        self._context.arming = None
        self._context.note("disarmed", "")

    @property
    def armed(self) -> Arming | None:
        """Current permission granted by `arm()`, with its expiry, or None if nothing is armed."""
        return self._context.armed

    @property
    def journal(self) -> Journal:
        """Journal of calls with an effect and their outcomes."""
        if self._journal is None:
            raise UsageError("the client has no journal, because it was created with journal=False", of="journal")
        return self._journal

    @property
    def environment(self) -> str:
        """Environment of the service: "sandbox" or "production"."""
        return self._context.environment

    @property
    def host(self) -> str:
        """Host of the service."""
        return self._context.host

    @property
    def base_url(self) -> str:
        """Normalized base URL of the service."""
        return str(self._url)

    @property
    def limits(self) -> Limits:
        """Limits of this client: rates, amounts, rows and recipients."""
        return self._context.limits

    @property
    def converter(self) -> Converter:
        """The `cattrs.Converter` of this client for records, with its wire names.

        Hooks that you register apply to this client only.
        """
        context = self._context
        # clients share a converter until a caller asks for it, because the caller may register hooks
        if context.converter is converter(context.converter.names):
            context.converter = Converter(context.converter.names)
        return context.converter

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices from answers, each once, such as deprecations, injected faults and unknown members."""
        return tuple(self._context.noticed.values())

    @contextmanager
    def responses(self) -> Iterator[list[HttpResponse]]:
        """Collect the raw responses to this client's calls in a `with` block: status, headers, request id, body.

        Yields a list that grows with each response in this thread or task, retries included.
        """
        responses: list[HttpResponse] = []
        before = RESPONSES.set((*RESPONSES.get(), (self._context, responses)))
        try:
            yield responses
        finally:
            RESPONSES.reset(before)

    @contextmanager
    def idempotency(self, key: str) -> Iterator[None]:
        """Send an idempotency key with the write in a `with` block: `with api.idempotency("order-1"):`.

        A service that supports the header carries out one call per key, regardless of how often the call is sent. Other
        services carry out every call. The header is `Idempotency-Key`, or the `idempotency_header` of the profile. The
        journal stores the key, and `journal.resend` sends it again. The key applies to this thread or task.

        Args:
            key: 1 to 255 printable ASCII characters, the same for each repetition of this call.

        Raises:
            UsageError: The key cannot be sent in a header.
            InvalidRequest: The key was already used for another request.
        """
        given: object = key
        if not isinstance(given, str) or not re.fullmatch(r"[!-~](?:[ -~]{0,253}[!-~])?", given):
            message = "must be 1 to 255 printable ASCII characters, without a space at its ends"
            raise UsageError((Problem("key", "pattern", message),), of="idempotency")
        before = IDEMPOTENCY.set((*IDEMPOTENCY.get(), (self._context, key)))
        try:
            yield
        finally:
            IDEMPOTENCY.reset(before)

    def info(self) -> dict[str, Any]:
        """Return versions, host, key fingerprint and settings for a bug report, without private values."""
        from importlib.metadata import version  # imported late, because it is rarely needed

        armed = self.armed
        return {
            "workbench": __version__,
            "interface": INTERFACE,
            "python": ".".join(map(str, sys.version_info[:3])),
            "httpx": version("httpx"),
            "host": self.host,
            "environment": self.environment,
            "key_fingerprint": self._key.fingerprint,
            "transport": "network" if self._given is None else type(self._given).__name__,
            "proxies_and_netrc": "proxy used" if self._proxy else "not used",
            "journal": "none" if self._journal is None else self._journal._place,
            "armed": sorted(armed.operations) if armed else [],
            "readonly": os.environ.get("WORKBENCH_READONLY", ""),
            "wire_names": sorted(self._context.converter.names),
            "allowing": sorted(self._allowing),
        }

    def __repr__(self) -> str:
        if not hasattr(self, "_context"):  # construction failed, and a traceback may print this object
            return f"<{type(self).__name__}, not initialized>"
        armed = self.armed
        facts = [self.environment, self.host, f"key {self._key.fingerprint}"]
        if self.environment == "production":
            until = f"ARMED until {armed.until:%H:%M:%S} UTC: " if armed else "reads only, not armed"
            facts.append(until + ", ".join(sorted(armed.operations) if armed else ()))
        if self._allowing:
            facts.append(f"allowing {', '.join(sorted(self._allowing))}")
        return f"<{type(self).__name__} {', '.join(facts)}>"

    def __reduce_ex__(self, _: object) -> Any:
        raise TypeError("a client cannot be pickled: it holds a key and connections")

    def _transport(self) -> Any:
        return self._new_transport() if self._given is None else self._given

    @abstractmethod
    def _new_transport(self) -> Any:
        """Return a new transport, which opens network connections on demand."""

    def _close_rest(self) -> None:
        if self._journal is not None:
            self._journal.close()

    @abstractmethod
    def _resend(self, request: object, attempt: str) -> Any:
        """Resend the request of a journal entry."""

    @hide_arguments
    def from_wire(
        self,
        operation: str | Operation[..., Any] | Call[..., Any],
        body: bytes | str | Mapping[str, Any] | None = None,
        **path_arguments: str,
    ) -> Any:
        """Parse a wire body, with this client's wire names, into the request record of an operation.

        Nothing is sent: pass the record to `send`, which checks its rules. Undocumented members are ignored with a
        warning.

        Args:
            operation: Name of the operation, or the method of a client.
            body: JSON text or an object; for operations with a query, its parameters.
            path_arguments: Path parameters by attribute name, such as `transaction_id=…`.

        Raises:
            InvalidRequest: The body is not JSON, or a member has the wrong type. The error lists all problems.
            InvalidArguments: The operation or a path argument is unknown.
        """
        return from_wire(operation, body, self._context.converter, path_arguments)


# internal access for other packages


def context_of(client: BaseClient) -> ClientContext:
    """Return the context that a client shares with its views: permissions, clock and notices."""
    return client._context


def key_of(client: BaseClient) -> Key:
    """Return the key of a client."""
    return client._key


def allowed_by(client: BaseClient) -> frozenset[str]:
    """Return the kinds of unusual requests that a view accepts, as argument names of `allowing`."""
    return client._allowing


def stoppable(client: BaseClient, stopped: Callable[[], bool]) -> Any:
    """Return a view of a client that can be stopped: calls that wait for a rate limit or a retry are then not sent."""
    return client._view(_stopped=stopped)


def journal_of(client: BaseClient) -> Journal | None:
    """Return the journal of a client, or None for `journal=False`."""
    return client._journal
