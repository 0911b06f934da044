"""Facts of an answer or event by path, comparable between services whose ids, times and names differ.

Facts contain documented words, numbers of declared members, known ids, times relative to the call, and addresses in
messages and withdrawal parameters. All other text is replaced by its kind or length, and all other numbers by 0.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import cache
from http import HTTPStatus
from typing import Any

import orjson

from workbench.base.schema import walk
from workbench.base.schema.readers import read_time
from workbench.base.schema.rules import UUID
from workbench.sandbox.extensions import ROWS
from workbench.service.chains.addresses import family_of_address
from workbench.service.interface.assumptions import BEHAVIORS
from workbench.service.interface.events import EVENT_KINDS, Event
from workbench.service.interface.table import ERRORS, OPERATIONS

Facts = dict[str, Any]
ABSENT = "(not there)"
"""Fact of a path that one side does not have."""
VERSION = re.compile(r"[0-9]{1,2}(\.[0-9]{1,2}){0,2}")
"""Pattern of the versions that facts may contain."""
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.+Z-]+")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}\b")
_DAY = 86_400
_BYTES = 16  # minimum length for which a list of numbers counts as bytes


@cache
def _members() -> tuple[walk.Member, ...]:
    """Return the members of all requests, answers and events."""
    tops: list[Any] = [Event, *(kind.body for kind in EVENT_KINDS.values())]
    tops += [of for row in (*OPERATIONS.values(), *ROWS.values()) for of in (row.request, row.answer)]
    return tuple(member for top in tops for record in walk.records(top) for member in walk.members(record))


@cache
def words() -> frozenset[str]:
    """Return the words that may be shown, in lower case: enum values, settings, documented errors, HTTP statuses."""
    texts: set[str] = {"", *ERRORS.values(), *(status.phrase for status in HTTPStatus), "usd", "individual"}
    for member in _members():
        if isinstance(member.kind, walk.Choice):
            texts.update(map(str, member.kind.of))
    for kind in EVENT_KINDS.values():
        texts.update(kind.name.split("."))
        texts.update(word for of in kind.words.values() for word in of)
    for row in BEHAVIORS.values():
        if row.settable:
            texts.update(texts_of((row.documented, row.observed, row.others)))
    return frozenset({text.lower() for text in texts} | {text.lower().replace("_", " ") for text in texts})


def texts_of(value: object) -> Iterable[str]:
    """Yield the texts in a JSON value, and the items of comma-separated lists."""
    if isinstance(value, str):
        yield value
        yield from value.split(", ")
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from texts_of(item)


def is_word(text: object) -> bool:
    """Return whether a text consists of `words` only."""
    return isinstance(text, str) and all(part.lower() in words() for part in re.split(", ?", text))


@cache
def declared(*kinds: type[Any]) -> frozenset[str]:
    """Return the wire names of members of these kinds; without kinds, of all members, with envelope and error names."""
    names = {member.wire for member in _members() if isinstance(member.kind, kinds or walk.Kind)}
    return frozenset(names if kinds else names | {"statusCode", "error", "message", "resource", "action", "body", "id"})


@cache
def numbers() -> frozenset[str]:
    """Return the names of the members whose numbers facts contain."""
    named = declared(walk.Integer, walk.DecimalNumber, walk.Numeric)
    return named | {"statusCode", "parameters"}


class Reader:
    """Reader of facts, with times relative to the time of a call.

    Args:
        at: Time of the call, in seconds since 1970.
        ids: Known ids, in lower case.
        unnamed: Set that collects the paths of members that the interface document does not name. These members have
            no facts.
    """

    def __init__(self, at: float, ids: Collection[str], unnamed: set[str]) -> None:
        self._at, self._ids, self._unnamed = at, ids, unnamed

    def read(self, path: str, value: object) -> Facts:
        """Return the facts of a JSON value. Their paths begin with `path`."""
        if isinstance(value, Mapping):
            facts: Facts = {path: "object"}
            for name, item in value.items():
                if name in declared():
                    facts |= self.read(f"{path}/{name}", item)
                else:
                    self._unnamed.add(f"{path}/{name}")
            return facts
        if isinstance(value, list):
            is_bytes = len(value) >= _BYTES and all(type(item) is int for item in value)
            facts = {path: "bytes" if is_bytes else f"list of {len(value)}"}
            for number, item in enumerate(() if is_bytes else value):
                facts |= self.read(f"{path}/{number}", item)
            return facts
        return {path: self._text(path, value) if isinstance(value, str) else self._number(path, value)}

    def read_answer(self, status: int, body: bytes) -> Facts:
        """Return the facts of an answer, including its status."""
        try:
            value = orjson.loads(body) if body else None
        except orjson.JSONDecodeError:
            value = "text"
        return {"status": status, **self.read("answer" if status < 400 else "error", value)}

    def _number(self, path: str, number: Any) -> Any:
        """Return a declared member's number; 0 for other members. Times in parameters become relative to the call."""
        name = next((part for part in reversed(path.split("/")) if not part.isdecimal()), "")
        if isinstance(number, bool) or number is None:
            return number
        if "/parameters/" in path and abs(number - self._at) < _DAY:
            return f"{round(number - self._at)} s"
        return number if name in numbers() else 0

    def _text(self, path: str, text: str) -> Any:
        name = path.rpartition("/")[2]
        if name == "message":
            return sorted({address.lower() for address in _ADDRESS.findall(text)})
        if UUID.fullmatch(text):
            return text.lower() if text.lower() in self._ids else "id"
        if name == "version" and VERSION.fullmatch(text):
            return text
        if name == "textEvidence":
            return len(text)
        if name == "merchantCity":  # services pad the city with different numbers of blanks
            return len(text) - len(text.rstrip())
        near = name == "expiresAt" or "/parameters/" in path
        seconds = seconds_of(text) if near or not text.isdigit() else None
        if seconds is not None:
            return round(seconds - self._at) if near and abs(seconds - self._at) < _DAY else "time"
        if "/parameters/" in path and (text.isdigit() or (len(text) < 66 and family_of_address(text) is not None)):
            return text.lower()
        return text if is_word(text) else "text"


def seconds_of(value: object) -> float | None:
    """Return a time as seconds since 1970; None if the value is not a time. Text without a time zone is in UTC."""
    if isinstance(value, int | float) and abs(value) < 10**14:
        return value / 1000 if value > 10**11 else float(value)
    moment = read_time(value)[0] if isinstance(value, str) else None
    return moment.timestamp() if isinstance(moment, datetime) else None


def differing(a: Facts, b: Facts) -> set[str]:
    """Return the paths at which facts differ."""
    return {path for path in a.keys() | b.keys() if a.get(path, ABSENT) != b.get(path, ABSENT)}
