"""Charts with hostile names, numbers beyond floats, times at the limits of the calendar, and many rows."""

import functools
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.cbook import is_math_text
from matplotlib.figure import Figure

from tests.charts import samples
from workbench import charts
from workbench.analysis.charts.data import MAX_LABEL, label, number, scale_of, wrapped
from workbench.base.errors import UsageError, hidden_characters

HOSTILE = (
    r"$\frac{1}$",
    "line\nbreak\ttab\x00nul\x1b[31mred",
    r"\$ and $ and \\$x$",
    "$" * 50,
    "\u202egnp.exe",
    "zero\u200bwidth\ufeff",
    "Z" + "\u0301" * 60,
    "word " * 4_000,
    "<script>alert(1)</script>",
    "{name} %s %(x)s",
    "_legend",
    "\u4e2d\u6587\U0001f354",
    "\ud800 half",
    "",
    "   ",
    "nan",
)
TELLING = (HOSTILE[0], HOSTILE[8], "\ud800 half")
"""A formula, markup and half a character, drawn in every chart; the others in `make soak`, and in labels always."""
TEXTS = st.text(max_size=60) | st.sampled_from(HOSTILE)


def rendered(axes: Axes) -> list[str]:
    """Draw a chart, with warnings as errors, and return its texts."""
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    return [text.get_text() for text in figure.findobj(mpl.text.Text)]


@given(TEXTS)
def test_a_label_is_one_short_harmless_line(text: str) -> None:
    """A label is not empty, has one line of limited length, and contains no hidden character or formula."""
    made = label(text)

    assert hidden_characters(made) == ()
    assert "\n" not in made
    assert not is_math_text(made)
    assert re.search(r"(?<!\\)\$", made) is None
    assert 0 < len(made.replace(r"\$", "$")) <= max(MAX_LABEL, len("(empty)"))


@given(st.text(max_size=400) | st.sampled_from(HOSTILE), st.integers(12, 90))
def test_wrapped_text_opens_no_formula(text: str, width: int) -> None:
    """Wrapped text has at most three lines, with every dollar sign escaped."""
    lines = wrapped(text, width).split("\n")

    assert len(lines) <= 3
    assert all(re.search(r"(?<!\\)\$", line) is None for line in lines)
    assert all(len(line.replace(r"\$", "$")) <= width for line in lines)


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_hostile_merchants_are_drawn_as_they_are_called(names: list[str]) -> None:
    """The bars have the frame's sum, and no text contains a hidden character."""
    frame = samples.rewards_of(
        [{"merchant_name": name, "spend_category": name, "points": Decimal(1)} for name in names]
    )
    axes = charts.rewards_chart(frame, by="merchant_name")
    words = rendered(axes)

    assert sum(patch.get_width() for patch in axes.patches) == len(names)  # type: ignore[attr-defined]
    assert all(hidden_characters(word.replace("\n", "")) == () for word in words)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in TELLING else pytest.param(name, marks=pytest.mark.soak) for name in HOSTILE],
    ids=lambda name: ascii(name)[:24],
)  # fmt: skip
def test_hostile_words_stay_words_everywhere(name: str) -> None:
    """Hostile statuses, categories, kinds, reasons, addresses and notes are drawn without hidden characters."""
    rewards = samples.rewards()
    rewards.attrs["notes"] = [name]
    safe = name.encode("utf-8", "replace").decode()
    history = samples.history().assign(status=safe)
    users = pd.DataFrame({"application_status": [safe]})
    declined = samples.spent().iloc[:1].assign(status="declined", declined_reason=safe)
    values = pd.DataFrame(
        {
            "id": [safe],
            "chain_id": [safe],
            "tokens.address": [safe],
            "value_usd": [Decimal(2)],
            "advance_usd": [Decimal(1)],
        }
    )
    values.attrs["kind"] = "contract_values"
    made = [
        charts.points_chart(rewards),
        charts.rewards_chart(rewards.assign(merchant_name=safe, spend_category=safe), by="merchant_name"),
        charts.funnel_chart(history),
        charts.funnel_chart(users),
        charts.times_chart(samples.stays().assign(status=safe)),
        charts.declines_chart(declined),
        charts.collateral_chart(values),
        charts.deliveries_chart([{"kind": name, "state": name, "attempts": []}]),
    ]

    for axes in made:
        assert all(hidden_characters(word.replace("\n", "")) == () for word in rendered(axes))


@given(st.integers(-(10**77), 10**77))
def test_any_number_is_scaled_to_be_read(value: int) -> None:
    """A number is drawn exactly, below 1,000 of its scale or below a million unscaled, with a short label."""
    scale = scale_of([value])
    drawn = scale(value)

    assert abs(drawn) < (1_000_000 if scale.power == 0 else 1_000)
    assert drawn == float(Decimal(value).scaleb(-scale.power, context=samples.EXACT))
    assert len(number(value)) <= 12


def test_balances_beyond_a_float_are_drawn() -> None:
    """Sums of 70 digits are drawn, and the axis label shows the scale."""
    huge = Decimal(10**69 + 1)
    frame = samples.rewards_of([{"points": huge, "created_at": samples.JANUARY}] * 3)
    axes = charts.points_chart(frame)
    ranked = charts.rewards_chart(frame)
    rendered(axes)

    assert axes.get_ylabel() == "points (×10⁶⁹)"
    assert [text.get_text() for text in ranked.texts] == ["3.000×10⁶⁹"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "years", [(1, 9_999), (1_970, 1_970), (9_999, 9_999), (1, 1), (1_900, 2_026)], ids=str
)  # fmt: skip
def test_times_at_the_ends_of_the_calendar(years: tuple[int, int]) -> None:
    """Times at the limits of the calendar are drawn without an error or a lost row."""
    frame = samples.rewards_of(
        [{"points": Decimal(1), "created_at": datetime(year, 6, 1, tzinfo=UTC)} for year in years]
    )
    axes = charts.points_chart(frame)
    rendered(axes)
    if years[0] == years[1]:
        rendered(charts.points_chart(frame, freq="day"))
    else:
        with pytest.raises(UsageError, match="steps"):
            charts.points_chart(frame, freq="day")

    assert sum(patch.get_height() for patch in axes.patches) == 2  # type: ignore[attr-defined]


def test_what_is_missing_everywhere() -> None:
    """A frame with only missing values gives a chart that says "Nothing to show"."""
    frame = samples.rewards_of([{"type": None}, {}])

    for draw in (charts.points_chart, charts.rewards_chart):
        assert any(word.startswith("Nothing to show") for word in rendered(draw(frame)))


# size

MANY = 100_000


@functools.cache
def many_rewards() -> pd.DataFrame:
    """Return 100,000 rewards over a year, each of another merchant."""
    times = pd.Series(pd.date_range("2026-01-01", periods=MANY, freq="5min", tz="UTC")).astype("datetime64[us, UTC]")
    points = pa.array([Decimal(n % 997) / 100 for n in range(MANY)], type=pa.decimal128(38, 6))
    return pd.DataFrame(
        {
            "type": pd.Categorical(np.where(np.arange(MANY) % 9, "earned", "redeemed")),
            "points": pd.Series(pd.array(points.to_pylist(), dtype=pd.ArrowDtype(points.type))),
            "transaction_amount_cents": pd.array(np.arange(MANY) % 10_007, dtype="Int64"),
            "merchant_name": pd.array([f"Merchant {n}" for n in range(MANY)], dtype="str"),
            "spend_category": pd.array([f"category {n % 23}" for n in range(MANY)], dtype="str"),
            "created_at": times, "posted_at": times, "minted_at": times + pd.Timedelta(hours=30),
        }
    )  # fmt: skip


def many_stays() -> pd.DataFrame:
    """Return the status durations of many applications."""
    few = samples.stays()
    return pd.concat([few] * (MANY // len(few)), ignore_index=True)


DRAWN: dict[str, tuple[Callable[..., Axes], Callable[[], Any]]] = {
    "points": (charts.points_chart, many_rewards),
    "rewards": (charts.rewards_chart, many_rewards),
    "times": (charts.times_chart, many_stays),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_a_hundred_thousand_rows(name: str) -> None:
    """A hundred thousand rows are aggregated into fewer than 400 drawn elements."""
    draw, data = DRAWN[name]
    axes = draw(data())

    assert len(axes.get_children()) < 400


def test_a_long_title_is_cut_after_three_lines() -> None:
    """A title of more than three lines ends with an ellipsis."""
    assert wrapped("one two three four five six seven eight", 12) == "one two\nthree four\nfive six…"
    assert wrapped("one two three four five six", 12) == "one two\nthree four\nfive six"
