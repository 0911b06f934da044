"""Charts of transactions: spend, approvals, declines, and cohorts of users by month of first purchase."""

from collections import Counter
from typing import Any, Unpack

import pandas as pd

from workbench.analysis.charts.data import (
    counted,
    dollars,
    label,
    not_drawn,
    percent,
    period_of,
    report,
    report_steps,
    signed,
    table,
    texts,
    top_of,
    usd,
)
from workbench.analysis.charts.declared import Place, chart
from workbench.analysis.charts.kinds import Form, Picture, bar_rows
from workbench.analysis.reports.history import history
from workbench.analysis.reports.sources import is_other
from workbench.base.errors import UsageError
from workbench.service.interface.formats import minor_digits
from workbench.service.rendering.design import BLUE, GRAY, GREEN, RED, Look, look, word

_NAMES = {"merchant_name": "merchant", "merchant_category": "category", "merchant_category_code": "category code"}
_NUMBERS = ("transactions", "posted_cents", "refunded_cents", "net_cents", "running")
_REASONS = ("declined_reason", "body.spend.declined_reason")
_STATUSES = ("status", "body.spend.status")
_IDS = ("transaction_id", "body.id")


@chart("bars", x="amount", y="name", empty="nothing was posted")
def spend_chart(spend: object, *, top: int = 12, **place: Unpack[Place]) -> Picture:
    """Draw net spend by category, merchant, card or user; or over time if the spend has periods.

    Args:
        spend: The result of `history.spend`, `history.funnel` (requested, approved, posted, refunded, net) or
            `history.changes` (from one month to the next), or anything that `wb.history` takes.
        top: Maximum number of groups to draw; a note gives the sum of the others.
    """
    if isinstance(spend, pd.DataFrame) and "stage" in spend:
        return _funnel(table(spend, "stage", "transactions", "amount_cents"))
    if isinstance(spend, pd.DataFrame) and "change_cents" in spend:
        return _changes(table(spend, "before_cents", "now_cents", "change_cents"), top)
    data = report(spend, "spend", "spend", "transactions", "net_cents")
    unit, period = _currency(data), period_of(data)
    if period:
        return _over_time(data, period, unit)
    by = _group(data, *_NUMBERS)
    shown, rest = data.iloc[: max(top, 1)], data.iloc[max(top, 1) :]
    whole = f"Total {dollars(int(data['net_cents'].sum()), unit)} {unit}, refunds subtracted."
    others = not_drawn(len(rest), f"{dollars(int(rest['net_cents'].sum()), unit)} {unit}")
    texts_of = map(_spent, shown["net_cents"], shown["transactions"], [unit] * len(shown))
    rows = _bars(shown[by] if by else ["all"] * len(shown), shown["net_cents"], texts_of, unit)
    return Picture(data=data, rows=rows, subject=f"Net spend by {_named(by)}", unit=unit, notes=[whole, others])


def _over_time(data: pd.DataFrame, period: str, unit: str) -> Picture:
    """Return net spend by period, as columns or as one line per group."""
    steps = report_steps(data)
    by = _group(data, *_NUMBERS, period)
    net: Any = [usd(int(cents), unit) for cents in data["net_cents"]]
    rows = data.assign(step=steps.places, net=net)
    rows["group"] = [label(name) for name in data[by]] if by else "net"
    form = Form(
        kind="lines" if by else "columns", x="step", y="net", by="group" if by else "", empty="nothing was posted"
    )
    subject = f"Net spend by {period}{f' and {_named(by)}' if by else ''}{steps.during(data)}"
    return Picture(data=data, rows=rows, subject=subject, unit=unit, steps=steps, places=minor_digits(unit), form=form)


def _funnel(data: pd.DataFrame) -> Picture:
    colors, unit = {"requested": GRAY, "approved": BLUE, "refunded": RED}, _currency(data)
    texts_of = map(_spent, data["amount_cents"], data["transactions"], [unit] * len(data))
    rows = _bars(
        data["stage"], data["amount_cents"], texts_of, unit, [colors.get(stage, GREEN) for stage in data["stage"]]
    )
    rows = rows if data["transactions"].any() else rows.iloc[:0]
    return Picture(data=data, rows=rows, subject="From authorization to net spend", unit=unit)


def _changes(data: pd.DataFrame, top: int) -> Picture:
    by, unit = _group(data, "before_cents", "now_cents", "change_cents", "month", "running"), _currency(data)
    shown = data.iloc[: max(top, 1)]
    colors = [GREEN if cents > 0 else RED for cents in shown["change_cents"]]
    texts_of = [signed(int(cents), unit) for cents in shown["change_cents"]]
    rows = _bars(shown[by], shown["change_cents"], texts_of, unit, colors)
    before, now = (dollars(int(data[name].sum()), unit) for name in ("before_cents", "now_cents"))
    month = f" to {data.attrs['month']}" if data.attrs.get("month") else ""
    month += ", running," if data.attrs.get("running") else ""
    notes = [f"Of all: {before} before, {now} in the month." if len(data) else ""]
    subject = f"Change of spend{month} by {_named(by)}"
    return Picture(data=data, rows=rows, subject=subject, unit=f"{unit}, change", notes=notes)


def _bars(names: Any, cents: Any, texts_of: Any, unit: str, colors: Any = None) -> pd.DataFrame:
    """Return bar rows for amounts in cents."""
    lengths = [usd(int(amount), unit) for amount in cents]
    looks = [Look(color, hatch="//" if color == RED else "") for color in colors or [GREEN] * len(lengths)]
    return bar_rows(map(label, names), amount=lengths, text=texts_of, look=looks)


def _spent(cents: int, count: int, unit: str) -> str:
    return f"{dollars(int(cents), unit)} ({counted(int(count), 'transaction')})"


def _currency(data: pd.DataFrame) -> str:
    return str(data.attrs.get("currency", "usd")).upper()


def _group(data: pd.DataFrame, *others: str) -> str:
    """Return a report's grouping column, the first column that is not in `others`; empty if there is none."""
    return str(next((name for name in data.columns if name not in others), ""))


def _named(by: str) -> str:
    return _NAMES.get(by, by)


@chart("lines", x="step", y="approved", empty="no authorization", most=105, known=True)
def approvals_chart(approvals: object, **place: Unpack[Place]) -> Picture:
    """Draw the approval rate over time.

    Args:
        approvals: The result of `history.approvals`, or anything that `wb.history` takes.
    """
    data = report(approvals, "approvals", "approvals", "authorizations", "approved", "rate")
    period = period_of(data)
    authorizations, approved = int(data["authorizations"].sum()), int(data["approved"].sum())
    if len(data) and (not period or data[period].duplicated().any()):
        raise UsageError("the chart draws one line over time: pass approvals with freq and without by")
    steps = report_steps(data)
    rates = [float(rate) * 100 for rate in data["rate"].fillna(0)]
    rows = pd.DataFrame({"step": steps.places, "approved": rates} if authorizations else {"step": [], "approved": []})
    note = f"{approved:,} of {counted(authorizations, 'authorization')} approved, {percent(approved, authorizations)}."
    unit = "approved, per cent of authorizations"
    subject = f"Approval rate by {period or 'day'}{steps.during(data)}"
    notes = [note] if authorizations else []
    return Picture(data=data, rows=rows, subject=subject, unit=unit, notes=notes, steps=steps, places=1)


@chart("bars", x="declines", y="name", whole=True, empty="no authorization was declined")
def declines_chart(transactions: object, *, top: int = 14, **place: Unpack[Place]) -> Picture:
    """Draw declined authorizations by reason. Each transaction counts once.

    Args:
        transactions: Results of `simulate_authorization`, or a frame of these results, or anything that `wb.history`
            takes.
        top: Maximum number of reasons to draw; a note gives the sum of the others.
    """
    data = transactions
    if not isinstance(data, pd.DataFrame) and (not data or is_other(data)):
        data = table(data, of=None if data else "simulate_authorization")
    elif not isinstance(data, pd.DataFrame) or not {*_REASONS} & set(data):
        data = history(data).transactions()
    reason, status, key = (
        next((name for name in names if name in data), None) for names in (_REASONS, _STATUSES, _IDS)
    )
    if reason is None and len(data.columns):
        raise UsageError(f"the chart needs the column {' or '.join(_REASONS)}")
    counts, repeated = _reasons(data, reason, status, key)
    declined = sum(counts.values())
    shown, rest = top_of(counts, top)
    style = look("declined")
    rows = bar_rows(
        [label(word(name), 34) if name else "no reason given" for name in shown],
        declines=[counts[name] for name in shown],
        text=[f"{counts[name]:,} ({percent(counts[name], declined)})" for name in shown],
        look=[Look(style.color, hatch=style.hatch if name else ".") for name in shown],
    )
    everything = counted(data[key].nunique() if key else len(data), "authorization")
    again = f"{counted(repeated, 'row')} of a transaction that was already counted." if repeated else ""
    others = not_drawn(len(rest), f"{sum(counts[name] for name in rest):,}")
    subject = f"Declines by reason: {declined:,} of {everything}"
    return Picture(data=data, rows=rows, subject=subject, unit="declined authorizations", notes=[others, again])


def _reasons(data: pd.DataFrame, reason: str | None, status: str | None, key: str | None) -> tuple[dict[str, int], int]:
    """Return declined transactions by reason ("" for none), and the rows that repeat a transaction."""
    if reason is None:
        return {}, 0
    declined = data[reason].notna()
    if status:
        declined |= (data[status] == "declined").fillna(False).to_numpy(dtype=bool)
    rows = data[declined]
    # If several events of a transaction have a reason, the first of them counts.
    once = rows.sort_values(reason, key=lambda c: c.isna(), kind="stable").drop_duplicates(key) if key else rows
    return Counter(name or "" for name in texts(once[reason])), len(rows) - len(once)


@chart("grid", x="month", y="share", by="cohort", empty="no purchase was approved")
def cohorts_chart(cohorts: object, **place: Unpack[Place]) -> Picture:
    """Draw the share of each month's new users who were active in later months.

    Args:
        cohorts: The result of `history.cohorts`, or anything that `wb.history` takes.
    """
    data = report(cohorts, "cohorts", "cohorts", "cohort", "month", "users", "share")
    sizes = data[data["month"] == 0].set_index("cohort")["users"]
    rows = data.assign(name=[f"{first:%Y-%m} ({counted(int(sizes[first]), 'user')})" for first in data["cohort"]])
    is_open = "running" in data and bool(data["running"].fillna(False).any())
    notes = ["Hatched: the month is running."] if is_open else []
    unit = f"months since the first ({data.attrs.get('tz', 'UTC')})"
    subject = "Users active by month since their first purchase"
    return Picture(data=data, rows=rows, subject=subject, unit=unit, notes=notes)
