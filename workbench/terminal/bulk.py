"""`workbench bulk …` and `workbench rewards`: many writes from a file, and reads of any size."""

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
from cyclopts import App, Parameter

from workbench import rendering
from workbench.errors import visible
from workbench.interface.table import OPERATIONS
from workbench.interface.walk import camel
from workbench.terminal.completion import complete_ids, operations
from workbench.terminal.exits import DONE, INTERRUPTED, PARTLY, REFUSED, UNKNOWN, say, usage_error
from workbench.terminal.output import Output, show
from workbench.terminal.where import Where, session

OnUnknown = Literal["stop", "continue"]
_Rows = Annotated[Path, Parameter(help="Rows: a CSV, JSON, NDJSON, XLSX or Parquet file.")]
_Workers = Annotated[int, Parameter(help="Concurrent calls (maximum 8).")]
_OnUnknown = Annotated[
    OnUnknown | None,
    Parameter(help="What to do after a row with an unknown outcome; stop in production, else continue, if omitted."),
]


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class Checks:
    """How rows are checked, and what their results are named by.

    Attributes:
        duplicates: Allow duplicate rows.
        implausible: Allow values that break no rule but look wrong, such as a birth date in the future.
        rejects: Send the rows that are right, and write the others to this file, with reasons; resume takes it corrected.
        key: Column or member that names a row in the results; nothing private.
    """

    duplicates: bool = False
    implausible: bool = False
    rejects: Path | None = None
    key: Annotated[str | None, Parameter(name="--row-key")] = None  # `--key` is refused: an API key is never an option


def run(
    operation: Annotated[str, Parameter(completer=operations)],
    rows: _Rows,
    /,
    *,
    workers: _Workers = 1,
    path: Path | None = None,
    on_unknown: _OnUnknown = None,
    checks: Checks = Checks(),
    where: Where = Where(),
    how: Output = Output(),
) -> int:
    """Send one request for each row of a file, at most once each. All rows are checked before the first call.

    An empty cell means that the value is not given; a full refund is the word FULL. Exit code 4 if an outcome is
    unknown, 5 if not all rows are done.

    Args:
        operation: The operation.
        path: Store progress in this file so that the run can be resumed.
    """
    from workbench import bulk

    name = operation.replace("-", "_")
    row = OPERATIONS.get(name)
    if row is None or not row.effect or name == "sign_withdrawal":
        raise usage_error(f"{visible(operation, 60)!r} cannot be sent in bulk.")
    with session(where) as api:
        phrase = _confirmed_plan(api, row, rows, checks)
        return _result(
            lambda: bulk.run(
                getattr(api, name), rows, workers=workers, path=path, on_unknown=on_unknown, confirm=phrase,
                **attrs.asdict(checks),
            ),
            how,
        )  # fmt: skip


def resume(
    path: Path,
    rows: _Rows,
    /,
    *,
    resolved: str | None = None,
    accept_changes: bool = False,
    workers: _Workers = 1,
    on_unknown: _OnUnknown = None,
    checks: Checks = Checks(),
    where: Where = Where(),
    how: Output = Output(),
) -> int:
    """Resume an interrupted run. Rows that are done or refused are never sent again.

    Args:
        path: The file that stores the run's progress.
        resolved: Outcomes determined for rows with an unknown outcome, as 3=done,7=not-sent.
        accept_changes: Accept changes of rows that were never sent.
    """
    from workbench import bulk

    if not path.exists():
        raise usage_error(f"No run in {visible(str(path), 200)}.")
    with session(where) as api:
        if api.environment == "production":
            raise usage_error(
                "In production, resume a run in Python, where its plan is confirmed: wb.bulk.resume(…, confirm=…)."
            )
        return _result(
            lambda: bulk.resume(
                path, api, rows, workers=workers, on_unknown=on_unknown, resolved=_resolved(resolved),
                accept_changes=accept_changes, **attrs.asdict(checks),
            ),
            how,
        )  # fmt: skip


app = App(name="bulk", help="Send one request for each row of a file, at most once each.")
app.command(run)
app.command(resume)


def _resolved(text: str | None) -> dict[int, Literal["done", "not_sent"]] | None:
    if text is None:
        return None
    made: dict[int, Literal["done", "not_sent"]] = {}
    for one in text.split(","):
        number, _, outcome = one.strip().partition("=")
        if not (number.isascii() and number.isdigit()) or outcome not in {"done", "not-sent"}:
            raise usage_error(f"--resolved {visible(one, 40)}: expected ROW=OUTCOME, as 3=done or 7=not-sent.")
        made[int(number)] = "done" if outcome == "done" else "not_sent"
    return made


def _confirmed_plan(api: Any, operation: Any, rows: Path, checks: Checks) -> str | None:
    """In production, show the plan, ask for its phrase and return it."""
    if api.environment != "production":
        return None
    from workbench.bulk.plan import plan_of
    from workbench.terminal.journal import ask_typed

    options = attrs.asdict(checks) | {"rejects": checks.rejects is not None}
    plan = plan_of(operation, rows, secret=b"shown only", limits=api.limits, **options)
    say(f"PRODUCTION, {api.host}\n{plan}")
    ask_typed(f"Type {plan.phrase} to send them: ", plan.phrase)
    phrase: str = plan.phrase
    return phrase


def _result(send: Callable[[], Any], how: Output) -> int:
    from workbench.bulk.thread_pool import Interrupted

    interrupted = False
    try:
        done = send()
    except Interrupted as stop:
        done, interrupted = stop.result, True
    except KeyError as error:  # a row whose outcome is not unknown cannot be resolved
        raise usage_error(visible(str(error.args[0]), 200)) from None
    names = ["row", "outcome", "id", "answer_status", "status", "message"]
    names[1:1] = ["key"] if any(one.key for one in done) else []
    rows = [{name: getattr(one, name) or "" for name in names} for one in done]
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


def rewards(
    *users: Annotated[str, Parameter(completer=complete_ids("user_id"))],
    kind: Annotated[Literal["earned", "redeemed"] | None, Parameter(name="--type")] = None,
    save: Path | None = None,
    path: Path | None = None,
    where: Where = Where(),
    how: Output = Output(),
) -> int:
    """Read all rewards activity of users and sum it exactly.

    The service gives no totals: exit code 5 if the result may be incomplete, with the reason on stderr.

    Args:
        kind: Only items of this type.
        save: Save the items to this .csv, .xlsx or .parquet file.
        path: Store pages in this folder; the same command resumes an interrupted read.
        users: Ids of the users.
    """
    if not users:
        raise usage_error("rewards needs the ids of one or more users.")
    with session(where) as api:
        return read_rewards(api, users, kind, how, save=save, path=path)


def read_rewards(
    api: Any, users: Sequence[str], kind: str | None, how: Output, *, save: Path | None = None, path: Path | None = None
) -> int:
    """Read the activity of users, then show or save it."""
    from workbench import tables
    from workbench.tables.rewards import read

    found = read(api, users, type=kind, path=path)
    frame = found.frame()
    if save is not None:
        try:
            say(str(tables.export(frame, save)))
        except FileExistsError:
            raise usage_error(f"{visible(str(save), 200)} exists and is not overwritten.") from None
        except ValueError as error:
            raise usage_error(visible(str(error), 300)) from None
    else:
        show(_rows(frame, several=len(users) > 1, for_people=how.output == "table" and not how.fields), how)
    for note in found.notes:
        say(visible(note))
    say(f"{found.rows:,} items{_sums(frame)}")
    return DONE if found.complete else PARTLY


def _rows(frame: Any, *, several: bool, for_people: bool) -> list[dict[str, Any]]:
    """Return the rows of a frame without missing values; names and amounts as on the wire for programs."""
    columns = [name for name in frame.columns if several or name != "user_id"]
    held = frame[columns].astype(object).where(frame[columns].notna(), None)
    return [
        {name if for_people else camel(name): _value(name, value, for_people) for name, value in row.items() if value is not None}
        for row in held.to_dict("records")
    ]  # fmt: skip


def _value(name: str, value: Any, for_people: bool) -> Any:
    if isinstance(value, Decimal):
        return value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize()
    if name == "transaction_amount_cents":
        return rendering.money(int(value)) if for_people else int(value)
    return value.to_pydatetime() if hasattr(value, "to_pydatetime") else str(value)


def _sums(frame: Any) -> str:
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    for kind, points in zip(frame["type"], frame["points"], strict=True):
        if isinstance(points, Decimal):
            sums[str(kind)] += points
    texts = [f"{format(points.normalize(), ',f')} points {kind}" for kind, points in sorted(sums.items())]
    return f": {', '.join(texts)}" if texts else ""
