"""The two messages of a withdrawal on an EVM chain, as EIP-712 typed data.

assumed: both are outside the document. The admin's is widely seen; the service's was seen in one place, and that the
controller verifies it is our guess.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from workbench.chains.addresses import evm_address
from workbench.chains.byte_forms import Octets, invalid, octets
from workbench.chains.families import Family, chain_of, exact_chain_id
from workbench.chains.numbers import unix_seconds, unsigned
from workbench.chains.typed_data import DOMAIN_FIELDS
from workbench.errors import hide_arguments

WITHDRAW = {
    "user": "address",
    "asset": "address",
    "amount": "uint256",
    "recipient": "address",
    "nonce": "uint256",
}
COORDINATOR_WITHDRAW = {
    "user": "address",
    "collateral": "address",
    "asset": "address",
    "amount": "uint256",
    "recipient": "address",
    "nonce": "uint256",
    "expiresAt": "uint256",
}


@hide_arguments
def withdraw_typed_data(
    *,
    chain_id: int,
    proxy: str,
    user: str,
    asset: str,
    amount: int,
    recipient: str,
    nonce: int,
    salt: Octets,
) -> dict[str, Any]:
    """Build the message an admin of an EVM contract signs, ready as JSON for any wallet.

    `proxy` is the contract's proxyAddress, which verifies the signature; `user` the admin who signs; `amount` is in the
    token's native units; `nonce` is what the proxy's `adminNonce()` gives; `salt` is 32 random bytes of the admin's own,
    as bytes, hex or base64, and not the service's salt.
    """
    message = {"user": user, "asset": asset, "amount": amount, "recipient": recipient, "nonce": nonce}
    return _message("Collateral", chain_id, "proxy", proxy, salt, WITHDRAW, message)


@hide_arguments
def coordinator_typed_data(
    *,
    chain_id: int,
    controller: str,
    user: str,
    collateral: str,
    asset: str,
    amount: int,
    recipient: str,
    nonce: int,
    expires_at: int | datetime,
    salt: Octets,
) -> dict[str, Any]:
    """Build the message the service signs for an EVM contract: its half of the withdrawal.

    `controller` is the contract's controllerAddress, which verifies the signature; `user` the admin the withdrawal was
    asked for; `collateral` the contract's proxyAddress; `amount` is in native units; `expires_at` in unix seconds, or an
    aware datetime; `salt` is the service's, as in its answer.
    """
    message = {
        "user": user,
        "collateral": collateral,
        "asset": asset,
        "amount": amount,
        "recipient": recipient,
        "nonce": nonce,
        "expiresAt": unix_seconds(expires_at, "expiresAt"),
    }
    return _message("Coordinator", chain_id, "controller", controller, salt, COORDINATOR_WITHDRAW, message)


def _message(
    name: str,
    chain_id: int,
    role: str,
    contract: str,
    salt: Octets,
    fields: Mapping[str, str],
    values: Mapping[str, Any],
) -> dict[str, Any]:
    number = exact_chain_id(chain_id)
    if chain_of(number).family is not Family.EVM:
        raise invalid("chainId", "family", f"is {chain_of(number)}; typed data is for EVM chains")
    domain = {
        "name": name,
        "version": "2",
        "chainId": number,
        "verifyingContract": evm_address(contract, role),
        "salt": "0x" + octets(salt, 32, "salt").hex(),
    }
    message = {
        field: evm_address(values[field], field)
        if kind == "address"
        # as text: a wallet's JSON loses digits of a number beyond 2**53
        else str(unsigned(values[field], field, minimum=1 if field == "amount" else 0))
        for field, kind in fields.items()
    }
    types = {"EIP712Domain": DOMAIN_FIELDS, "Withdraw": fields}
    return {
        "types": {t: [{"name": n, "type": k} for n, k in members.items()] for t, members in types.items()},
        "primaryType": "Withdraw",
        "domain": domain,
        "message": message,
    }
