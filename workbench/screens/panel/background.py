"""Background tasks of a notebook, with buttons to stop and resume, and the countdown of a signature."""

import os
import threading
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, Literal

import attrs
import ipywidgets

from workbench.analysis.rewards.reading import fetch
from workbench.base.errors import UsageError, WorkbenchError
from workbench.base.system.progress import Progress, ProgressCallback
from workbench.client.calls.client import refuse_async
from workbench.client.withdrawals.withdrawal import Withdrawal
from workbench.runs import bulk, sequences
from workbench.screens.forms.widgets import (
    Displayed,
    Later,
    after,
    button,
    close,
    headline,
    line,
    root,
    row,
)
from workbench.service import rendering
from workbench.service.rendering.elements import isolated
from workbench.service.rendering.text import sentence

State = Literal["running", "stopping", "stopped", "ended", "failed"]
STOPPED = "Stopped by its button; everything done so far is kept."


class BackgroundTask(Displayed):
    """A background task in a thread. From code: `wait()`, `stop()`, `resume()`, `state`, `result`, `error`.

    Args:
        name: First part of the repr.
        title: Title of the widget.
        run: Function of a progress callback and the result so far; returns the result.
        resumable: Function of the result so far; returns whether work remains.
        describe: Returns the HTML of a result (default: its HTML representation).
    """

    def __init__(
        self,
        name: str,
        title: str,
        api: object,
        run: Callable[[ProgressCallback, Any], Any],
        *,
        resumable: Callable[[Any], bool],
        describe: Callable[[Any], str] | None = None,
    ) -> None:
        refuse_async(api, f"panel.{name.split()[0]}")
        self.state: State = "running"
        self.result: Any = None
        self.error: WorkbenchError | None = None
        self._name, self._work = name, run
        self._resumable, self._describe = resumable, describe
        self.bar = ipywidgets.IntProgress(min=0, max=1, value=0, layout=ipywidgets.Layout(width="100%"))
        self.text = ipywidgets.HTML().add_class("wb-progress")
        self.shown = ipywidgets.HTML().add_class("wb-result")
        self.stop_button = button("Stop", self.stop, "wb-stop", "Start nothing new; keep what is done")
        self.resume_button = button("Resume", self.resume, "wb-resume", "Continue where it stopped")
        self.head = headline(title, api)
        self.widget = root(
            ipywidgets.HTML(self.head).add_class("wb-head"),
            self.bar,
            self.text,
            row(self.stop_button, self.resume_button),
            self.shown,
            name="wb-work",
            api=api,
        )
        self._start()

    def _start(self) -> None:
        self._enter("running")
        self._thread = threading.Thread(target=self._run, name="workbench-work", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._work(self.report, self.result)
            left = getattr(self.result, "stopped", None) or getattr(self.result, "unfinished", ())
            self._enter("stopped" if left else "ended")
        except KeyboardInterrupt as stopped:
            self.result = getattr(stopped, "result", None)
            self._enter("stopped")
        except Exception as error:  # noqa: BLE001 - a thread would lose it
            text = f"unexpected {type(error).__name__}: an error of the workbench itself; resume() continues"
            self.error = error if isinstance(error, WorkbenchError) else WorkbenchError(text)
            self.result = getattr(error, "partial", self.result)
            self._enter("failed")

    def report(self, progress: Progress) -> None:
        """Show progress, and stop the task if Stop was pressed."""
        self.bar.max, self.bar.value = max(progress.total, 1), progress.done
        self.text.value = f'<span role="status">{isolated(progress.summary)}</span>'
        if self.state == "stopping" and not progress.ended:
            if progress.on_stop is None:
                raise KeyboardInterrupt
            progress.stop(STOPPED)

    def _enter(self, state: State) -> None:
        self.state = state
        self.stop_button.disabled = state != "running"
        self.resume_button.disabled = state not in ("stopped", "failed") or not self._resumable(self.result)
        if state not in ("running", "stopping"):
            self.shown.value = self._outcome()
            self.update_static()

    def _outcome(self) -> str:
        error = f'<div role="alert">{rendering.html(self.error)}</div>' if self.error is not None else ""
        if error or self.result is None:
            return error
        return str(self.result._repr_html_()) if self._describe is None else self._describe(self.result)

    def stop(self) -> None:
        """Stop: start nothing new, and wait briefly for calls in flight."""
        if self.state == "running":
            self._enter("stopping")

    def resume(self) -> None:
        """Continue after a stop; completed or refused calls are not sent again."""
        if self.state in ("stopped", "failed"):
            self.error = None
            self._start()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the task ends or stops; return False if the timeout expires first."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def close(self) -> None:
        """Stop the task and close the widgets."""
        self.stop()
        close(self.widget)

    @property
    def html(self) -> str:
        """Current state as static HTML."""
        return self.head + (self._outcome() or escape(repr(self)))

    def __repr__(self) -> str:
        return f"<{self._name}: {self.state}, {self.bar.value:,} of {self.bar.max:,}>"


class Countdown(Displayed):
    """A withdrawal with the remaining time of its signature, which is never shown."""

    def __init__(self, withdrawal: Withdrawal, *, later: Later = after) -> None:
        self._withdrawal = withdrawal
        self._later = later
        self._timer: Any = None
        self.left = ipywidgets.HTML().add_class("wb-countdown")
        self._card = ipywidgets.HTML(self.html)
        self.widget = root(self.left, self._card, name="wb-withdrawal")
        self._tick()

    def _tick(self) -> None:
        expired = self._withdrawal.expired
        self.left.value = line("problem" if expired else "timer", self._withdrawal.countdown())
        if expired or self._withdrawal.remaining() is None:
            self._timer = None
            self._card.value = self.html  # an expired signature is dropped
        else:
            self._timer = self._later(1.0, self._tick)

    @property
    def running(self) -> bool:
        """Whether time is left."""
        return self._timer is not None

    def close(self) -> None:
        """Stop, and close the widgets."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        close(self.widget)

    @property
    def html(self) -> str:
        """The withdrawal as static HTML."""
        return self._withdrawal._repr_html_()

    def __repr__(self) -> str:
        return str(self._withdrawal)


def countdown(withdrawal: Withdrawal) -> Countdown:
    """Show a withdrawal with the remaining time of its signature."""
    return Countdown(withdrawal)


def bulk_panel(call: Any, rows: object, *, path: str | os.PathLike[str], **options: Any) -> BackgroundTask:
    """Run `bulk.run` in the background, with a progress bar and buttons to stop and resume.

    Args:
        call: An operation of a client, such as `api.create_user_application`.
        rows: As for `bulk.run`.
        path: File in which outcomes are stored, so that the run can be resumed after a stop or a crash.
        options: Further options of `bulk.run`, such as `workers` or `confirm`.

    Raises:
        UsageError: `progress` is given.
    """
    if "progress" in options:
        raise UsageError("panel.bulk() shows progress already; remove progress=", of="panel")
    name, kept = call.operation.name, Path(path).absolute()

    def run(progress: ProgressCallback, _: Any) -> Any:
        if kept.exists():
            return bulk.resume(call.client, kept, rows, progress=progress, **options)
        return bulk.run(call, rows, path=kept, progress=progress, **options)

    title = f"{sentence(rendering.label(name))}, in bulk"
    return BackgroundTask(f"bulk {name}", title, call.client, run, resumable=lambda _: kept.exists())


def sequence_panel(
    api: Any, sequence: sequences.Sequence, *, path: str | os.PathLike[str], **values: Any
) -> BackgroundTask:
    """Run a sequence in the background, with a progress bar and buttons to stop and resume.

    Args:
        sequence: From Python, a file, the catalogue or forms.
        api: A session.
        path: File in which the outcomes of steps are stored, so that the run can be resumed after a stop or a crash.
        values: Parameters of the sequence, and `resolved` of `sequences.run`.
    """
    name, file = sequence.name, Path(path).absolute()

    def run(progress: ProgressCallback, _: object) -> Any:
        return sequences.run(api, sequence, path=file, progress=progress, **values)

    return BackgroundTask(f"sequence {name}", f"Run {name}", api, run, resumable=lambda _: file.exists())


def rewards_panel(api: Any, users: object, **options: Any) -> BackgroundTask:
    """Read rewards in the background, with a progress bar and buttons to stop and resume.

    `wait()` waits for the read, and `result` holds its rows.

    Args:
        api: A Client or a session.
        users: As for `rewards.fetch`.
        options: Further options of `rewards.fetch`, such as `type`, `since` or `concurrency`.

    Raises:
        UsageError: `progress` or `resume` is given.
    """
    if options.keys() & {"progress", "resume"}:
        raise UsageError("panel.rewards() shows progress and resumes already; remove progress= and resume=", of="panel")

    def run(progress: ProgressCallback, before: Any) -> Any:
        had = 0 if before is None else len(before.users) - len(before.unfinished)  # users that were read

        def report(leg: Progress) -> None:
            progress(attrs.evolve(leg, total=leg.total + had, done=leg.done + had))

        return fetch(api, users, progress=report, resume=before, **options)

    def described(rewards: Any) -> str:
        complete = "Complete: every row that the service returns was read." if rewards.complete else ""
        rest = "Resume reads the rest." if rewards.unfinished else ""
        return "".join(line("quiet", note) for note in (complete, *rewards.notes[:8], rest) if note)

    return BackgroundTask(
        "rewards",
        "Read rewards",
        api,
        run,
        resumable=lambda result: bool(result and result.unfinished),
        describe=described,
    )
