"""Simulated card transactions: states, holds, and the money at each step. Source: Endpoints 3-5."""

import pytest

from tests.sandbox.driver import Api
from workbench.base.errors import UsageError
from workbench.base.schema import walk
from workbench.sandbox import Sandbox
from workbench.sandbox.control_records import CardState
from workbench.service.interface.transactions import SimulatedTransaction
from workbench.service.interface.vocabulary import DeclineReason

NOBODY = "00000000-0000-4000-8000-000000000000"


def money(api, card=None):
    return walk.given(api.sandbox.balance(card or api.card))


def moved(api, before):
    return {name: value - before[name] for name, value in money(api).items() if value != before[name]}


def test_an_authorization_places_a_hold(api):
    """Without a requested decline the status is authorized, and the amount is held."""
    before = money(api)

    answer = api.authorize(amount=1250)

    assert (answer.status, answer.body["status"]) == (200, "authorized")
    assert {"transactionId", "status"} == set(answer.body)
    assert moved(api, before) == {"available": -1250, "held": 1250}
    assert api.kinds() == ["transaction.requested", "transaction.created"]


@pytest.mark.parametrize("reason", list(DeclineReason))
def test_a_decline_can_be_asked_for(api, reason):
    """Each of the eleven reasons gives the status declined and declinedReason, and moves no money."""
    before = money(api)

    answer = api.authorize(declineReason=reason)

    assert ("declined", reason) == (answer.body["status"], answer.body["declinedReason"])
    assert moved(api, before) == {}
    assert api.kinds() == ["transaction.requested", "transaction.created"]


@pytest.mark.parametrize("state", ["notActivated", "locked", "canceled"])
def test_a_card_that_is_not_active_is_400_not_a_decline(api, state):
    """The error message has the card's id and "is not active"."""
    card = api.guide["cards"][state][0]

    answer = api.authorize(card)

    assert (400, f"Card {card} is not active") == (answer.status, answer.body["message"])
    assert api.kinds() == []


def test_an_unknown_card_is_404(api):
    answer = api.authorize(NOBODY)

    assert (answer.status, answer.body["error"], answer.body["message"]) == (404, "NotFoundError", "Card not found")


def test_above_the_credit_a_setting_authorizes():
    """With the setting, an authorization above the credit is authorized, and the available credit becomes negative."""
    api = Api(Sandbox(behavior={"over_limit": "authorized"}))
    card = api.guide["cards"]["active"][-1]

    answer = api.authorize(card, amount=10_000)

    assert answer.body["status"] == "authorized"
    assert money(api, card)["available"] == -5_000
    assert "over_limit" in answer.assumed


def test_above_the_credit_is_declined(api):
    """The answer has the enum value of the reason, and the event has words."""
    card = api.guide["cards"]["active"][-1]

    answer = api.authorize(card, amount=10_000)

    assert (answer.body["status"], answer.body["declinedReason"]) == ("declined", "account_credit_limit_exceeded")
    spend = api.sandbox.events("transaction.created")[-1].payload["body"]["spend"]
    assert (spend["status"], spend["declinedReason"]) == ("declined", "account credit limit exceeded")
    assert api.authorize(card, amount=5_000).body["status"] == "authorized"


def test_a_reversal_reduces_the_hold(api):
    """newAmount is the remaining authorized amount, and no posted transaction is created."""
    transaction = api.authorized(1250)
    before = money(api)

    answer = api.reverse(transaction, newAmount=1000)

    assert {"transactionId": transaction, "status": "authorized"} == answer.body
    assert moved(api, before) == {"available": 250, "held": -250}
    assert api.kinds()[-1] == "transaction.updated"


@pytest.mark.parametrize("body", [{}, {"newAmount": 0}], ids=["omitted", "zero"])
def test_a_full_reversal_releases_the_hold(api, body):
    """An omitted newAmount, or zero, is a full reversal."""
    before = money(api)
    transaction = api.authorized(1250)

    answer = api.reverse(transaction, **body)

    assert {"transactionId": transaction, "status": "authorized"} == answer.body
    assert moved(api, before) == {}
    assert api.kinds()[-1] == "transaction.updated"
    spend = api.sandbox.events()[-1].payload["body"]["spend"]
    assert (spend["status"], spend["amount"], spend["authorizationUpdateAmount"]) == ("reversed", 0, -1250)
    assert api.reverse(transaction).status == 400
    assert api.settle(transaction, amount=1).status == 400


def test_a_full_reversal_in_the_observed_behavior(observed):
    transaction = observed.authorized()

    answer = observed.reverse(transaction)

    assert {
        "transactionId": transaction,
        "status": "settled",
        "completionReason": "authorization_reversal",
    } == answer.body


def test_a_reversal_to_the_same_amount_changes_nothing(api):
    transaction = api.authorized(1250)
    before, told = money(api), api.kinds()

    assert api.reverse(transaction, newAmount=1250).status == 200
    assert moved(api, before) == {}
    assert told == api.kinds()


def test_a_reversal_above_the_hold_is_400(api):
    transaction = api.authorized(1250)
    api.reverse(transaction, newAmount=1000)

    assert api.reverse(transaction, newAmount=1001).status == 400
    assert api.sandbox.state(transaction)["held"] == 1000


def test_a_settlement_posts_the_amount_and_releases_the_rest(api):
    transaction = api.authorized(1250)
    before = money(api)

    answer = api.settle(transaction, amount=900)

    assert {"transactionId": transaction, "status": "settled", "completionReason": "SETTLEMENT"} == answer.body
    assert moved(api, before) == {"available": 350, "held": -1250, "posted": 900}
    assert "settle_route" in answer.assumed


def test_the_control_settles_as_the_call_does(api):
    transaction = api.authorized(1250)

    answer = api.sandbox.settle(transaction)

    assert answer == SimulatedTransaction(transaction_id=transaction, status="settled", completion_reason="SETTLEMENT")
    assert api.sandbox.state(transaction)["settled"] == 1250


def test_nothing_settles_twice_or_for_more_than_is_held(api):
    transaction = api.authorized(1250)

    assert api.settle(transaction, amount=1251).status == 400
    assert api.settle(transaction, amount=0).status == 400
    assert api.settle(transaction, amount=1250).status == 200
    assert api.settle(transaction, amount=1250).status == 400


def test_a_refund_credits_the_cardholder(api):
    """completionReason is REFUND, and an omitted amount refunds the full settlement amount."""
    transaction = api.settled(1250)
    before = money(api)

    answer = api.refund(transaction)

    assert {"transactionId": transaction, "status": "settled", "completionReason": "REFUND"} == answer.body
    assert moved(api, before) == {"available": 1250, "refunded": 1250}
    assert api.sandbox.events()[-1].payload["body"]["spend"]["amount"] == -1250


def test_refunds_may_repeat_until_the_settled_amount_is_used_up(api):
    transaction = api.settled(1000)

    assert [api.refund(transaction, amount=n).status for n in (400, 500, 101, 100, 1)] == [200, 200, 400, 200, 400]
    assert api.sandbox.state(transaction)["refunded"] == 1000


def test_a_refund_of_zero_has_no_effect(api):
    transaction = api.settled(1000)
    before, told = money(api), api.kinds()

    assert api.refund(transaction, amount=0).status == 200
    assert moved(api, before) == {}
    assert told == api.kinds()


def test_the_observed_behavior_wants_the_amounts(observed):
    transaction = observed.authorized(1250)
    expected = (400, "body must have required property 'amount'")

    answer = observed.settle(transaction)
    assert expected == (answer.status, answer.body["message"])
    assert observed.settle(transaction, amount=1250).body["completionReason"] == "settlement"

    answer = observed.refund(transaction)
    assert expected == (answer.status, answer.body["message"])
    assert observed.refund(transaction, amount=1250).body["completionReason"] == "refund"


def test_what_fits_no_state_is_400_and_changes_nothing(api):
    """A reversal of a settled transaction, a refund of an unsettled one, and any change of a declined one get a 400."""
    open_, settled = api.authorized(), api.settled()
    declined = api.authorize(declineReason="card_locked").body["transactionId"]
    before = [api.sandbox.state(one) for one in (open_, settled, declined)]

    for answer in (
        api.refund(open_),
        api.reverse(settled),
        api.reverse(declined),
        api.refund(declined),
        api.settle(declined, amount=1),
    ):
        assert (answer.status, answer.body["error"]) == (400, "BadRequestError")
    assert before == [api.sandbox.state(one) for one in (open_, settled, declined)]


@pytest.mark.parametrize("action", ["reverse", "refund", "settle"])
def test_an_unknown_transaction_is_404(api, action):
    answer = getattr(api, action)(NOBODY)

    assert (answer.status, answer.body["message"]) == (404, "Transaction not found")


def test_an_event_of_a_purchase_says_all_of_it(api):
    """Transaction events have the amounts in cents, the merchant, the cardholder and the times."""
    api.authorize(amount=1250)

    event = api.sandbox.events("transaction.created")[0].payload

    spend = event["body"]["spend"]
    assert (event["version"], event["body"]["type"], spend["status"]) == ("1.0.0", "spend", "pending")
    assert (
        spend["amount"],
        spend["authorizedAmount"],
        spend["currency"],
        spend["localCurrency"],
    ) == (1250, 1250, "usd", "usd")
    assert ("Corner Grocery", "5411", api.card) == (
        spend["merchantName"],
        spend["merchantCategoryCode"],
        spend["cardId"],
    )


def test_an_event_of_a_reduction_carries_the_change_and_the_new_total(api):
    transaction = api.authorized(1250)
    api.reverse(transaction, newAmount=1000)

    spend = api.sandbox.events("transaction.updated")[0].payload["body"]["spend"]

    assert (spend["authorizationUpdateAmount"], spend["amount"], spend["authorizedAmount"]) == (-250, 1000, 1000)
    assert spend["status"] == "reversed"


def test_a_full_reversal_is_also_completed_in_the_observed_behavior(observed):
    transaction = observed.authorized(1250)
    observed.reverse(transaction)

    updated, completed = (one.payload["body"]["spend"] for one in observed.sandbox.events()[-2:])

    assert (updated["status"], updated["amount"]) == ("reversed", 0)
    assert (completed["status"], completed["amount"], completed["postedAt"]) == (
        "completed",
        0,
        updated["authorizedAt"],
    )


def test_settlement_by_the_clock_where_it_is_set():
    """With the setting, authorizations settle automatically after the given time unless reversed."""
    api = Api(Sandbox(behavior={"settle_by_clock": 3600}))
    kept, reversed_ = api.authorized(1250), api.authorized(1250)
    api.reverse(reversed_)

    api.sandbox.advance(minutes=59)
    assert api.sandbox.state(kept)["status"] == "authorized"
    api.sandbox.advance(minutes=1)

    assert (api.sandbox.state(kept)["status"], api.sandbox.state(reversed_)["status"]) == ("settled", "reversed")
    assert api.sandbox.events()[-1].cause == "clock"


def test_cards_are_moved_by_controls(api):
    """A locked card authorizes nothing until unlocked, and a canceled one never again. Each change sends an event."""
    card, sandbox = api.card, api.sandbox

    assert CardState(id=card, status="locked") == sandbox.cards.lock(card)
    assert api.authorize(card).status == 400
    sandbox.cards.unlock(card)
    assert api.authorize(card).status == 200
    sandbox.cards.cancel(card)
    assert api.authorize(card).status == 400
    new = api.guide["cards"]["notActivated"][0]
    sandbox.cards.activate(new)
    assert api.authorize(new).status == 200

    events = sandbox.events("card.updated")
    assert [one.payload["body"]["status"] for one in events] == ["locked", "active", "canceled", "active"]


def test_a_card_can_be_issued(api):
    """A card can be issued to a user, with a limit. It is active, and an event is sent."""
    made = api.sandbox.create.card(api.user, 5000)

    assert made.status == "active"
    assert money(api, made.id) == {"limit": 5000, "available": 5000, "held": 0, "posted": 0, "refunded": 0}
    body = api.sandbox.events(kind="card.updated")[-1].payload["body"]
    assert (body["id"], body["limit"]) == (made.id, {"amount": 5000, "frequency": "allTime"})


@pytest.mark.parametrize("limit", [0, -1, 12.5, True, "100", 10**12 + 1])
def test_a_limit_of_a_card_is_a_whole_number_of_cents(api, limit):
    """A card's limit is a whole number of cents within a range."""
    with pytest.raises(UsageError, match="whole number of cents"):
        api.sandbox.create.card(api.user, limit)


def test_completed_events_have_a_reason_in_the_observed_behavior(api, observed):
    """In `observed` completed events have version 1.1.0 and a reason. In `documented` they have version 1.0.0."""
    for one in (api, observed):
        one.refund(one.settled(1250), amount=250)
        one.reverse(one.authorized(500))
    events = [one.payload for one in observed.sandbox.events("transaction.completed")]
    others = [one.payload for one in observed.sandbox.events("transaction.created")]

    assert [event["body"]["spend"]["completionReason"] for event in events] == [
        "settlement",
        "refund",
        "authorization_reversal",
    ]
    assert {event["version"] for event in events} == {"1.1.0"}
    assert all(event["version"] == "1.0.0" and "completionReason" not in event["body"]["spend"] for event in others)
    documented = [one.payload for one in api.sandbox.events("transaction.completed")]
    assert all(event["version"] == "1.0.0" and "completionReason" not in event["body"]["spend"] for event in documented)
