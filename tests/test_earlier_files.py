"""Files that earlier versions made and left half-done: read, migrated or refused; a refused one is left byte for byte.

`tests/earlier` holds files of 0.1 and 0.2, each left by a killed process: a bulk run of six rows, killed at the fourth, a
journal of three calls, an inbox of three events, and the run of a sequence.
"""

import sqlite3
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import workbench as wb
from workbench.base.errors import UnusableFile
from workbench.client.calls.client import Client
from workbench.client.calls.journal import Journal

EARLIER = Path(__file__).parent / "earlier"
CARD = "9b26cf74-10af-42ce-bea3-5d52ed4a93c6"
ROWS = [
    {"card_id": CARD, "amount": 100 + n, "currency": "USD", "merchant_name": "Shop", "merchant_category_code": "5411"}
    for n in range(6)
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that unpacks the files of a version into a folder, with the secret of their installation."""

    def unpack(version: str) -> Path:
        with tarfile.open(EARLIER / f"files-{version}.tar.xz") as archive:
            archive.extractall(tmp_path, filter="data")
        (tmp_path / "state").chmod(0o700)
        monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
        return tmp_path

    return unpack


def contents(folder: Path, name: str) -> dict[str, bytes]:
    """Return what a database and its log hold; its index is the locks of who reads it."""
    return {path.name: path.read_bytes() for path in folder.glob(f"{name}*") if path.name in (name, f"{name}-wal")}


def client(sent: list[httpx.Request], journal: Any = False) -> Client:
    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={"transactionId": CARD, "status": "authorized"})

    return Client(
        base_url="https://sandbox.example.com/v1",
        api_key="k" * 20,
        transport=httpx.MockTransport(answer),
        journal=journal,
    )


def test_a_run_of_0_1_is_refused_and_left(files: Callable[[str], Path]) -> None:
    """It numbers rows in another way; the error names the version that finishes it."""
    folder, sent = files("0.1"), []
    before = contents(folder, "run.db")
    api = client(sent)
    for _ in range(2):
        with pytest.raises(UnusableFile, match=r"earlier workbench.*left unchanged.*workbench 0\.1"):
            wb.bulk.resume(api, folder / "run.db", ROWS, progress=False)
        with pytest.raises(UnusableFile, match=r"workbench 0\.1"):
            wb.bulk.run(api.simulate_authorization, ROWS, path=folder / "run.db", progress=False)
    assert contents(folder, "run.db") == before
    assert sent == []


def test_a_run_of_0_2_is_resumed(files: Callable[[str], Path]) -> None:
    """Three rows were done, and the fourth was under way; it is never sent again by itself."""
    folder, sent = files("0.2"), []
    run = wb.bulk.resume(client(sent), folder / "run.db", ROWS, on_unknown="continue", progress=False)
    assert [row.outcome for row in run] == ["done", "done", "done", "unknown", "done", "done"]
    assert len(sent) == 2


@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_a_journal_is_read_and_written_on(version: str, files: Callable[[str], Path]) -> None:
    path = files(version) / "journal.db"
    before = [(entry.id, entry.operation, entry.outcome) for entry in Journal(path)]
    assert len(before) == 3
    sent: list[httpx.Request] = []
    client(sent, path).simulate_authorization(**{**ROWS[0], "amount": 999})
    assert [(entry.id, entry.operation, entry.outcome) for entry in Journal(path)][:3] == before
    assert len(list(Journal(path))) == 4


@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_an_inbox_is_read_and_written_on(version: str, files: Callable[[str], Path]) -> None:
    with wb.Inbox(files(version) / "inbox.db", accept_unsigned=True) as inbox:
        assert [event.id for event in inbox.events()] == ["e0", "e1", "e2"]


def test_the_run_of_a_sequence_of_0_1_is_refused_and_left(files: Callable[[str], Path]) -> None:
    """The catalogue has changed since, so only 0.1 can finish it; opened here, that would refuse it as newer."""
    folder = files("0.1")
    before = contents(folder, "sequence.db")
    for _ in range(2):
        with pytest.raises(UnusableFile, match=r"left unchanged.*workbench 0\.1"):
            wb.sequences.run(wb.connect(), wb.sequences.catalogue["refund-full"], path=folder / "sequence.db")
    assert contents(folder, "sequence.db") == before


def test_the_run_of_a_sequence_of_0_2_is_resumed(files: Callable[[str], Path]) -> None:
    """Two steps were done; the others are played on a sandbox that has not the first two."""
    path = files("0.2") / "sequence.db"
    sequence = wb.sequences.catalogue["refund-full"]
    with pytest.raises(wb.sequences.InvalidSequence, match="differ from those this file was started with"):
        wb.sequences.run(wb.connect(seed=5), sequence, path=path, amount=1)
    with wb.connect(seed=5) as api:
        steps = wb.sequences.run(api, sequence, path=path).steps
    assert [step.outcome for step in steps][:2] == ["done", "done"]


@pytest.mark.parametrize("name", ["run.db", "journal.db", "inbox.db", "sequence.db"])
@pytest.mark.parametrize(
    "change",
    ["DROP TABLE {table}", "ALTER TABLE {table} RENAME TO other", "ALTER TABLE {table} ADD COLUMN another TEXT"],
)
@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_another_schema_is_refused_before_anything_is_written(
    name: str, change: str, version: str, files: Callable[[str], Path]
) -> None:
    folder = files(version)
    table = {"run.db": "row", "journal.db": "calls", "inbox.db": "events", "sequence.db": "step"}[name]
    connection = sqlite3.connect(folder / name, isolation_level=None)
    connection.execute("PRAGMA foreign_keys=OFF")
    connection.execute("PRAGMA journal_mode=DELETE")
    if change.startswith("DROP"):
        connection.execute(f"DELETE FROM {table}")
    connection.execute(change.format(table=table))
    connection.close()
    before, names = contents(folder, name), sorted(path.name for path in folder.iterdir())
    openers: dict[str, Callable[[], Any]] = {
        "run.db": lambda: wb.bulk.run(client([]).simulate_authorization, ROWS, path=folder / name, progress=False),
        "journal.db": lambda: list(Journal(folder / name)),
        "inbox.db": lambda: wb.Inbox(folder / name, accept_unsigned=True),
        "sequence.db": lambda: wb.sequences.run(
            wb.connect(), wb.sequences.catalogue["refund-full"], path=folder / name
        ),
    }
    for _ in range(2):
        with pytest.raises(UnusableFile):
            openers[name]()
    assert contents(folder, name) == before
    assert sorted(path.name for path in folder.iterdir()) == names, "no lock is left beside a refused file"
