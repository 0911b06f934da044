"""A single POST to a URL whose address is checked before the connection.

A host name is resolved once, and all its addresses must be allowed. The connection goes to the first checked address
that accepts a connection. One deadline covers all steps, so a hanging resolver or a slow receiver cannot exceed the
deadline. Redirects are never followed.
"""

import io
import ipaddress
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from workbench.base.frozen import frozen
from workbench.base.system.seconds import monotonic

if TYPE_CHECKING:
    import socket

TIMEOUT = 5.0  # seconds for a request and its response

_MAX_READ = 1024  # maximum bytes to read of a response body with undeclared length

THIS_MACHINE = frozenset({"loopback"})

ANYWHERE = frozenset({"loopback", "public", "private"})
"""Kinds of addresses that may be allowed."""

Resolver = Callable[[str, int], list[str]]


class ForbiddenUrl(ValueError):
    """The URL is not allowed."""


@frozen(kw_only=True)
class Target:
    """A checked URL."""

    addresses: tuple[str, ...]
    port: int
    host: str  # host name as written in the URL
    authority: str
    path: str
    secure: bool


@frozen(kw_only=True)
class PostResult:
    """Status of the response, or the reason for its absence."""

    status: int | None
    error: str | None = None
    length: int | None = None
    """Declared size of the discarded response body in bytes; if undeclared, the bytes read, at most 1,024."""

    @property
    def accepted(self) -> bool:
        """Whether the receiver accepted the request. assumed: event_accepted"""
        return self.status is not None and 200 <= self.status < 300


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host name."""
    import socket  # imported late, since most sandboxes never deliver to another process

    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def check_url(
    url: str, *, reach: Collection[str] = THIS_MACHINE, hosts: Collection[str] = (), resolve: Resolver = resolve
) -> Target:
    """Return the checked target of a URL.

    Args:
        reach: Allowed kinds of addresses.
        hosts: Hosts that are allowed regardless of address.
        resolve: Function that resolves a host name.

    Raises:
        ForbiddenUrl: The URL is not an http or https URL, or its address is not allowed.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise ForbiddenUrl("not a URL") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ForbiddenUrl("must begin with http:// or https:// and a host")
    if parts.username is not None or parts.password is not None:
        raise ForbiddenUrl("must not contain a user or a password")
    if any(ord(c) < 33 or ord(c) > 126 for c in url):
        raise ForbiddenUrl("must be ASCII without spaces")
    try:
        # RFC 6761: *.localhost is loopback, regardless of DNS.
        is_local = f".{parts.hostname.rstrip('.')}".endswith(".localhost")
        addresses = (
            ["127.0.0.1", "::1"]
            if is_local and parts.hostname != "localhost"
            else _resolved_in_time(resolve, parts.hostname, port)
        )
    except TimeoutError:
        raise ForbiddenUrl(f"the host name was not resolved within {TIMEOUT:g} seconds") from None
    except (OSError, UnicodeError):  # socket raises UnicodeError for an invalid label
        raise ForbiddenUrl("unknown host") from None
    if not addresses or not (parts.hostname in hosts or {_kind(address) for address in addresses} <= set(reach)):
        raise ForbiddenUrl(
            "the host has an address that is not public"
            if "public" in reach
            else "only receivers on this machine are allowed"
            if "loopback" in reach
            else "the receiver's host name is not in the list of allowed hosts"
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(
        addresses=tuple(dict.fromkeys(addresses)),
        port=port,
        host=parts.hostname,
        authority=parts.netloc,
        path=path,
        secure=parts.scheme == "https",
    )


def _resolved_in_time(resolve: Resolver, host: str, port: int) -> list[str]:
    """Return the addresses of a host name.

    Raises:
        TimeoutError: The resolver takes longer than `TIMEOUT`. Its thread ends later.
    """
    outcome: list[Any] = []

    def look_up() -> None:
        try:
            outcome.append(resolve(host, port))
        except (OSError, UnicodeError) as error:
            outcome.append(error)

    thread = threading.Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(TIMEOUT)
    if not outcome:
        raise TimeoutError
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    addresses: list[str] = outcome[0]
    return addresses


_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL = ipaddress.ip_network("2000::/3")
_PROTOCOLS = ipaddress.ip_network("192.0.0.0/24")


def _kind(text: str) -> str:
    address = ipaddress.ip_address(text.partition("%")[0])
    embedded = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    if address in _NAT64:  # NAT64 puts an IPv4 address into the last 32 bits
        embedded = ipaddress.ip_address(int(address) & 0xFFFFFFFF)
    address = embedded or address
    if address.is_loopback:
        return "loopback"
    reserved = address in _PROTOCOLS or (address.version == 6 and address not in _GLOBAL)
    return "public" if address.is_global and not address.is_multicast and not reserved else "private"


def send(
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    check: Callable[[str], Target] = check_url,
    relay: Callable[[str, Mapping[str, str], bytes], PostResult] | None = None,
) -> PostResult:
    """Check a URL and send a body to it within one deadline. For a forbidden URL, return a result with the reason.

    Args:
        relay: Relay that sends in place of this process.
    """
    until = monotonic() + TIMEOUT
    try:
        target = check(url)
    except ForbiddenUrl as error:
        return PostResult(status=None, error=f"not sent: {error}")
    return relay(url, headers, body) if relay is not None else post(target, headers, body, until - monotonic())


def post(target: Target, headers: Mapping[str, str], body: bytes, seconds: float = TIMEOUT) -> PostResult:
    """Send a body and return the result. A failed connection or a missing response is a result, not an error.

    Args:
        seconds: Total time for connection, request and response.
    """
    import http.client  # imported late, since both load TLS, which few sandboxes need
    import ssl

    until = monotonic() + seconds
    try:
        opened = _connect(target, until)
    except OSError as error:
        return PostResult(status=None, error=_reason(error))
    connection = http.client.HTTPConnection(target.host, target.port)
    try:
        if target.secure:
            opened.settimeout(_left(until))
            opened = ssl.create_default_context().wrap_socket(opened, server_hostname=target.host)
        connection.sock = _TimedSocket(opened, until)
        connection.request("POST", target.path, body, {"host": target.authority, "connection": "close", **headers})
        answer = connection.getresponse()
        length = answer.length
        if length is None:
            with suppress(OSError, http.client.HTTPException):  # if the body is unreadable, the status is sufficient
                length = len(answer.read(_MAX_READ))
        return PostResult(status=answer.status, length=length)
    except (OSError, http.client.HTTPException) as error:
        return PostResult(status=None, error=_reason(error))
    finally:
        connection.close()
        opened.close()


def _connect(target: Target, until: float) -> "socket.socket":
    """Connect to the first address that accepts connections. Each address gets an equal share of the remaining time."""
    import socket

    failure: OSError | None = None
    for index, address in enumerate(target.addresses):
        share = _left(until) / (len(target.addresses) - index)
        try:
            return socket.create_connection((address, target.port), timeout=share)
        except OSError as error:
            failure = error
    raise failure or OSError("no address")


def _left(until: float) -> float:
    """Return the seconds until a deadline.

    Raises:
        TimeoutError: The deadline has passed.
    """
    left = until - monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _TimedSocket:
    """Socket for `http.client` with one deadline for all steps. Plain socket timeouts restart with each step."""

    def __init__(self, sock: "socket.socket", until: float) -> None:
        self._socket = sock
        self._until = until

    def sendall(self, data: bytes) -> None:
        self._socket.settimeout(_left(self._until))
        self._socket.sendall(data)

    def receive_into(self, buffer: Any) -> int:
        self._socket.settimeout(_left(self._until))
        return self._socket.recv_into(buffer)

    def makefile(self, _: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self))

    def close(self) -> None:
        """Do nothing, because the response is still to be read."""


class _TimedReader(io.RawIOBase):
    """File object that reads from a timed socket."""

    def __init__(self, sock: _TimedSocket) -> None:
        self._timed = sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        return self._timed.receive_into(buffer)


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no response in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return f"connection failed: {type(error).__name__}"
