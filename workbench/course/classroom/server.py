"""One HTTP server for a class: each learner's sandbox under its code, and the board of the trainer.

/CODE/v1/…, /CODE/_sandbox/…       the learner's sandbox, with its controls
/CODE/production/…                 the same learner's production environment
/CODE/_class                       GET: name, locks and notes; POST: what the learner tried
/board, /board/data, /board/act    the trainer's page, its data, its actions: with the trainer's key
/board/page?ticket=…               a page to print, in a tab of its own: with a ticket, which opens one page once
"""

import asyncio
import hmac
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import attrs

from workbench.course.checks import SandboxEvidence
from workbench.course.classroom.actions import ACTIONS, EVENTS, note_of
from workbench.course.classroom.class_results import ExerciseResult, Learner, Results, minutes_since
from workbench.course.classroom.exports import export
from workbench.course.drills import DRILLS
from workbench.course.learner import EXERCISES
from workbench.errors import ApiError, WorkbenchError
from workbench.rendering import design
from workbench.sandbox import Sandbox
from workbench.sandbox.control_records import to_json
from workbench.sandbox.controls import perform
from workbench.sandbox.server import CONTROL_PATH, App, refused
from workbench.schema import strict_json
from workbench.system.http_server import Handler, serving
from workbench.system.messages import LOOPBACK, Request, Response

DEFAULT_SEED = 7  # of the notebooks
MAX_WRONG_CODES = 30  # a minute, of all callers; then no code is accepted for the rest of it
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
_TITLES: Mapping[str, Mapping[str, str]] = {
    **{one.id: {"id": one.id, "title": one.title, "lesson": one.notebook} for one in EXERCISES.values()},
    **{
        f"drill-{one.name}": {"id": f"drill-{one.name}", "title": one.title, "lesson": _DRILLS}
        for one in DRILLS.values()
    },
}
"""What learners report of: exercises and drills, by id."""


class _LearnerSandboxes:
    """What one learner has: a sandbox, and a production environment of the same seed once it is used."""

    def __init__(self, learner: Learner, make: Callable[[Learner, str], App]) -> None:
        self.learner = learner
        self._make = make
        self._made: dict[str, App] = {}
        self._lock = threading.Lock()

    @property
    def sandbox(self) -> Sandbox:
        found: Sandbox = self._app("").sandbox
        return found

    async def handle(self, request: Request) -> Response:
        """Answer a request whose path no longer contains the code; the first one makes the sandbox, while others go on."""
        prefix = _PRODUCTION if request.path.startswith(f"{_PRODUCTION}/") else ""
        app = self._made[prefix] if prefix in self._made else await asyncio.to_thread(self._app, prefix)
        path, headers = request.path.removeprefix(prefix), request.headers
        if path == f"{CONTROL_PATH}guide" and "api-key" not in headers:  # the code opens the guide
            headers = {**headers, "api-key": app.sandbox.full_key}
        # the code in the path is what a connection from this machine is elsewhere
        return await app.handle(attrs.evolve(request, path=path, headers=headers, local=True))

    def _app(self, prefix: str) -> App:
        with self._lock:
            if prefix not in self._made:
                self._made[prefix] = self._make(self.learner, prefix)
            return self._made[prefix]

    def close(self) -> None:
        for app in self._made.values():
            app.sandbox.close()


class ClassServer:
    """The sandboxes of a class behind one address.

    Args:
        names: Names of the learners; those of the folder are kept.
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
        self._places = {learner.code: _LearnerSandboxes(learner, self._make_app) for learner in self.results.learners()}
        self._by_name = {place.learner.name: place for place in self._places.values()}
        self._wrong_codes: deque[float] = deque(maxlen=MAX_WRONG_CODES)
        self._connected: dict[str, float] = {}
        self._tickets: dict[str, tuple[str, float]] = {}

    @property
    def learners(self) -> list[Learner]:
        """The learners with their codes, which are to be given to each alone."""
        return [place.learner for place in self._places.values()]

    def _make_app(self, learner: Learner, prefix: str) -> App:
        """Make or open a sandbox of a learner; webhooks of a class that others reach do not go to this machine."""
        environment: Any = prefix.removeprefix("/") or "sandbox"
        path = None if self._folder is None else self._folder / f"{learner.code}-{environment}.db"
        sandbox = Sandbox(self.seed, environment, path=path, random_keys=True)
        return sandbox._http_app(f"{self.url}/{learner.code}{prefix}", self._local)

    def serve(
        self, host: str = "127.0.0.1", port: int = 0, hosts: Sequence[str] = (), *,
        certfile: Path | None = None, keyfile: Path | None = None,
    ) -> AbstractContextManager[str]:  # fmt: skip
        """Serve the class while the context is open, and yield its URL.

        Args:
            host: Address to listen on; by default only this machine can connect.
            port: Port; 0 chooses a free one.
            hosts: Host names under which learners reach it; a wildcard address needs one.
            certfile: Certificate for TLS, a PEM file.
            keyfile: Its private key, if that is not in the same file.

        Raises:
            PortTaken: The port is in use.
            UnusableFile: The certificate or its key cannot be used.
            ValueError: The address is a wildcard, and no host name is given.
        """

        def begin(url: str) -> Handler:
            self.url, self._local = url, host in LOOPBACK
            self.results.set("url", url)
            self.results.set("certificate", None if certfile is None else str(Path(certfile).resolve()))
            return self.handle

        return serving(
            begin, host=host, port=port, hosts=hosts, refusal=refused, certfile=certfile, keyfile=keyfile,
            private="codes and keys",
        )  # fmt: skip

    def close(self) -> None:
        """Close all files."""
        for place in self._places.values():
            place.close()
        self.results.close()

    # requests

    async def handle(self, request: Request) -> Response:
        """Answer a request to the board or to a learner's sandbox."""
        code, _, rest = request.path.removeprefix("/").partition("/")
        if code in _PAGE:
            return await self._board(request, rest) if rest else _page(code)
        if len(self._wrong_codes) == MAX_WRONG_CODES and self._wrong_codes[0] > time.monotonic() - 60:
            return refused(503, "Too many wrong codes; try again in a minute")
        place = self._places.get(unquote(code))
        if place is None:
            self._wrong_codes.append(time.monotonic())
            return refused(404, "No learner has this code")
        self._connected[place.learner.name] = time.time()
        if rest in ("_class", "production/_class"):
            return await self._class(place, request)
        return await place.handle(attrs.evolve(request, path=f"/{rest}"))

    async def _class(self, place: _LearnerSandboxes, request: Request) -> Response:
        name = place.learner.name
        if request.method == "GET":
            notes = [{"at": at, **detail} for at, detail in self.results.entries("note", name)]
            return _answer({"learner": name, "seed": self.seed, "locked": self._locked(name), "notes": notes})
        detail: dict[str, Any] = {}
        try:
            said = strict_json.loads(request.body)
            exercise, kind = said["exercise"], said["kind"]
            if exercise not in _TITLES or kind not in ("start", "check", "hint", "reset"):
                return refused(400, "no such exercise or kind of entry")
            if exercise in EXERCISES and EXERCISES[exercise].notebook in self._locked(name):
                return refused(403, "the lesson is locked")
            if kind == "hint":
                number = int(said["number"])
                detail = {"number": number, "last": number >= len(EXERCISES[exercise].hints)}
            if kind == "check":
                detail = {"missing": [str(what)[:500] for what in said["missing"]][:20]}
        except (strict_json.NotJson, KeyError, TypeError, ValueError):
            return refused(400, "the entry cannot be read")
        if (
            kind == "check"
        ):  # what the learner's kernel calls done is checked here as well, as far as the sandbox shows it
            done = not detail["missing"] and exercise in EXERCISES
            detail["confirmed"] = done and await asyncio.to_thread(_confirms, exercise, place.sandbox)
        self.results.add(name, kind, exercise, **detail)
        return _answer({})

    # the board

    async def _board(self, request: Request, rest: str) -> Response:
        if rest == "page" and request.method == "GET":
            return self._printed(request.query.removeprefix("ticket="))
        if not hmac.compare_digest((request.headers.get(TRAINER_KEY) or "").encode(), self.trainer_key.encode()):
            return refused(401, "The board needs the trainer's key")
        if rest == "data" and request.method == "GET":
            if request.query == f"after={self.results.last()}":
                return Response(status=204)  # nothing was done since
            return _answer(self.board())
        if rest == "results.csv" and request.method == "GET":
            return Response(
                status=200, headers={"content-type": "text/csv; charset=utf-8"}, body=self.export("csv").encode()
            )
        if rest == "results.json" and request.method == "GET":
            return _answer(self.results.signed(self.seed))
        if rest not in ("act", "ticket") or request.method != "POST":
            return refused(404, "Not Found")
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
        self._tickets = {known: one for known, one in self._tickets.items() if one[1] > now}
        ticket = secrets.token_urlsafe(24)
        self._tickets[ticket] = page, now + _TICKET_SECONDS
        return _answer({"ticket": ticket})

    def _printed(self, ticket: str) -> Response:
        page, until = self._tickets.pop(ticket, ("", 0.0))
        if not page or until < time.monotonic():
            return refused(401, "The ticket was used or has ended; open the page from the board")
        return Response(status=200, headers=_PAGE_HEADERS, body=self.export(page, _STYLESHEET).encode())

    async def _act(self, learners: Any, action: str, arguments: Mapping[str, Any]) -> Response:
        chosen = list(self._by_name) if learners == "all" else [name for name in learners if name in self._by_name]
        try:
            done = await asyncio.to_thread(self.act, chosen, action, **arguments)
        except WorkbenchError as error:
            return refused(400, str(error))
        except (KeyError, TypeError):
            return refused(400, "an argument of the action is missing, or has another type")
        return _answer({"done": done})

    def act(self, learners: Sequence[str], action: str, **arguments: Any) -> dict[str, Any]:
        """Do something for learners, and return the results of controls by name.

        Args:
            learners: Their names.
            action: "note" (text), "drill" (drill), "event" (event), "lock" and "unlock" (lesson), or a control of the
                sandbox, as "add_fault"; `actions.ACTIONS` has what the board offers.
            arguments: Arguments of the action.

        Raises:
            ApiError: A control refused; those before in the list have been done.
        """
        done: dict[str, Any] = {}
        text = note_of(action, arguments)
        for name in learners:
            if text is not None:
                self.results.add(name, "note", text=text)
            elif action in ("lock", "unlock"):
                lessons = set(self._locked(name))
                lessons = lessons | {arguments["lesson"]} if action == "lock" else lessons - {arguments["lesson"]}
                self.results.set(f"locked:{name}", sorted(lessons))
            elif action == "event":
                EVENTS[arguments["event"]](self._by_name[name].sandbox)
            else:
                done[name] = to_json(perform(self._by_name[name].sandbox, action, arguments))
            self.results.add(name, "action", action=action)
        return done

    def _locked(self, name: str) -> list[str]:
        locked: list[str] = self.results.get(f"locked:{name}", [])
        return locked

    def board(self) -> dict[str, Any]:
        """Return the board as JSON values: exercises, and for each learner the results and who is stuck."""
        now = datetime.now(UTC)
        progress = self.results.progress()
        rows = [self._row(name, progress.get(name, {}), now) for name in self._by_name]
        begun = {exercise for row in rows for exercise in row["results"]}
        shown = [one for one in _TITLES.values() if one["lesson"] != _DRILLS or one["id"] in begun]
        actions = [attrs.asdict(one) for one in ACTIONS.values()]
        return {"entry": self.results.last(), "exercises": shown, "learners": rows, "actions": actions}

    def _row(self, name: str, results: Mapping[str, ExerciseResult], now: datetime) -> dict[str, Any]:
        done = [one for one in results.values() if one.done]
        seen = self._connected.get(name)
        return {
            "learner": name,
            "seen": None if seen is None else round(now.timestamp() - seen),
            "locked": self._locked(name),
            "done": sum(one.exercise in EXERCISES for one in done),
            "tries": sum(one.tries for one in results.values()),
            "hints": sum(one.hints for one in results.values()),
            "minutes": round(sum(one.minutes or 0 for one in done), 1),
            "stuck": [one.exercise for one in results.values() if _is_stuck(one, now)],
            "results": {
                one.exercise: attrs.asdict(one) | ({} if one.done else {"minutes": minutes_since(one, now)})
                for one in results.values()
            },
        }

    def export(self, form: str, style: str | None = None) -> str:
        """Return the results as text: see `exports.export` for its forms.

        Args:
            form: csv, json, nbgrader, otter, summary or html.
            style: HTML that brings the style of a page; None puts it into the page.
        """
        return export(self.results, form, self.seed, style or inline_style())


def _confirms(exercise: str, sandbox: Sandbox) -> bool:
    """Whether a check finds the same in the sandbox alone; some look into the learner's journal or inbox as well."""
    try:
        return not list(EXERCISES[exercise].check(SandboxEvidence(SimpleNamespace(sandbox=sandbox))))
    except (AttributeError, LookupError, ApiError):
        return False


def _is_stuck(one: ExerciseResult, now: datetime) -> bool:
    late = one.tries > 0 and minutes_since(one, now) >= STUCK_MINUTES
    return not one.done and (one.tries >= STUCK_TRIES or late)


def _answer(value: Any) -> Response:
    return Response(status=200, headers=_JSON | {"cache-control": "no-store"}, body=strict_json.dumps(value))


def _page(name: str) -> Response:
    headers = _PAGE_HEADERS if name == "board" else {"content-type": _PAGE[name]}
    text = _style() if name == "board.css" else _read("board.html" if name == "board" else name)
    return Response(status=200, headers=headers, body=text.encode())


def inline_style() -> str:
    """Return the style of pages that are files of their own."""
    return f"<style>{_style()}</style>"


def _style() -> str:
    return f"{design.variables('body')}{_read('board.css')}"


def _read(name: str) -> str:
    return files("workbench.course.classroom").joinpath(name).read_text(encoding="utf-8")
