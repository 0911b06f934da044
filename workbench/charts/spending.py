"""Where points come from: spend categories, merchants, and how many points a dollar earns."""

from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes

from workbench.charts.bars import Bar, lying
from workbench.charts.canvas import Sheet, Size, sheet
from workbench.charts.facts import exact, left_out, ratio, rewards_notes, sums, table, whole, words
from workbench.charts.points import REWARDS
from workbench.charts.words import counted, dollars, label, number, others, usd
from workbench.rendering.palette import GREEN, GREY, TEAL, look

Value = Literal["points", "spend"]
_COLUMNS: dict[Value, str] = {"points": "points", "spend": "transaction_amount_cents"}


def categories_chart(
    rewards: Any, *, value: Value = "points", top: int = 12, ax: Axes | None = None, size: Size = "notebook"
) -> Axes:  # fmt: skip
    """Draw points earned, or dollars spent, by spend category.

    Args:
        rewards: A frame of rewards activity, the items themselves, or a result of `wb.rewards.read`.
        value: "points", or "spend" for the transactions' amounts.
        top: How many are drawn; the others are a footnote.
        ax: An Axes to draw on; where left out, one in a figure of its own, of `size`.
    """
    return _ranked(rewards, "spend_category", ("spend category", "spend categories"), value, top, ax, size)


def merchants_chart(
    rewards: Any, *, value: Value = "points", top: int = 10, ax: Axes | None = None, size: Size = "notebook"
) -> Axes:  # fmt: skip
    """Draw the merchants where most points were earned, or most dollars spent.

    Args:
        rewards: A frame of rewards activity, the items themselves, or a result of `wb.rewards.read`.
        value: "points", or "spend" for the transactions' amounts.
        top: How many are drawn; the others are a footnote.
        ax: An Axes to draw on; where left out, one in a figure of its own, of `size`.
    """
    return _ranked(rewards, "merchant_name", ("merchant", "merchants"), value, top, ax, size)


def _ranked(
    rewards: Any, column: str, noun: tuple[str, str], value: Value, top: int, ax: Axes | None, size: Size
) -> Axes:  # fmt: skip
    if value not in _COLUMNS:
        raise ValueError(f"value is one of {', '.join(_COLUMNS)}")
    data, earned = _earned(rewards, column, _COLUMNS[value])
    groups = sums(words(earned[column]), exact(earned[_COLUMNS[value]]))
    ranked = sorted(groups.items(), key=lambda one: (one[1].copy_negate(), one[0] is None, one[0] or ""))
    named = [one for one in ranked if one[0] is not None]
    shown, rest = named[: max(top, 1)], named[max(top, 1) :]
    broken = value == "points" and any(amount != amount.to_integral_value() for amount in groups.values())
    say = partial(number, places=2 if broken else 0) if value == "points" else dollars
    bars = [
        _bar(label(name), amount, say(amount), value, GREEN if value == "points" else TEAL) for name, amount in shown
    ]
    if None in groups:
        bars.append(_bar(f"no {noun[0]} given", groups[None], say(groups[None]), value, GREY, ".."))
    what, unit = ("Points earned", "points") if value == "points" else ("Spend that earned points", "USD")
    with sheet(ax, size, rows=len(bars)) as on:
        on.title(
            f"{what} by {noun[0]}" + (f", the top {len(shown)} of {len(named):,}" if rest else ""),
            beside=[bar.name for bar in bars],
        )  # fmt: skip
        if bars:
            lying(on, bars, unit)
        else:
            on.nothing("Nothing to show: no earned rows.")
        on.notes(
            rewards_notes(
                data,
                f"All {counted(len(earned), 'earned row')}; in all {say(whole(groups.values()))} {unit}.",
                others(len(rest), f"{say(whole(amount for _, amount in rest))} {unit}") if rest else "",
                left_out(len(data) - len(earned), "not earned"),
            )
        )
    return on.axes


def _bar(name: str, amount: Decimal, says: str, value: Value, color: str, hatch: str = "") -> Bar:
    return Bar(name=name, value=amount if value == "points" else usd(amount), says=says, color=color, hatch=hatch)


def _earned(rewards: Any, *needed: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    data = table(rewards, "type", *needed, of=REWARDS)
    return data, data[(data["type"] == "earned").to_numpy(dtype=bool, na_value=False)]


def points_per_dollar_chart(
    rewards: Any, *, by: Literal["spend_category", "merchant_name"] = "spend_category", top: int = 12,
    ax: Axes | None = None, size: Size = "notebook",
) -> Axes:  # fmt: skip
    """Draw how many points a dollar earns, by spend category or merchant: the sum of points by the sum of dollars.

    Args:
        rewards: A frame of rewards activity, the items themselves, or a result of `wb.rewards.read`.
        by: What the rows are put together by.
        top: How many are drawn, those with most dollars.
        ax: An Axes to draw on; where left out, one in a figure of its own, of `size`.
    """
    data, earned = _earned(rewards, by, "points", "transaction_amount_cents")
    points, cents = exact(earned["points"]), exact(earned["transaction_amount_cents"])
    both = [a is not None and b is not None and b != 0 for a, b in zip(points, cents, strict=True)]
    names = words(earned[by])
    spent = sums(names, [b if ok else None for b, ok in zip(cents, both, strict=True)])
    got = sums(names, [a if ok else None for a, ok in zip(points, both, strict=True)])
    rates = {name: ratio(got[name], usd(spent[name])) for name in spent if spent[name] > 0}
    shown = sorted(rates, key=lambda name: (spent[name].copy_negate(), name or ""))[: max(top, 1)]
    shown.sort(key=lambda name: (rates[name].copy_negate(), name or ""))
    overall = whole(spent[name] for name in rates)
    mean = ratio(whole(got[name] for name in rates), usd(overall)) if overall else None
    bars = [
        Bar(name=f"{label(n, 20)} · {dollars(spent[n])} USD", value=rates[n], says=number(rates[n], 3), color=GREEN)
        for n in shown
    ]
    noun = "spend category" if by == "spend_category" else "merchant"
    with sheet(ax, size, rows=len(bars)) as on:
        on.title(f"Points a dollar earns, by {noun}", beside=[bar.name for bar in bars], keyed=bool(bars))
        if bars and mean is not None:
            scale = lying(on, bars, "points per USD")
            _overall(
                on, scale(mean), f"all together: {number(mean, 3)} points per USD", [scale(bar.value) for bar in bars]
            )
        else:
            on.nothing("Nothing to show: no earned row with points and an amount.")
        on.notes(rewards_notes(data, *_missing(data, earned, both, rates, shown, noun)))
    return on.axes


def _overall(on: Sheet, x: float, text: str, lengths: Sequence[float]) -> None:
    """Draw the rate of all together as a line down the bars, broken where the number behind a bar stands."""
    color = look("redeemed").color
    low, high = on.axes.get_xlim()
    number_wide = 6.5 * 0.6 * on.small / 72 / (on.width * 0.62) * (high - low)
    for place, length in enumerate(lengths):
        if not length <= x <= length + number_wide:
            on.axes.plot(
                [x, x], [place - 0.5, place + 0.5], color=color, linestyle="--", linewidth=on.base / 9, alpha=0.7, zorder=0.9
            )  # fmt: skip
    on.axes.plot(
        [x], [0], color=color, marker="^", markersize=on.base * 0.8, linestyle="none", label=text, clip_on=False,
        transform=on.axes.get_xaxis_transform(),
    )  # fmt: skip
    on.legend()


def _missing(
    data: pd.DataFrame, earned: pd.DataFrame, both: Sequence[bool], rates: dict[Any, Decimal], shown: list[Any], noun: str
) -> list[str]:  # fmt: skip
    return [
        left_out(len(data) - len(earned), "not earned"),
        left_out(len(both) - sum(both), "without an amount, as adjustments,"),
        f"The {len(shown)} with most dollars of {len(rates):,}." if len(rates) > len(shown) else "",
        "A transaction's amount is taken for US dollars; its currency is not shown.",
    ]
