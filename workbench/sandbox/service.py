"""One request in, one response out: routes from the table, checks in a fixed order, and never an exception.

The order: route, key, environment, role, syntax of ids, body, team, record and state. assumed: order_of_checks
"""

import re
from collections import deque
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl

import attrs

from workbench.errors import ApiError
from workbench.interface import strict_json, table
from workbench.interface.checks import problems
from workbench.interface.convert import placeholders
from workbench.interface.masks import masked
from workbench.interface.operation import Failure, Operation
from workbench.interface.rules import UUID
from workbench.sandbox import extensions
from workbench.sandbox.handlers import HANDLERS, Handler
from workbench.sandbox.turn import Environment, RequestContext

MAX_BODY = 1_000_000  # the longest text evidence takes 786 kB where each character is escaped
MAX_WHOLE = 2**53 - 1
LOGGED = 1_000
_LOGGED_BODY = 16 * 1024

NO_ROUTE = Failure(status=404, error="NotFoundError", message="Not Found", when="nothing is served there")
NO_METHOD = Failure(
    status=405, error="MethodNotAllowedError", message="Method Not Allowed", when="the path has other methods"
)


@attrs.frozen
class Request:
    """A request as it came. Names of headers are in lower case, or looked up in any case."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    body: bytes = attrs.field(default=b"", repr=False)


@attrs.frozen
class Response:
    """What is answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)


@attrs.frozen(eq=False)
class Route:
    """An operation and who answers it."""

    row: Any  # an Operation, which would bind itself here
    handler: Handler
    names: tuple[str, ...]
    assumed: tuple[str, ...]


def _routes() -> tuple[dict[str, dict[str, Route]], list[tuple[re.Pattern[str], dict[str, Route]]]]:
    """Return the routes by path and method: those without placeholders by the path itself, the others by pattern."""
    fixed: dict[str, dict[str, Route]] = {}
    open_: dict[str, dict[str, Route]] = {}
    for row in (*table.OPERATIONS.values(), *extensions.ROWS.values()):
        names = placeholders(row.path)
        ids = (row.name,) if row in table.OPERATIONS.values() else (extensions.ASSUMED[row.name],)
        route = Route(row, HANDLERS[row.name], names, ids if row.assumed else ())
        where = fixed if not names else open_
        where.setdefault(table.PREFIX + row.path, {})[row.method] = route
    patterns = [
        (re.compile("".join(f"(?P<{p[1:-1]}>[^/]*)" if p[:1] == "{" else re.escape(p) for p in _PART.split(path))), by)
        for path, by in open_.items()
    ]
    return fixed, patterns


_PART = re.compile(r"(\{\w+\})")


class Service:
    """Answers requests on a store."""

    def __init__(self, environment: str, ground: Environment) -> None:
        self.environment = environment
        self._ground = ground
        self._fixed, self._patterns = _routes()
        self._unit_flag = ground.names(table.SIGN_WITHDRAWAL.request)["is_amount_native"]
        self._log: deque[tuple[Request, Operation[..., Any] | None, RequestContext, int]] = deque(maxlen=LOGGED)

    def handle(self, request: Request) -> Response:
        """Answer one request; a refused one changes nothing."""
        turn = RequestContext(self._ground, "")
        operation = None
        try:
            with turn.store:
                route, path = self._find(turn, request)
                operation = route.row
                answer = self._answer(turn, route, path, request)
            status = operation.success
            body = b"" if answer is None else answer if type(answer) is bytes else strict_json.dumps(answer)
        except ApiError as error:
            status = error.status
            body = error_body(error)
        headers = {"content-type": "application/json", **turn.headers} if body else dict(turn.headers)
        headers["date"] = turn.clock.http_date()
        if turn.assumed:
            headers["workbench-assumed"] = ", ".join(dict.fromkeys(turn.assumed))
        if len(request.body) > _LOGGED_BODY:
            request = Request(request.method, request.path, request.query, request.headers)
        self._log.append((request, operation, turn, status))
        return Response(status, headers, body)

    def name_of(self, request: Request) -> str | None:
        """Return the name of the operation that a request is for, None where nothing is served."""
        by_method = self._fixed.get(request.path) or next(
            (by for pattern, by in self._patterns if pattern.fullmatch(request.path)), {}
        )
        route = by_method.get(request.method)
        return None if route is None else str(route.row.name)

    def _find(self, turn: RequestContext, request: Request) -> tuple[Route, Mapping[str, str]]:
        by_method = self._fixed.get(request.path)
        path: Mapping[str, str] = {}
        if by_method is None:
            for pattern, by in self._patterns:
                match = pattern.fullmatch(request.path)
                if match is not None:
                    by_method, path = by, match.groupdict()
                    break
            else:
                raise turn.refusal(NO_ROUTE)
        route = by_method.get(request.method)
        if route is None:
            turn.headers["allow"] = ", ".join(by_method)
            raise turn.refusal(NO_METHOD)
        return route, path

    def _answer(self, turn: RequestContext, route: Route, path: Mapping[str, str], request: Request) -> Any:
        operation = turn.operation = route.row
        turn.cause[1] = operation.name
        turn.assumed += route.assumed
        key = turn.store.get("key", request.headers.get("api-key") or "")
        if key is None:
            raise turn.refusal(table.UNAUTHORIZED)
        if operation.sandbox_only and self.environment == "production":
            raise turn.refusal(table.NOT_IN_PRODUCTION)
        if not operation.roles.issubset(key["roles"]):
            raise turn.refusal(table.MISSING_ROLE)
        for name in route.names:
            if UUID.fullmatch(path[name]) is None:
                raise turn.wrong(f"{name} must be a UUID")
        asked = self._read(turn, operation, path, request)
        tenant = turn.store.get("tenant", key["tenant"])
        if tenant is None:
            raise turn.refusal(table.TEAM_NOT_FOUND)
        turn.tenant = tenant
        answer = route.handler(turn, asked)
        if type(answer) is bytes or answer is None:
            return answer
        write = turn.converter.write
        return [write(one) for one in answer] if type(answer) is list else write(answer)

    def _read(
        self, turn: RequestContext, operation: Operation[..., Any], path: Mapping[str, str], request: Request
    ) -> Any:
        raw: Any = {}
        if operation.in_query:
            raw = self._query(turn, operation, request.query)
        elif operation.method != "DELETE" and request.body:
            raw = self._body(turn, request)
        asked, mistyped, unknown = turn.converter.read_request(operation, raw, path, from_query=operation.in_query)
        found = [*mistyped, *problems(asked, partial=True)] if asked is not None else mistyped
        if found:
            said = {problem.path: problem for problem in reversed(found)}  # one problem a member is enough
            raise turn.wrong("; ".join(str(problem) for problem in reversed(said.values())))
        if unknown:
            turn.assumed.append("unknown_members")
        for name, value in raw.items():
            if type(value) is int and value > MAX_WHOLE and name not in unknown:
                raise turn.wrong(f"{name} is too large")
        return asked

    def _query(self, turn: RequestContext, operation: Operation[..., Any], query: str) -> dict[str, Any]:
        try:
            pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=100, errors="surrogateescape")
        except ValueError:
            raise turn.wrong("the query cannot be read") from None
        raw = dict(pairs)
        if len(raw) != len(pairs):
            raise turn.wrong("a parameter of the query stands there twice")
        if operation is table.SIGN_WITHDRAWAL and self._unit_flag not in raw:
            raw[self._unit_flag] = "false"
            turn.assumed.append("withdrawal_unit_default")
        return raw

    def _body(self, turn: RequestContext, request: Request) -> Any:
        if len(request.body) > MAX_BODY:
            raise turn.wrong("the body is too large")
        kind = (request.headers.get("content-type") or "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise turn.wrong("the content type must be application/json")
        try:
            return strict_json.loads(request.body)
        except strict_json.NotJson as error:
            raise turn.wrong(f"the body cannot be read: {error}") from None

    def forget(self, count: int) -> None:
        """Take the last requests out of the list: what they wrote was not kept."""
        for _ in range(min(count, len(self._log))):
            self._log.pop()

    def requests(self) -> list[dict[str, Any]]:
        """Return the last requests and how they were answered, their private values masked, the oldest first."""
        return [_logged(*entry) for entry in tuple(self._log)]


def error_body(error: ApiError) -> bytes:
    """Write an error as the document shows it. Source: Errors."""
    return strict_json.dumps({"statusCode": error.status, "error": error.error, "message": error.message})


def _logged(
    request: Request, operation: Operation[..., Any] | None, turn: RequestContext, status: int
) -> dict[str, Any]:
    number = turn.cause[0]
    entry: dict[str, Any] = {
        "request_id": turn.seeds.uuid(f"request:{number}") if number else None,
        "operation": None if operation is None else operation.name,
        "method": request.method,
        "path": request.path if operation is not None else None,
        "status": status,
        "assumed": list(dict.fromkeys(turn.assumed)),
    }
    if operation is not None:
        entry["body"] = _plain(_masked(request, operation))
    return entry


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, Decimal) else value


def _masked(request: Request, operation: Operation[..., Any]) -> Any:
    if operation.in_query:
        return masked(dict(parse_qsl(request.query, keep_blank_values=True)), of=operation.request)
    try:
        return masked(strict_json.loads(request.body), of=operation.request) if request.body else None
    except strict_json.NotJson:
        return None
