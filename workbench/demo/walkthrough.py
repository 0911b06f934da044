"""The chapters of the walk-through, in order, and the page they are written on."""

import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

from workbench import rendering
from workbench.demo.bodies import Bodies, fitted, read_all
from workbench.errors import ApiError
from workbench.interface.assumptions import assumptions
from workbench.interface.events import Event
from workbench.interface.fields import Confidence
from workbench.interface.rules import FULL
from workbench.interface.walk import get_path
from workbench.rendering.layout import NO_FUNDS, TEST_CHAINS
from workbench.rendering.text import Screen, screen_of
from workbench.session import Session, connect

_INSET = 3
_PROSE = 84
_CHAPTERS = tomllib.loads(Path(__file__).with_name("chapters.toml").read_text(encoding="utf-8"))


class Page:
    """The walk-through, written to a stream."""

    def __init__(self, out: TextIO | None = None, screen: Screen | None = None) -> None:
        self.out = out or sys.stdout
        self.screen = screen or screen_of(self.out)
        self.width = self.screen.width - _INSET
        self._chapter = 0

    def _line(self, text: str = "", inset: int = _INSET) -> None:
        print((" " * inset + self.screen.fit(text)).rstrip(), file=self.out)

    def title(self, text: str, below: str) -> None:
        """Write the title and an introduction."""
        self.gap()
        self._line(self.screen.paint(text, "title"))
        self.say(below, "muted")

    def chapter(self, text: str, below: str) -> None:
        """Write the heading of the next chapter, and its introduction."""
        self._chapter += 1
        head = f"{self._chapter}  {text} "
        rule = "─" * max(0, min(_PROSE, self.width) + _INSET - len(head) - 1)
        self.gap()
        self._line(self.screen.paint(head, "title") + self.screen.paint(rule, "muted"), 1)
        self.say(below)

    def say(self, text: str, role: str = "", inset: str = "") -> None:
        """Write a paragraph, wrapped at its spaces; paths and ids are not broken."""
        width = min(_PROSE, self.width) - len(inset)
        for line in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
            self._line(inset + self.screen.paint(line, role))

    def note(self, text: str) -> None:
        """Write a note."""
        self.say(text, "muted", "  ")

    def call(self, text: str, *, follows: bool = False) -> None:
        """Write a call; one that follows another is written without a gap."""
        if not follows:
            self.gap()
        for number, line in enumerate(text.split("\n")):
            self._line(self.screen.paint("... " if number else ">>> ", "muted") + self.screen.paint(line, "title"))

    def show(self, x: Any) -> None:
        """Write a record, an error or a mapping."""
        self._block(rendering.plain(x, self.width, paint=self.screen.paint))

    def table(self, rows: Sequence[Any], columns: Sequence[str] | None = None) -> None:
        """Write a table of records or mappings."""
        self._block(rendering.table(rows, columns, width=self.width, paint=self.screen.paint))

    def _block(self, text: str) -> None:
        for line in text.split("\n"):
            self._line(line)

    def gap(self) -> None:
        """Write an empty line."""
        self._line()


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
        answers = files.answers()
        facts = {"answers": len(answers), "origin": answers[0].origin, "assumptions": len(assumptions())}
        for name, texts in _CHAPTERS.items():
            page.chapter(texts["title"], texts["text"].format(**facts))
            getattr(chapters, name)()
        page.say("That is the end of the walk-through. Next: workbench --help, or make lab for the notebooks.")
        page.gap()


class _Chapters:
    def __init__(self, page: Page, api: Session, bodies: Bodies, out: Path) -> None:
        self.page, self.api, self.bodies, self.out = page, api, bodies, out
        self.guide = api.guide()

    def contracts(self) -> None:
        page = self.page
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
        until = rendering.moment(signed.expires_at) if signed.expires_at else "not given"
        amount = f"{rendering.money(2500)} of token {token}"
        page.show({"admin": admin, "amount": amount, "from": contract.proxy_address, "to": admin, "valid until": until})
        page.note("The signature itself is masked unless it is revealed, and never appears in logs or in the journal.")

    def application(self) -> None:
        page = self.page
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
        self._list_events(self.api.sandbox.events())
        self.page.gap()
        self.page.note("Amounts are in cents on the wire. An inbox stores each event once, by its id.")

    def answers(self) -> None:
        self.page.gap()
        self.page.table(read_all(self.bodies.answers()))

    def assumptions(self) -> None:
        page = self.page
        page.gap()
        levels = Counter(one.confidence for one in assumptions())
        page.show({rendering.word(level): levels[level] for level in Confidence})
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
            names = ", ".join(replaced)
            self.page.note(f"Its {names} does not exist in the sandbox and is replaced by an id that does.")
        return request

    def _list_events(self, listed: Iterable[Mapping[str, Any]]) -> None:
        rows = []
        for one in listed:
            event = self.api.converter.structure(one["event"], Event)
            body = getattr(event.body, "spend", event.body)
            amount = getattr(body, "amount", None)
            status = get_path(body, "status") or get_path(body, "application_status") or ""
            shown = rendering.money(amount) if isinstance(amount, int) else ""
            cause = rendering.label(one["cause"])
            rows.append({"event": event.kind, "status": status, "amount": shown, "cause": cause})
        self.page.table(rows)

    def _balance(self, card: str, step: str, status: Any = "") -> dict[str, str]:
        """Return a row with the balance of a card after a step."""
        balance = self.api.sandbox.balance(card)
        names = ("available", "held", "posted", "refunded")
        return {"step": step, "status": status, **{name: rendering.money(getattr(balance, name)) for name in names}}


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
