"""Charts of applications, disputes, deliveries and contracts, and of the time between two events."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Unpack

import pandas as pd

from workbench.analysis.charts.data import (
    counted,
    duration_unit,
    label,
    left_out,
    not_drawn,
    number,
    percent,
    steps_of,
    sums,
    table,
    texts,
    top_of,
    total,
)
from workbench.analysis.charts.declared import Place, chart
from workbench.analysis.charts.kinds import Form, Picture, bar_rows
from workbench.analysis.reports.history import history
from workbench.analysis.tables.rows import decimals
from workbench.base.schema.walk import get_path
from workbench.service.chains.addresses import chain_of
from workbench.service.interface.events import Event
from workbench.service.interface.vocabulary import EventApplicationStatus
from workbench.service.rendering.design import BLUE, Look, look, word

_FIRST = ("notStarted", "tosNotAccepted", "pending", "needsInformation", "needsVerification", "manualReview")
_ORDER = [*_FIRST, *(str(status) for status in EventApplicationStatus if str(status) not in _FIRST)]
_MAX = 16  # maximum number of statuses, since the service may send undocumented ones
_HATCHES = ("", "//", "xx", ".", "++")
_COLUMNS = ("kind", "state", "attempts")
_STATES: Mapping[str, Look] = {
    "first attempt": look("done"), "later attempt": look("partly"), "waiting": look("sending"),
    "failed": look("refused"),
}  # fmt: skip


def _in_order(statuses: Iterable[str]) -> list[str]:
    return sorted(statuses, key=lambda status: (_ORDER.index(status) if status in _ORDER else len(_ORDER), status))


def _status(status: str) -> str:
    return f"{label(word(status))} {look(status).mark}"


def _more(statuses: Sequence[str]) -> str:
    return f"{len(statuses) - _MAX:,} more statuses are left out." if len(statuses) > _MAX else ""


@chart("bars", x=("ever", "now"), y="name", whole=True, empty="no application has a status")
def funnel_chart(applications: object, **place: Unpack[Place]) -> Picture:
    """Draw the number of applications that are in each status now, and the number that ever were.

    Args:
        applications: Events, the result of `history.status_history`, or users and companies (current status only).
    """
    data = _statuses(applications)
    if has_past := "application_status" not in data:
        rows = data[data["status"].notna()]
        now = Counter(texts(rows.drop_duplicates("user_id", keep="last")["status"]))
        ever = Counter(texts(rows.drop_duplicates(["user_id", "status"])["status"]))
    else:
        now = ever = Counter(texts(data["application_status"].dropna()))
    people, statuses = sum(now.values()), _in_order(str(status) for status in ever)
    shown = statuses[:_MAX]
    past = {status: f", {ever[status]:,} ever" if has_past else "" for status in shown}
    present = {s: f"{now[s]:,} now ({percent(now[s], people)})" if now[s] else "none now" for s in shown}
    bars = bar_rows(
        map(_status, shown),
        ever=[ever[status] for status in shown],
        now=[now[status] for status in shown],
        text=[present[status] + past[status] for status in shown],
        look=map(look, shown),
    )
    notes = ["" if has_past else "Earlier statuses are not in this frame; draw events to see them.", _more(statuses)]
    subject = f"{counted(people, 'application')}: present status" + (" and ever reached" if has_past else "")
    form = None if has_past else Form(kind="bars", x="now", y="name", whole=True, empty="no application has a status")
    return Picture(data=data, rows=bars, subject=subject, unit="applications", notes=notes, form=form)


def _statuses(applications: object) -> pd.DataFrame:
    if isinstance(applications, pd.DataFrame):
        return applications if "application_status" in applications else table(applications, "user_id", "status")
    listed = list(applications) if isinstance(applications, Iterable) else [applications]
    if not listed or isinstance(listed[0], Event):
        return history(listed).status_history()
    return table(listed, "application_status")


@chart("bars", x="disputes", y="name", by="age", whole=True, empty="there are no disputes")
def disputes_chart(disputes: object, **place: Unpack[Place]) -> Picture:
    """Draw disputes by status and age.

    Args:
        disputes: The result of `history.disputes`.
    """
    data = table(disputes, "status", "age", "disputes")
    ages = [str(age) for age in dict.fromkeys(data["age"].sort_values())]
    hatches = dict(zip(ages, _HATCHES, strict=False))
    rows = data.assign(key=data["status"].astype(str), age=data["age"].astype(str))
    rows["name"] = [label(word(status)) for status in rows["key"]]
    pairs = zip(rows["key"], rows["age"], strict=True)
    looks: Any = [Look(look(key).color, hatch=hatches[age]) for key, age in pairs]
    rows["look"] = looks
    counts = rows.groupby("key")["disputes"].sum()
    oldest = rows.groupby("key")["oldest_days"].max() if "oldest_days" in rows else counts * 0
    rows["text"] = [f"{int(counts[key]):,}, oldest {float(oldest[key]):,.0f} days" for key in rows["key"]]
    return Picture(data=data, rows=rows, subject="Disputes by status and age", unit="disputes")


@chart("bars", x="deliveries", y="name", by="state", whole=True, empty="there are no deliveries")
def deliveries_chart(deliveries: Any, *, top: int = 12, **place: Unpack[Place]) -> Picture:
    """Draw webhook deliveries by event kind: delivered at the first attempt, delivered later, waiting, failed.

    Args:
        deliveries: The result of `sandbox.deliveries()`, or a frame with columns kind, state and attempts (a list or a
            count).
        top: Maximum number of kinds to draw; a note counts the others.
    """
    if not isinstance(deliveries, pd.DataFrame):
        listed = list(deliveries)
        # These are object columns, since a text column cannot contain half a surrogate pair.
        columns = {name: pd.Series([get_path(row, name) for row in listed], dtype=object) for name in _COLUMNS}
        deliveries = pd.DataFrame(columns)
        deliveries.attrs["kind"] = "delivery"
    data = table(deliveries, *_COLUMNS)
    attempts = [*map(_attempts, data["attempts"])]
    counts = Counter(zip(map(str, data["kind"]), map(_state, data["state"], attempts), strict=True))
    kinds: Counter[str] = Counter()
    for (kind, _), count in counts.items():
        kinds[kind] += count
    shown, rest = top_of(kinds, top)
    parts = [(kind, state) for kind in shown for state in _STATES if counts[kind, state]]
    unfinished = {k: [f"{counts[k, s]:,} {s}" for s in ("waiting", "failed") if counts[k, s]] for k in shown}
    rows = bar_rows(
        [label(kind) for kind, _ in parts],
        key=[shown.index(kind) for kind, _ in parts],  # positions, since pandas rejects keys with half a surrogate pair
        state=[state for _, state in parts],
        deliveries=[counts[part] for part in parts],
        text=[", ".join([f"{kinds[kind]:,}", *unfinished[kind]]) for kind, _ in parts],
        look=[_STATES[state] for _, state in parts],
    )
    subject = f"Webhook deliveries by kind: {len(data):,}, in {counted(sum(attempts), 'attempt')}"
    notes = [left_out(sum(kinds[kind] for kind in rest), f"of {len(rest):,} more kinds")]
    return Picture(data=data, rows=rows, subject=subject, unit="deliveries", notes=notes)


def _state(state: str, attempts: int) -> str:
    if state == "delivered":
        return "first attempt" if attempts <= 1 else "later attempt"
    return state if state in _STATES else "waiting"


def _attempts(attempts: Any) -> int:
    if isinstance(attempts, Sequence) and not isinstance(attempts, str):
        return len(attempts)
    return int(attempts) if attempts == attempts and attempts is not None else 0


@chart("bars", x=("most", "median"), y="name", empty="no time has ended")
def times_chart(times: object, **place: Unpack[Place]) -> Picture:
    """Draw how long it takes from one event to the next: the median, and the longest time or the 90th percentile.

    Args:
        times: The result of `history.posting_times` (authorization to posting), of `history.time_in_status` or
            `history.status_history` (applications), or application events.
    """
    data, lengths, subject = _durations(times)
    lengths = lengths[lengths["median"].notna()].iloc[:_MAX]
    unit, factor = duration_unit(lengths["most"].astype("float64").tolist())
    numbers = zip(lengths["median"] * factor, lengths["most"] * factor, lengths["count"], strict=True)
    rows = lengths.assign(
        median=lengths["median"].astype("float64") * factor,
        most=lengths["most"].astype("float64") * factor,
        text=[f"{median:,.3g}, most {most:,.3g} ({counted(int(count), 'row')})" for median, most, count in numbers],
    )
    count = int(lengths["count"].sum())
    notes = [left_out(len(data) - count, "without both times") if "median_hours" not in data else ""]
    return Picture(data=data, rows=rows, subject=f"{subject}: median, and most of them", unit=unit, notes=notes)


def _durations(times: Any) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Return the frame; the median and upper value in days, count and look by name; and a description."""
    is_frame = isinstance(times, pd.DataFrame)
    if is_frame and "median_hours" in times:
        data = table(times, "transactions", "median_hours", "p90_hours")
        by = next((str(name) for name in data if name not in _TIMES), "")
        lengths = data[["median_hours", "p90_hours"]] / 24
        lengths = lengths.set_axis(["median", "most"], axis="columns").assign(count=data["transactions"])
        names = map(label, data[by]) if by else ["all transactions"] * len(data)
        looks: Any = [Look(BLUE)] * len(data)
        return data, lengths.assign(name=[*names], look=looks), "Time from authorization to posting"
    known = is_frame and "days" in times
    data = table(times if known else history(times).time_in_status(), "status", "days")
    ended = data[data["days"].notna() & data["status"].notna()]
    groups = ended.assign(status=ended["status"].astype(str)).groupby("status")["days"]
    lengths = groups.agg(["median", "max", "count"]).rename(columns={"max": "most"})
    lengths = lengths.loc[_in_order(lengths.index)]
    looks = [*map(look, lengths.index)]
    return data, lengths.assign(name=[*map(_status, lengths.index)], look=looks), "Time in each status"


_TIMES = ("transactions", "median_hours", "p90_hours", "longest_hours")


@chart("bars", x=("value", "advance"), y="name", empty="no token with a balance and a rate")
def collateral_chart(contracts: object, *, top: int = 15, **place: Unpack[Place]) -> Picture:
    """Draw the value of contracts in USD with the advance, by chain and token; or the value by chain over time.

    Args:
        contracts: Contracts, the result of `history.contracts`, or the result of `history.record_balances` (over time).
        top: Maximum number of chains and tokens to draw, largest value first; a note gives the sum of the others.
    """
    if isinstance(contracts, pd.DataFrame) and {"at", "chain"} <= set(contracts):
        return _balances(table(contracts, "at", "chain", "value_usd"))
    known = isinstance(contracts, pd.DataFrame) and contracts.attrs.get("kind") == "contract_values"
    values_of = contracts if known else history(contracts).contracts()
    data = table(values_of, "chain_id", "tokens.address", "value_usd", "advance_usd")
    values = decimals(data["value_usd"])
    keys = list(zip(data["chain_id"].to_list(), data["tokens.address"].to_list(), strict=True))
    value, advance = sums(keys, values), sums(keys, decimals(data["advance_usd"]))
    shown, rest = top_of(value, top)
    pairs = [(value[key], advance.get(key, Decimal(0))) for key in shown]
    rows = bar_rows(
        [_token(*key) for key in shown],
        value=[of_all for of_all, _ in pairs],
        advance=[within for _, within in pairs],
        text=[f"{number(of_all, 2)}, advance {number(within, 2)}" for of_all, within in pairs],
        look=[Look(BLUE, hatch="//")] * len(shown),
    )
    both = (number(total(amounts.values()), 2) for amounts in (value, advance))
    count = counted(data["id"].nunique() if "id" in data else 0, "contract")
    without = sum(amount is None for amount in values)
    notes = (
        "Total value {} USD, advance {} USD, {}.".format(*both, count),
        not_drawn(len(rest), f"{number(total(value[key] for key in rest), 2)} USD"),
        left_out(without, "without a value") if not known and not data.attrs.get("notes") else "",
    )
    return Picture(data=data, rows=rows, subject="Collateral by chain and token", unit="USD", notes=notes)


def _balances(data: pd.DataFrame) -> Picture:
    """Return each chain's last record of each day."""
    day = data["at"].dt.tz_localize(None).dt.normalize()
    rows = data[data["at"] == data["at"].groupby(day).transform("max")]
    steps = steps_of(rows["at"].dt.tz_localize(None), "day")
    values: Any = decimals(rows["value_usd"])
    rows = rows.assign(step=steps.places, value=values)
    rows = rows[rows["value"].notna()]
    form = Form(kind="lines", x="step", y="value", by="chain", empty="nothing was recorded", known=True)
    subject = f"Value of collateral by chain{steps.during(data)}"
    return Picture(data=data, rows=rows, subject=subject, unit="USD", steps=steps, places=2, form=form)


def _token(chain: object, token: object) -> str:
    where = f"chain {chain}" if not isinstance(chain, int) or chain < 1 else chain_of(chain).name
    text = str(token)
    short = text if len(text) <= 13 else f"{text[:6]}…{text[-4:]}"
    return f"{label(where, 22)} · {label(short, 13)}"
