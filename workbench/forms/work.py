"""Long work on a page: how far it has come, with buttons to stop and to go on. The cell that began it is free."""

import os
import threading
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, Literal

from workbench import bulk, rendering, sequences
from workbench.errors import InvalidArguments, WorkbenchError
from workbench.forms.gauge import ProgressWidget
from workbench.forms.still import bundle
from workbench.progress import Progress, ProgressCallback

State = Literal["running", "stopping", "stopped", "ended", "failed"]


def bulk_panel(call: Any, rows: Any, *, path: str | os.PathLike[str], **how: Any) -> "Work":
    """Send one write for each row, as `apply`, beside the notebook: with a bar, and buttons to stop and to go on.

    Args:
        call: An operation of a client, as `api.create_user_application`.
        rows: As `apply` takes them.
        path: Where the ends of rows are kept, so that the work can go on after a stop or a crash.
        how: More of `apply`, as `workers` or `confirm`.
    """
    if "progress" in how:
        raise InvalidArguments("bulk() shows the progress itself", of="bulk")
    name, kept = call.operation.name, Path(path)

    def begin(tell: ProgressCallback) -> Any:
        return bulk.run(call, rows, path=kept, progress=tell, **how)

    def go_on(tell: ProgressCallback) -> Any:
        return bulk.resume(kept, call.client, rows, progress=tell, **how)

    title = f"{rendering.label(name).capitalize()}, in bulk"
    return Work(f"bulk {name}", title, call.client, kept, begin=begin, go_on=go_on)


def sequence_panel(sequence: sequences.Sequence, api: Any, *, path: str | os.PathLike[str], **values: Any) -> "Work":
    """Run a sequence as `sequences.run_kept`, beside the notebook: with a bar, and buttons to stop and to go on.

    Args:
        sequence: From Python, a file, the catalogue or forms.
        api: A session.
        path: Where the ends of steps are kept, so that the run can go on after a stop or a crash.
        values: The parameters of the sequence; of `run_kept` also `resolved`.
    """
    kept = Path(path)

    def go(tell: ProgressCallback) -> Any:
        return sequences.run_kept(sequence, api, kept, progress=tell, **values)

    return Work(f"play {sequence.name}", f"Play {sequence.name}", api, kept, begin=go, go_on=go)


class Work:
    """One long run and its buttons. From code: `wait()`, `stop()`, `resume()`, `result`, `error`.

    Args:
        name: What its repr calls it.
        begin: Does the work, and tells how far it is; `go_on` does what is left of it.
    """

    def __init__(
        self, name: str, title: str, api: Any, path: Path, *, begin: Callable[[ProgressCallback], Any],
        go_on: Callable[[ProgressCallback], Any],
    ) -> None:  # fmt: skip
        self.state: State = "running"
        self.result: Any = None
        self.error: WorkbenchError | None = None
        self._name, self._path, self._go_on = name, path, go_on
        self._flag = threading.Event()
        self._over = threading.Event()
        self.gauge = ProgressWidget(title, api, stop=self.stop, resume=self.resume)
        self.widget = self.gauge.widget
        self._begin(go_on if path.exists() else begin)

    def _begin(self, go: Callable[[ProgressCallback], Any]) -> None:
        self._flag.clear()
        self._over.clear()
        self._become("running")
        threading.Thread(target=self._run, args=(go,), name="workbench-work", daemon=True).start()

    def _run(self, go: Callable[[ProgressCallback], Any]) -> None:
        try:
            self.result = go(self._tell)
            self._become("stopped" if getattr(self.result, "stopped", False) else "ended")
        except KeyboardInterrupt as stopped:
            self.result = getattr(stopped, "result", None)
            self._become("stopped")
        except WorkbenchError as error:
            self.error = error
            self._become("failed")
        except Exception as error:  # noqa: BLE001 - a thread would lose it: it is shown by its kind
            self.error = WorkbenchError(
                f"an unexpected {type(error).__name__} of the workbench itself; resume() goes on"
            )
            self._become("failed")
        finally:
            self._over.set()

    def _tell(self, progress: Progress) -> None:
        """Show the progress; once Stop was pressed, interrupt the run as Ctrl-C would."""
        self.gauge.tell(progress.done, progress.total, progress.summary)
        if self._flag.is_set() and not progress.ended:
            raise KeyboardInterrupt

    def _become(self, state: State) -> None:
        self.state = state
        self.gauge.offer(stop=state == "running", go=state in ("stopped", "failed") and self._path.exists())
        shown = self.error if state == "failed" else self.result
        self.gauge.result("" if shown is None or state in ("running", "stopping") else face(shown))
        if self.gauge.face.value:
            self.gauge.update(self.html, repr(self))

    def stop(self) -> None:
        """Start nothing new; what is in the air is awaited for a moment."""
        if self.state == "running":
            self._become("stopping")
            self._flag.set()

    def resume(self) -> None:
        """Go on where it stopped: what is done or refused is never sent again."""
        if self.state in ("stopped", "failed"):
            self.error = None
            self._begin(self._go_on)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it ends or stops; give whether it did."""
        return self._over.wait(seconds)

    def close(self) -> None:
        """Stop it, and close the widgets."""
        self.stop()
        self.gauge.close()

    @property
    def html(self) -> str:
        """How it stands as static HTML."""
        shown = self.error or self.result
        return face(shown) if shown else escape(repr(self))

    def _ipython_display_(self) -> None:
        self.gauge.display(self.html, repr(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.widget, self.gauge.head + self.html, repr(self))

    def __repr__(self) -> str:
        bar = self.gauge.bar
        return f"<{self._name}: {self.state}, {bar.value:,} of {bar.max:,}>"


def face(x: Any) -> str:
    """Return the HTML of a result or an error."""
    own = getattr(x, "_repr_html_", None)
    return str(own()) if own is not None else rendering.html(x)
