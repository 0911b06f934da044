"""Attributes of frames may come from foreign files: one of the wrong type is ignored without an error."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from tests.charts import samples
from workbench import charts

ODD: dict[str, Any] = {
    "notes": 5, "kind": [1], "complete": "x", "revealed": 7, "unknown": "x", "columns": 3, "until": "never", "tz": 5,
    "currency": {"a": 1}, "month": 3, "running": "x", "filters": 1, "left_out": 1, "read": 5, "trace": 5, "unit_unknown": 4,
    "statement": 2, "freq": 5, "signed_by": [1], "by": 5,
}  # fmt: skip
CASES = [
    *ODD.items(),
    ("tz", "Nowhere"),
    ("currency", "EURO"),
    ("freq", "decade"),
    ("until", 5),
    ("notes", [5, None]),
    ("until", "2026-13-01"),
    ("filters", {"until": "x"}),
]
USES: dict[str, tuple[Callable[[], Any], Callable[[Any, Path], Any]]] = {
    "points_chart": (samples.rewards, lambda frame, _: charts.points_chart(frame)),
    "liability_chart": (lambda: wb.history(samples.rewards()).liability(), lambda frame, _: charts.liability_chart(frame)),
    "spend_chart": (lambda: wb.history(samples.spent()).spend(), lambda frame, _: charts.spend_chart(frame)),
    "approvals_chart": (lambda: wb.history(samples.spent()).approvals(), lambda frame, _: charts.approvals_chart(frame)),
    "cohorts_chart": (lambda: wb.history(samples.spent()).cohorts(), lambda frame, _: charts.cohorts_chart(frame)),
    "to_frame": (samples.rewards, lambda frame, _: wb.to_frame(frame)._repr_html_()),
    "CSV": (samples.rewards, lambda frame, path: wb.to_file(frame, path / "a.csv", overwrite=True)),
    "XLSX": (samples.rewards, lambda frame, path: wb.to_file(frame, path / "a.xlsx", overwrite=True)),
    "Parquet": (samples.rewards, lambda frame, path: wb.to_file(frame, path / "a.parquet", overwrite=True)),
    "pack": (lambda: wb.history(samples.spent()).spend(), lambda frame, path: wb.to_file({"a": frame}, path / "p.xlsx", overwrite=True)),
    "page": (lambda: wb.history(samples.spent()).spend(), lambda frame, path: wb.to_file({"a": frame}, path / "p.html", overwrite=True)),
    "history": (samples.spent, lambda frame, _: wb.history(frame).spend()),
    "liability": (samples.rewards, lambda frame, _: wb.history(frame).liability()),
}  # fmt: skip


@pytest.mark.parametrize(
    "use, cases",
    [
        *(
            pytest.param(use, CASES[i % 6 :: 6], marks=pytest.mark.slow, id=f"{use}-sixth")
            for i, use in enumerate(USES)
        ),
        *(pytest.param(use, CASES, marks=pytest.mark.soak, id=f"{use}-all") for use in USES),
    ],
)
def test_attributes_of_wrong_types_raise_no_error_of_python(
    use: str, cases: list[tuple[str, Any]], tmp_path: Path
) -> None:
    """Each use tries a sixth of the values; `make soak` tries all."""
    make, call = USES[use]
    frame: pd.DataFrame = make()
    kept = dict(frame.attrs)
    failures = []
    for name, value in cases:
        frame.attrs = {**kept, name: value}
        try:
            call(frame, tmp_path)
        except wb.WorkbenchError:
            continue
        except Exception as error:  # noqa: BLE001 - the point
            failures.append(f"{name}={value!r}: {type(error).__name__} {error}")

    assert failures == []
