"""One delivery over HTTP by the standard library, to an address that was checked before it is connected to.

By default only receivers on this machine are reached. Otherwise a name is looked up once, every address behind it has to
be a public one, and the connection goes to the address that was checked. Redirects are never followed.
"""

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import attrs

_SECONDS = 5.0
_SHOWN = 1024  # bytes of a receiver's answer

Resolve = Callable[[str, int], list[str]]


class Forbidden(ValueError):
    """A URL that deliveries are not sent to."""


@attrs.frozen(kw_only=True)
class Target:
    """Where a delivery goes."""

    address: str
    port: int
    host: str  # as the URL names it
    authority: str
    path: str
    secure: bool


@attrs.frozen(kw_only=True)
class Answered:
    """What a receiver said, or why there is no answer."""

    status: int | None
    error: str | None = None
    body: str = attrs.field(default="", repr=False)

    @property
    def taken(self) -> bool:
        """Whether it took the delivery. assumed: any answer but 2xx is a failure"""
        return self.status is not None and 200 <= self.status < 300


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a name."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def target(url: str, *, outside: bool = False, resolve: Resolve = resolve) -> Target:
    """Return where a URL leads, if deliveries may go there.

    Args:
        outside: Whether public addresses are fine as well as this machine's own.

    Raises:
        Forbidden: Another scheme, a user in the URL, or an address that is not to be reached.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise Forbidden("it is no URL") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Forbidden("it must begin with http:// or https:// and a host")
    if parts.username is not None or parts.password is not None:
        raise Forbidden("it must not carry a user or a password")
    if any(ord(c) < 33 or ord(c) > 126 for c in url):
        raise Forbidden("it must be plain ASCII without blanks")
    try:
        addresses = resolve(parts.hostname, port)
    except OSError:
        raise Forbidden("its host is not known") from None
    if not addresses or not all(_may_be_reached(one, outside) for one in addresses):
        raise Forbidden(
            "its host leads to an address that is not public"
            if outside
            else "only receivers on this machine are reached"
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(
        address=addresses[0], port=port, host=parts.hostname, authority=parts.netloc, path=path,
        secure=parts.scheme == "https",
    )  # fmt: skip


def _may_be_reached(text: str, outside: bool) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is not None:
        address = mapped
    return address.is_loopback or (outside and address.is_global and not address.is_multicast)


def send(to: Target, headers: Mapping[str, str], body: bytes, seconds: float = _SECONDS) -> Answered:
    """Send a delivery, and give what was said to it."""
    try:
        plain = socket.create_connection((to.address, to.port), timeout=seconds)
    except OSError as error:
        return Answered(status=None, error=_named(error))
    connection = http.client.HTTPConnection(to.host, to.port, timeout=seconds)
    try:
        connection.sock = (
            ssl.create_default_context().wrap_socket(plain, server_hostname=to.host) if to.secure else plain
        )
        connection.request("POST", to.path, body, {"host": to.authority, "connection": "close", **headers})
        answer = connection.getresponse()
        return Answered(status=answer.status, body=answer.read(_SHOWN).decode("utf-8", "replace"))
    except (OSError, http.client.HTTPException) as error:
        return Answered(status=None, error=_named(error))
    finally:
        plain.close()
        connection.close()


def _named(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return f"connection failed: {type(error).__name__}"
