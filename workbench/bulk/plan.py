"""Rows to requests, checked as a whole before the first call: all problems, duplicates, sums and extremes."""

import hashlib
import hmac
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from workbench.client.guards import cap_problems
from workbench.client.pasted import pasted_keys
from workbench.errors import InvalidRequest, Problem
from workbench.interface import checks, walk
from workbench.interface.operation import Call, Operation, Sync
from workbench.interface.rules import Full
from workbench.interface.strict_json import dumps
from workbench.interface.table import SIGN_WITHDRAWAL
from workbench.tables.bodies import Body, nested, raw_bodies, read_cells

SHOWN = 50  # how many problems are told of


@attrs.frozen(kw_only=True)
class Planned:
    """One row that is to be sent: its number in the input, its request, and a keyed digest of it."""

    number: int
    request: Any = attrs.field(repr=False)
    digest: str


@attrs.frozen(kw_only=True)
class Sum:
    """What the amounts of a plan come to, in the unit of the field."""

    name: str
    unit: str
    count: int
    full: int  # how many say FULL
    total: int
    least: int | None
    most: int | None

    def __str__(self) -> str:
        words = f"{self.name}: {self.count} × {self.unit}, sum {self.total:,}"
        if self.count:
            words += f", from {self.least:,} to {self.most:,}"
        return words + (f", and {self.full} × FULL" if self.full else "")


@attrs.frozen(kw_only=True)
class Plan:
    """What a bulk run is going to do, before anything is sent."""

    name: str  # of the operation
    rows: tuple[Planned, ...] = attrs.field(repr=False)
    sums: tuple[Sum, ...]
    duplicates: tuple[tuple[int, ...], ...]  # numbers of rows that ask for the same thing

    @property
    def phrase(self) -> str:
        """What a person types to confirm the plan in production: the count, and the sum where there is one."""
        total = sum(one.total for one in self.sums if one.unit == "cents")
        money = f" {total // 100}.{total % 100:02d}" if self.sums else ""
        return f"{len(self.rows)} {_rows(len(self.rows))}{money}"

    def __str__(self) -> str:
        lines = [f"{self.name}: {len(self.rows):,} {_rows(len(self.rows))}", *map(str, self.sums)]
        return "\n".join(lines)


def _rows(many: int) -> str:
    return "row" if many == 1 else "rows"


def operation_of(call: Any) -> Operation[..., Any]:
    """Return the operation of a bound method of a client.

    Raises:
        InvalidRequest: It is none, or the one that authorizes moving funds.
    """
    if not isinstance(call, Call):
        raise InvalidRequest("a bulk run takes an operation of a client, as api.create_user_application", of="apply")
    only_sync(call.client)
    operation: Operation[..., Any] = call.operation
    if operation.name == SIGN_WITHDRAWAL.name:
        raise InvalidRequest(
            "sign_withdrawal authorizes moving funds; it is called one at a time, with its plan looked at", of="apply"
        )
    if not operation.effect:
        raise InvalidRequest(f"{operation.name} changes nothing; a bulk run is for writes", of="apply")
    return operation


def only_sync(api: Any) -> None:
    """Refuse a client whose calls are awaited: the workers of a run are threads."""
    if not isinstance(api, Sync):
        raise InvalidRequest(f"a bulk run takes a Client or a Session, not a {type(api).__name__}", of="apply")


def plan_of(
    operation: Operation[..., Any], rows: Any, *, secret: bytes, limits: Any = None, duplicates: bool = False
) -> Plan:
    """Check rows as a whole and give the plan.

    Args:
        rows: A DataFrame, the path of a CSV, JSON, NDJSON, XLSX or Parquet file, mappings, or request records.
        secret: Keys the digests of the rows.
        limits: The caps of a profile.
        duplicates: Whether rows that ask for the same thing are wanted.

    Raises:
        InvalidRequest: Anything is wrong in any row; every problem with its row, column and rule. Nothing was sent.
    """
    bodies, problems = _bodies(operation, rows)
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
            *checks.cautions(request)[0],
            *(cap_problems(limits, request) if limits is not None else ()),
        )
        if one.path not in unread.get(number, ())  # what is wrong with that cell has been said
    ]
    planned = tuple(
        Planned(number=number, request=one, digest=_digest(secret, operation, one))
        for number, one in requests
        if number not in unread
    )
    twins = tuple(_twins(planned))
    if twins and not duplicates:
        problems += [
            Problem(
                f"rows {', '.join(map(str, twin))}",
                "duplicate",
                "ask for the same thing; duplicates=True says that this is meant",
            )
            for twin in twins
        ]
    sums = tuple(_sums(operation, planned))
    problems += _capped(planned, sums, limits)
    if problems:
        left = len(problems) - SHOWN
        shown = problems[:SHOWN] + ([Problem("", "more", f"and {left:,} more problems")] if left > 0 else [])
        raise InvalidRequest(shown, of=operation.name)
    return Plan(name=operation.name, rows=planned, sums=sums, duplicates=twins)


def _bodies(operation: Operation[..., Any], rows: Any) -> tuple[list[Any], list[Problem]]:
    """Return mappings of arguments, or request records, and the cells that do not fit."""
    if isinstance(rows, str | os.PathLike):
        return read_cells(raw_bodies(Path(rows)), operation)
    if hasattr(rows, "to_dict") and not isinstance(rows, Mapping):
        return read_cells([nested(_filled(row)) for row in rows.to_dict("records")], operation)
    if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
        raise InvalidRequest(
            "rows are a DataFrame, the path of a file, mappings or request records, not "
            f"{'nothing' if rows is None else f'one {type(rows).__name__}'}",
            of=operation.name,
        )
    bodies = list(rows)
    if bodies and all(isinstance(one, Mapping) for one in bodies):
        return read_cells([nested(_filled(row)) for row in bodies], operation)
    return bodies, []


def _requests(operation: Operation[..., Any], bodies: list[Any]) -> Iterator[tuple[int, Any]]:
    for place, one in enumerate(bodies, 1):
        if isinstance(one, operation.request):
            yield place, one
        elif isinstance(one, Mapping):
            yield getattr(one, "row", place), walk.build(operation.request, one)
        else:
            raise InvalidRequest(
                f"row {place} is of type {type(one).__name__}; rows are mappings or {operation.request.__name__} records",
                of=operation.name,
            )


def _filled(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row without its empty cells: an empty cell was not given, and never means something."""
    return {str(name): value for name, value in row.items() if not _empty(value)}


def _empty(value: Any) -> bool:
    if value is None or (isinstance(value, str) and value == ""):
        return True
    return type(value).__name__ in {"float", "float64", "NAType", "NaTType"} and bool(_differs(value))


def _differs(value: Any) -> bool:
    return type(value).__name__ in {"NAType", "NaTType"} or value != value


def _digest(secret: bytes, operation: Operation[..., Any], request: Any) -> str:
    from workbench.interface.convert import converter

    told = dumps({"operation": operation.name, **converter().write(request)})
    return hmac.new(secret, told, hashlib.sha256).hexdigest()


SAME = ("external_id", "email", "transaction_id", "payment_account_id", "dispute_id")
"""Members that name one thing: two rows with the same value ask for it twice."""


def _twins(rows: tuple[Planned, ...]) -> Iterator[tuple[int, ...]]:
    seen: dict[Any, list[int]] = defaultdict(list)
    for one in rows:
        seen[one.digest].append(one.number)
        for name in SAME:
            value = getattr(one.request, name, None)
            if value is not None and not (name == "transaction_id" and _in_parts(one.request)):
                seen[(name, value)].append(one.number)
    yield from dict.fromkeys(tuple(numbers) for numbers in seen.values() if len(numbers) > 1)


def _in_parts(request: Any) -> bool:
    """Several partial refunds of one transaction are not the same thing."""
    amount = getattr(request, "amount", getattr(request, "new_amount", None))
    return amount is not None and not isinstance(amount, Full)


def _sums(operation: Operation[..., Any], rows: tuple[Planned, ...]) -> Iterator[Sum]:
    for one in walk.members(operation.request):
        if one.about.rule.unit != "cents" or not isinstance(one.kind, walk.Integer):
            continue
        values = [getattr(row.request, one.name) for row in rows]
        whole = [value for value in values if type(value) is int]
        yield Sum(
            name=one.name,
            unit="cents",
            count=len(whole),
            full=sum(isinstance(value, Full) for value in values),
            total=sum(whole),
            least=min(whole, default=None),
            most=max(whole, default=None),
        )


def _capped(rows: tuple[Planned, ...], sums: tuple[Sum, ...], limits: Any) -> Iterator[Problem]:
    if limits is None:
        return
    if limits.rows is not None and len(rows) > limits.rows:
        yield Problem("rows", "cap", f"are {len(rows):,}; this profile allows {limits.rows:,} a run (limits.rows)")
    for one in sums:
        if limits.sum is not None and one.total > limits.sum:
            yield Problem(one.name, "cap", f"sums to {one.total:,} cents; this profile allows {limits.sum:,} a run")
        if limits.sum is not None and one.full:
            yield Problem(one.name, "cap", f"is FULL in {one.full} rows, so the sum a run cannot be held to its cap")
