"""Clock for waits and durations."""

import os
import time


def monotonic() -> float:
    """Return monotonic seconds, even in a test that freezes time (except on Windows, where Python has no other clock).

    Such a test replaces `time.monotonic`, so a wait based on it would never end.
    """
    return time.clock_gettime(time.CLOCK_MONOTONIC) if os.name == "posix" else time.monotonic()
