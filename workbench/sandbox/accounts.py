"""Payment accounts, and the payment routes that deposits arrive on."""

from decimal import Decimal
from typing import Any

from workbench.interface import table
from workbench.interface.events import MINIMUM_DEPOSIT
from workbench.interface.payment_accounts import CreatePaymentAccount, DeletePaymentAccount, PaymentAccount
from workbench.interface.walk import build
from workbench.sandbox.context import RequestContext, Seeds, moment_of, plain
from workbench.sandbox.contracts import WARNING
from workbench.sandbox.results import DepositReceived

Record = dict[str, Any]


def create_payment_account(context: RequestContext, request: CreatePaymentAccount) -> PaymentAccount:
    """Create an account for a user or a company, by the tenant's kind of team. assumed: account_other_variant, account_words"""
    company = context.tenant["team"] == "company"
    owner = request.company_id if company else request.user_id
    if owner is None:
        raise context.error(table.INVALID_ACCOUNT, "account_owner_kind")
    context.get_for_tenant("company" if company else "user", owner.lower(), "Company" if company else "User")
    name = {} if request.nickname is None else {"nickname": request.nickname}
    of = {("company_id" if company else "user_id"): owner.lower()}
    key, bank = context.new_id("payment_account"), plain(request.external_fiat_account)
    account = new_account(key, context.tenant["id"], context.clock.at, of, bank, type=request.type, **name)
    context.store.put("payment_account", account["id"], account)
    return shown(account)


def new_account(key: str, tenant: str, at: int, owner: Record, bank: Record, **members: str) -> Record:
    """Make a payment account as the store keeps it.

    "The response externalFiatAccount carries the request members and adds rail … and bankAccountType". assumed: account_defaults
    """
    fiat = {"third_party": False, "rail": "ach", "bank_account_type": "checking", **bank}
    members = {"type": "externalFiatAccount", **members}
    return {
        "id": key, "tenant": tenant, "created_at": at, "members": {**members, **owner, "external_fiat_account": fiat},
    }  # fmt: skip


def new_route(seeds: Seeds, key: str, tenant: str, owner: Record, fiat: bool) -> Record:
    """Make a payment route as the store keeps it, with or without a fiat deposit address."""
    number = f"000{seeds.number(f'route:{key}', 0, 10**9 - 1):09d}"
    address = {"beneficiary_name": WARNING, "account_number": number, "routing_number": "000000000"}
    return {"id": key, "tenant": tenant, **owner, "fiat_deposit": address if fiat else None}


def shown(account: Record) -> PaymentAccount:
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
    context: RequestContext, route: Record, amount: Decimal, rail: str, memo: dict[str, str]
) -> DepositReceived:
    """Receive a deposit on a route. A micro deposit sends an event and is not processed. Source: Events. assumed: deposits"""
    small = amount < MINIMUM_DEPOSIT
    # "Only routes with a fiat deposit address receive these events"
    sends = small and route["fiat_deposit"] is not None
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
