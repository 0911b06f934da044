"""Sequences as TOML files: data alone. Nothing in a file is evaluated, expanded or looked up in the environment."""

import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from workbench.errors import Problem, hide_arguments, visible
from workbench.interface.rules import FULL, Full
from workbench.sequences.steps import (
    NOTHING,
    EventWanted,
    Expect,
    Guide,
    InvalidSequence,
    Param,
    Parameter,
    Ref,
    Sequence,
    Step,
    duration,
    duration_text,
)

MAX_BYTES = 1_000_000
MAX_STEPS = 10_000
_REFERENCES = {"ref": Ref, "param": Param, "guide": Guide}


@hide_arguments
def load(path: str | Path) -> Sequence:
    """Read a sequence from a TOML file.

    Raises:
        InvalidSequence: It is too large, not TOML, or its members are wrong; all problems, with step and line.
    """
    file = Path(path)
    if file.stat().st_size > MAX_BYTES:
        raise InvalidSequence(
            (
                Problem(
                    "", "max_length", f"the file has more than {MAX_BYTES:,} bytes; a sequence is at most that long"
                ),
            ),
            file.name,
        )
    try:
        text = file.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise InvalidSequence(
            (Problem("", "text", f"the file is not UTF-8 (at byte {error.start})"),), file.name
        ) from None
    return loads(text, name=file.stem)


@hide_arguments
def loads(text: str, *, name: str = "") -> Sequence:
    """Read a sequence from the text of a TOML file.

    Raises:
        InvalidSequence: See `load`.
    """
    if len(text) > MAX_BYTES:
        raise InvalidSequence((Problem("", "max_length", f"is longer than {MAX_BYTES:,} characters"),), name)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSequence((Problem("", "toml", visible(str(error), 200)),), name) from None
    except RecursionError:
        raise InvalidSequence((Problem("", "toml", "is nested too deeply"),), name) from None
    reader = _Reader(_Lines(text))
    sequence = reader.sequence(raw, name)
    if reader.problems:
        raise InvalidSequence(tuple(reader.problems), visible(sequence.name, 80))
    return sequence


class _Lines:
    """Where the steps and their keys stand in the text."""

    def __init__(self, text: str) -> None:
        self.steps: list[int] = []
        self.keys: dict[tuple[int, str], int] = {}
        quote = ""
        for number, line in enumerate(text.splitlines(), 1):
            if not quote:
                head = line.strip()
                if re.match(r"\[\[\s*steps\s*\]\]", head):
                    self.steps.append(number)
                elif self.steps and (found := re.match(r"""["']?([A-Za-z0-9_-]+)["']?\s*=""", head)):
                    self.keys.setdefault((len(self.steps) - 1, found[1]), number)
            for mark in ('"""', "'''"):
                if line.count(mark) % 2 and (not quote or quote == mark):
                    quote = "" if quote else mark

    def of(self, index: int, key: str = "") -> int | None:
        line = self.steps[index] if index < len(self.steps) else None
        return self.keys.get((index, key), line) if key else line


class _Reader:
    def __init__(self, lines: _Lines) -> None:
        self.lines = lines
        self.problems: list[Problem] = []

    def wrong(self, where: str, rule: str, message: str, line: int | None = None) -> None:
        self.problems.append(Problem(where + (f" (line {line})" if line else ""), rule, message))

    def text(self, raw: Mapping[str, Any], key: str, where: str, fallback: str = "") -> str:
        value = raw.get(key, fallback)
        if isinstance(value, str):
            return value
        self.wrong(f"{where}{key}", "type", "must be text")
        return fallback

    def only(self, raw: Mapping[str, Any], allowed: tuple[str, ...], where: str, line: int | None = None) -> None:
        for key in raw:
            if key not in allowed:
                self.wrong(
                    f"{where}{visible(key, 60)}", "unknown", f"is not known here; known are {', '.join(allowed)}", line
                )

    def sequence(self, raw: Mapping[str, Any], name: str) -> Sequence:
        self.only(raw, ("name", "doc", "profile", "params", "steps"), "")
        steps = raw.get("steps", [])
        if not isinstance(steps, list) or not all(isinstance(one, dict) for one in steps):
            self.wrong("steps", "type", "must be [[steps]] tables")
            steps = []
        if len(steps) > MAX_STEPS:
            self.wrong("steps", "maximum", f"are {len(steps):,}; at most {MAX_STEPS:,} are taken")
            steps = []
        params = raw.get("params", {})
        if not isinstance(params, dict):
            self.wrong("params", "type", "must be a table of parameters")
            params = {}
        return Sequence(
            name=self.text(raw, "name", "", name or "unnamed"),
            doc=self.text(raw, "doc", ""),
            profile=self.text(raw, "profile", "") or None,
            parameters=tuple(self.parameter(key, one) for key, one in params.items()),
            steps=tuple(self.step(i, one) for i, one in enumerate(steps)),
        )

    def parameter(self, name: str, raw: Any) -> Parameter:
        where = f"params.{visible(name, 60)}"
        if not isinstance(raw, dict):
            self.wrong(where, "type", "must be a table with type, doc and default")
            raw = {}
        self.only(raw, ("type", "doc", "default"), f"{where}.")
        return Parameter(
            name=name,
            type=self.text(raw, "type", f"{where}.", "text"),
            doc=self.text(raw, "doc", f"{where}."),
            default=self.value(raw.get("default"), f"{where}.default", None),
        )

    def step(self, index: int, raw: Mapping[str, Any]) -> Step:
        line = self.lines.of(index)
        name = raw.get("name", f"step {index + 1}")
        if not isinstance(name, str):
            self.wrong(f"step {index + 1}.name", "type", "must be text", line)
            name = f"step {index + 1}"
        where = f"{visible(name, 60)}."
        self.only(raw, ("name", "do", "doc", "with", "expect"), where, line)
        do = raw.get("do", "")
        if not isinstance(do, str) or not do:
            self.wrong(f"{where}do", "required", "must name an operation, a control, advance or wait", line)
            do = ""
        arguments = raw.get("with", {})
        if not isinstance(arguments, dict):
            self.wrong(f"{where}with", "type", "must be a table of arguments", line)
            arguments = {}
        return Step(
            name=name,
            do=do,
            doc=self.text(raw, "doc", where),
            arguments={
                key: self.value(one, f"{where}{visible(key, 60)}", self.lines.of(index, key))
                for key, one in arguments.items()
            },
            expect=self.expect(raw.get("expect"), f"{where}expect", line),
            line=line,
        )

    def value(self, raw: Any, where: str, line: int | None) -> Any:
        if raw == "FULL":
            return FULL
        if isinstance(raw, dict):
            if len(raw) == 1 and (key := next(iter(raw))) in _REFERENCES:
                inner = raw[key]
                if isinstance(inner, str) and inner:
                    return _REFERENCES[key](inner)
                self.wrong(where, "reference", f"{key} must be followed by a path as text", line)
                return None
            return {key: self.value(one, f"{where}.{visible(key, 60)}", line) for key, one in raw.items()}
        if isinstance(raw, list):
            return [self.value(one, f"{where}[{i}]", line) for i, one in enumerate(raw)]
        if isinstance(raw, float):
            self.wrong(where, "type", "is a float; amounts are whole numbers, other numbers are text", line)
            return None
        return raw

    def expect(self, raw: Any, where: str, line: int | None) -> Expect:
        if raw is None:
            return NOTHING
        if not isinstance(raw, dict):
            self.wrong(where, "type", "must be a table", line)
            return NOTHING
        self.only(raw, ("result", "error", "state", "money", "events"), f"{where}.", line)
        tables: dict[str, Any] = {}
        for key in ("result", "error", "state", "money"):
            one = raw.get(key, {})
            if not isinstance(one, dict):
                self.wrong(f"{where}.{key}", "type", "must be a table", line)
                one = {}
            tables[key] = {
                name: self.value(value, f"{where}.{key}.{visible(name, 60)}", line) for name, value in one.items()
            }
        events = raw.get("events", [])
        if not isinstance(events, list):
            self.wrong(f"{where}.events", "type", "must be a list", line)
            events = []
        return Expect(
            events=tuple(self.event(one, f"{where}.events[{i}]", line) for i, one in enumerate(events)), **tables
        )

    def event(self, raw: Any, where: str, line: int | None) -> EventWanted:
        if isinstance(raw, str):
            raw = {"kind": raw}
        if not isinstance(raw, dict):
            self.wrong(where, "type", "must be the kind of an event, or a table with kind, within and where", line)
            return EventWanted(kind="")
        self.only(raw, ("kind", "within", "where"), f"{where}.", line)
        within = timedelta(0)
        try:
            within = duration(self.text(raw, "within", f"{where}.", "0s"))
        except ValueError as error:
            self.wrong(f"{where}.within", "duration", str(error), line)
        members = raw.get("where", {})
        if not isinstance(members, dict):
            self.wrong(f"{where}.where", "type", "must be a table", line)
            members = {}
        return EventWanted(
            kind=self.text(raw, "kind", f"{where}."),
            within=within,
            where={key: self.value(one, f"{where}.where.{visible(key, 60)}", line) for key, one in members.items()},
        )


# writing


def dumps(sequence: Sequence) -> str:
    """Write a sequence as the text of a TOML file that reads back as the same sequence."""
    lines = [f"name = {_plain(sequence.name)}"]
    if sequence.doc:
        lines.append(f"doc = {_plain(sequence.doc)}")
    if sequence.profile:
        lines.append(f"profile = {_plain(sequence.profile)}")
    for one in sequence.parameters:
        lines += ["", f"[params.{_key(one.name)}]", f"type = {_plain(one.type)}"]
        if one.doc:
            lines.append(f"doc = {_plain(one.doc)}")
        if one.default is not None:
            lines.append(f"default = {_plain(one.default)}")
    for each in sequence.steps:
        lines += ["", "[[steps]]", f"name = {_plain(each.name)}", f"do = {_plain(each.do)}"]
        if each.doc:
            lines.append(f"doc = {_plain(each.doc)}")
        if each.arguments:
            lines.append("[steps.with]")
            lines += [f"{_key(key)} = {_plain(value)}" for key, value in each.arguments.items()]
        if each.expect != NOTHING:
            lines += ["[steps.expect]", *_expect_lines(each.expect)]
    return "\n".join(lines) + "\n"


def _expect_lines(expect: Expect) -> list[str]:
    lines = [f"{key} = {_plain(one)}" for key in ("result", "error", "state", "money") if (one := getattr(expect, key))]
    if expect.events:
        shown = []
        for one in expect.events:
            table: dict[str, Any] = {"kind": one.kind}
            if one.within:
                table["within"] = duration_text(one.within)
            if one.where:
                table["where"] = one.where
            shown.append(_plain(table))
        lines.append(f"events = [{', '.join(shown)}]")
    return lines


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    return (
        '"'
        + "".join(_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c) for c in text)
        + '"'
    )


def _plain(value: Any) -> str:
    match value:
        case Full():
            return '"FULL"'
        case Ref(path=path):
            return f"{{ ref = {_quoted(path)} }}"
        case Param(name=name):
            return f"{{ param = {_quoted(name)} }}"
        case Guide(path=path):
            return f"{{ guide = {_quoted(path)} }}"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return _quoted(str(value))
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return _quoted(duration_text(value))
        case Mapping():
            return "{ " + ", ".join(f"{_key(str(key))} = {_plain(one)}" for key, one in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(_plain(one) for one in value) + "]"
    raise TypeError(f"{type(value).__name__} has no form in a sequence file")
