"""The chapters of the walk-through, in order."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench import rendering
from workbench.demo.bodies import Bodies, fitted, read_all
from workbench.demo.page import Page
from workbench.errors import ApiError
from workbench.interface.assumptions import assumptions
from workbench.interface.events import Event
from workbench.interface.fields import Confidence
from workbench.interface.rules import FULL
from workbench.interface.walk import get_path
from workbench.rendering.values import NO_FUNDS, TEST_CHAINS
from workbench.session import Session, connect

SEED = 7
_HOTEL = {"currency": "USD", "merchant_name": "Example Hotel", "merchant_category_code": "7011"}
_SHOP = {"currency": "USD", "merchant_name": "Example Books", "merchant_category_code": "5942"}


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
        page.say("That is the end of the walk-through. Next: workbench --help, or make lab for the notebooks.")
        page.gap()


class _Chapters:
    def __init__(self, page: Page, api: Session, bodies: Bodies, out: Path) -> None:
        self.page, self.api, self.bodies, self.out = page, api, bodies, out
        self.guide = api.guide()

    def contracts(self) -> None:
        page = self.page
        page.chapter(
            "Contracts and deposits",
            "A tenant's funds are held in smart contracts. One call lists the contracts with their tokens and deposit "
            "details. Deposits are made to an address on the chain, or by bank transfer to a virtual account.",
        )
        page.call("contracts = api.list_contracts()")
        contracts = self.api.list_contracts()
        page.gap()
        page.table(contracts, ["chain_id", "contract_version", "deposit_address"])
        if any(one.chain_id in TEST_CHAINS for one in contracts):
            page.note(f"These are test chains: {NO_FUNDS}.")
        page.gap()
        page.say("A bank account of the first contract, whose deposits are converted to its tokens:")
        page.call("contracts[0].onramp.ach", follows=True)
        page.show(next(one.onramp.ach for one in contracts if one.onramp))

    def withdrawal(self) -> None:
        page = self.page
        page.chapter(
            "Withdrawal signatures",
            "This call authorizes a movement of funds. The unit of the amount, cents or the token's native units, must be "
            "given, and the call is never repeated automatically.",
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
        page.show(
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
        page.chapter(
            "Consumer applications",
            "A request is checked before it is sent, and all problems are reported together, without private values. The "
            "application is then reviewed, and an event reports each change of its status.",
        )
        page.call('user = api.send(api.from_wire("create_user_application", body))')
        before = len(self.api.sandbox.events())
        user = self.api.send(self._request("create_user_application", "personal"))
        page.gap()
        page.show(user)
        for status in ("manualReview", "approved") if user.application_status != "approved" else ():
            page.call(f'api.sandbox.review(user.id, "{status}")', follows=status == "approved")
            self.api.sandbox.review(user.id, status)
        page.gap()
        page.say("The events, as webhooks deliver them:")
        self._list_events(self.api.sandbox.events()[before:])

    def payment_account(self) -> None:
        page = self.page
        page.chapter(
            "Payment accounts", "A payment account is a destination for payouts. This one is created, then deleted."
        )
        page.call('account = api.send(api.from_wire("create_payment_account", body))')
        account = self.api.send(self._request("create_payment_account", "individual", "business"))
        page.gap()
        page.show(account)
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
        page.chapter(
            "Rewards",
            "The service returns neither totals nor a cursor. Pages are therefore read with an overlap until an empty one, "
            "and the result says whether it is complete. Points are exact decimals.",
        )
        user = self.guide["rewards_users"][0]["id"]
        page.call(f'rewards = wb.rewards.read(api, "{user}")')
        found = read(self.api, user, progress=False)
        page.gap()
        page.table(_months(found.frame()))
        page.gap()
        page.show({"items": f"{found.rows:,}", "complete": found.complete})
        page.call('wb.charts.points_chart(rewards, by="month")')
        self.out.mkdir(parents=True, exist_ok=True)
        chart = self.out / "rewards.png"
        figure = charts.points_chart(found, by="month", size=(9, 5)).get_figure(root=True)
        assert figure is not None
        figure.savefig(chart, facecolor="white", dpi=144)
        page.note(f"Saved as {chart}")

    def purchases(self) -> None:
        page, api, card = self.page, self.api, self.guide["cards"]["active"][0]
        page.chapter(
            "Reversals and refunds",
            "A hotel holds 120.00 and reduces the amount: a partial reversal lowers the hold, and nothing is posted. A "
            "shop's purchase of 45.90 is settled, then refunded.",
        )
        steps = [self._balance(card, "start")]
        page.call(f'stay = api.simulate_authorization(card_id="{card}", amount=12000, …)')
        stay = api.simulate_authorization(card_id=card, amount=12000, **_HOTEL)
        steps.append(self._balance(card, "authorize 120.00", stay.status))
        page.call("api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=8050)", follows=True)
        answer = api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=8050)
        steps.append(self._balance(card, "reverse down to 80.50", answer.status))
        page.call(f'shop = api.simulate_authorization(card_id="{card}", amount=4590, …)', follows=True)
        shop = api.simulate_authorization(card_id=card, amount=4590, **_SHOP)
        steps.append(self._balance(card, "authorize 45.90", shop.status))
        page.call("api.sandbox.settle(shop.transaction_id)    # a control of the sandbox", follows=True)
        api.sandbox.settle(shop.transaction_id)
        steps.append(self._balance(card, "settle 45.90", "settled"))
        page.call("api.simulate_refund(transaction_id=shop.transaction_id, amount=wb.FULL)", follows=True)
        answer = api.simulate_refund(transaction_id=shop.transaction_id, amount=FULL)
        steps.append(self._balance(card, f"refund 45.90 ({answer.completion_reason})", answer.status))
        page.gap()
        page.table(steps)

    def decline(self) -> None:
        page = self.page
        page.chapter("Declined purchases", "A request can ask for a decline, here with a request body from a file.")
        page.call('api.send(api.from_wire("simulate_authorization", body))')
        request = self._request("simulate_authorization", "decline")
        steps = [self._balance(request.card_id, "start")]
        answer = self.api.send(request)
        reason = f": {rendering.word(str(answer.declined_reason))}" if answer.declined_reason else ""
        text = f"authorize {rendering.money(request.amount).removesuffix(' USD')}{reason}"
        steps.append(self._balance(request.card_id, text, answer.status))
        page.gap()
        page.table(steps)
        page.note("The balances are unchanged: a declined authorization holds no money.")

    def events(self) -> None:
        self.page.chapter("Webhook events", "The events of all calls above:")
        self._list_events(self.api.sandbox.events())
        self.page.gap()
        self.page.note("Amounts are in cents on the wire. An inbox stores each event once, by its id.")

    def answers(self) -> None:
        bodies = self.bodies.answers()
        self.page.chapter(
            "Recorded answers",
            f"{len(bodies)} answers and error bodies from {bodies[0].origin} are read by the client as if a service had "
            "sent them. Each is written again and compared with the original; a difference would be an error.",
        )
        self.page.gap()
        self.page.table(read_all(bodies))

    def assumptions(self) -> None:
        page = self.page
        known = assumptions()
        page.chapter(
            "Assumptions",
            "The interface document leaves details open. There the workbench makes assumptions, marks them as such, and "
            f"lets a profile change them. These answers rest on {len(known)} assumptions:",
        )
        page.gap()
        page.show({rendering.word(level): sum(one.confidence == level for one in known) for level in Confidence})
        page.note("wb.assumptions() lists them, each with its reason and the setting that changes it.")
        page.gap()

    def _request(self, operation: str, *variants: str) -> Any:
        """Return a request from a file, its ids replaced where the sandbox does not have them, and note both."""
        body = self.bodies.request(operation, *variants)
        known = {text for name, ids in self.guide.items() if name != "tenants" for text in _texts(ids)}
        stand_ins = {"card_id": self.guide["cards"]["active"][0], "user_id": _texts(self.guide["users"]["approved"])[0]}
        request, replaced = fitted(body, known, stand_ins)
        self.page.note(f"The body is {body.name}, from {body.origin}.")
        if replaced:
            self.page.note(
                f"Its {', '.join(replaced)} does not exist in the sandbox and is replaced by an id that does."
            )
        return request

    def _list_events(self, listed: Iterable[Mapping[str, Any]]) -> None:
        rows = []
        for one in listed:
            event = self.api.converter.structure(one["event"], Event)
            body = getattr(event.body, "spend", event.body)
            amount = getattr(body, "amount", None)
            rows.append(
                {
                    "event": event.kind,
                    "status": get_path(body, "status") or get_path(body, "application_status") or "",
                    "amount": rendering.money(amount) if isinstance(amount, int) else "",
                    "cause": rendering.label(one["cause"]),
                }
            )
        self.page.table(rows)

    def _balance(self, card: str, step: str, status: Any = "") -> dict[str, str]:
        """Return a row with the balance of a card after a step."""
        balance = self.api.sandbox.balance(card)
        amounts = {
            name: rendering.money(getattr(balance, name)) for name in ("available", "held", "posted", "refunded")
        }
        return {"step": step, "status": status, **amounts}


def _texts(x: Any) -> list[str]:
    """Return all ids in a branch of the guide."""
    if isinstance(x, str):
        return [x]
    if isinstance(x, Mapping):
        return [text for key, value in x.items() for text in (str(key), *_texts(value))]
    return [text for item in x for text in _texts(item)] if isinstance(x, list | tuple) else []


def _months(frame: Any) -> list[dict[str, str]]:
    """Return the points of each month as rows of a table."""
    dated = frame[frame["created_at"].notna() & frame["points"].notna()]
    sums = dated.groupby([dated["created_at"].dt.strftime("%Y-%m"), "type"], observed=True)["points"].sum()
    rows: dict[str, dict[str, str]] = {}
    for (month, kind), points in sums.items():
        rows.setdefault(month, {"month": month})[f"points {kind}"] = f"{points.normalize():,f}"
    return list(rows.values())
