"""Rows to requests, checked together before the first call: all problems, duplicates and sums."""

import hashlib
import hmac
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from workbench.client.guards import cap_problems
from workbench.client.requests import address_problems, pasted_keys
from workbench.errors import InvalidRequest, Problem
from workbench.interface import checks, walk
from workbench.interface.convert import converter
from workbench.interface.operation import Call, Operation, Sync
from workbench.interface.rules import Full
from workbench.interface.strict_json import dumps
from workbench.interface.table import SIGN_WITHDRAWAL
from workbench.interface.text import is_empty
from workbench.tables.bodies import Body, nested, raw_bodies, read_cells

MAX_PROBLEMS_SHOWN = 50
IDENTIFYING = ("external_id", "email", "transaction_id", "payment_account_id", "dispute_id")
"""Members that identify what a row acts on: two rows with the same value are duplicates."""


@attrs.frozen(kw_only=True)
class PlannedRow:
    """One row to send: its number in the input, its request, and a keyed digest of it."""

    number: int
    request: Any = attrs.field(repr=False)
    digest: str


@attrs.frozen(kw_only=True)
class AmountSum:
    """The sum of one amount over the rows of a plan, in the unit of the field."""

    name: str
    unit: str
    count: int
    full: int  # rows that say FULL
    total: int
    minimum: int | None
    maximum: int | None

    def __str__(self) -> str:
        text = f"{self.name}: {self.count} × {self.unit}, sum {self.total:,}"
        if self.count:
            text += f", from {self.minimum:,} to {self.maximum:,}"
        return text + (f", and {self.full} × FULL" if self.full else "")


@attrs.frozen(kw_only=True)
class Plan:
    """The calls that a bulk run will make, checked and counted before anything is sent."""

    name: str  # of the operation
    rows: tuple[PlannedRow, ...] = attrs.field(repr=False)
    sums: tuple[AmountSum, ...]

    @property
    def phrase(self) -> str:
        """The text that confirms the plan in production: the number of rows, and their sum where there is one."""
        total = sum(one.total for one in self.sums if one.unit == "cents")
        return self._row_count + (f" {total // 100}.{total % 100:02d}" if self.sums else "")

    @property
    def _row_count(self) -> str:
        return f"{len(self.rows)} {'row' if len(self.rows) == 1 else 'rows'}"

    def __str__(self) -> str:
        return "\n".join([f"{self.name}: {self._row_count}", *map(str, self.sums)])


def operation_of(call: Any) -> Operation[..., Any]:
    """Return the operation of a bound method of a client.

    Raises:
        InvalidRequest: It is not one, or not one that a bulk run may send.
    """
    if not isinstance(call, Call):
        message = "a bulk run takes an operation of a client, such as api.create_user_application"
        raise InvalidRequest(message, of="bulk.run")
    check_is_sync(call.client)
    operation: Operation[..., Any] = call.operation
    if operation.name == SIGN_WITHDRAWAL.name:
        message = "sign_withdrawal authorizes moving funds; call it one at a time, after looking at its plan"
        raise InvalidRequest(message, of="bulk.run")
    if not operation.effect:
        raise InvalidRequest(f"{operation.name} changes nothing; a bulk run is for writes", of="bulk.run")
    return operation


def check_is_sync(api: Any) -> None:
    """Raise InvalidRequest for an asynchronous client: a run calls from threads."""
    if not isinstance(api, Sync):
        raise InvalidRequest(f"a bulk run takes a Client or a Session, not a {type(api).__name__}", of="bulk.run")


def plan_of(
    operation: Operation[..., Any], rows: Any, *, secret: bytes, limits: Any = None, duplicates: bool = False
) -> Plan:
    """Check all rows and return the plan.

    Args:
        operation: What is called for each row.
        rows: A DataFrame, the path of a CSV, JSON, NDJSON, XLSX or Parquet file, mappings, or request records.
        secret: Key of the rows' digests.
        limits: The caps of a profile.
        duplicates: Allow duplicate rows.

    Raises:
        InvalidRequest: Rows are wrong; every problem with its row, column and rule. Nothing was sent.
    """
    bodies: list[Any] = raw_bodies(Path(rows)) if isinstance(rows, str | os.PathLike) else rows_of(rows, operation.name)
    problems: list[Problem] = []
    if all(isinstance(one, Mapping) for one in bodies):
        bodies, problems = read_cells([nested(row) if type(row) is dict else row for row in bodies], operation)
    requests = list(_requests(operation, bodies))
    if not requests:
        raise InvalidRequest("there are no rows", of=operation.name)
    unread = {one.row: one.unread for one in bodies if isinstance(one, Body) and one.unread}
    problems += [
        Problem(f"row {number}, {one.path}" if one.path else f"row {number}", one.rule, one.message)
        for number, request in requests
        for one in (
            *pasted_keys(request),
            *checks.problems(request),
            *address_problems(request),
            *checks.cautions(request)[0],
            *(cap_problems(limits, request) if limits is not None else ()),
        )
        if one.path not in unread.get(number, ())  # that cell has its problem already
    ]
    planned = tuple(
        PlannedRow(number=number, request=request, digest=_digest(secret, operation, request))
        for number, request in requests
        if number not in unread
    )
    message = "ask for the same thing; duplicates=True allows that"
    for numbers in () if duplicates else _duplicates(planned):
        problems.append(Problem(f"rows {', '.join(map(str, numbers))}", "duplicate", message))
    sums = tuple(_sums(operation, planned))
    if limits is not None:
        problems += _over_limits(len(planned), sums, limits)
    if problems:
        more = len(problems) - MAX_PROBLEMS_SHOWN
        last = [Problem("", "more", f"and {more:,} more problems")] if more > 0 else []
        raise InvalidRequest(problems[:MAX_PROBLEMS_SHOWN] + last, of=operation.name)
    return Plan(name=operation.name, rows=planned, sums=sums)


def rows_of(rows: Any, of: str) -> list[Any]:
    """Return a DataFrame or an iterable as mappings without their empty cells, or as the records they are.

    Raises:
        InvalidRequest: It is something else.
    """
    if hasattr(rows, "to_dict") and not isinstance(rows, Mapping):
        rows = rows.to_dict("records")
    elif isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable):
        found = "None" if rows is None else f"one {type(rows).__name__}"
        raise InvalidRequest(
            f"rows must be a DataFrame, the path of a file, mappings or request records, not {found}", of=of
        )
    return [
        {str(name): value for name, value in row.items() if not is_empty(value)} if isinstance(row, Mapping) else row
        for row in rows
    ]


def _requests(operation: Operation[..., Any], bodies: list[Any]) -> Iterator[tuple[int, Any]]:
    for place, one in enumerate(bodies, 1):
        if isinstance(one, operation.request):
            yield place, one
        elif isinstance(one, Mapping):
            yield one.row if isinstance(one, Body) else place, walk.build(operation.request, one)
        else:
            raise InvalidRequest(
                f"row {place} is of type {type(one).__name__}; rows are mappings or {operation.request.__name__} records",
                of=operation.name,
            )


def _digest(secret: bytes, operation: Operation[..., Any], request: Any) -> str:
    text = dumps({"operation": operation.name, **converter().unstructure(request)})
    return hmac.new(secret, text, hashlib.sha256).hexdigest()


def _duplicates(rows: tuple[PlannedRow, ...]) -> Iterator[tuple[int, ...]]:
    seen: dict[Any, list[int]] = defaultdict(list)
    for row in rows:
        seen[row.digest].append(row.number)
        for name in IDENTIFYING:
            value = getattr(row.request, name, None)
            if value is not None and not (name == "transaction_id" and _is_partial(row.request)):
                seen[(name, value)].append(row.number)
    yield from dict.fromkeys(tuple(numbers) for numbers in seen.values() if len(numbers) > 1)


def _is_partial(request: Any) -> bool:
    """Whether a refund or reversal is a partial one: several of one transaction are no duplicates."""
    amount = getattr(request, "amount", getattr(request, "new_amount", None))
    return amount is not None and not isinstance(amount, Full)


def _sums(operation: Operation[..., Any], rows: tuple[PlannedRow, ...]) -> Iterator[AmountSum]:
    for one in walk.members(operation.request):
        if one.about.rule.unit != "cents" or not isinstance(one.kind, walk.Integer):
            continue
        values = [getattr(row.request, one.name) for row in rows]
        amounts = [value for value in values if type(value) is int]
        yield AmountSum(
            name=one.name,
            unit="cents",
            count=len(amounts),
            full=sum(isinstance(value, Full) for value in values),
            total=sum(amounts),
            minimum=min(amounts, default=None),
            maximum=max(amounts, default=None),
        )


def _over_limits(count: int, sums: tuple[AmountSum, ...], limits: Any) -> Iterator[Problem]:
    if limits.rows is not None and count > limits.rows:
        yield Problem("rows", "cap", f"are {count:,}; this profile allows {limits.rows:,} a run (limits.rows)")
    for one in sums:
        if limits.sum is not None and one.total > limits.sum:
            yield Problem(one.name, "cap", f"sums to {one.total:,} cents; this profile allows {limits.sum:,} a run")
        if limits.sum is not None and one.full:
            yield Problem(one.name, "cap", f"is FULL in {one.full} rows, so the cap on the sum cannot be checked")
