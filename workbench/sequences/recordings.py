"""Recordings of calls as HAR files: private values are made up before they are written, and playing back is strict."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workbench.client.client import Client
from workbench.client.journal import Journal
from workbench.errors import InvalidRequest, NotSent, UnusableFile, visible
from workbench.interface import strict_json
from workbench.interface.table import OPERATIONS, PREFIX
from workbench.sandbox.embedded import DirectTransport
from workbench.sandbox.service import Request, Response
from workbench.sequences.exports import export, sent_members

_BASE = "https://recording.workbench.invalid" + PREFIX


@contextmanager
def record(api: Any, path: str | Path) -> Iterator[None]:
    """Record the calls that a client makes in a block, in this thread or task, as a HAR file.

    Private values of requests and responses are replaced by made-up ones; an API key is never part of it. Ids stay.

    Args:
        api: A session or client, of a sandbox or of a real service.
        path: The file; one that is there is replaced.

    Raises:
        InvalidRequest: No call was answered.
    """
    with api.responses() as found:
        yield
    Path(path).write_text(export(found, "har") + "\n", encoding="utf-8")


class Recording:
    """The calls of a HAR file, to be played back in their order.

    Args:
        path: A file that `record` wrote, or an export of the format "har".

    Raises:
        UnusableFile: It is not there, or is no such file.
    """

    def __init__(self, path: str | Path) -> None:
        try:
            entries = strict_json.loads(Path(path).read_bytes())["log"]["entries"]
            self.calls = [_read(entry) for entry in entries]
        except (OSError, strict_json.NotJson, KeyError, TypeError, AttributeError) as error:
            raise UnusableFile(f"{visible(str(path), 200)} is not a recording: {type(error).__name__}") from None
        self.played = 0
        self.of = Path(path).name
        self._lock = threading.Lock()

    def transport(self) -> DirectTransport:
        """Return what gives a client the recorded responses, as `Client(transport=recording.transport(), …)`."""
        return DirectTransport(self._answer)

    def _answer(self, request: Request) -> Response:
        target = request.path.removeprefix(PREFIX) + (f"?{request.query}" if request.query else "")
        with self._lock:
            if self.played == len(self.calls):
                raise NotSent(f"the recording has no further call: {request.method} {visible(request.path, 200)}")
            name, recorded, response = self.calls[self.played]
            found = _call(request.method, target, request.body)
            if found != (name, recorded):
                differing = [one for one in recorded if found[0] == name and recorded[one] != found[1].get(one)]
                detail = f", with another {', '.join(differing)}" if differing else ""
                raise NotSent(f"call {self.played + 1} of the recording is {name}{visible(detail, 200)}")
            self.played += 1
        return response


def _call(method: str, target: str, body: bytes) -> tuple[str, dict[str, Any]]:
    """Return the operation of a request, "" for none, and what it sends."""
    path = target.partition("?")[0]
    for name, operation in OPERATIONS.items():
        if operation.method == method and operation.in_path(path) is not None:
            return name, sent_members(operation, target, body)
    return "", {}


def _read(entry: Any) -> tuple[str, dict[str, Any], Response]:
    """Return a call's operation, what it sent, and its response."""
    request, response = entry["request"], entry["response"]
    parts = urlsplit(request["url"])
    target = parts.path.partition(PREFIX)[2] + (f"?{parts.query}" if parts.query else "")
    headers = {one["name"]: one["value"] for one in response["headers"]}
    made = Response(response["status"], headers, response["content"]["text"].encode())
    return *_call(request["method"], target, request.get("postData", {}).get("text", "").encode()), made


@contextmanager
def replay(path: str | Path) -> Iterator[Client]:
    """Open a client that answers from a recording: the same calls, in the same order, and all of them.

    Private values are not compared, since the recording has made-up ones.

    Raises:
        UnusableFile: The file is not a recording.
        NotSent: A call is not the next one of the recording.
        InvalidRequest: The block ended before all calls were made.
    """
    recording = Recording(path)
    with Client(base_url=_BASE, api_key="recording", transport=recording.transport(), journal=Journal()) as api:
        yield api
    if left := [name for name, *_ in recording.calls[recording.played :]]:
        raise InvalidRequest(f"calls of the recording were not made: {', '.join(left)}", of="testing.replay")
