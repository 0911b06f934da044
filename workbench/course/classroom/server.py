"""HTTP server of a class: each learner's sandbox under a code, and the board of the trainer.

/CODE/PLACE/v1/…, /_sandbox/…      a sandbox of the learner, with its controls; one for each notebook and drill
/CODE/PLACE/production/…           its production environment
/CODE/PLACE/_relay                 deliveries to receivers on the learner's machine, and their responses
/CODE/PLACE/_class                 GET: name, results, locks and notes; POST: what the learner does with a task
/CODE                              for a browser: /setup with the learner's link
/setup, /setup/…                   to install on a laptop without internet: `setup_page`; open to all, GET only
/board, /board/data, /board/act    the trainer's page, its data, its actions: with the trainer's key
/board/certificates         a page to print: with the trainer's key
"""

import asyncio
import hmac
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import attrs

from workbench.base.errors import WorkbenchError
from workbench.base.schema import strict_json
from workbench.base.system.http_server import Handler, serving
from workbench.base.system.locks import FileLock
from workbench.base.system.messages import LOOPBACK, Request, Response
from workbench.base.system.seconds import monotonic
from workbench.course import membership
from workbench.course.classroom.class_results import FINGERPRINT_DIGITS, MAX_LEARNERS
from workbench.course.classroom.class_state import DISK_FULL, MAX_WRONG_CODES, ClassState
from workbench.course.classroom.exports import certificates, qr_path, results_table
from workbench.course.classroom.learner_sandboxes import (
    AT_ONCE,
    MAX_ENTRIES_A_MINUTE,
    PRODUCTION,
    LearnerSandboxes,
    split,
)
from workbench.course.classroom.setup_page import PAGE_HEADERS, SetupPage
from workbench.course.classroom.wheel_house import SETUP
from workbench.course.desk import KINDS, Act
from workbench.course.task_files import Task
from workbench.sandbox.controls import CONTROLS
from workbench.sandbox.relay import RELAY_PATH
from workbench.sandbox.server import CONTROL_PATH, FOREIGN, NOT_JSON, is_foreign, is_json, own_fingerprint, refused
from workbench.service.rendering import design

MAX_BODY = 2**18  # maximum bytes of a request body
TRAINER_KEY = "trainer-key"
_JSON = {"content-type": "application/json"}
_PAGE = {"board": "text/html; charset=utf-8", "board.js": "text/javascript", "board.css": "text/css"}
_STYLESHEET = '<link rel="stylesheet" href="/board.css">'
_BEGIN = "begin"
_UNREADABLE = (strict_json.NotJson, KeyError, TypeError, ValueError, AttributeError)
"""Errors raised for a body with unexpected content."""
_RUN_FIRST_CELL = "Run the first cell of this notebook to continue with a new one"


class ClassServer(ClassState):
    """Sandboxes of a class behind one address.

    Args:
        names: Names of learners, who are added to the learners in the folder.
        folder: Folder for all state. A restarted server continues with this folder. None stores everything in memory.
    """

    def __init__(self, names: Sequence[str] = (), folder: Path | None = None) -> None:
        super().__init__(names, folder)
        self._looked_up = 0.0
        self._shown: dict[str, int] = {}  # number of notes that each learner has been shown
        self._loop: asyncio.AbstractEventLoop | None = None
        self._threads = ThreadPoolExecutor(1)
        self._setup_page = SetupPage(folder, "", "", "")

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
        """Serve the class within a `with` block, and yield its URL.

        Args:
            host: Address to listen on. By default only this machine can connect.
            port: Port. 0 chooses the previous port, which learners know, or a free port at the first start.
            hosts: Host names under which learners reach the server. A wildcard address needs at least one.
            certfile: PEM file with a certificate for TLS.
            keyfile: PEM file with the private key, if it is not in `certfile`.

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
            fingerprint = "" if certfile is None else own_fingerprint(Path(certfile))
            self.results.set("fingerprint", fingerprint)
            pem = Path(certfile).read_text(encoding="ascii") if certfile is not None and fingerprint else ""
            self._setup_page = SetupPage(self._folder, url, pem, fingerprint[:FINGERPRINT_DIGITS])
            return self.handle

        with (
            nullcontext() if self._folder is None else FileLock(self._folder / "class"),
            serving(
                begin,
                host=host,
                port=port or self.results.get("port", 0),
                hosts=hosts,
                refusal=refused,
                certfile=certfile,
                keyfile=keyfile,
                private="codes and keys",
                max_body=MAX_BODY,
            ) as url,
        ):
            yield url

    def close(self) -> None:
        """Close all files."""
        self._threads.shutdown(wait=False)
        super().close()

    # requests

    async def handle(self, request: Request) -> Response:
        """Answer a request to the board or to a learner's sandbox."""
        self._widen()
        code, _, rest = request.path.removeprefix("/").partition("/")
        if code in _PAGE:
            return await self._board(request, rest) if rest else _page(code)
        if code == SETUP:
            return await self._setup(request, unquote(rest))
        code = unquote(code).lower()
        sandboxes = self._by_code.get(code) or await self._late(code)
        if sandboxes is None:
            wrong = self.wrong_codes()
            wrong[request.peer] += 1
            many = refused(429, "Too many wrong codes from your address")
            return many if wrong[request.peer] > MAX_WRONG_CODES else refused(404, membership.NO_LEARNER)
        if not rest and request.method == "GET":
            return await self._setup(request, "", self.results.link(sandboxes.learner))
        await self._connect(sandboxes.learner.name)
        address, path = split(f"/{rest}")
        place = address.removesuffix(PRODUCTION)
        if again := sandboxes.replaced(place):
            return refused(409, f"This sandbox was begun again at {again}, in another window. {_RUN_FIRST_CELL}")
        sandboxes.use(place, count=not self._paused)
        if request.method != "GET" and not _only_reads(path) and self.disk_full:
            return refused(403, DISK_FULL)
        if path == "/_class" or (path == RELAY_PATH and not self._local):
            if refusal := self._refuse_post(request):
                return refusal
            return await (self._class(sandboxes, place, request) if path == "/_class" else sandboxes.relayed(request))
        if self._paused and request.method != "GET" and not _only_reads(path):
            return refused(403, "The class is paused by your trainer")
        await self._play(sandboxes.learner.name, place)
        return await sandboxes.handle(attrs.evolve(request, path=path), address)

    async def _connect(self, name: str) -> None:
        """Record when a learner last sent a request. The first time is stored."""
        is_new = name not in self._connected
        self._connected[name] = time.time()
        if is_new:
            await asyncio.to_thread(self.results.set, "joined", dict(self._connected))

    async def _play(self, name: str, place: str) -> None:
        """Make due purchases of live traffic, at most once a second."""
        playing = self._traffic.get((name, place))
        if playing is not None and playing[1] < monotonic() - 1:
            self._traffic[name, place] = (playing[0], monotonic())
            await asyncio.to_thread(self.play, name, place)

    def _widen(self) -> None:
        """Provide the event loop with enough threads for all learners. Threads start when they are needed."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._threads.shutdown(wait=False)
            self._threads = ThreadPoolExecutor(AT_ONCE * MAX_LEARNERS + 16, "workbench-class")
            loop.set_default_executor(self._threads)

    async def _late(self, code: str) -> LearnerSandboxes | None:
        """Return a learner's sandboxes, even if `course add` added the learner later.

        The file is read at most once a second.
        """
        if self._looked_up < monotonic() - 1:
            self._looked_up = monotonic()
            await asyncio.to_thread(self._read_learners)
        return self._by_code.get(code)

    async def _class(self, sandboxes: LearnerSandboxes, place: str, request: Request) -> Response:
        name, now = sandboxes.learner.name, monotonic()
        if request.method == "GET":
            return _answer(await asyncio.to_thread(self._status, name))
        if len(sandboxes.entries) == MAX_ENTRIES_A_MINUTE and sandboxes.entries[0] > now - 60:
            return refused(429, f"At most {MAX_ENTRIES_A_MINUTE} checks, hints and tasks a minute")
        sandboxes.entries.append(now)
        try:
            act = _act(strict_json.loads(request.body), self.tasks)
        except _UNREADABLE:
            return refused(400, "the entry cannot be read")
        if act.kind == _BEGIN:
            return _answer({"place": await asyncio.to_thread(self.begin, name, act.task)})
        task = self.tasks[act.task]
        if task.notebook and task.notebook in await asyncio.to_thread(lambda: self.locked):
            return refused(403, f"The lesson {task.notebook} is locked by your trainer")
        try:
            reply = await asyncio.to_thread(self.do, name, place, act)
        except WorkbenchError as error:
            return refused(400, str(error))
        return _answer({**reply, "notes": await asyncio.to_thread(self._new_notes, name)})

    def _new_notes(self, name: str) -> list[str]:
        """Return the notes that the learner has not yet seen."""
        notes = self.results.notes(name)
        fresh = notes[self._shown.get(name, 0) :]
        self._shown[name] = len(notes)
        return [note["text"] for note in fresh]

    def _status(self, name: str) -> dict[str, Any]:
        results = {task: attrs.asdict(result) for task, result in self.results.progress().get(name, {}).items()}
        notes = self.results.notes(name)
        return {"learner": name, "locked": self.locked, "notes": notes, "results": results}

    async def _setup(self, request: Request, name: str, link: str = "LINK") -> Response:
        if request.method != "GET":
            return refused(405, "Installation files accept only GET")
        return await asyncio.to_thread(self._setup_page.answer, name, link) or refused(404, "Not Found")

    # the board

    async def _board(self, request: Request, rest: str) -> Response:
        if not hmac.compare_digest((request.headers.get(TRAINER_KEY) or "").encode(), self.trainer_key.encode()):
            return refused(401, "The board requires the trainer's key")
        if request.method == "GET":
            return await asyncio.to_thread(self._read_board, rest, request.query)
        if rest != "act" or request.method != "POST":
            return refused(404, "Not Found")
        if refusal := self._refuse_post(request):
            return refusal
        try:
            sent = strict_json.loads(request.body)
            learners, names = sent["learners"], list(self._by_name)
            chosen = [name for name in names if learners == "all" or name in learners]
            return _answer(await asyncio.to_thread(self.act, chosen, sent["action"], **(sent.get("arguments") or {})))
        except WorkbenchError as error:
            return refused(400, str(error))
        except _UNREADABLE:
            return refused(400, "the action cannot be read, or an argument is missing or has the wrong type")

    def _read_board(self, rest: str, query: str) -> Response:
        """Return content for the board: its data, a learner's link, or results to print or save."""
        match rest:
            case "data" if query == f"after={self.results.version()}":
                return Response(status=204)  # nothing has changed since that version
            case "data":
                return _answer(self.board())
            case "link" if sandboxes := self._by_name.get(unquote(query.removeprefix("learner="))):
                link = self.results.link(sandboxes.learner)
                size, path = qr_path(link)
                return _answer({"learner": sandboxes.learner.name, "link": link, "size": size, "path": path})
            case "results.csv":
                headers = {"content-type": "text/csv; charset=utf-8"}
                return Response(status=200, headers=headers, body=results_table(self.results).encode())
            case "certificates":
                page = certificates(self.results, _STYLESHEET)
                return Response(status=200, headers=PAGE_HEADERS, body=page.encode())
        return refused(404, "Not Found")

    def _refuse_post(self, request: Request) -> Response | None:
        """Return the refusal of a request that another web page may have sent; None for other requests."""
        if is_foreign(request, self.url):
            return refused(403, FOREIGN)
        return refused(415, NOT_JSON) if request.method != "GET" and not is_json(request) else None


def _only_reads(path: str) -> bool:
    """Return whether a path, without the name of its sandbox, is a read-only control or fetches deliveries."""
    name = path.removeprefix(CONTROL_PATH)
    return name == "drain" or (name in CONTROLS and not CONTROLS[name].changes)


def _act(content: Any, tasks: Mapping[str, Task]) -> Act:
    """Parse a learner's action; raise an error of `_UNREADABLE` if it is invalid."""
    act = Act(kind=content["kind"], task=content["task"], values=content.get("values", {}))
    known = {task.place for task in tasks.values()} if act.kind == _BEGIN else tasks
    is_text = all(isinstance(value, str) for value in (act.kind, act.task, *act.values.values()))
    if not is_text or act.kind not in (*KINDS, _BEGIN) or act.task not in known:
        raise ValueError(act.kind)
    return act


def _answer(value: object) -> Response:
    return Response(status=200, headers=_JSON | {"cache-control": "no-store"}, body=strict_json.dumps(value))


def _page(name: str) -> Response:
    headers = PAGE_HEADERS if name == "board" else {"content-type": _PAGE[name]}
    text = _style() if name == "board.css" else _read("board.html" if name == "board" else name)
    return Response(status=200, headers=headers, body=text.encode())


def inline_style() -> str:
    """Return the style sheet of standalone pages."""
    return f"<style>{_style()}</style>"


def _style() -> str:
    return f"{design.variables('body', by_system=True)}{_read('board.css')}"


def _read(name: str) -> str:
    return files("workbench.course.classroom").joinpath(name).read_text(encoding="utf-8")
