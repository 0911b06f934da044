"""Fictitious example records that match the declarations, for documents, samples and skeletons."""

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, TypeVar
from uuid import NAMESPACE_URL, uuid5

import attrs

from workbench.base.schema import walk
from workbench.base.schema.fields import Answer
from workbench.base.schema.rules import OneOf
from workbench.base.schema.walk import Member, build, cross_rules, members, snake
from workbench.service.interface.events import EventKind
from workbench.service.interface.formats import EVM_ADDRESS, SOLANA_ADDRESS, STELLAR_ADDRESS

T = TypeVar("T")
TIME = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
EVM = "0x52908400098527886E0F7030069857D2E4169EE7"
_STREET = "12 Example Street"
_VALUES: Mapping[str, Any] = {
    # people
    "first_name": "Ada",
    "last_name": "Example",
    "email": "ada@example.com",
    "national_id": "900000001",
    "country_of_issue": "US",
    "phone_country_code": "1",
    "phone_number": "5550142",
    "ip_address": "203.0.113.10",
    "occupation": "teacher",
    "annual_salary": "50000",
    "account_purpose": "everyday spending",
    "expected_monthly_volume": "1000",
    "external_id": "customer-1",
    "source_key": "web",
    "application_reason": "",
    "user_first_name": "Ada",
    "user_last_name": "Example",
    "user_email": "ada@example.com",
    "name": "Example Company",
    "url": "https://example.com/application",
    "signature": "5d41402abc4b2a76",
    "line1": _STREET,
    "address_line1": _STREET,
    "city": "Springfield",
    "region": "IL",
    "postal_code": "62701",
    "country_code": "US",
    "country": "United States",
    "line2": "Apt 4",
    "address_line2": "Apt 4",
    "sumsub_share_token": "share-token",
    "sumsub_share_token_mode": "default",
    "persona_share_token": "share-token",
    # bank accounts
    "nickname": "Main account",
    "beneficiary_first_name": "Ada",
    "beneficiary_last_name": "Example",
    "currency": "usd",
    "beneficiary_business_name": "Example Company",
    "beneficiary_name": "Ada Example",
    "account_details.beneficiary_address": _STREET,
    "bank_name": "Example Bank",
    "beneficiary_bank_name": "Example Bank",
    "beneficiary_bank_address": _STREET,
    "account_number": "000123456789",
    "routing_number": "000000000",
    "rail": "ach",
    "bank_account_type": "checking",
    "third_party": False,
    # transactions and cards
    "amount": 1250,
    "authorized_amount": 1250,
    "local_amount": 1250,
    "card_limit.amount": 100_000,
    "new_amount": 500,
    "simulate_authorization.currency": "USD",
    "local_currency": "usd",
    "authorization_method": "Online",
    "merchant_name": "Example Books",
    "merchant_category": "Book stores",
    "merchant_category_code": "5942",
    "spend.declined_reason": "card locked",
    "spend.completion_reason": "SETTLEMENT",
    "merchant_city": "Springfield",
    "merchant_country": "US",
    "card_type": "virtual",
    "transaction_changed.type": "spend",
    "spend.status": "pending",
    "card_updated.type": "virtual",
    "card_updated.status": "active",
    "frequency": "perMonth",
    "last4": "4242",
    "expiration_month": "12",
    "expiration_year": "2030",
    "text_evidence": "The goods never arrived.",
    # contracts and withdrawals
    "chain_id": 84532,
    "withdrawal_signature.chain_id": "0x14a34",
    "token": EVM,
    "sender": EVM,
    "contract_version": 2,
    "balance": "1250.50",
    "exchange_rate": Decimal(1),
    "advance_rate": Decimal(100),
    "sign_withdrawal.amount": "2500",
    "is_amount_native": False,
    "data": f"0x{'1b' * 65}",
    "salt": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    # rewards and deposits
    "rewards_item.id": "rwd_1",
    "points": Decimal(12),
    "reason": "CARD_SPEND",
    "rewards_item.status": "COMPLETED",
    "transaction_amount_cents": 1250,
    "spend_category": "shopping",
    "limit": 20,
    "offset": 0,
    "micro_deposit_received.amount": Decimal("0.32"),
    "description": "ACCTVERIFY",
    "originator_name": "Example Bank",
    "reference_id": "021000020000001",
}
"""Example values by attribute, or by record and attribute if a record needs another value."""
_SELDOM = frozenset(
    {
        "address_line2",
        "line2",
        "country",
        "company_id",
        "application_external_verification_link",
        "application_completion_link",
        "beneficiary_business_name",
        "program_address",
        "onramp",
        "declined_reason",
        "completion_reason",
        "authorization_update_amount",
        "previously_authorized_amount",
        "spend.posted_at",
        "status_change_reason",
        "retry_after",
        "sender",
        "parameters",
        "withdrawal_signature.chain_id",
        "resolved_at",
        "stellar_address",
        "solana_address",
    }
)
"""Members that answers have only in special cases."""
_ADDRESSES = {
    EVM_ADDRESS.pattern: EVM,
    SOLANA_ADDRESS.pattern: "So11111111111111111111111111111111111111112",
    STELLAR_ADDRESS.pattern: "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ",
}


def example(cls: type[T], **given: object) -> T:
    """Return a record with example values. A request has the required members, and an answer has the usual members.

    Args:
        given: Values that replace the examples, by attribute name.
    """
    usual = [member for member in members(cls) if _SELDOM.isdisjoint(_keys(cls, member))]
    wanted = usual if issubclass(cls, Answer) else _needed(cls)
    values = {member.name: example_of(cls, member) for member in wanted}
    record: T = build(cls, {**values, **given})
    return record


def event_body(kind: EventKind, *, also: Collection[str] = ()) -> Any:
    """Return an example event body, with the members that every event of this kind has.

    Args:
        also: Wire paths of optional members to include.
    """
    left_out = (kind.never | kind.optional) - frozenset(also)

    def built(cls: type[Any], prefix: str) -> Any:
        values = {}
        for member in members(cls):
            path = f"{prefix}{member.wire}"
            if path in left_out:
                continue
            inner = walk.record_of(member.kind)
            value = kind.usual.get(path)
            if value is None:
                value = example_of(cls, member) if inner is None else built(inner, f"{path}.")
            values[member.name] = value
        return build(cls, values)

    return built(kind.body, "")


def _needed(cls: type[Any]) -> list[Member]:
    """Return the required members of a request; if they are only ids, also the first three optional members."""
    groups = [max(rule.groups, key=len) for rule in cross_rules(cls) if isinstance(rule, OneOf)]
    needed = [member for member in members(cls) if member.required or any(member.name in group for group in groups)]
    if all(member.name.endswith("_id") for member in needed):
        needed += [member for member in members(cls) if member not in needed][:3]
    return needed


def _keys(cls: type[Any], member: Member) -> tuple[str, str]:
    return f"{snake(cls.__name__)}.{member.name}", member.name


def example_of(cls: type[Any], member: Member) -> Any:
    """Return an example value of a member."""
    kind = member.kind
    known = next((_VALUES[key] for key in _keys(cls, member) if key in _VALUES), None)
    if known is not None and not isinstance(kind, walk.Nested):
        return kind.of(known) if isinstance(kind, walk.Choice) else known
    rule = member.about.rule
    match kind:
        case walk.Nested(of=inner):
            return example(inner)
        case walk.Array(of=inner_kind):
            return (example_of(cls, attrs.evolve(member, kind=inner_kind)),)
        case walk.Choice(of=enum):
            return next(iter(enum))
        case walk.Boolean():
            return True
        case walk.DateTime():
            return TIME
        case walk.Date():
            return date(1990, 2, 1)
        case walk.DecimalNumber() | walk.Numeric():
            return Decimal(1)
    if rule.format == "uuid" or member.name == "id" or member.name.endswith("_id"):
        return str(uuid5(NAMESPACE_URL, f"{cls.__name__}.{member.name}"))
    return _ADDRESSES.get(rule.pattern, EVM) if rule.pattern else "text"
