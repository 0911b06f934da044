"""The example applications receive what a sandbox sends, in the servers they are written for."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import workbench as wb

ROOT = Path(__file__).parent.parent.parent
KEY = "key-of-the-examples"
SERVERS = {
    "fastapi": ["-m", "uvicorn", "examples.webhooks_fastapi:app", "--port", "{port}", "--workers", "2"],
    "flask": ["-m", "flask", "--app", "examples.webhooks_flask", "run", "--port", "{port}"],
    "django": ["-m", "examples.webhooks_django", "runserver", "--noreload", "{port}"],
}
HANDLING = {"flask": ["-m", "flask", "--app", "examples.webhooks_flask", "handle"]}


@contextmanager
def running(command: list[str], port: int, folder: Path) -> Iterator[None]:
    """Run a Python command that uses an inbox in a folder."""
    environment = {**os.environ, "INBOX": str(folder / "events.db"), "WORKBENCH_WEBHOOK_KEY": KEY}
    arguments = [sys.executable, *(part.format(port=port) for part in command)]
    with subprocess.Popen(
        arguments,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def post(url: str, seconds: float = 30) -> int:
    """Return the status of a forged delivery, as soon as something answers."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return httpx.post(url, json={"id": "forged"}, headers={"signature": "0" * 64}).status_code
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("framework", SERVERS)
def test_an_example_keeps_the_books_of_a_sandbox(framework: str, tmp_path: Path) -> None:
    """Every transaction of the sandbox is in the ledger once, as the sandbox has it; a forged delivery is refused."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = int(listening.getsockname()[1])
    url = f"http://127.0.0.1:{port}/webhooks"
    api = wb.connect()
    card = api.sandbox.guide()["cards"]["active"][0]
    with running(SERVERS[framework], port, tmp_path):
        assert post(url) == 401
        api.sandbox.register_endpoint(url, signing_key=KEY)
        with running(HANDLING.get(framework, ["-c", ""]), port, tmp_path):
            made = [
                api.simulate_authorization(
                    card_id=card, amount=100 + i, currency="USD", merchant_name="x", merchant_category_code="5411"
                ).transaction_id
                for i in range(10)
            ]
            for transaction_id in made[:5]:
                api.sandbox.settle(transaction_id)
            assert api.sandbox.flush(within=60).waiting == 0
            books = read(tmp_path / "events.db", rows=10, settled=5)

    assert books == {one: (100 + i, "completed" if i < 5 else "pending") for i, one in enumerate(made)}


def read(path: Path, rows: int, settled: int, seconds: float = 30) -> dict[str, tuple[int, str]]:
    """Return the ledger, as soon as it has that many rows."""
    deadline = time.monotonic() + seconds
    while True:
        with sqlite3.connect(path) as connection:
            try:
                found = connection.execute("SELECT transaction_id, cents, status FROM ledger").fetchall()
            except sqlite3.OperationalError:
                found = []
        connection.close()
        if (len(found), sum(status == "completed" for *_, status in found)) == (rows, settled):
            return {transaction: (cents, status) for transaction, cents, status in found}
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
