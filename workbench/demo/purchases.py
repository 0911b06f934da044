"""Purchases, and the money at each step."""

from typing import Any

from workbench import rendering
from workbench.demo.cast import Cast, first, fit, told_body
from workbench.demo.stage import Money, Stage
from workbench.interface.rules import FULL


class _Ledger:
    """The money of one card, noted after each step."""

    def __init__(self, cast: Cast, card: str) -> None:
        self.cast, self.card = cast, card
        self.rows: list[tuple[Any, ...]] = []
        self.note("at first", "")

    def note(self, what: str, status: str) -> None:
        balance = self.cast.api.sandbox.balance(self.card)
        shown = [Money(balance[name]) for name in ("available", "held", "posted", "refunded")]
        self.rows.append((what, f"status:{status}" if status else "", *shown))

    def show(self, stage: Stage) -> None:
        stage.gap()
        stage.grid(("step", "answer", "available", "held", "posted", "refunded"), self.rows)


def purchases(stage: Stage, cast: Cast) -> None:
    """Authorize and reverse a part; authorize, settle and refund."""
    card = first(cast.guide["cards"]["active"])
    api, sandbox = cast.api, cast.api.sandbox
    stage.chapter("A purchase that shrinks, and one that is given back")
    stage.say(
        "First a hotel that holds 120.00 and then asks for less: a partial reversal lowers the hold and posts nothing. "
        "Then a shop that settles 45.90 and refunds it."
    )
    ledger = _Ledger(cast, card)
    stage.call(f'stay = api.simulate_authorization(card_id="{card}", amount=12000, …)')
    stay = api.simulate_authorization(
        card_id=card, amount=12000, currency="USD", merchant_name="Example Hotel", merchant_category_code="7011"
    )
    ledger.note("authorize 120.00", str(stay.status))
    stage.call("api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=8050)", follows=True)
    answer = api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=8050)
    ledger.note("reverse down to 80.50", str(answer.status))
    stage.call(f'shop = api.simulate_authorization(card_id="{card}", amount=4590, …)', follows=True)
    shop = api.simulate_authorization(
        card_id=card, amount=4590, currency="USD", merchant_name="Example Books", merchant_category_code="5942"
    )
    ledger.note("authorize 45.90", str(shop.status))
    stage.call("api.sandbox.settle(shop.transaction_id)    # a control: the interface has no call for it", follows=True)
    sandbox.settle(shop.transaction_id)
    ledger.note("settle 45.90", "settled")
    stage.call("api.simulate_refund(transaction_id=shop.transaction_id, amount=wb.FULL)", follows=True)
    answer = api.simulate_refund(transaction_id=shop.transaction_id, amount=FULL)
    ledger.note(f"refund 45.90 ({answer.completion_reason})", str(answer.status))
    ledger.show(stage)


def decline(stage: Stage, cast: Cast) -> None:
    """Have a purchase declined."""
    stage.chapter("A purchase that is declined")
    body = cast.bodies.request("simulate_authorization", "decline")
    made = fit(cast, body)
    ledger = _Ledger(cast, made.request.card_id)
    stage.call(
        'api.send(api.from_wire("simulate_authorization", body))    # asks for '
        + (made.request.decline_reason or "no decline")
    )
    told_body(stage, cast, body, made)
    answer = stage.advised(lambda: cast.api.send(made.request))
    words = rendering.word(str(answer.declined_reason)) if answer.declined_reason else ""
    ledger.note(
        f"authorize {rendering.money(made.request.amount).partition(' ')[0]}" + (f": {words}" if words else ""),
        str(answer.status),
    )
    ledger.show(stage)
    stage.note("Nothing moved: a declined authorization holds no money.")
