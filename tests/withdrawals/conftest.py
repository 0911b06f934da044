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
    """The first contract: EVM, version 2, two admins."""
    return api.list_contracts()[0]
