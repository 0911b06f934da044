"""Every assumption about the service: what is assumed, why, how well it is supported, and where to change it.

Assumptions about fields, operations and failures stand where those are declared; this module adds those about behavior,
each with the value of both sandbox profiles, and lists them all.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from workbench.interface import table
from workbench.interface.events import EVENT_KINDS
from workbench.interface.fields import LIVE, ONCE, UNCONFIRMED, WIDELY, Confidence, Reason
from workbench.interface.rules import CrossRule, When
from workbench.interface.walk import cross_rules, members, records, snake


@attrs.frozen(kw_only=True)
class Assumption:
    """One assumption: an id, where it applies, the value taken, the reason, the confidence, and where to change it."""

    id: str
    where: str
    value: str
    reason: str
    confidence: Confidence
    change: str


@attrs.frozen
class Behavior:
    """An assumption about how the service behaves. `documented` and `observed` are the values of the sandbox profiles."""

    id: str
    where: str
    says: str
    reason: str
    confidence: Confidence = UNCONFIRMED
    documented: Any = None
    observed: Any = None


def _same(value: Any) -> dict[str, Any]:
    return {"documented": value, "observed": value}


BEHAVIORS: Mapping[str, Behavior] = {
    row.id: row
    for row in (
        # withdrawals
        Behavior("withdrawal_unit_default", "sign_withdrawal", "an absent unit flag means cents", "the document says false means cents, not what absence means", WIDELY),
        Behavior("withdrawal_pending", "sign_withdrawal", "a status other than ready is pending, with retryAfter and no signature, HTTP 200", "values of status other than ready are not shown", WIDELY),
        Behavior("withdrawal_contract_choice", "sign_withdrawal", "where several contracts fit, the one created first is used", "the document does not say which"),
        Behavior("withdrawal_same_again", "sign_withdrawal", "the same request gets the same signature while it is valid", "so that running a notebook twice works"),
        Behavior("withdrawal_other_while_active", "sign_withdrawal", "another request while a signature is valid gets a new one, or 409", "conditions of its error bodies are not shown", WIDELY, documented="new", observed="409"),
        Behavior("withdrawal_lifetime", "sign_withdrawal", "a signature is valid for this many seconds", "the document shows expiresAt alone", **_same(600)),
        Behavior("withdrawal_encodings", "sign_withdrawal", "salt is base64 of 32 bytes; data is 0x hex (EVM), base64 (Solana) or plain hex (Stellar)", "encodings are not shown", WIDELY),
        Behavior("withdrawal_service_half", "sign_withdrawal", "on EVM chains the service signs an EIP-712 message of its own, domain Coordinator, version 2", "what is signed is not shown", ONCE),
        Behavior("coordinator_verifying_contract", "sign_withdrawal", "that message is verified by the contract's controllerAddress", "seen in one place, which does not name the verifier"),
        Behavior("withdrawal_admin_message", "withdrawals", "on EVM chains an admin signs an EIP-712 message, domain Collateral, version 2, verified by the contract's proxyAddress, with a salt of their own and the proxy's adminNonce()", "outside the document", WIDELY),
        Behavior("withdrawal_call", "withdrawals", "on EVM chains the controllerAddress takes withdrawAsset: ten arguments for contractVersion 2, the first seven of them for version 1, which its owner sends", "outside the document", WIDELY),
        Behavior("withdrawal_parameters_order", "withdrawals", "parameters are proxy, asset, amount in native units, recipient, end in unix seconds, salt as 32 numbers, signature, and on Ed25519 chains the public key", "not in the document", LIVE),
        Behavior("withdrawal_solana_message", "withdrawals", "on Solana the service signs an EIP-712 message of domain Coordinator over packed values, with the nonce, and chain id 900 on every network", "outside the document; public integration examples of the contracts", ONCE),
        Behavior("withdrawal_stellar_message", "withdrawals", "on Stellar the service signs the SHA-256 of chain, parties, numbers and salt", "only Ed25519 is reported, not which bytes"),
        Behavior("token_decimals", "sign_withdrawal", "a token of the sandbox has six decimals, seven on Stellar", "decimals of tokens are not shown"),
        Behavior("cents_to_units", "sign_withdrawal", "cents become units of the token by its exchangeRate, rounded down", "the document does not say how cents become units"),
        Behavior("recipient_family", "sign_withdrawal", "a recipient of another family of chains, or a damaged address, is 400", "conditions of its error bodies are not shown"),
        # simulations
        Behavior("settle_route", "simulations", "POST /simulate/transactions/{transactionId}/settle with {amount} settles an authorization", "the document has no call for it, and refunds need it; public clients call it", LIVE, **_same(True)),
        Behavior("settle_by_clock", "simulations", "an authorization settles by itself after this many seconds of sandbox time; None: only by a control", "the document does not say when", **_same(None)),
        Behavior("full_reversal_status", "simulate_reversal", "status of the answer to a full reversal", "it fits no documented value exactly", LIVE, documented="authorized", observed="settled"),
        Behavior("full_reversal_reason", "simulate_reversal", "completionReason of the answer to a full reversal", "it fits no documented value exactly", LIVE, documented=None, observed="authorization_reversal"),
        Behavior("full_reversal_completed", "simulate_reversal", "a full reversal also sends transaction.completed", "seen in events of a live sandbox", ONCE, documented=False, observed=True),
        Behavior("partial_reversal", "simulate_reversal", "a partial reversal answers authorized and holds newAmount", "the document gives no status for it"),
        Behavior("reversal_bounds", "simulate_reversal", "newAmount above the hold is 400; equal changes nothing; 0 is a full reversal", "not shown"),
        Behavior("completion_reason_case", "simulations", "casing of completionReason", "live answers are in lower case", LIVE, documented="upper", observed="lower"),
        Behavior("event_completion_reason", "events", "transaction.completed has version 1.1.0 and a completionReason", "the document shows no event of a transaction", ONCE, documented=False, observed=True),
        Behavior("refund_amount_omitted", "simulate_refund", "a refund without amount", "live services ask for it", LIVE, documented="full", observed="400"),
        Behavior("refund_bounds", "simulate_refund", "refunds may repeat until the settled amount is used up, then 400; 0 has no effect", "not shown"),
        Behavior("settle_bounds", "simulations", "a settlement above what is held is 400; one below it releases the rest", "no call settles in the document, so neither do its bounds stand there"),
        Behavior("wrong_state", "simulations", "a reversal of a settled and a refund of an unsettled transaction are 400 and change nothing", "error responses of the simulations are not shown"),
        Behavior("card_not_active", "simulate_authorization", "a card that is not active is 400 with its id, not a decline", "error responses of the simulations are not shown", WIDELY),
        Behavior("over_limit", "simulate_authorization", "an authorization above the available credit is declined with this reason; or authorized", "the document says authorized where no decline is requested; live answers decline", LIVE, **_same("account_credit_limit_exceeded")),
        Behavior("currency", "simulate_authorization", "USD is the only currency that works", "the document shows no list", LIVE, **_same(("USD",))),
        # people
        Behavior("outcome_by_name", "create_user_application", "a status word in the last name chooses the outcome of the review", "the review is not described", WIDELY),
        Behavior("review_seconds", "create_user_application", "an application stays pending for this many seconds of sandbox time, then is approved", "transitions of statuses are not shown", **_same(60)),
        Behavior("event_statuses_shown", "users", "notStarted and tosNotAccepted show as pending, exempt as approved; or as the raw word", "answers list eight statuses, events eleven", LIVE, documented="mapped", observed="raw"),
        Behavior("approved_with_reason", "users", "an approved application can carry an applicationReason", "met in practice", LIVE),
        Behavior("partial_address", "update_user", "a part of an address changes that part", "whether the service merges or replaces is not shown"),
        Behavior("owner_reapplies", "update_ubo", "a reapplying owner and its company become pending, then are reviewed", "transitions are not shown"),
        Behavior("owner_events", "update_ubo", "the review of an owner sends user.updated with the companyId", "the document shows no event for owners"),
        Behavior("owner_contract", "create_user_application", "where the provider manages, the wallet owns a contract at once, made on a test chain of its family with nothing in it", "the document says that the wallet becomes an owner on the user's contract, not when or where"),
        Behavior("wallet_required", "create_user_application", "a provider-managed tenant's application without a wallet is 400", "error codes of validation failures are not shown"),
        Behavior("duplicate_external_id", "create_user_application", "a second use of an external id is 409", "codes of conflicts are not shown"),
        Behavior("empty_patch", "updates", "an empty PATCH body changes nothing and answers 200", "not shown"),
        # disputes
        Behavior("dispute_cancel_twice", "update_dispute", "a second cancel, or evidence on a canceled dispute, is 400", "transitions of disputes are not shown"),
        Behavior("dispute_both", "update_dispute", "cancel and evidence in one call both take effect", "not shown"),
        Behavior("evidence_appended", "update_dispute", "evidence is put on a new line below what is there", "the document says that text evidence is added, not how"),
        Behavior("disputes_closed", "update_dispute", "a dispute that was accepted or rejected takes neither evidence nor a cancel: 400", "transitions of disputes are not shown"),
        # rewards
        Behavior("rewards_order", "list_rewards_activity", "newest createdAt first; hidden rows are left out before paging", "the order is not shown"),
        Behavior("rewards_members", "list_rewards_activity", "earned items carry merchantName, transactionAmountCents, spendCategory, reason, postedAt, mintedAt; redeemed ones status and createdAt", "which fields belong to which is not shown"),
        # payment accounts
        Behavior("account_owner_kind", "create_payment_account", "userId for tenants with individual teams, companyId for those with company teams, else 400", "the document says which is for which, not what the other gets"),
        # requests in general
        Behavior("unknown_members", "requests", "unknown body members are dropped silently", "reported from live calls", WIDELY),
        Behavior("order_of_checks", "requests", "key, role, body, then the record", "the order is not shown", LIVE),
        Behavior("roles_elsewhere", "requests", "operations for which no role is named need none", "roles of other endpoints are not shown"),
        Behavior("validation_errors", "requests", "a rule that is broken is 400 in the usual error body", "codes of validation failures are not shown", LIVE),
        Behavior("rate_limits", "requests", "no limits, unless a fault is set; X-RateLimit headers and 429 with Retry-After are understood", "rate limits are not shown", ONCE),
        Behavior("idempotency", "requests", "no idempotency key is sent unless a profile names one", "none is documented", ONCE),
        Behavior("success_codes", "requests", "any 2xx, with or without a body, is a success", "some success codes are not shown"),
        Behavior("payment_routes", "requests", "GET /payment-routes and its alias /automations answer an empty list; the alias says Deprecation", "the endpoints are not shown"),
        Behavior("lengths_elsewhere", "requests", "a text without a limit in the document may be of any length", "maximum lengths of other fields are not shown"),
        Behavior("whole_numbers", "requests", "a whole number above 2^53 - 1 is 400", "limits of whole numbers are not shown; JSON readers agree up to there"),
        Behavior("keys_lifetime", "requests", "the sandbox's keys do not expire", "issuance, rotation and expiry of keys are not shown"),
        # chains and records of the sandbox
        Behavior("chain_numbers", "contracts", "Solana is 900 (tests 901, 902), Stellar 1500 (test 1501)", "the document gives no chain numbers", WIDELY),
        Behavior("stellar_contracts", "contracts", "contracts on Stellar have addresses that the wallet pattern refuses", "live answers carry them", LIVE),
        # events
        Behavior("transaction_events", "events", "transaction.requested and .created for an authorization, .updated for a reversal, .completed for settlement, refund and full reversal", "the kinds of transaction events are not shown", WIDELY),
        Behavior("card_events", "events", "card.updated on a change of a card", "fields of the card record are not shown", WIDELY),
        Behavior("event_version", "events", "version is 1.1.0 where statusChangeReason or completionReason is present, else 1.0.0", "the document shows the releases, not the field in both"),
        Behavior("event_endpoints", "events", "endpoints are registered by a control of the sandbox", "registration of webhook endpoints is not shown", WIDELY),
        Behavior("event_signing", "events", "header Signature: hex HMAC-SHA256 of the raw body; Secondary-Signature while a key is rotated", "signing of deliveries is not shown", WIDELY),
        Behavior("event_retries", "events", "15 tries, the first again after 2.5 s, three times as long each, capped at a day", "delivery retries are not shown", ONCE, **_same((15, 2.5, 3, 86400))),
        Behavior("event_retry_spread", "events", "each wait for a retry is up to a tenth shorter", "delivery retries are not shown", **_same(0.1)),
        Behavior("event_ids", "events", "the envelope id stays the same over retries", "not shown", ONCE),
        Behavior("reversal_events", "events", "a reversal sends transaction.updated: status reversed, amount the new total, authorizationUpdateAmount negative", "the events of transactions are not shown", WIDELY),
        Behavior("event_declined_reason", "events", "declinedReason is in lower-case words, as card locked; answers have card_locked", "the events of transactions are not shown", WIDELY),
        Behavior("deprecation", "versioning", "the deprecated alias is never called by the client", "the deprecation schedule is not shown"),
    )
}  # fmt: skip


def settings(profile: str) -> dict[str, Any]:
    """Return the value of every behavior that has one, for the profile "documented" or "observed"."""
    return {
        row.id: getattr(row, profile)
        for row in BEHAVIORS.values()
        if row.documented != row.observed or row.documented is not None
    }


def assumptions() -> tuple[Assumption, ...]:
    """Return every assumption about the service, its reason, and where to change it."""
    return tuple(_all())


def _all() -> Iterator[Assumption]:
    for operation in table.OPERATIONS.values():
        where = f"{operation.method} {operation.path}"
        value = f"{operation.success} on success"
        yield from _marked(operation.name, where, value, operation.assumed, "the client reads any 2xx")
        for failure in operation.failures:
            key = f"{operation.name}.{failure.status}.{snake(failure.message.split()[0].strip('{}'))}"
            value = f"{failure.status} {failure.error}, when {failure.when}"
            change = "the client takes any status; the sandbox reads the table"
            yield from _marked(key, operation.name, value, failure.assumed, change)
    tops = [cls for operation in table.OPERATIONS.values() for cls in (operation.request, operation.answer)]
    tops += [kind.body for kind in EVENT_KINDS.values()]
    for cls in dict.fromkeys(cls for top in tops for cls in records(top)):
        for one in members(cls):
            key = f"{snake(cls.__name__)}.{one.name}"
            yield from _marked(key, cls.__name__, one.wire, one.about.assumed, f'wire_names."{key}" in a profile')
        for rule in cross_rules(cls):
            key = f"{snake(cls.__name__)}.{_rule_id(rule)}"
            yield from _marked(key, cls.__name__, rule.doc, rule.assumed, "check=False sends it all the same")
    settable = settings("documented")
    for row in BEHAVIORS.values():
        both = f" (documented: {row.documented!r}, observed: {row.observed!r})"
        value = row.says + (both if row.documented != row.observed else "")
        change = f"sandbox.{row.id} in a profile" if row.id in settable else "its handler in workbench/sandbox"
        yield from _marked(row.id, row.where, value, Reason(row.reason, row.confidence), change)


def _marked(key: str, where: str, value: str, reason: Reason | None, change: str) -> Iterator[Assumption]:
    """Yield the assumption that something is marked as, if it is."""
    if reason:
        yield Assumption(
            id=key, where=where, value=value, reason=str(reason), confidence=reason.confidence, change=change
        )


def _rule_id(rule: CrossRule) -> str:
    return f"{rule.name}_{rule.value}" if isinstance(rule, When) else snake(type(rule).__name__)
