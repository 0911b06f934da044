"""Fault rules: which calls or deliveries fail, how they fail, and how often.

The sandbox's file, if there is one, stores the rules until they are removed. A reset keeps the rules, and a fork has no
rules. While a rule exists, every response has a `Workbench-Fault` header.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Literal, get_args

import attrs

from workbench.base.schema import strict_json
from workbench.base.schema.walk import build, change, get_path, given
from workbench.base.system.messages import Request, Response
from workbench.sandbox.context import Seeds
from workbench.sandbox.control_records import FaultRule
from workbench.sandbox.service import Service
from workbench.sandbox.store import Members, Store
from workbench.service.interface import table
from workbench.service.interface.events import CardKind, DepositKind, TransactionKind, UserKind
from workbench.service.interface.table import OperationName

HEADER = "workbench-fault"

CallFault = Literal[
    "latency",  # executed; the response is delayed by `seconds`
    "status",  # not executed; another status and error body
    "refused",  # not executed; the connection is refused
    "reset",  # not executed; the connection is reset
    "closed",  # not executed; the connection is closed without a response
    "lost",  # executed; the connection is closed without a response
    "cut",  # executed; half of the response body is sent
    "malformed",  # executed; the response body is not JSON
    "slow_body",  # executed; the response body is sent byte by byte over `seconds`
]
DeliveryFault = Literal[
    "duplicate",  # the event is delivered twice
    "swap",  # the event is delivered after the next one
    "delay",  # the event is delivered after `seconds` of the sandbox's clock
    "bad_signature",  # the signature is wrong
]
FaultKind = Literal[CallFault, DeliveryFault]
OF_ANSWERS: tuple[str, ...] = get_args(CallFault)
"""Kinds of faults of calls."""
OF_DELIVERIES: tuple[str, ...] = get_args(DeliveryFault)
"""Kinds of faults of deliveries."""
FaultTarget = Literal[
    OperationName,
    "settle",
    "list_payment_routes",
    "list_automations",
    UserKind,
    DepositKind,
    TransactionKind,
    CardKind,
]
"""Operations and kinds of events that a rule may be limited to."""
_EXECUTED = frozenset({"latency", "lost", "cut", "malformed", "slow_body"})
_WHOLE = frozenset({"latency", "status", "malformed"})

BODIES: Mapping[str, Members | tuple[str, bytes]] = {
    "documented": {},
    "validation": {
        "code": "FST_ERR_VALIDATION",
        "error": "Bad Request",
        "message": "body/status must be equal to one of the allowed values",
    },
    "msg": ("application/json", b'{"msg":"Too many requests"}'),
    "correlation": {"correlationId": "00000000-0000-4000-8000-000000000000"},
    "empty": ("", b""),
    "text": ("text/plain", b"upstream connect error"),
    "html": ("text/html", b"<html><body><h1>Bad Gateway</h1></body></html>"),
}
"""Error bodies seen in practice, by name: differences from the documented body, or content type and body."""

_GENERAL = (table.UNAUTHORIZED, table.FORBIDDEN, table.TEAM_NOT_FOUND, table.INVALID_ACCOUNT, table.SERVER_FAILURE)


def _error_body(rule: FaultRule, name: str | None) -> tuple[str, bytes]:
    """Return the content type and the body of a rule's error. An error documented for the operation is preferred."""
    body = BODIES[rule.body] if rule.answer is None else ("application/json", strict_json.dumps(rule.answer))
    if isinstance(body, tuple):
        return body
    own = table.OPERATIONS[name].failures if name is not None and name in table.OPERATIONS else ()
    failures = [failure for failure in (*own, *_GENERAL) if "{" not in failure.message]
    error, message = next(
        ((failure.error, failure.message) for failure in failures if failure.status == rule.status),
        (table.ERRORS.get(rule.status, table.ERRORS[500]), "Injected by a fault rule"),
    )
    documented = {"statusCode": rule.status, "error": error, "message": message}
    return "application/json", strict_json.dumps({**documented, **body})


def _meets(arguments: Members, where: Members) -> bool:
    """Return whether arguments have the expected values. Query arguments are text."""
    values = {path: get_path(arguments, path) for path in where}
    return all(values[path] == value or str(values[path]) == str(value) for path, value in where.items())


class FaultRules:
    """Fault rules of one sandbox, with their counts."""

    def __init__(self, store: Store, seeds: Seeds) -> None:
        self._store = store
        self._seeds = seeds

    @property
    def count(self) -> int:
        """Number of rules."""
        return self._store.count("fault")

    @property
    def rules(self) -> list[FaultRule]:
        """The rules, oldest first."""
        return [build(FaultRule, row) for row in self._store.all("fault")]

    def put(self, rule: FaultRule) -> FaultRule:
        """Add a rule, or replace the rule with the same number."""
        kept = strict_json.dumps(dict(given(rule)))  # JSON turns decimals into numbers
        self._store.put("fault", str(rule.id), strict_json.stored(kept))
        return rule

    def match(self, name: str | None, kinds: Collection[str], arguments: Callable[[], Members]) -> FaultRule | None:
        """Return the first rule that applies to a call or a delivery, and count the match for every matching rule.

        Args:
            arguments: Function that returns the arguments of the call, or the body of the event.
        """
        matched = None
        with self._store:
            for rule in self.rules:
                if rule.kind not in kinds or rule.of not in (None, name):
                    continue
                if rule.matching and not _meets(arguments(), rule.matching):
                    continue
                applies = matched is None and self._applies(rule)
                counted = self.put(change(rule, matched=rule.matched + 1, applied=rule.applied + applies))
                matched = counted if applies else matched
        return matched

    def _applies(self, rule: FaultRule) -> bool:
        count = rule.matched + 1
        if rule.nth not in (None, count) or (rule.times is not None and rule.applied >= rule.times):
            return False
        return bool(self._seeds.number(f"fault:{rule.id}:{count}", 0, 999_999) < rule.probability * 1_000_000)

    def apply(self, service: Service, request: Request) -> Response:
        """Answer a request under the fault rules. `Workbench-Fault` counts active rules and names the applied fault."""
        text = f"{sum(not rule.used_up for rule in self.rules)} active"
        operation = service.operation_of(request)
        name = None if operation is None else operation.name
        rule = self.match(name, OF_ANSWERS, lambda: service.arguments_of(request))
        if rule is not None and rule.kind not in _EXECUTED:
            content_type, body = _error_body(rule, name)
            headers = {"content-type": content_type} if content_type else {}
            if rule.retry_after is not None:
                headers["retry-after"] = str(rule.retry_after)
            response = Response(rule.status, headers, body)
        else:
            response = service.handle(request)
        if rule is not None:
            text += f"; {rule.kind} applied"
            if rule.kind == "malformed":
                response = attrs.evolve(response, body=response.body[: len(response.body) // 2] + b"\x00<")
            manner = "whole" if rule.kind in _WHOLE else rule.kind
            response = attrs.evolve(response, manner=manner, seconds=rule.seconds, fault=rule.kind)
        return attrs.evolve(response, headers={**response.headers, HEADER: text})
