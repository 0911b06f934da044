"""Files of another version or with other tables are refused and left unchanged, without a lock file."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

import workbench as wb
from workbench.base.errors import UnusableFile
from workbench.client.calls.client import Client
from workbench.client.calls.journal import Journal
from workbench.course.classroom.class_results import Results

CARD = "9b26cf74-10af-42ce-bea3-5d52ed4a93c6"
ROWS = [{"card_id": CARD, "amount": 100, "currency": "USD", "merchant_name": "Shop", "merchant_category_code": "5411"}]


def client(journal: Any = False) -> Client:
    answer = httpx.Response(200, json={"transactionId": CARD, "status": "authorized"})
    url = "https://sandbox.example.com/v1"
    return Client(base_url=url, api_key="k" * 20, transport=httpx.MockTransport(lambda _: answer), journal=journal)


def open_journal(path: Path) -> None:
    if not path.exists():
        with client(path) as api:
            api.simulate_authorization(**ROWS[0])
    with closing(Journal(path)) as journal:
        list(journal)


OPENERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "bulk run": ("row", lambda path: wb.bulk.run(client().simulate_authorization, ROWS, path=path, progress=False)),
    "journal": ("calls", open_journal),
    "inbox": ("events", lambda path: wb.Inbox(path, accept_unsigned=True).close()),
    "sequence": ("step", lambda path: wb.sequences.run(wb.connect(), wb.sequences.catalogue["refund-full"], path=path)),
    "sandbox": ("value", lambda path: wb.Sandbox(path=path).close()),
    "class": ("setting", lambda path: Results(path).close()),
}
"""A table of each kind of file, and the function that creates or opens the file."""
CHANGES = {
    "an older version": "PRAGMA user_version={older}",
    "a newer version": "PRAGMA user_version={newer}",
    "a table missing": "DROP TABLE {table}",
    "a table renamed": "ALTER TABLE {table} RENAME TO other",
    "another column": "ALTER TABLE {table} ADD COLUMN another TEXT",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", OPENERS)
def test_another_version_is_refused_before_anything_is_written(kind: str, change: str, tmp_path: Path) -> None:
    """The file stays unchanged after two attempts. The error names both versions, or the tables."""
    path, (table, opened) = tmp_path / "file.db", OPENERS[kind]
    opened(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.executescript("PRAGMA foreign_keys=OFF; PRAGMA journal_mode=DELETE")
        ((version,),) = file.execute("PRAGMA user_version")
        if change == "a table missing":
            file.execute(f"DELETE FROM {table}")
        file.execute(CHANGES[change].format(table=table, older=version - 1, newer=version + 1))
    path.with_name("file.db.lock").unlink(missing_ok=True)
    before = {place.name: place.read_bytes() for place in tmp_path.iterdir()}
    said = "another version of the workbench" if "version" in change else "an unexpected schema"
    for _ in range(2):
        with pytest.raises(UnusableFile, match=rf"{said}.*left unchanged"):
            opened(path)

    assert before == {place.name: place.read_bytes() for place in tmp_path.iterdir()}
