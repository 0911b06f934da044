"""Undo in the panel: the state before the last action, unless something else changed since."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.forms.conftest import PERSON
from workbench.panel.panel import Panel, browse
from workbench.sandbox import Sandbox
from workbench.session import Session, connect


@pytest.fixture(params=["in memory", "in a file", "served"])
def panel(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Panel]:
    """Yield a panel on each kind of sandbox."""
    if request.param == "served":
        with Sandbox(seed=7).serve() as url, connect(url) as session:
            yield browse(session)
    else:
        path = None if request.param == "in memory" else tmp_path / "sandbox.db"
        with connect(seed=7, path=path) as session:
            yield browse(session)


@pytest.fixture
def told(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return what the page is told."""
    events: list[dict[str, Any]] = []
    monkeypatch.setattr(panel.widget, "send", events.append)
    return events


def ask(panel: Panel, do: str, **more: Any) -> dict[str, Any]:
    return panel.answer({"ask": 1, "do": do, **more})


def act(panel: Panel, name: str, do: str, *, state: str, **values: str) -> str:
    """Open the first row of a list with a status, and use a control; return the id."""
    listing = panel.open(name, f"status={state}")
    key = listing.ids[0]
    panel.show(name, key)
    assert "error" not in ask(panel, "control", do_what=do, values=values)
    return key


def test_an_action_is_undone(panel: Panel, told: list[dict[str, Any]]) -> None:
    """A lock and a purchase by the form: lists show the former state, and the journal notes it."""
    sandbox = panel.sandbox
    card = act(panel, "cards", "lock_card", state="active")
    assert ("Lock card: done.", True) == (told[-1]["text"], told[-1]["undo"])
    assert "locked" == sandbox.state(card)["status"]

    assert "error" not in ask(panel, "undo")

    assert "active" == sandbox.state(card)["status"]
    assert card in panel.open("cards", "status=active").ids
    assert ("Undo Lock card: done.", False) == (told[-2]["text"], told[-2]["undo"])
    panel.open("transactions", "")
    before = sandbox.records("transaction")
    assert "model" in ask(panel, "form", do_what="simulate_authorization", label="Simulate purchase", for_list=True)
    panel.form.view.button.click()  # type: ignore[union-attr]
    assert len(before) + 1 == len(sandbox.records("transaction"))
    assert ("Simulate authorization: done.", True) == (told[-1]["text"], told[-1]["undo"])

    assert "error" not in ask(panel, "undo")

    assert before == sandbox.records("transaction")
    assert panel.form is None
    assert ["undone", "undone"] == [note.kind for note in panel._api.journal.notes if note.kind == "undone"]


def test_nothing_is_undone_twice(panel: Panel, told: list[dict[str, Any]]) -> None:
    """A second press says that there is nothing to undo."""
    assert "there is nothing to undo" in ask(panel, "undo")["error"]
    act(panel, "cards", "lock_card", state="active")
    ask(panel, "undo")

    assert "there is nothing to undo" in ask(panel, "undo")["error"]


def test_what_changed_since_is_not_lost(panel: Panel, told: list[dict[str, Any]]) -> None:
    """A change by code after the action: undo says so and changes nothing."""
    card = act(panel, "cards", "lock_card", state="active")
    other = panel.sandbox.guide()["cards"]["active"][-1]
    panel.sandbox.cards.lock(other)

    assert "Something else changed in the sandbox since" in ask(panel, "undo")["error"]

    assert ["locked", "locked"] == [panel.sandbox.state(key)["status"] for key in (card, other)]


def test_two_panels_undo_only_the_last_action(panel: Panel, told: list[dict[str, Any]]) -> None:
    """The savepoint of the first panel is gone after an action in the second."""
    second = browse(panel._api)
    card = act(panel, "cards", "lock_card", state="active")
    other = act(second, "cards", "lock_card", state="active")

    assert "Something else changed" in ask(panel, "undo")["error"]
    assert "error" not in ask(second, "undo")
    assert "error" in ask(panel, "undo")

    assert ["locked", "active"] == [panel.sandbox.state(key)["status"] for key in (card, other)]


def test_an_action_that_changed_nothing_is_not_offered(panel: Panel, told: list[dict[str, Any]]) -> None:
    """A refused action: the one before can no longer be undone either, since its state is not saved any more."""
    act(panel, "cards", "lock_card", state="active")
    card = panel.open("cards", "status=active").ids[0]
    panel.show("cards", card)
    panel.sandbox.cards.cancel(card)
    told.clear()
    refused = ask(panel, "control", do_what="lock_card")

    assert "error" in refused
    assert [] == [event for event in told if event.get("undo")]
    assert "there is nothing to undo" in ask(panel, "undo")["error"]


def test_deliveries_do_not_count_as_changes(panel: Panel, told: list[dict[str, Any]]) -> None:
    """An endpoint that is told of the action keeps what it was told; undo works."""
    panel.sandbox.register_endpoint("http://127.0.0.1:9/hooks")
    card = act(panel, "cards", "lock_card", state="active")
    panel.sandbox.flush(timeout=1)

    assert told[-1]["undo"]
    assert "error" not in ask(panel, "undo")
    assert "active" == panel.sandbox.state(card)["status"]


def test_a_next_step_of_an_answer_is_undone(panel: Panel, told: list[dict[str, Any]]) -> None:
    """Approve in the sandbox, below an application that was filed: the application stays."""
    panel.open("users")
    form = panel.act("create_user_application", **PERSON)
    user = form.submit()
    step = next(each for each in form.view.card._actions.children if each.description == "Approve in the sandbox")  # type: ignore[union-attr]
    step.click()
    assert "approved" == panel.sandbox.state(user.id)["status"]

    assert "error" not in ask(panel, "undo")

    assert "pending" == panel.sandbox.state(user.id)["status"]


def test_a_real_service_has_no_undo() -> None:
    """A client without a sandbox of its own is asked nothing more."""
    with Sandbox(seed=7, environment="production").serve() as url:
        client = wb.Client(base_url=url, api_key="key", environment="production")
        panel = browse(client)
        panel._save()

        assert panel._savepoint is None
        assert "there is nothing to undo" in ask(panel, "undo")["error"]
        client.close()


def test_forms_of_the_panel_begin_with_values(api: Session) -> None:
    """In a sandbox a purchase, a decline and a full refund are ready to send; a form elsewhere stays empty."""
    panel = browse(api)
    panel.open("transactions")
    outcomes = []
    for label in ("Simulate purchase", "Simulate decline"):
        ask(panel, "form", do_what="simulate_authorization", label=label, for_list=True)
        outcomes.append(panel.form.submit().status)  # type: ignore[union-attr]
    panel.show("transactions", panel.open("transactions", "status=settled").ids[0])
    ask(panel, "form", do_what="simulate_refund", label="Refund")

    assert ["authorized", "declined"] == outcomes
    assert () == panel.form.problems  # type: ignore[union-attr]
    assert {} == wb.form(api.simulate_authorization).draft.given
