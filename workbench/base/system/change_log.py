"""Log of changes, which returns the changes since a reader's last read."""

from collections.abc import Hashable
from itertools import takewhile
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class ChangeLog(Generic[Key]):
    """Keys in the order of their last change, each with the number of that change."""

    def __init__(self) -> None:
        self.number = 0
        """Number of changes so far."""
        self._last: dict[Key, int] = {}

    def note(self, key: Key) -> None:
        """Record a change of a key."""
        self.number += 1
        self._last.pop(key, None)  # removed first, so that the newest change comes last
        self._last[key] = self.number

    def since(self, number: int) -> list[Key]:
        """Return the keys that changed after change `number`, in the order of their last change."""
        newest = takewhile(lambda change: change[1] > number, reversed(self._last.items()))
        return [key for key, _ in newest][::-1]
