"""Signatures: secp256k1 (EVM, recoverable, 65 bytes r, s, v) and Ed25519 (Solana and Stellar, 64 bytes).

Only the sandbox and its demo wallets sign, with throw-away keys derived from a seed; the workbench never asks for a key of
a real wallet.
"""

import hmac
from functools import cache
from typing import Any

from workbench.chains.addresses import eip55
from workbench.chains.values import BytesLike, invalid, keccak256, read_bytes

_ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
ED25519_PROGRAM = "Ed25519SigVerify111111111111111111111111111"
_RECOVERY_IDS = {0: b"\0", 1: b"\1", 27: b"\0", 28: b"\1"}


@cache
def _coincurve() -> Any:
    import coincurve  # loaded when first used

    return coincurve


def recover(digest: bytes, signature: BytesLike) -> str:
    """Return the address (EIP-55) whose key signed a 32-byte digest.

    Any well-formed signature recovers to some address: compare the result with the expected one.

    Raises:
        InvalidRequest: Not 65 bytes, v other than 0, 1, 27, 28, r or s out of range, s in the upper half of the range
            (which contracts refuse, since every signature has such a second form), or no key fits.
    """
    hashed = _digest(digest)
    raw = canonical_signature(signature)
    try:
        key = _coincurve().PublicKey.from_signature_and_message(raw[:64] + _RECOVERY_IDS[raw[64]], hashed, hasher=None)
    except ValueError:
        raise invalid("signature", "signature", "fits no key: it was not made over this message") from None
    return _address(key)


def canonical_signature(signature: BytesLike, path: str = "signature") -> bytes:
    """Read a signature as 65 bytes with v 27 or 28, refusing what contracts refuse."""
    raw = read_bytes(signature, 65, path)
    if raw[64] not in _RECOVERY_IDS:
        raise invalid(path, "v", "ends in a v other than 27 and 28 (or 0 and 1)")
    r, s = int.from_bytes(raw[:32]), int.from_bytes(raw[32:64])
    if not 0 < r < _ORDER or not 0 < s < _ORDER:
        raise invalid(path, "range", "has an r or s out of range")
    if s > _ORDER // 2:
        raise invalid(
            path, "malleable", "is malleable: its s is in the upper half of the range, which contracts refuse"
        )
    return raw if raw[64] > 1 else raw[:64] + bytes([27 + raw[64]])


def sign(digest: bytes, secret: bytes) -> bytes:
    """Sign a digest with a throw-away key (sandbox only); return 65 bytes with v 27 or 28."""
    raw: bytes = _coincurve().PrivateKey(secret).sign_recoverable(_digest(digest), hasher=None)
    return raw[:64] + bytes([27 + raw[64]])


def public_address(secret: bytes) -> str:
    """Return the EVM address (EIP-55) of a throw-away key."""
    return _address(_coincurve().PrivateKey(secret).public_key)


def derive_secret(seed: bytes, *labels: str) -> bytes:
    """Derive a throw-away key from a seed: 32 bytes, the same for the same seed and labels, valid on every chain."""
    label = "".join(f"{len(text)}:{text}" for text in labels).encode()
    for attempt in range(256):
        secret = hmac.digest(seed, label + bytes([attempt]), "sha256")
        if 0 < int.from_bytes(secret) < _ORDER:
            return secret
    raise AssertionError("256 hashes in a row out of range")  # once in 2**32768


def sign_ed25519(message: bytes, secret: bytes) -> bytes:
    """Sign with a throw-away Ed25519 seed (sandbox only); return 64 bytes."""
    from nacl.signing import SigningKey  # loaded when first used

    return SigningKey(secret).sign(message).signature


def verify_ed25519(public_key: BytesLike, message: bytes, signature: BytesLike) -> bool:
    """Return whether a signature fits; keys of small order and non-canonical signatures never do.

    Raises:
        InvalidRequest: The key is not 32 bytes or the signature not 64.
    """
    key = read_bytes(public_key, 32, "publicKey")
    raw = read_bytes(signature, 64, "signature")
    from nacl.exceptions import BadSignatureError
    from nacl.signing import VerifyKey

    try:
        VerifyKey(key).verify(message, raw)
    except BadSignatureError:
        return False
    return True


def ed25519_instruction(public_key: BytesLike, message: bytes, signature: BytesLike) -> bytes:
    """Return the data of Solana's own instruction that checks an Ed25519 signature; its program is `ED25519_PROGRAM`.

    Count, padding, then where signature, key and message stand in this instruction, as Solana documents the program.
    """
    key, raw = read_bytes(public_key, 32, "publicKey"), read_bytes(signature, 64, "signature")
    here, start = 0xFFFF, 16  # 0xFFFF: in this same instruction
    offsets = (start + 32, here, start, here, start + 96, len(message), here)
    return bytes([1, 0]) + b"".join(number.to_bytes(2, "little") for number in offsets) + key + raw + message


def _digest(digest: object) -> bytes:
    if not isinstance(digest, bytes) or len(digest) != 32:
        raise invalid("digest", "length", "must be 32 bytes")
    return digest


def _address(key: Any) -> str:
    return eip55("0x" + keccak256(key.format(compressed=False)[1:])[12:].hex())
