"""Files, pages and displays of frames, compared by digest. `python -m tests.tables.test_outputs` writes outputs.txt.

A line has the output, its part, and its digest. A change of any head, width, format, total or number changes the line:
look at the new output, then write the file again. The wording of sentences is not compared.
"""

import hashlib
import re
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.charts import samples
from workbench.analysis.tables import display

PAGE = Path(__file__).parent / "outputs.txt"
HEAD = ", ".join(f"{name} {version(name)}" for name in ("pandas", "xlsxwriter"))
_SENTENCE = re.compile(rb"[A-Za-z]+(?: [A-Za-z,.:;'=+-]+){2,}")
"""Three words and more, whose wording is not compared."""
_MOMENTS = [pd.Timestamp("2026-03-08 06:59:59.000001", tz="UTC"), pd.NaT, pd.Timestamp("1899-01-01", tz="UTC")]


def values() -> pd.DataFrame:
    """Return a frame with a column of each type, values beyond a spreadsheet's limits, and hostile text."""
    frame = pd.DataFrame(
        {
            "text": ["=1+1", "a\x07\u202eb", None],
            "flag": pd.array([True, False, None], dtype="boolean"),
            "whole": pd.array([1, -(10**16), None], dtype="Int64"),
            "share": [0.125, np.nan, -2e-7],
            "exact": [Decimal("0.000001"), Decimal(10**15), None],
            "local": pd.Series([datetime(2026, 1, 2, 3, 4, 5), pd.NaT, datetime(2026, 1, 2)]).astype("datetime64[us]"),  # noqa: DTZ001
            "moment": pd.Series(_MOMENTS).astype("datetime64[us, UTC]"),
            "day": [date(2026, 1, 2), None, date(1850, 1, 2)],
            "user_id": ["3f2a0b1c-0000-4000-8000-000000000000"] * 3,
            "fee_usd": [1234.5, np.nan, -0.004],
            "price_cents": pd.array([123456, None, -5], dtype="Int64"),
            "currency": ["jpy", "eur", None],
        }
    )
    frame.attrs.update(kind="table", notes=["A note <b>of</b> the frame."], revealed=["user_id"], complete=False)
    return frame


@cache
def frames() -> dict[str, pd.DataFrame]:
    """Return the reports of the samples, and a frame of unusual values."""
    history = wb.history(samples.spent()).filter(currency="usd")
    return {
        "Transactions": history.transactions(),
        "Postings": history.postings(),
        "Spend": history.spend("merchant_name"),
        "Spend by month": history.spend(freq="month"),
        "Spend by both": history.spend("merchant_category", freq="month"),
        "Approvals": history.approvals(freq="week"),
        "Declines": history.declines(),
        "Funnel": history.funnel(),
        "Changes": history.changes(),
        "Cohorts": history.cohorts(),
        "Holds": history.roll_forward("month"),
        "Times": history.posting_times("merchant_name"),
        "Points": wb.history(samples.rewards()).liability(),
        "Disputes": samples.disputes(),
        "Contracts": wb.history(samples.contracts()).contracts("chain_id"),
        "Values": values(),
        "Nothing": history.spend().iloc[:0],
    }


def _line(*parts: object, content: bytes) -> str:
    content = _SENTENCE.sub(b"~", content)
    return " | ".join([*map(str, parts), hashlib.sha256(content).hexdigest()[:16]])


def outputs(folder: Path) -> Iterator[str]:
    """Yield the lines of the file."""
    for suffix in (".xlsx", ".html"):
        path = wb.to_file(frames(), folder / f"pack{suffix}", tz="America/New_York").path
        yield from _parts(path) if suffix == ".xlsx" else [_line(path.name, content=path.read_bytes())]
    for name, frame in frames().items():
        yield _line(name, "html", content=(display.html(frame) or "").encode())
        yield _line(name, "text", content=display.text(frame).encode())
        for suffix in (".csv", ".xlsx"):
            path = wb.to_file(frame, folder / f"{name}{suffix}", tz="Asia/Tokyo").path
            texts = "\n".join(_parts(path)).encode() if suffix == ".xlsx" else path.read_bytes()
            yield _line(path.name, content=texts)
        notes = folder / f"{name}.csv.notes.txt"
        yield _line(notes.name, content=notes.read_bytes() if notes.exists() else b"")


def _parts(path: Path) -> Iterator[str]:
    """Yield digests of a workbook's sheets, styles, texts and drawings, without the time of writing."""
    with zipfile.ZipFile(path) as book:
        for name in book.namelist():
            if "/" in name and "_rels" not in name and (name != "docProps/core.xml" or path.stem == "pack"):
                yield _line(path.name, name, content=book.read(name))


@pytest.mark.slow
def test_outputs_are_what_they_were(tmp_path: Path) -> None:
    """Equal frames give equal outputs."""
    head, *lines = PAGE.read_text("utf-8").splitlines()
    if head != HEAD:
        pytest.skip(f"outputs were written by {head}")

    assert [*outputs(tmp_path)] == lines


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        PAGE.write_text("\n".join([HEAD, *outputs(Path(temporary))]) + "\n", "utf-8")
