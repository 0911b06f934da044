"""Learn a service's behavior from recorded traffic: which assumptions it confirms, and what is undocumented.

One loop reads exchanges and events; `observations` declares what each shows about an assumption. The result is a report
and a behavior file for `connect(behavior=…)`. It never contains values of requests and answers: only statuses, enum
values, counts, intervals, and names of members.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import orjson

from workbench.base.errors import Problem, UsageError, visible
from workbench.base.schema import walk
from workbench.base.system import toml
from workbench.base.system.files import write_file
from workbench.client.calls.probe import Finding as Probed
from workbench.sandbox.behavior import Behavior, read_behavior
from workbench.sandbox.extensions import LATER
from workbench.service.interface.assumptions import BEHAVIORS, assumptions, failure_id, settings
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import ERRORS, OPERATIONS
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Cell, Grid
from workbench.testing import observations
from workbench.testing.evidence_files import DEFAULT_NAMES, Delivery, Exchange, Json, traffic
from workbench.testing.observations import BY_KIND, BY_OPERATION, NONE, Observer, Part, State

_ORDER = ("refuted", "mixed", "confirmed", "not seen")
_MAX_VALUES = 50  # different values of one assumption, and names of one kind, that are counted apart
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
_HEADER = re.compile(r"[a-z][a-z-]{1,39}")
_USUAL_HEADERS = re.compile(
    "accept-ranges|access-control-.+|age|alt-svc|cache-control|connection|content-.+|date|etag|expires|keep-alive|"
    "last-modified|pragma|referrer-policy|server|set-cookie|strict-transport-security|transfer-encoding|vary|via|"
    "x-content-type-options|x-frame-options|retry-after|allow|deprecation|x-ratelimit-.+|idempotency-.+|workbench-.+"
)
_ERROR_MEMBERS = frozenset({"statusCode", "error", "message"})
_USUAL_ORDER = frozenset(
    {
        ("requested", "created"),
        ("created", "updated"),
        ("created", "completed"),
        ("updated", "updated"),
        ("updated", "completed"),
        ("completed", "completed"),
        ("completed", "created"),
    }
)
_AT_LEAST = {"settle_by_clock": 2}
"""Minimum number of observations before a setting is changed, because a control can settle, too."""


@attrs.frozen(kw_only=True)
class Finding:
    """Evidence of the traffic on one assumption."""

    id: str
    status: str  # "refuted", "mixed", "confirmed" or "not seen"
    seen: str  # "3 of 3": how many observations fit the value; empty where there is none
    value: Json  # the value of the setting that fits; None where there is no setting
    expected: Json  # the value that was assumed
    place: str  # of the first observation that differs, else of the first one


@attrs.frozen(kw_only=True)
class Unlisted:
    """Something that neither the interface document nor the sandbox lists."""

    kind: str  # "member", "value", "status", "error", "header", "event", "order" or "delay"
    name: str
    count: int
    place: str


class Learned(Shown):
    """Result of learning: a finding for each assumption, what is unlisted, and the matching settings."""

    row_type = Finding

    def __init__(self, findings: Iterable[Finding], unlisted: Iterable[Unlisted], counts: Mapping[str, int]) -> None:
        self.findings = tuple(sorted(findings, key=lambda finding: (_ORDER.index(finding.status), finding.id)))
        self.unlisted = tuple(sorted(unlisted, key=lambda item: (item.kind, item.name)))
        self.counts = dict(counts)  # {"exchanges": 120, "events": 40}

    @property
    def ok(self) -> bool:
        """Whether something was observed, and nothing contradicts an assumption."""
        shown = {finding.status for finding in self.findings}
        return "confirmed" in shown and not shown & {"refuted", "mixed"}

    @property
    def behavior(self) -> dict[str, Any]:
        """Settings in which the service differs, for `connect(behavior=…)`."""
        rows = (finding for finding in self.findings if finding.status == "refuted" and finding.id in BEHAVIORS)
        return {finding.id: finding.value for finding in rows if BEHAVIORS[finding.id].settable}

    def with_probe(self, probed: Iterable[Probed]) -> "Learned":
        """Return the report with what a probe by reads found: what it contradicts, and what else was not seen."""
        by_id = {finding.id: finding for finding in probed if finding.verdict != "untested"}
        findings = []
        for finding in self.findings:
            other = by_id.get(finding.id)
            if other is not None and (finding.status == "not seen" or other.verdict == "contradicted"):
                status = "refuted" if other.verdict == "contradicted" else "confirmed"
                finding = attrs.evolve(finding, status=status, place=other.seen)
            findings.append(finding)
        return Learned(findings, self.unlisted, self.counts)

    def rows(self) -> list[Finding]:
        """Return the findings, refuted ones first."""
        return list(self.findings)

    def sheet(self) -> Grid:
        """Return a sheet of the findings: observations first, then what is unlisted."""
        observed = [finding for finding in self.findings if finding.status != "not seen"]
        cells: list[tuple[str, ...]] = [
            (finding.status, finding.id, finding.seen, _text(finding.value), _text(finding.expected), finding.place)
            for finding in observed
        ]
        cells += [
            ("unlisted", f"{item.kind} {item.name}", str(item.count), "", "", item.place) for item in self.unlisted
        ]
        rows = tuple(tuple(Cell((visible(text, 60),)) for text in row) for row in cells)
        tally = Counter(finding.status for finding in self.findings)
        title = ", ".join(f"{tally[status]} {status}" for status in _ORDER) + f", {len(self.unlisted)} on no list"
        columns = ("status", "what", "seen", "observed", "assumed", "place")
        return Grid(title=title, columns=columns, rows=rows, total=len(rows))

    def to_toml(self, base: Behavior | None = None) -> str:
        """Return the text of a behavior file: each setting with its evidence as a comment.

        Args:
            base: The behavior passed as `against`, whose settings are included.
        """
        name, kept = read_behavior(base)
        values = {**kept, **self.behavior}
        by_id = {finding.id: finding for finding in self.findings}
        lines = [
            "# How the service behaved, learned from recorded traffic. Review it: few observations are no proof.",
            f"# {', '.join(f'{number:,} {what}' for what, number in self.counts.items())}.",
            "",
            f"behavior = {toml.dumps(name or 'documented')}",
        ]
        for key in sorted(values):
            finding = by_id.get(key)
            if finding is None or finding.status == "not seen":
                evidence = "not seen in this traffic"
            else:
                was = f"; assumed was {_text(finding.expected)}" if finding.status == "refuted" else ""
                evidence = f"{finding.status}, {finding.seen}, {finding.place}{was}"
            lines += ["", f"# {BEHAVIORS[key].says}", f"# {evidence}", f"{key} = {toml.dumps(values[key])}"]
        for title, status in (("Mixed: review and choose.", "mixed"), ("Confirmed:", "confirmed")):
            rows = [finding for finding in self.findings if finding.status == status and finding.id not in values]
            if rows:
                lines += ["", f"# {title}", *(f"#   {row.id}: {row.seen}, {row.place}" for row in rows)]
        without = [row for row in self.findings if row.status == "refuted" and row.id not in values]
        if without:
            lines += [
                "",
                "# Refuted, and without a setting:",
                *(f"#   {row.id}: {row.seen}, {row.place}" for row in without),
            ]
        if self.unlisted:
            lines += ["", "# Neither in the document nor in the sandbox:"]
            lines += [f"#   {item.kind} {item.name}: {item.count} times, first {item.place}" for item in self.unlisted]
        return "\n".join([*(_comment(line) for line in lines), ""])

    def save(self, path: str | os.PathLike[str], base: Behavior | None = None) -> None:
        """Write the behavior file."""
        write_file(Path(path), self.to_toml(base).encode(), private=False)


def _comment(line: str) -> str:
    return "".join(character if character.isprintable() else " " for character in line)


def _text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else orjson.dumps(value, default=list).decode()


_PLAIN = frozenset({str, bool, int})


@attrs.define
class _Tally:
    """Observations of one assumption by value, each with count and first position."""

    values: dict[Any, list[Any]] = attrs.field(factory=dict)

    def add(self, value: object, place: str) -> None:
        key: object
        if type(value) in _PLAIN:
            key = type(value), value
        else:
            key = orjson.dumps([type(value).__name__, value.key, value.value] if isinstance(value, Part) else value)
        row = self.values.get(key)
        if row is not None:
            row[1] += 1
        elif len(self.values) < _MAX_VALUES:
            self.values[key] = [value, 1, place]


class _Learner:
    """One pass over recorded traffic."""

    def __init__(self, base: Mapping[str, Any]) -> None:
        self.base = base
        self.state = State()
        self.tallies: dict[str, _Tally] = {}
        self.unlisted: dict[tuple[str, str], list[Any]] = {}
        self.counts: Counter[str] = Counter(exchanges=0, events=0)
        self._delays: dict[str, list[float]] = {}
        self._latest: observations.Recent[tuple[str, str, float | None]] = observations.Recent()

    def note(self, assumption: str, value: object, place: str) -> None:
        """Count an observation."""
        if value is None:
            return
        tally = self.tallies.get(assumption)
        if tally is None:
            tally = self.tallies[assumption] = _Tally()
        for item in value if isinstance(value, list) else (value,):
            tally.add(item, place)

    def note_unlisted(self, kind: str, name: str, place: str) -> None:
        """Count something unlisted."""
        row = self.unlisted.get((kind, name))
        if row is not None:
            row[0] += 1
        elif sum(key[0] == kind for key in self.unlisted) < _MAX_VALUES:
            self.unlisted[kind, name] = [1, place]

    def exchange(self, x: Exchange) -> None:
        """Learn from an exchange."""
        self.counts["exchanges"] += 1
        state, place = self.state, x.place
        for assumption, observer in _observers("" if x.operation is None else x.operation.name):
            value = observer(state, x)
            if value is not None:
                self.note(assumption, value, place)
        if x.operation is not None and x.operation.name in OPERATIONS:
            self._declared(x)
        for name in _shown_headers(tuple(x.headers)):
            self.note_unlisted("header", name, place)
        observations.remember(state, x)

    def _declared(self, x: Exchange) -> None:
        """Compare an exchange with the declaration of its operation: members, statuses and error bodies."""
        operation, place = x.operation, x.place
        if x.ok:
            if operation.assumed:
                expected = self.base["success_codes"].get(operation.name, operation.success)
                self.note(operation.name, x.status == expected, place)
            self._sent(operation.request, x.members, place)
            for item in x.answer if isinstance(x.answer, list) else [x.answer]:
                if isinstance(item, dict):
                    self._received(operation.answer, item, operation.name, x)
            return
        failures = [failure for failure in operation.failures if failure.status == x.status]
        if not failures and x.status not in ERRORS:
            self.note_unlisted("status", f"{operation.name} {x.status}", place)
        body = x.answer
        if x.status >= 400 and not isinstance(body, dict):
            self.note_unlisted("error", f"{x.status} without a JSON object", place)
        elif isinstance(body, dict) and 400 <= x.status < 500:
            for failure in failures:
                pattern = re.sub(r"\\\{\w+\\\}", ".+", re.escape(failure.message))
                if failure.assumed and re.fullmatch(pattern, str(body.get("message")), re.DOTALL):
                    self.note(failure_id(operation, failure), True, place)
            self._error_body(x.status, body, place)

    def _error_body(self, status: int, body: Mapping[str, Any], place: str) -> None:
        word = observations.shown(body.get("error"))
        changed = {} if word in (None, ERRORS.get(status)) else {"error": word}
        for name in body.keys() - _ERROR_MEMBERS:
            if _NAME.fullmatch(name):
                value = observations.shown(body[name])
                self.note_unlisted("error", f"{status} member {name}", place)
                changed[name] = _example(body[name]) if value is None else value
        for name in _ERROR_MEMBERS - body.keys():
            self.note_unlisted("error", f"{status} without {name}", place)
        usual = self.base["error_bodies"].get(str(status), {})
        parts = [Part((str(status), name), changed.get(name)) for name in {**usual, **changed, "error": None}]
        self.note("error_bodies", parts, place)

    def _sent(self, cls: type[Any], raw: Mapping[str, Any], place: str) -> None:
        """Confirm assumed member names in a request that was carried out; a missing required one refutes the name."""
        for wire, assumption, of, inner in _assumed_members(cls):
            value = raw.get(wire)
            if assumption and (of == "need" or value is not None):
                self.note(assumption, value is not None, place)
            if inner is not None and isinstance(value, dict):
                self._sent(inner, value, place)

    def _received(self, cls: type[Any], raw: Mapping[str, Any], path: str, x: Exchange | Delivery) -> None:
        """Confirm assumed members of an answer or event, and record unlisted members and values."""
        for wire, assumption, _, inner in _assumed_members(cls):
            value = raw.get(wire)
            if value is None:
                continue
            if assumption:
                self.note(assumption, True, x.place)
            if inner is not None:
                for item in value if isinstance(value, list) else [value]:
                    if isinstance(item, dict):
                        self._received(inner, item, f"{path}/{wire}", x)
        for wire, words in _choices(cls):
            value = raw.get(wire)
            if isinstance(value, str) and value not in words:
                if value == LATER:
                    self.note("unknown_values", Part(wire, True), x.place)
                elif value.lower() not in words and (word := observations.shown(value)):
                    self.note_unlisted("value", f"{path}/{wire} {word}", x.place)
        if None in raw.values():
            for member in walk.members(cls):
                if raw.get(member.wire, ...) is None and not member.about.nullable:
                    self.note("null_values", Part(member.wire, True), x.place)
        declared = observations.known(cls) | _ELSEWHERE.get(cls.__name__, frozenset())
        if not declared.issuperset(raw):
            for name in sorted(raw.keys() - declared):
                if _NAME.fullmatch(name) and not _is_value(name, x):
                    self.note_unlisted("member", f"{path}/{name}", x.place)
                    self.note("extra_members", Part((path, name), _example(raw[name])), x.place)
                elif name != LATER:
                    self.note_unlisted("member", f"{path}/…", x.place)

    def delivery(self, x: Delivery) -> None:
        """Learn from the delivery of an event."""
        self.counts["events"] += 1
        state, content = self.state, x.content
        if x.at is not None:
            state.attempts.setdefault(content, []).append(x.at)
            state.last = max(state.last, x.at)
        if content in state.seen_events:
            for assumption, observer in BY_KIND.get("", ()):
                if assumption == "event_ids":
                    self.note(assumption, observer(state, x), x.place)
            return
        resource, action = str(x.event.get("resource")), str(x.event.get("action"))
        kind = EVENT_KINDS.get(f"{resource}.{action}")
        if kind is None:
            is_word = _NAME.fullmatch(resource) and _NAME.fullmatch(action)
            self.note_unlisted("event", f"{resource}.{action}" if is_word else "…", x.place)
        else:
            for name in ("", resource):
                for assumption, observer in BY_KIND.get(name, ()):
                    self.note(assumption, observer(state, x), x.place)
            self._received(kind.body, x.body, kind.name, x)
            self._version(x)
            self._order(x, resource, action)
        observations.remember_event(state, x)

    def _version(self, x: Delivery) -> None:
        spend = x.body.get("spend")
        newer = "statusChangeReason" in x.body or (isinstance(spend, dict) and "completionReason" in spend)
        version = x.event.get("version")
        if isinstance(version, str) and re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,3}){0,3}", version):
            self.note("event_version", Part(version, version == ("1.1.0" if newer else "1.0.0")), x.place)

    def _order(self, x: Delivery, resource: str, action: str) -> None:
        spend, at = x.body.get("spend"), observations.event_time(x)
        label = str(x.body.get("applicationStatus") if resource == "user" else action)
        before = self._latest.get(x.resource_id)
        if before is not None and _NAME.fullmatch(label):
            pair = (before[1], label)
            if isinstance(spend, dict) and pair not in _USUAL_ORDER:
                self.note_unlisted("order", f"{resource} {pair[0]} → {pair[1]}", x.place)
            if at is not None and before[2] is not None and at > before[2]:
                times = self._delays.setdefault(f"{resource} {pair[0]} → {pair[1]}", [])
                if len(times) < 1000 and len(self._delays) < _MAX_VALUES:
                    times.append(at - before[2])
        self._latest[x.resource_id] = (resource, label, at)

    def finish(self) -> Learned:
        """Return the result, including findings that need the complete traffic."""
        state = self.state
        for spend in state.spends.values():
            if place := spend.get("reversed"):
                self.note("full_reversal_completed", bool(spend.get("completed")), str(place))
        for card, (amount, place) in state.largest.items():
            if card in state.limits and amount > state.limits[card]:
                self.note("over_limit", "authorized", place)
        if self.counts["events"]:
            for place in state.owners.values():
                self.note("owner_events", False, place)
        for name, times in self._delays.items():
            times.sort()
            middle = times[len(times) // 2]
            self.unlisted["delay", f"{name}: {times[0]:.0f} to {times[-1]:.0f} s, median {middle:.0f}"] = [
                len(times),
                "",
            ]
        self._retries()
        scope, active = (self.tallies.get(name) for name in ("withdrawal_scope", "withdrawal_other_while_active"))
        if scope is not None and not (active and any(str(row[0]).isdigit() for row in active.values.values())):
            scope.values = {key: row for key, row in scope.values.items() if row[0] != "contract"}
        findings = {row.id: self._finding(row.id) for row in assumptions()}
        unlisted = (
            Unlisted(kind=kind, name=name, count=count, place=place)
            for (kind, name), (count, place) in self.unlisted.items()
        )
        return Learned(findings.values(), unlisted, self.counts)

    def _retries(self) -> None:
        """Learn the intervals between delivery attempts."""
        waits: dict[int, list[float]] = {}
        for times in self.state.attempts.values():
            for number, (earlier, later) in enumerate(pairwise(times), 1):
                waits.setdefault(number, []).append(later - earlier)
        if len(waits) < 2 or max(waits[1]) <= 0:
            return
        tries, first, factor, longest = self.base["event_retries"]
        spread, slack = self.base["event_retry_spread"], 0.3
        expected = {number: min(first * factor ** (number - 1), longest) for number in waits}
        place = f"{sum(map(len, waits.values()))} retries"
        if (
            all(
                expected[number] * (1 - spread) - slack <= wait <= expected[number] + slack
                for number, each in waits.items()
                for wait in each
            )
            and len(waits) + 1 <= tries
        ):
            self.note("event_retries", [(tries, first, factor, longest)][0], place)
            self.note("event_retry_spread", spread, place)
            return
        top = {number: max(each) for number, each in waits.items()}
        learned_first, learned_factor = _round(top[1]), _round(top[2] / top[1])
        last = top[max(top)]
        is_capped = len(top) > 2 and last < 0.75 * learned_first * learned_factor ** (max(top) - 1)
        counts = Counter(len(times) for times in self.state.attempts.values())
        most = max(counts)
        ended = counts[most] > 1 and self.state.last > last
        self.note(
            "event_retries",
            (most if ended else tries, learned_first, learned_factor, _round(last) if is_capped else longest),
            place,
        )
        if len(waits[1]) > 4:
            self.note("event_retry_spread", round(1 - min(waits[1]) / max(waits[1]), 1), place)

    def _finding(self, key: str) -> Finding:
        tally = self.tallies.get(key)
        rows = [] if tally is None else list(tally.values.values())
        is_settable = key in BEHAVIORS and BEHAVIORS[key].settable
        expected = self.base[key] if is_settable else True
        if not rows:
            return Finding(id=key, status="not seen", seen="", value=None, expected=expected, place="")
        total = sum(row[1] for row in rows)
        if isinstance(rows[0][0], Part):
            return self._parts(key, rows, expected)
        values = [(None if value == NONE else value, count, place) for value, count, place in rows]
        value, count, place = max(values, key=lambda row: row[1])
        differing = [row for row in values if not _same(row[0], expected)]
        if len(values) > 1:
            status = "mixed"
        elif differing:
            status = "refuted" if total >= _AT_LEAST.get(key, 1) else "mixed"
        else:
            status = "confirmed"
        place = differing[0][2] if differing else place
        return Finding(
            id=key,
            status=status,
            seen=f"{count} of {total}",
            value=value if is_settable else None,
            expected=expected if is_settable else None,
            place=place,
        )

    def _parts(self, key: str, rows: list[list[Any]], expected: Json) -> Finding:
        """Return the finding of a setting that is a mapping or a list, part by part."""
        if key == "event_version":
            return self._versions(rows)
        by_key: dict[Any, list[list[Any]]] = {}
        for row in rows:
            by_key.setdefault(row[0].key, []).append(row)
        changes, first_place, mixed = {}, "", False
        for part, observed in by_key.items():
            differing = [row for row in observed if not _same(row[0].value, _part_of(key, expected, part))]
            if differing and len(observed) > 1 and key not in ("extra_members", "error_bodies"):
                mixed, first_place = True, first_place or differing[0][2]
            elif differing:
                changes[part] = differing[0][0].value
                first_place = first_place or differing[0][2]
        total = sum(row[1] for row in rows)
        fitting = sum(row[1] for row in rows if row[0].key in changes) if changes else total
        status = "refuted" if changes else "mixed" if mixed else "confirmed"
        value = _assembled(key, expected, changes)
        place = first_place or rows[0][2]
        return Finding(id=key, status=status, seen=f"{fitting} of {total}", value=value, expected=expected, place=place)

    def _versions(self, rows: list[list[Any]]) -> Finding:
        expected, total = self.base["event_version"], sum(row[1] for row in rows)
        versions = {row[0].key for row in rows}
        usual = all(row[0].value for row in rows)
        value = None if usual else versions.pop() if len(versions) == 1 else ...
        if value is ...:
            fitting = sum(row[1] for row in rows if row[0].value)
            seen, place = f"{fitting} of {total}", rows[0][2]
            return Finding(id="event_version", status="mixed", seen=seen, value=None, expected=expected, place=place)
        if usual and expected is not None and versions == {expected}:
            value = expected
        status = "confirmed" if value == expected else "refuted"
        seen = f"{total} of {total}"
        return Finding(id="event_version", status=status, seen=seen, value=value, expected=expected, place=rows[0][2])


def _round(number: float) -> float | int:
    rounded = round(number, 1)
    return int(rounded) if rounded == int(rounded) else rounded


def _same(value: object, expected: object) -> bool:
    def plain(x: object) -> object:
        return [*map(plain, x)] if isinstance(x, list | tuple) else x

    return bool(plain(value) == plain(expected)) and isinstance(value, bool) == isinstance(expected, bool)


def _part_of(key: str, setting: Json, part: Json) -> Json:
    """Return the part of a setting that is a mapping or a list."""
    if key == "success_codes":
        return setting.get(part, OPERATIONS[part].success)
    if isinstance(setting, list | tuple):
        return part in setting
    if isinstance(part, tuple | list):
        return setting.get(part[0], {}).get(part[1])
    return setting.get(part)


def _assembled(key: str, setting: Json, changes: Mapping[Any, Json]) -> Json:
    """Return a setting with changed parts."""
    if isinstance(setting, list | tuple):
        kept = [part for part in setting if changes.get(part, True)]
        return (*kept, *(part for part, value in changes.items() if value and part not in setting))
    merged: dict[str, Any] = {
        name: dict(value) if isinstance(value, Mapping) else value for name, value in setting.items()
    }
    for part, value in changes.items():
        target, name = (merged, part) if not isinstance(part, tuple) else (merged.setdefault(part[0], {}), part[1])
        target[name] = value
        if value is None and key != "extra_members":
            del target[name]
    return {name: value for name, value in merged.items() if value != {}}


def _example(value: object) -> Any:
    """Return a fictitious value of the same JSON type."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return 0
    if isinstance(value, list | dict):
        return type(value)()
    return "text"


def _is_value(name: str, x: Exchange | Delivery) -> bool:
    """Return whether a member name also occurs as a value of the exchange, and so may be private."""
    raw = orjson.dumps(x.event) if isinstance(x, Delivery) else x.sent + x.received
    return name == LATER or re.search(rb'"' + re.escape(name.encode()) + rb'"(?!\s*:)', raw, re.IGNORECASE) is not None


@lru_cache(maxsize=1_000)
def _shown_headers(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of headers that are neither usual nor possibly private."""
    return tuple(name for name in names if _HEADER.fullmatch(name) and not _USUAL_HEADERS.fullmatch(name))


@cache
def _observers(operation: str) -> tuple[tuple[str, Observer], ...]:
    """Return the observers of exchanges of an operation; of an unknown one for ""."""
    names = ("", "*", operation) if operation else ("",)
    return tuple(row for name in names for row in BY_OPERATION.get(name, ()))


_ELSEWHERE = {"User": frozenset({"isTermsOfServiceAccepted"})}
"""Members covered by a separate assumption."""
_ASSUMED: dict[type[Any], tuple[tuple[str, str, str, type[Any] | None], ...]] = {}
_CHOICES: dict[type[Any], tuple[tuple[str, frozenset[str]], ...]] = {}


def _assumed_members(cls: type[Any]) -> tuple[tuple[str, str, str, type[Any] | None], ...]:
    """Return members that are assumed or contain records: wire name, assumption, aspect, and record."""
    if cls not in _ASSUMED:
        _ASSUMED[cls] = tuple(
            (
                member.wire,
                f"{walk.snake(cls.__name__)}.{member.name}" if reason else "",
                reason.of if reason else "",
                inner,
            )
            for member in walk.members(cls)
            for reason, inner in [(member.about.assumed, walk.record_of(member.kind))]
            if reason or inner is not None
        )
    return _ASSUMED[cls]


def _choices(cls: type[Any]) -> tuple[tuple[str, frozenset[str]], ...]:
    if cls not in _CHOICES:
        _CHOICES[cls] = tuple(
            (
                member.wire,
                frozenset(str(word) for word in member.kind.of) | {str(word).lower() for word in member.kind.of},
            )
            for member in walk.members(cls)
            if isinstance(member.kind, walk.Choice)
        )
    return _CHOICES[cls]


def learn(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    against: Behavior | None = None,
    names: Mapping[str, str] | None = None,
) -> Learned:
    """Read recorded traffic, and report which assumptions it confirms or refutes, and what is unlisted.

    Nothing is sent. The result contains no values of requests and answers: only statuses, codes, counts, member names.

    Args:
        paths: HAR files, recordings, logs with one JSON object per line (exchanges, events, or deliveries with their
            headers), inboxes and journals. Files with only events are read last.
        against: The assumed behavior: "documented" (default), "observed", or a behavior file.
        names: Names of the members of a log, such as {"status": "http.response.status_code"}, for `method`, `url`,
            `status`, `time`, `request_headers`, `request_body`, `response_headers`, `response_body`, and for deliveries
            `headers`, `body`, `time`.

    Raises:
        UnusableFile: A file cannot be read, is damaged, or contains no such traffic.
        UsageError: No file is given, or a name is unknown.
    """
    files = [Path(path) for path in _given(paths)]
    unknown = [name for name in names or {} if name not in DEFAULT_NAMES]
    if not files or unknown:
        text = f"is not one of {', '.join(DEFAULT_NAMES)}" if unknown else "is required: at least one file"
        raise UsageError(
            [Problem(visible(f"names.{unknown[0]}", 60) if unknown else "paths", "unknown", text)], of="learn"
        )
    name, changed = read_behavior(against)
    learner = _Learner({**settings(name or "documented"), **changed})
    events = [path for path in files if not _learn_from(learner, traffic(path, names or {}), only_exchanges=True)]
    for path in events:
        _learn_from(learner, traffic(path, names or {}))
    return learner.finish()


def _given(paths: object) -> list[str | os.PathLike[str]]:
    """Return the given paths, one or several, as a list.

    Raises:
        UsageError: The argument is not a path or paths.
    """
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    if isinstance(several, Iterable) and not isinstance(several, bytes | bytearray):
        given = list(several)
        if all(isinstance(path, str | os.PathLike) for path in given):
            return given
    raise UsageError([Problem("paths", "type", "must be a path or a list of paths")], of="learn")


def _learn_from(learner: _Learner, items: Iterator[Exchange | Delivery], only_exchanges: bool = False) -> bool:
    """Learn from a file; return False if it begins with an event but only exchanges are wanted."""
    for number, item in enumerate(items):
        if isinstance(item, Exchange):
            learner.exchange(item)
        elif only_exchanges and not number:
            return False
        else:
            learner.delivery(item)
    return True
