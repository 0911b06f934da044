"""Sandboxes of one learner: one for each notebook and drill, each with a production environment.

A place identifies a run of a notebook or drill by its name and a number, such as `02.3`. The empty place is for work
outside notebooks and drills, such as commands.
"""

import asyncio
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import attrs

from workbench.base.system.messages import Request, Response
from workbench.course.classroom.class_results import Learner
from workbench.sandbox.relay import DeliveryRelay
from workbench.sandbox.server import CONTROL_PATH, App, refused

MAX_ENTRIES_A_MINUTE = 180  # maximum per learner
MAX_LEARNER_BYTES = 64 * 2**20  # maximum total size of the files of a learner's sandboxes
AT_ONCE = 4  # maximum concurrent requests of a learner
MAX_OPEN = 3  # maximum number of a learner's sandboxes with open files; others are reopened on use
_ADDRESS = re.compile(r"(?:/([a-z0-9-]{1,41}\.[0-9]{1,6}))?(/production)?(?=/|$)")
Environment = Literal["sandbox", "production"]
ENVIRONMENTS: tuple[Environment, ...] = ("sandbox", "production")
_PAUSE = 120  # seconds without a request after which a learner counts as inactive


def split(path: str) -> tuple[str, Environment, str]:
    """Split a path after a learner's code into the place and environment of a sandbox, and the remaining path."""
    _, place, production, rest = _ADDRESS.split(path, 1)
    return place or "", ENVIRONMENTS[bool(production)], rest


class LearnerSandboxes:
    """Sandboxes of one learner with the same seed, created on first use.

    Limits on requests and disk space protect the sandboxes of other learners.

    Args:
        learner: The learner.
        make: Function that makes a sandbox from this object, the place, the environment and the name of the file.
        folder: Folder of the files.
        work: The learner's work so far, as the property `work` returns it.

    Attributes:
        active: Seconds that the learner worked; long pauses do not count.
        begun: Number and time of the last start, by notebook or drill.
        used: Time of the learner's last request; 0 before the learner joins.
        stored: Value of `used` when the work was last stored; 0 before.
        current: The place that the learner used last.
        traffic: Name of the drill with live traffic, by place.
        notes_shown: Number of notes that the learner has been shown.
        busy: Lock that is held while one of the learner's tasks or places is read and stored.
        relay: Relay of webhook deliveries to receivers on the learner's machine.
        entries: Times of the learner's most recent task actions, which are limited per minute.
    """

    stored = 0.0
    current = ""
    notes_shown = 0

    def __init__(
        self,
        learner: Learner,
        make: "Callable[[LearnerSandboxes, str, Environment, str], App]",
        folder: Path,
        work: Sequence[Any],
    ) -> None:
        self.learner = learner
        self._make = make
        self._folder = folder
        self.begun, self.active, self.used = work
        self.traffic: dict[str, str] = {}
        self.busy = threading.RLock()
        self.relay = DeliveryRelay()
        self.entries: deque[float] = deque(maxlen=MAX_ENTRIES_A_MINUTE)
        self._apps: dict[tuple[str, Environment], App] = {}  # the app that was opened first comes first
        self._in_use: Counter[tuple[str, Environment]] = Counter()
        self._lock = threading.Lock()
        self._turns = asyncio.Semaphore(AT_ONCE)

    @property
    def work(self) -> tuple[object, ...]:
        """Return `begun`, `active` and `used`, with which a restarted server continues."""
        return self.begun, self.active, self.used

    def sandbox(self, place: str, environment: Environment = "sandbox") -> Any:
        """Return the sandbox of a place in an environment. The sandbox is created on first use."""
        return self._app(place, environment).sandbox

    @property
    def places(self) -> list[str]:
        """Return the empty place, and the place of the current run of each notebook and drill that was begun."""
        return ["", *(f"{name}.{number}" for name, (number, _) in self.begun.items())]

    def use(self, place: str, count: bool) -> None:
        """Record a request of the learner. With `count`, the time since the last request is work, unless it is long."""
        pause = time.time() - self.used
        self.active += pause if count and pause < _PAUSE else 0
        self.used, self.current = time.time(), place

    def replaced(self, place: str) -> str:
        """Return the time at which the newest run of a place's notebook began, as text; empty if that is this place."""
        name, _, number = place.partition(".")
        count, at = self.begun.get(name, (number, 0))
        return "" if str(count) == number else f"{datetime.fromtimestamp(at, UTC):%H:%M:%S} UTC"

    def begin(self, name: str) -> str:
        """Delete the sandboxes of a notebook or drill, and return the place of the next run, such as `02.3`."""
        with self.busy:
            number, _ = self.begun.get(name, (0, 0))
            self.remove(f"{name}.{number}")
            self.begun[name] = (number + 1, time.time())
        return f"{name}.{number + 1}"

    async def handle(self, request: Request, place: str, environment: Environment) -> Response:
        """Answer a request to one sandbox. The path begins after the code, the place and the environment.

        The first request creates the sandbox, without blocking other learners.
        """
        key = (place, environment)
        if request.method != "GET" and self._size() > MAX_LEARNER_BYTES:
            if request.path != f"{CONTROL_PATH}reset":
                limit = f"{MAX_LEARNER_BYTES // 2**20} MB"
                message = f"Your sandboxes hold more than {limit}: reset this sandbox, and run the first cell"
                return refused(413, message)
            await asyncio.to_thread(self.remove, place)
        async with self._turns:
            self._in_use[key] += 1
            try:
                app = self._apps.get(key)
                if app is None:
                    app = await asyncio.to_thread(self._app, *key)
                # The learner's code was checked, so the request may do all that a local one may, and read the guide.
                own = {"api-key": app.sandbox.full_key} if request.path == f"{CONTROL_PATH}guide" else {}
                answer = await app.handle(attrs.evolve(request, headers={**own, **request.headers}, local=True))
            finally:
                self._in_use[key] -= 1
        if len(self._apps) > MAX_OPEN:
            await asyncio.to_thread(self.close_unused)
        return answer

    def _app(self, place: str, environment: Environment) -> App:
        key = (place, environment)
        with self._lock:
            app = self._apps.pop(key) if key in self._apps else self._make(self, *key, self._file(*key))
            self._apps[key] = app
            return app

    def close_unused(self) -> None:
        """Close the sandboxes that were opened first, unless a request or a task uses them."""
        with self.busy, self._lock:
            for key in list(self._apps)[:-MAX_OPEN]:
                app = self._apps.pop(key)  # a request that comes now waits for the lock
                if self._in_use[key] or key[0] == self.current:
                    self._apps[key] = app
                else:
                    app.sandbox.close()

    def _file(self, place: str, environment: Environment) -> str:
        """Return the file name of a sandbox."""
        return "-".join(filter(None, (self.learner.code, place.partition(".")[0], f"{environment}.db")))

    def _size(self) -> int:
        return sum(file.stat().st_size for file in self._folder.glob(f"{self.learner.code}*.db*"))

    def remove(self, place: str) -> None:
        """Delete the sandboxes of a place and their files. The next request creates a sandbox with the same seed."""
        with self._lock:
            for environment in ENVIRONMENTS:
                if app := self._apps.pop((place, environment), None):
                    app.sandbox.close()
                for file in self._folder.glob(f"{self._file(place, environment)}*"):
                    file.unlink(missing_ok=True)

    def close(self) -> None:
        for app in self._apps.values():
            app.sandbox.close()
