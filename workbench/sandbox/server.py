"""The sandbox over HTTP: the same `handle` for any client in any language, and its controls beside it.

    /v1/…                  the interface
    /openapi.json          its description
    /_sandbox/guide        what one needs to start; no key is needed on this machine
    /_sandbox/NAME         a control: POST with a JSON object of its arguments, and the full API key

A page in a browser is refused: foreign hosts and origins, and bodies that are not said to be JSON.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from workbench import http_server
from workbench.errors import ApiError, FileBusy, UnusableFile
from workbench.http_server import Heard, Said
from workbench.interface import strict_json, table
from workbench.interface.openapi import document
from workbench.sandbox.control import CONTROLS, perform
from workbench.sandbox.extensions import ROWS
from workbench.sandbox.faults import Played
from workbench.sandbox.service import MAX_BODY, Request, error_body

if TYPE_CHECKING:
    from workbench.sandbox.embedded import Sandbox

BELOW = "/_sandbox/"
IDENTITY = "workbench-sandbox"
"""The header of controls by which a sandbox is known to be the one that was connected to."""

log = logging.getLogger("workbench.sandbox")
_JSON = ("content-type", "application/json")
_ERRORS: Mapping[int, str] = {
    400: "BadRequestError", 401: "Unauthorized", 403: "ForbiddenError", 404: "NotFoundError",
    405: "MethodNotAllowedError", 408: "RequestTimeoutError", 413: "PayloadTooLargeError",
    415: "UnsupportedMediaTypeError", 421: "MisdirectedRequestError", 431: "RequestHeaderFieldsTooLargeError",
    500: "InternalServerError", 503: "ServiceUnavailableError",
}  # fmt: skip
_MANNERS = {"refused": "reset", "lost": "closed"}
_TOGETHER = 0.005  # seconds after which requests wait no longer for those after them
_NOT_IMITATED = "It is made up: people, cards and money exist nowhere else. Its addresses are not wallets: sandbox, do not send funds."


def refused(status: int, message: str) -> Said:
    """Return an error in the documented shape. Source: Errors."""
    body = {"statusCode": status, "error": _ERRORS[status], "message": message}
    return Said(status=status, headers=(_JSON,), body=strict_json.dumps(body))


class GroupCommit:
    """Requests that are there at the same time share one transaction: what one commit costs is paid once for all.

    None is answered before that commit. A refused one changes nothing, and takes nothing from the others.
    """

    def __init__(self, sandbox: "Sandbox") -> None:
        self.sandbox = sandbox
        self.open = False  # whether a transaction is: what is answered meanwhile belongs to it
        self._began = 0.0
        self._waiting: list[asyncio.Future[Exception | None]] = []

    async def play(self, request: Request) -> Played:
        """Answer a request, when what it wrote is durable.

        Raises:
            UnusableFile: The file is busy or cannot be written; nothing of the transaction is kept.
        """
        loop = asyncio.get_running_loop()
        if self.open and loop.time() - self._began > _TOGETHER:
            self._end()
        if not self.open:
            self.sandbox.store.__enter__()
            self.open = True
            self._began = loop.time()
            loop.call_soon(self._look, loop, 0)  # after every request that is ready now
        played = self.sandbox.play(request, telling=False)
        ended = loop.create_future()
        self._waiting.append(ended)
        failed = await ended
        if failed is not None:
            raise failed
        return played

    def _look(self, loop: asyncio.AbstractEventLoop, seen: int) -> None:
        """End the transaction as soon as nobody more has come."""
        if not self.open:  # it took long, and was ended already
            return
        if len(self._waiting) > seen and loop.time() - self._began <= _TOGETHER:
            loop.call_soon(self._look, loop, len(self._waiting))
        else:
            self._end()

    def _end(self) -> None:
        self.open = False
        waiting, self._waiting = self._waiting, []
        failed = None
        try:
            self.sandbox.store.__exit__(None, None, None)
        except Exception as error:  # noqa: BLE001 - each request is answered with it
            failed = error
            self.sandbox.service.forget(len(waiting))
        for one in waiting:
            if not one.done():
                one.set_result(failed)
        if failed is None:
            try:
                self.sandbox.tell()
            except Exception as error:  # noqa: BLE001 - what was written stays, whatever a subscriber makes of it
                log.error("a subscriber failed with %s", type(error).__name__)


class App:
    """Answers what is heard, for one sandbox at one address."""

    def __init__(self, sandbox: "Sandbox", url: str, local: bool) -> None:
        self.sandbox = sandbox
        self.url = url
        self.local = local
        self.identity = sandbox.ground.seeds.uuid("served")
        self._openapi: bytes | None = None
        self._together = GroupCommit(sandbox)

    def answer(self, heard: Heard) -> Said | Awaitable[Said]:
        """Answer a request, or give what will."""
        origin = heard.header("origin")
        if origin is not None and origin != f"http://{heard.header('host')}":
            return refused(403, "Requests from pages of other origins are not answered")
        try:
            if heard.target.startswith(BELOW):
                return self._control(heard)
            if heard.target == "/openapi.json":
                return self._described(heard)
            return self._operation(heard)
        except UnusableFile as error:
            return _unusable(error)

    def _operation(self, heard: Heard) -> Said | Awaitable[Said]:
        request = Request(heard.method, heard.target, heard.query.decode("latin-1"), dict(heard.headers), heard.body)
        if heard.alone and not self._together.open:
            return _said(self.sandbox.play(request))
        return self._answered_together(request)

    async def _answered_together(self, request: Request) -> Said:
        try:
            return _said(await self._together.play(request))
        except UnusableFile as error:
            return _unusable(error)

    def _described(self, heard: Heard) -> Said:
        if heard.method != "GET":
            return refused(405, "Method Not Allowed")
        if self._openapi is None:
            self._openapi = json.dumps(document(self.sandbox.wire_names, f"{self.url}{table.PREFIX}")).encode()
        return Said(status=200, headers=(_JSON,), body=self._openapi)

    def _control(self, heard: Heard) -> Said | Awaitable[Said]:
        name = heard.target.removeprefix(BELOW)
        sandbox = self.sandbox
        open_to_all = name == "guide" and heard.method == "GET" and self.local and heard.local
        key = heard.header("api-key")
        if not open_to_all and key != sandbox.full_key:
            known = key is not None and sandbox.store.get("key", key) is not None
            return refused(403, "Controls need the full key") if known else refused(401, table.UNAUTHORIZED.message)
        if name not in CONTROLS and name != "drain":
            return refused(404, "Control not found")
        if heard.method != "POST" and not (heard.method == "GET" and name == "guide"):
            return refused(405, "Method Not Allowed")
        kind = (heard.header("content-type") or "").partition(";")[0].strip().lower()
        if heard.body and kind != "application/json":
            return refused(415, "the content type must be application/json")
        try:
            arguments = strict_json.loads(heard.body) if heard.body else {}
        except strict_json.NotJson as error:
            return refused(400, f"the body cannot be read: {error}")
        if not isinstance(arguments, Mapping):
            return refused(400, "the arguments must be an object")
        return self._performed(name, arguments)

    async def _performed(self, name: str, arguments: Mapping[str, Any]) -> Said:
        """Carry a control out beside the loop: it may wait, as for deliveries."""
        try:
            body = await asyncio.to_thread(self._perform, name, arguments)
        except ApiError as error:
            return Said(status=error.status, headers=(_JSON, self._signed), body=error_body(error))
        except UnusableFile as error:
            return _unusable(error)
        return Said(status=200, headers=(_JSON, self._signed), body=body)

    def _perform(self, name: str, arguments: Mapping[str, Any]) -> bytes:
        if name == "drain":
            after, key = arguments.get("after", 0), arguments.get("api_key")
            if type(after) is not int or not isinstance(key, str | None):
                raise ApiError.of(400)(operation=name, status=400, error=_ERRORS[400], message="after must be a number")
            due, last = self.sandbox.drain(after, key)
            return strict_json.dumps(
                {"deliveries": [[n, headers, body.decode()] for n, headers, body in due], "last": last}
            )
        result = perform(self.sandbox, name, arguments)
        if name == "guide":
            result = {**result, "base_url": f"{self.url}{table.PREFIX}"}
        return strict_json.dumps(result)

    @property
    def _signed(self) -> tuple[str, str]:
        return IDENTITY, self.identity


def _unusable(error: UnusableFile) -> Said:
    return refused(
        503, "The sandbox's file is busy" if isinstance(error, FileBusy) else "The sandbox's file cannot be used"
    )


def _said(played: Played) -> Said:
    answer = played.response
    return Said(
        status=answer.status, headers=tuple(answer.headers.items()), body=answer.body, seconds=played.seconds,
        manner=_MANNERS.get(played.manner, played.manner),
    )  # fmt: skip


@contextmanager
def serving(
    sandbox: "Sandbox", *, host: str = "127.0.0.1", port: int = 0, hosts: Sequence[str] = (), or_another: bool = False
) -> Iterator[str]:
    """Serve a sandbox in a thread, and give its URL.

    Args:
        or_another: Take a free port where this one is in use, which is never shared.

    Raises:
        PortTaken: The port is in use.
    """
    listening = http_server.bound(host, port, otherwise_free=or_another)
    url = http_server.url_of(listening)
    local = host in http_server.LOOPBACK
    names = [name.lower() for name in (*hosts, *(() if local else (host,)))]
    front = App(sandbox, url, local)
    with http_server.running(front.answer, listening=listening, hosts=names, max_body=MAX_BODY, refusal=refused):
        yield url


def introduction(sandbox: "Sandbox", url: str) -> list[str]:
    """Return what to say about a served sandbox: base URL, keys with what they may do, and what it is not."""
    keys = sandbox.guide()["api_keys"]
    width = max(map(len, keys))
    return [
        f"Card issuing sandbox at {url}{table.PREFIX} ({sandbox.environment}, profile {sandbox.profile}, seed {sandbox.seed})",
        "",
        "API keys, for the header Api-Key:",
        *(f"  {name:<{width}}  {key}" for name, key in keys.items()),
        "",
        f"What to start from: {url}{BELOW}guide   Its description: {url}/openapi.json",
        f"Beside the twelve operations it serves {', '.join(row.path for row in ROWS.values())}, which are assumed.",
        _NOT_IMITATED,
        "Ctrl-C ends it.",
    ]
