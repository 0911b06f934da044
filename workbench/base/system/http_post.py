"""One POST to a URL whose address is checked before connecting.

A host name is resolved once, all its addresses must be allowed, and the connection goes to a checked address. Redirects
are never followed.
"""

import ipaddress
from collections.abc import Callable, Collection, Mapping
from urllib.parse import urlsplit

import attrs

TIMEOUT = 5.0  # seconds

_MAX_READ = 1024  # bytes of a response body of undeclared length

THIS_MACHINE = frozenset({"loopback"})

ANYWHERE = frozenset({"loopback", "public", "private"})
"""Kinds of addresses that may be allowed."""

Resolver = Callable[[str, int], list[str]]


class ForbiddenUrl(ValueError):
    """The URL is not allowed."""


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
    """Status of the response, or the reason why there is none."""

    status: int | None
    error: str | None = None
    length: int | None = None
    """Bytes of the response body, as declared or, without a declaration, as read, at most 1,024. It is not kept."""

    @property
    def accepted(self) -> bool:
        """Whether the receiver accepted the request. assumed: event_accepted"""
        return self.status is not None and 200 <= self.status < 300


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host name."""
    import socket  # most sandboxes never deliver beyond this process

    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def check_url(
    url: str, *, reach: Collection[str] = THIS_MACHINE, hosts: Collection[str] = (), resolve: Resolver = resolve
) -> Target:
    """Return the checked target of a URL.

    Args:
        reach: Allowed kinds of addresses.
        hosts: Hosts that are allowed whatever their address.
        resolve: Function that resolves a host name.

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
        # By RFC 6761 such a name is this machine, whatever a resolver says.
        is_local = f".{parts.hostname.rstrip('.')}".endswith(".localhost")
        addresses = ["127.0.0.1"] if is_local and parts.hostname != "localhost" else resolve(parts.hostname, port)
    except (OSError, UnicodeError):  # the latter for a label that no name can have
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
        address=addresses[0],
        port=port,
        host=parts.hostname,
        authority=parts.netloc,
        path=path,
        secure=parts.scheme == "https",
    )


_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL = ipaddress.ip_network("2000::/3")
_PROTOCOLS = ipaddress.ip_network("192.0.0.0/24")


def _kind(text: str) -> str:
    address = ipaddress.ip_address(text.partition("%")[0])
    embedded = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    if address in _NAT64:  # an IPv4 address in its last 32 bits
        embedded = ipaddress.ip_address(int(address) & 0xFFFFFFFF)
    address = embedded or address
    if address.is_loopback:
        return "loopback"
    reserved = address in _PROTOCOLS or (address.version == 6 and address not in _GLOBAL)
    return "public" if address.is_global and not address.is_multicast and not reserved else "private"


def post(target: Target, headers: Mapping[str, str], body: bytes, seconds: float = TIMEOUT) -> PostResult:
    """Send a body and return the result. A failed connection or a missing response is a result too."""
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
        length = answer.length if answer.length is not None else len(answer.read(_MAX_READ))
        return PostResult(status=answer.status, length=length)
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
