"""All assumptions about the service, each with its reason, its confidence, and where to change it.

Fields, operations and failures declare their own assumptions. This module adds the assumptions about behavior, with
their values in "documented" and "observed", and lists all assumptions.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from workbench.base.frozen import frozen
from workbench.base.schema.fields import LIVE, ONCE, UNCONFIRMED, WIDELY, Confidence, Reason
from workbench.base.schema.rules import When
from workbench.base.schema.walk import cross_rules, members, records, snake
from workbench.service.interface import table
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import Failure, Operation

STATUS = "4xx"
"""Placeholder among a setting's values. It stands for the status of the refusal as text, such as "422"."""
ANY = "any"
"""Placeholder among a setting's values. It stands for any value of the same type as the other values."""
MAX_SETTING = 1_000_000_000  # largest number as a setting


@frozen(kw_only=True)
class Assumption:
    """One assumption, with id, location, assumed value, reason, confidence, and where to change it."""

    id: str
    where: str
    value: str
    reason: str
    confidence: Confidence
    change: str


@frozen
class Behavior:
    """An assumption about how the service behaves. A sandbox setting may change it.

    `documented` and `observed` are the setting's values in the sandbox behaviors with these names.
    """

    id: str
    where: str
    says: str
    reason: str
    confidence: Confidence = UNCONFIRMED
    documented: Any = ...  # `...` if no setting changes the behavior
    observed: Any = attrs.Factory(lambda behavior: behavior.documented, takes_self=True)
    others: tuple[Any, ...] = ()  # further allowed values; STATUS allows any status, and ANY any value of the same type

    @property
    def settable(self) -> bool:
        """Whether a sandbox setting changes this behavior."""
        return self.documented is not ...

    def accepts(self, value: object) -> bool:
        """Return whether a value is allowed for this setting."""
        known = [choice for choice in (self.documented, self.observed, *self.others) if choice not in (STATUS, ANY)]
        if any(type(value) is type(choice) and value == choice for choice in known):
            return True
        if isinstance(value, (int, float)) and not 0 <= value <= MAX_SETTING:  # NaN is in no range
            return False
        if STATUS in self.others and isinstance(value, str) and re.fullmatch("4[0-9][0-9]", value):
            return True
        numbers = (int, float)
        same = any(
            isinstance(value, numbers if type(choice) in numbers else type(choice)) and not isinstance(value, bool)
            for choice in known
            if choice is not None
        ) or (
            isinstance(value, str)
            and None in known
            and all(choice is None or isinstance(choice, str) for choice in known)
        )
        return ANY in self.others and same


BEHAVIORS: Mapping[str, Behavior] = {
    row.id: row
    for row in (
        # withdrawals
        Behavior(
            "withdrawal_unit_default",
            "sign_withdrawal",
            "an omitted unit flag means cents, or native units",
            "the document says that false means cents, but does not describe an omitted flag",
            WIDELY,
            documented="cents",
            others=("native",),
        ),
        Behavior(
            "withdrawal_pending",
            "sign_withdrawal",
            "the only status besides ready is pending, with HTTP 200, retryAfter and no signature",
            "the document shows no status other than ready",
            WIDELY,
        ),
        Behavior(
            "withdrawal_contract_choice",
            "sign_withdrawal",
            "if several contracts match, the oldest is used, or the newest",
            "the document does not say which contract is used",
            documented="first",
            others=("last",),
        ),
        Behavior(
            "withdrawal_smallest_amount",
            "sign_withdrawal",
            "an amount below one unit of the token is refused with 400",
            "the document shows no error conditions",
            documented="400",
            others=(STATUS,),
        ),
        Behavior(
            "address_case",
            "sign_withdrawal",
            "EVM addresses are compared case-insensitively",
            "the patterns of the document accept any case, and it mentions no checksum",
        ),
        Behavior(
            "withdrawal_same_again",
            "sign_withdrawal",
            "while a signature is valid, an equal request gets the same signature, or a new one",
            "the document does not describe the answer to a second request",
            documented="same",
            others=("new",),
        ),
        Behavior(
            "withdrawal_other_while_active",
            "sign_withdrawal",
            "while a signature is valid, a different request gets a new signature, or 409",
            "the document shows no error conditions",
            WIDELY,
            documented="new",
            observed="409",
            others=(STATUS,),
        ),
        Behavior(
            "withdrawal_lifetime",
            "sign_withdrawal",
            "validity of a signature in seconds",
            "the document shows only expiresAt",
            ONCE,
            documented=600,
            observed=300,
            others=(120, ANY),
        ),
        Behavior(
            "withdrawal_scope",
            "sign_withdrawal",
            "at most one signature is valid for each tenant, or for each contract",
            "the document shows no error conditions",
            ONCE,
            documented="tenant",
            observed="contract",
        ),
        Behavior(
            "withdrawal_encodings",
            "sign_withdrawal",
            "salt is base64 of 32 bytes; data is 0x hex (EVM), base64 (Solana) or plain hex (Stellar)",
            "the document shows no encodings",
            WIDELY,
        ),
        Behavior(
            "withdrawal_service_half",
            "sign_withdrawal",
            "on EVM chains the service signs a separate EIP-712 message with the domain name Coordinator and version 2",
            "the document does not show what is signed",
            ONCE,
        ),
        Behavior(
            "coordinator_verifying_contract",
            "sign_withdrawal",
            "the contract's controllerAddress is the verifying contract of the service's EIP-712 message",
            "seen in one source, which does not name the verifier",
        ),
        Behavior(
            "withdrawal_admin_message",
            "withdrawals",
            "on EVM chains the admin signs an EIP-712 message with the domain name Collateral, version 2, the "
            "contract's proxyAddress as verifying contract and a salt chosen by the admin; its nonce is the proxy's "
            "adminNonce()",
            "not in the document",
            WIDELY,
        ),
        Behavior(
            "withdrawal_call",
            "withdrawals",
            "on EVM chains the controllerAddress accepts withdrawAsset with ten arguments for contractVersion 2; "
            "version 1 takes the first seven arguments, and the contract's owner sends the call",
            "not in the document",
            WIDELY,
        ),
        Behavior(
            "withdrawal_parameters_order",
            "withdrawals",
            "parameters are proxy, asset, amount in native units, recipient, expiry in Unix seconds, salt as 32 "
            "numbers, signature, and on Ed25519 chains the public key",
            "not in the document",
            LIVE,
        ),
        Behavior(
            "withdrawal_solana_message",
            "withdrawals",
            "on Solana the service signs an EIP-712 message with the domain name Coordinator over packed values, with "
            "the nonce, and with chain id 900 on every network",
            "not in the document; seen in public integration examples",
            ONCE,
        ),
        Behavior(
            "withdrawal_stellar_message",
            "withdrawals",
            "on Stellar the service signs the SHA-256 of chain id, addresses, amount, expiry and salt",
            "reports name only Ed25519, not the signed bytes; verify(message=…) takes a function that returns other "
            "bytes",
        ),
        Behavior(
            "withdrawal_ed25519_transaction",
            "withdrawals",
            "on Solana and Stellar an admin sends the transaction with the parameters, and signs nothing else; on "
            "Solana, the first instruction of this transaction verifies the service's signature",
            "not in the document; public examples call withdrawSingleSignerCollateralAsset on Solana and "
            "withdraw_assets on Stellar",
            ONCE,
        ),
        Behavior(
            "token_decimals",
            "sign_withdrawal",
            "a token of the sandbox has six decimals, seven on Stellar",
            "the document shows no token decimals",
        ),
        Behavior(
            "cents_to_units",
            "sign_withdrawal",
            "cents are converted to units of the token by its exchangeRate, rounded down",
            "the document does not describe the conversion of cents to units",
        ),
        Behavior(
            "recipient_family",
            "sign_withdrawal",
            "a recipient of another chain family, or a damaged address, returns 400",
            "the document shows no error conditions",
            documented="400",
            others=(STATUS,),
        ),
        # simulations
        Behavior(
            "settle_route",
            "simulations",
            "POST /simulate/transactions/{transactionId}/settle with {amount} settles an authorization",
            "the document has no call that settles, but refunds need a settled transaction; public clients use this "
            "call",
            LIVE,
            documented=True,
            others=(False,),
        ),
        Behavior(
            "settle_by_clock",
            "simulations",
            "an authorization settles automatically after this many seconds of sandbox time; None: only a control "
            "settles it",
            "the document does not state the time",
            documented=None,
            others=(3600, ANY),
        ),
        Behavior(
            "full_reversal_status",
            "simulate_reversal",
            "status of the answer to a full reversal",
            "no documented value fits exactly",
            LIVE,
            documented="authorized",
            observed="settled",
            others=("reversed", ANY),
        ),
        Behavior(
            "full_reversal_reason",
            "simulate_reversal",
            "completionReason of the answer to a full reversal",
            "no documented value fits exactly",
            LIVE,
            documented=None,
            observed="authorization_reversal",
            others=(ANY,),
        ),
        Behavior(
            "full_reversal_completed",
            "simulate_reversal",
            "a full reversal also sends transaction.completed",
            "a live sandbox sent these events",
            ONCE,
            documented=False,
            observed=True,
        ),
        Behavior(
            "partial_reversal",
            "simulate_reversal",
            "a partial reversal answers with the status authorized, and the hold becomes newAmount",
            "the document gives no status for a partial reversal",
            documented="authorized",
            others=("reversed", ANY),
        ),
        Behavior(
            "reversal_bounds",
            "simulate_reversal",
            "a newAmount above the hold returns 400; an equal amount changes nothing; 0 is a full reversal",
            "the document does not show this",
            documented="400",
            others=(STATUS,),
        ),
        Behavior(
            "completion_reason_case",
            "simulations",
            "casing of completionReason",
            "live answers have completionReason in lower case",
            LIVE,
            documented="upper",
            observed="lower",
        ),
        Behavior(
            "event_completion_reason",
            "events",
            "transaction.completed has version 1.1.0 and a completionReason",
            "the document shows no transaction event",
            ONCE,
            documented=False,
            observed=True,
        ),
        Behavior(
            "refund_amount_omitted",
            "simulate_refund",
            "a refund without an amount refunds the full amount, or is refused",
            "live services require an amount",
            LIVE,
            documented="full",
            observed="400",
            others=(STATUS,),
        ),
        Behavior(
            "refund_bounds",
            "simulate_refund",
            "several refunds are possible, up to the settled amount in total; a larger total returns 400; a refund of "
            "0 has no effect",
            "the document does not show this",
            documented="400",
            others=(STATUS,),
        ),
        Behavior(
            "settle_bounds",
            "simulations",
            "a settlement above the hold returns 400, or is posted; a smaller settlement releases the rest",
            "the document has no call that settles",
            LIVE,
            documented="400",
            observed="posted",
            others=(STATUS,),
        ),
        Behavior(
            "wrong_state",
            "simulations",
            "reversing a settled transaction, or refunding an unsettled one, returns 400 and changes nothing",
            "the document shows no simulation errors",
            documented="400",
            others=(STATUS,),
        ),
        Behavior(
            "card_not_active",
            "simulate_authorization",
            "an authorization with an inactive card returns 400 with the card's id, even if the request asks for a "
            "decline; or it is declined",
            "the document shows no simulation errors",
            WIDELY,
            documented="400",
            others=("declined", STATUS),
        ),
        Behavior(
            "card_money",
            "simulations",
            "a card has one all-time limit: available + held + posted - refunded = limit",
            "the document shows no fields of the card record",
        ),
        Behavior(
            "inactive_user",
            "simulate_authorization",
            "cards of a deactivated user still authorize",
            "the document does not say what isActive changes",
        ),
        Behavior(
            "over_limit",
            "simulate_authorization",
            "an authorization above the available credit is declined with this reason; or authorized",
            "the document says authorized if no decline is requested; live services decline",
            LIVE,
            documented="account_credit_limit_exceeded",
            others=("authorized", ANY),
        ),
        Behavior(
            "currency",
            "simulate_authorization",
            "only USD is supported",
            "the document does not list the supported currencies",
            LIVE,
            documented=("USD",),
            others=(("USD", "EUR"), ANY),
        ),
        # people
        Behavior(
            "outcome_by_name",
            "create_user_application",
            "a status word in the last name determines the outcome of the review",
            "the document does not describe the review",
            WIDELY,
            documented=True,
            others=(False,),
        ),
        Behavior(
            "review_seconds",
            "create_user_application",
            "an application stays pending for this many seconds of sandbox time, then is approved",
            "the document does not state the duration of a review",
            documented=60,
            others=(5, ANY),
        ),
        Behavior(
            "review_transitions",
            "users",
            "a review may set any status; setting the current status changes nothing and sends no event",
            "the document does not state which statuses a review can set",
        ),
        Behavior(
            "terms_not_accepted",
            "create_user_application",
            "an approval before the terms are accepted sets tosNotAccepted, or approved",
            "the document describes how this status ends, not how it begins",
            documented="tosNotAccepted",
            others=("approved",),
        ),
        Behavior(
            "initiated_application",
            "create_user_application",
            "an initiated application can be completed only while its user is notStarted, else 409",
            "the document shows no endpoint that initiates an application",
            documented="409",
            others=(STATUS,),
        ),
        Behavior(
            "share_token_person",
            "create_user_application",
            "any share token is accepted and represents a fictitious person",
            "the verification providers are outside the document",
        ),
        Behavior(
            "external_contract",
            "update_user",
            "an external contract counts as collateral on its chain",
            "the document does not say whether an external contract is collateral",
        ),
        Behavior(
            "status_links",
            "users",
            "needsInformation, needsVerification, tosNotAccepted and notStarted carry a completion link, "
            "and needsVerification also the deprecated link",
            "the document states the link only for tosNotAccepted",
            documented=("needsInformation", "needsVerification", "tosNotAccepted", "notStarted"),
            others=(("needsVerification",), ANY),
        ),
        Behavior(
            "status_reasons",
            "users",
            "denied, needsInformation, needsVerification and manualReview carry labels as applicationReason, other "
            "statuses an empty text",
            "the document shows no labels of the provider",
            documented={
                "denied": "WRONG_USER_REGION, REGULATIONS_VIOLATIONS",
                "needsInformation": "DOCUMENT_PAGE_MISSING, LOW_QUALITY",
                "needsVerification": "UNSATISFACTORY_PHOTOS",
                "manualReview": "SIMILAR_APPLICATION",
            },
            others=({"denied": "FORGERY"}, ANY),
        ),
        Behavior(
            "company_outcome",
            "update_ubo",
            "a company is approved if all owners are approved, pending while any is pending, and otherwise has the "
            "status of its first owner who is not approved",
            "the document shows no transitions of companies",
        ),
        Behavior(
            "event_statuses_shown",
            "users",
            "answers show notStarted and tosNotAccepted as pending, and exempt as approved; or unchanged",
            "answers list eight statuses, events eleven",
            LIVE,
            documented="mapped",
            observed="raw",
        ),
        Behavior(
            "approved_with_reason",
            "users",
            "an approved application can carry an applicationReason",
            "observed in practice",
            LIVE,
        ),
        Behavior(
            "partial_address",
            "update_user",
            "a partial address is merged into the stored address, or replaces it",
            "the document does not say whether the service merges or replaces an address",
            documented="merged",
            others=("replaced",),
        ),
        Behavior(
            "address_country",
            "requests",
            "an address in a request may have the member country",
            "the document lists country for answers, and omits it for one request",
        ),
        Behavior(
            "owner_reapplies",
            "update_ubo",
            "an owner who reapplies and the owner's company become pending, then are reviewed",
            "the document shows no transitions",
        ),
        Behavior(
            "owner_events",
            "update_ubo",
            "the review of an owner sends user.updated with the companyId",
            "the document shows no event for owners",
            documented=True,
            others=(False,),
        ),
        Behavior(
            "owner_contract",
            "create_user_application",
            "if the provider manages contracts, the user's wallet immediately owns a new, empty contract on a test "
            "chain of the wallet's family",
            "the document says that the wallet becomes an owner on the user's contract, but not when or on which chain",
        ),
        Behavior(
            "wallet_required",
            "create_user_application",
            "a provider-managed tenant's application without a wallet returns 400",
            "the document shows no error codes of validation failures",
            documented="400",
            others=(STATUS,),
        ),
        Behavior(
            "duplicate_external_id",
            "create_user_application",
            "a request with the external id of another user or company of the tenant returns 409",
            "the document shows no codes of conflicts",
            documented="409",
            others=("accepted", STATUS),
        ),
        Behavior(
            "empty_patch",
            "updates",
            "a PATCH with an empty body changes nothing and returns 200",
            "the document does not show this",
            documented="accepted",
            others=(STATUS,),
        ),
        # disputes
        Behavior(
            "dispute_cancel_twice",
            "update_dispute",
            "a second cancellation, or evidence for a canceled dispute, returns 400",
            "the document shows no dispute transitions",
            documented="400",
            others=(STATUS,),
        ),
        Behavior(
            "dispute_both",
            "update_dispute",
            "a cancellation and evidence in one call both take effect",
            "the document does not show this",
            documented="accepted",
            others=(STATUS,),
        ),
        Behavior(
            "evidence_total",
            "update_dispute",
            "the total text evidence of a dispute has at most 65,535 characters, else 400",
            "the document limits each text, not the total length",
            documented="400",
            others=(STATUS,),
        ),
        Behavior(
            "evidence_appended",
            "update_dispute",
            "evidence is appended on a new line, or replaces the earlier evidence",
            "the document says that text evidence is added, but not how",
            documented="appended",
            others=("replaced",),
        ),
        Behavior(
            "disputes_closed",
            "update_dispute",
            "evidence or a cancellation for an accepted or rejected dispute returns 400",
            "the document shows no dispute transitions",
            documented="400",
            others=(STATUS,),
        ),
        Behavior(
            "dispute_money",
            "update_dispute",
            "a dispute moves no money, whatever its outcome",
            "the document shows no fields or effects of disputes",
        ),
        Behavior(
            "dispute_ids",
            "update_dispute",
            "the sandbox's dispute ids are UUIDs; any other text returns 404, not 400",
            "the document shows no fields of the dispute record",
            documented="404",
            others=(STATUS,),
        ),
        # rewards
        Behavior(
            "rewards_order",
            "list_rewards_activity",
            "items are sorted by createdAt, newest or oldest first; unlisted redemptions are removed before paging",
            "the document shows no order",
            documented="newest",
            others=("oldest",),
        ),
        Behavior(
            "rewards_members",
            "list_rewards_activity",
            "earned items have merchantName, transactionAmountCents, spendCategory, reason, postedAt and mintedAt; "
            "redeemed items have status and createdAt",
            "the document does not say which fields belong to which type",
        ),
        Behavior(
            "rewards_earning",
            "list_rewards_activity",
            "a settled purchase earns points by merchant category, and a refund takes points back; points are posted "
            "within three days and minted within nine more",
            "the document does not show how points are earned",
        ),
        Behavior(
            "rewards_beyond",
            "list_rewards_activity",
            "an offset beyond the last item returns no items",
            "the document does not show this",
            documented="empty",
            others=(STATUS,),
        ),
        Behavior(
            "rewards_adjustments",
            "list_rewards_activity",
            "an adjustment has the reason CARD_SPEND, no merchant, and possibly negative points",
            "the document states only the reason of adjustments",
        ),
        Behavior(
            "rewards_words",
            "list_rewards_activity",
            "status is COMPLETED, PENDING or FAILED, and a category is one word, such as groceries",
            "the document shows only PENDING and FAILED, and no category",
        ),
        # payment accounts
        Behavior(
            "account_owner_kind",
            "create_payment_account",
            "tenants with individual teams must use userId, and tenants with company teams companyId; the other id "
            "returns 404",
            "the document has this rule, but shows no answer to the wrong id",
            documented="404",
            others=(STATUS,),
        ),
        Behavior(
            "account_defaults",
            "create_payment_account",
            "answers show omitted members as thirdParty false, rail ach and bankAccountType checking",
            "the document shows these values as observed, not as defaults",
            documented={"thirdParty": False, "rail": "ach", "bankAccountType": "checking"},
            others=({"thirdParty": False, "rail": "wire", "bankAccountType": "checking"}, ANY),
        ),
        Behavior(
            "account_business_name",
            "create_payment_account",
            "the answer for an individual's account has an empty beneficiaryBusinessName",
            "the document says that the answer adds this member, but not its value",
            documented=True,
            others=(False,),
        ),
        Behavior(
            "account_other_variant",
            "create_payment_account",
            "members of the other beneficiary type are stored, or ignored",
            "the document shows no fields of the business variant",
            documented="kept",
            others=("dropped",),
        ),
        Behavior(
            "account_words",
            "create_payment_account",
            "rail and bankAccountType accept any text",
            "the document shows observed values, not the allowed values",
        ),
        Behavior(
            "account_currency",
            "create_payment_account",
            "a currency is three lower-case letters, and only usd is supported",
            "usd is the only observed value",
            documented=("usd",),
            others=(("usd", "eur"), ANY),
        ),
        Behavior(
            "routing_number_format",
            "create_payment_account",
            "a routing number has nine digits, as in the United States",
            "the document calls it text, and usd is the only observed currency",
        ),
        Behavior(
            "account_error_text",
            "create_payment_account",
            "the answer to an invalid account has only the message Invalid request; True adds the problems",
            "the document gives this message, but no example of an invalid account",
            documented=False,
            observed=True,
        ),
        # requests in general
        Behavior(
            "unknown_body_members",
            "requests",
            "unknown body members are ignored, or refused",
            "reported from live calls",
            WIDELY,
            documented="dropped",
            others=(STATUS,),
        ),
        Behavior(
            "order_of_checks",
            "requests",
            ("the service checks the key, then the role, the body and the record"),
            "the document shows no order",
            LIVE,
        ),
        Behavior(
            "roles_elsewhere",
            "requests",
            "operations without a named role need no role",
            "the document names roles for some operations only",
        ),
        Behavior(
            "validation_errors",
            "requests",
            "a request that breaks a rule returns 400 with the usual error body, whose message names each wrong member "
            "once",
            "the document shows no codes of validation failures",
            LIVE,
            documented="400",
            others=(STATUS,),
        ),
        Behavior(
            "email_format",
            "requests",
            "an email address has one @ between two parts without blanks, else 400",
            "the document states no email format",
            documented="400",
            others=("accepted", STATUS),
        ),
        Behavior(
            "ip_format",
            "requests",
            "an IP address is an IPv4 address, or an IPv6 address without a zone, else 400",
            "the document states no IP address format",
            documented="400",
            others=("accepted", STATUS),
        ),
        Behavior(
            "id_case",
            "requests",
            "an id is a UUID of 36 characters in upper or lower case, else 400; answers use lower case",
            "the document says uuid, but does not list the accepted spellings",
            documented="400",
            others=(STATUS,),
        ),
        Behavior(
            "null_members",
            "requests",
            "a null member in a request returns 400",
            "the document shows no null in requests",
            documented="400",
            others=("accepted", STATUS),
        ),
        Behavior(
            "duplicate_members",
            "requests",
            "a duplicate body member or query parameter returns 400",
            "the document does not show this",
            documented="400",
            others=(STATUS,),
        ),
        Behavior(
            "whole_number_spelling",
            "requests",
            "1250.0 and 1.25e3 are whole numbers",
            "the document says integer, but does not list the accepted spellings",
        ),
        Behavior(
            "content_type",
            "requests",
            "a body with a content type other than application/json returns 400",
            "the document says that bodies are JSON, and does not describe the answer to other types",
            documented="400",
            others=("accepted", STATUS),
        ),
        Behavior(
            "body_size",
            "requests",
            "a body above 1,000,000 bytes returns 400",
            "the document shows no body size limits",
            documented="400",
            others=(STATUS,),
        ),
        Behavior(
            "empty_body",
            "requests",
            "a missing body counts as an empty object, or returns 400 for simulations; GET and DELETE bodies are "
            "ignored",
            "the document does not say what an absent body means",
            LIVE,
            documented="object",
            observed="400",
            others=(STATUS,),
        ),
        Behavior(
            "unknown_paths",
            "requests",
            "an unknown path returns 404, an unsupported method 405 with Allow",
            "the document shows no other paths",
            documented="404",
            others=(STATUS,),
        ),
        Behavior(
            "team_not_found",
            "requests",
            "every operation answers 404 Team not found if the key's tenant was deleted",
            "the document shows this answer for two operations",
        ),
        Behavior(
            "production_order",
            "requests",
            "a simulation in production returns 404 before role and body are checked",
            "the document shows no order",
        ),
        Behavior(
            "rate_limits",
            "requests",
            "the sandbox has no rate limits, unless rate_limit or a fault rule sets them; the client reads X-RateLimit "
            "headers and 429 with Retry-After",
            "the document shows no rate limits",
            ONCE,
        ),
        Behavior(
            "idempotency",
            "requests",
            "the client sends no idempotency key unless a profile names its header or the caller gives a key",
            "no idempotency key is documented",
            ONCE,
        ),
        Behavior(
            "success_codes",
            "requests",
            "any 2xx, with or without a body, is a success; the sandbox answers with the documented status, or a "
            "status from this setting",
            "the document does not show all success codes",
            documented={},
            others=({"create_payment_account": 201}, ANY),
        ),
        Behavior(
            "bearer_keys",
            "requests",
            "an API key is also accepted in Authorization: Bearer",
            "the document shows only the header Api-Key",
            ONCE,
            documented=False,
            observed=True,
        ),
        Behavior(
            "idempotency_keys",
            "requests",
            "a write repeated with the same Idempotency-Key within 24 hours gets the stored response, with "
            "Idempotency-Cached: true; a different write with that key gets 409",
            "no idempotency key is documented; some public pages describe it",
            ONCE,
            documented=False,
            observed=True,
        ),
        Behavior(
            "rate_limit",
            "requests",
            "maximum requests per minute for each key, stated in X-RateLimit headers; further requests get 429 with "
            "Retry-After; None: no limit",
            "the document shows no rate limits",
            ONCE,
            documented=None,
            observed=1_000_000,
            others=(600, ANY),
        ),
        Behavior(
            "payment_routes",
            "requests",
            "GET /payment-routes and its alias /automations answer with an empty list, or with an object whose "
            "paymentRoutes is an empty list; the alias sends the header Deprecation",
            "the document does not show the endpoints; two of three known consumers read an object",
            documented="list",
            others=("object",),
        ),
        Behavior(
            "lengths_elsewhere",
            "requests",
            "a text field for which the document states no limit may have any length, or be empty",
            "the document states maximum lengths for some fields only",
        ),
        Behavior(
            "whole_numbers",
            "requests",
            "a whole number above 2^53 - 1 returns 400",
            "the document shows no limits for whole numbers; JSON parsers agree up to 2^53 - 1",
            documented="400",
            others=("accepted", STATUS),
        ),
        Behavior(
            "keys_lifetime",
            "requests",
            "the sandbox's keys do not expire",
            "the document shows no issuance, rotation or expiry of keys",
        ),
        # chains and records of the sandbox
        Behavior(
            "chain_numbers",
            "contracts",
            "Solana has the chain id 900 (test networks 901 and 902), Stellar 1500 (test network 1501)",
            "the document does not list chain ids",
            WIDELY,
        ),
        Behavior(
            "stellar_contracts",
            "contracts",
            "list_contracts also returns Stellar contracts",
            "Stellar addresses do not match the document's wallet pattern, but live answers contain them",
            LIVE,
            documented=False,
            observed=True,
        ),
        # events
        Behavior(
            "transaction_events",
            "events",
            "an authorization sends transaction.requested, which False omits, and transaction.created; a settlement "
            "sends transaction.completed",
            "the document shows no transaction events",
            WIDELY,
            documented=True,
            others=(False,),
        ),
        Behavior(
            "declined_events",
            "events",
            "a declined authorization sends transaction.requested (pending) before transaction.created (declined); "
            "False omits transaction.requested",
            "the document shows no transaction events",
            WIDELY,
            documented=True,
            others=(False,),
        ),
        Behavior(
            "refund_events",
            "events",
            "a refund sends transaction.completed with a negative amount and an equal authorizedAmount",
            "the document shows no transaction events",
            WIDELY,
        ),
        Behavior(
            "refund_event_id",
            "events",
            "the events of a refund have a separate transaction id, or the id of the refunded transaction",
            "the document shows no transaction events",
            LIVE,
            documented="own",
            others=("transaction",),
        ),
        Behavior(
            "refund_event_created",
            "events",
            "a refund sends transaction.created before transaction.completed; False omits transaction.created",
            "the document shows no transaction events",
            LIVE,
            documented=True,
            others=(False,),
        ),
        Behavior(
            "previously_authorized",
            "events",
            "transaction.requested has previouslyAuthorizedAmount, 0 for a new authorization",
            "sources disagree",
            ONCE,
            documented=False,
            others=(True,),
        ),
        Behavior(
            "event_authorized_amount",
            "events",
            "authorizedAmount of a settled transaction is the amount held before the settlement, or the amount "
            "originally authorized",
            "the document shows no transaction events; sources disagree",
            LIVE,
            documented="reduced",
            others=("original",),
        ),
        Behavior(
            "event_merchant",
            "events",
            "a transaction has authorizationMethod online, cardType virtual, a merchant in Springfield, US, and a "
            "localAmount equal to amount",
            "the document shows no transaction events",
        ),
        Behavior(
            "merchant_padding",
            "events",
            "merchant texts are padded with blanks: a name to 25 characters, a city to 13",
            "the document shows no transaction events",
            LIVE,
            documented=False,
            observed=True,
        ),
        Behavior(
            "user_terms_shown",
            "users",
            "the answer with a user has the member isTermsOfServiceAccepted",
            "the document's table has this member only in events",
            WIDELY,
            documented=False,
            observed=True,
        ),
        Behavior(
            "user_event_terms",
            "events",
            "value of isTermsOfServiceAccepted while the status is tosNotAccepted",
            "the document describes the member, but not its value by status",
            documented=False,
            others=(True,),
        ),
        Behavior(
            "deposits",
            "events",
            "a control creates deposits; a deposit of 2.00 USD or more sends no event",
            "the document describes only smaller deposits",
        ),
        Behavior(
            "card_events",
            "events",
            "a change of a card sends card.updated",
            "the document shows no fields of the card record",
            WIDELY,
        ),
        Behavior(
            "event_version",
            "events",
            "an event's version is 1.1.0 if statusChangeReason or completionReason is present, else 1.0.0; a text is "
            "the version of all events",
            "the document shows the versions, but not which events have them",
            documented=None,
            others=("2.0.0", ANY),
        ),
        Behavior(
            "event_endpoints",
            "events",
            "endpoints are registered by a control of the sandbox",
            "the document shows no registration of webhook endpoints",
            WIDELY,
        ),
        Behavior(
            "event_signing",
            "events",
            "the header Signature is the HMAC-SHA256 of the raw body in hex; Secondary-Signature is sent while a key "
            "is rotated",
            "the document shows no signing of deliveries",
            WIDELY,
        ),
        Behavior(
            "event_retries",
            "events",
            "15 attempts; the first retry comes after 2.5 s, and each delay triples, to at most a day",
            "the document shows no delivery retries",
            ONCE,
            documented=(15, 2.5, 3, 86400),
            others=((5, 1, 2, 60), ANY),
        ),
        Behavior(
            "event_retry_spread",
            "events",
            "each delay before a retry is shortened at random by up to this share",
            "the document shows no delivery retries",
            documented=0.1,
            others=(0.5, ANY),
        ),
        Behavior(
            "event_ids",
            "events",
            "the envelope id is the same for all retries, or new for each retry",
            "the document does not show this",
            ONCE,
            documented="same",
            others=("new",),
        ),
        Behavior(
            "event_repeats",
            "events",
            "an event with the same resource, action and state as the previous one is a repeat",
            "the envelope id may differ between retries",
            ONCE,
        ),
        Behavior(
            "event_accepted",
            "events",
            "a missing response, or a status other than 2xx, is a failed delivery attempt",
            "the document shows no delivery retries",
            ONCE,
        ),
        Behavior(
            "event_gone",
            "events",
            ("the response status 410 disables the endpoint"),
            "the document shows no delivery retries",
        ),
        Behavior(
            "event_order",
            "events",
            "events are sent to an endpoint in order, and a retry does not delay later events",
            "the document shows no delivery retries",
        ),
        Behavior(
            "reversal_events",
            "events",
            "a reversal sends transaction.updated with the status reversed, the new total as amount, and a negative "
            "authorizationUpdateAmount",
            "the document shows no transaction events",
            WIDELY,
            documented="reversed",
            others=("pending", ANY),
        ),
        Behavior(
            "event_declined_reason",
            "events",
            "declinedReason has lower-case words (card locked), or the code used in answers (card_locked)",
            "the document shows no transaction events",
            WIDELY,
            documented="words",
            others=("code",),
        ),
        Behavior(
            "error_bodies",
            "requests",
            'error bodies have statusCode, error and message; {"400": {"code": "invalid"}} adds or replaces members '
            "by status",
            "error bodies observed in practice have further members and other values",
            LIVE,
            documented={},
            others=({"400": {"error": "Bad Request", "code": "FST_ERR_VALIDATION"}}, ANY),
        ),
        Behavior(
            "extra_members",
            "versioning",
            "answers and events have only documented members; this setting adds members, by operation or event kind",
            "live answers contain undocumented members",
            LIVE,
            documented={},
            others=({"update_user": {"tier": "text"}}, ANY),
        ),
        # changes that were announced or are possible, for rehearsals
        Behavior(
            "deprecated_alias",
            "versioning",
            "GET /automations is served, unless False",
            "the alias will be removed in a future release, which has no date",
            documented=True,
            others=(False,),
        ),
        Behavior(
            "unknown_members",
            "versioning",
            "answers and events have only the documented members; True adds addedLater to each of their objects",
            "a later release may add members",
            documented=False,
            others=(True,),
        ),
        Behavior(
            "unknown_values",
            "versioning",
            'enumerations have the document\'s values; members in this setting, such as ["status"], have the value '
            "addedLater instead",
            "a later release may add values",
            documented=(),
            others=(("status",), ANY),
        ),
        Behavior(
            "null_values",
            "versioning",
            "members of answers and events have a value or are omitted; members in this setting, such as "
            '["declinedReason"], are null instead',
            "a later release may write null",
            documented=(),
            others=(("declinedReason",), ANY),
        ),
        Behavior(
            "reversed_lists",
            "versioning",
            "lists of records in answers and events keep their order; True reverses each list",
            "a later release may use another order",
            documented=False,
            others=(True,),
        ),
        Behavior(
            "tightened_roles",
            "versioning",
            'operations need the document\'s roles; {"list_contracts": "newRole"} makes an operation require a '
            "role that no key has",
            "a later release may require more roles",
            documented={},
            others=({"list_contracts": "newRole"}, ANY),
        ),
        Behavior(
            "deprecation",
            "versioning",
            "the client never calls the deprecated alias",
            "the document shows no deprecation schedule",
        ),
    )
}


def settings(profile: str) -> dict[str, Any]:
    """Return the value of every setting in the behavior "documented" or "observed"."""
    return {row.id: getattr(row, profile) for row in BEHAVIORS.values() if row.settable}


def assumptions() -> tuple[Assumption, ...]:
    """Return every assumption about the service, with its reason and where to change it."""
    return tuple(
        Assumption(id=key, where=where, value=value, reason=str(why), confidence=why.confidence, change=change)
        for key, where, value, why, change in _marked()
        if why
    )


_CHANGES = {
    "name": 'wire_names."{key}" in a profile',
    "need": "connect(check=False) sends a request without this member",
    "meaning": "not settable; the value is not converted",
    "event": "not settable; members with other names are in extra",
}
"""Where to change an assumption about a member, by aspect of the member."""


def failure_id(operation: Operation[..., Any], failure: Failure) -> str:
    """Return the assumption id of an operation's failure."""
    return f"{operation.name}.{failure.status}.{snake(failure.message.split()[0].strip('{}'))}"


def _marked() -> Iterator[tuple[str, str, str, Reason | None, str]]:
    """Yield every declared value with its id, location, reason for the assumption, and where to change it.

    The reason is None if the value is documented.
    """
    for operation in table.OPERATIONS.values():
        where, value = f"{operation.method} {operation.path}", f"{operation.success}, and the body of the answer"
        yield operation.name, where, value, operation.assumed, "not settable; the client reads any 2xx"
        for failure in operation.failures:
            value = f"{failure.status} {failure.error}, when {failure.when}"
            change = "not settable; the client reads any status"
            yield failure_id(operation, failure), operation.name, value, failure.assumed, change
    tops = [cls for operation in table.OPERATIONS.values() for cls in (operation.request, operation.answer)]
    tops += [kind.body for kind in EVENT_KINDS.values()]
    for cls in dict.fromkeys(cls for top in tops for cls in records(top)):
        for member in members(cls):
            reason, key = member.about.assumed, f"{snake(cls.__name__)}.{member.name}"
            value = f"{member.wire} is required" if reason and reason.of == "need" else member.wire
            yield key, cls.__name__, value, reason, _CHANGES[reason.of].format(key=key) if reason else ""
        for rule in cross_rules(cls):
            named = f"{rule.name}_{rule.value}" if isinstance(rule, When) else snake(type(rule).__name__)
            change = "connect(check=False) sends the request anyway"
            yield f"{snake(cls.__name__)}.{named}", cls.__name__, rule.doc, rule.assumed, change
    for row in BEHAVIORS.values():
        change = f"sandbox.{row.id} in a profile" if row.settable else "not settable"
        both = f" (documented: {row.documented!r}, observed: {row.observed!r})"
        value = row.says + (both if row.documented != row.observed else "")
        yield row.id, row.where, value, Reason(row.reason, row.confidence), change
