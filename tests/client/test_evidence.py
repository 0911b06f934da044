"""Evidence of unknown calls agrees with the sandbox's books, regardless of earlier calls and of event delivery."""

import json
import random
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.each import across
from workbench.base.schema import walk
from workbench.client.calls.evidence import Verdict
from workbench.client.calls.journal import recorder_of
from workbench.client.session import Session
from workbench.sandbox.internals import internals
from workbench.service.interface.events import Event
from workbench.service.interface.examples import example
from workbench.service.interface.table import OPERATIONS
from workbench.terminal import main

pytestmark = pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
FAULTS = ("status", "reset", "closed", "lost", "malformed", "cut")
"""Faults before a call takes effect (an error page, a reset, a closed connection) and afterwards."""
MOST_OPEN = 0.3


class Deliveries:
    """An event source that delays some events, repeats some under another id, and loses some."""

    def __init__(self, api: Any, chance: random.Random, missing: float) -> None:
        self._api, self._chance, self._missing = api, chance, missing
        self._seen = internals(api.sandbox).last_event()
        self._late: list[Any] = []
        self._arrived: list[Any] = []

    def mark(self) -> str:
        self.arrive()
        return f":{len(self._arrived)}"

    def since(self, marks: Iterable[str]) -> tuple[list[Any], str]:
        self.arrive()
        first = min((int(mark[1:]) for mark in marks if mark), default=0)
        return self._arrived[first:], ""

    def arrive(self) -> None:
        due, self._late = self._late, []
        for told in self._api.sandbox.events(since=self._seen):
            self._seen = told.sequence
            event = self._api.converter.structure(told.payload, Event)
            fate = self._chance.random()
            if fate < self._missing:
                continue
            if fate > 0.9:
                self._late.append(event)
                continue
            due.append(event)
            if fate > 0.8:
                due.append(_again(event))
        self._chance.shuffle(due)
        self._arrived += due


def _again(event: Any) -> Any:
    """Return an event as a retry delivers it, with another envelope id."""
    return walk.change(event, id=f"{event.id[:-4]}ffff")


class History:
    """A random history of calls on a sandbox, some of them with unknown outcomes."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        settings: dict[str, Any] = {
            "behavior": chance.choice(["documented", "observed"]),
            "refund_event_id": chance.choice(["own", "own", "transaction"]),
            "refund_event_created": chance.random() < 0.7,
        }
        header = chance.choice([None, "Idempotency-Key"])
        self.api = api = wb.connect(seed=seed, behavior=settings, idempotency_header=header)
        self.guide = api.sandbox.guide()
        self._earlier()
        self.complete = chance.random() < 0.5
        if not self.complete:
            recorder_of(api.journal).events = Deliveries(api, chance, chance.choice([0.0, 0.3]))
        self.truth: dict[str, bool] = {}
        self.purchases: list[str] = []
        self.accounts: list[str] = []
        self.requests: dict[str, Any] = {}

    def _earlier(self) -> None:
        """Make the same purchase and refund in another program before the journal begins."""
        other = wb.Client(
            base_url=self.api.sandbox.base_url,
            api_key=self.api.sandbox.full_key,
            transport=self.api.sandbox.transport(),
            journal=False,
        )
        made = other.simulate_authorization(**self._purchase())
        self.api.sandbox.settle(made.transaction_id)
        other.simulate_refund(transaction_id=made.transaction_id, amount=100)

    def _purchase(self) -> dict[str, Any]:
        cards = self.guide["cards"]["active"][:2]
        return {
            "card_id": cards[0 if self.chance.random() < 0.8 else -1],
            "amount": self.chance.choice([1000, 1000, 2000]),
            "currency": "USD",
            "merchant_name": self.chance.choice(["Corner Grocery", "Corner Grocery", "Other Shop"]),
            "merchant_category_code": "5411",
        }

    def _arguments(self, name: str) -> dict[str, Any]:
        chance, guide = self.chance, self.guide
        user = guide["users"]["approved"][0]
        transaction = chance.choice(self.purchases) if self.purchases else "00000000-0000-4000-8000-000000000001"
        match name:
            case "simulate_authorization":
                return self._purchase()
            case "simulate_reversal":
                return {"transaction_id": transaction, "new_amount": chance.choice([500, 500, 1000, wb.FULL])}
            case "simulate_refund":
                return {"transaction_id": transaction, "amount": chance.choice([100, 100, 200, 0, wb.FULL])}
            case "create_payment_account":
                return {**walk.given(example(OPERATIONS[name].request)), "user_id": user}
            case "delete_payment_account":
                known = chance.choice(self.accounts) if self.accounts else "00000000-0000-4000-8000-000000000002"
                return {"payment_account_id": known}
            case "update_user":
                return {"user_id": user, "email": chance.choice(["a@example.com", "b@example.com"])}
            case "update_ubo":
                company = guide["companies"][0]
                return {"company_id": company["id"], "ubo_id": company["owners"][0]["id"], "last_name": "Owner"}
            case "update_dispute":
                dispute = guide["disputes"]["pending"][0]
                return {"dispute_id": dispute, "text_evidence": "late"}
            case "create_user_application":
                person = {"email": chance.choice(["ann@example.com", "bob@example.com"])}
                person |= walk.given(example(OPERATIONS[name].request)) | person
                return {**person, "external_id": f"c-{chance.randrange(10**9)}"}
        raise AssertionError(name)

    def call(self, name: str, fault: str | None = None) -> None:
        """Call an operation, optionally under a fault, and note from the books whether it was carried out."""
        arguments = self._arguments(name)
        self._send(lambda: getattr(self.api, name)(**arguments), name, fault, arguments)

    def resend(self) -> None:
        """Resend an unknown call, which may end in an unknown outcome again."""
        unknown = self.api.journal.unknown()
        if unknown:
            entry = self.chance.choice(unknown)
            arguments = self.requests[entry.id]
            send = lambda: self.api.journal.resend(entry.id, arguments, accept_double=True)  # noqa: E731
            self._send(send, entry.operation, self.chance.choice([None, "lost", "reset"]), arguments)

    def _send(self, send: Callable[[], Any], name: str, fault: str | None, arguments: dict[str, Any]) -> None:
        sandbox, before = self.api.sandbox, len(self.api.journal)
        sandbox.clear_faults()
        if fault is not None:
            sandbox.add_fault(fault, of=name, times=1)
        books = internals(sandbox).changes()
        self.error = None
        try:
            answer = send()
        except wb.WorkbenchError as error:
            answer, self.error = None, error
        happened = internals(sandbox).changes() > books
        for entry in list(self.api.journal)[before:]:
            self.truth[entry.id] = happened
            self.requests[entry.id] = arguments
        if name == "simulate_authorization":  # a person would find these ids in the events
            self.purchases += [event.payload["body"]["id"] for event in sandbox.events(kind="transaction.created")[-1:]]
        if name == "create_payment_account" and answer is not None:
            self.accounts.append(answer.id)

    def settle(self) -> None:
        """Settle a purchase."""
        if self.purchases:
            with suppress(wb.WorkbenchError):
                self.api.sandbox.settle(self.chance.choice(self.purchases))

    def control(self) -> None:
        """Use a control, which the journal does not record."""
        sandbox, chance = self.api.sandbox, self.chance
        user = self.guide["users"]["approved"][0]
        acts: list[Callable[[], Any]] = [
            *[self.settle] * 4,
            lambda: sandbox.review(user, chance.choice(["pending", "approved"])),
            lambda: sandbox.advance(minutes=2),
        ]
        with suppress(wb.WorkbenchError):
            chance.choice(acts)()

    def wrong(self) -> list[str]:
        """Return the evidence that contradicts the books."""
        said = []
        for entry in self.api.journal.unknown():
            evidence = self.api.journal.evidence(entry.id)
            happened = self.truth[entry.id]
            if evidence.outcome == ("not_sent" if happened else "done"):
                said.append(f"{entry.operation} {entry.id}: {evidence!r}, and the books say {happened}")
        return said


def _play(seed: int, counts: Counter[tuple[str, str]]) -> list[str]:
    history, wrong = History(seed), []
    chance = history.chance
    effects = [name for name, row in OPERATIONS.items() if row.effect and name != "sign_withdrawal"]
    focus = [*chance.sample(effects, 3), "simulate_authorization", "simulate_refund", "simulate_reversal"]
    for _ in range(chance.randint(1, 3)):
        history.call("simulate_authorization")
        history.settle()
    for _ in range(chance.randint(4, 14)):
        act = chance.random()
        if act < 0.25:
            history.control()
        elif act < 0.35:
            history.resend()
        else:
            history.call(chance.choice(focus), chance.choice([None, None, *FAULTS]))
        if chance.random() < 0.3:
            wrong += history.wrong()
        if chance.random() < 0.2:  # resolve the call as the documentation shows
            for entry in history.api.journal.unknown():
                evidence = history.api.journal.evidence(entry.id)
                if evidence.outcome is not None:
                    counts[entry.operation, str(evidence.verdict)] += 1
                    history.api.journal.resolve(entry.id, evidence.outcome)
    wrong += history.wrong()
    for entry in history.api.journal.unknown():
        counts[entry.operation, str(history.api.journal.evidence(entry.id).verdict)] += 1
    history.api.close()
    return wrong


@pytest.mark.parametrize("first", range(0, 12, 3))
def test_evidence_agrees_with_the_books(first: int) -> None:
    """Evidence never says `done` for a call without an effect, or `not_sent` for a call with an effect."""
    counts: Counter[tuple[str, str]] = Counter()
    assert [said for seed in range(first, first + 3) for said in _play(seed, counts)] == []


@pytest.mark.soak
def test_evidence_agrees_with_the_books_in_many_histories() -> None:
    """Evidence agrees with the books in 2,000 histories, and leaves at most 30 % of the calls with events open."""
    counts: Counter[tuple[str, str]] = Counter()
    wrong = [said for seed in range(2_000) for said in _play(seed, counts)]
    asked = sum(count for (_, verdict), count in counts.items() if verdict != Verdict.NO_EVENT)
    undecided = sum(count for (_, verdict), count in counts.items() if verdict == Verdict.OPEN)
    for (operation, verdict), count in sorted(counts.items()):
        print(f"{operation:26} {verdict:10} {count:5}")

    assert wrong == []
    assert undecided <= MOST_OPEN * asked


RECIPE = Path(__file__).parents[2] / "docs" / "errors.md"


def _recipe() -> str:
    """Return the code for an unknown outcome from the page on errors."""
    block = RECIPE.read_text(encoding="utf-8").partition("except wb.OutcomeUnknown as error:\n")[2].partition("```")[0]
    return textwrap.dedent(block)


@pytest.mark.parametrize(
    "name, fault",
    across(
        [name for name, row in OPERATIONS.items() if row.effect and name != "sign_withdrawal"], [*FAULTS, "slow_body"]
    ),
)
def test_the_recipe_agrees_with_the_books(name: str, fault: str) -> None:
    """The page's code resolves calls correctly, twice each and after an equal call, and decides calls with events."""
    history = History(2)
    api = history.api
    history.call("simulate_authorization")
    api.sandbox.settle(history.purchases[0])
    history.call(name)
    for _ in range(2):
        known = len(api.journal)
        history.call(name, fault)
        entry = list(api.journal)[known]
        if isinstance(history.error, wb.OutcomeUnknown):  # also raised if a completed call has an unreadable answer
            exec(_recipe(), {"api": api, "wb": wb, "error": history.error})
        resolved = api.journal[entry.id].final_outcome

        assert resolved != ("not_sent" if history.truth[entry.id] else "done")


def test_evidence_of_a_service_is_what_its_inbox_received_since(tmp_path: Path) -> None:
    """Events before the journal's first call do not count, missing events prove nothing, and files keep evidence."""
    sandbox = wb.Sandbox(seed=5)
    key = sandbox.full_key
    card = sandbox.guide()["cards"]["active"][0]
    purchase: dict[str, Any] = {
        "card_id": card, "amount": 1250, "currency": "USD", "merchant_name": "Shop", "merchant_category_code": "5411"
    }  # fmt: skip
    delivered = 0

    def opened() -> Session:
        settings: dict[str, Any] = {"base_url": sandbox.base_url, "api_key": key, "transport": sandbox.transport()}
        return Session(keys=(key,), inbox=tmp_path / "inbox.db", journal=tmp_path / "journal.db", **settings)

    def deliver(api: Session) -> None:
        nonlocal delivered
        for number, headers, body in internals(sandbox).drain(delivered, key)[0]:
            api.inbox.receive(headers, body)
            delivered = number

    def unknown(api: Session, fault: str) -> str:
        sandbox.clear_faults()
        sandbox.add_fault(fault, times=1)
        with pytest.raises(wb.OutcomeUnknown) as lost:
            api.simulate_authorization(**purchase)
        return lost.value.attempt.id

    with wb.Client(base_url=sandbox.base_url, api_key=key, transport=sandbox.transport(), journal=False) as other:
        other.simulate_authorization(**purchase)
    with opened() as api:
        deliver(api)  # these purchases were sent earlier by another program
        first = unknown(api, "lost")
        assert (api.journal.evidence(first).verdict, api.journal.evidence(first).outcome) == ("not_found", None)
        deliver(api)
        assert api.journal.evidence(first).outcome == "done"
    with opened() as api:
        assert api.journal.evidence(first).outcome == "done"
        api.journal.resolve(first, "done")
        second = unknown(api, "reset")
        deliver(api)
        assert (api.journal.evidence(second).verdict, api.journal.evidence(second).outcome) == ("not_found", None)


def test_the_requests_of_purchases_distinguish_refunds(tmp_path: Path) -> None:
    """Without the purchases' events, the journal's requests tell which card a refund belongs to."""
    sandbox = wb.Sandbox(seed=5)
    key = sandbox.full_key
    rest: dict[str, Any] = {"currency": "USD", "merchant_name": "Shop", "merchant_category_code": "5411"}
    settings: dict[str, Any] = {"base_url": sandbox.base_url, "api_key": key, "transport": sandbox.transport()}
    with Session(keys=(key,), inbox=tmp_path / "inbox.db", journal=tmp_path / "journal.db", **settings) as api:
        cards = sandbox.guide()["cards"]["active"][:2]
        bought = [api.simulate_authorization(card_id=card, amount=900, **rest).transaction_id for card in cards]
        for transaction in bought:
            sandbox.settle(transaction)
        before = max(number for number, _, _ in internals(sandbox).drain(0, key)[0])
        unknown = []
        for transaction, fault in zip(bought, ("lost", "reset"), strict=True):
            sandbox.add_fault(fault, times=1)
            with pytest.raises(wb.OutcomeUnknown) as lost:
                api.simulate_refund(transaction_id=transaction, amount=100)
            unknown.append(lost.value.attempt.id)
        for _, headers, body in internals(sandbox).drain(before, key)[0]:
            api.inbox.receive(headers, body)

        assert ["done", "not_found"] == [api.journal.evidence(entry).verdict for entry in unknown]


def test_the_events_of_a_purchase_say_what_its_full_refund_and_its_reversal_cause() -> None:
    """A full refund returns the settled amount, and a reversal to the current hold causes no event."""
    api = wb.connect()
    rest: dict[str, Any] = {"currency": "USD", "merchant_name": "Shop", "merchant_category_code": "5411"}
    card = api.sandbox.guide()["cards"]["active"][0]
    first, second, held = (
        api.simulate_authorization(card_id=card, amount=amount, **rest).transaction_id for amount in (900, 800, 700)
    )
    api.sandbox.settle(first)
    api.sandbox.settle(second)
    unknown = []
    for call, fault in (
        (lambda: api.simulate_refund(transaction_id=first, amount=wb.FULL), "lost"),
        (lambda: api.simulate_refund(transaction_id=second, amount=wb.FULL), "reset"),
        (lambda: api.simulate_reversal(transaction_id=held, new_amount=700), "lost"),
    ):
        api.sandbox.add_fault(fault, times=1)
        with pytest.raises(wb.OutcomeUnknown) as lost:
            call()
        unknown.append(lost.value.attempt.id)

    evidence = [api.journal.evidence(entry) for entry in unknown]
    assert ["done", "not_found", "no_event"] == [answer.verdict for answer in evidence]
    assert ["done", "not_sent", None] == [answer.outcome for answer in evidence]


def test_evidence_has_no_truth_value() -> None:
    """Evidence raises TypeError as a condition, because `if evidence:` would record refunds that never happened."""
    history = History(1)
    history.call("simulate_authorization", "reset")
    (entry,) = history.api.journal.unknown()
    evidence = history.api.journal.evidence(entry.id)

    with pytest.raises(TypeError, match="no truth value"):
        bool(evidence)
    assert evidence.outcome == "not_sent" or not history.complete


def test_an_accepted_call_is_done_and_a_refused_one_has_no_evidence() -> None:
    """Evidence of a done call is `done`, and its outcome cannot be changed. A refused call has no evidence."""
    api = History(1).api
    card = api.sandbox.guide()["cards"]["active"][0]
    api.simulate_authorization(
        card_id=card, amount=7, currency="USD", merchant_name="Shop", merchant_category_code="5411"
    )
    (entry,) = api.journal
    assert api.journal.evidence(entry.id).outcome == "done"
    assert api.journal.resolve(entry.id, "done") == entry
    with pytest.raises(wb.errors.UsageError, match="is done; only an unknown"):
        api.journal.resolve(entry.id, "not_sent")
    with pytest.raises(wb.ApiError):
        api.simulate_refund(transaction_id="3f2a0b1c-0000-4000-8000-000000000000", amount=wb.FULL)
    with pytest.raises(wb.errors.UsageError, match="is refused; evidence exists"):
        api.journal.evidence(api.journal.list()[-1].id)


def test_a_replayed_answer_does_not_take_the_event_of_the_first_attempt() -> None:
    """A resend with an honored key returns the record of the lost call, which then does not count as not sent."""
    api = wb.connect(behavior="observed", idempotency_header="Idempotency-Key")
    card = api.sandbox.guide()["cards"]["active"][0]
    purchase: dict[str, Any] = {
        "card_id": card, "amount": 7, "currency": "USD", "merchant_name": "Shop", "merchant_category_code": "5411"
    }  # fmt: skip
    api.sandbox.add_fault("lost", times=1)
    with pytest.raises(wb.OutcomeUnknown) as lost:
        api.simulate_authorization(**purchase)
    api.journal.resend(lost.value.attempt.id, purchase)

    assert api.journal.evidence(lost.value.attempt.id).outcome != "not_sent"


def _unknown_calls(api: Any) -> None:
    """Make calls with unknown outcomes: with and without effect, without events, and one effect of two equal calls."""
    guide = api.sandbox.guide()
    purchase = {"currency": "USD", "merchant_name": "Shop", "merchant_category_code": "5411"}
    card, other = guide["cards"]["active"][:2]
    made = api.simulate_authorization(card_id=card, amount=900, **purchase)
    api.sandbox.settle(made.transaction_id)
    account = {
        **walk.given(example(OPERATIONS["create_payment_account"].request)),
        "user_id": guide["users"]["approved"][0],
    }
    for call, fault in (
        (lambda: api.simulate_authorization(card_id=card, amount=100, **purchase), "lost"),
        (lambda: api.simulate_refund(transaction_id=made.transaction_id, amount=100), "reset"),
        (lambda: api.create_payment_account(**account), "lost"),
        (lambda: api.simulate_authorization(card_id=other, amount=100, **purchase), "lost"),
        (lambda: api.simulate_authorization(card_id=other, amount=100, **purchase), "reset"),
    ):
        api.sandbox.add_fault(fault, times=1)
        with suppress(wb.errors.OutcomeUnknown):
            call()


def test_panel_and_commands_show_the_same_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The panel's lists and details and the commands show each verdict of `journal.evidence`."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    with wb.connect(path=tmp_path / "sandbox.db", journal=tmp_path / "journal-sandbox.db") as api:
        _unknown_calls(api)
        expected = {entry.id: api.journal.evidence(entry.id) for entry in api.journal.unknown()}
        assert {"done", "not_found", "no_event", "open"} == {str(seen.verdict) for seen in expected.values()}
        panel = wb.browse(api)
        rows = panel.open("requests").data
        for attempt, seen in expected.items():
            assert seen.verdict.replace("_", " ") == rows.column("evidence")[rows.positions[attempt]]
            details = str(panel.show("requests", attempt))
            assert seen.reason in details
            assert (f'resolve(\\"{attempt}' if seen.outcome else seen.next_step[:40]) in details.replace('"', '\\"')
        del panel

    assert 0 == main(["journal", "list", "--outcome", "unknown", "-o", "json"])
    rows = json.loads(capsys.readouterr().out)
    assert {attempt: seen.verdict for attempt, seen in expected.items()} == {row["id"]: row["evidence"] for row in rows}
    assert 0 == main(["journal", "unknown"])
    said = capsys.readouterr().err
    for attempt, seen in expected.items():
        assert f"{attempt}: {seen!s}" in said
        assert (f"workbench journal resolve {attempt} {seen.outcome}\n" in said) == bool(seen.outcome)


def test_a_journal_without_its_events_says_so(tmp_path: Path, capsys: Any) -> None:
    """At a prompt, an application's journal has no events, so its evidence proves nothing and says so."""
    path = tmp_path / "app.db"
    with wb.connect(journal=path) as api:
        _unknown_calls(api)
        attempts = [entry.id for entry in api.journal.unknown()]

    main(["journal", "unknown", "--path", str(path)])
    said = capsys.readouterr().err
    assert 4 == said.count("this journal has no events of its service")
    assert not [attempt for attempt in attempts if f"resolve {attempt}" in said]
