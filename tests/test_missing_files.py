"""A missing or unreadable file is a usage error of every function that takes a path."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb

READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "sequences.read_toml": (".toml", lambda path: wb.sequences.read_toml(path)),
    "bulk.run": (".csv", lambda path: wb.bulk.run(wb.connect(seed=1).update_user, path)),
    "learn": (".har", lambda path: wb.learn(path)),
    "world": (".toml", lambda path: wb.Sandbox(world=path)),
    "behavior": (".toml", lambda path: wb.Sandbox(behavior=path)),
    "ca_file": (".pem", lambda path: wb.connect("http://127.0.0.1:9/v1", ca_file=path)),
    "client": (".pem", lambda path: wb.Client(base_url="https://a.example.com/v1", api_key="k" * 20, ca_file=path)),
}


def missing(path: Path) -> None:
    """Leave the path empty."""


def folder(path: Path) -> None:
    path.mkdir()


def loop(path: Path) -> None:
    path.symlink_to(path)


def below_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_text("x")


@pytest.mark.skipif(os.name == "nt", reason="other errors of the system")
@pytest.mark.parametrize("make", [missing, folder, loop, below_a_file])
@pytest.mark.parametrize("name", READERS)
def test_a_path_without_a_file_is_named(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    ending, read = READERS[name]
    path = tmp_path / "here" / f"rows{ending}"
    path.parent.mkdir()
    make(path)

    with pytest.raises((wb.errors.UsageError, wb.errors.UnusableFile)) as caught:
        read(path)
    assert re.search("rows|file|directory", str(caught.value))
