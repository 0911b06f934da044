"""Private parts of Python and libraries are used in one module, exist in each Python, and fail with a clear error."""

import ast
import asyncio
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import _pytest.runner
import httpx
import pytest
from ipykernel.kernelbase import Kernel
from IPython.core.interactiveshell import InteractiveShell

from workbench.base.errors import WorkbenchError
from workbench.base.system import private

ROOT = Path(__file__).parents[1]
DOCUMENTED = {"_asdict", "_exit", "_fields", "_getframe", "_repr_html_", "_ipython_display_"}
"""Names with an underscore that the documentation of Python or IPython describes."""


class Transport(httpx.HTTPTransport):
    """A transport with other connections, as the client uses it."""

    def __init__(self) -> None:
        private.replace_pool(self, "connections")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def own_names(trees: dict[Path, ast.Module]) -> Iterator[str]:
    """Yield the names that the package defines or assigns."""
    for node in (node for tree in trees.values() for node in ast.walk(tree)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.keyword(arg=str(name)):
                yield name


def foreign_parts(tree: ast.Module, own: set[str]) -> Iterator[str]:
    """Yield the private names in a module that the package does not define."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if is_private(name) and name not in own:
                yield ast.unparse(node)
            case ast.ImportFrom(module=str(module)) if any(map(is_private, module.split("."))):
                yield ast.unparse(node)
            case ast.Import() if any(is_private(part) for name in node.names for part in name.name.split(".")):
                yield ast.unparse(node)
            case ast.Call(func=ast.Name(id="getattr" | "import_module"), args=args):
                literals = [x.value for x in args if isinstance(x, ast.Constant) and isinstance(x.value, str)]
                yield from (text for text in literals if is_private(text) and text not in own)


@pytest.mark.slow
def test_one_module_uses_private_parts() -> None:
    """No other module reads or imports a private name from outside the package."""
    files = [*(ROOT / "workbench").rglob("*.py"), ROOT / "workbench_pytest.py"]
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    home = trees.pop(Path(private.__file__))
    own = {*own_names(trees), *DOCUMENTED}
    used = {str(file.relative_to(ROOT)): [*foreign_parts(tree, own)] for file, tree in trees.items()}

    assert len([*foreign_parts(home, own)]) >= 4
    assert {file: parts for file, parts in used.items() if parts} == {}


def test_signals_have_their_functions() -> None:
    functions = private.signal_functions()

    assert functions.getsignal(signal.SIGTERM) == signal.getsignal(signal.SIGTERM)


def test_a_loop_is_set_as_the_running_one() -> None:
    loop = SimpleNamespace()
    private.set_running_loop(loop)
    try:
        assert asyncio.get_running_loop() is loop
    finally:
        private.set_running_loop(None)


@pytest.mark.parametrize("mocked", [False, True])
def test_a_transport_has_other_connections(mocked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transport gets other connections even if a mocking tool has replaced the sending function."""
    if mocked:
        monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda self, request: httpx.Response(200))

    assert vars(Transport()) == {"_pool": "connections"}


@pytest.mark.parametrize("allowed", [True, False])
def test_a_kernel_says_whether_it_accepts_input(allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "_allow_stdin", allowed)

    assert private.accepts_input(SimpleNamespace(kernel=object.__new__(Kernel))) is allowed
    assert not private.accepts_input(SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=True)))
    assert not private.accepts_input(None)


DROPPED: dict[str, tuple[Any, str, Callable[[], object]]] = {
    "signal": (private.import_module("_signal"), "getsignal", private.signal_functions),
    "asyncio": (asyncio, "_set_running_loop", lambda: private.set_running_loop(None)),
    "IPython": (InteractiveShell, "_showtraceback", lambda: private.show_traceback(object(), OSError, OSError(), [])),
    "ipykernel": (
        Kernel,
        "_allow_stdin",
        lambda: private.accepts_input(SimpleNamespace(kernel=object.__new__(Kernel))),
    ),
    "httpx": (httpx.HTTPTransport, "__init__", Transport),
    "pytest": (_pytest.runner, "runtestprotocol", lambda: private.run_test_again(None)),
}


@pytest.mark.parametrize("library", DROPPED)
def test_a_dropped_part_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a release lacks the part, the error names the library, its version and the part."""
    holder, name, call = DROPPED[library]
    assert hasattr(holder, name)
    if library == "httpx":
        monkeypatch.setattr(holder, name, lambda self: None)
    else:
        monkeypatch.delattr(holder, name)

    with pytest.raises(WorkbenchError, match=r"^\w+ \d+\.\d+[\d.]* has no \S+, which the workbench uses; install an "):
        call()
