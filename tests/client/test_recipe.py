"""The code in docs/api.md that determines a call's outcome, under every fault of the sandbox."""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.sandbox.faults import BODIES, OF_ANSWERS

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
STATUSES = (301, 308, 400, 401, 403, 404, 408, 409, 422, 429, 499, 500, 502, 503, 504)
FAULTS = [
    *({"kind": kind} for kind in OF_ANSWERS if kind != "status"),
    *({"kind": "status", "status": status} for status in STATUSES),
    *({"kind": "status", "status": status, "body": body} for status in (400, 429, 500) for body in BODIES),
]


def recipe() -> Any:
    """Return the page's code as a function of a session and a purchase. It returns nothing or raises an error."""
    text = PAGE.read_text(encoding="utf-8").partition("Know how a call ended")[2]
    block = re.search(r"```python\n(try:\n.*?)```", text, re.DOTALL)
    assert block is not None
    body = re.sub(r"\n    \.\.\.", "\n    handled.append(True)", block[1])
    body = body.replace("print(error.status)", "handled.append(True)")
    assert body.count("handled") == body.count("except")
    source = f"def run(api, purchase, handled):\n{textwrap.indent(body, '    ')}"
    found: dict[str, Any] = {"wb": wb}
    exec(compile(source, str(PAGE), "exec"), found)
    return found["run"]


def refunded(api: Any, transaction: str) -> bool:
    """Return whether the sandbox carried out the refund."""
    (record,) = (one for one in api.sandbox.records("transaction") if one["id"] == transaction)
    return bool(record["refunded"])


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: " ".join(map(str, fault.values())))
def test_each_ending_is_handled_and_the_books_agree(fault: dict[str, Any]) -> None:
    """The code handles every error, and the journal's outcome agrees with the sandbox's books."""
    api = wb.connect(timeout=5)
    purchase = api.simulate_authorization(
        card_id=api.sandbox.guide()["cards"]["active"][0], amount=1250, currency="USD", merchant_name="Corner Grocery",
        merchant_category_code="5411",
    )  # fmt: skip
    api.sandbox.settle(purchase.transaction_id)
    more = {"seconds": 0.01} if fault["kind"] in {"latency", "slow_body"} else {}
    api.sandbox.add_fault(**fault, **more)
    handled: list[bool] = []
    recipe()(api, purchase, handled)
    entry = list(api.journal)[-1]
    done = refunded(api, purchase.transaction_id)

    assert len(handled) == (entry.outcome != "done" or bool(entry.error))
    assert (entry.outcome, done) in {
        ("done", True),
        ("refused", False),
        ("not_sent", False),
        ("unknown", True),
        ("unknown", False),
    }
