"""Signatures of deliveries.

# assumed: header `Signature` is the lowercase hex HMAC-SHA256 of the raw body, and `Secondary-Signature` the same with
# the other key while one is rotated; signing of deliveries is not shown.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence

from workbench.errors import InvalidWebhook

SIGNATURE = "signature"
SECONDARY = "secondary-signature"

Headers = Mapping[str, str] | Mapping[bytes, bytes] | Iterable[tuple[str, str]] | Iterable[tuple[bytes, bytes]]

Scheme = Callable[[Mapping[str, str], bytes, Sequence[bytes]], bool | None]
"""Checks headers (names in lower case), raw body and keys: True if correctly signed, False if wrongly, None if not signed."""


class SignatureRefused(InvalidWebhook):
    """The signature is missing or wrong. The message is the same for all reasons."""

    def __init__(self) -> None:
        super().__init__("Missing or wrong signature.")


def sign(body: bytes, key: str | bytes) -> str:
    """Return the signature of a raw body."""
    return hmac.new(as_key(key), body, hashlib.sha256).hexdigest()


def hmac_signature(headers: Mapping[str, str], body: bytes, keys: Sequence[bytes]) -> bool | None:
    """Check both signature headers against every key, in constant time."""
    given = [headers[name] for name in (SIGNATURE, SECONDARY) if name in headers]
    if not given:
        return None
    expected = [hmac.new(key, body, hashlib.sha256).hexdigest().encode() for key in keys]
    same = [hmac.compare_digest(right, one.encode("utf-8", "replace")) for right in expected for one in given]
    return any(same)


def as_key(key: str | bytes) -> bytes:
    """Return a key as bytes.

    Raises:
        ValueError: The key is empty.
    """
    made = key.encode() if isinstance(key, str) else bytes(key)
    if not made.strip():
        raise ValueError("a webhook key cannot be empty")
    return made


def lower_headers(headers: Headers) -> dict[str, str]:
    """Return headers by lower-case name; repeated headers are joined, so a repeated signature is wrong."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    made: dict[str, str] = {}
    for name, value in pairs:
        key = (name.decode("latin-1") if isinstance(name, bytes) else str(name)).lower()
        text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
        made[key] = f"{made[key]}, {text}" if key in made else text
    return made
