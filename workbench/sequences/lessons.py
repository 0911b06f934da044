"""Sequences worth knowing: every documented transition, every refusal one meets, and longer stories.

Each one is a lesson to read (`print(catalogue["refund-partial"].to_toml())`) and a test of the sandbox.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from workbench.interface.rules import FULL, DeclineReason, EventApplicationStatus
from workbench.sequences.steps import EventWanted, Guide, Parameter, Sequence, Step, guide, param, ref, step

CARD = Parameter(name="card_id", type="id", doc="An active card", default=Guide("cards.active"))
AMOUNT = Parameter(name="amount", type="whole", doc="Amount authorized, in cents", default=2500)
TRANSACTION = ref("authorize.transaction_id")


def _authorize(name: str = "authorize", *, amount: Any = None, expect: Any = None, doc: str = "", **more: Any) -> Step:
    arguments = {
        "card_id": param("card_id"),
        "amount": param("amount") if amount is None else amount,
        "currency": "USD",
        "merchant_name": "Corner Grocery",
        "merchant_category_code": "5411",
        **more,
    }
    if expect is None:
        expect = {"result": {"status": "authorized"}, "events": ("transaction.requested", "transaction.created")}
    return step(name, "simulate_authorization", doc=doc, expect=_events(expect), **arguments)


def _events(expect: Mapping[str, Any]) -> dict[str, Any]:
    events = expect.get("events", ())
    return {**expect, "events": tuple(EventWanted(kind=one) if isinstance(one, str) else one for one in events)}


def _settle(name: str = "settle", of: Any = TRANSACTION, **arguments: Any) -> Step:
    return step(
        name,
        "settle",
        transaction_id=of,
        expect=_events({"events": ("transaction.completed",)}),
        doc="The interface has no call for it; a control of the sandbox.",
        **arguments,
    )


def _reverse(name: str, new_amount: Any, of: Any = TRANSACTION, **expect: Any) -> Step:
    return step(name, "simulate_reversal", transaction_id=of, new_amount=new_amount, expect=_events(expect))


def _refund(name: str, amount: Any, of: Any = TRANSACTION, **expect: Any) -> Step:
    return step(name, "simulate_refund", transaction_id=of, amount=amount, expect=_events(expect))


def _refused(status: int) -> dict[str, Any]:
    return {"error": {"status": status}}


def _card(name: str, doc: str, *steps: Step, profile: str | None = None) -> Sequence:
    return Sequence(name=name, doc=doc, parameters=(CARD, AMOUNT), steps=steps, profile=profile)


REFUNDED: Mapping[str, Any] = {"result": {"completion_reason": "REFUND"}, "events": ("transaction.completed",)}


def _transactions() -> Iterator[Sequence]:
    yield _card(
        "authorize",
        "A merchant asks, the card's balance is held. Nothing is posted yet.",
        _authorize(
            expect={
                "result": {"status": "authorized"},
                "money": {"held": 2500, "available": -2500},
                "events": ("transaction.requested", "transaction.created"),
            }
        ),
    )
    for reason in DeclineReason:
        yield _card(
            f"decline-{reason.replace('_', '-')}",
            f"A decline asked for with the reason {reason}: no money moves.",
            _authorize(
                decline_reason=str(reason),
                expect={
                    "result": {"status": "declined", "declined_reason": str(reason)},
                    "money": {"held": 0, "available": 0},
                    "events": ("transaction.created",),
                },
            ),
        )
    yield _card(
        "reverse-partial",
        "The merchant needs less: the hold shrinks to newAmount, the rest is free again.",
        _authorize(),
        _reverse(
            "reverse",
            1000,
            result={"status": "authorized"},
            money={"held": 1000, "available": -1000},
            events=("transaction.updated",),
        ),
    )
    yield _card(
        "reverse-in-two-parts",
        "Two partial reversals: each sets what remains, it does not subtract.",
        _authorize(),
        _reverse("first", 2000, money={"held": 2000}),
        _reverse("second", 500, money={"held": 500, "available": -500}),
    )
    yield _card(
        "reverse-to-zero",
        "newAmount 0 is sent as 0, and releases the whole hold.",
        _authorize(),
        _reverse("reverse", 0, money={"held": 0, "available": 0}),
    )
    yield _card(
        "reverse-full",
        "FULL leaves newAmount out: the whole hold is released, no posted transaction is created.",
        _authorize(),
        _reverse("reverse", FULL, money={"held": 0, "available": 0, "posted": 0}, events=("transaction.completed",)),
    )
    yield _card(
        "settle",
        "The hold becomes a posted transaction.",
        _authorize(),
        _settle(),
    )
    yield _card(
        "settle-after-partial-reversal",
        "What remains of the hold is what settles.",
        _authorize(),
        _reverse("reverse", 1500, money={"held": 1500}),
        _settle(),
        _refund("look", 0, money={"posted": 1500, "held": 0, "available": -1500}),
    )
    yield _card(
        "refund-partial",
        "A part of a settled transaction goes back to the cardholder.",
        _authorize(),
        _settle(),
        _refund("refund", 700, **REFUNDED, money={"posted": 2500, "refunded": 700, "available": -1800}),
    )
    yield _card(
        "refund-down-to-zero",
        "Partial refunds until nothing is left; one more is refused.",
        _authorize(),
        _settle(),
        _refund("first", 1500, **REFUNDED),
        _refund("second", 1000, money={"refunded": 2500, "available": 0}),
        _refund("too much", 1, **_refused(400)),
    )
    yield _card(
        "refund-full",
        "The settled amount, said in cents.",
        _authorize(),
        _settle(),
        _refund("refund", param("amount"), **REFUNDED, money={"refunded": 2500, "available": 0}),
    )
    yield _card(
        "refund-amount-omitted",
        "FULL leaves the amount out: the full settlement amount is refunded.",
        _authorize(),
        _settle(),
        _refund("refund", FULL, **REFUNDED, money={"refunded": 2500, "available": 0}),
        profile="documented",
    )
    yield _card(
        "refund-amount-omitted-observed",
        "Services met in practice refuse a refund without an amount.",
        _authorize(),
        _settle(),
        _refund("refund", FULL, **_refused(400), money={"refunded": 0, "posted": 2500}),
        profile="observed",
    )
    yield _card(
        "refund-zero",
        "A refund of 0 is sent as 0, accepted, and moves nothing.",
        _authorize(),
        _settle(),
        _refund("refund", 0, money={"refunded": 0, "posted": 2500}),
    )


def _wrong_orders() -> Iterator[Sequence]:
    yield _card(
        "wrong-refund-before-settlement",
        "Only a settled transaction can be refunded: 400, and the hold stays.",
        _authorize(),
        _refund("refund", 500, **_refused(400), money={"held": 2500, "refunded": 0}),
    )
    yield _card(
        "wrong-reversal-after-settlement",
        "Only an open authorization can be reversed: 400, and the posting stays.",
        _authorize(),
        _settle(),
        _reverse("reverse", FULL, **_refused(400), money={"posted": 2500}),
    )
    yield _card(
        "wrong-reversal-twice",
        "A hold that was released cannot be released again.",
        _authorize(),
        _reverse("reverse", FULL),
        _reverse("again", FULL, **_refused(400), money={"held": 0, "available": 0}),
    )
    yield _card(
        "wrong-reversal-above-the-hold",
        "A reversal never makes a hold larger.",
        _authorize(),
        _reverse("reverse", 9999, **_refused(400), money={"held": 2500}),
    )
    yield _card(
        "wrong-refund-above-the-settlement",
        "More than was settled cannot be refunded.",
        _authorize(),
        _settle(),
        _refund("refund", 2501, **_refused(400), money={"refunded": 0, "posted": 2500}),
    )
    yield _card(
        "wrong-reversal-of-a-decline",
        "A declined transaction holds nothing.",
        _authorize(decline_reason="invalid_pin", expect={"result": {"status": "declined"}}),
        _reverse("reverse", FULL, **_refused(400)),
    )
    yield _card(
        "wrong-card-locked",
        "A locked card is refused with 400, which is not a decline; unlocked, it works again.",
        step("lock", "lock_card", card_id=param("card_id"), expect=_events({"events": ("card.updated",)})),
        _authorize("refused", expect=_refused(400)),
        step("unlock", "unlock_card", card_id=param("card_id"), expect=_events({"events": ("card.updated",)})),
        _authorize(),
        _reverse("release", FULL),
    )
    yield Sequence(
        name="wrong-ids",
        doc="Ids that nobody has: 404, whatever the operation.",
        steps=(
            _with_unknown(
                "card",
                "simulate_authorization",
                card_id=_NOBODY,
                amount=1,
                currency="USD",
                merchant_name="Nobody",
                merchant_category_code="5411",
            ),
            _with_unknown("transaction", "simulate_refund", transaction_id=_NOBODY, amount=1),
            _with_unknown("dispute", "update_dispute", dispute_id=_NOBODY, status="canceled"),
            _with_unknown("account", "delete_payment_account", payment_account_id=_NOBODY),
        ),
    )


_NOBODY = "00000000-0000-4000-8000-00000000dead"


def _with_unknown(name: str, do: str, **arguments: Any) -> Step:
    return step(name, do, expect=_refused(404), **arguments)


PERSON: Mapping[str, Any] = {
    "birth_date": "1990-02-01",
    "national_id": "000123456",
    "country_of_issue": "US",
    "email": "sequence@example.com",
    "address": {
        "line1": "1 Example Street",
        "city": "New York",
        "region": "NY",
        "postal_code": "10001",
        "country_code": "US",
    },
    "ip_address": "203.0.113.10",
    "occupation": "15-1252",
    "annual_salary": "50000-100000",
    "account_purpose": "everyday",
    "expected_monthly_volume": "1000-5000",
    "wallet_address": "0x1234567890abcdef1234567890abcdef12345678",
}

SHOWN = {"notStarted": "pending", "tosNotAccepted": "pending", "exempt": "approved"}
"""How a status of events shows in answers. assumed: event_statuses_shown"""


def _apply(last_name: str, expect: Mapping[str, Any]) -> Step:
    return step(
        "apply", "create_user_application", expect=_events(expect), first_name="Test", last_name=last_name, **PERSON
    )


def _updated(status: str, within: timedelta = timedelta(0)) -> EventWanted:
    return EventWanted(kind="user.updated", within=within, where={"applicationStatus": status})


def _applications() -> Iterator[Sequence]:
    for status in EventApplicationStatus:
        word = status[0].upper() + status[1:]
        yield Sequence(
            name=f"application-{_dashed(status)}",
            doc=f"A status word in the last name chooses the outcome of the review: {status}.",
            profile="documented" if status in SHOWN else None,
            steps=(
                _apply(
                    f"testing{word}",
                    {"result": {"application_status": SHOWN.get(status, str(status))}, "events": (_updated(status),)},
                ),
            ),
        )
    yield Sequence(
        name="application-reviewed-by-the-clock",
        doc="Without a status word the application is pending, and approved by the sandbox's clock.",
        steps=(
            _apply("Example", {"result": {"application_status": "pending"}}),
            step("review", "advance", by="2m", expect=_events({"events": (_updated("approved"),)})),
        ),
    )
    yield Sequence(
        name="application-terms-then-approved",
        doc="Identity passed, terms pending; after acceptance a follow-up event reports approved.",
        steps=(
            _apply("testingTosNotAccepted", {"events": (_updated("tosNotAccepted"),)}),
            step(
                "accept",
                "accept_terms",
                user_id=ref("apply.id"),
                expect=_events({"events": (_updated("approved"),)}),
            ),
        ),
    )
    yield Sequence(
        name="application-more-information-then-approved",
        doc="More information is asked for, then the review ends well.",
        steps=(
            _apply("testingNeedsInformation", {"result": {"application_status": "needsInformation"}}),
            _review("look again", "manualReview"),
            _review("approve", "approved"),
        ),
    )
    yield Sequence(
        name="application-denied-with-reasons",
        doc="A denial carries the provider's labels, separated by commas.",
        steps=(
            _apply("Example", {"result": {"application_status": "pending"}}),
            step(
                "deny",
                "review",
                user_or_owner_id=ref("apply.id"),
                status="denied",
                reason="DOCUMENT_EXPIRED, SELFIE_MISMATCH",
                expect=_events({"events": (_updated("denied"),)}),
            ),
        ),
    )


def _review(name: str, status: str) -> Step:
    return step(
        name, "review", user_or_owner_id=ref("apply.id"), status=status, expect=_events({"events": (_updated(status),)})
    )


def _dashed(word: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in word)


def _others() -> Iterator[Sequence]:
    yield Sequence(
        name="dispute-canceled-with-evidence",
        doc="The only status one can set is canceled; evidence can come with it. A second time is refused.",
        parameters=(Parameter(name="dispute_id", type="id", doc="An open dispute", default=guide("disputes.pending")),),
        steps=(
            step("evidence", "update_dispute", dispute_id=param("dispute_id"), text_evidence="The goods never came."),
            step(
                "cancel",
                "update_dispute",
                dispute_id=param("dispute_id"),
                status="canceled",
                text_evidence="They came after all.",
                expect={"result": {"status": "canceled"}},
            ),
            step("again", "update_dispute", dispute_id=param("dispute_id"), status="canceled", expect=_refused(400)),
        ),
    )
    yield Sequence(
        name="micro-deposit",
        doc="A trial deposit below 2.00 USD raises an event; at 2.00 none does.",
        steps=(
            step("trial", "deposit", amount="0.37", expect=_events({"events": ("microDeposit.received",)})),
            step("whole", "deposit", amount="2.00"),
        ),
    )
    yield Sequence(
        name="payment-account-made-and-deleted",
        doc="A destination for transfers is created, deleted, and gone.",
        parameters=(Parameter(name="user_id", type="id", doc="A user", default=guide("users.approved")),),
        steps=(
            step(
                "create",
                "create_payment_account",
                type="externalFiatAccount",
                nickname="Sequence account",
                user_id=param("user_id"),
                external_fiat_account={
                    "beneficiary_type": "individual",
                    "beneficiary_first_name": "Test",
                    "beneficiary_last_name": "Example",
                    "currency": "usd",
                    "beneficiary_address": {
                        "address_line1": "1 Example Street",
                        "city": "New York",
                        "region": "NY",
                        "postal_code": "10001",
                        "country_code": "US",
                    },
                    "bank_name": "Example Bank",
                    "account_number": "000012345678",
                    "routing_number": "021000021",
                },
            ),
            step("delete", "delete_payment_account", payment_account_id=ref("create.id")),
            step("again", "delete_payment_account", payment_account_id=ref("create.id"), expect=_refused(404)),
        ),
    )
    yield _month()
    yield _bad_day()


def _purchase(name: str, merchant: str, mcc: str, amount: int) -> tuple[Step, Step]:
    return (
        _authorize(name, amount=amount, merchant_name=merchant, merchant_category_code=mcc),
        _settle(f"{name} settles", ref(f"{name}.transaction_id")),
    )


def _month() -> Sequence:
    fuel = "fuel"
    return Sequence(
        name="a-cardholders-month",
        doc="Groceries, a tank of fuel that settles lower, a hotel, a returned coat: a month on one card.",
        parameters=(CARD,),
        steps=(
            *_purchase("groceries", "Corner Grocery", "5411", 6480),
            step("two days", "advance", by="2d"),
            _authorize(fuel, amount=10000, merchant_name="Highway Fuel", merchant_category_code="5542"),
            _reverse("fuel corrected", 4315, ref("fuel.transaction_id"), events=("transaction.updated",)),
            _settle("fuel settles", ref("fuel.transaction_id")),
            step("a week", "advance", by="7d"),
            _authorize("hotel", amount=42000, merchant_name="Harbour Hotel", merchant_category_code="7011"),
            step("the stay", "advance", by="3d"),
            _settle("hotel settles", ref("hotel.transaction_id")),
            *_purchase("coat", "Coats and More", "5651", 18900),
            step("thinking", "advance", by="5d"),
            _refund("coat returned", FULL, ref("coat.transaction_id"), **REFUNDED),
            *_purchase("coffee", "Coffee Corner", "5814", 450),
            _authorize(
                "wrong pin",
                amount=2000,
                decline_reason="invalid_pin",
                merchant_name="Cash Machine",
                merchant_category_code="6011",
                expect={"result": {"status": "declined"}},
            ),
            _refund(
                "end of the month",
                0,
                ref("coffee.transaction_id"),
                money={"held": 0, "posted": 6480 + 4315 + 42000 + 18900 + 450, "refunded": 18900, "available": -53245},
            ),
        ),
        profile="documented",
    )


def _bad_day() -> Sequence:
    return Sequence(
        name="a-bad-day",
        doc="A blocked merchant, a wrong pin, a card locked in haste, a hold that has to be released.",
        parameters=(CARD,),
        steps=(
            _authorize(
                "casino",
                amount=50000,
                decline_reason="blocked_mcc",
                merchant_category_code="7995",
                expect={"result": {"declined_reason": "blocked_mcc"}},
            ),
            _authorize(
                "machine",
                amount=10000,
                decline_reason="invalid_pin",
                merchant_category_code="6011",
                expect={"result": {"declined_reason": "invalid_pin"}},
            ),
            _authorize(
                "deposit for a car", amount=30000, merchant_name="Cars for a Day", merchant_category_code="7512"
            ),
            step("lock", "lock_card", card_id=param("card_id")),
            _authorize("refused", amount=1200, expect=_refused(400)),
            _reverse("car canceled", FULL, ref("deposit for a car.transaction_id")),
            step("unlock", "unlock_card", card_id=param("card_id")),
            _authorize("soup", amount=1200, merchant_name="Soup Kitchen", merchant_category_code="5812"),
            _refund("too early", 1200, ref("soup.transaction_id"), **_refused(400)),
            _settle("soup settles", ref("soup.transaction_id")),
            _reverse(
                "too late",
                FULL,
                ref("soup.transaction_id"),
                **_refused(400),
                money={"held": 0, "posted": 1200, "available": -1200},
            ),
        ),
    )


def _all() -> Iterator[Sequence]:
    yield from _transactions()
    yield from _wrong_orders()
    yield from _applications()
    yield from _others()


catalogue: Mapping[str, Sequence] = {one.name: one for one in _all()}
