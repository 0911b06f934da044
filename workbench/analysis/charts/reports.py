"""Charts of reports; each takes the frame of a report, or the arguments of the report."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from workbench.analysis.charts.canvas import (
    THICKNESS,
    Bar,
    Canvas,
    LineSpec,
    Part,
    Size,
    bar_chart,
    chart,
    filled,
    legend_key,
    outlined,
    stacked,
)
from workbench.analysis.charts.data import (
    Steps,
    counted,
    dollars,
    is_running,
    label,
    not_drawn,
    number,
    percent,
    signed,
    steps_of,
    sums,
    table,
    top_of,
    usd,
)
from workbench.analysis.reports.history import history
from workbench.analysis.tables.periods import PERIODS
from workbench.analysis.tables.rows import decimals
from workbench.base.errors import UsageError
from workbench.service.rendering.design import BLUE, GRAY, GREEN, RED, TEAL, Look, look, word

_DASHES: Sequence[Any] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (3, 1)), (0, (1, 1)), (0, (8, 2)))
_STYLES = tuple(zip((BLUE, GREEN, TEAL, RED, GRAY, BLUE, GREEN, TEAL), _DASHES, "osD^vPX*", strict=True))
_NAMES = {"merchant_name": "merchant", "merchant_category": "category", "merchant_category_code": "category code"}


def _report(data: object, kind: str, make: Callable[[Any], pd.DataFrame], *columns: str) -> pd.DataFrame:
    """Return a report's frame unchanged; run the report on anything else."""
    known = isinstance(data, pd.DataFrame) and (data.attrs.get("kind") == kind or set(columns) <= set(data))
    frame = table(data if known else make(data), *columns)
    if "currency" in frame and frame["currency"].nunique(dropna=False) > 1:
        raise UsageError("a chart has one currency: history.filter(currency=…)", of="charts")
    return frame.drop(columns="currency", errors="ignore")


def _group(data: pd.DataFrame, *others: str) -> str:
    """Return the column by which a report is grouped: the first one not in `others`."""
    return str(next(name for name in data.columns if name not in others))


def approvals_chart(
    approvals: object, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw the approval rate over time.

    Args:
        approvals: The result of `history.approvals`, or anything that `wb.history` takes.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = _report(approvals, "approvals", lambda x: history(x).approvals(), "authorizations", "approved", "rate")
    by = _group(data, "authorizations", "approved", "declined", "rate")
    authorizations, approved = int(data["authorizations"].sum()), int(data["approved"].sum())
    if by not in {*PERIODS, "authorizations"} or data[by].duplicated().any():
        raise UsageError("the chart has one line over time: pass approvals with a period and without by")
    steps = _steps(data[by], by, data.attrs.get("tz", "UTC"))
    rates = [Decimal(str(rate)) * 100 for rate in data["rate"]]

    def draw(on: Canvas) -> None:
        line = LineSpec(rates, "approved", f"{rates[-1]:.1f}%", *_STYLES[0])
        on.over_time(steps, [line], "approved, per cent of authorizations")
        on.axes.set_ylim(0, 105)

    note = f"{approved:,} of {counted(authorizations, 'authorization')} approved, {percent(approved, authorizations)}."
    return chart(
        data,
        draw if authorizations else None,
        subject=f"Approval rate by {by}{_running(data)}",
        empty="no authorization",
        ax=ax,
        size=size,
        title=title,
        notes=[note if authorizations else ""],
    )


def _steps(firsts: object, by: str, tz: str) -> Steps:
    """Return the steps of the first days of periods; a quarter is drawn at its first month."""
    return steps_of(firsts, "month" if by == "quarter" else by, tz)  # type: ignore[arg-type]


def _running(data: pd.DataFrame) -> str:
    return " (the last one is running)" if is_running(data) else ""


def spend_funnel_chart(
    funnel: object, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw the spend funnel (requested, approved, posted, refunded, net) with amounts and counts.

    Args:
        funnel: The result of `history.funnel`, or anything that `wb.history` takes.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = _report(funnel, "spend_funnel", lambda x: history(x).funnel(), "stage", "transactions", "amount_cents")
    colors, currency = {"requested": GRAY, "approved": BLUE, "refunded": RED}, _currency(data)
    bars = [
        Bar(
            str(stage),
            _spent(amount, count, currency),
            [Part(usd(int(amount), currency), filled(colors.get(stage, GREEN)))],
        )
        for stage, count, amount in zip(data["stage"], data["transactions"], data["amount_cents"], strict=True)
    ]
    return bar_chart(
        data,
        bars if data["transactions"].any() else [],
        currency,
        subject="From authorization to net spend",
        empty="no transactions",
        ax=ax,
        size=size,
        title=title,
    )


def _spent(cents: int, count: int, currency: str) -> str:
    return f"{dollars(int(cents), currency)} ({counted(int(count), 'transaction')})"


def _currency(data: pd.DataFrame) -> str:
    return str(data.attrs.get("currency", "usd")).upper()


def spend_chart(
    spend: object, *, top: int = 12, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw net spend by category, merchant, card or user.

    Args:
        spend: The result of `history.spend`, or anything that `wb.history` takes.
        top: Number of groups drawn; the others are summed up in a note.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = _report(spend, "spend", lambda x: history(x).spend(), "transactions", "net_cents")
    by, unit = _group(data, "transactions", "posted_cents", "refunded_cents", "net_cents"), _currency(data)
    shown, rest = data.iloc[: max(top, 1)], data.iloc[max(top, 1) :]
    bars = [
        Bar(label(name), _spent(net, count, unit), [Part(usd(int(net), unit), filled(GREEN))])
        for name, net, count in zip(shown[by], shown["net_cents"], shown["transactions"], strict=True)
    ]
    total = f"Total {dollars(int(data['net_cents'].sum()), unit)} {unit}, refunds subtracted."
    others = not_drawn(len(rest), f"{dollars(int(rest['net_cents'].sum()), unit)} {unit}")
    return bar_chart(
        data,
        bars,
        unit,
        subject=f"Net spend by {_NAMES.get(by, by)}",
        empty="nothing was posted",
        ax=ax,
        size=size,
        title=title,
        notes=[total, others],
    )


def posting_times_chart(
    times: object, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw the time from authorization to posting: median and 90th percentile.

    Args:
        times: The result of `history.posting_times`, or anything that `wb.history` takes.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = _report(
        times, "posting_times", lambda x: history(x).posting_times(), "transactions", "median_hours", "p90_hours"
    )
    by = _group(data.assign(**{"": "all"}), "transactions", "median_hours", "p90_hours", "longest_hours")
    return _times_chart(
        data,
        data[by] if by else ["all transactions"] * len(data),
        ("median_hours", "p90_hours", "transactions"),
        "hours from authorization to posting",
        "Time from authorization to posting",
        "no transaction was posted",
        ax,
        size,
        title,
    )


def _times_chart(
    data: pd.DataFrame,
    names: Iterable[Any],
    columns: Iterable[str],
    unit: str,
    subject: str,
    empty: str,
    ax: Axes | None,
    size: Size,
    title: str | None,
) -> Axes:
    """Draw medians as filled bars inside outlined bars of the 90th percentile."""
    bars = []
    for name, median, most, count in zip(names, *(data[column] for column in columns), strict=True):
        parts, text = [Part(0, filled(GRAY))], "none"
        if not pd.isna(median):
            parts = [Part(float(most), outlined(BLUE)), Part(float(median), filled(BLUE), height=THICKNESS * 0.62)]
            text = f"{median:,.3g}, most {most:,.3g} ({int(count):,})"
        bars.append(Bar(label(name), text, parts))
    return bar_chart(
        data, bars, unit, subject=f"{subject}: median, and most of them", empty=empty, ax=ax, size=size, title=title
    )


def cohorts_chart(
    cohorts: object, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw the share of each month's new users who were active in later months.

    Args:
        cohorts: The result of `history.cohorts`, or anything that `wb.history` takes.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = _report(cohorts, "cohorts", lambda x: history(x).cohorts(), "cohort", "month", "users", "share")
    grid = data.pivot(index="cohort", columns="month", values="share")
    sizes = data[data["month"] == 0].set_index("cohort")["users"]
    is_open = data["running"].fillna(False) if "running" in data else [False] * len(data)
    open_cells = dict(zip(zip(data["cohort"], data["month"], strict=True), is_open, strict=True))

    def draw(on: Canvas) -> None:
        shares = grid.to_numpy(dtype="float64", na_value=np.nan)
        months = {int(month): float(np.nanmean(shares[:, place])) for place, month in enumerate(grid.columns)}
        on.say(*(f"month {month}: {months[month]:.0%} on average" for month in (1, 3, 6) if month in months))
        on.axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        for (y, x), share in np.ndenumerate(shares):
            if not np.isnan(share):
                on.annotate(x, y, f"{share:.0%}", ha="center", va="center", color="white" if share > 0.55 else "black")
                if open_cells.get((grid.index[y], grid.columns[x])):
                    on.axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, hatch="//", alpha=0.35))
        names = [f"{cohort:%b %Y} ({counted(int(sizes[cohort]), 'user')})" for cohort in grid.index]
        on.axes.set_yticks(range(len(grid)), names)
        on.axes.set_xticks(range(grid.shape[1]), [str(month) for month in grid.columns])
        on.labels(f"months since the first ({data.attrs.get('tz', 'UTC')})", "")

    return chart(
        data,
        draw if len(grid) else None,
        subject="Users active by month since their first purchase",
        notes=["Hatched: the month is running."] if any(open_cells.values()) else [],
        empty="no purchase was approved",
        ax=ax,
        size=size,
        title=title,
        rows=max(len(grid), 4),
    )


def monthly_changes_chart(
    changes: object, *, top: int = 12, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw the largest changes of spend from one month to the next.

    Args:
        changes: The result of `history.changes`, or anything that `wb.history` takes.
        top: Number of changes drawn.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = _report(
        changes, "monthly_changes", lambda x: history(x).changes(), "before_cents", "now_cents", "change_cents"
    )
    by, unit = _group(data, "before_cents", "now_cents", "change_cents"), _currency(data)
    shown = data.iloc[: max(top, 1)]
    bars = [
        Bar(
            label(name),
            signed(cents, unit),
            [Part(usd(cents, unit), filled(GREEN) if cents > 0 else filled(RED, "//"))],
        )
        for name, cents in zip(shown[by], map(int, shown["change_cents"]), strict=True)
    ]
    before, now = (dollars(int(data[name].sum()), unit) for name in ("before_cents", "now_cents"))
    total = f"Of all: {before} before, {now} in the month."
    month = f" to {data.attrs['month']}" if data.attrs.get("month") else ""
    month += ", running," if data.attrs.get("running") else ""
    return bar_chart(
        data,
        bars,
        f"{unit}, change",
        subject=f"Change of spend{month} by {_NAMES.get(by, by)}",
        empty="nothing was posted",
        ax=ax,
        size=size,
        title=title,
        notes=[total if bars else ""],
    )


def liability_chart(
    liability: object, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw the points outstanding at the end of each month, with what was earned and redeemed in it.

    Args:
        liability: The result of `history.liability`, or rewards.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = _report(
        liability, "points_liability", lambda x: history(x).liability(), "month", "earned", "redeemed", "outstanding"
    )
    lines = {name: [Decimal(value) for value in data[name]] for name in ("outstanding", "earned", "redeemed")}
    return _over_time(
        data,
        steps_of(data["month"], "month", data.attrs.get("tz", "UTC")),
        lines,
        "points",
        "Points outstanding at month end",
        "no rewards activity",
        ax,
        size,
        title,
    )


def applications_chart(
    applications: object, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw how many applications were in each status over time.

    Args:
        applications: The result of `history.applications`, or anything that `wb.history` takes.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = _report(applications, "applications", lambda x: history(x).applications(), "status", "applications")
    by = _group(data, "status", "applications")
    grid = data.pivot(index=by, columns="status", values="applications").fillna(0)
    lines = {word(str(name)): [Decimal(int(value)) for value in grid[name]] for name in grid.columns}
    steps = _steps(pd.Series(grid.index), by, data.attrs.get("tz", "UTC"))
    return _over_time(
        data, steps, lines, "applications", "Applications by status", "no application changed", ax, size, title
    )


def balances_chart(
    balances: pd.DataFrame, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw the value of collateral by chain over the times it was recorded.

    Args:
        balances: The result of `history.record_balances`.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = table(balances, "at", "chain", "value_usd")
    day = data["at"].dt.tz_localize(None).dt.normalize()
    last = data["at"] == data["at"].groupby(day).transform("max")  # the last record of each day
    totals = sums(zip(data["chain"][last], day[last], strict=True), decimals(data["value_usd"][last]))
    days = sorted(set(day))
    lines = {
        str(chain): [totals.get((chain, day), Decimal(0)) for day in days] for chain in dict.fromkeys(data["chain"])
    }
    steps = steps_of(pd.Series(days, dtype="datetime64[s]"), "day")
    return _over_time(
        data, steps, lines, "USD", "Value of collateral by chain", "nothing was recorded", ax, size, title
    )


def _over_time(
    data: pd.DataFrame,
    steps: Steps,
    lines: dict[str, list[Decimal]],
    unit: str,
    subject: str,
    empty: str,
    ax: Axes | None,
    size: Size,
    title: str | None,
) -> Axes:
    """Draw named lines over steps of time, largest first."""
    shown, rest = top_of({name: values[-1] for name, values in lines.items() if values}, len(_STYLES))
    specs = [
        LineSpec(lines[name], name, f"{name} {number(lines[name][-1])}", *style)
        for name, style in zip(shown, _STYLES, strict=False)
    ]
    return chart(
        data,
        (lambda on: on.over_time(steps, specs, unit)) if shown else None,
        empty=empty,
        ax=ax,
        size=size,
        title=title,
        subject=f"{subject}, {steps.period}{_running(data)}" if shown else subject,
        notes=[f"{len(rest):,} more lines are left out." if rest else ""],
    )


def disputes_chart(
    disputes: object, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw disputes by status and age.

    Args:
        disputes: The result of `history.disputes`.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = table(disputes, "status", "age", "disputes")
    ages = [str(age) for age in dict.fromkeys(data["age"].sort_values())]
    hatches = dict(zip(ages, ("", "//", "xx", ".", "++"), strict=False))
    bars = []
    for status in dict.fromkeys(data["status"]):
        rows, color = data[data["status"] == status], look(str(status)).color
        counts = zip(rows["age"].astype(str), rows["disputes"], strict=True)
        oldest = float(rows["oldest_days"].max()) if "oldest_days" in rows else 0
        text = f"{int(rows['disputes'].sum()):,}, oldest {oldest:,.0f} days"
        parts = stacked((int(count), filled(color, hatches[age])) for age, count in counts)
        bars.append(Bar(label(word(str(status))), text, parts))
    legend = [legend_key(age, Look(GRAY, "", 0, hatch)) for age, hatch in hatches.items()]
    return bar_chart(
        data,
        bars,
        "disputes",
        subject="Disputes by status and age",
        empty="there are no disputes",
        ax=ax,
        size=size,
        title=title,
        whole=True,
        least_rows=4,
        legend=legend,
    )
