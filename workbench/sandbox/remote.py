"""Client for the controls of a served sandbox, with the methods of an embedded sandbox, over HTTP."""

import os
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from workbench.base.arguments import hide_arguments
from workbench.base.errors import NoAnswer, NotSent, WrongEnvironment, visible
from workbench.base.schema import strict_json
from workbench.base.system.certificates import trusted
from workbench.base.system.messages import ACTOR, ACTOR_HEADER, LOOPBACK
from workbench.sandbox.context import control_error, refusal
from workbench.sandbox.control_records import from_json
from workbench.sandbox.controls import Controls
from workbench.sandbox.controls.declaration import Control
from workbench.sandbox.delivery import Delivered, EventDelivery
from workbench.sandbox.relay import RelayClient
from workbench.sandbox.server import CONTROL_PATH, IDENTITY, SESSION_KEY
from workbench.sandbox.store import Members
from workbench.service.interface import table

_SECONDS = 30.0
_NONE_KEPT = httpx.Limits(max_keepalive_connections=0)
"""Close connections after each response, since callers close neither the sandbox's client nor its transport."""


_WAYS = (
    "A real service has no controls such as settle or advance: connect to it with a profile or "
    "wb.Client(base_url=…, api_key=…). Connect to a sandbox on another machine with wb.connect(URL, api_key=FULL_KEY), "
    "and to one of several sandboxes on a server with its complete URL."
)


class RemoteSandbox(Controls):
    """Client for the controls of a sandbox served at a URL. Each control is a method, such as `settle` or `events`."""

    @hide_arguments
    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        ca_file: str | os.PathLike[str] | None = None,
        seconds: float = _SECONDS,
    ) -> None:
        """Connect to a served sandbox.

        Args:
            url: URL printed by `serve`, with or without `/v1`.
            api_key: Full key. On the same machine no key is needed, because the guide contains the key.
            ca_file: File of certificates to trust instead of the default certificates.

        Raises:
            WrongEnvironment: The URL is not a sandbox of the workbench.
            NotSent: Connection refused.
        """
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise WrongEnvironment("The URL of a served sandbox begins with http:// or https://.")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise WrongEnvironment(
                "Keys are not sent to another machine without TLS: use https://, or a tunnel to 127.0.0.1."
            )
        path = parts.path.rstrip("/").removesuffix(table.PREFIX)
        self._hosted = bool(path)  # whether the server hosts several sandboxes
        # for messages, without the path, which may contain an access code
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._url = f"{self._origin}{path}"
        self._trusted = trusted(ca_file)
        self._http = httpx.Client(
            base_url=self._url, timeout=seconds, trust_env=False, limits=_NONE_KEPT, verify=self._trusted
        )
        self._full_key = api_key if self._hosted or parts.hostname not in LOOPBACK else None
        self._key = api_key or ""
        self._identity: str | None = None
        self._relay = RelayClient(self._ask)
        guide = self._guide(api_key)
        if not _is_guide(guide):
            raise WrongEnvironment(f"{self._origin} is not a sandbox of the workbench: its guide has another format.")
        self._full_key = self._full_key or next(iter(guide["api_keys"].values()))
        self.base_url = f"{self._url}{table.PREFIX}"
        self.seed: int = guide["seed"]
        self.clock = RemoteClock(self)

    def _guide(self, api_key: str | None) -> Any:
        """Fetch the guide. A local and open sandbox needs no key."""
        if self._full_key is None:
            try:
                return self._exchange("guide", {}, method="GET")
            except WrongEnvironment:
                if api_key is None:
                    raise
            # the server does not see this client as local, for example if it runs in a container with a published port
            self._full_key = api_key
        return self._exchange("guide", {})

    @property
    def full_key(self) -> str:
        """The API key with all permissions."""
        return self._full_key or ""

    def _drain(self, after: int = 0, api_key: str | None = None) -> tuple[list[EventDelivery], int]:
        """Return the deliveries after a sequence number, each with its number, and the last event number read."""
        drained = self._exchange("drain", {"after": after, "api_key": api_key or self._key or None})
        return [
            (number, dict(headers), Delivered(body.encode())) for number, headers, body in drained["deliveries"]
        ], drained["last"]

    def share(self) -> str:
        """Return the URL of the served sandbox."""
        return self._url

    def _ask(self, method: str, path: str, content: Members | None = None) -> Any:
        """Send a request other than an operation or control to the server, and return the response's JSON."""
        host = self._http.base_url.host
        try:
            answer = self._http.request(method, path, json=content)
        except httpx.HTTPError as error:
            raise NotSent(f"The server at {host} does not answer.") from error
        if answer.is_error:
            raise WrongEnvironment(f"{host} does not serve {path}, or refused the request: {answer.status_code}.")
        return strict_json.stored(answer.content)

    def transport(self) -> httpx.HTTPTransport:
        """Return an HTTP transport for further clients, which connect to `base_url`."""
        return httpx.HTTPTransport(limits=_NONE_KEPT, verify=self._trusted)

    def _carry_out(self, row: Control, given: Members) -> Any:
        answer = self._exchange(row.name, given)
        if self._hosted and row.name == "register_endpoint":
            self._relay.add(given["endpoint_url"])
        return from_json(row.signature.return_annotation, answer)

    def _exchange(self, name: str, arguments: Members, method: str = "POST") -> Any:
        headers = {"content-type": "application/json"} | ({} if self._full_key is None else {"api-key": self._full_key})
        headers |= {SESSION_KEY: self._key} if self._key and method == "POST" else {}
        headers |= {ACTOR_HEADER: actor} if (actor := ACTOR.get()) else {}
        body = strict_json.dumps(arguments) if method == "POST" else None
        try:
            answer = self._http.request(method, CONTROL_PATH + name, content=body, headers=headers)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            if "certificate" in str(error).lower():
                raise NotSent(f"The certificate of {self._origin} is not trusted: pass it as ca_file.") from error
            raise NotSent(f"Connection refused at {self._origin}: is the sandbox still served?") from error
        except httpx.HTTPError as error:
            if self._identity is None:
                raise WrongEnvironment(f"{self._origin} is not a sandbox of the workbench.") from error
            raise NoAnswer(f"No answer from {self._origin}: {name} may have been carried out.") from error
        return self._result(name, answer)

    def _result(self, name: str, answer: httpx.Response) -> Any:
        try:
            said = answer.json()
        except (ValueError, RecursionError):
            said = None
        identity, host = answer.headers.get(IDENTITY), self._http.base_url.host
        refused = isinstance(said, dict) and said.keys() == {"statusCode", "error", "message"} and answer.is_error
        unidentified = (
            (identity or self._identity) is None if refused else identity is None or answer.status_code != 200
        )
        if unidentified:
            reason = f' "{visible(str(said["message"]), 200)}"' if refused else ""
            raise WrongEnvironment(f"{host} answered {answer.status_code}{reason} for {CONTROL_PATH}{name}. {_WAYS}")
        if identity is not None:
            if self._identity not in (None, identity):
                raise WrongEnvironment(f"{self._origin} now serves a different sandbox than before.")
            self._identity = identity
        if refused:
            raise control_error(name, refusal(answer.status_code, said["error"], said["message"]))
        return said

    def __repr__(self) -> str:
        return f"<sandbox served at {self._origin}>"


class RemoteClock:
    """Clock of a served sandbox."""

    def __init__(self, sandbox: RemoteSandbox) -> None:
        self._sandbox = sandbox

    def now(self) -> datetime:
        """Return the time, timezone-aware, in UTC."""
        return self._sandbox.advance().now

    def advance(self, *, seconds: float) -> datetime:
        """Move the clock forward, and return the time. Scheduled changes happen at their due times."""
        return self._sandbox.advance(seconds=seconds).now


def _is_guide(guide: Any) -> bool:
    """Return whether a response has the members of a guide that a connection needs."""
    keys = guide.get("api_keys") if isinstance(guide, dict) else None
    is_keyed = isinstance(keys, dict) and bool(keys) and all(isinstance(key, str) for key in keys.values())
    return is_keyed and isinstance(guide.get("seed"), int) and isinstance(guide.get("environment"), str)
