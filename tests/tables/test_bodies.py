"""Rows for bulk runs: text is unchanged, empty cells are omitted, and unreadable values are named with their line."""

import io
import time
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench as wb
from workbench.base.errors import InvalidRequest, Problem, UsageError
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import build, flat
from workbench.base.system.limits import FileLimits, limits
from workbench.runs.bulk.plan import plan_of
from workbench.runs.bulk.rows import Body, raw_bodies, read_cells
from workbench.service.interface.examples import example
from workbench.service.interface.people import CreateUserApplication
from workbench.service.interface.table import OPERATIONS

ACCOUNT = {
    "type": "externalFiatAccount",
    "userId": "00112233-4455-6677-8899-aabbccddeeff",
    "externalFiatAccount.accountNumber": "000123456789",
    "externalFiatAccount.routingNumber": "021000021",
    "externalFiatAccount.beneficiaryLastName": "Null",
    "externalFiatAccount.beneficiaryAddress.postalCode": "00123",
    "externalFiatAccount.beneficiaryAddress.countryCode": "NA",
}
READ = {
    "type": "externalFiatAccount",
    "user_id": "00112233-4455-6677-8899-aabbccddeeff",
    "external_fiat_account": {
        "account_number": "000123456789",
        "routing_number": "021000021",
        "beneficiary_last_name": "Null",
        "beneficiary_address": {"postal_code": "00123", "country_code": "NA"},
    },
}


def read_rows(path: Path, operation: str = "", **given: int) -> list[Body]:
    """Return the rows of a file with the cells parsed for an operation; raise the problems of cells."""
    rows = raw_bodies(path, limits(FileLimits(), **given))
    if not operation:
        return rows
    bodies = read_cells(rows, OPERATIONS[operation].request)
    problems = [
        Problem(f"row {body.row}, {problem.path}", problem.rule, problem.message)
        for body in bodies
        for problem in body.problems
    ]
    if problems:
        raise InvalidRequest(problems)
    return bodies


def written(folder: Path, suffix: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / f"rows{suffix}"
    frame = pd.DataFrame(rows, dtype=object)
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    elif suffix == ".xlsx":
        frame.to_excel(path, index=False)
    elif suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".json":
        frame.to_json(path, orient="records")
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


SUFFIXES = (".csv", ".xlsx", ".parquet", ".json", ".ndjson")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_gives_the_same_rows(tmp_path: Path, suffix: str) -> None:
    """Leading zeros and texts such as NA and Null are kept. Dotted wire names become nested attributes."""
    path = written(tmp_path, suffix, [ACCOUNT])

    assert read_rows(path, "create_payment_account") == [READ]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_frame_of_a_file_makes_the_requests_of_the_file(tmp_path: Path, suffix: str) -> None:
    """A bulk run makes the same requests from a file and from its frame by `read_table`."""
    row = {"transaction_id": "00112233-4455-6677-8899-aabbccddeeff", "amount": "2500"}
    people = {path: str(value) for path, value in flat(example(CreateUserApplication))}
    for name, rows in (("simulate_refund", [row, {**row, "amount": "FULL"}]), ("create_user_application", [people])):
        path = written(tmp_path, suffix, rows)
        plans = [
            plan_of(OPERATIONS[name], source, secret=b"", implausible=True) for source in (path, wb.read_table(path))
        ]

        assert [planned.request for planned in plans[0].rows] == [planned.request for planned in plans[1].rows]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_cell_is_not_given(tmp_path: Path, suffix: str) -> None:
    """An empty amount is omitted and not a full refund. FULL is explicit, and 0 is zero."""
    rows = [{"transaction_id": "t", "amount": amount} for amount in ("2500", None, "FULL", "0")]
    bodies = read_rows(written(tmp_path, suffix, rows), "simulate_refund")

    assert [body.get("amount", "not given") for body in bodies] == [2500, "not given", FULL, 0]
    assert build(OPERATIONS["simulate_refund"].request, bodies[1]).amount is None


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet", ".json", ".ndjson"])
def test_numbers_where_text_belongs_are_refused(tmp_path: Path, suffix: str) -> None:
    """A numeric merchant category 742 is refused, not padded to 0742."""
    rows = [{"merchantCategoryCode": 742, "amount": 100}]

    with pytest.raises(InvalidRequest, match=r"merchantCategoryCode is a number in the file"):
        read_rows(written(tmp_path, suffix, rows), "simulate_authorization")


@pytest.mark.parametrize(
    "text", ["10.99", "1e3", "1_000", " 1", "$5", "٣", "full", "NaN", "1,000"], ids=lambda text: ascii(text)
)
def test_amounts_are_digits(tmp_path: Path, text: str) -> None:
    """Only ASCII digits or FULL are an amount. The message names row and column, but does not quote the text."""
    path = written(tmp_path, ".csv", [{"transaction_id": "t", "amount": "5"}, {"transaction_id": "t", "amount": text}])

    with pytest.raises(
        InvalidRequest, match=r"row 3, amount (must be|10\.99 is not) a whole number of cents"
    ) as caught:
        read_rows(path, "simulate_refund")
    assert text == "10.99" or text not in str(caught.value)


@pytest.mark.parametrize("text,expected", [("true", True), ("FALSE", False), ("Yes", True), ("no", False)])
def test_flags_have_a_closed_list(tmp_path: Path, text: str, expected: bool) -> None:
    """A flag is true, false, yes or no, in any letter case."""
    path = written(tmp_path, ".csv", [{"user_id": "u", "is_active": text}])

    assert read_rows(path, "update_user")[0]["is_active"] is expected


@pytest.mark.parametrize("text", ["0", "1", "off", "False "], ids=str)
def test_other_words_are_no_flags(tmp_path: Path, text: str) -> None:
    """0, 1 and other words are refused as flags."""
    path = written(tmp_path, ".csv", [{"user_id": "u", "is_active": text}])

    with pytest.raises(InvalidRequest, match="is_active must be true or false"):
        read_rows(path, "update_user")


def test_unknown_columns_are_named(tmp_path: Path) -> None:
    """The error for an unknown column lists the known ones."""
    path = written(tmp_path, ".csv", [{"transaction_id": "t", "ammount": "5"}])

    with pytest.raises(
        InvalidRequest, match=r"ammount is not a member of SimulateRefund \(members: transaction_id, amount"
    ):
        read_rows(path, "simulate_refund")


def test_both_names_of_one_member_are_refused(tmp_path: Path) -> None:
    """A file with both the attribute name and the wire name of a member is refused."""
    path = written(tmp_path, ".csv", [{"transaction_id": "t", "transactionId": "u"}])

    with pytest.raises(InvalidRequest, match="given both"):
        read_rows(path, "simulate_refund")


def test_rows_print_no_values(tmp_path: Path) -> None:
    """The repr of a row has its number and columns."""
    body = read_rows(written(tmp_path, ".csv", [{"email": "ada@example.com", "x": "1"}]))[0]

    assert repr(body) == "<row 2: email, x>"


CSV = {
    "mark and CRLF": ("\ufefftransaction_id,amount\r\nt,5\r\n".encode(), [5]),
    "semicolons": (b"transaction_id;amount\nt;5\n", [5]),
    "tabs": (b"transaction_id\tamount\nt\t5\n", [5]),
    "mixed line ends": (b"transaction_id,amount\r\nt,5\nu,6\r\n", [5, 6]),
    "blank lines": (b"\ntransaction_id,amount\n\nt,5\n,\n", [5]),
    "no end": (b"transaction_id,amount\nt,5", [5]),
    "short rows": (b"amount,transaction_id\n5\n", [5]),
    "quoted": (b'"transaction_id","amount"\n"t","5"\n', [5]),
}


@pytest.mark.parametrize("name", CSV)
def test_csv_of_all_sorts(tmp_path: Path, name: str) -> None:
    """Byte order marks, semicolons, tabs, mixed line ends and short rows are accepted."""
    data, amounts = CSV[name]
    (tmp_path / "a.csv").write_bytes(data)

    assert [body["amount"] for body in read_rows(tmp_path / "a.csv", "simulate_refund")] == amounts


BROKEN = {
    "a NUL": (b"a,b\n1,\x002\n", "line 2: holds a NUL"),
    "an encoding that is not clear": ("a\nm\xe4rz\n".encode("latin-1"), "encoding='cp1252'"),
    "too many cells": (b"a,b\n1,2\n1,2,3\n", "line 3: 3 cells"),
    "an open quote": (b'a\n"x\n', "line 2"),
    "a huge field": (b"a\n" + b"x" * 1_100_000 + b"\n", "row 2: 1,100,000 characters"),
    "a column in the way": (b"a,a.b\n1,2\n", "columns a.b and a conflict"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_csv_names_its_line(tmp_path: Path, name: str) -> None:
    """A broken CSV file gives one error with the line and the reason."""
    data, words = BROKEN[name]
    (tmp_path / "a.csv").write_bytes(data)

    with pytest.raises(UsageError, match=words):
        read_rows(tmp_path / "a.csv")


JSON = {
    "an object": (".json", b"{}", "must contain a list"),
    "a number in it": (".json", b"[1]", "item 1 is not an object"),
    "a member twice": (".json", b'[{"a":1,"a":2}]', "duplicate member"),
    "NaN": (".json", b'[{"a":NaN}]', "NaN"),
    "a broken line": (".ndjson", b'{"a":1}\n{"a"\n', "line 2"),
    "a list in a line": (".ndjson", b"[]", "line 1 is not an object"),
}


@pytest.mark.parametrize("name", JSON)
def test_broken_json_is_said(tmp_path: Path, name: str) -> None:
    """JSON that is not a list of objects is refused."""
    suffix, data, words = JSON[name]
    (tmp_path / f"a{suffix}").write_bytes(data)

    with pytest.raises(UsageError, match=words):
        read_rows(tmp_path / f"a{suffix}")


def test_decimals_of_json_stay_exact(tmp_path: Path) -> None:
    """A fraction in JSON is read as an exact decimal."""
    (tmp_path / "a.json").write_bytes(b'[{"x":0.1}]')

    assert read_rows(tmp_path / "a.json")[0]["x"] == Decimal("0.1")


def sheet(cells: dict[str, Any]) -> bytes:
    book = openpyxl.Workbook()
    for at, value in cells.items():
        book.active[at] = value  # type: ignore[index]
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def test_formulas_in_a_sheet_are_refused(tmp_path: Path) -> None:
    """A formula is refused, because its value is unknown."""
    (tmp_path / "a.xlsx").write_bytes(sheet({"A1": "a", "A2": "=1+1"}))

    with pytest.raises(UsageError, match="row 2: a cell has a formula"):
        read_rows(tmp_path / "a.xlsx")


def test_missing_rows_of_a_sheet_take_no_time(tmp_path: Path) -> None:
    """A sheet with one value in its last possible row is read quickly."""
    book = openpyxl.Workbook()
    book.active.append([f"column {number}" for number in range(40)])
    book.active.cell(1_048_576, 1, "x")
    book.save(tmp_path / "a.xlsx")
    began = time.process_time()
    rows = read_rows(tmp_path / "a.xlsx")

    assert [1_048_576] == [row.row for row in rows]
    assert time.process_time() - began < 5  # reading every row of the sheet would take 17 s


def test_cells_of_a_sheet_keep_their_columns(tmp_path: Path) -> None:
    """Cells keep their columns and types, even if other cells of the row are empty."""
    (tmp_path / "a.xlsx").write_bytes(sheet({"A1": "a", "B1": "b", "C1": "c", "C2": True, "A3": "x", "B4": 5}))

    assert [dict(body) for body in read_rows(tmp_path / "a.xlsx")] == [{"c": True}, {"a": "x"}, {"b": 5}]


def bomb() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/worksheets/sheet1.xml", b"0" * 60_000_000)
    return data.getvalue()


def entities() -> bytes:
    text = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>'
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("xl/worksheets/sheet1.xml", b"<?xml version='1.0'?><!--" + b" " * 5_000 + b"-->" + text)
    return data.getvalue()


XLSX = {
    "a bomb": (bomb, "packed size"),
    "entities": (entities, "declares XML entities"),
    "no zip": (lambda: b"hello", "not a readable XLSX"),
    "half a zip": (lambda: sheet({"A1": "a"})[:-200], "not a readable XLSX"),
    "no sheet": (lambda: b"PK\x05\x06" + b"\0" * 18, "not a readable XLSX"),
}


@pytest.mark.parametrize("name", XLSX)
def test_hostile_sheets_are_refused(tmp_path: Path, name: str) -> None:
    """Compression bombs, XML entities and broken files give one clear error."""
    make, words = XLSX[name]
    (tmp_path / "a.xlsx").write_bytes(make())

    with pytest.raises(UsageError, match=words):
        read_rows(tmp_path / "a.xlsx")


def test_a_broken_parquet_is_refused(tmp_path: Path) -> None:
    """The error says that the file is not a readable Parquet file."""
    (tmp_path / "a.parquet").write_bytes(b"PAR1 or not")

    with pytest.raises(UsageError, match="not a readable Parquet"):
        read_rows(tmp_path / "a.parquet")


def test_damage_to_a_parquet_is_refused_or_read(tmp_path: Path) -> None:
    """A file with any changed byte gives rows or a UsageError."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": ["x", "y", "x", "y"]}), path, compression="none")
    data = path.read_bytes()
    refused = 0
    for at in range(4, 160):  # bytes of the Parquet pages
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        try:
            read_rows(path)
        except UsageError:
            refused += 1

    assert 0 < refused < 156


def test_lists_in_a_parquet_are_refused(tmp_path: Path) -> None:
    """Lists are refused, because no request accepts them and a few bytes can contain a billion."""
    pq.write_table(pa.table({"a": [[1, 2], [3]]}), tmp_path / "a.parquet")

    with pytest.raises(UsageError, match=r"column a contains lists"):
        read_rows(tmp_path / "a.parquet")


def test_files_too_large_or_of_no_format(tmp_path: Path) -> None:
    """A file beyond the size limit, or with an unknown extension, is refused."""
    path = written(tmp_path, ".csv", [{"a": "1"}] * 5)
    with pytest.raises(UsageError, match="unsupported file extension"):
        read_rows(Path(__file__))
    with path.open("ab") as file:
        file.truncate(200_000_001)
    with pytest.raises(UsageError, match="maximum 200,000,000"):
        read_rows(path)


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet", ".json", ".ndjson"])
@pytest.mark.parametrize("limit,value", [("max_rows", 4), ("max_columns", 1), ("max_cell", 9), ("max_size", 600)])
def test_limits_are_settable_and_named(tmp_path: Path, suffix: str, limit: str, value: int) -> None:
    """The error for a file beyond a limit names the limit, which can be raised."""
    path = written(tmp_path, suffix, [{"a": "0123456789", "b": "x"}] * 5)

    with pytest.raises(UsageError, match=f"maximum {limit}={value}"):
        read_rows(path, **{limit.removeprefix("max_"): value})
    assert len(read_rows(path, **{limit.removeprefix("max_"): 100_000})) == 5


@pytest.mark.slow
def test_repeated_texts_of_a_parquet_are_measured_before_they_unpack(tmp_path: Path) -> None:
    """A file of 28 kB that would unpack to 2 GB is refused before it does."""
    column = pa.array(["x" * 200_000] * 100).dictionary_encode()
    pq.write_table(pa.table({f"c{i}": column for i in range(100)}), tmp_path / "a.parquet", compression="zstd")

    with pytest.raises(UsageError, match="max_size=500,000,000"):
        read_rows(tmp_path / "a.parquet")


def test_a_long_header_is_read_in_linear_time(tmp_path: Path) -> None:
    """A header with 20,000 columns is refused within seconds."""
    (tmp_path / "a.csv").write_text(",".join(f"c{i}" for i in range(20_000)) + "\n1\n")
    started = time.thread_time()

    with pytest.raises(UsageError, match="20,000 columns"):
        read_rows(tmp_path / "a.csv")
    assert time.thread_time() - started < 2


@pytest.mark.parametrize(
    "number,words",
    [
        ("1e999999999", "row 2: a cell has a number that is not finite"),
        ("Infinity", "not a readable"),
        ("NaN", "not a readable"),
    ],
)
def test_numbers_of_a_sheet_have_a_range(tmp_path: Path, number: str, words: str) -> None:
    """Numbers beyond a spreadsheet's range are refused before they use much memory."""
    path = written(tmp_path, ".xlsx", [{"a": 12345}])
    _replace_part(path, "xl/worksheets/sheet1.xml", lambda text: text.replace(b"12345", number.encode()))

    with pytest.raises(UsageError, match=words):
        read_rows(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "cp500"])
def test_entities_in_another_encoding_are_refused(tmp_path: Path, encoding: str) -> None:
    """A sheet that is not UTF-8 is refused, because it could hide XML entities from the check."""
    path = written(tmp_path, ".xlsx", [{"a": "x"}])
    declared = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE a [<!ENTITY b "c">]><a/>'
    _replace_part(
        path, "xl/worksheets/sheet1.xml",
        lambda _: declared.encode("ascii" if encoding == "cp500" else encoding).replace(b"<!DOCTYPE", b"<?DOCTYPE"),
    )  # fmt: skip

    with pytest.raises(UsageError, match="not UTF-8"):
        read_rows(path)


def _replace_part(path: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    with zipfile.ZipFile(path) as file:
        parts = {one: file.read(one) for one in file.namelist()}
    parts[name] = change(parts[name])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for one, data in parts.items():
            file.writestr(one, data)


@pytest.mark.parametrize("opening,closing", [('{"a":', "}"), ("[", "]")])
@pytest.mark.parametrize("name", ["deep.json", "deep.ndjson"])
def test_objects_without_end_are_refused(tmp_path: Path, name: str, opening: str, closing: str) -> None:
    """A row that is nested more deeply than any request is refused."""
    row = '{"address":' + opening * 900 + "1" + closing * 900 + "}"
    path = tmp_path / name
    path.write_text(f"[{row}]" if name.endswith(".json") else row)

    with pytest.raises(UsageError, match="nested too deeply"):
        read_rows(path)
