"""The facts of the interface document, transcribed by hand and compared with the declarations."""

import re
from decimal import Decimal
from typing import Any, get_args

import pytest

from tests.each import each
from workbench.base.errors import AdviceWarning
from workbench.base.schema.rules import FULL, OneOf
from workbench.base.schema.walk import Array, Choice, DateTime, Integer, Nested, Text, camel, member, members
from workbench.service.interface import contracts, events, people, table, transactions, vocabulary
from workbench.service.interface.vocabulary import Role

WALLET = r"^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$"
EVM = r"^0x[0-9a-fA-F]{40}$"
SOLANA = r"^[1-9A-HJ-NP-Za-km-z]{32,44}$"
DIGITS = r"^[0-9]+$"

# Record, member: minimum and maximum length. Source: Limits.
LENGTHS = [
    (people.CreatePaymentAccount, "nickname", None, 64),
    (people.PaymentAccount, "nickname", None, 64),
    (people.User, "first_name", None, 50),
    (people.User, "last_name", None, 50),
    (people.UpdateUser, "first_name", None, 50),
    (people.UpdateUser, "last_name", None, 50),
    (people.UpdateUbo, "first_name", None, 50),
    (people.UpdateUbo, "last_name", None, 50),
    (people.CreateUserApplication, "first_name", None, 50),
    (people.CreateUserApplication, "last_name", None, 50),
    (people.User, "phone_country_code", 1, 3),
    (people.UpdateUser, "phone_country_code", 1, 3),
    (people.CreateUserApplication, "phone_country_code", 1, 3),
    (people.User, "phone_number", 1, 15),
    (people.UpdateUser, "phone_number", 1, 15),
    (people.CreateUserApplication, "phone_number", 1, 15),
    (people.User, "external_id", 1, 255),
    (people.UpdateUser, "external_id", 1, 255),
    (people.CompanyApplication, "external_id", 1, 255),
    (people.CreateUserApplication, "external_id", 1, 255),
    (people.User, "source_key", 1, 24),
    (people.CompanyApplication, "source_key", 1, 24),
    (people.CreateUserApplication, "source_key", 1, 24),
    (people.UpdateUbo, "country_of_issue", 2, 2),
    (people.CreateUserApplication, "country_of_issue", 2, 2),
    (transactions.UpdateDispute, "text_evidence", None, 65535),
]


@each("record,name,low,high", LENGTHS, ids=[f"{record.__name__}.{name}" for record, name, *_ in LENGTHS])
def test_lengths(record: type[Any], name: str, low: int | None, high: int) -> None:
    """A text has the length limits of the document."""
    rule = member(record, name).about.rule

    assert (low, high) == (rule.min_length, rule.max_length)


# Record, member: minimum and maximum. Source: Limits.
RANGES = [
    (transactions.SimulateAuthorization, "amount", 1, None),
    (transactions.SimulateReversal, "new_amount", 0, None),
    (transactions.SimulateRefund, "amount", 0, None),
    (transactions.ListRewardsActivity, "limit", 1, 100),
    (transactions.ListRewardsActivity, "offset", 0, 10000),
]


@pytest.mark.parametrize(
    "record,name,low,high", RANGES, ids=[f"{record.__name__}.{name}" for record, name, *_ in RANGES]
)
def test_ranges(record: type[Any], name: str, low: int, high: int | None) -> None:
    """A whole number has the range of the document."""
    one = member(record, name)

    assert isinstance(one.kind, Integer)
    assert (low, high) == (one.about.rule.minimum, one.about.rule.maximum)


# Record, member: pattern. Source: Address types, User, Endpoints 8 and 11.
PATTERNS = [
    (contracts.IssuingContract, "program_address", WALLET),
    (contracts.IssuingContract, "controller_address", WALLET),
    (contracts.IssuingContract, "proxy_address", WALLET),
    (contracts.IssuingContract, "deposit_address", WALLET),
    (contracts.IssuingContract, "admin_addresses", WALLET),
    (contracts.Token, "address", WALLET),
    (people.User, "phone_country_code", DIGITS),
    (people.User, "phone_number", DIGITS),
    (people.User, "wallet_address", EVM),
    (people.User, "solana_address", SOLANA),
    (people.UpdateUser, "phone_country_code", DIGITS),
    (people.UpdateUser, "phone_number", DIGITS),
    (people.UpdateUser, "wallet_address", EVM),
    (people.UpdateUser, "solana_address", SOLANA),
    (people.CreateUserApplication, "phone_country_code", DIGITS),
    (people.CreateUserApplication, "phone_number", DIGITS),
    (people.CreateUserApplication, "wallet_address", EVM),
    (people.CreateUserApplication, "solana_address", SOLANA),
    (people.CreateUserApplication, "contract_address", WALLET),
]


@each("record,name,pattern", PATTERNS, ids=[f"{r.__name__}.{n}" for r, n, _ in PATTERNS])
def test_patterns(record: type[Any], name: str, pattern: str) -> None:
    """A text has the pattern of the document."""
    assert pattern == member(record, name).about.rule.pattern


@each("record", [people.UpdateUser, people.CreateUserApplication])
@each(
    "text,fits",
    [
        ("G" + "A" * 55, True),
        ("C" + "7" * 55, True),
        ("M" + "Z" * 68, True),
        ("G" + "A" * 54, False),
        ("G" + "A" * 56, False),
        ("M" + "A" * 55, False),
        ("G" + "0" * 55, False),
        ("S" + "A" * 55, False),
        ("G" + "a" * 55, False),
    ],
)
def test_stellar_pattern(record: type[Any], text: str, fits: bool) -> None:
    """A Stellar address is G or C and 55 characters, or M and 68."""
    pattern = member(record, "stellar_address").about.rule.pattern

    assert fits is bool(re.fullmatch(str(pattern), text))


@each(
    "words,expected",
    [
        (
            vocabulary.ApplicationStatus,
            "approved pending needsInformation needsVerification manualReview denied locked canceled",
        ),
        (
            vocabulary.EventApplicationStatus,
            (
                "approved pending needsInformation needsVerification manualReview denied locked canceled "
                "notStarted exempt tosNotAccepted"
            ),
        ),
        (vocabulary.StatusChangeReason, "provider_initiated"),
        (vocabulary.TransactionStatus, "authorized declined settled"),
        (vocabulary.CompletionReason, "SETTLEMENT REFUND"),
        (
            vocabulary.DeclineReason,
            (
                "account_credit_limit_exceeded card_locked card_canceled card_not_activated blocked_mcc blocked_merchant "
                "balance_inquiry_not_permitted expiry_mismatch cvv_mismatch invalid_pin restricted_country"
            ),
        ),
        (vocabulary.PaymentAccountType, "externalFiatAccount"),
        (vocabulary.DisputeUpdateStatus, "canceled"),
        (vocabulary.RewardType, "earned redeemed"),
        (vocabulary.MicroDepositRail, "ach wire"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_words(words: Any, expected: str) -> None:
    """An enum has the values of the document, in its order."""
    assert expected.split() == [str(word) for word in words]


def test_there_are_eight_and_eleven_statuses_and_eleven_reasons() -> None:
    """Answers have eight application statuses and events eleven, and a decline has eleven reasons."""
    counts = [
        len(e) for e in (vocabulary.ApplicationStatus, vocabulary.EventApplicationStatus, vocabulary.DeclineReason)
    ]

    assert counts == [8, 11, 11]


def test_observed_words_are_known() -> None:
    """The values that the document calls observed are declared, next to assumed ones."""
    assert "ready" in list(vocabulary.SignatureStatus)
    assert "individual" in list(vocabulary.BeneficiaryType)
    assert "canceled" in list(vocabulary.DisputeStatus)


ENDPOINTS = """
list_contracts           GET    /issuing/tenants/contracts
sign_withdrawal          GET    /issuing/tenants/signatures/withdrawals
simulate_authorization   POST   /simulate/transactions/authorize
simulate_reversal        POST   /simulate/transactions/{transactionId}/reverse
simulate_refund          POST   /simulate/transactions/{transactionId}/refund
create_payment_account   POST   /payment-accounts
delete_payment_account   DELETE /payment-accounts/{paymentAccountId}
update_user              PATCH  /issuing/users/{userId}
update_ubo               PATCH  /issuing/applications/company/{companyId}/ubo/{uboId}
update_dispute           PATCH  /issuing/disputes/{disputeId}
create_user_application  POST   /issuing/applications/user
list_rewards_activity    GET    /issuing/rewards/activity
"""


def test_endpoints() -> None:
    """The table has the twelve endpoints in the document's order, with its methods and paths."""
    assert [tuple(line.split()) for line in ENDPOINTS.strip().splitlines()] == [
        (row.name, row.method, row.path) for row in table.OPERATIONS.values()
    ]


def test_roles() -> None:
    """Two operations require a role, and the others none."""
    expected = {
        "sign_withdrawal": frozenset({"contractsAndSignatures:write"}),
        "list_rewards_activity": frozenset({"rewards:read"}),
    }

    assert expected == {row.name: row.roles for row in table.OPERATIONS.values() if row.roles}


def test_named_roles() -> None:
    """The declared roles are those of the document, and the read role that its "read is not enough" implies."""
    expected = "rewards:read rewards:write rewards-travel:read rewards-travel:write contractsAndSignatures:write"

    assert set(expected.split()) == set(Role) - {"contractsAndSignatures:read"}


def test_sandbox_only() -> None:
    """Exactly the three simulations are sandbox-only."""
    expected = {"simulate_authorization", "simulate_reversal", "simulate_refund"}

    assert expected == {row.name for row in table.OPERATIONS.values() if row.sandbox_only}


def test_effects() -> None:
    """All operations except two reads have an effect. A withdrawal signature authorizes a movement of funds."""
    assert {"list_contracts", "list_rewards_activity"} == {
        row.name for row in table.OPERATIONS.values() if not row.effect
    }


DOCUMENTED_FAILURES = [
    ("create_payment_account", 400, "BadRequestError", "Invalid request"),
    ("create_payment_account", 401, "Unauthorized", "Invalid or missing API key"),
    ("create_payment_account", 403, "ForbiddenError", "Forbidden"),
    ("create_payment_account", 404, "NotFoundError", "Team not found"),
    ("create_payment_account", 500, "InternalServerError", "Internal server error"),
    ("delete_payment_account", 401, "Unauthorized", "Invalid or missing API key"),
    ("delete_payment_account", 403, "ForbiddenError", "Forbidden"),
    ("delete_payment_account", 404, "NotFoundError", "Payment account not found"),
    ("delete_payment_account", 500, "InternalServerError", "Internal server error"),
    ("list_contracts", 401, "Unauthorized", "Invalid or missing API key"),
    ("list_contracts", 403, "ForbiddenError", "Forbidden"),
    ("list_contracts", 404, "NotFoundError", "Team not found"),
    ("list_contracts", 500, "InternalServerError", "Internal server error"),
]


@each("name,status,error,message", DOCUMENTED_FAILURES)
def test_documented_failures(name: str, status: int, error: str, message: str) -> None:
    """A documented failure is in its operation's row, and is not an assumption."""
    found = [f for f in table.OPERATIONS[name].failures if f.status == status]

    assert [(error, message, None)] == [(f.error, f.message, f.assumed) for f in found]


@pytest.mark.parametrize("name", ["list_contracts", "create_payment_account", "delete_payment_account"])
def test_statuses_that_are_listed_are_complete(name: str) -> None:
    """If the document lists an operation's failures, all others in its row are assumptions."""
    assert {row[1] for row in DOCUMENTED_FAILURES if row[0] == name} == {
        f.status for f in table.OPERATIONS[name].failures if not f.assumed
    }


@each("name", list(table.OPERATIONS))
def test_every_operation_needs_a_key(name: str) -> None:
    """A missing or invalid key is a 401 with the documented message for every operation."""
    assert table.UNAUTHORIZED in table.OPERATIONS[name].failures


@pytest.mark.parametrize("name", [row.name for row in table.OPERATIONS.values() if row.sandbox_only])
def test_simulations_are_404_in_production(name: str) -> None:
    """A simulation in production is a 404. Its message is an assumption."""
    failure = table.NOT_IN_PRODUCTION

    assert failure in table.OPERATIONS[name].failures
    assert (failure.status, bool(failure.assumed)) == (404, True)


def test_defaults() -> None:
    """Omitted members have the defaults of the document."""
    limit, offset = (member(transactions.ListRewardsActivity, name).about for name in ("limit", "offset"))
    terms = member(people.CreateUserApplication, "is_terms_of_service_accepted").about

    assert (limit.otherwise, offset.otherwise, terms.otherwise) == (20, 0, True)


def test_omission_means_all() -> None:
    """Reversals and refunds require an amount or FULL, because an omitted amount means the full one."""
    for cls, name in ((transactions.SimulateReversal, "new_amount"), (transactions.SimulateRefund, "amount")):
        one = member(cls, name)

        assert one.required
        assert Integer(full=True) == one.kind
    assert repr(FULL) == "FULL"


def test_one_owner_of_a_payment_account() -> None:
    """The document requires either userId or companyId."""
    (rule,) = people.CreatePaymentAccount.rules

    assert OneOf((("user_id",), ("company_id",)), "Provide either userId or companyId") == rule


def test_versions() -> None:
    """The document is version 1.3.0, with path prefix /v1, key header Api-Key and payload version 1.0.0."""
    assert (table.VERSION, table.PREFIX, table.KEY_HEADER) == ("1.3.0", "/v1", "Api-Key")
    assert {"1.0.0"} == {kind.version for kind in events.EVENT_KINDS.values()}
    assert Decimal("2.00") == events.MINIMUM_DEPOSIT


# Fields of each record, in the document's spelling. `!` marks fields that the document calls required (or, in events,
# does not call optional), `@` a time, `[]` a list, and `{}` an object.
FIELDS: dict[type[Any], str] = {
    contracts.IssuingContract: "id! chainId! programAddress controllerAddress! proxyAddress! depositAddress "
    "adminAddresses[] tokens![]{} contractVersion! onramp{}",
    contracts.Token: "address! balance exchangeRate advanceRate",
    contracts.AccountDetails: "beneficiaryName! beneficiaryAddress! accountNumber! routingNumber! beneficiaryBankName "
    "beneficiaryBankAddress",
    contracts.Onramp: "ach{} rtp{} wire{}",
    contracts.Signature: "data salt",
    people.PaymentAccount: "id! type nickname externalFiatAccount{} createdAt@ userId companyId",
    people.User: "id! firstName lastName email isActive applicationStatus companyId externalId sourceKey address{} "
    "phoneCountryCode phoneNumber walletAddress solanaAddress createdAt@ updatedAt@ "
    "applicationExternalVerificationLink{} applicationCompletionLink{} applicationReason",
    people.CompanyApplication: "id! name address{} applicationStatus externalId sourceKey ultimateBeneficialOwners[]{} "
    "applicationExternalVerificationLink{} applicationCompletionLink{} applicationReason",
    people.UltimateBeneficialOwner: "id! applicationStatus applicationExternalVerificationLink{} "
    "applicationCompletionLink{} applicationReason",
    people.Link: "url params{}",
    people.LinkParams: "userId signature",
    transactions.RewardsActivity: "items![]{}",
    transactions.RewardsItem: "type id points reason status merchantName transactionAmountCents spendCategory postedAt@ "
    "mintedAt@ createdAt@",
    events.Event: "id! resource! action! version! eventReceivedAt@ body!",
    events.UserUpdated: "id! firstName! lastName email! isActive! isTermsOfServiceAccepted! companyId "
    "applicationStatus! applicationCompletionLink{} applicationExternalVerificationLink{} applicationReason! "
    "statusChangeReason",
    events.MicroDepositReceived: "id! paymentRouteId! userId companyId amount! currency! rail! description "
    "originatorName referenceId receivedAt!@",
}


@each("record", FIELDS, ids=lambda record: record.__name__)
def test_fields(record: type[Any]) -> None:
    """A record of an answer has the document's fields and markers."""

    def spelled(one: Any) -> str:
        inner = one.kind.of if isinstance(one.kind, Array) else one.kind
        return (
            one.wire
            + ("!" if one.about.needed else "")
            + ("@" if isinstance(one.kind, DateTime) else "")
            + ("[]" if isinstance(one.kind, Array) else "")
            + ("{}" if isinstance(inner, Nested) else "")
        )

    assert sorted(FIELDS[record].split()) == sorted(map(spelled, members(record)))


SIGNED = {"status", "signature", "expiresAt"}
SIMULATED = ["transactionId", "status", "declinedReason", "completionReason"]
SENT: dict[type[Any], str] = {
    transactions.SimulateReversal: "transactionId newAmount",
    transactions.SimulateRefund: "transactionId amount",
    people.CreatePaymentAccount: "type nickname externalFiatAccount userId companyId",
    people.DeletePaymentAccount: "paymentAccountId",
    people.UpdateUser: "userId firstName lastName email isActive address phoneCountryCode phoneNumber walletAddress "
    "solanaAddress stellarAddress externalId",
    people.UpdateUbo: "companyId uboId firstName lastName birthDate nationalId countryOfIssue email address",
    transactions.UpdateDispute: "disputeId status textEvidence",
    contracts.ListContracts: "",
}
PERSONAL_VARIANT = (
    "firstName lastName birthDate nationalId countryOfIssue email address ipAddress occupation annualSalary "
    "accountPurpose expectedMonthlyVolume phoneCountryCode phoneNumber walletAddress solanaAddress stellarAddress"
)


@each("record", SENT, ids=lambda record: record.__name__)
def test_members_of_requests(record: type[Any]) -> None:
    """A request has exactly the members of the document."""
    assert sorted(SENT[record].split()) == sorted(one.wire for one in members(record))


def test_members_of_an_application() -> None:
    """An application has the documented members. All others, such as tokens, are assumptions."""
    documented = {one.wire for one in members(people.CreateUserApplication)}

    assert set(PERSONAL_VARIANT.split()) <= documented
    for one in members(people.CreateUserApplication):
        if one.wire not in PERSONAL_VARIANT.split():
            assert one.about.assumed


def test_members_of_results() -> None:
    """Results of simulations and signatures have the documented members. All others are assumptions."""
    extra = [one for one in members(contracts.WithdrawalSignature) if one.wire not in SIGNED]

    assert [one.wire for one in members(transactions.SimulatedTransaction)] == SIMULATED
    assert {one.wire for one in members(contracts.WithdrawalSignature)} >= SIGNED
    assert all(one.about.assumed for one in extra)


FIAT = (
    "beneficiaryType beneficiaryFirstName beneficiaryLastName currency thirdParty beneficiaryAddress bankName bankAddress "
    "accountNumber routingNumber rail beneficiaryBusinessName bankAccountType"
)


def test_members_of_nested_objects() -> None:
    """Bank accounts and both forms of addresses have the documented members."""
    user = "line1 city region postalCode countryCode line2 country"
    bank = "addressLine1 city region postalCode countryCode addressLine2"

    assert set(FIAT.split()) == {one.wire for one in members(people.ExternalFiatAccount)}
    assert set(user.split()) == {one.wire for one in members(people.Address)}
    assert set(bank.split()) == {one.wire for one in members(people.BankingAddress)}


def test_withdrawal_parameters_by_meaning() -> None:
    """The seven query parameters are in the document's order, with its optional ones."""
    one_by_one = [one.name for one in members(contracts.SignWithdrawal)]

    assert one_by_one == [
        "chain_id",
        "token",
        "amount",
        "admin_address",
        "recipient_address",
        "is_amount_native",
        "collateral_contract_id",
    ]
    assert not member(contracts.SignWithdrawal, "collateral_contract_id").required


UUIDS = [
    (contracts.IssuingContract, "id"),
    (transactions.SimulatedTransaction, "transaction_id"),
    (people.PaymentAccount, "id"),
    (people.CreatePaymentAccount, "user_id"),
    (people.CreatePaymentAccount, "company_id"),
    (people.User, "id"),
    (people.User, "company_id"),
    (people.CompanyApplication, "id"),
    (people.UltimateBeneficialOwner, "id"),
    (people.LinkParams, "user_id"),
    (transactions.SimulateAuthorization, "card_id"),
]


@each("record,name", UUIDS, ids=[f"{r.__name__}.{n}" for r, n in UUIDS])
def test_uuids(record: type[Any], name: str) -> None:
    """Members that the document calls uuid accept only UUIDs."""
    one = member(record, name)

    assert isinstance(one.kind, Text)
    assert one.about.rule.format == "uuid"


@pytest.mark.parametrize(
    "kind,body", [("user.updated", events.UserUpdated), ("microDeposit.received", events.MicroDepositReceived)]
)
def test_documented_events(kind: str, body: type[Any]) -> None:
    """The two documented event kinds are not assumptions, and all others are."""
    assert body is events.EVENT_KINDS[kind].body
    assert events.EVENT_KINDS[kind].assumed is None
    assert {"user.updated", "microDeposit.received"} == {
        name for name, row in events.EVENT_KINDS.items() if not row.assumed
    }


def test_status_of_an_event_is_of_eleven() -> None:
    """An event's status has eleven values, and an answer's has eight."""
    assert Choice(vocabulary.EventApplicationStatus) == member(events.UserUpdated, "application_status").kind
    assert Choice(vocabulary.ApplicationStatus) == member(people.User, "application_status").kind


def test_camel_case() -> None:
    """One rule turns attribute names into wire names."""
    assert camel("is_terms_of_service_accepted") == "isTermsOfServiceAccepted"
    assert camel("line1") == "line1"


@pytest.mark.parametrize(
    "texts, enum",
    [
        (vocabulary.DeclineReasonText, vocabulary.DeclineReason),
        (vocabulary.PaymentAccountTypeText, vocabulary.PaymentAccountType),
        (vocabulary.DisputeUpdateStatusText, vocabulary.DisputeUpdateStatus),
        (vocabulary.RewardTypeText, vocabulary.RewardType),
    ],
)
def test_the_texts_that_requests_take_are_those_of_the_enums(texts, enum) -> None:
    """The literals for type checkers equal the values of the enums."""
    assert list(get_args(texts)) == list(enum)


def test_a_comparison_with_a_misspelled_value_warns() -> None:
    """Comparing with a misspelled value warns at the caller's line. Values, other types and dictionary keys do not."""
    status = vocabulary.TransactionStatus.AUTHORIZED
    with pytest.warns(AdviceWarning, match="did you mean authorized"):
        assert status != "authorised"
    with pytest.warns(AdviceWarning, match="not a value of TransactionStatus") as warned:
        assert "Authorized" != status

    assert warned[0].filename == __file__
    assert status == "authorized"
    assert "reversed" not in list(vocabulary.TransactionStatus)  # an unknown value, as a later release may add
    assert {"authorized": 1, "done": 2}[status] == 1
    assert status != 7
