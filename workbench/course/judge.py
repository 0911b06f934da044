"""Judge tasks: compare the evidence with the criteria, and return the unmet criteria as sentences."""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from workbench.base.errors import visible
from workbench.course.evidence import LISTED, Evidence, Record, flat
from workbench.course.task_files import Expectation, Task
from workbench.service.rendering import money

_MONEY = frozenset({"authorized", "settled", "refunded", "held", "amount", "new_amount", "cleared"})
_NO_ARGUMENTS = frozenset({"answer", "carried_out"})
"""Members of a flat request that are not arguments."""
_MANY = 10**6


def judge(task: Task, seen: Evidence) -> tuple[str, ...]:
    """Return the unmet criteria of a task as sentences. The list is empty if the task is done."""
    return tuple(visible(sentence, 400) for sentence in _Judgment(seen).sentences(task))


class _Judgment:
    """Comparison of criteria with the evidence. Later criteria can refer to records that earlier criteria found."""

    def __init__(self, seen: Evidence) -> None:
        self._seen = seen
        self._names = seen.names
        self._claimed: set[str] = set()

    def sentences(self, task: Task) -> Iterator[str]:
        """Yield how the evidence differs from the criteria, and the changes that no criterion expects."""
        for expected in task.expect:
            try:
                yield from self._answer(expected) if expected.verb == "answer" else self._found(expected)
            except LookupError:  # the criterion refers to a record that an earlier criterion did not find
                yield f"not there yet: {expected.that}."
        for id_, record in self._seen.changed.items():
            if id_ not in self._claimed and record["kind"] not in task.also:
                names = [name for name in ("kind", "id", "merchant_name", "status") if name in record]
                shown = ", ".join(visible(str(record[name]), 40) for name in names)
                yield f"something else changed: {shown}; change only what the task asks for."

    def _answer(self, expected: Expectation) -> Iterator[str]:
        given = self._seen.state["answers"].get(expected.subject, "")
        if not given:
            yield f"not answered yet: {expected.subject}, {expected.that}."
        elif not same(given, filled(self._names, expected.value)):
            advice = expected.comment(given)
            shown = money(int(given)) if expected.unit else visible(given, 60)
            yield f"{expected.subject} is not {shown}{f'; {advice}' if advice else ''}."

    def _found(self, expected: Expectation) -> Iterator[str]:
        """Compare the records, requests or events of a criterion with its expectation."""
        where, members = filled(self._names, expected.where), filled(self._names, expected.members)
        pool = self._pool(expected)
        chosen = [record for record in pool if not self._differing(record, where)]
        right = [record for record in chosen if not (self._differing(record, members) or _further(record, expected))]
        needed, most = _bounds(expected, len(chosen))
        count = len({record.get(expected.distinct) for record in right}) if expected.distinct else len(right)
        about = (chosen if count < needed else right) if members else ()
        self._claimed |= {str(record["id"]) for record in about if record.get("kind") == expected.subject}
        if expected.count == 0:  # deleted records have lost their kind, so the line above skips them
            self._claimed |= {id_ for id_ in self._seen.changed if same(id_, where.get("id"))}
        if right and expected.name:
            self._names[expected.name] = right[-1]
        if count < needed:
            near = self._near(expected, chosen or pool, {**where, **members})
            yield f"not there yet: {expected.that}{near}."
        elif len(right) > most:
            yield f"too many: found {len(right)}, at most {most} expected: {expected.that}."
        elif expected.verb == "called" and not expected.others and len(chosen) > len(right):
            yield f"calls of {expected.subject} that the task does not ask for: {len(chosen) - len(right)}."

    def _pool(self, expected: Expectation) -> list[Record]:
        """Return the flat records, requests or events to which a criterion can apply."""
        seen, subject = self._seen, expected.subject
        if expected.verb == "event":
            return seen.events(subject, expected.everything)
        if expected.verb != "equals":
            return seen.called(subject, expected.status, expected.fault)
        if subject in LISTED:
            records = [*LISTED[subject](seen.sandbox)]
        else:
            stored = seen.records if expected.everything or "id" in expected.where else seen.changed
            records = [record for record in stored.values() if record["kind"] == subject]
        return [dict(flat(record)) for record in records]

    def _differing(self, record: Record, members: Record) -> list[str]:
        """Return the paths of the members in which a record differs from the expected members."""
        return [path for path, value in members.items() if not self._fits(record, path, value)]

    def _fits(self, record: Record, path: str, expected: object) -> bool:
        conditions = expected if isinstance(expected, Mapping) else {"equals": expected}
        return all(self._holds(record, path, condition, other) for condition, other in conditions.items())

    def _holds(self, record: Record, path: str, condition: str, other: Any) -> bool:
        value = record.get(path)
        match condition:
            case "equals":
                return same(value, other)
            case "not":
                return not same(value, other)
            case "matches":
                return re.search(other, str(value or "")) is not None
            case "same_as":
                return same(value, record.get(other))
            case "change":
                before = self._seen.state["contracts"].get(record["id"], {}).get(path, 0)
                return same(value, Decimal(before) + Decimal(str(other)))
            case _:  # "of" maps record ids to values
                return same(value, dict(other).get(record["id"]))

    def _near(self, expected: Expectation, records: Sequence[Record], asked: Record) -> str:
        """Return how the nearest record or request differs, without the right values; empty if there are none."""
        if not records:
            return ""
        nearest = min(reversed(records), key=lambda record: len(self._differing(record, asked)))
        wrong = self._differing(nearest, asked)
        shown = [f"{path} is {_shown(path, nearest.get(path))}" for path in wrong[:3]]
        if further := _further(nearest, expected):
            shown.append(f"further arguments: {', '.join(sorted(further))}")
        advice = next((expected.near[path] for path in wrong if path in expected.near), "")
        return f"; in the closest match, {', '.join(shown)}" * bool(shown) + f". {advice.rstrip('.')}" * bool(advice)


def _bounds(expected: Expectation, chosen: int) -> tuple[int, int]:
    """Return the minimum and the maximum number of matches."""
    usual = {"not_called": 0, "event": "1+"}.get(expected.verb, "1+" if expected.others else 1)
    count = str(usual if expected.count is None else expected.count)
    least = chosen if count == "all" else int(count.removesuffix("+"))
    return least, _MANY if count.endswith("+") else least


def _further(record: Record, expected: Expectation) -> set[str]:
    """Return the arguments of a request that a criterion does not name; empty if `others` allows any arguments."""
    if expected.others or expected.verb != "called":
        return set()
    named = {path.partition(".")[0] for path in (*expected.where, *expected.members)}
    return {path.partition(".")[0] for path in record} - named - _NO_ARGUMENTS


def same(value: object, expected: object) -> bool:
    """Return whether a value equals an expected value.

    Numbers are compared as numbers, and text is case-insensitive. If a list is expected, a value must be in the list;
    text with commas must contain all of the list.
    """
    if isinstance(expected, list | tuple):
        if isinstance(value, str) and "," in value:
            return sorted(map(_plain, value.split(","))) == sorted(map(_plain, expected))
        return any(same(value, each) for each in expected)
    try:
        return Decimal(str(value)) == Decimal(str(expected))
    except InvalidOperation:  # at least one value is not a number
        return _plain(value) == _plain(expected)


def _plain(value: object) -> str:
    """Normalize a value for comparison as text: lower case, single spaces."""
    return " ".join(str(value).split()).casefold()


def look_up(names: Record, path: str) -> Any:
    """Return the value at a path such as `cards.active.1` or `companies.0.owners.status=denied.id`.

    Raises:
        LookupError: The path has no value.
    """
    value: object = names
    parts = path.split(".")
    while parts:
        rest = ".".join(parts)
        if isinstance(value, Mapping) and rest in value:
            return value[rest]
        value = _part(value, parts.pop(0))
    return value


def _part(value: Any, part: str) -> Any:
    if isinstance(value, Mapping):
        return value[part]
    member, equals, wanted = part.partition("=")
    if equals:
        return next((each for each in value if str(each[member]) == wanted), {})
    return value[int(part)]


def filled(names: Record, value: object) -> Any:
    """Resolve references in a value, which are texts that begin with `$`; see `look_up`."""
    if isinstance(value, Mapping):
        return {name: filled(names, inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(names, inner) for inner in value]
    return filled(names, look_up(names, value[1:])) if isinstance(value, str) and value.startswith("$") else value


def _shown(path: str, value: object) -> str:
    if isinstance(value, int) and path in _MONEY:
        return money(value)
    if value in (None, ""):
        return "missing"
    text = str(value)
    return "a different value" if text.count("-") == 4 or text.startswith("0x") else visible(text, 60)
