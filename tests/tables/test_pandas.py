"""What the page on tables says of pandas on decimal columns is so, and what it offers instead is exact."""

import re
import statistics
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
from tests.tables.listing import DOC
from workbench import tables
from workbench.tables.decimals import series

SIX, EIGHTEEN = (pd.ArrowDtype(pa.decimal128(38, places)) for places in (6, 18))
POINTS = pd.Series([Decimal("0.125"), Decimal("3.25"), None, Decimal("-2.5")], dtype=SIX, name="points")
FRAME = pd.DataFrame({"points": POINTS, "by": ["a", "a", "b", "b"]})
NUMBERS = st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9))


@pytest.mark.parametrize(
    "way, refusal",
    [
        (lambda: POINTS + POINTS, pa.ArrowInvalid),
        (lambda: POINTS - 1, pa.ArrowInvalid),
        (lambda: POINTS * Decimal("0.01"), pa.ArrowInvalid),
        (lambda: POINTS / 100, pa.ArrowInvalid),
        (POINTS.diff, pa.ArrowInvalid),
        (POINTS.cumsum, TypeError),
        (FRAME.groupby("by")["points"].cumsum, TypeError),
        (lambda: POINTS.nlargest(3), TypeError),
        (POINTS.describe, pa.ArrowTypeError),
        (lambda: FRAME.describe(include="all"), pa.ArrowTypeError),
        (lambda: FRAME.groupby("by")["points"].quantile(0.5), NotImplementedError),
        (FRAME.groupby("by")["points"].rank, TypeError),
        (POINTS.dropna().plot.hist, TypeError),
        (lambda: POINTS.dropna().astype("Int64"), TypeError),
    ],
    ids=["add", "subtract", "multiply", "divide", "diff", "cumsum", "cumsum by group", "nlargest", "describe", "describe all",
         "quantile by group", "rank by group", "hist", "Int64"],
)  # fmt: skip
def test_pandas_refuses(way: Callable[[], Any], refusal: type[Exception]) -> None:
    """What the page says is refused is refused."""
    with pytest.raises(refusal):
        way()


@pytest.mark.parametrize(
    "found",
    [
        POINTS.median(), POINTS.quantile(0.9), POINTS.std(), POINTS.rolling(2).sum().dtype.type(),
        POINTS.ewm(span=2).mean().dtype.type(),
    ],
    ids=["median", "quantile", "std", "rolling", "ewm"],
)  # fmt: skip
def test_pandas_makes_floats(found: Any) -> None:
    """What the page says becomes floats becomes floats."""
    assert isinstance(found, float)


def test_pandas_wraps_around() -> None:
    """A sum of more than 38 digits is wrong without a word, in all and by group; ours is right."""
    for dtype, value in ((SIX, Decimal(10**32 - 1)), (EIGHTEEN, Decimal(10**20 - 1))):
        column = pd.Series([value] * 3, dtype=dtype, name="points")
        frame = pd.DataFrame({"points": column, "by": "a"})

        assert column.sum() < 0
        assert frame.groupby("by")["points"].sum().iloc[0] < 0
        assert frame.pivot_table(index="by", values="points", aggfunc="sum").iloc[0, 0] < 0
        assert Decimal(3 * int(value)) == tables.total(column) == Decimal(tables.grouped(frame, "by", "points").iloc[0])


def test_pandas_cuts_and_rounds() -> None:
    """Means keep the column's places, `round` goes half to even, and `astype(int)` cuts fractions off."""
    thirds = pd.Series([Decimal(2), Decimal(0), Decimal(0)], dtype=SIX)

    assert Decimal("0.666667") == thirds.mean()
    assert Decimal("0." + "6" * 37 + "7") == tables.mean(thirds)
    assert [Decimal("0.12"), Decimal("3.25")] == POINTS.round(2).tolist()[:2]
    assert [0, 3, -2] == POINTS.dropna().astype(int).tolist()
    assert [1.0, 2.0] == pd.Series([Decimal(10**19), Decimal(10**19 + 1)], dtype=SIX).rank().tolist()


def test_pandas_leaves_out_and_mistakes() -> None:
    """A float never equals 0.1, numbers do not count decimals, and two widths make objects."""
    tenth = pd.Series([Decimal("0.1")], dtype=SIX)

    assert [False] == (tenth == 0.1).tolist()
    assert [True] == (tenth == Decimal("0.1")).tolist()
    assert [] == list(FRAME.select_dtypes("number").columns)
    assert ["n"] == list(FRAME.assign(n=1).describe().columns)
    assert np.dtype(object) == pd.concat([tenth, tenth.astype(EIGHTEEN)]).dtype
    assert pd.concat([tenth.astype(EIGHTEEN), tenth.astype(EIGHTEEN)]).dtype == EIGHTEEN


def test_files_and_back(tmp_path: Path) -> None:
    """Both files hold all digits; they come back exact by the ways the page names."""
    wb.export(FRAME, tmp_path / "points.csv")
    wb.export(FRAME, tmp_path / "points.parquet")
    texts = pd.read_csv(tmp_path / "points.csv", dtype=str)["points"]
    columns = pd.read_parquet(tmp_path / "points.parquet", dtype_backend="pyarrow")["points"]

    assert np.dtype(float) == pd.read_csv(tmp_path / "points.csv")["points"].dtype
    assert np.dtype(object) == pd.read_parquet(tmp_path / "points.parquet")["points"].dtype
    assert POINTS.equals(texts.astype(SIX))
    assert POINTS.equals(columns)


def test_the_example_runs() -> None:
    """The lines of the page run as they stand, on rewards, and the first one describes the points."""
    section = DOC.read_text().partition("## Exact arithmetic")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    with wb.connect(seed=7) as api:
        names: dict[str, Any] = {
            "wb": wb, "api": api, "users": [one["id"] for one in api.sandbox.guide()["rewards_users"][:2]]
        }  # fmt: skip
        exec(code, names)
    frame = names["frame"]
    paid = frame["transaction_amount_cents"].notna()

    assert {"running", "step", "per_dollar"} <= set(frame.columns)
    assert "decimal128" in str(frame["per_dollar"].dtype)
    assert not frame.loc[paid, "per_dollar"].isna().any()
    assert tables.total(frame["points"]) == tables.describe(frame).loc["points", "sum"]


def test_describes_the_numbers_of_contracts_and_rewards() -> None:
    """One row for each number of a frame, whichever; the same measures as pandas has for floats, to what floats hold."""
    with wb.connect(seed=7) as api:
        users = [api.sandbox.guide()["rewards_users"][0]["id"]]
        frames = [tables.read_rewards(api, users, progress=False).frame(), wb.to_frame(api.list_contracts())]
    numbers = (
        {"points", "transaction_amount_cents"},
        {"chain_id", "contract_version", "tokens.balance", "tokens.exchange_rate", "tokens.advance_rate"},
    )
    for frame, wanted in zip(frames, numbers, strict=True):
        made = tables.describe(frame)
        floats = pd.DataFrame({name: tables.floats(frame[name]) for name in made.index}).describe().T

        assert wanted == set(made.index)
        assert (made["count"] + made["missing"] == len(frame)).all()
        for measure in ("count", "mean", "std", "min", "25%", "50%", "75%", "max"):
            assert tables.floats(made[measure]).to_numpy() == pytest.approx(floats[measure].to_numpy(), rel=1e-6)
        assert [f"{len(frame.columns) - len(made)} columns that hold no exact numbers are left out."] == made.attrs[
            "notes"
        ]


@given(NUMBERS)
def test_descriptions_are_exact(values: list[Decimal]) -> None:
    """Sum, extremes, quartiles, mean and deviation are those of fractions."""
    made = tables.describe(pd.DataFrame({"points": series([*values, None], name="points")})).loc["points"]

    assert (len(values), 1) == (made["count"], made["missing"])
    assert sum(map(Fraction, values), Fraction(0)) == Fraction(made["sum"])
    if values:
        assert (min(values), max(values)) == (made["min"], made["max"])
        assert statistics.median(map(Fraction, values)) == Fraction(made["50%"])
        assert abs(Fraction(made["mean"]) - statistics.mean(map(Fraction, values))) <= Fraction(1, 2 * 10**6)
    if len(values) > 1:
        variance = statistics.variance(list(map(Fraction, values)))
        low, high = (Fraction(made["std"]) + Fraction(side, 2 * 10**6) for side in (-1, 1))
        assert max(low, Fraction(0)) ** 2 <= variance <= high**2
    else:
        assert pd.isna(made["std"])


@given(NUMBERS, st.fractions(0, 1, max_denominator=1000))
def test_quantiles_are_exact(values: list[Decimal], share: Fraction) -> None:
    """A quantile lies between two values by their distance, to the last digit."""
    wanted = Decimal(round(share * 1000)) / 1000
    made = tables.quantile(series(values), wanted)
    if not values:
        assert made is None
        return
    ordered, place = sorted(map(Fraction, values)), (len(values) - 1) * Fraction(wanted)
    below = int(place)
    above = ordered[min(below + 1, len(values) - 1)]

    assert ordered[below] + (above - ordered[below]) * (place - below) == Fraction(made)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.decimals(-(10**9), 10**9, places=6), st.decimals(-(10**6), 10**6, places=6))))
def test_arithmetic_is_exact(pairs: list[tuple[Decimal, Decimal]]) -> None:
    """Sums and differences to the last digit, quotients within half of it; nothing where the divisor is 0."""
    left, right = (series([pair[side] for pair in pairs]) for side in (0, 1))
    sums, differences = tables.added(left, right).tolist(), tables.subtracted(left, right).tolist()
    quotients = tables.divided(left, right, places=3).tolist()

    for (a, b), over, under, ratio in zip(pairs, sums, differences, quotients, strict=True):
        assert (Fraction(a) + Fraction(b), Fraction(a) - Fraction(b)) == (Fraction(over), Fraction(under))
        if b:
            assert abs(Fraction(ratio) - Fraction(a) / Fraction(b)) <= Fraction(1, 2000)
        else:
            assert pd.isna(ratio)


def test_quotients_round_half_to_even() -> None:
    """As money is rounded in statements: 0.125 and 0.375 to 0.12 and 0.38."""
    made = tables.divided(series([Decimal(1), Decimal(3), Decimal(-1), Decimal(-3)]), 8, places=2)

    assert [Decimal("0.12"), Decimal("0.38"), Decimal("-0.12"), Decimal("-0.38")] == made.tolist()


def test_arithmetic_refuses_what_is_not_exact() -> None:
    """Floats, a share beyond 1, and columns of other rows are refused, each by its name."""
    with pytest.raises(ValueError, match="floats, which are not exact"):
        tables.added(POINTS, 0.1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="from 0 to 1"):
        tables.quantile(POINTS, 90)
    with pytest.raises(ValueError, match="points and points have other rows"):
        tables.subtracted(POINTS, POINTS.iloc[::-1])


def test_running_sums_by_group() -> None:
    """The sum starts anew for each value; a missing one is a group of its own."""
    by = pd.Series(["a", "b", "a", None, None], dtype="str")
    made = tables.cumulated(series([Decimal(n) for n in (1, 2, 3, 4, 5)]), by=by)

    assert [1, 2, 4, 4, 9] == [int(value) for value in made.tolist()]
