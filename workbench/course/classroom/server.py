"""One HTTP server for a class: each learner's sandbox under its code, and the board of the trainer.

/CODE/v1/…, /CODE/_sandbox/…       the learner's sandbox, with its controls
/CODE/production/…                 the same learner's production environment
/CODE/_class                       GET: name, locks and notes; POST: what the learner tried
/board, /board/data, /board/act    the trainer's page, its data, its actions: with the trainer's key
/board/page?ticket=…               a page to print, in a new tab: the ticket opens one page, once
"""

import asyncio
import hmac
import secrets
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import attrs

from workbench.course.checks import SandboxEvidence
from workbench.course.classroom.actions import ACTIONS, EVENTS, note_of
from workbench.course.classroom.class_results import MAX_LEARNERS, ExerciseResult, Learner, Results, minutes_since
from workbench.course.classroom.exports import export
from workbench.course.drills import DRILLS
from workbench.course.learner import EXERCISES
from workbench.errors import WorkbenchError
from workbench.rendering import design
from workbench.sandbox import Sandbox
from workbench.sandbox.control_records import to_json
from workbench.sandbox.controls import perform
from workbench.sandbox.server import CONTROL_PATH, FOREIGN, NOT_JSON, App, is_foreign, is_json, refused
from workbench.schema import strict_json
from workbench.system.http_server import Handler, PortTaken, serving
from workbench.system.locks import FileLock
from workbench.system.messages import LOOPBACK, Request, Response

T = TypeVar("T")
DEFAULT_SEED = 7  # of the notebooks
MAX_WRONG_CODES = 30  # a minute, of one address; further ones are answered with 429. A right code always passes.
MAX_ENTRIES = 5_000  # of a learner
MAX_ENTRIES_A_MINUTE = 120  # of a learner
MAX_LEARNER_BYTES = 64 * 2**20  # of the files of a learner's sandboxes
MAX_BODY = 2**18  # bytes
_AT_ONCE = 4  # requests of a learner that wait for a file or a control
_WAITING = 64  # further ones of a learner
_ADDRESSES = 1_000  # whose wrong codes are counted
NO_LEARNER = "No learner has this code"
STUCK_TRIES = 3
STUCK_MINUTES = 10
TRAINER_KEY = "trainer-key"
_JSON = {"content-type": "application/json"}
_PAGE_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'",
    "referrer-policy": "no-referrer",
}
_PAGE = {"board": "text/html; charset=utf-8", "board.js": "text/javascript", "board.css": "text/css"}
_PRINTED = ("summary", "html")  # forms of the results that are pages
_STYLESHEET = '<link rel="stylesheet" href="../board.css">'
_TICKET_SECONDS = 60
_PRODUCTION = "/production"
_DRILLS = "drills"
_TITLES: Mapping[str, Mapping[str, Any]] = {
    **{
        exercise.id: {
            "id": exercise.id,
            "title": exercise.title,
            "lesson": exercise.notebook,
            "scored": not exercise.reported,
        }
        for exercise in EXERCISES.values()
    },
    **{
        f"drill-{drill.name}": {"id": f"drill-{drill.name}", "title": drill.title, "lesson": _DRILLS, "scored": False}
        for drill in DRILLS.values()
    },
}
"""Exercises and drills that learners report on, by id."""


class _LearnerSandboxes:
    """What one learner has: a sandbox, and a production environment of the same seed once it is used.

    A learner takes few threads and little room on the disk, so that no other learner waits or fails because of it.

    Attributes:
        drained: Number of the last event that the learner's inbox has fetched.
        entries: Times of the last entries of the learner.
    """

    def __init__(self, learner: Learner, make: Callable[[Learner, str], App], folder: Path | None) -> None:
        self.learner = learner
        self.drained = 0
        self.entries: deque[float] = deque(maxlen=MAX_ENTRIES_A_MINUTE)
        self._make = make
        self._folder = folder
        self._apps: dict[str, App] = {}
        self._lock = threading.Lock()
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0

    @property
    def sandbox(self) -> Sandbox:
        sandbox: Sandbox = self._app("").sandbox
        return sandbox

    @property
    def last_used(self) -> float | None:
        """When the learner's files were changed last, in seconds since 1970; None if there are none."""
        return max((file.stat().st_mtime for file in self._files()), default=None)

    async def handle(self, request: Request) -> Response:
        """Answer a request whose path no longer contains the code; the first one makes the sandbox, while others go
        on.
        """
        if self._waiting == _WAITING:
            return refused(429, f"{_WAITING} of your requests are waiting; wait for their answers")
        self._waiting += 1
        try:
            async with self._turns:
                return await self._answer(request)
        finally:
            self._waiting -= 1

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
        """Remove the learner's sandboxes with their files; the next request makes new ones of the same seed."""
        self.close()
        with self._lock:
            self._apps.clear()
            for file in self._files():
                file.unlink(missing_ok=True)

    def close(self) -> None:
        for app in self._apps.values():
            app.sandbox.close()


class ClassServer:
    """The sandboxes of a class behind one address.

    Args:
        names: Names of the learners, added to those in the folder.
        folder: Keeps everything; a server that is started again with it continues. None keeps everything in memory.
        seed: Seed of all sandboxes, which the notebooks expect.
    """

    def __init__(self, names: Sequence[str] = (), folder: Path | None = None, *, seed: int | None = None) -> None:
        self._folder = folder
        self.results = Results(None if folder is None else folder / "class.db")
        self.results.enroll(names)
        self.seed: int = self.results.get("seed") or seed or DEFAULT_SEED
        self.results.set("seed", self.seed)
        self.trainer_key: str = self.results.get("trainer_key")
        self.url = ""
        self._local = True
        self._by_code: dict[str, _LearnerSandboxes] = {}
        self._by_name: dict[str, _LearnerSandboxes] = {}
        self._read_learners()
        self._wrong_codes: OrderedDict[str, deque[float]] = OrderedDict()  # times by address
        self._looked_up = 0.0
        self._connected: dict[str, float] = {}
        self._shown: dict[str, int] = {}  # notes that each learner has seen
        self._paused = bool(self.results.get("paused", False))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._threads = ThreadPoolExecutor(1)
        self._writer = ThreadPoolExecutor(
            1, "workbench-class-results"
        )  # no request waits in the event loop for the file
        self._tickets: dict[str, tuple[str, float]] = {}

    @property
    def learners(self) -> list[Learner]:
        """The learners with their codes, which are to be given to each alone."""
        return [place.learner for place in self._by_name.values()]

    def enroll(self, name: str) -> Learner:
        """Add a learner while the class is served, and return the learner with the code.

        Raises:
            UsageError: The name cannot be used, or is there already.
        """
        self.results.enroll_late(name)
        self._read_learners()
        return self._by_name[name.strip()].learner

    def _read_learners(self) -> None:
        """Read the learners from the file: `class add` enters them there while the class is served."""
        learners = self.results.learners()
        for enrolled in learners:
            if enrolled.code not in self._by_code:
                self._by_code[enrolled.code] = _LearnerSandboxes(enrolled, self._make_app, self._folder)
        self._by_name = {learner.name: self._by_code[learner.code] for learner in learners}

    def _make_app(self, learner: Learner, prefix: str) -> App:
        """Make or open a sandbox of a learner; webhooks of a class that others reach do not go to this machine."""
        environment: Any = prefix.removeprefix("/") or "sandbox"
        path = None if self._folder is None else self._folder / f"{learner.code}-{environment}.db"
        sandbox = Sandbox(self.seed, environment, path=path, random_keys=True)
        return sandbox._http_app(f"{self.url}/{learner.code}{prefix}", self._local)

    @contextmanager
    def serve(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        hosts: Sequence[str] = (),
        *,
        certfile: Path | None = None,
        keyfile: Path | None = None,
    ) -> Iterator[str]:
        """Serve the class while the context is open, and yield its URL.

        Args:
            host: Address to listen on; by default only this machine can connect.
            port: Port; 0 chooses the one of the last time, which learners know, or at first a free one.
            hosts: Host names under which learners reach it; a wildcard address needs one.
            certfile: Certificate for TLS, a PEM file.
            keyfile: Its private key, if that is not in the same file.

        Raises:
            PortTaken: The port is in use.
            FileBusy: Another server has the folder open.
            UnusableFile: The certificate or its key cannot be used.
            ValueError: The address is a wildcard, and no host name is given.
        """

        def begin(url: str) -> Handler:
            self.url, self._local = url, host in LOOPBACK
            self.results.set("url", url)
            self.results.set("port", urlsplit(url).port)
            self.results.set("certificate", None if certfile is None else str(Path(certfile).resolve()))
            return self.handle

        before = self.results.get("port", 0)
        with nullcontext() if self._folder is None else FileLock(self._folder / "class"):
            try:
                with serving(
                    begin,
                    host=host,
                    port=port or before,
                    hosts=hosts,
                    refusal=refused,
                    certfile=certfile,
                    keyfile=keyfile,
                    private="codes and keys",
                    max_body=MAX_BODY,
                ) as url:
                    yield url
            except PortTaken as error:
                if port or not before:
                    raise
                raise PortTaken(
                    f"{error} The learners' sheets and notebooks name port {before}: end the program that uses it, or "
                    "choose another port and hand out new sheets."
                ) from None

    def close(self) -> None:
        """Close all files."""
        self._writer.shutdown()
        self._threads.shutdown(wait=False)
        for place in self._by_code.values():
            place.close()
        self.results.close()

    # requests

    async def handle(self, request: Request) -> Response:
        """Answer a request to the board or to a learner's sandbox."""
        self._widen()
        code, _, rest = request.path.removeprefix("/").partition("/")
        if code in _PAGE:
            return await self._board(request, rest) if rest else _page(code)
        place = self._by_code.get(unquote(code)) or await self._late(unquote(code))
        if place is None:
            return self._wrong_code(request.peer)
        self._connected[place.learner.name] = time.time()
        if rest in ("_class", "production/_class"):
            return await self._class(place, request)
        if self._paused and request.method != "GET" and not rest.endswith("_sandbox/drain"):
            return refused(403, "The class is paused by your trainer")
        return await place.handle(attrs.evolve(request, path=f"/{rest}"))

    def _widen(self) -> None:
        """Provide the event loop with as many threads as all learners may take; they start when they are needed."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._threads.shutdown(wait=False)
            self._threads = ThreadPoolExecutor(_AT_ONCE * MAX_LEARNERS + 16, "workbench-class")
            loop.set_default_executor(self._threads)

    async def _late(self, code: str) -> _LearnerSandboxes | None:
        """Return what a learner has whom `class add` has entered since; the file is read once a second at most."""
        if self._looked_up < time.monotonic() - 1:
            self._looked_up = time.monotonic()
            await self._with_results(self._read_learners)
        return self._by_code.get(code)

    def _wrong_code(self, address: str) -> Response:
        """Count a wrong code of an address, and refuse it. A right code is never counted, nor refused because of
        others.
        """
        times = self._wrong_codes.setdefault(address, deque(maxlen=MAX_WRONG_CODES))
        self._wrong_codes.move_to_end(address)
        if len(self._wrong_codes) > _ADDRESSES:
            self._wrong_codes.popitem(last=False)
        often = len(times) == MAX_WRONG_CODES and times[0] > time.time() - 60
        times.append(time.time())
        return refused(429, "Too many wrong codes from your address") if often else refused(404, NO_LEARNER)

    async def _with_results(self, do: Callable[..., T], *arguments: object, **named: object) -> T:
        """Return what a function that reads or writes the results returns; one after the other, in their thread."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, partial(do, *arguments, **named))

    async def _class(self, place: _LearnerSandboxes, request: Request) -> Response:
        if is_foreign(request, self.url):
            return refused(403, FOREIGN)
        if request.method == "GET":
            return _answer(await self._with_results(self._status, place.learner.name))
        if not is_json(request):
            return refused(415, NOT_JSON)
        now = time.monotonic()
        if len(place.entries) == MAX_ENTRIES_A_MINUTE and place.entries[0] > now - 60:
            return refused(429, f"At most {MAX_ENTRIES_A_MINUTE} checks, hints and tasks a minute")
        place.entries.append(now)
        try:
            said = strict_json.loads(request.body)
            exercise, kind = said["exercise"], said["kind"]
            if exercise not in _TITLES or kind not in ("start", "check", "hint"):
                return refused(400, "no such exercise or kind of entry")
            detail = _detail(exercise, kind, said)
        except (strict_json.NotJson, KeyError, TypeError, ValueError):
            return refused(400, "the entry cannot be read")
        if kind == "check" and exercise in EXERCISES and not EXERCISES[exercise].reported:
            missing = await asyncio.to_thread(self.check, place.learner.name, exercise)
            detail = {"missing": missing, "confirmed": not missing}
        return await self._with_results(self._enter, place.learner.name, kind, exercise, detail)

    def check(self, learner: str, exercise: str) -> list[str]:
        """Return what is missing in an exercise, by what the learner's sandbox received, holds and delivered."""
        place = self._by_name[learner]
        inbox = SimpleNamespace(stored=partial(_fetched, place))
        try:
            return list(EXERCISES[exercise].check(SandboxEvidence(SimpleNamespace(sandbox=place.sandbox, inbox=inbox))))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, WorkbenchError) as error:
            return [
                (
                    f"the sandbox does not hold what the exercise needs ({type(error).__name__}): reset it, and repeat "
                    "the exercise."
                )
            ]

    def _enter(self, name: str, kind: str, exercise: str, detail: Mapping[str, Any]) -> Response:
        """Enter what a learner did, and return it with the notes that the learner has not seen."""
        if exercise in EXERCISES and EXERCISES[exercise].notebook in self._locked(name):
            return refused(403, "the lesson is locked")
        if self.results.count(name) >= MAX_ENTRIES:
            return refused(429, f"At most {MAX_ENTRIES:,} entries of a learner are kept")
        self.results.add(name, kind, exercise, **detail)
        notes = self.results.entries("note", name)
        fresh = notes[self._shown.get(name, 0) :]
        self._shown[name] = len(notes)
        return _answer({"missing": detail.get("missing", []), "notes": [note["text"] for _, note in fresh]})

    def _status(self, name: str) -> dict[str, Any]:
        notes = [{"at": at, **detail} for at, detail in self.results.entries("note", name)]
        return {"learner": name, "seed": self.seed, "locked": self._locked(name), "notes": notes}

    # the board

    async def _board(self, request: Request, rest: str) -> Response:
        if rest == "page" and request.method == "GET":
            return await self._printed(request.query.removeprefix("ticket="))
        if not hmac.compare_digest((request.headers.get(TRAINER_KEY) or "").encode(), self.trainer_key.encode()):
            return refused(401, "The board needs the trainer's key")
        if rest == "data" and request.method == "GET":
            if request.query == f"after={await self._with_results(self.results.last)}":
                return Response(status=204)  # nothing was done since
            return _answer(await self._with_results(self.board))
        if rest == "results.csv" and request.method == "GET":
            table = await self._with_results(self.export, "csv")
            return Response(status=200, headers={"content-type": "text/csv; charset=utf-8"}, body=table.encode())
        if rest == "results.json" and request.method == "GET":
            return _answer(await self._with_results(self.results.signed, self.seed))
        if rest not in ("act", "ticket") or request.method != "POST":
            return refused(404, "Not Found")
        if is_foreign(request, self.url) or not is_json(request):
            return refused(403, FOREIGN) if is_foreign(request, self.url) else refused(415, NOT_JSON)
        try:
            said = strict_json.loads(request.body)
            if rest == "ticket":
                return self._ticket(said["page"])
            return await self._act(said["learners"], said["action"], said.get("arguments") or {})
        except (strict_json.NotJson, KeyError, TypeError):
            return refused(400, "the action cannot be read")

    def _ticket(self, page: str) -> Response:
        """Return a ticket, since the tab of a page cannot send the trainer's key."""
        if page not in _PRINTED:
            return refused(400, "no such page")
        now = time.monotonic()
        self._tickets = {known: ticket for known, ticket in self._tickets.items() if ticket[1] > now}
        ticket = secrets.token_urlsafe(24)
        self._tickets[ticket] = page, now + _TICKET_SECONDS
        return _answer({"ticket": ticket})

    async def _printed(self, ticket: str) -> Response:
        page, until = self._tickets.pop(ticket, ("", 0.0))
        if not page or until < time.monotonic():
            return refused(401, "The ticket was used or has ended; open the page from the board")
        text = await self._with_results(self.export, page, _STYLESHEET)
        return Response(status=200, headers=_PAGE_HEADERS, body=text.encode())

    async def _act(self, learners: Any, action: str, arguments: Mapping[str, Any]) -> Response:
        chosen = list(self._by_name) if learners == "all" else [name for name in learners if name in self._by_name]
        try:
            return _answer(await asyncio.to_thread(self.act, chosen, action, **arguments))
        except WorkbenchError as error:
            return refused(400, str(error))
        except (KeyError, TypeError):
            return refused(400, "an argument of the action is missing, or has another type")

    def act(self, learners: Sequence[str], action: str, **arguments: Any) -> dict[str, Any]:
        """Do something for learners; one for whom it fails stops no other.

        Args:
            learners: Their names.
            action: "note" (text), "drill" (drill), "event" (event), "lock" and "unlock" (lesson), "pause" and "resume"
                for all, "enroll" (name), or a control of the sandbox, as "add_fault"; `actions.ACTIONS` has what the
                board offers.
            arguments: Arguments of the action.

        Returns:
            `done`, the results of controls by name, and `failed`, the reasons by name.

        Raises:
            WorkbenchError: It failed for all.
        """
        if action in ("pause", "resume"):
            self._paused = action == "pause"
            self.results.set("paused", self._paused)
            learners = ()
        if action == "enroll":
            return {"done": {arguments["name"]: self.enroll(arguments["name"]).code}, "failed": {}}
        done: dict[str, Any] = {}
        failed: dict[str, WorkbenchError] = {}
        for name in learners:
            try:
                done[name] = self._act_for(name, action, arguments)
                self.results.add(name, "action", action=action)
            except WorkbenchError as error:
                failed[name] = error
        if failed and not done:
            raise next(iter(failed.values()))
        return {"done": done, "failed": {name: str(error) for name, error in failed.items()}}

    def _act_for(self, name: str, action: str, arguments: Mapping[str, Any]) -> Any:
        text = note_of(action, arguments)
        if text is not None:
            return self.results.add(name, "note", text=text)
        if action in ("lock", "unlock"):
            lessons = set(self._locked(name))
            lessons = lessons | {arguments["lesson"]} if action == "lock" else lessons - {arguments["lesson"]}
            return self.results.set(f"locked:{name}", sorted(lessons))
        if action == "event":
            EVENTS[arguments["event"]](self._by_name[name].sandbox)
            return None
        return to_json(perform(self._by_name[name].sandbox, action, arguments))

    def _locked(self, name: str) -> list[str]:
        locked: list[str] = self.results.get(f"locked:{name}", [])
        return locked

    def board(self) -> dict[str, Any]:
        """Return the board as JSON values: exercises, and for each learner the results and who is stuck."""
        now = datetime.now(UTC)
        self._read_learners()
        progress = self.results.progress()
        rows = [self._row(name, progress.get(name, {}), now) for name in self._by_name]
        begun = {exercise for row in rows for exercise in row["results"]}
        shown = [title for title in _TITLES.values() if title["lesson"] != _DRILLS or title["id"] in begun]
        actions = [attrs.asdict(action) for action in ACTIONS.values()]
        minute = now.timestamp() - 60
        wrong = {address: sum(at > minute for at in list(times)) for address, times in list(self._wrong_codes.items())}
        return {
            "entry": self.results.last(),
            "exercises": shown,
            "learners": rows,
            "actions": actions,
            "paused": self._paused,
            "wrong_codes": dict(Counter({address: count for address, count in wrong.items() if count}).most_common(5)),
        }

    def _row(self, name: str, results: Mapping[str, ExerciseResult], now: datetime) -> dict[str, Any]:
        done = [result for result in results.values() if result.done]
        seen = self._connected.get(name) or self._by_name[name].last_used
        return {
            "learner": name,
            "seen": None if seen is None else round(now.timestamp() - seen),
            "locked": self._locked(name),
            "done": sum(result.exercise in EXERCISES for result in done),
            "reported": sum(result.reported for result in results.values()),
            "tries": sum(result.tries for result in results.values()),
            "hints": sum(result.hints for result in results.values()),
            "minutes": round(sum(result.minutes or 0 for result in done), 1),
            "stuck": [result.exercise for result in results.values() if _is_stuck(result, now)],
            "results": {
                result.exercise: attrs.asdict(result)
                | ({} if result.done or result.reported else {"minutes": minutes_since(result, now)})
                for result in results.values()
            },
        }

    def export(self, form: str, style: str | None = None) -> str:
        """Return the results as text: see `exports.export` for its forms.

        Args:
            form: csv, json, nbgrader, otter, summary or html.
            style: HTML that brings the style of a page; None puts it into the page.
        """
        return export(self.results, form, self.seed, style or inline_style())


def _detail(exercise: str, kind: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the details of an entry; what is wrong with them raises what the reading of JSON values raises."""
    if kind == "hint":
        number, last = int(said["number"]), len(EXERCISES[exercise].hints)
        if not 1 <= number <= last:
            raise ValueError(number)
        return {"number": number, "last": number == last}
    return {"missing": [str(what)[:300] for what in said["missing"][:10]]} if kind == "check" else {}


def _fetched(place: _LearnerSandboxes, kind: str) -> list[Any]:
    """Return the events of a kind that the learner's inbox has fetched, as a check looks at them."""
    long_ago = datetime.min.replace(tzinfo=UTC)
    return [
        SimpleNamespace(event=SimpleNamespace(id=event.payload["id"]), arrived=long_ago)
        for event in place.sandbox.events(kind)
        if event.sequence <= place.drained
    ]


def _is_stuck(result: ExerciseResult, now: datetime) -> bool:
    late = result.tries > 0 and minutes_since(result, now) >= STUCK_MINUTES
    return not (result.done or result.reported) and (result.tries >= STUCK_TRIES or late)


def _answer(value: object) -> Response:
    return Response(status=200, headers=_JSON | {"cache-control": "no-store"}, body=strict_json.dumps(value))


def _page(name: str) -> Response:
    headers = _PAGE_HEADERS if name == "board" else {"content-type": _PAGE[name]}
    text = _style() if name == "board.css" else _read("board.html" if name == "board" else name)
    return Response(status=200, headers=headers, body=text.encode())


def inline_style() -> str:
    """Return the style sheet of standalone pages."""
    return f"<style>{_style()}</style>"


def _style() -> str:
    return f"{design.variables('body')}{_read('board.css')}"


def _read(name: str) -> str:
    return files("workbench.course.classroom").joinpath(name).read_text(encoding="utf-8")
