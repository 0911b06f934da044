"""Reads whose bodies are wanted as they came, many in flight at once: for tables that parse whole batches themselves.

The exchange is the usual one (checks, rates, retries, refusals); only the last step, reading the answer, is left out.
Connections are aiohttp's: the usual pool looks at every connection for each request, and with 64 in flight spends its
time there. What it does not tell is how far a request got, which only calls with an effect need to know.
"""

import asyncio
import os
import zlib
from collections.abc import Callable
from typing import Any

import aiohttp

from workbench.client.calls import Calls
from workbench.client.client import AsyncClient
from workbench.client.messages import Body, Broken, Pause, Request, Response, TooLarge
from workbench.errors import InvalidRequest
from workbench.interface.table import KEY_HEADER, OPERATIONS

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
                    await self._context.clock.asleep(step.seconds)
                    step = exchange.send(None)
                    continue
                outcome = await self._transmit(step)
                if isinstance(outcome, Response) and outcome.broken is None and 200 <= outcome.status < 300:
                    self._context.budget.earn()
                    return outcome.body
                if isinstance(outcome, Response) and outcome.status == 429:
                    self._limited()
                step = exchange.send(outcome)
        finally:
            exchange.close()

    async def pause(self, seconds: float) -> None:
        """Wait, by the client's clock."""
        await self._context.clock.asleep(seconds)

    async def _transmit(self, outgoing: Request) -> Response | Broken:
        if self._given is not None:
            return await super()._transmit(outgoing)
        left = outgoing.deadline - self._context.clock.monotonic()
        body, headers = Body(None), {}
        try:
            async with asyncio.timeout(None if left == float("inf") else left):
                url = f"{self._url}{outgoing.target}"
                sent = [(name.decode(), value.decode()) for name, value in outgoing.headers]
                sent.append((KEY_HEADER, self._key.header().decode()))
                async with self._session().get(url, headers=sent, allow_redirects=False) as answer:
                    outgoing.status = answer.status
                    headers = {name.lower(): value for name, value in answer.headers.items()}
                    body = Body(headers.get("content-encoding"))
                    async for chunk in answer.content.iter_any():
                        body.feed(chunk)
            return Response(answer.status, headers, body.whole())
        except aiohttp.ClientConnectorError:
            broken = Broken("no connection", left=False)
        except TimeoutError:
            broken = Broken("no answer in time", left=True, timeout=True)
        except aiohttp.ClientError as failure:  # its text may hold a header
            broken = Broken(f"the connection failed ({type(failure).__name__})", left=True)
        except TooLarge:
            broken = Broken("it is too large", left=True, too_large=True)
        except zlib.error:
            broken = Broken("it cannot be unpacked", left=True)
        return broken if outgoing.status is None else Response(outgoing.status, headers, body.whole(), broken)

    def _session(self) -> aiohttp.ClientSession:
        owner = (os.getpid(), id(asyncio.get_running_loop()))
        if self._opened is None or self._owner != owner:
            connector = aiohttp.TCPConnector(limit=self._connections, ssl=self._ssl_context())
            self._opened = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None), skip_auto_headers=("Content-Type",),
            )  # fmt: skip
            self._owner = owner
        session: aiohttp.ClientSession = self._opened
        return session

    async def aclose(self) -> None:
        """Close the connections; the journal belongs to the client this was made of."""
        if self._opened is not None:
            await self._opened.close()
        self._opened = None
