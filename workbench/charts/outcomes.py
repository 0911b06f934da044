"""Why authorizations were declined, and what became of webhook deliveries."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from workbench.charts.bars import THICK, Bar, filled, key, lying, named, room_behind
from workbench.charts.canvas import Sheet, Size, sheet
from workbench.charts.facts import left_out, notes_of, table, words
from workbench.charts.words import counted, label, others, share
from workbench.rendering.palette import Look, look, word

_REASONS = ("declined_reason", "body.spend.declined_reason")
_STATUSES = ("status", "body.spend.status")
_IDS = ("transaction_id", "body.id")
ASSUMED = "Assumed: the kinds and members of transaction events are not shown."


def declines_chart(transactions: Any, *, top: int = 14, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw declined authorizations by reason, each transaction once.

    Args:
        transactions: Answers of `simulate_authorization`, transaction events, or a frame of either.
        top: How many reasons are drawn; the others are a footnote.
        ax: An Axes to draw on; where left out, one in a figure of its own, of `size`.
    """
    data = _transactions(transactions)
    reason, status, key = (next((n for n in names if n in data), None) for names in (_REASONS, _STATUSES, _IDS))
    if reason is None and len(data.columns):
        raise ValueError(f"the chart needs the column {' or '.join(_REASONS)}")
    everyone = data[key].nunique() if key else len(data)
    tally, doubled = _tally(data, reason, status, key)
    declined = sum(tally.values())
    ranked = sorted(tally.items(), key=lambda one: (-one[1], one[0] or ""))
    shown, rest = ranked[: max(top, 1)], ranked[max(top, 1) :]
    style = look("declined")
    bars = [
        Bar(
            name=label(word(name), 34) if name else "no reason given", value=Decimal(count),
            says=f"{count:,} ({share(count, declined)})", color=style.color, hatch=style.hatch if name else "..",
        )
        for name, count in shown
    ]  # fmt: skip
    with sheet(ax, size, rows=max(len(bars), 4)) as on:
        on.title(
            f"Declines by reason: {declined:,} of {counted(everyone, 'authorization')}", beside=[bar.name for bar in bars]
        )  # fmt: skip
        if bars:
            lying(on, bars, "declined authorizations")
            on.numbers("x", whole=True)
        else:
            on.nothing("Nothing to show: nothing was declined.")
        on.notes(
            notes_of(
                data,
                others(len(rest), f"{sum(count for _, count in rest):,}") if rest else "",
                ASSUMED if reason == _REASONS[1] else "",
                f"{counted(doubled, 'row')} of a transaction that was counted already." if doubled else "",
            )
        )
    return on.axes


def _transactions(transactions: Any) -> pd.DataFrame:
    if isinstance(transactions, pd.DataFrame):
        return transactions
    return table(transactions, of=None if transactions else "simulate_authorization")


def _tally(
    data: pd.DataFrame, reason: str | None, status: str | None, key: str | None
) -> tuple[dict[str | None, int], int]:  # fmt: skip
    if reason is None:
        return {}, 0
    declined = data[reason].notna()
    if status:
        declined |= (data[status] == "declined").fillna(False).to_numpy(dtype=bool)
    rows = data[declined]
    # Of several events of one transaction the first that gives a reason counts.
    once = rows.sort_values(reason, key=lambda c: c.isna(), kind="stable").drop_duplicates(key) if key else rows
    made: dict[str | None, int] = {}
    for name in words(once[reason]):
        made[name or None] = made.get(name or None, 0) + 1
    return made, len(rows) - len(once)


_MEMBERS = ("kind", "state", "attempts")
_FATES: Mapping[str, Look] = {
    "at the first try": look("done"),
    "after more tries": look("partly"),
    "waiting": look("sending"),
    "failed": look("refused"),
}


def deliveries_chart(deliveries: Any, *, top: int = 12, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw webhook deliveries by kind of event: delivered at the first try, after more, still waiting, failed.

    Args:
        deliveries: What `sandbox.deliveries()` gave, or a frame of it: columns kind, state and attempts (or their number).
        top: How many kinds are drawn; the others are left out and counted.
        ax: An Axes to draw on; where left out, one in a figure of its own, of `size`.
    """
    data = table(deliveries if isinstance(deliveries, pd.DataFrame) else _rows(deliveries), *_MEMBERS)
    fates: dict[str, dict[str, int]] = {}
    tries = 0
    for kind, state, attempts in zip(*(data[name].to_list() for name in _MEMBERS), strict=True):
        count = _number(attempts)
        tries += count
        one = fates.setdefault(str(kind), dict.fromkeys(_FATES, 0))
        one[_fate(str(state), count)] += 1
    ranked = sorted(fates, key=lambda kind: (-sum(fates[kind].values()), kind))
    shown = ranked[: max(top, 1)]
    names = [label(kind) for kind in shown]
    with sheet(ax, size, rows=max(len(shown), 4)) as on:
        on.title(
            f"Webhook deliveries by kind: {len(data):,}, in {counted(tries, 'attempt')}",
            beside=names,
            keyed=bool(shown),
        )
        if shown:
            _stacked(on, names, [fates[kind] for kind in shown])
        else:
            on.nothing("Nothing to show: nothing was to be delivered.")
        hidden = sum(sum(fates[kind].values()) for kind in ranked[len(shown) :])
        on.notes(notes_of(data, left_out(hidden, f"of {len(ranked) - len(shown):,} more kinds")))
    return on.axes


def _rows(deliveries: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    rows = list(deliveries)
    # As objects: half of a surrogate pair cannot stand in a column of text.
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in _MEMBERS})


def _number(attempts: Any) -> int:
    if isinstance(attempts, Sequence) and not isinstance(attempts, str):
        return len(attempts)
    return int(attempts) if attempts == attempts and attempts is not None else 0


def _fate(state: str, attempts: int) -> str:
    if state == "delivered":
        return "at the first try" if attempts <= 1 else "after more tries"
    return state if state in _FATES else "waiting"


def _stacked(on: Sheet, names: list[str], rows: list[dict[str, int]]) -> None:
    totals = []
    for place, row in enumerate(rows):
        left = 0
        for fate, style in _FATES.items():
            if row[fate]:
                on.axes.barh(place, row[fate], left=left, height=THICK, **filled(style.color, style.hatch))
                left += row[fate]
        totals.append(left)
    says = [", ".join(_said(row, total)) for row, total in zip(rows, totals, strict=True)]
    for place, (total, text) in enumerate(zip(totals, says, strict=True)):
        on.text(total, place, text, dx=4, va="center", gid="value")
    named(on, names)
    room_behind(on, [float(total) for total in totals], max(map(len, says)))
    on.numbers("x", whole=True)
    on.labels("deliveries", "")
    used = [fate for fate in _FATES if any(row[fate] for row in rows)]
    on.legend([key(fate, _FATES[fate].color, _FATES[fate].hatch) for fate in used])


def _said(row: Mapping[str, int], total: int) -> Iterable[str]:
    yield f"{total:,}"
    for fate in ("waiting", "failed"):
        if row[fate]:
            yield f"{row[fate]:,} {fate}"
