"""Charts of transactions: spend, approvals, declines, and cohorts of users by month of first purchase."""

from collections import Counter
from itertools import repeat
from typing import Any, Unpack

import pandas as pd

from workbench.analysis.charts.data import (
    counted,
    dollars,
    group_of,
    label,
    not_drawn,
    percent,
    period_of,
    report,
    report_steps,
    source_table,
    split,
    table,
    texts,
    top_of,
    usd,
)
from workbench.analysis.charts.declared import Place, chart
from workbench.analysis.charts.kinds import Bar, Form, Picture
from workbench.base.errors import UsageError
from workbench.service.interface.formats import minor_digits
from workbench.service.rendering.design import BLUE, GRAY, GREEN, RED, Look, look, word

_NAMES = {"merchant_name": "merchant", "merchant_category": "category", "merchant_category_code": "category code"}
_AMOUNTS = ("transactions", "posted_cents", "refunded_cents", "net_cents", "running")
_CHANGES = ("before_cents", "now_cents", "change_cents")
_STAGES = {"requested": GRAY, "approved": BLUE, "refunded": RED}


@chart("bars", empty="nothing was posted")
def spend_chart(spend: object, *, top: int = 12, **place: Unpack[Place]) -> Picture:
    """Draw net spend by category, merchant, card or user; or over time if the spend has periods.

    Args:
        spend: The result of `history.spend`, `history.funnel` (requested, approved, posted, refunded, net) or
            `history.changes` (from one month to the next), or anything that `wb.history` takes.
        top: Maximum number of groups to draw; a note gives the sum of the others.
    """
    columns = {*spend} if isinstance(spend, pd.DataFrame) else ()
    if "stage" in columns:
        return _funnel(table(spend, "stage", "transactions", "amount_cents"))
    if "change_cents" in columns:
        return _changes(table(spend, *_CHANGES), top)
    data = report(spend, "spend", "transactions", "net_cents")
    unit, period = _currency(data), period_of(data)
    if period:
        return _over_time(data, period, unit)
    by = group_of(data, *_AMOUNTS)
    shown, rest = split(data, top)
    whole, others = (f"{dollars(part['net_cents'].sum(), unit)} {unit}" for part in (data, rest))
    notes = [f"Total {whole}, refunds subtracted.", not_drawn(len(rest), others)]
    rows = _bars(shown[by] if by else ["all"] * len(shown), shown["net_cents"], unit, shown["transactions"])
    return Picture(data=data, rows=rows, subject=f"Net spend by {_NAMES.get(by, by)}", unit=unit, notes=notes)


def _over_time(data: pd.DataFrame, period: str, unit: str) -> Picture:
    """Return a picture of net spend by period: columns, or one line per group."""
    steps, by = report_steps(data), group_of(data, *_AMOUNTS, period)
    net: Any = [usd(cents, unit) for cents in data["net_cents"]]
    rows = data.assign(step=steps.positions, net=net)
    form = Form(kind="lines" if by else "columns", x="step", y=("net",), by=by, empty="nothing was posted")
    subject = f"Net spend by {period}{f' and {_NAMES.get(by, by)}' if by else ''}{steps.during(data)}"
    return Picture(data=data, rows=rows, subject=subject, unit=unit, steps=steps, places=minor_digits(unit), form=form)


def _funnel(data: pd.DataFrame) -> Picture:
    unit, colors = _currency(data), [_STAGES.get(stage, GREEN) for stage in data["stage"]]
    rows = _bars(data["stage"], data["amount_cents"], unit, data["transactions"], colors)
    rows = rows if data["transactions"].any() else []
    return Picture(data=data, rows=rows, subject="From authorization to net spend", unit=unit)


def _changes(data: pd.DataFrame, top: int) -> Picture:
    by, unit = group_of(data, *_CHANGES, "month", "running"), _currency(data)
    shown, _ = split(data, top)
    colors = [GREEN if cents > 0 else RED for cents in shown["change_cents"]]
    rows = _bars(shown[by], shown["change_cents"], unit, colors=colors)
    before, now = (dollars(data[name].sum(), unit) for name in _CHANGES[:2])
    month = f" to {data.attrs['month']}" if data.attrs.get("month") else ""
    month += ", running," if data.attrs.get("running") else ""
    notes = [f"Total: {before} before, {now} in the month." if len(data) else ""]
    subject = f"Change of spend{month} by {_NAMES.get(by, by)}"
    return Picture(data=data, rows=rows, subject=subject, unit=f"{unit}, change", notes=notes)


def _bars(names: Any, amounts: Any, unit: str, counts: Any = repeat(None), colors: Any = repeat(GREEN)) -> list[Bar]:
    """Return bars for amounts in cents, labeled with the number of transactions, or with the sign of a change."""
    bars = []
    for name, amount, count, color in zip(names, amounts, counts, colors, strict=False):
        text = dollars(amount, unit)
        if count is not None:
            text += f" ({counted(count, 'transaction')})"
        elif amount > 0:
            text = f"+{text}"
        look = Look(color, hatch="//" if color == RED else "")
        bars.append(Bar(label(name), text, [usd(amount, unit)], [look]))
    return bars


def _currency(data: pd.DataFrame) -> str:
    return str(data.attrs.get("currency", "usd")).upper()


@chart("lines", x="step", y=("approved",), empty="no authorization", most=105, known=True)
def approvals_chart(approvals: object, **place: Unpack[Place]) -> Picture:
    """Draw the approval rate over time.

    Args:
        approvals: The result of `history.approvals`, or anything that `wb.history` takes.
    """
    data = report(approvals, "approvals", "authorizations", "approved", "rate")
    period = period_of(data)
    authorizations, approved = (int(data[name].sum()) for name in ("authorizations", "approved"))
    if len(data) and (not period or data[period].duplicated().any()):
        raise UsageError("the chart draws one line over time: pass approvals with freq and without by")
    steps = report_steps(data)
    rows = data.assign(step=steps.positions, approved=data["rate"] * 100)[data["authorizations"] > 0]
    note = f"{approved:,} of {counted(authorizations, 'authorization')} approved, {percent(approved, authorizations)}."
    unit = "approved, per cent of authorizations"
    subject = f"Approval rate by {period or 'day'}{steps.during(data)}"
    notes = [note] if authorizations else []
    return Picture(data=data, rows=rows, subject=subject, unit=unit, notes=notes, steps=steps, places=1)


@chart("bars", whole=True, empty="no authorization was declined")
def declines_chart(transactions: object, *, top: int = 14, **place: Unpack[Place]) -> Picture:
    """Draw declined authorizations by reason. Each transaction counts once.

    Args:
        transactions: Anything that `wb.history` takes.
        top: Maximum number of reasons to draw; a note gives the sum of the others.
    """
    data = source_table(transactions, "transactions", "transaction_id", "status", "declined_reason")
    data = data.drop_duplicates("transaction_id")
    declined = data.loc[data["status"] == "declined", "declined_reason"]
    counts = Counter(reason or "" for reason in texts(declined))
    shown, rest = top_of(counts, top)
    style, bars = look("declined"), []
    for name in shown:
        text = f"{counts[name]:,} ({percent(counts[name], counts.total())})"
        reason = label(word(name), 34) if name else "no reason given"
        bars.append(Bar(reason, text, [counts[name]], [style if name else Look(style.color, hatch=".")]))
    notes = [not_drawn(len(rest), f"{sum(counts[name] for name in rest):,}")]
    subject = f"Declines by reason: {counts.total():,} of {counted(len(data), 'authorization')}"
    return Picture(data=data, rows=bars, subject=subject, unit="declined authorizations", notes=notes)


@chart("grid", x="month", y=("share",), by="cohort", empty="no purchase was approved")
def cohorts_chart(cohorts: object, **place: Unpack[Place]) -> Picture:
    """Draw the share of each month's new users who were active in later months.

    Args:
        cohorts: The result of `history.cohorts`, or anything that `wb.history` takes.
    """
    data = report(cohorts, "cohorts", "cohort", "month", "users", "share", "running")
    sizes = data[data["month"] == 0].set_index("cohort")["users"]
    rows = data.assign(name=[f"{first:%Y-%m} ({counted(sizes[first], 'user')})" for first in data["cohort"]])
    notes = ["Hatched: the month is running."] if data["running"].any() else []
    unit = f"months since the first ({data.attrs.get('tz', 'UTC')})"
    subject = "Users active by month since their first purchase"
    return Picture(data=data, rows=rows, subject=subject, unit=unit, notes=notes)
