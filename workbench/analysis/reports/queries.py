"""SQL over frames, a session or a folder, in a DuckDB database that can read nothing else."""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.analysis.reports.history import history
from workbench.analysis.reports.log_lines import duckdb
from workbench.analysis.rewards.folder import PART, read_folder
from workbench.analysis.rewards.reading import fetch
from workbench.analysis.tables.columns import AMOUNT
from workbench.analysis.tables.frames import to_frame
from workbench.analysis.tables.read_table import read_table
from workbench.analysis.tables.rows import TEXT, UNKNOWN, WIDTHS, mark_report, to_pandas
from workbench.base.errors import UsageError, visible
from workbench.base.schema import strict_json
from workbench.client.calls.client import refuse_async
from workbench.sandbox.control_records import Delivery


def _synchronous(api: object) -> Any:
    """Return a session whose calls are not awaited; refuse any other."""
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


def sql(query: str, source: object = None, **frames: object) -> pd.DataFrame:
    """Run a SQL query over frames in DuckDB and return a frame. The query can read only the given tables.

    Args:
        query: A DuckDB query, such as "select card_id, sum(net_cents) as net_cents from transactions group by all".
            Quote dotted columns, as in "body.spend.amount". "show tables" lists the tables.
        source: A session or a folder. A session has the tables `transactions`, `events`, `journal` and `contracts`;
            with a sandbox also `deliveries` and `rewards` (of the users in its guide). In a folder, each Parquet file
            and each folder of rewards is a table with its name.
        frames: Further tables as keyword arguments, such as rewards=frame; anything that `to_frame` takes.

    Raises:
        UsageError: The query is not one SELECT statement, reads a file or an address, calls a function with an effect,
            exceeds two minutes or 2 GB, or cannot be run; the message lists the tables.
    """
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
    with duckdb().connect(config=_CLOSED) as engine:
        named_tables = {name: make() for name, make in tables.items() if re.search(rf"\b{re.escape(name)}\b", query)}
        for name, given in named_tables.items():
            engine.register(name, _arrow(given))
        engine.execute("SET lock_configuration=true")
        table = None
        watch = threading.Timer(_MAX_SECONDS, engine.interrupt)
        watch.start()
        try:
            parsed = _parsed(engine, query)
            problem = parsed if isinstance(parsed, str) else _query_problem(parsed)
            table = None if problem else _bounded(engine.sql(query))
        except (duckdb().Error, pa.ArrowException, OSError, MemoryError, UnicodeError) as error:
            problem = visible((str(error) or type(error).__name__).splitlines()[0], 500)
        finally:
            watch.cancel()
        if table is not None:
            frame = pd.DataFrame({name: to_pandas(_usual(table.column(name))) for name in table.column_names})
            unclear = [name for name in _without_unit(parsed) if name in frame]
            return mark_report(frame, "sql", [*_completeness(named_tables)], unit_unknown=unclear)
    raise UsageError(f"the query cannot be run: {problem} (tables: {', '.join(tables) or 'none'})")


_MAX_QUERY = 100_000
_MAX_RESULT = 2**30  # maximum bytes of a result
_MAX_SECONDS = 120.0
_CLOSED = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "memory_limit": "2GB",
    "temp_directory": "",
}
"""Settings that limit a query to the given tables: no files, network, extensions or Python variables."""
_TABLE_FUNCTIONS = frozenset({"range", "generate_series", "unnest", "json_each", "json_tree"})
_REFUSED_FUNCTIONS = re.compile(
    r"write_log|getenv|nextval|currval|current_setting|.*sleep.*|.*checkpoint.*"
    r"|repeat|lpad|rpad|(list|array)_resize|printf|format|bar|bitstring"  # their memory is not limited
)
_MAX_DEPTH = 200  # brackets in each other


def _completeness(tables: Mapping[str, Any]) -> Iterator[str]:
    """Yield the notes of the tables on their completeness, each with the table's name."""
    for name, table in tables.items():
        if isinstance(table, pd.DataFrame) and "kind" not in table.attrs:
            yield f"{name}: {UNKNOWN}"
        elif isinstance(table, pd.DataFrame):
            yield from ([f"{name}: not complete, rows are missing."] if table.attrs.get("complete") is False else [])
            yield from (f"{name}: {note}" for note in table.attrs.get("notes", ()) if not note.startswith("Assumed:"))


def _without_unit(parsed: object) -> Iterator[str]:
    """Yield column names of a query for amounts in cents that do not state the unit."""
    for select in (node for node in _nodes(parsed) if "select_list" in node):
        for item in select["select_list"]:
            alias = str(item.get("alias") or "")
            names = [node["column_names"][-1] for node in _nodes(item) if node.get("type") == "COLUMN_REF"]
            counted = str(item.get("function_name", "")).startswith("count")
            if alias and not counted and any(AMOUNT.search(str(n)) for n in names) and not AMOUNT.search(alias):
                yield alias


def _parsed(engine: Any, query: str) -> Any:
    """Return the syntax tree of a query, or the reason for its rejection as text; only one SELECT statement is
    allowed.
    """
    depths = accumulate((character in "([") - (character in ")]") for character in query)
    if max(depths, default=0) > _MAX_DEPTH:
        return "it is nested too deeply"
    statements = engine.extract_statements(query)
    if [statement.type.name for statement in statements] != ["SELECT"]:
        return "it must be one SELECT statement"
    ((tree,),) = engine.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    parsed = strict_json.stored(tree)
    return str(parsed["error_message"]) if parsed["error"] else parsed


def _query_problem(parsed: object) -> str:
    """Return the reason why a query is rejected; empty if it calls no function with a side effect."""
    for kind, name in _functions(parsed):
        if _REFUSED_FUNCTIONS.fullmatch(name) or (kind == "TABLE_FUNCTION" and name not in _TABLE_FUNCTIONS):
            return f"the function {name} is not available"
    return ""


def _functions(tree: object) -> Iterator[tuple[str, str]]:
    """Yield each function of a parsed query: whether it is a table function, and its name."""
    for node in _nodes(tree):
        if node.get("type") == "TABLE_FUNCTION":
            yield "TABLE_FUNCTION", str(node["function"]["function_name"]).lower()
        elif "function_name" in node:
            yield "FUNCTION", str(node["function_name"]).lower()


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    """Yield each object of a JSON tree."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            yield node
            left += node.values()
        elif isinstance(node, list):
            left += node


def _bounded(result: Any) -> Any:
    """Return the rows of a result as one Arrow table.

    Raises:
        UsageError: The result exceeds the maximum size.
    """
    reader = result.to_arrow_reader(100_000)
    batches, size = [], 0
    for batch in reader:
        size += batch.nbytes
        if size > _MAX_RESULT:
            raise UsageError(f"the result is larger than {_MAX_RESULT:,} bytes; select less", of="sql")
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def _arrow(frame: object) -> Any:
    """Return a frame as Arrow, with decimals narrowed to the widest type of DuckDB."""
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    for place, field in enumerate(table.schema):
        if pa.types.is_decimal256(field.type):
            try:
                column = pc.cast(table.column(place), _WIDEST)
            except pa.ArrowInvalid:
                column = pc.cast(table.column(place), pa.string())  # more digits than DuckDB has
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
