"""Many writes, each at most once: `apply` begins a run, `resume` goes on with one."""

import os
import queue
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from workbench import rendering
from workbench.bulk.ends import Ends, Outcome, State
from workbench.bulk.plan import Plan, Planned, only_sync, operation_of, plan_of
from workbench.bulk.progress import Interrupted, Progress, progress_of
from workbench.bulk.thread_pool import ThreadPool
from workbench.client.journal_file import installation_secret
from workbench.errors import (
    ApiError,
    CannotRecord,
    Forbidden,
    InvalidRequest,
    NotArmed,
    NotSent,
    OutcomeUnknown,
    RateLimited,
    Unauthorized,
    UnexpectedAnswer,
    UnusableFile,
    WorkbenchError,
)
from workbench.interface.operation import Operation
from workbench.interface.table import OPERATIONS
from workbench.storage import FileLock

GRACE = 5.0  # seconds that calls in the air are waited for after an interrupt
_LOOK = 0.05  # seconds between looks at how far it is
IN_A_ROW = 5  # failures of the service after which a run pauses
MOST_WORKERS = 8  # threads beyond this slow each other down
STATES: tuple[State, ...] = ("done", "refused", "not sent", "unknown", "sending", "planned")
_IDS = ("id", "transaction_id")


class Applied:
    """A bulk run: how each row of the input stands, once each.

    `ok` where all are done; `counts` add up to the rows; `stopped` says why a run ended before its last row.
    """

    row_type = Outcome

    def __init__(self, plan: Plan, ends: Ends, stopped: str | None, path: Path | None) -> None:
        self.plan = plan
        self.operation = plan.name
        self.stopped = stopped
        self.path = path
        self._outcomes = ends.all()

    def rows(self) -> list[Outcome]:
        """Return every row of the input once, in its order."""
        return self._outcomes

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self._outcomes)

    def __len__(self) -> int:
        return len(self._outcomes)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows are in each state; they add up to all rows."""
        counted = Counter(one.end for one in self._outcomes)
        return {state: counted[state] for state in STATES if counted[state]}

    @property
    def ok(self) -> bool:
        """Whether every row is done."""
        return all(one.end == "done" for one in self._outcomes)

    def unknown(self) -> list[Outcome]:
        """Return the rows of which nobody knows how they ended; they are never sent again by themselves."""
        return [one for one in self._outcomes if one.end == "unknown"]

    @property
    def verdict(self) -> str:
        """Say how the run stands, why it stopped, and what to do next."""
        counts = ", ".join(f"{many:,} {state}" for state, many in self.counts.items())
        lines = [f"{self.operation}: {len(self):,} {'row' if len(self) == 1 else 'rows'}: {counts}"]
        if self.stopped:
            lines.append(f"stopped: {self.stopped}")
        unknown = self.unknown()
        if unknown:
            rows = ", ".join(str(one.row) for one in unknown[:10]) + (" and more" if len(unknown) > 10 else "")
            lines.append(
                f"row {rows} may have been carried out and was not sent again; look it up, then resume with "
                'resolved={row: "done"} or {row: "not sent"}'
            )
        elif self.counts.get("planned") and self.path is not None:
            lines.append("resume(path, api, rows) sends the rest")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.verdict

    def _repr_html_(self) -> str:
        odd = [one for one in self._outcomes if one.end != "done"][:50]
        shown = [{"row": one.row, "end": one.end, "status": one.status or "", "said": one.said or ""} for one in odd]
        head = rendering.html({"bulk run": self.operation, "how it stands": self.verdict})
        return head + (rendering.html_table(shown) if shown else "")


def run(
    call: Any,
    rows: Any,
    *,
    workers: int = 1,
    path: str | os.PathLike[str] | None = None,
    on_unknown: Literal["stop", "go on"] | None = None,
    duplicates: bool = False,
    confirm: str | None = None,
    progress: bool | Progress = True,
) -> Applied:
    """Send one write for each row, at most once each; no row is ever sent twice by itself.

    All rows are checked before the first call. An empty cell was not given; a full refund is the word FULL.

    Args:
        call: An operation of a client, as `api.create_user_application`; not `sign_withdrawal`.
        rows: A DataFrame, the path of a CSV, JSON, NDJSON, XLSX or Parquet file, mappings, or request records.
        workers: Calls in the air at once, at most 8; all share the client's rates and pauses.
        path: Where the ends of rows are kept, so that a killed run can go on. The file holds no bodies.
        on_unknown: What a row whose end is unknown does to the run; "stop" in production, else "go on".
        duplicates: Whether rows that ask for the same thing are meant.
        confirm: In production, the phrase of the plan: how many rows, and their sum.
        progress: Whether to show it; or something that takes (done, total, words, last=…).

    Returns:
        How each row stands.

    Raises:
        InvalidRequest: Rows are wrong; every problem with row, column and rule. Nothing was sent.
        NotArmed: In production without the plan's phrase, or not armed. Nothing was sent.
        Interrupted: By Ctrl-C; `.result` says how each row stands.
    """
    rows = _Unseen(rows)
    operation = operation_of(call)
    return _go(
        call.client, operation, rows, Path(path) if path is not None else None, workers=workers, on_unknown=on_unknown,
        duplicates=duplicates, confirm=confirm, progress=progress,
    )  # fmt: skip


def resume(
    path: str | os.PathLike[str],
    api: Any,
    rows: Any,
    *,
    workers: int = 1,
    on_unknown: Literal["stop", "go on"] | None = None,
    resolved: Mapping[int, Literal["done", "not sent", "not_sent"]] | None = None,
    accept_changes: bool = False,
    duplicates: bool = False,
    confirm: str | None = None,
    progress: bool | Progress = True,
) -> Applied:
    """Go on with a run that was killed, interrupted or stopped: what is done or refused is never sent again.

    Args:
        path: The file of the run.
        rows: The rows, given again: the file holds none. Changed ones are noticed.
        resolved: How rows that are unknown ended, as a person found out.
        accept_changes: Take changes of rows that were never sent.

    Raises:
        RunChanged: Rows that were sent have changed, or others have and `accept_changes` is not given.
        FileBusy: Another process has the run.
    """
    file = Path(path)
    rows = _Unseen(rows)
    if not file.exists():
        raise InvalidRequest(f"there is no run at {file}", of="resume")
    ends = Ends(file)
    try:
        name = ends.operation
    finally:
        ends.close()
    if name is None:
        raise InvalidRequest(f"the run at {file} never began; apply(…, path=…) begins it", of="resume")
    operation = OPERATIONS[name]
    return _go(
        api, operation, rows, file, workers=workers, on_unknown=on_unknown, duplicates=duplicates, confirm=confirm,
        progress=progress, resolved=resolved or {}, accept_changes=accept_changes,
    )  # fmt: skip


class _Unseen:
    """Rows as they were given; a frame that is printed with its locals does not show them."""

    __slots__ = ("rows",)

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __repr__(self) -> str:
        return "<rows>"


def _planned(
    api: Any, operation: Operation[..., Any], rows: _Unseen, path: Path | None, duplicates: bool
) -> Plan | InvalidRequest:
    """Return the plan, or the error to raise: raised here, its frames would hold the rows and the key of the digests."""
    try:
        return plan_of(
            operation,
            rows.rows,
            secret=installation_secret() if path is not None else os.urandom(32),
            limits=api.limits,
            duplicates=duplicates,
        )
    except InvalidRequest as error:
        return type(error)(error.problems, of=error.operation)


last: Applied | None = None
"""The last run of this process, however it ended."""


def _go(
    api: Any, operation: Operation[..., Any], rows: "_Unseen", path: Path | None, *, workers: int, on_unknown: str | None,
    duplicates: bool, confirm: str | None, progress: bool | Progress, resolved: Mapping[int, str] | None = None,
    accept_changes: bool = False,
) -> Applied:  # fmt: skip
    global last
    only_sync(api)
    if type(workers) is not int or not 1 <= workers <= MOST_WORKERS:
        raise InvalidRequest(
            f"workers must be 1 to {MOST_WORKERS}; more threads slow each other down", of=operation.name
        )
    if on_unknown not in {None, "stop", "go on"}:
        raise InvalidRequest('on_unknown is "stop" or "go on"', of=operation.name)
    production = api.environment == "production"
    plan = _planned(api, operation, rows, path, duplicates)
    if isinstance(plan, InvalidRequest):
        raise plan
    if production and confirm != plan.phrase:
        raise NotArmed(
            f"{plan}\nIn production a run is confirmed by its phrase: confirm={plan.phrase!r}. Nothing was sent."
        )
    api.check_operation(operation)
    stop_at_unknown = (on_unknown or ("stop" if production else "go on")) == "stop"
    with FileLock(path) if path is not None else nullcontext():
        ends = Ends(path)
        try:
            ends.begin(plan, api.host, api.environment, accept_changes=accept_changes)
            _resolve(api, ends, resolved or {}, path)
            told = progress_of(progress, operation.name)
            run = _Run(api, plan, ends, workers, stop_at_unknown, told)
            stopped = run.drive()
            last = Applied(plan, ends, stopped, path)
        finally:
            ends.close()
    if stopped == INTERRUPTED:
        raise Interrupted(last)
    return last


def _resolve(api: Any, ends: Ends, resolved: Mapping[int, str], path: Path | None) -> None:
    """Take what a person says of rows, and say it of their calls in the client's journal as well."""
    attempts = {one.row: one.attempt for one in ends.all() if one.row in resolved and one.attempt is not None}
    ends.resolve(resolved)
    asked = {entry.id for entry in api.journal.unknown()} if attempts and api.has_journal else frozenset()
    for row, attempt in attempts.items():
        if attempt in asked:
            api.journal.resolve(attempt, resolved[row], note=f"row {row} of {path.name if path else 'a run'}")


INTERRUPTED = "interrupted"


class _Run:
    """The workers of one run, and what stops them."""

    def __init__(
        self, api: Any, plan: Plan, ends: Ends, workers: int, stop_at_unknown: bool, progress: Progress
    ) -> None:
        self._api = api.allowing(resend=True) if api.environment != "production" else api
        self._plan = plan
        self._ends = ends
        self._workers = workers
        self._stop_at_unknown = stop_at_unknown
        self._progress = progress
        self._stopped: str | None = None
        self._flag = threading.Event()
        self._lock = threading.Lock()
        self._in_the_air: set[int] = set()
        self._failures = 0
        self._left: queue.SimpleQueue[Planned] = queue.SimpleQueue()
        self._finished = 0

    def drive(self) -> str | None:
        """Send what is planned; give why it stopped, or None."""
        todo = [one for one in self._plan.rows if self._ends.of(one.number).end in ("planned", "not sent")]
        self._finished = len(self._plan.rows) - len(todo)
        for one in todo:
            self._left.put(one)
        crew = ThreadPool(self._work, self._workers, "run")
        try:
            crew.start()
            while not crew.wait(_LOOK):
                self._tell()
        except KeyboardInterrupt:
            self._stop(INTERRUPTED)
            self._await(crew)
        self._tell(last=True)
        return self._stopped

    def _await(self, crew: ThreadPool) -> None:
        """Return what is in the air a moment; what still flies then is unknown."""
        with suppress(KeyboardInterrupt):  # a second one: no more waiting
            crew.wait(GRACE)
        with self._lock:
            for number in self._in_the_air:
                said = "interrupted while this call was in the air"
                outcome = Outcome(row=number, end="unknown", said=said, at=datetime.now(UTC))
                try:
                    self._ends.ended(outcome)
                except (UnusableFile, OSError):
                    self._ends.lost(outcome)  # the file says `sending`, which reads as unknown
            self._in_the_air = set()

    def _work(self) -> None:
        while not self._flag.is_set():
            try:
                one = self._left.get_nowait()
            except queue.Empty:
                return
            try:
                self._one(one)
            except CannotRecord as error:
                self._stop(str(error))

    def _one(self, one: Planned) -> None:
        with self._lock:
            if self._flag.is_set():
                return
            self._ends.sending(one.number)
            self._in_the_air.add(one.number)
        outcome = self._sent(one)
        with self._lock:
            if one.number not in self._in_the_air:
                return  # given up on after an interrupt: it stays unknown, as was said
            self._in_the_air.discard(one.number)
            try:
                self._ends.ended(outcome)
            except (UnusableFile, OSError) as error:
                self._ends.lost(outcome)
                self._stop(f"cannot record how row {one.number} ended, so not sending: {error}")
            self._finished += 1

    def _sent(self, one: Planned) -> Outcome:
        now = datetime.now(UTC)
        try:
            answer = self._api.send(one.request)
        except OutcomeUnknown as error:
            self._failed("the service gave no readable answer")
            if self._stop_at_unknown:
                self._stop(f"row {one.number} has an unknown end")
            return Outcome(row=one.number, end="unknown", attempt=error.attempt.id, said=_short(error), at=now)
        except UnexpectedAnswer as error:
            self._failures = 0
            return Outcome(
                row=one.number, end="done", status=error.status, said="done, its answer could not be read", at=now
            )
        except (Unauthorized, Forbidden) as error:
            self._stop(f"row {one.number}: {_short(error)}")
            return Outcome(row=one.number, end="planned", status=error.status, said=_short(error), at=now)
        except RateLimited as error:
            self._stop(f"rate limited at row {one.number}; try again later")
            return Outcome(row=one.number, end="planned", status=error.status, said=_short(error), at=now)
        except ApiError as error:
            self._failures = 0
            return Outcome(row=one.number, end="refused", status=error.status, said=_short(error), at=now)
        except CannotRecord as error:
            self._stop(f"row {one.number}: {_short(error)}")
            return Outcome(row=one.number, end="not sent", said=_short(error), at=now)
        except NotSent as error:
            self._failed("the service cannot be reached")
            return Outcome(row=one.number, end="not sent", said=_short(error), at=now)
        except WorkbenchError as error:
            self._stop(f"row {one.number}: {_short(error)}")
            return Outcome(row=one.number, end="not sent", said=_short(error), at=now)
        except Exception as error:  # noqa: BLE001 - a defect of ours or of a transport: what it did nobody knows
            self._stop(f"row {one.number} met an unexpected {type(error).__name__}")
            return Outcome(row=one.number, end="unknown", said=f"unexpected {type(error).__name__}", at=now)
        self._failures = 0
        made = next((getattr(answer, name) for name in _IDS if getattr(answer, name, None)), None)
        return Outcome(row=one.number, end="done", id=made, at=now)

    def _failed(self, words: str) -> None:
        self._failures += 1
        if self._failures >= IN_A_ROW:
            self._stop(f"{IN_A_ROW} rows in a row: {words}")

    def _stop(self, why: str) -> None:
        if self._stopped is None:
            self._stopped = why
        self._flag.set()

    def _tell(self, last: bool = False) -> None:
        counted = Counter(one.end for one in self._ends.all())
        words = ", ".join(f"{counted[state]:,} {state}" for state in STATES if counted[state])
        self._progress(self._finished, len(self._plan.rows), words, last=last)


def _short(error: BaseException) -> str:
    return str(error).splitlines()[0][:300]
