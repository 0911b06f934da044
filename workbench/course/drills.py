"""Drills: incidents built from seeded data, faults and live traffic, declared in drills.toml and `incidents`."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from workbench.base.remedies import Remedy
from workbench.course import incidents
from workbench.course.incidents import Facts


def _one_line(text: str) -> str:
    return " ".join(text.split())


@attrs.frozen(kw_only=True)
class Drill:
    """An incident: situation, initial purchases, and live traffic. `incidents` sets up and grades the rest.

    Attributes:
        set_up: Creates the rest of the incident from a session and the ids of the initial purchases; returns the facts.
        asks: Names of what is reported by `answer`.
        check: Yields what is missing, from a session and the facts.
    """

    name: str
    title: str
    minutes: int
    situation: str = attrs.field(converter=_one_line)
    answer: str = attrs.field(converter=_one_line, repr=False)
    asks: Sequence[str] = attrs.field(default=(), repr=False)
    purchases: Sequence[Sequence[Any]] = attrs.field(default=(), repr=False)
    traffic: Mapping[str, Any] = attrs.field(repr=False)
    set_up: Callable[[Any, list[str]], Facts] = attrs.field(repr=False)
    check: Callable[[Any, Facts], Iterator[str]] = attrs.field(repr=False)

    def command(self, action: str, arguments: str = "()") -> Remedy:
        """Return the call for an action of a run: a method in Python, a command in the terminal."""
        return Remedy("drill", action=action, arguments=arguments, drill=self.name)

    def described(self) -> str:
        """Return the situation, with the calls it mentions."""
        answer = f"({', '.join(f'{name}=…' for name in self.asks)})"
        calls = {"ledger": "", "book": "(transaction_id, cents)", "answer": answer}
        return self.situation.format_map({name: self.command(name, arguments) for name, arguments in calls.items()})


DRILLS: Mapping[str, Drill] = {
    name: Drill(
        name=name,
        set_up=getattr(incidents, f"set_up_{name.replace('-', '_')}"),
        check=getattr(incidents, name.replace("-", "_")),
        **texts,
    )
    for name, texts in tomllib.loads(Path(__file__).with_name("drills.toml").read_text(encoding="utf-8")).items()
}
"""All drills by name."""
