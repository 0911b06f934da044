"""Judge of tasks: what is missing, for a person in a notebook, in the panel or at the prompt, and for a program."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from workbench.base.errors import visible
from workbench.course.evidence import Call, Evidence, Facts, Record, as_number, flat
from workbench.course.functions import FUNCTIONS
from workbench.course.task_files import Expectation, Task
from workbench.service.rendering import money

_MONEY = frozenset({"authorized", "settled", "refunded", "held", "amount", "new_amount", "cleared"})
_MAX_SENTENCES = 8
_SHOWN = 3  # records that changed although nothing was to change there


def judge(task: Task, seen: Evidence) -> tuple[str, ...]:
    """Return what is missing in a task as sentences; nothing if it is done."""
    return tuple(visible(sentence, 400) for sentence in _Judgment(task, seen).missing()[:_MAX_SENTENCES])


class _Judgment:
    def __init__(self, task: Task, seen: Evidence) -> None:
        self._task = task
        self._seen = seen
        self._names: Facts = {**seen.guide, **seen.state.get("facts", {}), "answers": seen.state.get("answers", {})}
        self._claimed: set[str] = set()
        self._verbs: dict[str, Callable[[Expectation], Iterator[str]]] = {
            "equals": self._equals,
            "called": self._called,
            "not_called": self._called,
            "event": self._event,
            "answer": self._answer,
            "function": self._function,
        }

    def missing(self) -> list[str]:
        sentences: list[str] = []
        for expected in self._task.expect:
            try:
                sentences += self._verbs[expected.verb](expected)
            except LookupError:  # it is about what an earlier criterion did not find
                sentences += [] if sentences else [f"not there yet: {expected.that}."]
        return sentences + list(self._nothing_else())

    # records

    def _equals(self, expected: Expectation) -> Iterator[str]:
        seen, ids = self._seen, self._ids(expected)
        where, members = self._resolved(expected.where), self._resolved(expected.members)
        pool = seen.records if ids is not None or expected.everything else seen.changed
        of_kind = [
            dict(flat(record))
            for record in pool.values()
            if record["kind"] == expected.subject and (ids is None or record["id"] in ids)
        ]
        chosen = [record for record in of_kind if self._fits(record, where)]
        right = [record for record in chosen if self._fits(record, members)]
        wrong = [record for record in chosen if record not in right]
        count = expected.count if expected.count is not None else len(ids or (1,))
        if ids and count == 0:  # deleted records have no kind any more
            self._claimed |= ids
        if count == "all":
            needed, most = len(chosen), len(chosen)
        else:
            needed, most = _bounds(count)
        found = len({record.get(expected.distinct) for record in right}) if expected.distinct else len(right)
        self._claimed |= {record["id"] for record in right}
        if found < needed:
            self._claimed |= {record["id"] for record in wrong}
            near = _nearest(wrong or of_kind, {**where, **members}, self._fits)
            yield f"not there yet: {expected.that}{self._near(expected, near, {**where, **members})}."
        elif len(right) > most:
            yield f"too many: {len(right)} times {expected.that}."
        if right and expected.name:
            self._names[expected.name] = right[-1]

    def _ids(self, expected: Expectation) -> set[str] | None:
        if expected.id is None:
            return None
        value = self._value(expected.id)
        return {str(each).lower() for each in (value if isinstance(value, list | tuple) else [value])}

    def _nothing_else(self) -> Iterator[str]:
        """Yield the records that changed although no criterion is about them."""
        other = [
            record
            for id_, record in self._seen.changed.items()
            if id_ not in self._claimed and record["kind"] not in self._task.also
        ]
        for record in other[:_SHOWN]:
            yield f"something else changed, {_described(record)}; only what is asked for may change."
        if len(other) > _SHOWN:
            yield f"{len(other) - _SHOWN} further records changed."

    # requests

    def _called(self, expected: Expectation) -> Iterator[str]:
        where, members = self._resolved(expected.where), self._resolved(expected.members)
        calls = [call for call in self._calls(expected) if self._fits(call.arguments, where)]
        asked = {**where, **members}
        right = [call for call in calls if self._fits(call.arguments, members) and not _further(call, expected)]
        usual = 0 if expected.verb == "not_called" else "1+" if expected.others else 1
        needed, most = _bounds(usual if expected.count is None else expected.count)
        if right and expected.name:
            self._names[expected.name] = right[-1].named()
        if len(right) < needed:
            near = _nearest([call.arguments for call in calls], asked, self._fits)
            further = sorted({name for call in calls for name in _further(call, expected)}) if near else []
            sent = f"; it also sent {', '.join(further)}" if further else ""
            yield f"not there yet: {expected.that}{self._near(expected, near, asked)}{sent}."
        elif len(right) > most:
            yield f"{expected.subject} was called {len(right)} times: {expected.that}."
        elif most and not expected.others and len(calls) > len(right):
            yield f"{len(calls) - len(right)} further calls of {expected.subject} are not what is asked for."

    def _calls(self, expected: Expectation) -> list[Call]:
        return [
            call
            for call in self._seen.calls
            if call.operation == expected.subject
            and (bool(call.fault) if expected.fault else call.status == expected.status and call.fault in ("", "lost"))
        ]

    # events, answers, functions

    def _event(self, expected: Expectation) -> Iterator[str]:
        members = self._resolved(expected.members)
        events = self._seen.events(expected.subject, expected.everything)
        right = [event for event in events if self._fits(event, members)]
        fetched = [event for event in right if event["fetched"] or not expected.fetched]
        if fetched and expected.name:
            self._names[expected.name] = fetched[-1]
        if not right:
            near = _nearest(events, members, self._fits)
            yield f"not there yet: {expected.that}{self._near(expected, near, members)}."
        elif not fetched:
            yield f"{expected.that} happened, but nothing has waited for its event: `api.inbox.wait(…)` does."

    def _answer(self, expected: Expectation) -> Iterator[str]:
        given = self._names["answers"].get(expected.subject)
        if given is None or str(given).strip() == "":
            yield f"not answered yet: {expected.subject}, {expected.that}."
        elif not self._fits_one({"answer": given}, "answer", self._value(expected.value)):
            advice = expected.near.get("", "")
            yield f"{expected.subject} is not {visible(str(given), 60)}{f'; {advice}' if advice else ''}."

    def _function(self, expected: Expectation) -> Iterator[str]:
        yield from FUNCTIONS[expected.subject](self._seen, self._names)

    # values

    def _resolved(self, members: Mapping[str, Any]) -> dict[str, Any]:
        return {path: self._value(value) for path, value in _expected(members)}

    def _value(self, value: Any) -> Any:
        """Return a value; text that begins with `$` is a path in the guide, the facts and what was found before."""
        if isinstance(value, list):
            return [self._value(each) for each in value]
        if not (isinstance(value, str) and value.startswith("$")):
            return value
        return look_up(self._names, value[1:])

    def _fits(self, record: Record, members: Mapping[str, Any]) -> bool:
        return all(self._fits_one(record, path, value) for path, value in members.items())

    def _fits_one(self, record: Record, path: str, expected: Any) -> bool:
        value = record.get(path)
        if not isinstance(expected, Mapping):
            return self._same(value, expected)
        return all(self._holds(record, path, name, self._value(other)) for name, other in expected.items())

    def _holds(self, record: Record, path: str, condition: str, other: Any) -> bool:
        value = record.get(path)
        match condition:
            case "not":
                return not self._same(value, other)
            case "matches":
                return re.search(other, str(value or "")) is not None
            case "same_as":
                return self._same(value, record.get(other))
            case "change":
                return self._changed_by(record, path) == as_number(other)
            case _:  # "of": a value for each id
                return self._same(value, other.get(record.get("id")))

    def _changed_by(self, record: Record, path: str) -> Decimal | None:
        before = as_number(self._seen.state["numbers"].get(record.get("id"), {}).get(path))
        now = as_number(record.get(path))
        return None if before is None or now is None else now - before

    def _same(self, value: Any, expected: Any) -> bool:
        if isinstance(expected, list | tuple):
            if isinstance(value, str) and "," in value:
                return sorted(_plain(part) for part in value.split(",")) == sorted(map(_plain, expected))
            return any(self._same(value, each) for each in expected)
        number, other = as_number(value), as_number(expected)
        if number is not None and other is not None:
            return number == other
        return _plain(value) == _plain(expected)

    def _near(self, expected: Expectation, near: Record | None, asked: Mapping[str, Any]) -> str:
        """Return how the nearest record or request differs, without what would be right."""
        if near is None:
            return ""
        wrong = [path for path, value in asked.items() if not self._fits_one(near, path, value)]
        shown = ", ".join(f"{path} is {_shown(path, near.get(path))}" for path in wrong[:3])
        advice = next((expected.near[path] for path in wrong if path in expected.near), "")
        return f"; in the nearest one {shown}" * bool(shown) + f". {advice.rstrip('.')}" * bool(advice)


def look_up(names: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path such as `cards.active.1`, `companies.0.owners.status=denied.id` or `approved.6:18`.

    Raises:
        LookupError: There is none.
    """
    value: Any = names
    parts = path.split(".")
    while parts:
        rest = ".".join(parts)
        if isinstance(value, Mapping) and rest in value:
            return value[rest]
        part = parts.pop(0)
        if isinstance(value, Mapping):
            value = value[part]
        elif "=" in part:
            member, _, wanted = part.partition("=")
            value = next((each for each in value if str(each[member]) == wanted), None)
        elif ":" in part:
            begin, _, end = part.partition(":")
            value = value[int(begin) : int(end)]
        else:
            value = value[int(part)]
        if value is None:
            raise LookupError(path)
    return value


def _expected(members: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield expected members with their dotted paths; conditions stay mappings."""
    for name, value in members.items():
        below = f"{path}{name}"
        if isinstance(value, Mapping) and not value.keys() <= {"not", "matches", "same_as", "change", "of"}:
            yield from _expected(value, f"{below}.")
        else:
            yield below, value


def _plain(value: Any) -> str:
    """Return text to compare: in lower case, with single blanks."""
    return " ".join(str(value).split()).casefold()


def _bounds(count: int | str) -> tuple[int, int]:
    text = str(count)
    return (int(text[:-1]), 10**6) if text.endswith("+") else (int(text), int(text))


def _further(call: Call, expected: Expectation) -> list[str]:
    """Return the arguments of a request beside those that a criterion names; any are allowed with `others`."""
    if expected.others:
        return []
    named = {path.partition(".")[0] for path in (*expected.where, *expected.members, *expected.may)}
    return sorted({path.partition(".")[0] for path in call.arguments} - named)


def _nearest(
    records: Sequence[Record], asked: Mapping[str, Any], fits: Callable[[Record, Mapping[str, Any]], bool]
) -> Record | None:
    """Return the record with the most members as asked for, of the last ones."""
    if not records:
        return None
    return max(reversed(records), key=lambda record: sum(fits(record, {path: asked[path]}) for path in asked))


def _shown(path: str, value: Any) -> str:
    if isinstance(value, int) and path in _MONEY:
        return money(value)
    if value is None or value == "":
        return "missing"
    text = str(value)
    return "another one" if text.count("-") == 4 or text.startswith("0x") else visible(text, 60)


def _described(record: Record) -> str:
    kind = str(record["kind"]).replace("_", " ")
    parts: Iterable[str] = [f"{kind} {str(record['id'])[:8]}"]
    if "merchant_name" in record:
        parts = [*parts, visible(str(record["merchant_name"]), 40), money(record["authorized"])]
    if "status" in record:
        parts = [*parts, f"now {visible(str(record['status']), 30)}"]
    return ", ".join(parts)
