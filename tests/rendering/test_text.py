"""Plain text of records: what is displayed, what is masked, and control characters."""

import unicodedata
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import (
    Attempt,
    BadRequest,
    InvalidRequest,
    NotSent,
    OutcomeUnknown,
    Problem,
    UnexpectedAnswer,
)
from workbench.base.schema import strict_json
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import build
from workbench.service import rendering
from workbench.service.interface import convert, table
from workbench.service.interface.assumptions import assumptions
from workbench.service.interface.contracts import IssuingContract, SignWithdrawal
from workbench.service.interface.people import CreatePaymentAccount, User
from workbench.service.interface.transactions import RewardsItem, SimulatedTransaction, SimulateRefund

ID = "3f2a0b1c-0000-4000-8000-000000000000"
EVM = "0x52908400098527886E0F7030069857D2E4169EE7"


def user(**changes: object) -> User:
    return build(User, {"id": ID, "first_name": "Ada", "email": "ada@example.com", **changes})


def contract(chain_id: int) -> IssuingContract:
    token = {"address": EVM, "balance": "1250.50", "advance_rate": Decimal(50), "exchange_rate": Decimal(1)}
    details = {"beneficiary_name": "Ada Lovelace", "beneficiary_address": "1 Test St", "account_number": "000123456789",
               "routing_number": "021000021"}  # fmt: skip
    return build(
        IssuingContract,
        {"id": ID, "chain_id": chain_id, "controller_address": EVM, "proxy_address": EVM, "deposit_address": EVM,
         "tokens": [token], "contract_version": 2, "onramp": {"ach": details}},
    )  # fmt: skip


@pytest.mark.parametrize(
    "cents, text", [(1250, "12.50 USD"), (0, "0.00 USD"), (-5, "-0.05 USD"), (123456789, "1,234,567.89 USD")]
)
def test_money_from_cents(cents, text):
    """Cents are displayed exactly as dollars."""
    assert text == rendering.money(cents)


def test_times_read_in_utc():
    """A time is displayed in UTC."""
    assert rendering.moment(datetime(2026, 11, 21, 7, 42, 10, tzinfo=UTC)) == "2026-11-21 07:42:10 UTC"


def test_private_values_are_masked():
    """A private value is masked in text and in HTML."""
    for shown in (rendering.plain(user()), rendering.html(user())):
        assert "ada@example.com" not in shown
        assert "a•••@e•••.com" in shown


def test_reveal_shows_only_what_is_named():
    """Revealing one member leaves the others masked."""
    shown = rendering.plain(user(), reveal={"email"})

    assert "ada@example.com" in shown
    assert "Ada" not in shown


@pytest.mark.parametrize("width", [20, 60, 200])
def test_ids_and_addresses_stand_in_full(width):
    """Ids and addresses are displayed completely, however narrow the terminal is."""
    shown = rendering.plain([contract(11155111)] * 2, width)

    assert f" {ID}\n" in shown
    assert shown.count(EVM) == 8


def test_deposit_address_of_a_test_chain_is_labeled():
    """A deposit address on a test chain has a warning not to send funds."""
    label = "SANDBOX, do not send funds"

    # once for the deposit address, once for the virtual accounts
    assert rendering.plain(contract(11155111)).count(label) == 2
    assert rendering.html(contract(11155111)).count(label) == 2
    assert label not in rendering.plain(contract(1))


def test_statuses_have_mark_and_word():
    """A status is displayed with a mark and words, so that it can be read without color."""
    assert "✗ declined" in rendering.plain(build(SimulatedTransaction, {"transaction_id": ID, "status": "declined"}))
    assert "• brand new" in rendering.plain(user(application_status="brandNew"))


def test_every_known_status_has_a_look():
    """No documented status has the mark of unknown statuses."""
    from workbench.service.interface import vocabulary

    for enum in (
        vocabulary.EventApplicationStatus,
        vocabulary.TransactionStatus,
        vocabulary.DisputeStatus,
        vocabulary.SignatureStatus,
    ):
        for status in enum:
            assert rendering.look(status) is not rendering.look("never heard of"), status


def test_statuses_of_one_family_stay_apart_without_color():
    """No two statuses of an enum share a mark."""
    from workbench.service.interface import vocabulary

    for enum in (vocabulary.EventApplicationStatus, vocabulary.TransactionStatus, vocabulary.DisputeStatus):
        marks = [rendering.look(status).mark for status in enum]
        assert len(marks) == len(set(marks)), enum


def test_test_chains_are_those_of_the_chains_package():
    """The chains of the warning are test chains in the chains package too, which cannot share the list."""
    from workbench.service.chains import chain_of
    from workbench.service.rendering.text import TEST_CHAINS

    assert {chain for chain in TEST_CHAINS if chain_of(chain).test} == TEST_CHAINS


def test_withdrawal_amount_says_its_unit():
    """A withdrawal's amount is displayed as cents or as native units, as requested."""
    asked = {"token": EVM, "amount": "2500", "admin_address": EVM, "recipient_address": EVM}

    assert "2500 cents, 25.00 USD" in rendering.plain(build(SignWithdrawal, {**asked, "is_amount_native": False}))
    assert "2500 native token units" in rendering.plain(build(SignWithdrawal, {**asked, "is_amount_native": True}))


def test_full_is_said_in_words():
    """FULL is explained as the full amount."""
    assert "FULL (the full amount)" in rendering.plain(build(SimulateRefund, {"transaction_id": ID, "amount": FULL}))


def test_assumptions_are_marked():
    """An assumed member has a mark, and a last line explains the mark."""
    asked = build(CreatePaymentAccount, {"type": "externalFiatAccount", "nickname": "x"})

    assert rendering.plain(asked).splitlines()[1:] == [
        "  type ~    externalFiatAccount",
        "  nickname  x",
        "~ assumed: not shown in the interface document; see assumptions()",
    ]


def test_unknown_members_are_named_but_masked():
    """An undocumented member may be private, so only its name is displayed."""
    raw = strict_json.loads(b'{"id": "%s", "shoeSize": "forty-two"}' % ID.encode())
    read = convert.converter().structure(raw, User)

    shown = rendering.plain(read)
    assert "shoeSize" in shown
    assert "forty-two" not in shown
    assert "forty-two" in rendering.plain(read, reveal={"extra"})


def test_a_wire_body_shows_its_names_alone():
    """The values of a wire body are not displayed, because they may be private."""
    shown = rendering.plain(strict_json.loads(b'{"nationalId": "000123456"}'))

    assert "000123456" not in shown


ATTEMPT = Attempt(id="a1", operation="simulate_refund", what="POST refund", started=datetime(2026, 1, 1, tzinfo=UTC),
                  environment="sandbox")  # fmt: skip


@pytest.mark.parametrize(
    "error, end",
    [
        (InvalidRequest([Problem("amount", "minimum", "must be at least 1")], of="simulate_authorization"), "not sent"),
        (BadRequest(operation="x", status=400, message="no"), "refused"),
        (OutcomeUnknown("It may have been carried out.", attempt=ATTEMPT), "unknown"),
        (NotSent("Nothing left this machine."), "not sent"),
        (UnexpectedAnswer("It is done."), "done"),
    ],
    ids=lambda value: getattr(type(value), "__name__", None) if isinstance(value, Exception) else None,
)
def test_errors_say_how_the_call_ended(error, end):
    """The first line of an error has the outcome of the call."""
    assert end in rendering.plain(error).splitlines()[0]


def test_problems_of_an_error_stand_one_a_line():
    """Each problem is a line with path, message and rule."""
    error = InvalidRequest([Problem("amount", "type", "must be whole"), Problem("cardId", "uuid", "must be a UUID")])

    lines = rendering.plain(error).splitlines()
    assert any("amount" in line and "must be whole" in line and "type" in line for line in lines)
    assert any("cardId" in line for line in lines)


def test_a_long_list_is_capped_and_counted():
    """A table beyond the limit counts the rows that it leaves out."""
    items = [build(RewardsItem, {"id": str(n), "points": Decimal(n)}) for n in range(1000)]

    shown = rendering.table(items, limit=10)
    assert "… and 990 more of 1,000" in shown
    assert len(shown.splitlines()) == 14


def test_columns_are_chosen_by_name():
    """A table has the requested columns in the requested order. Nested members have dotted names."""
    people = [user(address={"city": "Paris", "line1": "x", "region": "y", "postal_code": "z", "country_code": "FR"})]

    head, _, row = rendering.table(people, ["address.city", "id"]).splitlines()[1:]
    assert head.split() == ["address", "city", "id"]
    assert row.split() == ["Paris", ID]
    with pytest.raises(KeyError, match="no member shoe"):
        rendering.table(people, ["shoe"])


def test_a_table_too_wide_stands_upright():
    """If the columns do not fit, each row is displayed as lines of name and value."""
    shown = rendering.table([{"id": ID, "other": EVM}] * 2, width=50)

    assert "─" not in shown
    assert shown.count(EVM) == 2


def test_assumptions_have_a_table():
    """The list of assumptions can be displayed at narrow and wide widths."""
    for width in (40, 160):
        assert rendering.table(assumptions(), width=width, limit=1000).count(assumptions()[0].id) >= 1


def test_empty_things_say_so():
    """An empty list is displayed as "No rows"."""
    assert rendering.plain([]) == "No rows"


HOSTILE = ["\x1b[31m", "\x1b]52;c;aGk=\x07", "\r\n", "a\u202eb", "\x9b0m", "\u200b", "\ud800", "[/bold]", "\u2028"]


@given(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40)))
def test_no_control_character_is_shown(text):
    """No text from the service brings control, direction or zero-width characters to the terminal."""
    things = [
        user(external_id=text, application_status=text, application_reason=text),
        [user(external_id=text)],
        {text: text, "status": text},
        [{"a": text}],
        BadRequest(operation="x", status=400, error=text, message=text),
        Problem(text, text, text),
        convert.converter().structure({"id": ID, text: text}, User),
    ]
    for thing in things:
        for line in rendering.plain(thing).split("\n"):
            assert not [c for c in line if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]


def test_every_operation_has_faces():
    """Requests and answers of all operations can be displayed, even without values."""
    for operation in table.OPERATIONS.values():
        for cls in (operation.request, operation.answer):
            assert rendering.plain(build(cls, {})).lower().startswith(rendering.label(cls.__name__))
            assert "wb-face" in rendering.html(build(cls, {}))


def test_deep_lists_end():
    """Deeply nested lists are displayed to a few levels."""
    deep: list = []
    for _ in range(900):
        deep = [deep]
    read = convert.converter().structure({"id": ID, "brandNew": deep}, User)

    assert "<1 items>" in rendering.plain(read, reveal={"extra"})
    assert "<1 items>" in rendering.plain({"made": deep})
