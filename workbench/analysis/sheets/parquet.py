"""Read untrusted Parquet files: check the metadata first, then read the file in parts up to a limit."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from workbench.analysis.sheets.questions import BadSheet
from workbench.analysis.sheets.records import Records
from workbench.base.errors import UsageError, visible
from workbench.base.system.limits import (
    FRAMES,
    FileLimits,
    LimitExceeded,
    check_ratio,
    too_large,
    too_many_columns,
    too_many_rows,
)

_CELLS = 200_000  # maximum number of cells in a decompressed part
_BATCH = 10_000  # rows that are converted to Python values together


def check_parquet(file: Any, limits: FileLimits) -> None:
    """Check the metadata of a Parquet file against the limits.

    Raises:
        LimitExceeded: The file exceeds a limit.
    """
    head = file.metadata
    if head.num_columns > limits.columns:
        raise too_many_columns(head.num_columns, limits)
    if head.num_rows > limits.rows:
        raise too_many_rows(head.num_rows, limits)
    # The sizes per column are not read, since pyarrow aborts the process on some damaged files.
    unpacked = sum(head.row_group(i).total_byte_size for i in range(head.num_row_groups))
    if max(unpacked, 8 * head.num_rows * head.num_columns) > limits.size:
        raise too_large(limits)


def parquet_table(path: Path, limits: FileLimits = FRAMES) -> Any:
    """Return a Parquet file as an Arrow table.

    Raises:
        UsageError: The file cannot be read, is not a Parquet file, is damaged, or exceeds a limit.
    """
    try:
        size = path.stat().st_size
        if size > limits.file:
            raise LimitExceeded(f"{size:,} bytes (maximum {limits.file:,})")
        with pq.ParquetFile(path, pre_buffer=False) as file:
            check_parquet(file, limits)
            batches, unpacked = [], 0
            for batch in file.iter_batches(max(1, _CELLS // max(1, file.metadata.num_columns))):
                unpacked += batch.nbytes
                if unpacked > limits.size:
                    raise too_large(limits)
                check_ratio(unpacked, size)
                batches.append(batch)
            table = pa.Table.from_batches(batches, file.schema_arrow)
        batches.clear()
        # Combine the chunks of each column, since many small chunks take a third more memory.
        for index, field in enumerate(table.schema):
            table = table.set_column(index, field, table.select([index]).combine_chunks().column(0))
            pa.default_memory_pool().release_unused()
        return table
    except FileNotFoundError:
        raise
    except LimitExceeded as error:
        problem = str(error)
    except Exception as error:  # noqa: BLE001 - an untrusted file can raise anything in the reader
        problem = f"not a readable Parquet file ({type(error).__name__})"
    raise UsageError(f"{path.name}: {problem}")


def parquet_records(path: Path, limits: FileLimits) -> Records:
    """Yield the rows of a Parquet file. Numbers stay numbers, and text stays text."""
    table = parquet_table(path, limits)
    if lists := [field.name for field in table.schema if re.search("list<|map<", str(field.type))]:
        raise BadSheet(f"column {visible(lists[0], 80)} contains lists; a cell holds one value")
    number = 0
    for batch in table.to_batches(_BATCH):
        try:
            columns = [column.to_pylist() for column in batch.columns]
        except Exception as error:  # noqa: BLE001 - such as text that is not UTF-8, or a time out of range
            raise BadSheet(f"not a readable Parquet file ({type(error).__name__})") from None
        for values in zip(*columns, strict=True):
            number += 1
            row = zip(table.column_names, values, strict=True)
            yield number, {name: value for name, value in row if value is not None and value != ""}
