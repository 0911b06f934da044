"""Run SQL over frames, a session or a folder. The DuckDB database can read nothing else."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.reports.history import history
from workbench.analysis.rewards.folder import PART, read_folder
from workbench.analysis.rewards.reading import fetch
from workbench.analysis.tables.frames import to_frame
from workbench.analysis.tables.periods import zone
from workbench.analysis.tables.read_table import read_table
from workbench.analysis.tables.rows import TEXT, UNKNOWN, WIDTHS, mark_report, to_pandas
from workbench.base.errors import UsageError, visible
from workbench.base.schema import strict_json
from workbench.base.system.seconds import monotonic
from workbench.client.calls.client import refuse_async
from workbench.sandbox.control_records import Delivery


def _synchronous(api: object) -> Any:
    """Return the session; refuse an asynchronous session."""
    refuse_async(api, "sql")
    return api


SESSION: dict[str, Callable[[Any], Any]] = {
    "transactions": lambda api: history(api).transactions(),
    "postings": lambda api: history(api).postings(),
    "events": to_frame,
    "journal": lambda api: to_frame(api.journal),
    "contracts": lambda api: to_frame(_synchronous(api).list_contracts()),
    "rewards": lambda api: fetch(_synchronous(api), api.sandbox.guide()["rewards_users"], progress=False).frame(),
    "deliveries": lambda api: to_frame(api.sandbox.deliveries(), of=Delivery),
}
"""Tables of a session; each is built only if a query names it."""
_WIDEST = pa.decimal128(38, 18)
_MAX_QUERY = 100_000
_MAX_RESULT = 2**30  # bytes
_MAX_MEMORY = 2 * 10**9  # bytes for the query; its process may use twice this, plus 3 times the tables' size and 1 GiB
_MAX_SECONDS = 120.0  # maximum seconds from the call to the result


def sql(query: str, source: object = None, *, tz: str = "UTC", **frames: object) -> pd.DataFrame:
    """Run a SQL query over frames in DuckDB and return a frame. The query can read only the given tables.

    The query runs in a separate process. An interrupt ends the process.

    Args:
        query: A DuckDB query, such as "select card_id, sum(net_cents) as net_cents from transactions group by all".
            Quote dotted columns, as in "body.spend.amount". "show tables" lists the tables.
        source: A session or a folder. A session has the tables `transactions`, `postings`, `events`, `journal` and
            `contracts`; with a sandbox also `deliveries` and `rewards` (of the users in its guide). In a folder, each
            Parquet file and each rewards folder is a table, with the name of the file or folder.
        tz: Time zone that functions such as `date_trunc` use for days and months.
        frames: Further tables as keyword arguments, such as rewards=frame; anything that `to_frame` takes.

    Raises:
        UsageError: The query is not one SELECT statement, reads a file or an address, calls a function with an effect,
            exceeds two minutes or 2 GB, or cannot be run; the message lists the tables.
    """
    began = monotonic()
    tables: dict[str, Callable[[], Any]] = {name: partial(to_frame, x) for name, x in frames.items()}
    if isinstance(source, str | Path):
        folder = Path(source)
        tables |= {path.stem: partial(read_table, path) for path in sorted(folder.glob("*.parquet"))}
        tables |= {path.parent.name: partial(read_folder, path.parent) for path in folder.glob(f"*/{PART}")}
    elif source is not None:
        tables |= {name: partial(make, source) for name, make in SESSION.items() if name not in tables}
    if re.fullmatch(r"\s*show\s+tables\s*;?\s*", query, re.IGNORECASE):
        return mark_report(pd.DataFrame({"name": pd.array(sorted(tables), dtype=TEXT)}), "sql", [])
    if len(query) > _MAX_QUERY or re.search(r"[\0\ud800-\udfff]", query):
        raise UsageError(
            f"query must be text of at most {_MAX_QUERY:,} characters, without NUL and surrogates", of="sql"
        )
    named_tables = {name: make() for name, make in tables.items() if re.search(rf"\b{re.escape(name)}\b", query)}
    question = {
        "query": query,
        "tz": zone(tz).key,
        "tables": [*named_tables],
        "memory": _MAX_MEMORY,
        "result": _MAX_RESULT,
    }
    problem, unclear, table = _run(question, [_arrow(given) for given in named_tables.values()], began + _MAX_SECONDS)
    if table is None:
        listed = ", ".join(tables) or "none"
        is_keyword = "Parser Error" in problem and re.search(r"(?<![\w.\"])at(?![\w\"])", query, re.IGNORECASE)
        hint = '; write the column "at" in quotation marks, because at is a keyword' if is_keyword else ""
        raise UsageError(f"the query cannot be run: {visible(problem, 500)}{hint} (tables: {listed})")
    frame = pd.DataFrame({name: to_pandas(_usual(table.column(name))) for name in table.column_names})
    unclear = [name for name in unclear if name in frame]
    return mark_report(frame, "sql", [*_completeness(named_tables)], unit_unknown=unclear)


def _run(question: dict[str, Any], tables: list[pa.Table], until: float) -> tuple[str, list[str], Any]:
    """Run a query in a separate process.

    Returns:
        The error text (empty on success), the columns whose unit is unclear, and the result (None after an error).
    """
    data = io.BytesIO()
    size = sum(table.nbytes for table in tables)
    data.write(json.dumps({**question, "process": 2 * _MAX_MEMORY + 3 * size + 2**30}).encode() + b"\n")
    for table in tables:
        with pa.ipc.new_stream(data, table.schema) as writer:
            writer.write_table(table)
    command = [sys.executable, "-P", str(Path(__file__).with_name("query_process.py"))]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:
        try:
            output, _ = process.communicate(data.getbuffer(), timeout=max(until - monotonic(), 0.01))
        except subprocess.TimeoutExpired:
            return f"it takes longer than {_MAX_SECONDS:.0f} seconds", [], None
        finally:
            process.kill()  # otherwise an interrupted query would go on
            process.wait()
    head, _, rest = output.partition(b"\n")
    if not head:
        return f"it needs more than {_MAX_MEMORY // 10**9} GB of memory", [], None
    said: Any = strict_json.stored(head)
    table = pa.ipc.open_stream(rest).read_all() if not said["problem"] else None
    return said["problem"], said["unclear"], table


def _completeness(tables: Mapping[str, Any]) -> Iterator[str]:
    """Yield the tables' notes on completeness, each with the name of its table."""
    for name, table in tables.items():
        if isinstance(table, pd.DataFrame) and "kind" not in table.attrs:
            yield f"{name}: {UNKNOWN}"
        elif isinstance(table, pd.DataFrame):
            yield from ([f"{name}: not complete, rows are missing."] if table.attrs.get("complete") is False else [])
            yield from (f"{name}: {note}" for note in table.attrs.get("notes", ()))


def _arrow(frame: object) -> Any:
    """Return a frame as an Arrow table, with decimals narrowed to DuckDB's widest decimal type."""
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    for place, field in enumerate(table.schema):
        if pa.types.is_decimal256(field.type):
            try:
                column = pc.cast(table.column(place), _WIDEST)
            except pa.ArrowInvalid:
                column = pc.cast(table.column(place), pa.string())  # the column has more digits than DuckDB supports
            table = table.set_column(place, field.name, column)
    return table


def _usual(column: Any) -> Any:
    """Cast a column to the usual type if its values fit: int64 for integers, `decimal128(18, 6)` for decimals."""
    if pa.types.is_decimal(column.type):
        for kind in (pa.int64(),) if column.type.scale == 0 else WIDTHS:
            try:
                return pc.cast(column, kind)
            except pa.ArrowInvalid:
                continue
    if pa.types.is_integer(column.type):
        return pc.cast(column, pa.int64())
    return pc.cast(column, pa.timestamp("us", "UTC")) if getattr(column.type, "tz", None) else column
