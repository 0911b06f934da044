"""What a stream can show: color on terminals that want it, ASCII where nothing else can be written."""

import io

import pytest

from workbench.rendering.design import LOOKS, OTHER
from workbench.rendering.text import _IN_ASCII, screen_of


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def stream(encoding: str, terminal: bool = True) -> io.TextIOWrapper:
    return (Terminal if terminal else io.TextIOWrapper)(io.BytesIO(), encoding=encoding)


@pytest.mark.parametrize(
    "terminal, environ, color",
    [(True, {}, True), (False, {}, False), (True, {"NO_COLOR": "1"}, False), (True, {"TERM": "dumb"}, False)],
    ids=["terminal", "pipe", "NO_COLOR", "dumb"],
)
def test_color_only_where_wanted(terminal, environ, color):
    """Colors are for terminals that did not decline them."""
    assert screen_of(stream("utf-8", terminal), environ).color is color


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_poor_encodings_get_ascii(encoding):
    """Where our signs cannot be encoded, all is written in ASCII, hostile text as escapes."""
    screen = screen_of(stream(encoding), {})

    assert screen.plain
    assert screen.fit("✓ done … é") == "v done ... \\xe9"


def test_unicode_is_left_as_it_is():
    """A terminal that can show it gets the text itself."""
    assert screen_of(stream("utf-8"), {}).fit("✓ é") == "✓ é"


def test_every_mark_has_a_likeness():
    """Each mark of a status has a likeness in ASCII of its own."""
    for look in (*LOOKS.values(), OTHER):
        assert look.mark.isascii() or look.mark in _IN_ASCII
