"""Users, companies, owners, their applications, and payment accounts.

Source: Resources, "User", "Company application".
"""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, ClassVar

from workbench.base.schema.fields import ONCE, PERSONAL, SECRET, WIDELY, Answer, Reason, Rule, about, record
from workbench.base.schema.rules import CrossRule, OneOf, When
from workbench.service.interface.formats import (
    ACCOUNT_NUMBER,
    COUNTRY,
    EMAIL,
    EVM_ADDRESS,
    EXTERNAL_ID,
    ID,
    MOMENT,
    NICKNAME,
    PERSON_NAME,
    PHONE_COUNTRY_CODE,
    PHONE_NUMBER,
    SOLANA_ADDRESS,
    SOURCE_KEY,
    SSN,
    STELLAR_ADDRESS,
    WALLET,
)
from workbench.service.interface.vocabulary import (
    ApplicationStatus,
    BeneficiaryType,
    PaymentAccountType,
    PaymentAccountTypeText,
)

__all__ = [
    "CompanyApplication",
    "PaymentAccount",
    "UltimateBeneficialOwner",
    "User",
]
"""Public names of this module in `workbench.records`: answers, event bodies, and their enums."""


@record
class Address(Answer):
    """A physical address. An answer may contain only some of the members. Source: Resources, "User", address."""

    line1: str = about("Street and number", privacy=PERSONAL, needed=False)
    line2: str | None = about("Second line", default=None, privacy=PERSONAL)
    city: str = about("City", needed=False)
    region: str = about("Region or state", needed=False)
    postal_code: str = about("Postal code", privacy=PERSONAL, needed=False)
    country_code: str = about("Country code", needed=False)
    country: str | None = about("Country name", default=None)  # assumed: address_country


@record
class LinkParams(Answer):
    """Parameters of a link. Source: Resources, "User"; Events, "user.updated"."""

    user_id: str | None = about("User to whom the link belongs", ID, default=None)
    signature: str | None = about("Signature of the link", default=None, privacy=SECRET)


@record
class Link(Answer):
    """A page to send the user to. Source: Resources, "User"."""

    url: str | None = about("URL of the page", default=None, privacy=SECRET)
    params: LinkParams | None = about("Query parameters of the link", default=None)


@record
class User(Answer):
    """A user. Source: Resources, "User"."""

    id: str = about("User's unique identifier", ID)
    first_name: str | None = about("First name", PERSON_NAME, default=None, privacy=PERSONAL)
    last_name: str | None = about("Last name", PERSON_NAME, default=None, privacy=PERSONAL)
    email: str | None = about("User's email address", EMAIL, default=None, privacy=PERSONAL)
    is_active: bool | None = about("Whether the user is active", default=None)
    application_status: ApplicationStatus | str | None = about("Status of the application", default=None)
    company_id: str | None = about("Company the user belongs to, if any", ID, default=None)
    external_id: str | None = about("Tenant-defined id, unique per tenant", EXTERNAL_ID, default=None)
    source_key: str | None = about("Source key of the user's team", SOURCE_KEY, default=None)
    address: Address | None = about("Physical address", default=None)
    phone_country_code: str | None = about("Country code of the phone number", PHONE_COUNTRY_CODE, default=None)
    phone_number: str | None = about("Phone number", PHONE_NUMBER, default=None, privacy=PERSONAL)
    wallet_address: str | None = about("EVM wallet address", EVM_ADDRESS, default=None)
    solana_address: str | None = about("Solana address", SOLANA_ADDRESS, default=None)
    created_at: datetime | None = about("When the user was created", MOMENT, default=None)
    updated_at: datetime | None = about("When the user was last updated", MOMENT, default=None)
    application_external_verification_link: Link | None = about("Link to the external verification page", default=None)
    application_completion_link: Link | None = about("Link to the completion page", default=None)
    application_reason: str | None = about("Reason for the application status", default=None)


@record
class UltimateBeneficialOwner(Answer):
    """An owner of a company. Source: Resources, "Company application"."""

    id: str = about("Owner's unique identifier", ID)
    application_status: ApplicationStatus | str | None = about("Status of the application", default=None)
    application_external_verification_link: Link | None = about("Link to the external verification page", default=None)
    application_completion_link: Link | None = about("Link to the completion page", default=None)
    application_reason: str | None = about("Reason for the application status", default=None)


@record
class CompanyApplication(Answer):
    """A company and its application. Source: Resources, "Company application"."""

    id: str = about("Company's unique identifier", ID)
    name: str | None = about("Company name on the platform", default=None)
    address: Address | None = about("Physical address", default=None)
    application_status: ApplicationStatus | str | None = about("Status of the application", default=None)
    external_id: str | None = about("Tenant-defined id, unique per tenant", EXTERNAL_ID, default=None)
    source_key: str | None = about("Source key", SOURCE_KEY, default=None)
    ultimate_beneficial_owners: tuple[UltimateBeneficialOwner, ...] = about("Owners of the company", default=())
    application_external_verification_link: Link | None = about("Link to the external verification page", default=None)
    application_completion_link: Link | None = about("Link to the completion page", default=None)
    application_reason: str | None = about("Reason for the application status", default=None)


US_NATIONAL_ID = When(
    "country_of_issue",
    "US",
    "nationalId is a 9-digit SSN if the country of issue is US",
    pattern=("national_id", SSN, "9 digits, since the country of issue is US"),
)


@record
class UpdateUser:
    """Update a user. Omitted members do not change. Source: Endpoints 8."""

    user_id: str = about("User to update", ID)
    first_name: str | None = about("First name", PERSON_NAME, default=None, privacy=PERSONAL)
    last_name: str | None = about("Last name", PERSON_NAME, default=None, privacy=PERSONAL)
    email: str | None = about("Email address", EMAIL, default=None, privacy=PERSONAL)
    is_active: bool | None = about("Whether the user is active", default=None)
    address: Address | Mapping[str, Any] | None = about(
        "The user's complete address; merging of a partial address is undocumented", default=None, partial=True
    )
    phone_country_code: str | None = about("Country code of the phone number", PHONE_COUNTRY_CODE, default=None)
    phone_number: str | None = about("Phone number", PHONE_NUMBER, default=None, privacy=PERSONAL)
    wallet_address: str | None = about(
        "EVM wallet; self-managed tenants cannot change it while the user has EVM collateral contracts",
        EVM_ADDRESS,
        default=None,
    )
    solana_address: str | None = about(
        "Solana wallet; cannot change while the user has collateral contracts on Solana", SOLANA_ADDRESS, default=None
    )
    stellar_address: str | None = about(
        "Stellar wallet; cannot change while the user has collateral contracts on Stellar",
        STELLAR_ADDRESS,
        default=None,
    )
    external_id: str | None = about("Tenant-defined id, unique per tenant", EXTERNAL_ID, default=None)


@record
class UpdateUbo:
    """Let a company's owner reapply with updated data. Source: Endpoints 9."""

    rules: ClassVar[tuple[CrossRule, ...]] = (US_NATIONAL_ID,)

    company_id: str = about("Company of the owner", ID)
    ubo_id: str = about("Owner to update", ID)
    first_name: str | None = about("First name", PERSON_NAME, default=None, privacy=PERSONAL)
    last_name: str | None = about("Last name", PERSON_NAME, default=None, privacy=PERSONAL)
    birth_date: date | str | None = about("Date of birth", format="date", default=None, privacy=SECRET)
    national_id: str | None = about(
        "National id; a 9-digit SSN if the country of issue is US", format="password", default=None, privacy=SECRET
    )
    country_of_issue: str | None = about("Country that issued the national id", COUNTRY, default=None)
    email: str | None = about("Email address", EMAIL, default=None, privacy=PERSONAL)
    address: Address | Mapping[str, Any] | None = about("Physical address", default=None, partial=True)


TOKEN, CHAIN_ID = Rule(min_length=1), Rule(minimum=1, format="decimal")
FURTHER = Reason("the document does not name these members", WIDELY)
AS_TEXT = Reason(
    "the document does not name this member or say that it is sent as text; a number is accepted too", WIDELY
)
SHARE = Reason("the document does not show requests with a share token", WIDELY)
PROFILE = Reason(
    "the document does not list the required members; sent by public clients in every variant", WIDELY, "need"
)
PERSONAL_MEMBERS = ("first_name", "last_name", "birth_date", "national_id", "country_of_issue", "email", "address")


@record
class CreateUserApplication:
    """Submit a consumer application for a user. Source: Endpoints 11."""

    rules: ClassVar[tuple[CrossRule, ...]] = (
        OneOf(
            (("sumsub_share_token",), ("persona_share_token",), PERSONAL_MEMBERS),
            "Identity is verified by one share token or by personal information",
            assumed=SHARE,
        ),
        US_NATIONAL_ID,
    )

    first_name: str | None = about("First name", PERSON_NAME, default=None, privacy=PERSONAL)
    last_name: str | None = about("Last name", PERSON_NAME, default=None, privacy=PERSONAL)
    birth_date: date | str | None = about("Date of birth", format="date", default=None, privacy=SECRET)
    national_id: str | None = about(
        "National id; a 9-digit SSN if the country of issue is US", format="password", default=None, privacy=SECRET
    )
    country_of_issue: str | None = about("Country that issued the national id", COUNTRY, default=None)
    email: str | None = about("Email address", EMAIL, default=None, privacy=PERSONAL)
    address: Address | Mapping[str, Any] | None = about("Physical address", default=None)
    phone_country_code: str | None = about("Country code of the phone number", PHONE_COUNTRY_CODE, default=None)
    phone_number: str | None = about("Phone number", PHONE_NUMBER, default=None, privacy=PERSONAL)
    ip_address: str = about(
        "The applicant's own IP address, never this machine's", format="ip", privacy=PERSONAL, assumed=PROFILE
    )
    occupation: str = about("Occupation", privacy=PERSONAL, assumed=PROFILE)
    annual_salary: str = about("Annual salary", privacy=PERSONAL, assumed=PROFILE)
    account_purpose: str = about("Purpose of the account", assumed=PROFILE)
    expected_monthly_volume: str = about("Amount the user expects to spend each month", assumed=PROFILE)
    wallet_address: str | None = about("EVM wallet; becomes an owner of the user's contract", EVM_ADDRESS, default=None)
    solana_address: str | None = about("Solana wallet", SOLANA_ADDRESS, default=None)
    stellar_address: str | None = about("Stellar wallet", STELLAR_ADDRESS, default=None)
    id: str | None = about("Id of a previously initiated application", ID, default=None, assumed=FURTHER)
    chain_id: int | None = about(
        "Chain id of an external collateral contract, sent as text", CHAIN_ID, default=None, assumed=AS_TEXT
    )
    contract_address: str | None = about(
        "Address of an external collateral contract", WALLET, default=None, assumed=FURTHER
    )
    source_key: str | None = about("Source identifier", SOURCE_KEY, default=None, assumed=FURTHER)
    external_id: str | None = about("Tenant-defined id, unique per tenant", EXTERNAL_ID, default=None, assumed=FURTHER)
    is_terms_of_service_accepted: bool | None = about(
        "Whether the user accepted the terms; omitted means accepted",
        default=None,
        otherwise=True,
        assumed=FURTHER,
    )
    has_existing_documents: bool | None = about(
        "Whether existing documents are used for additional verification", default=None, assumed=FURTHER
    )
    sumsub_share_token: str | None = about(
        "Share token from the identity-verification provider Sumsub", TOKEN, default=None, privacy=SECRET, assumed=SHARE
    )
    sumsub_share_token_mode: str | None = about("How Sumsub's share token is used", default=None, assumed=SHARE)
    persona_share_token: str | None = about(
        "Share token from the identity-verification provider Persona",
        TOKEN,
        default=None,
        privacy=SECRET,
        assumed=SHARE,
    )


REQUIRED = Reason("the document does not show which payment-account fields are required", of="need")
VARIANT = Reason("the document does not show the fields of a business beneficiary", ONCE)
PERSON = ("beneficiary_first_name", "beneficiary_last_name")
IN_ANSWERS = Reason("shown in answers only; accepted in requests, too", ONCE, "meaning")


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
    """A bank account and its owner. Source: Resources, "Payment account"."""

    rules: ClassVar[tuple[CrossRule, ...]] = tuple(
        When("beneficiary_type", kind, doc, needs=needs, assumed=why)
        for kind, doc, needs, why in (
            ("individual", "An individual beneficiary has a first and a last name", PERSON, REQUIRED),
            ("business", "A business beneficiary has a business name", ("beneficiary_business_name",), VARIANT),
        )
    )

    beneficiary_type: BeneficiaryType | str = about("Type of the account's owner", assumed=REQUIRED)
    beneficiary_first_name: str | None = about("First name", default=None, format="name", privacy=PERSONAL)
    beneficiary_last_name: str | None = about("Last name", default=None, format="name", privacy=PERSONAL)
    beneficiary_business_name: str | None = about(
        "Name of the business", default=None, privacy=PERSONAL, assumed=VARIANT
    )
    currency: str = about(  # assumed: account_currency
        "Currency of the account, such as usd", pattern="^[a-z]{3}$", says="3 lowercase letters", assumed=REQUIRED
    )
    third_party: bool | None = about("Whether a third party owns the account", default=None)
    beneficiary_address: BankingAddress | Mapping[str, Any] = about("Address of the beneficiary", assumed=REQUIRED)
    bank_name: str = about("Name of the bank", assumed=REQUIRED)
    bank_address: BankingAddress | Mapping[str, Any] | None = about("Address of the bank", default=None)
    account_number: str = about("Account number", ACCOUNT_NUMBER, privacy=SECRET, min_length=1, assumed=REQUIRED)
    routing_number: str = about(  # assumed: routing_number_format
        "Routing number of the bank", pattern="^[0-9]{9}$", says="9 digits", assumed=REQUIRED
    )
    rail: str | None = about("Rail of the account, such as ach", default=None, assumed=IN_ANSWERS)
    bank_account_type: str | None = about("Kind of bank account, such as checking", default=None, assumed=IN_ANSWERS)


@record
class CreatePaymentAccount:
    """Create a destination for payment routes and transfers. Source: Endpoints 6."""

    rules: ClassVar[tuple[CrossRule, ...]] = (
        OneOf((("user_id",), ("company_id",)), "Provide either userId or companyId"),
    )

    type: PaymentAccountType | PaymentAccountTypeText = about("Kind of account", assumed=REQUIRED)
    nickname: str | None = about("Friendly name", NICKNAME, default=None)
    external_fiat_account: ExternalFiatAccount | Mapping[str, Any] = about("The bank account", assumed=REQUIRED)
    user_id: str | None = about("User who owns the account; only for individual teams", ID, default=None)
    company_id: str | None = about("Company that owns the account; only for company teams", ID, default=None)


@record
class PaymentAccount(Answer):
    """A payment account. Source: Resources, "Payment account", response."""

    id: str = about("Payment account's unique identifier", ID)
    type: PaymentAccountType | str | None = about("Kind of account", default=None)
    nickname: str | None = about("Friendly name", NICKNAME, default=None)
    external_fiat_account: ExternalFiatAccount | None = about("The bank account", default=None)
    created_at: datetime | None = about("Time of creation", MOMENT, default=None)
    user_id: str | None = about("User who owns the account; only for individual teams", ID, default=None)
    company_id: str | None = about("Company that owns the account; only for company teams", ID, default=None)


@record
class DeletePaymentAccount:
    """Delete a payment account. Source: Endpoints 7."""

    payment_account_id: str = about("Payment account to delete", ID)


@record
class Deletion(Answer):
    """Confirmation of a deletion. The document shows no body. Source: Endpoints 7."""
