"""Options of the connections to a real service: proxies, limits, HTTP/2, hooks. They are passed to httpx."""

import importlib.util
import os
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from workbench.errors import Problem, visible


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


_TYPES: Mapping[str, tuple[type[Any] | tuple[type[Any], ...], str]] = {
    "trust_env": (bool, "must be true or false"),
    "http2": (bool, "must be true or false"),
    "max_connections": (int, "must be a whole number"),
    "max_keepalive_connections": (int, "must be a whole number"),
    "keepalive_expiry": ((int, float), "must be a number of seconds"),
    "connect_timeout": ((int, float), "must be a number of seconds"),
}


def http_problems(given: Any) -> list[Problem]:
    """Return what is wrong with the options of connections."""
    if not isinstance(given, Mapping):
        return [Problem("http", "type", "must be a mapping of options, as {'trust_env': True}")]
    known = [field.name for field in attrs.fields(HttpOptions)]
    found = []
    for name, value in given.items():
        path = f"http.{visible(str(name), 60)}"
        if name not in known:
            found.append(Problem(path, "unknown", f"is not known; there are {', '.join(known)}"))
        elif name == "proxy" and not (isinstance(value, str) and value.startswith(("http://", "https://"))):
            found.append(Problem(path, "type", "must be a URL, as http://proxy.example.com:3128"))
        elif name.startswith("on_") and not callable(value):
            found.append(Problem(path, "type", "must be a function"))
        elif name in _TYPES:
            of, words = _TYPES[name]
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not isinstance(value, of) or (of is not bool and not (number and value > 0)):
                found.append(Problem(path, "type", words))
            elif name == "http2" and value and importlib.util.find_spec("h2") is None:
                found.append(Problem(path, "missing", "needs the package h2; run: pip install h2"))
    return found


def unused_proxy(options: HttpOptions) -> str | None:
    """Return the name of a variable that names a proxy which is not used; None if there is none."""
    if options.trust_env or options.proxy is not None:
        return None
    names = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    return next((name for name in names if os.environ.get(name)), None)
