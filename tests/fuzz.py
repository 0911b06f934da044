"""Randomly changed files, answers and requests: `python -m tests.fuzz TARGET --cases 100000 --seed 1`.

A seed and a number N determine a case, and `--first N --cases 1` runs only that case. A case fails if it raises an exception
that is not a workbench error, or takes more than a second of processor time. The memory of the process is measured.
"""

import argparse
import csv
import gzip
import http.client
import io
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from copy import deepcopy
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs
import httpx

from tests.client.doubles import CARD, client_on
from workbench import events, sequences
from workbench.analysis.tables.frames import to_frame
from workbench.base.errors import InvalidRequest, UsageError, WorkbenchError
from workbench.base.schema import strict_json
from workbench.runs.bulk.plan import plan_of
from workbench.runs.bulk.rows import raw_bodies
from workbench.runs.sequences import reading
from workbench.runs.sequences.reading import problems
from workbench.service import rendering
from workbench.service.interface.convert import converter, placeholders
from workbench.service.interface.table import OPERATIONS

SECOND = 1.0  # maximum processor time in seconds; a longer case counts as a hang
SAMPLES = Path(__file__).parent / "samples"
LONGEST = 200_000  # maximum bytes of a mutated text
ROWS = ("simulate_authorization", "create_user_application", "create_payment_account", "update_user", "simulate_refund")
"""Operations whose rows are written to files."""

Case = Callable[[random.Random], bool]
"""Function that runs one case, and returns whether its input was accepted."""


@attrs.frozen
class Target:
    """A fuzzed input, and the process that reads it."""

    case: Case
    process: int = attrs.field(factory=os.getpid)


# mutations of bytes

WORDS = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r\n", b"\n", b'"', b"'", b"\\", b",", b";", b"\t", b"null", b"true", b"NaN",
    b"Infinity", b"-0", b"-1", b"1e5", b"12.50", b"1e999999999", b"1e-999999999", b"9" * 5000, b"9223372036854775808",
    b"[" * 3000, b"{" * 3000, b'{"a":' * 900, b"a." * 60, b"=1+1", b"\\ud800", b"\\u0000", "\u202e".encode(), "é東".encode(),
    b"2026-02-30", b"0000-00-00T24:00:00Z", b"9999-12-31T23:59:59.999999999-23:59", b"FULL", b"../../etc/passwd", b"%s%n",
    b"<script>", b"\x1b[31m", b"A" * 20_000, b"{}", b"[]", b'""', b" ", b"0",
)  # fmt: skip
_TOKEN = re.compile(rb'"[^"\n]*"|[\w.+-]+')


def changed(chance: random.Random, data: bytes, words: Sequence[bytes] = (), others: Sequence[bytes] = ()) -> bytes:
    """Return bytes with one to six random changes of bits, slices, lines, words, or parts of other texts."""
    words = (*WORDS, *words * 3)  # words of the format are drawn three times as often
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 6))):
        size = len(data)
        at = chance.randrange(size + 1)
        until = min(size, at + chance.choice((1, 1, 2, 4, 16, 256)))
        match chance.randrange(10):
            case 0 if size:
                at = min(at, size - 1)
                data = data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
            case 1:
                data = data[:at] + bytes([chance.randrange(256)]) + data[until:]
            case 2:
                data = data[:at] + data[until:]
            case 3:
                data = data[:at] + data[at:until] * chance.choice((2, 3, 50)) + data[until:]
            case 4:
                data = data[:at] + chance.choice(words) + data[at:]
            case 5 | 6:
                tokens = list(_TOKEN.finditer(data))
                if tokens:
                    found = chance.choice(tokens)
                    put = chance.choice((*words, chance.choice(tokens)[0]))
                    data = data[: found.start()] + put + data[found.end() :]
            case 7:
                lines = data.splitlines(keepends=True)
                if lines:
                    lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))
                    if chance.random() < 0.5:
                        del lines[chance.randrange(len(lines))]
                data = b"".join(lines)
            case 8 if others:
                other = chance.choice(others)
                start = chance.randrange(len(other) + 1)
                data = data[:at] + other[start : start + chance.choice((8, 64, 512))] + data[at:]
            case _:
                data = data[:at] if chance.random() < 0.3 else data
        data = data[:LONGEST]
    return data


VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**63, 10**400, 1.5, 1e300, "", " ", "x", "0", "12.50", "-1", "1e5", "2026-01-02T03:04:05Z", "2026-13-01", "0000-01-01",
    "9999-12-31T23:59:59.999999999-23:59", "\u202e\x1b[31m", "<b>", "A" * 5_000, [], {}, [None], [[1]], {"a": {"b": [1]}}, ["x"] * 300,
)  # fmt: skip


def changed_json(chance: random.Random, text: bytes) -> bytes:
    """Return JSON in which one to three members were changed, added, duplicated or removed."""
    value = json.loads(text)
    for _ in range(chance.choice((1, 1, 2, 3))):
        inside = [value]
        places = []
        while inside:
            one = inside.pop()
            found = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
            places += [(one, key) for key, _ in found]
            inside += [inner for _, inner in found]
        if not places:
            break
        into, key = chance.choice(places)
        match chance.randrange(5):
            case 0:
                del into[key]
            case 1:
                other, name = chance.choice(places)
                into[key] = deepcopy(other[name])
            case 2 if isinstance(into, dict):
                into[chance.choice(("new", "", "id", "a.b", "\ud7ff", "x" * 500))] = deepcopy(chance.choice(VALUES))
            case _:
                into[key] = deepcopy(chance.choice(VALUES))
    return json.dumps(value).encode()


def _flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, one in value.items():
        if isinstance(one, dict):
            yield from _flat(one, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", one


def _tables() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield operations with three rows each, by dotted column."""
    for name in ROWS:
        raw = strict_json.loads((SAMPLES / f"{name}.request.json").read_bytes())
        ids = dict.fromkeys(placeholders(OPERATIONS[name].path), CARD)
        row = dict(_flat({**ids, **raw}))
        yield name, [{**row, "externalId": f"0{number}"} if "externalId" in row else row for number in range(3)]


# targets


@contextmanager
def sequence_files(folder: Path) -> Iterator[Target]:
    """Fuzz TOML sequences from the catalogue, which are read, checked, written and read again."""
    seeds = [path.read_bytes() for path in sorted(Path(reading.__file__).with_name("catalogue").glob("*.toml"))]
    words = (
        b"[[steps]]", b'{ ref = "buy.transaction_id" }', b'{ param = "card_id" }', b'{ ref = "guide.cards.active" }', b"inf", b"nan",
        b"1979-05-27T07:32:00Z", b"07:32:00", b'"""', b"'''", b"0x", b"1_000", b'"99999999999999999d"', b'"-1s"', b'"1.5h"', b'"settle"',
        b'"advance"', b'"reset"', b'"simulate_refund"', b"with", b"expect", b"do", b"events", b"money", b"default", b"= {", b"[params.x]",
    )  # fmt: skip
    path = folder / "case.toml"

    def case(chance: random.Random) -> bool:
        path.write_bytes(changed(chance, chance.choice(seeds), words, seeds))
        try:
            read = sequences.read_toml(path)
        except sequences.InvalidSequence as error:
            assert str(error)  # noqa: PT017 - it can be shown
            return False
        found = problems(read, {})
        assert all(map(str, found))
        assert repr(read)
        text = read.to_toml()
        assert found or read == sequences.from_toml(text, name=read.name), "written and read again, it is another"
        return not found

    yield Target(case)


def _row_case(path: Path, made: Callable[[random.Random], tuple[str, bytes]]) -> Case:
    def case(chance: random.Random) -> bool:
        name, data = made(chance)
        path.write_bytes(data)
        try:
            if chance.random() < 0.5:
                assert repr(raw_bodies(path))
            else:
                plan = plan_of(OPERATIONS[name], path, secret=b"s" * 32, rejects=True)
                assert all(row.reasons for row in plan.rows if row.problems)
        except (InvalidRequest, UsageError) as error:
            assert str(error)  # noqa: PT017 - it can be shown
            return False
        return True

    return case


@contextmanager
def csv_files(folder: Path) -> Iterator[Target]:
    """Fuzz CSV rows for bulk runs."""
    seeds = []
    for name, rows in _tables():
        for delimiter in ",;\t":
            text = io.StringIO()
            writer = csv.DictWriter(text, rows[0], delimiter=delimiter)
            writer.writeheader()
            writer.writerows(rows)
            seeds.append((name, text.getvalue().encode()))
    others = [data for _, data in seeds]

    def made(chance: random.Random) -> tuple[str, bytes]:
        name, data = chance.choice(seeds)
        return name, changed(chance, data, (b",,", b'""', b'","', b";;"), others)

    yield Target(_row_case(folder / "case.csv", made))


QUOTED = '"inlineStr"'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OF = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_BARE = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
    'relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" Type="{_OF}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{_OF}"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" Type="{_OF}/worksheet" '
    'Target="worksheets/sheet1.xml"/></Relationships>',
}  # fmt: skip
BARE_XLSX = {name: text.encode() for name, text in _BARE.items()}
"""An XLSX package without styles, theme and properties, which take most of the reading time."""


def _packed(content: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as writer:
        for name, data in content.items():
            writer.writestr(name, data)
    return file.getvalue()


@contextmanager
def xlsx_files(folder: Path) -> Iterator[Target]:
    """Fuzz XLSX rows for bulk runs, by changing a part of the package or the package."""
    import openpyxl

    seeds = []
    for name, rows in _tables():
        book = openpyxl.Workbook()
        book.active.append([*rows[0], "when", "number", "flag"])
        for row in rows:
            book.active.append([*map(str, row.values()), date(2026, 1, 2), 12.5, True])
        packed = io.BytesIO()
        book.save(packed)
        with zipfile.ZipFile(packed) as file:
            seeds.append((name, packed.getvalue(), {one: file.read(one) for one in file.namelist()}))
        sheet = "".join(
            f'<row r="{at}">{"".join(f"<c t={QUOTED}><is><t>{one}</t></is></c>" for one in cells)}</row>'
            for at, cells in enumerate((rows[0], *(row.values() for row in rows)), 1)
        )
        bare = {
            **BARE_XLSX,
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{sheet}</sheetData></worksheet>'.encode(),
        }
        seeds += [(name, _packed(bare), bare)] * 2
    others = [data for _, _, found in seeds for data in found.values()]
    words = (
        b'<c r="ZZZ99999999" t="s"><v>99999999</v></c>', b'<row r="1048577">', b"&#x41;", b"&a;", b'<!DOCTYPE x [<!ENTITY a "b">]>',
        b't="e"', b't="d"', b't="b"', b't="n"', b't="s"', b't="str"', b't="inlineStr"', b"<f>1+1</f>", b"<v>1e309</v>", b"<v>nan</v>",
        b"<v></v>", b'ref="A1:XFD1048576"', b'r="A0"', b's="9999"', b'encoding="utf-16"', b"<is><t>x</t></is>", b"-99999999", b"2958466",
    )  # fmt: skip

    def made(chance: random.Random) -> tuple[str, bytes]:
        name, packed, found = chance.choice(seeds)
        if chance.random() < 0.2:
            return name, changed(chance, packed)
        part = chance.choice(["xl/worksheets/sheet1.xml"] * 4 + list(found))
        content = {**found, part: changed(chance, found[part], words, others)}
        return name, _packed(content)

    yield Target(_row_case(folder / "case.xlsx", made))


@contextmanager
def parquet_files(folder: Path) -> Iterator[Target]:
    """Fuzz Parquet rows for bulk runs, with many types, encodings and compressions."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    seeds = []
    for name, rows in _tables():
        texts = {column: [str(row[column]) for row in rows] for column in rows[0]}
        more = {
            "whole": pa.array([1, None, 3]), "real": pa.array([1.5, float("nan"), None]), "flag": pa.array([True, None, False]),
            "at": pa.array([datetime(2026, 1, 2, tzinfo=UTC)] * 3), "day": pa.array([date(2026, 1, 2)] * 3),
            "exact": pa.array([Decimal("1.50")] * 3), "bytes": pa.array([b"\xff", b"", None]),
            "inner": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]), "word": pa.array(["a", "b", "a"]).dictionary_encode(),
        }  # fmt: skip
        for compression, columns, version in (
            ("none", texts, "1.0"), ("snappy", texts, "2.0"), ("none", {**texts, **more}, "2.0"), ("zstd", more, "1.0"),
            ("none", more, "1.0"), ("none", {"list": pa.array([[1], None, []])}, "1.0"),
        ):  # fmt: skip
            file = io.BytesIO()
            pq.write_table(pa.table(columns), file, compression=compression, data_page_version=version)
            seeds.append((name, file.getvalue()))

    def made(chance: random.Random) -> tuple[str, bytes]:
        name, data = chance.choice(seeds)
        foot = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        pages, metadata, end = data[:foot], data[foot:-8], data[-8:]
        where = chance.random()
        if where < 0.45:
            metadata = changed(chance, metadata)
            end = len(metadata).to_bytes(4, "little") + end[4:]
        elif where < 0.9:
            pages = changed(chance, pages)
        else:
            return name, changed(chance, data)
        return name, pages + metadata + end

    yield Target(_row_case(folder / "case.parquet", made))


@contextmanager
def event_logs(folder: Path) -> Iterator[Target]:
    """Fuzz plain and compressed event logs. Iteration, frames, counts and Parquet agree on whether a log is refused."""
    from tests.tables.test_event_logs import CARD as CARD_EVENT
    from tests.tables.test_event_logs import ONE_LINE, SALE

    seeds = [*ONE_LINE, CARD_EVENT, SALE]
    words = (
        b'"id":',
        b'"body":',
        b'"status":"x",',
        b'"resource":"user",',
        b'"action":"updated",',
        b'"spend":{',
        b"},",
        b"\\n",
        b'\\"',
    )

    def case(chance: random.Random) -> bool:
        lines = [chance.choice(seeds) for _ in range(chance.randrange(1, 4))]
        at = chance.randrange(len(lines))
        if chance.random() < 0.4:
            lines[at] = changed_json(chance, lines[at])
        else:
            lines[at] = changed(chance, lines[at], words, seeds)
        data = b"\n".join(lines) + chance.choice((b"", b"\n"))
        path = folder / "case.ndjson"
        if chance.random() < 0.1:
            path = folder / "case.ndjson.gz"
            data = gzip.compress(data, 1)
            data = changed(chance, data) if chance.random() < 0.8 else data
        path.write_bytes(data)
        logs = events.read_log(path)
        way = chance.randrange(64)
        try:
            if way < 60:
                assert repr(list(logs))
            elif way < 62:  # rare, because each frame and summary creates a database
                logs.frame(chance.choice((None, "user.updated", "transaction.*")), progress=False)
            elif way == 62:
                logs.summary(progress=False)
            else:
                (folder / "case.parquet").unlink(missing_ok=True)
                logs.to_parquet(folder / "case.parquet", progress=False)
        except (InvalidRequest, UsageError) as error:
            assert str(error)  # noqa: PT017 - it can be shown
            return False
        return True

    yield Target(case)


@contextmanager
def answers(_: Path) -> Iterator[Target]:
    """Fuzz the service's answers to every operation, with any status and headers, and convert and show them."""
    requests: list[Any] = []
    for name, operation in OPERATIONS.items():
        raw = SAMPLES / f"{name}.request.json"
        ids = dict.fromkeys(placeholders(operation.path), CARD)
        body = strict_json.loads(raw.read_bytes()) if raw.exists() else {}
        request, mistyped, _ = converter().read_request(operation, body, ids)
        assert not mistyped, name
        requests.append((name, request))
    bodies: dict[str, list[bytes]] = {name: [] for name in OPERATIONS}
    for path in sorted(SAMPLES.rglob("*.json")):
        for name in OPERATIONS:
            if path.name.startswith(f"{name}.") and ".request" not in path.name:
                bodies[name].append(path.read_bytes())
    everything = [data for found in bodies.values() for data in found]
    everything += [path.read_bytes() for path in sorted(SAMPLES.rglob("error.*.json"))]
    words = (
        b'"id":',
        b'"items":',
        b'"status":',
        b'"message":',
        b"[1,2]",
        b'{"a":1}',
        b'"\\ud800"',
        b'"x",',
        b"1.0",
        b"<html>",
    )
    statuses = (200, 200, 200, 200, 200, 201, 202, 204, 301, 400, 401, 403, 404, 409, 418, 422, 429, 500, 503, 599)
    kinds = ("application/json", "text/html", "", "application/json; charset=utf-16", "a/b; c=\xe9")
    pauses = (
        "0",
        "-1",
        "1e9",
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "x" * 100,
        "9" * 400,
        "",
    )
    now: list[httpx.Response] = []
    client: list[Any] = []

    def respond(_: httpx.Request) -> httpx.Response:
        first = now[0]
        return httpx.Response(first.status_code, headers=first.headers, content=first.content)

    def case(chance: random.Random) -> bool:
        # replace the client now and then, because its journal grows with each call
        if chance.random() < 0.005 or not client:
            client[:] = [client_on(respond)]
        name, request = chance.choice(requests)
        body = chance.choice(bodies[name] if chance.random() < 0.8 else everything)
        if chance.random() < 0.6:
            body = changed_json(chance, body)
        else:
            body = changed(chance, body, words, everything)
        headers = {"content-type": chance.choice(kinds).encode("latin-1")}
        if chance.random() < 0.2:
            headers["retry-after"] = chance.choice(pauses).encode()
        if chance.random() < 0.05:
            headers["location"] = chance.choice((b"https://example.com/x", b"//", b"http://[", b"\xff"))
        now[:] = [httpx.Response(chance.choice(statuses), headers=headers, content=body)]
        try:
            answer = client[0].send(request)
        except WorkbenchError as error:
            assert f"{error} {error!r}"  # noqa: PT017 - it can be shown
            return False
        assert repr(answer)
        assert rendering.plain(answer) is not None
        assert rendering.html(answer) is not None
        if chance.random() < 0.1 and answer is not None:
            found = answer if isinstance(answer, list) else [answer]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                to_frame(found)
        return True

    yield Target(case)


SERVER = """
import sys, threading, workbench as wb
sandbox = wb.Sandbox(path=sys.argv[1])
with sandbox.serve() as url:
    print(url, sandbox.full_key, sandbox.guide()["cards"]["active"][0], flush=True)
    threading.Event().wait()
"""


@contextmanager
def http_requests(folder: Path) -> Iterator[Target]:
    """Send raw bytes as requests to a served sandbox. Each gets a status below 500, or a closed connection."""
    served = subprocess.Popen([sys.executable, "-c", SERVER, folder / "sandbox.db"], stdout=subprocess.PIPE, text=True)
    assert served.stdout is not None
    url, key, card = served.stdout.readline().split()
    parts = urlsplit(url)
    sale = (
        b'{"cardId":"%s","amount":100,"currency":"USD","merchantName":"Shop","merchantCategoryCode":"5411"}'
        % card.encode()
    )
    bodies = {"simulate_authorization": sale}
    for name in OPERATIONS:
        if (sample := SAMPLES / f"{name}.request.json").exists() and name not in bodies:
            bodies[name] = sample.read_bytes()
    lines = [
        (o.method, re.sub(r"{\w+}", card, f"/v1{o.path}"), bodies.get(name, b"")) for name, o in OPERATIONS.items()
    ]
    lines += [("POST", f"/_sandbox/{name}", b"{}") for name in ("guide", "events", "requests", "advance", "deposit")]
    lines += [("GET", f"/{name}", b"") for name in ("", "openapi.json", "_sandbox/guide")]
    seeds = []
    for method, path, body in lines:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nApi-Key: {key}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n" if body else "\r\n"
        seeds.append((head.encode(), body))
    heads, contents = [head for head, _ in seeds], [body for _, body in seeds if body]
    words = (
        b"Transfer-Encoding: chunked\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999999999999\r\n", b"Expect: 100-continue\r\n",
        b"Connection: close\r\n", b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"Host: example.com\r\n", b"Host:\r\n", b"\r\n\r\n",
        b"ffffffffffffffff\r\n", b"0\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET http://127.0.0.1/ HTTP/1.1", b"HTTP/1.0",
        b"HTTP/0.9", b"HTTP/9.9", b"%00", b"%2e%2e/", b"//", b"?a=1&a=2", b"?amount=1e5&isAmountNative=maybe", b"OPTIONS", b"CONNECT", b"TRACE",
        b"DELETE", b"X: " + b"a" * 9000 + b"\r\n", b"X: 1\r\n" * 120, b"Content-Encoding: gzip\r\n", b"Origin: null\r\n", b"\xf0\x9f\x92\xa9",
        b"Content-Type: text/plain\r\n", b" folded\r\n", b"Transfer-Encoding: identity, chunked\r\n",
    )  # fmt: skip

    def exchange(data: bytes, pieces: int) -> bytes:
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            found = b""
            try:
                step = max(1, -(-len(data) // pieces))
                for at in range(0, len(data), step):
                    connection.sendall(data[at : at + step])
                connection.settimeout(0.03)
                try:
                    found = connection.recv(65536)
                except TimeoutError:  # the server waits for more bytes
                    found = b""
                connection.settimeout(30)
                connection.shutdown(socket.SHUT_WR)
                while chunk := connection.recv(65536):
                    found += chunk
            except OSError:  # the server refused the request before it was complete
                pass
            return found

    def case(chance: random.Random) -> bool:
        head, body = chance.choice(seeds)
        where = chance.random()
        if where < 0.6:
            head = changed(chance, head, words, heads)
        elif where < 0.9:
            if chance.random() < 0.6 and body:
                body = changed_json(chance, body)
            else:
                body = changed(chance, body, (), contents)
            head = re.sub(rb"Content-Length: \d+", b"Content-Length: %d" % len(body), head)
        data = head + body if where < 0.9 else changed(chance, head + body, words, heads)
        found = exchange(data, chance.choice((1, 1, 1, 2, 7)))
        assert served.poll() is None, "the server ended"
        assert not found or re.match(rb"HTTP/1\.[01] [1-4]\d\d ", found), found[:200]
        assert not re.search(rb"^HTTP/1\.1 5\d\d ", found, re.MULTILINE), found[:400]
        return found.startswith(b"HTTP/1.1 2")

    def good() -> None:
        with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)) as connection:
            connection.request("GET", "/v1/issuing/tenants/contracts", headers={"Api-Key": key})
            answer = connection.getresponse()
            assert answer.status == 200, "a good request is not answered as before"
            assert strict_json.loads(answer.read())

    def checked(chance: random.Random) -> bool:
        accepted = case(chance)
        if chance.random() < 0.01:
            good()
        return accepted

    try:
        yield Target(checked, served.pid)
        good()
    finally:
        served.send_signal(signal.SIGTERM)
        served.communicate(timeout=30)


TARGETS: dict[str, Callable[[Path], AbstractContextManager[Target]]] = {
    "toml": sequence_files, "csv": csv_files, "xlsx": xlsx_files, "parquet": parquet_files, "logs": event_logs, "answers": answers,
    "http": http_requests,
}  # fmt: skip


# campaigns


@attrs.define
class Report:
    """The findings of a campaign."""

    target: str
    cases: int
    seed: int
    accepted: int = 0
    seconds: float = 0.0
    processor: float = 0.0
    longest: float = 0.0  # processor time of the slowest case in seconds
    longest_case: int = 0
    memory: list[float] = attrs.field(factory=list)  # memory in MB after each tenth of the cases
    failures: dict[str, list[int]] = attrs.field(factory=dict)  # numbers of the cases, by failure

    def __str__(self) -> str:
        return (
            f"{self.target}: {self.cases:,} cases of seed {self.seed} in {self.seconds:,.0f} s ({self.processor:,.0f} s of processor time), "
            f"{self.accepted:,} accepted; longest {self.longest:.2f} s of processor time (case {self.longest_case}); memory "
            f"{self.memory[0]:.0f} MB after a tenth, {self.memory[-1]:.0f} MB at the end, at most {max(self.memory):.0f} MB"
        ) + "".join(f"\n  {len(found)} x {what}: cases {found[:5]}" for what, found in self.failures.items())


def _memory(process: int) -> float:
    status = Path(f"/proc/{process}/status")
    if not status.exists():  # /proc exists only on Linux
        return 0.0
    return int(re.findall(r"VmRSS:\s+(\d+)", status.read_text(encoding="ascii"))[0]) / 1024


def _processor(process: int) -> float:
    if process == os.getpid():
        return time.process_time()
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return 0.0
    numbers = stat.read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


def _words(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {str(error)[:150]}"


def run(name: str, cases: int, seed: int, folder: Path, first: int = 0) -> Report:
    """Run cases of a target and return the report."""
    report = Report(name, cases, seed)
    with TARGETS[name](folder) as target:
        target.case(random.Random("warm"))  # warm up, since imports and caches take time in the first case
        began, spent = time.monotonic(), _processor(target.process)
        for number in range(first, first + cases):
            before = _processor(target.process)
            try:
                report.accepted += target.case(random.Random(f"{seed} {number}"))
            except Exception as error:  # noqa: BLE001 - what is looked for
                report.failures.setdefault(_words(error), []).append(number)
            took = _processor(target.process) - before
            if took > report.longest:
                report.longest, report.longest_case = took, number
            if (number - first + 1) % max(1, cases // 10) == 0:
                report.memory.append(_memory(target.process))
        report.seconds, report.processor = time.monotonic() - began, _processor(target.process) - spent
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        print(run(given.target, given.cases, given.seed, Path(made), given.first))
