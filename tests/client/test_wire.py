"""One call: what is sent, what is retried, and the possible outcomes."""

import contextlib
import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.client.doubles import AUTHORIZED, CARD, PURCHASE, TRANSACTION, URL, FakeClock, Service, client_on
from tests.each import each
from workbench.base.errors import (
    AdviceWarning,
    ApiError,
    BadRequest,
    Conflict,
    Forbidden,
    InvalidArguments,
    InvalidRequest,
    NoAnswer,
    NotFound,
    NotSent,
    OutcomeUnknown,
    RateLimited,
    ResponseTooLarge,
    ServiceFailure,
    Unauthorized,
    UnexpectedAnswer,
    UnexpectedRedirect,
    UnreadableEffect,
    UsageError,
    WrongEnvironment,
)
from workbench.base.schema.rules import FULL
from workbench.client.calls.base import context_of
from workbench.client.calls.effects import Outcome
from workbench.client.calls.guards import Limits
from workbench.client.calls.journal import Journal
from workbench.service.interface.table import OPERATIONS

EVM = "0x" + "ab" * 20
FIAT = {
    "beneficiary_type": "business", "beneficiary_business_name": "Example Ltd", "currency": "usd",
    "beneficiary_address": {
        "address_line1": "1 Example Street", "city": "Springfield", "region": "IL", "postal_code": "62701",
        "country_code": "US",
    },
    "bank_name": "Example Bank", "account_number": "000123456789", "routing_number": "000000000",
}  # fmt: skip
ADDRESS = {
    "line1": "1 Example Street", "city": "Springfield", "region": "IL", "postal_code": "62701", "country_code": "US"
}  # fmt: skip
EFFECTS: dict[str, dict[str, Any]] = {
    "sign_withdrawal": {
        "chain_id": 84532, "token": EVM, "amount": "2500", "is_amount_native": False, "admin_address": EVM,
        "recipient_address": EVM,
    },
    "simulate_authorization": PURCHASE,
    "simulate_reversal": {"transaction_id": TRANSACTION, "new_amount": FULL},
    "simulate_refund": {"transaction_id": TRANSACTION, "amount": 2500},
    "create_payment_account": {"type": "externalFiatAccount", "user_id": CARD, "external_fiat_account": FIAT},
    "delete_payment_account": {"payment_account_id": CARD},
    "update_user": {"user_id": CARD, "first_name": "Grace"},
    "update_ubo": {"company_id": CARD, "ubo_id": CARD, "first_name": "Grace"},
    "update_dispute": {"dispute_id": CARD, "status": "canceled"},
    "create_user_application": {
        "persona_share_token": "token", "ip_address": "203.0.113.5", "occupation": "Engineer",
        "annual_salary": "100000", "account_purpose": "Everyday", "expected_monthly_volume": "1000",
        "external_id": "customer-77",
    },
}  # fmt: skip
READS: dict[str, dict[str, Any]] = {"list_contracts": {}, "list_rewards_activity": {"user_id": CARD}}
FIVE = (500, 501, 502, 503, 504, 507, 520, 599)

each_effect = each("name", EFFECTS)
each_read = each("name", READS)


def call(client: Any, name: str) -> Any:
    return getattr(client, name)(**{**EFFECTS, **READS}[name])


def test_cases_are_the_table() -> None:
    """Every operation with an effect, and every read, is among the cases."""
    assert {name for name, row in OPERATIONS.items() if row.effect} == set(EFFECTS)
    assert {name for name, row in OPERATIONS.items() if not row.effect} == set(READS)


# requests


def test_full_amount_is_left_out_and_zero_is_sent() -> None:
    """FULL omits the amount, and zero is sent as zero."""
    service = Service(AUTHORIZED)
    client = client_on(service)
    client.simulate_refund(transaction_id=TRANSACTION, amount=FULL)
    client.simulate_refund(transaction_id=TRANSACTION, amount=0)

    assert [request.content for request in service.requests] == [b"{}", b'{"amount":0}']


def test_absent_members_are_not_sent() -> None:
    """None is never sent, neither in a body nor in a query. Booleans in a query are words."""
    service = Service({"status": "pending"})
    client_on(service).sign_withdrawal(
        token=EVM, amount="1", is_amount_native=True, admin_address=EVM, recipient_address=EVM, chain_id=None
    )
    (request,) = service.requests

    assert "chainId" not in str(request.url)
    assert "isAmountNative=true" in str(request.url)
    assert request.headers["cache-control"] == "no-store"


@given(text=st.text(min_size=1, max_size=40).filter(lambda t: t.isprintable()))
def test_text_arrives_as_given(text: str) -> None:
    """Text arrives unchanged, and an absent member never becomes text."""
    service = Service({"id": CARD})
    client_on(service).allowing(unusual_text=True, masked_value=True).update_user(
        user_id=CARD, first_name=text, last_name=None
    )
    body = json.loads(service.requests[0].content)

    assert {"firstName": text} == body


@each(
    "odd",
    ["../../x", "..", ".", "", "a/b", "a?x=1", "a#f", "%2e%2e", "a\\b", "x" * 10_000, CARD + "\n", f"{{{CARD}}}",
     f"urn:uuid:{CARD}", CARD.replace("-", ""), f" {CARD}", f"{CARD}/", "//evil.example", "https://evil.example/",
     CARD[:-1], f"{CARD}0", "٣f2a0b1c-0000-4000-8000-000000000001", None, 7, True, b"x", ["x"], CARD + "\0"],
    ids=map(str, range(27)),
)  # fmt: skip
@each("check", [True, False])
def test_invalid_ids_never_meet_a_path(odd: Any, check: bool) -> None:
    """An id that is not a UUID is never sent, with or without checks."""
    service = Service(AUTHORIZED)
    with pytest.raises(InvalidRequest, match="payment_account_id"):
        client_on(service, check=check).delete_payment_account(payment_account_id=odd)

    assert service.count == 0


@each("amount", [10.99, "10.99", True, 1e22, float("nan"), "١٠", "1_000", None, 0, -1], ids=repr)
def test_only_whole_cents_leave(amount: Any) -> None:
    """An amount that is not a whole number of at least one cent is refused before sending."""
    service = Service(AUTHORIZED)
    with pytest.raises(InvalidRequest, match="amount"):
        client_on(service).simulate_authorization(**{**PURCHASE, "amount": amount})

    assert service.count == 0


@given(amount=st.integers(min_value=1, max_value=2**64))
def test_whole_numbers_arrive_exactly(amount: int) -> None:
    """Whole numbers keep all digits, even beyond the precision of a float."""
    service = Service(AUTHORIZED)
    client_on(service).simulate_authorization(**{**PURCHASE, "amount": amount})

    assert f'"amount":{amount},'.encode() in service.requests[0].content


def test_numbers_of_numpy_are_taken() -> None:
    """NumPy integers are accepted as whole numbers."""
    numpy = pytest.importorskip("numpy")
    service = Service(AUTHORIZED)
    client_on(service).simulate_authorization(**{**PURCHASE, "amount": numpy.int64(1250)})

    assert b'"amount":1250,' in service.requests[0].content


def test_all_problems_are_reported_together() -> None:
    """One error lists an unknown name, a missing argument and a wrong value."""
    service = Service(AUTHORIZED)
    with pytest.raises(InvalidArguments) as caught:
        client_on(service).simulate_authorization(
            card_id="x", amount=1.5, curency="USD", merchant_name="A", merchant_category_code="5411"
        )

    assert {"curency", "cardId", "amount", "currency"} == {problem.path for problem in caught.value.problems}
    assert "did you mean currency?" in str(caught.value)
    assert isinstance(caught.value, TypeError)
    assert service.count == 0


def test_a_wire_name_is_reported_once() -> None:
    """A wire name as argument is reported with the attribute name, and not as missing as well."""
    account = {"beneficiaryType": "individual", "accountNumber": "000123456"}
    with pytest.raises(InvalidArguments) as caught:
        client_on(Service({})).create_payment_account(
            type="externalFiatAccount", user_id=CARD, external_fiat_account=account
        )

    told = [problem for problem in caught.value.problems if "ype" in problem.path or "ccountNumber" in problem.path]
    assert ["did you mean beneficiary_type?", "did you mean account_number?"] == [
        problem.message.rpartition("; ")[2].partition(" (")[0] for problem in told
    ]


def test_unknown_names_of_nested_members_are_reported() -> None:
    """An unknown name in a nested record is refused with its path."""
    with pytest.raises(InvalidArguments, match=r"address\.zip"):
        client_on(Service({})).update_user(user_id=CARD, address={**ADDRESS, "zip": "1"})


def test_partial_address_is_allowed_on_a_view() -> None:
    """A partial address is sent only by a view that allows it. The client itself stays strict."""
    service = Service({"id": CARD})
    client = client_on(service)
    client.allowing(partial_address=True).update_user(user_id=CARD, address={"city": "Springfield"})
    with pytest.raises(InvalidRequest, match=r"address\.line1"):
        client.update_user(user_id=CARD, address={"city": "Springfield"})

    assert service.count == 1


@pytest.mark.parametrize(
    "text, allowance", [("•••••6789", "masked_value"), ("a\u202eb", "unusual_text"), ("a\u200bb", "unusual_text")]
)
def test_masked_and_hidden_texts_need_a_word(text: str, allowance: str) -> None:
    """Masked values and invisible characters are sent only if allowed."""
    service = Service({"id": CARD})
    client = client_on(service)
    with pytest.raises(InvalidRequest, match=allowance):
        client.update_user(user_id=CARD, first_name=text)
    client.allowing(**{allowance: True}).update_user(user_id=CARD, first_name=text)

    assert service.count == 1


@pytest.mark.parametrize("text", ["\ud800", "a\0b"])
def test_what_cannot_be_sent_is_refused(text: str) -> None:
    """Half of a surrogate pair and NUL are refused, with or without checks."""
    for check in (True, False):
        with pytest.raises(InvalidRequest):
            client_on(Service({}), check=check).allowing(unusual_text=True).update_user(user_id=CARD, first_name=text)


def test_checks_can_be_switched_off() -> None:
    """Without checks an invalid request is sent unchanged, to see the service's response."""
    service = Service(httpx.Response(400, json={"statusCode": 400, "error": "BadRequestError", "message": "no"}))
    with pytest.raises(ApiError, match="refused with 400"):
        client_on(service, check=False).simulate_authorization(**{**PURCHASE, "amount": 0, "merchant_name": None})

    assert json.loads(service.requests[0].content)["amount"] == 0


def test_wire_names_of_a_profile() -> None:
    """A profile can change an assumed wire name, in requests and answers."""
    service = Service({"id": CARD, "status": "authorized"})
    client = client_on(
        service,
        wire_names={
            "simulate_authorization.decline_reason": "declinedReason", "simulated_transaction.transaction_id": "id"
        },
    )  # fmt: skip
    answer = client.simulate_authorization(**PURCHASE, decline_reason="card_locked")

    assert b'"declinedReason":"card_locked"' in service.requests[0].content
    assert answer.transaction_id == CARD


def test_a_number_that_cannot_be_written_is_named() -> None:
    """A number with more digits than Python writes is refused by its member's name."""
    service = Service(AUTHORIZED)
    with pytest.raises(InvalidRequest, match="amount is too large"):
        client_on(service).simulate_authorization(**{**PURCHASE, "amount": 10**5000})

    assert service.count == 0


@pytest.mark.parametrize(
    "answer, words", [(b"null", "it is null"), (b"{}", "unexpected structure: the answer must be a list")]
)
def test_an_answer_other_than_a_list_is_described(answer: bytes, words: str) -> None:
    with pytest.raises(UnexpectedAnswer, match=words):
        client_on(lambda request: httpx.Response(200, content=answer)).list_contracts()


def test_a_redirect_to_nowhere_has_no_address() -> None:
    with pytest.raises(UnexpectedRedirect, match="points to no address"):
        client_on(Service(304)).list_contracts()


def test_a_record_is_sent_as_it_is() -> None:
    """`send` sends a request record like the call with the same arguments."""
    service = Service({**AUTHORIZED, "id": CARD})
    client_on(service).send(OPERATIONS["simulate_authorization"].request(**PURCHASE))
    client_on(service).send(OPERATIONS["create_payment_account"].request(**EFFECTS["create_payment_account"]))
    with pytest.raises(InvalidArguments, match="not a dict"):
        client_on(service).send({})

    assert service.count == 2


# answers


@each_effect
@each("status", [200, 201, 202, 203, 206, 299])
def test_any_success_is_one(name: str, status: int) -> None:
    """An answer with any 2xx status is read."""
    answer = call(client_on(Service(httpx.Response(status, json={"id": CARD, "status": "x"}))), name)

    assert type(answer) is OPERATIONS[name].answer


@each_effect
@each("status", [200, 202, 204, 205])
def test_success_without_body(name: str, status: int) -> None:
    """Any success without a body gives an empty record, not an error."""
    client = client_on(Service(status))

    assert type(call(client, name)) is OPERATIONS[name].answer
    assert [entry.outcome for entry in client.journal] == [Outcome.DONE]


UNREADABLE = {
    "empty": b"", "blank": b"  \n", "html": b"<html>ok</html>", "cut": b'{"id": "3f2a', "list": b"[]", "null": b"null",
    "text": b'"done"', "number": b"7", "twice": b'{"id":"a","id":"b"}', "nan": b'{"id":NaN}', "bom": b'\xef\xbb\xbf{',
    "utf16": '{"id":"a"}'.encode("utf-16"), "deep": b"[" * 100_000, "digits": b'{"id":' + b"9" * 5000 + b"}",
    "latin": b'{"id":"\xe9"}', "type": b'{"id":7,"status":7}', "two": b"{}{}",
}  # fmt: skip


def _readable(name: str, kind: str) -> bool:
    # An empty body is a valid answer. The client ignores the members of the answer to a deletion, so a wrong type is
    # not an error.
    return kind in {"empty", "blank"} or (kind == "type" and name == "delete_payment_account")


@each(
    "name, body",
    [
        pytest.param(name, body, id=f"{name}-{kind}")
        for name in EFFECTS
        for kind, body in UNREADABLE.items()
        if not _readable(name, kind)
    ],
)
def test_unreadable_success_is_done(name: str, body: bytes) -> None:
    """A 2xx with an unreadable body counts as done, and is not sent again."""
    service = Service(httpx.Response(200, content=body))
    client = client_on(service)
    with pytest.raises(UnexpectedAnswer, match="accepted \\(200\\), but the answer could not be read"):
        call(client, name)

    assert service.count == 1
    assert [entry.outcome for entry in client.journal] == [Outcome.DONE]


def test_text_cut_inside_a_character_is_read() -> None:
    """Half of a surrogate pair gets a mark, and a byte order mark is ignored. The other rows are read."""
    rows = b'{"items": [{"id": "1", "merchantName": "Caf\\ud83c"}, {"id": "2", "merchantName": "x"}]}'
    client = client_on(Service(httpx.Response(200, content=b"\xef\xbb\xbf" + rows)))
    cut, whole = client.list_rewards_activity(user_id=CARD).items

    assert (cut.merchant_name, whole.merchant_name) == ("Caf\ufffd", "x")
    assert [mark.path for mark in cut.marks] == ["merchantName"]
    assert whole.marks == ()


@pytest.mark.parametrize("body", [{}, {"items": None}, {"items": {}}, {"items": "x"}])
def test_a_page_without_items_is_not_empty(body: dict[str, Any]) -> None:
    """A page of rewards without `items` is unreadable, not empty."""
    with pytest.raises(UnexpectedAnswer, match="items"):
        client_on(Service(body)).list_rewards_activity(user_id=CARD)


def test_answers_may_have_more_and_less() -> None:
    """Unknown members and values are preserved, and missing members are None. A notice appears once."""
    service = Service({"id": CARD, "applicationStatus": "brandNew", "newMember": {"a": 1}})
    client = client_on(service)
    user = client.update_user(user_id=CARD, first_name="Grace")
    client.update_user(user_id=CARD, first_name="Ada")

    assert user.application_status == "brandNew"
    assert user.extra["newMember"] == {"a": 1}
    assert user.email is None
    assert len(client.notices) == 1


BODIES: dict[str, Any] = {
    "documented": (b'{"statusCode":404,"error":"NotFoundError","message":"Team not found"}', "Team not found"),
    "code": (
        b'{"statusCode":400,"code":"FST_ERR_VALIDATION","error":"Bad Request","message":"body/status"}',
        "body/status",
    ),
    "msg": (b'{"msg":"Too many requests"}', "Too many requests"),
    "correlation": (b'{"message":"Internal","correlationId":"77"}', "Internal"),
    "several": (b'{"message":["firstName is missing","email is missing"]}', "firstName is missing; email is missing"),
    "empty": (b"", "no error message"),
    "text": (b"nothing here", "nothing here"),
    "html": (b"<html><body>secret stack</body></html>", "an HTML page"),
    "list": (b"[1]", "no error message"),
    "null": (b"null", "no error message"),
    "numbers": (b'{"statusCode":"x","error":7,"message":{"a":1}}', "no error message"),
    "binary": (b"\xff\xfe\x00", "\\x00"),
    "escape": (b'{"message":"\\u001b[31mred\\u202e"}', "\\x1b[31mred\\u202e"),
    "deep": (b"[" * 200_000, ""),
}


@each("body, words", BODIES.values(), ids=BODIES)
@each("status", [400, 401, 402, 403, 404, 405, 409, 410, 413, 415, 418, 422, 429, 451])
def test_refusals_of_any_form(status: int, body: bytes, words: str) -> None:
    """A refusal is classified by its status, whatever its body is. Its text is shown escaped."""
    service = Service(httpx.Response(status, content=body))
    client = client_on(service)
    with pytest.raises(ApiError) as caught:
        client.simulate_authorization(**PURCHASE)

    assert words in str(caught.value)
    assert (status, 1) == (caught.value.status, service.count)
    assert type(caught.value) is ApiError.of(status)
    assert [entry.outcome for entry in client.journal] == [Outcome.REFUSED]


@pytest.mark.parametrize(
    "body, error, message",
    [
        ({"error": "NotFoundError", "message": "Team not found"}, "NotFoundError", "Team not found"),
        ({"error": "Bad Request", "code": "FST_ERR_VALIDATION", "message": "x"}, "Bad Request", "x"),
        ({"code": "FST_ERR_VALIDATION", "msg": "y"}, "FST_ERR_VALIDATION", "y"),
        ({"message": "a", "msg": "b"}, None, "a"),
        ({}, None, None),
    ],
    ids=map(str, range(5)),
)
def test_words_of_a_refusal(body: dict[str, str], error: str | None, message: str | None) -> None:
    """Error and message come from the members that contain them, the documented members first."""
    with pytest.raises(BadRequest) as caught:
        client_on(Service(httpx.Response(400, json=body))).update_user(user_id=CARD, first_name="A")

    assert (caught.value.error, caught.value.message, caught.value.body) == (error, message, body)


@pytest.mark.parametrize("body", [b"null", b"{}", b"7", b'"x"'])
def test_no_list_is_not_an_empty_one(body: bytes) -> None:
    """If a list is expected, any other body is unreadable, not an empty list."""
    with pytest.raises(UnexpectedAnswer):
        client_on(Service(httpx.Response(200, content=body))).list_contracts()


def test_a_first_conflict_is_nobodys_resend() -> None:
    """A conflict on a first attempt does not mention an earlier attempt."""
    with pytest.raises(Conflict) as caught:
        call(client_on(Service(409)), "create_user_application")

    assert "earlier attempt" not in str(caught.value)


def test_long_refusals_are_cut() -> None:
    """A message of a megabyte is truncated."""
    body = json.dumps({"message": "x" * 1_000_000}).encode()
    with pytest.raises(ApiError) as caught:
        client_on(Service(httpx.Response(400, content=body))).update_user(user_id=CARD, first_name="A")

    assert len(str(caught.value)) < 1000


@given(body=st.binary(max_size=200), status=st.integers(200, 599))
def test_any_body_ends_in_an_error_of_ours(body: bytes, status: int) -> None:
    """Any response gives an answer or an error of this package, and the outcome done, refused or unknown."""
    client = client_on(Service(httpx.Response(status, content=body)))
    ours = (ApiError, OutcomeUnknown, UnexpectedAnswer, UnexpectedRedirect)
    with contextlib.suppress(*ours):
        client.update_dispute(dispute_id=CARD, status="canceled")
    (entry,) = client.journal

    assert entry.outcome in {Outcome.DONE, Outcome.REFUSED, Outcome.UNKNOWN}


def test_a_reason_in_the_services_own_words_stands_alone() -> None:
    """A 403 that names the refused address does not suggest a missing role as well."""
    answer = httpx.Response(403, json={"error": "ForbiddenError", "message": f"{EVM} is not an admin of the contract"})
    with pytest.raises(Forbidden) as caught:
        call(client_on(Service(answer)), "sign_withdrawal")

    assert str(caught.value).endswith("is not an admin of the contract")


def test_roles_are_named_where_they_are_known() -> None:
    """A 403 names the role that the document states for the operation, and a 401 refers to the key."""
    forbidden = Service(httpx.Response(403, json={"error": "ForbiddenError", "message": "Forbidden"}))
    with pytest.raises(Forbidden, match=r"contractsAndSignatures:write \(read is not enough\)"):
        call(client_on(forbidden), "sign_withdrawal")
    with pytest.raises(Forbidden, match="rewards:read"):
        call(client_on(forbidden), "list_rewards_activity")
    with pytest.raises(Unauthorized, match="Check the key"):
        call(client_on(Service(401)), "list_contracts")

    assert forbidden.count == 2


def test_missing_simulation_has_two_readings() -> None:
    """A 404 for a simulation mentions both possible causes, production and an unknown id."""
    with pytest.raises(NotFound, match=r"card or transaction does not exist here, or .* is a production base URL"):
        client_on(Service(404)).simulate_authorization(**PURCHASE)


@pytest.mark.parametrize("name", [name for name, row in OPERATIONS.items() if row.sandbox_only])
def test_simulations_never_reach_production(name: str) -> None:
    """In production a simulation is refused before any connection."""
    service = Service(AUTHORIZED)
    with pytest.raises(WrongEnvironment, match="exists only in sandboxes"):
        call(client_on(service, environment="production", journal=Journal()), name)

    assert service.count == 0


# redirects, sizes, and warnings about answers


@each("status", [301, 302, 303, 307, 308])
@each("target", ["https://user@evil.example/x?k=1", "http://api.example.com/v1", "/elsewhere", ""])
@each("name", ["list_contracts", "update_user"])
def test_redirects_are_never_followed(status: int, target: str, name: str) -> None:
    """A redirect ends the call after one request, and the error names only the host."""
    service = Service(httpx.Response(status, headers={"location": target}))
    with pytest.raises(UnexpectedRedirect) as caught:
        call(client_on(service), name)

    assert service.count == 1
    assert "user@" not in str(caught.value)
    assert "?k=1" not in str(caught.value)
    assert isinstance(caught.value, OutcomeUnknown) == (name == "update_user")


def test_deprecation_is_reported_once() -> None:
    """Deprecation and Sunset headers are reported once each, and injected faults are noted."""
    headers = {"Deprecation": "true", "Sunset": "Wed, 11 Nov 2026 11:11:11 GMT", "Workbench-Fault": "latency"}
    client = client_on(Service(httpx.Response(200, json=[], headers=headers)))
    with pytest.warns(AdviceWarning) as told:
        client.list_contracts()
    client.list_contracts()

    assert len(told) == 2
    assert len(client.notices) == 3


def test_clock_skew_is_read_from_the_service() -> None:
    """The newest Date header gives the skew of this machine's clock."""
    client = client_on(Service(httpx.Response(200, json=[], headers={"date": "Sun, 01 Mar 2026 13:53:11 GMT"})))
    assert context_of(client).clock_skew is None
    client.list_contracts()

    assert context_of(client).clock_skew == 9 * 60


def test_large_answers_are_not_read_to_their_end() -> None:
    """An answer beyond ten megabytes ends the call. After a success the effect is done."""
    service = Service(httpx.Response(200, content=b"[" + b" " * 10_000_001))
    with pytest.raises(ResponseTooLarge):
        client_on(service).list_contracts()
    client = client_on(service)
    with pytest.raises(UnreadableEffect, match="larger than 10 MB"):
        client.update_user(user_id=CARD, first_name="A")

    assert [entry.outcome for entry in client.journal] == [Outcome.DONE]
    assert service.count == 2


@pytest.mark.parametrize(
    "text, message",
    [("upstream connect error", "upstream connect error"), ("Zeit überschritten", "Zeit überschritten"),
     ("no route to 10.0.0.7 for ada@example.com", "no route to ••• for •••"), ("<html>x</html>", "an HTML page"), ("", None)],
)  # fmt: skip
def test_the_text_of_a_server_error_is_kept(text: str, message: str | None) -> None:
    """A proxy's plain text about a call with an effect is in error and journal, without private values."""
    client = client_on(Service(httpx.Response(502, text=text)))
    with pytest.raises(OutcomeUnknown) as caught:
        client.simulate_authorization(**PURCHASE)
    (entry,) = client.journal

    assert (caught.value.status, caught.value.message) == (502, message)
    assert (message or "answered with 502") in str(entry.error)
    assert (message or "answered with 502") in str(caught.value)


# retries


@each_read
@each(
    "failure",
    [httpx.ConnectError("x"), httpx.ConnectTimeout("x"), httpx.PoolTimeout("x"), httpx.ReadTimeout("x"),
     httpx.ReadError("x"), httpx.WriteError("x"), httpx.RemoteProtocolError("x"), 500, 502, 503, 504, 408],
    ids=repr,
)  # fmt: skip
def test_reads_are_tried_three_times(name: str, failure: Any) -> None:
    """A read succeeds on its third attempt. The pauses double, with jitter."""
    good = [] if name == "list_contracts" else {"items": []}
    service = Service(failure, failure, good)
    clock = FakeClock()
    call(client_on(service, clock=clock), name)

    assert clock.slept == [0.5, 1.0]
    assert service.count == 3


@each_read
@pytest.mark.parametrize("failure", [httpx.ReadTimeout("x"), httpx.RemoteProtocolError("x")], ids=repr)
def test_reads_give_up(name: str, failure: Any) -> None:
    """After three attempts a read raises NoAnswer."""
    service = Service(failure)
    with pytest.raises(NoAnswer, match="tried 3 times"):
        call(client_on(service), name)

    assert service.count == 3


def test_failing_reads_end_as_failures_of_the_service() -> None:
    """A read that is answered with 5xx three times raises ServiceFailure."""
    service = Service(503)
    with pytest.raises(ServiceFailure):
        client_on(service).list_contracts()

    assert service.count == 3


@each_effect
@each("status", [500, 503])
def test_what_a_failing_service_says_is_kept(name: str, status: int) -> None:
    """For an unknown outcome, error, message and correlation id of the 5xx are in exception and journal."""
    said = {"error": "InternalServerError", "message": ["Internal", "server\x1b error"], "correlationId": "c-77"}
    client = client_on(Service(httpx.Response(status, json=said)))
    with pytest.raises(
        OutcomeUnknown, match=r"InternalServerError: Internal; server\\x1b error; correlation id c-77"
    ) as caught:
        call(client, name)
    (entry,) = client.journal
    error = caught.value

    assert (error.status, error.error, error.message) == (status, "InternalServerError", "Internal; server\x1b error")
    assert error.correlation_id == "c-77"
    assert entry.status == status
    assert (
        entry.error == f"answered with {status} (InternalServerError: Internal; server\\x1b error; correlation id c-77)"
    )


def test_a_refusal_keeps_its_correlation_id() -> None:
    """The correlation id is in the exception and, for a call with an effect, in the journal."""
    body = {"error": "BadRequestError", "message": "no", "correlationId": "c-78"}
    client = client_on(Service(httpx.Response(400, json=body)))
    with pytest.raises(BadRequest) as caught:
        client.simulate_authorization(**PURCHASE)

    assert caught.value.correlation_id == "c-78"
    assert client.journal.list()[0].error == "BadRequestError: no; correlation id c-78"


@each_effect
@each("failure", [httpx.ConnectError("x"), httpx.ConnectTimeout("x"), httpx.PoolTimeout("x")], ids=repr)
def test_what_never_left_may_be_sent_again(name: str, failure: Any) -> None:
    """A call that provably was not sent is tried three times, and then recorded as not sent."""
    service = Service(failure)
    client = client_on(service)
    with pytest.raises(NotSent, match="never left this machine") as caught:
        call(client, name)

    assert service.count == 3
    assert isinstance(caught.value.__cause__, httpx.HTTPError)
    assert [entry.outcome for entry in client.journal] == [Outcome.NOT_SENT]
    assert client.journal.unknown() == []


@each_effect
@each(
    "failure",
    [httpx.ReadTimeout("x"), httpx.WriteTimeout("x"), httpx.ReadError("x"), httpx.WriteError("x"),
     httpx.CloseError("x"), httpx.RemoteProtocolError("x"), 408, *FIVE],
    ids=repr,
)  # fmt: skip
def test_what_may_have_happened_is_never_sent_again(name: str, failure: Any) -> None:
    """A call with an effect whose answer is lost is sent once. The error says what to do."""
    service = Service(failure)
    client = client_on(service)
    with pytest.raises(OutcomeUnknown) as caught:
        call(client, name)
    (entry,) = client.journal.unknown()

    assert service.count == 1
    assert caught.value.attempt.id == entry.id
    text = str(caught.value)
    for words in (
        "14:02:11",
        "may have been carried out",
        "was not sent again",
        "journal.resolve",
        entry.what,
        entry.next_step,
    ):
        assert words in text
    assert "ada@" not in text


@each_effect
@each("interrupt", [KeyboardInterrupt, SystemExit, MemoryError], ids=lambda kind: kind.__name__)
def test_interrupts_in_flight_are_recorded(name: str, interrupt: type[BaseException]) -> None:
    """An interrupt while a call is in flight propagates, and the outcome is recorded as unknown."""
    client = client_on(Service(interrupt()))
    with pytest.raises(interrupt) as caught:
        call(client, name)

    assert len(client.journal.unknown()) == 1
    assert "may have been carried out" in caught.value.__notes__[0]


@pytest.mark.slow
def test_an_outage_is_not_made_worse() -> None:
    """In an outage of 1,000 calls the shared budget allows only 100 retries."""
    service = Service(httpx.ConnectError("x"))
    client = client_on(service)
    for _ in range(1000):
        with pytest.raises(NotSent):
            client.list_contracts()

    assert service.count == 1000 + 100


def test_an_exhausted_budget_is_reported() -> None:
    """If the retry budget is used up, the error says so."""
    client = client_on(Service(httpx.ConnectError("x")))
    context_of(client).budget.left = 7
    with pytest.raises(NotSent):
        client.list_contracts()
    with pytest.raises(NotSent, match="Too many calls failed"):
        client.list_contracts()


def test_an_idempotency_header_is_sent_where_a_profile_names_one() -> None:
    """The header contains the call's journal id, equal in retries. By default no header is sent."""
    service = Service(httpx.ConnectError("x"), AUTHORIZED)
    client = client_on(service, idempotency_header="Idempotency-Key")
    client.simulate_authorization(**PURCHASE)
    (entry,) = client.journal

    assert [request.headers["idempotency-key"] for request in service.requests] == [entry.id, entry.id]
    client_on(service).simulate_authorization(**PURCHASE)
    assert "idempotency-key" not in service.requests[-1].headers


def test_the_budget_is_earned_back() -> None:
    """Successful calls refill the retry budget."""
    client = client_on(Service(*[httpx.ConnectError("x")] * 90, []))
    for _ in range(30):
        with pytest.raises(NotSent):
            client.list_contracts()
    spent = context_of(client).budget.left
    for _ in range(50):
        client.list_contracts()

    assert (spent, context_of(client).budget.left) == (200, 250)


def test_a_call_ends_at_its_deadline() -> None:
    """No retry begins that would end after the call's deadline."""
    clock = FakeClock()

    def slow(_: httpx.Request) -> httpx.Response:
        clock.at += 20
        raise httpx.ReadTimeout("x")

    service = Service(slow)
    with pytest.raises(NoAnswer, match="tried twice"):
        client_on(service, clock=clock).list_contracts()


# 429


def _limited(value: str | None, status: int = 429) -> httpx.Response:
    return httpx.Response(status, headers={} if value is None else {"retry-after": value}, json={"msg": "slow down"})


ASKED_AGAIN = [408, 425, 429, 500, 502, 503, 504]


@each("status", ASKED_AGAIN)
@each("value, waited", [("3", 3.0), ("0.5", 0.5), ("12", 12.0), ("Sun, 01 Mar 2026 14:02:16 GMT", 5.0)])
def test_reads_wait_as_asked(value: str, waited: float, status: int) -> None:
    """A read waits for Retry-After, in seconds or as a date, with any status."""
    clock = FakeClock()
    service = Service(_limited(value, status), [])
    client_on(service, clock=clock).list_contracts()

    assert [waited] == clock.slept
    assert service.count == 2


@each("status", ASKED_AGAIN)
@each(
    "value",
    [None, "0", "0.0", "-5", "soon", "1;x", "3, 4", "", "9" * 80, "Sun, 01 Mar 1990 00:00:00 GMT", "nan", "inf", "1e9"],
)
def test_a_useless_pause_is_as_none(value: str | None, status: int) -> None:
    """An unreadable Retry-After, or one not above zero, counts as missing, and the read is retried later."""
    clock = FakeClock()
    service = Service(_limited(value, status), [])
    client_on(service, clock=clock).list_contracts()

    assert (service.count, len(clock.slept)) == (2, 1)


@each("status", ASKED_AGAIN)
@each("value", ["61", "120", "999999999"])
def test_a_pause_that_is_too_long_is_reported(value: str, status: int) -> None:
    """A Retry-After that is too long ends the read immediately."""
    clock = FakeClock()
    service = Service(_limited(value, status))
    with pytest.raises(ApiError):
        client_on(service, clock=clock).list_contracts()

    assert (service.count, clock.slept) == (1, [])


@pytest.mark.parametrize("status", [429, 503])
def test_a_pause_after_an_effect_holds_for_all(status: int) -> None:
    """The next call waits for Retry-After. The call with an effect is not sent again."""
    clock = FakeClock()
    service = Service(_limited("7", status), [])
    client = client_on(service, clock=clock)
    with pytest.raises((RateLimited, OutcomeUnknown)):
        client.simulate_authorization(**PURCHASE)
    client.list_contracts()

    assert clock.slept == [7.0]


def test_too_early_is_a_refusal_of_an_effect() -> None:
    """425 means that nothing was carried out. The caller decides about another attempt."""
    client = client_on(Service(_limited(None, 425)))
    with pytest.raises(ApiError):
        client.simulate_authorization(**PURCHASE)

    assert [entry.outcome for entry in client.journal] == [Outcome.REFUSED]


@given(value=st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=30))
def test_any_pause_header(value: str) -> None:
    """With any Retry-After the call ends, after at most the allowed pauses."""
    clock = FakeClock()
    service = Service(_limited(value))
    with pytest.raises(RateLimited):
        client_on(service, clock=clock, timeout=100).list_contracts()

    assert service.count <= 3
    assert sum(clock.slept) <= 120


@each_effect
def test_limited_effects_wait_for_their_caller(name: str) -> None:
    """After a 429 nothing was carried out, and a call with an effect is sent again only if allowed."""
    service = Service(_limited("2"))
    client = client_on(service)
    with pytest.raises(RateLimited) as caught:
        call(client, name)

    assert (service.count, caught.value.retry_after) == (1, 2.0)
    assert [entry.outcome for entry in client.journal] == [Outcome.REFUSED]


def test_limited_effects_are_sent_again_where_allowed() -> None:
    """A view with `resend` waits as the service asks, and sends the call again."""
    clock = FakeClock()
    service = Service(_limited("2"), AUTHORIZED)
    client = client_on(service, clock=clock)
    client.allowing(resend=True).simulate_authorization(**PURCHASE)

    assert clock.slept == [2.0]
    assert [entry.outcome for entry in client.journal] == [Outcome.DONE]


def test_a_pause_holds_for_every_call() -> None:
    """A pause that one call was asked for delays the next call too."""
    clock = FakeClock()
    service = Service(_limited("7"), AUTHORIZED)
    client = client_on(service, clock=clock)
    with pytest.raises(RateLimited):
        client.simulate_authorization(**PURCHASE)
    client.simulate_authorization(**PURCHASE)

    assert clock.slept == [7.0]


def test_a_pause_beyond_the_deadline_is_reported() -> None:
    """A pause beyond the call's deadline is reported immediately."""
    clock = FakeClock()
    with pytest.raises(RateLimited, match="Try again after 50 s"):
        client_on(Service(_limited("50")), clock=clock).list_contracts()

    assert clock.slept == []


def test_rates_are_kept() -> None:
    """At two reads per second, ten reads take about four seconds after an initial burst of one second."""
    clock = FakeClock()
    client = client_on(Service([]), clock=clock, limits=Limits(reads_per_second=2))
    for _ in range(10):
        client.list_contracts()

    assert 3.5 <= clock.at - 1000 <= 4.5


def test_conflicts_are_never_retried() -> None:
    """A 409 is a refusal, and is not retried."""
    service = Service(httpx.Response(409, content=b""))
    with pytest.raises(Conflict):
        call(client_on(service), "create_user_application")

    assert service.count == 1


def test_the_base_url_is_where_calls_go() -> None:
    """Every call goes to the base URL, regardless of its arguments."""
    service = Service({"id": CARD, "status": "x"})
    for name in EFFECTS:
        call(client_on(service), name)

    assert all(str(request.url).startswith(f"{URL}/") for request in service.requests)
    assert len(service.requests) == len(EFFECTS)


# other cases


def test_a_client_without_a_journal_reports_the_same() -> None:
    """Without a journal an unknown outcome still has an id, and `journal` raises an error."""
    client = client_on(Service(httpx.ReadTimeout("x"), httpx.ConnectError("x"), AUTHORIZED), journal=False)
    with pytest.raises(OutcomeUnknown) as caught:
        client.simulate_authorization(**PURCHASE)
    assert caught.value.attempt.id
    assert client.simulate_authorization(**PURCHASE).status == "authorized"
    with pytest.raises(UsageError, match="journal=False"):
        _ = client.journal


class _Broken(httpx.SyncByteStream):
    """A body whose reading is interrupted."""

    def __iter__(self) -> Any:
        raise KeyboardInterrupt


@each(
    "status, end",
    [
        (199, Outcome.UNKNOWN), (200, Outcome.DONE), (299, Outcome.DONE), (300, Outcome.UNKNOWN), (400, Outcome.REFUSED), (408, Outcome.UNKNOWN),
        (499, Outcome.REFUSED), (500, Outcome.UNKNOWN), (503, Outcome.UNKNOWN),
    ],
)  # fmt: skip
def test_an_interrupt_after_the_status_keeps_what_is_known(status: int, end: Outcome) -> None:
    """If Ctrl-C arrives after the status, the status determines the recorded outcome."""
    client = client_on(lambda _: httpx.Response(status, stream=_Broken()))
    with pytest.raises(KeyboardInterrupt) as caught:
        client.simulate_authorization(**PURCHASE)

    assert [entry.outcome for entry in client.journal] == [end]
    assert caught.value.__notes__


def test_an_interrupted_read_has_nothing_to_tell() -> None:
    """An interrupted read raises the interrupt without notes."""
    with pytest.raises(KeyboardInterrupt) as caught:
        client_on(Service(KeyboardInterrupt())).list_contracts()

    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize(
    "first", [httpx.ConnectError("x"), httpx.Response(429, headers={"retry-after": "3"})], ids=["lost", "limited"]
)
def test_an_interrupt_between_tries_is_not_sent(first: Any) -> None:
    """After Ctrl-C between two attempts the call is recorded as not sent."""

    class Impatient(FakeClock):
        def sleep(self, seconds: float) -> None:
            raise KeyboardInterrupt

    client = client_on(Service(first), clock=Impatient())
    with pytest.raises(KeyboardInterrupt):
        client.allowing(resend=True).simulate_authorization(**PURCHASE)

    assert [entry.outcome for entry in client.journal] == [Outcome.NOT_SENT]


def test_a_full_queue_is_reported() -> None:
    """If the rate limit delays a call beyond its deadline, the call is not sent."""
    client = client_on(Service(AUTHORIZED), limits=Limits(writes_per_second=0.01), timeout=30)
    client.simulate_authorization(**PURCHASE)
    with pytest.raises(NotSent, match="pause"):
        client.simulate_authorization(**PURCHASE)

    assert [entry.outcome for entry in client.journal] == [Outcome.DONE, Outcome.NOT_SENT]


class _Slow(httpx.SyncByteStream):
    """A body that arrives slowly."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock

    def __iter__(self) -> Any:
        for _ in range(100):
            self._clock.at += 1
            yield b" "


def test_a_transport_of_ones_own_meets_the_deadline() -> None:
    """A slow body over a custom transport also ends at the deadline."""
    clock = FakeClock()
    client = client_on(lambda _: httpx.Response(200, stream=_Slow(clock)), clock=clock)
    with pytest.raises(UnexpectedAnswer, match="no answer in time"):
        client.simulate_authorization(**PURCHASE)

    assert clock.at < 1000 + 33


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j, float("nan"), b"x"], ids=map(str, range(5)))
def test_what_json_does_not_have_is_refused(value: Any) -> None:
    """Even without checks, a value that JSON cannot represent is refused, and not shown."""
    with pytest.raises(InvalidRequest, match="cannot be written as JSON") as caught:
        client_on(Service({}), check=False).update_user(user_id=CARD, email=value)

    assert caught.value.__context__ is None


@pytest.mark.parametrize("status", [101, 199, 600, 999])
def test_unusual_statuses_are_unknown(status: int) -> None:
    """After an undefined status an effect is unknown, and a read raises an ApiError."""
    with pytest.raises(OutcomeUnknown):
        client_on(Service(httpx.Response(status))).simulate_authorization(**PURCHASE)
    with pytest.raises(ApiError):
        client_on(Service(httpx.Response(status))).list_contracts()
