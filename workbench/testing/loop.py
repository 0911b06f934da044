"""Asyncio event loop with virtual time. Nothing waits, and a function chooses which ready callback runs next.

A loop represents one process of an application. `dispose()` drops all pending work, as the end of a process does.
Threads, sockets and subprocesses are rejected.
"""

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from typing import Any, NoReturn

from workbench.base.errors import WorkbenchError
from workbench.base.system.private import set_running_loop

LABEL: ContextVar[str] = ContextVar("label", default="")
"""Topic of the application's current task, such as "delivery 3". Tasks inherit the topic of the task that starts them.
"""


class NotSimulated(WorkbenchError):
    """The application uses something that a universe cannot reproduce: a thread, a socket or another event loop."""


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop whose time is controlled by its owner.

    Args:
        now: Returns the virtual time in seconds.
        choose: Returns which of N ready callbacks runs next, from 0.
        before: Called before a callback, in its context. If it raises, the callback does not run.
        on_error: Called with asyncio's report about a failed task.
    """

    _running = False

    def __init__(
        self,
        now: Callable[[], float],
        choose: Callable[[int], int],
        before: Callable[[], object],
        on_error: Callable[[Any], object],
    ) -> None:
        super().__init__()
        self.set_exception_handler(lambda _, context: on_error(context))
        self._now, self._choose, self._before = now, choose, before
        self._callbacks: list[asyncio.Handle] = []
        self._timers: list[asyncio.TimerHandle] = []
        self.refusal: NotSimulated | None = None

    def next_time(self) -> float | None:
        """Return the time of the next callback: now, or the time of the next timer; None if nothing is scheduled."""
        while self._timers and self._timers[0].cancelled():
            heapq.heappop(self._timers)
        if self._callbacks:
            return self._now()
        return max(self._timers[0].when(), self._now()) if self._timers else None

    def step(self) -> bool:
        """Run one ready callback; return False if none is ready."""
        while self._timers and self._timers[0].when() <= self._now():
            self._callbacks.append(heapq.heappop(self._timers))
        self._callbacks = [callback for callback in self._callbacks if not callback.cancelled()]
        if not self._callbacks:
            return False
        number = self._choose(len(self._callbacks)) if len(self._callbacks) > 1 else 0
        self._current = self._callbacks.pop(number)  # the reference keeps a killed task for `dispose`
        self.run(self._current._run)
        return True

    def run(self, function: Callable[[], Any]) -> Any:
        """Call a function as a callback of this loop."""
        if self._running:
            return function()
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            raise NotSimulated("another event loop runs here; call explore() outside of it, or in another thread")
        self._running = True
        set_running_loop(self)
        try:
            return function()
        finally:
            set_running_loop(None)
            self._running = False
            if self.refusal is not None:
                raise self.refusal  # raised even if the application caught the error

    def start(self, coroutine: Coroutine[Any, Any, Any], label: str) -> "asyncio.Task[Any]":
        """Start a labeled task of the application."""
        context = copy_context()
        context.run(LABEL.set, label)
        task: asyncio.Task[Any] = self.run(lambda: self.create_task(coroutine, context=context))
        return task

    def dispose(self) -> None:
        """Drop all pending work. Closing a coroutine runs its `finally` blocks, which must have no effect by then."""
        self.set_exception_handler(lambda *_: None)
        self._running = False  # reset here, because a process may end within one of its callbacks
        for task in asyncio.all_tasks(self):
            if (coroutine := task.get_coro()) is not None:
                with suppress(BaseException):  # errors of a dead process are ignored
                    coroutine.close()
        self.close()

    def time(self) -> float:
        return self._now()

    def call_soon(self, callback: Any, *args: object, context: Context | None = None) -> Any:
        self._callbacks.append(asyncio.Handle(self._call, (callback, *args), self, context))
        return self._callbacks[-1]

    def call_at(self, when: float, callback: Any, *args: object, context: Context | None = None) -> Any:
        timer = asyncio.TimerHandle(when, self._call, (callback, *args), self, context)
        heapq.heappush(self._timers, timer)
        return timer

    def _call(self, callback: Callable[..., object], *args: object) -> None:
        self._before()
        callback(*args)

    def is_running(self) -> bool:
        return self._running


def _refused(what: str) -> Callable[..., NoReturn]:
    def refuse(loop: VirtualLoop, *_: object, **options: object) -> NoReturn:
        way_on = "try it behind HTTP, with testing.HttpApplication or `workbench test http`"
        loop.refusal = NotSimulated(f"{what} cannot be simulated, since its order depends on this machine; {way_on}")
        raise loop.refusal

    return refuse


for _name, _what in {
    "run_in_executor": "a thread (asyncio.to_thread, run_in_executor)",
    "call_soon_threadsafe": "a call from another thread",
    "create_connection": "a socket (create_connection)",
    "create_server": "a server (create_server)",
    "getaddrinfo": "a socket (getaddrinfo)",
    "subprocess_exec": "a process (subprocess_exec)",
    "subprocess_shell": "a process (subprocess_shell)",
    "run_until_complete": "a loop within a loop",
}.items():
    setattr(VirtualLoop, _name, _refused(_what))
