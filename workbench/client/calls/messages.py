"""Requests and responses of a client, with content hidden in repr, and the error messages of refused calls."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from workbench.base.errors import visible
from workbench.base.frozen import frozen
from workbench.base.schema import masks, strict_json, walk
from workbench.service.interface.table import Operation
from workbench.service.interface.vocabulary import Role

CAP = 10_000_000  # maximum bytes of a decompressed response
WRITTEN = 2  # phase from which the service may have carried out the request


@attrs.define(eq=False, repr=False)
class HttpRequest:
    """A request to send. The transport records its progress in `phase`."""

    operation: Any  # an `Operation`, which a type checker would take for a method here
    target: str  # path and query, which follow the base URL
    headers: list[tuple[bytes, bytes]]  # all headers except the API key
    body: bytes | None
    deadline: float = 0.0
    phase: int = -1  # -1: not started, 0: passed to the driver, 1: writing the head, 2: head written
    traced: bool = False  # whether the driver reports the phase
    status: int | None = None
    key_version: int = 0  # version of the API key in the request
    # masks private values of the request in a response; see `cleaning.Cleaner`
    clean: Callable[[Any], Any] = lambda _: masks.DOTS

    @property
    def surely_not_sent(self) -> bool:
        """Whether no byte of the request was written to the network."""
        return self.phase < 0 or (self.traced and self.phase == 0)

    def __repr__(self) -> str:
        return f"<request {self.operation.method} {self.operation.path}>"


@attrs.frozen(eq=False, repr=False)
class HttpResponse:
    """A response: status, and as much of the body as could be read. The body may contain private values."""

    request: HttpRequest  # the request as sent, without the API key
    status: int
    headers: Mapping[str, str]  # header names are in lower case
    body: bytes
    broken: "Broken | None" = None  # reason why the body is incomplete

    @property
    def operation(self) -> str:
        """Name of the operation."""
        name: str = self.request.operation.name
        return name

    @property
    def request_id(self) -> str | None:
        """Id under which the service logs the call, if a header states it."""
        # assumed: the document names no header for the id
        names = ("x-request-id", "request-id", "x-correlation-id")
        return next((self.headers[name] for name in names if name in self.headers), None)

    def __repr__(self) -> str:
        return f"<response to {self.operation}: {self.status}, {len(self.body)} bytes>"


@attrs.frozen(eq=False, repr=False)
class Broken:
    """Failed attempt without an answer: its cause, and whether the service may have carried out the call."""

    why: str
    left: bool = attrs.field(kw_only=True)
    timeout: bool = attrs.field(default=False, kw_only=True)
    too_large: bool = attrs.field(default=False, kw_only=True)
    # whether another attempt would fail in the same way, so the call is not retried
    final: bool = attrs.field(default=False, kw_only=True)
    cause: Exception | None = attrs.field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return f"<broken: {self.why}>"


@frozen
class ErrorBody:
    """Error and message of a refusal in any format, with repeated private values masked."""

    body: object = None
    error: str | None = None
    message: str | None = None
    correlation_id: str | None = None  # id under which the service logs the call

    @property
    def summary(self) -> str:
        """Error and message on one line; empty if both are missing."""
        text = ": ".join(part for part in (self.error, self.message) if part)
        named = f"correlation id {self.correlation_id}" if self.correlation_id else ""
        return "; ".join(part for part in (visible(text, 200), visible(named, 100)) if part)


MAX_REFUSAL = 200_000  # maximum bytes to read of an error response


def refusal(response: HttpResponse, clean: Callable[[Any], Any]) -> ErrorBody:
    """Parse the body of a refusal as far as possible; `clean` masks its private values."""
    if len(response.body) > MAX_REFUSAL:
        return ErrorBody(None, None, f"a body of {len(response.body):,} bytes")
    try:
        raw = clean(strict_json.loads(response.body, repair=True))
    except strict_json.NotJson:
        text = clean(response.body[:4_000].decode("utf-8", "replace").strip())[:2_000]
        html = "html" in response.headers.get("content-type", "").lower() or text[:1] == "<"
        return ErrorBody(None, None, "an HTML page" if html else visible(text, 500) or None)
    if not isinstance(raw, dict):
        return ErrorBody(raw, None, raw if isinstance(raw, str) else None)
    return ErrorBody(
        raw,
        _text(raw.get("error")) or _text(raw.get("code")),
        _text(raw.get("message", raw.get("msg"))),
        _text(raw.get("correlationId")),
    )


def _text(value: object) -> str | None:
    if isinstance(value, list):
        return "; ".join(part for part in value if isinstance(part, str)) or None
    return value if isinstance(value, str) else None


def without_values(text: str) -> str:
    """Mask words with a digit or an @ in the answer of a proxy, because such words may be private values."""
    return re.sub(r"\S*[0-9@]\S*", masks.DOTS, text)


def names_value(refused: ErrorBody, request: object) -> bool:
    """Return whether a refusal quotes an address or id of the request, and thereby states its reason."""
    values = (value for _, _, value, _ in walk.values(request))
    return any(isinstance(value, str) and len(value) > 20 and value in (refused.message or "") for value in values)


def hint(operation: Operation[..., Any], status: int, host: str) -> str | None:
    """Return advice on a refusal, derived from the document or the environment."""
    if status == 401:
        return "Check the key of this profile and its environment"
    if status == 403 and operation.roles:
        role = ", ".join(sorted(operation.roles))
        more = " (read is not enough)" if Role.CONTRACTS_AND_SIGNATURES_WRITE in operation.roles else ""
        return f"This key may lack the role {role}{more}"
    if status == 404 and operation.sandbox_only:
        return (
            f"The card or transaction does not exist here, or {host} is a production base URL, where simulations do "
            "not exist"
        )
    return None


def host_of(location: str) -> str:
    """Return the host that a Location header names, or "another path" for a relative location."""
    _, slashes, rest = location.partition("//")
    host = re.split(r"[/?#\\]", rest, maxsplit=1)[0].rpartition("@")[2]
    return visible(host, 80) if slashes and host else "another path" if location else "no address"


NOTICES = {
    "deprecation": "the service marks this operation as deprecated",
    "sunset": "the service will remove this operation",
    "workbench-fault": "the sandbox injects faults",
    "workbench-ignored": "the sandbox ignores a header",
}
"""Response headers that are reported once."""
