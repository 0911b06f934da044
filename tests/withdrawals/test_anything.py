"""Any argument of a plan and any answer of the service gives a result or an error of this package."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.strategies import JSON
from tests.withdrawals.lessons import RECIPIENT, Service, answered, planned
from workbench.base.errors import UsageError

CONTRACT = wb.connect().list_contracts()[0]
KNOWN = [RECIPIENT, CONTRACT.proxy_address, *CONTRACT.admin_addresses, CONTRACT.tokens[0].address, "0x" + "5a" * 32]
ANYTHING = st.one_of(JSON, st.text(), st.binary(max_size=70), st.floats(), st.sampled_from(KNOWN), st.decimals())


@given(st.dictionaries(st.sampled_from(("token", "amount", "admin", "to", "decimals", "allow")), ANYTHING))
def test_any_arguments(changes: dict[str, Any]):
    """A plan is created, or refused with named problems."""
    try:
        made: Any = planned(Service(CONTRACT, answered(CONTRACT)), **changes)
    except UsageError as error:
        made = error
    problems = getattr(made, "problems", ())

    assert problems or RECIPIENT in str(made) or "to" in changes
    assert all(problem.path and problem.message for problem in problems)


@given(ANYTHING)
def test_any_amount(value: Any):
    """An amount is exact, or refused in one sentence."""
    for make in (wb.withdrawals.usd, wb.withdrawals.native_units, wb.withdrawals.explain):
        try:
            made = make(value)
        except UsageError as error:
            made = error

        assert len(getattr(made, "problems", [1])) == 1


TEXT = st.one_of(
    st.none(), st.text(), st.sampled_from(["ready", "pending", "0x14a34", "2026-11-21T12:10:00Z", RECIPIENT])
)
PARAMETERS = st.lists(st.one_of(JSON, st.sampled_from(answered(CONTRACT)["parameters"])), max_size=9)


@given(TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, PARAMETERS)
def test_any_answer(status, data, salt, expires_at, chain_id, sender, parameters):
    """Any answer gives a printable withdrawal. An answer with a problem is never ready."""
    changes = {
        "status": status,
        "signature": {"data": data, "salt": salt},
        "expiresAt": expires_at,
        "chainId": chain_id,
        "sender": sender,
        "parameters": parameters,
    }
    withdrawal = Service(CONTRACT, answered(CONTRACT, **changes)).plan().sign()

    assert str(withdrawal)
    assert withdrawal._repr_html_()
    if withdrawal.problems or withdrawal.status != "ready":
        assert not withdrawal.ready


@given(st.permutations(range(7)), st.integers(0, 6), JSON)
def test_any_parameters(order, place, value):
    """Reordered or changed parameters are never accepted without a problem or a note."""
    right = answered(CONTRACT)["parameters"]
    moved = [right[i] for i in order]
    swapped = [*right]
    swapped[place] = value
    for parameters in (moved, swapped):
        withdrawal = Service(CONTRACT, answered(CONTRACT, parameters=parameters)).plan().sign()
        if parameters != right and not withdrawal.problems:
            assert withdrawal.notes
