"""HTTP server of a class: each learner's sandbox under a code, and the board of the trainer.

/CODE/PLACE/v1/…, /_sandbox/…      a sandbox of the learner, with its controls; one for each notebook and drill
/CODE/PLACE/production/…           its production environment
/CODE/PLACE/_relay                 deliveries to receivers on the learner's machine, and their responses
/CODE/PLACE/_class                 GET: name, results, locks and notes; POST: what the learner does with a task
/CODE                              for a browser: /setup with the learner's link
/setup, /setup/…                   to install on a laptop without internet: `pages`; open to all, GET only
/board, /board/data, /board/act    the trainer's page, its data, its actions: with the trainer's key
/board/certificates         a page to print: with the trainer's key
"""

import asyncio
import hmac
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import attrs

from workbench.base.errors import UsageError, WorkbenchError, not_allowed
from workbench.base.schema import strict_json
from workbench.base.system.http_server import Handler, serving
from workbench.base.system.locks import FileLock
from workbench.base.system.messages import LOOPBACK, Request, Response
from workbench.base.system.seconds import monotonic
from workbench.course import membership
from workbench.course.attempt import KINDS
from workbench.course.classroom.class_results import FINGERPRINT_DIGITS, MAX_LEARNERS
from workbench.course.classroom.class_state import DISK_FULL, MAX_WRONG_CODES, ClassState
from workbench.course.classroom.exports import certificates, qr_code
from workbench.course.classroom.learner_sandboxes import (
    AT_ONCE,
    MAX_ENTRIES_A_MINUTE,
    LearnerSandboxes,
    split,
)
from workbench.course.classroom.pages import STYLESHEET, read, response, setup, style
from workbench.course.classroom.wheel_house import SETUP
from workbench.course.evidence import Facts
from workbench.sandbox.controls import CONTROLS
from workbench.sandbox.relay import MAX_URLS, RELAY_PATH, DeliveryRelay
from workbench.sandbox.server import CONTROL_PATH, FOREIGN, NOT_JSON, is_foreign, own_fingerprint, refused
from workbench.sandbox.service import is_json

MAX_BODY = 2**18  # maximum bytes of a request body
TRAINER_KEY = "trainer-key"
_JSON = {"content-type": "application/json"}
_BOARD = {"/board": ".html", "/board.js": ".js", "/board.css": ".css"}
_CERTIFICATES = re.compile("-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----\n", re.DOTALL)
"""Pattern of a certificate in a PEM file. The file may contain the private key, too."""
_STORE_SECONDS = 20  # maximum seconds of a learner's work that a killed server loses
_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError)
"""Errors raised for a body with unexpected content."""
_RUN_FIRST_CELL = "Run the first cell of this notebook to continue with a new sandbox"


class ClassServer(ClassState):
    """Sandboxes of a class behind one address.

    Args:
        names: Names of learners, who are added to the learners in the folder.
        folder: Folder for all state. A restarted server continues with this folder.
    """

    _loop: asyncio.AbstractEventLoop | None = None

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
            fingerprint = own_fingerprint(certfile)[:FINGERPRINT_DIGITS] if certfile else ""
            pem = certfile.read_text(encoding="ascii") if certfile and fingerprint else ""
            self.results.set("fingerprint", fingerprint)
            self.results.set("certificate", "".join(_CERTIFICATES.findall(pem)))
            return self.handle

        with (
            FileLock(self._folder / "class"),
            serving(
                begin,
                host=host,
                port=port or urlsplit(self.results.get("url", "")).port or 0,
                hosts=hosts,
                refusal=refused,
                certfile=certfile,
                keyfile=keyfile,
                private="codes and keys",
                max_body=MAX_BODY,
            ) as url,
        ):
            yield url

    async def handle(self, request: Request) -> Response:
        """Answer a request to the board or to a learner's sandbox."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # enough threads for all learners; each starts when needed
            self._loop = loop
            loop.set_default_executor(ThreadPoolExecutor(AT_ONCE * MAX_LEARNERS + 16, "workbench-class"))
        code, _, rest = request.path.removeprefix("/").partition("/")
        if kind := _BOARD.get(request.path):
            return response(style() if kind == ".css" else read(f"board{kind}"), kind)
        if code == "board":
            return await asyncio.to_thread(self._board, request, rest)
        if code == SETUP:
            return await asyncio.to_thread(self._setup, request, unquote(rest))
        code = unquote(code).lower()
        if code not in self._by_code:  # `course add` may have added the learner meanwhile
            await asyncio.to_thread(self._read_learners)
        if code not in self._by_code:
            return self._wrong_code(request.peer)
        return await self._learner(self._by_code[code], request, rest)

    async def _learner(self, sandboxes: LearnerSandboxes, request: Request, rest: str) -> Response:
        """Answer a request to a learner's sandbox, or carry out a learner's action on a task."""
        if not rest and request.method == "GET":
            return await asyncio.to_thread(self._setup, request, "", self.results.link(sandboxes.learner))
        place, environment, path = split(f"/{rest}")
        if again := sandboxes.replaced(place):
            return refused(409, f"This sandbox was begun again at {again}, in another window. {_RUN_FIRST_CELL}")
        sandboxes.use(place, count=not self._paused)
        if sandboxes.used > sandboxes.stored + _STORE_SECONDS:
            await asyncio.to_thread(self.store_work, sandboxes)
        writes = request.method != "GET" and not _only_reads(path)
        if writes and self.disk_full:
            return refused(403, DISK_FULL)
        if path == "/_class" or (path == RELAY_PATH and not self._local):
            if refusal := self._refuse_post(request):
                return refusal
            if path == RELAY_PATH:
                return await _relayed(sandboxes.relay, request)
            return await asyncio.to_thread(self._class, sandboxes, place, request)
        if writes and self._paused:
            return refused(403, "The class is paused by your trainer")
        if place in sandboxes.traffic:
            await asyncio.to_thread(self.play, sandboxes, place)
        return await sandboxes.handle(attrs.evolve(request, path=path), place, environment)

    def _wrong_code(self, peer: str) -> Response:
        """Count a wrong code, and return the refusal."""
        wrong = self.wrong_codes()
        wrong[peer] += 1
        if wrong[peer] > MAX_WRONG_CODES:
            return refused(429, "Too many wrong codes from your address; try again in a minute")
        return refused(404, membership.NO_LEARNER)

    def _class(self, sandboxes: LearnerSandboxes, place: str, request: Request) -> Response:
        """Return a learner's status, or carry out an action on a task."""
        name, now = sandboxes.learner.name, monotonic()
        if request.method == "GET":
            status = {"learner": name, "notes": self.results.notes(name)}
            return _answer({**status, "results": self.results.all(f"result\n{name}\n")})
        if len(sandboxes.entries) == MAX_ENTRIES_A_MINUTE and sandboxes.entries[0] > now - 60:
            return refused(
                429, f"At most {MAX_ENTRIES_A_MINUTE} checks, hints and tasks a minute; try again in a minute"
            )
        sandboxes.entries.append(now)
        return _performed(partial(self._enter, sandboxes, place), request)

    def _enter(self, sandboxes: LearnerSandboxes, place: str, content: Any) -> Facts:
        """Carry out a learner's action, such as a check, and return its result with the trainer's unseen notes."""
        kind, task = str(content["kind"]), str(content["task"])
        if kind == "begin" and task in {each.place for each in self.tasks.values()}:
            begun = sandboxes.begin(task)
            self.store_work(sandboxes)
            return {"place": begun}
        if task not in self.tasks:
            raise UsageError([not_allowed("task", task, self.tasks)], of="class")
        lesson = self.tasks[task].notebook
        if kind not in KINDS:
            raise ValueError(kind)
        if lesson in self.locked:
            raise UsageError(f"the lesson {lesson} is locked by your trainer", of="class")
        values = {str(key): str(value) for key, value in content.get("values", {}).items()}
        with sandboxes.busy:
            reply = self._attempt(sandboxes, place, task).do(kind, values)
            self.store_work(sandboxes)
            if kind == "start" and self.tasks[task].traffic:
                sandboxes.traffic[place] = task
        notes = self.results.notes(sandboxes.learner.name)
        shown, sandboxes.notes_shown = sandboxes.notes_shown, len(notes)
        return {**reply, "notes": notes[shown:]}

    def _setup(self, request: Request, name: str, link: str = "LINK") -> Response:
        if request.method != "GET":
            return refused(405, "Installation files accept only GET")
        return setup(self._folder, self.results, name, link) or refused(404, "Not Found")

    def _board(self, request: Request, rest: str) -> Response:
        """Return content for the board, or carry out an action of the trainer."""
        if not hmac.compare_digest((request.headers.get(TRAINER_KEY) or "").encode(), self.trainer_key.encode()):
            return refused(401, "The board requires the trainer's key")
        match request.method, rest:
            case "GET", "data":
                return _answer(self.board())
            case "GET", "link" if sandboxes := self._by_name.get(unquote(request.query.removeprefix("learner="))):
                link = self.results.link(sandboxes.learner)
                return _answer({"learner": sandboxes.learner.name, "link": link, "picture": qr_code(link)})
            case "GET", "certificates":
                return response(certificates(self.results, STYLESHEET))
            case "POST", "act":
                return self._refuse_post(request) or _performed(self._act, request)
        return refused(404, "Not Found")

    def _act(self, content: Any) -> Facts:
        learners = content["learners"]
        chosen = [name for name in self._by_name if learners == "all" or name in learners]
        return self.act(chosen, content["action"], **(content.get("arguments") or {}))

    def _refuse_post(self, request: Request) -> Response | None:
        """Return the refusal of a request that another web page may have sent; None for other requests."""
        if is_foreign(request, self.url):
            return refused(403, FOREIGN)
        return refused(415, NOT_JSON) if request.method != "GET" and not is_json(request) else None


def _only_reads(path: str) -> bool:
    """Return whether a path, which begins after the sandbox's name, is a read-only control or fetches deliveries."""
    name = path.removeprefix(CONTROL_PATH)
    return name == "drain" or (name in CONTROLS and not CONTROLS[name].changes)


async def _relayed(relay: DeliveryRelay, request: Request) -> Response:
    """Accept responses from the learner's receivers, and return deliveries for the receivers."""
    try:
        content = strict_json.loads(request.body)
        relay.answer(content["results"])
        urls = [str(url) for url in content["urls"]][:MAX_URLS]
        return _answer({"deliveries": await relay.fetch(urls, wait=content["wait"] is True)})
    except _UNREADABLE:
        return refused(400, "the responses to deliveries cannot be read")


def _performed(act: Callable[[Any], Facts], request: Request) -> Response:
    """Run an action with the content of a request. Return the result, or the reason for a refusal."""
    try:
        return _answer(act(strict_json.loads(request.body)))
    except WorkbenchError as error:
        return refused(400, str(error))
    except _UNREADABLE:
        return refused(400, "the request cannot be read, or an argument is missing or has the wrong type")


def _answer(value: object) -> Response:
    return Response(status=200, headers=_JSON | {"cache-control": "no-store"}, body=strict_json.dumps(value))
