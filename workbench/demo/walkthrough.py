"""The chapters of the walk-through, in order."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench import rendering
from workbench.demo.answers import read_all
from workbench.demo.bodies import Bodies, Body, Fitted, fitted
from workbench.demo.page import Money, Page
from workbench.errors import ApiError, visible
from workbench.interface import masks
from workbench.interface.assumptions import assumptions
from workbench.interface.events import Event
from workbench.interface.fields import Confidence
from workbench.interface.rules import FULL
from workbench.rendering.layout import Cell
from workbench.rendering.values import NO_FUNDS, TEST_CHAINS
from workbench.session import Session, connect

SEED = 7
_BAR = 22  # characters of the longest bar
_FINISHED = "That is the end of the walk-through. Next: workbench --help, or make lab for the notebooks."


def tour(*, bodies: Path | None = None, out: Path | None = None, page: Page | None = None) -> None:
    """Write the walk-through; each step is a real call to an embedded sandbox.

    Args:
        bodies: Folder of request bodies and answers; what it lacks comes with the package.
        out: Folder for the chart; `out` if omitted.
        page: Where to write; standard output if omitted.

    Raises:
        InvalidRequest: A request body breaks the interface's rules, or an answer cannot be read.
    """
    page = page or Page()
    files = Bodies(bodies)
    with closing(connect(seed=SEED)) as api:
        chapters = _Chapters(page, api, files, out or Path("out"))
        page.title(
            "Card issuing workbench: a walk-through",
            "Every call below is a real call of the client to a sandbox embedded in this process: no key, no network, no "
            "money. Private values are masked.",
        )
        chapters.contracts()
        chapters.withdrawal()
        chapters.application()
        chapters.payment_account()
        chapters.rewards()
        chapters.purchases()
        chapters.decline()
        chapters.events()
        chapters.answers()
        chapters.assumptions()
        page.say(_FINISHED)
        page.gap()


class _Chapters:
    def __init__(self, page: Page, api: Session, bodies: Bodies, out: Path) -> None:
        self.page, self.api, self.bodies, self.out = page, api, bodies, out
        self.guide = api.sandbox.guide()

    def contracts(self) -> None:
        page = self.page
        page.chapter("Contracts and deposits")
        page.say(
            "A tenant's funds are held in smart contracts. One call lists the contracts with their tokens and deposit "
            "details. Deposits are made to an address on the chain, or by bank transfer to a virtual account."
        )
        page.call("api.list_contracts()")
        contracts = self.api.list_contracts()
        page.gap()
        page.table(
            ("contract", "chain", "version", "balances", "deposit methods"),
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
        page.gap()
        page.say("Deposit addresses:")
        page.table(
            ("chain", "deposit address", "note"),
            [(str(one.chain_id), one.deposit_address, _warning(one)) for one in contracts if one.deposit_address],
        )
        page.gap()
        page.say("Bank accounts of the first contract, whose deposits are converted to its tokens:")
        first = next(one for one in contracts if one.onramp)
        accounts = [(rail, getattr(first.onramp, rail)) for rail in _rails(first)]
        page.table(
            ("rail", "bank", "routing number", "account number", "note"),
            [
                (rail, one.beneficiary_bank_name or "–", one.routing_number, _masked(one, "accountNumber"), _warning(first))
                for rail, one in accounts
            ],
        )  # fmt: skip

    def withdrawal(self) -> None:
        page = self.page
        page.chapter("Withdrawal signatures")
        page.say(
            "This call authorizes a movement of funds. The unit of the amount, cents or the token's native units, must be "
            "given, and the call is never repeated automatically."
        )
        contract = next(
            one
            for one in self.api.list_contracts()
            if one.admin_addresses
            and str(one.contract_version) == "2"
            and str(one.proxy_address).startswith("0x")
            and Decimal(one.tokens[0].balance or 0) >= 100
        )
        token, admin = contract.tokens[0].address, contract.admin_addresses[0]
        page.call(
            f"api.sign_withdrawal(chain_id={contract.chain_id}, token=contract.tokens[0].address,\n"
            '    amount="2500", is_amount_native=False,\n'
            "    admin_address=contract.admin_addresses[0], recipient_address=contract.admin_addresses[0])"
        )
        signed = self.api.sign_withdrawal(
            chain_id=contract.chain_id, token=token, amount="2500", is_amount_native=False,
            admin_address=admin, recipient_address=admin,
        )  # fmt: skip
        page.show(signed)
        page.gap()
        page.say("What the signature authorizes:")
        page.facts(
            {
                "admin": admin,
                "amount": f"{rendering.money(2500)} of token {token}",
                "from": contract.proxy_address,
                "to": admin,
                "valid until": rendering.moment(signed.expires_at) if signed.expires_at else "not given",
            }
        )
        page.note("The signature itself is masked unless it is revealed, and never appears in logs or in the journal.")

    def application(self) -> None:
        page = self.page
        page.chapter("Consumer applications")
        page.say(
            "A request is checked before it is sent, and all problems are reported together, without private values. The "
            "application is then reviewed, and an event reports each change of its status."
        )
        body, made = self._request("create_user_application", "personal")
        page.call('user = api.send(api.from_wire("create_user_application", body))')
        self._note_origin(body, made)
        before = len(self.api.sandbox.events())
        user = page.advised(lambda: self.api.send(made.request))
        page.gap()
        page.show(user)
        if user.application_status != "approved":
            for status in ("manualReview", "approved"):
                page.call(f'api.sandbox.review(user.id, "{status}")', follows=status == "approved")
                self.api.sandbox.review(user.id, status)
        page.gap()
        page.say("The events, as webhooks deliver them:")
        self._list_events(self.api.sandbox.events()[before:])

    def payment_account(self) -> None:
        page = self.page
        page.chapter("Payment accounts")
        page.say("A payment account is a destination for payouts. This one is created, then deleted.")
        body, made = self._request("create_payment_account", "individual", "business")
        page.call('account = api.send(api.from_wire("create_payment_account", body))')
        self._note_origin(body, made)
        account = page.advised(lambda: self.api.send(made.request))
        page.gap()
        page.facts(
            {
                "account": account.id,
                "nickname": account.nickname,
                "owner": account.user_id or account.company_id,
                "account number": _masked(account.external_fiat_account, "accountNumber"),
            }
        )
        page.call("api.delete_payment_account(payment_account_id=account.id)")
        self.api.delete_payment_account(payment_account_id=account.id)
        page.note("Deleted. A second deletion raises:")
        try:
            self.api.delete_payment_account(payment_account_id=account.id)
        except ApiError as error:
            page.note(f"{type(error).__name__}: {error}")

    def rewards(self) -> None:
        from workbench import charts
        from workbench.tables.rewards import read

        page = self.page
        page.chapter("Rewards")
        user = _first(self.guide["rewards_users"])
        page.say(
            "The service returns neither totals nor a cursor. Pages are therefore read with an overlap until an empty one, "
            "and the result says whether it is complete. Points are exact decimals."
        )
        page.call(f'rewards = wb.rewards.read(api, "{user}")')
        found = read(self.api, user, progress=False)
        frame = found.frame()
        page.gap()
        _bars(page, frame)
        page.gap()
        sums = {f"points {kind}": frame[frame["type"] == kind]["points"].sum() for kind in ("earned", "redeemed")}
        page.facts(
            {
                "items": f"{found.rows:,}",
                "complete": found.complete,
                **{name: format(points.normalize(), ",f") for name, points in sums.items()},
            }
        )
        page.call('wb.charts.points_chart(rewards, by="month")')
        chart = self.out / "rewards.png"
        chart.parent.mkdir(parents=True, exist_ok=True)
        figure = charts.points_chart(found, by="month", size=(9, 5)).get_figure(root=True)
        assert figure is not None
        figure.savefig(chart, facecolor="white", dpi=144)
        page.note(f"Saved as {chart}")

    def purchases(self) -> None:
        page, api = self.page, self.api
        card = _first(self.guide["cards"]["active"])
        page.chapter("Reversals and refunds")
        page.say(
            "A hotel holds 120.00 and reduces the amount: a partial reversal lowers the hold, and nothing is posted. A "
            "shop's purchase of 45.90 is settled, then refunded."
        )
        steps = [self._balance(card, "start")]
        page.call(f'stay = api.simulate_authorization(card_id="{card}", amount=12000, …)')
        stay = api.simulate_authorization(
            card_id=card, amount=12000, currency="USD", merchant_name="Example Hotel", merchant_category_code="7011"
        )
        steps.append(self._balance(card, "authorize 120.00", stay.status))
        page.call("api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=8050)", follows=True)
        answer = api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=8050)
        steps.append(self._balance(card, "reverse down to 80.50", answer.status))
        page.call(f'shop = api.simulate_authorization(card_id="{card}", amount=4590, …)', follows=True)
        shop = api.simulate_authorization(
            card_id=card, amount=4590, currency="USD", merchant_name="Example Books", merchant_category_code="5942"
        )
        steps.append(self._balance(card, "authorize 45.90", shop.status))
        page.call("api.sandbox.settle(shop.transaction_id)    # a control of the sandbox", follows=True)
        api.sandbox.settle(shop.transaction_id)
        steps.append(self._balance(card, "settle 45.90", "settled"))
        page.call("api.simulate_refund(transaction_id=shop.transaction_id, amount=wb.FULL)", follows=True)
        answer = api.simulate_refund(transaction_id=shop.transaction_id, amount=FULL)
        steps.append(self._balance(card, f"refund 45.90 ({answer.completion_reason})", answer.status))
        self._show_balances(steps)

    def decline(self) -> None:
        page = self.page
        page.chapter("Declined purchases")
        page.say("A request can ask for a decline, here with a request body from a file.")
        body, made = self._request("simulate_authorization", "decline")
        reason = made.request.decline_reason
        steps = [self._balance(made.request.card_id, "start")]
        page.call(f'api.send(api.from_wire("simulate_authorization", body))    # decline reason: {reason or "none"}')
        self._note_origin(body, made)
        answer = page.advised(lambda: self.api.send(made.request))
        text = f"authorize {rendering.money(made.request.amount).partition(' ')[0]}"
        if answer.declined_reason:
            text += f": {rendering.word(str(answer.declined_reason))}"
        steps.append(self._balance(made.request.card_id, text, answer.status))
        self._show_balances(steps)
        page.note("The balances are unchanged: a declined authorization holds no money.")

    def events(self) -> None:
        self.page.chapter("Webhook events")
        self.page.say("The events of all calls above:")
        self._list_events(self.api.sandbox.events())
        self.page.gap()
        self.page.note("Amounts are in cents on the wire. An inbox stores each event once, by its id.")

    def answers(self) -> None:
        page = self.page
        readings = read_all(self.bodies.answers())
        page.chapter("Recorded answers")
        own = all(one.body.own for one in readings)
        where = "this package" if own else visible(str(self.bodies.folder), 200)
        page.say(
            f"{len(readings)} answers and error bodies from {where} are read by the client as if a service had sent them. "
            "Each is written again and compared with the original; a difference would be an error."
        )
        page.gap()
        rows = []
        for one in readings:
            more = f" (and {len(one.remarks) - 1} more)" if len(one.remarks) > 1 else ""
            rows.append((one.body.name, one.read_as, f"{one.remarks[0]}{more}" if one.remarks else "–"))
        page.table(("file", "read as", "remarks"), rows)

    def assumptions(self) -> None:
        page = self.page
        known = assumptions()
        page.chapter("Assumptions")
        page.say(
            "The interface document leaves details open. There the workbench makes assumptions, marks them as such, and "
            f"lets a profile change them. These answers rest on {len(known)} assumptions:"
        )
        page.gap()
        page.table(
            ("confidence", "assumptions"),
            [(f"status:{level}", sum(one.confidence == level for one in known)) for level in Confidence],
        )
        page.note("wb.assumptions() lists them, each with its reason and the setting that changes it.")
        page.gap()

    def _request(self, operation: str, *variants: str) -> tuple[Body, Fitted]:
        """Return a request body, its ids replaced where the sandbox does not have them."""
        body = self.bodies.request(operation, *variants)
        stand_ins = {
            "card_id": _first(self.guide["cards"]["active"]),
            "user_id": _first(self.guide["users"]["approved"]),
        }
        known = {
            name: held for name, held in self.guide.items() if name != "tenants"
        }  # other tenants' ids are not found
        # This tenant has individual teams, so what a company owns elsewhere belongs to a user here.
        return body, fitted(body, frozenset(_texts(known)), stand_ins, {"company_id": "user_id"})

    def _note_origin(self, body: Body, made: Fitted) -> None:
        where = "this package" if body.own else str(self.bodies.folder)
        self.page.note(f"The body is {body.name}, from {visible(where, 200)}.")
        if made.replaced:
            self.page.note(
                f"Its {', '.join(made.replaced)} does not exist in the sandbox and is replaced by an id that does."
            )

    def _list_events(self, listed: Iterable[Mapping[str, Any]]) -> None:
        rows = []
        for one in listed:
            event = self.api.converter.structure(one["event"], Event)
            transaction = getattr(event.body, "spend", None)
            status = getattr(transaction or event.body, "status", None) or getattr(
                event.body, "application_status", None
            )
            amount = getattr(transaction, "amount", None)
            shown = "" if amount is None else Money(amount)
            rows.append((event.kind, f"status:{status}" if status else "", shown, rendering.label(one["cause"])))
        self.page.table(("event", "status", "amount", "cause"), rows)

    def _balance(self, card: str, step: str, status: Any = "") -> tuple[Any, ...]:
        """Return a row with the balance of a card after a step."""
        balance = self.api.sandbox.balance(card)
        amounts = [Money(getattr(balance, name)) for name in ("available", "held", "posted", "refunded")]
        return (step, f"status:{status}" if status else "", *amounts)

    def _show_balances(self, rows: list[tuple[Any, ...]]) -> None:
        self.page.gap()
        self.page.table(("step", "status", "available", "held", "posted", "refunded"), rows)


def _rails(contract: Any) -> list[str]:
    return [rail for rail in ("ach", "rtp", "wire") if contract.onramp and getattr(contract.onramp, rail)]


def _warning(contract: Any) -> str:
    return NO_FUNDS if contract.chain_id in TEST_CHAINS else ""


def _masked(record: Any, wire: str) -> str:
    return str(masks.masked(record)[wire])


def _texts(x: Any) -> list[str]:
    if isinstance(x, str):
        return [x]
    if isinstance(x, Mapping):
        return [text for key, value in x.items() for text in (str(key), *_texts(value))]
    return [text for item in x for text in _texts(item)] if isinstance(x, list | tuple) else []


def _first(x: Any) -> str:
    """Return the first id of a branch of the guide."""
    while not isinstance(x, str):
        x = next(iter(x.values())) if isinstance(x, Mapping) else x[0]
    return x


def _bars(page: Page, frame: Any) -> None:
    """Show the points of each month as bars."""
    months: dict[str, dict[str, Decimal]] = {}
    dated = frame[frame["created_at"].notna() & frame["points"].notna()].sort_values("created_at")
    for at, points, kind in zip(dated["created_at"], dated["points"], dated["type"], strict=True):
        month = months.setdefault(f"{at:%Y-%m}", {"earned": Decimal(0), "redeemed": Decimal(0)})
        month[kind] += points
    rows: list[list[Any]] = [[name] for name in months]
    for kind in ("earned", "redeemed"):
        most = max((month[kind] for month in months.values()), default=Decimal(0)) or 1
        for row, month in zip(rows, months.values(), strict=True):
            length = int((month[kind] * _BAR / most).to_integral_value())
            row += [Cell((f"{month[kind].normalize():,f}",), "number"), "█" * length]
    page.table(("month", "earned", "", "redeemed", ""), rows)
