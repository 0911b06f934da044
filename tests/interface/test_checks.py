"""Checks of requests before they are sent: every rule, by name, all problems together, and never the value."""

import string
from decimal import Decimal
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.each import each
from tests.strategies import ANY_TEXT, Break, breaks, broken, requests
from workbench.base.errors import Problem
from workbench.base.schema import checks
from workbench.base.schema.checks import cautions, flags, problems
from workbench.base.schema.fields import Rule
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import Member, UnknownMember, build, described, leaves, member
from workbench.base.schema.walk import given as given_members
from workbench.service.chains.values import private_key_problem
from workbench.service.interface import people, table, transactions
from workbench.service.interface.convert import converter
from workbench.service.interface.table import Operation

CARD = "3f2a0b1c-1111-4222-8333-444455556666"
ROWS = list(table.OPERATIONS.values())
PROFILE = {
    "ip_address": "203.0.113.10",
    "occupation": "teacher",
    "annual_salary": "50000",
    "account_purpose": "everyday spending",
    "expected_monthly_volume": "1000",
}
PERSON = {
    "first_name": "Ada",
    "last_name": "Example",
    "birth_date": "1990-02-01",
    "national_id": "900000001",
    "country_of_issue": "US",
    "email": "ada@example.com",
    "address": {
        "line1": "12 Example Street",
        "city": "Springfield",
        "region": "IL",
        "postal_code": "62701",
        "country_code": "US",
    },
}


def authorization(**changes: Any) -> Any:
    return build(
        transactions.SimulateAuthorization,
        {
            "card_id": CARD,
            "amount": 1250,
            "currency": "USD",
            "merchant_name": "Example Books",
            "merchant_category_code": "5411",
            **changes,
        },
    )


def application(**changes: Any) -> Any:
    return build(people.CreateUserApplication, {**PROFILE, **PERSON, **changes})


def found(request: Any) -> list[tuple[str, str]]:
    return [(problem.path, problem.rule) for problem in problems(request)]


@pytest.mark.parametrize("operation", ROWS, ids=lambda row: row.name)
@given(data=st.data())
def test_what_keeps_every_rule_is_taken(operation: Operation[..., Any], data: st.DataObject) -> None:
    """A request that meets every rule has no problems, and plain text needs no permission."""
    request = data.draw(requests(operation))

    assert problems(request) == ()
    assert cautions(request)[0] == ()


TEXTS = {f"{row.name} {path}": one for row in ROWS for path, one in leaves(row.request) if checks.plain(one)[0] is str}


@pytest.mark.parametrize("one", TEXTS.values(), ids=TEXTS)
@given(data=st.data())
def test_a_plain_text_is_one_of_which_there_is_nothing_to_say(one: Member, data: st.DataObject) -> None:
    """A text that the quick check accepts breaks no rule, gives no advice and does not look like a private key."""
    _, is_plain = checks.plain(one)
    patterns = filter(None, (one.about.rule.pattern, checks.PATTERNS.get(one.about.rule.format or "")))
    texts = [
        ANY_TEXT,
        st.text(string.printable, max_size=60),
        st.text("•0a5-", max_size=60),
        st.text("abandon ", min_size=30, max_size=200),
    ]
    value = data.draw(st.one_of(*texts, *map(st.from_regex, patterns)))
    wrong = [
        *checks.broken(one.kind, one.about.rule, value),
        *filter(None, [checks.advice(one.name, value, None), private_key_problem(value, "", hash_expected=False)]),
        *(name for name in ("masked", "hidden") if not (value.isascii() and value.isprintable())),
    ]

    assert not (is_plain(value) and wrong)


@pytest.mark.parametrize(
    "low, high, value, plain", [(0, None, 0, True), (0, None, -1, False), (1, 5, 5, True), (1, 5, 6, False)]
)
def test_a_plain_number_is_within_its_limits(low: int, high: int | None, value: int, plain: bool) -> None:
    """A plain number is within its limits, which are inclusive."""
    one = member(transactions.SimulateAuthorization, "amount")
    limited = attrs.evolve(one, about=attrs.evolve(one.about, rule=Rule(minimum=low, maximum=high)))

    assert checks.plain(limited)[1](value) is plain


BREAKS = [(row, how) for row in ROWS for how in breaks(row.request)]


@pytest.mark.parametrize("operation,how", BREAKS, ids=[f"{row.name}-{how}" for row, how in BREAKS])
@settings(max_examples=1)
@given(data=st.data())
def test_one_broken_rule_is_named(operation: Operation[..., Any], how: Break, data: st.DataObject) -> None:
    """One broken rule gives one problem with the rule's name and the member's wire path."""
    request = build(operation.request, data.draw(broken(operation, how)))

    assert {(how.wire, how.rule)} == set(found(request))


@each(
    "value",
    [
        10.99,
        "10.99",
        "10",
        True,
        1e22,
        float("nan"),
        "١٠",
        "1_000",
        Decimal("10.5"),
        Decimal(10),
        "",
        b"10",
        [10],
        10.0,
    ],
    ids=repr,
)
def test_only_exact_integers_are_cents(value: Any) -> None:
    """A value that is not a whole number is refused by its type, and not quoted."""
    (problem,) = problems(authorization(amount=value))

    assert (problem.path, problem.rule) == ("amount", "type")
    assert "whole number of cents" in problem.message
    assert "99" not in problem.message


@pytest.mark.parametrize(
    "value", [np.int64(1250), np.int32(1250), np.uint8(125)], ids=lambda value: type(value).__name__
)
def test_whole_numbers_of_numpy_become_int(value: Any) -> None:
    """Integers of other libraries become `int`."""
    request = authorization(amount=value)

    assert problems(request) == ()
    assert int is type(request.amount)


@each("value", [None, float("nan"), "", " ", pd.NA, pd.NaT, Decimal("NaN")], ids=repr)
@each("cls,name", [(transactions.SimulateRefund, "amount"), (transactions.SimulateReversal, "new_amount")])
def test_empty_is_not_full(cls: type[Any], name: str, value: Any) -> None:
    """An empty amount is not a full refund. FULL must be explicit."""
    (problem,) = problems(build(cls, {"transaction_id": CARD, name: value}))

    assert problem.rule == "required"
    assert problem.message == "is empty; write FULL (in code wb.FULL) for the full amount"


@pytest.mark.parametrize("value", [0, 1, FULL, 2**256])
def test_zero_and_full_are_amounts(value: Any) -> None:
    """Zero, FULL and large amounts are valid."""
    assert problems(build(transactions.SimulateRefund, {"transaction_id": CARD, "amount": value})) == ()


def test_the_unit_flag_has_to_be_said() -> None:
    """The flag for native units or cents has no default."""
    request = build(table.Operations.sign_withdrawal.request, {"token": "0x" + "1" * 40, "amount": "1"})
    said = {problem.path: problem.message for problem in problems(request)}

    assert said["isAmountNative"] == "is missing; pass true or false"


@each("value", ["False", "no", 0, 1, float("nan"), np.int64(1)], ids=repr)
def test_only_booleans_are_flags(value: Any) -> None:
    """Text and numbers are not accepted as flags."""
    assert found(build(people.UpdateUser, {"user_id": CARD, "is_active": value})) == [("isActive", "type")]


def test_booleans_of_numpy_are_booleans() -> None:
    """NumPy booleans are accepted as booleans."""
    assert problems(build(people.UpdateUser, {"user_id": CARD, "is_active": np.True_})) == ()


@each("value", [True, "0x1", 0, -1, 1.0, "1"], ids=repr)
def test_chain_ids_are_whole_numbers(value: Any) -> None:
    """True and text are not accepted as chain ids."""
    request = build(
        table.Operations.sign_withdrawal.request, {"chain_id": value, "token": "0x" + "1" * 40, "amount": "1"}
    )

    assert "chainId" in [problem.path for problem in problems(request)]


@pytest.mark.parametrize("name,limit", [("first_name", 50), ("external_id", 255)])
def test_lengths_count_code_points(name: str, limit: int) -> None:
    """Lengths count code points. Too many UTF-16 units give only a warning."""
    at, over = (build(people.UpdateUser, {"user_id": CARD, name: "👩" * n}) for n in (limit, limit + 1))

    assert problems(at) == ()
    assert [(member(people.UpdateUser, name).wire, "max_length")] == found(over)
    assert [warning.rule for warning in cautions(at)[1]] == ["max_length"]


@each("text", ["a\u202eb", "zero\u200bwidth", "tab\tin", "esc\x1b[31m", "\x85", "line\nline", "a\u3164", "\u2800"])
def test_invisible_characters_need_a_word(text: str) -> None:
    """Invisible characters are named and refused unless allowed."""
    request = authorization(merchant_name=text)
    (refused,) = cautions(request)[0]

    assert (refused.path, refused.rule) == ("merchantName", "unusual_text")
    assert "U+" in refused.message
    assert cautions(request, {"unusual_text"})[0] == ()
    assert problems(request) == ()


@pytest.mark.parametrize("text", ["a\0b", "half\ud800"])
def test_nul_and_surrogates_are_refused(text: str) -> None:
    """NUL and surrogates are refused, because JSON, files and databases cannot store them."""
    assert found(authorization(merchant_name=text)) == [("merchantName", "text")]


@each(
    "text",
    [
        "01/02/1990",
        "90-02-01",
        "32874",
        "1990-2-1",
        "1990-02-30",
        "1990-02-01T00:00:00",
        "1990-W05-4",
        "19900201",
        "１９９０-02-01",
    ],
)
def test_dates_are_iso(text: str) -> None:
    """Only ISO dates of the calendar are accepted."""
    assert found(application(birth_date=text)) == [("birthDate", "date")]


@pytest.mark.parametrize("text", ["1992-02-29", "1899-12-31", "2999-01-01"])
def test_days_of_the_calendar_are_dates(text: str) -> None:
    """Leap days are dates, and unusual years are left to the service."""
    assert problems(application(birth_date=text)) == ()


def test_strange_years_of_birth_are_warned_of() -> None:
    """A birth date in the future or before 1900 gives a warning."""
    for text, expected in (("1899-12-31", 1), ("2999-01-01", 1), ("1990-02-01", 0)):
        assert expected == len([w for w in cautions(application(birth_date=text))[1] if w.path == "birthDate"])


@pytest.mark.parametrize("text", ["900-00-0001", "90000000", "9000000011", "90000000a", "９00000001"])
def test_an_ssn_has_nine_digits(text: str) -> None:
    """A US national id has nine digits, and its value is never shown."""
    (problem,) = problems(application(national_id=text))

    assert (problem.path, problem.rule) == ("nationalId", "pattern")
    assert text not in problem.message


def test_other_countries_have_other_ids() -> None:
    """The rule for US national ids applies only to the US."""
    assert problems(application(national_id="X-12", country_of_issue="DE")) == ()


@pytest.mark.parametrize("text", ["000123456", "666123456", "900123456", "123004567", "123450000"])
def test_ssns_that_are_never_issued_are_warned_of(text: str) -> None:
    """An SSN from a range that is never issued is sent with a warning."""
    assert [warning.path for warning in cautions(application(national_id=text))[1]] == ["nationalId"]


def test_ssns_that_can_be_issued_are_not_warned_of() -> None:
    """SSNs that can be issued, and ids of other countries, give no warning."""
    for members in ({"national_id": f"{123_456_789}"}, {"national_id": "000123456", "country_of_issue": "DE"}):
        assert cautions(application(**members))[1] == ()


@pytest.mark.parametrize("text,refused,warned", [("us", 0, 1), ("USA", 1, 0), ("UK", 0, 0), ("U", 1, 0)])
def test_countries_have_two_letters(text: str, refused: int, warned: int) -> None:
    """A country has two letters. Small letters give a warning, and nothing is converted."""
    request = application(country_of_issue=text, national_id="X-12")

    assert refused == len(problems(request))
    assert warned == len(cautions(request)[1])
    assert text == request.country_of_issue


@pytest.mark.parametrize(
    "owners,expected",
    [
        ({"user_id": CARD}, []),
        ({"company_id": CARD}, []),
        ({}, ["one_of"]),
        ({"user_id": CARD, "company_id": CARD}, ["one_of"]),
    ],
)
def test_one_owner(owners: dict[str, str], expected: list[str]) -> None:
    """A payment account has exactly one owner, and the problem names both members."""
    account = {
        "beneficiary_type": "individual", "beneficiary_first_name": "Ada", "beneficiary_last_name": "Example",
        "currency": "usd", "bank_name": "Sample Bank", "account_number": "000123456", "routing_number": "011000015",
        "beneficiary_address": {"address_line1": "1 Sample Plaza", "city": "Springfield", "region": "IL",
                                "postal_code": "62701", "country_code": "US"},
    }  # fmt: skip
    request = build(
        table.Operations.create_payment_account.request,
        {"type": "externalFiatAccount", "external_fiat_account": account, **owners},
    )
    said = problems(request)

    assert expected == [problem.rule for problem in said]
    assert all("userId" in problem.message and "companyId" in problem.message for problem in said)


def test_a_business_has_a_business_name() -> None:
    """The type of beneficiary determines the required names."""
    cls = table.Operations.create_payment_account.request
    request = build(cls, {"external_fiat_account": {"beneficiary_type": "business"}})
    paths = {problem.path for problem in problems(request)}

    assert "externalFiatAccount.beneficiaryBusinessName" in paths
    assert "externalFiatAccount.beneficiaryFirstName" not in paths


def test_a_variant_of_an_application_is_whole() -> None:
    """An application has one share token, or all required personal members."""
    assert found(application(email=None)) == [("email", "required")]
    assert found(build(people.CreateUserApplication, PROFILE)) == [("", "one_of")]
    assert found(application(sumsub_share_token="t")) == [("", "one_of")]
    assert found(build(people.CreateUserApplication, {**PROFILE, "persona_share_token": "t"})) == []


def test_masked_values_are_not_sent() -> None:
    """A masked value, with a bullet, is refused unless allowed."""
    request = build(people.UpdateUser, {"user_id": CARD, "email": "a•••@e•••.com"})

    assert [(p.path, p.rule) for p in cautions(request)[0]] == [("email", "masked_value")]
    assert cautions(request, {"masked_value"})[0] == ()


@pytest.mark.parametrize("text,warned", [("0742", 0), ("742", 1), ("07421", 1), ("abcd", 1)])
def test_category_codes(text: str, warned: int) -> None:
    """A category code is sent unchanged as text, with a warning unless it has four digits."""
    request = authorization(merchant_category_code=text)

    assert text == request.merchant_category_code
    assert warned == len(cautions(request)[1])


def test_a_category_code_as_a_number_is_refused() -> None:
    """A number as category code is refused, because it may have lost a leading zero."""
    assert found(authorization(merchant_category_code=742)) == [("merchantCategoryCode", "type")]


@pytest.mark.parametrize("text,warned", [("usd", 0), ("USD", 0), ("US", 1)])
def test_currencies(text: str, warned: int) -> None:
    """A currency is sent unchanged, with a warning unless it has three letters."""
    request = authorization(currency=text)

    assert text == request.currency
    assert warned == len(cautions(request)[1])


@pytest.mark.parametrize(
    "text,warned", [("10.0.0.1", 1), ("127.0.0.1", 1), ("203.0.113.10", 0), ("2001:db8::1", 0), ("::1", 1)]
)
def test_addresses_that_are_not_public(text: str, warned: int) -> None:
    """A private IP address gives a warning, because it is hardly the applicant's."""
    assert warned == [w.path for w in cautions(application(ip_address=text))[1]].count("ipAddress")


@pytest.mark.parametrize("text", ["203.0.113.300", "1.2.3", "fe80::1%eth0", "host", "203.0.113.010"])
def test_addresses_that_are_none(text: str) -> None:
    """Only IP addresses without a zone are accepted."""
    assert found(application(ip_address=text)) == [("ipAddress", "ip")]


BAD_IDS = [
    "", " ", ".", "..", "../../x", "..%2f", "a/b", "a?x=1", "a#f", "%2e%2e", "%2E%2E%2F", "a\\b", "x" * 10_240, "\n",
    CARD + "\n", "\n" + CARD, CARD + " ", " " + CARD, CARD + "\0", "{" + CARD + "}", "urn:uuid:" + CARD,
    CARD.replace("-", ""), CARD[:-1], CARD + "0", CARD.replace("3", "g", 1), CARD.replace("3", "３", 1),
    CARD.replace("-", "\u2010"), CARD.replace("-", "_"), "/" + CARD, CARD + "/", CARD + "/..", CARD + "/../x",
    CARD + "?a=b", CARD + "#", CARD + "%00", CARD + "%0a", "//example.com", "https://example.com/" + CARD, "null",
    "None", "undefined", "0", "1' or '1'='1", "<script>", "\u202e" + CARD, CARD + "\u200b", "¼" * 36, "-" * 36,
    CARD[:8] + CARD[9:13] + CARD[14:], ";", "*", CARD + "," + CARD, "\ud800", CARD.upper() + "\r",
]  # fmt: skip


@each("text", BAD_IDS, ids=range(len(BAD_IDS)))
@each(
    "cls,name",
    [
        (transactions.SimulateRefund, "transaction_id"),
        (table.Operations.delete_payment_account.request, "payment_account_id"),
    ],
)
def test_ids_of_paths_are_uuids(cls: type[Any], name: str, text: str) -> None:
    """Only UUIDs are accepted as path parameters."""
    said = [problem for problem in problems(build(cls, {name: text})) if problem.path == member(cls, name).wire]

    assert said
    assert all(not text.strip() or text not in problem.message for problem in said if len(text) > 3)


def test_there_are_fifty_bad_ids() -> None:
    """There are at least fifty cases."""
    assert len(set(BAD_IDS)) >= 50


@pytest.mark.parametrize("text", [CARD, CARD.upper()])
def test_ids_are_kept_as_given(text: str) -> None:
    """A UUID in either letter case is accepted and unchanged."""
    assert text == authorization(card_id=text).card_id
    assert problems(authorization(card_id=text)) == ()


def test_all_problems_are_reported_together() -> None:
    """All problems are reported together, in nested records with their paths."""
    request = application(
        first_name="x" * 51, email="none", address={"line1": 5, "city": "x"}, is_terms_of_service_accepted=1
    )

    assert {
        ("firstName", "max_length"),
        ("email", "email"),
        ("address.line1", "type"),
        ("address.region", "required"),
        ("address.postalCode", "required"),
        ("address.countryCode", "required"),
        ("isTermsOfServiceAccepted", "type"),
    } == set(found(request))


def test_a_part_of_an_address_needs_a_word() -> None:
    """A partial address is refused unless allowed. In an application it is always refused."""
    update = build(people.UpdateUser, {"user_id": CARD, "address": {"city": "Springfield"}})

    assert len(problems(update)) == 4
    assert problems(update, partial=True) == ()
    assert len(problems(application(address={"city": "Springfield"}), partial=True)) == 4


def test_unknown_names_are_refused() -> None:
    """A misspelled argument is named, also in a nested record."""
    with pytest.raises(UnknownMember, match="SimulateAuthorization has no member ammount"):
        authorization(ammount=5)
    with pytest.raises(UnknownMember, match="Address has no member street"):
        build(people.UpdateUser, {"user_id": CARD, "address": {"street": "x"}})


def test_change_and_given() -> None:
    """`change` returns a new record, and `given` returns the members that are not None."""
    first = authorization()
    second = build(type(first), {**given_members(first), "amount": 5})

    assert (first.amount, second.amount) == (1250, 5)
    assert {"card_id", "amount", "currency", "merchant_name", "merchant_category_code"} == set(given_members(second))
    with pytest.raises(AttributeError):
        second.amount = 6


def test_described_says_it_all() -> None:
    """The one-line description has meaning, unit, rule, and whether the member is required and assumed."""
    line = described(member(transactions.SimulateAuthorization, "amount"))

    assert (
        line
        == "Amount in the merchant's currency; in cents, whole number, at least 1; required; assumed: the document does not show which body fields are required."
    )


def test_flags_say_what_is_unusual_about_an_answer() -> None:
    """An answer is never refused for patterns, lengths or enum values, but they are flagged."""
    user = converter().structure({"firstName": "x" * 51, "walletAddress": "G" * 56, "applicationStatus": "brandNew", "createdAt": "2026-01-01T00:00:00",
         "updatedAt": "yesterday", "address": {"line1": "x", "zip": "1"}, "brandNew": 1}, people.User)  # fmt: skip

    assert {
        ("id", "required"),
        ("firstName", "max_length"),
        ("walletAddress", "pattern"),
        ("applicationStatus", "enum"),
        ("createdAt", "date-time"),
        ("updatedAt", "date-time"),
        ("address.zip", "unknown"),
        ("brandNew", "unknown"),
    } == {(flag.path, flag.rule) for flag in flags(user)}


def test_flags_reach_into_lists() -> None:
    """Unusual values in a list are flagged with their index."""
    contract = converter().structure(
        {"tokens": [{}, {"address": "x"}], "adminAddresses": ["x"]}, table.Operations.list_contracts.answer
    )

    assert {("tokens[0].address", "required"), ("tokens[1].address", "pattern"), ("adminAddresses[0]", "pattern")} <= {
        (flag.path, flag.rule) for flag in flags(contract)
    }


def test_problems_never_hold_the_value() -> None:
    """A problem contains path and rule, but not the value."""
    request = application(
        national_id="CANARY7331", email="CANARY7331", birth_date="CANARY7331", phone_number="CANARY7331"
    )

    assert len(problems(request)) == 4
    assert "CANARY" not in str(problems(request))
    assert isinstance(problems(request)[0], Problem)


def test_a_bound_is_said_with_its_unit() -> None:
    """The message about a limit states the unit."""
    (problem,) = problems(authorization(amount=0))

    assert str(problem) == "amount must be at least 1, in cents"


@pytest.mark.parametrize("text", ["Ada\0", "Ada\ud800"], ids=["NUL", "half of a pair"])
def test_what_cannot_be_sent_is_not_offered(text: str) -> None:
    """No remedy offers to allow a character that cannot be sent. Other characters keep their remedy."""
    assert cautions(authorization(merchant_name=text)) == ((), ())
    (refused,), _ = cautions(authorization(merchant_name=text + "\u202e"))

    assert "(U+202E)" in refused.message


def test_one_of_two_says_that_none_is_given() -> None:
    """The message states the rule only once."""
    messages = [one.message for one in problems(build(people.CreatePaymentAccount, {})) if one.rule == "one_of"]

    assert messages == ["Provide either userId or companyId; neither is given"]
