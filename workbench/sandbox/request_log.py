"""The last requests to a sandbox: what was asked, how it was answered, how long it took, and which fault rule applied.

They are in memory, and in the file of a sandbox that has one: written a few at a time, so a killed process may lose the last.
"""

import time
from collections import deque
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl

import attrs

from workbench.errors import UnusableFile
from workbench.interface import strict_json
from workbench.interface.masks import DOTS, masked
from workbench.sandbox.context import moment_of
from workbench.sandbox.results import to_json
from workbench.sandbox.service import Request, Response, Service
from workbench.sandbox.store import FileStore, Store

KEPT = 1_000
_KEPT_BODY = 16 * 1024
_UNSAVED = 64  # requests that are written at once, at most
_UNSAVED_SECONDS = 1.0
_OPEN_HEADERS = frozenset({"accept", "content-length", "content-type", "date", "retry-after", "user-agent"})


@attrs.frozen
class _Entry:
    request: Request
    answer: Response
    at: int
    seconds: float


class RequestLog:
    """The last thousand requests."""

    def __init__(self, service: Service, store: Store) -> None:
        self._service = service
        self._file = store if isinstance(store, FileStore) else None
        self._entries: deque[_Entry] = deque(maxlen=KEPT)  # with a file, those that are not written yet
        self._saved = time.monotonic()

    def add(self, request: Request, answer: Response, at: int, seconds: float) -> None:
        """Add a request; bodies of more than 16 kB are left out."""
        if len(request.body) > _KEPT_BODY:
            request = attrs.evolve(request, body=b"")
        if len(answer.body) > _KEPT_BODY:
            answer = attrs.evolve(answer, body=b"")
        self._entries.append(_Entry(request, answer, at, seconds))
        if self._file is not None and (
            len(self._entries) >= _UNSAVED or time.monotonic() - self._saved > _UNSAVED_SECONDS
        ):
            self.save()

    def save(self) -> None:
        """Write the requests into the file, if there is one."""
        if self._file is None or not self._entries:
            return
        with suppress(UnusableFile), self._file:  # if it is busy, they wait for the next ones
            self._saved = time.monotonic()
            self._file.keep_requests(map(self._row, self._entries), KEPT)
            self._entries.clear()

    def entries(self, tenant: str | None, *, reveal: bool) -> list[dict[str, Any]]:
        """Return the requests, the oldest first.

        Args:
            tenant: Id of the tenant; empty for requests without a known key, None for all.
            reveal: Whether private values of bodies are shown.
        """
        self.save()
        found = [self._row(one) for one in tuple(self._entries)] if self._file is None else self._file.requests()
        return [self._shown(one, reveal) for one in found if tenant in (None, one["tenant"])]

    def _row(self, entry: _Entry) -> dict[str, Any]:
        """Return a request as it is kept; never with a key."""
        request, response, context = entry.request, entry.answer, entry.answer.context
        number = context.cause[0] if context is not None else 0
        return {
            "request_id": context.seeds.uuid(f"request:{number}") if context is not None and number else None,
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "status": response.status,
            "assumptions": [] if context is None else list(dict.fromkeys(context.assumed)),
            "at": entry.at,
            "seconds": round(entry.seconds, 6),
            "fault": response.fault,
            "tenant": self._service.tenant_of(request),
            "headers": {name: value if name in _OPEN_HEADERS else DOTS for name, value in request.headers.items()},
            "body": request.body.decode("latin-1"),
            "answer": response.body.decode("latin-1"),
        }

    def _shown(self, row: dict[str, Any], reveal: bool) -> dict[str, Any]:
        operation = self._service.operation_of(Request(row["method"], row["path"]))
        known = (None, None) if operation is None else (operation.request, operation.answer)
        query, body, answer = (row[name] for name in ("query", "body", "answer"))
        asked = _loaded(body) or dict(parse_qsl(query, keep_blank_values=True))
        answered = _loaded(answer)
        return {
            **{name: value for name, value in row.items() if name not in {"tenant", "query"}},
            "operation": None if operation is None else operation.name,
            "path": row["path"] if reveal or operation is not None else None,
            "at": moment_of(row["at"]),
            "body": to_json(asked if reveal else masked(asked, of=known[0])) if asked else None,
            "answer": to_json(answered if reveal or row["status"] >= 400 else masked(answered, of=known[1])),
        }


def _loaded(body: str) -> Any:
    try:
        return strict_json.loads(body.encode("latin-1")) if body else None
    except strict_json.NotJson:
        return None
