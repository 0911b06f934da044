"""Each gap of the document has listed assumptions."""

import ast
from pathlib import Path

from tests.each import each
from workbench.service.interface import assumptions as module
from workbench.service.interface.assumptions import BEHAVIORS, assumptions

# Quoted sentences of the document, and the assumptions that answer them.
SILENCES: dict[str, tuple[str, ...]] = {
    "Values of status other than ready: not shown.": ("withdrawal_pending", "withdrawal_signature.retry_after"),
    "Required or optional markers of payment-account fields, allowed values of beneficiaryType other than individual, of "
    "rail and of bankAccountType, and the fields of the business beneficiary variant: not shown.": (
        "create_payment_account.type",
        "external_fiat_account.beneficiary_type",
        "external_fiat_account.rail",
        "external_fiat_account.bank_account_type",
        "external_fiat_account.beneficiary_business_name",
        "external_fiat_account.beneficiary_type_individual",
        "external_fiat_account.beneficiary_type_business",
        "banking_address.city",
    ),
    "Fields of the dispute record: not shown.": ("dispute.id", "dispute.transaction_id", "dispute.created_at"),
    "Which fields belong to earned items and which to redeemed items: not shown.": ("rewards_members",),
    "Fields of the card and transaction records: not shown.": ("card_events", "card_updated.status", "spend.amount"),
    "Transitions between application statuses, except the two rows above: not shown.": (
        "review_seconds",
        "outcome_by_name",
        "owner_reapplies",
    ),
    "States of disputes other than canceled, and transitions of disputes: not shown.": (
        "dispute.status",
        "dispute_cancel_twice",
        "dispute_both",
    ),
    "Names, and required or optional status, of the query parameters: not shown.": (
        "sign_withdrawal.chain_id",
        "sign_withdrawal.token",
        "sign_withdrawal.amount",
        "sign_withdrawal.admin_address",
        "sign_withdrawal.recipient_address",
        "sign_withdrawal.is_amount_native",
        "sign_withdrawal.collateral_contract_id",
        "withdrawal_unit_default",
    ),
    "HTTP status codes and conditions of these error bodies: not shown.": (
        "sign_withdrawal.400.problems",
        "sign_withdrawal.403.address",
        "sign_withdrawal.404.asset",
        "sign_withdrawal.409.another",
        "sign_withdrawal.422.collateral",
        "withdrawal_other_while_active",
    ),
    "Name of the field that requests a decline, and which body fields are required: not shown.": (
        "simulate_authorization.decline_reason",
        "simulate_authorization.card_id",
        "simulate_authorization.amount",
        "simulate_authorization.currency",
        "simulate_authorization.merchant_name",
        "simulate_authorization.merchant_category_code",
    ),
    "Success status code: not shown.": ("create_payment_account",),
    "Success status code and success body: not shown.": ("delete_payment_account",),
    "Success body: not shown.": ("update_dispute",),
    "Names of those further members, and the request shape of the two share-token variants: not shown.": (
        "create_user_application.id",
        "create_user_application.chain_id",
        "create_user_application.contract_address",
        "create_user_application.source_key",
        "create_user_application.external_id",
        "create_user_application.is_terms_of_service_accepted",
        "create_user_application.has_existing_documents",
        "create_user_application.sumsub_share_token",
        "create_user_application.persona_share_token",
        "create_user_application.one_of",
    ),
    "Names of the query parameters: not shown.": (
        "list_rewards_activity.user_id",
        "list_rewards_activity.type",
        "list_rewards_activity.limit",
        "list_rewards_activity.offset",
    ),
    "Endpoints for payment routes, cards, transactions, user initiation, travel redemption and all other operations: "
    "not shown.": ("payment_routes", "settle_route"),
    "Roles required by endpoints other than those named: not shown.": ("roles_elsewhere",),
    "Issuance, rotation and expiry of keys: not shown.": ("keys_lifetime",),
    "The kinds of those events: not shown.": ("transaction_events", "transaction_changed.type"),
    "Registration of webhook endpoints, delivery retries and signing of deliveries: not shown.": (
        "event_endpoints",
        "event_retries",
        "event_retry_spread",
        "event_signing",
    ),
    "Any simulation endpoint called in production: error and message not specified.": (
        "simulate_authorization.404.not",
        "simulate_reversal.404.not",
        "simulate_refund.404.not",
    ),
    "Error codes and messages for validation failures and conflicts on each endpoint (for example a duplicate external id, "
    "or a wallet address that cannot be changed): not shown.": (
        "validation_errors",
        "duplicate_external_id",
        "update_user.400.problems",
        "update_user.400.family",
        "update_user.409.external",
        "create_user_application.409.external",
        "wallet_required",
    ),
    "Error responses of the simulation endpoints in the sandbox, such as an unknown card or transaction: not shown.": (
        "simulate_authorization.404.card",
        "simulate_reversal.404.transaction",
        "simulate_refund.404.transaction",
        "simulate_authorization.400.card",
        "wrong_state",
    ),
    "Rate limits: not shown.": ("rate_limits",),
    "Maximum lengths of fields not listed above: not shown.": ("lengths_elsewhere",),
    "Deprecation schedule, removal date and the policy for breaking changes: not shown.": ("deprecation",),
}


@each("sentence", SILENCES, ids=lambda sentence: sentence[:40])
def test_every_silence_is_answered(sentence: str) -> None:
    """Each gap of the document has assumptions in the list."""
    listed = {one.id for one in assumptions()}

    assert SILENCES[sentence]
    assert set() == set(SILENCES[sentence]) - listed


def test_there_are_about_twenty_five() -> None:
    """The document has twenty-six gaps."""
    assert len(SILENCES) == 26


def test_each_behavior_has_an_id_of_its_own() -> None:
    """Every declared behavior is listed under a unique id."""
    calls = [one for one in ast.walk(ast.parse(Path(module.__file__).read_text())) if isinstance(one, ast.Call)]
    declared = [one.args[0].value for one in calls if getattr(one.func, "id", "") == "Behavior"]

    assert declared == list(BEHAVIORS)
