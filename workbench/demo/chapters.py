"""The chapters of the tour, each one job of the main job."""

from collections.abc import Mapping
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs

from workbench import faces
from workbench.demo.bodies import Bodies, Fitted, fitted
from workbench.demo.picture import Months, draw
from workbench.demo.reading import Reading, read_all
from workbench.demo.stage import Money, Stage
from workbench.errors import ApiError, visible
from workbench.faces.values import NO_FUNDS, TEST_CHAINS
from workbench.interface import walk
from workbench.interface.assumptions import assumptions
from workbench.interface.fields import Known
from workbench.interface.rewards import MAX_LIMIT, MAX_OFFSET, RewardsItem
from workbench.interface.rules import FULL
from workbench.session import Session, connect

SEED = 7


@attrs.frozen(kw_only=True)
class Cast:
    """Who and what takes part: a session, its guide, and the bodies."""

    api: Session
    guide: Mapping[str, Any]
    bodies: Bodies
    out: Path


def tour(*, bodies: Path | None = None, out: Path | None = None, stage: Stage | None = None) -> None:
    """Tell the main job, each step a real call on a sandbox inside this process.

    Args:
        bodies: A folder of request bodies and answers; what it lacks comes from this package.
        out: Where the picture goes; the folder `out` here where left out.

    Raises:
        InvalidRequest: A body breaks the interface's rules, or an answer cannot be read.
    """
    stage = stage or Stage()
    held = Bodies(bodies)
    with closing(connect(seed=SEED)) as api:
        cast = Cast(
            api=api,
            guide=api.sandbox.guide(),
            bodies=held,
            out=out or Path("out"),
        )
        stage.title(
            "Card issuing workbench: the main job, start to end",
            "Every line below is a real call of the client. It talks to a sandbox inside this process: no key, no "
            "network, no money. Private values are masked wherever they are shown.",
        )
        _contracts(stage, cast)
        _withdrawal(stage, cast)
        _application(stage, cast)
        _payment_account(stage, cast)
        _rewards(stage, cast)
        _purchases(stage, cast)
        _decline(stage, cast)
        _events(stage, cast)
        _answers(stage, cast)
        _guesses(stage, cast)


def _contracts(stage: Stage, cast: Cast) -> None:
    stage.chapter("What we hold, and where to deposit")
    stage.say(
        "A tenant's money sits in smart contracts. One call lists them, with their tokens and with the two ways to "
        "deposit: to an address on the chain, or by bank transfer to a virtual account."
    )
    stage.call("api.list_contracts()")
    contracts = cast.api.list_contracts()
    stage.gap()
    stage.grid(
        ("contract", "chain", "version", "balances", "deposits by"),
        [
            (
                one.id,
                str(one.chain_id),
                str(one.contract_version),
                ", ".join(token.balance or "–" for token in one.tokens),
                ", ".join(["chain"] * bool(one.deposit_address) + _rails(one)) or "–",
            )
            for one in contracts
        ],
    )
    stage.gap()
    stage.say("To deposit on the chain:")
    stage.grid(
        ("chain", "deposit address", "note"),
        [(str(one.chain_id), one.deposit_address, _warning(one)) for one in contracts if one.deposit_address],
    )
    stage.gap()
    stage.say("To deposit by bank transfer, as it is turned into tokens of the first contract:")
    first = next(one for one in contracts if one.onramp)
    accounts = [(rail, getattr(first.onramp, rail)) for rail in _rails(first)]
    stage.grid(
        ("rail", "bank", "routing number", "account number", "note"),
        [
            (rail, one.beneficiary_bank_name or "–", one.routing_number, _masked(one, "accountNumber"), _warning(first))
            for rail, one in accounts
        ],
    )


def _rails(contract: Any) -> list[str]:
    return [rail for rail in ("ach", "rtp", "wire") if contract.onramp and getattr(contract.onramp, rail)]


def _warning(contract: Any) -> str:
    return NO_FUNDS if contract.chain_id in TEST_CHAINS else ""


def _masked(record: Any, wire: str) -> str:
    return str(walk.masked(record)[wire])


def _withdrawable(cast: Cast) -> Any:
    """Give an EVM contract of version 2 with a balance and an admin."""
    return next(
        one
        for one in cast.api.list_contracts()
        if one.admin_addresses
        and str(one.contract_version) == "2"
        and str(one.proxy_address).startswith("0x")
        and Decimal(one.tokens[0].balance or 0) >= 100
    )


def _withdrawal(stage: Stage, cast: Cast) -> None:
    stage.chapter("A withdrawal signature, and what it allows")
    stage.say(
        "This is the one call that authorizes moving funds, so nothing in it has a default that matters: whether the "
        "amount is in cents or in the token's own units has to be said. It is never sent twice by itself."
    )
    contract = _withdrawable(cast)
    token, admin = contract.tokens[0].address, contract.admin_addresses[0]
    stage.call(
        f"api.sign_withdrawal(chain_id={contract.chain_id}, token=contract.tokens[0].address,\n"
        '    amount="2500", is_amount_native=False,\n'
        "    admin_address=contract.admin_addresses[0], recipient_address=contract.admin_addresses[0])"
    )
    signed = cast.api.sign_withdrawal(
        chain_id=contract.chain_id, token=token, amount="2500", is_amount_native=False,
        admin_address=admin, recipient_address=admin,
    )  # fmt: skip
    stage.show(signed)
    stage.gap()
    until = faces.moment(signed.expires_at) if signed.expires_at else "not said"
    stage.say("What it allows, in words:")
    stage.facts(
        {
            "who": admin,
            "may take": f"{faces.money(2500)} of token {token}",
            "from": contract.proxy_address,
            "to": admin,
            "until": until,
        }
    )
    stage.note("The signature itself stays masked until it is asked for, and is in no log, journal or picture.")


def _said(stage: Stage, cast: Cast, body: Any, made: Fitted) -> None:
    where = "this package" if body.own else f"{cast.bodies.folder}"
    stage.note(f"The body is {body.name}, from {visible(where, 200)}.")
    if made.replaced:
        stage.note(
            f"{', '.join(made.replaced)} in it is not known to the seeded world; an id of the world stands in its place."
        )


def _application(stage: Stage, cast: Cast) -> None:
    stage.chapter("A consumer application, from a file on disk to approved")
    stage.say(
        "An application is checked here before it is sent: every problem at once, each with its path, and never a "
        "private value in the message. Then it goes through review, and each change of status comes as an event."
    )
    body = cast.bodies.request("create_user_application", "personal")
    made = _fit(cast, body)
    stage.call('user = api.send(wb.from_wire("create_user_application", body))')
    _said(stage, cast, body, made)
    before = len(cast.api.sandbox.events())
    user = stage.advised(lambda: cast.api.send(made.request))
    stage.gap()
    stage.show(user)
    if user.application_status != "approved":
        for status in ("manualReview", "approved"):
            stage.call(f'api.sandbox.review(user.id, "{status}")', follows=status == "approved")
            cast.api.sandbox.review(user.id, status)
    stage.gap()
    stage.say("The events that this caused, as a webhook would bring them:")
    _event_lines(stage, cast, cast.api.sandbox.events()[before:])


def _event_lines(stage: Stage, cast: Cast, listed: Any) -> None:
    rows = []
    for one in listed:
        event = cast.api.wires.read_event(one["event"])
        spend = getattr(event.body, "spend", None)
        status = getattr(spend or event.body, "status", None) or getattr(event.body, "application_status", None)
        amount = getattr(spend, "amount", None)
        rows.append(
            (
                event.kind,
                f"status:{status}" if status else "",
                "" if amount is None else Money(amount),
                faces.label(one["cause"]),
            )
        )
    stage.grid(("event", "status", "amount", "caused by"), rows)


def _payment_account(stage: Stage, cast: Cast) -> None:
    stage.chapter("Somewhere to pay out to, made and removed")
    body = cast.bodies.request("create_payment_account", "individual", "business")
    made = _fit(cast, body)
    stage.call('account = api.send(wb.from_wire("create_payment_account", body))')
    _said(stage, cast, body, made)
    account = stage.advised(lambda: cast.api.send(made.request))
    stage.gap()
    stage.facts(
        {
            "account": account.id,
            "nickname": account.nickname,
            "belongs to": account.user_id or account.company_id,
            "account number": _masked(account.external_fiat_account, "accountNumber"),
        }
    )
    stage.call("api.delete_payment_account(payment_account_id=account.id)")
    cast.api.delete_payment_account(payment_account_id=account.id)
    stage.note("Deleted. A second try is refused, in the service's own words:")
    try:
        cast.api.delete_payment_account(payment_account_id=account.id)
    except ApiError as error:
        stage.note(str(error))


def _all_rewards(cast: Cast, user: str) -> list[RewardsItem]:
    """Read all pages: the interface gives no total and no cursor, so an empty page is the end."""
    items: list[RewardsItem] = []
    for offset in range(0, MAX_OFFSET + 1, MAX_LIMIT):
        page = cast.api.list_rewards_activity(user_id=user, limit=MAX_LIMIT, offset=offset)
        if not page.items:
            break
        items += page.items
    return items


def _by_month(items: list[RewardsItem]) -> dict[str, dict[str, Decimal]]:
    months: dict[str, dict[str, Decimal]] = {}
    dated = [(item.created_at, item.points, str(item.type)) for item in items if item.created_at and item.points]
    for at, points, kind in sorted(dated):
        month = months.setdefault(f"{at:%Y-%m}", {})
        month[kind] = month.get(kind, Decimal(0)) + points
    return months


def _rewards(stage: Stage, cast: Cast) -> None:
    stage.chapter("A year of rewards, summed exactly and drawn")
    user = _first(cast.guide["rewards_users"])
    stage.say(
        "Points travel as decimal text, and are summed as decimals: not one float on the way. The interface gives no "
        "total, so all pages are read, to the first empty one."
    )
    stage.call(f'api.list_rewards_activity(user_id="{user}", limit={MAX_LIMIT}, offset=0), and so on')
    items = _all_rewards(cast, user)
    months = _by_month(items)
    earned, redeemed = (
        sum((month.get(kind, Decimal(0)) for month in months.values()), Decimal(0)) for kind in ("earned", "redeemed")
    )
    stage.gap()
    _bars(stage, months)
    stage.gap()
    stage.facts(
        {
            "items read": f"{len(items):,}",
            "points earned": format(earned, ",f"),
            "points redeemed": format(redeemed, ",f"),
        }
    )
    picture = cast.out / "rewards.png"
    draw(months, picture, title="Rewards by month")
    stage.gap()
    stage.say("The same as a picture:")
    stage.note(str(picture))


def _bars(stage: Stage, months: Months) -> None:
    kinds = ("earned", "redeemed")
    most = {kind: max((month.get(kind, Decimal(0)) for month in months.values()), default=Decimal(0)) for kind in kinds}

    def drawn(kind: str, month: Mapping[str, Decimal]) -> tuple[Decimal, str]:
        points = month.get(kind, Decimal(0))
        return points, "█" * int((points * 22 / (most[kind] or 1)).to_integral_value())

    stage.grid(
        ("month", "earned", "", "redeemed", ""),
        [(name, *drawn("earned", month), *drawn("redeemed", month)) for name, month in months.items()],
    )


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


def _purchases(stage: Stage, cast: Cast) -> None:
    card = _first(cast.guide["cards"]["active"])
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


def _decline(stage: Stage, cast: Cast) -> None:
    stage.chapter("A purchase that is declined")
    body = cast.bodies.request("simulate_authorization", "decline")
    made = _fit(cast, body)
    ledger = _Ledger(cast, made.request.card_id)
    stage.call(
        'api.send(wb.from_wire("simulate_authorization", body))    # asks for '
        + (made.request.decline_reason or "no decline")
    )
    _said(stage, cast, body, made)
    answer = stage.advised(lambda: cast.api.send(made.request))
    words = faces.word(str(answer.declined_reason)) if answer.declined_reason else ""
    ledger.note(f"authorize {made.request.amount / 100:.2f}" + (f": {words}" if words else ""), str(answer.status))
    ledger.show(stage)
    stage.note("Nothing moved: a declined authorization holds no money.")


def _events(stage: Stage, cast: Cast) -> None:
    stage.chapter("The webhook events that all this caused")
    events = cast.api.sandbox.events()
    _event_lines(stage, cast, events)
    stage.gap()
    stage.note("Amounts are in cents on the wire. Each event came with an id; the inbox keeps each one once.")


def _answers(stage: Stage, cast: Cast) -> None:
    readings = read_all(cast.bodies.answers())
    stage.chapter("Answers met elsewhere, read without loss")
    where = visible(str(cast.bodies.folder), 200) if any(not one.body.own for one in readings) else "this package"
    stage.say(
        f"{len(readings)} answers and error bodies from {where} go through the client, as if a service had sent them. "
        "Each is read, written again, and compared with what came; had anything been lost, the tour would end here."
    )
    stage.gap()
    stage.grid(("file", "read as", "what is odd about it"), [_reading_row(one) for one in readings])


def _reading_row(reading: Reading) -> tuple[Any, ...]:
    more = f" (and {len(reading.odd) - 1} more)" if len(reading.odd) > 1 else ""
    return reading.body.name, reading.read_as, f"{reading.odd[0]}{more}" if reading.odd else "–"


def _guesses(stage: Stage, cast: Cast) -> None:
    guesses = assumptions()
    stage.chapter("How sure all this is")
    stage.say(
        f"The interface document leaves things out. Where it does, the workbench guesses, says so, and can be told "
        f"otherwise in one place. These answers rest on {len(guesses)} guesses:"
    )
    stage.gap()
    stage.grid(
        ("how well known", "guesses"),
        [(f"status:{known}", sum(guess.known == known for guess in guesses)) for known in Known],
    )
    stage.note("wb.assumptions() lists them all, with the reason of each and the line that changes it.")
    stage.gap()
    stage.say("That was the main job. Next: workbench --help, or make lab for the notebooks.")
    stage.gap()


def _fit(cast: Cast, body: Any) -> Fitted:
    """Read a body, its ids replaced where the seeded world does not know them."""
    stand_ins = {"card_id": _first(cast.guide["cards"]["active"]), "user_id": _first(cast.guide["users"]["approved"])}
    return fitted(body, frozenset(_ids(cast.guide)), stand_ins)


def _ids(x: Any) -> list[str]:
    if isinstance(x, str):
        return [x]
    if isinstance(x, Mapping):
        return [text for key, value in x.items() for text in (str(key), *_ids(value))]
    return [text for item in x for text in _ids(item)] if isinstance(x, list | tuple) else []


def _first(x: Any) -> str:
    """Give the first id of a branch of the guide."""
    while not isinstance(x, str):
        x = next(iter(x.values())) if isinstance(x, Mapping) else x[0]
    return x
