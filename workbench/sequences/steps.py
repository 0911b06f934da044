"""A sequence as data: parameters, named steps, references, expectations."""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import attrs

from workbench.errors import Problem, WorkbenchError


class InvalidSequence(WorkbenchError, ValueError):
    """A sequence that cannot be run as it is; nothing was sent. `problems` holds all that is wrong, with step and line."""

    def __init__(self, problems: tuple[Problem, ...], name: str = "") -> None:
        self.problems = problems
        listed = "".join(f"\n  - {problem}" for problem in problems)
        many = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
        super().__init__(f"the sequence {name + ' ' if name else ''}has {many}:{listed}\nNothing was sent.")


@attrs.frozen
class Ref:
    """A value of an earlier step's result, by the dotted path `step.attribute`."""

    path: str

    @property
    def step(self) -> str:
        """Name of the step."""
        return self.path.partition(".")[0]

    @property
    def attribute(self) -> str:
        """Dotted path in its result; empty for the whole result."""
        return self.path.partition(".")[2]


@attrs.frozen
class Param:
    """A value of a parameter of the run."""

    name: str


@attrs.frozen
class Guide:
    """An example id from the sandbox's guide, by the dotted path `cards.active` or `cards.active.2`."""

    path: str


def ref(path: str) -> Ref:
    """Refer to the result of an earlier step: `ref("authorize.transaction_id")`."""
    return Ref(path)


def param(name: str) -> Param:
    """Refer to a parameter of the run: `param("amount")`."""
    return Param(name)


def guide(path: str) -> Guide:
    """Refer to an example id of the sandbox: `guide("cards.active")`."""
    return Guide(path)


PARAMETER_TYPES = ("text", "whole", "flag", "id", "date", "duration")


@attrs.frozen(kw_only=True)
class Parameter:
    """A declared parameter: its type, what it means, and what it is where nothing is given."""

    name: str
    type: str = "text"  # one of PARAMETER_TYPES
    doc: str = ""
    default: Any = None  # a value or a Guide; None: it has to be given


@attrs.frozen(kw_only=True)
class EventWanted:
    """An event that has to follow: its kind, members it carries, and by when in sandbox time."""

    kind: str
    within: timedelta = timedelta(0)
    where: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Expect:
    """What a step has to come to. What is not named is not looked at."""

    result: Mapping[str, Any] = attrs.field(factory=dict)  # attribute paths of the answer
    error: Mapping[str, Any] = attrs.field(factory=dict)  # status, error, message (a part of it)
    state: Mapping[str, Any] = attrs.field(factory=dict)  # `of`: an id; the rest: members of its record in the sandbox
    money: Mapping[str, int] = attrs.field(factory=dict)  # change since the run began, in cents: available, held, …
    events: tuple[EventWanted, ...] = ()

    @property
    def refusal(self) -> bool:
        """Whether the step has to be refused."""
        return bool(self.error)


NOTHING = Expect()


@attrs.frozen(kw_only=True, repr=False)
class Step:
    """One step: an operation, a control of the sandbox, `advance` or `wait`, with its arguments and expectations."""

    name: str
    do: str
    arguments: Mapping[str, Any] = attrs.field(factory=dict)
    expect: Expect = NOTHING
    doc: str = ""
    line: int | None = attrs.field(default=None, eq=False)  # where it stands in its file
    refers: tuple[str, ...] = attrs.field(init=False, eq=False, repr=False)  # arguments that hold references

    @refers.default
    def _find(self) -> tuple[str, ...]:
        return tuple(name for name, value in self.arguments.items() if any(True for _ in references(value)))

    def __repr__(self) -> str:
        return f"<step {self.name}: {self.do}>"


def step(
    name: str, do: str, *, expect: Expect | Mapping[str, Any] | None = None, doc: str = "", **arguments: Any
) -> Step:
    """Make a step: `step("refund", "simulate_refund", transaction_id=ref("buy.transaction_id"), amount=500)`.

    `expect` is an `Expect` or a mapping of its members.
    """
    if expect is None:
        expect = NOTHING
    elif not isinstance(expect, Expect):
        members = dict(expect)
        events = tuple(one if isinstance(one, EventWanted) else EventWanted(**one) for one in members.pop("events", ()))
        expect = Expect(events=events, **members)
    return Step(name=name, do=do, arguments=arguments, expect=expect, doc=doc)


@attrs.frozen(kw_only=True, repr=False)
class Sequence:
    """A script of steps over a card, an application, a dispute or a deposit. `wb.sequences.run(sequence, api)` runs it."""

    name: str
    steps: tuple[Step, ...]
    doc: str = ""
    parameters: tuple[Parameter, ...] = ()
    profile: str | None = None  # the sandbox profile it is written for, where its expectations depend on it

    def __getitem__(self, name: str) -> Step:
        for one in self.steps:
            if one.name == name:
                return one
        raise KeyError(name)

    def to_toml(self) -> str:
        """Return the same sequence as the text of a TOML file."""
        from workbench.sequences import toml_form

        return toml_form.dumps(self)

    def __repr__(self) -> str:
        return f"<sequence {self.name}: {len(self.steps)} step{'s' if len(self.steps) != 1 else ''}>"

    def _repr_html_(self) -> str:
        from workbench.sequences import looks

        return looks.html(self)


_DURATION = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)\s*([dhms])\s*")
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


def duration(text: str) -> timedelta:
    """Read a span of time as `2d`, `1h 30m`, `2.5s`.

    Raises:
        ValueError: It is none.
    """
    parts = _DURATION.findall(text)
    if not parts or _DURATION.sub("", text).strip():
        raise ValueError("must be a span of time as 2d, 1h 30m or 2.5s")
    return timedelta(**_summed(parts))


def _summed(parts: list[tuple[str, str]]) -> dict[str, float]:
    made: dict[str, float] = {}
    for number, unit in parts:
        made[_UNITS[unit]] = made.get(_UNITS[unit], 0) + float(number)
    return made


def duration_text(span: timedelta) -> str:
    """Write a span of time as `duration` reads it."""
    seconds = span.total_seconds()
    words = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        whole, seconds = divmod(seconds, size)
        if whole:
            words.append(f"{whole:.0f}{unit}")
    if seconds or not words:
        words.append(f"{seconds:.3f}".rstrip("0").rstrip(".") + "s")
    return " ".join(words)


def references(value: Any) -> Iterator[Ref | Param | Guide]:
    """Yield every reference inside an argument, however deep."""
    if isinstance(value, Ref | Param | Guide):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from references(item)
