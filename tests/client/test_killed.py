"""A client is killed at random moments. Its journal has each sent call once, and no call is wrongly called done."""

import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.client.client_child import KINDS, call, settings
from tests.client.doubles import CARD
from tests.processes import PROCESSES
from workbench.client.calls.client import Client

KILLS_OF_A_FILE = 20


def effects(ledger: Path) -> Counter[str]:
    """Return the number of effects of each update."""
    found = ledger.read_text().splitlines() if ledger.exists() else []
    return Counter(json.loads(line)["externalId"] for line in found)


def kill_one(folder: Path, kind: str, name: str, chance: random.Random) -> None:
    """Start a process and kill it, while it starts or after some more effects."""
    journal, ledger = folder / "journal.db", folder / "ledger"
    before = len(effects(ledger))
    receiver, sender = PROCESSES.Pipe(duplex=False)
    child = PROCESSES.Process(
        target=call, args=(kind, journal, ledger, name, os.environ["WORKBENCH_STATE"], sender), daemon=True
    )
    child.start()
    assert receiver.recv() == kind
    wanted = before + chance.choice([0, 0, 1, 5, 20])
    while len(effects(ledger)) < wanted:
        child.join(0.001)
        assert child.is_alive()
    child.join(chance.uniform(0, 0.02))
    assert child.is_alive()
    child.kill()
    child.join()
    child.close()
    receiver.close()


def resolve(folder: Path) -> int:
    """Compare journal and effects, and resolve unknown calls by their effect or by a resend."""
    seen = effects(folder / "ledger")
    api = Client(**settings(folder / "journal.db", folder / "ledger"))
    journal = api.journal
    first = [entry for entry in journal if entry.resend_of is None]
    entries = {entry.request["externalId"]: entry for entry in first}
    done = {name for name, entry in entries.items() if entry.final_outcome == "done"}
    unknown = {name: entry for name, entry in entries.items() if entry.is_unknown}

    assert len(entries) == len(first), "two entries of one call"
    assert max(seen.values(), default=0) <= 1, "an effect twice"
    assert done <= seen.keys() <= entries.keys(), "an effect without a record, or a record without its effect"
    assert done | unknown.keys() == entries.keys(), "an outcome that is neither done nor unknown"
    for name, entry in unknown.items():
        if name in seen:
            journal.resolve(entry.id, "done")
        else:
            journal.resend(entry.id, {"user_id": CARD, "external_id": name}, accept_double=True)
    assert journal.unknown() == []
    api.close()
    journal.close()
    return len(unknown)


@pytest.mark.parametrize(
    "kills, seed",
    [
        pytest.param(6, 1, marks=pytest.mark.slow),
        pytest.param(2_000, 2, marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_a_killed_client(tmp_path: Path, kills: int, seed: int) -> None:
    """Each effect happens once and has a record. Calls in flight are unknown and can be resolved."""
    chance = random.Random(seed)
    unknown = sent = 0
    for number in range(kills):
        folder = tmp_path / str(number // KILLS_OF_A_FILE)
        folder.mkdir(exist_ok=True)
        kind = KINDS[number % len(KINDS)]
        kill_one(folder, kind, str(number), chance)
        try:
            unknown += resolve(folder)
        except AssertionError as error:
            error.add_note(f"kill {number} of seed {seed}: {kind}, {folder}")
            raise
        if number % KILLS_OF_A_FILE == KILLS_OF_A_FILE - 1 or number == kills - 1:
            sent += sum(effects(folder / "ledger").values())
    print(f"{kills} kills, seed {seed}: {sent} effects, {unknown} in flight and resolved, 0 lost, 0 doubled")
