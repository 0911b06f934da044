"""Pass an amount with a fraction of a cent, which is refused.

Needs: base.
"""

import workbench as wb

with wb.connect() as api:
    card = api.sandbox.guide()["cards"]["active"][0]
    try:
        api.simulate_authorization(
            card_id=card, amount=10.99, currency="USD", merchant_name="Shop", merchant_category_code="5942"
        )
    except wb.InvalidRequest as error:
        assert "amount" in str(error)
    else:
        raise AssertionError("a fraction of a cent was sent")
