"""The walk-through: its chapters in order, the page they are written on, and the request bodies and answers that it reads.

Bodies come from a folder of the user or from this package: `<operation>.request[.<variant>].json` is a request,
`<operation>.<status>[.<variant>].json` an answer, and `error.<status>.<case>.json` an error body.
"""

import io
import re
import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TextIO

import attrs

import workbench
from workbench import rendering
from workbench.client.client import Client
from workbench.client.pace import Clock
from workbench.errors import ApiError, InvalidRequest, Problem, WorkbenchError, visible
from workbench.interface.assumptions import assumptions
from workbench.interface.convert import converter
from workbench.interface.events import Event
from workbench.interface.table import OPERATIONS, Operation, Operations
from workbench.rendering.text import LIKENESS, NO_FUNDS, TEST_CHAINS, Screen, screen_of
from workbench.sandbox import Response
from workbench.sandbox.transport import SandboxTransport
from workbench.schema import checks, strict_json
from workbench.schema.fields import Confidence
from workbench.schema.walk import build, get_path, member, members
from workbench.session import Session, connect

_NAME = re.compile(r"(?P<of>\w+)\.(?:request|(?P<status>[1-5][0-9]{2}))(?:\.(?P<variant>[\w.-]+))?\.json")
_MAX_BYTES = 1_000_000
_ID = "00000000-0000-4000-8000-000000000000"
_INSET = 3
_PROSE = 84
_CHAPTERS = tomllib.loads(Path(__file__).with_name("chapters.toml").read_text(encoding="utf-8"))


class Page:
    """The walk-through, written to a stream."""

    def __init__(self, out: TextIO | None = None, screen: Screen | None = None) -> None:
        self.out = out or sys.stdout
        if isinstance(self.out, io.TextIOWrapper):
            self.out.reconfigure(errors=LIKENESS)
        self.screen = screen or screen_of(self.out)
        self.width = self.screen.width - _INSET
        self._chapter = 0
        self._last = ""

    def _line(self, text: str = "", inset: int = _INSET) -> None:
        print((" " * inset + text).rstrip(), file=self.out)

    def title(self, text: str, below: str) -> None:
        """Write the title and an introduction."""
        self._begin("title")
        self._line(self.screen.paint(text, "title"))
        self._wrap(below, "muted")

    def chapter(self, text: str, below: str) -> None:
        """Write the heading of the next chapter, and its introduction."""
        self._chapter += 1
        head = f"{self._chapter}  {text} "
        rule = "─" * max(0, min(_PROSE, self.width) + _INSET - len(head) - 1)
        self._begin("chapter")
        self._line(self.screen.paint(head, "title") + self.screen.paint(rule, "muted"), 1)
        self._wrap(below)

    def say(self, text: str) -> None:
        """Write a paragraph."""
        self._begin("say")
        self._wrap(text)

    def _begin(self, kind: str) -> None:
        """Leave a line free, but between calls and below what announces a block."""
        if (self._last, kind) not in {("call", "call"), ("say", "block")}:
            self._line()
        self._last = kind

    def _wrap(self, text: str, role: str = "", inset: str = "") -> None:
        """Write text, wrapped at its spaces; paths and ids are not broken."""
        width = min(_PROSE, self.width) - len(inset)
        for line in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
            self._line(inset + self.screen.paint(line, role))

    def note(self, text: str) -> None:
        """Write a note to what stands above it."""
        self._wrap(text, "muted", "  ")

    def call(self, text: str) -> None:
        """Write a call."""
        self._begin("call")
        for number, line in enumerate(text.split("\n")):
            self._line(self.screen.paint("... " if number else ">>> ", "muted") + self.screen.paint(line, "title"))

    def show(self, x: Any, columns: Sequence[str] | None = None) -> None:
        """Write a record or a mapping, or a table of a list of them."""
        text = rendering.plain(x, self.width, paint=self.screen.paint)
        if isinstance(x, list):
            text = rendering.table(x, columns, width=self.width, paint=self.screen.paint)
        self._begin("block")
        for line in text.split("\n"):
            self._line(line)


SEED = 7
_PURCHASES = (
    ("authorize 120.00", "stay = api.simulate_authorization(card_id=card, amount=12000, **hotel)"),
    ("reverse down to 80.50", "api.simulate_reversal(transaction_id=stay.transaction_id, new_amount=8050)"),
    ("authorize 45.90", "book = api.simulate_authorization(card_id=card, amount=4590, **shop)"),
    ("settle 45.90", "api.sandbox.settle(book.transaction_id)    # a control of the sandbox"),
    ("refund 45.90 ({})", "api.simulate_refund(transaction_id=book.transaction_id, amount=wb.FULL)"),
)
"""Steps and their calls."""


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
        page.say("")


@attrs.frozen(kw_only=True)
class Body:
    """One file: what it belongs to, and its bytes. `status` is 0 for a request."""

    name: str
    of: str  # an operation, or "error"
    status: int
    variant: str
    data: bytes = attrs.field(repr=False)
    origin: str  # "this package", or the folder


class Bodies:
    """The files of a folder, and those of the package where the folder has none."""

    def __init__(self, folder: Path | None = None) -> None:
        """Read the folder's files.

        Raises:
            InvalidRequest: The folder does not exist, or a file in it is too large.
        """
        if folder is not None and not folder.is_dir():
            raise InvalidRequest(f"{visible(str(folder), 200)} is not a folder", of="demo")
        self._own = tuple(_read(Path(__file__).with_name("bodies"), "this package"))
        self._found = tuple(_read(folder, visible(str(folder), 200))) if folder is not None else ()

    def request(self, operation: str, *variants: str) -> Body:
        """Return a request body: the first of the variants found, else any of the operation, else the package's."""
        for bodies in (self._found, self._own):
            requests = [body for body in bodies if body.of == operation and not body.status]
            if requests:
                return min(requests, key=lambda body: (*variants, body.variant).index(body.variant))
        raise InvalidRequest(f"no request body of {operation}", of="demo")

    def answers(self) -> tuple[Body, ...]:
        """Return the answers and error bodies of the folder, or those of the package if it has none."""
        found = tuple(body for body in self._found if body.status)
        return found or tuple(body for body in self._own if body.status)


def _read(folder: Path, origin: str) -> Iterator[Body]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        match = _NAME.fullmatch(entry.name)
        if match is None or not entry.is_file() or match["of"] not in {*OPERATIONS, "error"}:
            continue
        data = entry.read_bytes()
        if len(data) > _MAX_BYTES:
            raise InvalidRequest(f"{entry.name} is larger than {_MAX_BYTES:,} bytes", of="demo")
        status = int(match["status"] or 0)
        yield Body(
            name=entry.name, of=match["of"], status=status, variant=match["variant"] or "", data=data, origin=origin
        )


def fitted(body: Body, api: Session) -> tuple[dict[str, Any], list[str]]:
    """Return a request body as JSON, and the members whose ids do not exist in the sandbox and were replaced.

    Raises:
        InvalidRequest: The body breaks the interface's rules; all problems are named.
    """
    operation, guide = OPERATIONS[body.of], api.guide()
    raw, replaced = strict_json.loads(body.data), []
    stand_ins = {"card_id": guide["cards"]["active"][0], "user_id": guide["users"]["approved"][0]}
    known = {one["id"] for kind in ("card", "user") for one in api.sandbox.records(kind)}
    for one in members(operation.request):
        # The tenant has individual teams, so what a company owns elsewhere belongs to a user here.
        name = "user_id" if one.name == "company_id" else one.name
        if name in stand_ins and raw.get(one.wire) not in {None, *known}:
            del raw[one.wire]
            raw[member(operation.request, name).wire] = stand_ins[name]
            replaced.append(one.wire)
    request, mistyped, unknown = converter().read_request(operation, raw)
    found = [*mistyped, *(checks.problems(request) if request is not None else ())]
    found += [Problem(path, "unknown", "is not a member of this operation") for path in unknown]
    if found:
        raise InvalidRequest(found, of=f"{operation.name} in {body.name}")
    return raw, replaced


def read_all(bodies: Iterable[Body]) -> list[dict[str, str]]:
    """Read every answer and error body with the client, write it again, and compare it with the original.

    Returns:
        A row of a table for each: its file, what it was read as, and remarks about it.

    Raises:
        InvalidRequest: A file cannot be read, or is written differently; the files are named.
    """
    rows, problems = [], []
    for body in bodies:
        try:
            raw = strict_json.loads(body.data)
            read_as, remarks = _read_as(body, raw)
            rows.append({"file": body.name, "read as": read_as, "remarks": "; ".join(remarks[:2]) or "–"})
        except (ValueError, WorkbenchError) as error:
            problems.append(Problem(body.name, "read", str(error).split("\n")[0]))
    if problems:
        raise InvalidRequest(problems, of="demo")
    return rows


def _read_as(body: Body, raw: Any) -> tuple[str, list[str]]:
    """Return what a client reads an answer as, and remarks about it.

    Raises:
        ValueError: It is written differently again, or is not read as the error that it is.
    """
    refused = body.of == "error" or body.status >= 400
    # a 5xx to a call with an effect is an unknown outcome; to a read it is an error of its own
    refusing = Operations.list_contracts if body.status >= 500 else Operations.update_dispute
    operation: Operation[..., Any] = refusing if refused else OPERATIONS[body.of]
    response = Response(body.status, {"content-type": "application/json"}, body.data)
    ids = {one.name: _ID for one in members(operation.request) if one.required and one.name.endswith("_id")}
    try:
        with Client(
            base_url="https://answers.workbench.invalid/v1", api_key="not-a-key", transport=SandboxTransport(lambda _: response),
            check=False, journal=False, clock=_NoWait(),
        ) as client:  # fmt: skip
            answer = client.send(build(operation.request, ids))
    except ApiError as error:
        again, name, usual = error.body, type(error).__name__, ("statusCode", "error", "message")
        missing, more = (", ".join(name for name in a if name not in b) for a, b in ((usual, raw), (raw, usual)))
        remarks = [f"has no {missing}"] * bool(missing) + [f"also has {more}"] * bool(more)
    else:
        if refused:
            raise ValueError("is not read as an error")
        records, name = answer if operation.many else [answer], operation.answer.__name__
        written = [converter().unstructure(one) for one in records]
        again = strict_json.loads(strict_json.dumps(written if operation.many else written[0]))
        remarks = list(dict.fromkeys(f"{flag.path} {flag.message}" for one in records for flag in checks.flags(one)))
        name = f"{len(records)} × {name}" if operation.many else name
    if again != raw:
        raise ValueError("differs when written again")
    return name, remarks


class _NoWait(Clock):
    def sleep(self, seconds: float) -> None:
        """Return at once: nobody is asked again."""


class _Chapters:
    def __init__(self, page: Page, api: Session, bodies: Bodies, out: Path) -> None:
        self.page, self.api, self.bodies, self.out = page, api, bodies, out
        self.names: dict[str, Any] = {"api": api, "wb": workbench}

    def run(self, code: str) -> Any:
        """Write a call, make it as it stands there, and return its value; one with a name is known to later calls."""
        self.page.call(code)
        name, _, expression = code.rpartition(" = ")
        value = self.names[name] = eval(expression, self.names)  # noqa: S307 - the calls stand in this file
        return value

    def contracts(self) -> None:
        contracts = self.run("contracts = api.list_contracts()")
        self.page.show(contracts, ["chain_id", "contract_version", "deposit_address"])
        if any(one.chain_id in TEST_CHAINS for one in contracts):
            self.page.note(f"These are test chains: {NO_FUNDS}.")
        self.page.say("A bank account of the first contract, whose deposits are converted to its tokens:")
        self.page.show(self.run("contracts[0].onramp.ach"))

    def withdrawal(self) -> None:
        contract = self.run("contract = contracts[0]")
        signed = self.run(
            "api.sign_withdrawal(chain_id=contract.chain_id, token=contract.tokens[0].address,\n"
            '    amount="2500", is_amount_native=False,\n'
            "    admin_address=contract.admin_addresses[0], recipient_address=contract.admin_addresses[0])"
        )
        self.page.show(signed)
        self.page.say("What the signature authorizes:")
        admin, amount = contract.admin_addresses[0], f"{rendering.money(2500)} of token {contract.tokens[0].address}"
        until = rendering.moment(signed.expires_at)
        self.page.show(
            {"admin": admin, "amount": amount, "from": contract.proxy_address, "to": admin, "valid until": until}
        )
        self.page.note(
            "The signature itself is masked unless it is revealed, and never appears in logs or in the journal."
        )

    def application(self) -> None:
        before = len(self.api.sandbox.events())
        self._body("create_user_application", "personal")
        user = self.run('user = api.send(api.from_wire("create_user_application", body))')
        self.page.show(user)
        for status in ("manualReview", "approved") if user.application_status != "approved" else ():
            self.run(f'api.sandbox.review(user.id, "{status}")')
        self.page.say("The events, as webhooks deliver them:")
        self._list_events(self.api.sandbox.events()[before:])

    def payment_account(self) -> None:
        self._body("create_payment_account", "individual", "business")
        self.page.show(self.run('account = api.send(api.from_wire("create_payment_account", body))'))
        self.run("api.delete_payment_account(payment_account_id=account.id)")
        self.page.note("Deleted. A second deletion raises:")
        try:
            self.run("api.delete_payment_account(payment_account_id=account.id)")
        except ApiError as error:
            self.page.note(f"{type(error).__name__}: {error}")

    def rewards(self) -> None:
        self.run("guide = api.guide()")
        rewards = self.run('rewards = wb.rewards.read(api, guide["rewards_users"][0]["id"], progress=False)')
        self.page.show({"items": f"{rewards.rows:,}", "complete": rewards.complete})
        months = self.run("months = wb.reports.liability(rewards)").to_dict("records")
        points = ("earned", "redeemed", "outstanding")
        self.page.show(
            [
                {"month": f"{one['month']:%Y-%m}"}
                | {f"points {name}": f"{one[name].normalize():,f}" for name in points}
                for one in months
            ]
        )
        axes = self.run('wb.charts.points_chart(rewards, by="month", size=(9, 5))')
        self.out.mkdir(parents=True, exist_ok=True)
        chart = self.out / "rewards.png"
        axes.get_figure(root=True).savefig(chart, facecolor="white", dpi=144)
        self.page.note(f"Saved as {chart}")

    def purchases(self) -> None:
        self.run('hotel = {"currency": "USD", "merchant_name": "Example Hotel", "merchant_category_code": "7011"}')
        self.run('shop = {"currency": "USD", "merchant_name": "Example Books", "merchant_category_code": "5942"}')
        card = self.run('card = guide["cards"]["active"][0]')
        steps = [self._balance(card, "start")]
        for step, call in _PURCHASES:
            answer = self.run(call)
            steps.append(self._balance(card, step.format(answer.completion_reason), answer.status))
        self.page.show(steps)

    def decline(self) -> None:
        body = self._body("simulate_authorization", "decline")
        steps = [self._balance(body["cardId"], "start")]
        answer = self.run('api.send(api.from_wire("simulate_authorization", body))')
        reason = f": {rendering.word(str(answer.declined_reason))}" if answer.declined_reason else ""
        text = f"authorize {rendering.money(body['amount']).removesuffix(' USD')}{reason}"
        steps.append(self._balance(body["cardId"], text, answer.status))
        self.page.show(steps)
        self.page.note("The balances are unchanged: a declined authorization holds no money.")

    def events(self) -> None:
        self._list_events(self.api.sandbox.events())
        self.page.note("Amounts are in cents on the wire. An inbox stores each event once, by its id.")

    def answers(self) -> None:
        self.page.show(read_all(self.bodies.answers()))

    def assumptions(self) -> None:
        levels = Counter(one.confidence for one in assumptions())
        self.page.show({rendering.word(level): levels[level] for level in Confidence})
        self.page.note("wb.assumptions() lists them, each with its reason and the setting that changes it.")

    def _body(self, operation: str, *variants: str) -> dict[str, Any]:
        """Read a request body from a file, its ids replaced where the sandbox does not have them, and note both."""
        body = self.bodies.request(operation, *variants)
        raw, replaced = fitted(body, self.api)
        self.page.note(f"The body is {body.name}, from {body.origin}.")
        if replaced:
            names = ", ".join(replaced)
            self.page.note(f"Its {names} does not exist in the sandbox and is replaced by an id that does.")
        self.names["body"] = raw
        return raw

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
        self.page.show(rows)

    def _balance(self, card: str, step: str, status: Any = "") -> dict[str, str]:
        """Return a row with the balance of a card after a step."""
        balance = self.api.sandbox.balance(card)
        names = ("available", "held", "posted", "refunded")
        return {"step": step, "status": status, **{name: rendering.money(getattr(balance, name)) for name in names}}
