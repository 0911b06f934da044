"""Mistakes in the example programs are found by both type checkers."""

import pytest

from tests.examples import planted


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_both_type_checkers_find_each_planted_mistake() -> None:
    """The page is as the checkers say now: each mistake is found, and the programs as they are have no error."""
    now = planted.page()

    assert planted.PAGE.read_text(encoding="utf-8") == now
    assert "not found" not in now
    assert "mypy 0, pyright 0" in now
