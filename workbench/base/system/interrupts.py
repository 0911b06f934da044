"""Deferral of signals to the end of a code block."""

import os
import signal
import threading
from typing import Any

from workbench.base.system.private import signal_functions

_signals = signal_functions()

_WAITING = [
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
]


class _Uninterrupted:
    """Defer signals until the end of a `with` block, so that the block is not interrupted.

    Python calls signal handlers in the main thread between any two instructions, for example after a lock is taken, but
    before the `try` that would release it. A handler may raise an exception, for example for Ctrl-C, an alarm or the
    end of the process. In the main thread, a handler that only records the signal therefore replaces all handlers.
    """

    def __init__(self) -> None:
        self.depth = 0  # nesting depth of the context in the main thread
        self._thread = 0  # id of the thread of the outermost context
        self._pending: list[int] = []
        self._handlers: dict[int, Any] = {}

    def _remember(self, number: int, _: object) -> None:
        self._pending.append(number)

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        if self.depth == 0:
            self._thread = threading.get_ident()
            try:
                for number in _WAITING:
                    handler = _signals.getsignal(number)
                    if callable(handler):  # without a handler in Python, a signal is ignored or ends the process
                        self._handlers[number] = handler
                        _signals.signal(number, self._remember)
            except BaseException:
                self._restore()
                raise
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self.depth -= 1
        if self.depth:
            return
        self._restore()
        while self._pending:
            signal.raise_signal(self._pending.pop())

    def after_fork(self) -> None:
        """Restore the handlers in a process that another thread forked, because the context does not end there."""
        if self.depth and self._thread != threading.get_ident():
            self.depth = 0
            self._pending.clear()
            self._restore()

    def _restore(self) -> None:
        try:
            while self._handlers:
                number, handler = next(iter(self._handlers.items()))
                _signals.signal(number, handler)
                del self._handlers[number]
        finally:  # a restored handler may raise an exception before the remaining handlers are restored
            if self._handlers:
                self._restore()


uninterrupted = _Uninterrupted()
"""The only instance, because signal handlers belong to the process."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=uninterrupted.after_fork)
