"""Conversion between records and wire values loses and adds nothing, and marks unusual values."""

import copy
import json
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import attrs
import cattrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.conftest import RECORDED, SAMPLES
from tests.each import each
from tests.interface.test_table import RECORDS
from tests.strategies import JSON, answers, requests
from workbench.base.errors import WorkbenchError
from workbench.base.schema import strict_json
from workbench.base.schema.checks import flags, problems
from workbench.base.schema.fields import Answer
from workbench.base.schema.readers import write_time
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import build, members, records
from workbench.service.interface import contracts, events, people, table, transactions
from workbench.service.interface.contracts import IssuingContract, Token
from workbench.service.interface.convert import Converter, Unreadable, converter, placeholders, read_time
from workbench.service.interface.events import Event, UserUpdated
from workbench.service.interface.table import Operation
from workbench.service.interface.vocabulary import CompletionReason

ROWS = list(table.OPERATIONS.values())
ANSWERS = [record for record in RECORDS if issubclass(record, Answer)]
CONVERTER = converter()
CARD = "3f2a0b1c-1111-4222-8333-444455556666"


def samples(pattern: str) -> list[Path]:
    """Return the samples of a kind, both written and recorded."""
    return [path for folder in (SAMPLES, RECORDED) for path in sorted(folder.glob(pattern))]


def operation_of(path: Path) -> Operation[..., Any]:
    return table.OPERATIONS[path.name.split(".")[0]]


@pytest.mark.parametrize("record", ANSWERS, ids=lambda record: record.__name__)
@given(data=st.data())
def test_answers_come_back(record: type[Any], data: st.DataObject) -> None:
    """Every record is equal after a round trip through its wire form."""
    answer = data.draw(answers(record))

    assert answer == CONVERTER.structure(strict_json.loads(strict_json.dumps(CONVERTER.unstructure(answer))), record)


@pytest.mark.parametrize("operation", ROWS, ids=lambda row: row.name)
@given(data=st.data())
def test_requests_come_back(operation: Operation[..., Any], data: st.DataObject) -> None:
    """Every request is equal after a round trip through path and body or query. None is never written."""
    request = data.draw(requests(operation, plain=False))
    path, body = CONVERTER.write_request(operation, request)
    if operation.in_query:
        body = {name: str(value).lower() if type(value) is bool else str(value) for name, value in body.items()}
    again, mistyped, unknown = CONVERTER.read_request(
        operation, strict_json.loads(strict_json.dumps(body)), path, from_query=operation.in_query
    )

    assert request == again
    assert (mistyped, unknown) == ((), ())
    assert problems(again) == ()
    assert set(path) == set(placeholders(operation.path))
    assert b"null" not in strict_json.dumps(body) or b"null" in repr(request).encode()


@pytest.mark.parametrize("record", ANSWERS, ids=lambda record: record.__name__)
@given(data=st.data())
def test_unknown_members_are_kept(record: type[Any], data: st.DataObject) -> None:
    """Unknown members in any place are stored in `extra`, flagged, and written back."""
    answer = data.draw(answers(record))
    more = data.draw(st.dictionaries(st.text("abc", min_size=1).map("brandNew{}".format), JSON, min_size=1, max_size=3))
    raw = strict_json.loads(strict_json.dumps({**CONVERTER.unstructure(answer), **more}))
    read = CONVERTER.structure(raw, record)

    assert answer == read
    assert more == read.extra
    assert set(more) <= {flag.path for flag in flags(read) if flag.rule == "unknown"}
    assert raw == CONVERTER.unstructure(read)


@each("path", samples("*.200*.json"), ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_samples_of_answers_are_read_without_loss(path: Path) -> None:
    """Every recorded answer is written back unchanged, except null and times without a zone."""
    operation = operation_of(path)
    raw = strict_json.loads(path.read_bytes())
    answer = CONVERTER.read_answer(operation, raw)
    back = [CONVERTER.unstructure(one) for one in answer] if operation.many else CONVERTER.unstructure(answer)

    assert _settled(raw) == _settled(strict_json.loads(strict_json.dumps(back)))


def _settled(raw: Any) -> Any:
    if isinstance(raw, list):
        return [_settled(item) for item in raw]
    if not isinstance(raw, dict):
        return raw
    kept = {name: _settled(value) for name, value in raw.items() if value is not None}
    for name in ("expiresAt", "createdAt"):
        if name in kept:
            kept[name] = read_time(kept[name])[0]
    if "completionReason" in kept:
        kept["completionReason"] = kept["completionReason"].lower()
    return kept


@each("path", samples("*.request*.json"), ids=lambda path: f"{path.parent.parent.name}-{path.stem}")
def test_samples_of_requests_are_taken(path: Path) -> None:
    """Every recorded request body is valid and written back unchanged."""
    operation = operation_of(path)
    raw = strict_json.loads(path.read_bytes())
    ids = dict.fromkeys(placeholders(operation.path), CARD)
    request, mistyped, unknown = CONVERTER.read_request(operation, raw, ids)

    assert (mistyped, unknown, problems(request)) == ((), (), ())
    assert (ids, raw) == CONVERTER.write_request(operation, request)


def test_every_operation_has_samples(sample: Callable[[str], bytes]) -> None:
    """The project has samples for each operation."""
    names = {path.name.split(".")[0] for path in SAMPLES.glob("*.json")}

    assert set(table.OPERATIONS) <= names
    assert b"transactionId" in sample("simulate_authorization.200")


@pytest.mark.parametrize("path", samples("event.*.json"), ids=lambda path: path.stem)
def test_samples_of_events_are_read(path: Path) -> None:
    """The documented events are read with records as bodies, and written back unchanged."""
    raw = strict_json.loads(path.read_bytes())
    event = CONVERTER.structure(raw, Event)

    assert events.EVENT_KINDS[event.kind].body is type(event.body)
    assert flags(event.body) == ()
    assert raw == strict_json.loads(strict_json.dumps(CONVERTER.unstructure(event)))


def test_missing_and_null_read_as_none() -> None:
    """A missing or null member is None, and flagged if the document requires it."""
    contract = CONVERTER.structure({"id": None, "programAddress": None, "tokens": None}, contracts.IssuingContract)

    assert (
        contract.id, contract.program_address, contract.controller_address, contract.tokens, contract.admin_addresses
    ) == (None, None, None, (), ())  # fmt: skip
    assert {"id", "chainId", "controllerAddress", "proxyAddress", "contractVersion", "tokens"} == {
        flag.path for flag in flags(contract)
    }


@pytest.mark.parametrize("text,expected", [
    ("SETTLEMENT", CompletionReason.SETTLEMENT), ("settlement", CompletionReason.SETTLEMENT),
    ("Refund", CompletionReason.REFUND), ("authorization_reversal", "authorization_reversal"),
])  # fmt: skip
def test_any_casing_of_a_completion_reason(text: str, expected: str) -> None:
    """A completion reason is read in any letter case, and unknown text is preserved."""
    read = CONVERTER.structure({"completionReason": text}, transactions.SimulatedTransaction).completion_reason

    assert expected == read
    assert type(expected) is type(read)


@pytest.mark.parametrize("raw,name", [({"applicationStatus": "brandNew"}, "application_status")])
def test_unknown_words_are_kept(raw: dict[str, str], name: str) -> None:
    """Unknown enum values of an answer stay text."""
    read = CONVERTER.structure(raw, people.User)

    assert getattr(read, name) == "brandNew"
    assert "enum" in {flag.rule for flag in flags(read)}


@each(
    "text,expected,rule",
    [
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), None),
        ("2026-01-02T03:04:05.123Z", datetime(2026, 1, 2, 3, 4, 5, 123000, tzinfo=UTC), None),
        ("2026-01-02T03:04:05.123456789Z", datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC), None),
        ("2026-01-02T05:04:05+02:00", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), None),
        ("2026-01-02T03:04:05", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "date-time"),
        ("2026-06-30T23:59:60Z", datetime(2026, 6, 30, 23, 59, 59, tzinfo=UTC), "date-time"),
        ("2026-06-30T23:59:60.5+00:00", datetime(2026, 6, 30, 23, 59, 59, tzinfo=UTC), "date-time"),
        ("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), None),
        ("9999-12-31T23:59:59-05:00", "9999-12-31T23:59:59-05:00", "date-time"),
        ("9999-12-31T23:59:60-05:00", "9999-12-31T23:59:60-05:00", "date-time"),
        ("0001-01-01T00:00:00+05:00", "0001-01-01T00:00:00+05:00", "date-time"),
        ("1795255800", datetime(2026, 11, 21, 10, 10, tzinfo=UTC), None),
        ("1795255800123", datetime(2026, 11, 21, 10, 10, 0, 123000, tzinfo=UTC), None),
        (1795255800, datetime(2026, 11, 21, 10, 10, tzinfo=UTC), "date-time"),
        (Decimal("1795255800.5"), datetime(2026, 11, 21, 10, 10, tzinfo=UTC), "date-time"),
        (5, "5", "date-time"),
        ("", "", "date-time"),
        ("yesterday", "yesterday", "date-time"),
        ("2026-13-01T00:00:00Z", "2026-13-01T00:00:00Z", "date-time"),
    ],
)
def test_times(text: Any, expected: Any, rule: str | None) -> None:
    """A time is read as aware UTC. Unusual times are marked, and unreadable ones stay text."""
    signature = CONVERTER.structure({"expiresAt": text}, contracts.WithdrawalSignature)

    assert expected == signature.expires_at
    assert [flag.rule for flag in flags(signature) if flag.path == "expiresAt"] == ([rule] if rule else [])


def test_the_last_hour_of_a_day() -> None:
    """24:00 is midnight of the next day."""
    user = CONVERTER.structure({"createdAt": "2026-12-31T24:00:00Z"}, people.User)

    assert datetime(2027, 1, 1, tzinfo=UTC) == user.created_at


@pytest.mark.parametrize(
    "text, seconds",
    [("1767225600", 1_767_225_600), ("1767225600000", 1_767_225_600), ("1767225600500", 1_767_225_600.5)],
)
def test_unix_times(text: str, seconds: float) -> None:
    """Digits alone are Unix seconds or milliseconds. Other text with digits is not a time."""
    assert read_time(text) == (datetime.fromtimestamp(seconds, UTC), None)
    assert read_time(f"{text}x")[0] == f"{text}x"


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_come_back(moment: datetime) -> None:
    """A time is written with microseconds if it has any, and is equal when read back."""
    text = write_time(moment)

    assert text.endswith("Z")
    assert moment == read_time(text)[0]


@each(
    "text,expected,odd",
    [
        ("0.10", Decimal("0.10"), False),
        ("1e-1", Decimal("0.1"), False),
        ("-1", Decimal(-1), False),
        ("2.00", Decimal("2.00"), False),
        (".5", Decimal("0.5"), False),
        ("NaN", "NaN", True),
        ("Infinity", "Infinity", True),
        ("1e9999", "1e9999", True),
        ("1_0", "1_0", True),
        ("١٠", "١٠", True),
        ("", "", True),
        (Decimal("0.1"), Decimal("0.1"), True),
    ],
    ids=repr,
)
def test_amounts_of_deposits(text: Any, expected: Any, odd: bool) -> None:
    """A deposit amount as text is a decimal, never a float. Other text is preserved and flagged."""
    deposit = CONVERTER.structure({"amount": text}, events.MicroDepositReceived)

    assert expected == deposit.amount
    assert type(expected) is type(deposit.amount)
    assert odd is any(flag.path == "amount" for flag in flags(deposit))


def test_a_reason_keeps_its_commas() -> None:
    """The labels of a reason stay unchanged text."""
    raw = {"id": CARD, "applicationReason": "BAD_SELFIE, LOW_QUALITY,,OTHER"}

    assert CONVERTER.structure(raw, events.UserUpdated).application_reason == "BAD_SELFIE, LOW_QUALITY,,OTHER"


def test_rates_are_exact() -> None:
    """A rate is the exact decimal of its text."""
    raw = strict_json.loads(b'{"exchangeRate": 0.1572850000000000001, "advanceRate": 50}')
    token = CONVERTER.structure(raw, contracts.Token)

    assert (Decimal("0.1572850000000000001"), Decimal(50)) == (token.exchange_rate, token.advance_rate)


@each(
    "cls,raw,paths",
    [
        (people.User, {"firstName": 5, "isActive": "true", "address": {"line1": []}}, ["firstName", "isActive", "address.line1"]),
        (people.User, {"address": "text"}, ["address"]),
        (people.User, [], [""]),
        (people.User, {"applicationStatus": 5}, ["applicationStatus"]),
        (people.User, {"createdAt": []}, ["createdAt"]),
        (contracts.IssuingContract, {"chainId": "1", "tokens": [{"address": 1}, 5]}, ["chainId", "tokens[0].address", "tokens[1]"]),
        (contracts.IssuingContract, {"tokens": {}, "adminAddresses": [1]}, ["tokens", "adminAddresses[0]"]),
        (contracts.IssuingContract, {"chainId": True, "contractVersion": "2"}, ["chainId", "contractVersion"]),
        (contracts.IssuingContract, {"chainId": Decimal("1.5")}, ["chainId"]),
        (transactions.RewardsItem, {"points": True, "transactionAmountCents": Decimal("1.5")}, ["points", "transactionAmountCents"]),
    ],
)  # fmt: skip
def test_another_type_is_unreadable(cls: type[Any], raw: Any, paths: list[str]) -> None:
    """Only a value of another type makes an answer unreadable, and all such members are named."""
    with pytest.raises(Unreadable) as error:
        CONVERTER.structure(raw, cls)

    assert sorted(paths) == sorted(problem.path for problem in error.value.problems)
    assert error.value.__suppress_context__


def test_whole_numbers_may_be_written_with_a_point() -> None:
    """1250.0 and 1.25e3 are whole numbers in JSON."""
    read = CONVERTER.structure(strict_json.loads(b'{"transactionAmountCents": 1.25e3}'), transactions.RewardsItem)

    assert read.transaction_amount_cents == 1250
    assert int is type(read.transaction_amount_cents)


@each("operation", ROWS, ids=lambda row: row.name)
def test_no_body_is_an_empty_answer(operation: Operation[..., Any]) -> None:
    """A success without a body gives an empty record or an empty list."""
    answer = CONVERTER.read_answer(operation, None)

    assert answer == [] if operation.many else isinstance(answer, operation.answer)


DOCUMENTED = [row for row in ROWS if any(not one.about.assumed for one in members(row.answer))]


@each("operation", DOCUMENTED, ids=lambda row: row.name)
@each("raw", [{}, {"brandNew": 1}, {"id": None, "status": None, "items": None}], ids=str)
def test_an_answer_without_documented_members_is_unreadable(operation: Operation[..., Any], raw: Any) -> None:
    """An object without any documented member is unreadable, not an empty record."""
    with pytest.raises(Unreadable, match="none of the members that the document names"):
        CONVERTER.read_answer(operation, [raw] if operation.many else raw)


def test_an_answer_of_assumed_members_may_have_none() -> None:
    """The document shows no body for an updated dispute, so any object is accepted."""
    assert CONVERTER.read_answer(table.Operations.update_dispute, {"brandNew": 1}).extra == {"brandNew": 1}
    assert CONVERTER.read_answer(table.Operations.delete_payment_account, {"deleted": True}).extra == {"deleted": True}


def test_a_list_is_a_list() -> None:
    """An object in place of a list, and an item of another type, are named."""
    with pytest.raises(Unreadable, match="must be a list"):
        CONVERTER.read_answer(table.Operations.list_contracts, {})
    with pytest.raises(Unreadable, match=r"\[1\]\.id must be text"):
        CONVERTER.read_answer(table.Operations.list_contracts, [{}, {"id": 5}])


def test_full_is_left_out_and_zero_is_sent() -> None:
    """FULL omits the member, and zero is written as zero."""
    full, zero = (
        build(transactions.SimulateRefund, {"transaction_id": CARD, "amount": amount}) for amount in (FULL, 0)
    )

    assert CONVERTER.write_request(table.Operations.simulate_refund, full) == ({"transactionId": CARD}, {})
    assert CONVERTER.write_request(table.Operations.simulate_refund, zero) == ({"transactionId": CARD}, {"amount": 0})


def test_an_address_of_an_answer_is_sent_without_its_extra() -> None:
    """Undocumented members are never sent, even in a record from an answer."""
    user = CONVERTER.structure({"address": {"line1": "12 Example Street", "brandNew": 1}}, people.User)
    request = people.UpdateUser(user_id=CARD, address=user.address)

    assert CONVERTER.write_request(table.Operations.update_user, request)[1] == {
        "address": {"line1": "12 Example Street"}
    }
    assert CONVERTER.unstructure(user.address) == {"brandNew": 1, "line1": "12 Example Street"}


def test_a_chain_travels_as_text() -> None:
    """An application's chain id is written as text, and read from text and number."""
    request = people.CreateUserApplication(
        ip_address="", occupation="", annual_salary="", account_purpose="", expected_monthly_volume="", chain_id=84532
    )
    read = [
        CONVERTER.read_request(table.Operations.create_user_application, {"chainId": raw})[0].chain_id
        for raw in ("84532", 84532, "x")
    ]

    assert CONVERTER.write_request(table.Operations.create_user_application, request)[1]["chainId"] == "84532"
    assert read == [84532, 84532, "x"]


def test_dates_are_written_as_text() -> None:
    """A date is written as ISO text."""
    request = build(people.UpdateUbo, {"company_id": CARD, "ubo_id": CARD, "birth_date": date(1990, 2, 1)})

    assert CONVERTER.write_request(table.Operations.update_ubo, request)[1] == {"birthDate": "1990-02-01"}


def test_requests_are_read_strictly() -> None:
    """In a request null and week dates are problems, and unknown members are named and omitted."""
    body = {
        "firstName": None,
        "birthDate": "1990-W05-4",
        "address": {"line1": "x", "brandNew": 1},
        "brandNew": 1,
        "companyId": "x",
    }
    request, mistyped, unknown = CONVERTER.read_request(
        table.Operations.update_ubo, body, {"companyId": CARD, "uboId": CARD}
    )

    assert [(problem.path, problem.rule) for problem in mistyped] == [("firstName", "type")]
    assert {"address.brandNew", "brandNew"} == set(unknown)
    assert ("birthDate", "date") in [(problem.path, problem.rule) for problem in problems(request)]
    assert request.company_id == CARD


@pytest.mark.parametrize("body", [[], "text", 5, None], ids=repr)
def test_a_body_is_an_object(body: Any) -> None:
    """Only an object is read as a request."""
    assert (
        (read := CONVERTER.read_request(table.Operations.simulate_refund, body))[0],
        [problem.message for problem in read[1]],
    ) == (None, ["the body must be an object"])


@each(
    "text,expected",
    [("true", True), ("false", False), (None, False), ("True", "True"), ("1", "1"), ("", "")],
)
def test_flags_of_a_query(text: str | None, expected: Any) -> None:
    """A flag in a query is `true` or `false`. An omitted unit flag means cents."""
    query = {} if text is None else {"isAmountNative": text}
    request, _, _ = CONVERTER.read_request(table.Operations.sign_withdrawal, query, from_query=True)

    assert expected == request.is_amount_native


@each("text,expected", [("5", 5), ("-5", -5), ("5.0", "5.0"), ("٥", "٥"), ("", ""), ("1_0", "1_0")])
def test_numbers_of_a_query(text: str, expected: Any) -> None:
    """A whole number in a query consists of ASCII digits. Other text stays text and breaks the rule."""
    request, _, _ = CONVERTER.read_request(table.Operations.list_rewards_activity, {"limit": text}, from_query=True)

    assert expected == request.limit


def test_wire_names_can_be_changed() -> None:
    """Changed wire names apply to reading and writing, in requests, answers and nested records."""
    names = {"simulate_authorization.decline_reason": "declinedBecause", "token.balance": "holding"}
    renamed = converter(names)
    body = {
        "cardId": CARD,
        "amount": 1,
        "currency": "USD",
        "merchantName": "x",
        "merchantCategoryCode": "0742",
        "declinedBecause": "card_locked",
    }
    request, mistyped, unknown = renamed.read_request(table.Operations.simulate_authorization, body)

    assert (mistyped, unknown) == ((), ())
    assert body == renamed.unstructure(request)
    assert renamed.structure({"tokens": [{"holding": "7"}]}, contracts.IssuingContract).tokens[0].balance == "7"
    assert converter(names) is renamed
    assert converter() is CONVERTER


def test_an_event_of_an_unknown_kind_is_kept() -> None:
    """An event of an unknown kind keeps its body unchanged."""
    raw = {"id": "e", "resource": "brand", "action": "new", "version": "2.0.0", "body": {"a": 1}}
    event = CONVERTER.structure(raw, Event)

    assert (event.kind, event.body) == ("brand.new", {"a": 1})
    assert raw == CONVERTER.unstructure(event)


def test_a_body_of_an_unknown_kind_may_be_deep() -> None:
    """A deep body of an unknown kind is written unchanged, without recursion."""
    raw = {"id": "e", "resource": "brand", "action": "new", "body": {}}
    for _ in range(900):
        raw["body"] = {"a": raw["body"]}
    event = CONVERTER.structure(raw, Event)

    assert CONVERTER.unstructure(event)["body"] is raw["body"]


@pytest.mark.parametrize("id_, read", [("5", "5"), ("[5]", None)])
def test_an_event_whose_body_does_not_fit_is_kept(id_: str, read: str | None) -> None:
    """A number in place of text becomes text, and a value of another type is omitted. Both are marked."""
    raw = strict_json.loads(b'{"id": "e", "resource": "user", "action": "updated", "body": {"id": %s}}' % id_.encode())
    event = CONVERTER.structure(raw, Event)

    assert isinstance(event.body, UserUpdated)
    assert event.body.id == read
    assert [(mark.path, mark.rule) for mark in event.marks] == [("body.id", "type")]


def test_the_converter_is_one_of_cattrs() -> None:
    """Types composed of records and standard types can be structured and unstructured. Scalars are exact."""

    @attrs.frozen
    class Team:
        owner: people.User
        members: list[people.User]

    made = CONVERTER.structure({"owner": {"id": CARD}, "members": [{"id": CARD}]}, Team)

    assert isinstance(CONVERTER, cattrs.Converter)
    assert made.members == [people.User(id=CARD)] == [made.owner]
    assert CONVERTER.unstructure(made) == {"owner": {"id": CARD}, "members": [{"id": CARD}]}
    assert CONVERTER.structure({"a": Decimal("1E+3")}, dict[str, int]) == {"a": 1000}
    for value, cls in (("10", int), (1, str), ("true", bool), (True, int), (None, int), (Decimal("1.5"), int)):
        with pytest.raises(Unreadable, match="must be "):
            CONVERTER.structure(value, cls)


def test_paths_of_problems_name_members_as_they_came() -> None:
    """Problem paths have the profile's wire names and list positions, from the outermost object."""
    renamed = converter({"token.balance": "holding"})

    with pytest.raises(Unreadable) as error:
        renamed.structure([{"tokens": [{}, {"holding": 1}]}, 5], list[contracts.IssuingContract])

    assert [problem.path for problem in error.value.problems] == ["[0].tokens[1].holding", "[1]"]


def test_a_request_is_structured_strictly() -> None:
    """`structure` of a request refuses unknown members and nulls."""
    with pytest.raises(Unreadable) as error:
        CONVERTER.structure({"userId": CARD, "email": None, "address": {"brandNew": 1}}, people.UpdateUser)

    assert {(problem.path, problem.rule) for problem in error.value.problems} == {
        ("email", "type"), ("address.brandNew", "unknown"),
    }  # fmt: skip


@pytest.mark.parametrize("operation", ROWS, ids=lambda row: row.name)
def test_answers_pass_through_cattrs(operation: Operation[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer is structured by `cattrs.Converter`."""
    counted: list[str] = []
    method = cattrs.Converter.structure
    monkeypatch.setattr(cattrs.Converter, "structure", lambda *a, **k: counted.append("structure") or method(*a, **k))
    body = next(SAMPLES.glob(f"{operation.name}.200*.json"), None)
    CONVERTER.read_answer(operation, strict_json.loads(body.read_bytes()) if body else None)

    assert counted


def test_answers_are_frozen_and_alike() -> None:
    """A parsed record is frozen, and equal to a constructed record and to its copies."""
    read = CONVERTER.structure({"transactionId": CARD, "status": "authorized"}, transactions.SimulatedTransaction)
    made = transactions.SimulatedTransaction(transaction_id=CARD, status="authorized")

    assert made == read == copy.deepcopy(read)
    assert hash(made) == hash(read)
    with pytest.raises(AttributeError):
        read.status = "settled"
    made.extra["a"] = 1
    assert read.extra == {} == attrs.evolve(made).extra  # each record has a separate dict


def test_every_record_is_reachable() -> None:
    """The list of records in the tests has at least 36 records, including those nested in an application."""
    assert len(RECORDS) >= 36
    assert set(records(people.CompanyApplication)) <= set(RECORDS)
    assert all(members(record) is members(record) for record in RECORDS)
    assert json.loads(json.dumps([record.__name__ for record in RECORDS]))


def test_a_fraction_is_exact() -> None:
    """A fraction of any length is exact."""
    for digits in ("0.157285", "1.10", "0.30000000000000004", "123456789.123456789123456789"):
        token = b'{"address":"0x00000000000000000000000000000000000070c3","exchangeRate":%b}' % digits.encode()
        contract = b'[{"id":"%b","tokens":[%b]}]' % (CARD.encode(), token)
        answer = CONVERTER.read_answer(table.Operations.list_contracts, strict_json.loads(contract))

        assert answer[0].tokens[0].exchange_rate == Decimal(digits)


@pytest.mark.parametrize("item", [1, {"id": 1, "chainId": "x", "tokens": 5}])
def test_lists_of_problems_end(item: Any) -> None:
    """An entirely wrong answer gives at most 101 problems. One of them counts the items that were not read."""
    started = time.thread_time()
    with pytest.raises(Unreadable) as error:
        CONVERTER.read_answer(table.Operations.list_contracts, [item] * 300_000)

    assert time.thread_time() - started < 2
    found = error.value.problems
    assert len(found) <= 101
    assert "further items, which were not read" in str(found[0])


def test_a_request_of_unknown_members_is_read_in_linear_time() -> None:
    """Thousands of unknown members are omitted in linear time, and the first hundred are named."""
    started = time.thread_time()
    _, _, unknown = CONVERTER.read_request(table.Operations.update_user, {f"m{i}": i for i in range(30_000)})

    assert time.thread_time() - started < 5
    assert len(unknown) == 100


def test_hooks_of_a_user_take_effect_inside_answers() -> None:
    """A user's hooks apply to members, list items and nested records of this client only, even if registered later."""
    body = json.loads((SAMPLES / "list_contracts.200.json").read_bytes(), parse_float=Decimal)
    ours, usual = wb.connect(), wb.connect()
    before = ours.list_contracts()
    hooked = ours.converter
    hooked.structure(body, list[IssuingContract])
    hooked.register_structure_hook(Decimal, lambda value, _: Fraction(value))
    hooked.register_structure_hook(str, lambda value, _: value.upper())
    hooked.register_structure_hook(Token, lambda value, _: ("token", value["address"]))
    (contract, *_), (plain, *_) = ours.list_contracts(), usual.list_contracts()
    read, *_ = hooked.structure(body, list[IssuingContract])

    assert contract.id == plain.id.upper() != plain.id
    assert contract.tokens == tuple(("token", token.address) for token in plain.tokens)
    assert read.id == body[0]["id"].upper()
    hooked.register_structure_hook(Token, lambda value, _: Fraction(value["exchangeRate"]))
    assert {type(rate) for rate in ours.list_contracts()[0].tokens} == {Fraction}
    assert [one.id for one in usual.list_contracts()] == [one.id for one in before]
    rate = Converter({})
    rate.register_structure_hook(Decimal, lambda value, _: Fraction(value))
    assert type(rate.structure(body, list[IssuingContract])[0].tokens[0].exchange_rate) is Fraction


def test_what_a_hook_of_a_user_refuses_is_unreadable() -> None:
    """A value that a user's hook rejects is unreadable, and the error has its path."""
    hooked = Converter({})
    hooked.register_structure_hook(Decimal, lambda value, _: 1 / 0)
    body = {"id": "c", "tokens": [{"address": "0x", "exchangeRate": 1}]}
    with pytest.raises(Unreadable, match=r"tokens\[0\].exchangeRate was rejected by the hook for Decimal") as caught:
        hooked.structure(body, IssuingContract)

    assert isinstance(caught.value, WorkbenchError)


def test_json_as_the_standard_library_reads_it() -> None:
    """A float from `json.loads` is refused. The error says how to parse numbers exactly."""
    text = (SAMPLES / "list_contracts.200.json").read_text(encoding="utf-8")
    with pytest.raises(Unreadable, match="parse_float=Decimal"):
        converter().structure(json.loads(text), list[IssuingContract])
    exact = converter().structure(json.loads(text, parse_float=Decimal), list[IssuingContract])

    assert exact == converter().structure(strict_json.loads(text.encode()), list[IssuingContract])
