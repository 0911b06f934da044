"""The list of events: envelopes, order, causes, and delivery in process. Source: Events."""

import hashlib
import hmac
import json

import pytest

from tests.sandbox.driver import Api
from workbench import connect
from workbench.base.schema import checks
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals


def cause_all(api):
    transaction = api.authorized()
    api.reverse(transaction, newAmount=1000)
    api.settle(transaction, amount=1000)
    api.refund(transaction)
    api.authorize(declineReason="card_locked")
    api.apply(lastName="needsVerification")
    api.sandbox.review(api.user, "denied", status_change_reason="provider_initiated")
    api.sandbox.deposit()
    api.sandbox.cards.lock(api.guide["cards"]["active"][1])


def test_every_event_reads_as_its_record_without_a_flag(api):
    """Every event is read as its record, without unusual members."""
    cause_all(api)

    for one in api.sandbox.events():
        event = one.event
        assert type(event.body).__name__ in {"UserUpdated", "TransactionChanged", "MicroDepositReceived", "CardUpdated"}
        assert checks.flags(event) == ()
        assert checks.flags(event.body) == ()


def test_an_inbox_receives_the_events_that_the_sandbox_lists():
    """An inbox receives the same typed events that the sandbox lists."""
    with connect() as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        api.simulate_authorization(
            card_id=card, amount=500, currency="USD", merchant_name="A", merchant_category_code="5411"
        )

        assert [listed.event for listed in api.sandbox.events()] == api.inbox.events() != []


def test_events_are_numbered_and_linked_to_what_caused_them(api):
    """Both events of an authorization have its request id. Controls and the clock are causes too."""
    cause_all(api)

    events = api.sandbox.events()

    assert list(range(1, len(events) + 1)) == [one.sequence for one in events]
    assert events[0].request_id == events[1].request_id != events[2].request_id
    assert [one.cause for one in events[:5]] == [
        "simulate_authorization",
        "simulate_authorization",
        "simulate_reversal",
        "settle",
        "simulate_refund",
    ]
    assert {"review", "deposit", "lock_card"} <= {one.cause for one in events}
    assert len(events) == len({one.payload["id"] for one in events})
    logged = {one.request_id for one in api.sandbox.requests() if one.request_id}
    assert logged <= {one.request_id for one in events}


def test_events_can_be_asked_for_by_kind_and_from_a_number_on(api):
    cause_all(api)
    events = api.sandbox.events()

    assert events[4:] == api.sandbox.events(since=4)
    assert [one for one in events if one.payload["resource"] == "user"] == api.sandbox.events("user.updated")


def test_a_refused_request_sends_no_event(api):
    api.authorize(amount=0)
    api.authorize(api.guide["cards"]["locked"][0])

    assert api.sandbox.events() == []


def test_each_event_is_signed(api):
    """The signature is the hex HMAC-SHA256 of the raw body with the API key."""
    cause_all(api)

    drained, _ = internals(api.sandbox).drain()

    assert [one.payload for one in api.sandbox.events()] == [json.loads(bytes(body)) for _, _, body in drained]
    for _, headers, body in drained:
        assert hmac.new(api.key.encode(), body, hashlib.sha256).hexdigest() == headers["signature"]


def test_a_drain_gives_what_came_after_a_number(api):
    cause_all(api)

    everything, last = internals(api.sandbox).drain(0)
    rest, same = internals(api.sandbox).drain(last - 2)

    assert (last, last) == (same, len(api.sandbox.events()))
    assert everything[-2:] == rest
    assert ([], last) == internals(api.sandbox).drain(last)


def test_a_tenant_gets_its_own_events_alone(sandbox):
    """Deliveries for one key contain no event of another tenant."""
    mine, other = Api(sandbox), Api(sandbox, "company team")
    mine.authorize()
    other.authorize()

    for api in (mine, other):
        drained, _ = internals(sandbox).drain(0, api.key)
        cards = {json.loads(body)["body"]["spend"]["cardId"] for _, _, body in drained}
        assert {api.card} == cards
    assert internals(sandbox).drain(0, "nobody's key") == ([], 4)


def test_an_event_shows_the_record_as_it_was(api):
    """Later changes of a record do not change its earlier events."""
    transaction = api.authorized(1250)
    before = api.sandbox.events()

    api.settle(transaction, amount=100)
    api.update_user(api.sandbox.state(transaction)["user"], firstName="Other")

    assert before == api.sandbox.events()[:2]


def test_events_follow_the_wire_names_of_a_profile():
    api = Api(Sandbox(wire_names={"spend.merchant_name": "merchant"}))
    api.authorize()

    assert "merchant" in api.sandbox.events()[0].payload["body"]["spend"]


@pytest.mark.slow
def test_events_are_drained_in_parts():
    """A sandbox returns at most a thousand deliveries at a time, and an inbox pulls them all."""
    with connect() as api:
        card = api.sandbox.guide()["cards"]["active"][0]
        for _ in range(1_020):
            api.sandbox.cards.lock(card)
            api.sandbox.cards.unlock(card)
        first, last = internals(api.sandbox).drain()
        numbers = [number for number, *_ in first]

        assert (len(first), numbers[-1]) == (1_000, last)
        assert len(api.inbox.events()) == internals(api.sandbox).last_event() == 2_040
