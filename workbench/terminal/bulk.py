"""`workbench bulk …` and `rewards read`: bulk writes from a file, and reads of any size."""

import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
from cyclopts import Parameter

from workbench.base.errors import visible
from workbench.base.frozen import frozen
from workbench.base.schema.walk import camel
from workbench.runs import bulk
from workbench.service.interface.table import Operations
from workbench.terminal.binding import command
from workbench.terminal.exits import DONE, INTERRUPTED, PARTLY, REFUSED, UNKNOWN, say, usage_error
from workbench.terminal.inputs import pairs
from workbench.terminal.output import Output, show
from workbench.terminal.where import Name, Text, Uuid, Whole, complete_operations, read_operation

if TYPE_CHECKING:
    from workbench.client.session import Session

_Rows = Annotated[Path, Parameter(help="Rows: a CSV, JSON, NDJSON, XLSX or Parquet file.")]


@Parameter(name="*")
@frozen(kw_only=True)
class Sending:
    """Options for checking and sending rows.

    Attributes:
        workers: Concurrent calls (maximum 8).
        on_unknown: What to do after a row with an unknown outcome; default: stop in production, otherwise continue.
        duplicates: Allow duplicate rows.
        implausible: Allow values that break no rule but look wrong, such as a birth date in the future.
        rejects: Send the valid rows, and write all other rows to this file with reasons. Correct the file and pass it
            to resume.
        key: Column or member that identifies a row in the results. It must not be private.
    """

    workers: Whole = 1
    on_unknown: Literal["stop", "continue"] | None = None
    duplicates: bool = False
    implausible: bool = False
    rejects: Path | None = None
    # not `--key`, which is refused, because it could contain an API key
    key: Annotated[str | None, Parameter(name="--row-key", metavar="NAME")] = None


@command
def run(
    api: "Session",
    operation: Annotated[Name, Parameter(completer=complete_operations)],
    rows: _Rows,
    /,
    *,
    path: Path | None = None,
    sending: Sending = Sending(),
    how: Output = Output(),
) -> int:
    """Send one request for each row of a file, at most once per row. All rows are checked before the first call.

    An empty cell omits the value. The word FULL requests a full refund. The exit code is 4 if an outcome is unknown,
    and 5 if not all rows are done.

    Args:
        operation: Operation to call for each row.
        path: Store progress in this file so that the run can be resumed.
    """
    row = read_operation(operation)
    if not row.effect or row is Operations.sign_withdrawal:
        raise usage_error(f"{visible(operation, 60)!r} cannot be used in a bulk run.")
    phrase = _confirmed_plan(api, row, rows, sending)
    options = attrs.asdict(sending)
    return _result(lambda: bulk.run(getattr(api, row.name), rows, path=path, confirm=phrase, **options), how)


@command
def resume(
    api: "Session",
    path: Path,
    rows: _Rows,
    /,
    *,
    resolved: Text | None = None,
    accept_changes: bool = False,
    sending: Sending = Sending(),
    how: Output = Output(),
) -> int:
    """Resume an interrupted run. Rows that are done or refused are not sent again.

    Args:
        path: File that stores the run's progress.
        resolved: Outcomes determined for rows with an unknown outcome, such as 3=done,7=not-sent.
        accept_changes: Accept changes to rows that were never sent.
    """
    if not path.exists():
        raise usage_error(f"No run in {visible(str(path), 200)}.")
    if api.environment == "production":
        raise usage_error("A run in production can be resumed only in Python: wb.bulk.resume(…).")
    options = {"resolved": _resolved(resolved), "accept_changes": accept_changes, **attrs.asdict(sending)}
    return _result(lambda: bulk.resume(api, path, rows, **options), how)


def _resolved(text: str | None) -> dict[int, Literal["done", "not_sent"]] | None:
    if text is None:
        return None
    outcomes = pairs("resolved", text.replace(" ", "").split(","))
    if not all(row.isdecimal() and outcome in {"done", "not-sent"} for row, outcome in outcomes.items()):
        raise usage_error(f"--resolved {visible(text, 40)}: expected ROW=OUTCOME, such as 3=done or 7=not-sent.")
    return {int(row): "done" if outcome == "done" else "not_sent" for row, outcome in outcomes.items()}


def _confirmed_plan(api: "Session", operation: Any, rows: Path, sending: Sending) -> str | None:
    """In production, show the plan, ask for the plan's confirmation phrase, and return the phrase."""
    if api.environment != "production":
        return None
    from workbench.runs.bulk.plan import plan_of
    from workbench.terminal.journal import ask_typed

    plan = plan_of(
        operation,
        rows,
        secret=b"shown only",
        limits=api.limits,
        duplicates=sending.duplicates,
        implausible=sending.implausible,
        key=sending.key,
        rejects=sending.rejects is not None,
    )
    say(f"PRODUCTION, {api.host}\n{plan}")
    ask_typed(f"Type {plan.phrase} to send them: ", plan.phrase)
    return plan.phrase


def _result(send: Callable[[], Any], how: Output) -> int:
    interrupted = False
    try:
        done = send()
    except bulk.Interrupted as stop:
        done, interrupted = stop.result, True
    names = ("row", "key", "outcome", "id", "answer_status", "status", "message")
    rows = [{name: getattr(result, name) or "" for name in names} for result in done]
    if how.output == "table" and not how.fields:
        rows = [row for row in rows if row["outcome"] != "done"] or rows[:20]
    show(rows, how)
    sys.stdout.flush()
    for line in done.verdict.split("\n"):
        say(visible(line, 500))
    if interrupted:
        return INTERRUPTED
    if done.unknown():
        return UNKNOWN
    if done.ok:
        return DONE
    return REFUSED if set(done.counts) == {"refused"} else PARTLY


@command
def rewards(
    api: "Session",
    *users: Annotated[Uuid, Parameter(required=True)],
    kind: Annotated[Literal["earned", "redeemed"] | None, Parameter(name="--type")] = None,
    save: Path | None = None,
    path: Path | None = None,
    how: Output = Output(),
) -> int:
    """Read all rewards activity of users, and sum the points exactly.

    The service returns no totals. If the result may be incomplete, the exit code is 5, and the reason is on stderr.

    Args:
        kind: Read only items of this type.
        save: Save the items to this .csv, .xlsx or .parquet file.
        path: Store pages in this folder. If the read is interrupted, the same command resumes it.
        users: Ids of the users.
    """
    from workbench.analysis.rewards.reading import fetch
    from workbench.analysis.tables.to_file import to_file

    read = fetch(api, users, type=kind, path=path)
    frame = read.frame()
    if save is None:
        show(_rows(frame), how)
    else:
        say(str(to_file(frame, save)))
    for note in read.notes:
        say(visible(note))
    sums = frame.dropna(subset=["points"]).groupby("type")["points"].sum()
    points = ", ".join(f"{total.normalize():,f} points {name}" for name, total in sums.items())
    say(f"{read.rows:,} items: {points}" if points else f"{read.rows:,} items")
    return DONE if read.complete else PARTLY


def _rows(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame with wire names. Missing values are left out."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{camel(name): _value(value) for name, value in row.items() if value is not None} for row in rows]


def _value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize()
    return value.to_pydatetime() if hasattr(value, "to_pydatetime") else value
