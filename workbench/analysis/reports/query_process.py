"""Run one SQL query in a process with limits. This file runs as a script and imports nothing from the workbench.

Standard input holds the query as a line of JSON, followed by each table as an Arrow stream. Standard output holds the
answer as a line of JSON, followed by the result as an Arrow stream.
"""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa

_MAX_DEPTH = 200  # maximum depth of nested brackets
_AMOUNT = re.compile(r"_(cents|usd)(?= |$)")
_CLOSED = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
}
"""Settings that limit a query to the given tables: no files, network, extensions or Python variables."""
_TABLE_FUNCTIONS = frozenset({"range", "generate_series", "unnest", "json_each", "json_tree"})
_REFUSED = re.compile(r"write_log|getenv|nextval|currval|current_setting|.*sleep.*|.*checkpoint.*")


class Refused(Exception):
    """The query was not run; the message says why."""


def answer(question: dict[str, Any], tables: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return the result of a query, and the result columns whose unit is unclear.

    Raises:
        Refused: The query is not one SELECT statement, or calls a function that is not available.
    """
    config: dict[str, Any] = {**_CLOSED, "memory_limit": f"{question['memory']}B"}
    with duckdb.connect(config=config) as engine:
        for name, table in tables.items():
            engine.register(name, table)
        engine.execute(f"SET TimeZone='{question['tz']}'")
        engine.execute("SET lock_configuration=true")
        parsed = _parsed(engine, question["query"])
        for kind, name in _functions(parsed):
            if _REFUSED.fullmatch(name) or (kind == "TABLE_FUNCTION" and name not in _TABLE_FUNCTIONS):
                raise Refused(f"the function {name} is not available")
        reader = engine.sql(question["query"]).to_arrow_reader(100_000)
        batches, size = [], 0
        for batch in reader:
            size += batch.nbytes
            if size > question["result"]:
                raise Refused(f"the result is larger than {question['result']:,} bytes; select less")
            batches.append(batch)
        return pa.Table.from_batches(batches, reader.schema), [*_without_unit(parsed)]


def _parsed(engine: Any, query: str) -> Any:
    """Return the syntax tree of a query."""
    depths = accumulate((character in "([") - (character in ")]") for character in query)
    if max(depths, default=0) > _MAX_DEPTH:
        raise Refused("it is nested too deeply")
    statements = engine.extract_statements(query)
    if [statement.type.name for statement in statements] != ["SELECT"]:
        raise Refused("it must be one SELECT statement")
    ((tree,),) = engine.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    parsed = json.loads(tree)
    if parsed["error"]:
        raise Refused(str(parsed["error_message"]))
    return parsed


def _functions(tree: object) -> Iterator[tuple[str, str]]:
    """Yield each function that a parsed query calls: "TABLE_FUNCTION" or "FUNCTION", and the function's name."""
    for node in _nodes(tree):
        if node.get("type") == "TABLE_FUNCTION":
            yield "TABLE_FUNCTION", str(node["function"]["function_name"]).lower()
        elif "function_name" in node:
            yield "FUNCTION", str(node["function_name"]).lower()


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    """Yield every object in a JSON tree."""
    left = [tree]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            yield node
            left += node.values()
        elif isinstance(node, list):
            left += node


def _without_unit(parsed: object) -> Iterator[str]:
    """Yield the result columns that contain amounts in cents or USD under a name without the unit."""
    for select in (node for node in _nodes(parsed) if "select_list" in node):
        for item in select["select_list"]:
            alias = str(item.get("alias") or "")
            names = [node["column_names"][-1] for node in _nodes(item) if node.get("type") == "COLUMN_REF"]
            counted = str(item.get("function_name", "")).startswith("count")
            if alias and not counted and any(_AMOUNT.search(str(n)) for n in names) and not _AMOUNT.search(alias):
                yield alias


def _limit(most: int) -> None:
    """Limit the memory of this process, if the operating system supports it."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Read a query from `source`, and write its answer to `target`."""
    question = json.loads(source.readline())
    _limit(question["process"])
    table, unclear, problem = None, list[str](), ""
    try:
        tables = {name: pa.ipc.open_stream(source).read_all() for name in question["tables"]}
        table, unclear = answer(question, tables)
    except MemoryError:
        problem = f"it needs more than {question['memory'] // 10**9} GB of memory"
    except (duckdb.Error, pa.ArrowException, OSError, UnicodeError, Refused) as error:
        problem = (str(error) or type(error).__name__).splitlines()[0]
    target.write(json.dumps({"problem": problem, "unclear": unclear}).encode() + b"\n")
    if table is not None:
        with pa.ipc.new_stream(target, table.schema) as writer:
            writer.write_table(table)


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
