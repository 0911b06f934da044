"""The order of events in docs/events.md equals the order in which the sandbox sends them."""

import workbench as wb
from tests.each import each
from workbench.service.interface.events import EVENT_KINDS, ORDER
from workbench.service.interface.vocabulary import DeclineReason


def authorize(api, **more):
    return api.simulate_authorization(
        card_id=api.sandbox.guide()["cards"]["active"][0], amount=1000, currency="USD", merchant_name="Shop",
        merchant_category_code="5411", **more,
    ).transaction_id  # fmt: skip


def settled(api):
    transaction = authorize(api)
    api.sandbox.settle(transaction)
    return transaction


def review(api, status, user=None):
    user = user or api.sandbox.guide()["users"]["approved"][0]
    api.sandbox.review(user, status)
    return user


def accepted(api, user):
    review(api, "tosNotAccepted", user)
    api.sandbox.accept_terms(user)


HAPPENINGS = {
    "An authorization": (lambda api: None, lambda api, _: authorize(api)),
    "A declined authorization": (lambda api: None, lambda api, _: authorize(api, decline_reason="card_locked")),
    "A full or partial reversal": (authorize, lambda api, made: api.simulate_reversal(transaction_id=made, new_amount=400)),
    "A full reversal, with behavior `observed`": (authorize, lambda api, made: api.simulate_reversal(transaction_id=made, new_amount=wb.FULL)),
    "A settlement": (authorize, lambda api, made: api.sandbox.settle(made)),
    "A refund, with a separate id": (settled, lambda api, made: api.simulate_refund(transaction_id=made, amount=100)),
    "The user must accept the terms, and accepts": (lambda api: review(api, "pending"), accepted),
    "A review that changes nothing": (lambda api: review(api, "denied"), lambda api, made: review(api, "denied", made)),
}  # fmt: skip


@each("what", HAPPENINGS)
def test_the_order_is_as_stated(what):
    """Each action sends exactly the events that the page lists, with these statuses."""
    before, act = HAPPENINGS[what]
    with wb.connect(behavior="observed" if "observed" in what else "documented") as api:
        made = before(api)
        seen = len(api.inbox.events())
        act(api, made)
        sent = api.inbox.events()[seen:]

    shown = [(one.kind, getattr(one.body, "application_status", None) or one.body.spend.status) for one in sent]
    stated = [(one.partition(" ")[0], one.partition("(")[2].rstrip(")").partition(",")[0]) for one in ORDER[what]]
    assert stated == [(kind, str(status)) for kind, status in shown]


def test_every_decline_reason_has_its_words():
    """Every decline reason has its words and their meaning in events."""
    words = EVENT_KINDS["transaction.created"].words["spend.declinedReason"]

    assert {one.replace("_", " ") for one in DeclineReason} == set(words)
