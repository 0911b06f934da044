"""Access to private parts of Python and of libraries that have no public equivalent.

A function raises `WorkbenchError` if the installed release lacks the private part. `release_from_thread` raises no
error, because ipykernel before 7.4 neither has nor needs the part.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from workbench.base.errors import WorkbenchError


def _require(found: object, library: str, part: str) -> None:
    if not found:
        python = ".".join(map(str, sys.version_info[:3]))
        release = python if library == "Python" else import_module("importlib.metadata").version(library)
        raise WorkbenchError(f"{library} {release} has no {part}, which the workbench uses; install an earlier release")


def signal_functions() -> ModuleType:
    """Return the functions that `signal` wraps. Without the conversion to enums, a call takes 0.4 µs instead of 8."""
    functions = import_module("_signal")
    _require(hasattr(functions, "signal") and hasattr(functions, "getsignal"), "Python", "_signal.signal")
    return functions


def set_running_loop(loop: Any) -> None:
    """Set the event loop that asyncio regards as running in this thread, or None for no loop."""
    import asyncio

    _require(hasattr(asyncio, "_set_running_loop"), "Python", "asyncio._set_running_loop")
    asyncio._set_running_loop(loop)


def accepts_input(shell: object) -> bool:
    """Return whether the front end of a kernel can ask a person for input; False for kernels other than ipykernel."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None or type(kernel).__module__.partition(".")[0] != "ipykernel":
        return False
    _require(hasattr(kernel, "_allow_stdin"), "ipykernel", "Kernel._allow_stdin")
    return bool(kernel._allow_stdin)


def show_traceback(shell: Any, kind: type[BaseException], error: BaseException, lines: list[str]) -> None:
    """Show lines as the traceback of an error in IPython, because `showtraceback` shows other lines for some errors."""
    _require(hasattr(shell, "_showtraceback"), "IPython", "InteractiveShell._showtraceback")
    shell._showtraceback(kind, error, lines)


def release_from_thread(comm: object) -> None:
    """Let the page choose the kernel thread that receives its messages. The default is the last sending thread."""
    vars(comm)["_reply_subshell_for"] = lambda _, chosen: chosen  # ipykernel has this attribute since version 7.4


def replace_pool(transport: object, pool: object) -> None:
    """Replace the connection pool of an httpx transport, but not its class, which mocking tools patch."""
    kind = next(base for base in type(transport).__mro__ if base.__module__.startswith("httpx"))
    # mocking tools replace the methods that send, but not the constructor
    made_with = vars(kind)["__init__"].__code__.co_names
    _require("_pool" in made_with, kind.__module__.partition(".")[0], f"{kind.__name__}._pool")
    vars(transport)["_pool"] = pool


def run_test_again(item: object) -> list[Any]:
    """Rerun a pytest test without reporting it, and return the reports."""
    runner = import_module("_pytest.runner")
    _require(hasattr(runner, "runtestprotocol"), "pytest", "_pytest.runner.runtestprotocol")
    reports: list[Any] = runner.runtestprotocol(item, log=False, nextitem=None)
    return reports
