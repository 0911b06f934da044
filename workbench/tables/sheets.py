"""Rows of CSV, XLSX and Parquet files with their line numbers; the files are not trusted."""

import csv
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import attrs

from workbench.errors import visible

MAX_RATIO = 200
_MAX_EXPONENT = 400
_CELL = 100  # bytes of memory that a cell takes besides its text
_ENCODING = re.compile(rb"""encoding\s*=\s*["']([^"']*)""")
Rows = Iterator[tuple[int, Mapping[str, Any]]]
_GUARDED = re.compile(r"'(?= *[=+\-@\t\r\n＝＋－＠]|')")
"""The quote that `export` puts before text that a spreadsheet would run."""


@attrs.frozen(kw_only=True)
class Limits:
    """What a file of rows may hold."""

    file: int = 200_000_000  # bytes
    rows: int = 200_000
    columns: int = 1_000
    cell: int = 1_000_000  # characters
    size: int = 500_000_000  # bytes in memory, about


class BadSheet(ValueError):
    """A file that cannot be read as rows; `load` raises it as InvalidRequest."""


def limited(rows: Rows, limits: Limits) -> Rows:
    """Yield the rows of any format until one of the limits is passed.

    Raises:
        BadSheet: It is passed; the message names it.
    """
    size = 0
    for count, (number, row) in enumerate(rows, 1):
        if count > limits.rows:
            raise BadSheet(f"more than {limits.rows:,} rows (maximum max_rows={limits.rows:,})")
        if len(row) > limits.columns:
            raise _too_many_columns(len(row), limits)
        for value in row.values():
            length = len(value) if isinstance(value, str) else 0
            if length > limits.cell:
                raise BadSheet(f"row {number}: {length:,} characters in a cell (maximum max_cell={limits.cell:,})")
            size += length + _CELL
        if size > limits.size:
            raise _too_large(limits)
        yield number, row


def _too_many_columns(columns: int, limits: Limits) -> BadSheet:
    return BadSheet(f"{columns:,} columns (maximum max_columns={limits.columns:,})")


def _too_large(limits: Limits) -> BadSheet:
    return BadSheet(f"unpacks to too many bytes (maximum max_size={limits.size:,})")


def csv_rows(path: Path, limits: Limits) -> Rows:
    """Yield the rows of a CSV file: UTF-8 with or without a byte order mark, separated by comma, semicolon or tab."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise BadSheet(f"line {line}: not UTF-8; save the file as UTF-8") from None
    if "\0" in text:
        raise BadSheet(f"line {text[: text.index(chr(0))].count(chr(10)) + 1}: holds a NUL character")
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    before = csv.field_size_limit(limits.cell)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names: list[str] | None = None
        start = 1
        for row in reader:
            line, start = start, reader.line_num + 1
            cells = [_GUARDED.sub("", cell, count=1) for cell in row]
            if not any(cells):
                continue
            if names is None:
                names = _names(cells, limits)
                continue
            if len(cells) > len(names):
                raise BadSheet(f"line {line}: {len(cells)} cells for {len(names)} columns")
            yield line, {name: cell for name, cell in zip(names, cells, strict=False) if cell != ""}
    except csv.Error as error:
        limit = f" (maximum max_cell={limits.cell:,})" if "field larger" in str(error) else ""
        raise BadSheet(f"line {reader.line_num}: {error}{limit}") from None
    finally:
        csv.field_size_limit(before)


def _names(cells: list[str], limits: Limits) -> list[str]:
    names = [cell.strip() for cell in cells]
    while names and not names[-1]:
        names.pop()
    if len(names) > limits.columns:
        raise _too_many_columns(len(names), limits)
    if not all(names):
        raise BadSheet("a column of the first line has no name")
    twice = sorted(visible(name, 80) for name, count in Counter(names).items() if count > 1)
    if twice:
        raise BadSheet(f"duplicate column: {', '.join(twice)}")
    return names


_NS = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_REF = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


def xlsx_rows(path: Path, limits: Limits) -> Rows:
    """Yield the rows of the first sheet of an XLSX file: text cells as text, number cells as int or Decimal."""
    try:
        with zipfile.ZipFile(path) as file:
            infos = file.infolist()
            unpacked = sum(info.file_size for info in infos)
            if unpacked > limits.size:
                raise _too_large(limits)
            if any(i.file_size > MAX_RATIO * max(i.compress_size, 5_000) for i in infos):
                raise BadSheet(
                    f"unpacks to {unpacked:,} bytes, more than {MAX_RATIO} times what it has; that is too large"
                )
            shared = _shared(file) if "xl/sharedStrings.xml" in file.namelist() else []
            yield from _sheet(file, shared, limits)
    except BadSheet:
        raise
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, ValueError, RuntimeError, ET.ParseError) as error:
        raise BadSheet(f"not a readable XLSX file ({type(error).__name__})") from None


def _part(file: zipfile.ZipFile, name: str) -> Iterator[tuple[str, ET.Element]]:
    with file.open(name) as stream:
        end = b""
        head = stream.read(200)
        declared = _ENCODING.search(head)
        if (
            b"\0" in head
            or head[:2] in (b"\xfe\xff", b"\xff\xfe")
            or (declared is not None and declared[1].lower() not in (b"utf-8", b"us-ascii"))
        ):
            raise BadSheet("a part is not UTF-8")  # declarations could hide in another encoding
        stream.seek(0)
        while piece := stream.read(1_000_000):
            if b"<!DOCTYPE" in end + piece or b"<!ENTITY" in end + piece:
                raise BadSheet("entity declarations are not read")
            end = piece[-10:]
    with file.open(name) as stream:
        yield from ET.iterparse(stream, events=("end",))  # noqa: S314 - declarations are refused above


def _shared(file: zipfile.ZipFile) -> list[str]:
    return [
        "".join(part.text or "" for part in node.iter(f"{_NS}t"))
        for _, node in _part(file, "xl/sharedStrings.xml")
        if node.tag == f"{_NS}si"
    ]  # fmt: skip


def _sheet(file: zipfile.ZipFile, shared: list[str], limits: Limits) -> Rows:
    names: list[str] | None = None
    columns = 0
    for _, node in _part(file, "xl/worksheets/sheet1.xml"):
        if node.tag == f"{_NS}c":
            columns += 1
            if columns > limits.columns:
                raise _too_many_columns(columns, limits)
        if node.tag != f"{_NS}row":
            continue
        columns = 0
        number = int(node.get("r") or 0)
        cells: dict[int, Any] = {}
        for at, cell in enumerate(node.iter(f"{_NS}c")):
            where = _REF.fullmatch(cell.get("r") or "")
            value = _value(cell, shared, number)
            if value is not None and value != "":
                cells[_index(where[1]) if where else at] = value
        node.clear()
        if not cells:
            continue
        if names is None:
            names = _names([str(cells.get(i, "")) for i in range(max(cells) + 1)], limits)
        elif max(cells) >= len(names):
            raise BadSheet(f"row {number}: a cell is in a column without a name")
        else:
            yield number, {names[i]: value for i, value in sorted(cells.items())}


def _index(letters: str) -> int:
    made = 0
    for letter in letters:
        made = made * 26 + ord(letter) - 64
    return made - 1


def _value(cell: ET.Element, shared: list[str], row: int) -> Any:
    kind = cell.get("t", "n")
    if cell.find(f"{_NS}f") is not None:
        raise BadSheet(f"row {row}: a cell has a formula; replace it by its value")
    if kind == "inlineStr":
        return "".join(part.text or "" for part in cell.iter(f"{_NS}t"))
    node = cell.find(f"{_NS}v")
    text = node.text if node is not None else None
    if text is None:
        return None
    if kind == "s":
        if not (text.isdecimal() and int(text) < len(shared)):
            raise BadSheet(f"row {row}: a cell refers to a missing text")
        return shared[int(text)]
    if kind == "b":
        return text == "1"
    if kind == "e":
        raise BadSheet(f"row {row}: a cell has an error value")
    if kind == "n":
        return _number(text, row)
    return text


def _number(text: str, row: int) -> Any:
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise BadSheet(f"row {row}: a cell has an unreadable number") from None
    if not value.is_finite() or abs(value.adjusted()) > _MAX_EXPONENT:
        raise BadSheet(f"row {row}: a cell has a number out of range")
    whole = value == value.to_integral_value() and abs(value) < Decimal(10) ** 30
    return int(value) if whole else value


def parquet_rows(path: Path, limits: Limits) -> Rows:
    """Yield the rows of a Parquet file; numbers stay numbers, text stays text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            head = file.metadata
            names = _names(file.schema_arrow.names, limits)
            if head.num_rows > limits.rows:
                raise BadSheet(f"{head.num_rows:,} rows (maximum max_rows={limits.rows:,})")
            chunks = [head.row_group(i).column(j) for i in range(head.num_row_groups) for j in range(head.num_columns)]
            texts = [head.schema.column(j) for j in range(head.num_columns)]
            if (
                max(sum(one.total_uncompressed_size for one in chunks), 8 * sum(one.num_values for one in chunks))
                > limits.size
            ):
                raise _too_large(limits)
        # Repeated texts stand once in a dictionary: they are measured before each row gets its own.
        repeated = [one.path for one in texts if one.physical_type == "BYTE_ARRAY"]
        size = number = 0
        with pq.ParquetFile(path, read_dictionary=repeated) as file:
            for batch in file.iter_batches(max(1, min(10_000, 200_000 // max(1, len(names))))):
                size += sum(_expanded(column, limits) for column in batch.columns)
                if size > limits.size:
                    raise _too_large(limits)
                columns = [column.to_pylist() for column in batch.columns]
                for values in zip(*columns, strict=True):
                    number += 1
                    yield number, {n: v for n, v in zip(names, values, strict=True) if v is not None and v != ""}
    except (pa.ArrowException, OSError) as error:
        raise BadSheet(f"not a readable Parquet file ({type(error).__name__})") from None


def _expanded(column: Any, limits: Limits) -> int:
    """Return the bytes of a column when each row has its own text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary)
    longest = pc.max(lengths).as_py() or 0
    if longest > 4 * limits.cell:  # bytes of a character in UTF-8
        raise BadSheet(f"{longest:,} bytes in a cell (maximum max_cell={limits.cell:,})")
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0)
