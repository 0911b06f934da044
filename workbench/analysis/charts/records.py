"""Charts of applications, disputes, deliveries and contracts, and of the time between two events."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Unpack

import pandas as pd

from workbench.analysis.charts.data import (
    counted,
    group_of,
    label,
    left_out,
    not_drawn,
    number,
    percent,
    report,
    source_table,
    split,
    steps_of,
    table,
    texts,
    top_of,
)
from workbench.analysis.charts.declared import Place, chart
from workbench.analysis.charts.kinds import Bar, Form, Picture
from workbench.analysis.reports.history import history
from workbench.analysis.tables.event_frames import has_events
from workbench.analysis.tables.rows import decimals, is_missing, total
from workbench.base.schema.walk import get_path
from workbench.client.withdrawals.terms import shortened
from workbench.service.chains.addresses import chain_of
from workbench.service.interface.vocabulary import EventApplicationStatus
from workbench.service.rendering.design import BLUE, GRAY, Look, look, word

_FIRST = ("notStarted", "tosNotAccepted", "pending", "needsInformation", "needsVerification", "manualReview")
_ORDER = [*dict.fromkeys([*_FIRST, *map(str, EventApplicationStatus)])]
_MAX = 16  # maximum number of statuses or groups, since the service may send undocumented statuses
_HATCHES = ("", "//", "xx", ".", "++")
_COLUMNS = ("kind", "state", "attempts")
_TOKEN, _USD = ("chain_id", "tokens.address"), ("value_usd", "advance_usd")
_STATES: Mapping[str, Look] = {
    "first attempt": look("done"), "later attempt": look("partly"), "waiting": look("sending"),
    "failed": look("refused"),
}  # fmt: skip


def _in_order(statuses: Any) -> list[str]:
    return sorted(statuses, key=lambda status: (_ORDER.index(status) if status in _ORDER else len(_ORDER), status))


def _status(status: str) -> str:
    return f"{label(word(status))} {look(status).mark}"


def _more(names: Any, noun: str) -> str:
    return f"{len(names) - _MAX:,} more {noun} are left out." if len(names) > _MAX else ""


@chart("bars", whole=True, empty="no application has a status")
def funnel_chart(applications: object, **place: Unpack[Place]) -> Picture:
    """Draw how many applications are in each status now, and how many have ever been in it.

    Args:
        applications: Events, the result of `history.status_history`, or users and companies (current status only).
    """
    if isinstance(applications, pd.DataFrame):
        has_past = "application_status" not in applications
    else:
        applications = list(applications) if isinstance(applications, Iterator) else applications
        has_past = not applications or has_events(applications)
    if has_past:
        data = changes = source_table(applications, "status_history", "user_id", "status")
    else:
        data = table(applications, "application_status")
        changes = data.assign(status=data["application_status"], user_id=range(len(data)))
    changes = changes[changes["status"].notna()]
    now = Counter(texts(changes.drop_duplicates("user_id", keep="last")["status"]))
    ever = Counter(texts(changes.drop_duplicates(["user_id", "status"])["status"]))
    statuses = _in_order(ever)
    bars = []
    for status in statuses[:_MAX]:
        text = f"{now[status]:,} now ({percent(now[status], now.total())})" if now[status] else "none now"
        text += f", {ever[status]:,} ever" if has_past else ""
        lengths = [ever[status], now[status]] if has_past else [now[status]]
        bars.append(Bar(_status(status), text, lengths, [look(status)] * len(lengths)))
    subject = f"{counted(now.total(), 'application')}: current status{', and each status reached' if has_past else ''}"
    unknown = "" if has_past else "Earlier statuses are not in this frame; draw events to see them."
    notes, nested = [unknown, _more(statuses, "statuses")], ("ever", "now") if has_past else ()
    return Picture(data=data, rows=bars, subject=subject, unit="applications", notes=notes, nested=nested)


@chart("bars", whole=True, empty="there are no disputes")
def disputes_chart(disputes: object, **place: Unpack[Place]) -> Picture:
    """Draw disputes by status and age.

    Args:
        disputes: The result of `history.disputes`.
    """
    data = table(disputes, "status", "age", "disputes", "oldest_days")
    bars = []
    hatches = dict(zip(data["age"].sort_values().unique(), _HATCHES, strict=False))
    for status, rows in data.groupby(data["status"].astype(str), sort=False):
        text = f"{rows['disputes'].sum():,}, oldest {rows['oldest_days'].max():,.0f} days"
        looks = [Look(look(status).color, hatch=hatches[age]) for age in rows["age"]]
        bars.append(Bar(label(word(status)), text, rows["disputes"].tolist(), looks))
    legend = {str(age): Look(GRAY, hatch=hatches[age]) for age in data["age"].unique()}
    return Picture(data=data, rows=bars, subject="Disputes by status and age", unit="disputes", legend=legend)


@chart("bars", whole=True, empty="there are no deliveries")
def deliveries_chart(deliveries: Any, *, top: int = 12, **place: Unpack[Place]) -> Picture:
    """Draw webhook deliveries by event kind: delivered at the first attempt, delivered later, waiting, failed.

    Args:
        deliveries: The result of `sandbox.deliveries()`, or a frame with columns kind, state and attempts (a list or a
            count).
        top: Maximum number of kinds to draw; a note counts the others.
    """
    if not isinstance(deliveries, pd.DataFrame):
        # Columns of dtype object, since a text column cannot contain an unpaired surrogate.
        listed = [[get_path(row, name) for name in _COLUMNS] for row in deliveries]
        deliveries = pd.DataFrame(listed, columns=[*_COLUMNS], dtype=object)
        deliveries.attrs["kind"] = "delivery"
    data = table(deliveries, *_COLUMNS)
    attempts = [*map(_attempts, data["attempts"])]
    names, states = [*map(str, data["kind"])], map(_state, data["state"], attempts)
    kinds, counts = Counter(names), Counter(zip(names, states, strict=True))
    shown, rest = top_of(kinds, top)
    bars, legend = [], dict[str, Look]()
    for kind in shown:
        parts = {state: counts[kind, state] for state in _STATES if counts[kind, state]}
        unfinished = [f"{parts[state]:,} {state}" for state in ("waiting", "failed") if state in parts]
        looks = [_STATES[state] for state in parts]
        legend |= zip(parts, looks, strict=True)
        bars.append(Bar(label(kind), ", ".join([f"{kinds[kind]:,}", *unfinished]), [*parts.values()], looks))
    subject = f"Webhook deliveries by kind: {len(data):,}, in {counted(sum(attempts), 'attempt')}"
    notes = [left_out(sum(kinds[kind] for kind in rest), f"of {len(rest):,} more kinds")]
    return Picture(data=data, rows=bars, subject=subject, unit="deliveries", notes=notes, legend=legend)


def _state(state: str, attempts: int) -> str:
    if state == "delivered":
        return "first attempt" if attempts <= 1 else "later attempt"
    return state if state in _STATES else "waiting"


def _attempts(attempts: Any) -> int:
    if isinstance(attempts, list | tuple):
        return len(attempts)
    return 0 if is_missing(attempts) else int(attempts)


@chart("bars", empty="no row has a start and an end")
def times_chart(times: Any, **place: Unpack[Place]) -> Picture:
    """Draw the time from one event to the next: the median, with the 90th percentile (postings) or the longest time.

    Args:
        times: The result of `history.posting_times` (authorization to posting, in hours), of `history.time_in_status`
            or `history.status_history` (applications, in days), or application events.
    """
    is_posting, notes = isinstance(times, pd.DataFrame) and "median_hours" in times, []
    if is_posting:
        data = table(times, *_TIMES)
        by = group_of(data, *_TIMES)
        names = data[by] if by else ["all transactions"] * len(data)
        groups = data[["median_hours", "p90_hours", "transactions"]].set_axis(names)
    else:
        data = report(times, "time_in_status", "status", "days")
        ended = data[data["days"].notna() & data["status"].notna()]
        groups = ended.groupby(ended["status"].astype(str))["days"].agg(["median", "max", "count"])
        groups = groups.loc[_in_order(groups.index)]
        notes.append(left_out(len(data) - len(ended), "without a start or an end"))
    groups, bars = groups[groups.iloc[:, 0].notna()], []
    name_of_most = "90th percentile" if is_posting else "longest"
    for name, median, most, count in groups.iloc[:_MAX].itertuples():
        text = f"{median:,.3g}, {name_of_most} {most:,.3g} ({counted(count, 'row')})"
        looks = [Look(BLUE) if is_posting else look(name)] * 2
        bars.append(Bar(label(name) if is_posting else _status(name), text, [most, median], looks))
    notes.append(_more(groups, "groups"))
    what, unit = ("from authorization to posting", "hours") if is_posting else ("in each status", "days")
    subject = f"Time {what}: median and {name_of_most}"
    return Picture(data=data, rows=bars, subject=subject, unit=unit, notes=notes, nested=(name_of_most, "median"))


_TIMES = ("transactions", "median_hours", "p90_hours", "longest_hours")


@chart("bars", empty="no token with a balance and a rate")
def collateral_chart(contracts: object, *, top: int = 15, **place: Unpack[Place]) -> Picture:
    """Draw the value of contracts in USD with the advance, by chain and token; or the value by chain over time.

    Args:
        contracts: Contracts, the result of `history.contracts`, or the result of `history.record_balances` (over time).
        top: Maximum number of chains and tokens to draw, largest value first; a note gives the sum of the others.
    """
    if isinstance(contracts, pd.DataFrame) and {"at", "chain"} <= set(contracts):
        return _balances(table(contracts, "at", "chain", "value_usd"))
    data = table(history(contracts).contracts(), "id", *_TOKEN, *_USD)
    sums = history(data[data["value_usd"].notna()]).contracts([*_TOKEN])
    sums = sums.sort_values("value_usd", ascending=False, kind="stable")
    shown, rest = split(sums, top)
    bars = []
    for chain, token, value, advance in shown[[*_TOKEN, *_USD]].astype(object).itertuples(index=False):
        text = f"{number(value, 2)}, advance {number(advance, 2)}"
        bars.append(Bar(_token(chain, token), text, [value, advance], [Look(BLUE, hatch="//")] * 2))
    value, advance = (number(total(decimals(sums[name])), 2) for name in _USD)
    count = counted(data["id"].nunique(), "contract")
    notes = (
        f"Total value {value} USD, advance {advance} USD, {count}.",
        not_drawn(len(rest), f"{number(total(decimals(rest['value_usd'])), 2)} USD"),
    )
    subject, nested = "Collateral by chain and token", ("value", "advance")
    return Picture(data=data, rows=bars, subject=subject, unit="USD", notes=notes, nested=nested)


def _balances(data: pd.DataFrame) -> Picture:
    """Return a picture of the value by chain over time, from the last record of each day."""
    last = data["at"].groupby(data["at"].dt.floor("D")).transform("max")
    rows = data[(data["at"] == last) & data["value_usd"].notna()]
    steps = steps_of(rows["at"], "day")
    rows = rows.assign(step=steps.positions)
    form = Form(kind="lines", x="step", y=("value_usd",), by="chain", empty="nothing was recorded", known=True)
    subject = f"Value of collateral by chain{steps.during(data)}"
    return Picture(data=data, rows=rows, subject=subject, unit="USD", steps=steps, places=2, form=form)


def _token(chain: object, token: object) -> str:
    where = f"chain {chain}" if not isinstance(chain, int) or chain < 1 else chain_of(chain).name
    return f"{label(where, 22)} · {label(shortened(str(token)), 13)}"
