"""A tenant's ledger, computed only from events, agrees with the sandbox's books after random traffic."""

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sandbox.driver import Api
from workbench.sandbox import Sandbox

STEPS = st.lists(
    st.tuples(st.sampled_from(["authorize", "decline", "reduce", "reverse", "settle", "refund"]), st.integers(0, 100)),
    max_size=25,
)


def ledger_of(events):
    """Return the cost of each transaction from its events: created + changes + (completed - authorized), in cents."""
    cents = defaultdict(int)
    for listed in events:
        event = listed.payload
        spend = event["body"].get("spend", {})
        if event["resource"] != "transaction" or spend["status"] == "declined":
            continue
        if event["action"] == "created":
            cents[event["body"]["id"]] += spend["amount"]
        elif event["action"] == "updated":
            cents[event["body"]["id"]] += spend["authorizationUpdateAmount"]
        elif event["action"] == "completed":
            cents[event["body"]["id"]] += spend["amount"] - spend["authorizedAmount"]
    return cents


def play(api, steps):
    """Apply the steps to a matching transaction, if there is one."""
    transactions = []
    for action, number in steps:
        if action in {"authorize", "decline"}:
            reason = {"declineReason": "card_locked"} if action == "decline" else {}
            transactions.append(api.authorize(amount=number + 1, **reason).body["transactionId"])
        elif transactions:
            transaction = transactions[number % len(transactions)]
            state = api.sandbox.state(transaction)
            held, left = state["held"], state["settled"] - state["refunded"]
            if action == "reduce" and held > 1:
                api.reverse(transaction, newAmount=1 + number % held)
            elif action == "reverse" and held:
                api.reverse(transaction)
            elif action == "settle" and held:
                api.settle(transaction, amount=number % (held + 1))
            elif action == "refund" and left > 0:
                api.refund(transaction, amount=1 + number % left)
    return transactions


@pytest.mark.parametrize(
    "settings", [{"refund_event_created": True}, {"behavior": "observed"}], ids=["refund_event_created", "observed"]
)
@given(steps=STEPS)
def test_the_ledger_of_a_tenant_agrees_with_the_books(settings, steps):
    """Created amounts, changes and differences at completion add up to the amounts that the cards were charged."""
    api = Api(Sandbox(behavior=settings))

    transactions = play(api, steps)

    states = [api.sandbox.state(transaction) for transaction in transactions]
    charged = sum(state["held"] + state["settled"] - state["refunded"] for state in states)
    assert charged == sum(ledger_of(api.sandbox.events()).values())


def test_a_reduced_purchase_costs_what_it_settled_for():
    """After authorizing 100, reversing to 60 and settling 60, update and completion give a cost of 60."""
    api = Api(Sandbox())
    transaction = api.authorized(100)
    api.reverse(transaction, newAmount=60)
    api.settle(transaction, amount=60)

    events = api.sandbox.events()

    spend = events[-1].payload["body"]["spend"]
    assert (60, 60) == (spend["amount"], spend["authorizedAmount"])
    assert {transaction: 60} == dict(ledger_of(events))


def test_a_refund_is_recorded_as_observed():
    """In `observed` a refund has its own id, a `created` before `completed`, and its amount as authorizedAmount."""
    api = Api(Sandbox(behavior="observed"))
    transaction = api.settled(100)
    api.refund(transaction, amount=40)

    created, completed = (listed.payload for listed in api.sandbox.events()[-2:])

    assert ("created", "completed") == (created["action"], completed["action"])
    assert created["body"]["id"] == completed["body"]["id"] != transaction
    for event, status in ((created, "pending"), (completed, "completed")):
        spend = event["body"]["spend"]
        assert (-40, -40, status) == (spend["amount"], spend["authorizedAmount"], spend["status"])
        assert (status == "completed") == ("postedAt" in spend)


@pytest.mark.parametrize("setting, amount", [(False, None), (True, 0)])
def test_the_request_says_what_was_authorized_before_where_it_is_set(setting, amount):
    """A setting adds `previouslyAuthorizedAmount`, which a provider's tables have but recorded events do not."""
    api = Api(Sandbox(behavior={"previously_authorized": setting}))
    api.authorize()

    spend = api.sandbox.events("transaction.requested")[0].payload["body"]["spend"]

    assert amount == spend.get("previouslyAuthorizedAmount")
