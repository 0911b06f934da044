"""Two processes that serve a sandbox's file are killed: answered purchases exist once, the others at most once."""

import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.processes import PROCESSES
from tests.service.sandbox_child import call, serve
from workbench.sandbox import Sandbox

KILLS_OF_A_FILE = 20


def kill_two(path: Path, notes: Path, number: int, chance: random.Random) -> None:
    """Make purchases in two served sandboxes and sometimes a third, and kill them at the start or while they work."""
    before = notes.stat().st_size if notes.exists() else 0
    targets = (serve, serve, call) if number % 8 == 0 else (serve, serve)
    children = [
        PROCESSES.Process(target=target, args=(path, f"{number}-{i}", notes), daemon=True)
        for i, target in enumerate(targets)
    ]
    for child in children:
        child.start()
    wanted = before + chance.choice([0, 50, 500, 2_000])
    while not notes.exists() or notes.stat().st_size < wanted:
        time.sleep(0.002)
        assert all(child.is_alive() for child in children)
    time.sleep(chance.uniform(0, 0.05))
    chance.shuffle(children)
    for child in children:
        assert child.is_alive()
        child.kill()
    for child in children:
        child.join()
        child.close()


def check(path: Path, notes: Path) -> tuple[int, int]:
    """Compare the file with the notes; return the numbers of answered purchases and of purchases in flight."""
    noted = [line.split() for line in notes.read_text().splitlines()]
    sent = {merchant for merchant, found in noted if found == "sent"}
    answered = {merchant: found for merchant, found in noted if found != "sent"}
    with closing(Sandbox(path=path)) as sandbox, closing(Sandbox()) as fresh:
        names = [
            (str(one["merchant_name"]), one["id"])
            for one in sandbox.records("transaction")
            if str(one["merchant_name"]) in sent
        ]
        kept = dict(names)
        events = sum(one.payload["action"] == "requested" for one in sandbox.events())
        now, first = (one.balance(one.guide()["cards"]["active"][0]) for one in (sandbox, fresh))
    with closing(sqlite3.connect(path)) as connection:
        whole = connection.execute("PRAGMA integrity_check").fetchall()

    assert len(kept) == len(names), "a purchase twice"
    assert answered.items() <= kept.items(), "an answered purchase is not there"
    assert now.held - first.held == first.available - now.available == len(kept) * 100, "money without a purchase"
    assert events == len(kept), "an event too many or too few"
    assert whole == [("ok",)]
    return len(answered), len(sent) - len(answered)


@pytest.mark.parametrize(
    "kills, seed",
    [
        pytest.param(6, 1, marks=pytest.mark.slow),
        pytest.param(2_000, 2, marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_a_killed_sandbox(tmp_path: Path, kills: int, seed: int) -> None:
    """Answered purchases are stored. Each purchase in flight is stored with its hold and event, or not at all.

    Twenty kills share a file, which each start reads completely.
    """
    chance = random.Random(seed)
    answered = in_flight = 0
    for first in range(0, kills, KILLS_OF_A_FILE):
        path, notes = tmp_path / f"{first}.db", tmp_path / f"{first}-notes"
        for number in range(first, min(first + KILLS_OF_A_FILE, kills), 2):
            kill_two(path, notes, number, chance)
        try:
            counts = check(path, notes)
        except AssertionError as error:
            error.add_note(f"kills {first} to {number} of seed {seed}, {path}")
            raise
        answered, in_flight = answered + counts[0], in_flight + counts[1]
    print(
        f"\n{kills} kills of served sandboxes, two at a time, seed {seed}: {answered:,} purchases answered, {in_flight:,} in flight, "
        "0 lost, 0 doubled"
    )
