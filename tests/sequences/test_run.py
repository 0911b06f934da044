"""Results of runs: mismatches, money, unknown outcomes, single steps, many rows, traffic and the journal."""

import asyncio
import io
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from tests.each import each
from workbench.base.errors import UsageError, WrongEnvironment
from workbench.base.schema.walk import given
from workbench.client.session import connect
from workbench.runs.bulk import Interrupted
from workbench.runs.sequences import (
    InvalidSequence,
    Sequence,
    Stepper,
    catalogue,
    param,
    ref,
    run,
    run_many,
    step,
    traffic,
)
from workbench.runs.sequences.ledger import Ledger, Unbalanced
from workbench.runs.sequences.runs import Run
from workbench.runs.sequences.sequence import Parameter, duration, duration_text
from workbench.sandbox import Request, Response, Sandbox
from workbench.sandbox.internals import internals

BUY = {
    "card_id": ref("guide.cards.active"),
    "amount": 2500,
    "currency": "USD",
    "merchant_name": "Corner Grocery",
    "merchant_category_code": "5411",
}


HOLD = Sequence(
    name="hold",
    parameters=(Parameter(name="amount", type="whole"),),
    steps=(step("buy", "simulate_authorization", **{**BUY, "amount": param("amount")}),),
)


def watch(sandbox: Sandbox, before: Callable[[Request], None]) -> None:
    """Call a function before each request to a sandbox."""
    answer = internals(sandbox).engine.answer

    def watched(request: Request, **options: Any) -> Response:
        before(request)
        return answer(request, **options)

    internals(sandbox).engine.answer = watched  # type: ignore[method-assign]


@pytest.fixture
def sandbox() -> Sandbox:
    return Sandbox(seed=3)


def test_a_mismatch_names_the_expected_and_the_actual_value(sandbox: Sandbox) -> None:
    """Mismatches of results, money and events name both values."""
    sequence = Sequence(
        name="wrong",
        steps=(
            step(
                "buy",
                "simulate_authorization",
                expect={"result": {"status": "declined"}, "money": {"held": 1}, "events": [{"kind": "card.updated"}]},
                **BUY,
            ),
        ),
    )
    result = run(sandbox, sequence)

    assert not result.ok
    assert "buy (simulate_authorization) result.status: expected declined, got authorized" in result.verdict
    assert "money.held: expected +1 cents, got +2500 cents" in result.verdict
    assert "event: expected card.updated, got transaction.requested, transaction.created" in result.verdict


def test_an_unexpected_refusal_is_a_mismatch_and_blocks_dependent_steps(sandbox: Sandbox) -> None:
    """Steps that need the id of a refused step do not run."""
    locked = {**BUY, "card_id": ref("guide.cards.locked")}
    sequence = Sequence(
        name="locked",
        steps=(
            step("buy", "simulate_authorization", **locked),
            step("refund", "simulate_refund", transaction_id=ref("buy.transaction_id"), amount=1),
        ),
    )
    result = run(sandbox, sequence)

    assert [one.outcome for one in result.steps] == ["refused", "blocked"]
    assert "buy.transaction_id cannot be read: step buy is refused" in result.verdict


def test_unknown_members_of_an_answer_can_be_expected(sandbox: Sandbox) -> None:
    """An expectation reads unknown members from `extra`."""
    buy = step("buy", "simulate_authorization", expect={"result": {"extra": {}}}, **BUY)

    assert run(sandbox, Sequence(name="extra", steps=(buy,))).ok


def test_a_run_on_a_sandbox_writes_no_file(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client of such a run has no journal."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    run(sandbox, HOLD, amount=1)

    assert list(tmp_path.iterdir()) == []


def test_production_is_refused_before_anything_is_sent() -> None:
    """Sequences run only in sandboxes."""
    api = connect(environment="production")

    with pytest.raises(WrongEnvironment, match="this is production"):
        run(api, catalogue["authorize"])
    assert len(api.journal) == 0


def test_an_async_session_awaits_a_run_and_its_file(tmp_path: Path) -> None:
    """An async session's run is awaited, is read back from its file, and has the hash of a synchronous run."""

    async def twice() -> tuple[list[Run], int]:
        async with await wb.connect_async(seed=3) as api:
            runs = [await run(api, HOLD, amount=100, path=tmp_path / "run") for _ in range(2)]
            return runs, len(api.sandbox.requests())

    (first, again), requests = asyncio.run(twice())

    assert (first.ok, again.ok, requests) == (True, True, 1)
    assert first.hash == run(wb.connect(seed=3), HOLD, amount=100).hash


def test_an_async_client_of_a_service_waits_without_blocking(sandbox: Sandbox) -> None:
    """Other tasks run while a run waits for an event. A stepper needs a thread."""
    api = wb.AsyncClient(base_url=sandbox.base_url, api_key=sandbox.full_key, transport=sandbox.transport())
    sequence = Sequence(name="vain", steps=(step("wait", "wait", kind="card.updated", timeout="0.2s"),))

    async def beside() -> tuple[Run, int]:
        playing, turns = asyncio.create_task(run(api, sequence)), 0
        while not playing.done():
            await asyncio.sleep(0.01)
            turns += 1
        return await playing, turns

    played, turns = asyncio.run(beside())

    assert "card.updated" in played.verdict
    assert turns >= 3
    with pytest.raises(UsageError, match="in a thread"):
        Stepper(api, HOLD, amount=1).next()


def test_the_ledger_agrees_with_the_sandbox(sandbox: Sandbox) -> None:
    """Money that was moved outside the run is reported as a difference."""
    result = run(sandbox, catalogue["refund-partial"])

    assert result.ledger().total() == {"available": -1800, "held": 0, "posted": 2500, "refunded": 700}
    assert result.differences == []
    card = result.values["card_id"]
    after = {**given(sandbox.balance(card)), "held": 1}
    before = dict.fromkeys(after, 0)
    assert any("held of card" in one for one in result.ledger().differences(card, before, after))


def test_a_ledger_that_does_not_balance_is_an_error() -> None:
    """For example, a release of more than the held amount is an error."""
    books = Ledger()
    answer = {"status": "authorized", "transaction_id": "t"}
    books.book("one", "simulate_authorization", {"card_id": "c", "amount": 100}, answer)

    with pytest.raises(Unbalanced):
        books.book("two", "simulate_reversal", {"transaction_id": "t", "new_amount": 101})


def test_steps_can_be_changed_until_they_have_run(sandbox: Sandbox) -> None:
    """A step that has already run cannot be changed."""
    stage = Stepper(sandbox, catalogue["refund-partial"], amount=900)
    first = stage.next()

    assert first is not None
    assert (first.step.name, stage.left) == ("authorize", ("settle", "refund"))
    stage.change("refund", amount=300)
    with pytest.raises(InvalidSequence, match="has already run"):
        stage.change("authorize", amount=1)
    with pytest.raises(InvalidSequence, match="at least 0"):
        stage.change("refund", amount=-1)
    result = stage.run()
    assert result["refund"].arguments["amount"] == 300
    assert result.ledger().total()["refunded"] == 300


def test_an_expected_event_is_awaited_in_sandbox_time(sandbox: Sandbox) -> None:
    """The clock advances by the timeout of the expectation."""
    application = catalogue["application-reviewed-by-the-clock"].steps[0]
    sequence = Sequence(
        name="wait",
        steps=(
            application,
            step(
                "approved", "wait", kind="user.updated", timeout="2m",
                where={"applicationStatus": "approved", "id": ref("apply.id")},
            ),
        ),
    )  # fmt: skip
    began = sandbox.clock.now()
    result = run(sandbox, sequence)

    assert result.ok, result.verdict
    assert sandbox.clock.now() - began == timedelta(minutes=2)


def test_a_wait_for_an_event_that_does_not_come_fails(sandbox: Sandbox) -> None:
    """The mismatch names the missing event."""
    result = run(sandbox, Sequence(name="vain", steps=(step("wait", "wait", kind="card.updated", timeout="5s"),)))

    assert "expected card.updated, got no event" in result.verdict


def test_a_sequence_runs_once_per_row_of_a_frame(sandbox: Sandbox) -> None:
    """Each row has the parameters of a run, and the ledgers of concurrent runs add up."""
    rows = pd.DataFrame({"amount": [100, 250, 399]})
    few = run_many(sandbox, catalogue["authorize"].__class__(
        name="hold", parameters=(Parameter(name="amount", type="whole"),),
        steps=(step("buy", "simulate_authorization", **{**BUY, "amount": param("amount")}),),
    ), rows, times=2, workers=3)  # fmt: skip

    assert few.ok, few.verdict
    assert len(few) == 6
    assert few.ledger().total()["held"] == 2 * (100 + 250 + 399)


def test_a_wrong_row_is_reported_before_the_first_call(sandbox: Sandbox) -> None:
    """If one row is wrong, valid rows are not sent either."""
    before = internals(sandbox).last_event()
    with pytest.raises(InvalidSequence, match="row 2: amount must be a whole number"):
        run_many(sandbox, catalogue["refund-full"], [{"amount": 100}, {"amount": "250"}])

    assert internals(sandbox).last_event() == before


@pytest.mark.parametrize(
    "given",
    [{"cards": 10**400}, {"cards": "x" * 100_000}, {"days": 10**9}, {"a_day": float("inf")}, {"a_day": float("nan")}],
)
def test_traffic_has_a_largest_size(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="a_day"):
        traffic(seed=1, **given)


@pytest.mark.parametrize("times", [-1, 0, 100_001, 10**400])
def test_runs_have_a_largest_number(sandbox: Sandbox, times: int) -> None:
    with pytest.raises(UsageError, match=r"rows at most 200,000"):
        run_many(sandbox, catalogue["refund-full"], [{"amount": 100}, {"amount": 250}], times=times)


def test_traffic_is_the_same_for_the_same_seed_and_conserves_money(sandbox: Sandbox) -> None:
    """Another seed gives other traffic."""
    script = traffic(seed=5, cards=6, days=6, a_day=2)
    result = run(sandbox, script)

    assert script == traffic(seed=5, cards=6, days=6, a_day=2)
    assert script != traffic(seed=6, cards=6, days=6, a_day=2)
    assert result.ok, result.verdict
    assert len(result.steps) > 100
    total = result.ledger().total()
    assert total["available"] + total["held"] + total["posted"] - total["refunded"] == 0


@pytest.mark.parametrize(
    "text, seconds",
    [("2d", 172800), ("1h 30m", 5400), ("2.5s", 2.5), ("0s", 0), ("1d 1s", 86401)],
)
def test_durations_are_read_and_written(text: str, seconds: float) -> None:
    """A parsed duration is written back unchanged."""
    assert duration(text) == timedelta(seconds=seconds)
    assert duration_text(timedelta(seconds=seconds)) == text


@each("text", ["", "2", "d", "2x", "-1d", "1d; rm", "1e9d", "２d" * 9])
def test_other_text_is_not_a_duration(text: str) -> None:
    """The error shows an example of the format."""
    with pytest.raises(ValueError, match="2d"):
        duration(text)


def test_a_sequence_runs_once_per_row_of_a_file(sandbox: Sandbox, tmp_path: Path) -> None:
    """Cells are converted to the types of the parameters, and errors name the row."""
    file = tmp_path / "amounts.csv"
    file.write_text("amount\n100\n250\n")
    many = run_many(sandbox, HOLD, file)

    assert many.ok, many.verdict
    assert many.ledger().total()["held"] == 350
    file.write_text("amount\n100\n2.50\n")
    with pytest.raises(InvalidSequence, match="row 2: amount must be a whole number"):
        run_many(sandbox, HOLD, file)


def test_long_runs_show_their_progress(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, a progress line is shown until the end."""
    out = io.StringIO()
    out.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", out)
    run_many(sandbox, HOLD, [{"amount": 1}], times=200)

    assert "hold: " in out.getvalue()
    assert "200 of 200 runs" in out.getvalue()


@pytest.mark.parametrize("workers", [1, 3])
def test_interrupted_runs_can_be_resumed(sandbox: Sandbox, workers: int) -> None:
    """Runs in progress are finished. The same call with `resume` runs each remaining row once."""
    rows = [{"amount": amount} for amount in range(1, 41)]
    called: list[Request] = []

    def interrupt(request: Request) -> None:
        called.append(request)
        if len(called) == 12:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.005)

    watch(sandbox, interrupt)
    with pytest.raises(Interrupted) as caught:
        run_many(sandbox, HOLD, rows, workers=workers)
    runs = caught.value.result

    assert 10 <= len(runs) < 40
    assert runs.ok
    assert len(called) == sum(len(one.steps) for one in runs)
    whole = run_many(sandbox, HOLD, rows, workers=workers, resume=runs)
    assert whole[: len(runs)] == tuple(runs)
    assert whole.ledger().total()["held"] == sum(range(1, 41))
    assert len(called) == 40
    with pytest.raises(InvalidSequence, match="resume belongs to a call with other arguments"):
        run_many(sandbox, HOLD, rows[1:], resume=runs)


def test_an_interrupted_run_keeps_its_steps(sandbox: Sandbox) -> None:
    """The steps before the interrupt have their answers."""
    called: list[Request] = []

    def interrupt(request: Request) -> None:
        called.append(request)
        if len(called) == 3:
            raise KeyboardInterrupt

    watch(sandbox, interrupt)
    busy = traffic(seed=1, cards=2, days=2, a_day=2)
    with pytest.raises(Interrupted) as caught:
        run(sandbox, busy)

    assert not caught.value.result.ok
    assert 1 <= len(caught.value.result.steps) < len(busy.steps)
