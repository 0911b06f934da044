"""Sandboxes of one learner: a sandbox and a production environment, with limits on threads and disk."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs

from workbench.base.schema import strict_json
from workbench.base.system.messages import Request, Response
from workbench.course.classroom.class_results import Learner
from workbench.sandbox import Sandbox
from workbench.sandbox.relay import MAX_URLS, DeliveryRelay
from workbench.sandbox.server import CONTROL_PATH, NOT_JSON, App, is_json, refused

MAX_ENTRIES_A_MINUTE = 180  # of a learner
MAX_LEARNER_BYTES = 64 * 2**20  # of the files of a learner's sandboxes
AT_ONCE = 4  # requests of a learner that wait for a file or a control
_WAITING = 64  # further ones of a learner
_PRODUCTION = "/production"


class LearnerSandboxes:
    """Sandbox of one learner, and a production environment with the same seed, created on first use.

    Limits on threads and disk space keep a learner from slowing down or failing the others.

    Attributes:
        drained: Number of the last event that the learner's inbox has fetched.
        relay: Deliveries to receivers on the learner's machine.
        entries: Times of the learner's last entries.
    """

    def __init__(self, learner: Learner, make: Callable[[Learner, str], App], folder: Path | None) -> None:
        self.learner = learner
        self.drained = 0
        self.relay = DeliveryRelay()
        self.entries: deque[float] = deque(maxlen=MAX_ENTRIES_A_MINUTE)
        self._make = make
        self._folder = folder
        self._apps: dict[str, App] = {}
        self._lock = threading.Lock()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    @property
    def sandbox(self) -> Sandbox:
        sandbox: Sandbox = self._app("").sandbox
        return sandbox

    @property
    def last_used(self) -> float | None:
        """Time of the last change to the learner's files, in seconds since 1970; None without files."""
        return max((file.stat().st_mtime for file in self._files()), default=None)

    async def handle(self, request: Request) -> Response:
        """Answer a request, without the code in its path.

        The first request creates the sandbox without blocking other learners.
        """
        if self._waiting == _WAITING:
            return refused(429, f"{_WAITING} of your requests are waiting; wait for their answers")
        self._waiting += 1
        try:
            async with self._turns:
                return await self._answer(request)
        finally:
            self._waiting -= 1

    async def exchange_deliveries(self, request: Request) -> Response:
        """Accept responses of the learner's receivers, and return deliveries for them."""
        if not is_json(request):
            return refused(415, NOT_JSON)
        try:
            content = strict_json.loads(request.body)
            self.relay.answer(content["results"])
            urls = [str(url) for url in content["urls"]][:MAX_URLS]
            deliveries = await self.relay.fetch(urls, wait=content["wait"] is True)
        except (strict_json.NotJson, KeyError, TypeError, ValueError):
            return refused(400, "the deliveries cannot be read")
        body = strict_json.dumps({"deliveries": deliveries})
        return Response(status=200, headers={"content-type": "application/json"}, body=body)

    async def _answer(self, request: Request) -> Response:
        prefix = _PRODUCTION if request.path.startswith(f"{_PRODUCTION}/") else ""
        path, headers = request.path.removeprefix(prefix), request.headers
        control = path.removeprefix(CONTROL_PATH) if path.startswith(CONTROL_PATH) else None
        if request.method != "GET" and sum(file.stat().st_size for file in self._files()) > MAX_LEARNER_BYTES:
            if control != "reset":
                limit = f"{MAX_LEARNER_BYTES // 2**20} MB"
                return refused(413, f"Your sandbox holds more than {limit}: reset it, then run the first cell again")
            await asyncio.to_thread(self.remove)
        app = self._apps[prefix] if prefix in self._apps else await asyncio.to_thread(self._app, prefix)
        if control == "guide" and "api-key" not in headers:  # the code opens the guide
            headers = {**headers, "api-key": app.sandbox.full_key}
        # the code in the path is what a connection from this machine is elsewhere
        answer = await app.handle(attrs.evolve(request, path=path, headers=headers, local=True))
        if answer.status == 200 and control in ("drain", "reset", "restore") and not prefix:
            self.drained = strict_json.loads(answer.body)["last"] if control == "drain" else 0
        return answer

    def _app(self, prefix: str) -> App:
        with self._lock:
            if prefix not in self._apps:
                self._apps[prefix] = self._make(self.learner, prefix)
            return self._apps[prefix]

    def _files(self) -> list[Path]:
        return [] if self._folder is None else list(self._folder.glob(f"{self.learner.code}-*.db*"))

    def remove(self) -> None:
        """Delete the learner's sandboxes and files; the next request creates new ones with the same seed."""
        self.close()
        with self._lock:
            self._apps.clear()
            for file in self._files():
                file.unlink(missing_ok=True)

    def close(self) -> None:
        for app in self._apps.values():
            app.sandbox.close()

    def fetched(self, kind: str) -> list[Any]:
        """Return the events of a kind that the learner's inbox has fetched, for a check."""
        long_ago = datetime.min.replace(tzinfo=UTC)
        return [
            SimpleNamespace(event=SimpleNamespace(id=event.payload["id"]), arrived=long_ago)
            for event in self.sandbox.events(kind)
            if event.sequence <= self.drained
        ]
