"""What a command writes: a table for people; JSON, NDJSON, CSV or Python for programs. Masked unless revealed."""

import csv
import inspect
import io
import json
import pprint
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import attrs
from cyclopts import Group, Parameter

from workbench import rendering
from workbench.errors import visible
from workbench.interface import masks, strict_json
from workbench.interface.convert import converter
from workbench.interface.text import write_time
from workbench.interface.walk import Untyped, camel, get_path, is_record, leaves, members, snake
from workbench.rendering.screen import screen_of
from workbench.terminal.exits import usage_error
from workbench.terminal.where import Where

_OUTPUT = Group("Output", sort_key=9)
Format = Literal["table", "json", "ndjson", "csv", "python"]


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class Output:
    """Options that say how the result is written."""

    output: Annotated[Format, Parameter(name=("--output", "-o"), help="Output format.", group=_OUTPUT)] = "table"
    fields: Annotated[
        str | None, Parameter(help="Only these members, separated by commas, as id,address.city.", group=_OUTPUT)
    ] = None  # fmt: skip
    reveal: Annotated[bool, Parameter(help="Show private values unmasked.", group=_OUTPUT)] = False


def make_command(
    name: str, doc: str, parameters: list[inspect.Parameter], run: Callable[[dict[str, Any], Where, Output], int]
) -> Callable[..., int]:
    """Return a function with these parameters, and the options that say where it acts and how its result is written."""
    options = {"where": Where, "how": Output}
    signature = inspect.Signature(
        [
            *parameters,
            *(
                inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind | None)
                for one, kind in options.items()
            ),
        ]
    )

    def command(*args: Any, **kwargs: Any) -> int:
        given = dict(signature.bind(*args, **kwargs).arguments)
        return run(given, given.pop("where", None) or Where(), given.pop("how", None) or Output())

    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()}
    command.__name__, command.__doc__ = name, doc
    return command


def show(x: Any, how: Output) -> None:
    """Write a record, a list of them, or plain data, on stdout.

    Raises:
        Exit: A field is asked for that is not there.
    """
    if how.output == "table":
        _for_people(x, how)
    else:
        _for_programs(x, how)


def _for_people(x: Any, how: Output) -> None:
    screen = screen_of(sys.stdout)
    x = _opened(x) if how.reveal else x
    fields = _fields(how)
    reveal = _revealed(x) if how.reveal else ()
    if fields and not isinstance(x, list):
        x = [x]
    if fields and _loose(x, fields):
        rows = [_picked(_plain(one, how), fields) for one in x]
        text = rendering.table(rows, width=screen.width, limit=10**9, paint=screen.paint)
    elif fields:
        x = [_plain(one, how) if not is_record(one) else one for one in x]
        text = rendering.table(x, _known(x, fields), width=screen.width, limit=10**9, reveal=reveal, paint=screen.paint)
    elif isinstance(x, list):
        text = (
            rendering.table(x, width=screen.width, limit=10**9, reveal=reveal, paint=screen.paint) if x else "nothing"
        )
    else:
        text = rendering.plain(x, screen.width, reveal=reveal, paint=screen.paint)
    print(screen.fit(text))


def _opened(x: Any) -> Any:
    """Return what prints masked as the plain mappings that it holds."""
    if isinstance(x, list):
        return [_opened(one) for one in x]
    return {name: _opened(value) for name, value in x.items()} if isinstance(x, Mapping) else x


def _revealed(x: Any) -> set[str]:
    """Return the name of every member, so that none is masked."""
    held = [x] if is_record(x) else [one for one in x if is_record(one)] if isinstance(x, list) else []
    return {"extra", *(path.rpartition(".")[2] for one in {type(one) for one in held} for path, _ in leaves(one))}


def _fields(how: Output) -> list[str]:
    return [name.strip().replace("-", "_") for name in (how.fields or "").split(",") if name.strip()]


def _loose(x: list[Any], fields: list[str]) -> bool:
    """Whether a field lies in a member that may hold anything, as the body of an event."""
    if not x or not is_record(x[0]):
        return False
    loose = {one.name for one in members(type(x[0])) if isinstance(one.kind, Untyped)}
    return any(name.partition(".")[0] in loose and "." in name for name in fields)


def _known(x: list[Any], fields: list[str]) -> list[str]:
    if not x or not is_record(x[0]):
        return fields
    names = {path for path, _ in leaves(type(x[0]))}
    found = [path if (path := ".".join(map(snake, name.split(".")))) in names else None for name in fields]
    missing = [name for name, one in zip(fields, found, strict=True) if one is None]
    if missing:
        raise usage_error(
            f"--fields: no member {visible(', '.join(missing), 100)}; allowed: {', '.join(sorted(names))}."
        )
    return [name for name in found if name]


def _for_programs(x: Any, how: Output) -> None:
    fields = _fields(how)
    many = isinstance(x, list)
    data = [_plain(one, how) for one in x] if many else _plain(x, how)
    if fields:
        rows = [_picked(one, fields) for one in (data if many else [data])]
        data = rows if many else rows[0]
    match how.output:
        case "json":
            print(_json(data))
        case "ndjson":
            for one in data if many else [data]:
                print(_json(one))
        case "csv":
            sys.stdout.write(_csv(data if many else [data]))
        case "python":
            print(pprint.pformat(_python(data), sort_dicts=False, width=100))


def _plain(x: Any, how: Output) -> Any:
    """Return anything as what JSON can hold, by wire names; private values masked unless revealed."""
    if is_record(x):
        return _plain(converter().unstructure(x) if how.reveal else masks.masked(x), _AS_IT_IS)
    if isinstance(x, masks.MaskedDict) and not how.reveal:
        return _plain(x.shown(), _AS_IT_IS)
    if isinstance(x, Mapping):
        hide = isinstance(x, strict_json.JsonObject) and not how.reveal and how is not _AS_IT_IS
        return {str(name): masks.DOTS if hide else _plain(value, how) for name, value in x.items()}
    if isinstance(x, list | tuple):
        return [_plain(one, how) for one in x]
    if attrs.has(type(x)):
        return {camel(name): _plain(value, how) for name, value in attrs.asdict(x, recurse=False).items()}
    if isinstance(x, Enum):
        return x.value
    if isinstance(x, datetime):
        return write_time(x)
    if isinstance(x, date):
        return x.isoformat()
    return x if x is None or isinstance(x, str | int | float | Decimal) else str(x)


_AS_IT_IS = Output(reveal=True)


def _picked(one: Any, fields: list[str]) -> dict[str, Any]:
    return {name: get_path(one, name) for name in fields}


def _json(data: Any) -> str:
    text = strict_json.dumps(data).decode()
    # JSON escapes ASCII control characters only; other control and direction characters would reach a terminal.
    return "".join(c if c.isascii() or c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _python(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _python(value) for name, value in data.items()}
    if isinstance(data, list):
        return [_python(one) for one in data]
    return format(data, "f") if isinstance(data, Decimal) else data


def _csv(rows: list[Any]) -> str:
    flat = [dict(_flat(row, "")) for row in rows]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_cell, columns))
    writer.writerows([_cell(row.get(name)) for name in columns] for row in flat)
    return out.getvalue()


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from _flat(one, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and any(isinstance(one, Mapping | list) for one in value):
        for i, one in enumerate(value):
            yield from _flat(one, f"{path}[{i}]")
    else:
        yield path or "value", value


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        value = " ".join(str(one) for one in value)
    text = (
        ("true" if value else "false")
        if isinstance(value, bool)
        else format(value, "f")
        if isinstance(value, Decimal)
        else str(value)
    )
    text = visible(text)
    # A spreadsheet takes these for the start of a formula.
    return f"'{text}" if isinstance(value, str) and text[:1] in tuple("=+-@＝") and text else text
