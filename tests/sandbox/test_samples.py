"""Sample events have the members of the sandbox's events, for every kind and in both behaviors."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.each import each
from tests.record_strategies import deliveries
from workbench.base.schema import strict_json, walk
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.examples import example
from workbench.service.interface.people import CreateUserApplication


def _paths(event: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in event.items():
        if isinstance(value, Mapping) and name in ("body", "spend", "limit"):
            yield from _paths(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


@pytest.fixture(scope="module", params=["documented", "observed"])
def sent(request: pytest.FixtureRequest) -> dict[str, list[Mapping[str, Any]]]:
    """Return the events of a sandbox by kind, after actions of every kind."""
    with wb.connect(behavior=request.param) as api:
        sandbox, guide = api.sandbox, api.sandbox.guide()
        card = guide["cards"]["active"][0]
        purchase = {"card_id": card, "currency": "USD", "merchant_name": "Shop", "merchant_category_code": "5411"}
        first, second, third = (
            api.simulate_authorization(amount=amount, **purchase).transaction_id for amount in (1000, 2000, 3000)
        )
        api.simulate_authorization(amount=10**9, **purchase)
        api.simulate_authorization(amount=5, decline_reason="card_locked", **purchase)
        api.simulate_reversal(transaction_id=first, new_amount=400)
        api.simulate_reversal(transaction_id=second, new_amount=wb.FULL)
        sandbox.settle(third)
        api.simulate_refund(transaction_id=third, amount=700)
        person = {**walk.given(example(CreateUserApplication)), "external_id": "new"}
        made = api.create_user_application(**person)
        for status in ("needsVerification", "tosNotAccepted", "denied", "approved"):
            sandbox.review(made.id, status)
        owner = guide["companies"][0]["owners"][0]["id"]
        sandbox.review(owner, "pending")
        sandbox.review(owner, "approved")
        sandbox.cards.lock(card)
        sandbox.create.payment_route(user_id=guide["users"]["approved"][0])
        sandbox.deposit(amount="1.00")
        sandbox.deposit(amount="1.50", description=None, originator_name=None, reference_id="1")
        events: dict[str, list[Mapping[str, Any]]] = {kind: [] for kind in EVENT_KINDS}
        for event in sandbox.events():
            events[f"{event.payload['resource']}.{event.payload['action']}"].append(event.payload)
        return events


@each("kind", EVENT_KINDS)
def test_a_sample_has_the_members_of_every_event(kind: str, sent: dict[str, list[Mapping[str, Any]]]) -> None:
    """Every event has all members of the sample, and its other members are declared as optional."""
    members = {*_paths(strict_json.loads(wb.events.sample(kind).body))}
    optional = {f"body.{path}" for path in EVENT_KINDS[kind].optional}

    assert sent[kind]
    for event in sent[kind]:
        assert members - {*_paths(event)} == set()
        assert {*_paths(event)} - members - optional == set()


@each("kind", EVENT_KINDS)
def test_an_optional_member_is_not_always_there(kind: str, sent: dict[str, list[Mapping[str, Any]]]) -> None:
    """A member of every event is not declared as optional, unless another behavior omits it."""
    always = set.intersection(*({*_paths(event)} for event in sent[kind]))
    of_behavior = {"body.spend.completionReason"}

    assert always & {f"body.{path}" for path in EVENT_KINDS[kind].optional} <= of_behavior | {
        "body.userId",  # a consumer's payment route has it; a company's route has companyId
    }


@pytest.mark.parametrize("kind", EVENT_KINDS)
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_strategies_have_the_members_of_samples(kind: str, data: st.DataObject) -> None:
    """A generated delivery has the members of every event, and others only if they are optional."""
    members = {*_paths(strict_json.loads(wb.events.sample(kind).body))}
    optional = {f"body.{path}" for path in EVENT_KINDS[kind].optional}
    drawn = {path.partition("[")[0] for path in _paths(strict_json.loads(data.draw(deliveries(kind, key="k")).body))}

    assert members - drawn == set()
    assert drawn - members - optional - {"version"} == set()


def test_the_version_that_names_a_reason_has_it() -> None:
    """A sample of version 1.1.0 has a completion reason, as in `observed`."""
    event = wb.events.sample("transaction.completed", version="1.1.0").event

    assert event.body.spend.completion_reason == "SETTLEMENT"
    assert wb.events.sample("transaction.completed").event.body.spend.completion_reason is None


def test_headers_are_looked_up_ignoring_case() -> None:
    """Headers of a sample are case-insensitive, as in web frameworks."""
    headers = wb.events.sample("user.updated", "key").headers

    assert headers["Signature"] == headers["signature"] == headers.get("SIGNATURE")
    assert "Content-Type" in headers
