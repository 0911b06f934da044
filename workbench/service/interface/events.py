"""Webhook events. Source: Events. The document shows no transaction and card events, so they are assumed."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import attrs

from workbench.base.frozen import frozen
from workbench.base.schema.fields import PERSONAL, SECRET, WIDELY, Answer, Reason, about, record
from workbench.service.interface.formats import EMAIL, ID, MOMENT, PERSON_NAME
from workbench.service.interface.people import Link
from workbench.service.interface.vocabulary import EventApplicationStatus, MicroDepositRail, StatusChangeReason

__all__ = [
    "AnyEvent",
    "CardUpdated",
    "Event",
    "MicroDepositReceived",
    "Spend",
    "TransactionChanged",
    "UserUpdated",
]
"""Public names of this module in `workbench.records`: answers, event bodies, and their enums."""

KINDS = Reason("the document shows no kinds of transaction events", WIDELY, "event")
CARD_FIELDS = Reason("the document shows no fields of the card record", WIDELY, "event")
MINIMUM_DEPOSIT = Decimal("2.00")
"""Minimum deposit in USD. A smaller deposit is not processed and sends `microDeposit.received`. Source: Limits."""


@record
class UserUpdated(Answer):
    """A user's compliance status changed. Source: Events, "user.updated"."""

    id: str = about("User id")
    first_name: str | None = about("First name", PERSON_NAME, default=None, needed=True, privacy=PERSONAL)
    last_name: str | None = about("Last name", PERSON_NAME, default=None, privacy=PERSONAL)
    email: str | None = about("Email address", EMAIL, default=None, needed=True, privacy=PERSONAL)
    is_active: bool | None = about("Whether the user is active", default=None, needed=True)
    is_terms_of_service_accepted: bool | None = about(
        "Whether the user accepted the terms of service", default=None, needed=True
    )
    company_id: str | None = about("Id of the company, for corporate users", ID, default=None)
    application_status: EventApplicationStatus | str | None = about(
        "Status of the application", default=None, needed=True
    )
    application_completion_link: Link | None = about("Link to the completion page", default=None)
    application_external_verification_link: Link | None = about(
        "Deprecated in favor of applicationCompletionLink", default=None
    )
    application_reason: str | None = about(
        "Comma-separated rejection labels; empty if there are none", default=None, needed=True
    )
    status_change_reason: StatusChangeReason | str | None = about(
        "Source of the status change, if one is recorded", default=None
    )


@record
class MicroDepositReceived(Answer):
    """A deposit below the minimum arrived on a payment route. Source: Events, "microDeposit.received"."""

    id: str = about("Id of the micro deposit")
    payment_route_id: str | None = about("Id of the payment route that received the deposit", default=None, needed=True)
    user_id: str | None = about("Id of the user, for consumer accounts", default=None)
    company_id: str | None = about("Id of the company, for corporate accounts", default=None)
    amount: Decimal | None = about(
        "Amount of the deposit; it can prove ownership of an account",
        format="decimal",
        unit="USD",
        default=None,
        needed=True,
        privacy=SECRET,
    )
    currency: str | None = about("Always usd", default=None, needed=True)
    rail: MicroDepositRail | str | None = about("Payment rail of the deposit", default=None, needed=True)
    description: str | None = about("Bank memo; ACCTVERIFY for trial deposits", default=None, privacy=SECRET)
    originator_name: str | None = about("Sender of the deposit", default=None, format="name", privacy=PERSONAL)
    reference_id: str | None = about("ACH trace number, or IMAD for a wire", default=None)
    received_at: datetime | None = about("When the deposit arrived", MOMENT, default=None, needed=True)


@record
class Spend(Answer):
    """A card transaction of type spend, in an event. Assumed: the record is undocumented."""

    assumed: ClassVar = KINDS

    amount: int | None = about(
        "Requested, held or settled amount; 0 after a full reversal; negative for a refund",
        unit="cents",
        default=None,
    )
    authorized_amount: int | None = about(
        "Authorized amount; after a reversal, the amount still held; for a refund, the negative refund amount",
        unit="cents",
        default=None,
    )
    previously_authorized_amount: int | None = about(
        "Amount that was authorized before this request, if any; only in transaction.requested",
        unit="cents",
        default=None,
    )
    authorization_update_amount: int | None = about(
        "Change in the hold, negative for a reversal; `amount` is already the new total", unit="cents", default=None
    )
    currency: str | None = about("Currency of the amounts, in lower case, such as usd", default=None)
    local_amount: int | None = about("Amount in the merchant's currency", unit="cents", default=None)
    local_currency: str | None = about("Merchant's currency, in lower case", default=None)
    authorization_method: str | None = about("How the card was presented, such as online", default=None)
    merchant_name: str | None = about("Merchant name", default=None)
    merchant_category: str | None = about("Name of the merchant category", default=None)
    merchant_category_code: str | None = about("Merchant category code, four digits", default=None)
    merchant_city: str | None = about("Merchant's city", default=None)
    merchant_country: str | None = about("Merchant's country, two letters", default=None)
    card_id: str | None = about("Card", ID, default=None)
    card_type: str | None = about("Card type, such as virtual", default=None)
    user_id: str | None = about("Cardholder", ID, default=None)
    user_first_name: str | None = about("Cardholder's first name", PERSON_NAME, default=None, privacy=PERSONAL)
    user_last_name: str | None = about("Cardholder's last name", PERSON_NAME, default=None, privacy=PERSONAL)
    user_email: str | None = about("Cardholder's email address", EMAIL, default=None, privacy=PERSONAL)
    status: str | None = about("pending, reversed, declined or completed", default=None)
    declined_reason: str | None = about("Reason for the decline, as text", default=None)
    completion_reason: str | None = about(
        "Reason for the completion; only in events of version 1.1.0 or later", default=None
    )
    authorized_at: datetime | None = about("Time of the merchant's request", MOMENT, default=None)
    posted_at: datetime | None = about("Time of posting; missing until the transaction is posted", MOMENT, default=None)


@record
class TransactionChanged(Answer):
    """A card transaction was requested, created, updated or completed. Assumed: the record is undocumented."""

    assumed: ClassVar = KINDS

    id: str = about("Transaction id", ID)
    type: str | None = about("Kind of transaction, such as spend", default=None)
    spend: Spend | None = about("The spend", default=None)


@record
class CardLimit(Answer):
    """Spending limit of a card. Assumed."""

    assumed: ClassVar = CARD_FIELDS

    amount: int | None = about("Spending limit", unit="cents", default=None)
    frequency: str | None = about("Period of the limit", default=None)


@record
class CardUpdated(Answer):
    """A card was updated. Assumed: the record is undocumented."""

    assumed: ClassVar = CARD_FIELDS

    id: str = about("Card id", ID)
    user_id: str | None = about("Cardholder", ID, default=None)
    type: str | None = about("Card type, such as virtual", default=None)
    status: str | None = about("notActivated, active, locked or canceled", default=None)
    limit: CardLimit | None = about("Spending limit", default=None)
    last4: str | None = about("Last four digits", default=None)
    expiration_month: str | None = about("Month of expiry", default=None)
    expiration_year: str | None = about("Year of expiry", default=None)


EventBody = UserUpdated | MicroDepositReceived | TransactionChanged | CardUpdated | Mapping[str, Any]
"""Body of an event. A known kind has a record, and an unknown kind has the members as received."""

UserKind = Literal["user.updated"]
DepositKind = Literal["microDeposit.received"]
TransactionKind = Literal[
    "transaction.requested", "transaction.created", "transaction.updated", "transaction.completed"
]
CardKind = Literal["card.updated"]
"""Names of event kinds, with one type for each class of body."""
KindPattern = Literal["*", "user.*", "microDeposit.*", "transaction.*", "card.*", "*.updated"]
"""Patterns of event kinds. `*` also matches undocumented kinds."""

if TYPE_CHECKING:
    from typing import Generic

    from typing_extensions import TypeVar

    Body = TypeVar("Body", bound=EventBody, default=EventBody, covariant=True)
    Kind = TypeVar("Kind", bound=str, default=str, covariant=True)
else:  # at run time, type parameters have no effect

    class Generic:
        """Base class of generic classes whose type parameters exist only for type checkers."""

        __slots__ = ()

        def __class_getitem__(cls, parameters: object) -> type:
            return cls

    Body, Kind = EventBody, str


@record
class Event(Answer, Generic[Body, Kind]):
    """A webhook event in its envelope. Source: Events, common envelope.

    `body` is a record for a known kind, and otherwise the members as received. For type checkers, `Event[UserUpdated]`
    is an event with this type of body, and a comparison of `kind` narrows the body of an `AnyEvent`.
    """

    id: str = about("Webhook id")
    resource: str = about("Resource name")
    action: str = about("Action name")
    version: str | None = about("Webhook version", default=None, needed=True)
    event_received_at: datetime | None = about("When the event was received", MOMENT, default=None)
    body: Body = about("Event payload", privacy=PERSONAL)

    @property
    def kind(self) -> Kind:
        """Resource and action, such as `user.updated`."""
        return f"{self.resource}.{self.action}"  # type: ignore[return-value]


UserEvent = Event[UserUpdated, UserKind]
DepositEvent = Event[MicroDepositReceived, DepositKind]
TransactionEvent = Event[TransactionChanged, TransactionKind]
CardEvent = Event[CardUpdated, CardKind]
AnyEvent = UserEvent | DepositEvent | TransactionEvent | CardEvent | Event[Mapping[str, Any], Literal["other"]]
"""An event of any kind. After `if event.kind == "user.updated":` the body is a `UserUpdated`.

For type checkers the kind of an undocumented event is "other". To test for such a kind, compare `str(event.kind)`.
"""


@frozen
class EventKind:
    """A kind of event, with the type of its body and the condition under which it is sent."""

    resource: str
    action: str
    body: type[Answer]
    doc: str
    source: str = "Events"
    assumed: Reason | None = None
    version: str = "1.0.0"
    words: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)
    """Meaning of each value of a member, by the member's wire path."""
    optional: frozenset[str] = frozenset()
    """Wire paths of members that only some events of this kind have."""
    never: frozenset[str] = frozenset()
    """Wire paths of members that no event of this kind has."""
    usual: Mapping[str, Any] = attrs.field(factory=dict)
    """Example values of members that differ from the example values of other kinds, by wire path."""

    @property
    def name(self) -> str:
        """Resource and action, such as `user.updated`."""
        return f"{self.resource}.{self.action}"


_OF_SOME = {
    "spend.previouslyAuthorizedAmount": ("requested",),
    "spend.authorizationUpdateAmount": ("updated",),
    "spend.declinedReason": ("created",),
    "spend.completionReason": ("completed",),
    "spend.postedAt": ("completed",),
}
"""Members of a transaction event that only some actions have, each with these actions."""
_ALWAYS = frozenset({"spend.authorizationUpdateAmount", "spend.postedAt"})
"""Members of `_OF_SOME` that every event of their action has."""
_USUAL: Mapping[str, Mapping[str, Any]] = {
    "updated": {
        "spend.status": "reversed",
        "spend.amount": 500,
        "spend.authorizedAmount": 500,
        "spend.localAmount": 500,
        "spend.authorizationUpdateAmount": -750,
    },
    "completed": {"spend.status": "completed"},
}
_TRANSACTIONS = {
    "requested": "A merchant asked for an authorization",
    "created": "An authorization was approved or declined, or a refund was created",
    "updated": "The amount of an authorization changed",
    "completed": "A transaction settled, was refunded or was fully reversed",
}
ORDER: Mapping[str, tuple[str, ...]] = {
    "An authorization": ("transaction.requested (pending)", "transaction.created (pending)"),
    "A declined authorization": ("transaction.requested (pending)", "transaction.created (declined)"),
    "A full or partial reversal": ("transaction.updated (reversed)",),
    "A full reversal, with behavior `observed`": (
        "transaction.updated (reversed)",
        "transaction.completed (completed)",
    ),
    "A settlement": ("transaction.completed (completed)",),
    "A refund, with a separate id": (
        "transaction.created (pending, amount below 0)",
        "transaction.completed (completed, amount below 0)",
    ),
    "An application": ("user.updated (pending)", "user.updated (the outcome of the review)"),
    "The user must accept the terms, and accepts": ("user.updated (tosNotAccepted)", "user.updated (approved)"),
    "A review that changes nothing": (),
}
"""Events of each action with their status, in sending order."""
_APPLICATION_WORDS = {
    "notStarted": "nothing was submitted yet",
    "pending": "under review",
    "needsInformation": "the applicant has to provide more information",
    "needsVerification": "the applicant has to verify their identity",
    "manualReview": "a person reviews the application",
    "tosNotAccepted": "identity verified; the applicant has to accept the program's terms at the completion link",
    "approved": "accepted; cards can be used",
    "exempt": "exempted from standard compliance processing",
    "denied": "rejected; applicationReason has the labels",
    "locked": "suspended",
    "canceled": "withdrawn",
}
_DECLINE_WORDS = {
    "account credit limit exceeded": "the amount is above the available credit",
    "card locked": "the card is locked",
    "card canceled": "the card was canceled",
    "card not activated": "the card was not activated yet",
    "blocked mcc": "the program blocks this merchant category",
    "blocked merchant": "the program blocks this merchant",
    "balance inquiry not permitted": "the merchant asked only for the balance",
    "expiry mismatch": "the expiry date entered is wrong",
    "cvv mismatch": "the security code entered is wrong",
    "invalid pin": "the PIN entered is wrong",
    "restricted country": "the merchant's country is blocked",
}
_SPEND_WORDS = {
    "spend.status": {
        "pending": ("authorized and held, not yet posted; a positive authorizationUpdateAmount raises the hold"),
        "reversed": "the hold was lowered or released; release the difference",
        "declined": "refused; declinedReason is the reason, and no money was held",
        "completed": "posted: a settlement, or a refund if amount is negative; postedAt is set",
    },
    "spend.declinedReason": _DECLINE_WORDS,
    "spend.completionReason": {
        "SETTLEMENT": "the merchant collected the money",
        "REFUND": "the merchant gave money back",
        "authorization_reversal": "the full amount was reversed, and nothing was collected",
    },
}
_CARD_WORDS = {
    "notActivated": "issued, but not activated yet",
    "active": "can be used",
    "locked": "cannot be used until it is unlocked",
    "canceled": "can never be used again",
}
_LINKS = "Events, links from operations to events"
EVENT_KINDS: Mapping[str, EventKind] = {
    kind.name: kind
    for kind in (
        EventKind(
            "user",
            "updated",
            UserUpdated,
            "A user's compliance or application status changed",
            'Events, "user.updated"',
            optional=frozenset(
                {
                    "companyId",
                    "applicationCompletionLink",
                    "applicationExternalVerificationLink",
                    "statusChangeReason",
                }
            ),
            words={
                "applicationStatus": _APPLICATION_WORDS,
                "statusChangeReason": {"provider_initiated": "the service provider itself made the change"},
            },
        ),
        EventKind(
            "microDeposit",
            "received",
            MicroDepositReceived,
            "A deposit smaller than 2.00 USD arrived on a payment route",
            'Events, "microDeposit.received"',
            optional=frozenset({"userId", "companyId", "description", "originatorName", "referenceId"}),
            words={"rail": {"ach": "a batch transfer", "wire": "a wire transfer"}},
        ),
        *(
            EventKind(
                "transaction",
                action,
                TransactionChanged,
                doc,
                _LINKS,
                KINDS,
                words=_SPEND_WORDS,
                optional=frozenset(path for path, of in _OF_SOME.items() if action in of) - _ALWAYS,
                never=frozenset(path for path, of in _OF_SOME.items() if action not in of),
                usual=_USUAL.get(action, {}),
            )
            for action, doc in _TRANSACTIONS.items()
        ),
        EventKind(
            "card",
            "updated",
            CardUpdated,
            "A card's status or limit changed",
            assumed=CARD_FIELDS,
            words={"status": _CARD_WORDS},
        ),
    )
}
"""Kinds of events by name, such as `user.updated`."""
