"""How a command line ends: its exit code, and what is said on the way out. Never a trace.

0 done, 2 wrong input, 3 refused, 4 outcome unknown, 5 partly done, 6 not sent; 130 and 143 when interrupted or stopped.
"""

import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

DONE, WRONG_INPUT, REFUSED, UNKNOWN, PARTLY, NOT_SENT = 0, 2, 3, 4, 5, 6
INTERRUPTED, STOPPED = 130, 143
_DISK = frozenset({errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT})


class Exit(Exception):
    """Ends the command with a code, and words for stderr."""

    def __init__(self, code: int, words: str = "") -> None:
        self.code = code
        self.words = words
        super().__init__(words)


class Stopped(BaseException):
    """SIGTERM or SIGHUP came."""


def wrong(words: str) -> Exit:
    """Return the end of a command whose input is wrong."""
    return Exit(WRONG_INPUT, words)


def ending(command: Callable[[], int]) -> int:
    """Run a command to its end and give its exit code; errors become words on stderr."""
    restore = _on_signals()
    _write_anything()
    try:
        code = command()
    except Exit as end:
        say(end.words)
        code = end.code
    except KeyboardInterrupt:
        say("Interrupted. Calls whose end is not known are listed by: workbench journal unknown")
        code = INTERRUPTED
    except Stopped:
        say("Stopped. Calls whose end is not known are listed by: workbench journal unknown")
        code = STOPPED
    except BrokenPipeError:
        _forget(sys.stdout)
        code = DONE
    except OSError as error:
        if error.errno in _DISK and error.filename is None:
            code = _unwritten(error, DONE)
        else:
            from workbench.errors import visible

            named = f": {visible(str(error.filename), 300)}" if error.filename else ""
            say(f"{error.strerror or type(error).__name__}{named}")
            code = WRONG_INPUT
    except Exception as error:  # noqa: BLE001 - shown as words; what is not ours is a bug, and says so
        code = _failed(error)
    finally:
        restore()
    return _flushed(code)


def _failed(error: Exception) -> int:
    from workbench.errors import WorkbenchError, visible

    if not isinstance(error, WorkbenchError):
        if os.environ.get("WORKBENCH_TRACE"):
            raise error
        say(f"This is a fault of the workbench: {type(error).__name__}: {visible(str(error), 300)}")
        say("WORKBENCH_TRACE=1 shows where.")
        return 1
    from workbench import rendering
    from workbench.rendering.screen import screen_of

    screen = screen_of(sys.stderr)
    say(screen.fit(rendering.plain(error, screen.width, paint=screen.paint)))
    return code_of(error)


def code_of(error: BaseException) -> int:
    """Return the exit code of an error of ours."""
    from workbench import errors

    codes: tuple[tuple[Any, int], ...] = (
        (ValueError, WRONG_INPUT),  # InvalidRequest, InvalidProfile, InvalidSequence
        (errors.OutcomeUnknown, UNKNOWN),
        (errors.UnexpectedAnswer, PARTLY),  # done, and its answer cannot be read
        (errors.ResponseTooLarge, PARTLY),
        (
            (
                errors.NotSent,
                errors.NotArmed,
                errors.WrongEnvironment,
                errors.DuplicateSuspected,
                errors.NoAnswer,
                errors.UnusableFile,
            ),
            NOT_SENT,
        ),
    )
    return next((code for kind, code in codes if isinstance(error, kind)), REFUSED)


def say(words: str) -> None:
    """Say something on stderr; where even that is gone, say nothing."""
    if not words:
        return
    try:
        from workbench.rendering.screen import screen_of

        print(screen_of(sys.stderr).fit(words), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _forget(sys.stderr)


def _flushed(code: int) -> int:
    """Write out what is left. What was done is done, also where nobody reads the answer."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _forget(sys.stdout)
    except (OSError, ValueError) as error:
        return _unwritten(error, code)
    return code


def _unwritten(error: Exception, code: int) -> int:
    _forget(sys.stdout)
    say(f"The output could not be written ({getattr(error, 'strerror', None) or error}). What was done is done.")
    return code or PARTLY


def _write_anything() -> None:
    """Let no character that a terminal cannot show end a command."""
    from workbench.rendering.screen import LIKENESS

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=LIKENESS)


def _forget(stream: Any) -> None:
    """Point a broken stream to nowhere, so that nothing more is said about it at the end of the process."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        return


def _on_signals() -> Callable[[], None]:
    def stop(*_: object) -> NoReturn:
        raise Stopped

    earlier: dict[int, Any] = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            earlier[number] = signal.signal(number, stop)
        except ValueError:  # not the main thread, as in a test
            continue

    def restore() -> None:
        for number, handler in earlier.items():
            signal.signal(number, handler)

    return restore
