"""The message behind a withdrawal signature on Stellar.

assumed: the document does not show it. Known is only that it is Ed25519; which bytes are signed is our guess, so the
sandbox's signatures verify over it and a real one may not.
"""

import hashlib
from datetime import datetime

from workbench.chains.addresses import sound
from workbench.chains.byte_forms import Octets, invalid, octets
from workbench.chains.families import Family, chain_of
from workbench.chains.numbers import unix_seconds, unsigned
from workbench.chains.strkey import strkey_decode
from workbench.errors import hide_arguments


@hide_arguments
def stellar_message(
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
    """Return the 32 bytes the sandbox signs for a Stellar withdrawal; the amount is in native units."""
    if chain_of(chain_id).family is not Family.STELLAR:
        raise invalid("chainId", "family", f"is {chain_of(chain_id)}, which is not a Stellar chain")
    # assumed: SHA-256, the hash of Stellar's own networks, over chain, parties, numbers (big-endian as in XDR) and salt
    return hashlib.sha256(
        b"Coordinator:Withdraw"
        + chain_id.to_bytes(8)
        + b"".join(_key(address, path) for path, address in (("proxy", proxy), ("user", user), ("asset", asset)))
        + unsigned(amount, "amount", bits=127, minimum=1).to_bytes(16)
        + _key(recipient, "recipient")
        + unix_seconds(expires_at, "expiresAt").to_bytes(8)
        + octets(salt, 32, "salt")
    ).digest()


def _key(address: str, path: str) -> bytes:
    kind, payload = strkey_decode(sound(address, Family.STELLAR, path))
    return kind.encode() + payload
