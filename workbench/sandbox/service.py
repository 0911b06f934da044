"""Request handling: routes from the operation table, and checks in a fixed order. Errors become responses.

Order of checks: route, key, environment, role, syntax of ids, body, team, record and state. assumed: order_of_checks
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any
from urllib.parse import parse_qsl

import attrs
import orjson

from workbench.base.errors import ApiError, Problem
from workbench.base.schema import strict_json
from workbench.base.schema.checks import problems
from workbench.base.schema.rules import UUID
from workbench.base.schema.walk import member, members
from workbench.base.system.messages import Request, Response
from workbench.sandbox import cards, chain, contracts, extensions, people, rewards
from workbench.sandbox.context import Environment, RequestContext, moment_of
from workbench.sandbox.store import Members, Record, Texts
from workbench.service.interface import table
from workbench.service.interface.convert import placeholders
from workbench.service.interface.table import Failure, Operation

MAX_BODY = 1_000_000  # in bytes; the longest text evidence takes 786 kB if each character is escaped
MAX_WHOLE = 2**53 - 1
_MAX_PARAMETERS = 100  # maximum number of query parameters

NO_ROUTE = Failure(
    status=404,
    message="Nothing is served at this path. Served: {served}",
    when="nothing is served there",
)
NO_METHOD = Failure(
    status=405,
    message="This method is not served at this path. Served: {served}",
    when="the path has other methods",
)

_ASSUMED_RULES = {"email": "email_format", "ip": "ip_format", "uuid": "id_case"}
"""Validation rules outside the interface document, with the ids of their assumptions."""


def assumed_rule(problem: Problem) -> str:
    """Return the id of the assumption by which a problem in a request is an error."""
    if problem.rule == "type" and problem.message == "must not be null":
        return "null_members"
    return _ASSUMED_RULES.get(problem.rule, "validation_errors")


Handler = Callable[[RequestContext, Any], Any]
"""Function of the context and the validated request. It returns a record, a list of records, or None for no body."""

HANDLERS: Mapping[str, Handler] = {
    "list_contracts": contracts.list_contracts,
    "sign_withdrawal": chain.sign_withdrawal,
    "simulate_authorization": cards.authorize,
    "simulate_reversal": cards.reverse,
    "simulate_refund": cards.refund,
    "create_payment_account": contracts.create_payment_account,
    "delete_payment_account": contracts.delete_payment_account,
    "update_user": people.update_user,
    "update_ubo": people.update_ubo,
    "update_dispute": cards.update_dispute,
    "create_user_application": people.create_user_application,
    "list_rewards_activity": rewards.list_rewards_activity,
    "settle": cards.settle,
    "list_payment_routes": contracts.list_payment_routes,
    "list_automations": contracts.list_automations,
}


@attrs.frozen(eq=False)
class Route:
    """An operation and its handler."""

    row: Any  # typed as Any, because an Operation would act as a descriptor here
    handler: Handler
    ids: tuple[str, ...]  # placeholders for UUIDs in the path
    assumed: tuple[str, ...]


Methods = dict[str, Route]
_PART = re.compile(r"(\{\w+\})")


@cache
def _routes() -> tuple[dict[str, Methods], list[tuple[re.Pattern[str], Methods]]]:
    """Return the routes of paths without placeholders by exact path, and the routes of other paths by pattern."""
    by_path: dict[str, Methods] = {}
    for row in (*table.OPERATIONS.values(), *extensions.ROWS.values()):
        assumed = (extensions.ASSUMED.get(row.name, row.name),) if row.assumed else ()
        in_path = (field for field in members(row.request) if field.wire in placeholders(row.path))
        ids = tuple(field.wire for field in in_path if field.about.rule.format == "uuid")
        route = Route(row, HANDLERS[row.name], ids, assumed)
        by_path.setdefault(table.PREFIX + row.path, {})[row.method] = route
    patterns = [
        (re.compile("".join(f"(?P<{p[1:-1]}>[^/]*)" if p[:1] == "{" else re.escape(p) for p in _PART.split(path))), by)
        for path, by in by_path.items()
        if "{" in path
    ]
    return {path: by for path, by in by_path.items() if "{" not in path}, patterns


@lru_cache(maxsize=16)
def _http_date(second: int) -> str:
    """Format a time as an HTTP date. The result is cached for responses in the same second."""
    moment = moment_of(second * 1000)  # email.utils is avoided, because its import takes as long as a call
    day = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][moment.weekday()]
    month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][moment.month - 1]
    return f"{day}, {moment:%d} {month} {moment:%Y %H:%M:%S} GMT"


class Service:
    """Service that answers the requests of one sandbox.

    Args:
        name: "sandbox" or "production".
        environment: Store, clock, seeds and settings.
    """

    def __init__(self, name: str, environment: Environment) -> None:
        self._name = name  # "sandbox" or "production"
        self._environment = environment
        self._fixed, self._patterns = _routes()
        self.rate_limit = extensions.RateLimit()
        rows = (*table.OPERATIONS.values(), *extensions.ROWS.values())
        self._served = ", ".join(f"{row.method} {table.PREFIX}{row.path}" for row in rows)
        signing = table.Operations.sign_withdrawal.request
        self._unit_flag = environment.converter.wire_name(signing, member(signing, "is_amount_native"))

    def handle(self, request: Request) -> Response:
        """Answer one request. A rejected request changes nothing."""
        context = RequestContext(self._environment, "")
        operation = None
        try:
            with context.store:
                key = self.key_of(request)
                known = context.store.get("key", key)
                if known:
                    context.tenant = {"id": known["tenant"]}
                    self.rate_limit.count(context, key)
                route, path = self._find(context, request)
                operation = route.row
                body = self._answer(context, route, path, request, known)
            status = context.settings["success_codes"].get(operation.name, operation.success)
        except ApiError as error:
            status = error.status
            body = error_body(error, context.settings["error_bodies"].get(str(error.status)))
        headers = {"content-type": "application/json", **context.headers} if body else dict(context.headers)
        headers["date"] = _http_date(context.clock.ms // 1000)
        if context.assumed:
            headers["workbench-assumed"] = ", ".join(dict.fromkeys(context.assumed))
        return Response(status, headers, body, context=context)

    def operation_of(self, request: Request) -> Operation[..., Any] | None:
        """Return the operation of a request, or None for an unknown route."""
        route = self._match(request.path)[0].get(request.method)
        return None if route is None else route.row

    def tenant_of(self, request: Request) -> str:
        """Return the tenant id of a request's key; empty for an unknown key."""
        key = self._environment.store.get("key", self.key_of(request))
        return str(key["tenant"]) if key else ""

    def key_of(self, request: Request) -> str:
        """Return the API key of a request; empty if the request has none."""
        return extensions.key_of(request.headers, bearer=self._environment.settings["bearer_keys"])

    def arguments_of(self, request: Request) -> Record:
        """Return a request's arguments from path, query and body by wire names."""
        try:
            body = strict_json.loads(request.body) if request.body else None
        except strict_json.NotJson:
            body = None
        query = dict(parse_qsl(request.query, keep_blank_values=True))
        return {**query, **(body if isinstance(body, Mapping) else {}), **self._match(request.path)[1]}

    def _match(self, path: str) -> tuple[Methods, Texts]:
        """Return the methods of a path, and the ids that the path contains."""
        if path in self._fixed:
            return self._fixed[path], {}
        matches = ((by, match) for pattern, by in self._patterns if (match := pattern.fullmatch(path)) is not None)
        by, match = next(matches, ({}, None))
        return by, match.groupdict() if match else {}

    def _find(self, context: RequestContext, request: Request) -> tuple[Route, Texts]:
        by_method, ids = self._match(request.path)
        if not by_method:
            raise context.error(NO_ROUTE, "unknown_paths", served=self._served)
        if request.method not in by_method:
            context.headers["allow"] = ", ".join(by_method)
            raise context.error(NO_METHOD, "unknown_paths", served=self._served)
        route = by_method[request.method]
        if route.row.name == "list_automations" and not context.settings["deprecated_alias"]:
            raise context.error(NO_ROUTE, "deprecated_alias", served=self._served)  # assumed: deprecated_alias
        if route.row.name == "settle" and not context.settings["settle_route"]:
            raise context.error(NO_ROUTE, "settle_route", served=self._served)  # assumed: settle_route
        return route, ids

    def _answer(self, context: RequestContext, route: Route, path: Texts, request: Request, key: Any) -> bytes:
        operation = context.operation = route.row
        context.cause[1] = operation.name
        context.assumed += route.assumed
        if key is None:  # assumed: keys_lifetime
            raise context.error(table.UNAUTHORIZED)
        if operation.sandbox_only and self._name == "production":  # assumed: production_order
            raise context.error(table.NOT_IN_PRODUCTION)
        later = context.settings["tightened_roles"].get(operation.name)  # assumed: tightened_roles
        if not operation.roles.issubset(key["roles"]) or (
            later and later not in key["roles"]
        ):  # assumed: roles_elsewhere
            raise context.error(table.MISSING_ROLE)
        for name in route.ids:
            if UUID.fullmatch(path[name]) is None:
                raise context.bad_request(f"{name} must be a UUID", "id_case")
        asked = self._read(context, operation, path, request)
        tenant = context.store.get("tenant", key["tenant"])
        if tenant is None:
            shown = table.TEAM_NOT_FOUND in operation.failures
            raise context.error(table.TEAM_NOT_FOUND, *() if shown else ("team_not_found",))
        context.tenant = tenant
        if not operation.effect:
            return self._written(context, route.handler(context, asked))
        write = (request.method, request.path, request.body)
        return extensions.answer_once(
            context, request.headers, write, lambda: self._written(context, route.handler(context, asked))
        )

    @staticmethod
    def _written(context: RequestContext, answer: object) -> bytes:
        if answer is None:
            return b""
        write = context.environment.converter.unstructure
        written = [write(item) for item in answer] if type(answer) is list else write(answer)
        name = "" if context.operation is None else context.operation.name
        return orjson.dumps(extensions.rehearse(context.settings, written, name), default=float)

    def _read(self, context: RequestContext, operation: Operation[..., Any], path: Texts, request: Request) -> Any:
        raw: Record = {}
        if operation.in_query:
            raw = self._query(context, operation, request.query)
        elif operation.method != "DELETE" and request.body:
            raw = self._body(context, request)
        elif operation.sandbox_only and context.settings["empty_body"] != "object":
            raise context.bad_request("body must be object", "empty_body")
        asked, mistyped, unknown = context.environment.converter.read_request(
            operation, raw, path, from_query=operation.in_query
        )
        problems_found = [*mistyped, *problems(asked, partial=True)] if asked is not None else mistyped
        problems_found = [problem for problem in problems_found if not self._accepts(context, problem)]
        if problems_found:
            said = {problem.path: problem for problem in reversed(problems_found)}  # at most one problem per member
            rests_on = [assumed_rule(problem) for problem in problems_found]
            context.assumed += rests_on
            problem = "; ".join(str(problem) for problem in reversed(said.values()))
            raise context.bad_request(problem, rests_on[0])
        if unknown:
            context.assumed.append("unknown_body_members")
            if context.settings["unknown_body_members"] != "dropped":
                raise context.bad_request(f"{unknown[0]} is not allowed", "unknown_body_members")
        for name, value in raw.items():
            if type(value) is int and value > MAX_WHOLE and name not in unknown:
                if context.settings["whole_numbers"] == "accepted":
                    context.assumed.append("whole_numbers")
                else:
                    raise context.bad_request(f"{name} is too large", "whole_numbers")
        return asked

    @staticmethod
    def _accepts(context: RequestContext, problem: Problem) -> bool:
        """Return whether a setting accepts requests that break a rule."""
        rule = assumed_rule(problem)
        if context.settings[rule] != "accepted":
            return False
        context.assumed.append(rule)
        return True

    def _query(self, context: RequestContext, operation: Operation[..., Any], query: str) -> Record:
        try:
            pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS, errors="strict")
        except ValueError:
            why = f"it must be UTF-8 with at most {_MAX_PARAMETERS} parameters"
            raise context.bad_request(f"the query cannot be read: {why}", "validation_errors") from None
        raw = dict(pairs)
        if len(raw) != len(pairs):
            raise context.bad_request("duplicate query parameter", "duplicate_members")
        if operation is table.Operations.sign_withdrawal and self._unit_flag not in raw:
            raw[self._unit_flag] = "false" if context.settings["withdrawal_unit_default"] == "cents" else "true"
            context.assumed.append("withdrawal_unit_default")
        return raw

    def _body(self, context: RequestContext, request: Request) -> Any:
        if len(request.body) > MAX_BODY:
            raise context.bad_request("the body is too large", "body_size")
        if not is_json(request) and context.settings["content_type"] != "accepted":
            raise context.bad_request("the content type must be application/json", "content_type")
        if (request.headers.get("content-encoding") or "identity").lower() != "identity":
            raise context.bad_request("the body must not have a Content-Encoding", "validation_errors")
        try:
            return strict_json.loads(request.body)
        except strict_json.NotJson as error:
            raise context.bad_request(f"the body cannot be read: {error}", "validation_errors") from None


def is_json(request: Request) -> bool:
    """Return whether a request declares its body as JSON, which a web page of another origin cannot do."""
    return (request.headers.get("content-type") or "").partition(";")[0].strip().lower() == "application/json"


def error_body(error: ApiError, changes: Members | None = None) -> bytes:
    """Return the documented body of an error, with the changes that a behavior lists for the error's status.

    Source: Errors. assumed: error_bodies
    """
    body = {"statusCode": error.status, "error": error.error, "message": error.message}
    return strict_json.dumps({**body, **(changes or {})})
