"""The example applications receive what a sandbox sends, in the servers they are written for."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import workbench as wb
from tests.ports import free_port
from workbench import testing

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


def post(url: str, headers: dict[str, str], seconds: float = 30) -> int:
    """Return the status of a forged delivery, as soon as something answers."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return httpx.post(url, json={"id": "forged"}, headers=headers).status_code
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("framework", SERVERS)
def test_an_example_keeps_the_books_of_a_sandbox(framework: str, tmp_path: Path) -> None:
    """What a sandbox posted is in the books of the application; a forged delivery is refused."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    api = wb.connect()
    card = api.sandbox.guide()["cards"]["active"][0]
    with running(SERVERS[framework], port, tmp_path):
        assert post(f"{url}/webhooks", {"signature": "0" * 64}) == 401
        assert post(f"{url}/webhooks", {}) == 401
        api.sandbox.register_endpoint(f"{url}/webhooks", signing_key=KEY)
        with running(HANDLING.get(framework, ["-c", ""]), port, tmp_path):
            expected = {}
            for i in range(10):
                made = api.simulate_authorization(
                    card_id=card, amount=100 + i, currency="USD", merchant_name="x", merchant_category_code="5411"
                ).transaction_id
                api.sandbox.settle(made)
                refunded = 0 if i % 2 else 40
                if refunded:
                    api.simulate_refund(transaction_id=made, amount=refunded)
                expected[made] = 100 + i - refunded
            assert api.sandbox.flush(timeout=60).waiting == 0
            deadline = time.monotonic() + 30
            while (found := httpx.get(f"{url}/books").json()) != expected:
                assert time.monotonic() < deadline, found
                time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("framework", SERVERS)
def test_an_example_survives_a_campaign(framework: str, tmp_path: Path) -> None:
    """Duplicates at the same time, reordering, lost responses, forgeries, a rotated key, unknown kinds: the books agree."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    handling = HANDLING.get(framework, ["-c", ""])
    with running(SERVERS[framework], port, tmp_path), running(handling, port, tmp_path):
        assert post(f"{url}/webhooks", {"signature": "0" * 64}) == 401
        assert post(f"{url}/webhooks", {}) == 401
        application = testing.HttpApplication(url=f"{url}/webhooks", books=f"{url}/books", key=KEY, patience=30)
        result = testing.explore(application, universes=15)

    result.check()
    assert result.counts["events"] > 80
    assert result.counts["deliveries at the same time"] > 20
