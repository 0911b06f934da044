"""Sandboxes of one learner: one for each notebook and drill, each with a production environment.

A place is the name of a notebook or drill with the number of its start, such as `02.3`. The empty place is for work
outside a notebook or drill, such as commands. The address of a sandbox is its place. For the production environment,
the address ends with `/production`.
"""

import asyncio
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from workbench.base.schema import strict_json
from workbench.base.system.messages import Request, Response
from workbench.course.classroom.class_results import Learner
from workbench.sandbox import Sandbox
from workbench.sandbox.relay import MAX_URLS, DeliveryRelay
from workbench.sandbox.server import CONTROL_PATH, App, refused

MAX_ENTRIES_A_MINUTE = 180  # maximum per learner
MAX_LEARNER_BYTES = 64 * 2**20  # maximum total size of the files of a learner's sandboxes
AT_ONCE = 4  # maximum concurrent requests of a learner
PRODUCTION = "/production"  # suffix of a sandbox address
_WAITING = 64  # maximum number of a learner's requests that wait
MAX_OPEN = 3  # maximum number of a learner's sandboxes with open files; others are reopened on use
_ADDRESS = re.compile(r"(/[a-z0-9-]{1,41}\.[0-9]{1,6})?(/production)?(?=/|$)")
_PAUSE = 120  # seconds without a request after which a learner counts as inactive


def split(path: str) -> tuple[str, str]:
    """Return the address of a sandbox, and the rest of a path after a learner's code."""
    match = _ADDRESS.match(path)
    address = match[0] if match else ""
    return address if address == PRODUCTION else address[1:], path.removeprefix(address)


class LearnerSandboxes:
    """Sandboxes of one learner with the same seed, created on first use.

    Limits on threads and disk space keep a learner from slowing down or failing the others.

    Attributes:
        begun: Number and time of the last start of each notebook and drill, by name.
        current: The place that the learner used last.
        active: Seconds that the learner worked, without long pauses.
        busy: Lock that is held while one of the learner's tasks is read and stored.
        relay: Deliveries to receivers on the learner's machine.
        entries: Times of the learner's last entries.
    """

    def __init__(
        self, learner: Learner, make: Callable[[Learner, str, str], App], folder: Path | None, active: float
    ) -> None:
        self.learner = learner
        self.begun: dict[str, list[Any]] = {}
        self.current = ""
        self.active = active
        self.relay = DeliveryRelay()
        self.entries: deque[float] = deque(maxlen=MAX_ENTRIES_A_MINUTE)
        self.busy = threading.RLock()
        self._used: float | None = None
        self._drained: dict[str, int] = {}
        self._make = make
        self._folder = folder
        self._apps: dict[str, App] = {}  # in order of use, the most recent last
        self._in_use: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    def sandbox(self, address: str) -> Sandbox:
        """Return the sandbox at an address."""
        sandbox: Sandbox = self._app(address).sandbox
        return sandbox

    @property
    def places(self) -> list[str]:
        """Return the places that have a sandbox now."""
        known = [f"{name}.{number}" for name, (number, _) in self.begun.items()]
        default = self._folder is not None and (self._folder / self._file("")).exists()
        return [""] * (default or "" in self._apps) + known

    def use(self, place: str, count: bool) -> None:
        """Record that the learner sent a request. If `count` is set, count the time since the last request as work."""
        now = time.time()
        if count and self._used is not None and now - self._used < _PAUSE:
            self.active += now - self._used
        self._used, self.current = now, place

    def replaced(self, place: str) -> str:
        """Return the time at which a place was restarted, as text; empty if it was not restarted."""
        name, _, number = place.partition(".")
        if not place or name not in self.begun or str(self.begun[name][0]) == number:
            return ""
        return f"{datetime.fromtimestamp(self.begun[name][1], UTC):%H:%M:%S} UTC"

    def begin(self, name: str) -> str:
        """Delete the sandboxes of a notebook or drill, and return the new place."""
        number = self.begun.get(name, [0])[0]
        if number:
            self.remove(f"{name}.{number}")
        self.begun[name] = [number + 1, time.time()]
        return f"{name}.{number + 1}"

    async def handle(self, request: Request, address: str) -> Response:
        """Answer a request whose path no longer has the code and the address.

        The first request to an address creates the sandbox, without blocking other learners.
        """
        if self._waiting == _WAITING:
            return refused(429, f"{_WAITING} of your requests are waiting; wait for their answers")
        self._waiting += 1
        try:
            async with self._turns:
                return await self._answer(request, address)
        finally:
            self._waiting -= 1

    async def relayed(self, request: Request) -> Response:
        """Accept responses from the learner's receivers, and return deliveries for the receivers."""
        try:
            content = strict_json.loads(request.body)
            self.relay.answer(content["results"])
            urls = [str(url) for url in content["urls"]][:MAX_URLS]
            deliveries = await self.relay.fetch(urls, wait=content["wait"] is True)
        except (strict_json.NotJson, KeyError, TypeError, ValueError):
            return refused(400, "the deliveries cannot be read")
        body = strict_json.dumps({"deliveries": deliveries})
        return Response(status=200, headers={"content-type": "application/json"}, body=body)

    async def _answer(self, request: Request, address: str) -> Response:
        path = request.path
        control = path.removeprefix(CONTROL_PATH) if path.startswith(CONTROL_PATH) else None
        if (
            request.method != "GET"
            and sum(file.stat().st_size for file in self._files(f"{self.learner.code}*.db*")) > MAX_LEARNER_BYTES
        ):
            if control != "reset":
                limit = f"{MAX_LEARNER_BYTES // 2**20} MB"
                return refused(413, f"Your sandboxes hold more than {limit}: reset this one, and run the first cell")
            await asyncio.to_thread(self.remove, address.removesuffix(PRODUCTION))
        self._in_use[address] += 1
        try:
            app = self._apps[address] if address in self._apps else await asyncio.to_thread(self._app, address)
            answer = await self._ask(app, request, control, address)
        finally:
            self._in_use[address] -= 1
        if self._folder is not None and len(self._apps) > MAX_OPEN:
            await asyncio.to_thread(self.close_unused)
        return answer

    async def _ask(self, app: App, request: Request, control: str | None, address: str) -> Response:
        headers = request.headers
        if control == "guide" and "api-key" not in headers:  # the code in the path authorizes reading the guide
            headers = {**headers, "api-key": app.sandbox.full_key}
        # The code in the path gives the rights of a local connection.
        answer = await app.handle(attrs.evolve(request, headers=headers, local=True))
        if answer.status == 200 and control in ("drain", "reset", "restore"):
            self._drained[address] = strict_json.loads(answer.body)["last"] if control == "drain" else 0
        return answer

    def _app(self, address: str) -> App:
        with self._lock:
            app = self._apps.pop(address, None) or self._make(self.learner, address, self._file(address))
            self._apps[address] = app
            return app

    def close_unused(self) -> None:
        """Close the sandboxes that were opened first, unless a request or a task uses them."""
        with self.busy, self._lock:
            for address in list(self._apps)[:-MAX_OPEN]:
                if not self._in_use[address] and address.removesuffix(PRODUCTION) != self.current:
                    self._apps.pop(address).sandbox.close()

    def _file(self, address: str) -> str:
        """Return the file name of a sandbox."""
        place, _, environment = address.partition("/")
        name = place.partition(".")[0]
        return "-".join(filter(None, (self.learner.code, name, environment or "sandbox"))) + ".db"

    def _files(self, name: str) -> list[Path]:
        return [] if self._folder is None else list(self._folder.glob(name))

    def remove(self, place: str) -> None:
        """Delete the sandboxes of a place and their files. The next request creates new ones with the same seed."""
        with self._lock:
            for address in (place, f"{place}{PRODUCTION}"):
                if address in self._apps:
                    self._apps.pop(address).sandbox.close()
                for file in self._files(f"{self._file(address)}*"):
                    file.unlink(missing_ok=True)
                self._drained.pop(address, None)

    def close(self) -> None:
        for app in self._apps.values():
            app.sandbox.close()

    def fetched(self, place: str) -> Collection[str]:
        """Return the ids of the events that the learner's inbox has fetched, for a check."""
        drained = self._drained.get(place, 0)
        events = self.sandbox(place).events() if drained else ()
        return {event.payload["id"] for event in events if event.sequence <= drained}
