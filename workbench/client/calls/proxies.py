"""The proxy of a client's connections, from its options or the environment."""

import os
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

import attrs

from workbench.base.errors import Problem, UsageError
from workbench.base.frozen import frozen


@frozen
class Proxy:
    """Address of a proxy without credentials, and the credentials."""

    url: str
    auth: tuple[bytes, bytes] | None = attrs.field(default=None, repr=False)


def read_proxy(text: object, path: str) -> Proxy:
    """Parse the address of a proxy. Without a scheme, http:// is assumed.

    Raises:
        UsageError: The text is not the address of an HTTP proxy. The message does not quote the text, because it may
            contain a password.
    """
    if problem := proxy_problem(text):
        raise UsageError([Problem(path, "proxy", problem)])
    parts = urlsplit(_with_scheme(str(text)))
    host, port = parts.hostname, f":{parts.port}" if parts.port else ""
    host = f"[{host}]" if host and ":" in host else host
    auth = None
    if parts.username is not None:
        auth = unquote(parts.username).encode(), unquote(parts.password or "").encode()
    return Proxy(f"{parts.scheme}://{host}{port}", auth)


def proxy_problem(text: object) -> str | None:
    """Return why a value is not the address of an HTTP proxy, or None for a valid address."""
    wanted = "must be the address of an HTTP proxy, such as http://proxy.example.com:3128"
    if not isinstance(text, str):
        return wanted
    try:
        parts = urlsplit(_with_scheme(text))
        is_address = bool(parts.hostname) and parts.port != 0 and text.isascii() and text.isprintable()
    except ValueError:
        return wanted
    if parts.scheme.startswith("socks"):
        return "is a SOCKS proxy, which is not supported; use an HTTP proxy, such as http://proxy.example.com:3128"
    return None if is_address and parts.scheme in {"http", "https"} and " " not in text else wanted


def _with_scheme(text: str) -> str:
    return text if "://" in text else f"http://{text}"


def environment_proxy(scheme: str, host: str) -> Proxy | None:
    """Return the proxy that the environment names for a host, or None for direct connections."""
    # imported late, since only trust_env needs it
    from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

    proxies: Mapping[str, str] = getproxies_environment()
    chosen = next((kind for kind in (scheme, "all") if proxies.get(kind)), None)
    if chosen is None or proxy_bypass_environment(host, proxies):
        return None
    names = (f"{chosen}_proxy", f"{chosen}_proxy".upper())
    return read_proxy(proxies[chosen], next((name for name in names if os.environ.get(name)), names[0]))
