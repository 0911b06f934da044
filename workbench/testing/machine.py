"""The machine's clock in universes: `time`, `datetime` and the local time zone show the universe's time."""

import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ZONES = ("UTC", "America/New_York", "Pacific/Auckland")
"""Time zones of the machine on which an application may run."""
_SHOWN = frozenset({"time", "time_ns", "datetime.now", "datetime.utcnow", "date.today"})
_NOT_SIMULATED = frozenset({"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"})
_BEGIN = 1_768_489_200.0  # Unix time in 2026; each universe replaces it


class MachineClock:
    """Clock that shows the time of universes to code that reads the machine's clock.

    `time.monotonic` is replaced in the module `time`. Code that imported the function earlier still reads the machine's
    clock.
    """

    def __init__(self, traveller: Any) -> None:
        self._traveller = traveller
        self._seconds = _BEGIN

    def passed(self) -> float:
        return self._seconds

    def use_zone(self, number: int) -> None:
        """Set the local time zone."""
        if os.environ.get("TZ") != ZONES[number]:
            os.environ["TZ"] = ZONES[number]
            time.tzset()

    def show(self, seconds: float) -> None:
        """Set the clock to a Unix time, in seconds."""
        if seconds != self._seconds:
            self._seconds = seconds
            self._traveller.move_to(seconds)

    @contextmanager
    def counting(self, counts: Counter[str]) -> Iterator[None]:
        """Count the reads of the machine's clock by this thread, outside this package. A profiler prevents counting."""
        reads: Counter[str] = Counter()

        def note(frame: FrameType, event: str, called: Any) -> None:
            name = getattr(called, "__qualname__", "") if event == "c_call" else ""
            reader: FrameType | None = frame
            if event == "call" and frame.f_code is MachineClock.passed.__code__:
                name, reader = "time", frame.f_back
            is_read = name in _SHOWN or name in _NOT_SIMULATED
            module = "workbench." if reader is None else str(reader.f_globals.get("__name__"))
            if is_read and not module.startswith("workbench."):
                reads[name] += 1

        if sys.getprofile() is not None:  # an active profiler must not be replaced
            yield
            return
        collects = gc.isenabled()
        gc.disable()  # garbage collection can run callbacks (Hypothesis has one) that read the simulated clock
        sys.setprofile(note)
        try:
            yield
        finally:
            sys.setprofile(None)
            if collects:
                gc.enable()
        for name, count in reads.items():
            what = f"time.{name}, which is not simulated" if name in _NOT_SIMULATED else "the machine's clock"
            counts[f"reads of {what}, in the first universe"] += count


@contextmanager
def machine_clock() -> Iterator[MachineClock]:
    """Replace the machine's clock within a `with` block."""
    import time_machine

    zone, monotonic = os.environ.get("TZ"), time.monotonic
    with time_machine.travel(_BEGIN, tick=False) as traveller:
        clock = MachineClock(traveller)
        time.monotonic = clock.passed
        try:
            yield clock
        finally:
            time.monotonic = monotonic
            os.environ.pop("TZ", None)
            os.environ.update({} if zone is None else {"TZ": zone})
            time.tzset()
