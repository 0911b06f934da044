"""Sequences in TOML files: data only. Nothing in a file is evaluated, expanded or looked up in the environment."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_origin

import attrs

from workbench.errors import Problem, hide_arguments, visible
from workbench.interface.rules import FULL
from workbench.sequences.sequence import (
    Expect,
    ExpectedEvent,
    Guide,
    InvalidSequence,
    Param,
    Parameter,
    Ref,
    Sequence,
    Step,
    duration,
)

T = TypeVar("T")
MAX_BYTES = 1_000_000
MAX_STEPS = 10_000
MAX_DEPTH = 20
_REFERENCES = {"ref": Ref, "param": Param, "guide": Guide}
_NAMES = {"arguments": "with"}  # attributes that have another name in a file
_TABLES = {
    Parameter: "a table with type, doc and default",
    ExpectedEvent: "the kind of an event, or a table with kind, within and where",
}


@hide_arguments
def load(path: str | Path) -> Sequence:
    """Read a sequence from a TOML file.

    Raises:
        InvalidSequence: It is too large, not TOML, or its members are wrong; all problems, with step and line.
    """
    file = Path(path)
    if file.stat().st_size > MAX_BYTES:
        raise _invalid("max_length", f"the file has more than {MAX_BYTES:,} bytes", file.name)
    try:
        text = file.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise _invalid("text", f"the file is not UTF-8 (at byte {error.start})", file.name) from None
    return loads(text, name=file.stem)


@hide_arguments
def loads(text: str, *, name: str = "") -> Sequence:
    """Read a sequence from the text of a TOML file.

    Raises:
        InvalidSequence: See `load`.
    """
    if len(text) > MAX_BYTES:
        raise _invalid("max_length", f"is longer than {MAX_BYTES:,} characters", name)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _invalid("toml", visible(str(error), 200), name) from None
    except RecursionError:
        raise _invalid("toml", "is nested too deeply", name) from None
    except ValueError:
        raise _invalid("toml", "has a number of too many digits", name) from None
    reader = _Reader(text)
    sequence = reader.sequence(raw, name)
    if reader.problems:
        raise InvalidSequence(tuple(reader.problems), visible(sequence.name, 80))
    return sequence


def _invalid(rule: str, message: str, name: str) -> InvalidSequence:
    return InvalidSequence((Problem("", rule, message),), name)


_Path = tuple[str | int, ...]
_TEXTS = re.compile(r"(\"\"\"|''').*?\1", re.DOTALL)
_STEP = re.compile(r"^\s*\[\[\s*steps\s*\]\]", re.MULTILINE)


class _Reader:
    """Reads the tables of one file by the types of our attributes, and collects what is wrong with them."""

    def __init__(self, text: str) -> None:
        self.problems: list[Problem] = []
        bare = _TEXTS.sub(lambda found: "\n" * found[0].count("\n"), text)
        self._lines = [bare.count("\n", 0, found.end()) + 1 for found in _STEP.finditer(bare)]
        self._line: int | None = None  # of the step that is read; the parser does not tell it

    def sequence(self, raw: Mapping[str, Any], name: str) -> Sequence:
        params = self._typed(dict, raw.get("params", {}), ("params",), "a table of parameters")
        steps = self._typed(list, raw.get("steps", []), ("steps",), "[[steps]] tables")
        if len(steps) > MAX_STEPS:
            self._add(("steps",), "maximum", f"are {len(steps):,}; at most {MAX_STEPS:,} are allowed")
            steps = []
        parameters = [self._record(Parameter, one, ("params", key), name=key) for key, one in params.items()]
        made = [self._step(index, one) for index, one in enumerate(steps)]
        self._line = None
        rest = {"name": name or "unnamed"} | {key: one for key, one in raw.items() if key not in ("params", "steps")}
        read: Sequence = self._record(Sequence, rest, (), parameters=tuple(parameters), steps=tuple(made))
        return read

    def _step(self, index: int, raw: Any) -> Step:
        self._line = self._lines[index] if index < len(self._lines) else None
        raw = {"name": f"step {index + 1}", "do": ""} | self._typed(dict, raw, ("steps",), "[[steps]] tables")
        step: Step = self._record(Step, raw, (str(raw["name"]),), line=self._line)
        if not step.do:
            self._add((step.name, "do"), "required", "must name an operation, a control, advance or wait")
        return step

    def _record(self, cls: type[Any], raw: Any, path: _Path, **given: Any) -> Any:
        """Read a table as one of our objects; `given` holds what does not stand in it."""
        fields = {_NAMES.get(one.name, one.name): one for one in attrs.fields(cls) if one.name not in given}
        for key, value in self._typed(dict, raw, path, _TABLES.get(cls, "a table")).items():
            if key in fields:
                given[fields[key].name] = self._member(fields[key].type, value, (*path, key))
            else:
                self._add((*path, key), "unknown", f"is not known here; allowed: {', '.join(fields)}")
        return cls(**given)

    def _member(self, kind: Any, raw: Any, path: _Path) -> Any:
        """Read a member by the type of its attribute."""
        if kind is Any:
            return self._value(raw, path)
        if kind is Expect:
            return self._record(Expect, raw, path)
        if kind == tuple[ExpectedEvent, ...]:
            listed = self._typed(list, raw, path, "a list")
            return tuple(self._event(one, (*path, i)) for i, one in enumerate(listed))
        if get_origin(kind) is Mapping:
            return {key: self._value(one, (*path, key)) for key, one in self._typed(dict, raw, path, "a table").items()}
        text = self._typed(str, raw, path, "text")
        if kind is not timedelta:
            return text
        try:
            return duration(text)
        except ValueError as error:
            self._add(path, "duration", str(error))
            return timedelta(0)

    def _event(self, raw: Any, path: _Path) -> Any:
        return self._record(ExpectedEvent, {"kind": raw} if isinstance(raw, str) else raw, path)

    def _value(self, raw: Any, path: _Path) -> Any:
        """Read a value that may be, or hold, references."""
        if raw == "FULL":
            return FULL
        if len(path) > MAX_DEPTH:
            self._add(path[:3], "depth", f"is nested more than {MAX_DEPTH} levels deep")
            return None
        if isinstance(raw, dict):
            key = next(iter(raw), "")
            if len(raw) != 1 or key not in _REFERENCES:
                return {name: self._value(one, (*path, name)) for name, one in raw.items()}
            if isinstance(raw[key], str) and raw[key]:
                return _REFERENCES[key](raw[key])
            self._add(path, "reference", f"{key} must be followed by a path as text")
        elif isinstance(raw, list):
            return [self._value(one, (*path, i)) for i, one in enumerate(raw)]
        elif isinstance(raw, float):
            self._add(path, "type", "is a float; amounts are whole numbers, other numbers are text")
        else:
            return raw
        return None

    def _typed(self, kind: type[T], raw: Any, path: _Path, words: str) -> T:
        if isinstance(raw, kind):
            return raw
        self._add(path, "type", f"must be {words}")
        return kind()

    def _add(self, path: _Path, rule: str, message: str) -> None:
        names = [one for one in path[:-1] if one != "with"] + [*path[-1:]]
        shown = "".join(f"[{one}]" if isinstance(one, int) else f".{visible(one, 60)}" for one in names)
        line = f" (line {self._line})" if self._line else ""
        self.problems.append(Problem(shown.removeprefix(".") + line, rule, message))


class Catalogue(Mapping[str, Sequence]):
    """Sequences by name, from the TOML files of a folder. A file is read when its sequence is first used."""

    def __init__(self, folder: Path) -> None:
        self._files = {file.stem: file for file in sorted(folder.glob("*.toml"))}
        self._load = cache(load)

    def __getitem__(self, name: str) -> Sequence:
        return self._load(self._files[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        return f"<catalogue of {len(self)} sequences: {', '.join(self)}>"


catalogue = Catalogue(Path(__file__).with_name("catalogue"))
"""Sequences worth knowing: every documented transition, the refusals one meets, and longer stories."""
