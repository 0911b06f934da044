"""Rows to requests, checked together before the first call: all problems, duplicates and sums."""

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import attrs

from workbench.bulk.rows import (
    PRIVATE_KEY,
    REASONS,
    ROW,
    InvalidRows,
    RowProblem,
    cells_of,
    members_by_wire,
    row_problem,
    sources_of,
    take_keys,
)
from workbench.client.guards import cap_problems
from workbench.client.requests import address_problems, pasted_keys
from workbench.errors import InvalidRequest, Problem
from workbench.interface import checks, walk
from workbench.interface.convert import converter
from workbench.interface.operation import Call, Operation, Sync
from workbench.interface.rules import Full
from workbench.interface.strict_json import dumps
from workbench.interface.table import SIGN_WITHDRAWAL
from workbench.tables.bodies import Body, read_cells

IDENTIFYING = ("external_id", "email", "transaction_id", "payment_account_id", "dispute_id")
"""Members that identify what a row acts on: two rows with the same value are duplicates."""


@attrs.frozen(kw_only=True)
class PlannedRow:
    """One row: its number in the input, its request, and a keyed digest of it. With problems it is not sent."""

    number: int
    source: Mapping[str, Any] = attrs.field(repr=False)  # as it was given
    request: Any = attrs.field(repr=False)
    digest: str = ""
    problems: tuple[RowProblem, ...] = ()
    key: str | None = None  # the value of the user's key

    @property
    def reasons(self) -> str | None:
        """Why it is not sent, as text; None where nothing is wrong."""
        return "; ".join(f"{one.column} {one.message}".strip() for one in self.problems) or None


@attrs.frozen(kw_only=True)
class AmountSum:
    """The sum of one amount over the rows of a plan, in cents."""

    name: str
    count: int
    full: int  # rows that say FULL
    total: int
    minimum: int | None
    maximum: int | None

    def __str__(self) -> str:
        text = f"{self.name}: {self.count} × cents, sum {self.total:,}"
        if self.count:
            text += f", from {self.minimum:,} to {self.maximum:,}"
        return text + (f", and {self.full} × FULL" if self.full else "")


@attrs.frozen(kw_only=True)
class Plan:
    """The calls that a bulk run will make, checked and counted before anything is sent."""

    name: str  # of the operation
    rows: tuple[PlannedRow, ...] = attrs.field(repr=False)
    sums: tuple[AmountSum, ...]
    partial: bool = False  # whether the rows are those of a rejects file

    @property
    def phrase(self) -> str:
        """The text that confirms the plan in production: the number of rows, and their sum where there is one."""
        total = sum(one.total for one in self.sums)
        return self._row_count + (f" {total // 100}.{total % 100:02d}" if self.sums else "")

    @property
    def _row_count(self) -> str:
        count = sum(not row.problems for row in self.rows)
        return f"{count} {'row' if count == 1 else 'rows'}"

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
    operation: Operation[..., Any], rows: Any, *, secret: bytes, limits: Any = None, duplicates: bool = False,
    allowing: Collection[str] = (), real: bool = True, implausible: bool = False, key: str | None = None,
    rejects: bool = False,
) -> Plan:  # fmt: skip
    """Check all rows and return the plan.

    Args:
        operation: What is called for each row.
        rows: A DataFrame, the path of a CSV, JSON, NDJSON, XLSX or Parquet file, mappings, or request records.
        secret: Key of the rows' digests.
        limits: The caps of a profile.
        duplicates: Allow duplicate rows.
        allowing: Unusual requests that are accepted, as `Client.allowing` names them.
        real: Whether a real service answers.
        implausible: Allow values that break no rule but look wrong.
        key: Column or attribute whose value names a row in the results.
        rejects: Keep wrong rows in the plan, with their problems, instead of refusing all.

    Raises:
        InvalidRows: Rows are wrong; every problem with its row, column and rule. Nothing was sent.
    """
    sources = sources_of(operation, rows)
    if not sources:
        raise InvalidRequest("there are no rows", of=operation.name)
    members = dict(members_by_wire(operation.request))
    keys = take_keys(operation, sources, key, members)
    partial = all(isinstance(one, Body) and {ROW, REASONS} <= one.keys() for one in sources)
    cells = iter(read_cells([cells_of(one, partial) for one in sources if isinstance(one, Body)], operation))
    planned = []
    for place, source in enumerate(sources, 1):
        body = next(cells) if isinstance(source, Body) else Body({}, place)
        request = walk.build(operation.request, body) if isinstance(source, Body) else source
        found = [row_problem(body, one, request, members, column=one.path) for one in body.problems]
        found += [
            row_problem(body, one, request, members)
            for one in _problems_of(request, limits, allowing, real, implausible)
            if one.path not in body.unread  # that cell has its problem already
        ]
        digest = "" if body.unread else _digest(secret, operation, request)
        planned.append(
            PlannedRow(
                number=body.row, source=source, request=request, digest=digest, problems=tuple(found),
                key=keys[place - 1] if keys else None,
            )
        )  # fmt: skip
    if not duplicates:
        planned = _with_duplicates(planned)
    wrong = [problem for row in planned for problem in row.problems]
    counted = tuple(row for row in planned if row.digest and not (rejects and row.problems))
    sums = tuple(_sums(operation, counted))
    over = [] if limits is None else list(_over_limits(len(counted), sums, limits))
    if over or (wrong and not rejects) or any(one.rule == PRIVATE_KEY for one in wrong):  # those go into no file
        raise InvalidRows([*wrong, *over], of=operation.name)
    return Plan(name=operation.name, rows=tuple(planned), sums=sums, partial=partial)


def _problems_of(
    request: Any, limits: Any, allowing: Collection[str], real: bool, implausible: bool
) -> Iterator[Problem]:
    """Yield all for which a request is refused; a number that was never issued is what a sandbox should get."""
    refused, warned = checks.cautions(request, allowing)
    yield from pasted_keys(request)
    yield from checks.problems(request, partial="partial_address" in allowing)
    yield from () if "unverified_address" in allowing else address_problems(request)
    yield from refused
    yield from cap_problems(limits, request) if limits is not None else ()
    for one in () if implausible else warned:
        if real or not one.path.endswith("nationalId"):
            yield Problem(one.path, "implausible", f"{one.message}; implausible=True sends it")


def _digest(secret: bytes, operation: Operation[..., Any], request: Any) -> str:
    text = dumps({"operation": operation.name, **converter().unstructure(request)})
    return hmac.new(secret, text, hashlib.sha256).hexdigest()


def _with_duplicates(rows: list[PlannedRow]) -> list[PlannedRow]:
    """Return the rows, those that ask for the same thing as another with that problem."""
    seen: dict[Any, list[int]] = defaultdict(list)
    for row in rows:
        if not row.problems:
            seen[row.digest].append(row.number)
            for name in IDENTIFYING:
                value = getattr(row.request, name, None)
                if value is not None and not (name == "transaction_id" and _is_partial(row.request)):
                    seen[(name, value)].append(row.number)
    same = {number: numbers for numbers in seen.values() if len(numbers) > 1 for number in numbers}
    return [
        attrs.evolve(row, problems=(_duplicate(row.number, same[row.number]),)) if row.number in same else row
        for row in rows
    ]


def _duplicate(number: int, numbers: list[int]) -> RowProblem:
    others = [str(one) for one in numbers if one != number]
    shown = ", ".join(others[:5]) + (f" and {len(others) - 5:,} more" if len(others) > 5 else "")
    message = f"asks for the same thing as row {shown}; duplicates=True allows that"
    return RowProblem(row=number, column="", rule="duplicate", message=message)


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
            count=len(amounts),
            full=sum(isinstance(value, Full) for value in values),
            total=sum(amounts),
            minimum=min(amounts, default=None),
            maximum=max(amounts, default=None),
        )


def _over_limits(count: int, sums: tuple[AmountSum, ...], limits: Any) -> Iterator[RowProblem]:
    if limits.rows is not None and count > limits.rows:
        yield _of_all("rows", f"are {count:,}; this profile allows {limits.rows:,} a run (limits.rows)")
    for one in sums:
        if limits.sum is not None and one.total > limits.sum:
            yield _of_all(one.name, f"sums to {one.total:,} cents; this profile allows {limits.sum:,} a run")
        if limits.sum is not None and one.full:
            yield _of_all(one.name, f"is FULL in {one.full} rows, so the cap on the sum cannot be checked")


def _of_all(column: str, message: str) -> RowProblem:
    return RowProblem(row=None, column=column, rule="cap", message=message)
