"""A full disk for the inboxes of a test."""

from collections.abc import Callable
from typing import Any

import pytest

from workbench.base.system.database import Database
from workbench.client.webhooks import store


@pytest.fixture
def fill_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Return a function that stops the files of newly opened inboxes from growing, or lets them grow again."""
    files: list[Database] = []

    def opened(*args: Any, **options: Any) -> Database:
        files.append(Database(*args, **options))
        return files[-1]

    def fill(full: bool) -> None:
        assert files
        for file in files:
            pages = file.connection.execute("PRAGMA page_count").fetchone()[0] if full else 100_000
            file.connection.execute(f"PRAGMA max_page_count={pages}")

    monkeypatch.setattr(store, "Database", opened)
    return fill
