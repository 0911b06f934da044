"""Sequences in TOML files: data only. Nothing in a file is evaluated, expanded or looked up in the environment."""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from workbench.errors import Problem, hide_arguments, visible
from workbench.interface.rules import FULL
from workbench.sequences.sequence import Sequence
from workbench.sequences.steps import (
    NOTHING,
    Expect,
    ExpectedEvent,
    Guide,
    InvalidSequence,
    Param,
    Parameter,
    Ref,
    Step,
    duration,
)

MAX_BYTES = 1_000_000
MAX_STEPS = 10_000
_REFERENCES = {"ref": Ref, "param": Param, "guide": Guide}
T = TypeVar("T", bound=Collection[Any])


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


class _Reader:
    """Reads the tables of one file, and collects what is wrong with them."""

    def __init__(self, text: str) -> None:
        self.problems: list[Problem] = []
        self._step_lines: list[int] = []
        self._key_lines: dict[tuple[int, str], int] = {}
        self._find_lines(text)

    def _find_lines(self, text: str) -> None:
        """Note the lines of steps and of their keys, which the parser does not tell."""
        quote = ""
        for number, line in enumerate(text.splitlines(), 1):
            if not quote:
                head = line.strip()
                if re.match(r"\[\[\s*steps\s*\]\]", head):
                    self._step_lines.append(number)
                elif self._step_lines and (found := re.match(r"""["']?([A-Za-z0-9_-]+)["']?\s*=""", head)):
                    self._key_lines.setdefault((len(self._step_lines) - 1, found[1]), number)
            for mark in ('"""', "'''"):
                if line.count(mark) % 2 and (not quote or quote == mark):
                    quote = "" if quote else mark

    def _add(self, where: str, rule: str, message: str, line: int | None = None) -> None:
        self.problems.append(Problem(where + (f" (line {line})" if line else ""), rule, message))

    def _text(self, raw: Mapping[str, Any], key: str, where: str, default: str = "", line: int | None = None) -> str:
        value = raw.get(key, default)
        if isinstance(value, str):
            return value
        self._add(f"{where}{key}", "type", "must be text", line)
        return default

    def _typed(self, value: Any, default: T, where: str, message: str, line: int | None = None) -> T:
        """Return a table or list, or the default where the value is something else."""
        if isinstance(value, type(default)):
            return value
        self._add(where, "type", message, line)
        return default

    def _check_keys(
        self, raw: Mapping[str, Any], allowed: Collection[str], where: str, line: int | None = None
    ) -> None:
        for key in raw:
            if key not in allowed:
                shown = f"{where}{visible(key, 60)}"
                self._add(shown, "unknown", f"is not known here; allowed: {', '.join(allowed)}", line)

    def sequence(self, raw: Mapping[str, Any], name: str) -> Sequence:
        self._check_keys(raw, ("name", "doc", "profile", "params", "steps"), "")
        steps: list[Any] = self._typed(raw.get("steps", []), [], "steps", "must be [[steps]] tables")
        if not all(isinstance(one, dict) for one in steps):
            self._add("steps", "type", "must be [[steps]] tables")
            steps = []
        if len(steps) > MAX_STEPS:
            self._add("steps", "maximum", f"are {len(steps):,}; at most {MAX_STEPS:,} are allowed")
            steps = []
        params: dict[str, Any] = self._typed(raw.get("params", {}), {}, "params", "must be a table of parameters")
        return Sequence(
            name=self._text(raw, "name", "", name or "unnamed"),
            doc=self._text(raw, "doc", ""),
            profile=self._text(raw, "profile", "") or None,
            parameters=tuple(self._parameter(key, one) for key, one in params.items()),
            steps=tuple(self._step(i, one) for i, one in enumerate(steps)),
        )

    def _parameter(self, name: str, raw: Any) -> Parameter:
        where = f"params.{visible(name, 60)}"
        raw = self._typed(raw, {}, where, "must be a table with type, doc and default")
        self._check_keys(raw, ("type", "doc", "default"), f"{where}.")
        return Parameter(
            name=name,
            type=self._text(raw, "type", f"{where}.", "text"),
            doc=self._text(raw, "doc", f"{where}."),
            default=self._value(raw.get("default"), f"{where}.default", None),
        )

    def _step(self, index: int, raw: Mapping[str, Any]) -> Step:
        line = self._step_lines[index] if index < len(self._step_lines) else None
        name = self._text(raw, "name", f"step {index + 1}.", f"step {index + 1}", line)
        where = f"{visible(name, 60)}."
        self._check_keys(raw, ("name", "do", "doc", "with", "expect"), where, line)
        do = raw.get("do", "")
        if not isinstance(do, str) or not do:
            self._add(f"{where}do", "required", "must name an operation, a control, advance or wait", line)
            do = ""
        arguments: dict[str, Any] = self._typed(
            raw.get("with", {}), {}, f"{where}with", "must be a table of arguments", line
        )
        return Step(
            name=name,
            do=do,
            doc=self._text(raw, "doc", where),
            arguments={
                key: self._value(one, f"{where}{visible(key, 60)}", self._key_lines.get((index, key), line))
                for key, one in arguments.items()
            },
            expect=self._expect(raw.get("expect"), f"{where}expect", line),
            line=line,
        )

    def _values(self, raw: Mapping[str, Any], where: str, line: int | None) -> dict[str, Any]:
        return {key: self._value(one, f"{where}.{visible(key, 60)}", line) for key, one in raw.items()}

    def _value(self, raw: Any, where: str, line: int | None) -> Any:
        if raw == "FULL":
            return FULL
        if isinstance(raw, dict):
            key = next(iter(raw), "")
            if len(raw) != 1 or key not in _REFERENCES:
                return self._values(raw, where, line)
            if isinstance(raw[key], str) and raw[key]:
                return _REFERENCES[key](raw[key])
            self._add(where, "reference", f"{key} must be followed by a path as text", line)
            return None
        if isinstance(raw, list):
            return [self._value(one, f"{where}[{i}]", line) for i, one in enumerate(raw)]
        if isinstance(raw, float):
            self._add(where, "type", "is a float; amounts are whole numbers, other numbers are text", line)
            return None
        return raw

    def _expect(self, raw: Any, where: str, line: int | None) -> Expect:
        if raw is None:
            return NOTHING
        raw = self._typed(raw, {}, where, "must be a table", line)
        tables = ("result", "error", "state", "money")
        self._check_keys(raw, (*tables, "events"), f"{where}.", line)
        parts: dict[str, Any] = {}
        for key in tables:
            table: dict[str, Any] = self._typed(raw.get(key, {}), {}, f"{where}.{key}", "must be a table", line)
            parts[key] = self._values(table, f"{where}.{key}", line)
        events: list[Any] = self._typed(raw.get("events", []), [], f"{where}.events", "must be a list", line)
        return Expect(
            events=tuple(self._event(one, f"{where}.events[{i}]", line) for i, one in enumerate(events)), **parts
        )

    def _event(self, raw: Any, where: str, line: int | None) -> ExpectedEvent:
        if isinstance(raw, str):
            raw = {"kind": raw}
        message = "must be the kind of an event, or a table with kind, within and where"
        raw = self._typed(raw, {}, where, message, line)
        self._check_keys(raw, ("kind", "within", "where"), f"{where}.", line)
        within = timedelta(0)
        try:
            within = duration(self._text(raw, "within", f"{where}.", "0s"))
        except ValueError as error:
            self._add(f"{where}.within", "duration", str(error), line)
        members: dict[str, Any] = self._typed(raw.get("where", {}), {}, f"{where}.where", "must be a table", line)
        return ExpectedEvent(
            kind=self._text(raw, "kind", f"{where}."),
            within=within,
            where=self._values(members, f"{where}.where", line),
        )


class Catalogue(Mapping[str, Sequence]):
    """Sequences by name, from the TOML files of a folder. A file is read when its sequence is first used."""

    def __init__(self, folder: Path) -> None:
        self._files = {file.stem: file for file in sorted(folder.glob("*.toml"))}
        self._read: dict[str, Sequence] = {}

    def __getitem__(self, name: str) -> Sequence:
        if name not in self._read:
            self._read[name] = load(self._files[name])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __repr__(self) -> str:
        return f"<catalogue of {len(self)} sequences: {', '.join(self)}>"


catalogue = Catalogue(Path(__file__).with_name("catalogue"))
"""Sequences worth knowing: every documented transition, the refusals one meets, and longer stories."""
