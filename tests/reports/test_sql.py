"""SQL over a session or folder: exact and typed results, and no access to other data."""

import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
import pytest

import workbench as wb
from workbench.analysis.reports import queries
from workbench.base.errors import UsageError


@pytest.fixture(scope="module")
def api() -> Any:
    with wb.connect() as made:
        wb.sequences.run(made, wb.sequences.catalogue["a-cardholders-month"], progress=False)
        yield made


@pytest.mark.slow
def test_a_query_over_a_session(api: Any) -> None:
    """Sums equal those of the frame, with its types."""
    frame = wb.history(api).transactions()
    made = wb.sql(
        "select sum(net_cents) as net_cents, count(*) as n, min(authorized_at) as first from transactions", api
    )

    assert made.values.tolist() == [[frame["net_cents"].sum(), len(frame), frame["authorized_at"].min()]]
    assert made.dtypes.astype(str).tolist() == ["Int64", "Int64", "datetime64[us, UTC]"]


@pytest.mark.slow
def test_each_table_of_a_session(api: Any) -> None:
    """Each table of a session can be queried."""
    tables = ("events", "journal", "contracts", "deliveries")
    counts = wb.sql(f"select {', '.join(f'(select count(*) from {table})' for table in tables)}", api)

    assert counts.shape == (1, 4)
    assert (counts.iloc[0] >= 0).all()


@pytest.mark.slow
def test_frames_and_reads_by_name(api: Any) -> None:
    """A read of rewards can be queried as a table, with exact decimals."""
    rewards = wb.rewards.fetch(api, api.sandbox.guide()["rewards_users"][:2], progress=False)
    made = wb.sql("select type, sum(points) as points from rewards group by type order by type", rewards=rewards)
    sums = rewards.frame().groupby("type", observed=True)["points"].sum()

    assert made["points"].tolist() == [Decimal(value) for value in sums]


@pytest.mark.slow
def test_a_folder_is_a_set_of_tables(api: Any, tmp_path: Path) -> None:
    """Saved frames and folders of rewards are tables with the names of their files."""
    wb.to_file(wb.history(api).transactions(), tmp_path / "spent.parquet")
    read = wb.rewards.fetch(api, api.sandbox.guide()["rewards_users"][:1], progress=False, path=tmp_path / "points")

    assert wb.sql("select count(*) as n from spent", tmp_path)["n"][0] == len(wb.history(api).transactions())
    assert wb.sql("select count(*) as n from points", tmp_path)["n"][0] == read.rows


@pytest.mark.slow
@pytest.mark.parametrize(
    "query", ["select * from nothing", "selec", "select * from '/etc/passwd'", "copy (select 1) to 'x'"]
)
def test_what_cannot_be_run_says_so(api: Any, query: str) -> None:
    """An invalid query, or one that accesses a file, gets an error that lists the tables."""
    with pytest.raises(ValueError, match=r"the query cannot be run: .*tables: transactions, postings, events"):
        wb.sql(query, api)


@pytest.mark.slow
def test_rewards_of_a_sandbox_are_a_table() -> None:
    """A query can combine the rewards of the guide's users with other tables of the session."""
    with wb.connect(seed=1) as api:
        users = api.sandbox.guide()["rewards_users"]
        query = (
            "select user_id, sum(points) as points from rewards where (select count(*) from journal) = 0 group by all"
        )
        found = wb.sql(query, api)

    assert set(found["user_id"]) == {user["id"] for user in users}


_FILES = (
    "canary.csv",
    "/etc/passwd",
    "*.csv",
    "canary.db",
    "http://127.0.0.1:9/x.csv",
    "s3://bucket/x.parquet",
    "out.csv",
    "file://canary.csv",
)
_READERS = (
    "read_csv", "read_csv_auto", "sniff_csv", "read_parquet", "parquet_metadata", "parquet_schema", "parquet_file_metadata", "read_json",
    "read_json_auto", "read_ndjson", "read_json_objects", "read_text", "read_blob", "glob", "read_duckdb", "sqlite_scan", "postgres_scan",
    "iceberg_scan", "delta_scan", "arrow_scan", "pandas_scan", "python_map_function", "seq_scan", "index_scan", "read_xlsx", "st_read",
)  # fmt: skip
_EFFECTS = (
    "enable_logging", "disable_logging", "truncate_duckdb_logs", "enable_profiling", "disable_profiling", "checkpoint", "force_checkpoint",
    "query", "query_table", "pragma_version", "duckdb_settings", "duckdb_secrets", "duckdb_extensions", "which_secret", "test_all_types",
    "load_aws_credentials", "add_parquet_key", "import_database", "export_database", "start_ui", "start_ui_server", "storage_info",
)  # fmt: skip
_STATEMENTS = (
    "attach 'canary.db'", "attach ':memory:' as other", "detach memory", "copy (select 1) to 'out.csv'", "copy spent from 'canary.csv'",
    "export database 'out'", "import database 'out'", "install httpfs", "load httpfs", "force install json from 'http://127.0.0.1:9'",
    "create table t (a int)", "create macro m() as 1", "create secret s (type s3)", "create view v as select 1", "create type e as enum ('a')",
    "insert into spent values (1)", "update spent set a = 1", "delete from spent", "drop table spent", "alter table spent add column b int",
    "set threads = 1", "reset threads", "set enable_external_access = true", "set lock_configuration = false", "pragma database_list",
    "pragma enable_profiling", "call enable_logging(storage='file', storage_path='out')", "checkpoint", "vacuum", "analyze", "begin", "commit",
    "prepare p as select 1", "execute p", "deallocate p", "explain analyze select 1", "select 1; select 2", "select 1; attach 'canary.db'",
    "use memory", "select write_log('x')", "select getenv('HOME')", "select * from tables", "select * from engine", "select * from canary",
    "select * from sys", "comment on table spent is 'x'", "select nextval('x')", "explain select 1", "merge into spent using spent on true", "",
)  # fmt: skip
REFUSED = [
    *_STATEMENTS,
    *(f"select * from {name}('canary.csv')" for name in _READERS),
    *(f"select * from {name}()" for name in _EFFECTS),
    *(f"select * from {name}(storage = 'file')" for name in _EFFECTS[:2]),
    *(f"select * from '{name}'" for name in _FILES),
    *(f"with x as (select * from \"{name}\") select * from x" for name in _FILES),
]  # fmt: skip
"""Queries that reach for what is not a table. They are refused before they run."""
HOSTILE = [
    *REFUSED, "select bitstring('1', 2000000000)",
    "select " + "(" * 90_000 + "1" + ")" * 90_000, "select " + "-" * 1 + " - " * 30_000 + "1", "select " + "not " * 20_000 + "true",
    "select " + "[" * 5_000 + "]" * 5_000, "select case when true then " * 5_000 + "1" + " end" * 5_000, "select 1" + " union all select 1" * 500,
    "select * from " + "(select * from " * 150 + "range(1)" + ")" * 150, "x" * 200_000, "select repeat('x', 3000000000)",
    "select repeat('x', 1000000) from range(100000)", "select list(r) from range(300000000) t(r)", "select '\x00'", "select 1 -- \x1b[31m", "select \ud800",
]  # fmt: skip


def _hostile(seed: int, count: int) -> list[str]:
    """Return random queries made of parts of hostile ones."""
    generator = random.Random(seed)
    short = [query for query in HOSTILE if len(query) < 300]
    parts = [part for query in short for part in re.findall(r"\w+|'[^']*'|\W", query)]
    queries = []
    for _ in range(count):
        base = (
            list(generator.choice(short))
            if generator.random() < 0.5
            else generator.choices(parts, k=generator.randint(1, 30))
        )
        for _ in range(generator.randint(0, 5)):
            base.insert(generator.randint(0, len(base)), generator.choice(parts))
        queries.append(("" if generator.random() < 0.5 else "select * from ") + "".join(base))
    return queries


def _here(question: dict[str, Any], tables: list[Any], _: float) -> tuple[str, list[str], Any]:
    """Run a query in this process, because starting a process takes longer than refusing a query."""
    from workbench.analysis.reports import query_process

    try:
        table, unclear = query_process.answer(question, dict(zip(question["tables"], tables, strict=True)))
    except (query_process.duckdb.Error, UnicodeError, query_process.Refused) as error:
        return str(error), [], None
    return "", unclear, table


def _run_all(folder: str, seed: int, count: int) -> None:
    """Run the hostile queries, and print which of them returned an answer."""
    os.chdir(folder)
    is_small = count < len(REFUSED)
    limits: dict[str, Any] = {"_MAX_SECONDS": 1.5 if is_small else 3.0, "_MAX_RESULT": 2**26}
    if is_small:
        limits["_MAX_MEMORY"] = 2 * 10**8  # bytes; a smaller limit ends a query sooner
    patch.multiple(queries, **limits).start()
    Path("canary.csv").write_text("canary\n31337\n")
    spent = wb.to_frame([{"a": 1}])
    before = sorted(Path().iterdir())
    answered = []
    for query in [*HOSTILE, *_hostile(seed, count)]:
        is_quick = query in REFUSED and is_small
        with patch.object(queries, "_run", _here) if is_quick else nullcontext(), suppress(UsageError):
            answered.append((query[:200], str(wb.sql(query, spent=spent).to_dict())[:200]))
    leaked = [pair for pair in answered if "31337" in pair[1] or "root:" in pair[1]]
    print(
        json.dumps(
            {
                "leaked": leaked,
                "new": [str(path) for path in Path().iterdir() if path not in before],
                "answered": [query for query, _ in answered],
            }
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, pytest.param(2_000, marks=pytest.mark.soak)])
def test_no_query_ends_the_process_or_leaves_it(count: int, tmp_path: Path) -> None:
    """No hostile query ends the process, reads a file or creates one."""
    code = f"from tests.reports.test_sql import _run_all; _run_all({str(tmp_path)!r}, 29, {count})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=540, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["leaked"], found["new"]) == ([], [])
    assert not set(found["answered"]) & {
        query[:200] for query in (*_STATEMENTS, *(q for q in HOSTILE if "canary" in q))
    }


def test_show_tables_lists_the_tables(api: Any) -> None:
    """`SHOW TABLES` lists all tables, although a table is created only when a query uses it."""
    tables = ["contracts", "deliveries", "events", "journal", "postings", "rewards", "transactions"]
    assert wb.sql("SHOW TABLES;", api)["name"].tolist() == tables


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        pytest.param("select len(range(400000000))", marks=pytest.mark.soak),
        pytest.param("select len(list_concat(range(200000000), range(200000000)))", marks=pytest.mark.soak),
        "with recursive t(x) as (select [1] union all select list_concat(x, x) from t where len(x) < 5000000000) select max(len(x)) from t",
    ],
    ids=["range", "concat", "doubling"],
)
def test_memory_of_a_query_is_limited(query: str) -> None:
    """The operating system's figure for the query process stays within the limit."""
    with pytest.raises(UsageError, match="cannot be run"):
        wb.sql(query)
    taken = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024

    assert taken < 2 * 2 * 10**9 + 2**30


@pytest.mark.slow
@pytest.mark.parametrize("query", ["select max(a.r * b.r) from range(10000000) a(r), range(10000000) b(r)"])
def test_an_interrupt_ends_a_query(query: str) -> None:
    """Ctrl-C raises KeyboardInterrupt within seconds."""
    timer = threading.Timer(1.0, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT])
    before, held = time.monotonic(), signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            wb.sql(query)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, held)

    assert time.monotonic() - before < 5


@pytest.mark.slow
def test_months_are_those_of_a_zone_and_local_times_stay_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results do not depend on the machine's time zone."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    times = pd.DataFrame({"at": pd.to_datetime(["2026-01-31T23:30:00Z"])})
    query = 'select date_trunc(\'month\', "at") as month, "at"::timestamp as there from times'

    utc, york = (wb.sql(query, tz=tz, times=times).iloc[0] for tz in ("UTC", "America/New_York"))
    assert (utc["month"].isoformat(), york["month"].isoformat()) == (
        "2026-01-01T00:00:00+00:00",
        "2026-01-01T05:00:00+00:00",
    )
    assert (utc["there"].isoformat(), york["there"].isoformat()) == ("2026-01-31T23:30:00", "2026-01-31T18:30:00")
