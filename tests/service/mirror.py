"""A sandbox in memory with a twin, which is stored in a file and served over HTTP. Both must return equal bytes."""

import atexit
import http.client
import json
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from workbench.base.system import http_server
from workbench.sandbox import Request, Response, Sandbox
from workbench.sandbox.control_records import to_json
from workbench.sandbox.controls import CONTROLS
from workbench.sandbox.internals import internals
from workbench.sandbox.server import SESSION_KEY, App, refused
from workbench.sandbox.service import MAX_BODY

# controls that are not compared: `Mirrored.__init__` moves both clocks, and the two sandboxes log different requests
_OWN = frozenset({"advance", "requests"})


class Served:
    """An HTTP server that serves one twin after another at the same address."""

    def __init__(self) -> None:
        stack = ExitStack()
        atexit.register(stack.close)
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.app: App | None = None
        self.twin: Sandbox | None = None
        self.count = 0
        url = stack.enter_context(http_server.running(self._answer, max_body=MAX_BODY, refusal=refused))
        self.connection = http.client.HTTPConnection(url.removeprefix("http://"))
        stack.callback(self.connection.close)

    def _answer(self, request: Request) -> Any:
        assert self.app is not None
        return self.app.handle(request)

    def show(self, twin: Sandbox) -> None:
        """Serve a twin instead of the previous one."""
        if self.twin is not None:
            self.twin.close()
        self.twin, self.app = twin, internals(twin).http_app("http://127.0.0.1")

    def ask(self, method: str, target: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Return the twin's response."""
        self.connection.close()  # the server may have closed an idle connection, which the next request reopens
        self.connection.request(method, target, body or None, headers)
        answer = self.connection.getresponse()
        said = {
            name.lower(): value
            for name, value in answer.getheaders()
            if name.lower() not in {"content-length", "connection"}
        }
        return answer.status, said, answer.read()


@cache
def served() -> Served:
    """Return the server, which all tests of this process share."""
    return Served()


class Mirrored(Sandbox):
    """A sandbox that compares itself with its twin at every request and control."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._alone = False
        self.seen_by = self.full_key
        self._twin = served()
        self._twin.count += 1
        self._twin.show(Sandbox(*args, **kwargs, path=self._twin.folder / f"{self._twin.count}.db"))
        advance = self.clock.advance

        def both(*args: Any, **kwargs: Any) -> Any:
            before = self.clock.ms
            now = advance(*args, **kwargs)
            if not self._alone:
                self._control("advance", {"seconds": (self.clock.ms - before) / 1000})
            return now

        self.clock.advance = both  # type: ignore[method-assign]

    def compared(self, request: Request) -> Response:
        """Answer a request, and compare the response with the twin's."""
        if threading.current_thread() is not threading.main_thread():
            self._alone = True  # the twin cannot follow concurrent calls, because their order is unknown
        here = self._engine.answer(request)
        target = request.path + (f"?{request.query}" if request.query else "")
        if (
            self._alone
            or not target.isascii()
            or " " in target
            or not (target.isprintable() and request.method.isupper())
        ):
            return here  # the request is concurrent, or cannot be sent over HTTP
        status, headers, body = self._twin.ask(request.method, target, dict(request.headers), request.body)

        assert (status, body) == (here.status, b"" if request.method == "HEAD" else here.body)
        assert headers == dict(here.headers)
        return here

    def _for_key(self, api_key: str) -> Sandbox:
        """Return this sandbox as seen by the tenant of a key."""
        seen = super()._for_key(api_key)
        seen.seen_by = api_key  # type: ignore[attr-defined]
        return seen

    def __getattribute__(self, name: str) -> Any:
        found, name = super().__getattribute__(name), name.lstrip("_")
        if name not in CONTROLS or name in _OWN or not hasattr(found, "control") or self._alone:
            return found
        control: Callable[..., Any] = found

        def both(*args: Any, **kwargs: Any) -> Any:
            try:
                arguments = CONTROLS[name].signature.bind(self, *args, **kwargs).arguments
            except TypeError:  # the call of the control reports the problem
                return control(*args, **kwargs)
            arguments.pop("self")
            try:
                here: Any = control(*args, **kwargs)
            finally:
                there = self._control(name, arguments)
            said = json.loads(json.dumps(to_json(here)))
            if name == "guide":
                said["base_url"] = there["base_url"]  # the two base URLs differ
            assert said == there
            return here

        return both

    def _control(self, name: str, arguments: dict[str, Any]) -> Any:
        headers = {"api-key": self.full_key, "content-type": "application/json", SESSION_KEY: self.seen_by}
        return json.loads(self._twin.ask("POST", f"/_sandbox/{name}", headers, json.dumps(arguments).encode())[2])
