"""The example applications report what happened, under faults, kills and deliveries in any order."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest

import workbench as wb
from tests.each import each
from tests.ports import free_port
from workbench import testing

ROOT = Path(__file__).parents[2]
KEY = "key-of-the-examples"
MAXIMUM_LINES = 120


def start(
    name: str, *arguments: str, stdin: str = "", folder: Path, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run an example to its end."""
    environment = {**os.environ, "WORKBENCH_STATE": str(folder / "state"), "PYTHONPATH": str(ROOT), **settings}
    return subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), *arguments], input=stdin, capture_output=True, text=True, check=False,
        env=environment, cwd=folder, timeout=100,
    )  # fmt: skip


@each("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_fits_on_two_screens(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAXIMUM_LINES


@pytest.mark.slow
def test_the_ledger_survives_a_campaign(tmp_path: Path) -> None:
    """The books agree after concurrent duplicates, reordering, lost responses, forgeries and a rotated key."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "INBOX": str(tmp_path / "events.db"), "WORKBENCH_WEBHOOK_KEY": KEY}
    command = [sys.executable, "-m", "uvicorn", "examples.fastapi_ledger:app", "--port", str(port), "--workers", "2"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL, start_new_session=True
    ) as server:
        try:
            assert answer_of(f"{url}/webhooks") == 401, "a forged delivery"
            application = testing.HttpApplication(url=f"{url}/webhooks", books=f"{url}/books", key=KEY, patience=30)
            result = testing.explore(application, universes=15)
        finally:
            os.killpg(server.pid, signal.SIGTERM)

    result.check()
    assert result.counts["events"] > 80
    assert result.counts["deliveries at the same time"] > 20


def answer_of(url: str, seconds: float = 30) -> int:
    """Return the status of a forged delivery, once the server answers."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return httpx.post(url, json={"id": "forged"}, headers={"signature": "0" * 64}).status_code
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def payouts(path: Path, user: str, count: int) -> None:
    """Write a file of payment accounts."""
    row = {
        "type": "externalFiatAccount", "user_id": user, "external_fiat_account.beneficiary_type": "individual",
        "external_fiat_account.beneficiary_first_name": "Test", "external_fiat_account.beneficiary_last_name": "Example",
        "external_fiat_account.currency": "usd", "external_fiat_account.bank_name": "Example Bank",
        "external_fiat_account.account_number": "000012345678", "external_fiat_account.routing_number": "021000021",
        "external_fiat_account.beneficiary_address.address_line1": "1 Example Street",
        "external_fiat_account.beneficiary_address.city": "Portland", "external_fiat_account.beneficiary_address.region": "ME",
        "external_fiat_account.beneficiary_address.postal_code": "04101",
        "external_fiat_account.beneficiary_address.country_code": "US",
    }  # fmt: skip
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["nickname", *row])
        writer.writeheader()
        writer.writerows({"nickname": f"Payout {n}", **row} for n in range(count))


@pytest.mark.slow
def test_the_batch_resumes_after_a_kill(tmp_path: Path) -> None:
    """A killed batch is resumed: no account exists twice, and only unknown rows may be missing."""
    rows = tmp_path / "payouts.csv"
    sandbox = wb.Sandbox(path=tmp_path / "sandbox.db")
    payouts(rows, sandbox.guide()["users"]["approved"][0], 300)
    with sandbox.serve() as url:
        settings = {"WORKBENCH_PROFILE": url, "WORKBENCH_STATE": str(tmp_path / "state"), "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "examples/batch.py"), str(rows)], env={**os.environ, **settings},
            stdout=subprocess.DEVNULL, cwd=tmp_path,
        )  # fmt: skip
        while len(sandbox.records("payment_account")) < 40 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        ended = start("batch.py", str(rows), folder=tmp_path, WORKBENCH_PROFILE=url)
        accounts = Counter(record["members"].get("nickname") for record in sandbox.records("payment_account"))

    assert ended.returncode in (0, 4), ended.stderr
    created = {name: count for name, count in accounts.items() if (name or "").startswith("Payout ")}
    assert set(created.values()) == {1}
    unknown = len(re.findall(r"(?m)^row \d+: ", ended.stdout))
    assert 300 - unknown <= len(created) <= 300
    assert (ended.returncode == 0) == (unknown == 0)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["lost", "reset", "latency"])
def test_the_worker_names_what_is_unknown(fault: str, tmp_path: Path) -> None:
    """Each line has one outcome. The sandbox has all done purchases, and otherwise only unknown ones."""
    sandbox = wb.Sandbox()
    before = len(sandbox.records("transaction"))
    line = {
        "card_id": sandbox.guide()["cards"]["active"][0], "currency": "USD", "merchant_name": "Shop",
        "merchant_category_code": "5411",
    }  # fmt: skip
    with sandbox.serve() as url:
        sandbox.add_fault(
            fault, of="simulate_authorization", times=3, **({"seconds": 0.2} if fault == "latency" else {})
        )
        lines = "".join(json.dumps({**line, "amount": 100 + n}) + "\n" for n in range(30))
        ended = start("async_worker.py", stdin=lines, folder=tmp_path, WORKBENCH_PROFILE=url)

    counts = {
        name: int(count) for name, count in re.findall(r"(?m)^(done|unknown|refused|not_sent): (\d+)$", ended.stdout)
    }
    there = len(sandbox.records("transaction")) - before
    assert sum(counts.values()) == 30, ended.stdout + ended.stderr
    assert counts["done"] <= there <= counts["done"] + counts.get("unknown", 0)
    assert ended.returncode == (4 if "unknown" in counts else 0)


@pytest.mark.slow
def test_the_script_prints_what_it_did(tmp_path: Path) -> None:
    ended = start("script.py", folder=tmp_path)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "bought for 45.90 USD, refunded 22.95 USD" in ended.stdout
