"""Each snippet of a call can be parsed by its tool, and revealed private values are shown for a minute."""

import ast
import shlex
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.forms.conftest import ACCOUNT, PERSON, SECRETS, below, state
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import member
from workbench.client.session import Session
from workbench.runs.sequences import from_toml
from workbench.sandbox.internals import internals
from workbench.screens.forms.answers import REVEAL_SECONDS, Reveal
from workbench.screens.forms.draft import Draft
from workbench.screens.forms.fields import explained, text_of, value_of
from workbench.screens.panel.panel import form
from workbench.service.interface.naming import command_of
from workbench.service.interface.table import OPERATIONS
from workbench.terminal import binding, main
from workbench.terminal.operations import option_members, values

ID = "3f2a0b1c-0000-4000-8000-000000000000"
CALLS: dict[str, dict[str, Any]] = {
    "simulate_refund": {"transaction_id": ID, "amount": FULL},
    "simulate_reversal": {"transaction_id": ID, "new_amount": 0},
    "simulate_authorization": {
        "card_id": ID, "amount": 1250, "currency": "USD", "merchant_name": "Shop 'n' \"more\" $HOME `x`",
        "merchant_category_code": "0742",
    },
    "update_user": {"user_id": ID, "is_active": False, "external_id": "-dash"},
    "create_payment_account": {**ACCOUNT, "user_id": ID},
    "sign_withdrawal": {
        "chain_id": 84532, "token": "0x" + "1" * 40, "amount": "2500", "admin_address": "0x" + "2" * 40,
        "recipient_address": "0x" + "3" * 40, "is_amount_native": False,
    },
    "list_rewards_activity": {"user_id": ID, "type": "earned", "limit": 5},
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_the_python_is_the_call(api: Session, name: str) -> None:
    """The Python code names the operation and each public argument with its value."""
    made = form(getattr(api, name), **CALLS[name])

    call = ast.parse(made.snippets["Python"], mode="eval").body
    assert isinstance(call, ast.Call)
    assert f"api.{name}" == ast.unparse(call.func)
    told = {one.arg: ast.unparse(one.value) for one in call.keywords}
    assert set(CALLS[name]) == set(told)
    for key, value in CALLS[name].items():
        if not isinstance(value, dict):
            assert ("wb.FULL" if value is FULL else repr(value)) == told[key]


@pytest.mark.parametrize("name", CALLS)
def test_the_command_reads_back_as_the_same_values(api: Session, name: str) -> None:
    """A shell splits the command into the terminal's options with the form's values."""

    made = form(getattr(api, name), **CALLS[name])
    program, noun, verb, *words = shlex.split(made.snippets["Terminal"].replace("=-", " -"))

    known = {f"--{path.replace('_', '-')}": path for path, _ in option_members(OPERATIONS[name].request)}
    texts = {known[option].replace(".", "__"): text for option, text in zip(words[::2], words[1::2], strict=True)}
    wrong: dict[str, str] = {}
    read = values(OPERATIONS[name], texts, wrong)
    assert not wrong
    assert ("workbench", *command_of(OPERATIONS[name])) == (program, noun, verb)
    for key, value in CALLS[name].items():
        if not isinstance(value, dict):
            assert value == read[key]


@pytest.mark.parametrize("name", CALLS)
def test_curl_holds_no_key_and_no_private_value(api: Session, name: str) -> None:
    """The key is a shell variable, and an account number is masked."""
    made = form(getattr(api, name), **CALLS[name])
    text = made.snippets["curl"]

    assert "$WORKBENCH_API_KEY" in text
    assert api.sandbox.full_key not in text
    assert "000123456789" not in text
    assert api.base_url in text


@pytest.mark.parametrize(
    "name", [name for name in CALLS if name != "create_payment_account"]
)  # its snippet contains masked digits, which a person must replace
def test_curl_is_the_one_of_the_terminal(
    api: Session, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The form's command with `--dry-run` prints the same curl command as the form."""

    class Lent:
        def __enter__(self) -> Session:
            return api

        def __exit__(self, *_: object) -> None:
            """Close nothing."""

    monkeypatch.setattr(binding, "session", lambda where: Lent())
    made = form(getattr(api, name), **CALLS[name])
    main([*shlex.split(made.snippets["Terminal"])[1:], "--dry-run"])

    assert made.snippets["curl"] == "".join(capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("name", CALLS)
def test_the_step_is_a_sequence_that_can_be_read(api: Session, name: str) -> None:
    """The text of the step parses to a sequence with this operation."""
    made = form(getattr(api, name), **CALLS[name])

    (step,) = from_toml(made.snippets["Sequence step"]).steps

    assert name == step.do
    assert set(CALLS[name]) == set(step.arguments)


@given(st.text(max_size=60))
def test_any_text_can_be_typed_into_any_field(text: str) -> None:
    """For any text, the draft reports problems and every snippet can be created."""
    from workbench.base.errors import InvalidRequest
    from workbench.screens.forms import snippets

    draft = Draft(OPERATIONS["simulate_authorization"])
    for path, leaf in draft.leaves.items():
        try:
            draft.put(path, value_of(leaf.member, text))
        except InvalidRequest:
            continue
    draft.problems()
    for leaf in draft.leaves.values():
        explained(leaf.member, draft.given.get(leaf.path, ""), draft.record())

    assert snippets.python(draft).startswith("api.simulate_authorization(")
    assert snippets.terminal(draft).startswith("workbench transactions authorize")
    assert snippets.step(draft).to_toml()


@given(st.integers(min_value=0, max_value=10**80))
def test_amounts_go_through_text_and_back(amount: int) -> None:
    """Any integer is equal after it was formatted and parsed."""
    one = member(OPERATIONS["simulate_authorization"].request, "amount")

    assert amount == value_of(one, text_of(one, amount))


class Later:
    """A clock for scheduled calls."""

    def __init__(self) -> None:
        self.due: list[tuple[float, Callable[[], None]]] = []

    def __call__(self, seconds: float, act: Callable[[], None]) -> "Later":
        self.due.append((seconds, act))
        return self

    def cancel(self) -> None:
        """Accept the cancellation."""


def test_a_look_passes_after_a_minute_and_is_audited(api: Session) -> None:
    """Private values are shown for 60 seconds and then in no widget. The journal counts each reveal."""
    import ipywidgets

    user = api.create_user_application(**PERSON)
    later, box = Later(), ipywidgets.VBox()

    reveal = Reveal(user, api, box, later=later)
    while_shown = state(box)
    ((seconds, hide),) = later.due
    hide()

    assert REVEAL_SECONDS == seconds == 60
    assert "Kanarienvogel" in while_shown
    assert () == box.children
    assert not reveal.shown
    assert [] == [secret for secret in SECRETS if secret in state(box).lower()]
    (note,) = api.journal.notes
    assert ("revealed", True) == (note.kind, user.id in note.text)
    assert [] == [secret for secret in SECRETS if secret in note.text.lower()]


def test_a_form_offers_the_look_and_closing_ends_it(api: Session) -> None:
    """Private values are shown only after a press of a button, and closing the form hides them."""
    made = form(api.create_user_application, **PERSON)
    made.submit()
    before = state(made.view.card.widget)

    made.view.card.show_private()
    shown = made.view.card.reveal
    during = state(made.view.card.widget)
    made.close()

    assert "Kanarienvogel" not in before
    assert "Kanarienvogel" in during
    assert not shown.shown
    assert [] == [one for one in below(made.view.card.widget) if "Kanarienvogel" in str(getattr(one, "value", ""))]


def test_a_signature_is_never_revealed_by_a_form(api: Session) -> None:
    """No form and no button shows a withdrawal signature."""
    contract = api.list_contracts()[0]
    made = form(
        api.sign_withdrawal, chain_id=contract.chain_id, token=contract.tokens[0].address, amount="100",
        admin_address=contract.admin_addresses[0], recipient_address=contract.admin_addresses[1], is_amount_native=False,
    )  # fmt: skip

    answer = made.submit()

    assert answer.signature is not None
    assert answer.signature.data not in state(made.widget)
    assert answer.signature.data not in made.html
    assert not made.view.card.may_reveal


@pytest.mark.slow
def test_command_and_curl_act_on_the_sandbox_of_the_form(api: Session, capsys: pytest.CaptureFixture[str]) -> None:
    """A shared embedded sandbox's URL is in both snippets. Before sharing, a note explains how to share it."""
    from workbench.screens.forms.snippets import note
    from workbench.terminal import main

    card = api.sandbox.guide()["cards"]["active"][0]
    made = form(api.simulate_authorization, **{**CALLS["simulate_authorization"], "card_id": card})
    assert "api.sandbox.share()" in note("Terminal", api)
    url = api.sandbox.share()
    code = main(shlex.split(made.snippets["Terminal"])[1:])
    _, _, _, target, _, _, _, content, _, body = shlex.split(made.snippets["curl"])
    key = httpx.get(f"{url}/_sandbox/guide").json()["api_keys"]["full"]
    headers = {"Api-Key": key, "Content-Type": content.partition(": ")[2]}
    answer = httpx.post(target, headers=headers, content=body)

    assert (0, 200) == (code, answer.status_code)
    assert url == api.sandbox.share() == internals(api.sandbox).url
    assert ["simulate_authorization"] * 2 == [one.operation for one in api.sandbox.requests()]
    assert note("curl", api).endswith(f"--url {url} -o csv --fields api_keys.full | tail -1)")
    shown = f"{capsys.readouterr()} {made.snippets}"
    assert not [key for key in (key, api.sandbox.full_key) if key in shown]


def test_a_shared_sandbox_stops_with_its_session() -> None:
    with wb.connect(seed=7) as api:
        url = api.sandbox.share()

    with pytest.raises(httpx.ConnectError):
        httpx.get(url)
