"""Commands as a user runs them: in this process with its streams caught, in a pipe, or in a pseudo-terminal."""

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
    """How a command ended: code, stdout, stderr."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> None:
    """Let children be interrupted also if the tests' own parent ignores signals, as a shell's `&` and `nohup` do."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory, monkeypatch) -> Path:
    """A state folder of the test's own, and nothing of the developer's environment."""
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
    """Run a command line in this process."""

    def run(*tokens: str) -> Ended:
        capsys.readouterr()
        code = main(list(tokens))
        caught = capsys.readouterr()
        for line in (caught.out + caught.err).splitlines():
            assert tokens[:1] in _OF_PYTHON or not CALL.search(line), f"a call of Python at a prompt: {line}"
        return Ended(code, caught.out, caught.err)

    return run


_OF_PYTHON = (("course",), ("test",), ("docs",))
"""Commands that show Python because it is what they are about."""
CALL = re.compile(r"(?<![\w.-])(?:(?:api|wb|sandbox|run|plan|journal)\.)?(?:[a-z_]\w*\.)*[a-z_]+\((?:\w+=|\)|[\"{]|…)")


@pytest.fixture
def piped() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run a command line in a process of its own, all its streams pipes."""

    def run(*tokens: str, stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "workbench", *tokens],
            input=stdin, capture_output=True, check=False, timeout=60, cwd=ROOT, env={**os.environ, **environ},
        )  # fmt: skip

    return run
