"""Assert on requests, events and balances without a test framework; what fails shows what was there.

Needs: base.
"""

from workbench import testing

with testing.session() as api:
    card = api.sandbox.guide()["cards"]["active"][0]
    before = api.sandbox.balance(card)
    bought = api.simulate_authorization(
        card_id=card, amount=4590, currency="USD", merchant_name="Example Books", merchant_category_code="5942"
    )
    testing.assert_requests(api.sandbox, "simulate_authorization", 1, amount=4590)
    testing.assert_events(api.sandbox, "transaction.created", spend__amount=4590)
    testing.assert_balance(api.sandbox, card, held=before.held + 4590)
    api.sandbox.settle(bought.transaction_id)
    testing.assert_balance(api.sandbox, card, held=before.held, posted=before.posted + 4590)
    for wrong, shown in (
        (lambda: testing.assert_requests(api.sandbox, "simulate_authorization", 2), "simulate_authorization"),
        (lambda: testing.assert_events(api.sandbox, "transaction.completed", spend__amount=1), "transaction.completed"),
        (lambda: testing.assert_balance(api.sandbox, card, held=1), "held"),
    ):
        try:
            wrong()
        except AssertionError as error:
            assert shown in str(error), error
        else:
            raise SystemExit("a wrong assertion passed")
