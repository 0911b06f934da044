"""Forms with steps: links to missing fields, prefilling from a person or a file, and no remaining private values."""

import json
from datetime import UTC, datetime
from typing import Any

import ipywidgets
import pytest

from tests.forms.conftest import PERSON, SECRETS, below, state
from workbench.base.errors import InvalidRequest
from workbench.client.session import Session, connect
from workbench.screens.panel.panel import form

WIRE = {
    "firstName": "Kanarienvogel", "lastName": "Example", "birthDate": "1987-06-05", "nationalId": "000456789",
    "countryOfIssue": "US", "email": "kanarienvogel@example.com",
    "address": {"line1": "1 Kanarienvogel Way", "city": "Springfield", "region": "NY", "postalCode": "10001",
                "countryCode": "US"},
    "ipAddress": "203.0.113.7", "occupation": "Kanarienvogel keeper", "annualSalary": "400009752081",
    "accountPurpose": "everyday spending", "expectedMonthlyVolume": "500", "isTermsOfServiceAccepted": True,
}  # fmt: skip


def upload(made: Any, data: bytes, name: str = "person.json") -> None:
    """Select a file, as the widget does in a page."""
    file = {"name": name, "type": "application/json", "size": len(data), "content": memoryview(data)}
    made.view.filling.file.value = ({**file, "last_modified": datetime(2026, 1, 1, tzinfo=UTC)},)


def tabs(made: Any) -> list[str]:
    """Return the text of each step."""
    return [tab.description for tab in made.view.steps.tabs]


def links(made: Any) -> list[str]:
    """Return the text of each link to a field."""
    return [link.description for box in made.view.steps.lists for link in box.children]


def press(made: Any, label: str) -> None:
    """Press the button of a step, a link, Next or Back."""
    steps = made.view.steps
    buttons = [*steps.tabs, *(link for box in steps.lists for link in box.children), steps.back, steps.next]
    next(button for button in buttons if button.description.lstrip("✗ ") == label).click()


def collapsed(made: Any, label: str) -> ipywidgets.Accordion:
    """Return the collapsed panel whose title names an input."""
    panels = (one for one in below(made.widget) if isinstance(one, ipywidgets.Accordion))
    return next(panel for panel in panels if label in panel.titles[0])


def title(made: Any) -> str:
    """Return the title of the only visible step."""
    shown = [step.title for step in made.view.inputs.steps if step.box.layout.display is None]
    assert 1 == len(shown)
    assert shown[0] in made.view.steps.title.value
    return shown[0]


def test_what_is_missing_is_named_at_the_top(api: Session) -> None:
    """Each step counts and links its missing inputs, including inputs that depend on a choice."""
    made = form(api.create_user_application)
    assert [
        "1. Identity – 1 to do", "2. Contact – 1 to do", "3. Occupation and spending – 4 to do",
        "4. Wallets and collateral – optional", "5. References – optional", "6. Terms – 1 to do",
    ] == tabs(made)  # fmt: skip
    assert ["How is the identity verified?", "IP address"] == links(made)[:2]

    made.view.inputs.choosers[made.draft.alternatives[0]].value = 2

    assert ["First name", "Last name", "Birth date", "National ID", "Country of issue", "Email"] == links(made)[:6]
    assert {"Street and number", "City", "Region", "Postal code", "Country code"} < set(links(made))
    assert "0 of 6" not in made.view.steps.progress.value
    assert "2 of 6 steps complete, 17 fields to fill in or correct" in made.view.steps.progress.value


@pytest.mark.parametrize("name, titles", [
    ("create_user_application", 6), ("update_user", 5), ("update_ubo", 0),
    ("create_payment_account", 0), ("simulate_refund", 0),
])  # fmt: skip
def test_forms_with_many_inputs_have_steps(api: Session, name: str, titles: int) -> None:
    """The steps contain each input exactly once."""
    made = form(getattr(api, name))

    steps = made.view.inputs.steps
    assert titles == len(steps)
    assert sorted(made.draft.leaves) == sorted(path for step in steps for path in step.paths) or not steps


def test_a_link_shows_its_step_and_input(api: Session) -> None:
    """A link also opens a collapsed panel. Next and Back move through the steps and stop at the ends."""
    made = form(api.create_user_application, phone_number="not a number", is_terms_of_service_accepted=True)
    assert "Identity" == title(made)

    press(made, "Phone number")
    assert "Contact" == title(made)
    assert 0 == collapsed(made, "Phone number").selected_index

    press(made, "Next")
    assert "Occupation and spending" == title(made)
    for _ in range(9):
        made.view.steps.go(made.view.steps.current + 1)
    assert "Terms" == title(made)
    assert made.view.steps.next.disabled
    for _ in range(9):
        made.view.steps.go(made.view.steps.current - 1)
    assert "Identity" == title(made)
    assert made.view.steps.back.disabled


def test_a_step_that_was_left_shows_what_it_lacks(api: Session) -> None:
    """Fields of steps that were not visited show no problem."""
    made = form(api.create_user_application)
    notes = {path: field.note for path, field in made.view.inputs.fields.items()}
    press(made, "3. Occupation and spending – 4 to do")
    assert "is missing" not in notes["occupation"].value

    press(made, "Next")

    assert "is missing" in notes["occupation"].value
    assert "is missing" not in notes["ip_address"].value


def test_a_press_that_sends_nothing_shows_the_first_step_with_a_problem(api: Session) -> None:
    """The form shows the step of the single missing value."""
    made = form(api.create_user_application, **{**PERSON, "annual_salary": None})

    made.view.button.click()

    assert "Occupation and spending" == title(made)
    assert ["Annual salary"] == links(made)
    assert "open" == made.state


def test_optional_inputs_are_in_a_collapsed_panel(api: Session) -> None:
    """The panel opens if one of its inputs has a value."""
    made = form(api.create_user_application)
    made.view.steps.go(1)
    panel = collapsed(made, "Second line")
    assert ("Optional: Second line, Country",) == panel.titles
    assert panel.selected_index is None

    made.fill(address={"line2": "Apt 4"})

    assert 0 == panel.selected_index


def test_a_person_of_the_sandbox_fills_the_form(api: Session) -> None:
    """Only the terms remain open, because no choice is preselected. The message names the example values."""
    made = form(api.create_user_application)
    user = api.sandbox.guide()["users"]["approved"][0]

    made.view.filling.people.value = user

    assert ["Terms of service accepted"] == links(made)
    assert "except Birth date, National ID" in made.view.filling.message.value
    assert "" == made.view.filling.people.value
    made.fill(is_terms_of_service_accepted=True)
    stored = api.sandbox.state(made.submit().id)
    for name in ("first_name", "last_name", "email", "address"):
        assert api.sandbox.state(user)[name] == stored[name]


def test_a_person_replaces_a_share_token(api: Session) -> None:
    """Values of the other alternative are discarded, as after a person's choice."""
    made = form(api.create_user_application, persona_share_token="token")

    made.view.filling.people.value = api.sandbox.guide()["users"]["approved"][0]

    assert "persona_share_token" not in made.draft.given
    assert "Identity" not in " ".join(links(made))


def test_a_file_fills_the_form(api: Session) -> None:
    """The JSON request has the format of the command. No widget keeps the file or its private values."""
    made = form(api.create_user_application)

    upload(made, json.dumps(WIRE).encode())

    assert () == made.problems
    assert () == made.view.filling.file.value
    assert "Filled in from person.json." in made.view.filling.message.value
    held = json.dumps(state(made.widget), default=str).lower()
    assert [] == [secret for secret in SECRETS if secret.lower() in held]
    made.submit()


@pytest.mark.parametrize("data, said", [
    (b"{", "is not JSON"), (b"", "is not JSON"), (b"\xff\xfe\x00", "is not JSON"), (b"[]", "must be an object"),
    (b'{"address": 5}', "address"), (b'{"shoeSize": 45}', "shoeSize"),
    (b" " * 4_000_001, "is larger than 4,000,000 bytes"),
])  # fmt: skip
def test_a_file_that_cannot_fill_it_changes_nothing(api: Session, data: bytes, said: str) -> None:
    """An error names the problem, and earlier values remain."""
    made = form(api.create_user_application, occupation="teacher")

    upload(made, data)

    assert said in made.view.error.value
    assert {"occupation": "teacher"} == made.draft.given
    assert () == made.view.filling.file.value


def test_a_value_that_breaks_a_rule_is_filled_in_and_linked(api: Session) -> None:
    """The value can be corrected in the form, like a typed value."""
    made = form(api.create_user_application)

    upload(made, json.dumps({**WIRE, "birthDate": "1990-02-30", "firstName": 5}).encode())

    assert ["✗ First name", "✗ Birth date"] == links(made)


def test_the_name_of_a_file_is_text(api: Session) -> None:
    """The name is escaped, whether or not the file could be read."""
    made = form(api.create_user_application)
    for data in (b"{", b'{"occupation": "teacher"}'):
        upload(made, data, name="<img src=x onerror=alert(1)>.json")

        assert "<img" not in made.view.error.value + made.view.filling.message.value


def test_an_update_of_nothing_is_not_ready(api: Session) -> None:
    """An update needs at least one optional field. The form does not offer values of other people."""
    made = form(api.update_user, user_id=api.sandbox.guide()["users"]["approved"][0])
    assert "5 of 5 steps complete. Nothing to change: fill in at least one field." in made.view.steps.progress.value
    assert ["1. User ✓", "2. Identity – optional", "3. Contact – optional"] == tabs(made)[:3]
    assert not hasattr(made.view.filling, "people")

    made.fill(email="ada@example.com")

    assert "ready to send" in made.view.steps.progress.value


def test_people_are_offered_only_in_a_sandbox(api: Session) -> None:
    """In production, a form can still be filled in from a file."""
    live = form(connect(seed=7, environment="production").create_user_application)
    assert not hasattr(live.view.filling, "people")
    assert live.view.filling.file.tooltip == "Fill in from a JSON file"
    with pytest.raises(InvalidRequest):
        live.submit()


def test_a_problem_is_said_once_and_to_a_person(api: Session) -> None:
    """A missing choice is reported at its chooser, in readable text without wire names."""
    made = form(api.create_user_application)
    made.view.button.click()

    texts = [one.value for one in below(made.widget) if isinstance(one, ipywidgets.HTML)]
    (chooser,) = made.view.inputs.choosers.values()
    assert 1 == sum("✗ " in text and "How is the identity verified?" in text for text in texts)
    assert not [text for text in texts if "sumsubShareToken" in text]
    assert all(words.startswith(("Select", "Verify by")) for words, _ in chooser.options)
