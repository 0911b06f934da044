"""Clock, retry budget and rate limiter of a client, including the pause of all threads after a 429."""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from workbench.base.system.forks import INHERITING
from workbench.base.system.seconds import monotonic

FIRST_DELAY, LONGEST_DELAY = 0.5, 8.0
LONGEST_WAIT = 60.0  # seconds; a longer Retry-After raises an error, and the client does not wait
BUDGET, COST, COST_OF_TIMEOUT, EARNED = 500, 5, 10, 1


class Clock:
    """Source of time, randomness and sleep, replaceable in tests."""

    def now(self) -> datetime:
        """Return the current UTC time."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the seconds of a clock that is never set back, for measuring intervals."""
        return monotonic()

    def sleep(self, seconds: float) -> None:
        """Sleep for a number of seconds."""
        time.sleep(seconds)

    async def asleep(self, seconds: float) -> None:
        """Wait for a number of seconds without blocking the event loop."""
        import asyncio  # imported late, since most programs have no event loop

        await asyncio.sleep(seconds)

    def random(self) -> float:
        """Return a random number from 0 to 1."""
        from random import SystemRandom  # imported late, since only a wait needs it

        return SystemRandom().random()

    def new_id(self) -> str:
        """Return a random id of 16 hexadecimal digits, such as a journal entry's."""
        return os.urandom(8).hex()


def delay(tries: int, fraction: float) -> float:
    """Return the delay in seconds after a number of attempts: up to 0.5 s, doubling to 8 s, with full jitter."""
    longest: float = min(FIRST_DELAY * 2 ** (tries - 1), LONGEST_DELAY)
    return longest * fraction


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Parse a Retry-After header, in seconds or as a date relative to `Date`; None if missing, unreadable or zero.

    assumed: rate_limits
    """
    value = headers.get("retry-after")
    if value is None or len(value) > 64:
        return None
    text = value.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        seconds = float(text)
    else:
        when = http_date(text) or 0.0
        seconds = when - (http_date(headers.get("date")) or now.timestamp())
    return seconds if seconds > 0 else None


def http_date(text: str | None) -> float | None:
    """Parse an HTTP date as seconds since 1970. Return None if it is missing or unreadable."""
    if not text:
        return None
    from email.utils import parsedate_to_datetime

    try:
        when = parsedate_to_datetime(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


class Budget:
    """Retry budget shared by a client's threads, so that retries do not make an outage worse."""

    def __init__(self) -> None:
        self.left = BUDGET

    def spend(self, *, timeout: bool) -> bool:
        """Deduct the cost of one retry, and return whether the budget allowed the retry."""
        price = COST_OF_TIMEOUT if timeout else COST
        with INHERITING:
            if self.left < price:
                return False
            self.left -= price
            return True

    def earn(self) -> None:
        """Add credit to the budget after a successful call."""
        if self.left < BUDGET:
            with INHERITING:
                self.left = min(BUDGET, self.left + EARNED)


class Pace:
    """Rate limiter of a client: delays calls to the configured rates, and after a 429 until its Retry-After."""

    def __init__(self, *, reads: float | None = None, writes: float | None = None) -> None:
        self.not_before = 0.0  # in monotonic time
        self._gaps = {False: 1 / reads if reads else 0.0, True: 1 / writes if writes else 0.0}
        self._next = {False: 0.0, True: 0.0}

    def pause(self, until: float) -> None:
        """Delay all calls until a time of the monotonic clock."""
        with INHERITING:
            self.not_before = max(self.not_before, until)

    def wait(self, effect: bool, now: float, longest: float) -> float:
        """Return the delay of a call and reserve its slot; a delay above `longest` reserves no slot."""
        if not any(self._gaps.values()) and self.not_before <= now:
            return 0.0
        with INHERITING:
            gap = self._gaps[effect]
            # The calls allowed in one second may be sent at once. Later calls are spaced evenly.
            due = max(self.not_before, self._next[effect] - (1.0 - gap if gap < 1.0 else 0.0), now)
            if due - now <= longest:
                self._next[effect] = max(self._next[effect], now) + gap
            return due - now
