"""Wallets of users: which may be changed, and how one becomes an owner on the user's contract. Source: Endpoints 8, 11."""

from typing import Any

from workbench.chains import eip55, same_address
from workbench.chains.families import Family, family_of
from workbench.interface import table
from workbench.sandbox.collateral import contract_on
from workbench.sandbox.turn import RequestContext

Record = dict[str, Any]
WALLETS = {
    "wallet_address": Family.EVM,
    "solana_address": Family.SOLANA,
    "stellar_address": Family.STELLAR,
}
NEW_CONTRACTS = {Family.EVM: 84532, Family.SOLANA: 901, Family.STELLAR: 1501}
"""Chains on which the provider makes the contract of a new user."""


def given(record: Any) -> tuple[str | None, ...]:
    """Return the wallets of a request."""
    return tuple(getattr(record, name) for name in WALLETS)


def check_changes(turn: RequestContext, user: Record, changes: Record) -> None:
    """Refuse a change of a wallet that the rules forbid."""
    for name, family in WALLETS.items():
        new = changes.get(name)
        if new is None or (user.get(name) and same_address(user[name], new)):
            continue
        if family is Family.EVM and turn.tenant["management"] == "provider":
            # "allowed if the new wallet is already an on-chain admin on all of the team's EVM collateral contracts"
            theirs = [contract for contract in of_tenant(turn) if family_of(contract["chain_id"]) is Family.EVM]
            if not all(any(same_address(new, admin) for admin in one["admin_addresses"]) for one in theirs):
                raise turn.refusal(
                    table.WALLET_FIXED,
                    family=family,
                    reason="the new wallet is not an admin on all of the team's EVM collateral contracts",
                )
        elif family in collateral(turn, user):
            raise turn.refusal(
                table.WALLET_FIXED, family=family, reason=f"the user has collateral contracts on {family}"
            )


def of_tenant(turn: RequestContext) -> list[Record]:
    """Return the contracts of the tenant that asks, the oldest first."""
    ids = turn.store.get("contracts_of", turn.tenant["id"]) or ()
    return [turn.store.get("contract", key) for key in ids]


def collateral(turn: RequestContext, user: Record) -> set[Family]:
    """Return the families of chains on which a user has collateral contracts."""
    chains = [turn.store.get("contract", key)["chain_id"] for key in user.get("contracts", ())]
    if "external_contract" in user:
        chains.append(user["external_contract"]["chain_id"])
    return {family_of(chain) for chain in chains}


def become_owner(turn: RequestContext, user: Record, asked: Any) -> None:
    """Make the given wallets owners on contracts of the user's own, where the provider manages.

    "The wallet becomes an owner on the user's smart contract." assumed: owner_contract
    """
    if turn.tenant["management"] != "provider":
        return
    tenant = turn.tenant["id"]
    made = []
    for name, family in WALLETS.items():
        wallet = getattr(asked, name)
        if wallet is not None:
            if family is Family.EVM:
                wallet = eip55(wallet)  # in one spelling, since the case of its letters does not count
            key = turn.new_id("contract")
            contract = contract_on(turn.seeds, tenant, key, NEW_CONTRACTS[family], 2, (wallet,), balances=("0", "0"))
            turn.store.put("contract", key, contract)
            made.append(key)
    if made:
        known = turn.store.get("contracts_of", tenant) or []
        turn.store.put("contracts_of", tenant, [*known, *made])
        turn.store.put("user", user["id"], {**user, "contracts": [*user.get("contracts", ()), *made]})
