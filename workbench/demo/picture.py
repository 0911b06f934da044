"""The picture of the tour: points earned and redeemed, month by month, as a PNG."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from workbench.faces.palette import look

Months = Mapping[str, Mapping[str, Decimal]]
"""By month (`2026-01`) and type (`earned`, `redeemed`), the points."""


def draw(months: Months, path: Path, *, title: str) -> None:
    """Draw the points of each month into a PNG: what was earned above, what was redeemed below, each on its own scale."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.8), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, x=0.02, ha="left")
    panels = figure.subplots(2, 1, sharex=True)
    names = list(months)
    for kind, axes in zip(("earned", "redeemed"), panels, strict=True):
        style = look(kind)
        heights = [float(months[name].get(kind, Decimal(0))) for name in names]
        axes.bar(names, heights, width=0.72, color=style.colour, hatch=style.hatch, edgecolor="white")
        axes.set_ylabel(f"points {kind}")
        axes.spines[["top", "right"]].set_visible(False)
        axes.yaxis.set_major_formatter("{x:,.0f}")
    panels[-1].tick_params(axis="x", rotation=45)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": "workbench"})
