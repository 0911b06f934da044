"""Values that people enter: which are sent, refused, or sent with a warning."""

from decimal import Decimal
from typing import Any

import pytest

from tests.client.doubles import CARD, PURCHASE, Service, client_on
from tests.client.test_wire import EFFECTS, EVM
from tests.each import each
from workbench.base.errors import AdviceWarning, InvalidRequest
from workbench.base.schema import walk
from workbench.service.interface.table import OPERATIONS

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    # wrong types, and values that are out of range or not plain digits
    ("simulate_refund", {"amount": Decimal("10.5")}, "amount"),
    ("simulate_refund", {"amount": ""}, "amount"),
    ("simulate_refund", {"amount": float("nan")}, "write FULL"),
    ("simulate_refund", {"amount": None}, "write FULL"),
    ("simulate_reversal", {"new_amount": None}, "write FULL"),
    ("update_user", {"is_active": "False"}, "is_active must be true or false"),
    ("update_user", {"is_active": 0}, "is_active"),
    ("sign_withdrawal", {"chain_id": True}, "chain_id"),
    ("sign_withdrawal", {"chain_id": "0x1"}, "chain_id"),
    ("sign_withdrawal", {"chain_id": 0}, "chain_id"),
    ("sign_withdrawal", {"chain_id": -1}, "chain_id"),
    ("sign_withdrawal", {"chain_id": 1.0}, "chain_id"),
    ("sign_withdrawal", {"amount": 2500}, "amount"),
    ("sign_withdrawal", {"amount": "1e3"}, "amount"),
    ("sign_withdrawal", {"amount": "١٠"}, "amount"),
    ("sign_withdrawal", {"amount": "-1"}, "amount"),
    # the unit is required
    ("sign_withdrawal", {"is_amount_native": None}, "is missing; pass true or false"),
    # patterns match the entire value
    ("sign_withdrawal", {"recipient_address": EVM + "\n"}, "recipient_address"),
    ("update_user", {"wallet_address": EVM.replace("0x", "0X")}, "wallet_address"),
    ("update_user", {"wallet_address": "example.eth"}, "wallet_address"),
    # limits in characters
    ("update_user", {"first_name": "x" * 51}, "first_name"),
    ("update_user", {"phone_country_code": "1234"}, "phone_country_code"),
    ("update_user", {"phone_number": "+15550100"}, "phone_number"),
    ("update_user", {"external_id": ""}, "external_id"),
    ("update_user", {"external_id": "x" * 256}, "external_id"),
    ("update_dispute", {"text_evidence": "x" * 65536}, "text_evidence"),
    ("create_payment_account", {"nickname": "x" * 65}, "nickname"),
    # dates
    ("update_ubo", {"birth_date": "01/02/1990"}, "YYYY-MM-DD"),
    ("update_ubo", {"birth_date": "1990-02-29"}, "calendar"),
    ("update_ubo", {"birth_date": 32874}, "birth_date"),
    ("update_ubo", {"birth_date": "90-02-01"}, "birth_date"),
    # national id and country of issue
    ("update_ubo", {"national_id": "000-12-3456", "country_of_issue": "US"}, "national_id"),
    ("update_ubo", {"national_id": "12345678", "country_of_issue": "US"}, "national_id"),
    ("update_ubo", {"country_of_issue": "USA"}, "country_of_issue"),
    # a payment account has exactly one owner
    ("create_payment_account", {"company_id": CARD}, "Provide either user_id or company_id"),
    ("create_payment_account", {"user_id": None}, "Provide either user_id or company_id"),
    # enum values outside the documented list are not sent
    ("update_dispute", {"status": "accepted"}, "status"),
    ("simulate_authorization", {"decline_reason": "because"}, "decline_reason"),
    # the IP address is required
    ("create_user_application", {"ip_address": None}, "ip_address"),
    ("create_user_application", {"ip_address": "localhost"}, "ip_address"),
]


@each("name, change, words", REFUSED, ids=map(str, range(len(REFUSED))))
def test_refused(name: str, change: dict[str, Any], words: str) -> None:
    """A value that breaks a rule is refused by path and rule before anything is sent."""
    service = Service({"id": CARD, "status": "x"})
    with pytest.raises(InvalidRequest, match=words):
        getattr(client_on(service), name)(**{**EFFECTS[name], **change})

    assert service.count == 0


WARNED: list[tuple[str, dict[str, Any], str]] = [
    ("update_ubo", {"country_of_issue": "us"}, "capitals, US"),
    ("create_user_application", {"ip_address": "192.168.1.7"}, "not a public address"),
    ("create_user_application", {"ip_address": "127.0.0.1"}, "not a public address"),
    ("simulate_authorization", {"merchant_category_code": "742"}, "four digits"),
    ("simulate_authorization", {"currency": "US"}, "three letters"),
    ("update_user", {"first_name": "👩" * 30}, "UTF-16"),
]


@each("name, change, words", WARNED, ids=map(str, range(len(WARNED))))
def test_warned(name: str, change: dict[str, Any], words: str) -> None:
    """An unusual value is sent unchanged, with a warning."""
    service = Service({"id": CARD, "status": "x"})
    with pytest.warns(AdviceWarning, match=words):
        getattr(client_on(service), name)(**{**EFFECTS[name], **change})

    assert service.count == 1


SENT: list[tuple[str, dict[str, Any], bytes]] = [
    ("simulate_authorization", {"merchant_category_code": "0742"}, b'"merchantCategoryCode":"0742"'),
    ("simulate_authorization", {"currency": "usd"}, b'"currency":"usd"'),
    ("simulate_authorization", {"merchant_name": " Null "}, b'"merchantName":" Null "'),
    ("update_user", {"first_name": "x" * 50}, b"x" * 50),
    ("update_user", {"first_name": "é" * 50}, "é".encode() * 50),
    ("update_ubo", {"birth_date": "2000-02-29"}, b'"birthDate":"2000-02-29"'),
    ("update_dispute", {"text_evidence": "x" * 65535, "status": None}, b"x" * 65535),
    ("create_user_application", {"is_terms_of_service_accepted": False}, b'"isTermsOfServiceAccepted":false'),
]


@each("name, change, part", SENT, ids=map(str, range(len(SENT))))
def test_sent(name: str, change: dict[str, Any], part: bytes) -> None:
    """A valid value is sent unchanged: not padded, truncated, recased or corrected."""
    service = Service({"id": CARD, "status": "x"})
    getattr(client_on(service), name)(**{**EFFECTS[name], **change})

    assert part in service.requests[0].content


def test_several_purchases_differ_only_where_given() -> None:
    """A call sends exactly the given members, by their wire names."""
    service = Service({"status": "authorized"})
    client_on(service).simulate_authorization(**PURCHASE)

    assert service.requests[0].content == (
        b'{"cardId":"' + CARD.encode() + b'","amount":1250,"currency":"USD","merchantName":"Corner Grocery",'
        b'"merchantCategoryCode":"5411"}'
    )


@each("name", OPERATIONS)
def test_all_missing_arguments_are_named(name: str) -> None:
    """One error names all missing arguments before anything is sent."""
    required = {field.wire for field in walk.members(OPERATIONS[name].request) if field.required}
    service = Service()
    client = client_on(service)
    if required:
        with pytest.raises(InvalidRequest) as caught:
            getattr(client, name)()
        assert required <= {problem.path.partition(".")[0] for problem in caught.value.problems}

    assert service.requests == []
