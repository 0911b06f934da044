"""The service's half of a withdrawal, signed with throw-away keys that are made from the seed, one for each contract."""

from functools import lru_cache
from typing import Any

import attrs

from workbench import chains
from workbench.chains.families import Family, family_of
from workbench.sandbox.seeds import Seeds


@attrs.frozen(kw_only=True)
class Withdrawal:
    """What is signed; the amount in native units, the end in unix seconds."""

    chain_id: int
    contract_id: str
    controller: str
    proxy: str
    token: str
    amount: int
    admin: str
    recipient: str
    nonce: int
    expires_at: int
    salt: bytes


def secret_of(seeds: Seeds, *labels: str) -> bytes:
    """Return a throw-away key of the sandbox."""
    return chains.derive_secret(seeds.octets("keys"), *labels)


@lru_cache(maxsize=256)
def signer_of(seeds: Seeds, chain_id: int, contract_id: str) -> str:
    """Return what the sandbox publishes of a contract's key: its address on EVM chains, else the public key in hex."""
    secret = secret_of(seeds, "contract", contract_id)
    if family_of(chain_id) is Family.EVM:
        return chains.public_address(secret)
    return chains.ed25519_public_key(secret).hex()


def message_of(it: Withdrawal) -> bytes:
    """Return the 32 bytes that are signed. assumed: withdrawal_service_half"""
    parties: dict[str, Any] = {"chain_id": it.chain_id, "user": it.admin, "asset": it.token, "amount": it.amount}
    parties |= {"recipient": it.recipient, "expires_at": it.expires_at, "salt": it.salt}
    family = family_of(it.chain_id)
    if family is Family.EVM:
        return chains.digest(
            chains.coordinator_typed_data(controller=it.controller, collateral=it.proxy, nonce=it.nonce, **parties)
        )
    message = chains.solana_message if family is Family.SOLANA else chains.stellar_message
    return message(proxy=it.proxy, **parties)


def signature_over(seeds: Seeds, it: Withdrawal) -> dict[str, Any]:
    """Return the members of the answer that carry the signature, as JSON values."""
    secret = secret_of(seeds, "contract", it.contract_id)
    evm = family_of(it.chain_id) is Family.EVM
    signature = (chains.sign if evm else chains.sign_ed25519)(message_of(it), secret)
    return {
        "signature": {
            "data": chains.write_signature(it.chain_id, signature),
            "salt": chains.write_salt(it.salt),
        },
        "sender": it.admin,
        "chain_id": hex(it.chain_id),
        "parameters": chains.withdraw_parameters(
            chain_id=it.chain_id,
            proxy=it.proxy,
            asset=it.token,
            amount=it.amount,
            recipient=it.recipient,
            expires_at=it.expires_at,
            salt=it.salt,
            signature=signature,
            public_key=None if evm else chains.ed25519_public_key(secret),
        ),
    }


def wallet_address(seeds: Seeds, chain_id: int, label: str) -> str:
    """Return the address of a teaching wallet: an account of the chain whose key is made from the seed."""
    secret = secret_of(seeds, "wallet", label)
    family = family_of(chain_id)
    if family is Family.EVM:
        return chains.public_address(secret)
    public = chains.ed25519_public_key(secret)
    return chains.base58_encode(public) if family is Family.SOLANA else chains.strkey_encode("G", public)
