"""Controls of the clock and of the entire state: advance, reset, snapshot and restore."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from workbench.sandbox.context import not_found, usage_error, wrong_argument
from workbench.sandbox.control_records import (
    SandboxTime,
    Snapshots,
)
from workbench.sandbox.controls.declaration import ControlGroup, control
from workbench.sandbox.store import COUNTERS_APART, in_world
from workbench.sandbox.world import new_world, world


class StateControls(ControlGroup):
    """Advance the clock; reset, save and restore the state."""

    @control(changes=True, transaction=False)
    def advance(self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0) -> SandboxTime:
        """Move the clock forward. Scheduled changes happen at their due times."""
        try:
            step = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
            return SandboxTime(now=self._engine.clock.advance(seconds=step.total_seconds()))
        except (ValueError, OverflowError):
            raise wrong_argument("", "minimum", "the clock can only move forward: give positive numbers") from None

    @control(changes=True)
    def reset(self) -> SandboxTime:
        """Reset the sandbox to its initial state and clear the request log. Fault rules and endpoints remain."""
        store = self._engine.store
        self._engine.log.clear()
        settings, speed = store.get("meta", "made"), self._engine.clock.speed
        start = settings["start"] if speed is None else int(time.time() * 1000)
        fresh = world({**settings, "start": start}, store.get("meta", "program")).copy()
        with self._replacing(start=start):
            for kind, values in fresh.items():
                store.fill(kind, values)
        self._engine.clock.set(start, speed)
        return self._now()

    @control(changes=True)
    def snapshot(self, name: str) -> Snapshots:
        """Save the state under a name.

        Args:
            name: Name of the snapshot.
        """
        store = self._engine.store
        self._save(name)
        store.put("snapshot", name, True)
        return Snapshots(names=tuple(known for known, _ in store.items("snapshot")))

    @control(changes=True)
    def restore(self, name: str) -> SandboxTime:
        """Restore the state saved under a name.

        Args:
            name: Name of the snapshot.
        """
        if self._engine.store.get("snapshot", name) is None:
            raise not_found("Snapshot")
        return self._load(name)

    @control(changes=True)
    def _savepoint(self) -> int:
        """Save the state before an action that can be undone, and return the number of changes so far.

        A sandbox in a file copies every record. The state of a large file is therefore not saved, and its actions
        cannot be undone.
        """
        store = self._engine.store
        records = sum(store.count(kind) for kind in store.kinds() if in_world(kind)) if store.shared else 0
        if records > MOST_COPIED:
            raise usage_error(f"undo needs a file with at most {MOST_COPIED:,} records, and this one has {records:,}")
        self._save(_BEFORE)
        store.put("snapshot/savepoint", "changes", store.changes)
        return store.changes

    @control(changes=False)
    def _changes(self, actor: str = "") -> int:
        """Return the number of state changes so far.

        Args:
            actor: Token of an action. The result is 0 unless this action made the last change.
        """
        store = self._engine.store
        return store.changes if not actor or store.get("changes", "last") == [store.changes, actor] else 0

    @control(changes=True)
    def _undo(self, savepoint: int, actor: str) -> SandboxTime:
        """Restore the state of the last savepoint, if an action has made exactly one change since. Ids are not reused.

        Args:
            savepoint: Number that `_savepoint` returned.
            actor: Token of the action.
        """
        store = self._engine.store
        saved = store.get("snapshot/savepoint", "changes")
        if saved != savepoint or not actor or self._changes(actor=actor) != savepoint + 1:
            raise usage_error("Something else changed in the sandbox since; nothing was undone")
        counters = tuple(store.items("counter"))
        self._load(_BEFORE)
        for name, number in counters:
            store.put("counter", name, number)
        return self._now()

    def _now(self) -> SandboxTime:
        return SandboxTime(now=self._engine.clock.now())

    def _save(self, name: str) -> None:
        store, prefix = self._engine.store, _prefix(name)
        for kind in store.kinds():
            if kind.startswith(prefix):
                store.fill(kind, {})
        for kind in store.kinds():
            if in_world(kind):
                store.copy_kind(kind, prefix + kind)

    def _load(self, name: str) -> SandboxTime:
        store, prefix = self._engine.store, _prefix(name)
        saved = [kind for kind in store.kinds() if kind.startswith(prefix)]
        with self._replacing():
            for kind in saved:
                store.copy_kind(kind, kind.removeprefix(prefix))
        return self._now()

    @contextmanager
    def _replacing(self, **settings: object) -> Iterator[None]:
        """Delete the world, let the `with` block write another, and keep the settings. No event number is reused."""
        store = self._engine.store
        settings = {**store.get("meta", "made"), **settings, "world": new_world()}
        counters = {name: store.get("counter", name) for name in COUNTERS_APART}
        for kind in store.kinds():
            if in_world(kind):
                store.fill(kind, {})
        yield
        store.put("meta", "made", settings)
        for name, number in counters.items():
            if number is not None:
                store.put("counter", name, number)


MOST_COPIED = 20_000
"""Maximum number of a file's records that are copied before an action."""
_BEFORE = ""  # name of the savepoint; the names of snapshots are never empty


def _prefix(name: str) -> str:
    """Return the prefix of a snapshot's kinds in the store."""
    return f"snapshot/{name.encode(errors='surrogatepass').hex()}/"
