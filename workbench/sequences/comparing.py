"""What differs between two services or sandboxes: in the runs of sequences, or in the records of two worlds."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs

from workbench.client.client import Client
from workbench.errors import ApiError, InvalidRequest, WrongEnvironment, hide_arguments, visible
from workbench.interface import masks, strict_json, walk
from workbench.interface.assumptions import BEHAVIORS
from workbench.interface.convert import converter
from workbench.interface.rules import UUID
from workbench.interface.table import OPERATIONS
from workbench.rendering.text import Cell, Grid
from workbench.sandbox import Sandbox
from workbench.sandbox.controls import RECORD_KINDS
from workbench.sequences.exports import Recording, read_answer
from workbench.sequences.player import event_kind
from workbench.sequences.reading import SCRIPTED, catalogue
from workbench.sequences.results import TIME, Run
from workbench.sequences.running import run
from workbench.sequences.sequence import Sequence
from workbench.session import connect, sandbox_of

_BEHAVIORS = ("documented", "observed")
_OPEN = frozenset({"status", "kind", "team", "currency", "type"})  # texts of stored records that are not private
_SHOWN = 50  # differences that are printed
_SEVERITIES = ("outcome", "shape", "value", "text")
_WHOLE = re.compile(r"event [0-9]+|record")

Facts = dict[tuple[str, str, str], tuple[Any, str]]
"""By sequence or kind of record, step or id, and path: a value without ids and times, to compare, and the masked value, to show."""
Rests = dict[tuple[str, str], set[str]]
"""By sequence and step: the assumptions that the response rests on."""


@attrs.frozen(kw_only=True)
class Difference:
    """One difference. Private values are masked."""

    of: str  # the sequence, or the kind of record
    step: str  # the step, or the id of the record
    path: str  # "outcome", "error.status", "answer.status", "event 2", "event 2.body.spend.status", "record.status"
    a: str | None  # None: it is not there
    b: str | None
    severity: str  # "outcome": another end; "shape": a member or event on one side; "value"; "text": words of a message
    assumptions: str  # behaviors in which the two differ, and which the answer rests on


class Comparison:
    """The differences between two services, as `wb.to_frame(comparison)`, and what was compared."""

    row_type = Difference

    def __init__(self, found: Iterable[Difference], compared: list[str], skipped: Mapping[str, str]) -> None:
        self.compared = tuple(compared)
        self.skipped = dict(skipped)  # sequences that cannot run, with the reason
        self._found = sorted(found, key=lambda one: compared.index(one.of))

    def rows(self) -> list[Difference]:
        """Return the differences, in the order of what was compared."""
        return self._found

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self._found

    @property
    def verdict(self) -> str:
        """The number of differences by severity, and what was not compared, as text."""
        counts = {name: sum(one.severity == name for one in self._found) for name in _SEVERITIES}
        listed = ", ".join(f"{count} of {name}" for name, count in counts.items() if count) or "none"
        skipped = f"; not compared: {', '.join(self.skipped)}" if self.skipped else ""
        return f"{len(self.compared)} compared, differences: {listed}{skipped}"

    def sheet(self) -> Grid:
        """Return the differences as they are shown: the graver ones first."""
        widths = {"of": 26, "step": 14, "path": 36, "a": 22, "b": 22, "severity": 8, "assumptions": 22}
        columns = tuple(widths)
        rows = tuple(
            tuple(Cell((visible(str(getattr(one, name) or "–"), width),)) for name, width in widths.items())
            for one in sorted(self._found, key=lambda one: _SEVERITIES.index(one.severity))[:_SHOWN]
        )
        return Grid(title=self.verdict, columns=columns, rows=rows, total=len(self._found))

    def __repr__(self) -> str:
        return f"<comparison: {self.verdict}>"


@hide_arguments
def compare(a: Any, b: Any, *, sequences: Iterable[str | Sequence] | None = None, **values: Any) -> Comparison:
    """Compare two services by running sequences on both, or two sandboxes by their records.

    Ids and times are compared by where they come from, so another seed makes no difference. A `Sandbox` stays as it is:
    sequences run on copies of it.

    Args:
        a: A behavior ("documented", "observed"), a `Sandbox`, a session, a client, or what `connect` takes; or the path
            of a recording (`testing.record`), whose calls are made again on `b`. Ids of earlier responses are replaced by
            those of `b`.
        b: The other one.
        sequences: Names in the catalogue, or sequences. Without them, two behaviors are compared by all of the catalogue,
            and anything else by the records of its sandbox.
        values: Parameters of the sequences.

    Raises:
        InvalidRequest: A sequence is unknown, or there is no sandbox whose records could be compared.
        WrongEnvironment: One of them is a production service.
    """
    if isinstance(a, Path) or (isinstance(a, str) and a.endswith(".har")):
        return _compare_recording(Recording(a), _side(b))
    if sequences is None and (a in _BEHAVIORS and b in _BEHAVIORS):
        sequences = catalogue
    sides = [_side(a), _side(b)]
    if sequences is None:
        return Comparison(_found(_record_facts(sides[0]), _record_facts(sides[1])), list(RECORD_KINDS), {})
    chosen = [_sequence(one) for one in sequences]
    (ours, rests, missing), (theirs, their_rests, lacking) = (_played(side, chosen, values) for side in sides)
    skipped = missing | lacking
    ours, theirs = ({key: fact for key, fact in one.items() if key[0] not in skipped} for one in (ours, theirs))
    first, second = ((one.settings if (one := _embedded(side)) else {}) for side in sides)
    # of the rate limit headers alone differ
    differing = {name for name, value in first.items() if second and value != second.get(name)} - {"rate_limit"}
    reasons = {
        step: differing & (rests.get(step, set()) | their_rests.get(step, set())) for step in rests | their_rests
    }
    compared = [one.name for one in chosen if one.name not in skipped]
    return Comparison(_found(ours, theirs, reasons), compared, skipped)


def _played(side: Any, sequences: Iterable[Sequence], values: Mapping[str, Any]) -> tuple[Facts, Rests, dict[str, str]]:
    """Run sequences, on copies of a sandbox; return what they showed, what it rests on, and why others cannot run."""
    facts: Facts = {}
    rests: Rests = {}
    skipped: dict[str, str] = {}
    for sequence in sequences:
        api = side.fork() if isinstance(side, Sandbox) else side
        try:
            made = run(sequence, api, progress=False, **values)
        except WrongEnvironment as error:
            skipped[sequence.name] = str(error)
        else:
            facts |= _facts(made)
            steps = [(sequence.name, one.step.name) for one in made.steps if one.step.do in SCRIPTED]
            entries = sandbox.requests()[-len(steps) :] if steps and (sandbox := _embedded(api)) is not None else []
            rests |= {step: set(entry.assumptions) for step, entry in zip(steps, entries, strict=False)}
    return facts, rests, skipped


@attrs.frozen(kw_only=True)
class Evidence:
    """What a service showed about assumptions: ids that its responses confirm, values that fit it, and ids left open."""

    service: str
    confirmed: tuple[str, ...]
    corrected: Mapping[str, Any]  # id: the value that fits, as `connect(settings=…)` takes it
    open: tuple[str, ...]  # a step that rests on it differed from either behavior

    def to_toml(self, name: str = "like-the-service") -> str:
        """Return it as a profile for profiles.toml: an embedded sandbox that behaves as the service did."""
        confirmed = ", ".join(self.confirmed) or "none"
        lines = [f"# Assumptions that {self.service} was compared with. Confirmed: {confirmed}."]
        lines += [f"# Open, since a response differed either way: {', '.join(self.open) or 'none'}.", ""]
        lines += [f"[profiles.{name}.sandbox]", 'behavior = "documented"']
        lines += [f"{key} = {json.dumps(value)}" for key, value in self.corrected.items() if value is not None]
        return "\n".join([*lines, ""])


@hide_arguments
def evidence(service: Any, *, sequences: Iterable[str | Sequence] | None = None, **values: Any) -> Evidence:
    """Run sequences on a service once, and tell which assumptions its responses and events confirm or correct.

    A sandbox is then fitted to it: of each behavior with two known values the one that leaves fewer differences is taken. It is
    confirmed where that is the documented value, corrected where it is the other one, and open where the sequences show no
    difference. An assumption that has no setting is confirmed where all steps that rest on it ended alike.

    Args:
        service: See `compare`; not a recording.
        sequences: Names in the catalogue, or sequences; all of the catalogue if omitted.
        values: Parameters of the sequences.

    Raises:
        InvalidRequest: A sequence is unknown.
        WrongEnvironment: It is a production service.
    """
    side, chosen = _side(service), [_sequence(one) for one in sequences or catalogue]
    theirs, _, skipped = _played(side, chosen, values)
    chosen = [one for one in chosen if one.name not in skipped]

    def fitted(settings: Mapping[str, Any]) -> tuple[set[tuple[str, str, str]], Rests]:
        """Return where a sandbox with settings differs, and what its responses rest on."""
        ours, rests, _ = _played(Sandbox(settings=settings), chosen, values)
        return {(one.of, one.step, one.path) for one in _found(ours, theirs)}, rests

    corrected: dict[str, Any] = {}
    differing, rests = fitted({})
    settled: dict[str, bool] = {}
    choices = [one for one in BEHAVIORS.values() if one.settable and one.documented != one.observed]
    for one in (*choices, *choices):  # twice: some show only beside others
        if one.id in corrected:
            continue
        tried, resting = fitted({**corrected, one.id: one.observed})
        if len(tried) < len(differing):
            corrected[one.id] = one.observed
            differing, rests = tried, resting
        settled[one.id] = settled.get(one.id, False) or len(tried) != len(differing)
    known = set().union(*rests.values())
    alike = known - set().union(*(rests.get(one[:2], ()) for one in differing))
    confirmed = {one for one, shown in settled.items() if shown} | {one for one in alike if one not in settled}
    left = {*known, *settled} - confirmed - corrected.keys()
    return Evidence(
        service=getattr(side, "host", "a sandbox"), confirmed=tuple(sorted(confirmed - corrected.keys())),
        corrected=corrected, open=tuple(sorted(left)),
    )  # fmt: skip


def _sequence(one: str | Sequence) -> Sequence:
    if isinstance(one, str) and one not in catalogue:
        raise InvalidRequest(f"{visible(one, 80)} is not a sequence of the catalogue", of="compare")
    return attrs.evolve(catalogue[one] if isinstance(one, str) else one, profile=None)


def _compare_recording(recording: Recording, side: Any) -> Comparison:
    """Make the calls of a recording again, one by one, and compare each response with the recorded one."""
    if isinstance(side, Sandbox):
        sandbox = side.fork()
        side = Client(base_url=sandbox.base_url, api_key=sandbox.full_key, transport=sandbox.direct(), journal=False)
    readers = [_Reader(recording.of, None), _Reader(recording.of, None)]
    ids: dict[str, str] = {}
    for number, (name, sent, response) in enumerate(recording.calls, 1):
        operation, step = OPERATIONS[name], f"{number} {name}"
        raw = strict_json.dumps(sent).decode()
        for old_id, new_id in ids.items():
            raw = raw.replace(old_id, new_id)
        with side.responses() as found, suppress(ApiError):
            side.send(side.from_wire(name, raw))
        ends = (response, found[-1])
        for reader, end in zip(readers, ends, strict=True):
            answer = read_answer(operation, end.status, end.body)
            reader.put(step, "outcome", end.status, end.status)
            reader.put(step, "answer" if end.status < 300 else "error", answer, answer)
        old, new = (UUID.findall(end.body.decode("utf-8", "replace")) for end in ends)
        ids |= dict(zip(old, new, strict=False)) if len(old) == len(new) else {}
    return Comparison(_found(readers[0].facts, readers[1].facts), [recording.of], {})


def _side(x: Any) -> Any:
    if isinstance(x, str):
        return Sandbox(behavior=x) if x in _BEHAVIORS else connect(x)  # type: ignore[arg-type]
    return x


def _embedded(side: Any) -> Sandbox | None:
    sandbox = side if isinstance(side, Sandbox) else sandbox_of(side)
    return sandbox if isinstance(sandbox, Sandbox) else None


def _found(
    a: Facts, b: Facts, reasons: Mapping[tuple[str, str], set[str]] = MappingProxyType({})
) -> Iterator[Difference]:
    whole = {key for key in (a.keys() ^ b.keys()) if _WHOLE.fullmatch(key[2])}  # an event or record on one side
    for key in dict.fromkeys((*a, *b)):
        of, step, path = key
        if (of, step, path.partition(".")[0]) in whole and key not in whole:
            continue
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
                shown_a, shown_b = (json.dumps(one, ensure_ascii=False) for one in (shown_a, shown_b))
        because = ", ".join(sorted(reasons.get((of, step), ())))
        yield Difference(of=of, step=step, path=path, a=shown_a, b=shown_b, severity=severity, assumptions=because)


class _Reader:
    """Collects facts: ids are named by where they were first seen, times by how long after the start."""

    def __init__(self, of: str, started: datetime | None) -> None:
        self.facts: Facts = {}
        self._of = of
        self._started = started  # None: times are not compared
        self._seen: dict[str, str] = {}  # an id by where it was first seen

    def put(self, step: str, path: str, value: Any, shown: Any) -> None:
        """Add a value and what is shown of it; of a mapping or a list, each part."""
        parts, shown_parts = _parts(value), _parts(shown)
        if parts is not None:
            for name, inner in parts.items():
                self.put(step, f"{path}.{name}", inner, shown if shown_parts is None else shown_parts.get(name))
            return
        text = value.isoformat() if isinstance(value, datetime) else str(value)
        plain = UUID.sub(lambda found: self._seen.setdefault(found[0], f"{step}.{path}"), text)
        self.facts[self._of, step, path] = (TIME.sub(self._after, plain), visible(str(shown), 80))

    def _after(self, found: re.Match[str]) -> str:
        if self._started is None:
            return "time"
        return f"{(datetime.fromisoformat(found[0]) - self._started).total_seconds():+.3f}"


def _parts(value: Any) -> Mapping[Any, Any] | None:
    """Return the members of a mapping, or the parts of a list by their number; None for anything else."""
    return (
        dict(enumerate(value, 1)) if isinstance(value, list | tuple) else value if isinstance(value, Mapping) else None
    )


def _facts(run: Run) -> Facts:
    """Return what a run showed: outcomes, errors, answers and events."""
    reader = _Reader(run.sequence.name, run.started)
    put = reader.put
    for result in run.steps:
        name, error = result.step.name, result.error
        put(name, "outcome", result.outcome, result.outcome)
        if isinstance(error, ApiError):
            said = {"status": error.status, "error": error.error, "message": error.message}
            put(name, "error", said, said)
        answers = result.answer if isinstance(result.answer, list) else [result.answer]
        if result.step.do in SCRIPTED and all(walk.is_record(one) for one in answers):
            raw, shown = [converter().unstructure(one) for one in answers], masks.masked(answers)
            put(name, "answer", *((raw, shown) if len(raw) > 1 else (raw[0], shown[0])))
        for number, event in enumerate(run.events(name), 1):
            shown = masks.masked(event)
            put(name, f"event {number}", event_kind(event), event_kind(event))
            put(name, f"event {number}", {**event, "id": ""}, shown)
    return reader.facts


def _record_facts(side: Any) -> Facts:
    sandbox = side if isinstance(side, Sandbox) else sandbox_of(side)
    if sandbox is None:
        raise InvalidRequest("a real service shows no records; give sequences to compare by", of="compare")
    facts: Facts = {}
    for kind in RECORD_KINDS:
        for record in sandbox.records(kind, all_tenants=True):
            facts[kind, record["id"], "record"] = "", "there"
            for name, value in record.items():
                is_open = name in _OPEN or isinstance(value, int | None) or UUID.fullmatch(str(value))
                facts[kind, record["id"], f"record.{name}"] = value, str(value) if is_open else masks.DOTS
    return facts
