"""The calls of each quiz about an amount. Each ends with the correct amount in cents in the variable `amount`."""

_STAY = """
stay = api.simulate_authorization(card_id=card, amount=12_000, currency="USD", merchant_name="Hotel",
    merchant_category_code="7011")
api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=8_050)
"""
PREDICTED: dict[str, str] = {
    "start-held": """
card = guide["cards"]["active"][0]
api.simulate_authorization(card_id=card, amount=4590, currency="USD", merchant_name="Books", merchant_category_code="5942")
amount = api.sandbox.balance(card).held
""",
    "purchases-available": "before = api.sandbox.balance(card)\n"
    + _STAY
    + """
api.sandbox.settle(stay.transaction_id)
api.simulate_refund(transaction_id=stay.transaction_id, amount=1_200)
amount = before.available - api.sandbox.balance(card).available
""",
    "sequences-fuel": """
run = wb.sequences.run(api, wb.sequences.catalogue["a-cardholders-month"])
books = wb.to_frame(run.ledger())
amount = int(books[books["step"] == "fuel settles"]["amount"].iloc[0])
""",
    "contracts-credit": """
values = wb.history(api).contracts()
amount = int(values["advance_usd"].iloc[3] * 100)
""",
    "withdrawals-balance": """
plan = wb.withdrawals.plan(api, contract, token=token, amount=wb.withdrawals.usd("25.00"), admin=admin, to=to, decimals=6)
withdrawal = plan.sign()
message = withdrawal.typed_data(nonce=guide["contracts"][0]["nonce"])
half = message.accept(api.sandbox.wallet(admin).sign(message))
api.sandbox.execute(withdrawal.transaction(half, direct_transfer=True))
amount = int(float(api.list_contracts()[0].tokens[0].balance) * 100)
""",
}
