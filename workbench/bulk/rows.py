"""The rows of a bulk run as they were given: read, numbered, and what is wrong with them; and the file of those rejected."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from workbench.errors import InvalidRequest, Problem, visible
from workbench.interface import masks, walk
from workbench.interface.fields import Privacy
from workbench.interface.operation import Operation
from workbench.interface.text import is_empty
from workbench.tables.bodies import Body, nested, raw_bodies

if TYPE_CHECKING:
    import pandas as pd

MAX_PROBLEMS_SHOWN = 50
PRIVATE_KEY = "private-key"  # the rule of a pasted private key
ROW, REASONS = "row", "reasons"
"""The columns of a rejects file beside those of the input."""


@attrs.frozen(kw_only=True)
class RowProblem:
    """One problem of one row. `found` is the value, unless it may be private."""

    row: int | None  # its number in the input; None: of all rows together
    column: str  # in the input's own spelling
    rule: str
    message: str
    found: str | None = None


class InvalidRows(InvalidRequest):
    """Rows of a bulk run break rules; nothing was sent. `frame` has every problem, sorted by row.

    `problems` holds the first fifty.
    """

    def __init__(self, found: list[RowProblem], *, of: str) -> None:
        self._found = sorted(found, key=lambda one: (one.row is None, one.row or 0))
        more = len(found) - MAX_PROBLEMS_SHOWN
        last = [Problem("", "more", f"and {more:,} more problems")] if more > 0 else []
        super().__init__([*map(_problem, self._found[:MAX_PROBLEMS_SHOWN]), *last], of=of)

    def rows(self) -> list[RowProblem]:
        """Return every problem, sorted by row."""
        return self._found

    @property
    def frame(self) -> "pd.DataFrame":
        """Every problem as a DataFrame: row, column, rule, message, and what was found unless it may be private."""
        from workbench.tables.frames import to_frame

        return to_frame(self._found, of=RowProblem)


def _problem(one: RowProblem) -> Problem:
    place = ", ".join(filter(None, (f"row {one.row}" if one.row is not None else "", one.column)))
    return Problem(place, one.rule, one.message)


def sources_of(operation: Operation[..., Any], rows: Any) -> list[Any]:
    """Return each row as a `Body` of its cells as they came, or as a request record."""
    if isinstance(rows, str | os.PathLike):
        return list(raw_bodies(Path(rows)))
    sources: list[Any] = []
    kinds = (Mapping, operation.request)
    for place, row in enumerate(rows_of(rows, operation.name), 1):
        if not isinstance(row, kinds):
            raise InvalidRequest(
                f"row {place} is of type {type(row).__name__}; rows are mappings or {operation.request.__name__} records",
                of=operation.name,
            )
        sources.append(Body(nested(row), place) if isinstance(row, Mapping) else row)
    return sources


def rows_of(rows: Any, of: str) -> list[Any]:
    """Return a DataFrame or an iterable as mappings without their empty cells, or as the records they are.

    Raises:
        InvalidRequest: It is something else.
    """
    if hasattr(rows, "to_dict") and not isinstance(rows, Mapping):
        rows = rows.to_dict("records")
    elif isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable):
        found = "None" if rows is None else f"one {type(rows).__name__}"
        raise InvalidRequest(
            f"rows must be a DataFrame, the path of a file, mappings or request records, not {found}", of=of
        )
    return [
        {str(name): value for name, value in row.items() if not is_empty(value)} if isinstance(row, Mapping) else row
        for row in rows
    ]


def cells_of(source: Body, partial: bool) -> Body:
    """Return a row without the columns of a rejects file, and with the number it had there."""
    if not partial:
        return source
    number = str(source[ROW])
    cells = {name: value for name, value in source.items() if name not in (ROW, REASONS)}
    return Body(cells, int(number) if number.isascii() and number.isdigit() else source.row)


def take_keys(
    operation: Operation[..., Any], sources: list[Any], key: str | None, members: Mapping[str, walk.Member]
) -> list[str | None]:
    """Return the value of the user's key for each row; a column that is not a member is taken out of the rows."""
    if key is None:
        return []
    member = next((one for path, one in members.items() if key in (path, one.name)), None)
    if member is not None and member.about.privacy is not Privacy.OPEN:
        raise InvalidRequest(
            f"{visible(key, 60)} is private, and results hold no private values; use another key", of=operation.name
        )
    values = [
        (one.get(key) if member is not None else one.pop(key, None))
        if isinstance(one, Body) and key in one
        else walk.get_path(one, key)
        for one in sources
    ]
    if all(value is None for value in values):
        raise InvalidRequest(f"no row has {visible(key, 60)}, which is to be the key", of=operation.name)
    return [None if value is None else str(value) for value in values]


def members_by_wire(cls: type[Any], prefix: str = "") -> Iterator[tuple[str, walk.Member]]:
    """Yield the members of a request, nested ones too, with their wire paths."""
    for one in walk.members(cls):
        inner = walk.record_of(one.kind)
        if inner is None:
            yield prefix + one.wire, one
        else:
            yield from members_by_wire(inner, f"{prefix}{one.wire}.")


def row_problem(
    body: Body, problem: Problem, request: Any, members: Mapping[str, walk.Member], *, column: str | None = None
) -> RowProblem:
    """Return a problem of a row, with its column in the input's own spelling, and what was found unless it may be private.

    Args:
        column: The column, where the problem is one of a cell; by default the column of the problem's wire path.
    """
    wire = problem.path if column is None else next((at for at, name in body.columns.items() if name == column), "")
    if column is None:
        spelled = [name for name in body.columns.values() if name != _snake(name)]
        column = body.columns.get(wire) or (wire if spelled else _snake(wire))
    value, member = walk.get_path(request, wire), members.get(wire)
    is_open = member is not None and member.about.privacy is Privacy.OPEN
    hidden = not is_open or problem.rule == PRIVATE_KEY
    found = None if value is None else masks.DOTS if hidden else visible(str(value), 60)
    return RowProblem(row=body.row, column=column, rule=problem.rule, message=problem.message, found=found)


def _snake(path: str) -> str:
    return ".".join(map(walk.snake, path.split(".")))


REJECTS_FORMATS = (".csv", ".xlsx", ".parquet", ".json", ".ndjson")


def check_rejects(path: Path) -> None:
    """Raise InvalidRequest for a rejects file of an unknown format."""
    if path.suffix not in REJECTS_FORMATS:
        allowed = ", ".join(REJECTS_FORMATS)
        raise InvalidRequest(
            f"unsupported file extension {visible(path.suffix, 20)!r} (supported: {allowed})", of="rejects"
        )


def write_rejects(path: Path, rejected: Mapping[int, tuple[Any, str]]) -> None:
    """Write rows with their numbers and reasons, in the format of the path's extension; only its owner may read it.

    Args:
        path: A file that `check_rejects` accepts.
        rejected: By the number of the row: the row as it was given, and why it was rejected.
    """
    import pandas as pd

    from workbench.tables.exports import write_file

    rows = [{ROW: number, **_flat(source), REASONS: reasons} for number, (source, reasons) in rejected.items()]
    columns = dict.fromkeys(name for row in rows for name in row if name != REASONS)
    frame = pd.DataFrame(rows, dtype=object, columns=[*columns, REASONS])
    writers: tuple[Callable[[Any], Any], ...] = (
        lambda file: frame.to_csv(file, index=False),
        lambda file: frame.to_excel(file, index=False),
        lambda file: frame.astype("string").to_parquet(file),
        lambda file: frame.to_json(file, orient="records"),
        lambda file: frame.to_json(file, orient="records", lines=True),
    )
    write_file(path, writers[REJECTS_FORMATS.index(path.suffix)], private=True)


def _flat(source: Any, prefix: str = "") -> dict[str, Any]:
    """Return a row as columns, nested members with dots."""
    cells: dict[str, Any] = {}
    for name, value in (source if isinstance(source, Mapping) else walk.given(source)).items():
        if isinstance(value, Mapping) or walk.is_record(value):
            cells |= _flat(value, f"{prefix}{name}.")
        elif name not in (ROW, REASONS):
            cells[prefix + name] = value if isinstance(value, str | int) else str(value)
    return cells
