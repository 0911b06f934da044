"""Judge of tasks. It returns the unmet criteria for people in a notebook, the panel or a prompt, and for programs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from workbench.base.errors import visible
from workbench.course.answers import comment
from workbench.course.evidence import CALLED, LISTED, Evidence, Facts, Record, as_number, flat
from workbench.course.task_files import Expectation, Task
from workbench.service.rendering import money

_MONEY = frozenset({"authorized", "settled", "refunded", "held", "amount", "new_amount", "cleared"})
_MAX_SENTENCES = 8
_SHOWN = 3  # maximum number of unexpected changes to show
_MANY = 10**6


def judge(task: Task, seen: Evidence) -> tuple[str, ...]:
    """Return the unmet criteria of a task as sentences. The list is empty if the task is done."""
    return tuple(visible(sentence, 400) for sentence in _Judgment(task, seen).missing()[:_MAX_SENTENCES])


class _Judgment:
    def __init__(self, task: Task, seen: Evidence) -> None:
        self._task = task
        self._seen = seen
        self._answers: Mapping[str, str] = seen.state.get("answers", {})
        self._names: Facts = {**seen.guide, **seen.state.get("facts", {}), "answers": self._answers}
        self._claimed: set[str] = set()

    def missing(self) -> list[str]:
        sentences: list[str] = []
        for expected in self._task.expect:
            try:
                sentences += self._judged(expected)
            except LookupError:  # the criterion refers to a record that an earlier criterion did not find
                sentences += [] if sentences else [f"not there yet: {expected.that}."]
        return sentences + list(self._nothing_else())

    def _judged(self, expected: Expectation) -> Iterator[str]:
        return self._answer(expected) if expected.verb == "answer" else self._found(expected)

    def _found(self, expected: Expectation) -> Iterator[str]:
        """Compare the records, requests or events of a criterion with its expectation."""
        where, members = self._resolved(expected.where), self._resolved(expected.members)
        pool = self._pool(expected)
        chosen = [record for record in pool if self._fits(record, where)]
        right = [record for record in chosen if self._fits(record, members) and not _further(record, expected)]
        needed, most = self._bounds(expected, len(chosen))
        differing = {record.get(expected.distinct) for record in right} if expected.distinct else right
        is_missing = len(differing) < needed
        about = (chosen if is_missing else right) if where or members else ()
        self._claimed |= {str(record["id"]) for record in about if record.get("kind") == expected.subject}
        if right and expected.name:
            self._names[expected.name] = right[-1]
        if is_missing:
            asked = {**where, **members}
            yield f"not there yet: {expected.that}{self._near(expected, chosen or pool, asked)}."
        elif len(right) > most:
            yield f"too many: found {len(right)}, at most {most} expected: {expected.that}."
        elif expected.verb == "called" and most < _MANY and len(chosen) > len(right):
            yield f"{len(chosen) - len(right)} further calls of {expected.subject} are not what is asked for."

    def _pool(self, expected: Expectation) -> list[Record]:
        """Return the flat records, requests or events to which a criterion can apply."""
        seen, subject = self._seen, expected.subject
        if expected.verb == "event":
            return seen.events(subject, expected.everything)
        if expected.verb != "equals":
            return seen.called(subject, None if expected.fault else expected.status)
        ids = self._ids(expected)
        if ids and expected.count == 0:  # deleted records no longer have a kind
            self._claimed |= ids
        stored = seen.records if ids is not None or expected.everything else seen.changed
        of_kind = (
            LISTED[subject](seen.sandbox)
            if subject in LISTED
            else [record for record in stored.values() if record["kind"] == subject]
        )
        return [dict(flat(record)) for record in of_kind if ids is None or record["id"] in ids]

    def _ids(self, expected: Expectation) -> set[str] | None:
        value = filled(self._names, expected.id)
        return None if value is None else {str(id_).lower() for id_ in (value if isinstance(value, list) else [value])}

    def _bounds(self, expected: Expectation, chosen: int) -> tuple[int, int]:
        """Return the number of matches that are needed, and the number that is allowed."""
        usual: object = "1+" if expected.others or expected.verb == "event" else 1
        if expected.verb == "equals":
            usual = len(self._ids(expected) or (1,))
        count = usual if expected.count is None else expected.count
        if expected.verb == "not_called":
            count = 0
        if count == "all":
            return chosen, chosen
        text = str(count)
        return (int(text[:-1]), _MANY) if text.endswith("+") else (int(text), int(text))

    def _nothing_else(self) -> Iterator[str]:
        """Yield the records that changed although no criterion applies to them."""
        changed = [record for id_, record in self._seen.changed.items() if id_ not in self._claimed]
        other = [record for record in changed if record["kind"] not in self._task.also]
        for record in other[:_SHOWN]:
            yield f"something else changed, {_described(record)}; only what is asked for may change."
        if len(other) > _SHOWN:
            yield f"{len(other) - _SHOWN} further records changed."

    def _answer(self, expected: Expectation) -> Iterator[str]:
        given = self._answers.get(expected.subject, "")
        if not given:
            yield f"not answered yet: {expected.subject}, {expected.that}."
        elif not self._fits({"answer": given}, {"answer": filled(self._names, expected.value)}):
            advice = comment(expected, given)
            shown = money(int(given)) if expected.unit else visible(given, 60)
            yield f"{expected.subject} is not {shown}{f'; {advice}' if advice else ''}."

    def _resolved(self, members: Mapping[str, Any]) -> dict[str, Any]:
        return dict(_expected(filled(self._names, members)))

    def _fits(self, record: Record, members: Mapping[str, Any]) -> bool:
        return not any(self._differs(record, path, value) for path, value in members.items())

    def _differs(self, record: Record, path: str, expected: object) -> bool:
        if not isinstance(expected, Mapping):
            return not same(record.get(path), expected)
        return not all(self._holds(record, path, name, other) for name, other in expected.items())

    def _holds(self, record: Record, path: str, condition: str, other: Any) -> bool:
        value = record.get(path)
        match condition:
            case "not":
                return not same(value, other)
            case "matches":
                return re.search(other, str(value or "")) is not None
            case "same_as":
                return same(value, record.get(other))
            case "change":
                return self._changed_by(record, path) == as_number(other)
            case _:  # "of" maps record ids to values
                return same(value, dict(other).get(record.get("id")))

    def _changed_by(self, record: Record, path: str) -> Decimal | None:
        before = as_number(self._seen.state["numbers"].get(record.get("id"), {}).get(path))
        now = as_number(record.get(path))
        return None if before is None or now is None else now - before

    def _near(self, expected: Expectation, records: Sequence[Record], asked: Mapping[str, Any]) -> str:
        """Return how the nearest record or request differs, without the right values."""
        if not records:
            return ""
        differing = [
            [path for path, value in asked.items() if self._differs(record, path, value)] for record in records
        ]
        least = min(len(paths) for paths in differing)
        number = max(number for number, paths in enumerate(differing) if len(paths) == least)
        nearest, wrong = records[number], differing[number]
        shown = [f"{path} is {_shown(path, nearest.get(path))}" for path in wrong[:3]]
        shown += [f"it also has {', '.join(further)}" for further in [_further(nearest, expected)] if further]
        advice = next((expected.near[path] for path in wrong if path in expected.near), "")
        return f"; in the nearest one {', '.join(shown)}" * bool(shown) + f". {advice.rstrip('.')}" * bool(advice)


def same(value: object, expected: object) -> bool:
    """Return whether a value equals an expected value.

    Numbers are compared as numbers, and text is case-insensitive. An expected list contains the allowed values.
    """
    if isinstance(expected, list | tuple):
        if isinstance(value, str) and "," in value:
            return sorted(map(_plain, value.split(","))) == sorted(map(_plain, expected))
        return any(same(value, each) for each in expected)
    number, other = as_number(value), as_number(expected)
    if number is not None and other is not None:
        return number == other
    return _plain(value) == _plain(expected)


def _plain(value: object) -> str:
    """Return text in the form in which it is compared: lower case, single spaces."""
    return " ".join(str(value).split()).casefold()


def look_up(names: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path such as `cards.active.1`, `companies.0.owners.status=denied.id` or `approved.6:18`.

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
        if value is None:
            raise LookupError(path)
    return value


def _part(value: Any, part: str) -> Any:
    if isinstance(value, Mapping):
        return value[part]
    member, equals, wanted = part.partition("=")
    if equals:
        return next((each for each in value if str(each[member]) == wanted), None)
    begin, colon, end = part.partition(":")
    return value[int(begin) : int(end)] if colon else value[int(part)]


def filled(names: Mapping[str, Any], value: object) -> Any:
    """Resolve references in a value, which are texts that begin with `$`; see `look_up`."""
    if isinstance(value, Mapping):
        return {name: filled(names, inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(names, inner) for inner in value]
    return filled(names, look_up(names, value[1:])) if isinstance(value, str) and value.startswith("$") else value


def _expected(members: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield expected members by dotted path. Conditions stay mappings."""
    for name, value in members.items():
        below = f"{path}{name}"
        if isinstance(value, Mapping) and not value.keys() <= {"not", "matches", "same_as", "change", "of"}:
            yield from _expected(value, f"{below}.")
        else:
            yield below, value


def _further(record: Record, expected: Expectation) -> list[str]:
    """Return the arguments of a request that a criterion does not name. `others` allows any arguments."""
    if expected.others or expected.verb == "not_called" or CALLED not in record:
        return []
    named = {path.partition(".")[0] for path in (*expected.where, *expected.members, *expected.may)}
    return sorted({*record[CALLED]} - named)


def _shown(path: str, value: object) -> str:
    if isinstance(value, int) and path in _MONEY:
        return money(value)
    if value is None or value == "":
        return "missing"
    text = str(value)
    return "another one" if text.count("-") == 4 or text.startswith("0x") else visible(text, 60)


def _described(record: Record) -> str:
    parts = [f"{str(record['kind']).replace('_', ' ')} {str(record['id'])[:8]}"]
    if "merchant_name" in record:
        parts += [visible(str(record["merchant_name"]), 40), money(record["authorized"])]
    if "status" in record:
        parts.append(f"now {visible(str(record['status']), 30)}")
    return ", ".join(parts)
