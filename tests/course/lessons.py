"""The session of an exercise, and the names its notebook has defined by then."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import workbench as wb
from workbench.course.learner import EXERCISES

SEED = 7


@contextmanager
def scene(name: str) -> Iterator[dict[str, Any]]:
    """Return the names that the notebook of an exercise has made."""
    where: dict[str, Any] = {"environment": "production"} if name.startswith("production") else {}
    with wb.connect(seed=SEED, **where) as api:
        contract = api.list_contracts()[0]
        names: dict[str, Any] = {
            "wb": wb, "api": api, "production": api, "guide": api.sandbox.guide(), "contract": contract,
            "token": contract.tokens[0].address, "admin": contract.admin_addresses[0],
            "to": contract.admin_addresses[1],
        }  # fmt: skip
        exec(PREPARED.get(EXERCISES[name].notebook, ""), names)
        yield names


PREPARED = {
    "05-file-an-application": """
ada = dict(first_name="Ada", last_name="Example", birth_date="1990-01-01", national_id="000123456",
    country_of_issue="US", email="ada@example.com", ip_address="203.0.113.7", occupation="Engineer",
    annual_salary="60000", account_purpose="Everyday spending", expected_monthly_volume="1000",
    address=dict(line1="1 Example Street", city="Springfield", region="IL", postal_code="62701", country_code="US"))
""",
    "07-create-payment-accounts": """
home = dict(address_line1="1 Example Street", city="Springfield", region="IL", postal_code="62701", country_code="US")
beneficiary = dict(beneficiary_type="individual", beneficiary_first_name="Ada", beneficiary_last_name="Example",
    currency="usd", beneficiary_address=home, bank_name="Example Bank", account_number="000123456",
    routing_number="000000000")
""",
    "08-report-rewards": "",
    "02-simulate-purchases": 'card = guide["cards"]["active"][0]',
    "09-script-sequences": "from workbench.sequences import Sequence, guide, ref, step",
    "03-receive-webhooks": 'inbox = wb.Inbox(keys=[api.sandbox.guide()["api_keys"]["full"]])',
    "10-survive-failures": """
shop = api.simulate_authorization(card_id=guide["cards"]["active"][0], amount=4590, currency="USD",
    merchant_name="Example Books", merchant_category_code="5942")
api.sandbox.settle(shop.transaction_id)
""",
}
