"""The value of the tokens of contracts by chain, and the amount advanced on them."""

from decimal import Decimal
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from workbench.chains.families import chain_of
from workbench.charts.canvas import THICKNESS, Bar, Part, Size, bar_chart, filled, legend_key, outlined
from workbench.charts.data import sums, table, top_of, total
from workbench.charts.text import counted, label, left_out, not_drawn, number
from workbench.rendering.palette import BLUE, Look
from workbench.tables.decimals import decimals
from workbench.tables.reports import contract_values


def collateral_chart(contracts: Any, *, top: int = 15, ax: Axes | None = None, size: Size = "notebook") -> Axes:
    """Draw the value of contracts by chain and token in USD, and within it the advance.

    Args:
        contracts: Contracts, their frame, or the result of `tables.contract_values`.
        top: Number of chains and tokens drawn, those of highest value; the others are summed up in a note.
        ax: Axes to draw on; a new figure of `size` by default.
        size: "notebook", "slide", "compact", or width and height in inches.
    """
    known = isinstance(contracts, pd.DataFrame) and contracts.attrs.get("kind") == "contract_values"
    data = table(contracts if known else contract_values(contracts), "chain_id", "tokens.address", "value", "advance")
    values = decimals(data["value"])
    keys = list(zip(data["chain_id"].to_list(), data["tokens.address"].to_list(), strict=True))
    value, advance = sums(keys, values), sums(keys, decimals(data["advance"]))
    shown, rest = top_of(value, top)
    sum_of_values, sum_of_advances = (number(total(one.values()), 2) for one in (value, advance))
    without = sum(one is None for one in values)
    contracts = counted(data["id"].nunique() if "id" in data else 0, "contract")
    return bar_chart(
        data, [_bar(_name(*key), value[key], advance.get(key, Decimal(0))) for key in shown], "USD",
        title="Collateral by chain and token", empty="no token with a balance and a rate", ax=ax, size=size,
        legend=[Patch(**outlined(BLUE), label="value"), legend_key("advance", Look(BLUE, "", 0, "//"))],
        notes=(f"Total value {sum_of_values} USD, advance {sum_of_advances} USD, {contracts}.",
            not_drawn(len(rest), f"{number(total(value[key] for key in rest), 2)} USD"),
            left_out(without, "without a value") if not known and not data.attrs.get("notes") else "",
        ),
    )  # fmt: skip


def _name(chain: Any, token: Any) -> str:
    where = f"chain {chain}" if not isinstance(chain, int) or chain < 1 else chain_of(chain).name
    text = str(token)
    short = text if len(text) <= 13 else f"{text[:6]}…{text[-4:]}"
    return f"{label(where, 22)} · {label(short, 13)}"


def _bar(name: str, value: Decimal, advance: Decimal) -> Bar:
    outer = Part(length=value, style=outlined(BLUE))
    inner = Part(length=advance, style=filled(BLUE, "//"), height=THICKNESS * 0.62)
    return Bar(name=name, label=f"{number(value, 2)}, advance {number(advance, 2)}", parts=[outer, inner])
