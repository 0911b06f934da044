"""Compare two services or sandboxes by running the same sequences on both."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

import attrs

from workbench.base.arguments import hide_arguments
from workbench.base.errors import ApiError, Problem, UsageError, WrongEnvironment, visible
from workbench.base.schema import masks, walk
from workbench.base.schema.rules import UUID
from workbench.client.session import connect, sandbox_of, session_on
from workbench.runs.sequences.player import event_kind
from workbench.runs.sequences.reading import SCRIPTED, catalogue
from workbench.runs.sequences.running import run
from workbench.runs.sequences.runs import TIME, Run
from workbench.runs.sequences.sequence import Sequence, Step, ref
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals
from workbench.service.interface.convert import converter
from workbench.service.rendering.text import Cell, Grid

_BEHAVIORS = ("documented", "observed")
_SHOWN = 50  # differences that are printed
_SEVERITIES = ("outcome", "shape", "value", "text", "setting")
_TOKEN = re.compile(rf"{UUID.pattern}|\b[0-9a-f]{{32,}}\b", UUID.flags)  # an id, or the signature of a link
_EVENT = re.compile(r"event [0-9]+")

READS = tuple(
    Sequence(name=name.replace("_", "-"), steps=(Step(name="read", do=name, arguments=arguments),))
    for name, arguments in (
        ("list_contracts", {}),
        ("list_rewards_activity", {"user_id": ref("guide.users.approved"), "limit": 100}),
    )
)
"""Reads of the interface that no sequence of the catalogue calls."""

Facts = dict[tuple[str, str, str], tuple[Any, str]]
"""Facts by sequence, step and path: a value without ids and times to compare, and a masked
one to show.
"""
Rests = dict[tuple[str, str], set[str]]
"""Assumptions that a response relies on, by sequence and step."""


@attrs.frozen(kw_only=True)
class Difference:
    """One difference. Private values are masked."""

    of: str  # the sequence
    step: str
    path: str  # "outcome", "error.status", "answer.status", "event 2", "event 2.body.spend.status"
    a: str | None  # None: it is not there
    b: str | None
    severity: (
        str  # "outcome": another end; "shape": a member or event on one side; "value"; "text": of a message; "setting"
    )
    assumptions: str  # behaviors in which the two differ, and which the answer rests on


class Comparison:
    """Differences between two services, also as `wb.to_frame(comparison)`, and the number of items compared."""

    row_type = Difference

    def __init__(
        self,
        differences: Iterable[Difference],
        compared: Iterable[str],
        skipped: Mapping[str, str],
        counts: Mapping[str, int],
    ) -> None:
        self.compared = tuple(compared)  # names of the sequences
        self.skipped = dict(skipped)  # sequences that cannot run, with the reason
        self.counts = dict(counts)  # how much was compared: {"sequences": 54, "calls": 171, …}
        order = {name: number for number, name in enumerate(self.compared)}
        self._differences = sorted(differences, key=lambda difference: order.get(difference.of, len(order)))

    def rows(self) -> list[Difference]:
        """Return the differences, in order of comparison."""
        return self._differences

    @property
    def ok(self) -> bool:
        """Whether something was compared and there are no differences."""
        return bool(self.counts["values"]) and not self._differences

    @property
    def verdict(self) -> str:
        """Number of items compared, number of differences by severity, and what was not compared, as text."""
        compared = ", ".join(f"{number:,} {unit if number != 1 else unit[:-1]}" for unit, number in self.counts.items())
        by_severity = Counter(difference.severity for difference in self._differences)
        listed = ", ".join(f"{by_severity[name]} of {name}" for name in _SEVERITIES if by_severity[name])
        skipped = f"; not compared: {', '.join(self.skipped)}" if self.skipped else ""
        return f"compared {compared}: {f'differences: {listed}' if listed else 'no difference'}{skipped}"

    def sheet(self) -> Grid:
        """Return the differences as a sheet, the most severe first."""
        widths = {"of": 26, "step": 14, "path": 36, "a": 22, "b": 22, "severity": 8, "assumptions": 22}
        rows = tuple(
            tuple(Cell((visible(str(getattr(row, name) or "–"), width),)) for name, width in widths.items())
            for row in sorted(self._differences, key=lambda row: _SEVERITIES.index(row.severity))[:_SHOWN]
        )
        return Grid(title=self.verdict, columns=tuple(widths), rows=rows, total=len(self._differences))

    def __repr__(self) -> str:
        return f"<comparison: {self.verdict}>"


@hide_arguments
def compare_behavior(
    a: object, b: object, *, sequences: Iterable[str | Sequence] | None = None, **values: object
) -> Comparison:
    """Run the same sequences and reads on two services, and list the differences in their answers and events.

    Ids and times are compared by their origin, so different seeds make no difference. Embedded sandboxes, and sessions
    on them, are not changed: forks are used. Between two embedded sandboxes, a setting that differs without affecting
    an
    answer or event is listed too.

    Args:
        a: A behavior ("documented", "observed"), a `Sandbox`, a session, a client, or an argument of `connect`.
        b: The other one.
        sequences: Names in the catalogue, or sequences; default: the entire catalogue and each read.
        values: Parameters of the sequences.

    Raises:
        UsageError: A sequence is unknown.
        WrongEnvironment: One of them is a production service.
    """
    chosen = [*_chosen(sequences), *(READS if sequences is None else ())]
    sides = [_side(a), _side(b)]
    first, second = (_played(side, chosen, values) for side in sides)
    skipped = first.skipped | second.skipped
    facts, other_facts = (
        {key: fact for key, fact in played.facts.items() if key[0] not in skipped} for played in (first, second)
    )
    settings = [
        {} if (sandbox := _embedded(side)) is None else internals(sandbox).engine.environment.settings for side in sides
    ]
    changed = {name for name, value in settings[0].items() if settings[1] and value != settings[1].get(name)}
    reasons = {
        step: (changed - {"rate_limit"}) & (first.rests.get(step, set()) | second.rests.get(step, set()))
        for step in first.rests | second.rests
    }  # answers under another rate limit differ in headers only
    differences = list(_differences(facts, other_facts, reasons))
    if sequences is None:
        shown = {name for difference in differences for name in difference.assumptions.split(", ")}
        differences += [
            Difference(
                of="settings",
                step=name,
                path="setting",
                a=visible(repr(settings[0][name]), 80),
                b=visible(repr(settings[1][name]), 80),
                severity="setting",
                assumptions=name,
            )
            for name in sorted(changed - shown)
        ]
    compared = [sequence.name for sequence in chosen if sequence.name not in skipped]
    counts = {
        "sequences": len(compared),
        "calls": sum(first.calls[name] for name in compared),
        "events": sum(_EVENT.fullmatch(key[2]) is not None for key in facts | other_facts),
        "values": len(facts.keys() | other_facts.keys()),
    }
    return Comparison(differences, [*compared, "settings"], skipped, counts)


@attrs.define
class _Played:
    """Facts from sequences on one service, the assumptions behind them, and the sequences that could not run."""

    facts: Facts = attrs.field(factory=dict)
    rests: Rests = attrs.field(factory=dict)
    skipped: dict[str, str] = attrs.field(factory=dict)
    calls: Counter[str] = attrs.field(factory=Counter)  # by sequence


def _played(side: object, sequences: Iterable[Sequence], values: Mapping[str, Any]) -> _Played:
    """Run sequences on a service, each on a fork if it is an embedded sandbox."""
    played = _Played()
    for sequence in sequences:
        api = _fork(side)
        try:
            result = run(api, sequence, progress=False, **values)
        except WrongEnvironment as error:
            played.skipped[sequence.name] = str(error)
            continue
        played.facts |= _facts(result)
        calls = [(sequence.name, step.step.name) for step in result.steps if step.step.do in SCRIPTED]
        played.calls[sequence.name] = len(calls)
        entries = sandbox.requests()[-len(calls) :] if calls and (sandbox := _embedded(api)) is not None else []
        played.rests |= {step: set(entry.assumptions) for step, entry in zip(calls, entries, strict=False)}
    return played


def _chosen(sequences: Iterable[str | Sequence] | None) -> list[Sequence]:
    """Return sequences by name, for either behavior; default: the entire catalogue."""
    chosen = list(catalogue if sequences is None else sequences)
    for name in chosen:
        if isinstance(name, str) and name not in catalogue:
            raise UsageError(f"{visible(name, 80)} is not a sequence of the catalogue", of="compare_behavior")
        if not isinstance(name, str | Sequence):
            problem = Problem("sequences", "type", "must be sequences or names from the catalogue")
            raise UsageError([problem], of="compare_behavior")
    return [
        attrs.evolve(catalogue[sequence] if isinstance(sequence, str) else sequence, profile=None)
        for sequence in chosen
    ]


def _side(x: object) -> Any:
    if isinstance(x, str):
        return Sandbox(behavior=x) if x in _BEHAVIORS else connect(x)
    return x


def _embedded(side: object) -> Sandbox | None:
    sandbox = side if isinstance(side, Sandbox) else sandbox_of(side)
    return sandbox if isinstance(sandbox, Sandbox) else None


def _fork(side: Any) -> Any:
    """Return a fork of an embedded sandbox, or a session on a fork; any other service unchanged."""
    sandbox = _embedded(side)
    if sandbox is None:
        return side
    return sandbox.fork() if side is sandbox else session_on(sandbox.fork(), side)


def _differences(
    a: Facts, b: Facts, reasons: Mapping[tuple[str, str], set[str]] = MappingProxyType({})
) -> Iterator[Difference]:
    whole = {key for key in (a.keys() ^ b.keys()) if _EVENT.fullmatch(key[2])}  # an event on one side
    for key in dict.fromkeys((*a, *b)):
        of, step, path = key
        if (of, step, path.partition(".")[0]) in whole and key not in whole:
            continue
        if path.startswith("answer") and a.get((of, step, "outcome")) != b.get((of, step, "outcome")):
            continue  # an answer of one side alone
        (ours, shown_a), (theirs, shown_b) = (side.get(key, (None, None)) for side in (a, b))
        if ours == theirs:
            continue
        if path in ("outcome", "error.status"):
            severity = "outcome"
        elif shown_a is None or shown_b is None:
            severity = "shape"
        else:
            severity = "text" if path == "error.message" else "value"
            if shown_a != shown_b and shown_a.strip() == shown_b.strip():  # in what nobody would see
                shown_a, shown_b = (json.dumps(fact, ensure_ascii=False) for fact in (shown_a, shown_b))
        because = ", ".join(sorted(reasons.get((of, step), ())))
        yield Difference(of=of, step=step, path=path, a=shown_a, b=shown_b, severity=severity, assumptions=because)


class _Reader:
    """Collector of facts: ids are named by their first occurrence, times by their offset from the start."""

    def __init__(self, of: str, started: datetime) -> None:
        self.facts: Facts = {}
        self._of = of
        self._started = started
        self._seen: dict[str, str] = {}  # an id by where it was first seen

    def put(self, step: str, path: str, value: object, shown: object) -> None:
        """Add a value with its displayed form; mappings and lists are added part by part."""
        parts, shown_parts = _parts(value), _parts(shown)
        if parts is not None:
            for name, inner in parts.items():
                self.put(step, f"{path}.{name}", inner, shown if shown_parts is None else shown_parts.get(name))
            return
        text = value.isoformat() if isinstance(value, datetime) else str(value)
        plain = _TOKEN.sub(lambda match: self._seen.setdefault(match[0], f"{step}.{path}"), text)
        self.facts[self._of, step, path] = (TIME.sub(self._after, plain), visible(str(shown), 80))

    def _after(self, match: re.Match[str]) -> str:
        return f"{(datetime.fromisoformat(match[0]) - self._started).total_seconds():+.3f}"


def _parts(value: object) -> Mapping[Any, Any] | None:
    """Return the members of a mapping, or the items of a list by position; None for other values."""
    return (
        dict(enumerate(value, 1)) if isinstance(value, list | tuple) else value if isinstance(value, Mapping) else None
    )


def _shapes(value: object, path: str = "answer") -> Iterator[tuple[str, str]]:
    """Yield the members of an answer with their JSON types; the items of a list are combined."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _shapes(inner, f"{path}.{name}")
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _shapes(inner, f"{path}[]")
    else:
        yield path, type(value).__name__


def _facts(run: Run) -> Facts:
    """Return the facts of a run: outcomes, errors, answers and events; for reads of lists only the members present."""
    reader = _Reader(run.sequence.name, run.started)
    put = reader.put
    for result in run.steps:
        name, error = result.step.name, result.error
        put(name, "outcome", result.outcome, result.outcome)
        if isinstance(error, ApiError):
            said = {"status": error.status, "error": error.error, "message": error.message}
            put(name, "error", said, said)
        answers = result.answer if isinstance(result.answer, list) else [result.answer]
        if run.sequence in READS:
            for path, kind in _shapes(converter().unstructure(result.answer)):
                put(name, path, kind, kind)
        elif result.step.do in SCRIPTED and all(walk.is_record(answer) for answer in answers):
            raw, shown = [converter().unstructure(answer) for answer in answers], masks.masked(answers)
            put(name, "answer", *((raw, shown) if len(raw) > 1 else (raw[0], shown[0])))
        for number, event in enumerate(run._payloads(name), 1):
            shown = masks.masked(event)
            put(name, f"event {number}", event_kind(event), event_kind(event))
            put(name, f"event {number}", {**event, "id": ""}, shown)
    return reader.facts
