"""How far long work has come, said at most five times a second; row numbers and counts alone, never a value."""

import secrets
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

EVERY = 0.2  # seconds


class Progress(Protocol):
    """What is told of long work."""

    def __call__(self, done: int, total: int, words: str, *, last: bool = False) -> None:
        """Say how far it has come."""


class Interrupted(KeyboardInterrupt):
    """Long work was interrupted: nothing new was started, and what was in the air was awaited for a moment.

    `result` says how it stands.
    """

    def __init__(self, result: Any) -> None:
        self.result = result
        super().__init__(result.verdict)


def silent(done: int, total: int, words: str, *, last: bool = False) -> None:
    """Say nothing."""


class Line:
    """One line on a terminal, written over; in a notebook, one output that changes."""

    def __init__(self, label: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._label = label
        self._clock = clock
        self._began = clock()
        self._told = float("-inf")
        self._name = f"progress-{secrets.token_hex(8)}"
        self._shown_once = False

    def __call__(self, done: int, total: int, words: str, *, last: bool = False) -> None:
        """Say how far it has come, unless it was said a moment ago."""
        now = self._clock()
        if now - self._told < EVERY and not last:
            return
        self._told = now
        took = max(now - self._began, 1e-9)
        rate = done / took
        left = "" if last or not done else f", {_span((total - done) / rate)} left"
        self._show(f"{self._label}: {done:,} of {total:,} ({words}), {rate:,.0f} a second{left}", last)

    def _show(self, text: str, last: bool) -> None:
        shell = notebook_shell()
        if shell is not None:
            shell.display_pub.publish(
                {"text/plain": text}, transient={"display_id": self._name}, update=self._shown_once
            )
            self._shown_once = True
        elif sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[2K{text}" + ("\n" if last else ""))
            sys.stderr.flush()
        elif last:
            sys.stderr.write(text + "\n")


def _span(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def notebook_shell() -> Any:
    """Return the shell of the Jupyter kernel this runs in, or None."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if type(shell).__name__ == "ZMQInteractiveShell" else None


def progress_of(asked: bool | Progress, label: str) -> Progress:
    """Return the progress that was asked for."""
    if asked is True:
        return Line(label)
    return silent if asked is False else asked
