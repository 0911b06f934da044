"""Reads of rewards on a page: rows, rate and time left, with buttons to stop and to go on where it stopped."""

import contextvars
import sys
import threading
from collections.abc import Callable
from functools import wraps
from html import escape
from typing import Any, Literal, ParamSpec

from workbench import rendering
from workbench.errors import WorkbenchError
from workbench.interface.operation import Async
from workbench.progress import notebook_shell
from workbench.rendering.markup import isolated
from workbench.tables import reads
from workbench.tables.progress import EVERY, Line, Progress, clock
from workbench.tables.reads import Rewards

State = Literal["reading", "stopping", "stopped", "ended", "failed"]
SOON = 0.5  # seconds after which a read is shown; a shorter one leaves a line
STOPPED = "The read was stopped by its button; what was read until then is here."
ADVICE = "Stop keeps what was read. Where the page cannot be heard while a cell runs, interrupt the kernel: it does the same."


P = ParamSpec("P")


def watched(read: Callable[P, Any]) -> Callable[P, Any]:
    """Return a read that is shown in a notebook, unless it was told otherwise."""

    @wraps(read)
    def watching(*args: P.args, **how: P.kwargs) -> Any:
        __tracebackhide__ = True
        api = args[0] if args else how.get("api")
        plain = how.get("progress", True) is not True or how.get("cluster") is not None or isinstance(api, Async)
        if plain or notebook_shell() is None:
            return read(*args, **how)
        return Watch(lambda **more: read(*args, **{**how, **more}), api).first()

    return watching


read = watched(reads.read_rewards)


class Watch:
    """One read and its buttons. `rewards` is what the cell was given: going on fills it."""

    def __init__(self, read: Callable[..., Any], api: Any) -> None:
        self.state: State = "reading"
        self.rewards: Rewards | None = None
        self.error: WorkbenchError | None = None
        self.gauge: Any = None  # made when the read turns out to be long
        self._read, self._api = read, api
        self._progress: Progress | None = None
        self._told = float("-inf")
        self._asked = False
        self._over = threading.Event()
        self._lock = threading.RLock()  # buttons are heard in threads of the kernel's

    # the read of the cell

    def first(self) -> Rewards:
        """Read, in the cell; show it if that takes a while.

        Raises:
            WorkbenchError: As `read_rewards`.
        """
        __tracebackhide__ = True
        context = contextvars.copy_context()  # so that what is shown stands below this cell
        timer = threading.Timer(SOON, lambda: context.run(self.show))
        timer.daemon = True
        timer.start()
        try:
            self.rewards = self._read(progress=self._tell)
        except WorkbenchError as error:
            self._ended(timer, "failed", error)
            raise
        except BaseException:
            self._ended(timer, "failed")
            raise
        self._ended(timer, "stopped" if self.rewards.unfinished else "ended")
        return self.rewards

    def _ended(self, timer: threading.Timer, state: State, error: WorkbenchError | None = None) -> None:
        timer.cancel()
        self.error = error
        with self._lock:  # a gauge that is being shown is there now, and one that was not will not come
            self.state = state
            if self.gauge is not None:
                self._become(state)
        if self.gauge is None and self._progress is not None and self._progress.ended:
            Line(sys.stderr)(self._progress)
        self._over.set()

    def show(self) -> None:
        """Show the gauge below the running cell."""
        from workbench.forms.gauge import ProgressWidget

        with self._lock:
            if self.state not in ("reading", "stopping"):
                return
            gauge = ProgressWidget("Read rewards", self._api, stop=self.stop, resume=self.resume)
            self.gauge = gauge
            gauge.result(f'<div class="wb-quiet">{escape(ADVICE)}</div>')
            gauge.display("<div>Rewards are being read.</div>", repr(self))
            gauge.offer(stop=True, go=False)

    # what a person sees

    def _tell(self, progress: Progress) -> None:
        self._progress = progress
        if self._asked:
            progress.stop(STOPPED)
        if self.gauge is not None and (progress.ended or progress.seconds - self._told >= EVERY):
            self._told = progress.seconds
            self._say(progress)

    def _say(self, progress: Progress) -> None:
        users, had, rows = progress.users, 0, 0
        if self.rewards is not None:  # it goes on: what was read before counts
            users = len(self.rewards.users)
            had = users - progress.users
            rows = sum(one.rows for one in self.rewards.told.values() if one.end != "failed")
        done = had + progress.done
        words = [f"{done:,} of {users:,} users", f"{rows + progress.rows:,} rows"]
        words.append(f"{progress.rows / progress.seconds:,.0f} rows a second")
        if progress.left is not None and not progress.ended:
            words.append(f"{clock(progress.left)} left")
        self.gauge.tell(done, users, " · ".join(words))

    def _become(self, state: State) -> None:
        self.state = state
        gauge, rewards = self.gauge, self.rewards
        gauge.offer(stop=state == "reading", go=state == "stopped")
        if state in ("reading", "stopping"):
            return
        if rewards is not None:
            done = len(rewards.users) - len(rewards.unfinished)
            gauge.tell(done, len(rewards.users), f"{done:,} of {len(rewards.users):,} users · {rewards.rows:,} rows")
        gauge.result(self.html)
        gauge.update(self.html, repr(self))
        if state != "stopped":
            gauge.over()

    @property
    def html(self) -> str:
        """How it stands as static HTML."""
        parts = []
        if self.error is not None:
            parts.append(f'<div role="alert">{rendering.html(self.error)}</div>')
        if self.rewards is not None:
            if self.rewards.complete:
                parts.append("<div>Complete: every row that the service shows is here.</div>")
            parts += [f'<div class="wb-quiet">{isolated(note)}</div>' for note in self.rewards.notes[:8]]
        if self.state == "stopped":
            parts.append("<div>Go on reads the rest into the same rewards.</div>")
        return "".join(parts)

    def __repr__(self) -> str:
        return f"<read of rewards: {self.state}>" if self.rewards is None else repr(self.rewards)

    # buttons

    def stop(self) -> None:
        """End the read after what is in the air; what was read is kept."""
        with self._lock:
            if self.state != "reading":
                return
            self._become("stopping")
        self._asked = True
        if self._progress is not None:
            self._progress.stop(STOPPED)

    def resume(self) -> None:
        """Read on beside the notebook, into the rewards that the cell was given."""
        with self._lock:
            if self.state != "stopped":
                return
            self._asked, self._told, self.error = False, float("-inf"), None
            self._over.clear()
            self._become("reading")
        threading.Thread(target=self._again, name="workbench-read-on", daemon=True).start()

    def _again(self) -> None:
        assert self.rewards is not None
        try:
            self.rewards.take(self._read(progress=self._tell, resume=self.rewards))
        except WorkbenchError as error:
            self.error = error
            partial = getattr(error, "partial", None)
            if partial is not None:
                self.rewards.take(partial)
        except Exception as error:  # noqa: BLE001 - a thread would lose it: it is shown by its kind
            self.error = WorkbenchError(f"an unexpected {type(error).__name__} of the workbench itself")
        with self._lock:
            self._become("stopped" if self.rewards.unfinished else "ended")
        self._over.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it ends or stops; give whether it did."""
        return self._over.wait(seconds)
