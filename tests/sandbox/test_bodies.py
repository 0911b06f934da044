"""Any request gets an answer in the documented format, and an invalid one changes nothing."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.sandbox.driver import PERSON, Api
from tests.strategies import JSON
from workbench.sandbox import Sandbox
from workbench.service.interface.table import OPERATIONS

AUTHORIZE = "/simulate/transactions/authorize"
ALL = Api(Sandbox())
ROUTES = [(row.method, row.path) for row in OPERATIONS.values()]


def authorization(**members):
    return {
        "cardId": ALL.card,
        "amount": 1,
        "currency": "USD",
        "merchantName": "x",
        "merchantCategoryCode": "5411",
        **members,
    }


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"nonsense", b"\xff\xfe", b"\xef\xbb\xbf{}", b"[]", b'"text"', b"1", b"null", b"true", b"NaN",
        b'{"amount":1,"amount":2}', b'{"amount":NaN}', b"[" * 100_000, b'{"amount":' + b"9" * 5_000 + b"}",
        b'{"merchantName":"\\ud800"}', b'{"merchantName":"\\u0000"}', b'{"amount":1e999999999999999999999}',
        b'{"amount":1e400}', b" ", b"{}" + b" " * 600_000,
    ],
    ids=lambda body: repr(body[:24]),
)  # fmt: skip
def test_a_body_that_cannot_be_read_is_400(api, body):
    """Invalid JSON, NaN, huge numbers, NUL, surrogates and large texts get a 400 in the documented format."""
    assert api.send("POST", AUTHORIZE, body).status == 400


@pytest.mark.parametrize("kind", ["text/plain", "", "application/x-www-form-urlencoded", "application/jsonp"])
def test_a_body_is_json_and_says_so(api, kind):
    """Another content type gets a 400."""
    assert api.send("POST", AUTHORIZE, json.dumps(authorization()).encode(), content_type=kind).status == 400


@pytest.mark.parametrize(
    "body, words",
    [
        (b"[]", "the body must be an object"),
        (b'{"amount":{}}', "amount must be a whole number of cents, not an object"),
        ('{"amount":1}'.encode("utf-16"), "the body cannot be read: UTF-16 instead of UTF-8"),
        (b'{"merchantName":"\\u0000"}', "merchantName contains a NUL character, which is not allowed"),
    ],
    ids=lambda value: repr(value[:24]),
)
def test_a_refused_body_is_described_in_words_of_json(api, body, words):
    """A refusal names the body or the member, and no type of Python."""
    assert words in api.send("POST", AUTHORIZE, body).body["message"]


@pytest.mark.parametrize("coding, status", [("gzip", 400), ("br", 400), ("Identity", 200)])
def test_a_packed_body_is_refused_by_its_header(api, coding, status):
    """A body with a Content-Encoding is refused because of this header, whatever its bytes are."""
    answer = api.send("POST", AUTHORIZE, json.dumps(authorization()).encode(), content_encoding=coding)

    assert (answer.status, "Content-Encoding" in answer.body.get("message", "")) == (status, status == 400)


@pytest.mark.parametrize("query", ["userId=%ff", "userId=%ED%A0%80", "&".join(f"a{n}=1" for n in range(101))])
def test_a_query_of_other_bytes_is_named(api, query):
    """A query that is not UTF-8, or has too many parameters, gets a 400 that says so."""
    answer = api.send("GET", "/issuing/rewards/activity", query=query)

    assert (answer.status, "must be UTF-8 with at most 100 parameters" in answer.body["message"]) == (400, True)


def test_a_charset_beside_the_content_type_does_not_matter(api):
    body = json.dumps(authorization()).encode()

    assert api.send("POST", AUTHORIZE, body, content_type="Application/JSON; charset=utf-8").status == 200


@pytest.mark.parametrize(
    "member, value",
    [
        ("amount", 0), ("amount", -1), ("amount", 10.99), ("amount", "10"), ("amount", True), ("amount", None),
        ("amount", 2**53), ("amount", 2**63), ("amount", 10**300), ("amount", []), ("amount", {}),
        ("cardId", "x"), ("cardId", 1), ("cardId", None), ("currency", "EUR"), ("currency", 840),
        ("merchantName", "\0"), ("merchantName", 1), ("merchantCategoryCode", 5411), ("declineReason", "bored"),
        ("declineReason", None), ("declineReason", ""),
    ],
)  # fmt: skip
def test_a_member_that_breaks_its_rule_is_400_and_named(api, member, value):
    """A broken rule gets a 400 whose message names the member, and moves no money."""
    before = api.sandbox.balance(api.card)

    answer = api.call("POST", AUTHORIZE, authorization(**{member: value}))

    assert answer.status == 400
    assert member in answer.body["message"]
    assert before == api.sandbox.balance(api.card)


@pytest.mark.parametrize("member", ["cardId", "amount", "currency", "merchantName", "merchantCategoryCode"])
def test_all_five_members_of_an_authorization_are_required(api, member):
    body = authorization()
    del body[member]

    assert api.call("POST", AUTHORIZE, body).status == 400


def test_unknown_members_are_ignored(api):
    """Unknown members change nothing, even with unusual values."""
    answer = api.call("POST", AUTHORIZE, authorization(surprise={"a": [1] * 9}, amountt=10**300))

    assert answer.status == 200
    assert {"transactionId", "status"} == set(answer.body)
    assert "unknown_body_members" in answer.assumed


def test_all_problems_are_reported_together(api):
    """One answer names every invalid member once."""
    message = api.call("POST", AUTHORIZE, {"amount": 0}).body["message"]

    for member in ("cardId", "amount", "currency", "merchantName", "merchantCategoryCode"):
        assert message.count(member) == 1


def test_no_message_holds_a_private_value(api):
    """The answer to an invalid application repeats none of its values."""
    answer = api.apply(nationalId="12345678x", firstName="Q" * 51, email="not an address")

    assert answer.status == 400
    for secret in ("12345678x", "QQQ", "not an address", PERSON["birthDate"]):
        assert secret not in answer.body["message"]


@pytest.mark.parametrize("query", ["a=1&a=2", "%ff", "&".join(f"a{i}=1" for i in range(200)), "userId=%00", "=", "&&&"])
def test_a_query_that_cannot_be_read_is_400(api, query):
    assert api.send("GET", "/issuing/rewards/activity", query=query).status == 400


@given(route=st.sampled_from(ROUTES), body=st.binary(max_size=200) | JSON.map(lambda v: json.dumps(v).encode()), query=st.text(max_size=40))  # fmt: skip
@example(route=("PATCH", "/issuing/users/{userId}"), body=b'{"address":{"line1":null}}', query="")
def test_nothing_escapes(route, body, query):
    """Any bytes get a documented answer."""
    method, path = route
    path = path.replace("{", "").replace("}", "")

    assert 400 <= ALL.send(method, path, body, query).status < 500 or method == "GET"


@given(
    row=st.sampled_from([row for row in OPERATIONS.values() if row.method in {"POST", "PATCH"}]),
    body=st.data(),
)
def test_nothing_escapes_from_members_either(row, body):
    """Known members with any values get a documented answer."""
    from workbench.base.schema.walk import members

    ids = {"userId": ALL.user, "companyId": ALL.guide["companies"][0]["id"]}
    path = "/".join(
        ids.get(part.strip("{}"), "00000000-0000-4000-8000-000000000000") if part.startswith("{") else part
        for part in row.path.split("/")
    )
    names = [one.wire for one in members(row.request)]
    sent = body.draw(st.dictionaries(st.sampled_from(names), JSON))

    answer = ALL.call(row.method, path, sent)

    assert answer.status in {200, 400, 404, 409}
