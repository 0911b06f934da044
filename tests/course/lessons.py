"""Start an exercise in a new sandbox, with the names that its notebook defines before the exercise."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from unittest.mock import patch

import workbench as wb
from workbench.course.classroom import ClassServer
from workbench.course.task_files import EXERCISES
from workbench.runs.sequences import Sequence, ref, step
from workbench.terminal import main

SEED = 7
World = Literal["embedded", "served", "class"]


@contextmanager
def scene(name: str, world: World = "embedded") -> Iterator[dict[str, Any]]:
    """Begin an exercise in a new sandbox, and yield the names that the exercise's notebook defines before it."""
    where: dict[str, Any] = {"environment": "production"} if name.startswith("production") else {}
    with ExitStack() as stack:
        if world == "class":
            folder = Path(stack.enter_context(TemporaryDirectory()))
            server = ClassServer(["Ann"], folder)
            stack.callback(server.close)
            url = stack.enter_context(server.serve())
            stack.enter_context(patch.dict(os.environ, {"WORKBENCH_CLASS": f"{url}/{server.learners[0].code}"}))
        if world == "served":
            api = stack.enter_context(wb.connect(stack.enter_context(wb.Sandbox(SEED, **where).serve())))
        else:
            api = stack.enter_context(wb.connect(seed=SEED, **where))
        contract = api.list_contracts()[0]
        names: dict[str, Any] = {
            "wb": wb, "api": api, "production": api, "guide": api.sandbox.guide(), "contract": contract,
            "token": contract.tokens[0].address, "admin": contract.admin_addresses[0],
            "to": contract.admin_addresses[1],
        }  # fmt: skip
        exec(PREPARED.get(EXERCISES[name].notebook, ""), names)
        wb.course.task(name, api)
        yield names


def shortcuts(names: dict[str, Any]) -> dict[str, Any]:
    """Return names that attempts share: arguments, and ways to call an operation."""
    api, guide = names["api"], names["api"].sandbox.guide()
    token = {"chain_id": names["contract"].chain_id, "token": names["contract"].tokens[1].address}

    def by_form(operation: Any, **values: Any) -> Any:
        made = wb.form(operation)
        try:
            made.fill(**values)
            return made.submit()
        finally:
            made.close()

    def at_the_prompt(*words: str, code: int = 0, **options: Any) -> None:
        given = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
        if main([*words, *given, "--url", api.sandbox.share()]) != code:
            raise AssertionError(f"workbench {' '.join(words)} did not end with {code}")

    return {
        "FORM": by_form,
        "TERMINAL": at_the_prompt,
        "SEQUENCE": lambda *steps: wb.sequences.run(api, Sequence(name="tried", steps=steps)),
        "BULK": lambda operation, *rows, **how: list(wb.bulk.run(operation, list(rows), progress=False, **how)),
        "Sequence": Sequence, "ref": ref, "step": step,
        "COFFEE": {"card_id": guide["cards"]["active"][1], "amount": 420, "currency": "USD",
                   "merchant_name": "Example Coffee", "merchant_category_code": "5814"},
        "THIRD": guide["cards"]["active"][2],
        "GOLD": {**token, "amount": "1000000", "is_amount_native": True},
        "PLAN": lambda: wb.withdrawals.plan(
            api, names["contract"], token=names["token"], amount=wb.withdrawals.usd("11.00"),
            admin=names["admin"], to=names["to"], decimals=6,
        ),
        "PROFILE": {"ip_address": "203.0.113.9", "occupation": "Engineer", "annual_salary": "60000",
                    "account_purpose": "Everyday spending", "expected_monthly_volume": "1000"},
        "DENIED": next(one["id"] for one in guide["companies"][0]["owners"] if one["status"] == "denied"),
        "MOVED": {"line1": "4 Example Street", "city": "Springfield", "region": "IL", "postal_code": "62704",
                  "country_code": "US"},
        "BUSINESS": {"beneficiary_type": "business", "beneficiary_business_name": "Example Books", "currency": "usd",
                     "beneficiary_address": {"address_line1": "1 Example Street", "city": "Springfield", "region": "IL",
                                             "postal_code": "62701", "country_code": "US"},
                     "bank_name": "Example Bank", "account_number": "000123456", "routing_number": "000000000"},
    }  # fmt: skip


PREPARED = {
    "05-file-an-application": """
ada = dict(first_name="Ada", last_name="Example", birth_date="1990-01-01", national_id="000123456",
    country_of_issue="US", email="ada@example.com", ip_address="203.0.113.7", occupation="Engineer",
    annual_salary="60000", account_purpose="Everyday spending", expected_monthly_volume="1000",
    address=dict(line1="1 Example Street", city="Springfield", region="IL", postal_code="62701", country_code="US"))
""",
    "14-file-many-applications": """
import pandas as pd
ada = dict(first_name="Ada", last_name="Example", birth_date="1990-01-01", national_id="000123456",
    country_of_issue="US", email="ada@example.com", ip_address="203.0.113.7", occupation="Engineer",
    annual_salary="60000", account_purpose="Everyday spending", expected_monthly_volume="1000",
    **{"address.line1": "1 Example Street", "address.city": "Springfield", "address.region": "IL",
    "address.postal_code": "62701", "address.country_code": "US"})
people = pd.DataFrame([ada] * 5).assign(
    last_name=["Abel", "Bing", "testingDenied", "Dorn", "Ebel"],
    email=[f"bulk.{number}@example.com" for number in range(5)],
    external_id=[f"bulk-{number}" for number in range(5)],
)
three = people.head(3).assign(external_id=["desk-1", "desk-2", "desk-3"])
flat = three.to_dict("records")
nested = [{**{name: value for name, value in row.items() if "." not in name},
    "address": {name[8:]: value for name, value in row.items() if "." in name}} for row in flat]
PHONE = {"phone_country_code": "1", "phone_number": "5550123"}
""",
    "07-create-payment-accounts": """
home = dict(address_line1="1 Example Street", city="Springfield", region="IL", postal_code="62701", country_code="US")
beneficiary = dict(beneficiary_type="individual", beneficiary_first_name="Ada", beneficiary_last_name="Example",
    currency="usd", beneficiary_address=home, bank_name="Example Bank", account_number="000123456",
    routing_number="000000000")
""",
    "08-report-rewards": "",
    "02-simulate-purchases": 'card = guide["cards"]["active"][0]',
    "09-script-sequences": "from workbench.runs.sequences import Sequence, ref, step",
    "03-receive-webhooks": 'inbox = wb.Inbox(keys=[api.sandbox.guide()["api_keys"]["full"]])',
    "10-survive-failures": """
shop = api.simulate_authorization(card_id=guide["cards"]["active"][0], amount=4590, currency="USD",
    merchant_name="Example Books", merchant_category_code="5942")
api.sandbox.settle(shop.transaction_id)
""",
}
