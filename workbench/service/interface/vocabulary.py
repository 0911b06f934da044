"""Values of enumerated members, spelled as in the interface document."""

from enum import StrEnum
from functools import lru_cache
from typing import Literal

from workbench.base.errors import advise

__all__ = [
    "ApplicationStatus",
    "CompletionReason",
    "DeclineReason",
    "DisputeStatus",
    "EventApplicationStatus",
    "SignatureStatus",
    "TransactionStatus",
]
"""Public names of this module in `workbench.records`: answers, event bodies, and their enums."""


class Word(StrEnum):
    """An enum value of the interface. Answers may contain other values, as plain text.

    A comparison with a misspelled value warns.
    """

    def __eq__(self, other: object) -> bool:
        if type(other) is str and (near := _misspelled(type(self), other)):
            advise(f"{other!r} is not a value of {type(self).__name__}; did you mean {near}?")
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


@lru_cache(1_000)
def _misspelled(enum: type[Word], text: str) -> str | None:
    from difflib import get_close_matches  # imported late, since only a failed comparison needs it

    by_case = {word.lower(): word.value for word in enum}
    if text in by_case.values():
        return None
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
    """Status of an application in `user.updated`: the statuses of answers, and three more.

    Source: Events, "user.updated".
    """

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
    PENDING = "pending"  # assumed: the document shows only `ready`


class TransactionStatus(Word):
    """Status of a simulated transaction. Source: Resources, "Simulated transaction result"."""

    AUTHORIZED = "authorized"
    DECLINED = "declined"
    SETTLED = "settled"


class CompletionReason(Word):
    """Completion reason of a transaction, case-insensitive. Source: Resources, "Simulated transaction result"."""

    SETTLEMENT = "SETTLEMENT"
    REFUND = "REFUND"

    @classmethod
    def _missing_(cls, value: object) -> "CompletionReason | None":
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


class DeclineReason(Word):
    """Decline reasons that a simulation accepts. Source: Resources, "Simulated transaction result"."""

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
    "account_credit_limit_exceeded",
    "card_locked",
    "card_canceled",
    "card_not_activated",
    "blocked_mcc",
    "blocked_merchant",
    "balance_inquiry_not_permitted",
    "expiry_mismatch",
    "cvv_mismatch",
    "invalid_pin",
    "restricted_country",
]
PaymentAccountTypeText = Literal["externalFiatAccount"]
DisputeUpdateStatusText = Literal["canceled"]
RewardTypeText = Literal["earned", "redeemed"]
"""Literal values accepted by requests; `tests/typing_api.py` and a test keep them equal to the enums."""


class PaymentAccountType(Word):
    """Kind of a payment account. Source: Resources, "Payment account"."""

    EXTERNAL_FIAT_ACCOUNT = "externalFiatAccount"


class BeneficiaryType(Word):
    """Type of a payment account's owner. Source: Resources, "Payment account"."""

    INDIVIDUAL = "individual"
    BUSINESS = "business"  # assumed: the document shows only `individual`


class DisputeStatus(Word):
    """Status of a dispute. A client can set only `canceled`. Source: Resources, "Dispute"."""

    PENDING = "pending"  # assumed: the document shows only `canceled`
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
    """Rail on which a micro deposit arrived. Source: Events, "microDeposit.received"."""

    ACH = "ach"
    WIRE = "wire"


class Role(StrEnum):
    """Documented roles of custom keys. Source: Authentication."""

    REWARDS_READ = "rewards:read"
    REWARDS_WRITE = "rewards:write"
    REWARDS_TRAVEL_READ = "rewards-travel:read"
    REWARDS_TRAVEL_WRITE = "rewards-travel:write"
    CONTRACTS_AND_SIGNATURES_READ = "contractsAndSignatures:read"
    CONTRACTS_AND_SIGNATURES_WRITE = "contractsAndSignatures:write"
