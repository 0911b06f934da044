"""Fixtures of withdrawals."""

from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb


@pytest.fixture
def api() -> Iterator[wb.Session]:
    session = wb.connect(behavior={"stellar_contracts": True})
    yield session
    session.close()


@pytest.fixture
def contract(api: wb.Session) -> Any:
    """Return the first contract, which is on EVM, of version 2, and has two admins."""
    return api.list_contracts()[0]
