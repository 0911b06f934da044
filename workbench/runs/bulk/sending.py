"""Send many writes, each at most once: `run` starts a run, `resume` continues one."""

import os
import threading
from collections.abc import Mapping
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from workbench.base.arguments import hide_arguments
from workbench.base.errors import (
    ApiError,
    CannotRecord,
    Forbidden,
    NotArmed,
    NotSent,
    OutcomeUnknown,
    RateLimited,
    Unauthorized,
    UnexpectedAnswer,
    UsageError,
    WorkbenchError,
    WrongEnvironment,
)
from workbench.base.system.locks import locked
from workbench.base.system.progress import Progress, ProgressCallback, progress_callback
from workbench.base.system.thread_pool import Interrupted, ThreadPool
from workbench.client.calls.base import allowed_by, context_of, journal_of, stoppable
from workbench.client.calls.client import refuse_async
from workbench.client.calls.effects import Outcome
from workbench.client.calls.keys import installation_secret
from workbench.runs.bulk.outcomes import PLANNED, BulkResult, RowResult, RunRecord
from workbench.runs.bulk.plan import BulkPlan, PlannedRow, check_rejects, operation_of, plan_of, write_rejects
from workbench.sandbox.internals import internals
from workbench.service.interface.table import OPERATIONS, Operation, Sync

MAX_CONSECUTIVE_FAILURES = 5  # number of consecutive rows without a response that stops a run
MAX_WORKERS = 8  # with more threads, each would slow the others down
OnUnknown = Literal["stop", "continue"]
Resolved = Mapping[int, Literal["done", "not_sent"]]


@hide_arguments
def run(
    call: Any,
    rows: object,
    *,
    workers: int = 1,
    path: str | os.PathLike[str] | None = None,
    on_unknown: OnUnknown | None = None,
    duplicates: bool = False,
    implausible: bool = False,
    rejects: str | os.PathLike[str] | None = None,
    key: str | None = None,
    confirm: str | None = None,
    progress: bool | ProgressCallback = True,
) -> BulkResult:
    """Send one write for each row, at most once. A row with an unknown outcome waits until a person resolves it.

    All rows are checked before the first call. An empty cell is an omitted value, and the word FULL is the full amount.
    Any exception during the run (Ctrl-C, a signal timeout, an error in `progress`) stops it: no more rows are sent,
    calls in flight are awaited and recorded, then the exception propagates.

    Args:
        call: An operation of a client, such as `api.create_user_application`, or of a view made with `allowing(…)`;
            not `sign_withdrawal`.
        rows: A DataFrame, the path of a CSV, JSON, NDJSON, XLSX or Parquet file, mappings, or request records.
        workers: Concurrent calls (maximum 8), which share the client's rate limits and pauses.
        path: Store progress in this file so that the run can be resumed. It contains no request bodies.
        on_unknown: Whether to "stop" the run or "continue" after an unknown outcome. The default is "stop" in
            production and "continue" in other environments.
        duplicates: Allow duplicate rows.
        implausible: Allow values that break no rule but look wrong, such as a birth date in the future.
        rejects: Send the valid rows, and write invalid and refused rows to this file with a column of reasons. Correct
            them there and pass the file to `resume` as its rows.
        key: Column or attribute that names a row in the results, such as "external_id". It must not be private.
        confirm: In production, the plan's phrase, which states the number of rows and their sum.
        progress: Whether to show a progress line, or a function that is called with a `Progress`.

    Returns:
        The result of each row.

    Raises:
        InvalidRows: Rows are invalid; `.frame` lists every problem with row, column and rule. Nothing was sent.
        NotArmed: In production, the phrase is missing or the session is not armed. Nothing was sent.
        RunChanged: The file at `path` contains a run with other rows or another service. Nothing was sent.
        UsageError: An argument is invalid, such as an async client or an unreadable file of rows. Nothing was sent.
        Interrupted: The run was stopped by Ctrl-C; `.result` has the result of each row.
        FileBusy: Another process has the run open.
    """
    operation = operation_of(call)
    return _run(
        call.client,
        operation,
        rows,
        None if path is None else Path(path),
        workers=workers,
        on_unknown=on_unknown,
        confirm=confirm,
        progress=progress,
        rejects=rejects,
        duplicates=duplicates,
        implausible=implausible,
        key=key,
    )


@hide_arguments
def resume(
    api: object,
    path: str | os.PathLike[str],
    rows: object,
    *,
    workers: int = 1,
    on_unknown: OnUnknown | None = None,
    resolved: Resolved | None = None,
    accept_changes: bool = False,
    duplicates: bool = False,
    implausible: bool = False,
    rejects: str | os.PathLike[str] | None = None,
    key: str | None = None,
    confirm: str | None = None,
    progress: bool | ProgressCallback = True,
) -> BulkResult:
    """Resume a run that was killed, interrupted or stopped. Rows that are done or refused are not sent again.

    Args:
        path: The file of the run.
        api: The client or session to send with.
        rows: The same rows as before, since the file contains only their digests; or a rejects file with corrected
            rows, which are sent under their original row numbers.
        workers: See `run`, also for all arguments not listed here.
        resolved: Outcomes of unknown rows as a person determined them: "done" or "not_sent" by row number.
        accept_changes: Accept changes to rows that were never sent.

    Raises:
        RunChanged: Rows that were sent have changed, other rows have changed without `accept_changes`, or the service
            is different, such as a restarted embedded sandbox.
        UsageError: The file contains no run, or `resolved` names a row with a known outcome.
        FileBusy: Another process has the run open.
    """
    file = Path(path)
    if not file.exists():
        raise UsageError(f"no run found at {file}", of="resume")
    with closing(RunRecord(file)) as record:
        name, former_key = record.started
    if name is None:
        raise UsageError(f"the run at {file} has not started; start it with run(…, path=…)", of="resume")
    return _run(
        api,
        OPERATIONS[name],
        rows,
        file,
        workers=workers,
        on_unknown=on_unknown,
        confirm=confirm,
        progress=progress,
        rejects=rejects,
        resolved=resolved or {},
        accept_changes=accept_changes,
        duplicates=duplicates,
        implausible=implausible,
        key=key,
        former_key=former_key,
    )


def _run(
    api: Any,
    operation: Operation[..., Any],
    rows: object,
    path: Path | None,
    *,
    workers: int,
    on_unknown: str | None,
    confirm: str | None,
    progress: bool | ProgressCallback,
    rejects: str | os.PathLike[str] | None,
    resolved: Resolved = MappingProxyType({}),
    accept_changes: bool = False,
    **checks: Any,
) -> BulkResult:
    refuse_async(api, "bulk.run")
    if not issubclass(type(api), Sync):  # a run sends from several threads, so the client must be synchronous
        raise UsageError(f"a bulk run requires a Client or a Session, not {type(api).__name__}", of="bulk.run")
    if type(workers) is not int or not 1 <= workers <= MAX_WORKERS:
        raise UsageError(f"workers must be 1 to {MAX_WORKERS}", of=operation.name)
    if on_unknown not in {None, "stop", "continue"}:
        raise UsageError('on_unknown must be "stop" or "continue"', of=operation.name)
    if rejects is not None:
        check_rejects(Path(rejects))
    production = api.environment == "production"
    secret = installation_secret() if path is not None else os.urandom(32)
    guards = context_of(api)
    plan = plan_of(
        operation,
        rows,
        secret=secret,
        limits=api.limits,
        allowing=allowed_by(api),
        real=guards.real,
        rejects=rejects is not None,
        **checks,
    )
    if production and confirm != plan.phrase:
        raise NotArmed(f"{plan}\nTo confirm a run in production, pass confirm={plan.phrase!r}. Nothing was sent.")
    guards.check_operation(operation)
    stop_at_unknown = (on_unknown or ("stop" if production else "continue")) == "stop"
    target = {"host": api.host, "environment": api.environment, "world": _world_of(api)}
    with closing(RunRecord(None)) if path is None else locked(path, lambda: RunRecord(path)) as record:
        record.start(plan, target, key=checks["key"], accept_changes=accept_changes)
        _resolve(api, record, resolved, path)
        sender = _Sender(api, plan, record, workers, stop_at_unknown, progress_callback(progress))
        try:
            sender.run()
        except BaseException as error:
            result = BulkResult(plan, record.all(), sender.stopped, path)
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted(result) from None
            error.add_note(result.verdict)
            raise
        finally:
            if rejects is not None:
                _write_rejects(Path(rejects), plan, record.all())
        return BulkResult(plan, record.all(), sender.stopped, path)


def _world_of(api: Any) -> str:
    """Return the world id of a client's sandbox; empty for a real service."""
    try:
        return str(internals(api.sandbox).world_id())
    except (WrongEnvironment, AttributeError):
        return ""


def _write_rejects(path: Path, plan: BulkPlan, results: list[RowResult]) -> None:
    reasons = {
        result.row: result.message or ""
        for result in results
        if result.outcome == Outcome.REFUSED or (result.outcome == Outcome.NOT_SENT and result.at is None)
    }
    rejected = {row.number: (row.source, reasons[row.number]) for row in plan.rows if row.number in reasons}
    if rejected:
        write_rejects(path, rejected)


def _resolve(api: Any, record: RunRecord, resolved: Resolved, path: Path | None) -> None:
    """Set the resolved outcomes of rows, and of the rows' calls in the client's journal."""
    attempts = {
        result.row: result.attempt for result in record.all() if result.row in resolved and result.attempt is not None
    }
    record.resolve(resolved)
    journal = journal_of(api)
    if journal is None or not attempts:
        return
    unknown = {entry.id for entry in journal.unknown()}
    for row, attempt in attempts.items():
        if attempt in unknown:
            journal.resolve(attempt, resolved[row], note=f"row {row} of {path.name if path else 'a run'}")


class _Sender:
    """Sender of a run's rows. It sends from several threads and records each outcome."""

    def __init__(
        self, api: Any, plan: BulkPlan, record: RunRecord, workers: int, stop_at_unknown: bool, show: ProgressCallback
    ) -> None:
        self.stopped: str | None = None
        self._record = record
        self._stop_at_unknown = stop_at_unknown
        self._show = show
        self._lock = threading.Lock()
        self._in_flight: set[int] = set()
        self._failures = 0
        wrong = {row.number for row in plan.rows if row.problems}
        pending = {result.row for result in record.all() if result.outcome in (PLANNED, Outcome.NOT_SENT)} - wrong
        before = len(plan.rows) - len(pending)
        self._progress = Progress(
            total=len(plan.rows), label=plan.name, done=before, earlier=before, on_stop=self._stop
        )
        left = [row for row in plan.rows if row.number in pending]
        self._pool = ThreadPool(self._send, left, workers, "run")
        view = api.allowing(resend=True) if api.environment != "production" else api
        self._api = stoppable(view, lambda: self._pool.stopping)  # after a stop, waiting rows are not sent

    def run(self) -> None:
        """Send the planned rows."""
        try:
            self._pool.run(self._report)
        except KeyboardInterrupt:
            self._stop("interrupted")
            self._abandon()
            self._report(ended=True)
            raise
        except BaseException as error:
            self._stop(f"by a {type(error).__name__}")
            self._abandon()
            raise
        self._report(ended=True)

    def _abandon(self) -> None:
        """Set rows in flight to unknown, after a second exception ended the wait for them."""
        with self._lock:
            for number in self._in_flight:
                message = "interrupted while this call was in flight"
                self._record.record_or_keep(
                    RowResult(row=number, outcome=Outcome.UNKNOWN.value, message=message, at=datetime.now(UTC))
                )
            self._in_flight = set()

    def _send(self, row: PlannedRow) -> None:
        """Send one row, and record it before and after the call."""
        with self._lock:
            if self._pool.stopping:
                return
            try:
                self._record.sending(row.number)
            except CannotRecord as error:
                self._stop(str(error))
                return
            self._in_flight.add(row.number)
        failure: BaseException | None = None
        now = datetime.now(UTC)
        try:
            with self._idempotency(row):
                answer = self._api.send(row.request)
        except BaseException as error:  # noqa: BLE001 - recorded first; Ctrl-C is raised below
            failure = error
            result = self._failed(row.number, error, now)
        else:
            self._failures = 0
            id_ = getattr(answer, "id", None) or getattr(answer, "transaction_id", None)
            status = getattr(answer, "application_status", None) or getattr(answer, "status", None)
            result = RowResult(
                row=row.number,
                outcome=Outcome.DONE.value,
                id=id_,
                at=now,
                answer_status=None if status is None else str(status),
            )
        with self._lock:
            if row.number in self._in_flight:  # otherwise the row was abandoned, and its outcome remains unknown
                self._in_flight.discard(row.number)
                problem = self._record.record_or_keep(result)
                if problem is not None:
                    self._stop(
                        f"the outcome of row {row.number} cannot be recorded, so no more rows are sent: {problem}"
                    )
                self._progress.done += 1
        if failure is not None and not isinstance(failure, Exception):
            raise failure

    def _idempotency(self, row: PlannedRow) -> Any:
        """Return a context in which calls get the row's idempotency key, if the profile configures a header."""
        if context_of(self._api).idempotency_header is None:
            return nullcontext()
        return self._api.idempotency(self._record.idempotency_key(row))

    def _failed(self, row: int, error: BaseException, at: datetime) -> RowResult:
        outcome = Outcome.NOT_SENT.value
        message = str(error).splitlines()[0][:300] if isinstance(error, WorkbenchError) else ""
        match error:
            case UnexpectedAnswer():
                self._failures = 0
                outcome, message = Outcome.DONE.value, "done, but its answer could not be read"
            case OutcomeUnknown():
                outcome = Outcome.UNKNOWN.value
                self._count_failure("the service gave no readable answer")
                if self._stop_at_unknown:
                    self._stop(f"row {row} has an unknown outcome")
            case Unauthorized() | Forbidden():
                outcome = PLANNED
                self._stop(f"row {row}: {message}")
            case RateLimited():
                outcome = PLANNED
                self._stop(f"rate limited at row {row}; try again later")
            case ApiError():
                self._failures = 0
                outcome = Outcome.REFUSED.value
            case NotSent() if not isinstance(error, CannotRecord):
                self._count_failure("the service cannot be reached")
            case WorkbenchError():
                self._stop(f"row {row}: {message}")
            case _:  # a bug in this package or in a transport; the call may have had its effect
                outcome, message = Outcome.UNKNOWN.value, f"unexpected {type(error).__name__}"
                self._stop(f"unexpected {type(error).__name__} at row {row}")
        return RowResult(
            row=row,
            outcome=outcome,
            status=getattr(error, "status", None),
            message=message,
            at=at,
            attempt=error.attempt.id if isinstance(error, OutcomeUnknown) else None,
        )

    def _count_failure(self, message: str) -> None:
        self._failures += 1
        if self._failures >= MAX_CONSECUTIVE_FAILURES:
            self._stop(f"{MAX_CONSECUTIVE_FAILURES} consecutive rows: {message}")

    def _stop(self, reason: str) -> None:
        self.stopped = self.stopped or reason
        self._pool.stop()

    def _report(self, ended: bool = False) -> None:
        self._progress.detail = self._record.counts_text
        self._progress.ended = ended
        self._show(self._progress)
