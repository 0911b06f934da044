"""Forms used from code: values are checked and sent once, and no value remains afterwards."""

import re
import threading
from html import unescape
from typing import Any

import ipywidgets
import pytest

from tests.forms.conftest import ACCOUNT, PERSON, SECRETS, below, classes, state
from workbench.base.errors import ApiError, InvalidRequest, NotArmed, UsageError
from workbench.base.schema import walk
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import Nested, leaves, members
from workbench.client.calls.client import AsyncClient, Client
from workbench.client.session import Session, connect
from workbench.screens.forms import fields
from workbench.screens.forms.snippets import Script
from workbench.screens.panel.panel import form
from workbench.service import chains
from workbench.service.interface.table import OPERATIONS

WITH_ARGUMENTS = [name for name, row in OPERATIONS.items() if members(row.request)]


def note(made: Any, path: str) -> str:
    """Return the text next to a field."""
    return unescape(re.sub("<[^>]+>", "", made.view.inputs.fields[path].note.value))


@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_every_operation_with_arguments_has_a_form(api: Session, name: str) -> None:
    """Each argument has an input with a readable label or help text, and its assumption's reason. No help is a pattern.

    A kernel processes the events of inputs and buttons in one thread, so no press overtakes the edit before it.
    """
    made = form(getattr(api, name))

    wanted = {path: one for path, one in leaves(OPERATIONS[name].request) if not isinstance(one.kind, Nested)}
    assert set(wanted) == set(made.view.inputs.fields)
    # reading `box` also creates the boxes of hidden fields
    assert all(field.box for field in made.view.inputs.fields.values())
    made.view.refresh()
    for path, one in wanted.items():
        said = f"{made.view.inputs.fields[path].label} {note(made, path)}".lower()
        assert one.about.doc.partition(";")[0].lower() in said
        assert "matches" not in said
        assert one.about.assumed is None or one.about.assumed in note(made, path)
    pressed = [one for one in below(made.widget) if isinstance(one, ipywidgets.Button | ipywidgets.Checkbox)]
    for one in (*(field.input for field in made.view.inputs.fields.values()), *pressed):
        assert one.comm._reply_subshell_for(None, "of the page") == "of the page", one
    made.close()


@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_nothing_that_decides_is_preselected(api: Session, name: str) -> None:
    """A new form contains no values, and no choice, flag or checkbox is set."""
    made = form(getattr(api, name))

    assert {} == made.draft.given
    inputs = [one for one in below(made.widget) if isinstance(one, ipywidgets.Dropdown | ipywidgets.Checkbox)]
    assert all(one.value in ("", -1, False) for one in inputs)
    made.close()


def test_making_a_form_sends_nothing(api: Session) -> None:
    """Creating a form sends no request."""
    before = len(api.sandbox.requests())

    for name in WITH_ARGUMENTS:
        form(getattr(api, name)).close()

    assert before == len(api.sandbox.requests())


def test_a_filled_form_is_sent_and_answers(api: Session, purchase: dict[str, Any]) -> None:
    """The entered values are sent. The form then shows the answer, its events and next steps."""
    made = form(api.simulate_authorization).fill(**purchase)

    answer = made.submit()

    assert "authorized" == answer.status
    assert made.answer is answer
    assert "transaction.created" in made.view.card.events.value
    buttons = [one.description for one in below(made.widget) if isinstance(one, ipywidgets.Button)]
    assert "Reverse" in buttons


def test_what_comes_next_is_a_press_away(api: Session, purchase: dict[str, Any]) -> None:
    """The buttons of a purchase's answer settle and then refund it. A control can be used once."""
    made = form(api.simulate_authorization, **purchase)
    made.submit()

    def buttons() -> dict[str, Any]:
        return {one.description: one for one in below(made.widget) if isinstance(one, ipywidgets.Button)}

    settle = buttons()["Settle"]
    settle.click()
    events = made.view.card.events.value
    buttons()["Refund"].click()

    assert settle.disabled
    assert "settled" == api.sandbox.state(made.answer.transaction_id)["status"]
    assert "transaction.completed" in events
    assert made.answer.transaction_id == made.opened[0].draft.given["transaction_id"]


def test_problems_stand_beside_their_field(api: Session) -> None:
    """A problem appears at its field while a wrong value is entered, and disappears when it is corrected."""
    made = form(api.simulate_authorization)
    amount = made.view.inputs.fields["amount"]

    amount.input.value = "1250"
    wrong = note(made, "amount")
    amount.input.value = "12.50"

    assert "write 1250.00, or 12.50 for 1,250 cents" in wrong
    assert "✗" not in note(made, "amount")
    assert "1,250 cents (12.50 USD)" in note(made, "amount")
    assert 1250 == made.draft.given["amount"]


@pytest.mark.parametrize(
    "text",
    ["500 ", "1e3", "1_000", "١٠.00", "0x10", "-1.00", "0.00", "10.0", "9" * 500, "NaN", "12", "12,50", "1,2.50"],
)
def test_amounts_are_read_exactly(api: Session, text: str) -> None:
    """An amount must have two decimals and be at least one cent. Other text is refused, not rounded or corrected."""
    made = form(api.simulate_authorization)

    made.view.inputs.fields["amount"].input.value = text

    assert "✗" in note(made, "amount")


def test_an_amount_set_in_code_is_shown_as_it_is_typed(api: Session) -> None:
    """Code sets cents and the input shows dollars. Text from code is not taken for cents."""
    made = form(api.simulate_authorization, amount=123456)
    shown = made.view.inputs.fields["amount"].input.value
    made.view.inputs.fields["amount"].input.value = "1,234.57"
    typed = made.draft.given["amount"]
    made.fill(amount="12.50")

    assert "1234.56" == shown
    assert 123457 == typed
    assert "is text; 12.50 is 1250 cents" in str(made.problems)


def test_a_card_is_picked_by_its_digits_and_its_user(api: Session) -> None:
    """A known record is found by its label, its id appears below the input, and nothing is sent for the search."""
    before = len(api.sandbox.requests())
    card = api.sandbox.records("card")[0]
    made = form(api.simulate_authorization)
    picker = made.view.inputs.fields["card_id"].input
    (words,) = [one for one in picker.options if f"•••• {card['last4']}" in one]
    picker.value = words
    picked = made.draft.given["card_id"]
    again = form(api.simulate_authorization, card_id=card["id"])

    assert card["id"] == picked
    assert card["id"] in note(made, "card_id")
    assert words == again.view.inputs.fields["card_id"].input.value
    assert before == len(api.sandbox.requests())


@pytest.mark.parametrize(
    "operation, argument, words",
    [
        ("simulate_refund", "transaction_id", "Corner Grocery, 24.00 USD, ✓ settled, 2025-12-15 15:00:00 UTC"),
        ("update_user", "user_id", "approved, customer-0005"),
        ("update_ubo", "ubo_id", "needs information"),
        ("sign_withdrawal", "token", "USDC, 25000.50 on Base Sepolia"),
        ("sign_withdrawal", "chain_id", "Base Sepolia"),
    ],
)
def test_what_is_known_is_offered_by_name(api: Session, operation: str, argument: str, words: str) -> None:
    """Transactions, users, owners, tokens and chains are offered by readable labels."""
    made = form(getattr(api, operation))

    assert any(words in one for one in made.view.inputs.fields[argument].input.options)


def test_a_failed_send_focuses_the_first_problem(
    api: Session, purchase: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a press that sent nothing, the first input with a problem has the focus."""
    made = form(api.simulate_authorization, **{**purchase, "currency": None, "merchant_name": None})
    focused = []
    for path, field in made.view.inputs.fields.items():
        monkeypatch.setattr(field.input, "focus", lambda path=path: focused.append(path))

    made.view.button.click()

    assert ["currency"] == focused
    assert "open" == made.state


def test_an_amount_beyond_what_a_browser_counts_is_exact(api: Session) -> None:
    """An amount with more than 53 bits is sent exactly."""
    made = form(api.simulate_authorization)

    made.view.inputs.fields["amount"].input.value = "90071992547409.93"

    assert 9007199254740993 == made.draft.record().amount


def test_rules_over_several_fields_are_shown(api: Session) -> None:
    """If the country of issue is US, the id field asks for a 9-digit national id."""
    made = form(api.update_ubo)
    made.view.inputs.fields["national_id"].input.value = "12"

    before = note(made, "national_id")
    made.view.inputs.fields["country_of_issue"].input.value = "US"

    assert "✗" not in before
    assert "must be 9 digits, since the country of issue is US" in note(made, "national_id")


def test_an_alternative_shows_its_fields_alone(api: Session) -> None:
    """Choosing a share token hides the fields of personal data and discards their values."""
    made = form(api.create_user_application)
    (alternative,) = made.draft.alternatives
    chooser = made.view.inputs.choosers[alternative]
    hidden = made.view.inputs.fields["first_name"].box.layout.display

    chooser.value = 2
    made.view.inputs.fields["first_name"].input.value = "Ada"
    shown = made.view.inputs.fields["first_name"].box.layout.display
    chooser.value = 0

    assert ("none", None) == (hidden, shown)
    assert "none" == made.view.inputs.fields["first_name"].box.layout.display
    assert "" == made.view.inputs.fields["first_name"].input.value
    assert "first_name" not in made.draft.given
    assert made.view.inputs.fields["sumsub_share_token"].box.layout.display is None


def test_a_business_is_asked_for_its_name(api: Session) -> None:
    """The beneficiary type decides which names are required. Names of the other type are discarded."""
    made = form(api.create_payment_account)
    kind, names = "external_fiat_account.beneficiary_type", "external_fiat_account.beneficiary_first_name"
    made.view.inputs.fields[kind].input.value = "individual"
    made.view.inputs.fields[names].input.value = "Ada"

    made.view.inputs.fields[kind].input.value = "business"

    assert names not in made.draft.given
    assert "none" == made.view.inputs.fields[names].box.layout.display
    assert made.view.inputs.fields["external_fiat_account.beneficiary_business_name"].box.layout.display is None


def test_omitted_and_empty_differ(api: Session) -> None:
    """An empty input is omitted. Two quotation marks send empty text."""
    made = form(api.update_user, user_id=PERSON_ID, last_name="Sample")

    left_out = made.value.first_name
    made.view.inputs.fields["first_name"].input.value = '""'

    assert left_out is None
    assert "" == made.value.first_name
    assert "sent as empty text" in note(made, "first_name")


PERSON_ID = "3f2a0b1c-0000-4000-8000-000000000000"


def test_a_full_amount_is_explicit(api: Session) -> None:
    """A refund without an amount is a problem. FULL is ticked or typed, and a number clears the checkbox."""
    made = form(api.simulate_refund, transaction_id=PERSON_ID)

    empty = [one.path for one in made.problems]
    made.view.inputs.fields["amount"].full.value = True
    full = made.value.amount
    made.view.inputs.fields["amount"].input.value = "5.00"

    assert ["amount"] == empty
    assert FULL is full
    assert 500 == made.value.amount
    assert made.view.inputs.fields["amount"].full.value is False


def test_terms_left_out_need_a_tick(api: Session) -> None:
    """Omitting the terms means that they are accepted, so a person has to acknowledge the omission."""
    made = form(api.create_user_application, **{**PERSON, "is_terms_of_service_accepted": None})

    wanting = [one.path for one in made.problems]
    made.view.inputs.fields["is_terms_of_service_accepted"].tick.value = True

    assert ["isTermsOfServiceAccepted"] == wanting
    assert () == made.problems
    assert made.value.is_terms_of_service_accepted is None


def test_ten_clicks_send_once(api: Session, purchase: dict[str, Any]) -> None:
    """A double click, or holding Enter, sends one request."""
    made = form(api.simulate_authorization, **purchase)
    button = made.view.button

    for _ in range(10):
        button.click()

    assert 1 == len(api.journal)
    assert "done" == made.state


def test_a_second_call_in_flight_is_refused(api: Session, purchase: dict[str, Any]) -> None:
    """While a call runs, the button is disabled and `submit` is refused."""
    made = form(api.simulate_authorization, **purchase)
    seen: list[Any] = []

    def meanwhile(_: Any) -> Any:
        seen.append(made.view.button.disabled)
        try:
            made.submit()
        except InvalidRequest as error:
            seen.append(str(error))
        return send(_)

    send, api.send = api.send, meanwhile  # type: ignore[method-assign]
    made.submit()

    assert seen[0] is True
    assert "in flight" in seen[1]
    assert 1 == len(api.journal)


def test_queued_clicks_do_not_repeat_a_refused_call(api: Session, purchase: dict[str, Any]) -> None:
    """Clicks that were queued when a call was refused do not send it again."""
    made = form(api.simulate_authorization, **{**purchase, "card_id": PERSON_ID})
    button = made.view.button

    for _ in range(5):
        button.click()

    assert 1 == len(api.journal)
    assert "404" in made.view.error.value
    assert made.view.button is not button


def test_a_spent_form_sends_nothing_more(api: Session, purchase: dict[str, Any]) -> None:
    """After sending, a form has no values and cannot be filled in or sent again."""
    made = form(api.simulate_authorization, **purchase)
    made.submit()

    with pytest.raises(InvalidRequest, match="already sent"):
        made.submit()
    with pytest.raises(InvalidRequest, match="already sent"):
        made.fill(amount=1)

    assert 1 == len(api.journal)


def test_private_values_from_code_reach_no_widget(api: Session) -> None:
    """Private values set from code are masked in inputs, snippets, reprs and static HTML."""
    made = form(api.create_user_application, **PERSON)
    shown = [state(made.widget), repr(made), made.html, *made.snippets.values(), made.put_in_cell(), str(made.problems)]

    assert [] == [secret for secret in SECRETS for text in shown if secret in text.lower()]


def test_nothing_typed_is_left_after_sending(api: Session) -> None:
    """After sending, no widget contains a value, and every input is closed."""
    made = form(api.create_user_application)
    made.view.inputs.choosers[made.draft.alternatives[0]].value = 2
    flat = {f"address.{key}": value for key, value in PERSON["address"].items()}
    for path, value in {**PERSON, **flat}.items():
        if path != "address":
            made.view.inputs.fields[path].input.value = value
    inputs = [field.input for field in made.view.inputs.fields.values()]

    made.view.button.click()

    assert "done" == made.state, made.view.error.value
    assert {} == made.draft.given
    assert {"", None} >= {one.value for one in inputs}
    assert all(one.comm is None for one in inputs)
    assert [] == [secret for secret in SECRETS if secret in (state(made.widget) + made.html).lower()]


def test_closing_forgets_everything(api: Session) -> None:
    """A closed form has no values and cannot be sent."""
    made = form(api.create_user_application, **PERSON)

    made.close()

    assert {} == made.draft.given
    assert made.widget.comm is None
    with pytest.raises(InvalidRequest, match="closed"):
        made.submit()


def test_secrets_are_typed_again_after_a_refusal(api: Session) -> None:
    """After a refused call, the form clears account numbers and other secrets, and keeps other values."""
    made = form(api.create_payment_account, **ACCOUNT, user_id=PERSON_ID)

    with pytest.raises(ApiError, match="refused"):
        made.submit()

    assert "external_fiat_account.account_number" not in made.draft.given
    assert "Example Bank" == made.draft.given["external_fiat_account.bank_name"]
    assert "open" == made.state


@pytest.mark.parametrize("path", ["merchant_name", "card_id", "amount", "currency"])
def test_a_private_key_is_refused_in_any_field(api: Session, path: str) -> None:
    """A pasted private key is removed immediately and reported, whether typed or set from code."""
    made = form(api.simulate_authorization)

    made.view.inputs.fields[path].input.value = "ab" * 32
    with pytest.raises(UsageError, match="private key"):
        made.fill(**{path: "ab" * 32})

    assert "" == made.view.inputs.fields[path].input.value
    assert path not in made.draft.given
    assert "Never paste a private key here" in note(made, path)
    assert "ab" * 8 not in state(made.widget)


def test_errors_of_a_click_are_shown_with_the_journal_id(api: Session, purchase: dict[str, Any]) -> None:
    """The form shows a refusal with the id of its journal entry."""
    made = form(api.simulate_authorization, **{**purchase, "card_id": PERSON_ID})

    made.view.button.click()

    (entry,) = api.journal
    assert "404" in made.view.error.value
    assert entry.id in made.view.error.value


def test_a_defect_in_a_callback_is_shown_by_its_kind(api: Session, purchase: dict[str, Any]) -> None:
    """An unexpected error is reported by its class. Its text may contain anything and is not shown."""
    made = form(api.simulate_authorization, **purchase)

    def breaks(_: Any) -> Any:
        raise LookupError("canary")

    api.send = breaks  # type: ignore[method-assign]
    made.view.button.click()

    assert "LookupError" in made.view.error.value
    assert "canary" not in state(made.widget)
    assert "open" == made.state


def test_unknown_names_are_refused(api: Session) -> None:
    """`fill` accepts only the operation's argument names."""
    with pytest.raises(UsageError, match="adress"):
        form(api.update_user, adress={})


def test_what_cannot_have_a_form_says_so(api: Session) -> None:
    """A form requires an operation with arguments, taken from a synchronous client."""
    later = AsyncClient(base_url="http://127.0.0.1:1/v1", api_key="k" * 20, journal=False)

    for wrong in (api.list_contracts, later.simulate_refund, print):
        with pytest.raises(UsageError):
            form(wrong)


def test_masked_values_and_invisible_text_need_a_tick(api: Session, purchase: dict[str, Any]) -> None:
    """Values that the client refuses by default are sent only after a checkbox is ticked."""
    made = form(api.simulate_authorization, **{**purchase, "merchant_name": "Shop\u202e"})

    rules = [one.rule for one in made.problems]
    tick = made.view.ticks["unusual_text"]
    shown = tick.layout.display
    tick.value = True

    assert ["unusual_text"] == rules
    assert shown is None
    assert "authorized" == made.submit().status


def test_a_call_becomes_a_step_with_parameters_for_what_is_private(api: Session) -> None:
    """A script collects the steps of several forms. Private values become parameters."""
    script = Script()
    first = form(api.create_user_application, script=script, **PERSON)

    names = [first.add_to_sequence(), first.add_to_sequence()]
    text = script.sequence.to_toml()

    assert ["create_user_application", "create_user_application-2"] == names
    assert '{ param = "national_id" }' in text
    assert [] == [secret for secret in SECRETS if secret in text.lower()]


def test_the_callback_thread_does_not_matter(api: Session, purchase: dict[str, Any]) -> None:
    """Two threads that submit one form send one request."""
    made = form(api.simulate_authorization, **purchase)
    ends: list[str] = []

    def go() -> None:
        try:
            made.submit()
            ends.append("sent")
        except InvalidRequest:
            ends.append("refused")

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ["refused"] * 3 + ["sent"] == sorted(ends)
    assert 1 == len(api.journal)


class TestProduction:
    """Forms for a production service."""

    @pytest.fixture
    def live(self) -> Any:
        """Yield a session whose sandbox imitates production."""
        with connect(seed=7, environment="production") as made:
            yield made

    def test_it_is_marked_in_words_and_color(self, live: Session) -> None:
        """The head and the button name the environment, in the environment's color."""
        made = form(live.update_user)

        assert "PRODUCTION" in made.view.head.value
        assert "PRODUCTION" in made.view.button.description
        assert "wb-live" in classes(made.view.button)
        assert live.info()["key_fingerprint"] in made.view.head.value

    def test_it_is_dead_until_armed(self, live: Session) -> None:
        """A call with an effect is sent only after it was armed for some minutes with a reason."""
        user = live.sandbox.guide()["users"]["approved"][0]
        made = form(live.update_user, user_id=user, first_name="Ada")
        dead = made.view.button.disabled

        with pytest.raises(NotArmed):
            made.submit()
        made.view.arm(10, "a test")

        assert dead is True
        assert made.view.button.disabled is False
        assert "Ada" == made.submit().first_name

    def test_what_cannot_be_undone_is_typed(self, live: Session) -> None:
        """A deletion is sent only after the last characters of the id are typed."""
        account = live.sandbox.guide()["payment_accounts"][0]
        made = form(live.delete_payment_account, payment_account_id=account)
        made.view.arm(10, "a test")

        with pytest.raises(InvalidRequest, match="permanently deleted"):
            made.submit()
        made.view.typed.value = account[-8:]
        made.view.button.click()

        assert "done" == made.state, made.view.error.value

    def test_a_simulation_is_refused(self, live: Session) -> None:
        """A simulation in production is refused, and nothing is sent."""
        made = form(live.simulate_refund, transaction_id=PERSON_ID, amount=FULL)
        made.view.arm(10, "a test")

        made.view.button.click()

        assert "only in sandboxes" in unescape(made.view.error.value)


def test_a_plain_client_has_forms_too(api: Session, purchase: dict[str, Any]) -> None:
    """With a client that has no inbox or sandbox, the answer shows no events."""
    sandbox = api.sandbox
    with Client(base_url=sandbox.base_url, api_key=sandbox.full_key, transport=sandbox.transport()) as client:
        made = form(client.simulate_authorization, **purchase)
        made.submit()

    assert "" == made.view.card.events.value


def test_an_unknown_outcome_is_shown_and_never_sent_again(api: Session, purchase: dict[str, Any]) -> None:
    """Without an answer, the form says that the call may have been carried out, shows the journal id and closes."""
    made = form(api.simulate_authorization, **purchase)
    api.sandbox.add_fault("lost", of="simulate_authorization")

    made.view.button.click()

    (entry,) = api.journal
    assert "unknown" == made.state
    assert "Evidence: " in made.view.error.value
    assert entry.id in made.view.error.value
    assert "may have been carried out" in made.view.error.value
    with pytest.raises(InvalidRequest, match="unknown"):
        made.submit()


def test_the_same_write_again_in_production_needs_a_tick() -> None:
    """Repeating a change within a day is refused until its checkbox is ticked."""
    with connect(seed=7, environment="production") as live:
        user = live.sandbox.guide()["users"]["approved"][0]
        live.arm(operations={"update_user"}, minutes=10, reason="a test")
        form(live.update_user, user_id=user, first_name="Ada").submit()
        made = form(live.update_user, user_id=user, first_name="Ada")

        made.view.button.click()
        tick, said = made.view.ticks["again"], made.view.error.value
        shown = tick.layout.display
        tick.value = True
        made.view.button.click()

        assert "the same request was sent" in unescape(said)
        assert shown is None
        assert "done" == made.state, made.view.error.value


@pytest.mark.parametrize("chain, said", [(None, "check"), (901, "Solana")], ids=["checksum", "chain"])
def test_a_mistyped_address_is_refused_at_its_field(api: Session, chain: int | None, said: str) -> None:
    """A wrong checksum, or an address of another chain, is reported while typing."""
    address = chains.eip55("0x" + "5ab" * 13 + "c")
    slip = address.replace("a", "A", 1) if "a" in address else address.replace("A", "a", 1)
    made = form(api.sign_withdrawal, token=address, chain_id=chain)

    good = note(made, "token")
    made.view.inputs.fields["token"].input.value = slip

    assert ("✗" in good) is (chain is not None)
    assert "✗" in note(made, "token")
    assert said.lower() in note(made, "token").lower()


def test_update_that_changes_nothing_is_not_offered(api: Session) -> None:
    """A form with only ids says that nothing would change. One more field is enough."""
    made = form(api.update_user, user_id=PERSON_ID)

    assert [(one.path, one.rule) for one in made.problems] == [("", "empty")]
    assert made.fill(last_name="Sample").problems == ()
    assert [one.rule for one in made.fill(last_name=None).problems] == ["empty"]


@pytest.mark.parametrize("opened", [None, 0, 2], ids=["closed", "Python", "curl"])
def test_a_key_stroke_builds_the_request_once(
    api: Session, purchase: dict[str, Any], monkeypatch: pytest.MonkeyPatch, opened: int | None
) -> None:
    """Each change builds one record, whether or not the snippets are visible."""
    made = form(api.simulate_authorization, **purchase)
    made.view.snippets.show(opened)
    build, built = walk.build, []
    monkeypatch.setattr(walk, "build", lambda *given: (built.append(1), build(*given))[1])

    for count, text in enumerate(("1", "12", "12.", "125"), 1):
        made.view.inputs.fields["amount"].input.value = text

        assert count == len(built)


def test_snippets_are_written_when_they_are_opened(api: Session, purchase: dict[str, Any]) -> None:
    """A closed snippet has no text. An open snippet is updated with the form."""
    made = form(api.simulate_authorization, **purchase)
    closed = state(made.view.snippets.widget)
    made.view.snippets.show(1)
    made.fill(amount=777)

    assert "Example Shop" not in closed
    assert "--amount 777" in state(made.view.snippets.widget)
    assert "curl -X" not in state(made.view.snippets.widget)


@pytest.mark.slow
@pytest.mark.parametrize("sent", [False, True], ids=["open", "sent"])
def test_a_closed_form_leaves_no_widget_model(api: Session, purchase: dict[str, Any], sent: bool) -> None:
    """Closing removes the models of inputs, layouts, styles, the answer and forms opened from it."""
    before = models()
    made = form(api.simulate_authorization, **purchase)
    if sent:
        made.submit()
        for name in ("Reverse", "Open transaction"):
            next(one for one in below(made.widget) if name == getattr(one, "description", "")).click()

    made.close()

    assert models() - before == set()


@pytest.mark.slow
def test_submitted_forms_keep_a_bounded_number_of_widgets(api: Session, purchase: dict[str, Any]) -> None:
    """The last twenty forms stay live. Older forms show static answers, unless a form below is open."""
    first = form(api.simulate_authorization, **purchase)
    first.submit()
    next(one for one in below(first.widget) if getattr(one, "description", "") == "Reverse").click()
    second = form(api.simulate_authorization, **purchase)
    second.submit()
    counts = []
    for _ in range(2):
        for _ in range(20):
            form(api.simulate_authorization, **purchase).submit()
        counts.append(len(models()))

    assert counts[1] - counts[0] < 20 * 15
    assert second.answer.transaction_id in below(second.widget)[-1].value
    assert [one.description for one in below(first.widget) if getattr(one, "description", "") == "New form"]
    assert not [one for one in below(second.widget) if getattr(one, "description", "")]


def models() -> set[str]:
    """Return the ids of all widget models of this process."""
    return set(ipywidgets.Widget.get_manager_state()["state"])


def test_a_key_stroke_annotates_what_changed(api: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the edited field, and fields whose problems change with it, are updated."""
    made = form(api.create_user_application)
    inputs = made.view.inputs.fields
    inputs["email"].input.value = "a"
    written: list[str] = []
    help_of = fields.help_of

    def counted(one: walk.Member) -> str:
        if one.name in inputs:  # counts fields, not sections
            written.append(one.name)
        return help_of(one)

    monkeypatch.setattr(fields, "help_of", counted)
    inputs["email"].input.value = "ad"
    assert written == []
    inputs["email"].input.value = "ada@example.com"
    assert written == ["email"]
    inputs["email"].input.value = "•"

    assert written == ["email", "email"]
    assert "contains •" in note(made, "email")
    made.close()
