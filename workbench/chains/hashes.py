"""The hash function of the EVM chains."""

from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def _keccak() -> Callable[[bytes], Any]:
    from sha3 import keccak_256  # loaded when first used

    new: Callable[[bytes], Any] = keccak_256
    return new


def keccak256(data: bytes) -> bytes:
    """Return the Keccak-256 hash (the original padding, not SHA3-256)."""
    hashed: bytes = _keccak()(data).digest()
    return hashed
