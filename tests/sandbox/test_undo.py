"""Undo by several: whose change is undone is certain, or nothing is."""

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.client.doubles import PURCHASE
from workbench.sandbox.internals import internals


@pytest.mark.parametrize("shared", [False, True], ids=["in memory", "in a file"])
def test_an_undo_removes_no_purchase_of_another(shared: bool, tmp_path: Path) -> None:
    """Two save the same state; one buys, the other's purchase fails, and its undo would take the first one's."""
    path = tmp_path / "sandbox.db" if shared else None
    with wb.connect(path=path) as api:
        sandbox: Any = api.sandbox
        purchase = {**PURCHASE, "card_id": sandbox.guide()["cards"]["active"][0]}
        first = internals(sandbox).savepoint(owner="a")
        second = internals(sandbox).savepoint(owner="b")
        made = api.simulate_authorization(**purchase)
        for savepoint, owner in ((second, "b"), (first, "a")):
            with pytest.raises(wb.errors.ApiError, match="Something else changed"):
                internals(sandbox).undo(savepoint=savepoint, owner=owner)

        assert sandbox.state(made.transaction_id) is not None


def test_a_second_savepoint_of_one_owner_is_its_own() -> None:
    """An action that was refused, and another: the undo is that of the second."""
    with wb.connect() as api:
        sandbox: Any = api.sandbox
        card = sandbox.guide()["cards"]["active"][0]
        internals(sandbox).savepoint(owner="a")
        savepoint = internals(sandbox).savepoint(owner="a")
        made = api.simulate_authorization(**{**PURCHASE, "card_id": card})
        internals(sandbox).undo(savepoint=savepoint, owner="a")

        with pytest.raises(wb.errors.NotFound):
            sandbox.state(made.transaction_id)
