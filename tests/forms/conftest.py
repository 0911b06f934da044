"""Shared fixtures and helpers of the form tests: a sandbox session, fictitious people, and contents of widgets."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from workbench.client.session import Session, connect

CANARY = "Kanarienvogel"
PERSON: dict[str, Any] = {
    "first_name": CANARY,
    "last_name": "Example",
    "birth_date": "1987-06-05",
    "national_id": "000456789",
    "country_of_issue": "US",
    "email": "kanarienvogel@example.com",
    "address": {
        "line1": "1 Kanarienvogel Way", "city": "Springfield", "region": "NY", "postal_code": "10001",
        "country_code": "US",
    },
    "ip_address": "203.0.113.7",
    "occupation": "Kanarienvogel keeper",
    "annual_salary": "400009752081",
    "account_purpose": "everyday spending",
    "expected_monthly_volume": "500",
    "wallet_address": "0x" + "1" * 40,
    "is_terms_of_service_accepted": True,
}  # fmt: skip
SECRETS = ("kanarienvogel", "1987-06-05", "000456789", "203.0.113.7", "400009752081")
ACCOUNT: dict[str, Any] = {
    "type": "externalFiatAccount",
    "external_fiat_account": {
        "beneficiary_type": "individual", "beneficiary_first_name": "Ada", "beneficiary_last_name": "Example",
        "currency": "usd", "bank_name": "Example Bank", "account_number": "000123456789", "routing_number": "021000021",
        "beneficiary_address": {
            "address_line1": "1 Example Way", "city": "Springfield", "region": "NY", "postal_code": "10001",
            "country_code": "US",
        },
    },
}  # fmt: skip


@pytest.fixture
def api(request: pytest.FixtureRequest) -> Iterator[Session]:
    """Yield a session on a separate sandbox. A test may choose its behavior."""
    with connect(seed=7, behavior=getattr(request, "param", None)) as made:
        yield made


@pytest.fixture
def purchase(api: Session) -> dict[str, Any]:
    """Return the arguments of an authorization."""
    return {
        "card_id": api.sandbox.guide()["cards"]["active"][0], "amount": 1250, "currency": "USD",
        "merchant_name": "Example Shop", "merchant_category_code": "5411",
    }  # fmt: skip


def below(widget: Any) -> list[Any]:
    """Return a widget and all its descendants."""
    found = [widget]
    for one in found:
        found.extend(getattr(one, "children", ()))
    return found


def labelled(widget: Any, label: str) -> Any:
    """Return the button or box with a label among a widget's descendants."""
    return next(one for one in below(widget) if getattr(one, "description", "") == label)


def classes(widget: Any) -> tuple[str, ...]:
    """Return the CSS classes that a page receives for a widget."""
    return tuple(widget.get_state().get("_dom_classes", ()))


def state(widget: Any) -> str:
    """Return the state of a widget and its descendants, as a notebook would save it."""
    return json.dumps(
        [{**one.get_state(), "children": None, "layout": None, "style": None} for one in below(widget)], default=str
    )
