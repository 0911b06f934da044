"""Collateral contracts of the sandbox: addresses made from the seed, tokens, and the account that funds may arrive on.

None of these addresses exists outside. Whatever shows one says so: "sandbox, do not send funds".
"""

from typing import Any

from workbench.chains import base58_encode, eip55, strkey_encode
from workbench.chains.families import Family, family_of
from workbench.sandbox.seeds import Seeds

WARNING = "SANDBOX, do not send funds"
DECIMALS = {Family.EVM: 6, Family.SOLANA: 6, Family.STELLAR: 7}  # assumed: token_decimals
TOKENS = (("USDC", "1", "100"), ("XAUT", "2650.5", "50"))
"""Symbol, exchange rate and advance rate of the tokens a contract accepts."""


def address_on(seeds: Seeds, chain_id: int, label: str) -> str:
    """Return the address of a contract or token on a chain, valid by its check sum."""
    family = family_of(chain_id)
    raw = seeds.octets(f"address:{family}:{label}")
    if family is Family.EVM:
        return eip55("0x" + raw[:20].hex())
    return base58_encode(raw) if family is Family.SOLANA else strkey_encode("C", raw)


def contract_on(
    seeds: Seeds,
    tenant: str,
    key: str,
    chain_id: int,
    version: int,
    admins: tuple[str, ...],
    *,
    balances: tuple[str, ...],
    onramp: bool = False,
) -> dict[str, Any]:
    """Make a contract as the store keeps it."""
    family = family_of(chain_id)
    proxy = address_on(seeds, chain_id, f"{key}:proxy")
    return {
        "id": key,
        "tenant": tenant,
        "chain_id": chain_id,
        "program_address": address_on(seeds, chain_id, "program") if family is Family.SOLANA else None,
        "controller_address": address_on(seeds, chain_id, f"controller {version}"),
        "proxy_address": proxy,
        "deposit_address": proxy,
        "admin_addresses": list(admins),
        "tokens": [
            {
                "address": address_on(seeds, chain_id, symbol),
                "symbol": symbol,
                "decimals": DECIMALS[family],
                "balance": balance,
                "exchange_rate": rate,
                "advance_rate": advance,
            }
            for (symbol, rate, advance), balance in zip(TOKENS, balances, strict=False)
        ],
        "contract_version": version,
        "nonce": 0,
        "onramp": _onramp(seeds, key) if onramp else None,
    }


def _onramp(seeds: Seeds, key: str) -> dict[str, Any]:
    details = {
        "beneficiary_name": WARNING,
        "beneficiary_address": "1 Example Street, Springfield",
        "account_number": f"000{seeds.number(f'account:{key}', 0, 10**9 - 1):09d}",
        "routing_number": "000000000",  # not a routing number of any bank
        "beneficiary_bank_name": "Example Bank (sandbox)",
        "beneficiary_bank_address": "2 Example Street, Springfield",
    }
    return {"ach": details, "rtp": details, "wire": details}
