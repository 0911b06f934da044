"""Learn a service's behavior from recorded traffic, so that a replay of the traffic has no differences.

A twin follows the traffic. If the twin's answer differs from the service's answer, the settings that the twin read are
tried with other values. The value that agrees is learned, with the step as evidence. A step that several settings can
explain decides nothing. The result contains no other values than documented words, counts and names.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import attrs
import orjson

from workbench.base.errors import visible
from workbench.base.system import toml
from workbench.base.system.files import write_file
from workbench.client.calls.client import Client
from workbench.service.interface.assumptions import BEHAVIORS, assumptions, settings
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Grid, counted
from workbench.testing.facts import is_word
from workbench.testing.following import QUERY_NAMES, Following, Sample, assumed_names
from workbench.testing.proposals import PARTS, alternatives, proposed
from workbench.testing.reads import send_reads
from workbench.testing.recorded import Item, Paths, Reading, Texts, given_files, read_traffic
from workbench.testing.recording import exchanges
from workbench.testing.twin import Attempt, Change, Step, Twin

_ORDER = ("refuted", "mixed", "difference", "undecided", "confirmed", "unlisted", "not seen")
_PASSES = 4
_CHANGES = 4  # maximum number of settings that may differ at once in a step
_ALIKE = 10  # maximum number of steps per kind of difference for which other values are tried
_ENOUGH = 4  # maximum number of steps per operation and status for which another value of a setting is tried
_MAX_UNLISTED = 500


@attrs.frozen(kw_only=True)
class Finding:
    """What the traffic shows about one assumption, or an observation that no setting of the sandbox explains."""

    id: str
    status: str  # "refuted", "mixed", "undecided", "confirmed" or "not seen"; "difference"; "unlisted" for an event
    seen: str = ""  # number of steps that show the value, such as "3 of 3"
    value: Any = None  # value of the setting that matches; None if the assumption has no setting
    expected: Any = None  # the value that the sandbox assumes
    place: str = ""  # location of the first step that shows the value


@attrs.frozen(repr=False)
class Learned(Shown):
    """Result of learning: a finding for each assumption and unexplained observation, and the matching settings."""

    row_type = Finding
    findings: tuple[Finding, ...]
    counts: Mapping[str, int]  # such as {"exchanges": 120, "events": 40}
    notes: tuple[str, ...]  # items that were skipped, with reasons

    @property
    def ok(self) -> bool:
        """Whether the traffic confirms an assumption, refutes none, and shows no unexplained difference."""
        statuses = {finding.status for finding in self.findings}
        return "confirmed" in statuses and not statuses & {"refuted", "mixed", "difference"}

    @property
    def behavior(self) -> dict[str, Any]:
        """Settings in which the service differs from the assumed behavior, for `connect(behavior=…)`."""
        # a refuted member name has no value here, because profiles set names
        return {row.id: row.value for row in self.findings if row.status == "refuted" and row.value is not None}

    def rows(self) -> list[Finding]:
        """Return the findings, with refuted assumptions first."""
        return list(self.findings)

    def sheet(self) -> Grid:
        """Return a sheet of the findings."""
        rows = [
            (row.status, row.id, row.seen, _text(row.value), _text(row.expected), row.place)
            for row in self.findings
            if row.status != "not seen"
        ]
        statuses = [finding.status for finding in self.findings]
        title = ", ".join(f"{statuses.count(status)} {status}" for status in _ORDER)
        columns = ("status", "what", "seen", "observed", "assumed", "place")
        return Grid.of_texts(title, columns, ([visible(text, 60) for text in row] for row in rows), self.notes)

    def to_toml(self) -> str:
        """Return the text of a behavior file: settings with their evidence as comments, then the other observations."""
        lines = ["# How the service behaved, learned from recorded traffic. Review it: few observations prove little."]
        lines += ["", 'behavior = "documented"']
        values, others = self.behavior, [""]
        for row in self.findings:
            if row.id in values:
                evidence = f"# {row.status}, {row.seen}, {row.place}; assumed was {_text(row.expected)}"
                lines += ["", f"# {BEHAVIORS[row.id].says}", evidence, f"{row.id} = {toml.dumps(row.value)}"]
            elif row.status != "not seen":
                others.append(f"# {row.status}: {row.id}, {row.seen}, {row.place}")
        return "".join(f"{visible(line)}\n" for line in (*lines, *others))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the behavior file."""
        write_file(Path(path), self.to_toml().encode(), private=False)


def _text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else orjson.dumps(value, default=list).decode()


def _plain(value: object) -> bytes:
    return orjson.dumps(value, default=list, option=orjson.OPT_SORT_KEYS)


Tally = dict[bytes, list[Any]]
"""Evidence on one assumption: each value, with its count and the place where it first occurs."""


@attrs.define
class Replay:
    """Replays of traffic on a twin, which search for the settings that explain the traffic.

    Args:
        sample: The traffic.
        base: The assumed value of each behavior.
        search: Whether to try other values. Otherwise each step that deviates is a difference.
    """

    sample: Sample
    base: Mapping[str, Any]
    search: bool = True
    learned: dict[str, Any] = attrs.field(factory=dict)
    tallies: dict[str, Tally] = attrs.field(factory=dict)
    undecided: dict[str, str] = attrs.field(factory=dict)  # first step that a setting may explain, by setting
    differences: list[tuple[Step, Attempt]] = attrs.field(factory=list)
    learned_from: dict[str, Tally] = attrs.field(factory=dict)  # evidence for settings that an earlier pass learned
    _following: Any = None
    _tried: Counter[object] = attrs.field(factory=Counter)

    def run(self) -> None:
        """Replay the traffic until another replay on the learned behavior learns nothing new."""
        for _ in range(_PASSES if self.search else 1):
            self.tallies, self.undecided, self.differences, self._tried = {}, {}, [], Counter()
            before = _plain(self.learned)
            following = self._following = Following(
                self.sample, {**dict.fromkeys(QUERY_NAMES.values(), True), **self.base, **self.learned}
            )
            for step, states in following.steps():
                following.done(step, self._step(following.twin, step, states))
            for name, tally in self.tallies.items():
                if len(tally) > 1 and name not in PARTS:
                    self.learned.pop(name, None)  # contradicting steps decide nothing
            if _plain(self.learned) == before:
                return

    def notes(self) -> list[str]:
        """Return the reasons why calls and events were not replayed."""
        left = {"calls like the replayed calls of the same kind": self.sample.left, **self._following.left}
        twin = self._following.twin
        left["members that the interface document does not name"] = len(twin.unnamed)
        for place, error in islice(twin.failed.items(), 1):
            left[f"calls and events that fail in the sandbox (the first with {error} for {place})"] = len(twin.failed)
        return [f"not compared: {count:,} {why}" for why, count in left.items() if count]

    def _step(self, twin: Twin, step: Step, states: list[Change]) -> int:
        """Replay a step and learn from it. Return the number of events that the step emits."""
        attempts = [twin.attempt(step, {})]
        if attempts[0].differences or step.name in _OPEN:
            attempts += [twin.attempt(step, {}, state) for state in states]
        if step.status in _OF_KEYS and attempts[0].differences:
            return 0
        best = min(attempts, key=lambda attempt: len(attempt.differences))
        if self.search:
            self._read_names(step)
            if best.differences:
                best = self._explain(twin, step, attempts)
            else:
                self._confirm(twin, step, [attempt for attempt in attempts if not attempt.differences])
        if best.differences:
            self.differences.append((step, best))
        return twin.attempt(step, best.changes, best.state, keep=True).emitted

    def _read_names(self, step: Step) -> None:
        """Count the assumed member names that occur in a call and its answer.

        A service ignores query names that it does not know, so `QUERY_NAMES` are not counted: their presence proves
        nothing.
        """
        x = step.exchange
        if x is None or not x.ok or not x.name:
            return
        answer = x.answer[0] if isinstance(x.answer, list) and x.answer else x.answered
        for record, members in ((x.operation.request, x.members), (x.operation.answer, answer)):
            for wire, name in assumed_names(record).items():
                if members.get(wire) is not None and name not in QUERY_NAMES.values():
                    self._note(name, True, step)

    def _confirm(self, twin: Twin, step: Step, agreeing: list[Attempt]) -> None:
        """Count each setting of which another value would make the step differ in every agreeing state."""
        for name in sorted(set.intersection(*(set(attempt.touched) for attempt in agreeing))):
            kind, current = (name, step.name, step.status), twin.settings[name]
            self._tried[kind] += 1
            others = alternatives(name, current) if self._tried[kind] <= _ENOUGH else ()
            if any(all(twin.attempt(step, {name: other}, x.state).differences for x in agreeing) for other in others):
                self._note(name, current, step)

    def _explain(self, twin: Twin, step: Step, attempts: list[Attempt]) -> Attempt:
        """Return the attempt that explains a step best. Learn the settings of this attempt if no other is as good."""
        kind = ("unexplained", step.name, step.status, *sorted(attempts[0].differences)[:40])
        self._tried[kind] += 1
        if self._tried[kind] > _ALIKE:
            return attempts[0]
        solutions = [solution for attempt in attempts for solution in self._searched(twin, step, attempt)]
        ranks = [self._rank(step, solution) for solution in solutions]
        likely = [solution for solution, rank in zip(solutions, ranks, strict=True) if rank == min(ranks)]
        if len({_plain(sorted(solution.changes.items())) for solution in likely}) > 1:
            self.undecided = (
                dict.fromkeys((name for solution in likely for name in solution.changes), step.place) | self.undecided
            )
            return likely[0]
        for name, value in likely[0].changes.items():
            self._note(name, value, step)
            if len(self.tallies[name]) == 1 or name in PARTS:
                self.learned[name] = twin.settings[name] = value
                self.learned_from[name] = self.tallies[name]
        return likely[0]

    def _rank(self, step: Step, solution: Attempt) -> tuple[int, bool, int, bool]:
        """Return a tuple that is smaller for a better explanation."""
        contradicts = any(
            name in self.tallies and name not in PARTS and _plain(value) not in self.tallies[name]
            for name, value in solution.changes.items()
        )
        is_rare = solution.state is not None and step.name not in _OPEN
        return len(solution.differences), contradicts, len(solution.changes), is_rare

    def _searched(self, twin: Twin, step: Step, attempt: Attempt) -> list[Attempt]:
        """Return the equally good attempts with the fewest differences, found by changing one setting after another."""
        solutions = [attempt]
        for _ in range(_CHANGES):
            current = solutions[0]
            tries = (
                twin.attempt(step, {**current.changes, name: value}, attempt.state)
                for name in sorted(current.touched)
                for value in proposed(name, step, current, {**twin.settings, **current.changes}[name])
            )
            better = [tried for tried in tries if _is_better(tried, current)]
            fewest = min((len(tried.differences) for tried in better), default=0)
            solutions = [tried for tried in better if len(tried.differences) == fewest] or solutions
            if not fewest:
                break
        return solutions

    def _note(self, name: str, value: object, step: Step) -> None:
        self.tallies.setdefault(name, {}).setdefault(_plain(value), [value, 0, step.place])[1] += 1

    def findings(self) -> tuple[Finding, ...]:
        """Return a finding for each assumption and unexplained observation, with refuted assumptions first."""
        findings = [*(self._finding(row.id) for row in assumptions()), *self._unlisted()]
        return tuple(sorted(findings, key=lambda finding: (_ORDER.index(finding.status), finding.id)))

    def _finding(self, key: str) -> Finding:
        expected = self.base.get(key)
        # a learned setting causes no more differences, so its evidence is from the pass that learned it
        tally = self.tallies.get(key, self.learned_from[key] if key in self.learned else None)
        if tally is None:
            place = self.undecided.get(key, "")
            return Finding(id=key, status="undecided" if place else "not seen", expected=expected, place=place)
        total = sum(count for _, count, _ in tally.values())
        value, count, place = max(tally.values(), key=lambda row: row[1])
        if key in PARTS:
            value, count = self.learned.get(key, value), total
        is_usual = _plain(value) == _plain(self.base.get(key, True))
        status = "mixed" if count < total else "confirmed" if is_usual else "refuted"
        shown = value if key in self.base else None
        return Finding(id=key, status=status, seen=f"{count} of {total}", value=shown, expected=expected, place=place)

    def _unlisted(self) -> Iterator[Finding]:
        """Yield the events of unknown kinds, and the differences that no setting explains."""
        groups: dict[tuple[str, str], list[str]] = {}
        for event in self.sample.events:
            if f"{event.resource}.{event.action}" not in EVENT_KINDS:
                name = ".".join(part if is_word(part) else "…" for part in (event.resource, event.action))
                groups.setdefault(("unlisted", name), []).append(event.place)
        for step, attempt in self.differences:
            path = re.sub(r"/\d+(?=/|$)", "", min(attempt.differences))
            groups.setdefault(("difference", f"{step.name or 'event'} {path}"), []).append(step.place)
        for (status, name), places in sorted(groups.items(), key=lambda group: -len(group[1]))[:_MAX_UNLISTED]:
            yield Finding(id=name, status=status, seen=counted(len(places), "times"), place=places[0])


_OF_KEYS = frozenset({401, 403})
"""Refusals that the key may explain, because traffic does not show the key's roles."""
_OPEN = frozenset({"simulate_refund", "simulate_reversal"})
"""Operations in which an unrecorded settlement can cause the same difference as a setting."""


def _is_better(tried: Attempt, current: Attempt) -> bool:
    """Return whether an attempt has fewer differences, and compares all facts unless no difference is left."""
    compares_less = not current.recorded.keys() <= tried.recorded.keys()
    return len(tried.differences) < len(current.differences) and not (tried.differences and compares_less)


def learn(
    paths: Paths | Client,
    *,
    names: Texts | None = None,
    user_id: str | None = None,
) -> Learned:
    """Read recorded traffic, and return the behavior under which a replay of the traffic has no differences.

    Nothing is sent, except at most seven reads if a session is passed in place of files. The result contains no values:
    only documented words, counts and names.

    Args:
        paths: HAR files, logs of JSON lines (exchanges, events, or deliveries with their headers) or access logs, the
            output of `curl -v`, CSV files, inboxes and journals, all of these also compressed with gzip, and folders
            with such files. Or a session or client to send reads.
        names: Member names of a log, such as {"status": "http.response.status_code"}, for `method`, `url`, `request`
            (as "GET /v1/x"), `status`, `time`, `request_headers`, `request_body`, `response_headers`, `response_body`,
            and for deliveries `headers`, `body`, `time`.
        user_id: With a session: id of a user with rewards, whose rewards pages are also read.

    Raises:
        UnusableFile: A file cannot be read, or contains no such traffic.
        UsageError: No file is given, or a name is unknown.
    """
    reading = Reading()
    if isinstance(paths, Client):
        with paths.responses() as responses:
            send_reads(paths, user_id)
        items: Iterable[Item] = exchanges(responses, reading)
    else:
        items = read_traffic(given_files(paths, names or {}, "learn"), names or {}, reading)
    replay = Replay(sample_of(items, reading), settings("documented"))
    replay.run()
    return Learned(replay.findings(), reading.counts, (*reading.notes(), *replay.notes()))


def sample_of(items: Iterable[Item], reading: Reading) -> Sample:
    """Return the sample of traffic to replay. `reading` counts the items with an unexpected structure."""
    sample = Sample()
    for item in items:
        reading.read(item.place, sample.add, item)
    return sample
