"""Record calls, and play them back: a missing call and another argument are errors.

Needs: base.
"""

import workbench as wb
from workbench import testing


def refund(api, transaction, cents):
    return api.simulate_refund(transaction_id=transaction, amount=cents)


with wb.connect(seed=7) as api:
    bought = api.simulate_authorization(
        card_id=api.sandbox.guide()["cards"]["active"][0],
        amount=4590,
        currency="USD",
        merchant_name="Example Books",
        merchant_category_code="5942",
    )
    api.sandbox.settle(bought.transaction_id)
    with testing.record(api, "refunds.har"):
        answer = refund(api, bought.transaction_id, 500)

with testing.replay("refunds.har") as api:
    assert refund(api, bought.transaction_id, 500) == answer

for wrong in (lambda api: refund(api, bought.transaction_id, 501), lambda api: None):
    try:
        with testing.replay("refunds.har") as api:
            wrong(api)
    except wb.WorkbenchError as error:
        assert "simulate_refund" in str(error), error
    else:
        raise AssertionError("a replay that differs passed")
