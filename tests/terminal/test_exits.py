"""Exit codes of commands whose reader goes before they end, as `head` does."""

import os
import sys
from collections.abc import Callable

import pytest

from workbench.terminal.exits import DONE, PARTLY, run_to_exit, say


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
        print("an event", flush=True)


@pytest.mark.parametrize("command, code", [(failed_check, PARTLY), (failed_after_a_flush, PARTLY), (endless, DONE)])
def test_the_code_of_a_command_that_nobody_reads(monkeypatch, command: Callable[[], int], code: int) -> None:
    """A command that ends keeps its code; one that prints without end stops."""
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a descriptor
        monkeypatch.setattr(sys, "stdout", stream)
        assert run_to_exit(command) == code
        assert sys.stdout is stream
        monkeypatch.undo()


@pytest.mark.parametrize("data", [None, b"", b"\x00\xff\x80 no traffic", "folder"])
def test_a_file_without_traffic_is_wrong_input(wb, tmp_path, data: bytes | str | None) -> None:
    """`learn` names the file and ends with 2, as other commands do for a file they cannot read."""
    file = tmp_path / "traffic.har"
    if isinstance(data, bytes):
        file.write_bytes(data)
    elif data is not None:
        file.mkdir()

    ended = wb("learn", str(file))

    assert ended.code == 2
    assert "traffic.har" in ended.err


@pytest.mark.parametrize("name", ["missing.ndjson", "folder", "*.missing"])
def test_a_world_is_not_made_without_a_log(wb, tmp_path, name: str) -> None:
    """The message names the path, not the class of Python's error."""
    (tmp_path / "folder").mkdir()

    ended = wb("sandbox", "world", str(tmp_path / name), "--out", str(tmp_path / "world.toml"))

    assert ended.code == 2
    assert f"no event log at {tmp_path / name}" in ended.err
    assert "FileNotFoundError" not in ended.err
