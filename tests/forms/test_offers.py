"""Actions of the panel: forms with the ids filled in, nothing sent by opening one, rows read again afterwards."""

from typing import Any

import pytest

import workbench as wb
from tests.forms.conftest import ACCOUNT, CANARY, PERSON, SECRETS, state
from workbench.forms import offers
from workbench.forms.browse import Panel, browse
from workbench.forms.tabs import Tab
from workbench.interface import walk
from workbench.interface.table import OPERATIONS
from workbench.session import Session


@pytest.fixture
def panel(api: Session, purchase: dict[str, Any]) -> Panel:
    """Return a panel over a session in which something happened."""
    user = api.create_user_application(**PERSON)
    api.create_payment_account(**ACCOUNT, user_id=user.id)
    api.simulate_authorization(**purchase)
    return browse(api)


def buttons(tab: Tab) -> dict[str, Any]:
    """Return the buttons for the opened row, by their words."""
    return {one.description: one for one in tab.actions.of_row.children if hasattr(one, "on_click")}


def opened(tab: Tab, **facts: Any) -> dict[str, Any]:
    """Open the first row that says something, and give its buttons."""
    assert tab.view is not None
    for number, row in enumerate(tab.view.rows):
        if all(row[tab.view.columns.index(name)] == value for name, value in facts.items()):
            tab.open(number)
            return buttons(tab)
    raise AssertionError(f"no row has {facts}")


def test_every_operation_with_arguments_can_be_reached() -> None:
    """A panel offers each of them, for a tab or for a row."""
    offered = {one.do for table in (offers.OF_TABS, offers.OF_ROWS) for group in table.values() for one in group}

    assert {name for name, one in OPERATIONS.items() if walk.members(one.request)} == offered


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, facts, wanted",
    [
        ("contracts", {}, {"Withdraw this token"}),
        ("users", {"kind": "user"}, {"Edit user", "Show rewards", "Add payment account"}),
        ("users", {"kind": "company"}, {"Add payment account"}),
        ("users", {"kind": "owner"}, {"Edit owner"}),
        ("payment accounts", {}, {"Delete account"}),
        ("disputes", {"status": "pending"}, {"Edit dispute"}),
        ("transactions", {"status": "authorized"}, {"Reverse authorization"}),
        ("events", {}, set()),
        ("assumptions", {}, set()),
    ],
)
def test_a_row_offers_what_goes_on_from_it(panel: Panel, name: str, facts: dict[str, Any], wanted: set[str]) -> None:
    """Each button opens a form that names the row's ids; opening one sends nothing."""
    tab = panel.open(name)
    before = len(panel._api.sandbox.requests())
    found = opened(tab, **facts)
    made = []
    for words, button in found.items():
        if words != "Show rewards":
            button.click()
            made.append(tab.actions.form)
            ids = [path for path in tab.actions.form.draft.given if path.endswith("_id") or path == "token"]
            assert ids
            assert not {"uuid", "pattern", "type"} & {one.rule for one in tab.actions.form.problems if one.path in ids}

    assert wanted == set(found)
    assert before == len(panel._api.sandbox.requests())
    assert all(one.state == "closed" for one in made[:-1])  # one form is open at a time


def test_a_settled_transaction_is_refunded(panel: Panel) -> None:
    """What is offered follows the status."""
    tab = panel.open("transactions")
    assert tab.view is not None
    panel._api.sandbox.settle(tab.view.ids[0])
    tab.read()

    assert {"Refund"} == set(opened(tab, status="settled"))


def test_a_change_is_seen_at_once(panel: Panel) -> None:
    """After the answer the tab is read again: the row stays open with its new request, filter and order stay."""
    tab = panel.open("users")
    tab.pager.filter("approved")
    tab.pager.sort("id", descending=True)
    shown = tab.pager.view()
    opened(tab, kind="user", application_status="approved")["Edit user"].click()
    key, made = tab.opened, tab.actions.form
    made.fill(is_active=False)
    made.view.button.click()

    assert "done" == made.state, made.view.error.value
    assert made.widget in tab.actions.box.children
    assert key == tab.opened
    assert "update_user" in str([one.operation for one in panel._api.journal])
    assert "Related requests: 1" in tab.detail.value
    assert [row[0] for row in shown] == [row[0] for row in tab.pager.view()]
    assert "Edit user" in buttons(tab)


def test_alternatives_are_reached_from_the_panel(panel: Panel) -> None:
    """User or company, individual or business, personal data or share token: each is a choice in a form opened here."""
    choosers = {}
    for name, words in (("users", "Create application"), ("payment accounts", "Add payment account")):
        tab = panel.open(name)
        next(one for one in tab.actions.of_tab.children if one.description == words).click()
        choosers[name] = {one.rule.groups for one in tab.actions.form.draft.alternatives}
        for alternative, chooser in tab.actions.form.view.inputs.choosers.items():
            for number, group in enumerate(alternative.rule.groups):
                chooser.value = number
                prefix = f"{alternative.section}." if alternative.section else ""
                assert all(tab.actions.form.draft.shown(prefix + one) for one in group)
    account = panel.tabs["payment accounts"].actions.form
    kinds = account.view.inputs.fields["external_fiat_account.beneficiary_type"].input
    for kind, field in (("individual", "beneficiary_first_name"), ("business", "beneficiary_name")):
        kinds.value = kind
        assert account.draft.shown(f"external_fiat_account.{field}"), (kind, field)

    assert any(("user_id",) in groups and ("company_id",) in groups for groups in choosers["payment accounts"])
    assert any(any("first_name" in group for group in groups) for groups in choosers["users"])


def test_the_rewards_of_a_user_are_one_click_away(panel: Panel) -> None:
    """The rewards tab opens with what the user earned."""
    tab = panel.open("users")
    user = panel._api.sandbox.guide()["rewards_users"][0]["id"]
    opened(tab, id=user)["Show rewards"].click()

    assert user == panel.rewards.user.value
    assert panel.rewards.view.rows
    assert "rewards" == panel.selected


def test_a_deleted_account_offers_nothing(panel: Panel) -> None:
    """What is over is not done again."""
    tab = panel.open("payment accounts")
    opened(tab)["Delete account"].click()
    tab.actions.form.submit()

    assert {} == buttons(tab)
    assert "deleted" in tab.view.columns


def test_another_row_closes_the_form(panel: Panel) -> None:
    """A form belongs to its row: what was typed goes with it."""
    tab = panel.open("users")
    opened(tab, kind="user")["Edit user"].click()
    made = tab.actions.form
    made.view.inputs.fields["first_name"].input.value = CANARY
    tab.open(1)

    assert "closed" == made.state
    assert {} == dict(made.draft.given)
    assert [] == [secret for secret in SECRETS if secret in state(panel.widget).lower()]


def test_steps_of_the_panel_make_one_sequence(panel: Panel) -> None:
    """Forms of all tabs add to the panel's script, and say where it is."""
    for name, words in (("disputes", "Edit dispute"), ("payment accounts", "Delete account")):
        opened(panel.open(name))[words].click()
        made = panel.tabs[name].actions.form
        made.view.snippets.add_button.click()

    assert ("update_dispute", "delete_payment_account") == tuple(one.do for one in panel.script.sequence.steps)
    assert "panel.script" in made.view.snippets.message.value


def test_production_offers_no_simulation_and_asks() -> None:
    """What exists in a sandbox alone is not offered; what has an effect waits for arming."""
    with wb.connect(seed=7, environment="production") as live:
        panel = browse(live)
        assert () == panel.open("transactions").actions.of_tab.children
        tab = panel.open("payment accounts")
        opened(tab)["Delete account"].click()

        assert tab.actions.form.view.button.disabled
        assert "Arm" in tab.actions.form.view.arming.children[-1].description
