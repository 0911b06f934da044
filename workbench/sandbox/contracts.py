"""Collateral contracts (addresses, tokens and owners), payment accounts, payment routes and deposits.

All addresses are derived from the seed and are not real. Output that shows an address warns not to send funds. Source:
Endpoints 1, 6, 7, 8, 11.
"""

from decimal import Decimal
from functools import lru_cache
from typing import Any

from workbench.base.schema.walk import snake
from workbench.sandbox.context import RequestContext, Seeds, plain
from workbench.sandbox.control_records import DepositReceived, from_json
from workbench.sandbox.store import Record, Store
from workbench.service.chains import eip55, public_address, same_address
from workbench.service.chains.addresses import Family, family_of
from workbench.service.chains.curves import ed25519_public_key
from workbench.service.chains.values import base58_encode, derive_secret, strkey_encode
from workbench.service.interface import table
from workbench.service.interface.contracts import IssuingContract, ListContracts
from workbench.service.interface.events import MINIMUM_DEPOSIT
from workbench.service.interface.people import PERSON, CreatePaymentAccount, DeletePaymentAccount, PaymentAccount

WARNING = "SANDBOX, do not send funds"
DECIMALS = {Family.EVM: 6, Family.SOLANA: 6, Family.STELLAR: 7}  # assumed: token_decimals
_SECOND_TOKEN = {
    11155111: ("WETH", "3310.2", "60"),
    901: ("SOL", "142.35", "40"),
    1501: ("XLM", "0.24", "30"),
}
"""Symbol, exchange rate and advance rate of a contract's second token, by chain."""
WALLETS = {
    "wallet_address": Family.EVM,
    "solana_address": Family.SOLANA,
    "stellar_address": Family.STELLAR,
}
NEW_CONTRACTS = {Family.EVM: 84532, Family.SOLANA: 901, Family.STELLAR: 1501}
"""Chains on which the provider creates a new user's contract, by chain family."""


def list_contracts(context: RequestContext, _: ListContracts) -> list[IssuingContract]:
    """Return the tenant's contracts, oldest first."""
    if not context.tenant["corporate_cards"]:  # "Available only to tenants that issue corporate cards."
        raise context.error(table.NO_CORPORATE_CARDS)
    shows_stellar = context.settings["stellar_contracts"]
    return [
        from_json(IssuingContract, contract)
        for contract in of_tenant(context)
        if shows_stellar or family_of(contract["chain_id"]) is not Family.STELLAR
    ]


def check_changes(context: RequestContext, user: Record, changes: Record) -> None:
    """Raise an error for a wallet change that the rules forbid."""
    for name, family in WALLETS.items():
        new = changes.get(name)
        if new is None or (user.get(name) and same_address(user[name], new)):
            continue
        reason = None
        if family is Family.EVM and context.tenant["management"] == "provider":
            # "allowed if the new wallet is already an on-chain admin on all of the team's EVM collateral contracts"
            theirs = [contract for contract in of_tenant(context) if family_of(contract["chain_id"]) is Family.EVM]
            if not all(any(same_address(new, admin) for admin in their["admin_addresses"]) for their in theirs):
                reason = "the new wallet is not an admin on all of the team's EVM collateral contracts"
        elif family in collateral(context, user):
            reason = f"the user has collateral contracts on {family}"
        if reason is not None:
            raise context.error(table.WALLET_FIXED, family=family, reason=reason)


def of_tenant(context: RequestContext) -> list[Record]:
    """Return the contracts of the request's tenant, oldest first."""
    ids = context.store.get("contracts_of", context.tenant["id"]) or ()
    return [context.store.get("contract", key) for key in ids]


def collateral(context: RequestContext, user: Record) -> set[Family]:
    """Return the chain families on which a user has collateral contracts. assumed: external_contract"""
    chains = [context.store.get("contract", key)["chain_id"] for key in user.get("contracts", ())]
    if "external_contract" in user:
        chains.append(user["external_contract"]["chain_id"])
    return {family_of(chain) for chain in chains}


def become_owner(context: RequestContext, user: Record, request: object) -> None:
    """For each wallet in a request, create a contract that the wallet owns, if the provider manages contracts.

    "The wallet becomes an owner on the user's smart contract." assumed: owner_contract
    """
    if context.tenant["management"] != "provider":
        return
    for name, family in WALLETS.items():
        wallet = getattr(request, name)
        if wallet is not None:
            if family is Family.EVM:
                wallet = eip55(wallet)  # stored in a normalized form, since the address is case-insensitive
            key = context.new_id("contract")
            of = {"user": user["id"], "admin": wallet}
            add_contract(context.store, context.seeds, user["tenant"], key, NEW_CONTRACTS[family], 2, ("0", "0"), **of)


def address_on(seeds: Seeds, chain_id: int, label: str) -> str:
    """Return the address of a contract or token on a chain, with a valid checksum."""
    family = family_of(chain_id)
    raw = seeds.octets(f"address:{family}:{label}")
    if family is Family.EVM:
        return eip55("0x" + raw[:20].hex())
    return base58_encode(raw) if family is Family.SOLANA else strkey_encode("C", raw)


def add_contract(
    store: Store,
    seeds: Seeds,
    tenant: str,
    key: str,
    chain_id: int,
    version: int,
    balances: tuple[str, str],
    *,
    user: str | None = None,
    admin: str | None = None,
    onramp: bool = False,
) -> Record:
    """Create a contract of a tenant, and add it to a user's collateral.

    The contract's admins are teaching wallets, and the first becomes the user's wallet. If `admin` is passed, this
    address is the first admin instead. If the contract has two admins, the second belongs to the provider.
    """
    family = family_of(chain_id)
    admins = [] if admin is None else [admin]
    # "For V2 EVM contracts it holds several admin addresses". The second one belongs to the provider.
    many = version if admin is None or family is Family.EVM else 1
    admins += [wallet_address(seeds, chain_id, f"{key}:{number}") for number in range(len(admins), many)]
    theirs = store.get("contracts_of", tenant) or []
    store.put("contracts_of", tenant, [*theirs, key])
    if user is not None:
        holder = store.get("user", user)
        field = next(name for name, wallet in WALLETS.items() if wallet is family)
        wallet = {field: admins[0]} if admin is None else {}
        store.save("user", holder, **wallet, contracts=[*holder.get("contracts", ()), key])
    proxy = address_on(seeds, chain_id, f"{key}:proxy")
    tokens = (("USDC", "1", "100"), _SECOND_TOKEN.get(chain_id, ("XAUT", "2650.5", "50")))
    contract = {
        "id": key,
        "tenant": tenant,
        "chain_id": chain_id,
        "program_address": address_on(seeds, chain_id, "program") if family is Family.SOLANA else None,
        "controller_address": address_on(seeds, chain_id, f"controller {version}"),
        "proxy_address": proxy,
        "deposit_address": proxy,
        "admin_addresses": admins,
        "tokens": [
            {
                "address": address_on(seeds, chain_id, symbol),
                "symbol": symbol,
                "decimals": DECIMALS[family],
                "balance": balance,
                "exchange_rate": rate,
                "advance_rate": advance,
            }
            for (symbol, rate, advance), balance in zip(tokens, balances, strict=True)
        ],
        "contract_version": version,
        "nonce": 0,
        "onramp": _onramp(seeds, key) if onramp else None,
    }
    return store.save("contract", contract)


def _onramp(seeds: Seeds, key: str) -> Record:
    details = {
        "beneficiary_name": WARNING,
        "beneficiary_address": "1 Example Street, Springfield",
        "account_number": f"000{seeds.number(f'account:{key}', 0, 10**9 - 1):09d}",
        "routing_number": "000000000",  # never assigned to a bank
        "beneficiary_bank_name": "Example Bank (sandbox)",
        "beneficiary_bank_address": "2 Example Street, Springfield",
    }
    return {"ach": details, "rtp": details, "wire": details}


def secret_of(seeds: Seeds, *labels: str) -> bytes:
    """Return a throw-away private key of the sandbox."""
    return derive_secret(seeds.octets("keys"), *labels)


@lru_cache(maxsize=256)
def signer_of(seeds: Seeds, chain_id: int, contract_id: str) -> str:
    """Return the public part of a contract's key: an address on EVM chains, the public key in hex on other chains."""
    secret = secret_of(seeds, "contract", contract_id)
    if family_of(chain_id) is Family.EVM:
        return public_address(secret)
    return ed25519_public_key(secret).hex()


def wallet_address(seeds: Seeds, chain_id: int, label: str) -> str:
    """Return the address of a teaching wallet, whose key is derived from the seed."""
    secret = secret_of(seeds, "wallet", label)
    family = family_of(chain_id)
    if family is Family.EVM:
        return public_address(secret)
    public = ed25519_public_key(secret)
    return base58_encode(public) if family is Family.SOLANA else strkey_encode("G", public)


def create_payment_account(context: RequestContext, request: CreatePaymentAccount) -> PaymentAccount:
    """Create an account for a user or a company, depending on the tenant's kind of team.

    assumed: account_other_variant, account_words, routing_number_format
    """
    bank, currencies = plain(request.external_fiat_account), context.settings["account_currency"]
    if bank["currency"] not in currencies:
        raise context.bad_request(f"currency must be one of {', '.join(currencies)}", "account_currency")
    kind = "company" if context.tenant["team"] == "company" else "user"
    owner = getattr(request, f"{kind}_id")
    if owner is None:
        raise context.error(table.TEAM_NOT_FOUND, "account_owner_kind")
    context.get_for_tenant(kind, owner)
    name = {} if request.nickname is None else {"nickname": request.nickname}
    of = {f"{kind}_id": owner.lower()}
    key = context.new_id("payment_account")
    is_person = bank["beneficiary_type"] == "individual"
    if context.settings["account_other_variant"] == "dropped":
        for member in ("beneficiary_business_name",) if is_person else PERSON:
            bank.pop(member, None)
    if is_person and context.settings["account_business_name"]:
        context.assumed.append("account_business_name")
        bank = {"beneficiary_business_name": "", **bank}
    defaults = {snake(wire): value for wire, value in context.settings["account_defaults"].items()}
    bank = {**defaults, **bank}  # assumed: account_defaults
    account = new_account(key, context.tenant["id"], context.clock.ms, of, bank, type=request.type, **name)
    context.store.save("payment_account", account)
    return from_json(PaymentAccount, account | account["members"])


def example_bank(first_name: str, last_name: str, number: str, bank_name: str = "Example Bank") -> Record:
    """Return a person's account at a fictitious bank, as a mapping of attribute names to values."""
    return {
        "beneficiary_type": "individual",
        "beneficiary_first_name": first_name,
        "beneficiary_last_name": last_name,
        "currency": "usd",
        "third_party": False,
        "beneficiary_address": {
            "address_line1": "1 Example Street",
            "city": "Springfield",
            "region": "IL",
            "postal_code": "62701",
            "country_code": "US",
        },
        "bank_name": bank_name,
        "account_number": number,
        "routing_number": "000000000",
        "rail": "ach",
        "bank_account_type": "checking",
    }


def new_account(key: str, tenant: str, at: int, owner: Record, bank: Record, **members: str) -> Record:
    """Return the stored form of a new payment account.

    "The response externalFiatAccount carries the request members and adds rail … and bankAccountType".
    assumed: account_defaults
    """
    fiat = {"third_party": False, "rail": "ach", "bank_account_type": "checking", **bank}
    members = {"type": "externalFiatAccount", **members}
    return {
        "id": key,
        "tenant": tenant,
        "created_at": at,
        "members": {**members, **owner, "external_fiat_account": fiat},
    }


def new_route(seeds: Seeds, key: str, tenant: str, owner: Record, fiat: bool) -> Record:
    """Return the stored form of a new payment route, with or without a fiat deposit address."""
    number = f"000{seeds.number(f'route:{key}', 0, 10**9 - 1):09d}"
    address = {"beneficiary_name": WARNING, "account_number": number, "routing_number": "000000000"}
    return {"id": key, "tenant": tenant, **owner, "fiat_deposit": address if fiat else None}


def delete_payment_account(context: RequestContext, request: DeletePaymentAccount) -> None:
    """Delete an account. The response has no body."""
    account = context.get_for_tenant("payment_account", request.payment_account_id)
    context.store.delete("payment_account", account["id"])


def list_payment_routes(context: RequestContext, request: object) -> list[Any] | Record:
    """Return an empty list. The sandbox answers the operation but simulates no routes. assumed: payment_routes"""
    return [] if context.settings["payment_routes"] == "list" else {"paymentRoutes": []}


def list_automations(context: RequestContext, request: object) -> list[Any] | Record:
    """Return the list of payment routes under its deprecated name. assumed: payment_routes"""
    context.headers["deprecation"] = "true"
    return list_payment_routes(context, request)


def receive_deposit(
    context: RequestContext, route: Record, amount: Decimal, rail: str, memo: dict[str, str]
) -> DepositReceived:
    """Receive a deposit on a payment route. A micro deposit sends an event and is not processed.

    Source: Events. assumed: deposits
    """
    small = amount < MINIMUM_DEPOSIT
    # "Only routes with a fiat deposit address receive these events"
    sends = small and route["fiat_deposit"] is not None
    owner = {name: route[name] for name in ("user_id", "company_id") if route.get(name)}
    of = {"id": context.new_id("deposit"), "tenant": route["tenant"], "payment_route_id": route["id"]}
    paid = {"amount": f"{amount:.2f}", "currency": "usd", "rail": rail, "received_at": context.clock.ms}
    deposit = context.store.save("deposit", {**of, **paid, **owner, **memo})
    if sends:
        context.emit("microDeposit.received", route["tenant"], deposit=deposit)
    return DepositReceived(id=deposit["id"], processed=not small, event="microDeposit.received" if sends else None)
