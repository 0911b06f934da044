"""Bulk runs that are killed at random moments, or interrupted in a kernel, send each row once."""

import contextlib
import json
import os
import random
import sqlite3
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.bulk.bulk_child import send_all
from tests.processes import PROCESSES
from workbench.base.errors import UnusableFile
from workbench.client.session import connect
from workbench.runs.bulk import resume, run
from workbench.runs.bulk.outcomes import RunRecord
from workbench.sandbox import Sandbox

ADDRESS = {
    "address_line1": "1 Example Street", "city": "New York", "region": "NY", "postal_code": "10001", "country_code": "US",
}  # fmt: skip


def rows_of(user: str, many: int) -> list[dict[str, Any]]:
    """Return rows for payment accounts. The service accepts duplicates, so only the run prevents a second account."""
    return [
        {
            "type": "externalFiatAccount",
            "nickname": f"row-{i}",
            "user_id": user,
            "external_fiat_account": {
                "beneficiary_type": "individual",
                "beneficiary_first_name": "Test",
                "beneficiary_last_name": "Example",
                "currency": "usd",
                "beneficiary_address": ADDRESS,
                "bank_name": "Example Bank",
                "account_number": f"0000{i:08d}",
                "routing_number": "021000021",
            },
        }
        for i in range(many)
    ]


def made(sandbox: Sandbox) -> Counter[str]:
    """Count the existing accounts by nickname."""
    nicknames = [str(one["members"].get("nickname")) for one in sandbox.records("payment_account")]
    return Counter(name for name in nicknames if name.startswith("row-"))


def finished(sandbox: Sandbox, run: Path, rows: list[dict[str, Any]], url: str, key: str) -> Any:
    """Resolve unknown rows by looking them up, and send the remaining rows."""
    from workbench.client.calls.client import Client

    there = made(sandbox)
    air = in_flight(run)
    said = {row: "done" if there[f"row-{row - 1}"] else "not_sent" for row in air}
    with Client(base_url=url, api_key=key, journal=run.with_name("journal.db")) as api:
        stopped = resume(api, run, rows, progress=False)
        assert {one.row for one in stopped.unknown()} == set(said)
        return resume(api, run, rows, resolved=said, progress=False)


@pytest.mark.parametrize(
    "wanted",
    [pytest.param(10, marks=pytest.mark.slow), pytest.param(2000, marks=[pytest.mark.soak, pytest.mark.timeout(7200)])],
)
def test_a_killed_run_can_be_resumed_to_its_end(tmp_path: Path, wanted: int) -> None:
    """Each row takes effect exactly once, at whatever moment the run is killed."""
    chance = random.Random(wanted)
    struck = unknown = rounds = 0
    while struck < wanted:
        number, rounds = rounds, rounds + 1
        folder = tmp_path / str(number)
        folder.mkdir()
        sandbox = Sandbox(seed=3)
        rows = rows_of(sandbox.guide()["users"]["approved"][0], 60)
        (folder / "rows.json").write_text(json.dumps(rows))
        with sandbox.serve() as url:
            kills = 0
            key = sandbox.full_key
            while kills < 3:
                receiver, sender = PROCESSES.Pipe(duplex=False)
                child = PROCESSES.Process(target=send_all, args=(url, key, folder / "run", 3, sender), daemon=True)
                child.start()
                receiver.recv()
                time.sleep(chance.uniform(0.005, 0.2))
                ended = not child.is_alive()
                child.kill()
                child.join()
                child.close()
                kills += 1
                if ended:
                    break
                struck += 1
            settled(sandbox)
            assert max(made(sandbox).values(), default=0) <= 1
            if not (folder / "run").exists() or begins(folder / "run"):
                continue
            unknown += len(in_flight(folder / "run"))
            final = finished(sandbox, folder / "run", rows, url, key)
            assert final.ok, final.verdict
            wrong_counts = {
                name: made(sandbox)[name] for name in (f"row-{i}" for i in range(60)) if made(sandbox)[name] != 1
            }
            assert wrong_counts == {}, f"round {number}: {wrong_counts}"
    print(f"{rounds} rounds, {struck} kills, {unknown} rows in flight, 0 lost, 0 doubled")


def test_a_row_is_recorded_before_it_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the moment of each call, the file of the run lists its row as in flight."""
    api = connect(seed=3)
    rows = rows_of(api.sandbox.guide()["users"]["approved"][0], 8)
    calls = next(cls for cls in type(api).__mro__ if "send" in vars(cls))
    send, listed = calls.send, []

    def watched(self: Any, request: Any) -> Any:
        number = int(request.nickname.removeprefix("row-")) + 1
        listed.append(number in in_flight(tmp_path / "run"))
        return send(self, request)

    monkeypatch.setattr(calls, "send", watched)
    run(api.create_payment_account, rows, path=tmp_path / "run", progress=False)

    assert listed == [True] * 8


@pytest.mark.parametrize("what", ["full", "unreadable"])
def test_a_row_that_cannot_be_recorded_is_not_sent(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service never receives more rows than the run has recorded."""
    api = connect(seed=3)
    rows = rows_of(api.sandbox.guide()["users"]["approved"][0], 20)
    usual = RunRecord.record
    left = [7]

    def failing(self: RunRecord, one: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise UnusableFile("the disk is full") if what == "full" else OSError(5, "Input/output error")
        usual(self, one)

    monkeypatch.setattr(RunRecord, "record", failing)
    stopped = run(api.create_payment_account, rows, path=tmp_path / "run", progress=False)
    recorded = sum(1 for one in stopped if one.outcome != "planned")

    assert "cannot be recorded" in str(stopped.stopped)
    assert sum(made(api.sandbox).values()) <= recorded


NOTEBOOK = """
import json, signal, sys, threading, time
import workbench as wb
from workbench.sandbox import Sandbox
from tests.bulk.test_kill import rows_of, made
api = wb.connect(seed=3)
rows = rows_of(api.sandbox.guide()["users"]["approved"][0], 400)
"""


@pytest.mark.parametrize(
    "moments",
    [pytest.param(1, marks=pytest.mark.slow), pytest.param(50, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])],
)
def test_nothing_new_starts_after_an_interrupt_in_a_kernel(moments: int, tmp_path: Path) -> None:
    """At most the calls in flight take effect, and the kernel can still be used."""
    from jupyter_client.manager import start_new_kernel

    root = Path(__file__).parents[2]
    manager, client = start_new_kernel(
        kernel_name="python3", cwd=str(root), env={**os.environ, "PYTHONPATH": str(root)}
    )
    chance = random.Random(moments)
    try:
        said(client, NOTEBOOK)
        for number in range(moments):
            workers = chance.choice([1, 3, 8])
            said(client, f"api = wb.connect(seed=3); at = {{}}; path = r'{tmp_path / str(number)}'")
            run = client.execute(
                f"wb.bulk.run(api.create_payment_account, rows, path=path, workers={workers}, progress=False)"
            )
            begun(tmp_path / str(number))
            time.sleep(chance.uniform(0.0, 0.3))
            manager.interrupt_kernel()
            ended(client, run)
            counts = "getattr(sys, 'last_value', None).result.counts"
            messages = said(client, f"print(json.dumps([sum(made(api.sandbox).values()), {counts}]))")
            effects, counts = json.loads(messages)
            time.sleep(0.3)
            later = json.loads(said(client, "print(json.dumps(sum(made(api.sandbox).values())))"))
            assert later == effects, "something started after the interrupt"
            assert effects <= counts.get("done", 0) + counts.get("unknown", 0)
            assert sum(counts.values()) == 400
            messages = said(client, "print(wb.bulk.resume(api, path, rows, workers=4, progress=False).counts)")
            if "unknown" not in counts:
                assert "'done': 400" in messages
            assert json.loads(said(client, "print(json.dumps(max(made(api.sandbox).values())))")) == 1
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def settled(sandbox: Sandbox) -> None:
    """Wait until the service has finished the calls of a killed run. An earlier count would prove nothing."""
    quiet, seen = 0, -1
    while quiet < 5:
        time.sleep(0.05)
        now = sum(made(sandbox).values())
        quiet = quiet + 1 if now == seen else 0
        seen = now


def in_flight(run: Path) -> set[int]:
    """Return the rows of a killed run that have no recorded outcome."""
    with contextlib.closing(sqlite3.connect(run)) as file:
        return {number for (number,) in file.execute("SELECT number FROM row WHERE state IN ('sending', 'unknown')")}


def begins(run: Path) -> bool:
    """Return whether the run was killed before it started, when nothing had been sent."""
    with contextlib.closing(RunRecord(run)) as record:
        return record.started[0] is None


def begun(run: Path) -> None:
    """Wait until the run has recorded that it is sending."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if run.with_name(run.name + "-wal").exists():
            with (
                contextlib.closing(sqlite3.connect(f"file:{run}?mode=ro", uri=True)) as file,
                contextlib.suppress(sqlite3.OperationalError),  # the run may still be creating the tables
            ):
                if file.execute("SELECT 1 FROM row WHERE state != 'planned' LIMIT 1").fetchone():
                    return
        time.sleep(0.005)
    raise AssertionError("the run did not begin")


def said(client: Any, code: str) -> str:
    """Run code in the kernel and return its printed output."""
    return ended(client, client.execute(code))


def ended(client: Any, request: str) -> str:
    """Wait for a cell to end and return its printed output."""
    text = ""
    while True:
        message = client.get_iopub_msg(timeout=60)
        if message["parent_header"].get("msg_id") != request:
            continue
        if message["msg_type"] == "stream":
            text += message["content"]["text"]
        elif message["msg_type"] == "error" and "Interrupt" not in message["content"]["ename"]:
            raise AssertionError("\n".join(message["content"]["traceback"]))
        elif message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return text
