"""Options of an operation, from its declaration, and their texts as values: exact, and never guessed."""

import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from workbench.errors import InvalidRequest, Problem, visible
from workbench.interface import strict_json
from workbench.interface.convert import placeholders
from workbench.interface.operation import Operation
from workbench.interface.rules import FULL
from workbench.interface.walk import (
    Boolean,
    Choice,
    Integer,
    Member,
    Nested,
    described,
    is_record,
    members,
)
from workbench.terminal.ends import wrong

_ARGUMENTS = Group("Request", sort_key=1)
_LARGEST = 4_000_000
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}


def options(operation: Operation[..., Any]) -> Iterator[inspect.Parameter]:
    """Yield the parameters of an operation's command: ids of its path in order, then an option for every member."""
    in_path = placeholders(operation.path)
    for path, one in option_members(operation.request):
        positional = one.wire in in_path
        yield inspect.Parameter(
            path.replace(".", "__"),
            inspect.Parameter.POSITIONAL_OR_KEYWORD if positional else inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                str | None,
                Parameter(
                    name=f"--{path.replace('_', '-')}",
                    help=_help(one),
                    group=_ARGUMENTS,
                    allow_leading_hyphen=True,
                    show_default=False,
                ),
            ],
        )


def option_members(cls: type[Any], prefix: str = "") -> Iterator[tuple[str, Member]]:
    """Yield each member of a request that is a single value, with its dotted path."""
    for one in members(cls):
        if isinstance(one.kind, Nested):
            yield from option_members(one.kind.of, f"{prefix}{one.name}.")
        else:
            yield prefix + one.name, one


def _help(one: Member) -> str:
    words = described(one)
    return f"{words[:-1]}; true or false." if isinstance(one.kind, Boolean) else words


def values(operation: Operation[..., Any], texts: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the texts of options as a nested mapping of values. What cannot be read stays text, and is refused by name."""
    made: dict[str, Any] = {}
    for path, one in option_members(operation.request):
        text = texts.get(path.replace(".", "__"))
        if text is None:
            continue
        *way, last = path.split(".")
        holder = made
        for name in way:
            holder = holder.setdefault(name, {})
        holder[last] = value_of(one, text)
    return made


def value_of(one: Member, text: str) -> Any:
    """Return the text of an option as the value its kind wants; text that does not fit stays text."""
    if isinstance(one.kind, Integer):
        if one.kind.full and text == "FULL":
            return FULL
        digits = text.removeprefix("-")
        return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 400 else text
    if isinstance(one.kind, Boolean):
        return _FLAGS.get(text.lower(), text)
    if isinstance(one.kind, Choice):
        return one.kind.of(text) if text in frozenset(one.kind.of) else text
    return text


def from_file(operation: Operation[..., Any], place: str, converter: Any) -> dict[str, Any]:
    """Read a body from a JSON file, or from stdin for `-`, as nested values by attribute name.

    Raises:
        Exit: There is no such file, or nobody pipes into stdin.
        InvalidRequest: It is not JSON, or holds members the interface does not know.
    """
    if place == "-":
        if sys.stdin.isatty():
            raise wrong("--from - reads a body from a pipe, and nothing is piped in.")
        data = sys.stdin.buffer.read(_LARGEST + 1)
    else:
        data = Path(place).read_bytes()
    if len(data) > _LARGEST:
        raise wrong(f"{visible(place, 200)} is larger than {_LARGEST:,} bytes.")
    try:
        raw = strict_json.loads(data)
    except strict_json.NotJson as error:
        raise InvalidRequest(f"{visible(place, 200)} is not JSON: {error}", of=operation.name) from None
    in_path = set(placeholders(operation.path))
    path = {name: raw[name] for name in in_path if isinstance(raw, Mapping) and name in raw}
    request, mistyped, unknown = converter.read_request(operation, raw, path)
    problems = [
        *mistyped,
        *(
            Problem(visible(one, 100), "unknown", "is not a member of this operation")
            for one in unknown
            if one not in in_path
        ),
    ]
    if problems:
        raise InvalidRequest(problems, of=operation.name)
    given = _given(request)
    for name, one in ((one.name, one) for one in members(operation.request)):
        if isinstance(one.kind, Integer) and one.kind.full and one.wire not in raw:
            given.pop(name, None)  # leaving an amount out is said aloud here, as FULL
    return given


def _given(record: Any) -> dict[str, Any]:
    return {
        one.name: _given(value) if is_record(value) else value
        for one in members(type(record))
        if (value := getattr(record, one.name)) is not None
    }


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return two nested mappings as one; where both say something, the second counts."""
    made = dict(below)
    for name, value in above.items():
        held = made.get(name)
        made[name] = merged(held, value) if isinstance(held, Mapping) and isinstance(value, Mapping) else value
    return made


def json_or_text(text: str) -> Any:
    """Return the text of a control's option: a number, true or false where it is written as one, else text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text
