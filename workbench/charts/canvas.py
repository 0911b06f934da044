"""The paper of a chart: its size, its ink, its title and its footnotes, without a trace in matplotlib's global state.

A figure of our own is a plain `Figure`: no pyplot, so nothing piles up and a notebook shows it once, by the Axes that is
returned. It is transparent, in an ink that can be read on white and on black; the colors of a style that you set are
kept.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any, Literal

import attrs
import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from workbench.charts.words import plain, wrapped

INK = "#6f7681"
"""Contrast 4.6 on white, 4.1 on #111."""
Size = Literal["notebook", "slide"] | tuple[float, float]
_SIZES = {"notebook": (6.4, 4.0), "slide": (13.3, 7.5)}
_DPI = 144
_MOST_NOTES = 5
_WIDE = 0.58  # width of a letter, of the font's size
_CALM: Any = {"text.usetex": False, "text.parse_math": True, "path.sketch": None, "path.effects": []}


class Chart(Axes):
    """Axes that a notebook shows as a picture."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        figure = self.get_figure(root=True)
        assert isinstance(figure, Figure)
        data = BytesIO()
        figure.savefig(data, format="png", dpi=_DPI)
        width, height = figure.get_size_inches() * 96
        return data.getvalue(), {"width": round(width), "height": round(height)}


@attrs.frozen(kw_only=True)
class Sheet:
    """The Axes that is drawn on, the font size that fits it, and its ink."""

    axes: Axes
    base: float
    ink: str
    width: float  # inches
    own: bool

    @property
    def small(self) -> float:
        """The size of footnotes and direct labels."""
        return self.base * 0.82

    def letters(self, inches: float, size: float) -> int:
        """Return how many letters of a size fit into a width."""
        return int(inches * 72 / (_WIDE * size))

    def title(self, text: str, *, beside: Iterable[str] = (), keyed: bool = False) -> None:
        """Write the title, wrapped to what is left beside the labels `beside` the axis; over a legend where `keyed`."""
        taken = max((len(one) for one in beside), default=8) * _WIDE * self.base * 0.92 / 72 + 0.35
        width = self.letters(self.width - taken, self.base * 1.2)
        self.axes.set_title(
            wrapped(text, width), x=0, ha="left", fontsize=self.base * 1.2, fontweight="bold", color=self.ink,
            pad=self.base * (2.3 if keyed else 0.9), linespacing=1.25,
        )  # fmt: skip

    def notes(self, notes: Iterable[str]) -> None:
        """Write the footnotes, each once, below everything."""
        found = list(dict.fromkeys(note for note in notes if note))
        if not found:
            return
        width = int(self.letters(self.width - 0.2, self.small) * 1.06)
        shown = [wrapped(note, width) for note in found[:_MOST_NOTES]]
        if len(found) > _MOST_NOTES:
            shown.append(f'… and {len(found) - _MOST_NOTES} more: frame.attrs["notes"]')
        look: Any = {"fontsize": self.small, "color": self.ink, "ha": "left", "linespacing": 1.3}
        text = "\n".join(shown)
        if self.own:
            figure = self.axes.get_figure(root=True)
            assert isinstance(figure, Figure)
            figure.supxlabel(text, x=0.012, **look)
        else:
            self.axes.annotate(
                text, (0, 0), (0, -4.6 * self.base), xycoords="axes fraction", textcoords="offset points", va="top", **look
            ).set_gid("notes")  # fmt: skip

    def labels(self, x: str, y: str) -> None:
        """Name the axes, with their units."""
        self.axes.set_xlabel(plain(x), fontsize=self.base, color=self.ink)
        self.axes.set_ylabel(plain(y), fontsize=self.base, color=self.ink)

    def numbers(self, which: Literal["x", "y"], *, whole: bool = False) -> None:
        """Let an axis carry numbers: grouped by thousands, few, with faint lines across."""
        axis = self.axes.xaxis if which == "x" else self.axes.yaxis
        axis.set_major_locator(MaxNLocator(6, integer=whole, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
        self.axes.grid(axis=which, color=self.ink, alpha=0.22, linewidth=0.7, linestyle="-")

    def text(self, x: float, y: float, text: str, **look: Any) -> None:
        """Write a direct label at a point of the data, moved by `dx`, `dy` points (of a notebook's size)."""
        move = (look.pop("dx", 0) * self.base / 9, look.pop("dy", 0) * self.base / 9)
        look = {"fontsize": self.small, "color": self.ink, "annotation_clip": False, **look}
        self.axes.annotate(text, (x, y), move, textcoords="offset points", **look)

    def legend(self, handles: list[Any] | None = None, **where: Any) -> None:
        """Show what the patterns mean, between the title and the plot."""
        look = {
            "loc": "lower left",
            "bbox_to_anchor": (-0.008, 1.0),
            "ncols": 6,
            "borderaxespad": 0.25,
            "borderpad": 0,
            **where,
        }
        self.axes.legend(
            handles=handles, frameon=False, fontsize=self.small, labelcolor=self.ink, handlelength=2.2, handleheight=1.1, columnspacing=1.4, **look
        )  # fmt: skip

    def nothing(self, why: str) -> None:
        """Say in the middle of the empty plot why there is nothing."""
        self.axes.set_xticks([])
        self.axes.set_yticks([])
        self.axes.text(
            0.5, 0.5, wrapped(why, self.letters(self.width - 1, self.base)), ha="center", va="center",
            transform=self.axes.transAxes, fontsize=self.base, color=self.ink,
        )  # fmt: skip


def tick(value: float) -> str:
    """Return the number at a tick."""
    return f"{value:,.10g}".replace("-", "−")


@contextmanager
def sheet(ax: Axes | None, size: Size, *, rows: int = 0) -> Iterator[Sheet]:
    """Return what to draw on; nothing of matplotlib's settings is changed by it, then or later.

    Args:
        ax: An Axes of yours; where left out, one in a figure of its own.
        size: Of a figure of its own: "notebook", "slide", or width and height in inches.
        rows: Lines of a chart of horizontal bars; a figure of its own in a notebook is as high as they need.
    """
    with mpl.rc_context(_CALM):
        text, face = mpl.rcParams["text.color"], mpl.rcParams["figure.facecolor"]
        ink = INK if text == "black" else text
        if ax is None:
            width, height = _SIZES[size] if isinstance(size, str) else size
            if rows and size == "notebook":
                height = min(1.9 + 0.27 * rows, 9.0)
            figure = Figure(
                figsize=(width, height), layout="constrained", facecolor="none" if face == "white" else face
            )
            axes: Axes = figure.add_subplot(axes_class=Chart)
            axes.set_facecolor("none")
        else:
            axes = ax
            width = ax.get_position().width * ax.get_figure(root=True).get_figwidth() / 0.8  # type: ignore[union-attr]
        base = min(max(9 + (width - 6.4) * 5 / 6.9, 7.0), 16.0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(ink)
        axes.tick_params(which="both", color=ink, labelcolor=ink, labelsize=base * 0.92, length=0, pad=base * 0.45)
        axes.set_axisbelow(True)
        yield Sheet(axes=axes, base=base, ink=ink, width=width, own=ax is None)
