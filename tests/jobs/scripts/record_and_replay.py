"""Record calls, store them without their values, and replay them: the replay finds a change of the service.

Needs: base.
"""

import workbench as wb
from workbench import testing

with wb.connect(seed=7) as api, testing.record(api, "refunds.ndjson"):
    bought = api.simulate_authorization(
        card_id=api.sandbox.guide()["cards"]["active"][0],
        amount=4590,
        currency="USD",
        merchant_name="Example Books",
        merchant_category_code="5942",
    )
    api.simulate_reversal(transaction_id=bought.transaction_id, new_amount=wb.FULL)

corpus = testing.Corpus("acme")
corpus.add("refunds.ndjson")
assert corpus.check().ok
assert corpus.check(against=wb.connect(seed=7)).ok

changed = corpus.check(against=wb.connect(seed=7, behavior={"full_reversal_status": "settled"}))
assert [(row.operation, row.whose) for row in changed.differences] == [("simulate_reversal", "service")]
