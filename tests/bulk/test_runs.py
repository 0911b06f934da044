"""Bulk writes: rows are checked together, sent at most once, and resumed without loss."""

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

from tests.each import each
from workbench.analysis.tables.frames import to_frame
from workbench.base.errors import CannotRecord, FileBusy, InvalidRequest, NotArmed, UsageError, WrongEnvironment
from workbench.base.remedies import Remedy
from workbench.base.schema.rules import FULL
from workbench.base.system.locks import FileLock
from workbench.base.system.progress import Progress
from workbench.client.calls.client import AsyncClient, Client
from workbench.client.calls.guards import Limits
from workbench.client.calls.journal import Journal, recorder_of
from workbench.runs.bulk import Interrupted, RunChanged, resume
from workbench.runs.bulk.outcomes import BulkResult
from workbench.runs.bulk.sending import run
from workbench.runs.sequences import catalogue
from workbench.sandbox import Sandbox

NOBODY = "00000000-0000-4000-8000-000000000001"
PERSON = catalogue["application-approved"]["apply"].arguments


class Wrapped(httpx.BaseTransport):
    """A sandbox that calls a function before or after it answers certain calls."""

    def __init__(self, sandbox: Sandbox, before: Callable[[int], None], after: Callable[[int], None]) -> None:
        self._inner: Any = sandbox.transport()
        self._before, self._after = before, after
        self.calls = 0
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with self._lock:
            self.calls += 1
            number = self.calls
        self._before(number)
        with self._lock:
            answer = self._inner.handle_request(request)
        self._after(number)
        return answer


def nothing(_: int) -> None:
    """Do nothing."""


def api_of(
    sandbox: Sandbox, before: Callable[[int], None] = nothing, after: Callable[[int], None] = nothing, **more: Any
) -> Client:
    """Return a client of a sandbox that calls a function at certain calls."""
    return Client(
        base_url=sandbox.base_url, api_key=sandbox.full_key, transport=Wrapped(sandbox, before, after), **more
    )


def people(many: int) -> list[dict[str, Any]]:
    """Return rows of applications, each for another person."""
    return [
        {
            **PERSON,
            "first_name": "Test",
            "last_name": "Example",
            "email": f"bulk{i}@example.com",
            "external_id": f"b-{i}",
        }
        for i in range(many)
    ]


def filed(sandbox: Sandbox) -> list[str]:
    """Return the external ids of the filed applications, in order."""
    return [one["external_id"] for one in sandbox.records("user") if str(one.get("external_id")).startswith("b-")]


@pytest.fixture
def sandbox() -> Sandbox:
    return Sandbox(seed=3)


def test_every_row_has_one_result(sandbox: Sandbox) -> None:
    """Rows are done or refused. The counts add up to the rows, and the frame has every row."""
    rows = people(6)
    api_of(sandbox).create_user_application(**rows[2])
    applied = run(api_of(sandbox).create_user_application, rows, workers=3, progress=False)

    assert applied.counts == {"done": 5, "refused": 1}
    assert [one.row for one in applied] == [1, 2, 3, 4, 5, 6]
    assert (applied.rows()[2].outcome, applied.rows()[2].status) == ("refused", 409)
    assert sorted(filed(sandbox)) == [f"b-{i}" for i in range(6)]
    assert list(to_frame(applied)["outcome"]) == ["done", "done", "refused", "done", "done", "done"]
    assert "6 rows: 5 done, 1 refused" in applied.verdict


def test_all_problems_are_reported_before_the_first_call(sandbox: Sandbox) -> None:
    """Problems name row, column and rule, but not the value, and nothing is sent."""
    rows = people(3)
    rows[0]["email"] = "planted-canary"
    rows[2]["first_name"] = "x" * 51
    rows[2]["national_id"] = "12-canary"
    before = len(filed(sandbox))
    with pytest.raises(InvalidRequest) as caught:
        run(api_of(sandbox).create_user_application, rows, progress=False)
    found = [str(one) for one in caught.value.problems]

    assert any(one.startswith("row 1, email must be an email address") for one in found)
    assert any(one.startswith("row 3, first_name has 51 characters") for one in found)
    assert any(one.startswith("row 3, national_id must be 9 digits") for one in found)
    assert "canary" not in str(caught.value)
    assert len(filed(sandbox)) == before


def test_wrong_cells_and_broken_rules_are_reported_together(sandbox: Sandbox, tmp_path: Path) -> None:
    """Text for a number, a small value, an unknown column and a duplicate row are each reported once."""
    card = sandbox.guide()["cards"]["active"][0]
    lines = [
        "card_id,amount,currency,merchant_name,merchant_category_code,zip",
        f"{card},1.5,USD,Corner Grocery,5411,",
        f"{card},-5,USD,Corner Grocery,5411,",
        f"{card},100,USD,Corner Grocery,5411,",
        f"{card},100,USD,Corner Grocery,5411,",
        "canary,x,USD,Corner Grocery,5411,7",
    ]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    with pytest.raises(InvalidRequest) as caught:
        run(api_of(sandbox).simulate_authorization, tmp_path / "rows.csv", progress=False)
    found = sorted((one.path, one.rule) for one in caught.value.problems)

    assert found == [
        ("row 2, amount", "type"),
        ("row 3, amount", "minimum"),
        ("row 4", "duplicate"),
        ("row 5", "duplicate"),
        ("row 6, amount", "type"),
        ("row 6, card_id", "uuid"),
        ("row 6, zip", "unknown"),
    ]
    assert "canary" not in str(caught.value)


def test_duplicate_rows_are_refused_unless_allowed(sandbox: Sandbox) -> None:
    """Rows with the same request, external id or email are duplicates."""
    rows = people(4)
    rows[3] = {**rows[1], "external_id": "b-9"}
    with pytest.raises(InvalidRequest, match="row 2 is a duplicate of row 4"):
        run(api_of(sandbox).create_user_application, rows, progress=False)

    assert filed(sandbox) == []


def test_an_empty_cell_never_becomes_a_full_refund(sandbox: Sandbox, tmp_path: Path) -> None:
    """An amount cell contains a number or FULL. An empty cell is a problem."""
    api: Any = api_of(sandbox)
    card = sandbox.guide()["cards"]["active"][0]
    bought = []
    for _ in range(3):
        made = api.simulate_authorization(
            card_id=card, amount=900, currency="USD", merchant_name="Corner Grocery", merchant_category_code="5411"
        )
        sandbox.settle(made.transaction_id)
        bought.append(made.transaction_id)
    path = tmp_path / "refunds.csv"
    path.write_text("transaction_id,amount\n" + f"{bought[0]},FULL\n{bought[1]},\n{bought[2]},250\n")
    with pytest.raises(InvalidRequest, match="row 3, amount is empty; write FULL"):
        run(api.simulate_refund, path, progress=False)
    with pytest.raises(InvalidRequest, match="amount is empty"):
        run(api.simulate_refund, pd.DataFrame({"transaction_id": bought, "amount": [None, 1, 2]}), progress=False)
    path.write_text("transaction_id,amount\n" + f"{bought[0]},FULL\n{bought[2]},250\n")
    applied = run(api.simulate_refund, path, progress=False)

    assert applied.ok
    assert str(applied.plan) == "simulate_refund: 2 rows\namount: 1 in cents, sum 250, from 250 to 250, and 1 × FULL"


def timeout_at(*numbers: int) -> Callable[[int], None]:
    """Return a function that raises a time-out at certain calls."""

    def happen(number: int) -> None:
        if number in numbers:
            raise httpx.ReadTimeout("late")

    return happen


@pytest.mark.parametrize("at", range(1, 7))
def test_a_timed_out_row_is_unknown_and_never_sent_again(sandbox: Sandbox, tmp_path: Path, at: int) -> None:
    """The run continues or stops, a person resolves the row, and no person is filed twice."""
    rows, path = people(6), tmp_path / "run"
    api = api_of(sandbox, after=timeout_at(at))
    stopped = run(api.create_user_application, rows, path=path, on_unknown="stop", progress=False)

    assert [one.row for one in stopped.unknown()] == [at]
    assert f"row {at} has an unknown outcome" in str(stopped.stopped)
    assert stopped.counts.get("planned", 0) == 6 - at
    again = resume(api, path, rows, progress=False)
    assert [one.row for one in again.unknown()] == [at]
    assert again.counts == {"done": 5, "unknown": 1}
    final = resume(api, path, rows, resolved={at: "done"}, progress=False)
    assert final.ok
    assert filed(sandbox) == [f"b-{i}" for i in range(6)]


class Odd(Wrapped):
    """A sandbox that carries out the second call, while a proxy returns another answer."""

    def __init__(self, sandbox: Sandbox, answer: httpx.Response) -> None:
        super().__init__(sandbox, nothing, nothing)
        self._answer = answer

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        return self._answer if self.calls == 2 else answer


@pytest.mark.parametrize(
    "answer, end",
    [
        (httpx.Response(200, content=b"[" + b" " * 10_000_001), "done"),
        (httpx.Response(307, headers={"location": "https://other.example/v1"}), "unknown"),
    ],
    ids=["too large", "redirect"],
)
def test_an_unreadable_answer_never_sends_a_row_again(
    sandbox: Sandbox, tmp_path: Path, answer: httpx.Response, end: str
) -> None:
    """A call that may have taken effect is done or unknown, so a resume does not repeat it."""
    rows, path = people(3), tmp_path / "run"
    api = Client(base_url=sandbox.base_url, api_key=sandbox.full_key, transport=Odd(sandbox, answer))
    first = run(api.create_user_application, rows, path=path, progress=False)
    again = resume(api_of(sandbox), path, rows, progress=False)

    assert [one.outcome for one in first] == ["done", end, "done"] == [one.outcome for one in again]
    assert filed(sandbox) == ["b-0", "b-1", "b-2"]


def test_a_journal_that_cannot_record_stops_the_run(sandbox: Sandbox, tmp_path: Path) -> None:
    """The reason names the journal, not the service."""
    broken = Journal()
    recorder_of(broken).begin = _full  # type: ignore[method-assign]
    stopped = run(api_of(sandbox, journal=broken).create_user_application, people(3), progress=False)

    assert stopped.counts == {"not_sent": 1, "planned": 2}
    assert stopped.stopped == "row 1: cannot record: disk full"
    assert str(Remedy("resume")) not in stopped.verdict  # without a file, there is nothing to resume


def _full(*_: Any) -> Any:
    raise CannotRecord("cannot record: disk full")


def test_rows_that_were_not_sent_are_sent_on_resume(sandbox: Sandbox, tmp_path: Path) -> None:
    """An outage stops the run after five rows, and a resume sends each remaining row once."""
    rows, path = people(12), tmp_path / "run"

    def outage(_: int) -> None:
        raise httpx.ConnectError("no network")

    down = run(api_of(sandbox, before=outage, clock=_Quick()).create_user_application, rows, path=path, progress=False)

    assert down.stopped == "5 consecutive rows: the service cannot be reached"
    assert down.counts == {"not_sent": 5, "planned": 7}
    assert down.verdict.endswith(f"\n{Remedy('resume')}")
    ended = resume(api_of(sandbox), path, rows, progress=False)
    assert ended.ok
    assert str(Remedy("resume")) not in ended.verdict
    assert filed(sandbox) == [f"b-{i}" for i in range(12)]


def test_a_wrong_key_stops_the_run_and_no_row_counts_as_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    """The run can be resumed with the right key."""
    rows, path = people(4), tmp_path / "run"
    stranger = Client(base_url=sandbox.base_url, api_key="sandbox_of_nobody_at_all", transport=sandbox.transport())
    paused = run(stranger.create_user_application, rows, path=path, progress=False)

    assert paused.counts == {"planned": 4}
    assert "refused with 401" in str(paused.stopped)
    assert resume(api_of(sandbox), path, rows, progress=False).ok


def test_changed_rows_are_noticed(sandbox: Sandbox, tmp_path: Path) -> None:
    """Changes of sent rows are refused. Other changes are refused unless `accept_changes` is set."""
    rows, path = people(6), tmp_path / "run"
    api = api_of(sandbox, after=timeout_at(3))
    run(api.create_user_application, rows, path=path, on_unknown="stop", progress=False)
    later = [dict(row) for row in rows]
    later[4]["email"] = "other@example.com"
    with pytest.raises(RunChanged, match=r"row 5 changed\b"):
        resume(api, path, later, progress=False)
    earlier = [dict(row) for row in rows]
    earlier[0]["email"] = "other@example.com"
    with pytest.raises(RunChanged, match="row 1 changed after sending"):
        resume(api, path, earlier, accept_changes=True, progress=False)
    with pytest.raises(RunChanged, match="rows 2, 3 removed after sending"):
        resume(api, path, rows[:1], accept_changes=True, progress=False)
    with pytest.raises(UsageError, match=r"row 9 has no unknown outcome \(unknown: 3\)"):
        resume(api, path, rows, resolved={9: "done"}, progress=False)

    final = resume(api, path, later, accept_changes=True, resolved={3: "done"}, progress=False)
    assert final.ok
    assert filed(sandbox) == [f"b-{i}" for i in range(6)]


@pytest.mark.slow
def test_two_processes_cannot_share_a_run(sandbox: Sandbox, tmp_path: Path) -> None:
    """The second process is refused."""
    path = tmp_path / "run"
    with FileLock(path), pytest.raises(FileBusy, match="is held by process"):
        run(api_of(sandbox).create_user_application, people(1), path=path, progress=False)

    assert filed(sandbox) == []


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 4])
def test_nothing_new_starts_after_an_interrupt(sandbox: Sandbox, tmp_path: Path, workers: int) -> None:
    """At most the calls in flight take effect, and the run can be resumed."""
    rows, path = people(120), tmp_path / "run"
    api = api_of(sandbox)
    found: list[int] = []

    def progress(report: Progress) -> None:
        if not found and report.done >= 3:
            found.append(len(filed(sandbox)))
            signal.raise_signal(signal.SIGINT)

    gate = threading.Semaphore(0)  # nothing releases the semaphore, so each call waits for its timeout
    wrapped = api_of(sandbox, before=lambda _: gate.acquire(timeout=0.05) and None)
    with pytest.raises(Interrupted) as caught:
        run(wrapped.create_user_application, rows, path=path, workers=workers, progress=progress)
    result: BulkResult = caught.value.result

    assert len(filed(sandbox)) <= found[0] + 2 * workers
    assert sum(result.counts.values()) == 120
    assert result.counts["planned"] > 0
    assert resume(api, path, rows, workers=workers, progress=False).ok
    assert sorted(filed(sandbox)) == sorted(f"b-{i}" for i in range(120))


def test_an_unexpected_error_leaves_a_row_unknown_and_stops_the_run(sandbox: Sandbox) -> None:
    """The call may have taken effect."""

    def broken(number: int) -> None:
        if number == 2:
            raise ZeroDivisionError

    applied = run(api_of(sandbox, after=broken).create_user_application, people(4), progress=False)

    assert applied.counts == {"done": 1, "unknown": 1, "planned": 2}
    assert "ZeroDivisionError" in str(applied.stopped)


def test_the_file_holds_no_request_bodies(sandbox: Sandbox, tmp_path: Path) -> None:
    """The files of a run contain no personal value of its requests."""
    run(api_of(sandbox).create_user_application, people(3), path=tmp_path / "run", progress=False)
    text = b"".join(file.read_bytes() for file in tmp_path.iterdir())

    assert [one for one in (b"example.com", b"000123456", b"Example Street", b"1990-02-01") if one in text] == []


def test_only_the_owner_can_read_the_file_of_a_run(sandbox: Sandbox, tmp_path: Path) -> None:
    """Only the owner can read the run's file and its lock."""
    run(api_of(sandbox).create_user_application, people(1), path=tmp_path / "run", progress=False)

    assert {file.stat().st_mode & 0o077 for file in tmp_path.iterdir()} == {0}


@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
def test_production_requires_the_phrase_of_the_plan(sandbox: Sandbox) -> None:
    """The phrase has the number of rows and their sum, and the client must also be armed."""
    live = Sandbox(seed=3, environment="production")
    api = Client(
        base_url=live.base_url, api_key=live.full_key, environment="production", transport=live.transport(),
        journal=_memory(),
    )  # fmt: skip
    with pytest.raises(NotArmed, match="confirm='2 rows'"):
        run(api.create_user_application, people(2), implausible=True, progress=False)
    with pytest.raises(NotArmed, match="create_user_application has an effect"):
        run(api.create_user_application, people(2), implausible=True, confirm="2 rows", progress=False)
    with pytest.raises(WrongEnvironment, match="exists only in sandboxes"):
        run(api.simulate_refund, [{"transaction_id": NOBODY, "amount": 1}], confirm="1 row 0.01", progress=False)
    assert filed(live) == []
    assert len(api.journal) == 0

    api.arm(operations={"create_user_application"}, minutes=5, reason="a test")
    assert run(api.create_user_application, people(2), implausible=True, confirm="2 rows", progress=False).ok


@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
def test_resolving_a_row_resolves_its_call_in_the_journal(tmp_path: Path) -> None:
    """The row can then be sent again, although repeated writes are refused."""
    live, path, rows = Sandbox(seed=3, environment="production"), tmp_path / "run", people(2)

    def lost(number: int) -> None:
        if number == 1:
            raise httpx.ReadTimeout("late")

    api = api_of(live, before=lost, environment="production", journal=_memory())
    api.arm(operations={"create_user_application"}, minutes=5, reason="a test")
    stopped = run(api.create_user_application, rows, implausible=True, path=path, confirm="2 rows", progress=False)
    assert [one.outcome for one in stopped] == ["unknown", "planned"]
    final = resume(api, path, rows, implausible=True, resolved={1: "not_sent"}, confirm="2 rows", progress=False)

    assert final.ok
    assert api.journal.unknown() == []
    assert filed(live) == ["b-0", "b-1"]


def test_caps_are_checked_for_all_rows_before_the_first_call(sandbox: Sandbox) -> None:
    """The caps limit the number of rows, their sum and each amount."""
    api = api_of(sandbox, limits=Limits(rows=2, sum=500, amount=200))
    rows = [{"transaction_id": NOBODY, "amount": amount} for amount in (100, 300, 400)]
    with pytest.raises(InvalidRequest) as caught:
        run(api.simulate_refund, rows, progress=False)

    assert [one.path for one in caught.value.problems] == ["row 2, amount", "row 3, amount", "rows", "amount"]
    assert {one.rule for one in caught.value.problems} == {"cap"}
    assert len(api.journal) == 0


@pytest.mark.parametrize(
    "how, words",
    [
        ({"on_unknown": "halt"}, '"stop" or "continue"'),
        ({"workers": "2"}, "1 to 8"),
        ({"workers": True}, "1 to 8"),
        ({"rows": None}, "rows must be"),
        ({"rows": 5}, "rows must be"),
        ({"rows": [5]}, "row 1 is"),
    ],
    ids=lambda x: str(x),
)
def test_invalid_options_are_refused(sandbox: Sandbox, how: dict[str, Any], words: str) -> None:
    """Invalid options are refused, and nothing is sent."""
    api = api_of(sandbox)
    with pytest.raises((UsageError, InvalidRequest), match=words):
        run(api.create_user_application, **{"rows": people(2), "progress": False, **how})

    assert filed(sandbox) == []


def test_an_async_client_is_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    """An async client's calls would not be awaited, and every row would count as done."""
    rows, path = people(2), tmp_path / "run"
    awaited = AsyncClient(base_url=sandbox.base_url, api_key=sandbox.full_key, transport=sandbox.transport())
    with pytest.raises(UsageError, match="in a thread"):
        run(awaited.create_user_application, rows, path=path, progress=False)
    run(api_of(sandbox).create_user_application, rows, path=path, progress=False)
    with pytest.raises(UsageError, match="in a thread"):
        resume(awaited, path, rows, progress=False)


def test_a_person_resolves_an_unknown_row(sandbox: Sandbox, tmp_path: Path) -> None:
    """A row becomes done or not sent. Rows with a known outcome, and other outcomes, are refused."""
    rows, path = people(3), tmp_path / "run"

    def lost(number: int) -> None:
        if number == 2:
            raise httpx.ReadTimeout("late")

    run(api_of(sandbox, before=lost).create_user_application, rows, path=path, progress=False)
    with pytest.raises(UsageError, match=r"row 1 has no unknown outcome \(unknown: 2\)"):
        resume(api_of(sandbox), path, rows, resolved={1: "done"}, progress=False)
    with pytest.raises(UsageError, match='"done" or "not_sent"'):
        resume(api_of(sandbox), path, rows, resolved={2: "lost"}, progress=False)  # type: ignore[dict-item]
    assert resume(api_of(sandbox), path, rows, resolved={2: "not_sent"}, progress=False).ok

    assert sorted(filed(sandbox)) == ["b-0", "b-1", "b-2"]


@pytest.mark.parametrize("name", ["sign_withdrawal", "list_contracts", "list_rewards_activity"])
def test_signatures_and_reads_cannot_be_run_in_bulk(sandbox: Sandbox, name: str) -> None:
    """In particular `sign_withdrawal`, which authorizes moving funds, is refused."""
    with pytest.raises(UsageError, match=r"once for each withdrawal|is a read"):
        run(getattr(api_of(sandbox), name), [{}], progress=False)


def test_partial_refunds_of_one_transaction_are_not_duplicates(sandbox: Sandbox) -> None:
    """Two full refunds of one transaction are duplicates."""
    api = api_of(sandbox)
    same = "00000000-0000-4000-8000-000000000001"
    parts = [{"transaction_id": same, "amount": 1}, {"transaction_id": same, "amount": 2}]
    whole = [{"transaction_id": same, "amount": FULL}, {"transaction_id": same, "amount": FULL}]

    assert run(api.simulate_refund, parts, progress=False).counts == {"refused": 2}
    with pytest.raises(InvalidRequest, match="row 1 is a duplicate of row 2"):
        run(api.simulate_refund, whole, progress=False)


class _Quick:
    """A clock that does not wait."""

    def __new__(cls) -> Any:
        from workbench.client.calls.pace import Clock

        class Quick(Clock):
            def sleep(self, seconds: float) -> None:
                """Return immediately."""

        return Quick()


def _memory() -> Any:
    from workbench.client.calls.journal import Journal

    return Journal()


@pytest.mark.slow
def test_an_interrupt_while_threads_start_stops_the_run(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run does not wait for threads that never started, and can be resumed."""
    rows, path = people(20), tmp_path / "run"
    started: list[threading.Thread] = []
    usual = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if thread.name.startswith("run-"):
            started.append(thread)
            if len(started) == 3:
                raise KeyboardInterrupt
        usual(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(Interrupted) as caught:
        run(api_of(sandbox).create_user_application, rows, path=path, workers=8, progress=False)
    monkeypatch.undo()

    assert sum(caught.value.result.counts.values()) == 20
    assert resume(api_of(sandbox), path, rows, progress=False).ok
    assert sorted(filed(sandbox)) == sorted(f"b-{i}" for i in range(20))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_an_interrupt_awaits_calls_in_flight(sandbox: Sandbox, workers: int) -> None:
    """The awaited calls are done, not unknown."""
    main = threading.main_thread().ident
    assert main is not None

    def slow(_: int) -> None:
        if len(called) == 0:
            called.append(1)
            time.sleep(0.2)  # by then the main thread waits for the run
            signal.pthread_kill(main, signal.SIGINT)
        time.sleep(0.3)

    called: list[int] = []
    with pytest.raises(Interrupted) as caught:
        run(api_of(sandbox, before=slow).create_user_application, people(20), workers=workers, progress=False)

    assert caught.value.result.counts.get("unknown", 0) == 0
    assert caught.value.result.counts["done"] == len(filed(sandbox)) >= 1


@pytest.mark.parametrize("how", ["rows", "frame", "file"])
def test_no_frame_holds_refused_rows(sandbox: Sandbox, tmp_path: Path, how: str) -> None:
    """Tools that print the local variables of a traceback show no refused rows."""
    import traceback

    rows = people(2)
    rows[1]["email"] = "planted-canary"
    rows[1]["address.line1"] = "planted-canary street"
    rows[1].pop("address")
    given: Any = rows if how == "rows" else pd.DataFrame(rows)
    if how == "file":
        (tmp_path / "people.csv").write_text("first_name,email\nplanted-canary,planted-canary\n")
        given = tmp_path / "people.csv"
    with pytest.raises(InvalidRequest) as caught:
        run(api_of(sandbox).create_user_application, given, path=tmp_path / "run", progress=False)
    found = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    ours = [frame for frame in found.stack if "/workbench/" in frame.filename]

    assert [frame.name for frame in ours if "planted-canary" in str(frame.locals)] == []
    assert "planted-canary" not in str(caught.value)


@each(
    "options", [{"workers": n} for n in (0, -1, 65, True, 2.0, "2", None)] + [{"on_unknown": "skip"}, {"on_unknown": 1}]
)
def test_options_outside_their_range_are_refused(options: dict[str, Any], tmp_path: Path) -> None:
    """The error of a run whose options are out of range names the option. Nothing is sent, and no file is written."""
    requests: list[int] = []
    api = api_of(Sandbox(seed=7), before=requests.append)

    with pytest.raises(UsageError, match=next(iter(options))):
        run(api.create_user_application, [PERSON], path=tmp_path / "run.db", progress=False, **options)

    assert not requests
    assert not list(tmp_path.iterdir())
