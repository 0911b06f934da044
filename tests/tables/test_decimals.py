"""Decimal columns: pandas computes with them exactly, and no digit is lost."""

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.tables import samples
from workbench.analysis.rewards.pages import cast
from workbench.analysis.tables.frames import to_frame
from workbench.analysis.tables.rows import decimal_series, decimals, joined_chunks, packed

USUAL = pd.ArrowDtype(pa.decimal128(18, 6))
WIDE = pd.ArrowDtype(pa.decimal256(37, 18))
ANY = st.one_of(
    st.none(),
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9),
    st.decimals(allow_nan=False, allow_infinity=False, places=18, min_value=-5, max_value=5),
    st.integers(-(10**60), 10**60).map(Decimal),
)
POINTS = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**11), max_value=10**11)
COLUMN = pd.Series([Decimal("0.125"), Decimal("3.25"), None, Decimal("-2.5")], dtype=USUAL, name="points")


def fractions(column: "pd.Series[Any]") -> list[Fraction | None]:
    """Return the values of a column as fractions."""
    return [None if pd.isna(value) else Fraction(value) for value in column.tolist()]


@given(st.lists(ANY, max_size=12))
def test_no_digit_is_lost(values: list[Decimal | None]) -> None:
    """A column has exactly the values that it was created from."""
    assert decimals(decimal_series(values)) == values


@given(st.lists(ANY, max_size=6))
def test_text_is_cast_exactly_or_left_alone(values: list[Decimal | None]) -> None:
    """Arrow's cast of text gives equal values, or is not used."""
    texts = pa.array([None if v is None else format(v, "f") for v in values], pa.large_string())
    made = cast(texts)

    assert made is None or made.to_pylist() == values


def test_the_values_choose_the_type() -> None:
    """The type has six or eighteen decimal places as needed. Values beyond that are text."""
    texts = ("1.5", "0.0000001", "1e12", "1e33", "1e-19", "1e60")

    assert [str(packed([Decimal(text)]).type) for text in texts] == [
        "decimal128(18, 6)", "decimal256(37, 18)", "decimal256(37, 18)", "decimal256(75, 18)", "large_string",
        "large_string",
    ]  # fmt: skip
    for text in ("1e3", "+1", "0.0000000000000000001", "9" * 39, str(2**256), "", "many"):
        assert cast(pa.array([text], pa.large_string())) is None


@given(st.lists(st.tuples(POINTS, POINTS), min_size=1, max_size=8))
def test_arithmetic_is_exact(pairs: list[tuple[Decimal, Decimal]]) -> None:
    """Sums, differences and products of columns equal those of fractions."""
    left, right = (pd.Series([pair[side] for pair in pairs], dtype=USUAL) for side in (0, 1))
    exact = [(Fraction(a), Fraction(b)) for a, b in pairs]

    assert [a + b for a, b in exact] == fractions(left + right)
    assert [a - b for a, b in exact] == fractions(left - right)
    assert [a * b for a, b in exact] == fractions(left * right)
    assert [a * 2 for a, _ in exact] == fractions(left * 2)
    assert [a / 100 for a, _ in exact] == fractions(left * Decimal("0.01"))
    assert sum(a for a, _ in exact) == Fraction(left.sum())


@given(st.lists(POINTS, min_size=1, max_size=8), st.integers(1, 10**6))
def test_quotients_keep_many_digits(values: list[Decimal], by: int) -> None:
    """Division by a whole number is exact to twenty places."""
    made = fractions(pd.Series(values, dtype=USUAL) / by)

    assert all(
        abs(Fraction(v) / by - m) < Fraction(1, 10**20) for v, m in zip(values, made, strict=True) if m is not None
    )


@given(st.lists(st.tuples(st.sampled_from("ab"), POINTS), min_size=1, max_size=12))
def test_groups_are_summed_exactly(rows: list[tuple[str, Decimal]]) -> None:
    """Sums of groups are exact, and means are rounded to six places."""
    frame = pd.DataFrame({"key": [key for key, _ in rows], "points": pd.Series([v for _, v in rows], dtype=USUAL)})
    sums, means = frame.groupby("key")["points"].sum(), frame.groupby("key")["points"].mean()

    for key in sums.index:
        values = [Fraction(value) for one, value in rows if one == key]
        assert sum(values) == Fraction(sums[key])
        assert abs(sum(values) / len(values) - Fraction(means[key])) <= Fraction(1, 10**6)


def test_wide_columns_compute_too() -> None:
    """Columns with more digits support the same operations, also together with usual ones."""
    wide = pd.Series([Decimal("1.000000000000000001"), Decimal(10**18)], dtype=WIDE)

    assert [Decimal("2.000000000000000002"), Decimal(2 * 10**18)] == (wide + wide).tolist()
    assert fractions(wide * 2) == fractions(wide + wide)
    assert [Fraction(Decimal("1.000000000000000001")) ** 2, Fraction(10**36)] == fractions(wide * wide)
    assert fractions(wide / 4) == [value / 4 for value in fractions(wide) if value is not None]
    assert Decimal("1000000000000000001.000000000000000001") == wide.sum()
    assert fractions(wide + COLUMN[:2].reset_index(drop=True))[0] == Fraction(Decimal("1.125000000000000001"))


def test_pandas_selects_groups_and_fills() -> None:
    """Selecting, sorting, filling, pivoting, resampling and rounding preserve decimals."""
    frame = pd.DataFrame({"points": COLUMN, "by": ["a", "a", "b", "b"]})
    frame["at"] = pd.to_datetime(["2026-01-01", "2026-01-02", "2026-02-01", "2026-02-02"], utc=True)
    months = frame.resample("MS", on="at")["points"].sum()

    assert [Decimal("3.375"), Decimal("-2.5")] == months.tolist()
    assert Decimal("3.375") == frame.pivot_table(index="by", values="points", aggfunc="sum").loc["a", "points"]
    assert [Decimal("3.25")] == frame[frame["points"] > 1]["points"].tolist()
    assert Decimal("-2.5") == frame.sort_values("points")["points"].iloc[0]
    assert USUAL == COLUMN.fillna(Decimal(0)).dtype
    assert [Decimal("0.12"), Decimal("3.25")] == COLUMN.round(2).tolist()[:2]
    assert [Decimal("3.125")] == COLUMN.diff().dropna().tolist()
    assert (Decimal("0.291667"), Decimal("-2.5"), Decimal("3.25")) == (COLUMN.mean(), COLUMN.min(), COLUMN.max())


def test_statistics_are_floats() -> None:
    """Quantiles and deviations are floats. After a cast to floats, `describe` works."""
    numbers = COLUMN.astype("Float64")

    assert isinstance(COLUMN.quantile(0.9), float)
    assert isinstance(COLUMN.std(), float)
    assert numbers.describe()["50%"] == 0.125
    assert numbers.dropna().to_numpy().dtype == np.float64
    assert pd.DataFrame({"points": COLUMN}).astype({"points": "Float64"}).describe().loc["max", "points"] == 3.25
    assert (numbers / (numbers + 1)).notna().sum() == 3


@pytest.mark.parametrize(
    "way, refusal",
    [
        (COLUMN.cumsum, TypeError), (lambda: COLUMN.nlargest(3), TypeError), (COLUMN.describe, pa.ArrowTypeError),
        (lambda: COLUMN / (COLUMN + 1), pa.ArrowInvalid), (lambda: COLUMN.groupby(["a", "a", "b", "b"]).cumsum(), TypeError),
    ],
    ids=["cumsum", "nlargest", "describe", "ratio of columns", "cumsum by group"],
)  # fmt: skip
def test_what_pandas_refuses(way: Callable[[], Any], refusal: type[Exception]) -> None:
    """The operations that the page on tables calls unsupported raise errors."""
    with pytest.raises(refusal):
        way()


def test_floats_are_not_equal() -> None:
    """0.1 as a float differs from the decimal. Two decimal types concatenate to objects."""
    tenth = pd.Series([Decimal("0.1")], dtype=USUAL)

    assert [False] == (tenth == 0.1).tolist()
    assert [True] == (tenth == Decimal("0.1")).tolist()
    assert np.dtype(object) == pd.concat([tenth, tenth.astype(WIDE)]).dtype
    assert pd.concat([tenth.astype(WIDE), tenth.astype(WIDE)]).dtype == WIDE


def test_files_and_back(tmp_path: Path) -> None:
    """CSV and Parquet files have all digits, and are read back exactly as the page describes."""
    frame = pd.DataFrame({"points": COLUMN, "by": ["a", "a", "b", "b"]})
    wb.to_file(frame, tmp_path / "points.csv")
    wb.to_file(frame, tmp_path / "points.parquet")
    texts = pd.read_csv(tmp_path / "points.csv", dtype=str)["points"]
    columns = pd.read_parquet(tmp_path / "points.parquet", dtype_backend="pyarrow")["points"]

    assert COLUMN.equals(texts.astype(USUAL))
    assert COLUMN.equals(columns)


def test_rewards_sum_to_decimals() -> None:
    """Sum, merge and addition of rewards give exact decimals."""
    frame = to_frame(samples.answer("list_rewards_activity", samples.REWARDS))

    assert frame["points"].dtype == USUAL
    assert frame["points"].sum() == Decimal("9.5")
    assert frame.merge(frame, on="id")["points_x"].sum() == Decimal("9.5")
    assert (frame["points"] + frame["points"]).tolist() == [Decimal(25), Decimal(-6)]


@pytest.mark.parametrize(
    "column", [pd.Series([0.1]), pd.Series(["•••"]), pd.Series([True]), pd.Series(["NaN?"])], ids=str
)
def test_inexact_values_are_refused(column: "pd.Series[Any]") -> None:
    """Floats, masked values, flags and words are refused as decimals."""
    with pytest.raises(ValueError, match="holds"):
        decimals(column)


def test_the_example_of_the_page_runs() -> None:
    """The code in the page's section on exact arithmetic runs."""
    section = (
        (Path(__file__).parents[2] / "docs" / "tables.md")
        .read_text()
        .partition("## Exact arithmetic")[2]
        .partition("\n## ")[0]
    )
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    with wb.connect(seed=7) as api:
        users = [user["id"] for user in api.sandbox.guide()["rewards_users"][:2]]
        names: dict[str, Any] = {"wb": wb, "api": api, "users": users}
        exec(code, names)

    assert {"running", "per_cent"} <= set(names["frame"].columns)


def test_other_libraries_take_a_frame(tmp_path: Path) -> None:
    """Excel, SQLite and DuckDB accept a frame as docs/tables.md describes."""
    import sqlite3
    from contextlib import closing

    import duckdb

    frame = to_frame(samples.answer("list_rewards_activity", samples.REWARDS))
    plain = frame.assign(
        **{name: frame[name].dt.tz_localize(None) for name in ("created_at", "posted_at", "minted_at")}
    )
    plain.to_excel(tmp_path / "a.xlsx", index=False)
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        rows = frame.astype({"points": "str"}).to_sql("rewards", connection)
    table = pa.Table.from_pandas(frame)

    assert rows == len(frame)
    assert duckdb.from_arrow(table).aggregate("sum(points)").fetchall() == [(frame["points"].sum(),)]
    assert frame.convert_dtypes(dtype_backend="pyarrow")["points"].sum() == frame["points"].sum()


def test_chunks_of_several_types_become_one_column_with_their_gaps() -> None:
    """Chunks of several decimal types become a column of the widest type."""
    short = pa.array([Decimal("1.5"), None], type=pa.decimal128(18, 6))
    long = pa.array([None, Decimal("0.000000000000000001")], type=pa.decimal256(37, 18))

    assert joined_chunks([short, long]).to_pylist() == [Decimal("1.5"), None, None, Decimal("0.000000000000000001")]
