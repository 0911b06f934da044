"""Charts of reward points: over time, outstanding, and by category or merchant."""

from decimal import Decimal
from functools import partial
from typing import Literal, Unpack

import pandas as pd

from workbench.analysis.charts.data import (
    By,
    counted,
    dollars,
    label,
    left_out,
    not_drawn,
    number,
    ratio,
    report,
    report_steps,
    steps_of,
    sums,
    table,
    texts,
    top_of,
    total,
    usd,
)
from workbench.analysis.charts.declared import Place, chart
from workbench.analysis.charts.kinds import Picture, bar_rows
from workbench.analysis.tables.rows import decimals
from workbench.base.errors import UsageError, not_allowed
from workbench.service.interface.vocabulary import RewardType
from workbench.service.rendering.design import GRAY, GREEN, Look

_TYPES = tuple(str(kind) for kind in RewardType)
_GROUPS = {"spend_category": "spend category", "merchant_name": "merchant"}
Value = Literal["points", "points_per_dollar"]
_BOTH = ("points", "transaction_amount_cents")
_WHAT: dict[Value, tuple[str, str]] = {
    "points": ("Points earned", "points"),
    "points_per_dollar": ("Points earned per dollar", "points per USD"),
}


@chart("columns", x="step", y=_TYPES, total=True, empty="no rewards activity with a time")
def points_chart(
    rewards: object,
    *,
    freq: By | None = None,
    on: str = "created_at",
    tz: str = "UTC",
    **place: Unpack[Place],
) -> Picture:
    """Draw points earned (above the axis) and redeemed (below it) over time.

    Args:
        rewards: A frame of rewards activity, the items, or the result of `rewards.fetch`.
        freq: "day", "week", "month" or "year"; by default the unit that fits the period.
        on: The column of times.
        tz: Time zone of the days and months.
    """
    data = table(rewards, "type", "points", on, of="list_rewards_activity")
    steps = steps_of(data[on], freq, tz)
    types = texts(data["type"])
    totals = sums(zip(types, steps.places.tolist(), strict=True), decimals(data["points"]))
    places = range(len(steps.starts))
    signs = zip(_TYPES, (1, -1), strict=True)
    values = {kind: [sign * totals.get((kind, place), Decimal(0)) for place in places] for kind, sign in signs}
    subject = f"Points earned and redeemed, by {steps.by}{steps.during(data)}"
    notes = (
        left_out(int((steps.places < 0).sum()), f"without {on}"),
        left_out(sum(kind not in _TYPES for kind in types), "of another type"),
        left_out(int(data["points"].isna().sum()), "without points"),
    )
    rows = pd.DataFrame({"step": [*places], **values}, dtype=object)
    return Picture(data=data, rows=rows, subject=subject, unit="points", notes=notes, steps=steps)


@chart("lines", x="step", y=("outstanding", "earned", "redeemed"), empty="no rewards activity")
def liability_chart(liability: object, **place: Unpack[Place]) -> Picture:
    """Draw the points outstanding at the end of each month, with the points earned and redeemed in that month.

    Args:
        liability: The result of `history.liability`, or rewards.
    """
    data = report(liability, "points_liability", "liability", "month", "earned", "redeemed", "outstanding")
    steps = report_steps(data)
    subject = f"Points outstanding at month end{steps.during(data)}"
    return Picture(data=data, rows=data.assign(step=steps.places), subject=subject, unit="points", steps=steps)


@chart("bars", x="value", y="name", empty="no earned rows")
def rewards_chart(
    rewards: object,
    *,
    by: Literal["spend_category", "merchant_name"] = "spend_category",
    value: Value = "points",
    top: int = 12,
    **place: Unpack[Place],
) -> Picture:
    """Draw points earned, or points per dollar, by spend category or merchant.

    Args:
        rewards: A frame of rewards activity, the items, or the result of `rewards.fetch`.
        by: The column by which rows are grouped.
        value: "points", or "points_per_dollar": the sum of points divided by the sum of dollars, over the rows that
            have both.
        top: Maximum number of groups to draw, largest first; a note gives the sum of the others.
    """
    if by not in _GROUPS or value not in _WHAT:
        wrong = not_allowed("by", by, _GROUPS) if by not in _GROUPS else not_allowed("value", value, _WHAT)
        raise UsageError([wrong], of="rewards_chart")
    data = table(rewards, "type", by, "points", "transaction_amount_cents", of="list_rewards_activity")
    rows = data[(data["type"] == "earned").to_numpy(dtype=bool, na_value=False)]
    earned = len(rows)
    has_rate = value == "points_per_dollar"
    rows = rows[rows[[*_BOTH] if has_rate else ["points"]].notna().all(axis="columns")]
    names = texts(rows[by])
    points, spent = sums(names, decimals(rows["points"])), sums(names, decimals(rows["transaction_amount_cents"]))
    ranks, unit = (spent, "USD") if has_rate else (points, "points")
    is_whole = all(amount == amount.to_integral_value() for amount in points.values())
    text = dollars if has_rate else partial(number, places=0 if is_whole else 2)
    shown, rest = top_of({name: amount for name, amount in ranks.items() if name is not None}, top)
    lengths, texts_of = points, {name: text(amount) for name, amount in ranks.items()}
    if has_rate:
        lengths = {name: ratio(points[name], usd(spent[name])) for name in shown if spent[name] > 0}
        texts_of = {name: f"{number(rate, 3)} ({dollars(spent[name])} USD)" for name, rate in lengths.items()}
        shown = sorted(lengths, key=lambda name: -lengths[name])
    elif None in ranks:
        shown.append(None)
    bars = bar_rows(
        ["(none given)" if name is None else label(name) for name in shown],
        value=[lengths[name] for name in shown],
        text=[texts_of[name] for name in shown],
        look=[Look(GRAY if name is None else GREEN, hatch="." if name is None else "") for name in shown],
    )
    limit = f", the top {len(shown) - (None in shown)} of {len(shown) - (None in shown) + len(rest):,}" if rest else ""
    others = total(ranks[name] for name in rest)
    notes = [
        f"{counted(earned, 'earned row')}; total {text(total(ranks.values()))} {unit}.",
        not_drawn(len(rest), f"{text(others)} {unit}"),
        left_out(len(data) - earned, "not earned"),
        left_out(earned - len(rows), "without an amount" if has_rate else "without points"),
    ]
    what, axis = _WHAT[value]
    return Picture(data=data, rows=bars, subject=f"{what} by {_GROUPS[by]}{limit}", unit=axis, notes=notes)
