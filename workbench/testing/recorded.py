"""Recorded traffic as exchanges and deliveries, from HAR files, logs, `curl -v`, CSV, inboxes, journals and folders.

Files are read in pieces, so they may be of any size. Unreadable items are skipped and counted, with the place of the
first.
"""

import base64
import codecs
import csv
import gzip
import io
import json
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import parse_qsl

import attrs
import orjson

from workbench.base.errors import Problem, UnusableFile, UsageError, visible
from workbench.base.schema import strict_json
from workbench.base.schema.walk import get_path
from workbench.base.system.database import as_uri
from workbench.client.calls.pace import http_date
from workbench.sandbox.extensions import ROWS
from workbench.service.interface.table import OPERATIONS, PREFIX, Operation
from workbench.testing.facts import seconds_of

Json = Any
"""A JSON value."""
Members = Mapping[str, Any]
"""Members of a JSON object, or values by their meaning."""
Texts = Mapping[str, str]
"""Headers, path parameters, and names of members by their meaning."""
Values = Iterator[tuple[str, Any]]
"""Values of a file, each preceded by its place."""
SERVED: Mapping[str, Operation[..., Any]] = {**OPERATIONS, **ROWS}
"""Operations by name: documented and assumed ones."""
_SHAPES: dict[tuple[str, int], list[Operation[..., Any]]] = {}
"""Operations by their method and the number of slashes in their path, for a fast search."""
for _row in SERVED.values():
    _SHAPES.setdefault((_row.method, _row.path.count("/")), []).append(_row)
CHUNK = 1 << 20
MAX_ENTRY = 64 * CHUNK  # maximum bytes of an entry or line
MAX_UNPACKED = 4_000 * CHUNK  # maximum bytes of a file after decompression
NAMES = (
    "method", "url", "request", "status", "time", "request_headers", "request_body", "response_headers",
    "response_body", "headers", "body",
)  # fmt: skip
"""Meanings of a line's members, which are also their default names. The argument `names` maps meanings to other names.
`request` is nginx's "GET /v1/x HTTP/1.1".
"""
HINT = "name the members of a log, such as --name status=http.status_code"
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[\s,]*+")
_ENTRIES = re.compile(r'"entries"\s*:\s*\[\s*')
_HAR = re.compile(rb'\s*\{\s*"log"\s*:')
_REQUEST = re.compile(r"([A-Z]{3,7}) (\S+)(?: HTTP/[0-9.]+)?")
_ACCESS = re.compile(r'(?:\[([^]]{1,40})] )?"([A-Z]{3,7} \S{1,4000})(?: HTTP/[0-9.]+)?" (\d{3})\b')
_CURL_CALL = re.compile(r"^> (?=[A-Z]+ \S+ HTTP/)", re.MULTILINE)
_CURL_HEADER = re.compile(r"^([<>]) ([^:\n]+): (.*)$", re.MULTILINE)
_CURL_STATUS = re.compile(r"^< HTTP/[0-9.]+ (\d{3})", re.MULTILINE)
_http_date = lru_cache(maxsize=64)(http_date)
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError, RecursionError)
"""Python errors raised if a recorded value has an unexpected structure."""


@attrs.define
class Reading:
    """Counts of a read. Skipped items are counted by reason, with the place of the first."""

    counts: Counter[str] = attrs.field(factory=lambda: Counter(exchanges=0, events=0))
    skipped: dict[str, list[Any]] = attrs.field(factory=dict)
    hosts: set[str] = attrs.field(factory=set)  # hosts that responded to an operation of the interface
    newest: float = 0.0  # Unix time of the newest item, in seconds

    def skip(self, reason: str, place: str) -> None:
        """Count a skipped item by its reason."""
        self.skipped.setdefault(reason, [0, place])[0] += 1

    def read(self, place: str, function: Callable[..., Any], *arguments: object) -> Any:
        """Return the result of a function. If a value has an unexpected structure, skip the item and return None."""
        try:
            return function(*arguments)
        except MALFORMED as error:
            self.skip(f"not as expected ({type(error).__name__})", place)

    def notes(self) -> list[str]:
        """Return a line for each reason, with the number of skipped items."""
        return [f"skipped {count:,}: {reason} (first: {place})" for reason, (count, place) in self.skipped.items()]


def _object(value: object) -> dict[str, Any]:
    """Return a value if it is a JSON object, else an empty object."""
    return value if isinstance(value, dict) else {}


@attrs.define
class Exchange:
    """One request and its answer. Header names are in lower case."""

    place: str  # file, and number of the entry
    method: str
    path: str  # path after the prefix, such as "/payment-routes"
    query: list[tuple[str, str]]
    sent_headers: Texts
    sent: bytes
    status: int
    headers: Texts
    received: bytes
    at: float | None  # Unix time in seconds, by the service's clock if known
    operation: Json  # typed as Any, because an Operation is a descriptor
    path_members: Texts
    body: Json  # JSON body of the request, or None without a body
    answer: Json  # JSON body of the response

    @property
    def name(self) -> str:
        """Name of the operation; empty if the operation is unknown."""
        return "" if self.operation is None else self.operation.name

    @property
    def ok(self) -> bool:
        """Whether the call was carried out."""
        return 200 <= self.status < 300

    @property
    def key(self) -> str:
        """API key of the request; empty if the recorder left it out."""
        return self.sent_headers.get("api-key") or self.sent_headers.get("authorization", "").partition(" ")[2]

    @property
    def members(self) -> dict[str, Any]:
        """Members of the request, from its query, body and path."""
        return {**dict(self.query), **_object(self.body), **self.path_members}

    @property
    def answered(self) -> Members:
        """The answer; empty if it is not an object."""
        return _object(self.answer)


@attrs.define
class Delivery:
    """One webhook delivery. `body` and `spend` are empty if the event has none."""

    place: str
    headers: Texts
    event: Members
    at: float | None
    body: Members
    spend: Members
    resource: str  # kind of the event's record, such as "card"
    action: str  # what happened to the record, such as "updated"

    @property
    def cents(self) -> int | None:
        """Amount of the event's spend in cents; None if the event has none."""
        amount = self.spend.get("amount")
        return amount if isinstance(amount, int) else None

    @property
    def is_settlement(self) -> bool:
        """Whether the event shows a settlement."""
        return self.action == "completed" and (self.cents or 0) > 0

    @property
    def content(self) -> int:
        """Hash of the event without its envelope id. All delivery attempts of an event have the same hash."""
        return hash(orjson.dumps({**self.event, "id": None}, option=orjson.OPT_SORT_KEYS))


Item = Exchange | Delivery
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""One path or several paths."""


def read_traffic(paths: Iterable[Path], names: Texts, reading: Reading) -> Iterator[Item]:
    """Yield the exchanges and deliveries in files and folders, in order. `reading` counts the unreadable items.

    Raises:
        UnusableFile: A file cannot be read or holds no traffic; the message names the skipped items.
    """
    meanings = {name: names.get(name, name) for name in NAMES}
    for folder_or_file in paths:
        parts, count = [folder_or_file], 0
        if folder_or_file.is_dir():
            parts = sorted(path for path in folder_or_file.rglob("[!.]*") if path.is_file() and path.suffix != ".toml")
        before = len(reading.skipped)
        for path in parts:
            for item in _read_file(path, meanings, reading):
                count += 1
                reading.counts["exchanges" if isinstance(item, Exchange) else "events"] += 1
                reading.newest = max(reading.newest, item.at or 0.0)
                yield item
        if not count:
            reasons = "; ".join(reading.notes()[before:]) or HINT
            raise _unusable(folder_or_file, f"holds no exchange of a request and an answer, and no event; {reasons}")


def given_files(paths: Paths, names: Texts, of: str) -> list[Path]:
    """Return one path or several paths as a list.

    Raises:
        UsageError: No path is given, or `names` has an unknown meaning.
    """
    message = f"is not one of {', '.join(NAMES)}"
    problems = [Problem(visible(f"names.{name}", 60), "unknown", message) for name in names if name not in NAMES]
    given = [Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    if not given:
        problems.append(Problem("paths", "required", "must be a path, or a list of at least one file or folder"))
    if problems:
        raise UsageError(problems, of=of)
    return given


def _unusable(path: Path, problem: str) -> UnusableFile:
    return UnusableFile(f"{visible(path.name, 100)}: {problem}")


def _read_file(path: Path, names: Texts, reading: Reading) -> Iterator[Item]:
    try:
        if not path.is_file():
            raise _unusable(path, "cannot be read (no such file)")
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            with gzip.open(raw) if packed else raw as file:
                head = file.read(4096)
                file.seek(0)
                for place, raw in _values(path, head, file, reading):  # type: ignore[arg-type]
                    item = reading.read(place, _item, raw, place, names, reading)
                    if item is not None:
                        yield item
                    if packed and file.tell() > MAX_UNPACKED:
                        raise _unusable(path, f"unpacks to more than {MAX_UNPACKED:,} bytes")
    except (OSError, EOFError) as error:
        problem = getattr(error, "strerror", None) or type(error).__name__
        raise _unusable(path, f"cannot be read ({problem})") from None


def _values(path: Path, head: bytes, file: BinaryIO, reading: Reading) -> Values:
    """Return the values of a file, each after its place. The first bytes of the file select the format."""
    start, name = head.removeprefix(b"\xef\xbb\xbf"), visible(path.name, 100)
    if start.startswith(b"SQLite format 3\0"):
        return _database(path, name)
    if _HAR.match(start):
        return _har_entries(file, name, reading)
    if re.search(rb"^[*<>] ", head, re.MULTILINE) and b" HTTP/" in head:
        return _curl(file, name, reading)
    if path.name.lower().removesuffix(".gz").endswith(".csv"):
        return _rows(file, name, reading)
    return _lines(file, name, reading)


def _item(raw: Members, place: str, names: Texts, reading: Reading) -> Item | None:
    """Return the exchange or event of a HAR entry, a journal's row, a bare event, or a log's members."""
    if isinstance(raw.get("request"), dict) and "response" in raw:
        return item_of(_har_members(raw, place, reading), place, reading)
    if "journaled" in raw:
        return item_of(_journaled(raw), place, reading)
    members = {
        meaning: value for meaning, name in names.items() if (value := _member(raw, name, raw.get(meaning))) is not None
    }
    if match := _REQUEST.match(str(members.get("request"))):
        members["method"], members["url"] = match.groups()
    if {"resource", "action", "body"} <= raw.keys():
        members = {"body": raw, "time": members.get("time")}
    return item_of(members, place, reading)


def _member(raw: Members, path: str, default: object) -> Any:
    """Return a member by its name or dotted path."""
    return raw[path] if path in raw else get_path(raw, path) if "." in path else default


def _har_entries(file: BinaryIO, name: str, reading: Reading) -> Values:
    """Yield the entries of a HAR file, parsed one by one, until an entry is truncated or not JSON."""
    decode, data, start = codecs.getincrementaldecoder("utf-8-sig")("replace").decode, "", None
    while start is None:  # skip the head of the log, which may list many pages
        more = decode(file.read(CHUNK))
        data += more
        start = _ENTRIES.search(data)
        if start is None and (not more or len(data) > MAX_ENTRY):
            raise UnusableFile(f"{name}: has no log.entries: not a HAR file")
    end, number = start.end(), 1
    while data[end : end + 1] != "]":
        try:
            entry, end = _DECODER.raw_decode(data, end)
        except (ValueError, RecursionError):
            more = decode(file.read(max(CHUNK, len(data) - end)))
            if not more or len(data) - end > MAX_ENTRY:
                reading.skip("an entry is cut off, not JSON or too large", f"{name}:{number}")
                return
            data, end = _BETWEEN.sub("", data[end:] + more, count=1), 0
            continue
        yield f"{name}:{number}", entry
        number += 1
        end = _BETWEEN.match(data, end).end()  # type: ignore[union-attr]


def _headers(raw: object) -> dict[str, str]:
    raw = _json(raw) if isinstance(raw, str) else raw
    if isinstance(raw, list):
        pairs = [(pair["name"], pair["value"]) if isinstance(pair, dict) else pair for pair in raw]
        return {str(name).lower(): str(value) for name, value in pairs}
    return {str(name).lower(): str(value) for name, value in raw.items()} if isinstance(raw, Mapping) else {}


def _har_members(entry: Json, place: str, reading: Reading) -> Members:
    request, response = entry["request"], entry.get("response") or {}
    content = response.get("content") or {}
    text = content.get("text") or ""
    if not text and (content.get("size") or 0) > 0 and content.get("size") != -1:
        reading.skip("the recorder left out the body of an answer (read without the body)", place)
    return {
        "method": request["method"],
        "url": request["url"],
        "status": response.get("status") or 0,
        "time": entry.get("startedDateTime"),
        "request_headers": request.get("headers"),
        "request_body": (request.get("postData") or {}).get("text"),
        "response_headers": response.get("headers"),
        "response_body": base64.b64decode(text) if content.get("encoding") == "base64" else text,
    }


def item_of(members: Members, place: str, reading: Reading) -> Item | None:
    """Return an exchange or event from members named as in `NAMES`. Skip anything else, and return None."""
    if isinstance(members.get("method"), str) and isinstance(members.get("url"), str) and "status" in members:
        return _exchange(members, place, reading)
    event = members.get("body")
    event = _json(event) if isinstance(event, str | bytes) else event
    if isinstance(event, dict) and {"resource", "action"} <= event.keys():
        headers, at = _headers(members.get("headers")), seconds_of(members.get("time"))
        body = _object(event.get("body"))
        kind = str(event["resource"]), str(event["action"])
        return Delivery(place, headers, event, at, body, _object(body.get("spend")), *kind)
    reading.skip(f"neither an exchange nor an event; {HINT}", place)
    return None


def _exchange(members: Members, place: str, reading: Reading) -> Exchange | None:
    """Return an exchange. If it has no answer or belongs to another service, skip it and return None."""
    method, url, status = members["method"], members["url"], str(members["status"])
    number = int(status) if status.isascii() and status.isdecimal() else 0
    if not 100 <= number < 1000:
        reading.skip("no answer", place)
        return None
    target, _, query = url.partition("?")
    host = target.partition("://")[2].partition("/")[0]
    _, prefix, path = target.partition(PREFIX + "/")
    operation, path_members = _operation(method, "/" + path) if prefix else (None, {})
    if operation is not None:
        reading.hosts.add(host)
    if not prefix or (operation is None and reading.hosts and host not in reading.hosts):
        reading.skip("of another host, or outside of the interface", place)
        return None
    headers, sent = _headers(members.get("response_headers")), _bytes(members.get("request_body"))
    received = _bytes(members.get("response_body"))
    return Exchange(
        place=place,
        method=method,
        path="/" + path,
        query=parse_qsl(query, keep_blank_values=True) if query else [],
        sent_headers=_headers(members.get("request_headers")),
        sent=sent,
        status=number,
        headers=headers,
        received=received,
        at=_http_date(headers["date"]) if "date" in headers else seconds_of(members.get("time")),
        operation=operation,
        path_members=path_members,
        body=_json(sent),
        answer=_json(received),
    )


def _json(data: bytes | str) -> Any:
    if data:
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            pass
    return None


def _bytes(body: object) -> bytes:
    if body is None or isinstance(body, bytes):
        return body or b""
    return body.encode() if isinstance(body, str) else orjson.dumps(body)


def _operation(method: str, path: str) -> tuple[Json, Texts]:
    for row in _SHAPES.get((method, path.count("/")), ()):
        if (members := row.in_path(path)) is not None:
            return row, members
    return None, {}


def _lines(file: BinaryIO, name: str, reading: Reading) -> Values:
    """Yield the values of a log: HAR entries, flat exchanges, deliveries with headers, bare events, access logs."""
    for number, line in enumerate(iter(lambda: file.readline(MAX_ENTRY + 1), b""), 1):
        place = f"{name}:{number}"
        if len(line) > MAX_ENTRY:
            reading.skip(f"a line is longer than {MAX_ENTRY:,} bytes", place)
            return
        raw = _json(line)
        if isinstance(raw, dict):
            yield place, raw
        elif access := _ACCESS.search(line[:8_192].decode("utf-8", "replace")):
            yield place, {"time": access[1], "request": access[2], "status": access[3]}
        elif line.strip():
            cut = line[:1] == b"{" and not line.endswith(b"\n")
            reading.skip("the last line is cut off" if cut else "a line is not a JSON object", place)


def _rows(file: BinaryIO, name: str, reading: Reading) -> Values:
    """Yield the rows of a CSV file."""
    csv.field_size_limit(MAX_ENTRY)
    text = io.TextIOWrapper(file, "utf-8-sig", "replace", newline="")
    try:
        for number, row in enumerate(csv.DictReader(text), 2):
            yield f"{name}:{number}", row
    except csv.Error as error:
        reading.skip(f"not CSV ({error})", name)
    finally:
        text.detach()  # detached, so that the file stays open for its owner


def _curl(file: BinaryIO, name: str, reading: Reading) -> Values:
    """Yield the exchanges in the output of `curl -v`, which does not contain request bodies."""
    text = file.read(MAX_ENTRY).decode("utf-8", "replace").replace("\r", "")
    for number, part in enumerate(_CURL_CALL.split(text)[1:], 1):
        place, (request, *lines) = f"{name}:{number}", part.splitlines()
        method, target = request.split(" ")[:2]
        sent, received = (
            {key.lower(): text for side, key, text in _CURL_HEADER.findall(part) if side == of} for of in "><"
        )
        if method != "GET":
            reading.skip("curl does not show the body of a request (read without the body)", place)
        yield (
            place,
            {
                "method": method,
                "url": f"https://{sent.get('host', '')}{target}",
                "status": next(iter(_CURL_STATUS.findall(part)), 0),
                "request_headers": sent,
                "response_headers": received,
                "response_body": "\n".join(
                    line for line in lines if not line.startswith(("*", "<", ">", "{ [", "} ["))
                ),
            },
        )


def _database(path: Path, name: str) -> Values:
    """Yield the events of an inbox, or the calls of a journal."""
    queries = {
        "events": "SELECT body, arrived AS time FROM events",
        "calls": "SELECT operation, status, started AS time, request AS journaled, answer AS response_body "
        "FROM calls ORDER BY number",
    }
    try:
        with closing(sqlite3.connect(as_uri(path.resolve(), "ro"), uri=True)) as file:
            file.row_factory = sqlite3.Row
            tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for table in queries.keys() & tables:
                for number, row in enumerate(file.execute(queries[table]), 1):
                    yield f"{name}:{number}", dict(row)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise UnusableFile(f"{name}: is not an inbox or a journal, or is damaged ({type(error).__name__})") from None


def _journaled(row: Json) -> Members:
    """Return the members of a journal's call."""
    operation, members = SERVED[row["operation"]], strict_json.stored(row["journaled"])
    body = {wire: value for wire, value in members.items() if f"{{{wire}}}" not in operation.path}
    return {
        **row,
        "method": operation.method,
        "url": PREFIX + operation.target(members, body),
        "request_headers": {"content-type": "application/json"},
        "request_body": None if operation.in_query else body,
    }
