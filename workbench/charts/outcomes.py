"""Charts of outcomes: why authorizations were declined, and the state of webhook deliveries."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from workbench.charts.canvas import Bar, Part, Size, bar_chart, filled, legend_key
from workbench.charts.data import table, texts, top_of
from workbench.charts.text import counted, label, left_out, not_drawn, percent
from workbench.interface.walk import get_path
from workbench.rendering.palette import Look, look, word

_REASONS = ("declined_reason", "body.spend.declined_reason")
_STATUSES = ("status", "body.spend.status")
_IDS = ("transaction_id", "body.id")


def declines_chart(transactions: Any, *, top: int = 14, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw declined authorizations by reason, each transaction once.

    Args:
        transactions: Answers of `simulate_authorization`, transaction events, or a frame of either.
        top: Number of reasons drawn; the others are summed up in a note.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
    """
    data = transactions
    if not isinstance(data, pd.DataFrame):
        data = table(data, of=None if transactions else "simulate_authorization")
    reason, status, key = (next((one for one in names if one in data), None) for names in (_REASONS, _STATUSES, _IDS))
    if reason is None and len(data.columns):
        raise ValueError(f"the chart needs the column {' or '.join(_REASONS)}")
    counts, repeated = _reasons(data, reason, status, key)
    declined = sum(counts.values())
    shown, rest = top_of(counts, top)
    style = look("declined")
    bars = [
        Bar(
            name=label(word(name), 34) if name else "no reason given",
            label=f"{counts[name]:,} ({percent(counts[name], declined)})",
            parts=[Part(length=counts[name], style=filled(style.color, style.hatch if name else "."))],
        )
        for name in shown
    ]
    everything = counted(data[key].nunique() if key else len(data), "authorization")
    again = f"{counted(repeated, 'row')} of a transaction that was already counted." if repeated else ""
    others = not_drawn(len(rest), f"{sum(counts[name] for name in rest):,}")
    return bar_chart(
        data, bars, "declined authorizations", ax=ax, size=size, whole=True, least_rows=4,
        title=f"Declines by reason: {declined:,} of {everything}", empty="no authorization was declined",
        notes=(others, again),
    )  # fmt: skip


def _reasons(
    data: pd.DataFrame, reason: str | None, status: str | None, key: str | None
) -> tuple[dict[str, int], int]:  # fmt: skip
    """Return declined transactions by reason ("" for none), and the rows that repeat a transaction."""
    if reason is None:
        return {}, 0
    declined = data[reason].notna()
    if status:
        declined |= (data[status] == "declined").fillna(False).to_numpy(dtype=bool)
    rows = data[declined]
    # Of several events of one transaction the first that gives a reason counts.
    once = rows.sort_values(reason, key=lambda c: c.isna(), kind="stable").drop_duplicates(key) if key else rows
    made: dict[str, int] = {}
    for name in texts(once[reason]):
        made[name or ""] = made.get(name or "", 0) + 1
    return made, len(rows) - len(once)


_COLUMNS = ("kind", "state", "attempts")
_STATES: Mapping[str, Look] = {
    "first attempt": look("done"),
    "later attempt": look("partly"),
    "waiting": look("sending"),
    "failed": look("refused"),
}


def deliveries_chart(deliveries: Any, *, top: int = 12, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw webhook deliveries by kind of event: delivered at the first attempt, at a later one, waiting, failed.

    Args:
        deliveries: The result of `sandbox.deliveries()`, or a frame with columns kind, state and attempts (or their number).
        top: Number of kinds drawn; the others are counted in a note.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
    """
    if not isinstance(deliveries, pd.DataFrame):
        rows = list(deliveries)
        # As objects: half of a surrogate pair cannot be in a column of text.
        deliveries = pd.DataFrame(
            {name: pd.Series([get_path(row, name) for row in rows], dtype=object) for name in _COLUMNS}
        )
        deliveries.attrs["kind"] = "delivery"
    data = table(deliveries, *_COLUMNS)
    counts: dict[str, dict[str, int]] = {}
    total = 0
    for kind, state, attempts in zip(*(data[name].to_list() for name in _COLUMNS), strict=True):
        made = _attempts(attempts)
        total += made
        delivered = "first attempt" if made <= 1 else "later attempt"
        shown_as = delivered if state == "delivered" else str(state) if state in _STATES else "waiting"
        counts.setdefault(str(kind), dict.fromkeys(_STATES, 0))[shown_as] += 1
    shown, rest = top_of({kind: sum(states.values()) for kind, states in counts.items()}, top)
    states = [state for state in _STATES if any(counts[kind][state] for kind in shown)]
    hidden = sum(sum(counts[kind].values()) for kind in rest)
    return bar_chart(
        data, [_delivery_bar(label(kind), counts[kind]) for kind in shown], "deliveries", ax=ax, size=size, whole=True,
        title=f"Webhook deliveries by kind: {len(data):,}, in {counted(total, 'attempt')}", least_rows=4,
        empty="there are no deliveries", legend=[legend_key(state, _STATES[state]) for state in states],
        notes=[left_out(hidden, f"of {len(rest):,} more kinds")],
    )  # fmt: skip


def _attempts(attempts: Any) -> int:
    if isinstance(attempts, Sequence) and not isinstance(attempts, str):
        return len(attempts)
    return int(attempts) if attempts == attempts and attempts is not None else 0


def _delivery_bar(name: str, counts: Mapping[str, int]) -> Bar:
    parts, left = [], 0
    for state, style in _STATES.items():
        if counts[state]:
            parts.append(Part(length=counts[state], left=left, style=filled(style.color, style.hatch)))
            left += counts[state]
    text = [f"{left:,}", *(f"{counts[state]:,} {state}" for state in ("waiting", "failed") if counts[state])]
    return Bar(name=name, label=", ".join(text), parts=parts)
