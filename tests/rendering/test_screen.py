"""What a stream can show: color on terminals, and ASCII if the encoding has no other characters."""

import io

import pytest

from workbench.service.rendering.design import LOOKS, OTHER, look
from workbench.service.rendering.text import _IN_ASCII, LIKENESS, screen_of


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
def test_color_only_where_wanted(terminal, environ, color, monkeypatch):
    """Colors are used on terminals unless NO_COLOR or TERM=dumb is set."""
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.setenv(name, environ.get(name, ""))

    assert screen_of(stream("utf-8", terminal)).color is color


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1", "utf-8"])
def test_poor_encodings_get_likenesses(encoding):
    """Characters that an encoding lacks are replaced by ASCII marks if they are status marks, otherwise by escapes."""
    written = "✓ done é \u202e".encode(encoding, LIKENESS).decode(encoding)

    expected = {"ascii": "v done \\xe9 \\u202e", "utf-8": "✓ done é \u202e"}
    assert written == expected.get(encoding, "v done é \\u202e")


def test_every_mark_has_a_likeness():
    """The mark of each status has an ASCII replacement."""
    for status_look in (*LOOKS.values(), OTHER):
        assert status_look.mark.isascii() or status_look.mark in _IN_ASCII


def test_canceled_is_not_red():
    """A canceled record has the neutral color, and a rejected one the color of failures."""

    assert ("other", "bad") == (look("canceled").tone, look("rejected").tone)
