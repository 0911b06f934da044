"""Requests and responses of HTTP as values, and one POST to a URL, whose address is checked before the connection is made.

A host name is resolved once, every address it has must be allowed, and the connection goes to the address that was checked.
Redirects are never followed.
"""

import ipaddress
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

import attrs

TIMEOUT = 5.0  # seconds
_KEPT_BODY = 1024  # bytes of the response body

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})
"""Names of this machine."""
BROKEN = frozenset({"refused", "reset", "closed", "lost"})
"""Manners in which a connection ends without a response."""
THIS_MACHINE = frozenset({"loopback"})
ANYWHERE = frozenset({"loopback", "public", "private"})
"""Kinds of addresses that may be reached."""
Resolver = Callable[[str, int], list[str]]


@attrs.frozen(repr=False)
class Request:
    """A request with its whole body. Header names are in lower case, or can be looked up in any case."""

    method: str
    path: str  # as sent, percent escapes included
    query: str = ""
    headers: Mapping[str, str] = attrs.field(factory=dict)
    body: bytes = b""
    local: bool = False  # whether the Host header names this machine
    peer: str = ""  # address of the client

    def __repr__(self) -> str:
        return f"<{self.method} with {len(self.body):,} bytes>"


@attrs.frozen
class Response:
    """A response, and how it is sent.

    `manner` is "whole", "cut" (half of the body, then the connection closes), "slow_body" (byte by byte over `seconds`), or one
    of `BROKEN`. `seconds` otherwise delays the response.
    """

    status: int
    headers: Mapping[str, str] = attrs.field(factory=dict)
    body: bytes = attrs.field(default=b"", repr=False)
    manner: str = "whole"
    seconds: float = 0.0
    fault: str | None = None  # kind of the fault rule that applied
    context: Any = attrs.field(default=None, repr=False, eq=False)  # of the operation; None: no operation answered


class ForbiddenUrl(ValueError):
    """A URL that may not be posted to."""


@attrs.frozen(kw_only=True)
class Target:
    """A checked URL."""

    address: str
    port: int
    host: str  # as named in the URL
    authority: str
    path: str
    secure: bool


@attrs.frozen(kw_only=True)
class PostResult:
    """The status of the response, or why there is none."""

    status: int | None
    error: str | None = None
    body: str = attrs.field(default="", repr=False)

    @property
    def accepted(self) -> bool:
        """Whether the receiver accepted it. assumed: event_accepted"""
        return self.status is not None and 200 <= self.status < 300


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host name."""
    import socket  # most sandboxes never deliver beyond this process

    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def check_url(
    url: str, *, reach: Collection[str] = THIS_MACHINE, hosts: Collection[str] = (), resolve: Resolver = resolve
) -> Target:
    """Return where a URL leads, if it may be posted to.

    Args:
        reach: Which kinds of addresses are allowed.
        hosts: Hosts that are allowed whatever their address.
        resolve: Looks a host name up.

    Raises:
        ForbiddenUrl: Not an http or https URL, or its address is not allowed.
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
        addresses = resolve(parts.hostname, port)
    except OSError:
        raise ForbiddenUrl("unknown host") from None
    if not addresses or not (parts.hostname in hosts or {_kind(address) for address in addresses} <= set(reach)):
        raise ForbiddenUrl(
            "the host has an address that is not public"
            if "public" in reach
            else "only receivers on this machine are allowed"
            if "loopback" in reach
            else "receivers have to be allowed by name"
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(
        address=addresses[0], port=port, host=parts.hostname, authority=parts.netloc, path=path,
        secure=parts.scheme == "https",
    )  # fmt: skip


def _kind(text: str) -> str:
    address = ipaddress.ip_address(text.partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    if address.is_loopback:
        return "loopback"
    return "public" if address.is_global and not address.is_multicast else "private"


def post(target: Target, headers: Mapping[str, str], body: bytes, seconds: float = TIMEOUT) -> PostResult:
    """Send a body and return the result; failures to connect or to answer are results as well."""
    import http.client  # these load TLS, which most sandboxes never need
    import socket
    import ssl

    try:
        plain = socket.create_connection((target.address, target.port), timeout=seconds)
    except OSError as error:
        return PostResult(status=None, error=_reason(error))
    connection = http.client.HTTPConnection(target.host, target.port, timeout=seconds)
    try:
        connection.sock = (
            ssl.create_default_context().wrap_socket(plain, server_hostname=target.host) if target.secure else plain
        )
        connection.request("POST", target.path, body, {"host": target.authority, "connection": "close", **headers})
        answer = connection.getresponse()
        return PostResult(status=answer.status, body=answer.read(_KEPT_BODY).decode("utf-8", "replace"))
    except (OSError, http.client.HTTPException) as error:
        return PostResult(status=None, error=_reason(error))
    finally:
        plain.close()
        connection.close()


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no response in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return f"connection failed: {type(error).__name__}"
