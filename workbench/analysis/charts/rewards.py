"""Charts of reward points: over time, outstanding, and by category or merchant."""

from decimal import Context, Decimal
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
    report,
    report_steps,
    steps_of,
    sums,
    table,
    texts,
    top_of,
    usd,
)
from workbench.analysis.charts.declared import Place, chart
from workbench.analysis.charts.kinds import BELOW, Bar, Picture
from workbench.analysis.reports.facts import mask
from workbench.analysis.tables.rows import decimals, total
from workbench.service.rendering.design import BLUE, GRAY, GREEN, Look

_GROUPS = {"spend_category": "spend category", "merchant_name": "merchant"}
_WHAT = {
    "points": ("Points earned", "points", "points", "points"),
    "points_per_dollar": ("Points earned per dollar", "points per USD", "transaction_amount_cents", "USD"),
}
"""Description, axis unit, and the column and unit of the amounts that rank the groups, for each allowed `value`."""
_TYPES = ("earned", "redeemed")
_ZERO = Decimal(0)


@chart("columns", x="step", y=_TYPES, empty="no rewards activity with a time")
def points_chart(rewards: object, *, freq: By | None = None, tz: str = "UTC", **place: Unpack[Place]) -> Picture:
    """Draw points earned (above the axis) and redeemed (below it) over time.

    Args:
        rewards: A frame of rewards activity, the items, or the result of `rewards.fetch`.
        freq: "day", "week", "month" or "year"; by default the step that fits the time range.
        tz: Time zone of the days and months.
    """
    data = table(rewards, "type", "points", "created_at", of="list_rewards_activity")
    steps = steps_of(data["created_at"], freq, tz)
    kinds = pd.Series(texts(data["type"]))
    points = pd.Series([amount or _ZERO for amount in decimals(data["points"])], dtype=object)
    rows = pd.DataFrame({"step": steps.positions})
    rows["earned"] = points.where(kinds == "earned", _ZERO)
    rows["redeemed"] = points.map(Decimal.copy_negate).where(kinds == "redeemed", _ZERO)
    rows, legend = rows[steps.positions >= 0], {}
    for kind, look in zip(_TYPES, (Look(GREEN), Look(BLUE, hatch="//")), strict=True):
        amount = total(rows[kind])
        legend[f"{kind} {number(amount.copy_abs())}{BELOW if amount < 0 else ''}"] = look
    subject = f"Points earned and redeemed, by {steps.by}{steps.during(data)}"
    notes = (
        left_out((steps.positions < 0).sum(), "without created_at"),
        left_out((~kinds.isin(_TYPES)).sum(), "of another type"),
        left_out(data["points"].isna().sum(), "without points"),
    )
    return Picture(data=data, rows=rows, subject=subject, unit="points", notes=notes, steps=steps, legend=legend)


@chart("lines", x="step", y=("outstanding", "earned", "redeemed"), empty="no rewards activity")
def liability_chart(liability: object, **place: Unpack[Place]) -> Picture:
    """Draw the points outstanding at the end of each month, with the points earned and redeemed in that month.

    Args:
        liability: The result of `history.liability`, or rewards activity.
    """
    data = report(liability, "liability", "month", "earned", "redeemed", "outstanding")
    steps = report_steps(data)
    return Picture(
        data=data,
        rows=data.assign(step=steps.positions),
        subject=f"Points outstanding at month end{steps.during(data)}",
        unit="points",
        steps=steps,
    )


@chart("bars", empty="no earned rows")
def rewards_chart(
    rewards: object,
    *,
    by: Literal["spend_category", "merchant_name"] = "spend_category",
    value: Literal["points", "points_per_dollar"] = "points",
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
    what, axis, ranked, unit = _WHAT[value]
    has_rate = ranked != "points"
    data = table(rewards, "type", by, "points", "transaction_amount_cents", of="list_rewards_activity")
    earned = data[mask(data["type"] == "earned")]
    rows = earned[earned["points"].notna() & earned[ranked].notna()]
    groups = texts(rows[by])
    points, ranks = (sums(groups, decimals(rows[name])) for name in ("points", ranked))
    is_whole = all(amount == amount.to_integral_value() for amount in points.values())
    text = dollars if has_rate else partial(number, places=0 if is_whole else 2)
    shown, rest = top_of(ranks, top)
    limit = f", the top {len(shown)} of {len(ranks):,}" if rest else ""
    bars = []
    for name in shown:
        length, written = points[name], text(ranks[name])
        if has_rate:
            if ranks[name] <= 0:
                continue
            length = Context(prec=38).divide(length, usd(ranks[name]))
            written = f"{number(length, 3)} ({written} USD)"
        look = Look(GRAY, hatch=".") if name is None else Look(GREEN)
        bars.append(Bar("(none given)" if name is None else label(name), written, [length], [look]))
    bars.sort(key=lambda bar: -bar.lengths[0])
    notes = [
        f"{counted(len(earned), 'earned row')}; total {text(total(ranks.values()))} {unit}.",
        not_drawn(len(rest), f"{text(total(ranks[name] for name in rest))} {unit}"),
        left_out(len(data) - len(earned), "not earned"),
        left_out(len(earned) - len(rows), "without an amount" if has_rate else "without points"),
    ]
    return Picture(data=data, rows=bars, subject=f"{what} by {_GROUPS[by]}{limit}", unit=axis, notes=notes)
