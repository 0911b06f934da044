"""Answers about a file, from arguments of `read_table` or from a TOML file next to tables of the same program."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import attrs

from workbench.analysis.tables.periods import is_zone
from workbench.base.arguments import Fits, argument_problem
from workbench.base.errors import Problem, UsageError, unknown_name, visible
from workbench.base.system import toml
from workbench.base.system.files import check_name, write_file

Dates = Literal["d/m/y", "m/d/y", "y/m/d", "d/m/y swapped", "m/d/y swapped", "excel", "excel 1904"]
Text = str | None


def _is_code(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("[A-Za-z]{3}", value) is not None


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(text, str) for pair in value.items() for text in pair)


@attrs.frozen(kw_only=True)
class Answers:
    """Facts that a file does not state. None means that the fact must be detected."""

    columns: Annotated[Mapping[str, str] | None, Fits(_is_mapping, "must map names to columns of the file")] = None
    dates: Dates | None = None
    decimal: Literal[".", ","] | None = None
    tz: Annotated[Text, Fits(is_zone, "is not a time zone, such as Europe/Berlin")] = None
    unit: Literal["cents", "main"] | None = None
    currency: Annotated[Text, Fits(_is_code, "must be a code of three letters")] = None
    credit: Literal["+", "-"] | None = None
    totals: Literal["drop", "keep"] | None = None
    encoding: Text = None
    separator: Annotated[
        Text,
        Fits(
            lambda c: re.fullmatch(r'[^"\r\n]', str(c)),
            "must be one character other than a double quote or a line break",
        ),
    ] = None
    sheet: Text = None
    header: Annotated[int | None, Fits(lambda n: type(n) is int and n >= 0, "must be a line number, or 0")] = None

    @classmethod
    def read(cls, path: Path, given: Mapping[str, Any], mapping: str | Path | None) -> "tuple[Answers, list[str]]":
        """Return the answers from a call and from its TOML file, with notes on them.

        Raises:
            UsageError: An answer is unknown or not allowed, or the file is not TOML.
        """
        file = path.with_name(f"{path.name}.toml") if mapping is None else Path(mapping)
        check_name(file)
        stored: Mapping[str, Any] = {}
        if file.is_file():
            try:
                stored = toml.load(file)
            except toml.NotToml as error:
                raise UsageError([Problem(visible(file.name, 80), "toml", str(error))], of="read_table") from None
        hints = get_type_hints(cls, include_extras=True)
        merged = {**stored, **given}
        problems = [unknown_name(name, hints, "an answer") for name in merged if name not in hints]
        allowed = (argument_problem(name, merged[name], hints[name]) for name in merged if name in hints)
        problems += [problem for problem in allowed if problem is not None]
        if problems:
            raise UsageError(problems, of="read_table")
        notes = [f"Read with the answers of {visible(file.name, 80)}: {', '.join(stored)}."] if stored else []
        return cls(**merged), notes


def write_answers(file: Path, given: Mapping[str, Any]) -> None:
    """Write answers to a TOML file."""
    lines = [f"{name} = {toml.dumps(value)}\n" for name, value in given.items()]
    write_file(file, "".join(lines).encode())
