"""The enums, the named rules, the rules between fields and how records move, each stated once. Source: Resources, Limits."""

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from enum import Enum, StrEnum
from functools import lru_cache
from typing import Literal

import attrs

from workbench.errors import advise
from workbench.interface.fields import Reason, Rule

Number = int | Decimal
"""A JSON number, read exactly."""


class Full(Enum):
    """The full amount, stated explicitly: `amount=FULL` is sent by leaving the amount out."""

    FULL = "FULL"

    def __repr__(self) -> str:
        return "FULL"


FULL: Literal[Full.FULL] = Full.FULL


class Word(StrEnum):
    """A word of the interface. Answers may carry others, which stay text; a comparison with a misspelled one warns."""

    def __eq__(self, other: object) -> bool:
        if (
            type(other) is str
            and other not in type(self)._value2member_map_
            and (near := _misspelled(type(self), other))
        ):
            advise(f"{other!r} is no value of {type(self).__name__}; did you mean {near}?")
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


@lru_cache(1_000)
def _misspelled(enum: type[Word], text: str) -> str | None:
    from difflib import get_close_matches  # only where a comparison fails

    by_case = {word.lower(): word.value for word in enum}
    near = get_close_matches(text.lower(), by_case, 1, 0.85)
    return by_case[near[0]] if near else None


class ApplicationStatus(Word):
    """Status of an application in answers. Source: Resources, "User"."""

    APPROVED = "approved"
    PENDING = "pending"
    NEEDS_INFORMATION = "needsInformation"
    NEEDS_VERIFICATION = "needsVerification"
    MANUAL_REVIEW = "manualReview"
    DENIED = "denied"
    LOCKED = "locked"
    CANCELED = "canceled"


class EventApplicationStatus(Word):
    """Status of an application in `user.updated`: those of answers and three more. Source: Events, "user.updated"."""

    APPROVED = "approved"
    PENDING = "pending"
    NEEDS_INFORMATION = "needsInformation"
    NEEDS_VERIFICATION = "needsVerification"
    MANUAL_REVIEW = "manualReview"
    DENIED = "denied"
    LOCKED = "locked"
    CANCELED = "canceled"
    NOT_STARTED = "notStarted"
    EXEMPT = "exempt"
    TOS_NOT_ACCEPTED = "tosNotAccepted"


class StatusChangeReason(Word):
    """Source of a status change. Source: Events, "user.updated"."""

    PROVIDER_INITIATED = "provider_initiated"


class SignatureStatus(Word):
    """Whether a withdrawal signature is available. Source: Resources, "Withdrawal signature result"."""

    READY = "ready"
    PENDING = "pending"  # assumed: values other than ready are not shown


class TransactionStatus(Word):
    """Status of a simulated transaction. Source: Resources, "Simulated transaction result"."""

    AUTHORIZED = "authorized"
    DECLINED = "declined"
    SETTLED = "settled"


class CompletionReason(Word):
    """Why a simulated transaction is settled, read in any casing. Source: Resources, "Simulated transaction result"."""

    SETTLEMENT = "SETTLEMENT"
    REFUND = "REFUND"

    @classmethod
    def _missing_(cls, value: object) -> "CompletionReason | None":
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


class DeclineReason(Word):
    """Decline reasons a simulation can ask for. Source: Resources, "Simulated transaction result"."""

    ACCOUNT_CREDIT_LIMIT_EXCEEDED = "account_credit_limit_exceeded"
    CARD_LOCKED = "card_locked"
    CARD_CANCELED = "card_canceled"
    CARD_NOT_ACTIVATED = "card_not_activated"
    BLOCKED_MCC = "blocked_mcc"
    BLOCKED_MERCHANT = "blocked_merchant"
    BALANCE_INQUIRY_NOT_PERMITTED = "balance_inquiry_not_permitted"
    EXPIRY_MISMATCH = "expiry_mismatch"
    CVV_MISMATCH = "cvv_mismatch"
    INVALID_PIN = "invalid_pin"
    RESTRICTED_COUNTRY = "restricted_country"


DeclineReasonText = Literal[
    "account_credit_limit_exceeded", "card_locked", "card_canceled", "card_not_activated", "blocked_mcc", "blocked_merchant",
    "balance_inquiry_not_permitted", "expiry_mismatch", "cvv_mismatch", "invalid_pin", "restricted_country",
]  # fmt: skip
PaymentAccountTypeText = Literal["externalFiatAccount"]
DisputeUpdateStatusText = Literal["canceled"]
RewardTypeText = Literal["earned", "redeemed"]
"""The values that requests take as text; `tests/typing_api.py` and a test keep them equal to the enums."""


class PaymentAccountType(Word):
    """Kind of a payment account. Source: Resources, "Payment account"."""

    EXTERNAL_FIAT_ACCOUNT = "externalFiatAccount"


class BeneficiaryType(Word):
    """Who a payment account belongs to. Source: Resources, "Payment account"."""

    INDIVIDUAL = "individual"
    BUSINESS = "business"  # assumed: values other than individual are not shown


class DisputeStatus(Word):
    """Status of a dispute; a client sets only `canceled`. Source: Resources, "Dispute"."""

    PENDING = "pending"  # assumed: states other than canceled are not shown
    IN_REVIEW = "inReview"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    CANCELED = "canceled"


class DisputeUpdateStatus(Word):
    """The only status a client can set on a dispute. Source: Endpoints 10."""

    CANCELED = "canceled"


class RewardType(Word):
    """Whether points were earned or redeemed. Source: Resources, "Rewards activity item"."""

    EARNED = "earned"
    REDEEMED = "redeemed"


class MicroDepositRail(Word):
    """Rail a micro deposit arrived on. Source: Events, "microDeposit.received"."""

    ACH = "ach"
    WIRE = "wire"


class Role(StrEnum):
    """Roles of custom keys that the document names. Source: Authentication."""

    REWARDS_READ = "rewards:read"
    REWARDS_WRITE = "rewards:write"
    REWARDS_TRAVEL_READ = "rewards-travel:read"
    REWARDS_TRAVEL_WRITE = "rewards-travel:write"
    CONTRACTS_AND_SIGNATURES_READ = "contractsAndSignatures:read"
    CONTRACTS_AND_SIGNATURES_WRITE = "contractsAndSignatures:write"


ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def iso_day(text: str) -> date | None:
    """Return the day that text names as YYYY-MM-DD; None where it names none of the calendar."""
    try:
        return date.fromisoformat(text) if ISO_DAY.fullmatch(text) else None
    except ValueError:
        return None


UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")

_BLANK = r"\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
EMAIL_ADDRESS = re.compile(rf"[^@{_BLANK}]+@[^@{_BLANK}]+")

ID = Rule(format="uuid", says="a UUID, as 3f2a0b1c-…")
EVM_ADDRESS = Rule(pattern=r"^0x[0-9a-fA-F]{40}$", says="an EVM address: 0x and 40 hexadecimal digits")
SOLANA_ADDRESS = Rule(pattern=r"^[1-9A-HJ-NP-Za-km-z]{32,44}$", says="a Solana address: 32 to 44 base58 characters")
STELLAR_ADDRESS = Rule(
    pattern=r"^(?:[GC][A-Z2-7]{55}|M[A-Z2-7]{68})$",
    says="a Stellar address: G or C and 55, or M and 68, of the characters A-Z and 2-7",
)
WALLET = Rule(
    pattern=r"^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$",
    says="an EVM address (0x and 40 hexadecimal digits) or a Solana address (32 to 44 base58 characters)",
)
CHAIN_ADDRESS = Rule(
    pattern=r"^(?:0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44}|[GC][A-Z2-7]{55}|M[A-Z2-7]{68})$",
    says="an EVM, Solana or Stellar address",
)
ADDRESS_PATTERNS = frozenset(
    rule.pattern for rule in (EVM_ADDRESS, SOLANA_ADDRESS, STELLAR_ADDRESS, WALLET, CHAIN_ADDRESS)
)
CENTS = Rule(minimum=0, unit="cents")
MOMENT = Rule(format="date-time")
PERSON_NAME = Rule(max_length=50, format="name")
EMAIL = Rule(format="email")
COUNTRY = Rule(min_length=2, max_length=2)
SSN = r"^[0-9]{9}$"
PHONE_COUNTRY_CODE = Rule(min_length=1, max_length=3, pattern=r"^[0-9]+$", says="digits only")
PHONE_NUMBER = Rule(min_length=1, max_length=15, pattern=r"^[0-9]+$", says="digits only", format="phone")
EXTERNAL_ID = Rule(min_length=1, max_length=255)
SOURCE_KEY = Rule(min_length=1, max_length=24)
NICKNAME = Rule(max_length=64)
ACCOUNT_NUMBER = Rule(format="account-number")
TEXT_EVIDENCE = Rule(max_length=65535, format="long-text")
DIGITS = Rule(pattern=r"^[0-9]+$", max_length=78, says='whole digits as text, as "2500"')

# rules that bind several fields of one record, as data: checks, OpenAPI and forms read them alike

Names = tuple[str, ...]


@attrs.frozen
class OneOf:
    """Exactly one of these groups of fields is given, and it is given whole."""

    groups: tuple[Names, ...]
    doc: str
    assumed: Reason | None = None


@attrs.frozen
class When:
    """Where a field has a value, others are needed, or have to fit a pattern."""

    name: str
    value: str
    doc: str
    needs: Names = ()
    pattern: tuple[str, str, str] | None = None  # field, pattern, the pattern in words
    assumed: Reason | None = None


CrossRule = OneOf | When


@attrs.frozen
class Transition:
    """Where an action leads, and the event it sends. `to` is None where the action itself says where."""

    to: str | None
    emits: str | None = None


Table = Mapping[tuple[str, str], Transition]
"""How records move: (status, action) -> Transition, and nothing else moves them.

Given by the document: a transaction is authorized, declined or settled; an open authorization can be reversed, a settled
transaction refunded; `tosNotAccepted` becomes `approved` when the terms are accepted; an application goes through review
once created; a dispute can be set to `canceled` alone.
Assumed, since transitions are not shown: everything else here. A wholly reversed authorization has a status of its own
inside the sandbox (`reversed`); reviews may take an application from any status to any other; cards and disputes have the
states that public clients of the interface know.
"""

TRANSACTION: Table = {
    ("", "authorize"): Transition("authorized", "transaction.created"),
    ("", "decline"): Transition("declined", "transaction.created"),
    ("authorized", "reduce"): Transition("authorized", "transaction.updated"),
    ("authorized", "reverse"): Transition("reversed", "transaction.updated"),
    ("authorized", "settle"): Transition("settled", "transaction.completed"),
    ("settled", "refund"): Transition("settled", "transaction.completed"),
}

_EVERY = tuple(EventApplicationStatus)

APPLICATION: Table = {
    # to `pending`, or immediately to the status in its last name
    ("", "file"): Transition(None, "user.updated"),
    ("notStarted", "file"): Transition(None, "user.updated"),
    ("pending", "conclude"): Transition(None, "user.updated"),
    ("tosNotAccepted", "accept_terms"): Transition("approved", "user.updated"),
    **{(status, "review"): Transition(None, "user.updated") for status in ("", *_EVERY)},
    **{(status, "reapply"): Transition(None, "user.updated") for status in _EVERY},
}

CARD: Table = {
    ("notActivated", "activate"): Transition("active", "card.updated"),
    ("active", "lock"): Transition("locked", "card.updated"),
    ("locked", "unlock"): Transition("active", "card.updated"),
    **{(status, "cancel"): Transition("canceled", "card.updated") for status in ("notActivated", "active", "locked")},
}

_OPEN = (DisputeStatus.PENDING, DisputeStatus.IN_REVIEW)
DISPUTE: Table = {
    ("", "open"): Transition("pending"),
    ("pending", "review"): Transition("inReview"),
    **{(status, "accept"): Transition("accepted") for status in _OPEN},
    **{(status, "reject"): Transition("rejected") for status in _OPEN},
    **{(status, "cancel"): Transition("canceled") for status in _OPEN},
    **{(status, "add_evidence"): Transition(status) for status in _OPEN},
}
