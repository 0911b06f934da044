"""Both type checkers find planted mistakes in the example programs."""

import pytest

from tests.examples import planted


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_both_type_checkers_find_each_planted_mistake() -> None:
    """Each mistake is found, the unchanged programs have no error, and the page is current."""
    now = planted.page()

    assert planted.PAGE.read_text(encoding="utf-8") == now
    assert "not found" not in now
    assert "mypy 0, pyright 0" in now
