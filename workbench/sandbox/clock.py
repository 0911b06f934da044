"""The sandbox's clock. Only controls move it; its time is part of the store, so that copies have their own."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from workbench.interface.text import write_time
from workbench.sandbox.store import Store

START = datetime(2026, 1, 15, 15, 0, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(moment: datetime) -> int:
    """Return a time as milliseconds since 1970."""
    return (moment - EPOCH) // _MILLISECOND


def moment_of(at: int) -> datetime:
    """Return milliseconds since 1970 as a time."""
    return EPOCH + timedelta(milliseconds=at)


class Clock:
    """Keeps the sandbox's time."""

    def __init__(self, store: Store, move: Callable[[int], None]) -> None:
        self._store = store
        self._move = move

    @property
    def at(self) -> int:
        """The time as milliseconds since 1970."""
        at: int = self._store.get("meta", "clock")
        return at

    def now(self) -> datetime:
        """Return the time, aware, in UTC."""
        return moment_of(self.at)

    def text(self) -> str:
        """Return the time as the wire writes it."""
        return write_time(self.now())

    def advance(
        self,
        by: timedelta | float | None = None,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
    ) -> datetime:
        """Move the clock forward; scheduled changes on the way happen at their own times.

        Args:
            by: A timedelta, or a number of seconds.

        Raises:
            ValueError: The step is negative.
            TypeError: `by` is neither a timedelta nor a number.
        """
        if not isinstance(by, timedelta | float | int | None):
            raise TypeError("by must be a timedelta or a number of seconds; or use days=, hours=, minutes=, seconds=")
        step = by if isinstance(by, timedelta) else timedelta(seconds=by or 0)
        step += timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        if step < timedelta():
            raise ValueError("the clock can only move forward")
        self._move(step // _MILLISECOND)
        return self.now()

    def __repr__(self) -> str:
        return f"<clock at {self.text()}>"
