"""Values from an application are escaped in terminals and assertion messages."""

from collections.abc import Mapping
from typing import Any

import pytest

from workbench import testing

HOSTILE = ("\x1b]0;title\x07", "\u202eabc", "a\rb", "\x9b2J", "x\nimport os\nos.abort()", "\u2028y", "\u200bz")


class Hostile:
    """An application whose books contain terminal control sequences."""

    def __init__(self, universe: Any) -> None:
        self.received = False

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        self.received = True
        return 200

    def books(self) -> dict[str, Any]:
        return {HOSTILE[0] + text: text for text in HOSTILE} if self.received else {}


@pytest.fixture(scope="module")
def result() -> Any:
    return testing.explore(Hostile, universes=2, progress=False)


def test_no_control_character_of_the_books_is_shown(result: Any) -> None:
    assert result.failure is not None
    with pytest.raises(AssertionError) as caught:
        result.check()
    for text in (str(result), repr(result), str(caught.value)):
        assert "\\x1b" in text
        assert [line for line in text.split("\n") if not line.isprintable()] == []
