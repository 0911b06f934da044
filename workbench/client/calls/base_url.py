"""Base URLs of services, normalized: `https` except for loopback, without user, password, query or fragment."""

import ipaddress
from urllib.parse import urlsplit

from workbench.base.arguments import hide_arguments
from workbench.base.errors import Problem, UsageError, visible
from workbench.base.frozen import frozen
from workbench.service.interface.table import PREFIX


@frozen
class BaseUrl:
    """A base URL: `https://host[:port]/v1`."""

    scheme: str
    host: str  # host, with the port unless the port is the scheme's default
    path: str
    local: bool  # whether the host is this machine

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
    """Parse a base URL. A missing `/v1` is added, and a trailing slash is removed.

    Raises:
        UsageError: The URL cannot be used. The message says what is allowed.
    """
    url = base_url_or_problem(text)
    if isinstance(url, str):
        raise UsageError([Problem("base_url", "base_url", url)])
    return url


def base_url_or_problem(text: object) -> BaseUrl | str:
    """Return the base URL, or a description of its problem."""
    if not isinstance(text, str) or not text.strip():
        return "is missing; pass a URL such as https://api.example.com/v1"
    if not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        return "contains characters that are invalid in a URL"
    try:
        parts = urlsplit(text)
        port, host = parts.port, (parts.hostname or "").rstrip(".")
    except ValueError:
        return "is not a URL; pass one such as https://api.example.com/v1"
    if parts.scheme not in {"https", "http"} or not host:
        return "must begin with https:// and a host, such as https://api.example.com/v1"
    if "@" in parts.netloc:
        return "must not contain a user or a password; pass the key as api_key"
    if parts.query or parts.fragment or "?" in text or "#" in text:
        return "must not have a query or a fragment"
    named = f"[{host}]" if ":" in host else host
    where = named if port in {None, {"https": 443, "http": 80}[parts.scheme]} else f"{named}:{port}"
    path = "/" + "/".join(segment for segment in parts.path.split("/") if segment)
    if any(segment in {".", ".."} or "%" in segment for segment in path.split("/")):
        return "must have a plain path, such as /v1"
    if path.endswith(f"{PREFIX}{PREFIX}"):
        return f"ends in {PREFIX} twice; use {parts.scheme}://{where}{path.removesuffix(PREFIX)}"
    path = path if path.endswith(PREFIX) else f"{path.rstrip('/')}{PREFIX}"
    if parts.scheme == "http" and not is_loopback(host):
        return f"would send the key unprotected; use https://{visible(where)}{path}"
    return BaseUrl(parts.scheme, where, path, is_loopback(host))
