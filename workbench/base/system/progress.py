"""Progress of long tasks: a record, shown as a line in a terminal or below a notebook cell, or passed to a function."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO

import attrs

from workbench.base.system.seconds import monotonic

BAR_WIDTH = 24
INTERVAL = 0.2  # seconds between two updates of the progress line


@attrs.define
class Progress:
    """Progress of a long task. A function passed as `progress=` gets this record after each change.

    The record holds counts and states, never values of rows.
    """

    total: int
    unit: str = "rows"  # what `done` and `total` count
    label: str = ""  # name of the operation, at the start of the line
    done: int = 0
    earlier: int = 0  # part of `done` that an earlier run completed, which the rate excludes
    rows: int = 0  # number of rows read so far, if `unit` is not rows
    detail: str = ""  # further counts, such as "4 done, 1 refused"
    ended: bool = False
    started: float = attrs.field(factory=monotonic)
    on_stop: Callable[[str], object] | None = attrs.field(default=None, repr=False)

    def stop(self, reason: str) -> None:
        """Request a stop after the calls in flight, from any thread; completed work is preserved."""
        if self.on_stop is not None:
            with suppress(RuntimeError):  # a closed event loop means that the work has ended
                self.on_stop(reason)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return max(monotonic() - self.started, 1e-9)

    @property
    def rate(self) -> float:
        """Rows (or another `unit`) per second."""
        return (self.rows or self.done - self.earlier) / self.seconds

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds left, or None before the first result."""
        now = self.done - self.earlier
        return self.seconds / now * (self.total - self.done) if now else None

    @property
    def summary(self) -> str:
        """Counts, rate and time as text, without the bar."""
        left = self.seconds_left
        parts = (
            f"{self.done:,} of {self.total:,} {self.unit}",
            f"{self.rows:,} rows" if self.rows else "",
            self.detail,
            f"{self.rate:,.0f}/s",
            f"in {clock(self.seconds)}" if self.ended else "" if left is None else f"{clock(left)} left",
        )
        return " · ".join(filter(None, parts))

    def __str__(self) -> str:
        share = min(self.done / self.total, 1.0) if self.total else 1.0
        bar = "█" * int(share * BAR_WIDTH)
        return f"{self.label}{': ' if self.label else ''}{bar.ljust(BAR_WIDTH, '░')} {self.summary}"


ProgressCallback = Callable[[Progress], object]


def progress_callback(progress: bool | ProgressCallback, stream: TextIO | None = None) -> ProgressCallback:
    """Return the function that reports progress.

    Args:
        progress: A function, True for a progress line (below the cell in a notebook, otherwise on a terminal, otherwise
            nowhere), or False for none.
        stream: Stream for the line; standard error by default.
    """
    if callable(progress):
        return progress
    out = sys.stderr if stream is None else stream
    if progress and (notebook_shell() is not None or out.isatty()):
        return ProgressLine(out)
    return lambda _: None


class ProgressLine:
    """Progress line that is overwritten a few times per second. In a notebook, it is an output that is updated."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._shell = notebook_shell()
        self._display_id = f"progress-{os.urandom(8).hex()}"
        self._shown_at: float | None = None
        self._length = 0

    def __call__(self, progress: Progress) -> None:
        """Show the progress, at a limited rate."""
        now = monotonic()
        if self._shown_at is not None and now - self._shown_at < INTERVAL and not progress.ended:
            return
        if self._shell is not None:
            data, place = {"text/plain": str(progress)}, {"display_id": self._display_id}
            self._shell.display_pub.publish(data, transient=place, update=self._shown_at is not None)
        else:
            self._write(str(progress), "\n" if progress.ended else "")
        self._shown_at = now

    def _write(self, text: str, end: str) -> None:
        try:
            self._out.write("\r" + text.ljust(self._length) + end)
        except UnicodeEncodeError:  # the terminal cannot display the characters of the bar
            self._out.write("\r" + text.encode("ascii", "replace").decode().ljust(self._length) + end)
        self._out.flush()
        self._length = len(text)


def clock(seconds: float) -> str:
    """Return seconds as `m:ss` or `h:mm:ss`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def ipython_shell() -> Any:
    """Return the IPython shell that runs this code, or None."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def notebook_shell() -> Any:
    """Return the shell of the Jupyter kernel that runs this code, or None."""
    shell = ipython_shell()
    return shell if type(shell).__name__ == "ZMQInteractiveShell" else None
