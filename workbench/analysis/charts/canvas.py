"""Canvas of a chart: Axes, title, axis labels, legend and notes. matplotlib's global state does not change.

Figures are created without pyplot, which would keep each of them in memory. A notebook shows a figure once, through
the returned Axes. Notebooks get a transparent SVG whose text takes the color of the page, in light and dark themes;
saved files have a white background. The colors of an active matplotlib style are preserved. The label of the Axes is
the alternative text of the chart.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from io import StringIO
from typing import Any, Literal

import attrs
import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from workbench.analysis.charts.data import Steps, plain, wrapped
from workbench.analysis.tables.rows import UNKNOWN
from workbench.service.rendering.markup import Drawing

INK = "#6f7681"
"""Text color in saved files: contrast ratio 4.6 on white, 4.1 on #111. In notebooks, text has the page's color."""
Size = Literal["notebook", "slide", "compact"] | tuple[float, float]
_SIZES = {"notebook": (7.2, 4.2), "slide": (13.3, 7.5), "compact": (4.6, 2.3)}
_LEAST = 10.0  # minimum text size, in points
_MAX_NOTES = 5
LETTER = 0.58  # average width of a character, relative to the font size
_SHORT = 21  # maximum length of a name in a compact chart, in characters
_SCALE = re.compile(r"(?<=\()(?:\w+ions|×.*)(?=\))")
_REST = re.compile(r", | \([\d,]+\xa0")  # compact charts cut a label at the first match
_UNUSED = re.compile("<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
INCOMPLETE = "Not complete: rows are missing."
_NEUTRAL: Any = {"text.usetex": False, "text.parse_math": True, "path.sketch": None, "path.effects": []}


class Page(Figure):
    """Figure whose text may be in any script. Browsers choose fonts for SVG; PNG shows boxes for missing characters."""

    def savefig(self, fname: Any, **how: Any) -> None:
        """Write the figure to a file. SVG files contain text as text, not as outlines."""
        with mpl.rc_context({"svg.fonttype": "none"}):
            super().savefig(fname, **how)

    def draw(self, renderer: Any) -> None:
        """Draw the figure without warnings about characters that the font lacks."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            super().draw(renderer)


def figure_of(axes: Axes) -> Figure:
    """Return the outermost figure that contains the Axes."""
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure


class Chart(Axes):
    """Axes that a notebook shows as inline SVG with alternative text."""

    drawn: pd.DataFrame
    """The data of the chart."""

    def _repr_html_(self) -> Drawing:
        figure = figure_of(self)
        file, width = StringIO(), figure.get_figwidth() * 96
        # a white background becomes transparent, so that the page's background shows through
        face = "none" if mpl.colors.same_color(figure.get_facecolor(), "white") else "auto"
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "workbench"}):
            nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            figure.savefig(file, format="svg", facecolor=face, metadata=nothing)
        look = f"width:{width:.0f}px;max-width:100%;height:auto;stroke-linejoin:round;stroke-linecap:butt"
        head = f'class="wb-chart" role="img" aria-label="{escape(str(self.get_label()))}" style="{look}"'
        return Drawing(f"<svg {head} {_inline(file.getvalue())}")


def _inline(svg: str) -> str:
    """Return matplotlib's SVG from its `viewBox` on, with the page's font and text color and without group ids."""
    view, body = re.search(r'viewBox="[^"]*"', svg), svg[svg.index(">", svg.index("<svg")) + 1 :]
    assert view is not None
    body = _UNUSED.sub("", body)
    body = body.replace(INK, "currentColor").replace("xlink:href", "href")
    body = re.sub(r'<g id="[^"]*"', "<g", body)
    body = re.sub(r"(\.\d\d)\d+", r"\1", body)
    body = re.sub(r"'[^'\n]*'(?:, '[^'\n]*')*(?:, [-\w]+)*(?=[;\"])", "system-ui, sans-serif", body)
    return f"{view[0]}>{' '.join(map(str.strip, body.splitlines()))}"


@attrs.frozen(kw_only=True)
class Canvas:
    """Axes to draw on, with a font size and a text color."""

    axes: Axes
    data: pd.DataFrame  # frame to draw; its notes appear below the chart
    base: float
    ink: str
    width: float  # width in inches
    own: bool
    compact: bool = False  # whether the chart leaves out title and notes, because the page around it shows them
    findings: list[str] = attrs.field(factory=list)  # sentences for the alternative text

    @property
    def small(self) -> float:
        """The font size of notes and labels."""
        return max(self.base * 0.82, _LEAST)

    def say(self, *sentences: str) -> None:
        """Append sentences to the chart's alternative text."""
        self.findings.extend(
            re.sub(r"\s+", " ", sentence).replace(r"\$", "$").strip(" .") for sentence in sentences if sentence
        )

    def letters(self, inches: float, size: float) -> int:
        """Return the number of characters that fit into a width in inches, at a font size in points."""
        return int(inches * 72 / (LETTER * size))

    def short(self, text: str) -> str:
        """Shorten a name or label on a compact chart; return it unchanged on any other chart."""
        return _REST.split(text)[0][:_SHORT] if self.compact else text

    def title(self, subject: str, title: str | None, *, labels: Iterable[str], legend: object) -> None:
        """Write the title, and the subject as its subtitle. Without a title, the subject is the title.

        With `legend`, the title leaves space for a legend below it. Lines are wrapped to the width that the longest
        of `labels` leaves.
        """
        subject += " (not complete)" if self.data.attrs.get("complete") is False else ""
        self.say(title or "", subject)
        if self.compact:
            return
        taken = max(map(len, labels), default=8) * LETTER * self.base * 0.92 / 72 + 0.35
        width = self.width - taken
        pad = self.base * (2.3 if legend else 0.9)
        if title:
            subtitle = wrapped(subject, self.letters(width, self.small))
            self.annotate(
                0,
                1,
                subtitle,
                dy=pad * 9 / self.base,
                xycoords="axes fraction",
                gid="subtitle",
                va="bottom",
                linespacing=1.25,
            )
            pad += (subtitle.count("\n") + 1) * self.small * 1.25 + self.base * 0.4
        size = self.base * 1.2
        self.axes.set_title(
            wrapped(title or subject, self.letters(width, size)),
            x=0,
            fontsize=size,
            pad=pad,
            ha="left",
            color=self.ink,
            linespacing=1.25,
            fontweight="bold",
        )

    def notes(self, *more: str) -> None:
        """Write each distinct note below the chart: a note on missing rows, then `more`, then the frame's notes."""
        marks = self.data.attrs
        first = UNKNOWN if "kind" not in marks else INCOMPLETE if marks.get("complete") is False else ""
        notes = [note for note in dict.fromkeys((first, *more, *marks.get("notes", ()))) if note]
        if not notes or self.compact:
            return
        width = int(self.letters(self.width - 0.2, self.small) * 1.06)
        shown = [wrapped(note, width) for note in notes[:_MAX_NOTES]]
        if len(notes) > _MAX_NOTES:
            shown.append(f'… and {len(notes) - _MAX_NOTES} more: frame.attrs["notes"]')
        text = "\n".join(shown)
        if self.own:
            figure_of(self.axes).supxlabel(
                text, x=0.012, fontsize=self.small, color=self.ink, ha="left", linespacing=1.3
            )
        else:
            self.annotate(0, 0, text, dy=-41.4, xycoords="axes fraction", gid="notes", va="top", linespacing=1.3)

    def labels(self, x: str, y: str) -> None:
        """Set the axis labels, including units."""
        if self.compact:  # keep only the scale of the unit, as in "points (millions)"
            x, y = "", (_SCALE.search(y) or [""])[0]
        self.axes.set_xlabel(plain(x), fontsize=self.base, color=self.ink)
        self.axes.set_ylabel(plain(y), fontsize=self.base, color=self.ink)

    def numbers(self, which: Literal["x", "y"], *, whole: bool = False) -> None:
        """Show a few tick labels on an axis, with thousands separators and faint grid lines."""
        axis = getattr(self.axes, f"{which}axis")
        axis.set_major_locator(MaxNLocator(3 if self.compact else 6, integer=whole, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}".replace("-", "−")))
        self.axes.grid(axis=which, color=self.ink, alpha=0.22, linewidth=0.7, linestyle="-")

    def time_axis(self, steps: Steps, unit: str) -> None:
        """Label the horizontal axis with the time steps, and the vertical axis with numbers and their unit."""
        self.axes.axhline(0, color=self.ink, linewidth=0.8)
        self.numbers("y")
        self.labels(steps.unit, unit)
        self.axes.set_xticks(*steps.ticks(self.letters(self.width * 0.65, self.base)))
        self.axes.set_xlim(-0.7, max(len(steps.starts) - 0.3, 0.7))

    def annotate(self, x: float, y: float, text: str, **look: Any) -> None:
        """Write a label at a point. `dx` and `dy` in `look` move the label, in ninths of the font size."""
        move = (look.pop("dx", 0) * self.base / 9, look.pop("dy", 0) * self.base / 9)
        look = {"fontsize": self.small, "color": self.ink, "annotation_clip": False, "gid": "value", **look}
        self.axes.annotate(text, (x, y), move, textcoords="offset points", **look)

    def legend(self, handles: Sequence[Any]) -> None:
        """Show the legend between the title and the plot."""
        self.axes.legend(
            handles=list(handles),
            loc="lower left",
            bbox_to_anchor=(-0.008, 1.0),
            ncols=2 if self.compact else 6,
            borderaxespad=0.25,
            borderpad=0,
            frameon=False,
            fontsize=self.small,
            labelcolor=self.ink,
            handlelength=2.2,
            handleheight=1.1,
            columnspacing=1.4,
        )

    def empty(self, reason: str) -> None:
        """Write the reason for an empty plot in the middle of the plot."""
        self.axes.set(xticks=[], yticks=[])
        self.axes.spines["bottom"].set_visible(False)
        self.say(f"Nothing to show: {reason}")
        text = wrapped(f"Nothing to show: {reason}.", self.letters(self.width - 1, self.base))
        self.annotate(0.5, 0.5, text, xycoords="axes fraction", ha="center", va="center", fontsize=self.base)


@contextmanager
def canvas(data: pd.DataFrame, ax: Axes | None, size: Size, rows: int) -> Iterator[Canvas]:
    """Yield a canvas on the caller's Axes or on a new figure, without changing matplotlib's settings.

    The number of bar rows sets the height of notebook and compact figures.
    """
    with mpl.rc_context(_NEUTRAL):
        color = mpl.rcParams["text.color"]
        ink = INK if color == "black" else color  # matplotlib's default, black, is unreadable on a dark page
        if ax is not None:
            axes = ax
            width = figure_of(ax).get_figwidth() * ax.get_position().width / 0.8
        else:
            width, height = _SIZES[size] if isinstance(size, str) else map(float, size)
            if rows and isinstance(size, str) and size != "slide":
                height = min((1.9 if size == "notebook" else 0.3) + 0.29 * max(rows, 4), 9.0)
            figure = Page(figsize=(width, height), layout="constrained", facecolor=mpl.rcParams["figure.facecolor"])
            axes = figure.add_subplot(axes_class=Chart)
            axes.set_facecolor("none")
        base = min(max(_LEAST + (width - 7.2), _LEAST), 16.0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(ink)
        size_of_ticks = max(base * 0.92, _LEAST)
        axes.tick_params(which="both", color=ink, labelcolor=ink, labelsize=size_of_ticks, length=0, pad=base * 0.45)
        axes.set_axisbelow(True)
        on = Canvas(axes=axes, data=data, base=base, ink=ink, width=width, own=ax is None, compact=size == "compact")
        yield on
        axes.set_label(". ".join(on.findings) + ".")
        if ax is None:
            axes.drawn = data  # type: ignore[attr-defined]
