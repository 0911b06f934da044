"""Each drill is solved by a good answer, and by none of two plausible bad ones."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import workbench as wb
from workbench.course import debrief
from workbench.course.drill_run import DrillRun, drill
from workbench.course.drills import DRILLS

pytestmark = pytest.mark.slow  # each plays the traffic of an incident

Answer = Callable[[Any, DrillRun], None]


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[wb.Session]:
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    session = wb.connect(seed=7)
    yield session
    session.close()


# duplicate-bookings


def correct_repetitions(api: Any, run: DrillRun) -> None:
    counts = Counter(row["event"] for row in run.ledger)
    seen = set()
    for row in run.ledger:
        if counts[row["event"]] > 1 and row["event"] not in seen:
            seen.add(row["event"])
            run.book(row["transaction"], -row["cents"])


def correct_one(api: Any, run: DrillRun) -> None:
    repeated = next(row for row in run.ledger if sum(row["event"] == one["event"] for one in run.ledger) > 1)
    run.book(repeated["transaction"], -repeated["cents"])


def take_everything_back_twice(api: Any, run: DrillRun) -> None:
    for row in run.ledger:
        if sum(row["event"] == one["event"] for one in run.ledger) > 1:
            run.book(row["transaction"], -row["cents"])


# unknown-refunds


def look_then_resolve(api: Any, run: DrillRun) -> None:
    for entry in api.journal.unknown():
        transaction = entry.request["transactionId"]
        carried_out = api.sandbox.state(transaction)["refunded"] > 0
        api.journal.resolve(entry.id, "done" if carried_out else "not_sent")
        if not carried_out:
            api.simulate_refund(transaction_id=transaction, amount=500)


def repeat_all(api: Any, run: DrillRun) -> None:
    for entry in api.journal.unknown():
        with suppress(wb.WorkbenchError):
            api.journal.resolve(entry.id, "not_sent")
            api.simulate_refund(transaction_id=entry.request["transactionId"], amount=500)


def call_all_done(api: Any, run: DrillRun) -> None:
    for entry in api.journal.unknown():
        api.journal.resolve(entry.id, "done")


# rotated-key


def _receive(api: Any, run: DrillRun, **inbox: Any) -> None:
    with wb.Inbox(**inbox) as received, received.serve(port=run.facts["port"]):
        api.sandbox.flush(timeout=60)  # each was tried once
        for event in api.sandbox.events(since=run.facts["after"]):
            api.sandbox.resend(event.payload["id"], run.facts["endpoint"])
        api.sandbox.flush(timeout=60)
        run.last = run.check()


def serve_with_the_new_key(api: Any, run: DrillRun) -> None:
    _receive(api, run, keys=[run.facts["signing_key"]])


def serve_with_the_old_key(api: Any, run: DrillRun) -> None:
    _receive(api, run, keys=["drill-key-0001"])


def accept_unsigned(api: Any, run: DrillRun) -> None:
    _receive(api, run, accept_unsigned=True)


# wrong-decimals


def _withdraw(api: Any, run: DrillRun, dollars: str) -> None:
    facts = run.facts
    contract = next(one for one in api.list_contracts() if str(one.id) == facts["contract"])
    token = contract.tokens[0]
    plan = wb.withdrawals.plan(
        api,
        contract,
        token=token,
        amount=wb.withdrawals.usd(dollars),
        admin=facts["admin"],
        to=facts["recipient"],
        decimals=6,
    )
    withdrawal = plan.sign()
    message = withdrawal.typed_data(nonce=api.sandbox.state(facts["contract"])["nonce"])
    half = message.accept(api.sandbox.wallet(facts["admin"]).sign(message))
    api.sandbox.execute(withdrawal.transaction(half, direct_transfer=True))


def wait_and_plan_again(api: Any, run: DrillRun) -> None:
    api.sandbox.advance(minutes=11)
    _withdraw(api, run, "40.00")


def execute_what_there_is(api: Any, run: DrillRun) -> None:
    _withdraw(api, run, "4000.00")


def withdraw_twice(api: Any, run: DrillRun) -> None:
    api.sandbox.advance(minutes=11)
    _withdraw(api, run, "20.00")
    api.sandbox.advance(minutes=11)
    _withdraw(api, run, "20.00")


# cut-rewards


def read_by_type(api: Any, run: DrillRun) -> None:
    user = run.facts["user"]
    counts = {kind: len(wb.to_frame(wb.rewards.fetch(api, [user], type=kind))) for kind in ("earned", "redeemed")}
    run.answer(**counts)


def read_to_the_offset(api: Any, run: DrillRun) -> None:
    run.answer(earned=10_000, redeemed=450)


def report_one_type(api: Any, run: DrillRun) -> None:
    run.answer(earned=len(wb.to_frame(wb.rewards.fetch(api, [run.facts["user"]], type="earned"))))


# fraud-burst


def lock_release_refund(api: Any, run: DrillRun) -> None:
    api.sandbox.cards.lock(run.facts["card"])
    for one in api.sandbox.records("transaction"):
        if one["merchant_name"] != "Quick Gift Cards":
            continue
        if one["status"] == "settled":
            api.simulate_refund(transaction_id=one["id"], amount=wb.FULL)
        elif one["held"]:
            api.simulate_reversal(transaction_id=one["id"], new_amount=0)


def only_lock(api: Any, run: DrillRun) -> None:
    api.sandbox.cards.lock(run.facts["card"])


def reverse_everything(api: Any, run: DrillRun) -> None:
    api.sandbox.cards.lock(run.facts["card"])
    for one in api.sandbox.records("transaction"):
        if one["card"] == run.facts["card"]:
            with suppress(wb.ApiError):
                api.simulate_reversal(transaction_id=one["id"], new_amount=0)
            with suppress(wb.ApiError):
                api.simulate_refund(transaction_id=one["id"], amount=wb.FULL)


# stuck-reviews


def give_then_decide(api: Any, run: DrillRun) -> None:
    users = run.facts["users"]
    api.update_user(user_id=users["needsInformation"], phone_country_code="1", phone_number="5550177")
    api.sandbox.accept_terms(users["tosNotAccepted"])
    api.sandbox.advance(minutes=30)
    for user in users.values():
        if api.sandbox.state(user)["status"] != "approved":
            api.sandbox.review(user, "approved")


def approve_all(api: Any, run: DrillRun) -> None:
    for user in run.facts["users"].values():
        with suppress(wb.ApiError):
            api.sandbox.review(user, "approved")


def only_wait(api: Any, run: DrillRun) -> None:
    api.sandbox.advance(days=1)


# rate-limits


def update_each(api: Any, run: DrillRun) -> None:
    for user, wanted in run.facts["external_ids"].items():
        while True:
            with suppress(wb.errors.RateLimited):
                api.update_user(user_id=user, external_id=wanted)
                break


def stop_at_the_first(api: Any, run: DrillRun) -> None:
    with suppress(wb.errors.RateLimited):
        for user, wanted in run.facts["external_ids"].items():
            api.update_user(user_id=user, external_id=wanted, phone_country_code="1", phone_number="5550100")
    api.sandbox.clear_faults()


def begin_again(api: Any, run: DrillRun) -> None:
    stop_at_the_first(api, run)
    for user, wanted in run.facts["external_ids"].items():
        api.update_user(user_id=user, external_id=wanted)
    first = next(iter(run.facts["external_ids"]))
    api.update_user(user_id=first, external_id=run.facts["external_ids"][first])


# lost-endpoint


def _new_endpoint(api: Any, run: DrillRun, *, resend: bool, remove: bool) -> None:
    key = api.sandbox.full_key
    with wb.Inbox(keys=[key]) as inbox, inbox.serve() as url:
        made = api.sandbox.register_endpoint(url)
        if resend:
            failed = dict.fromkeys(one.event_id for one in api.sandbox.deliveries(state="failed"))
            for event in failed:
                api.sandbox.resend(event, made.id)
            api.sandbox.flush(timeout=60)
        if remove:
            api.sandbox.remove_endpoint(run.facts["endpoint"])
        run.last = run.check()


def register_and_resend(api: Any, run: DrillRun) -> None:
    _new_endpoint(api, run, resend=True, remove=True)


def only_register(api: Any, run: DrillRun) -> None:
    _new_endpoint(api, run, resend=False, remove=True)


def keep_the_lost_one(api: Any, run: DrillRun) -> None:
    _new_endpoint(api, run, resend=True, remove=False)


# half-migration


def _accounts(api: Any, run: DrillRun) -> dict[str, dict[str, list[str]]]:
    held: dict[str, dict[str, list[str]]] = {user: {"Old Bank": [], "New Bank": []} for user in run.facts["users"]}
    for one in api.sandbox.records("payment_account"):
        members = one["members"]
        bank = members["external_fiat_account"]["bank_name"]
        if members.get("user_id") in held and bank in held[members["user_id"]]:
            held[members["user_id"]][bank].append(one["id"])
    return held


def finish(api: Any, run: DrillRun) -> None:
    for user, held in _accounts(api, run).items():
        if not held["New Bank"]:
            api.create_payment_account(**{**run.facts["example"], "user_id": user})
        for old in held["Old Bank"]:
            api.delete_payment_account(payment_account_id=old)


def run_the_script_again(api: Any, run: DrillRun) -> None:
    for user, held in _accounts(api, run).items():
        with suppress(wb.WorkbenchError):
            api.create_payment_account(**{**run.facts["example"], "user_id": user})
        for old in held["Old Bank"]:
            api.delete_payment_account(payment_account_id=old)


def only_delete(api: Any, run: DrillRun) -> None:
    for held in _accounts(api, run).values():
        for old in held["Old Bank"]:
            api.delete_payment_account(payment_account_id=old)


# questions of cardholders


def read_the_balance(api: Any, run: DrillRun) -> None:
    bought = [one for one in api.sandbox.records("transaction") if one["card"] == run.facts["card"]]
    held, net = sum(one["held"] for one in bought), sum(one["settled"] - one["refunded"] for one in bought)
    run.answer(held=held, net=net, available=api.sandbox.state(run.facts["card"])["limit"] - held - net)


def forget_the_refund(api: Any, run: DrillRun) -> None:
    balance = api.sandbox.balance(run.facts["card"])
    run.answer(held=balance.held, net=balance.posted, available=balance.limit - balance.held - balance.posted)


def forget_the_holds(api: Any, run: DrillRun) -> None:
    balance = api.sandbox.balance(run.facts["card"])
    run.answer(held=0, net=balance.posted - balance.refunded, available=balance.limit - balance.posted)


def _electronics(api: Any, run: DrillRun) -> None:
    api.simulate_authorization(
        card_id=run.facts["card"], amount=15_000, currency="USD", merchant_name="Example Electronics",
        merchant_category_code="5732",
    )  # fmt: skip


def unlock_and_buy(api: Any, run: DrillRun) -> None:
    run.answer(reason="card_locked")
    api.sandbox.cards.unlock(run.facts["card"])
    _electronics(api, run)


def name_the_other_decline(api: Any, run: DrillRun) -> None:
    run.answer(reason="invalid_pin")
    api.sandbox.cards.unlock(run.facts["card"])
    _electronics(api, run)


def only_explain(api: Any, run: DrillRun) -> None:
    run.answer(reason="card_locked")


def find_the_refund(api: Any, run: DrillRun) -> None:
    events = api.inbox.events("transaction.completed", {"body.id": run.facts["returned"]})
    refund = next(event for event in events if event.body.spend.amount < 0)
    run.answer(event=str(refund.id), refunded=-refund.body.spend.amount, missing=8_000 + refund.body.spend.amount)


def report_the_settlement(api: Any, run: DrillRun) -> None:
    events = api.inbox.events("transaction.completed", {"body.id": run.facts["returned"]})
    run.answer(event=str(events[0].id), refunded=6_500, missing=1_500)


def refund_the_rest(api: Any, run: DrillRun) -> None:
    api.simulate_refund(transaction_id=run.facts["returned"], amount=1_500)
    find_the_refund(api, run)


def refund_one_of_two(api: Any, run: DrillRun) -> None:
    for card in run.facts["cards"].values():
        bought = [one for one in api.sandbox.records("transaction") if one["card"] == card]
        if len(bought) == 2 and not any(one["refunded"] for one in bought):
            api.simulate_refund(transaction_id=bought[1]["id"], amount=4_500)


def refund_everybody(api: Any, run: DrillRun) -> None:
    for card in run.facts["cards"].values():
        bought = [one for one in api.sandbox.records("transaction") if one["card"] == card and not one["refunded"]]
        api.simulate_refund(transaction_id=bought[0]["id"], amount=4_500)


def refund_each_who_has_two(api: Any, run: DrillRun) -> None:
    for card in run.facts["cards"].values():
        bought = [one for one in api.sandbox.records("transaction") if one["card"] == card]
        if len(bought) == 2:
            api.simulate_refund(transaction_id=bought[0]["id"], amount=4_500)


ANSWERS: dict[str, tuple[Answer, Answer, Answer]] = {
    "duplicate-bookings": (correct_repetitions, correct_one, take_everything_back_twice),
    "unknown-refunds": (look_then_resolve, repeat_all, call_all_done),
    "rotated-key": (serve_with_the_new_key, serve_with_the_old_key, accept_unsigned),
    "wrong-decimals": (wait_and_plan_again, execute_what_there_is, withdraw_twice),
    "cut-rewards": (read_by_type, read_to_the_offset, report_one_type),
    "read-a-card": (read_the_balance, forget_the_refund, forget_the_holds),
    "why-declined": (unlock_and_buy, name_the_other_decline, only_explain),
    "where-is-my-refund": (find_the_refund, report_the_settlement, refund_the_rest),
    "charged-twice": (refund_one_of_two, refund_everybody, refund_each_who_has_two),
    "fraud-burst": (lock_release_refund, only_lock, reverse_everything),
    "stuck-reviews": (give_then_decide, approve_all, only_wait),
    "rate-limits": (update_each, stop_at_the_first, begin_again),
    "lost-endpoint": (register_and_resend, only_register, keep_the_lost_one),
    "half-migration": (finish, run_the_script_again, only_delete),
}


def solved(api: Any, run: DrillRun, answer: Answer) -> bool:
    run.last = None
    answer(api, run)
    return (run.last or run.check()).solved


def test_every_drill_is_tried() -> None:
    assert list(ANSWERS) == list(DRILLS)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_good_answer_solves_a_drill(api: wb.Session, name: str) -> None:
    run = drill(api, name)

    assert not run.check().solved
    assert solved(api, run, ANSWERS[name][0]), run.check()
    assert "A good answer" in str(run.debrief())


@pytest.mark.parametrize("name, number", [(name, number) for name in ANSWERS for number in (1, 2)])
def test_a_bad_answer_does_not_solve_a_drill(api: wb.Session, name: str, number: int) -> None:
    run = drill(api, name)

    assert not solved(api, run, ANSWERS[name][number])


Judge = Callable[[bytes, str, list[tuple[bytes, str]]], bool]
UNVERIFIED: dict[str, Judge] = {
    "all but the id of a forgery": lambda body, signature, flushed: b"00000000-0000-4000-8000-000000000000" not in body,
    "all but a signature of zeros": lambda body, signature, flushed: signature != "0" * 64,
    "all until the events are delivered": lambda body, signature, flushed: not flushed,
    "events that were delivered before": lambda body, signature, flushed: not flushed or body in dict(flushed),
    "deliveries that were made before": lambda body, signature, flushed: not flushed or (body, signature) in flushed,
    "new deliveries, and those that were made before": lambda body, signature, flushed: (
        (body, signature) in flushed or body not in dict(flushed)
    ),
}


@pytest.mark.parametrize("way", UNVERIFIED)
def test_a_receiver_that_verifies_no_signature_does_not_solve_a_rotated_key(api: wb.Session, way: str) -> None:
    run = drill(api, "rotated-key")
    received: list[tuple[bytes, str]] = []
    flushed: list[tuple[bytes, str]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body, signature = self.rfile.read(int(self.headers["content-length"])), self.headers["signature"]
            received.append((body, signature))
            self.send_response(204 if UNVERIFIED[way](body, signature, flushed) else 401)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", run.facts["port"]), Receiver) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        for event in api.sandbox.events(since=run.facts["after"]):
            api.sandbox.resend(event.payload["id"], run.facts["endpoint"])
        assert api.sandbox.flush(timeout=60).ok
        flushed.extend(received)
        missing = run.check().missing
        server.shutdown()

    assert len(flushed) >= 3
    assert [text for text in missing if "forged" in text or "genuine" in text]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Move the clock by which drills are timed."""
    clock = datetime.now(UTC)

    def move(seconds: int) -> None:
        nonlocal clock
        clock += timedelta(seconds=seconds)
        monkeypatch.setattr(debrief, "now", clock.isoformat)

    move(0)
    return move


def test_live_traffic_arrives_while_a_drill_is_on(api: wb.Session, later: Callable[[int], None]) -> None:
    run = drill(api, "fraud-burst")
    before = len(api.sandbox.records("transaction"))
    later(65)
    run.check()

    assert len(api.sandbox.records("transaction")) == before + 3
    lock_release_refund(api, run)
    later(600)
    assert run.check().solved
    assert all(one["held"] == 0 for one in api.sandbox.records("transaction") if one["id"] in run.facts["live"])


def test_live_bookings_are_right(api: wb.Session, later: Callable[[int], None]) -> None:
    run = drill(api, "duplicate-bookings")
    later(95)
    run.check()

    assert len(run.ledger) == 8 + 3
    correct_repetitions(api, run)
    assert run.check().solved


def test_a_debrief_shows_who_did_what_and_when(api: wb.Session, later: Callable[[int], None]) -> None:
    run = drill(api, "fraud-burst")
    later(70)
    run.check()
    lock_release_refund(api, run)
    later(60)
    run.check()
    shown = str(run.debrief())

    rows = [" ".join(line.split()) for line in shown.splitlines()]
    assert "1:10 traffic simulate_authorization 250.00 USD Quick Gift Cards 200" in rows
    assert any(row.startswith("2:10 you simulate_refund") for row in rows)
    assert any(row.startswith("2:10 you card.updated") and row.endswith("locked") for row in rows)
    assert "2:10 you check: solved" in rows
    assert "Solved after 2 minutes, with 2 checks; 15 minutes are planned." in shown


def test_a_drill_has_one_run_in_a_process(api: wb.Session) -> None:
    run = drill(api, "rate-limits")

    assert drill(api, "rate-limits") is run
    run.stop()
    assert drill(api, "rate-limits") is not run


def test_a_drill_goes_on_where_it_was(api: wb.Session) -> None:
    run = drill(api, "duplicate-bookings")
    correct_one(api, run)

    assert drill(api, "duplicate-bookings").ledger == run.ledger


def test_another_sandbox_starts_the_drill_anew(api: wb.Session) -> None:
    drill(api, "fraud-burst")
    with wb.connect(seed=7) as other:
        assert all(other.sandbox.state(one) for one in drill(other, "fraud-burst").facts["own"])


def test_a_stopped_drill_leaves_no_fault(api: wb.Session) -> None:
    run = drill(api, "rate-limits")
    run.stop()

    assert not api.sandbox.list_faults()
    assert drill(api, "rate-limits").facts["started_at"]


def test_an_unknown_drill_names_those_there_are(api: wb.Session) -> None:
    with pytest.raises(wb.errors.UsageError, match="fraud-burst"):
        drill(api, "nothing")
