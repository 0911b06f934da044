"""Recorded traffic as exchanges and deliveries: HAR files, JSON lines, inboxes and journals.

Files are read in pieces, so their size does not matter. Each exchange and delivery records its position in the file.
"""

import base64
import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import parse_qsl, unquote

import attrs
import orjson

from workbench.base.errors import UnusableFile, visible
from workbench.sandbox.extensions import ROWS
from workbench.service.interface.table import OPERATIONS, PREFIX, Operation

Json = Any
"""A JSON value."""
SERVED: Mapping[str, Operation[..., Any]] = {**OPERATIONS, **ROWS}
"""Operations by name: documented and assumed ones."""
CHUNK = 1 << 20
MAX_ENTRY = 64 * CHUNK  # bytes of one entry or line
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}]', re.DOTALL)
_FIRST_NAME = re.compile(rb'\s*\{\s*("(?:[^"\\]|\\.)*+")', re.DOTALL)
_BETWEEN = re.compile(rb"[\s,]*+")
_GAP = re.compile(rb"\}\s*,\s*\{\s*\Z")
_ENTRIES = re.compile(rb'"entries"\s*:\s*\[')
_SQLITE = b"SQLite format 3\0"

DEFAULT_NAMES = {
    "method": "method",
    "url": "url",
    "status": "status",
    "time": "time",
    "request_headers": "request_headers",
    "request_body": "request_body",
    "response_headers": "response_headers",
    "response_body": "response_body",
    "headers": "headers",
    "body": "body",
}
"""Members of a JSON line by their meaning; `names` maps those of other log formats."""


@attrs.define(slots=True)
class Exchange:
    """One request and its answer. Header names are lower-case."""

    place: str  # the file, and the number of the entry in it
    method: str
    path: str  # after the prefix, such as "/payment-routes"
    query: list[tuple[str, str]]
    sent_headers: Mapping[str, str]
    sent: bytes
    status: int
    headers: Mapping[str, str]
    received: bytes
    at: float | None  # seconds since 1970, by the service's clock where it tells it
    operation: Json = None  # an Operation; with that type it would act as a descriptor here
    path_members: Mapping[str, str] = {}
    body: Json = None  # the body of the request as JSON; None without one
    answer: Json = None  # the body of the answer as JSON
    notes: dict[str, Any] = attrs.field(factory=dict)  # findings of observers, for the others
    members: Mapping[str, Any] = {}  # of the request: of its path, query and body

    ok: bool = False  # whether the call was carried out

    def complete(self) -> None:
        """Derive what observers ask for again and again."""
        self.ok = 200 <= self.status < 300
        body = self.body if isinstance(self.body, dict) else {}
        self.members = {**dict(self.query), **body, **self.path_members}


@attrs.define(slots=True)
class Delivery:
    """One webhook delivery."""

    place: str
    headers: Mapping[str, str]
    event: Mapping[str, Any]
    at: float | None

    @property
    def body(self) -> Mapping[str, Any]:
        """Body of the event; empty if it is not an object."""
        body = self.event.get("body")
        return body if isinstance(body, dict) else {}

    @property
    def resource_id(self) -> str:
        """Id of the event's resource."""
        return str(self.body.get("id", ""))

    @property
    def content(self) -> bytes:
        """Digest of the event without its envelope id, equal for its retries."""
        rest = {name: value for name, value in self.event.items() if name != "id"}
        return hashlib.blake2b(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def traffic(path: Path, names: Mapping[str, str]) -> Iterator[Exchange | Delivery]:
    """Yield the exchanges and deliveries of a file, in order.

    Raises:
        UnusableFile: It cannot be read, is damaged, or holds neither exchanges nor deliveries.
    """
    count = 0
    try:
        with path.open("rb") as file:
            head = file.read(4096)
            file.seek(0)
            if head.startswith(_SQLITE):
                items = _database(path)
            elif _is_har(head):
                items = (_har_entry(raw, place) for raw, place in _har_entries(file, path))
            else:
                items = _lines(file, path, {**DEFAULT_NAMES, **names})
            for item in items:
                if item is not None:
                    count += 1
                    yield item
    except OSError as error:
        raise _unusable(path, f"cannot be read ({error.strerror})") from None
    if not count:
        raise _unusable(path, "holds no exchange of a request and an answer, and no event")


def _unusable(path: Path, problem: str) -> UnusableFile:
    return UnusableFile(f"{visible(path.name, 100)}: {problem}")


def _is_har(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \r\n\t")
    return start.startswith(b"{") and re.match(rb'\{\s*"log"\s*:', start) is not None


def _har_entries(file: BinaryIO, path: Path) -> Iterator[tuple[Any, str]]:
    """Yield the entries of a HAR file, parsed one by one."""
    data, start = b"", None
    while start is None:  # the head of the log, which may hold many pages
        more = file.read(CHUNK)
        match = _ENTRIES.search(data + more)
        data += more
        start = match.end() if match else None
        if start is None and (not more or len(data) > MAX_ENTRY):
            raise _unusable(path, "has no log.entries: not a HAR file")
    data, begin, number = data[start:], 0, 0
    first = _FIRST_NAME.match(data)
    while True:
        begin = _BETWEEN.match(data, begin).end()  # type: ignore[union-attr]
        if data[begin : begin + 1] == b"]":
            return
        entry, end = _next_entry(data, begin, first[1] if first else b"")
        if entry is not None:
            number, begin = number + 1, end
            yield entry, f"{path.name}:{number}"
            continue
        if end:
            raise _unusable(path, f"entry {number + 1} is not JSON")
        data, begin = data[begin:], 0
        if len(data) > MAX_ENTRY:
            raise _unusable(path, f"entry {number + 1} is larger than {MAX_ENTRY:,} bytes")
        more = file.read(max(CHUNK, len(data)))
        if not more:
            raise _unusable(path, f"ends within entry {number + 1}: the file is cut off")
        data += more
        first = first or _FIRST_NAME.match(data)


def _next_entry(data: bytes, begin: int, first: bytes) -> tuple[Json, int]:
    """Return the entry that begins there, and its end. Without an entry: its end if it is not JSON, 0 if it is cut off.

    The end is where the next entry begins, if that has the same first name. A name in a text has other quotes. Where
    this does not lead to JSON, brackets are counted.
    """
    place = data.find(first, begin + 2 + len(first)) if first else -1
    while place > 0:
        gap = _GAP.search(data, max(begin, place - 100), place)
        if gap is not None:
            end = gap.start() + 1
            try:
                return orjson.loads(memoryview(data)[begin:end]), end
            except orjson.JSONDecodeError:
                break
        place = data.find(first, place + 1)
    depth = 0
    for token in _TOKEN.finditer(data, begin):
        kind = data[token.start()]
        depth += (kind == 0x7B) - (kind == 0x7D)  # { and }
        if depth <= 0:
            try:
                return orjson.loads(memoryview(data)[begin : token.end()]), token.end()
            except orjson.JSONDecodeError:
                return None, token.end()
    return None, 0


def _headers(raw: object) -> dict[str, str]:
    if isinstance(raw, Mapping):
        return {str(name).lower(): str(value) for name, value in raw.items()}
    if isinstance(raw, list):
        pairs = [(pair["name"], pair["value"]) if isinstance(pair, dict) else (pair[0], pair[1]) for pair in raw]
        return {str(name).lower(): str(value) for name, value in pairs}
    return {}


def _har_entry(entry: Json, place: str) -> Exchange | None:
    try:
        request, response = entry["request"], entry["response"]
        content = response.get("content") or {}
        text = content.get("text") or ""
        received = base64.b64decode(text) if content.get("encoding") == "base64" else text.encode()
        sent = ((request.get("postData") or {}).get("text") or "").encode()
        return _exchange(
            place,
            request["method"],
            request["url"],
            _headers(request.get("headers")),
            sent,
            int(response["status"]),
            _headers(response.get("headers")),
            received,
            entry.get("startedDateTime"),
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UnusableFile(f"{visible(place, 120)} is not an entry of a HAR file: {type(error).__name__}") from None


def _exchange(
    place: str,
    method: str,
    url: str,
    sent_headers: Mapping[str, str],
    sent: bytes,
    status: int,
    headers: Mapping[str, str],
    received: bytes,
    started: object,
) -> Exchange | None:
    """Return an exchange; None if it has no answer or is outside the service's prefix."""
    target, _, query = url.partition("?")
    _, prefix, path = target.partition(PREFIX + "/")
    if not prefix or not status:
        return None
    path = "/" + path
    operation, path_members = _operation(method, path)
    at = _http_time(headers["date"]) if "date" in headers else _time(started)
    pairs = parse_qsl(query, keep_blank_values=True) if query else []
    exchange = Exchange(
        place, method, path, pairs, sent_headers, sent, status, headers, received, at, operation, path_members
    )
    exchange.body, exchange.answer = _json(sent), _json(received)
    exchange.complete()
    return exchange


def _json(data: bytes) -> Any:
    if data:
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            pass
    return None


_BY_FIRST: dict[tuple[str, str], list[Operation[..., Any]]] = {}
for _row in SERVED.values():
    _BY_FIRST.setdefault((_row.method, _row.path.split("/")[1]), []).append(_row)


def _operation(method: str, path: str) -> tuple[Operation[..., Any] | None, Mapping[str, str]]:
    for row in _BY_FIRST.get((method, path.split("/", 2)[1]), ()):
        if (members := row.in_path(path)) is not None:
            return row, {name: unquote(value) for name, value in members.items()}
    return None, {}


@lru_cache(maxsize=64)
def _http_time(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except ValueError:
        return None


def _time(value: object) -> float | None:
    if isinstance(value, int | float):
        return value / 1000 if value > 10**11 else float(value)
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None


def _lines(file: BinaryIO, path: Path, names: Mapping[str, str]) -> Iterator[Exchange | Delivery | None]:
    """Yield the lines of a log: HAR entries, flat exchanges, deliveries with headers, or bare events."""
    number = 0
    while line := file.readline(MAX_ENTRY + 1):
        number += 1
        if len(line) > MAX_ENTRY:
            raise _unusable(path, f"line {number} is longer than {MAX_ENTRY:,} bytes")
        if not line.strip():
            continue
        try:
            raw = orjson.loads(line)
        except orjson.JSONDecodeError:
            raise _unusable(path, f"line {number} is not JSON; expected a HAR file or one JSON object a line") from None
        if not isinstance(raw, dict):
            raise _unusable(path, f"line {number} is not a JSON object")
        yield _line(raw, f"{path.name}:{number}", names)


def _line(raw: dict[str, Any], place: str, names: Mapping[str, str]) -> Exchange | Delivery | None:
    if isinstance(raw.get("request"), dict) and isinstance(raw.get("response"), dict):
        return _har_entry(raw, place)
    at = _time(_member(raw, names["time"]))
    if {"resource", "action", "body"} <= raw.keys():
        return Delivery(place, {}, raw, at)
    method, url, status = (_member(raw, names[name]) for name in ("method", "url", "status"))
    if isinstance(method, str) and isinstance(url, str) and str(status).isdigit():
        texts = {name: _member(raw, names[name]) for name in names if name.endswith(("headers", "body"))}
        return _exchange(
            place,
            method,
            url,
            _headers(texts["request_headers"]),
            _bytes(texts["request_body"]),
            int(str(status)),
            _headers(texts["response_headers"]),
            _bytes(texts["response_body"]),
            _member(raw, names["time"]),
        )
    event = _member(raw, names["body"])
    event = _json(event.encode()) if isinstance(event, str) else event
    if isinstance(event, dict) and {"resource", "action"} <= event.keys():
        return Delivery(place, _headers(_member(raw, names["headers"])), event, at)
    return None


def _member(raw: Mapping[str, Any], path: str) -> Any:
    """Return a member by its dotted path; None if it is missing."""
    if path in raw:
        return raw[path]
    value: Json = raw
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _bytes(body: object) -> bytes:
    if body is None:
        return b""
    return body.encode() if isinstance(body, str) else orjson.dumps(body)


def _database(path: Path) -> Iterator[Exchange | Delivery | None]:
    """Yield the events of an inbox, or the calls of a journal."""
    try:
        with closing(sqlite3.connect(f"file:{path.resolve()}?mode=ro", uri=True)) as file:
            tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if "events" in tables:
                for number, (body, arrived) in enumerate(file.execute("SELECT body, arrived FROM events"), 1):
                    if isinstance(event := _json(body), dict):
                        yield Delivery(f"{path.name}:{number}", {}, event, _time(arrived))
            elif "calls" in tables:
                calls = "SELECT operation, status, started, request, answer FROM calls ORDER BY number"
                for number, row in enumerate(file.execute(calls), 1):
                    yield _journaled(f"{path.name}:{number}", *row)
    except (
        sqlite3.Error,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        RecursionError,
    ) as error:  # of a damaged row
        raise _unusable(path, f"is not an inbox or a journal, or is damaged ({type(error).__name__})") from None


def _journaled(
    place: str, name: str, status: int | None, started: str, request: str, answer: str | None
) -> Exchange | None:
    operation = SERVED.get(name)
    if operation is None or status is None:
        return None
    members = json.loads(request)
    sent = {wire: value for wire, value in members.items() if f"{{{wire}}}" not in operation.path}
    target = operation.target({**members}, {})
    query = [(wire, str(value)) for wire, value in sent.items()] if operation.in_query else []
    exchange = Exchange(
        place,
        operation.method,
        target,
        query,
        {"content-type": "application/json"},
        b"",
        status,
        {},
        b"",
        _time(started),
        operation,
        operation.in_path(target) or {},
    )
    exchange.body = None if operation.in_query else sent
    exchange.answer = json.loads(answer) if answer else None
    exchange.complete()
    return exchange
