"""Compare three ways to keep the unit of an amount through pandas operations: column name, dtype, `DataFrame.attrs`.

`python -m tests.benchmarks.bench_units` prints the table of docs/tables.md.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from pandas.api.extensions import register_extension_dtype
from pandas.arrays import IntegerArray

ROWS = 1_000_000
REPEATS = 3


@register_extension_dtype
class CentsDtype(pd.Int64Dtype):
    """Int64 under another name: the smallest possible dtype for amounts."""

    name = "cents"

    @classmethod
    def construct_array_type(cls) -> Any:
        return CentsArray


class CentsArray(IntegerArray):
    """An array of amounts in cents."""

    @property
    def dtype(self) -> Any:
        return CentsDtype()


def _sql(frame: pd.DataFrame) -> pd.DataFrame:
    name = frame.columns[1]
    return duckdb.sql(f'select "group", sum("{name}") as "{name}" from frame group by all').df()


def _parquet(frame: pd.DataFrame) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "frame.parquet")
        frame.to_parquet(path)
        return pd.read_parquet(path)


def _csv(frame: pd.DataFrame) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "frame.csv")
        frame.to_csv(path, index=False)
        return pd.read_csv(path)


WAYS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "merge": lambda frame: frame.merge(pd.DataFrame({"group": range(10), "team": range(10)}), on="group"),
    "concat": lambda frame: pd.concat([frame, frame.head(3)]),
    "concat of two reads with other notes": lambda frame: pd.concat([frame, _other(frame)]),
    "groupby and sum": lambda frame: frame.groupby("group").sum().reset_index(),
    "reindex and fillna": lambda frame: frame.reindex(range(-1, 10)).fillna(0),
    "a difference of two columns": lambda frame: frame.assign(
        **{str(frame.columns[1]): frame.iloc[:, 1] - frame.iloc[:, 1]}
    ),
    "pivot and stack": lambda frame: frame.groupby(["group"]).agg("sum").stack().unstack().reset_index(),
    "rename of the column": lambda frame: frame.rename(columns={frame.columns[1]: "Net spend"}),
    "SQL (DuckDB)": _sql,
    "Parquet": _parquet,
    "CSV": _csv,
}


def _other(frame: pd.DataFrame) -> pd.DataFrame:
    other = frame.head(3).copy()
    other.attrs = {**frame.attrs, "notes": ["read later"]}
    return other


def survives(frame: pd.DataFrame, test: Callable[[pd.DataFrame], bool], way: Callable[[pd.DataFrame], Any]) -> str:
    """Return "yes" or "no" for whether the unit is known after an operation, or the error's name if the operation fails."""
    try:
        return "yes" if test(way(frame)) else "no"
    except Exception as error:  # noqa: BLE001 - that an operation fails is the result
        return type(error).__name__


def _seconds(run: Callable[[], Any]) -> float:
    return min(_timed(run) for _ in range(REPEATS))


def _timed(run: Callable[[], Any]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def main() -> None:
    cents = np.random.default_rng(1).integers(-10_000, 10_000, ROWS)
    groups = np.arange(ROWS) % 10
    kinds: dict[str, tuple[pd.DataFrame, Callable[[pd.DataFrame], bool]]] = {
        "name": (
            pd.DataFrame({"group": groups, "net_cents": pd.array(cents, "Int64")}),
            lambda frame: any(str(name).endswith("_cents") for name in frame.columns),
        ),
        "dtype": (
            pd.DataFrame({"group": groups, "net": CentsArray(cents, np.zeros(ROWS, bool))}),
            lambda frame: any(str(dtype) == "cents" for dtype in frame.dtypes),
        ),
        "attrs": (
            pd.DataFrame({"group": groups, "net": pd.array(cents, "Int64")}),
            lambda frame: "cents" in frame.attrs,
        ),
    }
    kinds["attrs"][0].attrs = {"cents": ["net"], "notes": []}
    print("| After | " + " | ".join(kinds) + " |\n|---|" + "---|" * len(kinds))
    for name, way in WAYS.items():
        print(f"| {name} | " + " | ".join(survives(frame, test, way) for frame, test in kinds.values()) + " |")
    plain = kinds["name"][0]
    for what, run in (
        ("sum by group", lambda frame: frame.groupby("group").sum()),
        ("difference", lambda frame: frame.iloc[:, 1] - frame.iloc[:, 1]),
    ):
        peer = _seconds(lambda run=run: run(plain))
        times = [_seconds(lambda run=run, frame=frame: run(frame)) / peer for frame, _ in kinds.values()]
        print(f"| {what}, {ROWS:,} rows, times Int64 | " + " | ".join(f"{ratio:.1f}" for ratio in times) + " |")


if __name__ == "__main__":
    main()
