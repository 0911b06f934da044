"""The values of enumerated members, as the interface document names them."""

from enum import StrEnum


class ApplicationStatus(StrEnum):
    """Status of an application in answers. Source: Resources, "User"."""

    APPROVED = "approved"
    PENDING = "pending"
    NEEDS_INFORMATION = "needsInformation"
    NEEDS_VERIFICATION = "needsVerification"
    MANUAL_REVIEW = "manualReview"
    DENIED = "denied"
    LOCKED = "locked"
    CANCELED = "canceled"


class EventApplicationStatus(StrEnum):
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


class StatusChangeReason(StrEnum):
    """Source of a status change. Source: Events, "user.updated"."""

    PROVIDER_INITIATED = "provider_initiated"


class SignatureStatus(StrEnum):
    """Whether a withdrawal signature is available. Source: Resources, "Withdrawal signature result"."""

    READY = "ready"
    PENDING = "pending"  # assumed: values other than ready are not shown


class TransactionStatus(StrEnum):
    """Status of a simulated transaction. Source: Resources, "Simulated transaction result"."""

    AUTHORIZED = "authorized"
    DECLINED = "declined"
    SETTLED = "settled"


class CompletionReason(StrEnum):
    """Why a simulated transaction is settled, read in any casing. Source: Resources, "Simulated transaction result"."""

    SETTLEMENT = "SETTLEMENT"
    REFUND = "REFUND"

    @classmethod
    def _missing_(cls, value: object) -> "CompletionReason | None":
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


class DeclineReason(StrEnum):
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


class PaymentAccountType(StrEnum):
    """Kind of a payment account. Source: Resources, "Payment account"."""

    EXTERNAL_FIAT_ACCOUNT = "externalFiatAccount"


class BeneficiaryType(StrEnum):
    """Who a payment account belongs to. Source: Resources, "Payment account"."""

    INDIVIDUAL = "individual"
    BUSINESS = "business"  # assumed: values other than individual are not shown


class DisputeStatus(StrEnum):
    """Status of a dispute; a client sets only `canceled`. Source: Resources, "Dispute"."""

    PENDING = "pending"  # assumed: states other than canceled are not shown
    IN_REVIEW = "inReview"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    CANCELED = "canceled"


class DisputeUpdateStatus(StrEnum):
    """The only status a client can set on a dispute. Source: Endpoints 10."""

    CANCELED = "canceled"


class RewardType(StrEnum):
    """Whether points were earned or redeemed. Source: Resources, "Rewards activity item"."""

    EARNED = "earned"
    REDEEMED = "redeemed"


class MicroDepositRail(StrEnum):
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
