"""What the workbench advises without refusing: warnings of its own kind, and the log."""

import logging
import sys
import warnings

LOG = logging.getLogger("workbench")


class AdviceWarning(UserWarning):
    """Something a careful person would look at; the call goes on."""


def advise(text: str) -> None:
    """Warn at the line that called the workbench."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "workbench":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, AdviceWarning, stacklevel=level)
