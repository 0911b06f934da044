"""The last requests to a sandbox: what was asked, how it was answered, how long it took, and which fault rule applied."""

from collections import deque
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl

import attrs

from workbench.interface import strict_json
from workbench.interface.masks import DOTS, masked
from workbench.sandbox.context import moment_of
from workbench.sandbox.faults import FaultedResponse
from workbench.sandbox.service import Request, Service

KEPT = 1_000
_KEPT_BODY = 16 * 1024
_OPEN_HEADERS = frozenset({"accept", "content-length", "content-type", "date", "retry-after", "user-agent"})


@attrs.frozen
class _Entry:
    request: Request
    answer: FaultedResponse
    at: int
    seconds: float


class RequestLog:
    """The last thousand requests."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._entries: deque[_Entry] = deque(maxlen=KEPT)

    def add(self, request: Request, answer: FaultedResponse, at: int, seconds: float) -> None:
        """Add a request; bodies of more than 16 kB are left out."""
        if len(request.body) > _KEPT_BODY:
            request = attrs.evolve(request, body=b"")
        if len(answer.response.body) > _KEPT_BODY:
            answer = attrs.evolve(answer, response=attrs.evolve(answer.response, body=b""))
        self._entries.append(_Entry(request, answer, at, seconds))

    def entries(self, tenant: str | None, *, reveal: bool) -> list[dict[str, Any]]:
        """Return the requests, the oldest first.

        Args:
            tenant: Id of the tenant; empty for requests without a known key, None for all.
            reveal: Whether private values of bodies are shown.
        """
        found = tuple(self._entries)
        return [self._shown(one, reveal) for one in found if tenant in (None, self._service.tenant_of(one.request))]

    def _shown(self, entry: _Entry, reveal: bool) -> dict[str, Any]:
        request, response, context = entry.request, entry.answer.response, entry.answer.response.context
        operation = self._service.operation_of(request)
        number = context.cause[0] if context is not None else 0
        known = (None, None) if operation is None else (operation.request, operation.answer)
        asked = _loaded(request.body) or dict(parse_qsl(request.query, keep_blank_values=True))
        answered = _loaded(response.body)
        return {
            "request_id": context.seeds.uuid(f"request:{number}") if context is not None and number else None,
            "operation": None if operation is None else operation.name,
            "method": request.method,
            "path": request.path if reveal or operation is not None else None,
            "status": response.status,
            "assumptions": [] if context is None else list(dict.fromkeys(context.assumed)),
            "at": moment_of(entry.at),
            "seconds": round(entry.seconds, 6),
            "fault": entry.answer.fault,
            "headers": {name: value if name in _OPEN_HEADERS else DOTS for name, value in request.headers.items()},
            "body": _plain(asked if reveal else masked(asked, of=known[0])) if asked else None,
            "answer": _plain(answered if reveal or response.status >= 400 else masked(answered, of=known[1])),
        }


def _loaded(body: bytes) -> Any:
    try:
        return strict_json.loads(body) if body else None
    except strict_json.NotJson:
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, Decimal) else value
