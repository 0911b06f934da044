"""Exported files: no formulas, equal when read back, written completely or not at all, private only on request."""

import csv
import io
import os
import shutil
import stat
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.tables import samples
from workbench.analysis.tables import to_file as files
from workbench.analysis.tables.frames import to_frame
from workbench.analysis.tables.rows import decimal_series
from workbench.analysis.tables.to_file import to_file
from workbench.base.schema.walk import build
from workbench.runs.bulk.rows import raw_bodies
from workbench.service.interface.transactions import RewardsItem

HOSTILE = [
    "=cmd|' /C calc'!$A$1", "+1+1", "-2+3", "@SUM(A1)", "\tx", "\rx", "\n=x", "＝1+1", " =1+1", "'=x", "'plain", "http://x.example",
    "0742", "1E5", "12345678901234567890", "a\0b", "a\x1b[31mb", "\u202eabc", "NA", "null", "True", "",
    '"quoted", comma', "two\nlines", "<script>", "mailto:a@example.com", "{=1+1}", "#REF!", "‮",
]  # fmt: skip


def frame_of(texts: list[str]) -> pd.DataFrame:
    return to_frame([build(RewardsItem, {"merchant_name": text, "id": "0"}) for text in texts])


@pytest.mark.parametrize("text", HOSTILE, ids=[ascii(text) for text in HOSTILE])
def test_no_cell_is_a_formula(tmp_path: Path, text: str) -> None:
    """Texts are text cells in XLSX, and no CSV cell begins like a formula."""
    frame = frame_of([text])
    to_file(frame, tmp_path / "a.xlsx")
    to_file(frame, tmp_path / "a.csv")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx")["data"]
    rows = list(csv.reader(io.StringIO((tmp_path / "a.csv").read_bytes().decode(), newline="")))

    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n"}
    assert sheet.cell(2, 6).data_type in {"s", "n"}
    assert sheet.cell(2, 6).hyperlink is None
    assert rows[1][5].lstrip(" ")[:1] not in set("=+-@\t\r\n＝")


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_text_reads_back_the_same(tmp_path: Path, suffix: str) -> None:
    """Texts with zeros, long digits or words such as NA are read back. Invisible characters are escaped."""
    texts = [text for text in HOSTILE if text]
    to_file(frame_of(texts), tmp_path / f"a{suffix}")
    shown = [text.replace("\0", "\\x00").replace("\x1b", "\\x1b").replace("\u202e", "\\u202e") for text in texts]
    shown = [text.replace("\r", "\\x0d") for text in shown]

    assert [body["merchant_name"] for body in raw_bodies(tmp_path / f"a{suffix}")] == shown


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=20), max_size=5))
def test_any_text_can_be_saved(tmp_path: Path, suffix: str, texts: list[str]) -> None:
    """Any text can be written, and no row is lost."""
    path = tmp_path / f"any{suffix}"
    saved = to_file(frame_of([text or "x" for text in texts]), path, overwrite=True)

    assert saved.rows == len(texts)
    assert len(raw_bodies(path)) == len(texts)


def test_control_characters_are_counted(tmp_path: Path) -> None:
    """The result has the number of cells in which characters were escaped."""
    saved = to_file(frame_of(["a\0b", "plain", "c\x07"]), tmp_path / "a.csv")

    assert saved.cleaned == 2
    assert "escapes in 2 cells" in str(saved)


def test_types_survive_a_spreadsheet(tmp_path: Path) -> None:
    """In XLSX, amounts and points are numbers, times are dates in UTC, and ids are text."""
    frame = to_frame(samples.answer("list_rewards_activity", samples.REWARDS))
    to_file(frame, tmp_path / "a.xlsx")
    row = [cell.value for cell in next(openpyxl.load_workbook(tmp_path / "a.xlsx")["data"].iter_rows(min_row=2))]

    assert row[:3] == ["earned", "007", 12.5]
    assert row[6] == 1250
    assert str(row[8]) == "2026-01-01 00:00:00"


def test_groups_keep_their_keys(tmp_path: Path) -> None:
    """An exported column of sums has the group keys too."""
    frame = to_frame(samples.answer("list_rewards_activity", samples.REWARDS))
    to_file(frame.groupby("type", observed=True)["points"].sum(), tmp_path / "a.csv")

    assert (tmp_path / "a.csv").read_text().splitlines() == ["type,points", "earned,12.500000", "redeemed,-3.000000"]


def test_long_numbers_are_text_in_a_spreadsheet(tmp_path: Path) -> None:
    """A number with more than 15 digits is exported as text, because a spreadsheet would round it."""
    frame = to_frame([build(RewardsItem, {"points": Decimal("12345678901234567.5")})])
    to_file(frame, tmp_path / "a.xlsx")

    assert (
        openpyxl.load_workbook(tmp_path / "a.xlsx")["data"].cell(2, 3).value == "12345678901234567.500000000000000000"
    )


def test_parquet_keeps_types_and_notes(tmp_path: Path) -> None:
    """Parquet files have decimals, and the notes in their metadata."""
    frame = to_frame(samples.answer("list_rewards_activity", samples.REWARDS.replace(b'"id":"8"', b'"new":1')))
    to_file(frame, tmp_path / "a.parquet")
    schema = pq.read_schema(tmp_path / "a.parquet")

    assert str(schema.field("points").type) == "decimal128(18, 6)"
    assert b"not in the interface document" in schema.metadata[b"workbench"]


def test_notes_stand_beside_a_csv_and_in_a_sheet(tmp_path: Path) -> None:
    """Notes are in a text file next to a CSV file, and in a sheet of XLSX."""
    frame = to_frame(samples.answer("list_rewards_activity", samples.REWARDS))
    frame.attrs.update(notes=["Read up to offset 10,000."], complete=False)
    to_file(frame, tmp_path / "a.csv")
    to_file(frame, tmp_path / "a.xlsx")

    assert (tmp_path / "a.csv.notes.txt").read_text() == "This table is not complete.\nRead up to offset 10,000.\n"
    assert openpyxl.load_workbook(tmp_path / "a.xlsx")["notes"].cell(2, 1).value == "Read up to offset 10,000."


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_masks_and_marks_are_respected(tmp_path: Path, suffix: str, caplog: pytest.LogCaptureFixture) -> None:
    """Masked values stay masked. A file with revealed values is only for its owner, and the export is logged."""
    user = samples.answer("update_user", samples.USER)
    to_file(to_frame(user), tmp_path / f"masked{suffix}")
    saved = to_file(to_frame(user, reveal={"email"}), tmp_path / f"shown{suffix}")

    masked = raw_bodies(tmp_path / f"masked{suffix}")[0]
    assert masked["email"] == "a•••@e•••.com"
    assert raw_bodies(tmp_path / f"shown{suffix}")[0]["email"] == "ada@example.com"
    assert stat.S_IMODE((tmp_path / f"shown{suffix}").stat().st_mode) == 0o600
    assert saved.revealed == ("email",)
    assert "private columns (email) were written" in caplog.text
    assert "ada@example.com" not in caplog.text


def test_a_file_is_never_overwritten_unasked(tmp_path: Path) -> None:
    """An existing file is overwritten only with `overwrite=True`."""
    to_file(frame_of(["one"]), tmp_path / "a.csv")

    with pytest.raises(FileExistsError, match="overwrite=True"):
        to_file(frame_of(["two"]), tmp_path / "a.csv")
    to_file(frame_of(["two"]), tmp_path / "a.csv", overwrite=True)
    assert "two" in (tmp_path / "a.csv").read_text()


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk is full, the old file is unchanged and no temporary file remains."""
    to_file(frame_of(["old"]), tmp_path / "a.csv")
    before = (tmp_path / "a.csv").read_bytes()

    def full(_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        to_file(frame_of(["new"]), tmp_path / "a.csv", overwrite=True)
    assert (tmp_path / "a.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.slow
def test_a_kill_leaves_the_old_file(tmp_path: Path) -> None:
    """If the process is killed during the write, the old file is unchanged."""
    path = tmp_path / "a.csv"
    to_file(frame_of(["old"]), path)
    code = (
        "import os, sys, pandas as pd, workbench as wb\n"
        "os.fsync = lambda _: os.kill(os.getpid(), 9)\n"
        "wb.to_file(pd.DataFrame({'a': ['new']}), sys.argv[1], overwrite=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)

    assert done.returncode == -9
    assert "old" in path.read_text()


def test_a_sheet_holds_only_a_limited_number_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables and texts beyond the limits of XLSX are refused before a file is created."""
    monkeypatch.setattr("workbench.analysis.tables.workbooks.SHEET_ROWS", 2)
    with pytest.raises(ValueError, match="write Parquet"):
        to_file(frame_of(["a", "b"]), tmp_path / "a.xlsx")
    with pytest.raises(ValueError, match="maximum of an XLSX cell"):
        to_file(frame_of(["a" * 40_000]), tmp_path / "a.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_the_ending_says_the_format(tmp_path: Path) -> None:
    """An unsupported extension, such as .pkl, is refused with the list of supported ones."""
    with pytest.raises(ValueError, match=r"\.csv, \.xlsx, \.parquet"):
        to_file(frame_of(["a"]), tmp_path / "a.pkl")


@pytest.mark.slow
def test_a_sheet_reads_like_a_report(tmp_path: Path) -> None:
    """Times are in the zone, dates are dates, columns are wide enough, and notes are in a separate sheet."""
    with wb.connect() as api:
        wb.sequences.run(api, wb.sequences.catalogue["a-cardholders-month"], progress=False)
        frame = wb.history(api).transactions()
    to_file(frame, tmp_path / "a.xlsx", tz="America/New_York")
    to_file(wb.history(frame).approvals(freq="month"), tmp_path / "b.xlsx")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    sheet = book["data"]
    heads = [cell.value for cell in sheet[1]]
    row = dict(zip(heads, sheet[2], strict=True))

    assert heads == [*frame.columns]
    assert row["authorized_cents"].value == frame["authorized_cents"][0]
    assert row["authorized_at"].value == frame["authorized_at"][0].tz_convert("America/New_York").replace(tzinfo=None)
    assert "America/New_York" in row["authorized_at"].number_format
    assert sheet.column_dimensions["A"].width >= 36
    assert "Shown: all times, UTC." in book["notes"].cell(1, 1).value
    assert openpyxl.load_workbook(tmp_path / "b.xlsx")["data"]["A2"].is_date


def test_a_head_begins_or_ends_where_its_cells_do(tmp_path: Path) -> None:
    """Heads of texts are left-aligned with an indent as their cells, and heads of numbers right-aligned."""
    frame = pd.DataFrame({"net_cents": pd.array([1], dtype="Int64"), "running": ["no"], "rate": [0.5]})
    for frames in (frame, {"spend": frame}):
        to_file(frames, tmp_path / "a.xlsx", overwrite=True)
        book = openpyxl.load_workbook(tmp_path / "a.xlsx")
        heads, cells = book["data" if frames is frame else "spend"].iter_rows(max_row=2)
        for head, cell in zip(heads, cells, strict=True):
            expected = ("left", 1) if isinstance(cell.value, str) else ("right", 0)

            assert (head.alignment.horizontal, head.alignment.indent) == expected
            assert cell.alignment.indent == head.alignment.indent


@pytest.mark.soak  # LibreOffice takes seconds
@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice (soffice) is not installed")
def test_libreoffice_opens_a_sheet(tmp_path: Path) -> None:
    """LibreOffice displays amounts, local times and leading zeros as written, and no value as too wide."""
    with wb.connect() as api:
        wb.sequences.run(api, wb.sequences.catalogue["a-cardholders-month"], progress=False)
        frame = wb.history(api).transactions()
    to_file(frame.assign(card_id="007"), tmp_path / "a.xlsx", tz="America/New_York")
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    shown = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true"  # the last value exports cells as displayed
    command = ["soffice", "--headless", "--convert-to", shown, "--outdir", str(tmp_path), str(tmp_path / "a.xlsx")]
    subprocess.run(command, check=True, capture_output=True, env=environment, timeout=120)
    read = pd.read_csv(tmp_path / "a.csv", dtype=str)

    assert read["authorized_cents"].tolist() == frame["authorized_cents"].astype(str).tolist()
    local = frame["authorized_at"].dt.tz_convert("America/New_York")
    assert read["authorized_at"].tolist() == local.dt.strftime("%Y-%m-%d %H:%M:%S America/New_York").tolist()
    assert set(read["card_id"]) == {"007"}
    assert "###" not in (tmp_path / "a.csv").read_text()


def test_times_and_decimals_in_a_csv(tmp_path: Path) -> None:
    """Times are ISO 8601 in UTC, with a fraction only if needed. Decimals have no exponent."""
    times = pd.to_datetime(["2026-01-15T12:00:00Z", "2026-01-15T12:00:00.250Z", None], format="ISO8601", utc=True)
    frame = pd.DataFrame({"at": times, "points": [Decimal("1E-6"), Decimal("12.500000"), None]})
    to_file(frame, tmp_path / "a.csv")

    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines == ["at,points", "2026-01-15T12:00:00Z,0.000001", "2026-01-15T12:00:00.250000Z,12.500000", ","]


def test_a_csv_of_whole_columns_is_that_of_its_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Conversion by column gives the same bytes as conversion by cell."""
    times = ["2026-01-01T00:00:00Z", None, "1969-12-31T23:59:59.5Z", "2025-06-01T12:00:00.000001Z"]
    frame = pd.DataFrame(
        {
            "points": decimal_series([Decimal(0), None, Decimal("-0.000001"), Decimal("999999999999.999999")]),
            "at": pd.to_datetime(pd.Series(times), format="ISO8601").astype("datetime64[us, UTC]"),
            "name": pd.array(["=1", "  +x", None, 'a, "b"\nc'], dtype="str"),
            "plain": pd.array(["a", "", None, "é"], dtype="str"),
            "cents": pd.array([1, None, -3, 0], dtype="Int64"),
        }
    )
    wb.to_file(frame, tmp_path / "columns.csv")

    def cells(column: Any) -> Any:
        return np.array([files._cell(value) for value in column.tolist()], dtype=object)

    monkeypatch.setattr(files, "_csv_column", cells)
    wb.to_file(frame, tmp_path / "cells.csv")
    assert (tmp_path / "cells.csv").read_bytes() == (tmp_path / "columns.csv").read_bytes()


def test_hours_without_a_zone_and_long_numbers_stay(tmp_path: Path) -> None:
    """Times without a zone and numbers beyond fifteen digits are written as text in XLSX."""
    frame = pd.DataFrame(
        {"local": pd.to_datetime(["2026-03-01 13:45"]), "net_cents": pd.array([12_345_678_901_234_567], "Int64")}
    )
    frame.attrs = {"kind": "spend", "notes": [], "currency": "usd"}
    to_file(frame, tmp_path / "a.xlsx")
    to_file({"Spend": frame}, tmp_path / "pack.xlsx")
    data, pack = (openpyxl.load_workbook(tmp_path / name) for name in ("a.xlsx", "pack.xlsx"))

    assert [cell.value for cell in data["data"][2]] == ["2026-03-01 13:45:00", "12345678901234567"]
    assert [str(cell.value) for cell in pack["Spend"][2]] == ["2026-03-01 13:45:00", "123,456,789,012,345.67"]


def test_a_shorter_note_or_none_replaces_the_one_before(tmp_path: Path) -> None:
    """Overwriting a CSV file removes its notes if the new frame has none."""
    frame = wb.history([]).spend()
    to_file(frame, tmp_path / "a.csv")
    assert (tmp_path / "a.csv.notes.txt").exists()
    to_file(pd.DataFrame({"a": [1]}), tmp_path / "a.csv", overwrite=True)

    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
