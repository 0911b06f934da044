"""A fault at each point of a call with an effect: no effect is lost or doubled, and each call has one of four outcomes.

Each operation with an effect meets each fault, once and repeatedly, on the embedded sandbox. The sandbox's count of
effects is the ledger.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.doubles import FakeClock
from tests.client.test_calls import ADDRESS, BANK_ADDRESS
from tests.each import across
from workbench.base.errors import (
    AdviceWarning,
    CannotRecord,
    NotSent,
    OutcomeUnknown,
    ServiceFailure,
    UnexpectedAnswer,
    UnusableFile,
    WorkbenchError,
)
from workbench.base.system.database import Database
from workbench.client.calls.client import Client
from workbench.client.calls.effects import Outcome
from workbench.client.calls.journal import Journal, recorder_of
from workbench.sandbox import Sandbox
from workbench.service.interface.table import OPERATIONS

EVM = "0x" + "ab" * 20


class Cut(httpx.SyncByteStream):
    """A body that is interrupted."""

    def __iter__(self) -> Iterator[bytes]:
        yield b'{"id": "3f'
        raise httpx.RemoteProtocolError("cut")


Answer = Callable[[httpx.Request], httpx.Response]
Fault = Callable[[httpx.Request, Answer], httpx.Response]


def before(error: BaseException) -> Fault:
    def fault(_: httpx.Request, __: Answer) -> httpx.Response:
        raise error.with_traceback(None)  # drop the earlier traceback, since the same error object is raised repeatedly

    return fault


def after(error: BaseException) -> Fault:
    def fault(request: httpx.Request, answer: Answer) -> httpx.Response:
        answer(request)
        raise error.with_traceback(None)

    return fault


def instead(status: int, content: Any = b"", *, acted: bool) -> Fault:
    def fault(request: httpx.Request, answer: Answer) -> httpx.Response:
        if acted:
            answer(request)
        if isinstance(content, bytes):
            return httpx.Response(status, content=content)
        return httpx.Response(status, stream=content())

    return fault


FAULTS: dict[str, tuple[Fault, set[Outcome]]] = {
    "refused": (before(httpx.ConnectError("refused")), {Outcome.NOT_SENT}),
    "no connection in time": (before(httpx.ConnectTimeout("late")), {Outcome.NOT_SENT}),
    "no free connection": (before(httpx.PoolTimeout("late")), {Outcome.NOT_SENT}),
    "time-out while writing": (before(httpx.WriteTimeout("late")), {Outcome.UNKNOWN}),
    "time-out before it acts": (before(httpx.ReadTimeout("late")), {Outcome.UNKNOWN}),
    "time-out after it acted": (after(httpx.ReadTimeout("late")), {Outcome.UNKNOWN}),
    "reset before it acts": (before(httpx.ReadError("reset")), {Outcome.UNKNOWN}),
    "reset after it acted": (after(httpx.ReadError("reset")), {Outcome.UNKNOWN}),
    "closed after it acted": (after(httpx.RemoteProtocolError("closed")), {Outcome.UNKNOWN}),
    "500 before it acts": (instead(500, acted=False), {Outcome.UNKNOWN}),
    "502 after it acted": (instead(502, acted=True), {Outcome.UNKNOWN}),
    "504 after it acted": (instead(504, b"<html>", acted=True), {Outcome.UNKNOWN}),
    "429 before it acts": (instead(429, acted=False), {Outcome.REFUSED}),
    "cut answer": (instead(200, Cut, acted=True), {Outcome.DONE}),
    "cut refusal": (instead(400, Cut, acted=False), {Outcome.REFUSED}),
    "unreadable answer": (instead(200, b"<html>", acted=True), {Outcome.DONE}),
    "answer of another shape": (instead(200, b"[]", acted=True), {Outcome.DONE}),
    "interrupt before it acts": (before(KeyboardInterrupt()), {Outcome.UNKNOWN}),
    "interrupt after it acted": (after(KeyboardInterrupt()), {Outcome.UNKNOWN}),
}


class Faulty(httpx.BaseTransport):
    """A sandbox behind a faulty network. It counts the sandbox's effects."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._inner = sandbox.transport()
        self.effects = 0
        self.sent = 0
        self.fault: Fault | None = None
        self.only_once = True

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent += 1
        fault = self.fault
        if fault is None:
            return self._answer(request)
        if self.only_once:
            self.fault = None
        return fault(request, self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = self._inner.handle_request(request)
        self.effects += answer.is_success and (request.method != "GET" or "signatures" in request.url.path)
        return answer


class Rig:
    """A client on a sandbox behind a faulty network, with arguments for each operation."""

    def __init__(self, journal: Journal | None = None) -> None:
        self.sandbox = Sandbox()
        self.guide = self.sandbox.guide()
        self.network = Faulty(self.sandbox)
        key = next(iter(self.guide["api_keys"].values()))
        self.client = Client(
            base_url=self.guide["base_url"], api_key=key, transport=self.network, clock=FakeClock(),
            journal=journal or Journal(),
        )  # fmt: skip
        self._count = 0

    def arguments(self, name: str) -> dict[str, Any]:
        """Return arguments that the sandbox accepts, different in each call."""
        self._count += 1
        made: dict[str, Any] = getattr(self, f"_{name}")()
        return made

    def _sign_withdrawal(self) -> dict[str, Any]:
        contract = self.guide["contracts"][0]
        whole = next(one for one in self.client.list_contracts() if one.id == contract["id"])
        return {
            "chain_id": whole.chain_id, "token": whole.tokens[0].address, "amount": str(100 + self._count),
            "is_amount_native": False, "admin_address": whole.admin_addresses[0], "recipient_address": EVM,
        }  # fmt: skip

    def _simulate_authorization(self) -> dict[str, Any]:
        return {
            "card_id": self.guide["cards"]["active"][0], "amount": 100 + self._count, "currency": "USD",
            "merchant_name": "Corner Grocery", "merchant_category_code": "5411",
        }  # fmt: skip

    def _authorized(self) -> str:
        return str(self.client.simulate_authorization(**self._simulate_authorization()).transaction_id)

    def _simulate_reversal(self) -> dict[str, Any]:
        return {"transaction_id": self._authorized(), "new_amount": 50}

    def _simulate_refund(self) -> dict[str, Any]:
        transaction = self._authorized()
        self.sandbox.settle(transaction)
        return {"transaction_id": transaction, "amount": 10}

    def _create_payment_account(self) -> dict[str, Any]:
        return {
            "type": "externalFiatAccount", "nickname": f"Account {self._count}",
            "user_id": self.guide["users"]["approved"][0],
            "external_fiat_account": {
                "beneficiary_type": "business", "beneficiary_business_name": "Example Ltd", "currency": "usd",
                "beneficiary_address": BANK_ADDRESS, "bank_name": "Example Bank", "account_number": "000123456789",
                "routing_number": "000000000",
            },
        }  # fmt: skip

    def _delete_payment_account(self) -> dict[str, Any]:
        return {"payment_account_id": self.client.create_payment_account(**self._create_payment_account()).id}

    def _update_user(self) -> dict[str, Any]:
        return {"user_id": self.guide["users"]["approved"][0], "first_name": f"Ada {self._count}"}

    def _update_ubo(self) -> dict[str, Any]:
        company = self.guide["companies"][0]
        return {"company_id": company["id"], "ubo_id": company["owners"][0]["id"], "first_name": f"Ada {self._count}"}

    def _update_dispute(self) -> dict[str, Any]:
        return {"dispute_id": self.guide["disputes"]["pending"][0], "text_evidence": f"Evidence {self._count}"}

    def _create_user_application(self) -> dict[str, Any]:
        return {
            "first_name": "Ada", "last_name": "Example", "birth_date": "1990-02-01", "national_id": "900112233",
            "country_of_issue": "US", "email": f"ada{self._count}@example.com", "address": ADDRESS,
            "ip_address": "203.0.113.5", "occupation": "Engineer", "annual_salary": "1", "account_purpose": "x",
            "expected_monthly_volume": "1", "wallet_address": EVM,
        }  # fmt: skip

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[Any, Outcome, int]:
        """Call an operation; return its answer or error, its outcome in the journal, and its number of effects."""
        known = {entry.id for entry in self.client.journal}
        effects = self.network.effects
        result: Any
        try:
            result = getattr(self.client, name)(**arguments)
        except (WorkbenchError, KeyboardInterrupt) as error:
            result = error
        made = [entry for entry in self.client.journal if entry.id not in known]
        assert len(made) == 1
        return result, made[0].outcome, self.network.effects - effects


EFFECTS = [name for name, row in OPERATIONS.items() if row.effect]
ERRORS = {
    Outcome.NOT_SENT: NotSent,
    Outcome.UNKNOWN: (OutcomeUnknown, KeyboardInterrupt),
    Outcome.REFUSED: WorkbenchError,
}


def agrees(result: Any, end: Outcome, effects: int) -> bool:
    """Return whether the caller's result, the journal's outcome and the ledger's effects agree."""
    if end is Outcome.DONE:
        return effects == 1 and (not isinstance(result, BaseException) or isinstance(result, UnexpectedAnswer))
    if end is Outcome.UNKNOWN:
        return effects in {0, 1} and isinstance(result, OutcomeUnknown | KeyboardInterrupt)
    if end is Outcome.NOT_SENT:
        return effects == 0 and isinstance(result, NotSent)
    return end is Outcome.REFUSED and effects == 0 and isinstance(result, WorkbenchError)


@pytest.mark.parametrize("once", [True, False], ids=["once", "from then on"])
@pytest.mark.parametrize("fault, name", across(FAULTS, EFFECTS))
def test_faults_of_the_network(name: str, fault: str, once: bool) -> None:
    """No network fault loses or doubles an effect, and the caller learns each outcome that can be known."""
    broken, expected = FAULTS[fault]
    rig = Rig()
    arguments = rig.arguments(name)
    rig.network.fault, rig.network.only_once = broken, once
    sent = rig.network.sent
    result, end, effects = rig.call(name, arguments)

    # The client retries a request that certainly was not sent, so one fault of this kind causes no error.
    recovered = once and expected == {Outcome.NOT_SENT}
    assert end in ({Outcome.DONE} if recovered else expected)
    assert agrees(result, end, effects), (result, end, effects)
    assert rig.network.sent - sent == (1 if expected != {Outcome.NOT_SENT} else 2 if once else 3)
    if "acted" in fault:
        assert effects == 1
    rig.network.fault = None
    following = rig.call(name, rig.arguments(name))
    assert agrees(*following), following
    assert following[1] is Outcome.DONE


def test_unknown_is_what_the_ledger_cannot_tell() -> None:
    """Of many calls, only calls with a lost answer have an unknown outcome."""
    rig = Rig()
    lost = 0
    for i, (fault, (broken, expected)) in enumerate(FAULTS.items()):
        arguments = rig.arguments("simulate_authorization")
        rig.network.fault, rig.network.only_once = broken, True
        _, end, effects = rig.call("simulate_authorization", arguments)
        lost += end is Outcome.UNKNOWN
        assert effects <= 1, (i, fault)
        assert end in expected | {Outcome.DONE}

    assert len(rig.client.journal.unknown()) == lost


# faults of the journal


def _failing(at: str) -> Callable[..., Any]:
    """Make a write to a file fail: before anything is stored, at the commit, or after it (a late fsync error)."""
    whole = Database.run

    def run(self: Database, query: str, values: Any = ()) -> Any:
        if query.startswith("SELECT"):
            return whole(self, query, values)
        if at == "write":
            raise UnusableFile("the disk is full")
        if at == "commit":
            with self.write() as connection:
                connection.execute(query, values)
                raise UnusableFile("no space to commit")
        whole(self, query, values)
        raise UnusableFile("fsync failed")

    return run


@pytest.mark.parametrize("at", ["write", "commit", "fsync"])
@pytest.mark.parametrize("name", EFFECTS)
def test_faults_of_the_journal_before_the_call(
    name: str, at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the journal fails before a call, nothing is sent."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    rig = Rig(Journal(tmp_path / "journal.db"))
    arguments = rig.arguments(name)
    sent, effects = rig.network.sent, rig.network.effects
    with monkeypatch.context() as patch:
        patch.setattr(Database, "run", _failing(at))
        for _ in range(3):
            with pytest.raises(CannotRecord, match="nothing is sent"):
                getattr(rig.client, name)(**arguments)

    assert (sent, effects) == (rig.network.sent, rig.network.effects)
    result, end, made = rig.call(name, arguments)
    assert end is Outcome.DONE
    assert agrees(result, end, made)


@pytest.mark.parametrize("at", ["write", "commit", "fsync"])
@pytest.mark.parametrize("name", EFFECTS)
def test_faults_of_the_journal_after_the_call(
    name: str, at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the journal fails after a call, the caller gets the answer, and the entry is unknown or done."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    rig = Rig(Journal(tmp_path / "journal.db"))
    arguments = rig.arguments(name)
    effects = rig.network.effects

    def breaks(request: httpx.Request, answer: Answer) -> httpx.Response:
        monkeypatch.setattr(Database, "run", _failing(at))
        return answer(request)

    rig.network.fault = breaks
    with pytest.warns(AdviceWarning, match="could not be recorded"):
        answer = getattr(rig.client, name)(**arguments)
    monkeypatch.undo()
    newest = list(rig.client.journal)[-1]

    assert type(answer) is OPERATIONS[name].answer
    assert rig.network.effects - effects == 1
    assert newest.outcome is (Outcome.DONE if at == "fsync" else Outcome.UNKNOWN)


def test_reads_need_no_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read succeeds even if the journal cannot be used."""
    rig = Rig(Journal(tmp_path / "journal.db"))
    monkeypatch.setattr(Database, "run", _failing("write"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        assert rig.client.list_contracts()


def test_reads_go_on_after_faults() -> None:
    """A read that meets a fault once still gets its answer, unless the service itself fails."""
    for fault, (broken, _) in FAULTS.items():
        if "interrupt" in fault or "refusal" in fault or "unreadable" in fault or "shape" in fault:
            continue  # the client does not retry a read after these faults
        rig = Rig()
        rig.network.fault = broken
        with contextlib.suppress(ServiceFailure):
            assert rig.client.list_contracts(), fault


def test_a_full_disk_stops_effects_before_they_happen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk no call is sent, so there are never more effects than recorded calls."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    for room in range(1, 4):
        opened: list[Database] = []
        whole = Database.__init__

        def noted(self: Database, *args: Any, made: Any = whole, seen: Any = opened, **more: Any) -> None:
            made(self, *args, **more)
            seen.append(self)

        monkeypatch.setattr(Database, "__init__", noted)
        rig = Rig(Journal(tmp_path / f"journal-{room}.db"))
        rig.client.simulate_authorization(**rig.arguments("simulate_authorization"))
        monkeypatch.undo()
        monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
        run = opened[0].connection.execute
        pages = run("PRAGMA page_count").fetchone()[0]
        run(f"PRAGMA max_page_count={pages + room}")
        full = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdviceWarning)
            for _ in range(300):
                if full == 3:
                    break
                try:
                    rig.client.update_dispute(**rig.arguments("update_dispute"))
                except CannotRecord as error:
                    full += "full" in str(error)
        recorded = len(rig.client.journal)

        assert full == 3
        assert rig.network.effects == rig.network.sent == recorded


@pytest.mark.parametrize(
    "at, always, outcome",
    [("begin", False, "not_sent"), ("finish", False, "done"), ("finish", True, "unknown")],
    ids=["before", "after", "twice"],
)
def test_an_interrupt_inside_the_journal_leaves_no_call_in_flight(
    at: str, always: bool, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Ctrl-C inside the journal, the entry has the known outcome or is unknown."""
    rig = Rig()
    recorder = recorder_of(rig.client.journal)
    whole = getattr(recorder, at)

    def interrupted(*given: Any, **more: Any) -> None:
        if at == "begin":
            whole(*given)
        if not always:
            monkeypatch.setattr(recorder, at, whole)
        raise KeyboardInterrupt

    monkeypatch.setattr(recorder, at, interrupted)
    with pytest.raises(KeyboardInterrupt):
        rig.client.update_user(**rig.arguments("update_user"))
    (entry,) = rig.client.journal

    assert entry.outcome == outcome
    assert rig.network.effects == (0 if at == "begin" else 1)
