"""Reads whose bodies are wanted as they came, many in flight at once: for tables that parse whole batches themselves.

The exchange is the usual one (checks, rates, retries, refusals); only the last step, reading the answer, is left out.
Connections are aiohttp's: the usual pool looks at every connection for each request, and with 64 in flight spends its
time there. What it does not tell is how far a request got, which only calls with an effect need to know.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Any

import aiohttp
from httpx_aiohttp import AiohttpTransport

from workbench.client.calls import Calls
from workbench.client.client import AsyncClient
from workbench.client.messages import Broken, Pause, Request, Response
from workbench.errors import InvalidRequest
from workbench.interface.table import OPERATIONS

_READS = frozenset(row.request for row in OPERATIONS.values() if not row.effect)


class Bodies(AsyncClient):
    """A client that gives bodies of reads. It shares key, rates, pauses and budget with the client it was made of.

    Args:
        client: The client whose calls these are. One made with a transport of its own, as that of an embedded sandbox,
            goes through it here too.
        connections: How many may be open at once.
        limited: Called for each 429, before its pause.
    """

    def __init__(self, client: Calls, *, connections: int = 64, limited: Callable[[], None] = lambda: None) -> None:
        self.__dict__.update(client.__dict__)
        self._parent = self
        self._opened = self._owner = None
        self._connections = connections
        self._limited = limited

    async def fetch(self, request: Any) -> bytes:
        """Send the request of a read and give the body of its answer, unread.

        Raises:
            InvalidRequest: The operation has an effect, or the request breaks a rule.
            WorkbenchError: As any call.
        """
        if type(request) not in _READS:
            raise InvalidRequest("bodies are given for reads alone", of="fetch")
        exchange = self._from_record(request)
        step = next(exchange)
        try:
            while True:
                if isinstance(step, Pause):
                    await self._line.clock.asleep(step.seconds)
                    step = exchange.send(None)
                    continue
                outcome = await self._transmit(step)
                if isinstance(outcome, Response) and outcome.broken is None and 200 <= outcome.status < 300:
                    self._line.budget.earn()
                    return outcome.body
                if isinstance(outcome, Response) and outcome.status == 429:
                    self._limited()
                step = exchange.send(outcome)
        finally:
            exchange.close()

    async def pause(self, seconds: float) -> None:
        """Wait, by the client's clock."""
        await self._line.clock.asleep(seconds)

    def _wired(self, outgoing: Request) -> Any:
        request = super()._wired(outgoing)
        request.read()  # an empty body that was read is none, and aiohttp announces none
        return request

    async def _transmit(self, outgoing: Request) -> Response | Broken:
        try:
            return await super()._transmit(outgoing)
        except aiohttp.ClientError as failure:  # those that the transport does not translate
            why = f"the connection failed ({type(failure).__name__})"
        return Broken(why, left=True)

    def _transport(self) -> Any:
        if self._given is not None:
            return self._given
        owner = (os.getpid(), id(asyncio.get_running_loop()))
        if self._opened is None or self._owner != owner:
            context = self._context()

            def session() -> aiohttp.ClientSession:
                connector = aiohttp.TCPConnector(limit=self._connections, ssl=context)
                return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

            self._opened, self._owner = AiohttpTransport(verify=context, trust_env=False, client=session), owner
        return self._opened

    async def aclose(self) -> None:
        """Close the connections; the journal belongs to the client this was made of."""
        if self._opened is not None:
            await self._opened.aclose()
        self._opened = None
