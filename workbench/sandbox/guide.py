"""What one needs to start from outside, as plain data."""

from collections import defaultdict
from typing import Any

from workbench.chains.families import chain_of
from workbench.sandbox.context import Environment
from workbench.sandbox.contracts import WARNING, signer_of
from workbench.sandbox.rewards import BEYOND_PAGING, counts
from workbench.sandbox.world import PRIMARY

Record = dict[str, Any]


def guide(environment: Environment, base_url: str, tenant: str) -> Record:
    """Return base URL, keys by what they may do, and example ids of a tenant and of the others, as the records are now.

    Args:
        tenant: Id of the tenant whose examples come first.
    """
    store = environment.store
    made = store.get("meta", "made")
    facts = ("name", "team", "management", "corporate_cards")
    others = {
        one["name"]: {name: one[name] for name in facts[1:]} | _examples(environment, one["id"])
        for one in store.all("tenant")
        if one["name"] != PRIMARY
    }
    return {
        "base_url": base_url,
        **{name: made[name] for name in ("seed", "environment", "behavior")},
        "tenant": {name: one[name] for one in store.all("tenant") if one["id"] == tenant for name in facts},
        "api_keys": {row["name"]: key for key, row in store.items("key")},
        **_examples(environment, tenant),
        "note": f"Every address here is made up: {WARNING}.",
        "tenants": others,
    }


def _examples(environment: Environment, tenant: str) -> Record:
    def theirs(kind: str) -> list[Record]:
        return [one for one in environment.store.all(kind) if one["tenant"] == tenant]

    def owners(company: Record) -> list[Record]:
        return [{"id": key, "status": environment.store.get("owner", key)["status"]} for key in company["owners"]]

    users = theirs("user")
    return {
        "cards": _by_status(theirs("card")),
        "users": _by_status(users),
        "companies": [{"id": one["id"], "owners": owners(one)} for one in theirs("company")],
        "contracts": [_contract(environment, one) for one in theirs("contract")],
        "disputes": _by_status(theirs("dispute")),
        "payment_accounts": [one["id"] for one in theirs("payment_account")],
        "payment_routes": [
            {
                "id": one["id"],
                "fiat_deposit": one["fiat_deposit"] is not None,
                "fiat_deposit_address": one["fiat_deposit"],
                **{name: one[name] for name in ("user_id", "company_id") if name in one},
            }
            for one in theirs("payment_route")
        ],
        "rewards_users": [
            {"id": one["id"], "rows": rows, "hidden": hidden, "beyond_paging": rows + hidden >= BEYOND_PAGING}
            for one in users
            for rows, hidden in [counts(environment, one)]
            if rows + hidden
        ],
    }


def _by_status(records: list[Record]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for one in records:
        found[str(one["status"])].append(one["id"])
    return dict(found)


_SAME = (
    "id", "chain_id", "contract_version", "proxy_address", "controller_address", "admin_addresses", "nonce",
)  # fmt: skip


def _contract(environment: Environment, one: Record) -> Record:
    return {
        **{name: one[name] for name in _SAME},
        "chain": str(chain_of(one["chain_id"])),
        "deposit_address": f"{one['deposit_address']} ({WARNING})",
        "signer": signer_of(environment.seeds, one["chain_id"], one["id"]),
        "tokens": [
            {name: token[name] for name in ("address", "symbol", "decimals", "balance")} for token in one["tokens"]
        ],
    }
