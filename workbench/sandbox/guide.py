"""Guide to a sandbox, with base URL, keys and example ids as plain data."""

from collections import defaultdict

from workbench.sandbox.context import Environment
from workbench.sandbox.contracts import WARNING, signer_of
from workbench.sandbox.rewards import BEYOND_PAGING, counts
from workbench.sandbox.store import Record
from workbench.sandbox.tenants import PRIMARY
from workbench.service.chains.addresses import chain_of


def guide(environment: Environment, base_url: str, tenant: str) -> Record:
    """Return base URL, keys with their permissions, and current example ids.

    The keys of the primary tenant control the sandbox, so its guide also lists the other tenants. The guide of another
    tenant lists only this tenant.

    Args:
        tenant: Id of the tenant whose examples come first.
    """
    store = environment.store
    settings = store.get("meta", "made")
    facts = ("name", "team", "management", "corporate_cards")
    sees_all = (store.get("tenant", tenant) or {}).get("name") == PRIMARY
    others = {
        other["name"]: {name: other[name] for name in facts[1:]} | _examples(environment, other["id"])
        for other in store.all("tenant")
        if other["name"] != PRIMARY and sees_all
    }
    return {
        "base_url": base_url,
        **{name: settings[name] for name in ("seed", "environment", "behavior")},
        "idempotency_keys": environment.settings["idempotency_keys"],
        "tenant": {name: other[name] for other in store.all("tenant") if other["id"] == tenant for name in facts},
        "api_keys": {row["name"]: key for key, row in store.items("key") if sees_all or row["tenant"] == tenant},
        **_examples(environment, tenant),
        "note": f"Every address here is made up: {WARNING}.",
        "tenants": others,
    }


def _examples(environment: Environment, tenant: str) -> Record:
    def theirs(kind: str) -> list[Record]:
        return [record for record in environment.store.all(kind) if record["tenant"] == tenant]

    def owners(company: Record) -> list[Record]:
        return [{"id": key, "status": environment.store.get("owner", key)["status"]} for key in company["owners"]]

    users = theirs("user")
    return {
        "cards": _by_status(theirs("card")),
        "users": _by_status(users),
        "companies": [{"id": their["id"], "owners": owners(their)} for their in theirs("company")],
        "contracts": [_contract(environment, their) for their in theirs("contract")],
        "disputes": _by_status(theirs("dispute")),
        "payment_accounts": [their["id"] for their in theirs("payment_account")],
        "payment_routes": [
            {
                "id": their["id"],
                "fiat_deposit": their["fiat_deposit"] is not None,
                "fiat_deposit_address": their["fiat_deposit"],
                **{name: their[name] for name in ("user_id", "company_id") if name in their},
            }
            for their in theirs("payment_route")
        ],
        "rewards_users": [
            {"id": user["id"], "rows": rows, "hidden": hidden, "beyond_paging": rows + hidden >= BEYOND_PAGING}
            for user in users
            for rows, hidden in [counts(environment, user)]
            if rows + hidden
        ],
    }


def _by_status(records: list[Record]) -> dict[str, list[str]]:
    by_status: dict[str, list[str]] = defaultdict(list)
    for record in records:
        by_status[str(record["status"])].append(record["id"])
    return dict(by_status)


def _contract(environment: Environment, record: Record) -> Record:
    same = ("id", "chain_id", "contract_version", "proxy_address", "controller_address", "admin_addresses", "nonce")
    return {
        **{name: record[name] for name in same},
        "chain": str(chain_of(record["chain_id"])),
        "deposit_address": f"{record['deposit_address']} ({WARNING})",
        "signer": signer_of(environment.seeds, record["chain_id"], record["id"]),
        "tokens": [
            {name: token[name] for name in ("address", "symbol", "decimals", "balance")} for token in record["tokens"]
        ],
    }
