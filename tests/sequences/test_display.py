"""A sequence has a one-line repr, and HTML with a row for each step, without private values."""

import pytest

from workbench.runs.sequences import Sequence, catalogue, param, ref, step

PRIVATE = {"first_name": "Adalind", "national_id": "000123456", "address": {"line1": "9 Secret Street"}}
MADE = Sequence(
    name="apply",
    doc="Somebody <applies>.",
    steps=(
        step("file", "create_user_application", occupation="Engineer", email=param("email"), **PRIVATE),
        step("buy", "simulate_authorization", card_id=ref("guide.cards.active"), amount=2_500, expect={"money": {"held": 2500}}),
        step("undo", "settle", transaction_id=ref("buy.transaction_id"), expect={"error": {"status": 400}}),
        step("look", "update_user", expect={"result": {"first_name": "Adalind", "is_active": True}}),
    ),
)  # fmt: skip


def test_a_sequence_shows_its_steps() -> None:
    """Each step shows its operation, arguments and expectations, with text escaped."""
    shown = MADE._repr_html_()

    for wanted in (
        "Somebody &lt;applies&gt;.", "create_user_application", "occupation = •••", "email = param email",
        "card_id = ref guide.cards.active", "amount = 2500", "money.held = 2500", "transaction_id = ref buy.transaction_id",
        "error.status = 400", "result.is_active = True",
    ):  # fmt: skip
        assert wanted in shown


@pytest.mark.parametrize("shown", [MADE._repr_html_(), repr(MADE), repr(MADE.steps)], ids=["html", "repr", "steps"])
def test_a_sequence_shows_nothing_private(shown: str) -> None:
    """Personal names, numbers and addresses are masked."""
    assert not any(value in shown for value in ("Adalind", "000123456", "9 Secret Street"))


def test_a_repr_is_one_line() -> None:
    """A sequence's repr is one line, so that a list of sequences is readable."""
    assert "<sequence a-bad-day: 11 steps>" == repr(catalogue["a-bad-day"])
    assert "<step buy: simulate_authorization>" == repr(MADE["buy"])
