"""Sums, means, groups, running sums: the same as Decimal arithmetic, whatever the column is kept as."""

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import samples
from workbench import tables
from workbench.tables.decimals import cast, packed, series

NUMBERS = st.lists(
    st.one_of(
        st.none(),
        st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9),
        st.decimals(allow_nan=False, allow_infinity=False, places=18, min_value=-5, max_value=5),
        st.integers(-(10**60), 10**60).map(Decimal),
    ),
    max_size=12,
)


def exact(values: list[Decimal | None]) -> Fraction:
    return sum((Fraction(value) for value in values if value is not None), Fraction(0))


@given(NUMBERS)
def test_totals_are_exact(values: list[Decimal | None]) -> None:
    """The total of a column is the sum of fractions, to the last digit."""
    column = series(values)

    assert exact(values) == Fraction(tables.total(column))


@given(NUMBERS)
def test_means_are_right_to_their_last_digit(values: list[Decimal | None]) -> None:
    """A mean differs from the true one by less than one unit in the 38th digit."""
    given_values = [value for value in values if value is not None]
    made = tables.mean(series(values))

    if not given_values:
        assert made is None
    else:
        true = exact(values) / len(given_values)
        assert made is not None
        assert abs(Fraction(made) - true) <= abs(true) / 10**37


@given(NUMBERS)
def test_running_sums_are_exact(values: list[Decimal | None]) -> None:
    """Each running sum is that of the values so far; where there is none there is none."""
    made = tables.cumulated(series(values)).tolist()
    so_far = Fraction(0)

    for value, sum_there in zip(values, made, strict=True):
        so_far += Fraction(value or 0)
        assert pd.isna(sum_there) if value is None else Fraction(sum_there) == so_far


@given(NUMBERS, st.data())
def test_groups_are_exact(values: list[Decimal | None], data: st.DataObject) -> None:
    """The sum of each group is that of its values."""
    keys = data.draw(st.lists(st.sampled_from("abc"), min_size=len(values), max_size=len(values)))
    frame = pd.DataFrame({"key": pd.Series(keys, dtype="str"), "points": series(values)})
    made = tables.grouped(frame, "key", "points")

    assert {k: exact([v for v, at in zip(values, keys, strict=True) if at == k]) for k in set(keys)} == {
        k: Fraction(v) for k, v in made.items()
    }


def frame_of_days() -> pd.DataFrame:
    times = pd.to_datetime(["2026-02-03", "2026-01-01", "2026-01-31", None], utc=True)
    return pd.DataFrame(
        {
            "at": times,
            "points": series([Decimal("0.1"), Decimal("0.2"), Decimal("0.3"), Decimal(7)]),
            "cents": [1, 2, 3, 4],
        }
    )


def test_months_are_summed_exactly() -> None:
    """0.2 and 0.3 are 0.5 in January, in the order of time; a row without a time is left out."""
    made = tables.resampled(frame_of_days(), "MS", "points", on="at")

    assert made.tolist() == [Decimal("0.5"), Decimal("0.1")]
    assert str(made.dtype) == "decimal128(38, 6)[pyarrow]"
    assert [str(month.date()) for month in made.index] == ["2026-01-01", "2026-02-01"]


@pytest.mark.parametrize(
    "how,expected",
    [("sum", [Decimal("0.5"), 0, Decimal("0.1")]), ("count", [2, 0, 1]), ("min", [Decimal("0.2"), None, Decimal("0.1")]),
     ("max", [Decimal("0.3"), None, Decimal("0.1")]), ("mean", [Decimal("0.25"), None, Decimal("0.1")])],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_months_without_rows(how: Any, expected: list[Any]) -> None:
    """A month without rows has a sum and a count of 0, and no mean, minimum or maximum."""
    frame = frame_of_days()
    frame.loc[0, "at"] = pd.Timestamp("2026-03-03", tz="UTC")
    made = tables.resampled(frame, "MS", "points", on="at", how=how)

    assert expected == [None if pd.isna(value) else value for value in made]


def test_groups_by_several_columns_and_missing_keys() -> None:
    """A missing key is a group of its own, and a category that does not occur is none."""
    frame = tables.to_frame(samples.answer("list_rewards_activity", samples.REWARDS))
    made = tables.grouped(frame, ["type", "spend_category"], "points")

    assert sorted(made.tolist()) == [Decimal(-3), Decimal("12.50")]


def test_products_are_exact() -> None:
    """A product keeps all digits: the column widens, and becomes text at the end."""
    column = series([Decimal("0.000001"), Decimal(2), None])

    assert tables.multiplied(column, Decimal("0.5")).tolist()[:2] == [Decimal("0.0000005"), Decimal(1)]
    assert str(tables.multiplied(column, Decimal("0.5")).dtype) == "decimal128(38, 18)[pyarrow]"
    assert tables.multiplied(series([Decimal("1e12")]), Decimal("1e30")).tolist() == ["1" + "0" * 42]


def test_whole_numbers_are_taken_too() -> None:
    """Int64 columns of cents have exact totals and running sums."""
    cents = pd.Series([1, None, 2**62, 2**62], dtype="Int64")

    assert tables.total(cents) == 2**63 + 1
    assert tables.cumulated(cents).tolist()[0] == 1


@pytest.mark.parametrize(
    "column", [pd.Series([0.1]), pd.Series(["•••"]), pd.Series([True]), pd.Series(["NaN?"])], ids=str
)
def test_what_is_not_exact_is_refused(column: "pd.Series[Any]") -> None:
    """Floats, masked values, flags and words have no exact total."""
    with pytest.raises(ValueError, match="holds"):
        tables.total(column)


def test_pandas_can_still_add_plot_and_merge() -> None:
    """The column itself sums, compares, merges and becomes floats the way pandas users expect."""
    frame = tables.to_frame(samples.answer("list_rewards_activity", samples.REWARDS))

    assert frame["points"].sum() == Decimal("9.5")
    assert frame[frame["points"] > 0]["id"].tolist() == ["007"]
    assert frame.merge(frame, on="id")["points_x"].sum() == Decimal("9.5")
    assert tables.floats(frame["points"]).tolist() == [12.5, -3.0]
    assert tables.floats(frame["points"]).dtype == "float64"


def test_widths_are_chosen_by_the_values() -> None:
    """Six places as a rule, eighteen where needed, text where neither will do."""
    import pyarrow as pa

    assert [str(packed([Decimal(v)]).type) for v in ("1.5", "0.0000001", "1e-19", "1e33")] == [
        "decimal128(38, 6)", "decimal128(38, 18)", "large_string", "large_string",
    ]  # fmt: skip
    for texts in (["1.5", ".5", "-7.", None], ["0.0000001"]):
        values = [None if text is None else Decimal(text) for text in texts]
        assert values == cast(pa.array(texts, pa.large_string())).to_pylist()
    for text in ("1e3", "+1", "0.0000000000000000001", "9" * 39, str(2**256), "", "many"):
        assert cast(pa.array([text], pa.large_string())) is None


def test_the_context_of_the_caller_does_not_matter() -> None:
    """A short decimal context elsewhere costs no digit here."""
    with localcontext(prec=3):
        assert tables.total(series([Decimal("123456.000001"), Decimal("0.000001")])) == Decimal("123456.000002")
