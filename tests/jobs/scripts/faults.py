"""Lose an answer, and resolve the unknown outcome.

Needs: base.
"""

import workbench as wb

with wb.connect() as api:
    before = len(api.sandbox.records("transaction"))
    api.sandbox.add_fault(kind="lost", of="simulate_authorization", times=1)
    try:
        api.simulate_authorization(
            card_id=api.sandbox.guide()["cards"]["active"][0],
            amount=100,
            currency="USD",
            merchant_name="Shop",
            merchant_category_code="5942",
        )
    except wb.OutcomeUnknown as error:
        assert api.journal[error.attempt.id].outcome == "unknown"
    else:
        raise AssertionError("no fault")
    assert len(api.sandbox.records("transaction")) == before + 1
