"""Revealed values: only those requested, for as long as requested. Deleted events leave no byte."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ipywidgets
import pytest
from rich.pretty import pretty_repr

import workbench as wb
from tests.canaries.conftest import RECIPIENT, Life
from tests.canaries.places import command, options, widgets
from tests.canaries.planted import PERSON, PLANTED, found
from workbench.base.errors import UsageError
from workbench.client.calls.pace import Clock
from workbench.client.withdrawals.wallet import SHOWN_FOR, Revealed
from workbench.sandbox.internals import internals
from workbench.screens.forms.answers import Reveal


def test_a_table_reveals_what_is_named(life: Life, tmp_path: Path) -> None:
    """A frame that reveals emails contains no other private value, and only the owner can read its file."""
    table = wb.to_frame([life.things["application"]], reveal={"email"})
    wb.to_file(table, tmp_path / "table.csv")

    assert found((tmp_path / "table.csv").read_text()) == ["email"]
    assert (tmp_path / "table.csv").stat().st_mode & 0o077 == 0


def test_what_the_sandbox_tells_is_plain_by_name(life: Life) -> None:
    """Records and events of the sandbox print masked, and their members have the real values."""
    state = next(one for one in life.things["states"] if one["kind"] == "user")
    event = next(one.payload for one in life.things["sandbox events"] if one.payload["resource"] == "microDeposit")

    assert "Zqfore" == state["first_name"]
    assert "ZQMEMO" == event["body"]["description"]
    assert found(f"{state!r} {event!r} {event['body']!r} {pretty_repr([state, event, event['body']])}") == []
    assert found(b"".join(body for _, _, body in life.things["drained"][0])) != []


@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
def test_a_served_sandbox_tells_the_same() -> None:
    """Over HTTP too, results of controls print masked, and their members have the real values."""
    from workbench.sandbox.remote import RemoteSandbox

    with wb.Sandbox(seed=7).serve() as url, wb.connect(url) as api:
        made = api.create_user_application(**PERSON)
        control = api.sandbox
        state, events, drained = control.state(made.id), control.events(), internals(control).drain()

    assert isinstance(control, RemoteSandbox)
    assert "Zqfirst" == state["first_name"]
    assert "Zqfirst" == events[-1].payload["body"]["firstName"]
    assert found(f"{state!r} {events!r} {drained!r} {pretty_repr([state, events, drained])}") == []


@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
def test_a_command_shows_what_it_is_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`sandbox events` shows private values only with `--reveal`."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    command("users", "create", *options(PERSON))
    for output in ("table", "json"):
        shown = command("sandbox", "events", "-o", output, "--reveal")
        masked = command("sandbox", "events", "-o", output)

        assert [] == found(masked)
        assert output == "table" or "first name" in found(shown)


class Hand(Clock):
    """A clock that the test sets."""

    at = 0.0

    def now(self) -> datetime:
        """Return a fixed time."""
        return datetime(2026, 1, 15, 15, tzinfo=UTC)

    def monotonic(self) -> float:
        """Return the seconds that the test set."""
        return self.at


def test_a_revealed_signature_is_a_view_that_passes() -> None:
    """`reveal()` returns an object that prints masked, cannot be pickled, and is empty after a minute."""
    clock = Hand()
    with wb.connect(seed=7) as api:
        one = api.list_contracts()[0]
        plan = wb.withdrawals.plan(
            api, one, token=one.tokens[0].address, amount=wb.withdrawals.usd("1.00"), admin=one.admin_addresses[0], to=RECIPIENT,
            decimals=6, clock=clock,
        )  # fmt: skip
        shown = plan.sign().reveal()
        data, salt = shown.data, shown.salt

        assert type(shown) is Revealed
        assert not isinstance(shown, str | bytes)
        assert found(f"{shown!r} {shown} {pretty_repr(shown)} {vars(type(shown))!r}", (data, salt)) == []
        with pytest.raises(TypeError):
            shown.__reduce_ex__(4)
        assert ["revealed"] == [note.kind for note in api.journal.notes]
        clock.at = SHOWN_FOR + 1
        with pytest.raises(UsageError, match="have passed"):
            _ = shown.data
        assert found(pretty_repr(shown) + repr([getattr(shown, name) for name in shown.__slots__]), (data, salt)) == []


@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
def test_a_revealed_answer_passes_from_the_screen() -> None:
    """A form shows private values for 60 seconds, which the journal notes, and then no widget contains them."""
    later: list[Any] = []

    class Timer:
        def cancel(self) -> None:
            """Do nothing."""

    def after(seconds: float, act: Any) -> Timer:
        later.append((seconds, act))
        return Timer()

    with wb.connect(seed=7) as api:
        answer = api.create_user_application(**PERSON)
        revealed = Reveal(answer, api, ipywidgets.VBox(), later=after)
        on_screen = found(widgets())
        ((seconds, hide),) = later
        hide()

        assert "first name" in on_screen
        assert 60 == seconds
        assert not revealed.shown
        assert [] == found(widgets() + repr(revealed))
        assert ["revealed"] == [note.kind for note in api.journal.notes]


def test_an_inbox_can_forget(tmp_path: Path) -> None:
    """The inbox's file contains events unmasked. After a purge, no byte of the private value remains."""
    sample = wb.events.sample("user.updated", PLANTED["webhook key"], first_name="Zqfirst")
    with wb.Inbox(tmp_path / "inbox.db", keys=(PLANTED["webhook key"],)) as inbox:
        event = inbox.receive(sample.headers, sample.body).event
        before = found(b"".join(one.read_bytes() for one in tmp_path.iterdir()))
        inbox.purge(event.body.id)

    assert "first name" in before
    assert found(b"".join(one.read_bytes() for one in tmp_path.iterdir())) == []
