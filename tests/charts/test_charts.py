"""Charts draw the exact sums of their frame, with units and caveats, and change no global state."""

import functools
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import attrs
import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib._pylab_helpers import Gcf
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import workbench as wb
from tests.charts import samples
from tests.each import some
from tests.forms.test_looks import contrast
from tests.reports.test_scope import bought, event
from workbench import charts
from workbench.analysis.charts.kinds import KINDS
from workbench.base.errors import UsageError
from workbench.service.rendering.design import DARK, LIGHT, LOOKS

pytestmark = pytest.mark.slow  # each test draws charts


def says(axes: Axes, gid: str = "value") -> list[str]:
    """Return the direct labels of a chart."""
    return [text.get_text().replace("\xa0", " ") for text in axes.texts if text.get_gid() == gid]


def names(axes: Axes) -> list[str]:
    """Return the labels of the bars."""
    return [label.get_text().replace("\xa0", " ") for label in axes.get_yticklabels()]


def widths(axes: Axes) -> list[float]:
    """Return the lengths of horizontal bars."""
    return [patch.get_width() for patch in axes.patches]  # type: ignore[attr-defined]


def heights(axes: Axes) -> list[float]:
    """Return the heights of vertical bars."""
    return [patch.get_height() for patch in axes.patches]  # type: ignore[attr-defined]


def footnotes(axes: Axes) -> str:
    """Return the footnotes."""
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure.get_supxlabel().replace("\n", " ").replace("\xa0", " ")


def title(axes: Axes) -> str:
    """Return the title as one line."""
    return axes.get_title().replace("\n", " ").replace("\xa0", " ")


# rewards


def test_points_by_month_are_the_sums_of_the_frame() -> None:
    """Bars of earned points are positive and of redeemed points negative, each the exact sum of its month."""
    axes = charts.points_chart(samples.rewards(), freq="month")

    assert heights(axes) == [12.5, 0, 30.25, -5, 0, -20]
    assert [bool(patch.get_hatch()) for patch in axes.patches] == [False] * 3 + [True] * 3
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2026-01", "2026-02", "2026-03"]
    assert axes.get_ylabel() == "points"
    assert axes.get_xlabel() == "month (UTC)"
    assert title(axes) == "Points earned and redeemed, by month, 2026-01 to 2026-03"


@pytest.mark.parametrize(
    "days, step", [(0, "day"), (30, "day"), (60, "week"), (300, "month"), (3_000, "year")], ids=str
)
def test_points_are_put_together_by_what_fits(days: int, step: str) -> None:
    """Points are grouped by day, week, month or year, depending on the range, and all are drawn."""
    first = datetime(2026, 1, 5, tzinfo=UTC)
    frame = samples.rewards_of(
        [
            {"points": Decimal(1), "created_at": first},
            {"points": Decimal(2), "created_at": first + timedelta(days=days)},
        ]
    )
    axes = charts.points_chart(frame)

    assert f", by {step}, " in title(axes)
    assert sum(heights(axes)) == 3


def test_categories_are_ranked_and_add_up() -> None:
    """The longest bar is first. A footnote counts the redeemed rows, which are left out."""
    axes = charts.rewards_chart(samples.rewards())

    assert names(axes) == ["dining", "gas", "(none given)"]
    assert widths(axes) == [35.5, 10.0, -2.75]
    assert says(axes) == ["35.50", "10.00", "−2.75"]
    assert axes.get_xlabel() == "points"
    assert "2 rows not earned are left out." in footnotes(axes)


def test_the_other_merchants_are_a_footnote() -> None:
    """With `top`, a footnote has the number and sum of the other merchants."""
    axes = charts.rewards_chart(samples.rewards(), by="merchant_name", top=1)

    assert names(axes) == ["Blue Door"]
    assert widths(axes) == [35.5]
    assert "Not drawn: 2 others, together 7.25 points." in footnotes(axes)
    assert title(axes).startswith("Points earned by merchant, the top 1 of 3")


def test_points_per_dollar_is_a_sum_by_a_sum() -> None:
    """Points per dollar are the sum of points divided by the sum of amounts, without rows that have no amount."""
    axes = charts.rewards_chart(samples.rewards(), value="points_per_dollar")

    assert says(axes) == ["2.000 (5.00 USD)", "1.000 (35.50 USD)"]
    assert widths(axes) == [2.0, 1.0]
    assert names(axes) == ["gas", "dining"]
    assert "total 40.50 USD" in footnotes(axes)


def test_rewards_say_what_is_known_of_all_of_them() -> None:
    """The footnotes begin with the warning that the read is not complete."""
    frame = samples.rewards()
    frame.attrs.update(complete=False, notes=["The offset ends at 10,000."])
    text = footnotes(charts.points_chart(frame))

    assert text.startswith("Not complete: rows are missing.")
    assert "The offset ends at 10,000." in text


# contracts, applications


def test_collateral_is_summed_by_chain_and_token() -> None:
    """Contracts with the same token share a bar of value, with a smaller bar of the advance inside."""
    with wb.connect() as api:
        contracts = api.list_contracts()
    values = wb.history([*contracts, *contracts]).contracts()
    axes = charts.collateral_chart(values)
    once = charts.collateral_chart(contracts)

    assert widths(axes) == [2 * width for width in widths(once)]
    assert sum(widths(axes)[::2]) == pytest.approx(float(values["value_usd"].sum()))
    assert sum(widths(axes)[1::2]) == pytest.approx(float(values["advance_usd"].sum()))
    assert 1 > heights(axes)[0] > heights(axes)[1] > 0
    assert [text.xy[0] for text in axes.texts if text.get_gid() == "value"] == widths(axes)[::2]  # type: ignore[attr-defined]
    assert axes.get_xlabel() == "USD"
    assert axes.title.get_position()[0] == 0  # the title is left-aligned
    assert any("Base Sepolia · 0x55a5…8Ed6" in name for name in names(axes))


def test_a_chain_has_its_name_if_its_id_is_a_positive_number() -> None:
    """The chain with id 1 is labeled Ethereum, and the ids 0 and -1 are shown as numbers."""
    values = wb.history(samples.contracts()).contracts().iloc[:1]
    shown = {chain: names(charts.collateral_chart(values.assign(chain_id=chain)))[0] for chain in (1, 0, -1)}

    assert {chain: name.partition(" · ")[0] for chain, name in shown.items()} == {
        1: "Ethereum", 0: "chain 0", -1: "chain -1"
    }  # fmt: skip


def test_funnel_counts_people_not_events() -> None:
    """A user who returned to a status counts once in it. The last status is the current one."""
    axes = charts.funnel_chart(samples.history())

    assert names(axes) == ["pending ◔", "needs information ?", "approved ✓"]
    assert widths(axes) == [3, 1, 1, 0, 2, 2]
    assert says(axes) == ["1 now (33.3%), 3 ever", "none now, 1 ever", "2 now (66.7%), 2 ever"]


def test_times_of_statuses_are_those_of_their_history() -> None:
    """The chart accepts status changes, and computes the times from them."""
    changes = samples.history().assign(previous=None)
    times = wb.history(changes).time_in_status()

    assert says(charts.times_chart(changes)) == says(charts.times_chart(times)) != []


def test_funnel_of_users_shows_where_they_are() -> None:
    """A frame of users has only current statuses, which a footnote says."""
    frame = pd.DataFrame({"application_status": ["approved", "approved", "denied", "somethingNew", None]})
    axes = charts.funnel_chart(frame)

    assert names(axes) == ["approved ✓", "denied ✗", "something new •"]
    assert widths(axes) == [2, 1, 1]
    assert "not in this frame" in footnotes(axes)


# declines, deliveries


def test_declines_count_a_transaction_once() -> None:
    """Several events of a declined transaction count as one decline. The title has the number of authorizations."""
    with wb.connect() as api:
        for name in ("decline-card-locked", "decline-invalid-pin", "decline-invalid-pin", "authorize"):
            wb.sequences.run(api, wb.sequences.catalogue[name])
        events = [event for event in api.inbox.events() if event.kind.startswith("transaction.")]
    axes = charts.declines_chart(events)

    assert len(events) > 4
    assert widths(axes) == [2, 1]
    assert says(axes) == ["2 (66.7%)", "1 (33.3%)"]
    assert title(axes) == "Declines by reason: 3 of 4 authorizations"
    assert footnotes(axes) == "Shown: all times, UTC."


def test_deliveries_by_fate() -> None:
    """Deliveries are counted by kind and state. The title has the number of attempts."""
    axes = charts.deliveries_chart(samples.DELIVERIES)

    assert names(axes) == ["transaction.created", "user.updated"]
    assert widths(axes) == [1, 1, 1, 1]
    assert says(axes) == ["3, 1 waiting, 1 failed", "1"]
    assert title(axes) == "Webhook deliveries by kind: 4, in 6 attempts"

    missing = pd.DataFrame(
        {"kind": "a", "state": "delivered", "attempts": pd.Series([None, float("nan"), 2], dtype=object)}
    )
    assert title(charts.deliveries_chart(missing)) == "Webhook deliveries by kind: 3, in 2 attempts"


# all charts

Draw = Callable[..., Axes]
NOTHING: Callable[[], Any] = list
EVERY: dict[str, tuple[Draw, Callable[[], Any], Callable[[], Any]]] = {
    "points": (charts.points_chart, samples.rewards, samples.no_rewards),
    "rewards": (charts.rewards_chart, samples.rewards, samples.no_rewards),
    "liability": (charts.liability_chart, samples.rewards, samples.no_rewards),
    "collateral": (charts.collateral_chart, samples.contracts, NOTHING),
    "collateral over time": (charts.collateral_chart, samples.balances, lambda: samples.balances().iloc[:0]),
    "funnel": (charts.funnel_chart, samples.history, NOTHING),
    "times": (charts.times_chart, samples.stays, lambda: samples.stays().iloc[:0]),
    "times of postings": (charts.times_chart, lambda: wb.history(samples.spent()).posting_times("merchant_name"), NOTHING),
    "declines": (charts.declines_chart, samples.declined, NOTHING),
    "deliveries": (charts.deliveries_chart, lambda: samples.DELIVERIES, NOTHING),
    "approvals": (charts.approvals_chart, samples.spent, samples.nothing_spent),
    "spend": (charts.spend_chart, samples.spent, samples.nothing_spent),
    "spend by month": (charts.spend_chart, lambda: wb.history(samples.spent()).spend(freq="month"), samples.nothing_spent),
    "spend by month and group": (
        charts.spend_chart, lambda: wb.history(samples.spent()).spend("merchant_category", freq="month"), samples.nothing_spent,
    ),
    "spend from stage to stage": (charts.spend_chart, lambda: wb.history(samples.spent()).funnel(), samples.nothing_spent),
    "changes of spend": (charts.spend_chart, lambda: wb.history(samples.spent()).changes(), samples.nothing_spent),
    "cohorts": (charts.cohorts_chart, samples.spent, samples.nothing_spent),
    "disputes": (charts.disputes_chart, samples.disputes, lambda: wb.history([]).filter(at="2026-01-01").disputes()),
}  # fmt: skip


@attrs.frozen
class Drawn:
    """A chart with its data before and after drawing, and whether drawing changed matplotlib's settings."""

    axes: Axes
    data: Any
    before: Any
    has_new_settings: bool


@functools.cache
def drawn(name: str) -> Drawn:
    """Draw a chart of the samples with the default options, once for several tests."""
    draw, full, _ = EVERY[name]
    settings, data = dict(mpl.rcParams), full()
    before = data.copy() if isinstance(data, pd.DataFrame) else None
    axes = draw(data)
    _rendered(axes)
    return Drawn(axes, data, before, has_new_settings=dict(mpl.rcParams) != settings)


def test_every_chart_is_here() -> None:
    """The table above has every public chart except the state diagram: at most fourteen names of eight kinds."""
    assert {*(draw.__name__ for draw, _, _ in EVERY.values()), "state_diagram"} == {*charts.__all__}
    assert len(charts.__all__) <= 14
    assert len(KINDS) <= 8


@pytest.mark.parametrize("name", some(3, EVERY))
def test_an_empty_list_is_a_picture_of_nothing(name: str) -> None:
    """Every chart accepts an empty list, which has no columns."""
    assert widths(EVERY[name][0]([])) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_left_behind(name: str) -> None:
    """Drawing changes neither matplotlib's settings, pyplot's figures nor the frame."""
    made = drawn(name)

    assert not made.has_new_settings
    assert Gcf.get_all_fig_managers() == []
    if made.before is not None:
        pd.testing.assert_frame_equal(made.data, made.before)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("size", ["notebook", pytest.param("slide", marks=pytest.mark.soak), "compact"])
def test_everything_stays_on_the_paper(name: str, size: str) -> None:
    """In each size, no text leaves the figure. Except in compact charts, title and axis labels exist.

    If the caller sets a title, the chart's own title becomes the subtitle.
    """
    draw, full, _ = EVERY[name]
    axes = drawn(name).axes if size == "notebook" else draw(full(), size=size)

    assert _fits(axes)
    if size == "slide":
        given = draw(full(), size=size, title="June at $5 <b>per</b> card")
        assert _fits(given)
        assert title(given) == r"June at \$5 <b>per</b> card"
        assert " ".join(says(given, "subtitle")).split() == title(axes).split()
        assert given.get_label().startswith("June at $5 <b>per</b> card. ")  # type: ignore[union-attr]
    if size != "compact":  # a compact chart has no title or labels; its page shows them
        assert axes.get_title()
        assert axes.get_xlabel() or axes.get_ylabel()


@pytest.mark.parametrize("name", EVERY)
def test_the_paper_is_used(name: str) -> None:
    """Only a legend adds space below the title. Horizontal bars start at the axis and end before the border."""
    axes = drawn(name).axes
    figure = _rendered(axes)
    box = axes.get_window_extent()
    gap = (axes.title.get_window_extent().y0 - box.y1) * 72 / figure.dpi
    legend = axes.get_legend()
    above = 0.0 if legend is None else (legend.get_window_extent().y1 - box.y1) * 72 / figure.dpi

    assert above <= gap < max(above, 0) + 1.2 * axes.title.get_fontsize()
    # an inverted y axis and patches mean horizontal bars, except in the grid of cohorts
    if axes.yaxis_inverted() and axes.patches and name != "cohorts":
        ends = [bar.get_x() + bar.get_width() for bar in axes.patches]  # type: ignore[attr-defined]
        low, high = axes.get_xlim()
        assert (low == 0) == (min(ends) >= 0)
        assert max(ends) < high or max(ends) <= 0 == high


@pytest.mark.parametrize("name", EVERY)
def test_nothing_to_show_is_said(name: str) -> None:
    """An empty frame gives a chart with a title and the text "Nothing to show"."""
    draw, _, none = EVERY[name]
    axes = draw(none())
    _rendered(axes)

    assert axes.get_title()
    assert any(text.get_text().startswith("Nothing to show") for text in axes.texts)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(2, EVERY))
def test_one_row_is_drawn(name: str) -> None:
    """A single row is drawn."""
    draw, full, _ = EVERY[name]
    data = full()
    axes = draw(data.iloc[:1] if isinstance(data, pd.DataFrame) else data[:1])
    _rendered(axes)

    assert not any(text.get_text().startswith("Nothing to show") for text in axes.texts)
    assert axes.patches or axes.lines or axes.images


@pytest.mark.parametrize("name", some(3, EVERY))
def test_an_axes_of_yours_is_drawn_on(name: str) -> None:
    """A given Axes is drawn on and returned. Another Axes of its figure stays unchanged."""
    draw, full, _ = EVERY[name]
    figure = Figure(figsize=(12, 5))
    mine, other = figure.subplots(1, 2)
    axes = draw(full(), ax=mine)

    assert axes is mine
    assert not other.get_title()
    assert figure.get_supxlabel() == ""


SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.soak
@pytest.mark.parametrize("name", EVERY)
def test_a_notebook_shows_text_in_the_color_of_the_page(name: str) -> None:
    """The SVG's text has the page's color and at least 10 points. The SVG loads no resource."""
    draw, full, _ = EVERY[name]
    axes = draw(full())
    drawn = axes._repr_html_()  # type: ignore[attr-defined]
    root = ET.fromstring(drawn.standalone())
    styles = [(text.text, text.get("style", "")) for text in root.iter(f"{SVG}text")]
    # cells of a grid have a background, so their text has a fixed color
    own = {"", "white", "#ffffff"} if name == "cohorts" else set()

    assert styles
    for text, style in styles:
        size_of = re.search(r"([\d.]+)px", style)
        assert size_of is not None, text
        assert float(size_of[1]) >= 10, text  # one unit of the SVG is one point
        ink = re.search(r"fill: ([^;]*)", style)
        assert "currentColor" in style or (ink[1] if ink else "") in own, (text, style)
    assert root.get("aria-label") == axes.get_label()
    assert not re.search(r"<(style|metadata)", drawn)
    assert {href[:5] for one in root.iter() if (href := one.get("href")) and href[0] != "#"} <= {"data:"}
    assert len(drawn) < 80_000


def test_the_alternative_text_states_the_finding() -> None:
    """The alternative text has the chart's title and its main numbers."""
    rewards = samples.rewards()

    assert charts.points_chart(rewards, freq="month").get_label() == (
        "Points earned and redeemed, by month, 2026-01 to 2026-03. earned 42.75. redeemed 25."
    )
    assert (
        charts.rewards_chart(rewards)
        .get_label()
        .startswith("Points earned by spend category. dining: 35.50. gas: 10.00.")
    )  # type: ignore[attr-defined]
    assert "outstanding from" in str(charts.liability_chart(rewards).get_label())
    assert "month 1: 100% on average" in str(charts.cohorts_chart(samples.spent()).get_label())
    assert str(charts.spend_chart(samples.spent()).get_label()).count(" transactions)") == 3
    assert str(charts.points_chart(samples.no_rewards()).get_label()).endswith(
        "Nothing to show: no rewards activity with a time."
    )


def test_hostile_names_stay_text_in_a_page() -> None:
    """Markup in a name is escaped in the SVG."""
    frame = samples.rewards_of(
        [{"points": Decimal(1), "spend_category": '"><script>alert(1)</script>', "created_at": samples.MARCH}]
    )
    html = charts.rewards_chart(frame)._repr_html_()  # type: ignore[attr-defined]

    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_colors_of_statuses_can_be_seen_in_both_themes() -> None:
    """Each status color has a contrast of 3 to 1 with the backgrounds of both themes."""
    grounds = [theme[name] for theme in (LIGHT, DARK) for name in ("page", "raised")]

    assert [] == [
        (one.color, ground) for one in {*LOOKS.values()} for ground in grounds if contrast(one.color, ground) < 3
    ]


def test_a_style_of_yours_is_kept() -> None:
    """The user's matplotlib style applies. Without one, files are white and drawings in notebooks transparent."""
    plain = charts.points_chart(samples.rewards())
    with mpl.rc_context({"text.color": "#eeeeee", "figure.facecolor": "#222222"}):
        styled = charts.points_chart(samples.rewards())

    assert mpl.colors.to_hex(plain.get_figure(root=True).get_facecolor()) == "#ffffff"  # type: ignore[union-attr]
    assert "#ffffff" not in str(plain._repr_html_()).partition("</g>")[0]  # type: ignore[attr-defined]
    assert "#222222" in str(styled._repr_html_()).partition("</g>")[0]  # type: ignore[attr-defined]
    assert plain.title.get_color() == "#6f7681"
    assert styled.title.get_color() == "#eeeeee"
    assert mpl.colors.to_hex(styled.get_figure(root=True).get_facecolor()) == "#222222"  # type: ignore[union-attr]


def test_a_frame_of_something_else_is_refused() -> None:
    """The error for another frame names the missing columns."""
    with pytest.raises(ValueError, match="needs the columns type, spend_category, points, transaction_amount_cents"):
        charts.rewards_chart(pd.DataFrame({"a": [1]}))


def _rendered(axes: Axes) -> Any:
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    return figure


def _fits(axes: Axes) -> bool:
    figure = _rendered(axes)
    box, paper = axes.get_tightbbox(), figure.bbox.padded(1)
    assert box is not None
    return bool(box.x0 >= paper.x0 and box.x1 <= paper.x1 and box.y0 >= paper.y0 and box.y1 <= paper.y1)


# reports and caveats


def test_a_report_or_what_it_is_made_of_draws_the_same() -> None:
    """A report and the transactions that it is made from give the same chart."""
    spent = samples.spent()
    for chart, method in (
        (charts.approvals_chart, "approvals"), (charts.spend_chart, "spend"), (charts.times_chart, "posting_times"),
        (charts.cohorts_chart, "cohorts"),
    ):  # fmt: skip
        made = getattr(wb.history(spent), method)()
        assert says(chart(spent if method != "posting_times" else made)) == says(chart(made))


def test_the_approval_rate_is_one_line_over_time() -> None:
    """A report with groups, or without periods, is refused."""
    history = wb.history(samples.spent())

    for made in (history.approvals("merchant_name", freq="month"), history.approvals(freq=None)):
        with pytest.raises(UsageError, match="one line over time"):
            charts.approvals_chart(made)


def test_a_line_has_no_value_where_nothing_is_known() -> None:
    """Months without an authorization, and days without a record, have no point instead of zero."""
    rows = [*bought("a", 100, 0), event("created", "b", 100, 0, status="declined"), *bought("c", 100, 70)]
    rates: Any = charts.approvals_chart(wb.history(rows).approvals(freq="month"))
    balances = samples.balances()
    days: Any = charts.collateral_chart(balances.assign(at=balances["at"] + pd.to_timedelta([0, 9], unit="D")))

    points = [(x, y) for line in rates.lines[:2] for x, y in zip(*line.get_data(), strict=True)]
    assert sorted({(int(x), float(y)) for x, y in points}) == [(0, 50.0), (2, 100.0)]
    assert [*map(float, days.lines[0].get_ydata())] == [5, 7]
    assert "Base Sepolia from 5.00 to 7.00, highest 7.00" in days.get_label()


def test_the_funnel_says_dollars_and_counts() -> None:
    """Each stage shows its amount in dollars and its number of transactions."""
    spent = samples.spent()
    made = wb.history(spent).funnel()
    axes = charts.spend_chart(made)

    assert names(axes) == ["requested", "approved", "posted", "refunded", "net"]
    assert widths(axes) == [int(amount) / 100 for amount in made["amount_cents"]]
    assert says(axes)[0] == f"{made['amount_cents'][0] / 100:,.2f} ({made['transactions'][0]} transactions)"


def test_a_time_zone_is_on_the_axis() -> None:
    """The axis label of days or months names the time zone."""
    spent = samples.spent()
    made = wb.history(spent).filter(tz="America/New_York").approvals()

    assert "(America/New_York)" in charts.approvals_chart(made).get_xlabel()
    assert "(America/New_York)" in charts.points_chart(samples.rewards(), tz="America/New_York").get_xlabel()


def test_incomplete_stands_in_the_title() -> None:
    """The title of a chart from an incomplete frame ends with "(not complete)"."""
    frame = samples.rewards()
    frame.attrs["complete"] = False

    for axes in (
        charts.points_chart(frame),
        charts.rewards_chart(frame, by="merchant_name"),
        charts.liability_chart(frame),
    ):
        assert title(axes).endswith("(not complete)")
        assert "Not complete: rows are missing." in footnotes(axes)


def test_marks_that_pandas_dropped_are_missed() -> None:
    """If pandas dropped a frame's attributes, as merges do, a footnote says that completeness is unknown."""
    frame = samples.rewards()
    merged = frame.merge(pd.DataFrame({"type": ["earned", "redeemed"]}), on="type")
    merged.attrs = {}

    assert "Completeness unknown" in footnotes(charts.rewards_chart(merged))
    assert "Completeness unknown" not in footnotes(charts.rewards_chart(frame))


def test_rows_without_points_are_counted() -> None:
    """A footnote counts the rows without points, which the sum leaves out."""
    frame = samples.rewards()
    marks = frame.attrs
    frame = frame.assign(points=frame["points"].where(frame["id"] != "0"))
    frame.attrs = marks

    assert "1 row without points is left out." in footnotes(charts.points_chart(frame))
    assert "1 row without points is left out." in footnotes(charts.rewards_chart(frame))


def test_a_frame_of_a_cluster_is_reduced_first() -> None:
    """The error for a Dask DataFrame says how to convert it."""

    class Lazy:
        def compute(self) -> None: ...

    with pytest.raises(ValueError, match=r"frame\.compute\(\)"):
        charts.points_chart(Lazy())


def test_rows_of_points_after_concat_are_drawn_once() -> None:
    """Rows that occur twice after a concat count once, which a note says."""
    rewards = samples.rewards()
    doubled = pd.concat([rewards, rewards.iloc[2:]], ignore_index=True)

    for draw in (charts.points_chart, charts.rewards_chart):
        chart: Any = draw(doubled)
        assert chart.get_label() == draw(rewards).get_label()
        assert (
            chart.drawn.attrs["notes"][0]
            == "Rows that occur more than once, as after concat: 5 (points 55.25); each counts once."
        )


# times and scripts


def test_months_are_names_of_periods_and_the_running_one_is_hatched() -> None:
    """Months are labeled as 2026-01. The current month is hatched in bars and dashed in lines."""
    months = wb.history(samples.spent()).spend(freq="month")
    groups = wb.history(samples.spent()).spend("merchant_category", freq="month")
    axes, lines = charts.spend_chart(months), charts.spend_chart(groups)
    ticks = [label.get_text() for label in axes.get_xticklabels()]

    assert ticks == [f"{month:%Y-%m}" for month in months["month"]]
    assert heights(axes) == [cents / 100 for cents in months["net_cents"]]
    assert [bool(patch.get_hatch()) for patch in axes.patches] == months["running"].tolist()
    assert {line.get_linestyle() for line in lines.lines} >= {"--"}
    assert [label.get_text() for label in lines.get_xticklabels()] == ticks
    assert names(charts.spend_chart(wb.history(samples.spent().assign(merchant_category=None)))) == ["(none)"]
    first, *_, last = (f"{cents / 100:,.2f}" for cents in months["net_cents"])
    assert str(axes.get_label()).endswith(
        f"net from {first} to {last}, highest {months['net_cents'].max() / 100:,.2f}."
    )


@pytest.mark.parametrize("freq, name", [("quarter", r"\d{4}-Q\d"), ("Q-JAN", r"FY\d{4}-Q\d"), ("week", r"\d{4}-W\d\d")])
def test_periods_of_an_axis_have_their_names(freq: str, name: str) -> None:
    """Quarters, fiscal quarters and weeks have their usual labels, and no two labels touch."""
    axes: Any = charts.approvals_chart(wb.history(samples.spent()).approvals(freq=freq))
    _rendered(axes)
    boxes = [label.get_window_extent() for label in axes.get_xticklabels()]

    assert all(re.fullmatch(name, label.get_text()) for label in axes.get_xticklabels())
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


LETTERS = ("東京駅", "กรุงเทพ", "上海 Café", "서울")


@pytest.mark.parametrize("name", LETTERS)
def test_letters_of_any_script_stay_text(tmp_path: Path, name: str) -> None:
    """Names in Asian scripts are text in SVG and alternative text. A PNG is drawn without a warning."""
    frame = samples.rewards_of([{"points": Decimal(1), "merchant_name": name, "created_at": samples.MARCH}])
    axes: Any = charts.rewards_chart(frame, by="merchant_name")
    axes.figure.savefig(tmp_path / "a.svg")
    axes.figure.savefig(tmp_path / "a.png")  # pytest turns the warning of a missing glyph into an error

    assert name in axes._repr_html_()
    assert name in axes.get_label()
    assert name in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert name in names(axes)


def test_a_chart_that_is_written_as_an_image_names_the_call_that_does_it(tmp_path: Path) -> None:
    """`to_file` writes pages and data. The error for another extension says how to save a picture, and the data."""
    axes: Any = wb.charts.points_chart(samples.rewards())

    with pytest.raises(UsageError, match=r"axes.figure.savefig\(path\) saves an image"):
        wb.to_file(axes, tmp_path / "points.svg")
    assert wb.to_file(axes.drawn, tmp_path / "points.csv").rows
