"""What the tokens of contracts are worth, by chain, and what is advanced on them."""

from decimal import Decimal
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from workbench.chains.families import chain_of
from workbench.charts.bars import THICK, filled, key, named, open_bar, room_behind
from workbench.charts.canvas import Sheet, Size, sheet
from workbench.charts.facts import exact, left_out, notes_of, sums, table, whole
from workbench.charts.words import counted, label, number, others, scale_of
from workbench.rendering.palette import BLUE
from workbench.tables.reports import contract_values

_SHORT = "Addresses are shortened; those of the frame are whole."


def collateral_chart(contracts: Any, *, top: int = 15, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw the value of contracts by chain and token in USD, and within it what is advanced.

    Args:
        contracts: Contracts, their frame, or what `tables.contract_values` gave.
        top: How many chains and tokens are drawn, those worth most; the others are a footnote.
        ax: An Axes to draw on; where left out, one in a figure of its own, of `size`.
    """
    known = isinstance(contracts, pd.DataFrame) and contracts.attrs.get("kind") == "contract_values"
    data = table(contracts if known else contract_values(contracts), "chain_id", "tokens.address", "value", "advance")
    values, advances = exact(data["value"]), exact(data["advance"])
    keys = list(zip(data["chain_id"].to_list(), data["tokens.address"].to_list(), strict=True))
    value, advance = sums(keys, values), sums(keys, advances)
    ranked = sorted(value, key=lambda key: (value[key].copy_negate(), str(key)))
    shown, rest = ranked[: max(top, 1)], ranked[max(top, 1) :]
    rows = [
        (_named(chain, token), value[chain, token], advance.get((chain, token), Decimal(0))) for chain, token in shown
    ]
    totals = whole(value.values()), whole(advance.values())
    with sheet(ax, size, rows=len(rows)) as on:
        on.title(
            "Collateral by chain and token",
            beside=[name for name, _, _ in rows],
            keyed=bool(rows),
        )
        if rows:
            _nested(on, rows)
        else:
            on.nothing("Nothing to show: no token with a balance and a rate.")
        worthless = sum(one is None for one in values)
        on.notes(
            notes_of(
                data,
                f"In all: value {number(totals[0], 2)} USD, advance {number(totals[1], 2)} USD, "
                f"{counted(data['id'].nunique() if 'id' in data else 0, 'contract')}.",
                others(len(rest), f"{number(whole(value[k] for k in rest), 2)} USD") if rest else "",
                left_out(worthless, "without a value") if not known and not data.attrs.get("notes") else "",
                _SHORT if rows else "",
            )
        )
    return on.axes


def _named(chain: Any, token: Any) -> str:
    where = f"chain {chain}" if not isinstance(chain, int) or chain < 1 else chain_of(chain).name
    text = str(token)
    short = text if len(text) <= 13 else f"{text[:6]}…{text[-4:]}"
    return f"{label(where, 22)} · {label(short, 13)}"


def _nested(on: Sheet, rows: list[tuple[str, Decimal, Decimal]]) -> None:
    scale = scale_of(value for _, value, _ in rows)
    says = []
    for place, (_, value, advance) in enumerate(rows):
        on.axes.barh(place, scale(value), height=THICK, **open_bar(BLUE))
        on.axes.barh(place, scale(advance), height=THICK * 0.62, **filled(BLUE, "//"))
        says.append(f"{number(value, 2)}, advance {number(advance, 2)}")
        on.text(max(scale(value), 0), place, says[-1], dx=4, va="center", gid="value")
    named(on, [name for name, _, _ in rows])
    room_behind(on, [scale(value) for _, value, _ in rows], max(map(len, says)))
    on.numbers("x")
    on.labels(scale.unit("USD"), "")
    on.legend([Patch(**open_bar(BLUE), label="value"), key("of it advanced", BLUE, "//")])
