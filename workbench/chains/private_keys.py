"""Text that looks like a private key is refused before anything else reads it, and is never shown, stored or logged."""

import json
import re

from workbench.chains.encodings import base58_decode, ed25519_public_key
from workbench.errors import InvalidRequest, Problem, hide_arguments

_HEX_KEY = re.compile(r"(?:0[xX])?[0-9a-fA-F]{64}")
_STELLAR_SEED = re.compile(r"S[A-Z2-7]{55}", re.IGNORECASE)
_EXTENDED_KEY = re.compile(r"[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100,112}")
_BASE58_64 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{80,90}")
_BYTE_LIST = re.compile(r"\[[\d\s,]+\]")
_WORD = re.compile(r"[a-z]{3,8}", re.IGNORECASE)  # every word of the BIP-39 English list matches
_PHRASE_LENGTHS = (12, 15, 18, 21, 24)
_MIN_KEY = 50  # an EVM or Solana address is shorter than any key without spaces
_MAX_KEY = 4096


def looks_like_private_key(text: object, *, hash_expected: bool = False) -> bool:
    """Return whether text looks like a private key, a seed phrase or a secret seed.

    In doubt the result is True, except for 64 bytes in Solana's form, which may be a public signature: they count as a
    key only if the second half is the public key of the first.

    Args:
        hash_expected: The field takes 32 public bytes (a salt, a digest), so 64 hex digits are allowed.
    """
    if not isinstance(text, str) or len(text) > _MAX_KEY or (len(text) < _MIN_KEY and text.isalnum()):
        return False
    stripped = text.strip().strip("\"'")
    return (
        (not hash_expected and _HEX_KEY.fullmatch(stripped) is not None)
        or _STELLAR_SEED.fullmatch(stripped) is not None
        or _EXTENDED_KEY.fullmatch(stripped) is not None
        or "PRIVATE KEY-----" in text
        or _is_seed_phrase(stripped)
        or _is_solana_secret(stripped)
    )


def private_key_problem(text: object, path: str, *, hash_expected: bool = False) -> Problem | None:
    """Return the problem of text that looks like a private key; the message holds no part of the text."""
    if not looks_like_private_key(text, hash_expected=hash_expected):
        return None
    return Problem(
        path,
        "private-key",
        "looks like a private key or a seed phrase. Never paste a private key here. It was not stored; but if it belongs "
        "to a real wallet, treat it as exposed: it may remain in this notebook or shell history",
    )


@hide_arguments
def refuse_private_key(text: object, path: str, *, hash_expected: bool = False) -> None:
    """Raise InvalidRequest if text looks like a private key."""
    problem = private_key_problem(text, path, hash_expected=hash_expected)
    if problem is not None:
        raise InvalidRequest([problem])


def _is_seed_phrase(text: str) -> bool:
    if text.isalnum():  # one word, such as a Stellar address, which its digits would cut into words
        return False
    words = [word for word in re.split(r"[\s,;]+|\d+[.):]?", text) if word]
    return len(words) in _PHRASE_LENGTHS and all(_WORD.fullmatch(word) for word in words)


def _is_solana_secret(text: str) -> bool:
    raw = b""
    if _BASE58_64.fullmatch(text):
        raw = base58_decode(text)
    elif _BYTE_LIST.fullmatch(text):
        try:
            raw = bytes(json.loads(text))
        except ValueError:
            return False
    return len(raw) == 64 and ed25519_public_key(raw[:32]) == raw[32:]
