"""Exit codes of commands whose reader closes the pipe early, as `head` does."""

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from workbench.terminal.exits import DONE, PARTLY, Stopped, flush_line, run_to_exit, say, waiting_for_signals


def failed_check() -> int:
    for row in range(20_000):
        print(f"row {row}")
    return PARTLY


def failed_after_a_flush() -> int:
    print("x" * 100_000)
    say("The totals differ.")
    return PARTLY


def endless() -> int:
    while True:
        print("an event")
        flush_line()


@pytest.mark.parametrize("command, code", [(failed_check, PARTLY), (failed_after_a_flush, PARTLY), (endless, DONE)])
def test_the_code_of_a_command_that_nobody_reads(monkeypatch, command: Callable[[], int], code: int) -> None:
    """A command that ends by itself keeps its exit code. A command with endless output stops."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a descriptor
        monkeypatch.setattr(sys, "stdout", stream)
        assert run_to_exit(command) == code
        assert sys.stdout is stream
        monkeypatch.undo()


def timer() -> tuple[object, bool]:
    """Return the handler of the timer's signal, and whether a timer of this module is running.

    The tests' own timer is longer.
    """
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    return signal.getsignal(signal.SIGALRM), 0 < left < 2


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_no_timer_outlives_a_server(name: str) -> None:
    """The timer that ends a blocked server is off once the server has ended."""
    before = timer()
    with waiting_for_signals() as wait:
        signal.raise_signal(getattr(signal, name))
        assert timer()[1]
        with pytest.raises(KeyboardInterrupt if name == "SIGINT" else Stopped):
            wait(5)

    assert timer() == before


def test_no_timer_outlives_a_signal_during_an_import(monkeypatch, tmp_path) -> None:
    """A command that ends before its signal is repeated stops the timer for the repetition."""
    (tmp_path / "interrupted.py").write_text("import signal\nsignal.raise_signal(signal.SIGTERM)\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = timer()

    def command() -> int:
        importlib.import_module("interrupted")
        assert timer()[1]
        return DONE

    assert run_to_exit(command) == DONE
    assert timer() == before


SLOW_END = """
import sys, threading, time
class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(2)
sys.slow = Slow()
def linger():
    while threading.main_thread().is_alive():
        time.sleep(0.05)
threading.Thread(target=linger).start()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "tokens", [("events", "listen"), ("sandbox", "serve"), ("course", "serve", "--learners", "1")], ids=" ".join
)
def test_a_server_that_ends_slowly_ends_with_130(tokens: tuple[str, ...], tmp_path) -> None:
    """On a busy machine, ending the process can take longer than the limit for blocked operations."""
    (tmp_path / "sitecustomize.py").write_text(SLOW_END)
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    folder = ("--folder", str(tmp_path / "class")) if tokens[0] == "course" else ()
    command = [sys.executable, "-m", "workbench", *tokens, *folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=30)

    assert child.returncode == 130


@pytest.mark.parametrize("data", [None, b"", b"\x00\xff\x80 no traffic", "folder"])
def test_a_file_without_traffic_is_wrong_input(wb, tmp_path, data: bytes | str | None) -> None:
    """`corpus learn` names the file and ends with 2, as other commands do for unreadable files."""
    file = tmp_path / "traffic.har"
    if isinstance(data, bytes):
        file.write_bytes(data)
    elif data is not None:
        file.mkdir()

    ended = wb("corpus", "learn", str(file))

    assert ended.code == 2
    assert "traffic.har" in ended.err
