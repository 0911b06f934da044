"""Canvas of a chart: Axes, title, notes, bars and lines, without changes to matplotlib's global state.

A new figure is a plain `Figure` without pyplot, so figures do not accumulate, and a notebook shows it once, as the Axes
returned. Notebooks get a transparent SVG whose text takes the color of the page, in light and dark themes; saved files
are white. Colors of a style that you set are preserved. The label of the Axes is the alternative text of the chart.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from html import escape
from io import StringIO
from typing import Any, Literal

import attrs
import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from workbench.analysis.charts.data import (
    Number,
    Scale,
    Steps,
    is_general,
    is_running,
    number,
    plain,
    scale_of,
    wrapped,
)
from workbench.analysis.tables.rows import UNKNOWN
from workbench.base.errors import Problem, UsageError
from workbench.service.rendering.design import Drawing, Look

INK = "#6f7681"
"""Color of text in a file: contrast 4.6 on white, 4.1 on #111. In a notebook it is the color of the page's text."""
Size = Literal["notebook", "slide", "compact"] | tuple[float, float]
_SIZES = {"notebook": (7.2, 4.2), "slide": (13.3, 7.5), "compact": (4.6, 2.3)}
_LEAST = 10.0  # points of the smallest text
_MAX_NOTES = 5
_LETTER = 0.58  # width of a letter, of the font size
_MARKERS = 12  # along a line
_SHORT = 21  # letters of a name in a compact chart
_SCALE = re.compile(r"(?<=\()(?:\w+ions|×.*)(?=\))")
_REST = re.compile(r", | \([\d,]+\xa0")  # the part of a label that a compact chart leaves out
THICKNESS = 0.66
INCOMPLETE = "Not complete: rows are missing."
_NEUTRAL: Any = {"text.usetex": False, "text.parse_math": True, "path.sketch": None, "path.effects": []}


class Chart(Axes):
    """Axes that a notebook shows as inline SVG with alternative text."""

    drawn: pd.DataFrame
    """The data of the chart."""

    def _repr_html_(self) -> Drawing:
        figure = self.get_figure(root=True)
        assert isinstance(figure, Figure)
        file, width = StringIO(), figure.get_figwidth() * 96
        face = "none" if mpl.colors.same_color(figure.get_facecolor(), "white") else "auto"  # that of the page
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "workbench"}):
            figure.savefig(
                file, format="svg", facecolor=face, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
            )
        drawn = file.getvalue()
        for pattern, text in _SVG:
            drawn = pattern.sub(text, drawn)
        return Drawing(
            f'<svg class="wb-chart" role="img" aria-label="{escape(self.get_label())}" '  # type: ignore[arg-type]
            f'style="width:{width:.0f}px;max-width:100%;height:auto;stroke-linejoin:round;stroke-linecap:butt" {drawn}'
        )


_SVG = tuple(
    (re.compile(pattern, re.DOTALL), text)
    for pattern, text in (
        (r'^.*?<svg [^>]*?(viewBox="[^"]*")[^>]*>', r"\1>"),
        (r"\s*<metadata>.*?</metadata>|\s*<style.*?</style>|\s*<defs>\s*</defs>|<!--.*?-->", ""),
        (r"<g id=\"[^\"]*\"", "<g"),
        (r"(\.\d\d)\d+", r"\1"),
        (r"'[^'\n]*'(?:, '[^'\n]*')*(?:, [-\w]+)*(?=[;\"])", "system-ui, sans-serif"),
        (INK, "currentColor"),
        ("xlink:href", "href"),
        (r"\s*\n\s*", " "),
    )
)
"""Replacements in matplotlib's SVG for inline use: no global styles, no ids, the font and text color of the page.
"""


@attrs.frozen(kw_only=True)
class Canvas:
    """The Axes to draw on, with its font size and text color."""

    axes: Axes
    data: pd.DataFrame  # what is drawn; its marks are shown
    base: float
    ink: str
    width: float  # inches
    own: bool
    compact: bool = False  # a part of a page that has its title and notes
    findings: list[str] = attrs.field(factory=list)  # the alternative text

    @property
    def small(self) -> float:
        """The font size of notes and labels."""
        return max(self.base * 0.82, _LEAST)

    @property
    def figure(self) -> Figure:
        """The figure of the Axes."""
        figure = self.axes.get_figure(root=True)
        assert isinstance(figure, Figure)
        return figure

    def say(self, *sentences: str) -> None:
        """Add to the alternative text of the chart."""
        self.findings.extend(
            re.sub(r"\s+", " ", sentence).replace(r"\$", "$").strip(" .") for sentence in sentences if sentence
        )

    def letters(self, inches: float, size: float) -> int:
        """Return the number of characters of a font size that fit into a width."""
        return int(inches * 72 / (_LETTER * size))

    def title(self, subject: str, title: str | None, *, labels: Iterable[str] = (), legend: bool = False) -> None:
        """Write the title, with the subject as its subtitle, or the subject as title, above a legend if there is one.

        Lines are wrapped to the width next to the axis labels.
        """
        subject += " (not complete)" if self.data.attrs.get("complete") is False else ""
        self.say(*filter(None, (title, subject)))
        count = 2 if title else 1
        self.findings[:] = self.findings[-count:] + self.findings[:-count]
        if self.compact:
            return
        taken = max((len(label) for label in labels), default=8) * _LETTER * self.base * 0.92 / 72 + 0.35
        width = self.width - taken
        pad = self.base * (2.3 if legend else 0.9)
        look: dict[str, Any] = {"ha": "left", "color": self.ink, "linespacing": 1.25}
        if title:
            subtitle = wrapped(subject, self.letters(width, self.small))
            self.axes.annotate(
                subtitle,
                (0, 1),
                (0, pad),
                xycoords="axes fraction",
                textcoords="offset points",
                va="bottom",
                fontsize=self.small,
                gid="subtitle",
                **look,
            )
            pad += (subtitle.count("\n") + 1) * self.small * 1.25 + self.base * 0.4
        heading = wrapped(title or subject, self.letters(width, self.base * 1.2))
        self.axes.set_title(heading, x=0, fontsize=self.base * 1.2, fontweight="bold", pad=pad, **look)

    def notes(self, *more: str) -> None:
        """Write notes below the chart without duplicates: missing rows, `more`, and the notes of the frame."""
        marks = self.data.attrs
        first = UNKNOWN if "kind" not in marks else INCOMPLETE if marks.get("complete") is False else ""
        every = dict.fromkeys((first, *more, *marks.get("notes", ())))
        notes = [note for note in every if note and not is_general(note)]
        if not notes or self.compact:
            return
        width = int(self.letters(self.width - 0.2, self.small) * 1.06)
        shown = [wrapped(note, width) for note in notes[:_MAX_NOTES]]
        if len(notes) > _MAX_NOTES:
            shown.append(f'… and {len(notes) - _MAX_NOTES} more: frame.attrs["notes"]')
        look: dict[str, Any] = {"fontsize": self.small, "color": self.ink, "ha": "left", "linespacing": 1.3}
        text = "\n".join(shown)
        if self.own:
            self.figure.supxlabel(text, x=0.012, **look)
        else:
            self.axes.annotate(
                text,
                (0, 0),
                (0, -4.6 * self.base),
                xycoords="axes fraction",
                textcoords="offset points",
                va="top",
                **look,
            ).set_gid("notes")

    def labels(self, x: str, y: str) -> None:
        """Label the axes, with their units."""
        if self.compact:  # of a unit only its scale, as in "points (millions)"
            x, y = "", (_SCALE.search(y) or [""])[0]
        self.axes.set_xlabel(plain(x), fontsize=self.base, color=self.ink)
        self.axes.set_ylabel(plain(y), fontsize=self.base, color=self.ink)

    def numbers(self, which: Literal["x", "y"], *, whole: bool = False) -> None:
        """Show a few numbers on an axis, grouped by thousands, with faint grid lines."""
        axis = self.axes.xaxis if which == "x" else self.axes.yaxis
        axis.set_major_locator(MaxNLocator(3 if self.compact else 6, integer=whole, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}".replace("-", "−")))
        self.axes.grid(axis=which, color=self.ink, alpha=0.22, linewidth=0.7, linestyle="-")

    def time_axis(self, steps: Steps) -> None:
        """Label the horizontal axis with the steps of time."""
        self.axes.set_xticks(*steps.ticks(self.width))
        self.axes.set_xlim(-0.7, max(len(steps.starts) - 0.3, 0.7))

    def over_time(self, steps: Steps, lines: Sequence["LineSpec"], unit: str) -> None:
        """Draw lines over steps of time with one value per step; the last segment is dashed if its period is
        running.
        """
        scale = self.lines(steps.places.tolist(), lines, open_end=is_running(self.data))
        self.time_axis(steps)
        self.labels(steps.unit, scale.unit(unit))

    def annotate(self, x: float, y: float, text: str, **look: Any) -> None:
        """Write a label at a data point, offset by `dx`, `dy` points (at notebook size)."""
        move = (look.pop("dx", 0) * self.base / 9, look.pop("dy", 0) * self.base / 9)
        look = {"fontsize": self.small, "color": self.ink, "annotation_clip": False, "gid": "value", **look}
        self.axes.annotate(text, (x, y), move, textcoords="offset points", **look)

    def legend(self, handles: list[Any] | None = None) -> None:
        """Show the legend between title and plot."""
        self.axes.legend(
            handles=handles,
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
        """Write the reason for an empty plot in its middle."""
        self.axes.set_xticks([])
        self.axes.set_yticks([])
        self.axes.spines["bottom"].set_visible(False)
        self.say(f"Nothing to show: {reason}")
        self.axes.text(
            0.5,
            0.5,
            wrapped(f"Nothing to show: {reason}.", self.letters(self.width - 1, self.base)),
            ha="center",
            va="center",
            transform=self.axes.transAxes,
            fontsize=self.base,
            color=self.ink,
        )

    def barh(self, bars: Sequence["Bar"], unit: str, *, whole: bool = False) -> Scale:
        """Draw horizontal bars with names and labels, the first on top; return their scale."""
        scale = scale_of(part.length for bar in bars for part in bar.parts)
        ends = []
        for index, bar in enumerate(bars):
            reached = []
            for part in bar.parts:
                left, length = scale(part.left), scale(part.length)
                self.axes.barh(index + part.down, length, left=left, height=part.height, **part.style)
                reached.append(left + length)
            end = max([*reached, scale(bar.reach)]) if max(reached) >= 0 else min(reached)
            dx, side = (5, "left") if end >= 0 else (-5, "right")
            self.annotate(end, index, bar.label, dx=dx, ha=side, va="center")
            ends.append(end)
        self.axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
        self.axes.set_ylim(len(bars) - 0.4, -0.6)
        low, high = min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)
        span, before = (high - low) or 1.0, max(len(bar.name) for bar in bars) * _LETTER * self.base / 72
        room = max(len(bar.label) for bar in bars) * 0.6 * self.small / 72 / max(self.width - before - 0.3, 1)
        more = span * min(room / (1 - min(room, 0.8)), 4) + span * 0.02  # for the labels behind the bars
        self.axes.set_xlim(low - (more * 1.6 if low < 0 else 0), high + (more if high > 0 or low == 0 else 0))
        if self.compact:  # the labels say the numbers
            self.axes.set_xticks([])
            self.axes.spines["bottom"].set_visible(False)
        else:
            self.numbers("x", whole=whole)
        self.labels(scale.unit(unit), "")
        return scale

    def lines(self, places: Sequence[float], lines: Sequence["LineSpec"], *, open_end: bool = False) -> Scale:
        """Draw lines over common positions, labeled at their ends; the last segment is dashed if open. Return their
        scale.
        """
        scale = scale_of(value for line in lines for value in line.values)
        ends = []
        for drawn in lines:
            heights = [scale(value) for value in drawn.values]
            style: dict[str, Any] = {
                "color": drawn.color,
                "linewidth": self.base / 5,
                "marker": drawn.marker,
                "markersize": self.base / 2.2,
                "markevery": max(1, len(heights) // _MARKERS),
            }
            over = len(heights) - 1 if open_end and len(heights) > 1 else len(heights)
            self.axes.plot(places[:over], heights[:over], linestyle=drawn.dash, label=drawn.name, **style)
            if over < len(heights):
                self.axes.plot(places[over - 1 :], heights[over - 1 :], linestyle="--", alpha=0.6, **style)
            ends.append((heights[-1], drawn.label))
            first, last, most = (number(value) for value in (drawn.values[0], drawn.values[-1], max(drawn.values)))
            self.say(f"{drawn.name} from {first} to {last}, highest {most}")
        self.axes.axhline(0, color=self.ink, linewidth=0.8)
        self.numbers("y")
        low, high = self.axes.get_ylim()
        height = self.axes.get_position().height * self.figure.get_figheight() * 72 * 0.75
        least = (high - low) * self.small * 1.5 / max(height, 1)  # between two labels
        position = float("-inf")
        for y, text in sorted(ends):
            position = max(y, position + least)
            self.annotate(places[-1], position, text, dx=6.75, va="center", fontweight="bold")
        return scale


@attrs.frozen
class Part:
    """A rectangle of a horizontal bar."""

    length: Number
    style: dict[str, Any]
    left: Number = 0
    height: float = THICKNESS
    down: float = 0  # from the middle of the bar


@attrs.frozen
class Bar:
    """A horizontal bar: its name, its parts, and the label after it (after `reach`, if that is further)."""

    name: str
    label: str
    parts: Sequence[Part]
    reach: Number = 0


@attrs.frozen
class LineSpec:
    """A line: values, name, label at its end, and style."""

    values: Sequence[Decimal]
    name: str
    label: str
    color: str
    dash: str | tuple[int, tuple[int, int]]
    marker: str


def filled(look: Look | str, hatch: str = "") -> dict[str, Any]:
    """Return the style of a filled bar, by look or color, with a white pattern."""
    color, hatch = (look, hatch) if isinstance(look, str) else (look.color, look.hatch)
    return {"facecolor": color, "hatch": hatch, "edgecolor": "white", "linewidth": 0}


def outlined(color: str) -> dict[str, Any]:
    """Return the style of an outlined bar."""
    return {"facecolor": "none", "edgecolor": color, "linewidth": 1.4}


def stacked(counts: Iterable[tuple[int, dict[str, Any]]]) -> list[Part]:
    """Return the stacked parts of a bar from their lengths and styles."""
    parts: list[Part] = []
    for count, style in counts:
        parts.append(Part(count, style, sum(part.length for part in parts)))
    return parts


def legend_key(label: str, look: Look | str) -> Patch:
    """Return the legend entry of filled bars; its pattern is denser because it is small."""
    style = filled(look)
    return Patch(**{**style, "hatch": style["hatch"] * (1 if style["hatch"] in ("o", ".", "*") else 2)}, label=label)


def ink_of() -> str:
    """Return the text color of the active style, or a color readable on white and on black."""
    color: str = mpl.rcParams["text.color"]
    return INK if color == "black" else color


def chart(
    data: pd.DataFrame,
    draw: Callable[[Canvas], Iterable[str] | None] | None,
    *,
    subject: str | Callable[[Canvas], str],
    empty: str,
    ax: Axes | None,
    size: Size,
    title: str | None,
    notes: Iterable[str] = (),
    names: Iterable[str] = (),
    legend: bool = False,
    rows: int = 0,
) -> Axes:
    """Draw a chart with title and notes, or the reason for an empty plot if `draw` is None.

    `draw` may return more notes. The title, the subject by default, is placed next to `names`, above a legend. The
    height of a new figure depends on its `rows` of bars. matplotlib's settings are not changed.
    """
    with mpl.rc_context(_NEUTRAL):
        ink, face = ink_of(), mpl.rcParams["figure.facecolor"]
        if ax is None:
            try:
                width, height = _SIZES[size] if isinstance(size, str) else map(float, size)
            except (TypeError, ValueError):
                message = "must be a width and a height in inches, as (6, 4)"
                raise UsageError([Problem("size", "type", message)], of="charts") from None
            if rows and isinstance(size, str) and size != "slide":
                height = min((1.9 if size == "notebook" else 0.3) + 0.29 * rows, 9.0)
            figure = Figure(figsize=(width, height), layout="constrained", facecolor=face)
            axes: Axes = figure.add_subplot(axes_class=Chart)
            axes.set_facecolor("none")
            axes.drawn = data  # type: ignore[attr-defined]
        else:
            axes = ax
            width = ax.get_position().width * ax.get_figure(root=True).get_figwidth() / 0.8  # type: ignore[union-attr]
        base = min(max(_LEAST + (width - 7.2), _LEAST), 16.0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.spines["bottom"].set_color(ink)
        size_of_ticks = max(base * 0.92, _LEAST)
        axes.tick_params(which="both", color=ink, labelcolor=ink, labelsize=size_of_ticks, length=0, pad=base * 0.45)
        axes.set_axisbelow(True)
        on = Canvas(axes=axes, data=data, base=base, ink=ink, width=width, own=ax is None, compact=size == "compact")
        on.title(
            subject if isinstance(subject, str) else subject(on),
            title,
            labels=names,
            legend=legend and draw is not None,
        )
        more = draw(on) if draw is not None else None
        if draw is None:
            on.empty(empty)
        on.notes(*notes, *(more or ()))
        axes.set_label(". ".join(on.findings) + ".")
    return axes


def bar_chart(
    data: pd.DataFrame,
    bars: Sequence[Bar],
    unit: str,
    *,
    subject: str,
    empty: str,
    ax: Axes | None,
    size: Size,
    title: str | None,
    notes: Iterable[str] = (),
    whole: bool = False,
    legend: Sequence[Any] | None = None,
    least_rows: int = 0,
    more: Callable[[Canvas, Scale], None] | None = None,
) -> Axes:
    """Draw a chart of horizontal bars, the first on top.

    Args:
        empty: Text shown if there are no bars.
        notes: Notes written below the chart.
        whole: Whether the axis shows only integers.
        legend: Entries of the legend; empty to leave room for one that `more` draws.
        least_rows: Minimum number of bars that fit the height of a new figure.
        more: Callback that draws further elements.
    """

    def draw(on: Canvas) -> None:
        longest = sorted(bars, key=lambda bar: abs(float(sum(part.length for part in bar.parts))), reverse=True)[:3]
        on.say(*(f"{bar.name}: {bar.label}" for bar in longest))
        shown = [attrs.evolve(bar, name=bar.name[:_SHORT], label=_REST.split(bar.label)[0]) for bar in bars]
        scale = on.barh(shown if on.compact else bars, unit, whole=whole)
        if legend:
            on.legend(list(legend))
        if more is not None:
            more(on, scale)

    return chart(
        data,
        draw if bars else None,
        subject=subject,
        empty=empty,
        ax=ax,
        size=size,
        title=title,
        notes=notes,
        names=[bar.name for bar in bars],
        legend=legend is not None,
        rows=max(len(bars), least_rows),
    )
