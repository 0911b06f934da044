"""The OpenAPI document is valid and complete, as strict as the checks for requests, and loose for answers."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.each import each, some
from tests.interface.test_table import RECORDS
from tests.strategies import Break, answers, breaks, broken, requests
from workbench.base.schema import strict_json
from workbench.base.schema.checks import flags, problems
from workbench.base.schema.walk import Text, build, members
from workbench.sandbox.extensions import ROWS as ROWS_BEYOND
from workbench.service.interface import table
from workbench.service.interface.assumptions import settings as settings_of
from workbench.service.interface.convert import converter, placeholders
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.examples import example, example_of
from workbench.service.interface.openapi import document
from workbench.service.interface.table import Operation

DOCUMENT = document()
ROWS = list(table.OPERATIONS.values())
WITH_BODY = [row for row in ROWS if row.method in {"POST", "PATCH"}]


def of(operation: Operation[..., Any]) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][operation.path][operation.method.lower()]
    return found


def validator(schema: dict[str, Any], *, sent: bool = True) -> jsonschema_rs.Draft202012Validator:
    """Return a schema validator. Formats are enforced for requests and ignored for answers."""
    whole = {**schema, "components": DOCUMENT["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=sent)


BODIES = {row.name: validator(of(row)["requestBody"]["content"]["application/json"]["schema"]) for row in WITH_BODY}


def schemas(value: Any, inside: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    if isinstance(value, dict):
        yield inside, value
        for name, inner in value.items():
            yield from schemas(inner, (*inside, str(name)))
    elif isinstance(value, list):
        for inner in value:
            yield from schemas(inner, inside)


@pytest.mark.slow
def test_the_document_is_valid() -> None:
    """An independent validator accepts the document, also with other wire names."""
    from openapi_spec_validator import OpenAPIV31SpecValidator  # the import takes a second, and only this test needs it

    renamed = document({"simulate_authorization.decline_reason": "declinedBecause"}, "https://example.org/v1")

    assert list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors()) == []
    assert list(OpenAPIV31SpecValidator(renamed).iter_errors()) == []
    assert "declinedBecause" in renamed["components"]["schemas"]["SimulateAuthorization"]["properties"]
    assert renamed["servers"] == [{"url": "https://example.org/v1"}]


@pytest.mark.slow
def test_what_is_served_beyond_the_interface_is_marked() -> None:
    """Additional operations of the sandbox are valid and marked as assumed."""
    from openapi_spec_validator import OpenAPIV31SpecValidator

    served = document(more=ROWS_BEYOND.values())
    added = {op["operationId"]: op for path in served["paths"].values() for op in path.values()}.items()
    beyond = {name: op for name, op in added if name not in table.OPERATIONS}

    assert list(OpenAPIV31SpecValidator(served).iter_errors()) == []
    assert set(beyond) == set(ROWS_BEYOND)
    assert all(op["x-assumed"] and op["x-known"] for op in beyond.values())


def examples() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each media type of the document with its owner: requests, answers, errors and events."""
    for top in ("paths", "webhooks"):
        for where, schema in schemas(DOCUMENT[top], (top,)):
            if where[-1:] == ("application/json",):
                yield " ".join(where[1:-2]), schema


EXAMPLES = dict(examples())


@each("name", EXAMPLES)
def test_examples_fit_their_schemas(name: str) -> None:
    """Every body has a valid example."""
    assert validator(EXAMPLES[name]["schema"]).is_valid(EXAMPLES[name]["example"])


@each("operation", ROWS, ids=lambda row: row.name)
def test_examples_keep_every_rule(operation: Operation[..., Any]) -> None:
    """Example requests have no problems, example answers no unusual members, and parameters have examples."""
    assert problems(example(operation.request)) == ()
    assert flags(example(operation.answer)) == ()
    assert all("example" in one for one in of(operation).get("parameters", ()))


def test_deliveries_carry_their_signature() -> None:
    """A webhook declares its signature header as an assumption."""
    for name in EVENT_KINDS:
        header, other = DOCUMENT["webhooks"][name]["post"]["parameters"]

        assert (header["name"], header["in"], header["x-known"]) == ("Signature", "header", "widely seen")
        assert (other["name"], other["required"]) == ("Secondary-Signature", False)


def test_the_document_is_plain_data() -> None:
    """The document survives JSON, and is deterministic."""
    assert json.loads(json.dumps(document())) == DOCUMENT
    assert (DOCUMENT["openapi"], DOCUMENT["info"]["version"]) == ("3.1.0", "1.3.0")


@each("operation", ROWS, ids=lambda row: row.name)
def test_every_operation_is_there(operation: Operation[..., Any]) -> None:
    """Each operation has its id, path parameters, success and failures."""
    made = of(operation)
    statuses = {str(operation.success), *(str(failure.status) for failure in operation.failures)}

    assert operation.name == made["operationId"]
    assert set(placeholders(operation.path)) == {p["name"] for p in made.get("parameters", ()) if p["in"] == "path"}
    assert statuses == set(made["responses"])
    assert bool(operation.assumed) is ("x-assumed" in made)
    assert sorted(operation.roles) == made.get("security", [{"ApiKey": []}])[0]["ApiKey"]


def test_every_event_is_there() -> None:
    """Each event kind is a webhook with its body."""
    assert set(EVENT_KINDS) == set(DOCUMENT["webhooks"])


SENT = {row.request.__name__ for row in ROWS}
ENUMS = {name for name, schema in DOCUMENT["components"]["schemas"].items() if "enum" in schema}
RECEIVED = [
    n for n in DOCUMENT["components"]["schemas"] if n not in SENT | ENUMS and not n.endswith(("Input", "Change"))
]


@each("name", RECEIVED)
def test_answers_are_described_loosely(name: str) -> None:
    """No pattern, length or enum restricts an answer."""
    binding = {"pattern", "enum", "maxLength", "minLength", "minimum", "maximum", "additionalProperties"}

    for where, schema in schemas(DOCUMENT["components"]["schemas"][name]):
        assert str(schema.get("$ref")).rpartition("/")[2] not in ENUMS
        if where[-1:] != ("properties",):
            assert set() == binding & set(schema), where


def test_patterns_of_answers_are_shown() -> None:
    """The expected patterns, lengths and values of answers are documented as extensions."""
    user = DOCUMENT["components"]["schemas"]["User"]["properties"]

    assert user["walletAddress"]["x-pattern"] == "^0x[0-9a-fA-F]{40}$"
    assert user["firstName"]["x-maxLength"] == 50
    assert user["applicationStatus"]["type"] == "string"
    assert len(user["applicationStatus"]["x-known-values"]) == 8
    assert user["email"]["x-privacy"] == "personal"


def test_assumptions_are_marked() -> None:
    """An assumed member has its reason and confidence, and a documented member does not."""
    body = DOCUMENT["components"]["schemas"]["SimulateAuthorization"]["properties"]
    item = DOCUMENT["components"]["schemas"]["RewardsItem"]["properties"]

    assert body["declineReason"]["x-assumed"] == "the document does not name the field that requests a decline"
    assert body["declineReason"]["x-known"] == "widely seen"
    assert "x-assumed" not in item["points"]


def test_defaults_and_optional_members() -> None:
    """Defaults are stated, and only members that the service needs are required."""
    rewards = {p["name"]: p for p in of(table.Operations.list_rewards_activity)["parameters"]}
    withdrawal = {p["name"]: p["required"] for p in of(table.Operations.sign_withdrawal)["parameters"]}

    assert (rewards["limit"]["schema"]["default"], rewards["offset"]["schema"]["default"]) == (20, 0)
    assert [n for n, needed in withdrawal.items() if needed] == ["token", "amount", "adminAddress", "recipientAddress"]
    assert "required" not in DOCUMENT["components"]["schemas"]["AddressChange"]
    assert "required" not in DOCUMENT["components"]["schemas"]["SimulateRefund"]


def test_links_lead_to_members() -> None:
    """A link names an operation, one of its parameters, and a member of the source's answer."""
    links = [
        (row, to, link) for row in ROWS for to, link in of(row)["responses"][str(row.success)].get("links", {}).items()
    ]

    assert {
        "simulate_reversal",
        "simulate_refund",
        "delete_payment_account",
        "update_user",
        "list_rewards_activity",
    } == {to for _, to, _ in links}
    for row, to, link in links:
        ((name, source),) = link["parameters"].items()
        assert name in {p["name"] for p in of(table.OPERATIONS[to])["parameters"]}
        assert source.rpartition("/")[2] in DOCUMENT["components"]["schemas"][row.answer.__name__]["properties"]


@pytest.mark.parametrize("operation", WITH_BODY, ids=lambda row: row.name)
@given(data=st.data())
def test_bodies_that_keep_every_rule_are_valid(operation: Operation[..., Any], data: st.DataObject) -> None:
    """A body that the checks accept is valid, also with unknown members."""
    _, body = converter().write_request(operation, data.draw(requests(operation, plain=False)))

    assert BODIES[operation.name].is_valid(json.loads(strict_json.dumps({**body, "brandNew": None})))


IN_BODY = [
    (row, how)
    for row in WITH_BODY
    for how in breaks(row.request)
    if how.wire not in placeholders(row.path) and how.at[0] != "new_amount"
]


@pytest.mark.slow
@pytest.mark.parametrize("operation,how", some(3, IN_BODY, start=1), ids=[f"{row.name}-{how}" for row, how in IN_BODY])
@settings(max_examples=1)
@given(data=st.data())
def test_bodies_that_break_a_rule_are_invalid(operation: Operation[..., Any], how: Break, data: st.DataObject) -> None:
    """Schema and service accept and refuse the same bodies."""
    request = build(operation.request, data.draw(broken(operation, how)))
    _, body = converter().write_request(operation, request)
    wire = json.loads(json.dumps(body))
    again, mistyped, _ = converter().read_request(operation, wire, dict.fromkeys(placeholders(operation.path), "0" * 8))
    said = [*mistyped, *(p for p in problems(again, partial=True) if p.path not in placeholders(operation.path))]

    assert (not said) is BODIES[operation.name].is_valid(wire)


@pytest.mark.parametrize("operation", WITH_BODY, ids=lambda row: row.name)
@given(data=st.data())
def test_null_is_not_a_value(operation: Operation[..., Any], data: st.DataObject) -> None:
    """Null is not valid for a member of a request."""
    _, body = converter().write_request(operation, data.draw(requests(operation)))
    if not body:
        return
    name = data.draw(st.sampled_from(sorted(body)))

    assert not BODIES[operation.name].is_valid(json.loads(strict_json.dumps({**body, name: None})))


@pytest.mark.parametrize("operation", [row for row in ROWS if row.success == 200], ids=lambda row: row.name)
@given(data=st.data())
def test_answers_that_are_whole_are_valid(operation: Operation[..., Any], data: st.DataObject) -> None:
    """An answer with its required members is valid, with any additional values and members."""
    schema = of(operation)["responses"]["200"]["content"]["application/json"]["schema"]
    answer = {**converter().unstructure(data.draw(answers(operation.answer, missing=False))), "brandNew": {"a": 1}}
    raw = [answer] if operation.many else answer

    assert validator(schema, sent=False).is_valid(json.loads(json.dumps(raw, default=float)))


def check_address(text: str) -> None:
    """Compare the schema with the checks."""
    member = DOCUMENT["components"]["schemas"]["CreateUserApplication"]["allOf"][0]["properties"]["ipAddress"]
    request = build(table.Operations.create_user_application.request, {"ip_address": text})
    wrong = any(problem.path == "ipAddress" for problem in problems(request))

    assert member["type"] == "string"
    assert wrong is not validator(member).is_valid(text)


@each("text", ["::", "1::", "1:2:3:4:5:6:7::", "::ffff:203.0.113.9", "203.0.113.9", "203.0.113", "fe80::1%eth0", "x"])
def test_ip_addresses_by_their_pattern(text: str) -> None:
    """Schema and checks accept the same IP addresses."""
    check_address(text)


@pytest.mark.slow
@given(
    st.ip_addresses().map(str)
    | st.ip_addresses(v=6).map(lambda address: address.exploded)
    | st.lists(st.sampled_from(["", "0", "ff", "192.0.2.1", "256.1.1.1", "12345", "g"]), max_size=9).map(":".join)
)
@settings(max_examples=200)
def test_any_address_by_its_pattern(text: str) -> None:
    """The pattern agrees with the standard library."""
    check_address(text)


def portable_problems(described: dict[str, Any]) -> Iterator[str]:
    """Yield constructs that client generators are known to mishandle, with their places."""
    for where, schema in schemas(described):
        at = "/".join(where)
        if where[-1:] == ("properties",) or not isinstance(schema.get("type", ""), str | list):
            continue
        pattern = schema.get("pattern", "")
        if re.search(r"\\[uUp]|\\x[89a-f]|\(\?[=!<]", pattern):
            yield f"{at}: {pattern} is not a pattern of every language"
        if set(pattern) & set("\n\r\u2028\u2029"):
            yield f"{at}: a pattern that ends a line of JavaScript"
        if "pattern" in schema and {"enum", "const"} & schema.keys() | ({"date"} & {schema.get("format")}):
            yield f"{at}: a pattern beside what says more"
        if schema.get("type") == "integer" and schema.get("format") != "int64":
            yield f"{at}: a whole number of 32 bits"
        if schema.get("format") == "decimal":
            yield f"{at}: a decimal that becomes a float"
        if "default" in schema and "properties" in where:
            yield f"{at}: a default that makes a member required"
        if [one for one in schema.get("anyOf", ()) if "$ref" in one or one.get("type") == "string"][1:]:
            yield f"{at}: two texts for one"


ADDING = {
    "user_terms_shown": True,
    "extra_members": {
        "update_user": {"tier": "gold"},
        "user.updated": {"level": 3},
        "list_contracts/tokens": {"price": 1.5},
    },
    "error_bodies": {"400": {"code": "FST_ERR_VALIDATION", "message": "x"}},
}


@pytest.mark.parametrize("added", [{}, ADDING], ids=["as documented", "with more members"])
def test_the_document_is_portable(added: dict[str, Any]) -> None:
    """The document has no construct that stops a client generator or loses a value."""
    described = document(more=ROWS_BEYOND.values(), settings=settings_of("observed") | added)

    assert list(portable_problems(described)) == []


def test_what_a_setting_adds_is_described() -> None:
    """The served document describes members that a behavior adds to answers, events and errors, as assumed."""
    plain = document(settings=settings_of("documented"))["components"]["schemas"]
    described = document(settings=settings_of("documented") | ADDING)["components"]["schemas"]
    added = {
        (name, member, schema["type"])
        for name, whole in described.items()
        for member, schema in whole.get("properties", {}).items()
        if member not in plain[name].get("properties", {})
    }

    assert added == {
        ("User", "isTermsOfServiceAccepted", "boolean"), ("User", "tier", "string"), ("UserUpdated", "level", "integer"),
        ("Token", "price", "number"), ("Error", "code", "string"),
    }  # fmt: skip
    assert all(described[name]["properties"][member]["x-assumed"] for name, member, _ in added)


@each("text", ["2000-02-29", "1900-02-29", "2024-02-29", "2023-02-29", "2023-13-01", "2023-1-1"])
def test_dates_by_their_format(text: str) -> None:
    """Schema and checks accept the same dates."""
    schema = {
        "properties": {
            "birthDate": DOCUMENT["components"]["schemas"]["UpdateUbo"]["allOf"][0]["properties"]["birthDate"]
        }
    }
    wrong = any(
        problem.path == "birthDate"
        for problem in problems(build(table.Operations.update_ubo.request, {"birth_date": text}))
    )

    assert wrong is not validator(schema).is_valid({"birthDate": text})


@each("record", RECORDS, ids=lambda record: record.__name__)
def test_every_text_has_an_example(record: type[Any]) -> None:
    """No member has the generic example `text`."""
    assert "text" not in {example_of(record, one) for one in members(record) if isinstance(one.kind, Text)}
