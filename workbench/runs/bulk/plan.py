"""Convert rows to requests, check all of them before the first call, and write rejects files."""

import hashlib
import hmac
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from workbench.base.errors import InvalidRequest, Problem, UsageError, unsupported_file, visible
from workbench.base.schema import masks, walk
from workbench.base.schema.checks import survey
from workbench.base.schema.fields import Privacy
from workbench.base.schema.readers import is_empty
from workbench.base.schema.rules import Full
from workbench.base.schema.strict_json import dumps
from workbench.client.calls.guards import Limits
from workbench.client.calls.request_checks import findings
from workbench.runs.bulk.rows import Body, nested, raw_bodies, read_cells
from workbench.service.interface.convert import converter
from workbench.service.interface.table import Call, Operation, Operations

if TYPE_CHECKING:
    import pandas as pd

MAX_PROBLEMS_SHOWN = 50
PRIVATE_KEY = "private-key"  # name of the rule that finds a pasted private key
ROW, REASONS = "row", "reasons"
"""Columns that a rejects file adds to the input."""


@attrs.frozen(kw_only=True)
class RowProblem:
    """A problem in a row. `found` is the cell's value as text, or dots if the value may be private."""

    row: int | None  # row number in the input; None if the problem concerns all rows together
    column: str  # name of the column, as spelled in the input
    rule: str
    message: str
    found: str | None = None


class InvalidRows(InvalidRequest):
    """Rows of a bulk run break rules, so nothing was sent. `frame` has every problem, sorted by row.

    `problems` holds the first fifty.
    """

    def __init__(self, wrong_rows: list[RowProblem], *, of: str) -> None:
        self._found = sorted(wrong_rows, key=lambda problem: (problem.row is None, problem.row or 0))
        more = len(wrong_rows) - MAX_PROBLEMS_SHOWN
        problems = [
            Problem(
                ", ".join(filter(None, ("" if problem.row is None else f"row {problem.row}", problem.column))),
                problem.rule,
                problem.message,
            )
            for problem in self._found[:MAX_PROBLEMS_SHOWN]
        ]
        if more > 0:
            problems.append(Problem("", "more", f"further problems: {more:,}"))
        super().__init__(problems, of=of)

    def rows(self) -> list[RowProblem]:
        """Return every problem, sorted by row."""
        return self._found

    @property
    def frame(self) -> "pd.DataFrame":
        """Every problem as a DataFrame with row, column, rule, message and value. Private values are masked."""
        import pandas as pd

        return pd.DataFrame([attrs.asdict(problem) for problem in self._found]).convert_dtypes()


def sources_of(operation: Operation[..., Any], rows: object) -> list[Any]:
    """Return each row as a `Body` with unconverted cells, or as a request record."""
    if isinstance(rows, str | os.PathLike):
        return list(raw_bodies(Path(rows)))
    sources: list[Any] = []
    wanted = operation.request
    for number, row in enumerate(rows_of(rows, operation.name), 1):
        if not isinstance(row, (Mapping, wanted)):
            message = f"row {number} is of type {type(row).__name__}; rows are mappings or {wanted.__name__} records"
            raise InvalidRequest(message, of=operation.name)
        sources.append(Body(nested(row), number) if isinstance(row, Mapping) else row)
    return sources


def rows_of(rows: Any, of: str) -> list[Any]:
    """Return the rows of a DataFrame or an iterable: request records unchanged, mappings without their empty cells.

    Raises:
        UsageError: The argument is neither a DataFrame nor an iterable of rows.
    """
    if hasattr(rows, "to_dict") and not isinstance(rows, Mapping):
        rows = rows.to_dict("records")
    elif isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable):
        description = "None" if rows is None else f"one {type(rows).__name__}"
        message = f"rows must be a DataFrame, the path of a file, mappings or request records, not {description}"
        raise UsageError(message, of=of)
    return [
        {str(name): _cell(value) for name, value in row.items() if not is_empty(value)}
        if isinstance(row, Mapping)
        else row
        for row in rows
    ]


def _cell(value: object) -> Any:
    """Return a cell's value. A date becomes text, as in a file."""
    return value.isoformat() if type(value) is date else value


def cells_of(source: Body, partial: bool) -> Body:
    """Return a row with its original number, and without the two columns that a rejects file adds."""
    if not partial:
        return source
    number = str(source[ROW])
    cells = {name: value for name, value in source.items() if name not in (ROW, REASONS)}
    return Body(cells, int(number) if number.isascii() and number.isdigit() else source.row)


def take_keys(
    operation: Operation[..., Any],
    sources: list[Any],
    key: str | None,
    members: Mapping[str, walk.Member],
    *,
    is_required: bool,
) -> list[str | None]:
    """Return the key of each row. A key column that is not a request member is removed from the rows.

    Args:
        is_required: Whether to raise an error if no row has a key.
    """
    if key is None:
        return []
    member = next((member for path, member in members.items() if key in (path, member.name)), None)
    if member is not None and member.about.privacy is not Privacy.OPEN:
        message = f"{visible(key, 60)} is private, and results contain no private values; use another key"
        raise InvalidRequest(message, of=operation.name)
    taken = Body.get if member is not None else Body.pop
    values = [
        taken(source, key) if isinstance(source, Body) and key in source else walk.get_path(source, key)
        for source in sources
    ]
    if is_required and all(value is None for value in values):
        raise InvalidRequest(f"no row has the key column {visible(key, 60)}", of=operation.name)
    return [None if value is None else str(value) for value in values]


def row_problem(
    body: Body, problem: Problem, request: object, members: Mapping[str, walk.Member], *, column: str | None = None
) -> RowProblem:
    """Convert a problem to a `RowProblem`, with the column as spelled in the input. A private value is masked."""
    wire = problem.path if column is None else next((at for at, name in body.columns.items() if name == column), "")
    if column is None:
        spelled = [name for name in body.columns.values() if name != _snake(name)]
        column = body.columns.get(wire) or (wire if spelled else _snake(wire))
    value, member = walk.get_path(request, wire), members.get(wire)
    is_open = member is not None and member.about.privacy is Privacy.OPEN
    hidden = not is_open or problem.rule == PRIVATE_KEY
    text = None if value is None else masks.DOTS if hidden else visible(str(value), 60)
    return RowProblem(row=body.row, column=column, rule=problem.rule, message=problem.text, found=text)


def _snake(path: str) -> str:
    return ".".join(map(walk.snake, path.split(".")))


REJECTS_FORMATS = (".csv", ".xlsx", ".parquet", ".json", ".ndjson")


def check_rejects(path: Path) -> None:
    """Raise UsageError for a rejects file of an unknown format."""
    if path.suffix not in REJECTS_FORMATS:
        raise UsageError(unsupported_file(path.name, REJECTS_FORMATS), of="rejects")


def write_rejects(path: Path, rejected: Mapping[int, tuple[Any, str]]) -> None:
    """Write rejected rows with their reasons, in the format of the path's extension, readable by the owner only."""
    import pandas as pd

    from workbench.base.system.files import write_file
    from workbench.service.rendering.text import guarded

    rows = [{ROW: number, **_cells(source), REASONS: reasons} for number, (source, reasons) in rejected.items()]
    columns = dict.fromkeys(name for row in rows for name in row if name != REASONS)
    frame = pd.DataFrame(rows, dtype=object, columns=[*columns, REASONS])
    writers: dict[str, Callable[[Any], Any]] = {
        ".csv": lambda file: frame.rename(columns=guarded).map(guarded).to_csv(file, index=False),
        ".xlsx": lambda file: frame.to_excel(file, index=False),
        ".parquet": lambda file: frame.astype("string").to_parquet(file),
    }
    as_json = partial(frame.to_json, orient="records", lines=path.suffix == ".ndjson")
    write_file(path, writers.get(path.suffix, as_json), private=True)


def _cells(source: object) -> dict[str, Any]:
    """Return the cells of a row by dotted column name."""
    cells = {path: value for path, value in walk.flat(source) if path not in (ROW, REASONS)}
    return {path: value if isinstance(value, str | int) else str(value) for path, value in cells.items()}


IDENTIFYING = ("external_id", "email", "transaction_id", "payment_account_id", "dispute_id")
"""Members that identify the target of a row; two rows with the same value are duplicates."""


@attrs.frozen(kw_only=True)
class PlannedRow:
    """A planned row: its input number, request and keyed digest. A row with problems is not sent."""

    number: int
    source: Mapping[str, Any] = attrs.field(repr=False)  # the row as read, unchanged
    request: object = attrs.field(repr=False)
    digest: str = ""
    problems: tuple[RowProblem, ...] = ()
    key: str | None = None  # value of the key column in this row

    @property
    def reasons(self) -> str | None:
        """The reasons why the row is not sent, as text; None if it has no problems."""
        return "; ".join(f"{problem.column} {problem.message}".strip() for problem in self.problems) or None


@attrs.frozen(kw_only=True)
class AmountSum:
    """The sum of one amount over the rows of a plan, in cents."""

    name: str
    count: int
    full: int  # number of rows whose amount is FULL
    total: int
    minimum: int | None
    maximum: int | None

    def __str__(self) -> str:
        text = f"{self.name}: {self.count} in cents, sum {self.total:,}"
        if self.count:
            text += f", from {self.minimum:,} to {self.maximum:,}"
        return text + (f", and {self.full} × FULL" if self.full else "")


@attrs.frozen(kw_only=True)
class BulkPlan:
    """The calls that a bulk run will make, checked and counted before anything is sent."""

    name: str  # name of the operation
    rows: tuple[PlannedRow, ...] = attrs.field(repr=False)
    sums: tuple[AmountSum, ...]
    partial: bool = False  # whether the rows come from a rejects file

    @property
    def phrase(self) -> str:
        """Confirmation phrase for production: the number of rows, and their sum if they have amounts."""
        total = sum(total.total for total in self.sums)
        return self._row_count + (f" {total // 100}.{total % 100:02d}" if self.sums else "")

    @property
    def _row_count(self) -> str:
        count = sum(not row.problems for row in self.rows)
        return f"{count} {'row' if count == 1 else 'rows'}"

    def __str__(self) -> str:
        return "\n".join([f"{self.name}: {self._row_count}", *map(str, self.sums)])


def operation_of(call: object) -> Operation[..., Any]:
    """Return the operation of a bound method of a client.

    Raises:
        UsageError: The argument is not an operation, or a bulk run may not send it.
    """
    if not isinstance(call, Call):
        message = "a bulk run takes an operation of a client, such as api.create_user_application"
        raise UsageError(message, of="bulk.run")
    operation: Operation[..., Any] = call.operation
    if operation.name == Operations.sign_withdrawal.name:
        message = "sign_withdrawal authorizes moving funds; call it once for each withdrawal, after checking the plan"
        raise UsageError(message, of="bulk.run")
    if not operation.effect:
        raise UsageError(f"{operation.name} is a read; bulk runs are for operations with an effect", of="bulk.run")
    return operation


def plan_of(
    operation: Operation[..., Any],
    rows: object,
    *,
    secret: bytes,
    limits: Limits = Limits(),
    duplicates: bool = False,
    allowing: Collection[str] = (),
    real: bool = True,
    implausible: bool = False,
    key: str | None = None,
    former_key: str | None = None,
    rejects: bool = False,
) -> BulkPlan:
    """Check all rows and return the plan. `run` explains the arguments not listed here.

    Args:
        secret: Key of the rows' digests.
        limits: The caps of a profile.
        allowing: Exceptions to accept, by their names in `Client.allowing`.
        real: Whether a real service answers.
        former_key: The column that named the rows when the run was started.
        rejects: Include invalid rows in the plan, with their problems, instead of raising.

    Raises:
        InvalidRows: Rows are invalid. The error has every problem with row, column and rule. Nothing was sent.
    """
    sources = sources_of(operation, rows)
    if not sources:
        raise InvalidRequest("the input has no rows", of=operation.name)
    single = ((path, leaf) for path, leaf in walk.leaves(operation.request) if walk.record_of(leaf.kind) is None)
    members = {walk.wire_path(operation.request, path): leaf for path, leaf in single}
    keys = take_keys(operation, sources, key or former_key, members, is_required=key is not None)
    partial = all(isinstance(source, Body) and {ROW, REASONS} <= source.keys() for source in sources)
    cells = iter(
        read_cells([cells_of(source, partial) for source in sources if isinstance(source, Body)], operation.request)
    )
    planned = []
    for number, source in enumerate(sources, 1):
        body = next(cells) if isinstance(source, Body) else Body({}, number)
        request = walk.build(operation.request, body) if isinstance(source, Body) else source
        row_problems = [row_problem(body, problem, request, members, column=problem.path) for problem in body.problems]
        refused, warned = findings(operation, request, allowing, real=real, limits=limits)
        doubted = [
            Problem(warning.path, "implausible", f"{warning.message}; pass implausible=True to send it")
            for warning in warned
            if not implausible
        ]
        row_problems += [
            row_problem(body, problem, request, members)
            for problem in (*refused, *doubted)
            if problem.path not in body.unread  # a cell that cannot be converted already has a problem
        ]
        digest = "" if body.unread else _digest(secret, operation, request)
        planned.append(
            PlannedRow(
                number=body.row,
                source=source,
                request=request,
                digest=digest,
                problems=tuple(row_problems),
                key=keys[number - 1] if keys else None,
            )
        )
    if not duplicates:
        planned = _with_duplicates(planned)
    wrong = [problem for row in planned for problem in row.problems]
    counted = tuple(row for row in planned if row.digest and not (rejects and row.problems))
    sums = tuple(_sums(operation, counted))
    over = list(_over_limits(len(counted), sums, limits))
    if (
        over or (wrong and not rejects) or any(problem.rule == PRIVATE_KEY for problem in wrong)
    ):  # a private key must not be written to a rejects file
        raise InvalidRows([*wrong, *over], of=operation.name)
    return BulkPlan(name=operation.name, rows=tuple(planned), sums=sums, partial=partial)


def _digest(secret: bytes, operation: Operation[..., Any], request: object) -> str:
    """Return the digest of a request. It is empty if a value cannot be written as JSON; `findings` reports this."""
    try:
        text = dumps({"operation": operation.name, **survey(request, converter()).body})
    except (TypeError, ValueError):
        return ""
    return hmac.new(secret, text, hashlib.sha256).hexdigest()


def _with_duplicates(rows: list[PlannedRow]) -> list[PlannedRow]:
    """Return the rows, with a problem added to each duplicate."""
    seen: dict[Any, list[int]] = defaultdict(list)
    for row in rows:
        if not row.problems:
            seen[row.digest].append(row.number)
            for name in IDENTIFYING:
                value = getattr(row.request, name, None)
                if value is not None and not (name == "transaction_id" and _is_partial(row.request)):
                    seen[(name, value)].append(row.number)
    first_rows = {}
    for number, same in ((number, numbers) for numbers in seen.values() if len(numbers) > 1 for number in numbers):
        others = listed([earlier for earlier in same if earlier != number], 5)
        message = f"is a duplicate of row {others}; pass duplicates=True to allow it"
        first_rows[number] = (RowProblem(row=number, column="", rule="duplicate", message=message),)
    return [attrs.evolve(row, problems=first_rows.get(row.number, row.problems)) for row in rows]


def listed(numbers: Sequence[int], most: int) -> str:
    """Return at most `most` row numbers as text, followed by the count of the others."""
    more = f" and {len(numbers) - most:,} more" if len(numbers) > most else ""
    return ", ".join(map(str, numbers[:most])) + more


def _is_partial(request: object) -> bool:
    """Return whether a refund or reversal is partial. Several partial refunds of a transaction are not duplicates."""
    amount = getattr(request, "amount", getattr(request, "new_amount", None))
    return amount is not None and not isinstance(amount, Full)


def _sums(operation: Operation[..., Any], rows: tuple[PlannedRow, ...]) -> Iterator[AmountSum]:
    for member in walk.members(operation.request):
        if member.about.rule.unit != "cents" or not isinstance(member.kind, walk.Integer):
            continue
        values = [getattr(row.request, member.name) for row in rows]
        amounts = [value for value in values if type(value) is int]
        full = sum(isinstance(value, Full) for value in values)
        least, most = min(amounts, default=None), max(amounts, default=None)
        yield AmountSum(
            name=member.name, count=len(amounts), full=full, total=sum(amounts), minimum=least, maximum=most
        )


def _over_limits(count: int, sums: tuple[AmountSum, ...], limits: Limits) -> Iterator[RowProblem]:
    if limits.rows is not None and count > limits.rows:
        yield _of_all("rows", f"must be at most {limits.rows:,} per run (limits.rows of this profile), not {count:,}")
    for total in sums:
        if limits.sum is not None and total.total > limits.sum:
            yield _of_all(
                total.name,
                f"must sum to at most {limits.sum:,} cents per run (limits.sum of this profile), not {total.total:,}",
            )
        if limits.sum is not None and total.full:
            yield _of_all(total.name, f"is FULL in {total.full} rows, so the cap on the sum cannot be checked")


def _of_all(column: str, message: str) -> RowProblem:
    return RowProblem(row=None, column=column, rule="cap", message=message)
