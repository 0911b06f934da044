"""Parsed pages to the rows of each user: those that paging kept, of the type and the time asked for."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from workbench.tables.rewards_pages import Part
from workbench.tables.rows import Notes, Table


@attrs.define(kw_only=True)
class ReadFilter:
    """What of each user is wanted."""

    type: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def asked(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        times = {"since": self.since, "until": self.until}
        return {"type": self.type, **{name: time.isoformat() if time else None for name, time in times.items()}}


def split(
    parts: Sequence[Part], owners: Sequence[int], kept: Sequence[tuple[int, ...] | None], question: ReadFilter,
    other_type: dict[int, int],
) -> dict[int, list[Part]]:  # fmt: skip
    """Return each user's rows of some parsed pages: those kept by paging, of the type and the time asked for.

    Args:
        owners: The user of each page.
        kept: The rows of each page to keep; None for all.
        other_type: Counts the rows left out for their type.
    """
    made: dict[int, list[Part]] = {}
    page = 0
    for part in parts:
        aside = part.table.aside
        start = 0
        mask = _wanted(part.table.columns, question)
        types = part.table.columns["type"]
        i = 0
        while i < len(part.rows):
            owner, first, rows = owners[page], i, []
            begin = start
            while i < len(part.rows) and owners[page] == owner:
                keep = kept[page]
                rows.append(range(part.rows[i]) if keep is None else keep)
                start, i, page = start + part.rows[i], i + 1, page + 1
            columns = {name: values.slice(begin, start - begin) for name, values in part.table.columns.items()}
            whole = sum(map(len, rows)) == start - begin
            take = None
            if not whole:
                offsets = _offsets(part.rows[first:i])
                take = pa.array([at + j for at, of in zip(offsets, rows, strict=True) for j in of], type=pa.int64())
                columns = {name: values.take(take) for name, values in columns.items()}
            if mask is not None:
                chosen = mask.slice(begin, start - begin)
                chosen = chosen if take is None else chosen.take(take)
                if question.type is not None:
                    of_type = types.slice(begin, start - begin)
                    of_type = of_type if take is None else of_type.take(take)
                    other = pc.sum(pc.not_equal(of_type, question.type)).as_py() or 0
                    other_type[owner] = other_type.get(owner, 0) + other
                columns = {name: values.filter(chosen) for name, values in columns.items()}
            length = len(columns["type"])
            sub = Part(Table(columns, aside), (length,), part.fast, pages=i - first)
            made.setdefault(owner, []).append(sub)
            aside = Notes()  # what is said of the whole part is said once
    return made


def _offsets(counts: Sequence[int]) -> list[int]:
    at, found = 0, []
    for count in counts:
        found.append(at)
        at += count
    return found


def _wanted(columns: dict[str, Any], question: ReadFilter) -> Any:
    """Return which rows are of the type and the time asked for; None for all of them."""
    tests = []
    if question.type is not None:
        tests.append(pc.fill_null(pc.equal(columns["type"], question.type), True))
    if question.since is not None or question.until is not None:
        time = pc.coalesce(columns["created_at"], columns["posted_at"], columns["minted_at"])
        for bound, test in ((question.since, pc.greater_equal), (question.until, pc.less)):
            if bound is not None:
                tests.append(pc.fill_null(test(time, pa.scalar(bound, time.type)), True))
    mask = None
    for test in tests:
        mask = test if mask is None else pc.and_(mask, test)
    return mask


def with_user(part: Part, user: str) -> Any:
    """Return a part as an Arrow table, its user in the first column."""
    columns = part.table.columns
    length = len(columns["type"])
    return pa.table({"user_id": pa.array([user] * length, pa.large_string()), **columns})
