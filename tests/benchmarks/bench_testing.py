"""Measure universes per second of correct applications: with and without calls, asynchronous or not, and behind HTTP.

Run: python -m tests.benchmarks.bench_testing
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.testing.applications import Shop, Till
from tests.testing.ledgers import Ledger, LedgerOfPlainCode
from tests.testing.test_http_application import served
from workbench import testing
from workbench.sandbox import Sandbox

_SANDBOX = Sandbox(behavior="observed")


def measure(name: str, application: Any, universes: int, **options: Any) -> None:
    """Print the universes of an application per second of wall time and of processor time."""
    # os.times() includes the processor time of child processes that have ended
    began, used = time.perf_counter(), sum(os.times()[:4])
    result = testing.explore(application, universes=universes, sandbox=_SANDBOX, **options)
    seconds, used = time.perf_counter() - began, sum(os.times()[:4]) - used
    result.check()
    print(
        f"{name:24} {universes:5} universes {universes / seconds:8.1f} a second {universes / used:8.1f} a second of processor time"
    )


def main() -> None:
    """Measure each mode."""
    measure("a ledger", Ledger, 500)
    measure("… not asynchronous", LedgerOfPlainCode, 500)
    measure("a shop that calls", Shop, 500)
    measure("… not asynchronous", Till, 500)
    with tempfile.TemporaryDirectory() as folder, served("right", Path(folder), crashes=False) as application:
        measure("behind HTTP", application, 20)
    with tempfile.TemporaryDirectory() as folder, served("right", Path(folder)) as application:
        measure("behind HTTP, crashes", application, 10)


if __name__ == "__main__":
    main()
