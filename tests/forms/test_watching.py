"""Reads in a notebook: shown when they take long, stopped by a button with what was read kept, finished by another."""

import contextlib
import io
import threading
from typing import Any

import pytest

import workbench as wb
from tests.forms.conftest import state
from workbench.errors import Forbidden, InvalidRequest
from workbench.forms import watching
from workbench.forms.watching import Watch
from workbench.session import Session
from workbench.tables import reads

WAIT = 30.0


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let reads believe that they are in a notebook, and give what they displayed."""
    displayed: list[Any] = []
    monkeypatch.setattr(watching, "notebook_shell", lambda: object())
    monkeypatch.setattr(
        "workbench.forms.gauge.ProgressWidget.display", lambda self, html, plain: displayed.append((self, html, plain))
    )
    return displayed


def ids(api: Session) -> list[str]:
    """Return the users of the sandbox who have rewards."""
    return [one["id"] for one in api.sandbox.guide()["rewards_users"]]


def watch(api: Session, **how: Any) -> Watch:
    """Return a read that was not begun."""
    users = how.pop("users", ids(api))
    return Watch(lambda **more: reads.read_rewards(api, users, **{**how, **more}), api)


def stopped(one: Watch, *, after: int) -> Any:
    """Read in the cell, with Stop pressed once some users were read; give the rewards."""
    one.show()
    tell = one._tell

    def pressed(progress: Any) -> None:
        if progress.done == after and one.rewards is None:
            one.gauge.stopper.click()
        tell(progress)

    one._tell = pressed  # type: ignore[method-assign]
    return one.first()


@pytest.mark.slow
def test_stop_keeps_what_was_read_and_go_on_reads_the_rest(api: Session, shown: list[Any]) -> None:
    """The cell's own rewards are filled: the same rows as those of a read that nobody stopped."""
    whole = reads.read_rewards(api, ids(api), progress=False)
    one = watch(api, concurrency=1)
    rewards = stopped(one, after=2)
    kept, state_then, said = rewards.rows, one.state, one.gauge.said.value

    assert "stopped" == state_then
    assert 0 < kept < whole.rows
    assert not rewards.complete
    assert f"{kept:,} rows" in said
    assert (True, False) == (one.gauge.stopper.disabled, one.gauge.goer.disabled)
    assert any("stopped by its button" in note for note in rewards.notes)

    one.gauge.goer.click()
    assert one.wait(WAIT)

    assert "ended" == one.state
    assert (whole.rows, whole.complete) == (rewards.rows, rewards.complete)
    assert whole.frame().equals(rewards.frame())
    assert one.gauge.bar.value == one.gauge.bar.max == len(ids(api))
    assert "none" == one.gauge._buttons.layout.display


def test_the_bar_counts_what_was_read_before(api: Session, shown: list[Any]) -> None:
    """Going on, users and rows of the first leg are in the bar and the words."""
    one = watch(api, concurrency=1)
    rewards = stopped(one, after=2)
    had, kept = len(rewards.users) - len(rewards.unfinished), rewards.rows
    seen: list[int] = []
    tell = one.gauge.tell
    one.gauge.tell = lambda done, total, words: (seen.append(done), tell(done, total, words))
    one.gauge.goer.click()
    assert one.wait(WAIT)

    assert had == seen[0]
    assert sorted(seen) == seen
    assert rewards.rows > kept


def test_stop_before_the_first_page(api: Session, shown: list[Any]) -> None:
    """A click that comes before anything was read stops too."""
    one = watch(api, concurrency=1)
    one.show()
    one.gauge.stopper.click()
    rewards = one.first()

    assert "stopped" == one.state
    assert rewards.unfinished


def test_clicks_that_come_late_or_twice_do_nothing(api: Session, shown: list[Any]) -> None:
    """A page that is heard only after the cell stops nothing and begins nothing."""
    one = watch(api)
    one.show()
    rewards = one.first()
    rows = rewards.rows
    for _ in range(3):
        one.stop()
        one.resume()

    assert "ended" == one.state
    assert rows == rewards.rows
    assert not [t for t in threading.enumerate() if t.name == "workbench-read-on"]


def test_a_short_read_leaves_a_line(api: Session, shown: list[Any]) -> None:
    """No widget is made for a read that is over at once."""
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        rewards = wb.rewards.read(api, ids(api)[:1])

    assert rewards.complete
    assert shown == []
    assert "1 of 1 users" in told.getvalue()


def test_a_long_read_is_shown(api: Session, shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A read that takes a while shows bar and buttons, and says how it ended where no widget lives."""
    monkeypatch.setattr(watching, "SOON", 0.0)
    there = threading.Event()
    display = watching.Watch.show

    def show(self: Watch) -> None:
        display(self)
        there.set()

    monkeypatch.setattr(watching.Watch, "show", show)
    read = reads.read_rewards
    slow = watching.watched(lambda *a, **how: (there.wait(WAIT), read(*a, **how))[1])
    rewards = slow(api, ids(api)[:2])

    ((gauge, html, _),) = shown
    assert "Rewards are being read" in html
    assert f"{rewards.rows:,} rows" in gauge.said.value
    assert "Complete: every row" in gauge.face.value


def test_asked_otherwise_it_is_the_plain_read(api: Session, shown: list[Any]) -> None:
    """`progress=False` or a function of one's own shows no widget."""
    seen: list[Any] = []
    wb.rewards.read(api, ids(api)[:1], progress=False)
    wb.rewards.read(api, ids(api)[:1], progress=seen.append)

    assert seen
    assert shown == []


def test_what_goes_wrong_is_raised_and_shown(api: Session, shown: list[Any]) -> None:
    """A refused key is raised in the cell; the buttons go, since going on would be refused too."""
    keys = api.sandbox.guide()["api_keys"]
    with wb.connect(seed=7, api_key=keys["contractsAndSignatures:read only"]) as other:
        one = watch(other, users=ids(api))
        one.show()
        with pytest.raises(Forbidden):
            one.first()

    assert "failed" == one.state
    assert "403" in one.gauge.face.value
    assert "none" == one.gauge._buttons.layout.display
    with pytest.raises(InvalidRequest):
        wb.rewards.read(api, ["../x"])


def test_nothing_private_is_in_its_widgets(api: Session, shown: list[Any]) -> None:
    """Counts and words alone: no row, no key."""
    one = watch(api)
    one.show()
    rewards = one.first()
    held = state(one.gauge.widget)

    assert [name for name in rewards.frame()["id"].tolist() if name in held] == []
    assert api.sandbox.full_key not in held


def test_a_button_is_heard_where_the_page_sends_it(api: Session, shown: list[Any]) -> None:
    """What ipykernel notes of the busy loop is taken away, each time a button was spoken to."""
    one = watch(api)
    one.show()
    one.gauge.stopper.comm._reply_subshell_id = None
    one.gauge.offer(stop=True, go=False)

    assert "_reply_subshell_id" not in vars(one.gauge.stopper.comm)
