"""Where a service is and how it is reached: the base URL, the rules of options as profiles have them, and the options of connections, which are passed to httpx.

A base URL has one spelling: `https` unless it stays on this machine, without user, password, query or fragment.
"""

import importlib.util
import ipaddress
import os
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import attrs

from workbench.errors import InvalidProfile, Problem, hide_arguments, visible
from workbench.interface.table import PREFIX


@attrs.frozen
class BaseUrl:
    """Where the service is: `https://host[:port]/v1`."""

    scheme: str
    host: str  # with the port where it is not the scheme's own
    path: str
    local: bool  # whether it stays on this machine

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}{self.path}"


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@hide_arguments
def base_url(text: str) -> BaseUrl:
    """Read a base URL; a missing `/v1` is added, a trailing slash removed.

    Raises:
        InvalidProfile: It cannot be used; the message says what would be right.
    """
    found = base_url_or_problem(text)
    if isinstance(found, str):
        raise InvalidProfile((Problem("base_url", "base_url", found),))
    return found


def base_url_or_problem(text: object) -> BaseUrl | str:
    """Return the base URL, or what is wrong with it."""
    if not isinstance(text, str) or not text.strip():
        return "is missing; it is like https://api.example.com/v1"
    if not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        return "holds characters that do not belong in a URL"
    try:
        parts = urlsplit(text)
        port, host = parts.port, (parts.hostname or "").rstrip(".")
    except ValueError:
        return "is not a URL; it is like https://api.example.com/v1"
    if parts.scheme not in {"https", "http"} or not host:
        return "must begin with https:// and a host, like https://api.example.com/v1"
    if "@" in parts.netloc:
        return "must not hold a user or a password; the key goes into api_key"
    if parts.query or parts.fragment or "?" in text or "#" in text:
        return "must not have a query or a fragment"
    named = f"[{host}]" if ":" in host else host
    where = named if port in {None, {"https": 443, "http": 80}[parts.scheme]} else f"{named}:{port}"
    path = "/" + "/".join(segment for segment in parts.path.split("/") if segment)
    if any(segment in {".", ".."} or "%" in segment for segment in path.split("/")):
        return "must have a plain path, like /v1"
    if path.endswith(f"{PREFIX}{PREFIX}"):
        return f"ends in {PREFIX} twice; right is {parts.scheme}://{where}{path.removesuffix(PREFIX)}"
    path = path if path.endswith(PREFIX) else f"{path.rstrip('/')}{PREFIX}"
    if parts.scheme == "http" and not is_loopback(host):
        return f"would send the key unprotected; right is https://{visible(where)}{path}"
    return BaseUrl(parts.scheme, where, path, is_loopback(host))


@attrs.frozen(kw_only=True)
class HttpOptions:
    """Options of the connections to a service.

    Attributes:
        trust_env: Use HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR of the environment.
        proxy: URL of a proxy, as "http://proxy.example.com:3128"; the TLS connection goes through it unread.
        http2: Offer HTTP/2; it needs the package h2.
        max_connections: Connections at once.
        max_keepalive_connections: Idle connections that are kept.
        keepalive_expiry: Seconds for which an idle connection is kept.
        connect_timeout: Seconds for making a connection; None allows those of the call.
        on_request: Called with each `httpx.Request` before the key is added to it; it may add headers.
        on_response: Called with each `httpx.Response`, its body not yet read.
    """

    trust_env: bool = False
    proxy: str | None = attrs.field(default=None, repr=False)  # may hold a password
    http2: bool = False
    max_connections: int = 100
    max_keepalive_connections: int = 20
    keepalive_expiry: float = 5.0
    connect_timeout: float | None = None
    on_request: Callable[[Any], object] | None = None
    on_response: Callable[[Any], object] | None = None

    def proxy_for(self, scheme: str, host: str) -> str | None:
        """Return the URL of the proxy for a host; None if its connections are direct."""
        if self.proxy is not None or not self.trust_env:
            return self.proxy
        from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

        found = getproxies_environment()
        if proxy_bypass_environment(host, found):
            return None
        return found.get(scheme) or found.get("all")


Rule = tuple[Callable[[Any], object], str]
TEXT: Rule = (lambda value: isinstance(value, str) and value, "must be text")
FLAG: Rule = (lambda value: isinstance(value, bool), "must be true or false")
TABLE: Rule = (lambda value: isinstance(value, dict), "must be a table")
RATE: Rule = (lambda value: _is_number(value), "must be a number above 0")
COUNT: Rule = (lambda value: type(value) is int and value >= 0, "must be a whole number")
SECONDS: Rule = (
    lambda value: _is_number(value) and value <= 600, "must be a number of seconds, more than 0 and at most 600",
)  # fmt: skip
ADDRESSES: Rule = (
    lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value), "must be a list of addresses",
)  # fmt: skip
_POSITIVE: Rule = (lambda value: type(value) is int and value > 0, "must be a whole number above 0")
_FUNCTION: Rule = (callable, "must be a function")
_URL: Rule = (
    lambda value: isinstance(value, str) and value.startswith(("http://", "https://")),
    "must be a URL, as http://proxy.example.com:3128",
)
_HTTP2: Rule = (
    lambda value: value is False or (value is True and importlib.util.find_spec("h2") is not None),
    "must be true or false, and needs the package h2; run: pip install h2",
)
_HTTP: Mapping[str, Rule] = {
    "trust_env": FLAG, "proxy": _URL, "http2": _HTTP2, "max_connections": _POSITIVE,
    "max_keepalive_connections": _POSITIVE, "keepalive_expiry": SECONDS, "connect_timeout": SECONDS,
    "on_request": _FUNCTION, "on_response": _FUNCTION,
}  # fmt: skip


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def checked(table: Mapping[str, Any], rules: Mapping[str, Rule], where: str, problems: list[Problem]) -> dict[str, Any]:
    """Return the members of a table that follow their rule; say what is wrong with the others."""
    right = {}
    for key, value in table.items():
        follows, words = rules.get(key, (None, f"is not known; there are {', '.join(rules)}"))
        if follows is None:
            problems.append(Problem(where + visible(key, 60), "unknown", words))
        elif not follows(value):
            problems.append(Problem(where + key, "type", words))
        else:
            right[key] = value
    return right


def http_problems(given: Any) -> list[Problem]:
    """Return what is wrong with the options of connections."""
    if not isinstance(given, Mapping):
        return [Problem("http", "type", "must be a mapping of options, as {'trust_env': True}")]
    found: list[Problem] = []
    checked(given, _HTTP, "http.", found)
    return found


def unused_proxy(options: HttpOptions) -> str | None:
    """Return the name of a variable that names a proxy which is not used; None if there is none."""
    if options.trust_env or options.proxy is not None:
        return None
    names = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    return next((name for name in names if os.environ.get(name)), None)
