"""Payment accounts, and the payment routes that deposits arrive on."""

from decimal import Decimal
from typing import Any

from workbench.interface import table
from workbench.interface.events import MINIMUM_DEPOSIT
from workbench.interface.payment_accounts import CreatePaymentAccount, DeletePaymentAccount, PaymentAccount
from workbench.interface.walk import build
from workbench.sandbox.clock import moment_of
from workbench.sandbox.context import RequestContext, plain
from workbench.sandbox.results import DepositReceived


def create_payment_account(context: RequestContext, request: CreatePaymentAccount) -> PaymentAccount:
    """Create an account for a user or a company, by the tenant's kind of team."""
    company = context.tenant["team"] == "company"
    owner = request.company_id if company else request.user_id
    if owner is None:  # assumed: account_owner_kind
        context.assumed.append("account_owner_kind")
        raise context.error(table.INVALID_ACCOUNT)
    context.get_for_tenant("company" if company else "user", owner.lower(), "Company" if company else "User")
    account = {
        "id": context.new_id("payment_account"),
        "tenant": context.tenant["id"],
        "created_at": context.clock.at,
        "members": {
            "type": request.type,
            **({} if request.nickname is None else {"nickname": request.nickname}),
            ("company_id" if company else "user_id"): owner.lower(),
            # "The response externalFiatAccount carries the request members and adds rail … and bankAccountType"
            "external_fiat_account": {"third_party": False, "rail": "ach", "bank_account_type": "checking"}
            | plain(request.external_fiat_account),
        },
    }
    context.store.put("payment_account", account["id"], account)
    return shown(account)


def shown(account: dict[str, Any]) -> PaymentAccount:
    """Return an account as it is answered."""
    made: PaymentAccount = build(
        PaymentAccount,
        {"id": account["id"], "created_at": moment_of(account["created_at"]), **account["members"]},
    )
    return made


def delete_payment_account(context: RequestContext, request: DeletePaymentAccount) -> None:
    """Delete an account; there is no body."""
    account = context.get_for_tenant("payment_account", request.payment_account_id.lower(), "Payment account")
    context.store.delete("payment_account", account["id"])


def list_payment_routes(context: RequestContext, request: Any) -> list[Any]:
    """Return no routes: only the list is served. assumed: payment_routes"""
    return []


def list_automations(context: RequestContext, request: Any) -> list[Any]:
    """Return the same by its deprecated name. assumed: payment_routes"""
    context.headers["deprecation"] = "true"
    return list_payment_routes(context, request)


def receive_deposit(
    context: RequestContext, route: dict[str, Any], amount: Decimal, rail: str, memo: dict[str, str]
) -> DepositReceived:
    """Receive a deposit on a route. A micro deposit sends an event and is not processed. Source: Events."""
    small = amount < MINIMUM_DEPOSIT
    sends = (
        small and route["fiat_deposit"] is not None
    )  # "Only routes with a fiat deposit address receive these events"
    deposit = {
        "id": context.new_id("deposit"),
        "tenant": route["tenant"],
        "payment_route_id": route["id"],
        "amount": f"{amount:.2f}",
        "currency": "usd",
        "rail": rail,
        "received_at": context.clock.at,
        **{name: route[name] for name in ("user_id", "company_id") if route.get(name)},
        **memo,
    }
    context.store.put("deposit", deposit["id"], deposit)
    if sends:
        context.emit("microDeposit.received", route["tenant"], deposit=deposit)
    return DepositReceived(id=deposit["id"], processed=not small, event="microDeposit.received" if sends else None)
