"""Seconds of the machine's own clock, for waits and durations."""

import os
import time


def monotonic() -> float:
    """Return seconds that only go forward, also in a test that has stopped the clocks of `time`.

    Such a test replaces `time.monotonic`, and a wait that asks it never ends. Windows has no other clock in Python.
    """
    return time.clock_gettime(time.CLOCK_MONOTONIC) if os.name == "posix" else time.monotonic()
