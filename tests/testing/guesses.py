"""Seventeen small applications that each rely on one assumption about the service, and five that rely on none.

`tests/testing/test_flips.py` runs them with `--workbench-assumptions`. A test has the name of its assumption, or begins with `none`.
"""

from typing import Any

import httpx
import pytest

import workbench as wb
from workbench.service.interface.table import KEY_HEADER, OPERATIONS, PREFIX

pytestmark = pytest.mark.filterwarnings("ignore")


def buy(api: Any, cents: int = 1_000) -> Any:
    """Authorize a purchase."""
    return api.simulate_authorization(
        card_id=api.sandbox.guide()["cards"]["active"][0], amount=cents, currency="USD", merchant_name="Shop", merchant_category_code="5411"
    )  # fmt: skip


def settled(api: Any, cents: int = 1_000) -> Any:
    transaction = buy(api, cents).transaction_id
    api.sandbox.settle(str(transaction))
    return transaction


def sent(api: Any, kind: str) -> list[dict[str, Any]]:
    """Return the bodies of the events of a kind, in order."""
    return [dict(one.payload["body"]) for one in api.sandbox.events(kind)]


def test_full_reversal_status(workbench_session: Any) -> None:
    made = buy(workbench_session)
    assert workbench_session.simulate_reversal(transaction_id=made.transaction_id, new_amount=0).status == "authorized"


def test_full_reversal_completed(workbench_session: Any) -> None:
    made = buy(workbench_session)
    workbench_session.simulate_reversal(transaction_id=made.transaction_id, new_amount=0)
    assert not [
        one for one in sent(workbench_session, "transaction.completed") if one["id"] == str(made.transaction_id)
    ]


def test_refund_amount_omitted(workbench_session: Any) -> None:
    workbench_session.simulate_refund(transaction_id=settled(workbench_session), amount=wb.FULL)


def test_refund_event_id(workbench_session: Any) -> None:
    transaction = settled(workbench_session)
    workbench_session.simulate_refund(transaction_id=transaction, amount=10)
    assert sent(workbench_session, "transaction.completed")[-1]["id"] != str(transaction)


def test_refund_event_created(workbench_session: Any) -> None:
    transaction = settled(workbench_session)
    before = len(sent(workbench_session, "transaction.created"))
    workbench_session.simulate_refund(transaction_id=transaction, amount=10)
    assert len(sent(workbench_session, "transaction.created")) == before + 1


def test_event_completion_reason(workbench_session: Any) -> None:
    settled(workbench_session)
    assert "completionReason" not in str(sent(workbench_session, "transaction.completed")[-1])


def test_merchant_padding(workbench_session: Any) -> None:
    buy(workbench_session)
    assert sent(workbench_session, "transaction.created")[-1]["spend"]["merchantName"] == "Shop"


def test_idempotency_keys(workbench_session: Any) -> None:
    transaction = settled(workbench_session)
    before = len(sent(workbench_session, "transaction.completed"))
    for _ in range(2):
        with workbench_session.idempotency("once"):
            workbench_session.simulate_refund(transaction_id=transaction, amount=10)
    assert len(sent(workbench_session, "transaction.completed")) == before + 2


def test_unknown_members(workbench_session: Any) -> None:
    buy(workbench_session)
    assert set(sent(workbench_session, "transaction.created")[-1]) <= {"id", "type", "spend"}


def test_unknown_values(workbench_session: Any) -> None:
    assert buy(workbench_session).status in ("authorized", "declined")


def test_null_values(workbench_session: Any) -> None:
    card = workbench_session.sandbox.guide()["cards"]["active"][0]
    workbench_session.simulate_authorization(
        card_id=card, amount=1_000, currency="USD", merchant_name="Shop", merchant_category_code="5411",
        decline_reason="cvv_mismatch",
    )  # fmt: skip
    assert sent(workbench_session, "transaction.created")[-1]["spend"]["declinedReason"].startswith("cvv")


def test_reversed_lists(workbench_session: Any) -> None:
    assert workbench_session.list_contracts()[0].tokens[0].address.startswith("0x")


def test_bearer_keys(workbench_session: Any, served_sandbox: str) -> None:
    headers = {"authorization": f"Bearer {workbench_session.sandbox.full_key}"}
    answer = httpx.get(f"{served_sandbox}{PREFIX}{OPERATIONS['list_contracts'].path}", headers=headers)
    assert answer.status_code == 401


def test_settle_bounds(workbench_session: Any) -> None:
    made = buy(workbench_session)
    with pytest.raises(wb.ApiError):
        workbench_session.sandbox.settle(str(made.transaction_id), amount=5_000)


def test_empty_body(workbench_session: Any, served_sandbox: str) -> None:
    path = OPERATIONS["simulate_refund"].path.format(transactionId=settled(workbench_session))
    headers = {KEY_HEADER: workbench_session.sandbox.full_key}
    assert httpx.post(f"{served_sandbox}{PREFIX}{path}", headers=headers).status_code == 200


def test_previously_authorized(workbench_session: Any) -> None:
    buy(workbench_session)
    assert "previouslyAuthorizedAmount" not in str(sent(workbench_session, "transaction.requested")[-1])


@pytest.mark.workbench(behavior={"event_completion_reason": True})
def test_completion_reason_case(workbench_session: Any) -> None:
    workbench_session.simulate_refund(transaction_id=settled(workbench_session), amount=10)
    assert "'REFUND'" in str(sent(workbench_session, "transaction.completed")[-1])


def test_none_1(workbench_session: Any) -> None:
    assert workbench_session.list_contracts()


def test_none_2(workbench_session: Any) -> None:
    assert buy(workbench_session).transaction_id


def test_none_3(workbench_session: Any) -> None:
    transaction = settled(workbench_session)
    assert workbench_session.simulate_refund(transaction_id=transaction, amount=10).transaction_id


def test_none_4(workbench_session: Any) -> None:
    buy(workbench_session)
    assert sent(workbench_session, "transaction.created")


def test_none_5(sandbox: Any) -> None:
    assert sandbox.balance(sandbox.guide()["cards"]["active"][0]).limit > 0
