"""Clock for waits and durations."""

import os
import time


def monotonic() -> float:
    """Return monotonic seconds, even in a test that freezes time. Such a test replaces `time.monotonic`, so a wait
    based on it would never end. On Windows, Python has no other clock.
    """
    return time.clock_gettime(time.CLOCK_MONOTONIC) if os.name == "posix" else time.monotonic()
