"""What looks like a private key is refused before anything else reads it, and is never shown, kept or logged."""

import json
import re

from workbench.errors import InvalidRequest, Problem, hide_arguments

_HEX_KEY = re.compile(r"(?:0[xX])?[0-9a-fA-F]{64}")
_STELLAR_SEED = re.compile(r"S[A-Z2-7]{55}", re.IGNORECASE)
_EXTENDED_KEY = re.compile(r"[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100,112}")
_BASE58_64 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{80,90}")
_BYTE_LIST = re.compile(r"\[[\d\s,]+\]")
_WORD = re.compile(r"[a-z]{3,8}", re.IGNORECASE)  # every word of the BIP-39 English list is one
_SHORTEST = 50  # an address of EVM or Solana is shorter than any key without blanks
_PHRASE_LENGTHS = (12, 15, 18, 21, 24)


def looks_like_private_key(text: object, *, hash_expected: bool = False) -> bool:
    """Say whether text looks like a private key, a seed phrase or a secret seed.

    With `hash_expected` the field takes 32 bytes that are no key (a salt, a digest), so 64 hex digits are what it wants.
    It errs on the side of yes, except for 64 bytes of Solana: those may be a public signature, so the second half has to be
    the public key of the first.
    """
    if not isinstance(text, str) or len(text) > 4096 or (len(text) < _SHORTEST and text.isalnum()):
        return False
    stripped = text.strip().strip("\"'")
    return (
        (not hash_expected and _HEX_KEY.fullmatch(stripped) is not None)
        or _STELLAR_SEED.fullmatch(stripped) is not None
        or _EXTENDED_KEY.fullmatch(stripped) is not None
        or "PRIVATE KEY-----" in text
        or _is_phrase(stripped)
        or _is_solana_secret(stripped)
    )


def private_key_problem(text: object, path: str, *, hash_expected: bool = False) -> Problem | None:
    """Return the problem of text that looks like a private key; nothing of it is in the message."""
    if not looks_like_private_key(text, hash_expected=hash_expected):
        return None
    return Problem(
        path,
        "private-key",
        "looks like a private key or a seed phrase. Never paste a private key here. It was not kept; but if it belongs "
        "to a real wallet, treat it as exposed: it may remain in this notebook or shell history",
    )


@hide_arguments
def refuse_private_key(text: object, path: str, *, hash_expected: bool = False) -> None:
    """Raise when text looks like a private key."""
    problem = private_key_problem(text, path, hash_expected=hash_expected)
    if problem is not None:
        raise InvalidRequest([problem])


def _is_phrase(text: str) -> bool:
    if text.isalnum():  # one word: a Stellar address of which the digits cut pieces as long as words
        return False
    words = [word for word in re.split(r"[\s,;]+|\d+[.):]?", text) if word]
    return len(words) in _PHRASE_LENGTHS and all(_WORD.fullmatch(word) for word in words)


def _is_solana_secret(text: str) -> bool:
    raw = b""
    if _BASE58_64.fullmatch(text):
        from workbench.chains.base58 import base58_decode

        raw = base58_decode(text)
    elif _BYTE_LIST.fullmatch(text):
        try:
            numbers = json.loads(text)
        except ValueError:
            return False
        raw = bytes(numbers) if all(0 <= n <= 255 for n in numbers) else b""
    if len(raw) != 64:
        return False
    from workbench.chains.ed25519 import ed25519_public_key

    return ed25519_public_key(raw[:32]) == raw[32:]
