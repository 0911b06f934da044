"""How far a long read is: one line that is written over, at a prompt and under a cell alike."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

import attrs

WIDTH = 24
EVERY = 0.2
"""Seconds between two lines."""


@attrs.define
class Progress:
    """How far a read is. `progress=` may be a function that is called with it."""

    users: int
    done: int = 0
    pages: int = 0
    rows: int = 0
    began: float = attrs.field(factory=time.monotonic)
    ended: bool = False
    stopper: Callable[[str], object] | None = attrs.field(default=None, repr=False)  # of a read that can be stopped

    def stop(self, why: str) -> None:
        """End the read after what is in the air, from any thread; what was read is kept."""
        if self.stopper is not None:
            with suppress(RuntimeError):  # its loop is closed: the read is over
                self.stopper(why)

    @property
    def seconds(self) -> float:
        """Since it began."""
        return max(time.monotonic() - self.began, 1e-9)

    @property
    def left(self) -> float | None:
        """Seconds that are probably left; None before anything is known."""
        return self.seconds / self.done * (self.users - self.done) if self.done else None

    def __str__(self) -> str:
        share = self.done / self.users if self.users else 1.0
        bar = "█" * int(share * WIDTH) + "░" * (WIDTH - int(share * WIDTH))
        words = [
            f"{bar} {self.done:,} of {self.users:,} users",
            f"{self.rows:,} rows",
            f"{self.rows / self.seconds:,.0f}/s",
        ]
        if self.ended:
            words.append(f"in {clock(self.seconds)}")
        elif self.left is not None:
            words.append(f"{clock(self.left)} left")
        return " · ".join(words)


def clock(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


Meter = Callable[[Progress], None]


def meter(wanted: "bool | Meter", stream: TextIO | None = None) -> Meter:
    """Return what shows progress: a function of the caller's, a line where somebody looks, or nothing."""
    if callable(wanted):
        return wanted
    out = sys.stderr if stream is None else stream
    if not wanted or not (out.isatty() or "ipykernel" in sys.modules):
        return lambda _: None
    return Line(out)


class Line:
    """Writes progress over its own line, a few times a second."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last = 0.0
        self._length = 0

    def __call__(self, progress: Progress) -> None:
        """Show it, if it is time."""
        now = time.monotonic()
        if now - self._last < EVERY and not progress.ended:
            return
        self._last = now
        text = str(progress)
        try:
            self._out.write("\r" + text.ljust(self._length) + ("\n" if progress.ended else ""))
        except UnicodeEncodeError:  # a terminal without the letters of the bar
            self._out.write("\r" + text.encode("ascii", "replace").decode().ljust(self._length))
        self._out.flush()
        self._length = len(text)
