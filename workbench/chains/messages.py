"""What is signed for a withdrawal: two EIP-712 messages on EVM chains, one hash on Solana and on Stellar.

assumed: withdrawal_admin_message, withdrawal_service_half, withdrawal_solana_message, withdrawal_stellar_message. All of it is
outside the interface document. The admin's EVM message is widely seen; the service's EVM message and
the Solana hash are taken from public integration examples. What is signed on Stellar is not public.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from workbench.chains.addresses import require_address, require_evm_address
from workbench.chains.encodings import base58_decode, keccak256, strkey_decode
from workbench.chains.families import Family, chain_of, exact_chain_id
from workbench.chains.typed_data import DOMAIN_FIELDS, encode_type
from workbench.chains.values import BytesLike, invalid, read_bytes, read_unix_seconds, read_unsigned
from workbench.errors import hide_arguments

_ADMIN_FIELDS = {"user": "address", "asset": "address", "amount": "uint256", "recipient": "address", "nonce": "uint256"}
_SERVICE_FIELDS = {
    "user": "address",
    "collateral": "address",
    "asset": "address",
    "amount": "uint256",
    "recipient": "address",
    "nonce": "uint256",
    "expiresAt": "uint256",
}
_SOLANA_CHAIN_ID = 900  # assumed: public examples sign with 900 on the test networks too


@hide_arguments
def withdraw_typed_data(
    *, chain_id: int, proxy: str, user: str, asset: str, amount: int, recipient: str, nonce: int, salt: BytesLike
) -> dict[str, Any]:
    """Return the message that an admin of an EVM contract signs, ready as JSON for any wallet.

    Args:
        proxy: The contract's proxyAddress, which verifies the signature.
        user: The admin who signs.
        amount: In the token's native units.
        nonce: The value of the proxy's `adminNonce()`.
        salt: 32 random bytes chosen by the admin, as bytes, hex or base64; not the service's salt.
    """
    message = {"user": user, "asset": asset, "amount": amount, "recipient": recipient, "nonce": nonce}
    return _typed_data("Collateral", chain_id, "proxy", proxy, salt, _ADMIN_FIELDS, message)


@hide_arguments
def coordinator_typed_data(
    *, chain_id: int, controller: str, user: str, collateral: str, asset: str, amount: int, recipient: str, nonce: int,
    expires_at: int | datetime, salt: BytesLike,
) -> dict[str, Any]:  # fmt: skip
    """Return the message that the service signs for an EVM contract: its half of the withdrawal.

    Args:
        controller: The contract's controllerAddress, which verifies the signature.
        user: The admin the withdrawal was requested for.
        collateral: The contract's proxyAddress.
        amount: In the token's native units.
        nonce: The value of the proxy's `adminNonce()`.
        expires_at: Unix seconds, or an aware datetime.
        salt: The service's, as in its answer.
    """
    message = {
        "user": user, "collateral": collateral, "asset": asset, "amount": amount, "recipient": recipient,
        "nonce": nonce, "expiresAt": read_unix_seconds(expires_at, "expiresAt"),
    }  # fmt: skip
    # the verifier is assumed: coordinator_verifying_contract
    return _typed_data("Coordinator", chain_id, "controller", controller, salt, _SERVICE_FIELDS, message)


def _typed_data(
    name: str,
    chain_id: int,
    role: str,
    contract: str,
    salt: BytesLike,
    fields: Mapping[str, str],
    values: dict[str, Any],
) -> dict[str, Any]:
    number = exact_chain_id(chain_id)
    if chain_of(number).family is not Family.EVM:
        raise invalid("chainId", "family", f"is {chain_of(number)}; typed data is for EVM chains")
    domain = {
        "name": name,
        "version": "2",
        "chainId": number,
        "verifyingContract": require_evm_address(contract, role),
        "salt": "0x" + read_bytes(salt, 32, "salt").hex(),
    }
    message = {
        field: require_evm_address(values[field], field)
        if kind == "address"
        # as text: a wallet's JSON loses digits of a number beyond 2**53
        else str(read_unsigned(values[field], field, minimum=1 if field == "amount" else 0))
        for field, kind in fields.items()
    }
    types = {
        struct: [{"name": field, "type": kind} for field, kind in members.items()]
        for struct, members in (("EIP712Domain", DOMAIN_FIELDS), ("Withdraw", fields))
    }
    return {"types": types, "primaryType": "Withdraw", "domain": domain, "message": message}


@hide_arguments
def solana_message(
    *, chain_id: int, controller: str, proxy: str, user: str, asset: str, amount: int, recipient: str, nonce: int,
    expires_at: int | datetime, salt: BytesLike,
) -> bytes:  # fmt: skip
    """Return the 32 bytes that the service signs for a Solana contract; the arguments as for EVM contracts.

    EIP-712 over packed values: addresses are 32 bytes, integers big-endian in the width of Solana's programs. assumed: withdrawal_solana_message
    """
    if chain_of(chain_id).family is not Family.SOLANA:
        raise invalid("chainId", "family", f"is {chain_of(chain_id)}, which is not a Solana chain")
    types = {"EIP712Domain": DOMAIN_FIELDS, "Withdraw": _SERVICE_FIELDS}
    domain = keccak256(
        keccak256(encode_type("EIP712Domain", types).encode())
        + keccak256(b"Coordinator")
        + keccak256(b"2")
        + _SOLANA_CHAIN_ID.to_bytes(8)
        + _solana_key(controller, "controller")
        + read_bytes(salt, 32, "salt")
    )
    message = keccak256(
        keccak256(encode_type("Withdraw", types).encode())
        + _solana_key(user, "user")
        + _solana_key(proxy, "proxy")
        + _solana_key(asset, "asset")
        + read_unsigned(amount, "amount", bits=64, minimum=1).to_bytes(8)
        + _solana_key(recipient, "recipient")
        + read_unsigned(nonce, "nonce", bits=32).to_bytes(4)
        + read_unix_seconds(expires_at, "expiresAt").to_bytes(8)
    )
    return keccak256(b"\x19\x01" + domain + message)


@hide_arguments
def stellar_message(
    *, chain_id: int, proxy: str, user: str, asset: str, amount: int, recipient: str, expires_at: int | datetime,
    salt: BytesLike,
) -> bytes:  # fmt: skip
    """Return the 32 bytes that the sandbox signs for a Stellar contract; a real signature is over other, unpublished bytes."""
    if chain_of(chain_id).family is not Family.STELLAR:
        raise invalid("chainId", "family", f"is {chain_of(chain_id)}, which is not a Stellar chain")
    # assumed: SHA-256, the hash of Stellar's own networks, over chain, parties, numbers (big-endian as in XDR) and salt
    return hashlib.sha256(
        b"Coordinator:Withdraw"
        + chain_id.to_bytes(8)
        + _stellar_key(proxy, "proxy")
        + _stellar_key(user, "user")
        + _stellar_key(asset, "asset")
        + read_unsigned(amount, "amount", bits=127, minimum=1).to_bytes(16)
        + _stellar_key(recipient, "recipient")
        + read_unix_seconds(expires_at, "expiresAt").to_bytes(8)
        + read_bytes(salt, 32, "salt")
    ).digest()


def _solana_key(address: str, path: str) -> bytes:
    return base58_decode(require_address(address, Family.SOLANA, path))


def _stellar_key(address: str, path: str) -> bytes:
    kind, payload = strkey_decode(require_address(address, Family.STELLAR, path))
    return kind.encode() + payload
