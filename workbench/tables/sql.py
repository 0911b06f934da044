"""SQL over frames, by DuckDB (extra `analysis`): what a session holds, or the Parquet files of a folder."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from workbench.sandbox.results import Delivery
from workbench.tables.event_logs import duckdb
from workbench.tables.events import transactions
from workbench.tables.exports import load
from workbench.tables.folder import PART, read_folder
from workbench.tables.frames import to_frame
from workbench.tables.rewards import read
from workbench.tables.rows import WIDTHS, mark_report, to_pandas

SESSION: dict[str, Callable[[Any], Any]] = {
    "transactions": transactions,
    "events": to_frame,
    "journal": lambda api: to_frame(api.journal),
    "contracts": lambda api: to_frame(api.list_contracts()),
    "rewards": lambda api: read(api, api.guide()["rewards_users"], progress=False).frame(),
    "deliveries": lambda api: to_frame(api.sandbox.deliveries(), of=Delivery),
}
"""The tables of a session, each made if a query names it."""
_WIDEST = pa.decimal128(38, 18)


def sql(query: str, source: Any = None, **frames: Any) -> pd.DataFrame:
    """Return the result of a SQL query over frames, as a frame. DuckDB runs it; it can read nothing else.

    Args:
        query: SQL of DuckDB, as "select card_id, sum(net) as net from transactions group by all". Dotted columns stand in
            quotation marks, as "body.spend.amount".
        source: A session, with the tables `transactions`, `events`, `journal` and `contracts`, with a sandbox also
            `deliveries` and `rewards` (of the users that its guide lists); or a folder, whose Parquet files and folders of
            rewards are tables of their names.
        frames: More tables by name: frames, or anything that `to_frame` takes, as rewards=frame.

    Raises:
        ValueError: The query cannot be run; the message lists the tables.
    """
    tables: dict[str, Callable[[], Any]] = {name: partial(to_frame, x) for name, x in frames.items()}
    if isinstance(source, str | Path):
        folder = Path(source)
        tables |= {path.stem: partial(load, path) for path in sorted(folder.glob("*.parquet"))}
        tables |= {path.parent.name: partial(read_folder, path.parent) for path in folder.glob(f"*/{PART}")}
    elif source is not None:
        tables |= {name: partial(make, source) for name, make in SESSION.items() if name not in tables}
    with duckdb().connect(config={"enable_external_access": False}) as engine:
        for name, make in tables.items():
            if re.search(rf"\b{re.escape(name)}\b", query):
                engine.register(name, _arrow(make()))
        try:
            found = engine.sql(query)
            table = (found if found is not None else engine.sql("select 1 where false")).to_arrow_table()
        except duckdb().Error as error:
            problem = str(error).splitlines()[0]
        else:
            made = pd.DataFrame({name: to_pandas(_usual(table.column(name))) for name in table.column_names})
            return mark_report(made, "sql", [])
    raise ValueError(f"the query cannot be run: {problem} (tables: {', '.join(tables) or 'none'})")


def _arrow(frame: Any) -> Any:
    """Return a frame as Arrow, with decimals as wide as DuckDB takes them."""
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
    """Return a column with the usual type where its values fit: whole numbers as int64, decimals as `decimal128(18, 6)`."""
    if pa.types.is_decimal(column.type):
        for kind in (pa.int64(),) if column.type.scale == 0 else WIDTHS:
            try:
                return pc.cast(column, kind)
            except pa.ArrowInvalid:
                continue
    if pa.types.is_integer(column.type):
        return pc.cast(column, pa.int64())
    return pc.cast(column, pa.timestamp("us", "UTC")) if getattr(column.type, "tz", None) else column
