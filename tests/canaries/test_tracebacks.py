"""In no traceback mode does a frame other than the caller's show a planted value."""

import io
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from rich.pretty import pretty_repr
from traitlets.config import Config

import workbench as wb
from tests.canaries.ends import ENDS, End
from tests.canaries.planted import found
from workbench.service import rendering


class Act:
    """A callable without arguments, so that the frame of the cell contains none of the values."""

    def __init__(self, end: End, folder: Path) -> None:
        self.end = end
        self.folder = folder

    def __call__(self) -> None:
        """Raise the error."""
        self.end.act(self.folder)

    def __repr__(self) -> str:
        return "act"


def _mine(name: str) -> bool:
    """Return whether a frame belongs to the tests, which may contain the values."""
    return any(
        one in name for one in ("canaries/test_tracebacks.py", "canaries/ends.py", "client/doubles.py", "contextlib")
    )


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a shell that stores no history."""
    before = sys.excepthook
    config = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}})
    make: Any = InteractiveShell
    yield make(config=config, ipython_dir=str(tmp_path_factory.mktemp("ipython")))
    sys.excepthook = before


def _raised(end: End, folder: Path) -> BaseException:
    with pytest.raises(end.error, match=end.words) as caught:
        end.act(folder)
    return caught.value


def _folder(above: Path, name: str) -> Path:
    made = above / name
    made.mkdir()
    return made


def _printed(error: BaseException) -> Iterator[str]:
    yield "".join(traceback.TracebackException.from_exception(error).format_exception_only())
    yield f"{error!r} {error.args!r} {vars(error)!r} {getattr(error, '__notes__', '')!r}" + pretty_repr(vars(error))
    yield rendering.plain(error) + rendering.html(error)


def _frames(error: BaseException) -> Iterator[FrameType]:
    """Yield the frames of an error, its causes and contexts, except frames of the tests."""
    left, seen = [error], set[int]()
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        left += [other for other in (one.__cause__, one.__context__) if other is not None]
        for frame, _ in traceback.walk_tb(one.__traceback__):
            if not _mine(frame.f_code.co_filename):
                yield frame


def _locals(error: BaseException) -> Iterator[str]:
    """Yield the locals of each frame, by `repr` as in Python's tracebacks and by rich, which shows nested objects."""
    for frame in _frames(error):
        for name, value in frame.f_locals.items():
            yield f"{frame.f_code.co_filename}:{frame.f_lineno} {name} = {value!r} {pretty_repr(value)}"


@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_no_traceback_holds_one(end: End, tmp_path: Path) -> None:
    """Neither text, attributes and display of an error nor the locals of its frames contain a planted value."""
    error = _raised(end, tmp_path)
    leaked = {text.split(" ")[0]: found(text) for text in (*_printed(error), *_locals(error))}

    assert {name: those for name, those in leaked.items() if those} == {}


@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
@pytest.mark.slow
@pytest.mark.parametrize(
    "mode, every",
    [
        ("Verbose", 3),
        *(pytest.param(mode, 1, marks=pytest.mark.soak) for mode in ("Verbose", "Minimal", "Plain", "Context")),
    ],
)
def test_no_mode_of_ipython_shows_one(mode: str, every: int, shell: Any, tmp_path: Path) -> None:
    """In each mode of `%xmode`, tracebacks show no planted value."""
    shell.InteractiveTB.set_mode(mode=mode)
    leaked = {}
    for name, end in list(ENDS.items())[::every]:
        error = _raised(end, _folder(tmp_path, name))
        parts = shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
        parts = [one for part in parts for one in re.split(r"(?m)^(?=File )", part)]
        leaked[name] = found("\n".join(one for one in parts if not _mine(one)))

    assert {name: those for name, those in leaked.items() if those} == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
def test_a_cell_that_fails_shows_none(shell: Any, tmp_path: Path) -> None:
    """With the workbench's display of errors and in verbose mode, a failing cell prints no planted value."""
    shell.InteractiveTB.set_mode(mode="Verbose")
    undo = rendering.register(shell)
    leaked = {}
    for name, end in ENDS.items():
        # the workbench prints only its own errors; the test above covers errors that IPython prints
        if not issubclass(end.error, wb.WorkbenchError):
            continue
        out, folder = io.StringIO(), _folder(tmp_path, name)
        shell.push({"act": Act(end, folder)})
        with redirect_stdout(out):
            shell.run_cell("act()")
        assert out.getvalue().strip()
        leaked[name] = found(out.getvalue())
    undo()

    assert {name: those for name, those in leaked.items() if those} == {}
