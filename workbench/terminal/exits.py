"""Exit codes of commands, and their messages on stderr. A command shows a traceback only with WORKBENCH_TRACE.

0 done, 2 wrong input, 3 refused, 4 outcome unknown, 5 partly done, 6 not sent; 130 interrupted, 143 terminated.
"""

import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, TextIO, cast

from workbench.base.remedies import word, worded_for
from workbench.terminal.wording import TERMINAL

DONE, WRONG_INPUT, REFUSED, UNKNOWN, PARTLY, NOT_SENT = 0, 2, 3, 4, 5, 6
INTERRUPTED, STOPPED = 130, 143
_GRACE = 1.5  # maximum seconds between a signal and the exit of a server
_DISK = frozenset({errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT})
TYPED: list[str] = []
"""The current command line, without the name of the program."""
_UNKNOWN_CALLS = "Calls with an unknown outcome are listed by: workbench journal unknown"


class Exit(Exception):
    """End the command with a code and a message on stderr."""

    def __init__(self, code: int, message: str = "") -> None:
        self.code = code
        self.message = message
        super().__init__(message)


class Stopped(BaseException):
    """Raised in the command after the signal SIGTERM or SIGHUP."""


def usage_error(message: str) -> Exit:
    """Return the exit for a usage error."""
    return Exit(WRONG_INPUT, message)


def run_to_exit(command: Callable[[], int]) -> int:
    """Run a command and return its exit code. Errors become messages on stderr, worded for the terminal."""
    word("terminal", TERMINAL)
    with worded_for("terminal"):
        return _run_to_exit(command)


def _run_to_exit(command: Callable[[], int]) -> int:
    restore, loud = _handle_signals(), _QUIET.set(False)
    _prepare_streams()
    stdout = sys.stdout
    sys.stdout = cast(TextIO, _Output(stdout))
    try:
        code = command()
    except Exit as end:
        say(end.message, error=True)
        code = end.code
    except KeyboardInterrupt:
        say(f"Interrupted. {_UNKNOWN_CALLS}")
        code = INTERRUPTED
    except Stopped:
        say(f"Terminated. {_UNKNOWN_CALLS}")
        code = STOPPED
    except BrokenPipeError:  # the reader has closed the pipe
        code = DONE
    except OSError as error:
        if error.errno in _DISK and error.filename is None:
            code = _unwritten(error, DONE)
        else:
            from workbench.base.errors import visible

            file = f": {visible(str(error.filename), 300)}" if error.filename else ""
            say(f"{error.strerror or visible(str(error), 300) or type(error).__name__}{file}", error=True)
            code = WRONG_INPUT
    except Exception as error:  # noqa: BLE001 - reported as a message instead of a traceback
        code = _failed(error)
    finally:
        sys.stdout = stdout
        restore()
        _QUIET.reset(loud)
    return _flushed(code)


class _Output:
    """Standard output whose reader, such as `head`, may close it early. The command still runs to its end.

    A command with endless output calls `flush_line` after each line, so that it ends.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream, self.unread = stream, False

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._lose_reader()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._lose_reader()

    def _lose_reader(self) -> None:
        _discard(self._stream)
        self.unread = True


def flush_line() -> None:
    """Flush a line of endless output.

    Raises:
        BrokenPipeError: The reader closed the output.
    """
    sys.stdout.flush()
    if getattr(sys.stdout, "unread", False):
        raise BrokenPipeError


def _failed(error: Exception) -> int:
    from workbench.base.errors import WorkbenchError, visible

    if isinstance(error, ImportError) and isinstance(error.__cause__, WorkbenchError):
        error = error.__cause__  # an import failed because an extra is missing
    if not isinstance(error, WorkbenchError):
        if os.environ.get("WORKBENCH_TRACE"):
            raise error
        say(f"Internal error (a bug in the workbench): {type(error).__name__}: {visible(str(error), 300)}")
        say("Set WORKBENCH_TRACE=1 to see the traceback.")
        return 1
    from workbench.service import rendering
    from workbench.service.rendering.text import screen_of

    screen = screen_of(sys.stderr)
    say(rendering.plain(error, screen.width, paint=screen.paint), error=True)
    return exit_code(error)


def exit_code(error: BaseException) -> int:
    """Return the exit code of an error of this package."""
    from workbench.base import errors

    not_sent = (
        errors.NotSent,
        errors.NotArmed,
        errors.WrongEnvironment,
        errors.DuplicateSuspected,
        errors.NoAnswer,
        errors.UnusableFile,
    )
    codes: tuple[tuple[Any, int], ...] = (
        ((ValueError, errors.MissingExtra), WRONG_INPUT),  # ValueError includes UsageError and InvalidRequest
        (errors.UnexpectedAnswer, PARTLY),  # the call was done, but its response cannot be read
        (errors.OutcomeUnknown, UNKNOWN),
        (not_sent, NOT_SENT),
    )
    return next((code for kind, code in codes if isinstance(error, kind)), REFUSED)


_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


def keep_quiet() -> None:
    """Suppress all messages of this command except errors."""
    _QUIET.set(True)


def say(message: str, *, error: bool = False) -> None:
    """Print a message to stderr. Nothing is printed if stderr is closed, or if only errors are wanted."""
    if not message or (_QUIET.get() and not error):
        return
    try:
        print(message, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _discard(sys.stderr)


def _flushed(code: int) -> int:
    """Flush the output and return the exit code. A closed pipe does not change the exit code."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)
    except (OSError, ValueError) as error:
        return _unwritten(error, code)
    return code


def _unwritten(error: Exception, code: int) -> int:
    _discard(sys.stdout)
    say(f"The output could not be written ({getattr(error, 'strerror', None) or error}). The command itself completed.")
    return code or PARTLY


def _prepare_streams() -> None:
    """Redirect closed streams to the null device, and escape characters that the terminal cannot show."""
    from workbench.service.rendering.text import LIKENESS

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the caller closed the stream, as with `>&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - open to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=LIKENESS)


def _discard(stream: Any) -> None:
    """Redirect a broken stream to the null device, so that no error is reported at exit."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError, AttributeError):
        return


def _handle_signals() -> Callable[[], None]:
    """End the command on SIGTERM and SIGHUP, unless the parent ignored them, as `nohup` does."""
    timer = _Timer()

    def stop(number: int, frame: FrameType | None) -> None:
        if _importing(frame) and timer.start(0.01, stop):  # an import could swallow the exception, so wait
            return
        raise Stopped

    return _handle(("SIGTERM", "SIGHUP"), stop, timer)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


class _Timer:
    """Timer that calls a function in the main thread. If it is not stopped, its signal may kill the process later."""

    def __init__(self) -> None:
        self._before: Any = None
        self._timer_before = (0.0, 0.0)

    def start(self, seconds: float, handler: Callable[[int, FrameType | None], object]) -> bool:
        """Call `handler` after `seconds`. Return False if the system has no such timer."""
        if not hasattr(signal, "setitimer"):
            return False
        before = signal.signal(signal.SIGALRM, handler)
        timer_before = signal.setitimer(signal.ITIMER_REAL, seconds)
        if self._before is None:
            self._before, self._timer_before = before, timer_before
        return True

    def stop(self) -> None:
        """Stop the timer, and restore the previous timer."""
        if self._before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._before)
            signal.setitimer(signal.ITIMER_REAL, *self._timer_before)
            self._before = None


def _handle(names: Iterable[str], handler: Callable[..., object], timer: _Timer) -> Callable[[], None]:
    """Handle signals, unless the parent ignored them. Return a function that restores the previous handlers."""
    earlier: dict[int, Any] = {}
    for name in names:
        number = getattr(signal, name, None)
        if number is None or signal.getsignal(number) is signal.SIG_IGN:
            continue
        try:
            earlier[number] = signal.signal(number, handler)
        except ValueError:  # outside the main thread, as in a test, signals cannot be handled
            continue

    def restore() -> None:
        timer.stop()
        for number, before in earlier.items():
            signal.signal(number, before)

    return restore


@contextmanager
def waiting_for_signals() -> Iterator[Callable[..., None]]:
    """Yield a function that waits, forever or for some seconds, and ends the command after a signal.

    Meanwhile a signal raises no error anywhere else, so an import or a starting thread is never interrupted. An
    operation that is still blocked 1.5 s after the signal, such as a wait for a locked file, is abandoned. Data that
    was acknowledged before remains stored.
    """
    from queue import Empty, SimpleQueue  # imported late, since only servers wait

    received: SimpleQueue[int] = SimpleQueue()  # safe in a signal handler, unlike threading.Event
    timer = _Timer()

    def receive(number: int, _: object) -> None:
        received.put(number)
        timer.start(_GRACE, lambda *_: os._exit(INTERRUPTED if number == signal.SIGINT else STOPPED))

    restore = _handle(("SIGINT", "SIGTERM", "SIGHUP"), receive, timer)

    def wait(seconds: float | None = None) -> None:
        try:
            number = received.get(timeout=seconds)
        except Empty:
            return
        raise KeyboardInterrupt if number == signal.SIGINT else Stopped

    try:
        yield wait
    finally:
        restore()
