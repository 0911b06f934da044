"""Served sandboxes for the tests of the service."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.plain import Plain
from workbench.sandbox import Sandbox


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """Yield a sandbox with its state in a file."""
    made = Sandbox(path=tmp_path / "sandbox.db")
    yield made
    made.close()


@pytest.fixture
def url(sandbox: Sandbox) -> Iterator[str]:
    """Yield the URL of the sandbox while it is served."""
    with sandbox.serve() as made:
        yield made


@pytest.fixture
def plain(url: str) -> Iterator[Plain]:
    """Yield a client of the served sandbox that does not use this package."""
    with Plain(url) as made:
        yield made
