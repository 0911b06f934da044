"""`workbench chart …`: a chart of what the sandbox or a service holds, as a picture or drawn in the terminal."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

from workbench.errors import visible
from workbench.rendering.text import screen_of
from workbench.storage import write_file
from workbench.terminal.exits import say, usage_error
from workbench.terminal.where import Where, session

_ENDINGS = (".svg", ".png", ".pdf")


def _rewards(api: Any, users: tuple[str, ...]) -> Any:
    from workbench.tables.rewards import read

    if not users:
        users = tuple(user["id"] for user in api.guide()["rewards_users"] if not user.get("beyond_paging"))
    return read(api, users, progress=False)


_DATA: dict[str, tuple[str, Callable[[Any, tuple[str, ...]], Any]]] = {
    "points": ("points_chart", _rewards),
    "categories": ("categories_chart", _rewards),
    "merchants": ("merchants_chart", _rewards),
    "points-per-dollar": ("points_per_dollar_chart", _rewards),
    "posting": ("posting_chart", _rewards),
    "collateral": ("collateral_chart", lambda api, _: api.list_contracts()),
    "declines": ("declines_chart", lambda api, _: [one for one in api.inbox.events() if one.resource == "transaction"]),
    "applications": ("funnel_chart", lambda api, _: api.inbox.events("user.updated")),
    "deliveries": ("deliveries_chart", lambda api, _: api.sandbox.deliveries()),
}
_Kind: Any = Literal[tuple(_DATA)]


def chart(kind: _Kind, *users: str, out: Path | None = None, where: Where = Where()) -> None:
    """Draw a chart in the terminal, or into a file.

    Args:
        kind: What to draw.
        users: Ids of the users, for charts of rewards; the sandbox's own if omitted.
        out: File to write, .svg, .png or .pdf, in place of the terminal.
    """
    if out is not None and out.suffix not in _ENDINGS:
        raise usage_error(
            f"--out: unsupported file extension {visible(out.suffix, 20)!r} (supported: {', '.join(_ENDINGS)})."
        )
    from workbench import charts

    name, read = _DATA[kind]
    with session(where) as api:
        axes = getattr(charts, name)(read(api, users))
    if out is None:
        screen = screen_of(sys.stdout)
        print("\n".join(_drawn(axes, screen.width)))
        return
    form = out.suffix.lower().removeprefix(".")
    write_file(out, partial(axes.figure.savefig, format=form, bbox_inches="tight"), private=False)
    say(f"Wrote {visible(str(out), 200)}.")


def _drawn(axes: Any, width: int) -> Iterator[str]:
    """Yield the lines of a chart of bars: those of each category, or of each interval from left to right."""
    yield from axes.get_title(loc="left").split("\n") if axes.get_title(loc="left") else axes.get_title().split("\n")
    bars = [(bar.get_x(), bar.get_y(), bar.get_width(), bar.get_height()) for bar in axes.patches]
    if not bars:
        yield from (f"  {one.get_text()}" for one in axes.texts)
        return
    lying = all(abs(height) <= 1 for *_, height in bars)
    ticks = axes.get_yticks() if lying else axes.get_xticks()
    names = [
        visible(one.get_text().replace("\n", " "), 60)
        for one in (axes.get_yticklabels() if lying else axes.get_xticklabels())
    ]
    texts = {round(getattr(one, "xy", one.get_position())[1]): one.get_text() for one in axes.texts} if lying else {}
    rows: dict[float, list[float]] = {}
    for x, y, wide, high in bars:
        place = round(y + high / 2) if lying else round(x + wide / 2, 3)
        rows.setdefault(place, []).append(x + wide if lying else y + high if high > 0 else y or high)
    labels = {round(float(tick), 3): name for tick, name in zip(ticks, names, strict=True)}
    named = {place: labels.get(place, "" if any(one in labels for one in rows) else f"{place:,.1f}") for place in rows}
    lines = [
        (named[place] if not number else "", end, (lying and texts.get(int(place))) or f"{end:,.6g}")
        for place, ends in sorted(rows.items())
        for number, end in enumerate(sorted({max(ends), min(0.0, *ends)}, reverse=True))
        if end or not number
    ]
    space, beside = max(len(name) for name, _, _ in lines), max(len(value) for *_, value in lines)
    longest = max(abs(end) for _, end, _ in lines) or 1
    for name, end, value in lines:
        bar = ("█" if end >= 0 else "-") * round(abs(end) / longest * max(10, width - space - beside - 3))
        yield f"{name:>{space}}  {bar} {value}"
    yield f"{'':{space}}  {axes.get_xlabel()}"
