"""What a stream of text can show: colors, width, and characters beyond ASCII."""

import codecs
import os
from collections.abc import Mapping
from typing import TextIO

import attrs

from workbench.rendering.palette import LOOKS, OTHER, paint
from workbench.rendering.text import Paint, unpainted

IN_PIPES = 100
NARROWEST, WIDEST = 40, 140

_IN_ASCII = {
    "─": "-", "━": "=", "│": "|", "█": "#", "▏": "|", "•": "*", "·": "-", "…": "...", "–": "-", "—": "-", "→": "->",
    "×": "x", "“": '"', "”": '"', "’": "'", "✓": "v", "✗": "x", "●": "o", "◔": "~", "◎": "@", "⚑": "!", "■": "#",
    "○": "o", "◇": "*", "✎": "!", "↩": "<", "−": "-", "‽": "?",
}  # fmt: skip


@attrs.frozen(kw_only=True)
class Screen:
    """How to write for one stream."""

    width: int = IN_PIPES
    color: bool = False
    plain: bool = False  # nothing beyond ASCII

    @property
    def paint(self) -> Paint:
        """What colors text here, or leaves it as it is."""
        return paint if self.color else unpainted

    def fit(self, text: str) -> str:
        """Return text as the stream can take it: our own signs by likenesses in ASCII, others as escapes."""
        return text if not self.plain or text.isascii() else text.encode("ascii", LIKENESS).decode()


def _like(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(_IN_ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in found), error.end


LIKENESS = "workbench-likeness"
"""The name of the error handler, for streams, that writes our own signs by likenesses in ASCII, others as escapes."""
codecs.register_error(LIKENESS, _like)


def screen_of(stream: TextIO, environ: Mapping[str, str] | None = None) -> Screen:
    """Return how to write for a stream: colors only on a terminal that wants them, and only what it can encode."""
    environ = os.environ if environ is None else environ
    terminal, columns = stream.isatty(), IN_PIPES
    if terminal:
        import shutil  # with five libraries for compression

        columns = shutil.get_terminal_size((IN_PIPES, 24)).columns
    return Screen(
        width=max(NARROWEST, min(WIDEST, columns)),
        color=terminal and not environ.get("NO_COLOR") and environ.get("TERM", "") != "dumb",
        plain=not _encodes(getattr(stream, "encoding", None) or "ascii"),
    )


def _encodes(encoding: str) -> bool:
    signs = "".join([*_IN_ASCII, OTHER.mark, *(look.mark for look in LOOKS.values())])
    try:
        codecs.encode(signs, encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True
