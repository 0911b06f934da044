"""OpenAPI 3.1 document of the interface, generated from the operation table.

Request schemas are as strict as `checks.problems`, except for unknown members, which the service ignores. Response
schemas are loose, so that no tool rejects an answer because of a rule. Their patterns and lengths become `x-pattern`
and `x-maxLength`, and their enums become any text with `x-known-values`. Assumptions have `x-assumed` with the reason.
Bodies and parameters have fictitious examples.

The document avoids constructs that client generators interpret differently. Patterns escape characters with two digits,
whole numbers have 64 bits, and decimal texts have no format. A default is written as `x-default`, since some tools take
`default` as a promise that the member is present.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from workbench.base.schema import strict_json, walk
from workbench.base.schema.fields import Privacy, Reason
from workbench.base.schema.rules import UUID, CrossRule, OneOf, When
from workbench.base.schema.walk import Kind, Member, cross_rules, member, members, record_of
from workbench.service.interface.assumptions import BEHAVIORS
from workbench.service.interface.convert import Converter, converter, placeholders
from workbench.service.interface.events import EVENT_KINDS, Event, EventKind
from workbench.service.interface.examples import example, example_of
from workbench.service.interface.people import Address, ExternalFiatAccount, User
from workbench.service.interface.table import KEY_HEADER, KEY_REUSED, LIMITED, OPERATIONS, VERSION, Failure, Operation

Schema = dict[str, Any]

LARGEST = 2**53 - 1
"""Largest whole number that every JSON reader preserves. Assumed: the behavior `whole_numbers` gives the reason."""

_V4 = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(?:\.(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])){3}"
_H = "[0-9A-Fa-f]{1,4}"
_V6 = (
    f"(?:{_H}:){{7}}{_H}|(?:{_H}:){{1,7}}:|:(?::{_H}){{1,7}}|::",
    *(f"(?:{_H}:){{1,{left}}}(?::{_H}){{1,{7 - left}}}" for left in range(1, 7)),
    f"(?:{_H}:){{6}}{_V4}|::(?:{_H}:){{0,5}}{_V4}",
    *(f"(?:{_H}:){{{left}}}:(?:{_H}:){{0,{5 - left}}}{_V4}" for left in range(1, 6)),
)
# U+2028 and U+2029 are not listed: as literals they would end a line in generated JavaScript, and `\s` matches both.
_NO_BLANK = r"[^@\s\x00-\x20\x7f" + "\u0080-\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+"
_PATTERNS = {"uuid": f"^{UUID.pattern}$", "email": f"^{_NO_BLANK}@{_NO_BLANK}$", "ip": f"^(?:{_V4}|{'|'.join(_V6)})$"}
"""Patterns of formats that tools interpret differently."""
_NO_NUL = r"^[^\x00]*$"

_LINKS = (
    ("simulate_authorization", "simulate_reversal", "transaction_id", "transactionId"),
    ("simulate_authorization", "simulate_refund", "transaction_id", "transactionId"),
    ("create_payment_account", "delete_payment_account", "payment_account_id", "id"),
    ("create_user_application", "update_user", "user_id", "id"),
    ("create_user_application", "list_rewards_activity", "user_id", "id"),
)
"""Links between operations: source operation, target operation, parameter, and the answer member that supplies the
parameter.
"""


def document(
    names: Mapping[str, str] | None = None,
    server: str = "https://api.example.com/v1",
    more: Iterable[Operation[..., Any]] = (),
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document, as plain data.

    Args:
        names: Wire names that differ from the declared names, by `record.attribute`.
        server: The base URL, with its `/v1`.
        more: Operations served in addition to the documented operations.
        settings: Settings of a sandbox that change the description; default: describe only the interface.
    """
    builder = _Document(converter(names), settings or {})
    paths: dict[str, dict[str, Any]] = {}
    for operation in (*OPERATIONS.values(), *more):
        paths.setdefault(operation.path, {})[operation.method.lower()] = builder.operation(operation)
    webhooks = {kind.name: {"post": builder.event(kind)} for kind in EVENT_KINDS.values()}
    builder.add_extra_members()
    builder.schemas["Event"] = {"oneOf": [_ref(_event_name(kind)) for kind in EVENT_KINDS.values()]}
    keys: list[Schema] = [{"ApiKey": []}, *([{"Bearer": []}] if builder.settings.get("bearer_keys") else [])]
    tags = dict.fromkeys(
        tag
        for at in (paths, webhooks)
        for operation_row in at.values()
        for row in operation_row.values()
        for tag in row["tags"]
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Card issuing service",
            "version": VERSION,
            "description": (
                "Generated from the declared interface. `x-assumed` marks an assumption and gives its reason."
            ),
        },
        "servers": [{"url": server}],
        "tags": [{"name": tag} for tag in tags],
        "security": keys,
        "paths": paths,
        "webhooks": webhooks,
        "components": {
            "securitySchemes": {
                "ApiKey": {"type": "apiKey", "in": "header", "name": KEY_HEADER},
                **({"Bearer": {"type": "http", "scheme": "bearer"}} if builder.settings.get("bearer_keys") else {}),
            },
            "schemas": dict(sorted(builder.schemas.items())),
        },
    }


class _Document:
    """Builder of the document. It collects the schemas that operations refer to."""

    def __init__(self, converter: Converter, settings: Mapping[str, Any]) -> None:
        self.converter = converter
        self.settings = settings
        self.schemas: dict[str, Schema] = {"Error": ERROR_SCHEMA}

    def operation(self, operation: Operation[..., Any]) -> Schema:
        """Return the description of one operation."""
        cls = operation.request
        in_path = [
            field for field in members(cls) if self.converter.wire_name(cls, field) in placeholders(operation.path)
        ]
        rest = [field for field in members(cls) if field not in in_path]
        tag = next(part for part in operation.path.split("/") if part not in ("", "issuing", "tenants", "simulate"))
        described: Schema = {
            "operationId": operation.name,
            "tags": [tag],
            "summary": operation.doc,
            "description": f"Source: {operation.source}." + (" In the sandbox only." if operation.sandbox_only else ""),
            **_assumed(operation.assumed),
        }
        parameters = [self._parameter(cls, field, "path") for field in in_path]
        if operation.in_query:
            parameters += [self._parameter(cls, field, "query") for field in rest]
        elif rest:
            self.schemas[cls.__name__] = schema = self._record(cls, rest, sent=True)
            if operation is OPERATIONS["simulate_authorization"]:
                self._limit_currency(schema, "currency")
            if operation is OPERATIONS["simulate_refund"] and self.settings.get("refund_amount_omitted") == "400":
                schema["required"] = ["amount"]
            _, body = self.converter.write_request(operation, example(cls))
            needed = "required" in (schema["allOf"][0] if "allOf" in schema else schema) or "allOf" in schema
            needed = needed or (operation.sandbox_only and self.settings.get("empty_body") == "400")
            described["requestBody"] = {"required": needed, **_json(_ref(cls.__name__), self._written(body))}
        if parameters:
            described["parameters"] = parameters
        if operation.roles:
            described["security"] = [{"ApiKey": sorted(operation.roles)}]
        failures = (*operation.failures, *self._conventions(operation))
        described["responses"] = {str(operation.success): self._success(operation), **_failures(failures)}
        return described

    def _limit_currency(self, schema: Schema, setting: str) -> None:
        """Replace the pattern of a currency with the currencies that a behavior supports."""
        if setting in self.settings:
            currency = schema["properties"]["currency"]
            del currency["pattern"]
            currency["enum"] = list(self.settings[setting])

    def _conventions(self, operation: Operation[..., Any]) -> Iterator[Failure]:
        """Yield the error responses that a behavior adds to the interface."""
        if self.settings.get("rate_limit") is not None:
            yield LIMITED
        if self.settings.get("idempotency_keys") and operation.method != "GET":
            yield KEY_REUSED

    def event(self, kind: EventKind) -> Schema:
        """Return the description of an event kind, as the request that a receiver gets."""
        envelope = self._record(Event, members(Event), sent=False)
        envelope["properties"] |= {
            "resource": {"type": "string", "const": kind.resource},
            "action": {"type": "string", "const": kind.action},
            "body": self._reference(kind.body, sent=False),
        }
        self.schemas[_event_name(kind)] = envelope
        known = {"resource": kind.resource, "action": kind.action, "version": kind.version, "body": example(kind.body)}
        event = self._written(example(Event, **known))
        signing = BEHAVIORS["event_signing"]
        signature = {
            "name": "Signature",
            "in": "header",
            "required": True,
            "description": "Hex HMAC-SHA256 of the raw body",
            **_assumed(Reason(signing.reason, signing.confidence)),
            "schema": {"type": "string", "x-pattern": "^[0-9a-f]{64}$"},
        }
        secondary = {
            **signature,
            "name": "Secondary-Signature",
            "required": False,
            "description": "Signature with the other key, while keys are rotated; one of the two headers must match",
        }
        return {
            "operationId": f"receive_{kind.resource}_{kind.action}",
            "tags": ["webhooks"],
            "summary": kind.doc,
            "description": f"Source: {kind.source}.",
            "security": [],
            **_assumed(kind.assumed),
            "parameters": [signature, secondary],
            "requestBody": {"required": True, **_json(_ref(_event_name(kind)), event)},
            "responses": {"2XX": {"description": "Received"}},
        }

    def add_extra_members(self) -> None:
        """Add the members that the settings of a sandbox add to answers and events."""
        places: dict[str, Mapping[str, Any]] = dict(self.settings.get("extra_members", {}))
        for place, added in places.items():
            name, *path = place.split("/")
            cls = (
                EVENT_KINDS[name].body
                if name in EVENT_KINDS
                else OPERATIONS[name].answer
                if name in OPERATIONS
                else None
            )
            self._extend(cls, path, added, "extra_members")
        if self.settings.get("user_terms_shown"):
            self._extend(User, [], {"isTermsOfServiceAccepted": True}, "user_terms_shown")
        for added in self.settings.get("error_bodies", {}).values():
            self._add("Error", added, "error_bodies")

    def _extend(self, cls: type[Any] | None, path: list[str], added: Mapping[str, Any], assumption_id: str) -> None:
        for name in path:
            field = (
                next((row for row in members(cls) if self.converter.wire_name(cls, row) == name), None) if cls else None
            )
            cls = record_of(field.kind) if field is not None else None
        if cls is not None and cls.__name__ in self.schemas:
            self._add(cls.__name__, added, assumption_id)

    def _add(self, name: str, added: Mapping[str, Any], assumption_id: str) -> None:
        schema = self.schemas[name]
        properties = {
            member: {**_schema_of(value), **_assumed_behavior(assumption_id)}
            for member, value in added.items()
            if member not in schema["properties"]
        }
        self.schemas[name] = {**schema, "properties": {**schema["properties"], **properties}}

    def _parameter(self, cls: type[Any], field: Member, where: str) -> Schema:
        return {
            "name": self.converter.wire_name(cls, field),
            "in": where,
            "required": where == "path" or _needed(field),
            "description": field.about.doc,
            **_assumed(field.about.assumed),
            "schema": self._schema(field.kind, field, sent=True) | _otherwise(field),
            "example": self._written(example_of(cls, field)),
        }

    def _written(self, value: object) -> Any:
        """Return a value of a record in JSON form."""
        return strict_json.loads(strict_json.dumps(self.converter.unstructure(value)))

    def _success(self, operation: Operation[..., Any]) -> Schema:
        described: Schema = {"description": "Done"}
        if operation.success != 204:
            schema, answer = self._reference(operation.answer, sent=False), example(operation.answer)
            many = ({"type": "array", "items": schema}, [answer]) if operation.many else (schema, answer)
            if (
                operation.path in ("/payment-routes", "/automations")
                and self.settings.get("payment_routes") == "object"
            ):
                many = {"type": "object", "properties": {"paymentRoutes": many[0]}}, {"paymentRoutes": [answer]}
            described |= _json(many[0], self._written(many[1]))
        links = {}
        for start, to, name, source in _LINKS:
            if start == operation.name:
                taken = OPERATIONS[to].request
                wire = self.converter.wire_name(taken, member(taken, name))
                links[to] = {"operationId": to, "parameters": {wire: f"$response.body#/{source}"}}
        return described | ({"links": links} if links else {})

    def _reference(self, cls: type[Any], *, sent: bool, partial: bool = False) -> Schema:
        """Return a reference to the schema of a record. Create the schema if it is missing."""
        name = cls.__name__ + ("" if not sent else "Change" if partial else "Input")
        if name not in self.schemas:
            self.schemas[name] = self._record(cls, members(cls), sent=sent, partial=partial)
        return _ref(name)

    def _record(self, cls: type[Any], fields: Iterable[Member], *, sent: bool, partial: bool = False) -> Schema:
        """Return the schema of a record, which is strict for requests and loose for responses."""
        names = {field: self.converter.wire_name(cls, field) for field in fields}
        schema: Schema = {"type": "object"}
        if not sent:
            schema["description"] = " ".join((cls.__doc__ or "").partition("\n\n")[0].split())
        schema["properties"] = {name: self._member(field, sent) for field, name in names.items()}
        if cls is ExternalFiatAccount and sent:
            self._limit_currency(schema, "account_currency")
        if cls is Address and sent:
            schema["properties"][self.converter.wire_name(cls, member(cls, "country"))] |= _assumed_behavior(
                "address_country"
            )
        required = [name for field, name in names.items() if (_needed(field) if sent else field.about.needed)]
        if required and not partial:
            schema["required"] = required
        spelled = {field.name: name for field, name in names.items()}
        crossed = [_crossed(rule, spelled) for rule in cross_rules(cls)] if sent else []
        # If a schema has `properties` and `oneOf`, generators use only `oneOf` and lose the members.
        return {"allOf": [schema, *crossed]} if crossed else schema

    def _member(self, field: Member, sent: bool) -> Schema:
        described = {**self._schema(field.kind, field, sent), "description": field.about.doc}
        if field.about.rule.unit:
            described["x-unit"] = field.about.rule.unit
        if field.about.privacy is not Privacy.OPEN:
            described["x-privacy"] = field.about.privacy.value
        default = {f"x-{name}": value for name, value in _otherwise(field).items()}
        return described | default | _assumed(field.about.assumed)

    def _schema(self, kind: Kind, field: Member, sent: bool) -> Schema:
        rule, loose = field.about.rule, "" if sent else "x-"
        match kind:
            case walk.Nested(of=cls):
                return self._reference(cls, sent=sent, partial=field.about.partial)
            case walk.Array(of=inner):
                return {"type": "array", "items": self._schema(inner, field, sent)}
            case walk.Choice(of=enum):
                values = [str(word) for word in enum]
                if not sent:  # some generators turn a union of enum and text into an object without a value
                    return {"type": "string", "x-known-values": values}
                # As a component, an enum keeps its name in generated clients.
                self.schemas.setdefault(enum.__name__, {"type": "string", "enum": values})
                return _ref(enum.__name__)
            case walk.Integer() if sent:
                low = {} if rule.minimum is None else {"minimum": rule.minimum}
                number = {**_INTEGER, **low, "maximum": LARGEST if rule.maximum is None else rule.maximum}
                return {"anyOf": [{"type": "string", "pattern": "^0*[1-9][0-9]*$"}, number]} if kind.text else number
            case walk.Text() | walk.Date():
                form = rule.format if rule.format in _FORMATS else None
                pattern = rule.pattern or (_PATTERNS.get(rule.format or "", _NO_NUL) if sent else None)
                if form == "date":  # some tools parse the value as a date, to which no pattern can apply
                    pattern = None
                limits = {"pattern": pattern, "minLength": rule.min_length, "maxLength": rule.max_length}
                return {
                    "type": ["string", "null"] if field.about.nullable and not sent else "string",
                    **({"format": form} if form else {}),
                    **{loose + name: value for name, value in limits.items() if value is not None},
                }
        return _PLAIN[kind]


_INTEGER: Schema = {"type": "integer", "format": "int64"}
# other formats are omitted: tools disagree on `email`, and generated models write a `password` as asterisks
_FORMATS = {"uuid", "date"}
ERROR_SCHEMA: Schema = {
    "type": "object",
    "description": "Error body. Source: Errors.",
    "properties": {"statusCode": _INTEGER, "error": {"type": "string"}, "message": {"type": "string"}},
    "required": ["statusCode", "error", "message"],
}


_PLAIN: Mapping[Kind, Schema] = {
    walk.Integer(): _INTEGER,
    walk.Integer(text=True): {"type": "string"},
    walk.Boolean(): {"type": "boolean"},
    walk.DecimalNumber(text=True): {"type": "string", "x-format": "decimal"},
    walk.DecimalNumber(text=False): {"type": "number"},
    walk.Numeric(): {"type": "number"},
    walk.DateTime(): {"type": "string", "format": "date-time"},
    walk.Untyped(): {},
}


def _schema_of(value: object) -> Schema:
    """Return the schema of a value that a setting adds to an answer or event."""
    match value:
        case bool():
            return {"type": "boolean"}
        case int():
            return _INTEGER
        case float() | Decimal():
            return {"type": "number"}
        case str():
            return {"type": "string"}
    return {}


def _event_name(kind: EventKind) -> str:
    return "".join(part[0].upper() + part[1:] for part in (kind.resource, kind.action)) + "Event"


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: Schema, shown: object) -> Schema:
    return {"content": {"application/json": {"schema": schema, "example": shown}}}


def _needed(field: Member) -> bool:
    """Return whether the service refuses a request without the member. A member that accepts FULL can be omitted."""
    return (
        field.required
        and field.about.otherwise is None
        and not (isinstance(field.kind, walk.Integer) and field.kind.full)
    )


def _otherwise(field: Member) -> Schema:
    return {} if field.about.otherwise is None else {"default": field.about.otherwise}


def _assumed(reason: Reason | None) -> Schema:
    return {} if reason is None else {"x-assumed": str(reason), "x-known": str(reason.confidence)}


def _assumed_behavior(assumption_id: str) -> Schema:
    row = BEHAVIORS[assumption_id]
    return _assumed(Reason(row.reason, row.confidence))


def _failures(failures: Collection[Failure]) -> Schema:
    schema: Schema = {}
    for status in sorted({failure.status for failure in failures}):
        of_status = [failure for failure in failures if failure.status == status]
        schema[str(status)] = {
            "description": "; ".join(f"{failure.error}: {failure.when}" for failure in of_status),
            **_json(
                _ref("Error"),
                {
                    "statusCode": status,
                    "error": of_status[0].error,
                    "message": re.sub(r"\{\w+\}", "…", of_status[0].message),
                },
            ),
            **_assumed(next((failure.assumed for failure in of_status if failure.assumed), None)),
        }
    return schema


def _crossed(rule: CrossRule, spelled: Mapping[str, str]) -> Schema:
    match rule:
        case OneOf(groups=groups):
            every = [[spelled[name] for name in group] for group in groups]
            ways = []
            for group in every:
                others = [{"required": [name]} for other in every if other is not group for name in other]
                ways.append({"required": group, "not": {"anyOf": others}})
            return {"oneOf": ways} | _assumed(rule.assumed)
        case When(name=name, value=value):
            then: Schema = {}
            if rule.needs:
                then["required"] = [spelled[needed] for needed in rule.needs]
            if rule.pattern is not None:
                field, pattern, _ = rule.pattern
                then["properties"] = {spelled[field]: {"pattern": pattern}}
            condition = {"required": [spelled[name]], "properties": {spelled[name]: {"const": value}}}
            return {"if": condition, "then": then} | _assumed(rule.assumed)
