"""The interface as an OpenAPI 3.1 document, made from the table.

What is sent is described as strictly as `checks.problems` takes it, except that unknown members are let through, as the
service drops them silently. What is received is described loosely: its patterns, lengths and words are
`x-pattern`, `x-maxLength`, `x-enum`, so that no tool refuses an answer for them. An assumption carries `x-assumed`, its reason.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.interface.convert import Converter, converter, placeholders
from workbench.interface.events import EVENT_KINDS, Event
from workbench.interface.fields import Privacy, Reason
from workbench.interface.operation import Failure, Operation
from workbench.interface.rules import EMAIL_ADDRESS, UUID, AnyOf, CrossRule, OneOf, When
from workbench.interface.table import KEY_HEADER, OPERATIONS, VERSION
from workbench.interface.walk import (
    Array,
    Boolean,
    Choice,
    Date,
    DateTime,
    DecimalNumber,
    Integer,
    Kind,
    Member,
    Nested,
    Numeric,
    Text,
    Untyped,
    cross_rules,
    members,
)

Schema = dict[str, Any]

LARGEST = 2**53 - 1
"""Whole numbers beyond it do not survive every JSON reader. Assumed: see the behavior `whole_numbers`."""

_V4 = r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_H = "[0-9a-fA-F]{1,4}"
_TAIL = f"(?:{_H}:{_H}|{_V4})"
_V6 = "|".join(
    (
        f"(?:{_H}:){{6}}{_TAIL}",
        f"::(?:{_H}:){{5}}{_TAIL}",
        *(f"(?:(?:{_H}:){{0,{n}}}{_H})?::(?:{_H}:){{{4 - n}}}{_TAIL}" for n in range(5)),
        f"(?:(?:{_H}:){{0,5}}{_H})?::{_H}",
        f"(?:(?:{_H}:){{0,6}}{_H})?::",
    )
)
_YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_LEAP = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DAYS = "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"

PATTERNS: Mapping[str, str] = {
    "uuid": f"^{UUID.pattern}$",
    "email": f"^{EMAIL_ADDRESS.pattern}$",
    "ip": f"^(?:{_V4}|{_V6})$",
    "date": f"^(?:{_YEAR}-{_DAYS}|{_LEAP}-02-29)$",
}
"""What the formats that are checked come to, as patterns: tools differ in what they make of `format`."""

_NO_NUL = r"^[^\u0000]*$"

_LINKS = (
    ("simulate_authorization", "simulate_reversal", "transaction_id", "$response.body#/transactionId"),
    ("simulate_authorization", "simulate_refund", "transaction_id", "$response.body#/transactionId"),
    ("create_payment_account", "delete_payment_account", "payment_account_id", "$response.body#/id"),
    ("create_user_application", "update_user", "user_id", "$response.body#/id"),
    ("create_user_application", "list_rewards_activity", "user_id", "$response.body#/id"),
)
"""What one operation hands to another: from, to, the member that takes it, where it comes from."""

_NO_NAMES: Mapping[str, str] = {}


def document(names: Mapping[str, str] = _NO_NAMES, server: str = "https://api.example.com/v1") -> dict[str, Any]:
    """Return the OpenAPI 3.1 document, as plain data.

    Args:
        names: Wire names that differ from the declared ones, by `record.attribute`.
        server: The base URL, with its `/v1`.
    """
    made = _Document(converter(names))
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS.values():
        paths.setdefault(operation.path, {})[operation.method.lower()] = made.operation(operation)
    webhooks = {kind.name: {"post": made.event(kind)} for kind in EVENT_KINDS.values()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Card issuing service",
            "version": VERSION,
            "description": "Made from the interface as data; what is marked `x-assumed` is an assumption, with its reason.",
        },
        "servers": [{"url": server}],
        "security": [{"ApiKey": []}],
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "securitySchemes": {"ApiKey": {"type": "apiKey", "in": "header", "name": KEY_HEADER}},
            "schemas": dict(sorted(made.schemas.items())),
        },
    }


class _Document:
    """Collects the schemas that the operations refer to."""

    def __init__(self, converter: Converter) -> None:
        self.converter = converter
        self.schemas: dict[str, Schema] = {"Error": _ERROR}

    def operation(self, operation: Operation[..., Any]) -> Schema:
        """Return one operation."""
        cls = operation.request
        in_path = placeholders(operation.path)
        inside = [one for one in members(cls) if self.converter.wire_name(cls, one) in in_path]
        rest = [one for one in members(cls) if one not in inside]
        made: Schema = {
            "operationId": operation.name,
            "summary": operation.doc,
            "description": f"Source: {operation.source}." + (" In the sandbox only." if operation.sandbox_only else ""),
            **_assumed(operation.assumed),
        }
        parameters = [self._parameter(cls, one, "path") for one in inside]
        if operation.in_query:
            parameters += [self._parameter(cls, one, "query") for one in rest]
        if parameters:
            made["parameters"] = parameters
        if rest and not operation.in_query:
            schema = self.taken(cls, [one for one in members(cls) if one in rest])
            made["requestBody"] = {
                "required": "required" in schema or "oneOf" in schema,
                "content": {"application/json": {"schema": self._named(cls.__name__, schema)}},
            }
        if operation.roles:
            made["security"] = [{"ApiKey": sorted(operation.roles)}]
        made["responses"] = {**self._success(operation), **_failures(operation.failures)}
        return made

    def event(self, kind: Any) -> Schema:
        """Return one kind of event, as the request that a receiver gets."""
        envelope = {
            "allOf": [{"$ref": self._answered(Event)}],
            "properties": {
                "resource": {"const": kind.resource},
                "action": {"const": kind.action},
                "body": {"$ref": self._answered(kind.body)},
            },
        }
        return {
            "operationId": f"receive_{kind.resource}_{kind.action}",
            "summary": kind.doc,
            "description": f"Source: {kind.source}.",
            "security": [],
            **_assumed(kind.assumed),
            "requestBody": {"required": True, "content": {"application/json": {"schema": envelope}}},
            "responses": {"2XX": {"description": "Received"}},
        }

    def _parameter(self, cls: type[Any], one: Member, where: str) -> Schema:
        return {
            "name": self.converter.wire_name(cls, one),
            "in": where,
            "required": where == "path" or _needed(one),
            "description": one.about.doc,
            **_assumed(one.about.assumed),
            "schema": self._taken(one.kind, one) | _otherwise(one),
        }

    def _success(self, operation: Operation[..., Any]) -> Schema:
        made: Schema = {"description": "Done"}
        if operation.success != 204:
            schema: Schema = {"$ref": self._answered(operation.answer)}
            made["content"] = {
                "application/json": {"schema": {"type": "array", "items": schema} if operation.many else schema}
            }
        links = {
            to: {"operationId": to, "parameters": {self._link_name(to, name): source}}
            for start, to, name, source in _LINKS
            if start == operation.name
        }
        if links:
            made["links"] = links
        return {str(operation.success): made}

    def _link_name(self, operation: str, name: str) -> str:
        cls = OPERATIONS[operation].request
        return next(self.converter.wire_name(cls, one) for one in members(cls) if one.name == name)

    # what is sent

    def taken(self, cls: type[Any], fields: Iterable[Member], partial: bool = False) -> Schema:
        """Return the schema of a record in a request."""
        fields = list(fields)
        spelled = {one.name: self.converter.wire_name(cls, one) for one in fields}
        made: Schema = {
            "type": "object",
            "properties": {
                self.converter.wire_name(cls, one): {**self._taken(one.kind, one), **_about(one)} for one in fields
            },
        }
        required = [spelled[one.name] for one in fields if _needed(one) and not partial]
        if required:
            made["required"] = required
        for rule in cross_rules(cls):
            _merge(made, _crossed(rule, spelled))
        return made

    def _taken(self, kind: Kind, one: Member) -> Schema:
        rule = one.about.rule
        match kind:
            case Nested(of=cls):
                partial = one.about.partial
                name = f"{cls.__name__}{'Change' if partial else 'Input'}"
                return self._named(name, self.taken(cls, members(cls), partial))
            case Array(of=inner):
                return {"type": "array", "items": self._taken(inner, one)}
            case Choice(of=words):
                return {"type": "string", "enum": [str(word) for word in words]}
            case Integer():
                low = {} if rule.minimum is None else {"minimum": rule.minimum}
                return {"type": "integer", **low, "maximum": LARGEST if rule.maximum is None else rule.maximum}
            case Text() | Date():
                made: Schema = {"type": "string", "pattern": rule.pattern or PATTERNS.get(rule.format or "", _NO_NUL)}
                if rule.format in _FORMATS:
                    made["format"] = rule.format
                return made | _lengths(rule, "")
        return _plain(kind)

    def _named(self, name: str, schema: Schema) -> Schema:
        self.schemas[name] = schema
        return {"$ref": f"#/components/schemas/{name}"}

    # what is received

    def _answered(self, cls: type[Any]) -> str:
        name = cls.__name__
        if name not in self.schemas:
            fields = members(cls)
            self.schemas[name] = made = {
                "type": "object",
                "description": (cls.__doc__ or "").strip().splitlines()[0],
                "properties": {
                    self.converter.wire_name(cls, one): {**self._received(one.kind, one), **_about(one)}
                    for one in fields
                },
            }
            required = [self.converter.wire_name(cls, one) for one in fields if one.about.needed]
            if required:
                made["required"] = required
        return f"#/components/schemas/{name}"

    def _received(self, kind: Kind, one: Member) -> Schema:
        rule = one.about.rule
        match kind:
            case Nested(of=cls):
                return {"$ref": self._answered(cls)}
            case Array(of=inner):
                return {"type": "array", "items": self._received(inner, one)}
            case Choice(of=words):
                return {"type": "string", "x-enum": [str(word) for word in words]}
            case Text():
                made: Schema = {"type": ["string", "null"] if one.about.nullable else "string"}
                if rule.pattern:
                    made["x-pattern"] = rule.pattern
                if rule.format in _FORMATS:
                    made["format"] = rule.format
                return made | _lengths(rule, "x-")
        return _plain(kind)


_FORMATS = {"uuid", "date", "password"}  # that of email is another one in each tool
_ERROR: Schema = {
    "type": "object",
    "description": "Error body. Source: Errors.",
    "properties": {"statusCode": {"type": "integer"}, "error": {"type": "string"}, "message": {"type": "string"}},
    "required": ["statusCode", "error", "message"],
}


def _plain(kind: Kind) -> Schema:
    match kind:
        case Integer():
            return {"type": "integer"}
        case Boolean():
            return {"type": "boolean"}
        case DecimalNumber(text=True):
            return {"type": "string", "format": "decimal"}
        case DecimalNumber() | Numeric():
            return {"type": "number"}
        case DateTime():
            return {"type": "string", "format": "date-time"}
        case Untyped():
            return {}
    raise TypeError(f"no schema is known for {kind}")


def _lengths(rule: Any, prefix: str) -> Schema:
    found = ((f"{prefix}minLength", rule.min_length), (f"{prefix}maxLength", rule.max_length))
    return {name: value for name, value in found if value is not None}


def _needed(one: Member) -> bool:
    """Whether a request without the member is refused by the service: FULL means leaving it out."""
    return one.required and one.about.needed and not (isinstance(one.kind, Integer) and one.kind.full)


def _about(one: Member) -> Schema:
    made: Schema = {"description": one.about.doc}
    if one.about.rule.unit:
        made["x-unit"] = one.about.rule.unit
    if one.about.privacy is not Privacy.OPEN:
        made["x-privacy"] = one.about.privacy.value
    return made | _otherwise(one) | _assumed(one.about.assumed)


def _otherwise(one: Member) -> Schema:
    return {} if one.about.otherwise is None else {"default": one.about.otherwise}


def _assumed(reason: Reason | None) -> Schema:
    return {} if reason is None else {"x-assumed": str(reason), "x-known": str(reason.confidence)}


def _failures(failures: Iterable[Failure]) -> Schema:
    by_status: dict[int, list[Failure]] = {}
    for failure in failures:
        by_status.setdefault(failure.status, []).append(failure)
    made: Schema = {}
    for status, found in sorted(by_status.items()):
        made[str(status)] = {
            "description": "; ".join(f"{one.error}: {one.when}" for one in found),
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            **_assumed(next((one.assumed for one in found if one.assumed), None)),
        }
    return made


def _crossed(rule: CrossRule, spelled: Mapping[str, str]) -> Schema:
    match rule:
        case OneOf(groups=groups):
            every = [[spelled[name] for name in group] for group in groups]
            ways = [
                {
                    "required": group,
                    "not": {"anyOf": [{"required": [name]} for other in every if other is not group for name in other]},
                }
                for group in every
            ]
            return {"oneOf": ways} | _assumed(rule.assumed)
        case AnyOf(names=names):
            return {"anyOf": [{"required": [spelled[name]]} for name in names]} | _assumed(rule.assumed)
        case When(name=name, value=value):
            then: Schema = {}
            if rule.needs:
                then["required"] = [spelled[needed] for needed in rule.needs]
            if rule.pattern is not None:
                field, pattern, _ = rule.pattern
                then["properties"] = {spelled[field]: {"pattern": pattern}}
            condition = {"required": [spelled[name]], "properties": {spelled[name]: {"const": value}}}
            return {"if": condition, "then": then} | _assumed(rule.assumed)


def _merge(made: Schema, more: Schema) -> None:
    """Add the schema of a rule; where one is there already, all have to hold."""
    if any(name in made for name in more):
        made.setdefault("allOf", []).append(more)
    else:
        made.update(more)
