"""How many requests of one read may be in flight: fewer after a 429, slowly more while all goes well."""

import asyncio
from collections import deque


class Gate:
    """Lets at most `allowed` in at once. For one event loop."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.allowed = float(most)
        self.refused = 0  # 429 met
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._since_slower = 0

    async def __aenter__(self) -> None:
        while self._inside >= int(self.allowed):
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
        free = int(self.allowed) - self._inside
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
