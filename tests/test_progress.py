"""One progress record is shown on a terminal, in a notebook, or by the caller's function."""

import io
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.base.system import progress as module
from workbench.base.system.progress import Progress, ProgressLine, clock, progress_callback


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_line_names_counts_rate_and_time() -> None:
    """The line begins with the label and, at the end, states the elapsed time."""
    progress = Progress(total=4, unit="users", label="rewards", done=1, rows=30, detail="1 failed")

    assert str(progress).startswith("rewards: ██████░")
    assert "1 of 4 users · 30 rows · 1 failed · " in progress.summary
    assert progress.summary.endswith(" left")
    progress.ended = True
    assert progress.summary.endswith(" in 0:00")


def test_the_line_is_overwritten_and_ends_once() -> None:
    """The line is updated at most five times a second, and always at the end, also without the bar's characters."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    line, progress = ProgressLine(out), Progress(total=2, done=1)
    line(progress)
    line(progress)
    progress.ended = True
    line(progress)
    text = out.buffer.getvalue().decode()  # type: ignore[attr-defined]

    assert (2, 1) == (text.count("\r"), text.count("\n"))
    assert "1 of 2 rows" in text


def test_a_line_appears_only_where_a_person_can_see_it() -> None:
    """The line appears on a terminal, but not in a file or if it is switched off."""
    for wanted, out, shown in ((True, Terminal(), True), (True, io.StringIO(), False), (False, Terminal(), False)):
        progress_callback(wanted, out)(Progress(total=1))
        assert shown == bool(out.getvalue())
    seen: list[Progress] = []
    progress_callback(seen.append)(Progress(total=7))
    assert [one.total for one in seen] == [7]


def test_a_notebook_shows_one_output_that_is_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call creates the output, and later calls update it."""
    published: list[tuple[Any, bool]] = []

    def publish(data: Any, transient: Any, update: bool) -> None:
        published.append((transient["display_id"], update))

    shell = SimpleNamespace(display_pub=SimpleNamespace(publish=publish))
    monkeypatch.setattr(module, "notebook_shell", lambda: shell)
    show, progress = progress_callback(True, io.StringIO()), Progress(total=1)
    show(progress)
    progress.ended = True
    show(progress)

    assert [False, True] == [update for _, update in published]
    assert len({name for name, _ in published}) == 1


def test_stop_reaches_the_work() -> None:
    """A stop passes its reason to `on_stop`, and has no effect without `on_stop`."""
    reasons: list[str] = []
    Progress(total=1, on_stop=reasons.append).stop("enough")
    Progress(total=1).stop("too late")

    assert reasons == ["enough"]


@pytest.mark.parametrize("seconds, text", [(0, "0:00"), (61, "1:01"), (3661, "1:01:01")])
def test_spans_are_written_as_a_clock(seconds: float, text: str) -> None:
    """Hours are shown only if there are any."""
    assert text == clock(seconds)
