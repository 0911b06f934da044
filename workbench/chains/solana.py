"""The message behind a withdrawal signature on Solana.

assumed: the document does not show it. Known is only that it is Ed25519 over a keccak-256 hash; which bytes are hashed is our
guess, so the sandbox's signatures verify over it and a real one may not.
"""

from datetime import datetime

from workbench.chains.addresses import sound
from workbench.chains.base58 import base58_decode
from workbench.chains.byte_forms import Octets, invalid, octets
from workbench.chains.families import Family, chain_of
from workbench.chains.hashes import keccak256
from workbench.chains.numbers import unix_seconds, unsigned
from workbench.errors import hide_arguments


@hide_arguments
def solana_message(
    *,
    chain_id: int,
    proxy: str,
    user: str,
    asset: str,
    amount: int,
    recipient: str,
    expires_at: int | datetime,
    salt: Octets,
) -> bytes:
    """Return the 32 bytes the sandbox signs for a Solana withdrawal; the amount is in native units."""
    if chain_of(chain_id).family is not Family.SOLANA:
        raise invalid("chainId", "family", f"is {chain_of(chain_id)}, which is not a Solana chain")
    # assumed: chain, then the parties, then the numbers in the byte order of Solana's programs, then the salt
    return keccak256(
        b"Coordinator:Withdraw"
        + chain_id.to_bytes(8, "little")
        + b"".join(_key(address, path) for path, address in (("proxy", proxy), ("user", user), ("asset", asset)))
        + unsigned(amount, "amount", bits=64, minimum=1).to_bytes(8, "little")
        + _key(recipient, "recipient")
        + unix_seconds(expires_at, "expiresAt").to_bytes(8, "little")
        + octets(salt, 32, "salt")
    )


def _key(address: str, path: str) -> bytes:
    return base58_decode(sound(address, Family.SOLANA, path))
