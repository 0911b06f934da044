"""External fiat accounts. Source: Resources, "Payment account"; Endpoints 6 and 7."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from workbench.interface.fields import ONCE, PERSONAL, SECRET, Answer, Reason, about, record
from workbench.interface.rules import (
    ACCOUNT_NUMBER,
    ID,
    MOMENT,
    NICKNAME,
    BeneficiaryType,
    CrossRule,
    OneOf,
    PaymentAccountType,
    When,
)

REQUIRED = Reason("required or optional markers of payment-account fields are not shown", of="need")
VARIANT = Reason("the fields of the business beneficiary variant are not shown", ONCE)
IN_ANSWERS = Reason("the document shows it in answers only; accepted in requests too", ONCE, "meaning")


@record
class BankingAddress(Answer):
    """An address in a payment account. Source: Resources, "Payment account", address shape."""

    address_line1: str = about("Street and number", privacy=PERSONAL, assumed=REQUIRED)
    address_line2: str | None = about("Second line", default=None, privacy=PERSONAL)
    city: str = about("City", assumed=REQUIRED)
    region: str = about("Region or state", assumed=REQUIRED)
    postal_code: str = about("Postal code", privacy=PERSONAL, assumed=REQUIRED)
    country_code: str = about("Country code", assumed=REQUIRED)


@record
class ExternalFiatAccount(Answer):
    """A bank account and who it belongs to. Source: Resources, "Payment account"."""

    rules: ClassVar[tuple[CrossRule, ...]] = (
        When(
            "beneficiary_type",
            "individual",
            "An individual beneficiary has a first and a last name",
            needs=("beneficiary_first_name", "beneficiary_last_name"),
            assumed=REQUIRED,
        ),
        When(
            "beneficiary_type",
            "business",
            "A business beneficiary has a business name",
            needs=("beneficiary_business_name",),
            assumed=VARIANT,
        ),
    )

    beneficiary_type: BeneficiaryType | str = about("Who the account belongs to", assumed=REQUIRED)
    beneficiary_first_name: str | None = about("First name", default=None, format="name", privacy=PERSONAL)
    beneficiary_last_name: str | None = about("Last name", default=None, format="name", privacy=PERSONAL)
    beneficiary_business_name: str | None = about(
        "Name of the business", default=None, privacy=PERSONAL, assumed=VARIANT
    )
    currency: str = about("Currency of the account, as usd", assumed=REQUIRED)
    third_party: bool | None = about("Whether the account is a third party's", default=None)
    beneficiary_address: BankingAddress | Mapping[str, Any] = about("Address of the beneficiary", assumed=REQUIRED)
    bank_name: str = about("Name of the bank", assumed=REQUIRED)
    bank_address: BankingAddress | Mapping[str, Any] | None = about("Address of the bank", default=None)
    account_number: str = about("Account number", ACCOUNT_NUMBER, privacy=SECRET, min_length=1, assumed=REQUIRED)
    routing_number: str = about("Routing number of the bank", min_length=1, assumed=REQUIRED)
    rail: str | None = about("Rail of the account, as ach", default=None, assumed=IN_ANSWERS)
    bank_account_type: str | None = about("Kind of bank account, as checking", default=None, assumed=IN_ANSWERS)


@record
class CreatePaymentAccount:
    """Create a destination for payment routes and transfers. Source: Endpoints 6."""

    rules: ClassVar[tuple[CrossRule, ...]] = (
        OneOf((("user_id",), ("company_id",)), "Provide either userId or companyId"),
    )

    type: PaymentAccountType | str = about("Kind of account", assumed=REQUIRED)
    nickname: str | None = about("Friendly name", NICKNAME, default=None)
    external_fiat_account: ExternalFiatAccount | Mapping[str, Any] = about("The bank account", assumed=REQUIRED)
    user_id: str | None = about("User it belongs to, for individual teams", ID, default=None)
    company_id: str | None = about("Company it belongs to, for company teams", ID, default=None)


@record
class PaymentAccount(Answer):
    """A payment account. Source: Resources, "Payment account", response."""

    id: str = about("Payment account's unique identifier", ID)
    type: PaymentAccountType | str | None = about("Kind of account", default=None)
    nickname: str | None = about("Friendly name", NICKNAME, default=None)
    external_fiat_account: ExternalFiatAccount | None = about("The bank account", default=None)
    created_at: datetime | None = about("When it was created", MOMENT, default=None)
    user_id: str | None = about("User it belongs to, for individual teams", ID, default=None)
    company_id: str | None = about("Company it belongs to, for company teams", ID, default=None)


@record
class DeletePaymentAccount:
    """Delete a payment account. Source: Endpoints 7."""

    payment_account_id: str = about("Payment account to delete", ID)


@record
class Deletion(Answer):
    """That something was deleted; the document shows no body. Source: Endpoints 7."""
