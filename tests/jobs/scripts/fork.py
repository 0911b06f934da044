"""Fork a sandbox, and leave the original unchanged.

Needs: base.
"""

import workbench as wb

sandbox = wb.Sandbox()
before = len(sandbox.records("transaction"))
other = sandbox.fork()
with wb.Client(base_url=other.base_url, api_key=other.full_key, transport=other.transport()) as api:
    api.simulate_authorization(
        card_id=other.guide()["cards"]["active"][0],
        amount=100,
        currency="USD",
        merchant_name="Shop",
        merchant_category_code="5942",
    )
assert (len(sandbox.records("transaction")), len(other.records("transaction"))) == (before, before + 1)
