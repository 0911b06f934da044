"""Charts of outcomes: declines, webhook deliveries, applications by status, and collateral value."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from workbench.analysis.charts.canvas import (
    THICKNESS,
    Bar,
    Canvas,
    Part,
    Size,
    bar_chart,
    filled,
    ink_of,
    legend_key,
    outlined,
    stacked,
)
from workbench.analysis.charts.data import (
    Scale,
    counted,
    duration_unit,
    label,
    left_out,
    not_drawn,
    number,
    percent,
    sums,
    table,
    texts,
    top_of,
    total,
)
from workbench.analysis.reports.history import history
from workbench.analysis.tables.rows import decimals
from workbench.base.errors import UsageError
from workbench.base.schema.walk import get_path
from workbench.service.chains.addresses import chain_of
from workbench.service.interface.events import Event
from workbench.service.interface.vocabulary import EventApplicationStatus
from workbench.service.rendering.design import BLUE, Look, look, word

_REASONS = ("declined_reason", "body.spend.declined_reason")
_STATUSES = ("status", "body.spend.status")
_IDS = ("transaction_id", "body.id")


def declines_chart(
    transactions: object, *, top: int = 14, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw declined authorizations by reason, each transaction once.

    Args:
        transactions: Answers of `simulate_authorization`, transaction events, or a frame of either.
        top: Number of reasons drawn; the others are summed up in a note.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = transactions
    if not isinstance(data, pd.DataFrame):
        data = table(data, of=None if transactions else "simulate_authorization")
    reason, status, key = (
        next((name for name in names if name in data), None) for names in (_REASONS, _STATUSES, _IDS)
    )
    if reason is None and len(data.columns):
        raise UsageError(f"the chart needs the column {' or '.join(_REASONS)}")
    counts, repeated = _reasons(data, reason, status, key)
    declined = sum(counts.values())
    shown, rest = top_of(counts, top)
    style = look("declined")
    bars = [
        Bar(
            label(word(name), 34) if name else "no reason given",
            f"{counts[name]:,} ({percent(counts[name], declined)})",
            [Part(counts[name], filled(style.color, style.hatch if name else "."))],
        )
        for name in shown
    ]
    everything = counted(data[key].nunique() if key else len(data), "authorization")
    again = f"{counted(repeated, 'row')} of a transaction that was already counted." if repeated else ""
    others = not_drawn(len(rest), f"{sum(counts[name] for name in rest):,}")
    return bar_chart(
        data,
        bars,
        "declined authorizations",
        ax=ax,
        size=size,
        title=title,
        whole=True,
        least_rows=4,
        subject=f"Declines by reason: {declined:,} of {everything}",
        empty="no authorization was declined",
        notes=(others, again),
    )


def _reasons(data: pd.DataFrame, reason: str | None, status: str | None, key: str | None) -> tuple[dict[str, int], int]:
    """Return declined transactions by reason ("" for none), and the rows that repeat a transaction."""
    if reason is None:
        return {}, 0
    declined = data[reason].notna()
    if status:
        declined |= (data[status] == "declined").fillna(False).to_numpy(dtype=bool)
    rows = data[declined]
    # If a transaction has several events, the first one with a reason counts.
    once = rows.sort_values(reason, key=lambda c: c.isna(), kind="stable").drop_duplicates(key) if key else rows
    return Counter(name or "" for name in texts(once[reason])), len(rows) - len(once)


_COLUMNS = ("kind", "state", "attempts")
_STATES: Mapping[str, Look] = {
    "first attempt": look("done"),
    "later attempt": look("partly"),
    "waiting": look("sending"),
    "failed": look("refused"),
}


def deliveries_chart(
    deliveries: Any, *, top: int = 12, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw webhook deliveries by kind of event: delivered at the first attempt, delivered later, waiting, failed.

    Args:
        deliveries: The result of `sandbox.deliveries()`, or a frame with columns kind, state and attempts (or their
            number).
        top: Number of kinds drawn; the others are counted in a note.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    if not isinstance(deliveries, pd.DataFrame):
        rows = list(deliveries)
        # As objects: half of a surrogate pair cannot be in a column of text.
        deliveries = pd.DataFrame(
            {name: pd.Series([get_path(row, name) for row in rows], dtype=object) for name in _COLUMNS}
        )
        deliveries.attrs["kind"] = "delivery"
    data = table(deliveries, *_COLUMNS)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    attempted = [_attempts(attempts) for attempts in data["attempts"]]
    for kind, state, count in zip(data["kind"], data["state"], attempted, strict=True):
        delivered = "first attempt" if count <= 1 else "later attempt"
        counts[str(kind)][delivered if state == "delivered" else state if state in _STATES else "waiting"] += 1
    shown, rest = top_of({kind: states.total() for kind, states in counts.items()}, top)
    states = [state for state in _STATES if any(counts[kind][state] for kind in shown)]
    hidden = sum(counts[kind].total() for kind in rest)

    def bar(kind: str) -> Bar:
        few = [f"{counts[kind][state]:,} {state}" for state in ("waiting", "failed") if counts[kind][state]]
        parts = stacked((counts[kind][state], filled(style)) for state, style in _STATES.items() if counts[kind][state])
        return Bar(label(kind), ", ".join([f"{counts[kind].total():,}", *few]), parts)

    return bar_chart(
        data,
        [*map(bar, shown)],
        "deliveries",
        ax=ax,
        size=size,
        title=title,
        whole=True,
        subject=f"Webhook deliveries by kind: {len(data):,}, in {counted(sum(attempted), 'attempt')}",
        least_rows=4,
        empty="there are no deliveries",
        legend=[legend_key(state, _STATES[state]) for state in states],
        notes=[left_out(hidden, f"of {len(rest):,} more kinds")],
    )


def _attempts(attempts: Any) -> int:
    if isinstance(attempts, Sequence) and not isinstance(attempts, str):
        return len(attempts)
    return int(attempts) if attempts == attempts and attempts is not None else 0


_FIRST = ("notStarted", "tosNotAccepted", "pending", "needsInformation", "needsVerification", "manualReview")
_ORDER = [*_FIRST, *(str(status) for status in EventApplicationStatus if str(status) not in _FIRST)]
_MAX = 16  # statuses; the service may send others than the documented ones


def funnel_chart(
    applications: object, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw the number of applications in each status, now and ever.

    Args:
        applications: Events, the result of `history.status_history`, or users and companies (their present status
            only).
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    data = _history(applications)
    if has_past := "application_status" not in data:
        rows = data[data["status"].notna()]
        now = Counter(texts(rows.drop_duplicates("user_id", keep="last")["status"]))
        ever = Counter(texts(rows.drop_duplicates(["user_id", "status"])["status"]))
    else:
        now = ever = Counter(texts(data["application_status"].dropna()))
    people, statuses = sum(now.values()), _sorted(str(status) for status in ever)

    def bar(status: str) -> Bar:
        style, text = (
            look(status),
            f"{now[status]:,} now ({percent(now[status], people)})" if now[status] else "none now",
        )
        inner = Part(now[status], filled(style), height=THICKNESS * (0.62 if has_past else 1))
        outer = [Part(ever[status], outlined(style.color))] if has_past else []
        return Bar(_status(status), text + (f", {ever[status]:,} ever" if has_past else ""), [*outer, inner])

    past = "Earlier statuses are not in this frame; draw events to see them."
    ink = ink_of()
    return bar_chart(
        data,
        [*map(bar, statuses[:_MAX])],
        "applications",
        ax=ax,
        size=size,
        title=title,
        whole=True,
        least_rows=4,
        empty="no application has a status",
        subject=f"{counted(people, 'application')}: present status" + (" and ever reached" if has_past else ""),
        legend=[legend_key("now", ink), Patch(**outlined(ink), label="ever")] if has_past else None,
        notes=("" if has_past else past, _more(statuses)),
    )


def _history(applications: object) -> pd.DataFrame:
    if isinstance(applications, pd.DataFrame):
        return applications if "application_status" in applications else table(applications, "user_id", "status")
    listed = list(applications) if isinstance(applications, Iterable) else [applications]
    if not listed or isinstance(listed[0], Event):
        return history(listed).status_history()
    return table(listed, "application_status")


def _sorted(statuses: Iterable[str]) -> list[str]:
    return sorted(statuses, key=lambda status: (_ORDER.index(status) if status in _ORDER else len(_ORDER), status))


def _status(status: str) -> str:
    return f"{label(word(status))} {look(status).mark}"


def _more(statuses: list[str]) -> str:
    return f"{len(statuses) - _MAX:,} more statuses are left out." if len(statuses) > _MAX else ""


def status_time_chart(
    stays: object, *, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw the time applications spent in each status: the median, and the range from shortest to longest.

    Args:
        stays: The result of `history.time_in_status` or `history.status_history`, or events.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    known = isinstance(stays, pd.DataFrame) and "days" in stays
    data = table(stays if known else history(stays).time_in_status(), "status", "days")
    ended = data[data["days"].notna() & data["status"].notna()]
    groups = ended.groupby("status", observed=True)["days"]
    days = {str(status): np.sort(rows.to_numpy(dtype="float64")) for status, rows in groups}
    statuses = _sorted(days)
    shown = statuses[:_MAX]
    unit, factor = duration_unit([float(days[status][-1]) for status in shown])

    def ranges(on: Canvas, scale: Scale) -> None:
        for index, status in enumerate(shown):
            ends = [scale(float(days[status][end]) * factor) for end in (0, -1)]
            on.axes.plot(ends, [index + 0.24] * 2, color=on.ink, marker="|", markersize=on.base * 0.7, linewidth=1.2)

    def bar(status: str) -> Bar:
        lengths = days[status] * factor
        text = f"{(median := float(np.median(lengths))):,.3g} {unit} ({counted(len(lengths), 'stay')})"
        part = Part(median, filled(look(status)), height=0.44, down=-0.12)
        return Bar(_status(status), text, [part], reach=float(lengths[-1]))

    open_stays = left_out(len(data) - len(ended), "of stays without an end (now= ends them)")
    return bar_chart(
        data,
        [*map(bar, shown)],
        f"{unit} in the status",
        subject="Time in each status: median, shortest and longest stay",
        empty="no stay in a status has ended",
        ax=ax,
        size=size,
        title=title,
        least_rows=4,
        more=ranges,
        notes=(open_stays, _more(statuses)),
    )


def collateral_chart(
    contracts: object, *, top: int = 15, ax: Axes | None = None, size: Size = "notebook", title: str | None = None
) -> Axes:
    """Draw the value of contracts in USD by chain and token, with the advance within it.

    Args:
        contracts: Contracts, their frame, or the result of `history.contracts`.
        top: Number of chains and tokens drawn, those of highest value; the others are summed up in a note.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
        title: Title in place of the default, which becomes the subtitle.
    """
    known = isinstance(contracts, pd.DataFrame) and contracts.attrs.get("kind") == "contract_values"
    data = table(
        contracts if known else history(contracts).contracts(), "chain_id", "tokens.address", "value_usd", "advance_usd"
    )
    values = decimals(data["value_usd"])
    keys = list(zip(data["chain_id"].to_list(), data["tokens.address"].to_list(), strict=True))
    value, advance = sums(keys, values), sums(keys, decimals(data["advance_usd"]))
    shown, rest = top_of(value, top)
    sum_of_values, sum_of_advances = (number(total(known.values()), 2) for known in (value, advance))
    without = sum(value is None for value in values)
    contracts = counted(data["id"].nunique() if "id" in data else 0, "contract")

    def bar(key: tuple[Any, Any]) -> Bar:
        inside = advance.get(key, Decimal(0))
        parts = [Part(value[key], outlined(BLUE)), Part(inside, filled(BLUE, "//"), height=THICKNESS * 0.62)]
        return Bar(_token(*key), f"{number(value[key], 2)}, advance {number(inside, 2)}", parts)

    return bar_chart(
        data,
        [*map(bar, shown)],
        "USD",
        subject="Collateral by chain and token",
        empty="no token with a balance and a rate",
        ax=ax,
        size=size,
        title=title,
        legend=[Patch(**outlined(BLUE), label="value"), legend_key("advance", Look(BLUE, "", 0, "//"))],
        notes=(
            f"Total value {sum_of_values} USD, advance {sum_of_advances} USD, {contracts}.",
            not_drawn(len(rest), f"{number(total(value[key] for key in rest), 2)} USD"),
            left_out(without, "without a value") if not known and not data.attrs.get("notes") else "",
        ),
    )


def _token(chain: object, token: object) -> str:
    where = f"chain {chain}" if not isinstance(chain, int) or chain < 1 else chain_of(chain).name
    text = str(token)
    short = text if len(text) <= 13 else f"{text[:6]}…{text[-4:]}"
    return f"{label(where, 22)} · {label(short, 13)}"
