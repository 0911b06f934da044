"""What happened in a sandbox, in order: requests, their events, and the deliveries of those."""

import asyncio
import contextlib
import json
import os
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pexpect
import pytest

import workbench as wb
from workbench.base.errors import UsageError
from workbench.terminal.watch import screen
from workbench.testing import session
from workbench.testing.exports import call_as

PURCHASE = {"amount": 420, "currency": "USD", "merchant_name": "<b>[red]A", "merchant_category_code": "5411"}


@pytest.fixture
def api() -> Iterator[wb.Session]:
    with session() as made:
        yield made


def buy(api: wb.Session, **more: str) -> str:
    card = api.sandbox.guide()["cards"]["active"][0]
    return str(api.simulate_authorization(card_id=card, **{**PURCHASE, **more}).transaction_id)


def test_requests_events_and_controls_stand_in_the_order_they_happened(api: wb.Session) -> None:
    transaction = buy(api)
    api.sandbox.settle(transaction)
    api.simulate_refund(transaction_id=transaction, amount=20)

    assert [(one.lane, one.title) for one in api.sandbox.timeline()] == [
        ("request", "simulate_authorization"),
        ("event", "transaction.requested"),
        ("event", "transaction.created"),
        ("event", "transaction.completed"),
        ("request", "simulate_refund"),
        ("event", "transaction.completed"),
    ]


def test_a_refused_call_and_a_failed_delivery_are_marked(api: wb.Session) -> None:
    api.sandbox.register_endpoint("http://127.0.0.1:9/")
    transaction = buy(api)
    api.sandbox.flush()
    with pytest.raises(wb.ApiError):
        api.simulate_refund(transaction_id=transaction, amount=1)

    failed = [(one.lane, one.status.partition(" ")[0]) for one in api.sandbox.timeline() if one.failed]
    assert ("request", "400") in failed
    assert sum(lane == "delivery" for lane, _ in failed) == 2


def test_a_fault_is_named(api: wb.Session) -> None:
    api.sandbox.add_fault("lost", of="simulate_authorization", times=1)
    with pytest.raises(wb.OutcomeUnknown):
        buy(api)

    assert "fault lost" in next(iter(api.sandbox.timeline())).status


def test_why_shows_the_chain_of_an_event(api: wb.Session) -> None:
    with wb.Inbox(keys=[api.sandbox.full_key]) as inbox, inbox.serve() as url:
        api.sandbox.register_endpoint(url)
        buy(api)
        buy(api)
        api.sandbox.flush(timeout=60)
    event = api.sandbox.events()[-1].payload["id"]

    chain = api.sandbox.why(event)
    assert [(one.lane, one.title.split()[0]) for one in chain] == [
        ("request", "simulate_authorization"),
        ("event", "transaction.requested"),
        ("event", "transaction.created"),
        ("delivery", "transaction.created"),
    ]
    assert len({one.request_id for one in chain}) == 1
    linked = api.sandbox.why(event, api.journal)
    picture = ET.fromstring(linked.swimlanes())
    assert [one.lane for one in linked].count("journal") == 1
    assert len(picture.findall(".//{*}g")) == len(linked) == 5
    assert len(picture.findall("{*}path")) == 4  # all but the request have a cause
    assert "<svg" in linked._repr_html_()
    with pytest.raises(UsageError, match="no event"):
        api.sandbox.why("nothing")


def test_nothing_private_and_nothing_hostile_is_shown(api: wb.Session) -> None:
    buy(api)
    shown = api.sandbox.timeline()

    assert "\x1b" not in str(shown)
    assert "<b>" not in shown._repr_html_()
    for one in shown:
        text = json.dumps(one.line())
        assert api.sandbox.full_key not in text
        assert "june.joss" not in text


@pytest.mark.slow
def test_the_screen_shows_filters_and_acts(api: wb.Session) -> None:
    async def main() -> None:
        app = screen(api)
        async with app.run_test(size=(80, 24)) as pilot:
            transaction = buy(api)
            app.look()
            table = app.query_one("DataTable")
            assert [one.lane for one in app.shown] == ["request", "journal", "event", "event"]
            await pilot.press("enter")
            assert "transaction" in str(app.query_one("#details").render())
            await pilot.press("s")
            assert api.sandbox.state(transaction)["status"] == "settled"
            assert table.row_count == 5
            await pilot.press("w")
            assert "Why transaction" in str(app.query_one("#details").render())
            await pilot.press("f", "space", *"events", "enter", "f", "enter")  # no operation: a message
            assert [one.kind for one in api.sandbox.list_faults()] == ["lost"]
            await pilot.press("t", "escape", "t", *"30m", "enter")
            assert (api.sandbox.clock.now() - app.shown[0].at).total_seconds() == 1_800
            app.query_one("DataTable").move_cursor(row=0)
            await pilot.press("p")
            assert app.clipboard.startswith('api.simulate_authorization(card_id="')
            await pilot.press("u")
            assert app.clipboard.startswith("curl -X POST ")
            await pilot.press("c")
            assert api.sandbox.list_faults() == []
            await pilot.press("escape", "slash", *"created")
            await pilot.pause()
            assert [one.title for one in app.shown] == ["transaction.created"]
            await pilot.press("enter", "s")  # settled already: a message, and the screen stays
            await pilot.press("q")

    asyncio.run(main())


def test_a_copied_call_runs_again(api: wb.Session) -> None:
    """A request is copied as Python that makes the same call; what it says cannot leave its quotes in curl."""
    buy(api, merchant_name="Joe's $(rm -rf) `shop`")
    request = api.sandbox.requests()[-1]
    shell = call_as(request, "curl", base_url="http://127.0.0.1:1/v1")
    words = shlex.split(shell or "")

    assert json.loads(words[words.index("-d") + 1])["merchantName"] == "Joe's $(rm -rf) `shop`"
    made = eval(call_as(request, "python", base_url="") or "", {"api": api.allowing(again=True), "wb": wb})
    assert made.status == "authorized"
    refunds = (
        api.sandbox.settle(made.transaction_id),
        api.simulate_refund(transaction_id=made.transaction_id, amount=wb.FULL),
    )
    assert refunds[1].status
    assert call_as(api.sandbox.requests()[-1], "python", base_url="") is not None


@pytest.mark.slow
def test_a_person_reviews_on_the_screen(api: wb.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """`v` asks for the status, approved by default; with NO_COLOR the screen has none, and what failed has a mark."""
    monkeypatch.setenv("NO_COLOR", "1")
    user = api.sandbox.guide()["users"]["pending"][0]

    async def main() -> None:
        app = screen(api)
        async with app.run_test(size=(80, 24)) as pilot:
            api.sandbox.review(user, "manualReview")
            app.look()
            await pilot.press("v", *"denied", "enter")
            assert api.sandbox.state(user)["status"] == "denied"
            with contextlib.suppress(wb.ApiError):
                api.simulate_refund(transaction_id=user, amount=1)
            app.look()
            await pilot.pause()
            drawn = app.export_screenshot()
            assert "✗" in drawn
            colors = {*re.findall(r"fill: #([0-9a-f]{6})", drawn)} - {"c5c8c6"}  # of the picture, not of the screen
            assert all(len({*re.findall("..", color)}) == 1 for color in colors)

    asyncio.run(main())


def test_logs_are_printed_as_json(capsys: pytest.CaptureFixture[str], tmp_path, monkeypatch) -> None:
    from workbench.terminal import main

    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    with wb.connect() as api, api.sandbox.serve() as url:
        buy(api)
        capsys.readouterr()
        assert main(["events", "tail", "--no-follow", "--json", "--url", url]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert main(["events", "tail", "--no-follow", "--failed", "--url", url]) == 0

    assert [one["title"] for one in lines] == ["simulate_authorization", "transaction.requested", "transaction.created"]
    assert capsys.readouterr().out == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "stop, ignored",
    [(signal.SIGINT, False), (signal.SIGHUP, False), (signal.SIGTERM, True), (None, False)],
)
def test_the_screen_ends_at_a_signal_and_restores_the_terminal(
    tmp_path: Path, stop: signal.Signals | None, ignored: bool
) -> None:
    """What the parent ignored, as `nohup` and a shell's `&` do, stays ignored."""
    environment = {**os.environ, "WORKBENCH_STATE": str(tmp_path)}
    words = f"trap {'' if ignored else '-'!r} INT HUP; exec {sys.executable} -m workbench events watch"
    watching = pexpect.spawn("bash", ["-c", words], dimensions=(24, 80), encoding="utf-8", timeout=30, env=environment)
    watching.expect("Filter")
    if ignored:
        watching.kill(signal.SIGINT)
        watching.kill(signal.SIGHUP)
    watching.kill(stop) if stop else watching.send("q")
    watching.expect(pexpect.EOF)
    watching.close()

    assert watching.exitstatus == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143, None: 0}[stop]
    assert "\x1b[?1049l" in watching.before  # the screen of before is shown again
    assert "Traceback" not in watching.before
    with wb.connect(path=tmp_path / "sandbox.db") as api:
        buy(api)


def test_a_request_is_about_the_record_of_its_answer(api: wb.Session) -> None:
    """A purchase by its transaction, another record by its id."""
    bought = buy(api)
    user = api.update_user(user_id=api.sandbox.guide()["users"]["approved"][0], first_name="Grace")
    subjects = {one.title: one.subject for one in api.sandbox.timeline() if one.lane == "request"}

    assert subjects["simulate_authorization"] == bought
    assert subjects["update_user"] == user.id
