"""Send a call several times with one idempotency key.

Needs: base.
"""

import workbench as wb

with wb.connect(behavior="observed") as api:
    before = len(api.sandbox.records("transaction"))
    card = api.sandbox.guide()["cards"]["active"][0]
    for _ in range(2):
        with api.idempotency("order-1"):
            api.simulate_authorization(
                card_id=card, amount=1250, currency="USD", merchant_name="Shop", merchant_category_code="5411"
            )
    assert len(api.sandbox.records("transaction")) == before + 1
    assert api.journal.list()[0].idempotency_key == "order-1"
