"""The private values to plant. Each is so unusual that it does not occur anywhere by chance."""

from collections.abc import Iterable
from typing import Any

PLANTED: dict[str, str] = {
    "api key": "zq-api-key-7731",
    "webhook key": "zq-webhook-key-7731",
    # an application
    "first name": "Zqfirst",
    "last name": "Zqlast",
    "birth date": "1917-03-29",
    "national id": "000771293",
    "email": "zqmail",
    "phone": "5550137",
    "street": "Zqstreet",
    "second line": "Zqfloor",
    "postal code": "zq77-31",
    "ip address": "203.0.113.177",
    "occupation": "Zqoccupation",
    "salary": "662483779131",
    "share token": "zq-sumsub-token",
    "other share token": "zq-persona-token",
    # update of a user
    "new first name": "Zqfore",
    "new last name": "Zqafter",
    "new email": "zqpost",
    "new phone": "5550173",
    "new street": "Zqroad",
    "new postal code": "zq88-31",
    # an owner
    "owner's first name": "Zqowner",
    "owner's last name": "Zqholder",
    "owner's birth date": "1919-11-23",
    "owner's national id": "900771293",
    "owner's email": "zqboss",
    "owner's street": "Zqlane",
    # payment account
    "account number": "000773129731",
    "beneficiary's first name": "Zqben",
    "beneficiary's last name": "Zqeficiary",
    "beneficiary's street": "Zqavenue",
    "business": "Zqbusiness",
    # a dispute
    "evidence": "Zqevidence",
    # events
    "originator": "Zqoriginator",
    "memo": "ZQMEMO",
    "trial amount": "1.77312991",
    "link": "zq-page",
    "link signature": "zq-link-signature",
    "cardholder's first name": "Zqcard",
    "cardholder's last name": "Zqbearer",
    "cardholder's email": "zqpayer",
    "unknown member": "zq-unknown-member",
    # values that must not occur anywhere
    "private key": "7731" * 16,
    "seed phrase": "zqlegal winner thank",
}
"""Planted values: the name of each, and the text to search for."""

_DATES = {"1917-03-29": "date(1917, 3, 29)", "1919-11-23": "date(1919, 11, 23)"}

PERSON: dict[str, Any] = {
    "first_name": "Zqfirst", "last_name": "Zqlast", "birth_date": "1917-03-29", "national_id": "000771293",
    "country_of_issue": "US", "email": "zqmail@example.com", "phone_country_code": "1", "phone_number": "5550137",
    "address": {
        "line1": "1 Zqstreet", "line2": "Zqfloor 2", "city": "Springfield", "region": "IL", "postal_code": "zq77-31",
        "country_code": "US",
    },
    "ip_address": "203.0.113.177", "occupation": "Zqoccupation", "annual_salary": "662483779131",
    "account_purpose": "everyday spending", "expected_monthly_volume": "500", "is_terms_of_service_accepted": True,
}  # fmt: skip
CHANGES: dict[str, Any] = {
    "first_name": "Zqfore", "last_name": "Zqafter", "email": "zqpost@example.com", "phone_country_code": "1",
    "phone_number": "5550173",
    "address": {
        "line1": "2 Zqroad", "city": "Springfield", "region": "IL", "postal_code": "zq88-31", "country_code": "US",
    },
}  # fmt: skip
OWNER: dict[str, Any] = {
    "first_name": "Zqowner", "last_name": "Zqholder", "birth_date": "1919-11-23", "national_id": "900771293",
    "country_of_issue": "US", "email": "zqboss@example.com",
    "address": {"line1": "3 Zqlane", "city": "Springfield", "region": "IL", "postal_code": "10001", "country_code": "US"},
}  # fmt: skip
_BANK = {
    "currency": "usd", "bank_name": "Example Bank", "account_number": "000773129731", "routing_number": "021000021",
    "beneficiary_address": {
        "address_line1": "4 Zqavenue", "city": "Springfield", "region": "NY", "postal_code": "10001",
        "country_code": "US",
    },
}  # fmt: skip
ACCOUNT: dict[str, Any] = {
    "type": "externalFiatAccount",
    "external_fiat_account": {
        "beneficiary_type": "individual", "beneficiary_first_name": "Zqben", "beneficiary_last_name": "Zqeficiary",
        **_BANK,
    },
}  # fmt: skip
BUSINESS: dict[str, Any] = {
    "type": "externalFiatAccount",
    "external_fiat_account": {"beneficiary_type": "business", "beneficiary_business_name": "Zqbusiness Ltd", **_BANK},
}
LINK = {"url": "https://example.com/zq-page", "params": {"signature": "zq-link-signature"}}


PHRASE = "zqlegal winner thank year wave sausage worth useful legal winner thank yellow"


def found(text: str | bytes, more: Iterable[str] = ()) -> list[str]:
    """Return the names of the planted values, and the values of `more`, that occur in a text or in bytes."""
    told = (text if isinstance(text, str) else text.decode("latin-1")).lower()
    needles = {**PLANTED, **{one: one for one in more}, **{f"{one} as a date": text for one, text in _DATES.items()}}
    return [name for name, needle in needles.items() if needle.lower() in told]
