"""Run commands as a user does: in this process with captured streams, in a pipe, or in a pseudo-terminal."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from workbench.terminal import main

ROOT = Path(__file__).parents[2]


@attrs.frozen
class Ended:
    """Exit code, stdout and stderr of a command."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> None:
    """Let signals end child processes even if the tests were started with ignored signals, as `&` and `nohup` do."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory, monkeypatch) -> Path:
    """Use a separate state folder, without the developer's environment variables."""
    folder = tmp_path_factory.mktemp("state")
    for name in [name for name in os.environ if name.startswith("WORKBENCH_") or name in {"COLUMNS", "NO_COLOR"}]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("PAGER", "cat")
    monkeypatch.setenv("WORKBENCH_STATE", str(folder))
    monkeypatch.setenv("WORKBENCH_CONFIG", str(folder / "profiles.toml"))
    return folder


@pytest.fixture
def wb(capsys) -> Callable[..., Ended]:
    """Return a function that runs a command line in this process."""

    def run(*tokens: str) -> Ended:
        capsys.readouterr()
        code = main(list(tokens))
        caught = capsys.readouterr()
        for line in (caught.out + caught.err).splitlines():
            assert tokens[:1] in _OF_PYTHON or not CALL.search(line), f"a call of Python at a prompt: {line}"
        return Ended(code, caught.out, caught.err)

    return run


_OF_PYTHON = (("course",), ("test",), ("docs",))
"""Commands whose output is Python code."""
CALL = re.compile(r"(?<![\w.-])(?:(?:api|wb|sandbox|run|plan|journal)\.)?(?:[a-z_]\w*\.)*[a-z_]+\((?:\w+=|\)|[\"{]|…)")


@pytest.fixture
def piped() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Return a function that runs a command line in a separate process whose streams are pipes."""

    def run(*tokens: str, stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "workbench", *tokens],
            input=stdin, capture_output=True, check=False, timeout=60, cwd=ROOT, env={**os.environ, **environ},
        )  # fmt: skip

    return run
