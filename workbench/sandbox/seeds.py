"""Everything that looks random, made from the seed: the same labels give the same value on every machine."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


class Seeds:
    """Ids, bytes and choices by label."""

    def __init__(self, seed: int) -> None:
        self._key = blake2b(b"card-issuing-workbench:%d" % seed, digest_size=32).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seeds) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def octets(self, label: str, size: int = 32) -> bytes:
        """Return up to 64 bytes."""
        return blake2b(label.encode(), key=self._key, digest_size=size).digest()

    def uuid(self, label: str) -> str:
        """Return an id in the shape of a random UUID."""
        h = blake2b(label.encode(), key=self._key, digest_size=16).hexdigest()
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{'89ab'[int(h[16], 16) & 3]}{h[17:20]}-{h[20:]}"

    def number(self, label: str, low: int, high: int) -> int:
        """Return a whole number from low to high, both included."""
        return low + int.from_bytes(self.octets(label, 8)) % (high - low + 1)

    def pick(self, label: str, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.number(label, 0, len(options) - 1)]
