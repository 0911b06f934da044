"""Receive, verify and handle an event.

Needs: base.
"""

import workbench as wb

with wb.connect() as api:
    seen = []

    @api.inbox.on("transaction.created")
    def created(event):
        seen.append(event.body.spend.amount)

    card = api.sandbox.guide()["cards"]["active"][0]
    api.simulate_authorization(
        card_id=card, amount=4590, currency="USD", merchant_name="Example Books", merchant_category_code="5942"
    )
    api.inbox.wait("transaction.created")
    assert seen == [4590]
