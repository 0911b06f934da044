"""Applications behind HTTP: concurrent deliveries and crashes during a delivery reveal further bugs."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from os import killpg
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.ports import free_port
from tests.testing import served as served_module
from tests.testing.served import PAYING
from workbench import testing
from workbench.base.system import http_server
from workbench.base.system.messages import Request, Response
from workbench.testing import HttpApplication, http_application
from workbench.testing.deliveries import KEY

# with this behavior, the sandbox supports idempotency keys
SANDBOX = wb.Sandbox(behavior={"behavior": "observed", "refund_event_id": "transaction"})


@contextmanager
def served(kind: str, folder: Path, *, crashes: bool = True) -> Iterator[HttpApplication]:
    """Serve an application in separate processes, which end with the context."""
    port, api_port = free_port(), free_port()
    environment = {**os.environ, "API_PORT": str(api_port), "API_KEY": SANDBOX.full_key}
    alone = ["-m", "tests.testing.served"] if kind in {*PAYING, "fastapi"} else ["-I", "-S", served_module.__file__]
    command = [sys.executable, *alone, kind, str(port), str(folder), KEY]
    running: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        running.append(subprocess.Popen(command, env=environment, start_new_session=True, stdout=subprocess.DEVNULL))

    def kill() -> None:
        process = running.pop()
        killpg(process.pid, signal.SIGKILL)
        process.wait()

    url = f"http://127.0.0.1:{port}"
    application = HttpApplication(
        url=f"{url}/webhooks",
        books=f"{url}/books",
        reset=f"{url}/reset",
        kill=kill if crashes else "",
        start=start,
        patience=0.5 if kind not in PAYING else 3,
        api_port=api_port if kind in PAYING else None,
        unknown=f"{url}/unknown" if kind in PAYING else None,
    )
    application.boot()
    try:
        yield application
    finally:
        kill()


@pytest.mark.parametrize(
    "kind, universes",
    [
        pytest.param("right", 8, marks=pytest.mark.slow),
        pytest.param("right", 1_000, marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
        pytest.param("fastapi", 300, marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_a_right_application_passes(kind: str, universes: int, tmp_path: Path) -> None:
    """Correct applications with one or two processes pass, although they are killed during deliveries."""
    with served(kind, tmp_path) as application:
        result = testing.explore(application, universes=universes)

    print(result)
    result.check()
    assert result.counts["deliveries at the same time"] > 3 * universes
    assert result.counts["crashes inside a delivery"] > universes // 3
    assert "right" not in str(result)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kind", ["right", "fastapi"])
def test_a_right_application_passes_10_000_universes_without_a_crash(kind: str, tmp_path: Path) -> None:
    with served(kind, tmp_path, crashes=False) as application:
        result = testing.explore(application, universes=10_000)

    print(result)
    result.check()
    assert result.universes == 10_000


@pytest.mark.parametrize(
    "kind, crashes",
    [
        pytest.param("checks, then acts", False, marks=pytest.mark.slow),
        pytest.param("two commits", True, marks=pytest.mark.soak),
    ],
)
def test_what_one_delivery_after_the_other_hides_is_found(kind: str, crashes: bool, tmp_path: Path) -> None:
    """Bugs that sequential deliveries do not reveal are found."""
    with served(kind, tmp_path, crashes=crashes) as application:
        result = testing.explore(application, universes=100)

    assert result.failure is not None
    # the moment of the crash determines which invariant fails first
    names = {"each event counts once", "the books agree with the service"}
    assert result.failure.breach.invariant in names, str(result)


@pytest.mark.slow
def test_calls_of_a_right_application_pass(tmp_path: Path) -> None:
    """An application that repeats a failed refund with the same idempotency key passes under five faults."""
    counts: Counter[str] = Counter()
    with served("pays once", tmp_path, crashes=False) as application:
        for fault in range(1, 6):
            result = testing.explore(application, decisions=large_purchase(fault), sandbox=SANDBOX)
            result.check()
            counts += Counter(result.counts)

    assert counts["calls"] == 5
    assert len([name for name in counts if name.startswith("calls ")]) == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind, broken",
    [
        ("retries blindly", "no refund is made twice"),
        ("gives up", "unknown outcomes are resolved"),
    ],
)
def test_calls_of_a_wrong_application_are_found(kind: str, broken: str, tmp_path: Path) -> None:
    with served(kind, tmp_path, crashes=False) as application:
        result = testing.explore(application, decisions=large_purchase(1), sandbox=SANDBOX)

    assert result.failure is not None, str(result)
    assert result.failure.breach.invariant == broken


def large_purchase(fault: int) -> dict[str, int]:
    """Return the decisions of a universe with a purchase of 99.99 and a faulty refund; fault 1 loses the answer."""
    return {"call of the application": fault, "traffic 1 amount": 2}


@pytest.mark.parametrize(
    "kill, why",
    [
        ("true", "still answers"),
        (["true"], "still answers"),
        (lambda: None, "still answers"),
        ("false", "false ended with 1"),
        ("no-such-command-anywhere", "FileNotFoundError"),
    ],
)
def test_a_crash_is_one_that_was_seen(kill: Any, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash counts only if the command succeeds and the port then refuses connections."""
    monkeypatch.setattr(http_application, "_GONE_SECONDS", 0.05)
    with (
        http_server.running(lambda _: Response(status=200, body=b"{}")) as url,
        pytest.raises(wb.InvalidRequest, match=why),
    ):
        HttpApplication(url=url, books=url, kill=kill).crash()


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b"{", b"\xff", b"nope", b"x" * 60_000], ids=["deep", "cut", "bytes", "word", "long"]
)
def test_malformed_books_are_errors_of_one_line(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_application, "MAX_BOOKS", 50_000 if body[:1] == b"x" else 500_000)
    with (
        http_server.running(lambda _: Response(status=200, body=body)) as url,
        pytest.raises(wb.InvalidRequest) as refused,
    ):
        HttpApplication(url=url, books=url).read_books()

    assert len(str(refused.value)) < 300
    assert "Traceback" not in str(refused.value)


def test_the_universes_time_is_written_for_libfaketime(tmp_path: Path) -> None:
    """The time is in the file before each delivery, for programs that run under libfaketime."""
    told: list[str] = []
    file = tmp_path / "faketime"

    def answer(request: Any) -> Response:
        if request.method == "POST":
            told.append(file.read_text())
        return Response(status=200, body=b"{}")

    with http_server.running(answer) as url:
        application = HttpApplication(url=f"{url}/webhooks", books=f"{url}/books", clock=file, patience=0)
        result = testing.explore(application, universes=1, invariants=())

    assert told[0].startswith("@2026-01-15 15:00:")
    assert told == sorted(told)
    assert not any("own time" in what for what in result.counts)


NODE = """
const http = require("http"), crypto = require("crypto");
const [port, kind, key] = [+process.argv[2], process.argv[3], process.argv[4]];
const MINUTE = 60000, memory = kind === "forgets after ten minutes" ? 10 * MINUTE : 30 * 24 * 60 * MINUTE;
let seen = new Map(), books = {};
const day = (at) => at.toISOString().slice(0, 10);
const month = () => new Date().toISOString().slice(0, 7);
const shown = () => Object.fromEntries(Object.entries(books).map(([id, months]) =>
  [id, kind === "this month" ? months[month()] || 0 : Object.values(months).reduce((sum, cents) => sum + cents, 0)]));
http.createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part)).on("end", () => {
    const body = Buffer.concat(parts);
    if (request.url === "/books") return response.end(JSON.stringify(shown()));
    if (request.url === "/reset") { seen = new Map(); books = {}; return response.end(); }
    const wanted = crypto.createHmac("sha256", key).update(body).digest("hex");
    if (![request.headers["signature"], request.headers["secondary-signature"]].includes(wanted)) {
      response.statusCode = 401;
      return response.end();
    }
    const event = JSON.parse(body), now = Date.now();
    for (const [id, at] of seen) if (now - at > memory) seen.delete(id);
    const isNew = !seen.has(event.id);
    seen.set(event.id, now);
    if (!isNew || event.resource !== "transaction" || event.action !== "completed") return response.end();
    const { amount, postedAt } = event.body.spend, posted = new Date(postedAt);
    const isLate = kind === "five minutes" && now - posted > 5 * MINUTE;
    const isOfAnotherDay = kind === "today" && day(posted) !== day(new Date());
    if (isLate || isOfAnotherDay || (kind === "not from tomorrow" && posted - now > MINUTE)) return response.end();
    const months = (books[event.body.id] ||= {});
    months[month()] = (months[month()] || 0) + amount;
    response.end();
  });
}).listen(port, "127.0.0.1");
"""
FAKETIME = next(iter(Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)


@pytest.mark.skipif(FAKETIME is None or shutil.which("node") is None, reason="needs node and libfaketime")
@pytest.mark.parametrize(
    "kind, rule",
    [
        pytest.param("forgets after ten minutes", "each event counts once", marks=pytest.mark.slow),
        pytest.param("five minutes", "no event is lost", marks=pytest.mark.slow),
        pytest.param("today", "no event is lost", marks=pytest.mark.soak),
        pytest.param("this month", "no event is lost", marks=pytest.mark.soak),
        pytest.param("forgets after thirty days", None, marks=pytest.mark.soak),
        pytest.param("not from tomorrow", None, marks=pytest.mark.soak),
    ],
)
def test_a_program_of_node_sees_the_universes_time(kind: str, rule: str | None, tmp_path: Path) -> None:
    """Bugs of a Node.js program that depend on the machine's time are found."""
    port, clock, program = free_port(), tmp_path / "clock", tmp_path / "shop.js"
    program.write_text(NODE)
    clock.write_text("@2026-01-15 15:00:00\n")
    given = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1", "TZ": "UTC"}
    command = ["node", str(program), str(port), kind, KEY]
    running = subprocess.Popen(command, env={**os.environ, **given, "FAKETIME_DONT_FAKE_MONOTONIC": "1"})
    url = f"http://127.0.0.1:{port}"
    try:
        application = HttpApplication(
            url=f"{url}/webhooks", books=f"{url}/books", reset=f"{url}/reset", clock=clock, patience=0.05
        )
        application.boot()
        result = testing.explore(application, universes=100)
    finally:
        running.kill()
        running.wait()

    assert (None if result.failure is None else result.failure.breach.invariant) == rule, str(result)


@pytest.mark.parametrize("loses", [None, "purchase", "refund"])
def test_books_that_accumulate_hold_purchases_and_refunds(loses: str | None) -> None:
    """Without a reset, books of other universes are ignored, and lost purchases or refunds are found."""
    books, seen, lock = Counter({"of another universe": 1}), set[str](), threading.Lock()

    def answer(request: Request) -> Response:
        if request.path == "/books":
            return Response(status=200, body=json.dumps(dict(books)).encode())
        event = json.loads(request.body)
        spend = event["body"].get("spend", {})
        with lock:
            if event["action"] == "completed" and event["id"] not in seen:
                seen.add(event["id"])
                if loses != ("refund" if spend["amount"] < 0 else "purchase"):
                    books[event["body"]["id"]] += spend["amount"]
        return Response(status=204, body=b"")

    with http_server.running(answer) as url:
        application = HttpApplication(url=f"{url}/webhooks", books=f"{url}/books", patience=0.01)
        result = testing.explore(application, universes=2)

    assert (result.failure is None) == (loses is None), result
    assert loses or any(cents < 0 for cents in books.values())


def test_books_that_cannot_be_emptied_are_an_error() -> None:
    """If the reset of the books fails, the error says so."""
    with (
        http_server.running(lambda _: Response(status=405)) as url,
        pytest.raises(wb.InvalidRequest, match="reset: http"),
    ):
        testing.explore(HttpApplication(url=url, books=url, reset=url), universes=1)


def test_books_that_are_none_are_refused() -> None:
    with (
        http_server.running(lambda _: Response(status=200, body=b"[]")) as url,
        pytest.raises(wb.InvalidRequest, match="transaction ids to whole cents"),
    ):
        HttpApplication(url=url, books=url).read_books()
