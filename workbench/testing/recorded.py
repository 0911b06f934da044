"""Recorded traffic as exchanges and deliveries, from HAR files, logs, `curl -v`, CSV, inboxes, journals and folders.

Files are read in pieces, so they may be of any size. Unreadable items are skipped and counted, with the place of the
first.
"""

import base64
import csv
import gzip
import hashlib
import io
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import parse_qsl, unquote, urlsplit

import attrs
import orjson

from workbench.base.errors import UnusableFile, visible
from workbench.base.schema import strict_json
from workbench.base.schema.walk import get_path
from workbench.base.system.database import as_uri
from workbench.sandbox.extensions import ROWS
from workbench.service.interface.table import OPERATIONS, PREFIX, Operation
from workbench.testing.facts import seconds_of

Json = Any
"""A JSON value."""
SERVED: Mapping[str, Operation[..., Any]] = {**OPERATIONS, **ROWS}
"""Operations by name: documented and assumed ones."""
CHUNK = 1 << 20
MAX_ENTRY = 64 * CHUNK  # maximum bytes of an entry or line
MAX_UNPACKED = 4_000 * CHUNK  # maximum bytes of a file after decompression
NAMES = (
    "method", "url", "request", "status", "time", "request_headers", "request_body", "response_headers",
    "response_body", "headers", "body",
)  # fmt: skip
"""Members of a line by their meaning; `names` maps the members of other logs. `request` is nginx's "GET /v1/x
HTTP/1.1".
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
_UNUSABLE = (LookupError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)


@attrs.define
class Reading:
    """Facts about a read. For each reason, skipped items are counted, with the first place."""

    counts: Counter[str] = attrs.field(factory=lambda: Counter(exchanges=0, events=0))
    skipped: dict[str, list[Any]] = attrs.field(factory=dict)
    hosts: set[str] = attrs.field(factory=set)  # hosts that responded to an operation of the interface
    newest: float = 0.0  # Unix time in seconds

    def skip(self, reason: str, place: str) -> None:
        """Count an item that is skipped, by reason."""
        self.skipped.setdefault(reason, [0, place])[0] += 1

    def notes(self) -> list[str]:
        """Return a line for each reason."""
        return [f"skipped {count:,}: {reason} (first: {place})" for reason, (count, place) in self.skipped.items()]


def _object(value: object) -> dict[str, Any]:
    """Return a value if it is a JSON object, else an empty object."""
    return value if isinstance(value, dict) else {}


@attrs.define(slots=True)
class Exchange:
    """One request and its answer. Header names are in lower case."""

    place: str  # file, and number of the entry
    method: str
    path: str  # path after the prefix, such as "/payment-routes"
    query: list[tuple[str, str]]
    sent_headers: Mapping[str, str]
    sent: bytes
    status: int
    headers: Mapping[str, str]
    received: bytes
    at: float | None  # Unix time in seconds, by the service's clock if known
    operation: Json = None  # typed as Any, because an Operation is a descriptor
    path_members: Mapping[str, str] = {}
    body: Json = None  # JSON body of the request, or None without a body
    answer: Json = None  # JSON body of the response

    @property
    def name(self) -> str:
        """Name of the operation; empty if the operation is unknown."""
        return "" if self.operation is None else self.operation.name

    @property
    def ok(self) -> bool:
        """Whether the call was carried out."""
        return 200 <= self.status < 300

    @property
    def members(self) -> dict[str, Any]:
        """Members of the request, from its query, body and path."""
        return {**dict(self.query), **_object(self.body), **self.path_members}

    @property
    def answered(self) -> Mapping[str, Any]:
        """The answer; empty if it is not an object."""
        return _object(self.answer)


@attrs.define(slots=True)
class Delivery:
    """One webhook delivery."""

    place: str
    headers: Mapping[str, str]
    event: Mapping[str, Any]
    at: float | None

    @property
    def body(self) -> Mapping[str, Any]:
        """Body of the event; empty if the event has no object there."""
        return _object(self.event.get("body"))

    @property
    def spend(self) -> Mapping[str, Any]:
        """Spend of the event; empty if the event has none."""
        return _object(self.body.get("spend"))

    @property
    def kind(self) -> str:
        """Kind of the event, such as "card.updated"."""
        return f"{self.event.get('resource')}.{self.event.get('action')}"

    @property
    def content(self) -> bytes:
        """Digest of the event without its envelope id. All delivery attempts of an event have the same digest."""
        rest = {name: value for name, value in self.event.items() if name != "id"}
        return hashlib.blake2b(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


Item = Exchange | Delivery


def read_traffic(paths: Iterable[Path], names: Mapping[str, str], reading: Reading) -> Iterator[Item]:
    """Yield the exchanges and deliveries in files and folders, in order. `reading` counts the unreadable items.

    Raises:
        UnusableFile: A file cannot be read or holds no traffic; the message names the skipped items.
    """
    meanings = {name: names.get(name, name) for name in NAMES}
    for folder_or_file in paths:
        parts = [folder_or_file]
        if folder_or_file.is_dir():
            parts = sorted(
                path for path in folder_or_file.rglob("*") if path.is_file() and not path.name.startswith(".")
            )
        before, count = len(reading.skipped), 0
        for path in parts:
            if folder_or_file.is_dir() and path.suffix == ".toml":
                continue
            for item in _read_file(path, meanings, reading):
                count += 1
                reading.counts["exchanges" if isinstance(item, Exchange) else "events"] += 1
                reading.newest = max(reading.newest, item.at or 0.0)
                yield item
        if not count:
            reasons = "; ".join(reading.notes()[before:]) or HINT
            raise _unusable(folder_or_file, f"holds no exchange of a request and an answer, and no event; {reasons}")


def _unusable(path: Path, problem: str) -> UnusableFile:
    return UnusableFile(f"{visible(path.name, 100)}: {problem}")


def _read_file(path: Path, names: Mapping[str, str], reading: Reading) -> Iterator[Item]:
    try:
        if not path.is_file():
            raise _unusable(path, "cannot be read (no such file)")
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            with gzip.open(raw) if packed else raw as file:
                head = file.read(4096)
                file.seek(0)
                for item in _items(path, head, file, names, reading):  # type: ignore[arg-type]
                    if item is not None:
                        yield item
                    if packed and file.tell() > MAX_UNPACKED:
                        raise _unusable(path, f"unpacks to more than {MAX_UNPACKED:,} bytes")
    except (OSError, EOFError) as error:
        problem = getattr(error, "strerror", None) or type(error).__name__
        raise _unusable(path, f"cannot be read ({problem})") from None


def _items(
    path: Path, head: bytes, file: BinaryIO, names: Mapping[str, str], reading: Reading
) -> Iterator[Item | None]:
    """Return the items of a file. The first bytes of the file select the format."""
    start = head.removeprefix(b"\xef\xbb\xbf")
    if start.startswith(b"SQLite format 3\0"):
        return _database(path, reading)
    if _HAR.match(start):
        return (_kept(_har_entry, raw, place, reading) for raw, place in _har_entries(file, path, reading))
    if re.search(rb"^[*<>] ", head, re.MULTILINE) and b" HTTP/" in head:
        return _curl(file, path, reading)
    if path.name.lower().removesuffix(".gz").endswith(".csv"):
        return _rows(file, path, names, reading)
    return _lines(file, path, names, reading)


def _kept(read: Callable[..., Item | None], raw: Json, place: str, reading: Reading, *more: object) -> Item | None:
    """Return the result of reading a value. A value with an unexpected structure is skipped."""
    try:
        return read(raw, place, reading, *more)
    except _UNUSABLE as error:
        reading.skip(f"not as expected ({type(error).__name__})", visible(place, 120))
        return None


# HAR


def _har_entries(file: BinaryIO, path: Path, reading: Reading) -> Iterator[tuple[Any, str]]:
    """Yield the entries of a HAR file, parsed one by one, until an entry is truncated or not JSON."""
    text, data, start = io.TextIOWrapper(file, "utf-8-sig", "replace"), "", None
    try:
        while start is None:  # reads the head of the HAR log, which may list many pages
            more = text.read(CHUNK)
            data += more
            start = _ENTRIES.search(data)
            if start is None and (not more or len(data) > MAX_ENTRY):
                raise _unusable(path, "has no log.entries: not a HAR file")
        end, number = start.end(), 1
        while data[end : end + 1] != "]":
            try:
                entry, end = _DECODER.raw_decode(data, end)
            except (ValueError, RecursionError):
                more = text.read(max(CHUNK, len(data) - end))
                if not more or len(data) - end > MAX_ENTRY:
                    reading.skip("an entry is cut off, not JSON or too large", visible(f"{path.name}:{number}", 120))
                    return
                data, end = _BETWEEN.sub("", data[end:] + more, count=1), 0
                continue
            yield entry, f"{path.name}:{number}"
            number += 1
            end = _BETWEEN.match(data, end).end()  # type: ignore[union-attr]
    finally:
        text.detach()  # detached, so that the file stays open for its owner


def _headers(raw: object) -> dict[str, str]:
    raw = _json(raw.encode()) if isinstance(raw, str) else raw
    pairs: Iterable[Any] = raw.items() if isinstance(raw, Mapping) else ()
    if isinstance(raw, list):
        pairs = [(pair["name"], pair["value"]) if isinstance(pair, dict) else pair for pair in raw]
    return {str(name).lower(): str(value) for name, value in pairs}


def _har_entry(entry: Json, place: str, reading: Reading) -> Item | None:
    request, response = entry["request"], entry.get("response") or {}
    content = response.get("content") or {}
    text = content.get("text") or ""
    if not text and (content.get("size") or 0) > 0 and content.get("size") != -1:
        reading.skip("the body of an answer was not kept (the exchange is read without it)", visible(place, 120))
    members = {
        "method": request["method"],
        "url": request["url"],
        "status": response.get("status") or 0,
        "time": entry.get("startedDateTime"),
        "request_headers": request.get("headers"),
        "request_body": (request.get("postData") or {}).get("text"),
        "response_headers": response.get("headers"),
        "response_body": base64.b64decode(text) if content.get("encoding") == "base64" else text,
    }
    return item_of(members, place, reading)


# exchanges


def item_of(members: Mapping[str, Any], place: str, reading: Reading) -> Item | None:
    """Return the exchange or event with some of the members in `NAMES`; None for anything else, which is skipped."""
    if isinstance(members.get("method"), str) and isinstance(members.get("url"), str) and "status" in members:
        return _exchange(members, place, reading)
    event = members.get("body")
    event = _json(_bytes(event)) if isinstance(event, str | bytes) else event
    if isinstance(event, dict) and {"resource", "action"} <= event.keys():
        return Delivery(place, _headers(members.get("headers")), event, seconds_of(members.get("time")))
    reading.skip(f"neither an exchange nor an event; {HINT}", visible(place, 120))
    return None


def _exchange(members: Mapping[str, Any], place: str, reading: Reading) -> Exchange | None:
    """Return an exchange; None, which is noted, if it has no answer or belongs to another service."""
    method, url, status = members["method"], members["url"], str(members["status"])
    number = int(status) if status.isascii() and status.isdecimal() else 0
    if not 100 <= number < 1000:
        reading.skip("no answer", visible(place, 120))
        return None
    host = urlsplit(url).netloc if "://" in url else ""
    target, _, query = url.partition("?")
    _, prefix, path = target.partition(PREFIX + "/")
    operation, path_members = _operation(method, "/" + path) if prefix else (None, {})
    if operation is not None:
        reading.hosts.add(host)
    if not prefix or (operation is None and reading.hosts and host not in reading.hosts):
        reading.skip("of another host, or outside of the interface", visible(place, 120))
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
        at=http_time(headers["date"]) if "date" in headers else seconds_of(members.get("time")),
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


_BY_FIRST: dict[tuple[str, str], list[Operation[..., Any]]] = {}
for _row in SERVED.values():
    _BY_FIRST.setdefault((_row.method, _row.path.split("/")[1]), []).append(_row)


def _operation(method: str, path: str) -> tuple[Operation[..., Any] | None, Mapping[str, str]]:
    for row in _BY_FIRST.get((method, path.split("/", 2)[1]), ()):
        if (members := row.in_path(path)) is not None:
            return row, {name: unquote(value) for name, value in members.items()}
    return None, {}


@lru_cache(maxsize=64)
def http_time(text: str) -> float | None:
    """Return the time of a Date header, in seconds since 1970; None for any other text."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


# logs


def _lines(file: BinaryIO, path: Path, names: Mapping[str, str], reading: Reading) -> Iterator[Item | None]:
    """Yield the items of a log: HAR entries, flat exchanges, deliveries with headers, bare events, access logs."""
    number = 0
    while line := file.readline(MAX_ENTRY + 1):
        number += 1
        place = f"{path.name}:{number}"
        if len(line) > MAX_ENTRY:
            reading.skip(f"a line is longer than {MAX_ENTRY:,} bytes", visible(place, 120))
            return
        if not line.strip():
            continue
        raw = _json(line)
        if isinstance(raw, dict):
            yield _kept(_line, raw, place, reading, names)
        elif access := _ACCESS.search(line[:8_192].decode("utf-8", "replace")):
            method, url = access[2].split(" ", 1)
            members = {"time": access[1], "method": method, "url": url, "status": access[3]}
            yield _kept(item_of, members, place, reading)
        else:
            cut = line[:1] == b"{" and not line.endswith(b"\n")
            reading.skip("the last line is cut off" if cut else "a line is not a JSON object", visible(place, 120))


def _rows(file: BinaryIO, path: Path, names: Mapping[str, str], reading: Reading) -> Iterator[Item | None]:
    """Yield the exchanges or deliveries in the rows of a CSV file."""
    csv.field_size_limit(MAX_ENTRY)
    text = io.TextIOWrapper(file, "utf-8-sig", "replace", newline="")
    rows = csv.DictReader(text)
    try:
        for number, row in enumerate(rows, 2):
            yield _kept(_line, row, f"{path.name}:{number}", reading, names)
    except csv.Error as error:
        reading.skip(f"not CSV ({error})", visible(path.name, 120))
    finally:
        text.detach()  # detached, so that the file stays open for its owner


def _line(raw: dict[str, Any], place: str, reading: Reading, names: Mapping[str, str]) -> Item | None:
    if isinstance(raw.get("request"), dict) and isinstance(raw.get("response"), dict):
        return _har_entry(raw, place, reading)
    members = {meaning: value for meaning, name in names.items() if (value := _member(raw, name)) is not None}
    if match := _REQUEST.match(str(members.get("request"))):
        members["method"], members["url"] = match.groups()
    if {"resource", "action", "body"} <= raw.keys():
        members = {"body": raw, "time": members.get("time")}
    return item_of(members, place, reading)


def _member(raw: Mapping[str, Any], path: str) -> Any:
    """Return a member by its name or dotted path; None if the member is missing."""
    return raw[path] if path in raw else get_path(raw, path) if "." in path else None


def _curl(file: BinaryIO, path: Path, reading: Reading) -> Iterator[Item | None]:
    """Yield the exchanges in the output of `curl -v`, which does not contain request bodies."""
    text = file.read(MAX_ENTRY).decode("utf-8", "replace").replace("\r", "")
    for number, part in enumerate(_CURL_CALL.split(text)[1:], 1):
        place, lines = f"{path.name}:{number}", part.splitlines()
        method, target = lines[0].split(" ")[:2]
        pairs = [(side, name.lower(), value) for side, name, value in _CURL_HEADER.findall(part)]
        sent, received = ({name: value for side, name, value in pairs if side == of} for of in "><")
        if method != "GET":
            reading.skip("curl does not show the body of a request (read without it)", visible(place, 120))
        body = (line for line in lines[1:] if not line.startswith(("*", "<", ">", "{ [", "} [")))
        members = {
            "method": method,
            "url": f"https://{sent.get('host', '')}{target}",
            "status": next(iter(_CURL_STATUS.findall(part)), 0),
            "request_headers": sent,
            "response_headers": received,
            "response_body": "\n".join(body),
        }
        yield _kept(item_of, members, place, reading)


# files of the workbench


def _database(path: Path, reading: Reading) -> Iterator[Item | None]:
    """Yield the events of an inbox, or the calls of a journal."""
    queries = {
        "events": (_stored_event, "SELECT body, arrived FROM events"),
        "calls": (_journaled, "SELECT operation, status, started, request, answer FROM calls ORDER BY number"),
    }
    try:
        with closing(sqlite3.connect(as_uri(path.resolve(), "ro"), uri=True)) as file:
            tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for table, (read, query) in queries.items():
                if table in tables:
                    for number, row in enumerate(file.execute(query), 1):
                        yield _kept(read, row, f"{path.name}:{number}", reading)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _unusable(path, f"is not an inbox or a journal, or is damaged ({type(error).__name__})") from None


def _stored_event(row: Json, place: str, reading: Reading) -> Item | None:
    return item_of(dict(zip(("body", "time"), row, strict=True)), place, reading)


def _journaled(row: Json, place: str, reading: Reading) -> Item | None:
    name, status, started, request, answer = row
    operation, members = SERVED[name], strict_json.stored(request)
    body = {wire: value for wire, value in members.items() if f"{{{wire}}}" not in operation.path}
    exchange = {
        "method": operation.method,
        "url": PREFIX + operation.target(members, body),
        "status": status,
        "time": started,
        "request_headers": {"content-type": "application/json"},
        "request_body": None if operation.in_query else body,
        "response_body": answer,
    }
    return item_of(exchange, place, reading)
