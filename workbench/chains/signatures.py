"""Signatures of EVM accounts: secp256k1, recoverable, as 65 bytes r, s and v.

`recover` is what checks the service's half and what a wallet returns. Signing is here for the sandbox and its teaching
wallet alone, with throw-away keys made from a seed; nothing in the workbench asks for a key of a real wallet.
"""

import hmac
from functools import cache
from typing import Any

from workbench.chains.addresses import checksummed
from workbench.chains.byte_forms import Octets, invalid, octets
from workbench.chains.hashes import keccak256
from workbench.errors import hide_arguments

ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
_HALF = ORDER // 2
_RECOVERY = {0: b"\0", 1: b"\1", 27: b"\0", 28: b"\1"}


@cache
def _library() -> Any:
    import coincurve  # loaded when first used

    return coincurve


@hide_arguments
def recover(digest: bytes, signature: Octets) -> str:
    """Return the address (EIP-55) whose key made a signature over a 32-byte digest.

    Any well-formed signature recovers to some address: it proves something only when the address is the one expected.

    Raises:
        InvalidRequest: Not 65 bytes, v other than 0, 1, 27, 28, r or s out of range, s in the upper half (the malleable
            twin of another signature, which contracts refuse), or no key fits.
    """
    hashed = _digest(digest)
    raw = canonical(signature)
    try:
        key = _library().PublicKey.from_signature_and_message(raw[:64] + _RECOVERY[raw[64]], hashed, hasher=None)
    except ValueError:
        raise invalid("signature", "signature", "fits no key: it was not made over this message") from None
    return _address(key)


def canonical(signature: Octets, path: str = "signature") -> bytes:
    """Read a signature as 65 bytes with v 27 or 28, as contracts take it; what they would refuse is refused here."""
    raw = octets(signature, 65, path)
    if raw[64] not in _RECOVERY:
        raise invalid(path, "v", "ends in a v other than 27 and 28 (or 0 and 1)")
    r, s = int.from_bytes(raw[:32]), int.from_bytes(raw[32:64])
    if not 0 < r < ORDER or not 0 < s < ORDER:
        raise invalid(path, "range", "has an r or s out of range")
    if s > _HALF:
        raise invalid(
            path, "malleable", "has its s in the upper half: the altered twin of a signature, which is refused"
        )
    return raw if raw[64] > 1 else raw[:64] + bytes([27 + raw[64]])


def sign(digest: bytes, secret: bytes) -> bytes:
    """Sign a digest with a throw-away key (sandbox and teaching wallet only); gives 65 bytes with v 27 or 28."""
    raw: bytes = _library().PrivateKey(secret).sign_recoverable(_digest(digest), hasher=None)
    return raw[:64] + bytes([27 + raw[64]])


def public_address(secret: bytes) -> str:
    """Return the EVM address (EIP-55) of a throw-away key."""
    return _address(_library().PrivateKey(secret).public_key)


def derive_secret(seed: bytes, *labels: str) -> bytes:
    """Make a throw-away key from a seed: 32 bytes, the same for the same seed and labels, good for all families."""
    label = "".join(f"{len(text)}:{text}" for text in labels).encode()
    for attempt in range(256):
        secret = hmac.digest(seed, label + bytes([attempt]), "sha256")
        if 0 < int.from_bytes(secret) < ORDER:
            return secret
    raise AssertionError("256 hashes in a row out of range")  # once in 2**32768


def _digest(digest: object) -> bytes:
    if not isinstance(digest, bytes) or len(digest) != 32:
        raise invalid("digest", "length", "is 32 bytes")
    return digest


def _address(key: Any) -> str:
    return checksummed(keccak256(key.format(compressed=False)[1:])[12:].hex())
