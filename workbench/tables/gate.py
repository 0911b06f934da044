"""How many requests of one read may be in flight: fewer after a 429, slowly more while all goes well.

And no more than are of use: once the thread that sends and reads them has no idle time left, more of them in flight would
only wait, and push each other's bytes out of the processor's caches.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable

FEW = 32
"""Requests in flight that are never too many."""
_LOOK = 64  # answers between looks at how busy the thread is
_BUSY, _IDLE = 0.9, 0.75  # of its time


class Gate:
    """Lets at most `allowed`, and of those as many as are of `use`, in at once. For one event loop.

    Args:
        most: How many at the very most.
        worked: Gives the processor time of the thread, in seconds.
        clock: Gives the time that goes by, in seconds.
    """

    def __init__(
        self,
        most: int,
        *,
        worked: Callable[[], float] = time.thread_time,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.most = most
        self.allowed = float(most)
        self.use = most
        self.refused = 0  # 429 met
        self._worked, self._clock = worked, clock
        self._seen: tuple[float, float] | None = None
        self._answers = 0
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._wakes = False
        self._since_slower = 0

    async def __aenter__(self) -> None:
        while self._inside >= self._limit():
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            try:
                await place
            finally:
                if place in self._waiting:
                    self._waiting.remove(place)
        self._inside += 1

    async def __aexit__(self, *_: object) -> None:
        self._inside -= 1
        self._since_slower += 1
        if self.allowed < self.most:
            self.allowed = min(float(self.most), self.allowed + 1 / self.allowed)
        self._answers += 1
        if self._answers >= _LOOK and self.most > FEW:
            self._look()
        if self._waiting and not self._wakes:
            self._wakes = True  # in a moment: whoever leaves and comes again at once keeps the place
            asyncio.get_running_loop().call_soon(self._wake)

    def _limit(self) -> int:
        return min(int(self.allowed), self.use)

    def _look(self) -> None:
        """Use fewer where the thread is never idle, more where it is."""
        worked, now = self._worked(), self._clock()
        if self._seen is not None and now > self._seen[1]:
            share = (worked - self._seen[0]) / (now - self._seen[1])
            if share > _BUSY:
                self.use = max(FEW, self.use // 2)
            elif share < _IDLE:
                self.use = min(self.most, self.use * 2)
        self._seen = worked, now
        self._answers = 0

    def _wake(self) -> None:
        self._wakes = False
        free = self._limit() - self._inside
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1

    def slower(self) -> None:
        """Note a 429. The answers of one burst count once."""
        self.refused += 1
        if self._since_slower >= self.allowed or self.allowed == self.most:
            self.allowed = max(1.0, self.allowed / 2)
            self._since_slower = 0
