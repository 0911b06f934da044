"""The money of simulated transactions as a waterfall."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from workbench.charts.bars import filled, key, open_bar
from workbench.charts.canvas import Sheet, Size, sheet
from workbench.charts.facts import notes_of, table
from workbench.charts.words import counted, dollars, label, scale_of, usd
from workbench.rendering.palette import Look, look
from workbench.sequences.ledger import Ledger
from workbench.tables.frames import to_frame

LOOKS: Mapping[str, tuple[Look, str]] = {
    "hold": (look("authorized"), "o"),
    "above the hold": (look("declined"), "^"),
    "release": (look("reversed"), "s"),
    "settlement": (look("settled"), "D"),
    "refund": (look("refunded"), "v"),
}
_MOST_STEPS = 14
_COLUMNS = ("step", "source", "target", "amount", "kind")


@attrs.frozen
class _Step:
    name: str
    says: str
    moved: int  # of what is available, in cents
    amount: int


def waterfall_chart(ledger: Any, *, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw what each step of a transaction did to the money a cardholder can spend, one bar after the other.

    Args:
        ledger: A ledger, its frame, or the run it belongs to.
        ax: An Axes to draw on; where left out, one in a figure of its own, of `size`.
    """
    data = ledger_of(ledger)
    steps = [
        _Step(
            str(name),
            str(says),
            (target == "available") * int(amount) - (source == "available") * int(amount),
            int(amount),
        )
        for name, source, target, amount, says in zip(*(data[column].to_list() for column in _COLUMNS), strict=True)
    ]
    together = len(steps) > _MOST_STEPS
    shown = _by_kind(steps) if together else steps
    net = sum(step.moved for step in steps)
    with sheet(ax, size) as on:
        on.title(f"What {counted(len(steps), 'movement')} left available: {_signed(net)} USD", keyed=bool(shown))
        if shown:
            _waterfall(on, shown, net)
        else:
            on.nothing("Nothing to show: no money moved.")
        on.notes(
            notes_of(
                data,
                f"More than {_MOST_STEPS} movements: drawn together by kind." if together else "",
                "A settlement moves what was held to posted; what is available stays as it is." if shown else "",
            )
        )
    return on.axes


def ledger_of(ledger: Any) -> pd.DataFrame:
    """Return the frame of a ledger, or of the ledger of a run."""
    if isinstance(ledger, pd.DataFrame):
        return table(ledger, *_COLUMNS)
    return to_frame(ledger if isinstance(ledger, Ledger) else ledger.ledger())


def _by_kind(steps: Sequence[_Step]) -> list[_Step]:
    kinds = sorted(
        {step.says for step in steps}, key=lambda says: (list(LOOKS).index(says) if says in LOOKS else 99, says)
    )
    of = {kind: [step for step in steps if step.says == kind] for kind in kinds}
    return [
        _Step(f"{len(same):,} × {kind}", kind, sum(one.moved for one in same), sum(one.amount for one in same))
        for kind, same in of.items()
    ][:_MOST_STEPS]  # fmt: skip


def _signed(cents: int) -> str:
    return ("+" if cents > 0 else "−" if cents < 0 else "") + dollars(abs(cents))


def _waterfall(on: Sheet, steps: Sequence[_Step], net: int) -> None:
    levels = [0]
    for step in steps:
        levels.append(levels[-1] + step.moved)
    scale = scale_of([usd(level) for level in levels] + [usd(step.amount) for step in steps])
    height = [scale(usd(level)) for level in levels]
    slanted, tight = len(steps) > 5, len(steps) > 1.4 * on.width
    for place, step in enumerate(steps):
        style = LOOKS.get(step.says, (look(""), "o"))[0]
        low, high = sorted((height[place], height[place + 1]))
        if step.moved:
            on.axes.bar(place, high - low, bottom=low, width=0.7, **filled(style.color, style.hatch))
        else:
            on.axes.bar(place, scale(usd(step.amount)), bottom=high, width=0.7, **open_bar(style.color))
        down = step.moved < 0
        end = low if down else high if step.moved else high + scale(usd(step.amount))
        _beside(on, place, end, _signed(step.moved) if step.moved else dollars(step.amount), down=down, tight=tight)
        on.axes.plot([place - 0.35, place + 1.35], [height[place + 1]] * 2, color=on.ink, linewidth=0.8, linestyle=":")
    on.axes.bar(len(steps), height[-1], width=0.7, **filled(on.ink, "xx"))
    _beside(on, len(steps), height[-1], _signed(net), down=net < 0, tight=tight, fontweight="bold")
    on.axes.axhline(0, color=on.ink, linewidth=1)
    names = [label(step.name, 22 if len(steps) < 5 else 18) for step in steps] + ["in all"]
    on.axes.set_xticks(range(len(names)), names)
    if slanted:
        on.axes.tick_params(axis="x", labelrotation=35)
        for text_of in on.axes.get_xticklabels():
            text_of.set(ha="right", rotation_mode="anchor")
    tops = [*height, *(h + scale(usd(step.amount)) for h, step in zip(height, steps, strict=False) if not step.moved)]
    span = (max(tops) - min(tops)) or 1.0
    on.axes.set_ylim(min(tops) - span * 0.11, max(tops) + span * 0.11)
    on.numbers("y")
    on.labels("", scale.unit("USD, change of what is available"))
    kinds = [kind for kind in LOOKS if any(step.says == kind for step in steps)]
    on.legend([_key(kind) for kind in kinds])
    on.axes.spines["bottom"].set_visible(False)


def _beside(on: Sheet, x: int, y: float, text: str, *, down: bool, tight: bool, **look_of: Any) -> None:
    """Write the amount of a bar at the end it moved to."""
    on.text(
        x, y, text, dy=-3 if down else 3, ha="center", va="top" if down else "bottom", gid="value",
        fontsize=on.small * (0.86 if tight else 1), **look_of,
    )  # fmt: skip


def _key(kind: str) -> Patch:
    style = LOOKS[kind][0]
    if kind == "settlement":
        return Patch(**open_bar(style.color), label="settlement (posted)")
    return key(kind, style.color, style.hatch)
