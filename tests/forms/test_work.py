"""Long work in the background: it stops at a click, resumes at another, and does nothing twice."""

import threading
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.forms.conftest import PERSON, SECRETS, state
from workbench.base.errors import UsageError
from workbench.base.system.progress import Progress, ProgressCallback
from workbench.client.session import Session
from workbench.runs.sequences import Sequence
from workbench.runs.sequences import run as run_sequence
from workbench.runs.sequences.sequence import Step
from workbench.screens.panel.background import BackgroundTask, bulk_panel

WAIT = 30.0


def people(many: int) -> list[dict[str, Any]]:
    """Return applications, each of another person."""
    return [{**PERSON, "email": f"kanarienvogel{n}@example.com", "external_id": f"row-{n}"} for n in range(many)]


def test_it_ends_with_every_row_done(api: Session, tmp_path: Path) -> None:
    """All rows are sent, and the bar is full."""
    work = bulk_panel(api.create_user_application, people(5), path=tmp_path / "run")

    assert work.wait(WAIT)
    assert "ended" == work.state, work.error
    assert {"done": 5} == work.result.counts
    assert (5, 5) == (work.bar.value, work.bar.max)


def test_stopped_work_resumes_without_sending_twice(
    api: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop leaves rows that were not sent; Resume sends those alone, also if the program has changed its folder."""
    monkeypatch.chdir(tmp_path)
    ready, never, send = threading.Event(), threading.Event(), api.send
    sent: list[str] = []
    made: list[BackgroundTask] = []

    def held(request: Any) -> Any:
        ready.wait(WAIT)
        sent.append(request.external_id)
        if len(sent) == 3:
            made[0].stop_button.click()
        if made[0].state == "stopping":
            never.wait(0.2)  # until the run notices
        return send(request)

    api.allowing = lambda **_: api  # type: ignore[method-assign]
    api.send = held  # type: ignore[method-assign]
    work = bulk_panel(api.create_user_application, people(40), path="run", workers=1)
    made.append(work)
    ready.set()
    assert work.wait(WAIT)
    stopped = dict(work.result.counts)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    work.resume_button.click()
    assert work.wait(WAIT)

    assert 3 <= stopped["done"] <= 6
    assert 40 == sum(stopped.values())
    assert {"done": 40} == work.result.counts
    assert len(sent) == len(set(sent)) == 40


def test_wrong_rows_are_shown(api: Session, tmp_path: Path) -> None:
    """Rows that cannot be sent are named on the page, without their values."""
    rows = people(2)
    rows[1]["national_id"] = "12"
    work = bulk_panel(api.create_user_application, rows, path=tmp_path / "run")

    assert work.wait(WAIT)
    assert "failed" == work.state
    assert "row 2" in work.shown.value
    assert [] == [secret for secret in SECRETS if secret in (state(work.widget) + work.html).lower()]


def test_progress_cannot_be_replaced(api: Session, tmp_path: Path) -> None:
    """Another progress cannot be given."""
    with pytest.raises(UsageError):
        bulk_panel(api.create_user_application, people(1), path=tmp_path / "run", progress=False)


def long_story(api: Session, many: int) -> Sequence:
    """Return a sequence of purchases."""
    card = api.sandbox.guide()["cards"]["active"][0]
    steps = [
        Step(
            name=f"buy-{n}", do="simulate_authorization",
            arguments={"card_id": card, "amount": 100 + n, "currency": "USD", "merchant_name": "Shop",
                       "merchant_category_code": "5411"},
        )
        for n in range(many)
    ]  # fmt: skip
    return Sequence(name="long-story", steps=tuple(steps))


def test_a_stopped_sequence_resumes_without_repeating_a_step(api: Session, tmp_path: Path) -> None:
    """Stop ends it after the running step; Resume runs the rest, with the result of a run that was never stopped."""
    story = long_story(api, 12)
    made: list[BackgroundTask] = []
    clicked: list[bool] = []
    ready = threading.Event()

    def run(progress: ProgressCallback, before: Any) -> Any:
        def report(one: Progress) -> None:
            ready.wait(WAIT)
            if one.done == 5 and not clicked:
                clicked.append(True)
                made[0].stop_button.click()
            progress(one)

        return run_sequence(api, story, path=path, progress=report)

    path = tmp_path / "run"
    work = BackgroundTask("sequence", "Run", api, run, resumable=lambda _: path.exists())
    made.append(work)
    ready.set()
    assert work.wait(WAIT)
    then = (work.state, work.bar.value, len(list(api.journal)))
    work.resume_button.click()
    assert work.wait(WAIT)

    assert ("stopped", 5, 5) == then
    assert "ended" == work.state, work.error
    assert work.result.ok
    assert 12 == len(list(api.journal)) == work.bar.value
    assert list(range(100, 112)) == [one.request["amount"] for one in api.journal]


def test_a_sequence_runs_in_the_background(api: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`wb.panel.sequence` runs a sequence of any length with its bar; again with the same file, nothing is sent."""
    story = long_story(api, 3)
    monkeypatch.chdir(tmp_path)
    work = wb.panel.sequence(api, story, path="run")
    assert work.wait(WAIT)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    work._start()
    assert work.wait(WAIT)
    again = wb.panel.sequence(api, story, path=tmp_path / "run")
    assert again.wait(WAIT)

    assert ("ended", "ended") == (work.state, again.state), (work.error, again.error)
    assert 3 == len(list(api.journal)) == again.bar.value
    assert "<sequence long-story: ended, 3 of 3>" == repr(work)
    assert "as expected" in work.html


def test_a_wrong_sequence_is_shown(api: Session, tmp_path: Path) -> None:
    """Problems of the sequence are shown; nothing was sent."""
    work = wb.panel.sequence(
        api, Sequence(name="wrong", steps=(Step(name="x", do="no_such_thing"),)), path=tmp_path / "run"
    )
    assert work.wait(WAIT)

    assert "failed" == work.state
    assert "no_such_thing" in work.html
    assert work.resume_button.disabled


def users(api: Session) -> list[str]:
    """Return some users of the sandbox that have rewards."""
    return [one["id"] for one in api.sandbox.guide()["rewards_users"][:8]]


@pytest.mark.slow
def test_a_stopped_read_resumes_to_the_same_rows(api: Session) -> None:
    """Stop keeps what was read; Resume reads the rest, and the rows are those of an uninterrupted read."""
    everything = wb.rewards.fetch(api, users(api), progress=False)
    api.sandbox.add_fault("latency", of="list_rewards_activity", seconds=0.1)
    work = wb.panel.rewards(api, users(api), concurrency=1)
    while not work.bar.value:
        work.wait(0.01)
    work.stop_button.click()
    assert work.wait(WAIT)
    api.sandbox.clear_faults()
    then, rows = work.state, work.result.rows
    shown = work.shown.value
    work.resume_button.click()
    assert work.wait(WAIT)

    assert "stopped" == then
    assert 0 < rows < everything.rows
    assert "Resume reads the rest" in shown
    assert "ended" == work.state
    assert everything.frame().equals(work.result.frame())
    assert work.bar.value == work.bar.max == len(users(api))
    assert work.resume_button.disabled
    assert [one for one in work.result.frame()["id"].tolist() if one in state(work.widget)] == []


def test_a_refused_read_is_shown(api: Session) -> None:
    """A key without the permission ends the read, with the refusal on the page."""
    keys = api.sandbox.guide()["api_keys"]
    with wb.connect(seed=7, api_key=keys["contractsAndSignatures:read only"]) as other:
        work = wb.panel.rewards(other, users(api))
        assert work.wait(WAIT)

    assert "failed" == work.state
    assert "403" in work.shown.value
