"""Actions of the panel open forms with prefilled ids. Opening a form sends nothing, and a call refreshes the lists."""

import importlib
from typing import Any

import ipywidgets
import pytest

import workbench as wb
from tests.forms.conftest import ACCOUNT, CANARY, PERSON, below, labelled, state
from workbench.base.schema import walk
from workbench.client.session import Session
from workbench.screens.forms import offers as offers
from workbench.screens.panel.panel import Panel, browse
from workbench.service.interface.table import OPERATIONS


@pytest.fixture
def panel(api: Session, purchase: dict[str, Any]) -> Panel:
    """Return a panel of a session with some history."""
    user = api.create_user_application(**PERSON)
    api.create_payment_account(**ACCOUNT, user_id=user.id)
    api.simulate_authorization(**purchase)
    return browse(api)


def opened(panel: Panel, name: str, **facts: Any) -> list[str]:
    """Open the first record of a list that matches, and return the labels of its actions."""
    listing = panel.open(name)
    for number, key in enumerate(listing.data.ids):
        known = listing.data.facts(number)
        if all(known.get(fact) == value for fact, value in facts.items()):
            return [one["label"] for one in panel.show(name, key)["actions"]]
    raise AssertionError(f"no row has {facts}")


def pressed(panel: Panel, do: str, **more: Any) -> dict[str, Any]:
    """Return the answer to a press of an action's button."""
    return panel.answer({"ask": 1, "do": more.pop("way", "form"), "do_what": do, **more})


def test_every_operation_with_arguments_can_be_reached() -> None:
    """A tab or a row of the panel offers each of these operations."""
    offered = {
        one.do
        for table in (offers.OF_TABS, offers.OF_ROWS)
        for group in table.values()
        for one in group
        if not one.control
    }

    assert {name for name, one in OPERATIONS.items() if walk.members(one.request)} == offered


ACTIONS = [
    ("contracts", {}, {"sign_withdrawal"}),
    (
        "users", {"kind": "user", "application_status": "approved"},
        {"update_user", "list_rewards_activity", "create_payment_account", "review", "create_card"},
    ),
    (
        "users", {"kind": "user", "application_status": "tosNotAccepted"},
        {"update_user", "list_rewards_activity", "create_payment_account", "review", "accept_terms"},
    ),
    ("users", {"kind": "owner"}, {"update_ubo", "review"}),
    ("companies", {}, {"create_payment_account", "review"}),
    ("cards", {"status": "active"}, {"simulate_authorization", "lock_card", "cancel_card"}),
    ("cards", {"status": "locked"}, {"unlock_card", "cancel_card"}),
    ("payment accounts", {}, {"delete_payment_account"}),
    ("disputes", {"status": "pending"}, {"update_dispute", "resolve_dispute"}),
    ("transactions", {"status": "authorized"}, {"simulate_reversal", "settle"}),
    ("transactions", {"status": "settled"}, {"simulate_refund"}),  # no `open_dispute`, because this transaction has a dispute
    ("events", {}, {"resend"}),
    ("assumptions", {}, set()),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name, facts, wanted", ACTIONS)
def test_a_thing_offers_what_goes_on_from_it(panel: Panel, name: str, facts: dict[str, Any], wanted: set[str]) -> None:
    """Each action opens a form with the record's ids. Opening it sends nothing."""
    opened(panel, name, **facts)
    before = len(panel.sandbox.requests())
    offered = panel.show(*panel.opened)["actions"] if panel.opened else []
    made = []
    for one in offered:
        if not one["control"] and one["do"] != "list_rewards_activity":
            assert "model" in pressed(panel, one["do"])
            made.append(panel.form)
            ids = [path for path in panel.form.draft.given if path.endswith("_id") or path == "token"]
            assert ids
            assert not {"uuid", "pattern", "type"} & {one.rule for one in panel.form.problems if one.path in ids}

    assert wanted == {one["do"] for one in offered}
    assert before == len(panel.sandbox.requests())
    assert all(one.state == "closed" for one in made[:-1])  # only one form is open at a time


def test_controls_of_the_sandbox_are_used(panel: Panel) -> None:
    """A press of Settle, Lock or Review changes the sandbox. A wrong amount is reported and changes nothing."""
    opened(panel, "transactions", status="authorized")
    wrong = pressed(panel, "settle", way="control", values={"amount": "1250"})
    done = pressed(panel, "settle", way="control", values={"amount": "10.00"})
    settled = opened(panel, "transactions", status="settled", posted_cents=1000)
    opened(panel, "cards", status="active")
    card = panel.opened[1]
    pressed(panel, "lock_card", way="control")
    opened(panel, "users", kind="user", application_status="manualReview")
    user = panel.opened[1]
    pressed(panel, "review", way="control", values={"status": "approved"})

    assert "write 1250.00, or 12.50 for 1,250 cents" in wrong["error"]
    assert "error" not in done
    assert ["Refund", "Dispute"] == settled
    assert "locked" == panel.sandbox.state(card)["status"]
    assert "approved" == panel.sandbox.state(user)["status"]


def test_a_change_is_seen_at_once(panel: Panel, api: Session) -> None:
    """After the answer the page receives the changes, and the record stays open with its new request."""
    mark = panel.answer({"do": "rows", "list": "users"})["mark"]
    opened(panel, "users", kind="user", application_status="approved")
    panel.act("update_user", is_active=False).view.button.click()

    assert "done" == panel.form.state, panel.form.view.error.value
    assert "update_user" in str([one.operation for one in api.journal])
    details = panel.answer({"ask": 1, "do": "details", "list": "users", "id": panel.opened[1]})
    assert len(details["requests"]) == 1
    assert "done" == panel.form.state  # the answer of the form stays visible
    assert panel.opened[1] in panel.answer({"do": "rows", "list": "users", "mark": mark})["rows"]["columns"][1]["of"]


@pytest.mark.slow
def test_alternatives_are_reached_from_the_panel(panel: Panel) -> None:
    """The opened form offers user or company, individual or business, and personal data or share token."""
    groups = {}
    for name, do in (("users", "create_user_application"), ("payment accounts", "create_payment_account")):
        panel.open(name)
        pressed(panel, do, list=name)
        draft = panel.form.draft
        groups[name] = {one.rule.groups for one in draft.alternatives}
        for alternative, chooser in panel.form.view.inputs.choosers.items():
            for number, group in enumerate(alternative.rule.groups):
                chooser.value = number
                prefix = f"{alternative.section}." if alternative.section else ""
                assert all(draft.shown(prefix + one) for one in group)
    kinds = panel.form.view.inputs.fields["external_fiat_account.beneficiary_type"].input
    for kind, field in (("individual", "beneficiary_first_name"), ("business", "beneficiary_name")):
        kinds.value = kind
        assert panel.form.draft.shown(f"external_fiat_account.{field}"), (kind, field)

    assert any(("user_id",) in found and ("company_id",) in found for found in groups["payment accounts"])
    assert any(any("first_name" in group for group in found) for found in groups["users"])


def test_the_rewards_of_a_user_are_one_press_away(panel: Panel, api: Session) -> None:
    """The action opens the list of the user's rewards."""
    user = api.sandbox.guide()["rewards_users"][0]["id"]
    opened(panel, "users", id=user)

    answer = pressed(panel, "list_rewards_activity")

    assert "rewards" == answer["list"]
    assert user == panel.rewards.user
    assert len(panel.rewards)


def test_a_deleted_account_offers_nothing(panel: Panel) -> None:
    """A deleted account has no actions."""
    opened(panel, "payment accounts")
    key = panel.opened[1]
    panel.act("delete_payment_account").submit()

    assert [] == panel.show("payment accounts", key)["actions"]


def test_another_thing_closes_the_form(panel: Panel) -> None:
    """A form belongs to its record. Opening another record discards the typed values."""
    opened(panel, "users", kind="user")
    pressed(panel, "update_user")
    made = panel.form
    made.view.inputs.fields["first_name"].input.value = CANARY
    other = next(key for key in panel.open("users").ids if key != panel.opened[1])
    panel.answer({"do": "details", "list": "users", "id": other})

    assert "closed" == made.state
    assert {} == dict(made.draft.given)


def test_steps_of_the_panel_make_one_sequence(panel: Panel) -> None:
    """Forms of all lists add steps to the panel's script, and name the script."""
    for name, do in (("disputes", "update_dispute"), ("payment accounts", "delete_payment_account")):
        opened(panel, name)
        made = panel.act(do)
        made.view.snippets.add_button.click()

    assert ("update_dispute", "delete_payment_account") == tuple(one.do for one in panel.script.sequence.steps)
    assert "panel.script" in made.view.snippets.message.value


def test_production_offers_no_simulation_and_asks() -> None:
    """Simulations and controls are not offered in production, and calls with an effect wait for arming."""
    # after this import, the panel of a sandbox also offers the tasks of the course
    importlib.import_module("workbench.course.learner")
    with wb.connect(seed=7, environment="production") as live:
        panel = browse(live)
        shown = panel.answer({"do": "rows", "list": "transactions"})
        opened(panel, "payment accounts")
        made = panel.act("delete_payment_account")

        assert [] == shown["actions"]
        assert "is not offered here" in pressed(panel, "settle", way="control")["error"]
        assert made.view.button.disabled
        assert "Arm" in made.view.arming.children[-1].description


def test_every_action_says_what_it_did() -> None:
    """Each action has a separate message that differs from the operation's name."""
    acts = {one.do for table in (offers.OF_TABS, offers.OF_ROWS) for group in table.values() for one in group}

    assert acts == set(offers.DONE)
    assert len(acts) == len(set(offers.DONE.values()))


def test_a_dispute_is_offered_once(panel: Panel) -> None:
    opened(panel, "transactions", status="authorized")
    pressed(panel, "settle", way="control")
    key = panel.opened[1] if panel.opened else ""
    before = [one["label"] for one in panel.show("transactions", key)["actions"]]
    pressed(panel, "open_dispute", way="control")

    assert ["Refund", "Dispute"] == before
    assert ["Refund"] == [one["label"] for one in panel.show("transactions", key)["actions"]]


def test_an_answer_offers_what_its_record_allows(panel: Panel, purchase: dict[str, Any]) -> None:
    """The answer offers Refund and Dispute after Settle, but neither Refund, Settle nor Reverse after a full refund."""
    made = panel.act("simulate_authorization", **purchase)
    made.submit()

    def labels() -> list[str]:
        return [one.description for one in below(made.view.card.widget) if isinstance(one, ipywidgets.Button)]

    first = labels()
    labelled(made.widget, "Settle").click()
    settled = labels()
    labelled(made.widget, "Refund").click()
    made.opened[0].fill(amount=wb.FULL).submit()

    assert ["Reverse", "Settle"] == first[:2]
    assert ["Refund", "Dispute", "Open transaction"] == settled[:3]
    assert "Purchase refunded." in state(made.view.card.widget)
    assert not {"Refund", "Settle", "Reverse"} & set(labels())
