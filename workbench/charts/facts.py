"""What a chart is drawn from: the frame of what it was given, its notes, and sums that never pass through a float."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from decimal import Context, Decimal, localcontext
from itertools import accumulate
from typing import Any

import pandas as pd

from workbench.charts.words import counted
from workbench.tables.decimals import decimals
from workbench.tables.frames import to_frame
from workbench.tables.rewards import HIDDEN

REASON = "Every earned row reads CARD_SPEND as its reason, adjustments too: no chart can tell them apart by it."
"""Source: Resources, "Rewards activity item"."""
INCOMPLETE = "Not complete: rows are missing."
_EXACT = Context(prec=1000, Emin=-10_000, Emax=10_000)


def table(data: Any, *needed: str, of: Any = None) -> pd.DataFrame:
    """Return the frame of what a chart was given: a frame, records, or a result that has one.

    Raises:
        ValueError: It lacks one of the columns `needed`.
    """
    if not isinstance(data, pd.DataFrame):
        data = data.frame() if callable(getattr(data, "frame", None)) else to_frame(data, of=of)
    assert isinstance(data, pd.DataFrame)
    missing = [name for name in needed if name not in data.columns]
    if missing and len(data.columns):
        raise ValueError(f"the chart needs the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}")
    if missing:
        return data.reindex(columns=list(needed))
    return data


def notes_of(data: pd.DataFrame, *more: str) -> list[str]:
    """Return the caveats of a frame: that it is not complete, its own notes, and those of the chart."""
    notes = list(data.attrs.get("notes", ()))
    first = [INCOMPLETE] if data.attrs.get("complete") is False else []
    return [*first, *more, *notes]


def rewards_notes(data: pd.DataFrame, *more: str) -> list[str]:
    """Return the caveats of rewards: the frame's, and what is known of all of them."""
    return [*notes_of(data, *more), HIDDEN, REASON]


def left_out(count: int, why: str) -> str:
    """Say how many rows are not in the chart; nothing where all are."""
    return f"{counted(count, 'row')} {why} {'is' if count == 1 else 'are'} left out." if count else ""


def sums(keys: Iterable[Hashable], values: Sequence[Decimal | None]) -> dict[Any, Decimal]:
    """Add values up by key, exactly; what is missing adds nothing."""
    made: dict[Any, Decimal] = {}
    with localcontext(_EXACT):
        for key, value in zip(keys, values, strict=True):
            if value is not None:
                made[key] = made[key] + value if key in made else value
    return made


def whole(values: Iterable[Decimal]) -> Decimal:
    """Return the exact sum."""
    with localcontext(_EXACT):
        return sum(values, Decimal(0))


def running(values: Iterable[Decimal]) -> list[Decimal]:
    """Return the exact sum so far at each place."""
    with localcontext(_EXACT):
        return list(accumulate(values))


def ratio(part: Decimal, of: Decimal) -> Decimal:
    """Return a quotient to 38 digits."""
    return Context(prec=38).divide(part, of)


def words(column: pd.Series[Any]) -> list[str | None]:
    """Return a column of text, blanks around a name left out; None where missing."""
    return [None if value is None or value != value else str(value).strip() for value in column.to_list()]


def exact(column: pd.Series[Any]) -> list[Decimal | None]:
    """Return a column's numbers as Decimals."""
    return decimals(column)
