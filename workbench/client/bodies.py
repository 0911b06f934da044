"""Reads whose bodies are wanted as they came, many in flight at once: for tables that parse whole batches themselves.

The exchange is the usual one (checks, rates, retries, refusals); only the last step, reading the answer, is left out.
Requests are spread over small connection pools: one pool examines all its connections for each request, and with 64 in
flight spends its time there.
"""

from collections.abc import Callable
from typing import Any

import attrs

from workbench.client.calls import Calls
from workbench.client.client import AsyncClient
from workbench.client.messages import Broken, Pause, Request, Response
from workbench.errors import InvalidRequest
from workbench.interface.table import OPERATIONS

POOL_SIZE = 8
"""Requests in flight in one pool, before the next one is opened."""
_READS = frozenset(row.request for row in OPERATIONS.values() if not row.effect)


class _PooledClient(AsyncClient):
    """A client that shares key, rates, pauses and budget with the one it was made of, but not its connections."""

    def __init__(self, client: Calls) -> None:
        self.__dict__.update(client.__dict__)
        self._parent = self
        self._opened = self._owner = None

    async def transmit(self, outgoing: Request) -> Response | Broken:
        return await self._transmit(outgoing)

    async def aclose(self) -> None:
        """Close the connections; the journal belongs to the client this was made of."""
        if self._opened is not None:
            await self._opened.aclose()
        self._opened = None


@attrs.define
class _Pool:
    client: _PooledClient
    in_flight: int = 0


class Bodies(_PooledClient):
    """A client that returns the bodies of reads.

    Args:
        client: The client whose calls these are. One made with a transport, such as that of an embedded sandbox, sends
            through it here too.
        connections: Number of connections at most.
        on_rate_limit: Called for each 429, before its pause.
    """

    def __init__(
        self, client: Calls, *, connections: int = 64, on_rate_limit: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(client)
        self._on_rate_limit = on_rate_limit
        self._pools = [_Pool(_PooledClient(client)) for _ in range(-(-connections // POOL_SIZE))]

    async def fetch(self, request: Any) -> bytes:
        """Send the request of a read and return the body of its answer, unread.

        Raises:
            InvalidRequest: The operation has an effect, or the request breaks a rule.
            WorkbenchError: As for any call.
        """
        if type(request) not in _READS:
            raise InvalidRequest("only reads return bodies", of="fetch")
        exchange = self._from_record(request)
        step = next(exchange)
        try:
            while True:
                if isinstance(step, Pause):
                    await self.pause(step.seconds)
                    step = exchange.send(None)
                    continue
                outcome = await self.transmit(step)
                if isinstance(outcome, Response) and outcome.broken is None and 200 <= outcome.status < 300:
                    self._context.budget.earn()
                    return outcome.body
                if isinstance(outcome, Response) and outcome.status == 429:
                    self._on_rate_limit()
                step = exchange.send(outcome)
        finally:
            exchange.close()

    async def pause(self, seconds: float) -> None:
        """Wait, by the client's clock."""
        await self._context.clock.asleep(seconds)

    async def transmit(self, outgoing: Request) -> Response | Broken:
        """Send through the pool that has fewest requests in flight, the first of these."""
        pool = min(self._pools, key=lambda pool: pool.in_flight // POOL_SIZE)
        pool.in_flight += 1
        try:
            return await pool.client.transmit(outgoing)
        finally:
            pool.in_flight -= 1

    async def aclose(self) -> None:
        """Close the connections."""
        for pool in self._pools:
            await pool.client.aclose()
