"""Bulk work on a page: it runs beside the notebook, stops at a click, goes on at another, sends nothing twice."""

import threading
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.forms.conftest import PERSON, SECRETS, state
from workbench.bulk.thread_pool import ThreadPool
from workbench.errors import InvalidArguments
from workbench.forms.work import Work, bulk_panel
from workbench.progress import Progress
from workbench.sequences import Sequence, Step, run_kept
from workbench.session import Session

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
    assert (5, 5) == (work.gauge.bar.value, work.gauge.bar.max)


def test_it_stops_and_goes_on_without_sending_twice(
    api: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A click on Stop leaves rows planned; a click on Go on sends those alone."""
    ready, stopping, send = threading.Event(), threading.Event(), api.send
    sent: list[str] = []
    made: list[Work] = []
    stop = ThreadPool.stop

    def noted(pool: ThreadPool) -> None:
        stop(pool)
        stopping.set()

    monkeypatch.setattr(ThreadPool, "stop", noted)

    def held(request: Any) -> Any:
        ready.wait(WAIT)
        sent.append(request.external_id)
        if len(sent) == 3:
            made[0].gauge.stopper.click()
            stopping.wait(WAIT)
        return send(request)

    api.allowing = lambda **_: api  # type: ignore[method-assign]
    api.send = held  # type: ignore[method-assign]
    work = bulk_panel(api.create_user_application, people(40), path=tmp_path / "run")
    made.append(work)
    ready.set()
    assert work.wait(WAIT)
    stopped = dict(work.result.counts)
    work.gauge.goer.click()
    assert work.wait(WAIT)

    assert {"done": 3, "planned": 37} == stopped
    assert {"done": 40} == work.result.counts
    assert len(sent) == len(set(sent)) == 40


def test_wrong_rows_are_shown(api: Session, tmp_path: Path) -> None:
    """Rows that cannot be sent are named on the page, without their values."""
    rows = people(2)
    rows[1]["national_id"] = "12"
    work = bulk_panel(api.create_user_application, rows, path=tmp_path / "run")

    assert work.wait(WAIT)
    assert "failed" == work.state
    assert "row 2" in work.gauge.face.value
    assert [] == [secret for secret in SECRETS if secret in (state(work.widget) + work.html).lower()]


def test_progress_is_its_own(api: Session, tmp_path: Path) -> None:
    """Another progress cannot be given."""
    with pytest.raises(InvalidArguments):
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


def test_a_sequence_stops_and_goes_on_without_doing_anything_twice(api: Session, tmp_path: Path) -> None:
    """Stop ends it after the step that runs; Go on plays the rest, and the whole is as if nobody had stopped it."""
    story = long_story(api, 12)
    made: list[Work] = []
    ready = threading.Event()
    tell = Work._tell

    class Stopping(Work):
        def _tell(self, progress: Progress) -> None:
            ready.wait(WAIT)
            if progress.done == 5 and not hasattr(self, "stopped_once"):
                self.stopped_once = True
                made[0].gauge.stopper.click()
            tell(self, progress)

    path = tmp_path / "run"
    go = lambda told: run_kept(story, api, path, progress=told)  # noqa: E731 - as play gives it
    made.append(Stopping("play", "Play", api, path, begin=go, go_on=go))
    work = made[0]
    ready.set()
    assert work.wait(WAIT)
    then = (work.state, work.gauge.bar.value, len(list(api.journal)))
    work.gauge.goer.click()
    assert work.wait(WAIT)

    assert ("stopped", 5, 5) == then
    assert "ended" == work.state, work.error
    assert work.result.ok
    assert 12 == len(list(api.journal)) == work.gauge.bar.value
    assert list(range(100, 112)) == [one.request["amount"] for one in api.journal]


def test_a_sequence_is_played_beside_the_notebook(api: Session, tmp_path: Path) -> None:
    """`wb.sequences.panel` runs a sequence of any length with its bar; again with the same file, nothing is sent."""
    story = long_story(api, 3)
    work = wb.sequences.panel(story, api, path=tmp_path / "run")
    assert work.wait(WAIT)
    again = wb.sequences.panel(story, api, path=tmp_path / "run")
    assert again.wait(WAIT)

    assert ("ended", "ended") == (work.state, again.state), (work.error, again.error)
    assert 3 == len(list(api.journal)) == again.gauge.bar.value
    assert "<play long-story: ended, 3 of 3>" == repr(work)
    assert "as expected" in work.html


def test_a_wrong_sequence_is_shown(api: Session, tmp_path: Path) -> None:
    """What is wrong with it stands on the page; nothing was sent."""
    work = wb.sequences.panel(
        Sequence(name="wrong", steps=(Step(name="x", do="no_such_thing"),)), api, path=tmp_path / "run"
    )
    assert work.wait(WAIT)

    assert "failed" == work.state
    assert "no_such_thing" in work.html
    assert work.gauge.goer.disabled
