"""The facts about an operation with an effect are members of its row."""

from typing import Any

import attrs
import pytest

import workbench as wb
from tests.each import each
from workbench.service.interface.effects import Effect, reversible
from workbench.service.interface.examples import example
from workbench.service.interface.table import OPERATIONS, Operation

WRITES = [row for row in OPERATIONS.values() if row.effect is not None]


def test_no_fact_of_a_write_can_be_forgotten() -> None:
    """Effect, label, confirmation, next step and evidence have no default."""
    needed = {field.name for field in attrs.fields(Effect) if field.default is attrs.NOTHING}

    assert needed == {"label", "confirm", "next_step", "evidence"}
    assert {field.name: field.default for field in attrs.fields(Operation)}["effect"] is attrs.NOTHING
    with pytest.raises(TypeError, match="confirm"):
        Effect(label=str, next_step="Look.", evidence=None)  # type: ignore[call-arg]


@each("row", WRITES, ids=lambda row: row.name)
def test_labels_and_next_steps_are_sentences(row: Any) -> None:
    """A label has the method and no private value, and a next step ends with a period."""
    request = example(row.request)

    assert row.effect.label(request).startswith(row.method)
    assert "ada@example.com" not in row.effect.label(request)
    assert row.effect.next_step.endswith(".")


def test_irreversible_calls_are_confirmed() -> None:
    """Operations that move money or end something require a confirmation. The others are listed here."""
    assert {row.name for row in WRITES if row.effect and row.effect.confirm is reversible} == {
        "simulate_authorization", "simulate_reversal", "simulate_refund", "create_payment_account", "update_ubo",
        "create_user_application",
    }  # fmt: skip


@pytest.mark.parametrize("where", ["note", "reason"])
def test_a_private_key_is_refused_as_note(where: str) -> None:
    """Journal notes and arming reasons are stored unmasked, so a private key is refused there."""
    key = "0x" + "1b" * 32
    api = wb.connect()
    card = api.sandbox.guide()["cards"]["active"][0]
    api.sandbox.add_fault("lost", times=1)
    with pytest.raises(wb.OutcomeUnknown) as lost:
        api.simulate_authorization(
            card_id=card, amount=1, currency="USD", merchant_name="Shop", merchant_category_code="5411"
        )
    write = {
        "note": lambda: api.journal.resolve(lost.value.attempt.id, "done", note=key),
        "reason": lambda: api.arm(operations={"update_user"}, minutes=1, reason=key),
    }[where]
    with pytest.raises(wb.errors.UsageError, match="looks like a private key") as refused:
        write()

    assert key not in str(refused.value)
    assert api.journal.unknown()
