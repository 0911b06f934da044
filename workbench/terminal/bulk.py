"""Many writes at a prompt: one for each row of a file, at most once each, and going on where a run was stopped."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from workbench.errors import visible
from workbench.interface.table import OPERATIONS
from workbench.terminal.ends import DONE, INTERRUPTED, PARTLY, REFUSED, UNKNOWN, say, wrong
from workbench.terminal.output import Output, show
from workbench.terminal.where import Where, session

_WHERE, _HOW = Where(), Output()
OnUnknown = Literal["stop", "continue"]
_Rows = Annotated[Path, Parameter(help="Rows: a CSV, JSON, NDJSON, XLSX or Parquet file.")]
_Workers = Annotated[int, Parameter(help="Calls in the air at once, at most 8.")]
_OnUnknown = Annotated[
    OnUnknown | None,
    Parameter(help="What a row with an unknown outcome does to the run; stop in production, else continue."),
]
_Duplicates = Annotated[
    bool, Parameter(help="Rows that ask for the same thing are meant.", negative="", show_default=False)
]


def apply(
    operation: Annotated[str, Parameter(help="The operation.")],
    rows: _Rows,
    /,
    *,
    workers: _Workers = 1,
    path: Annotated[
        Path | None, Parameter(help="Keep the ends of rows in this file, so that the run can go on.")
    ] = None,
    on_unknown: _OnUnknown = None,
    duplicates: _Duplicates = False,
    where: Annotated[Where, Parameter(name="*")] = _WHERE,
    how: Annotated[Output, Parameter(name="*")] = _HOW,
) -> int:
    """Send one write for each row of a file, at most once each. All rows are checked before the first call.

    An empty cell was not given; a full refund is the word FULL. Exit code 4 where an end is unknown, 5 where not all rows
    are done.
    """
    from workbench import bulk

    name = operation.replace("-", "_")
    row = OPERATIONS.get(name)
    if row is None or not row.effect or name == "sign_withdrawal":
        raise wrong(f"{visible(operation, 60)!r} is no operation that rows can be sent with.")
    with session(where) as api:
        phrase = _phrase(api, row, rows, duplicates)
        return _told(
            lambda: bulk.run(
                getattr(api, name), rows, workers=workers, path=path, on_unknown=on_unknown,
                duplicates=duplicates, confirm=phrase,
            ),
            how,
        )  # fmt: skip


def resume(
    path: Annotated[Path, Parameter(help="The file of the run.")],
    rows: _Rows,
    /,
    *,
    resolved: Annotated[
        str | None, Parameter(help="How unknown rows ended, as a person found out: 3=done,7=not-sent")
    ] = None,
    accept_changes: Annotated[
        bool, Parameter(help="Take changes of rows that were never sent.", negative="", show_default=False)
    ] = False,
    workers: _Workers = 1,
    on_unknown: _OnUnknown = None,
    duplicates: _Duplicates = False,
    where: Annotated[Where, Parameter(name="*")] = _WHERE,
    how: Annotated[Output, Parameter(name="*")] = _HOW,
) -> int:
    """Go on with a run that was killed, interrupted or stopped. What is done or refused is never sent again."""
    from workbench import bulk

    if not path.exists():
        raise wrong(f"There is no run in {visible(str(path), 200)}.")
    with session(where) as api:
        if api.environment == "production":
            raise wrong(
                "In production a run is resumed in Python, where its plan is confirmed: wb.bulk.resume(…, confirm=…)."
            )
        return _told(
            lambda: bulk.resume(
                path, api, rows, workers=workers, on_unknown=on_unknown, resolved=_resolved(resolved),
                accept_changes=accept_changes, duplicates=duplicates,
            ),
            how,
        )  # fmt: skip


def _resolved(text: str | None) -> dict[int, Literal["done", "not_sent"]] | None:
    if text is None:
        return None
    made: dict[int, Literal["done", "not_sent"]] = {}
    for one in text.split(","):
        number, _, end = one.strip().partition("=")
        if not (number.isascii() and number.isdigit()) or end not in {"done", "not-sent"}:
            raise wrong(f"--resolved {visible(one, 40)}: it is a row and its end, as 3=done or 7=not-sent.")
        made[int(number)] = "done" if end == "done" else "not_sent"
    return made


def _phrase(api: Any, operation: Any, rows: Path, duplicates: bool) -> str | None:
    """In production, show the plan and ask for its phrase; give it."""
    if api.environment != "production":
        return None
    from workbench.bulk.plan import plan_of
    from workbench.terminal.arming import typed

    plan = plan_of(operation, rows, secret=b"shown only", limits=api.limits, duplicates=duplicates)
    say(f"PRODUCTION, {api.host}\n{plan}")
    typed(f"Type {plan.phrase} to send them: ", plan.phrase)
    phrase: str = plan.phrase
    return phrase


def _told(send: Any, how: Output) -> int:
    from workbench.bulk.thread_pool import Interrupted

    interrupted = False
    try:
        done = send()
    except Interrupted as stop:
        done, interrupted = stop.result, True
    except KeyError as slip:  # a row that is not unknown cannot be resolved
        raise wrong(visible(str(slip.args[0]), 200)) from None
    outcomes = list(done)
    columns = [
        {
            "row": one.row,
            "outcome": one.outcome,
            "id": one.id or "",
            "status": one.status or "",
            "message": one.message or "",
        }
        for one in outcomes
    ]
    if how.output == "table" and not how.fields:
        columns = [row for row in columns if row["outcome"] != "done"] or columns[:20]
    show(columns, how)
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
