"""What the sandbox knows: JSON values by kind and id, changed in transactions, one within another where that serves.

A stored value is never changed in place: whoever changes a record puts a new one. So a copy of the store is a copy of its
outer dictionaries, and an event may hold the record as it was.

A backend makes it durable: it sees `begin` (and may bring in what other processes wrote), then `commit` with what changed,
or `rollback`.
"""

from collections.abc import Iterable, Iterator
from threading import RLock
from types import TracebackType
from typing import Any, Protocol

Change = tuple[str, str, Any]
"""Kind, id, and the new value; None where it was deleted."""


class Backend(Protocol):
    """Keeps what a store holds. All calls come under the store's lock."""

    def begin(self, store: "Store") -> None:
        """Start a transaction; `store.load` brings in what others wrote."""

    def commit(self, changes: Iterable[Change]) -> None:
        """Keep the changes, all or none, before the answer is given."""

    def rollback(self) -> None:
        """End the transaction without changes."""


class Store:
    """Values by kind and id.

    `with store:` is one transaction; it is undone when an exception leaves it. One within another is kept when the outer
    one is, and is undone alone when it fails.
    """

    def __init__(self, backend: Backend | None = None) -> None:
        self._kinds: dict[str, dict[str, Any]] = {}
        self._undo: list[Change] = []
        self._lock = RLock()
        self._begun: list[int] = []  # of each open transaction, how much there was to undo when it began
        self.backend = backend

    def __enter__(self) -> "Store":
        self._lock.acquire()
        if not self._begun and self.backend is not None:
            try:
                self.backend.begin(self)
            except BaseException:
                self._lock.release()
                raise
        self._begun.append(len(self._undo))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        begun = self._begun.pop()
        try:
            if not self._begun:
                self._end(keep=kind is None)
            elif kind is not None:
                self._undo_since(begun)
        finally:
            self._lock.release()

    def _end(self, keep: bool) -> None:
        if keep and self.backend is not None:
            try:
                touched = {(kind, key): None for kind, key, _ in self._undo}
                self.backend.commit([(kind, key, self.get(kind, key)) for kind, key in touched])
            except BaseException:
                self._undo_since(0)
                raise
        elif not keep:
            self._undo_since(0)
            if self.backend is not None:
                self.backend.rollback()
        self._undo.clear()

    def _undo_since(self, begun: int) -> None:
        for kind, key, before in reversed(self._undo[begun:]):
            if before is None:
                self._kinds[kind].pop(key, None)
            else:
                self._kinds[kind][key] = before
        del self._undo[begun:]

    def get(self, kind: str, key: str) -> Any:
        """Return a value, or None."""
        values = self._kinds.get(kind)
        return None if values is None else values.get(key)

    def all(self, kind: str) -> Iterator[Any]:
        """Return every value of a kind, in the order they were first put."""
        return iter(tuple(self._kinds.get(kind, {}).values()))

    def count(self, kind: str) -> int:
        """Return how many values of a kind there are."""
        return len(self._kinds.get(kind, ()))

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds there are."""
        return tuple(self._kinds)

    def items(self, kind: str) -> Iterator[tuple[str, Any]]:
        """Return every id and value of a kind."""
        return iter(tuple(self._kinds.get(kind, {}).items()))

    def put(self, kind: str, key: str, value: Any) -> None:
        """Keep a value; it must not be changed afterwards."""
        values = self._kinds.get(kind)
        if values is None:
            values = self._kinds[kind] = {}
        self._undo.append((kind, key, values.get(key)))
        values[key] = value

    def delete(self, kind: str, key: str) -> None:
        """Forget a value."""
        values = self._kinds[kind]
        self._undo.append((kind, key, values.pop(key)))

    def next(self, counter: str) -> int:
        """Return the next number of a counter, from 1."""
        number: int = (self.get("counter", counter) or 0) + 1
        self.put("counter", counter, number)
        return number

    def load(self, changes: Iterable[Change]) -> None:
        """Bring in values that are already durable."""
        for kind, key, value in changes:
            if value is None:
                self._kinds.get(kind, {}).pop(key, None)
            else:
                self._kinds.setdefault(kind, {})[key] = value

    def clear(self) -> None:
        """Forget everything: another state is about to be loaded."""
        self._kinds.clear()

    def copy(self) -> dict[str, dict[str, Any]]:
        """Return the contents; cheap, since values are never changed in place."""
        with self._lock:
            return {kind: dict(values) for kind, values in self._kinds.items() if values}

    def replace(self, contents: dict[str, dict[str, Any]]) -> None:
        """Put other contents in place of these, within a transaction."""
        for kind in self.kinds():
            for key in tuple(self._kinds[kind]):
                if key not in contents.get(kind, {}):
                    self.delete(kind, key)
        for kind, values in contents.items():
            for key, value in values.items():
                if self.get(kind, key) is not value:
                    self.put(kind, key, value)
