"""Kernels that are forked from one process, which has imported what is not of this project.

A kernel takes a second and a half for these imports. What the workbench does when it is imported is different in no kernel:
the process that is forked has not imported it.
"""

import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
from typing import Any, Self

IMPORTS = (
    "ipykernel.kernelapp", "ipykernel.ipkernel", "IPython.core.completer", "ipywidgets", "anywidget", "httpx", "rich.console", "cattrs",
    "pyarrow", "pandas", "matplotlib.figure", "matplotlib.dates", "matplotlib.backends.backend_agg",
)  # fmt: skip
BACKEND = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
"""ipykernel sets this variable before matplotlib is imported, which is here earlier."""


class Forked:
    """A forked kernel, with what `jupyter_client` uses of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._file = os.pidfd_open(pid)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return 0 when the process has ended; the status itself is known only to its parent."""
        if self.returncode is None and select.select([self._file], [], [], 0)[0]:
            os.close(self._file)
            self.returncode = 0
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            select.select([self._file], [], [])
        return self.poll() or 0

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            signal.pidfd_send_signal(self._file, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Kernels:
    """Starts kernels by forks."""

    def __enter__(self) -> Self:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("WORKBENCH_", "PYTEST_"))}
        command = [sys.executable, "-Xfrozen_modules=off", __file__]
        self._parent = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ | BACKEND,
            start_new_session=True,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self._parent.communicate(timeout=60)

    def launch_kernel(self, cmd: list[str], *, env: dict[str, str], cwd: str, **_: Any) -> Forked:
        """Start a kernel as `jupyter_client.launcher.launch_kernel` does, by a fork."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        words = cmd[cmd.index("-m") + 1 :]
        self._parent.stdin.write(json.dumps({"words": words, "env": env, "cwd": cwd}) + "\n")
        self._parent.stdin.flush()
        return Forked(int(self._parent.stdout.readline()))


def _become(words: list[str], env: dict[str, str], cwd: str) -> None:
    """Be a Python that was started with `-m` and these words, variables and folder."""
    os.setsid()
    print(os.getpid(), flush=True)  # only now, since all processes of its group receive the signals for a kernel
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(null, number)
    os.environ.clear()
    os.environ.update(env, JPY_PARENT_PID=str(os.getppid()))
    os.chdir(cwd)
    sys.path[0] = cwd  # instead of the folder of this file
    sys.path[1:1] = [folder for folder in env.get("PYTHONPATH", "").split(os.pathsep) if folder]
    importlib.import_module("sitecustomize")
    sys.argv = words
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


def _serve() -> None:
    """Fork a kernel for each line of standard input."""
    for name in IMPORTS:
        importlib.import_module(name)
    assert "workbench" not in sys.modules
    assert "sitecustomize" not in sys.modules
    running: list[int] = []
    for line in sys.stdin:
        running = [pid for pid in running if os.waitpid(pid, os.WNOHANG) == (0, 0)]
        pid = os.fork()
        if not pid:
            _become(**json.loads(line))
            os._exit(0)
        running.append(pid)
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    _serve()
