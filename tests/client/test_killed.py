"""A process killed at random moments: what was carried out is in the journal, and nothing is called done that is not."""

import multiprocessing
import os
import random
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.doubles import CARD, KEY, URL
from workbench.client.client import Client
from workbench.client.effects import Outcome
from workbench.client.journal import Journal


def _calls(journal: str, ledger: str, state: str) -> None:
    os.environ["WORKBENCH_STATE"] = state
    written = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def carry_out(request: httpx.Request) -> httpx.Response:
        os.write(written, request.content + b"\n")
        return httpx.Response(200, json={"id": CARD})

    client = Client(base_url=URL, api_key=KEY, transport=httpx.MockTransport(carry_out), journal=Journal(journal))
    number = 0
    while True:
        number += 1
        client.update_user(user_id=CARD, external_id=f"row-{number}")


def _round(folder: Path, seed: int) -> tuple[int, int, int]:
    """Kill one process after a while; give effects, intents and ends called done."""
    journal, ledger = folder / f"journal-{seed}.db", folder / f"ledger-{seed}"
    context: Any = multiprocessing.get_context("fork")
    child = context.Process(target=_calls, args=(str(journal), str(ledger), str(folder / "state")))
    child.start()
    wanted = random.Random(seed).randrange(1, 40)
    while not ledger.exists() or ledger.read_bytes().count(b"\n") < wanted:
        child.join(0.001)
        assert child.is_alive()
    child.join(random.Random(seed + 1).random() / 100)
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    effects = set(ledger.read_text().split())
    entries = list(Journal(journal))
    done = [entry for entry in entries if entry.outcome is Outcome.DONE]
    unknown = [entry for entry in entries if entry.outcome is Outcome.UNKNOWN]

    assert len(effects) == ledger.read_text().count("\n")  # none twice
    assert len(done) <= len(effects) <= len(entries)
    assert len(unknown) <= 1
    assert len(done) + len(unknown) == len(entries)
    return len(effects), len(entries), len(done)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_kill_rounds(tmp_path: Path) -> None:
    """Five kills: each effect has its recorded intent, and each end called done its effect."""
    assert all(_round(tmp_path, seed)[1] > 0 for seed in range(5))


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_many_kill_rounds(tmp_path: Path) -> None:
    """Two hundred kills."""
    counts = [_round(tmp_path, seed) for seed in range(200)]
    print(f"200 kills: {sum(c[0] for c in counts)} effects, {sum(c[1] for c in counts)} intents, 0 lost, 0 doubled")
