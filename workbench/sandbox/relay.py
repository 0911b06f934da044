"""Relay that delivers webhooks to receivers on a client's machine, which the server cannot reach.

A client process fetches the deliveries and posts them, only to URLs that it registered on its own machine. The server
itself posts no relayed delivery.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Sequence
from itertools import count
from typing import Any

import attrs

from workbench.base.errors import NotSent, WrongEnvironment
from workbench.base.system.http_post import TIMEOUT, ForbiddenUrl, PostResult, Target, check_url, send
from workbench.base.system.seconds import monotonic
from workbench.sandbox.store import Members, Record, Texts

RELAY_PATH = "/_relay"
_POLL_SECONDS = 0.5  # seconds for which a request waits for a delivery; shorter than a server's shutdown
_POLL_INTERVAL = 0.05  # seconds between checks
_PRESENT = 10.0  # seconds for which a process counts as connected after its last request
_PAUSE = 1.0  # seconds until the next request, if the server does not respond
_MAX_FAILURES = 60
MAX_URLS = 100
_ABSENT = PostResult(status=None, error="no process that registered this URL is connected")
_LATE = PostResult(status=None, error="no response in time")


@attrs.define
class _Waiting:
    """A delivery waiting for its response."""

    url: str
    headers: Texts
    body: bytes
    fetched: bool = False
    answered: threading.Event = attrs.field(factory=threading.Event)
    result: PostResult = _LATE


class DeliveryRelay:
    """Server side of the relay: deliveries wait until a client process has fetched and posted them."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._waiting: dict[int, _Waiting] = {}
        self._connected: dict[str, float] = {}  # time of the last request, by URL

    def post(self, url: str, headers: Texts, body: bytes) -> PostResult:
        """Queue a delivery, and return the receiver's response or the reason why there is none."""
        if self._connected.get(url, -_PRESENT) < monotonic() - _PRESENT:
            return _ABSENT
        number, waiting = next(self._numbers), _Waiting(url, headers, body)
        self._waiting[number] = waiting
        waiting.answered.wait(TIMEOUT)
        self._waiting.pop(number, None)
        return waiting.result

    def answer(self, results: Sequence[Members]) -> None:
        """Accept the receivers' responses, and ignore unexpected responses."""
        for given in results:
            waiting = self._waiting.get(given["number"])
            if waiting is not None and waiting.fetched:
                status, error = given["status"], given["error"]
                waiting.result = PostResult(
                    status=None if status is None else int(status),
                    error=None if error is None else str(error)[:200],
                    length=None if given["length"] is None else int(given["length"]),
                )
                waiting.answered.set()

    async def fetch(self, urls: Collection[str], *, wait: bool) -> list[Record]:
        """Return the waiting deliveries to the given URLs, each delivery once. With `wait`, wait briefly for one."""
        until = monotonic() + (_POLL_SECONDS if wait else 0)
        while True:
            now = monotonic()
            recent = {url: at for url, at in self._connected.items() if at > now - _PRESENT and url not in urls}
            self._connected = dict(list(recent.items())[-MAX_URLS:]) | dict.fromkeys(urls, now)
            fresh = [
                (number, delivery)
                for number, delivery in list(self._waiting.items())
                if delivery.url in urls and not delivery.fetched
            ]
            if fresh or monotonic() >= until:
                break
            await asyncio.sleep(_POLL_INTERVAL)
        for _, delivery in fresh:
            delivery.fetched = True
        return [
            {"number": number, "url": given.url, "headers": dict(given.headers), "body": given.body.decode()}
            for number, given in fresh
        ]


class RelayClient:
    """Client side of the relay: a thread that fetches deliveries, posts them locally, and returns the responses.

    Args:
        ask: Function that sends a request to the server and returns the JSON of the response.
    """

    def __init__(self, ask: Callable[[str, str, Members], Any]) -> None:
        self._ask = ask
        self._urls: dict[str, None] = {}  # the most recent URLs, in order of registration
        self._thread: threading.Thread | None = None

    def add(self, url: str) -> None:
        """Relay deliveries to a URL, if the server offers a relay."""
        self._urls = {**dict.fromkeys(list(self._urls)[-MAX_URLS + 1 :]), url: None}
        try:
            self._fetch([], wait=False)
        except WrongEnvironment:  # the server has no relay, and delivers to the receivers itself
            return
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._work, name="workbench-relay", daemon=True)
            self._thread.start()

    def _fetch(self, results: list[Record], *, wait: bool) -> list[Record]:
        content = {"urls": list(self._urls), "results": results, "wait": wait}
        deliveries: list[Record] = self._ask("POST", RELAY_PATH, content)["deliveries"]
        return deliveries

    def _work(self) -> None:
        failures, results = 0, list[Record]()
        while failures < _MAX_FAILURES:
            try:
                deliveries = self._fetch(results, wait=True)
            except NotSent:  # the server may be restarting
                failures += 1
                time.sleep(_PAUSE)
                continue
            except (WrongEnvironment, RuntimeError):  # another server responds now, or this client was closed
                return
            failures = 0
            results = [{"number": given["number"], **self._post(given)} for given in deliveries]

    def _check(self, url: str) -> Target:
        if url not in self._urls:
            raise ForbiddenUrl("this process did not register the URL")
        return check_url(url)

    def _post(self, given: Members) -> Record:
        result = send(given["url"], given["headers"], given["body"].encode(), check=self._check)
        return {"status": result.status, "error": result.error, "length": result.length}
