"""Readers of files have limits, which the errors name. Small files that unpack to large ones are refused."""

import gzip
import json
import random
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench as wb
from workbench.analysis.rewards.folder import read_folder
from workbench.base.errors import UsageError
from workbench.runs.bulk.rows import raw_bodies

LINE = b'{"id": "e1", "resource": "user", "action": "updated", "version": "1.0.0", "body": {}}\n'


def repeated(path: Path) -> None:
    """Write 60 MB of text in which a single value is repeated."""
    batch = pa.table({"a": pa.array(["x" * 1_000] * 10_000)})
    with pq.ParquetWriter(path, batch.schema, compression="zstd") as writer:
        for _ in range(6):
            writer.write_table(batch)


def nulls(path: Path) -> None:
    with pq.ParquetWriter(path, pa.schema([("a", pa.int64())])) as writer:
        for _ in range(22):
            writer.write_table(pa.table({"a": pa.nulls(1_000_000, pa.int64())}))


def columns(path: Path) -> None:
    pq.write_table(pa.table({f"c{n}": [1] for n in range(2_000)}), path)


BOMBS = {"repeated text": (repeated, "max_size"), "nulls": (nulls, "max_rows"), "columns": (columns, "max_columns")}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_parquet_file_with_a_large_table_is_refused(bomb: str, tmp_path: Path) -> None:
    make, limit = BOMBS[bomb]
    path = tmp_path / "part-000000.parquet"
    make(path)
    assert path.stat().st_size < 5_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UsageError, match=limit):
        wb.read_table(path, max_size=50_000_000)
    if bomb != "repeated text":  # the repeated text has 60 MB, which is below the limit of the other readers
        with pytest.raises(UsageError, match=limit):
            raw_bodies(path)
        with pytest.raises(UsageError, match=limit):
            read_folder(tmp_path)
        with pytest.raises(UsageError, match=limit):
            wb.sql('select count(*) from "part-000000"', tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_500_000  # kB


@pytest.mark.slow
def test_decoded_bytes_have_a_limit(tmp_path: Path) -> None:
    """A file that unpacks to far more than its size is refused, even if it has few rows and short cells."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": pa.array(["x" * 20_000] * 5_000)}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    with pytest.raises(UsageError, match="times its packed size"):
        wb.read_table(path)
    with pytest.raises(UsageError, match="times its packed size"):
        wb.sql("select count(*) from a", tmp_path)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_limits_are_settable(tmp_path: Path, ending: str) -> None:
    """The limit of rows does not count the line of column names."""
    path = tmp_path / f"a{ending}"
    wb.to_file(pd.DataFrame({"a": ["x", "y", "z"]}), path)

    assert len(wb.read_table(path, max_rows=3)) == 3
    with pytest.raises(UsageError, match=r"max_rows=2|2 rows"):
        wb.read_table(path, max_rows=2)


@pytest.mark.slow
def test_a_log_that_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson.gz"
    path.write_bytes(gzip.compress((LINE[:-3] + b" " * 1_000_000 + b"}}\n") * 300))
    assert path.stat().st_size < 1_000_000
    with pytest.raises(UsageError, match="times its packed size"):
        list(wb.events.read_log(path))


ODD = [
    b"not JSON",
    b"[]",
    b'{"columns": 1}',
    json.dumps({"columns": [{"name": "zz"}], "index_columns": ["missing"]}).encode(),
    b"\xff",
]


@pytest.mark.parametrize("metadata", ODD, ids=repr)
def test_unusual_metadata_raises_no_error_of_a_library(metadata: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({b"pandas": metadata, b"workbench": metadata}), path)
    with suppress(UsageError):
        wb.read_table(path)


DAMAGE = """
import random, sys
from pathlib import Path
import workbench as wb
generator, data, path = random.Random(29), Path(sys.argv[1]).read_bytes(), Path(sys.argv[1]).with_name("damaged.parquet")
for _ in range(int(sys.argv[2])):
    changed = bytearray(data)
    for _ in range(generator.randint(1, 4)):
        changed[generator.randrange(len(changed))] = generator.randrange(256)
    path.write_bytes(changed[: generator.choice([len(changed), generator.randrange(len(changed))])])
    try:
        wb.read_table(path)
    except wb.errors.UsageError:
        pass
"""


@pytest.mark.slow
def test_a_damaged_file_raises_no_error_of_a_library(tmp_path: Path) -> None:
    generator = random.Random(29)
    values = [generator.randrange(10**9) for _ in range(500)]
    pq.write_table(pa.table({"a": values, "b": [str(value) for value in values]}), tmp_path / "a.parquet")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DAMAGE, str(tmp_path / "a.parquet"), "400"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1_500:]
