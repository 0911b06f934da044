"""Undo in the panel restores the state before the last action, unless something else changed since."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.each import some
from tests.forms.conftest import PERSON, labelled
from tests.panel.script import listed
from workbench.client.session import Session, connect
from workbench.course.classroom import ClassServer
from workbench.sandbox import Sandbox
from workbench.sandbox.controls import state
from workbench.sandbox.internals import internals
from workbench.screens.panel.panel import Panel, browse


@pytest.fixture(params=some(2, ["in memory", "in a file", "served", "of a learner"]))
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    """Yield a session on each kind of sandbox."""
    if request.param == "of a learner":
        server = ClassServer(["Ada"], tmp_path)
        with server.serve() as url, connect(f"{url}/{server.learners[0].code}") as made:
            yield made
    elif request.param == "served":
        with Sandbox(seed=7).serve() as url, connect(url) as made:
            yield made
    else:
        path = None if request.param == "in memory" else tmp_path / "sandbox.db"
        with connect(seed=7, path=path) as made:
            yield made


@pytest.fixture
def panel(session: Session) -> Panel:
    """Return a panel of the session."""
    return browse(session)


@pytest.fixture
def messages(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return the messages to the page."""
    events: list[dict[str, Any]] = []
    monkeypatch.setattr(panel.widget, "send", events.append)
    return events


def ask(panel: Panel, do: str, **more: Any) -> dict[str, Any]:
    return panel.answer({"ask": 1, "do": do, **more})


def act(panel: Panel, name: str, do: str, *, state: str, **values: str) -> str:
    """Open the first row of a list with a status, use a control, and return the id."""
    key = listed(panel, name, f"status={state}")[0]
    panel.show(name, key)
    assert "error" not in ask(panel, "control", do_what=do, values=values)
    return key


def test_an_action_is_undone(session: Session, panel: Panel, messages: list[dict[str, Any]]) -> None:
    """After undoing a lock and a purchase, lists show the former state, and the journal records the undo."""
    sandbox = panel.sandbox
    card = act(panel, "cards", "lock_card", state="active")
    assert ("Card locked.", True) == (messages[-1]["text"], messages[-1]["undo"])
    assert "locked" == sandbox.state(card)["status"]

    assert "error" not in ask(panel, "undo")

    assert "active" == sandbox.state(card)["status"]
    assert card in listed(panel, "cards", "status=active")
    assert messages[-2]["text"] == "Undone: Card locked. Webhooks already delivered are not undone."
    assert not messages[-2]["undo"]
    panel.open("transactions", "")
    before = sandbox.records("transaction")
    assert "model" in ask(
        panel, "form", do_what="simulate_authorization", label="Simulate purchase", list="transactions"
    )
    panel.form.view.button.click()  # type: ignore[union-attr]
    assert len(before) + 1 == len(sandbox.records("transaction"))
    assert ("Purchase authorized.", True) == (messages[-1]["text"], messages[-1]["undo"])

    assert "error" not in ask(panel, "undo")

    assert before == sandbox.records("transaction")
    assert panel.form is None
    assert ["undone", "undone"] == [note.kind for note in session.journal.notes if note.kind == "undone"]


def test_nothing_is_undone_twice(panel: Panel, messages: list[dict[str, Any]]) -> None:
    """A second press reports that no action can be undone."""
    assert "there is nothing to undo" in ask(panel, "undo")["error"]
    act(panel, "cards", "lock_card", state="active")
    ask(panel, "undo")

    assert "there is nothing to undo" in ask(panel, "undo")["error"]


def test_what_changed_since_is_not_lost(panel: Panel, messages: list[dict[str, Any]]) -> None:
    """If code changed something after the action, undo reports it and changes nothing."""
    card = act(panel, "cards", "lock_card", state="active")
    other = panel.sandbox.guide()["cards"]["active"][-1]
    panel.sandbox.cards.lock(other)

    assert "Something else changed in the sandbox since; nothing was undone" in ask(panel, "undo")["error"]

    assert ["locked", "locked"] == [panel.sandbox.state(key)["status"] for key in (card, other)]


@pytest.mark.slow
def test_two_panels_undo_only_the_last_action(session: Session, panel: Panel, messages: list[dict[str, Any]]) -> None:
    """An action in the second panel removes the savepoint of the first panel."""
    second = browse(session)
    card = act(panel, "cards", "lock_card", state="active")
    other = act(second, "cards", "lock_card", state="active")

    assert "Something else changed" in ask(panel, "undo")["error"]
    assert "error" not in ask(second, "undo")
    assert "error" in ask(panel, "undo")

    assert ["locked", "active"] == [panel.sandbox.state(key)["status"] for key in (card, other)]


@pytest.mark.slow
def test_an_action_that_changed_nothing_is_not_offered(panel: Panel, messages: list[dict[str, Any]]) -> None:
    """After a change by code and a refused action, the action before them cannot be undone."""
    act(panel, "cards", "lock_card", state="active")
    card = listed(panel, "cards", "status=active")[0]
    panel.show("cards", card)
    panel.sandbox.cards.cancel(card)
    messages.clear()
    refused = ask(panel, "control", do_what="lock_card")

    assert "error" in refused
    assert [] == [event for event in messages if event.get("undo")]
    assert "error" in ask(panel, "undo")
    assert "canceled" == panel.sandbox.state(card)["status"]


@pytest.mark.slow
def test_deliveries_do_not_count_as_changes(panel: Panel, messages: list[dict[str, Any]]) -> None:
    """A delivered event does not prevent undo, and undo drops waiting deliveries."""
    panel.sandbox.register_endpoint("http://127.0.0.1:9/hooks")
    card = act(panel, "cards", "lock_card", state="active")
    panel.sandbox.flush(timeout=1)

    assert messages[-1]["undo"]
    before = [delivery.id for delivery in panel.sandbox.deliveries()]
    panel.show("transactions", listed(panel, "transactions", "status=settled")[0])
    assert "error" not in ask(panel, "form", do_what="simulate_refund", label="Refund")
    panel.form.submit()  # type: ignore[union-attr]
    panel.sandbox.flush(timeout=1)
    assert len(before) < len(panel.sandbox.deliveries())
    assert "error" not in ask(panel, "undo")
    panel.sandbox.advance(hours=2)
    panel.sandbox.flush(timeout=1)
    assert before == [delivery.id for delivery in panel.sandbox.deliveries()]
    assert "locked" == panel.sandbox.state(card)["status"]


@pytest.mark.slow
def test_a_next_step_of_an_answer_is_undone(panel: Panel, messages: list[dict[str, Any]]) -> None:
    """Undoing an approval from the answer of a filed application keeps the application."""
    panel.open("users")
    form = panel.act("create_user_application", **PERSON)
    user = form.submit()
    labelled(form.widget, "Approve in the sandbox").click()
    assert "approved" == panel.sandbox.state(user.id)["status"]

    assert "error" not in ask(panel, "undo")

    assert "pending" == panel.sandbox.state(user.id)["status"]


def test_a_real_service_has_no_undo() -> None:
    """A client of a real service has no undo."""
    with Sandbox(seed=7, environment="production").serve() as url:
        client = wb.Client(base_url=url, api_key="key", environment="production")
        panel = browse(client)
        with panel.last_action.acting():
            pass

        assert panel.last_action.undoable is None
        assert "there is nothing to undo" in ask(panel, "undo")["error"]
        client.close()


def test_forms_of_the_panel_begin_with_values(api: Session) -> None:
    """In a sandbox, a purchase, a decline and a full refund are ready to send. Other forms start empty."""
    panel = browse(api)
    panel.open("transactions")
    outcomes = []
    for label in ("Simulate purchase", "Simulate decline"):
        ask(panel, "form", do_what="simulate_authorization", label=label, list="transactions")
        outcomes.append(panel.form.submit().status)  # type: ignore[union-attr]
    panel.show("transactions", listed(panel, "transactions", "status=settled")[0])
    ask(panel, "form", do_what="simulate_refund", label="Refund")

    assert ["authorized", "declined"] == outcomes
    assert () == panel.form.problems  # type: ignore[union-attr]
    assert {} == wb.form(api.simulate_authorization).draft.given


def rows(session: Session) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of the lists of records, as a new panel shows them."""
    lists = browse(session).lists
    names = ("users", "cards", "transactions", "payment accounts", "disputes")
    return {name: [*zip(*lists[name].data.cells, strict=True)] for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("job", ["application", "purchase", "deleted account"])
def test_lists_show_the_former_state(session: Session, panel: Panel, messages: list[dict[str, Any]], job: str) -> None:
    """The lists ignore journal entries and events of undone actions."""
    before = rows(session)
    if job == "application":
        panel.open("users")
        panel.act("create_user_application", **PERSON).submit()
    elif job == "purchase":
        panel.open("transactions")
        ask(panel, "form", do_what="simulate_authorization", label="Simulate purchase", list="transactions")
        panel.form.submit()  # type: ignore[union-attr]
    else:
        panel.show("payment accounts", panel.open("payment accounts").ids[0])
        panel.act("delete_payment_account").submit()
    assert messages[-1]["undo"]
    assert rows(session) != before

    assert "error" not in ask(panel, "undo")

    assert rows(session) == before


def test_a_refused_action_in_another_panel_keeps_nothing_to_undo(
    session: Session, panel: Panel, messages: list[dict[str, Any]]
) -> None:
    """The refused action stored a later state, so the first action cannot be undone."""
    card = act(panel, "cards", "lock_card", state="active")
    second = browse(session)
    second.show("cards", listed(second, "cards", "status=active")[0])
    with second.last_action.acting():
        pass  # no change, as after an action that the sandbox refuses

    assert "Something else" in ask(panel, "undo")["error"]
    assert "locked" == panel.sandbox.state(card)["status"]


def test_ids_of_what_was_undone_are_not_used_again(panel: Panel, messages: list[dict[str, Any]]) -> None:
    """The next purchase has a new id, since receivers may know the undone id."""
    ids = []
    for _ in range(2):
        panel.open("transactions")
        ask(panel, "form", do_what="simulate_authorization", label="Simulate purchase", list="transactions")
        ids.append(panel.form.submit().transaction_id)  # type: ignore[union-attr]
        assert "error" not in ask(panel, "undo")

    assert ids[0] != ids[1]


def test_other_panels_notice_an_undo(session: Session, panel: Panel, messages: list[dict[str, Any]]) -> None:
    """Their next poll detects the change, although no event was added."""
    act(panel, "cards", "lock_card", state="active")
    stamp = ask(panel, "tick")["stamp"]
    other = browse(session)
    assert not ask(other, "tick", stamp=stamp)["changed"]
    savepoint, actor = panel.last_action.undoable or (0, "")
    internals(panel.sandbox).undo(savepoint=savepoint, actor=actor)

    assert ask(other, "tick", stamp=stamp)["changed"]


def test_faults_and_reads_do_not_count_as_changes(
    session: Session, panel: Panel, messages: list[dict[str, Any]]
) -> None:
    """Faults and reads are not part of the state that undo restores."""
    act(panel, "cards", "lock_card", state="active")
    panel.sandbox.add_fault("lost", of="update_user")
    session.list_contracts()

    assert "error" not in ask(panel, "undo")


@pytest.mark.slow
def test_changes_are_counted_after_a_restart(tmp_path: Path) -> None:
    """The change counter continues across processes, so undo does not discard another process's change."""
    with connect(seed=7, path=tmp_path / "sandbox.db") as session:
        savepoint = internals(session.sandbox).savepoint()
        session.sandbox.create.user()
    with connect(path=tmp_path / "sandbox.db") as session:
        assert internals(session.sandbox).changes() == savepoint + 1
        user = session.sandbox.guide()["rewards_users"][0]["id"]
        for _ in range(700):  # more changes than the log of the file store holds
            session.sandbox.redeem(user_id=user, points=1)
        assert internals(session.sandbox).changes() == savepoint + 701


def test_a_large_file_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Actions on a large file work and state why undo is not available. A sandbox in memory has no such limit."""
    monkeypatch.setattr(state, "MOST_COPIED", 20)
    for path, undoable in ((tmp_path / "sandbox.db", False), (None, True)):
        with connect(seed=7, path=path) as session:
            panel, events = browse(session), list[dict[str, Any]]()
            monkeypatch.setattr(panel.widget, "send", events.append)

            card = act(panel, "cards", "lock_card", state="active")

            assert session.sandbox.state(card)["status"] == "locked"
            assert events[-1]["undo"] is undoable
            assert ("Not undoable: undo needs a file with at most 20 records" in events[-1]["text"]) is not undoable
