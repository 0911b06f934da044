"""Exercises and quizzes as data, and what a check looks at: what the service received and holds."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import attrs

from workbench.client.client import Client
from workbench.errors import ApiError, InvalidRequest, visible
from workbench.interface.transactions import MAX_OFFSET
from workbench.sandbox import Sandbox
from workbench.sandbox.results import RequestEntry


@attrs.frozen(kw_only=True)
class Quiz:
    """A question with one right answer: a letter, the letters of steps in their order, or an amount in cents."""

    id: str
    notebook: str
    question: str
    right: str = attrs.field(repr=False)
    options: Mapping[str, str] = attrs.field(factory=dict)
    feedback: Mapping[str, str] = attrs.field(repr=False)
    otherwise: str = attrs.field(default="", repr=False)

    @property
    def kind(self) -> str:
        """Return "choice", "order" or "amount"."""
        return "choice" if len(self.right) == 1 else "order" if self.options else "amount"

    def comment(self, answer: str) -> str:
        """Return what there is to say to an answer, right or wrong.

        Raises:
            InvalidRequest: It is none of the possible answers.
        """
        fits, allowed = {
            "choice": (answer in self.options, f"one letter of {', '.join(self.options)}"),
            "amount": (re.fullmatch(r"-?\d+", answer), "a whole number of cents, such as 1250"),
            "order": (sorted(answer) == sorted(self.options), f"each letter of {', '.join(self.options)} once"),
        }[self.kind]
        if not fits:
            raise InvalidRequest(f"answer {visible(answer, 20)!r}: {allowed}", of="course.quiz")
        if self.kind == "order":
            place = next((n for n, (one, other) in enumerate(zip(answer, self.right, strict=True)) if one != other), -1)
            if place >= 0:
                given, due = answer[place], self.right[place]
                return f"Step {place + 1} is not “{self.options[given]}”. {self.feedback[due]}"
            return " ".join(self.feedback[letter] for letter in self.right)
        return self.feedback.get(answer, self.otherwise)


QUIZZES: Mapping[str, Quiz] = {
    id_: Quiz(id=id_, **facts)
    for id_, facts in tomllib.loads(Path(__file__).with_name("quizzes.toml").read_text(encoding="utf-8")).items()
}
"""All quizzes by their id, in the order of the notebooks."""


T = TypeVar("T")


class SandboxEvidence:
    """What the sandbox of a session received and holds, and what the journal recorded."""

    def __init__(self, api: Any) -> None:
        self.api = api
        self.sandbox = api.sandbox
        self.began = datetime.now(UTC)

    @property
    def where(self) -> str:
        """Say in words which sandbox it is, and how many requests it has received."""
        if isinstance(self.sandbox, Sandbox):
            place = f"the embedded sandbox of this kernel (seed {self.sandbox.seed})"
        elif getattr(self.sandbox, "in_class", False):
            place = "your sandbox in the class"
        else:
            place = f"the sandbox at {urlsplit(self.sandbox.url).netloc}"
        count = len(self.requests)
        return f"on {place}, which received {count} request{'' if count == 1 else 's'}"

    @cached_property
    def guide(self) -> Mapping[str, Any]:
        """The example ids of the sandbox in its initial state."""
        return dict((self._fresh or self.sandbox).guide())

    @cached_property
    def _fresh(self) -> Sandbox | None:
        """A new sandbox of the same seed; None if the seed is not known."""
        seed = getattr(self.sandbox, "seed", None)
        return None if seed is None else Sandbox(seed)

    @cached_property
    def requests(self) -> list[RequestEntry]:
        """The requests the service received, oldest first."""
        return list(self.sandbox.requests(all_tenants=True))

    def calls(self, operation: str, *, status: int = 200, **members: Any) -> list[RequestEntry]:
        """Return the requests of an operation with a status and these wire members; text in any case."""
        called = [one for one in self.requests if (one.operation, one.status) == (operation, status)]
        return [one for one in called if all(same((one.body or {}).get(name), members[name]) for name in members)]

    def calls_on(self, operation: str, record_id: str, **members: Any) -> list[RequestEntry]:
        """Return the accepted requests of an operation whose path names a record."""
        return [one for one in self.calls(operation, **members) if record_id.lower() in str(one.path).lower()]

    @property
    def notes(self) -> tuple[Any, ...]:
        """The notes of the session's journal."""
        return tuple(self.api.journal.notes)

    def stored_before_the_check(self, kind: str) -> list[Any]:
        """Return what the inbox of the session stored before it was asked for this check."""
        return [one for one in self.api.inbox.stored(kind) if one.arrived < self.began]

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the bodies of the events of a kind."""
        return [one["event"]["body"] for one in self.sandbox.events(kind)]

    def state(self, record_id: str) -> dict[str, Any]:
        """Return a record as the service holds it; empty if there is none."""
        try:
            return dict(self.sandbox.state(record_id))
        except ApiError:
            return {}

    def transactions(self, **members: Any) -> list[dict[str, Any]]:
        """Return the card transactions made in this sandbox that have these members."""
        made = dict.fromkeys(one["id"] for one in self.events("transaction.created"))
        return [one for one in map(self.state, made) if fits(one, members)]

    def rewards_after(self, user: str, kind: str, read: int) -> bool:
        """Whether a user has more items of a kind than were read, as far as the offset reaches."""
        if read > MAX_OFFSET:
            return False
        asking = self.api
        if self._fresh is not None:  # a new sandbox, so that the log of this one stays the learner's
            guide = self._fresh.guide()
            key = guide["api_keys"]["full"]
            asking = Client(base_url=guide["base_url"], api_key=key, transport=self._fresh.transport(), journal=False)
        return bool(asking.list_rewards_activity(user_id=user, type=kind, limit=1, offset=read).items)

    def applicants(self, **members: Any) -> list[dict[str, Any]]:
        """Return the users whose application was filed in this sandbox and who have these members."""
        made = dict.fromkeys(one["id"] for one in self.events("user.updated"))
        known = {user for users in self.guide["users"].values() for user in users}
        return [one for one in map(self.state, made) if one and one["id"] not in known and fits(one, members)]


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same; ids and addresses are the same in any case."""
    if isinstance(one, str) and isinstance(other, str):
        return one.lower() == other.lower()
    return bool(one == other)


def fits(record: Mapping[str, Any], members: Mapping[str, Any]) -> bool:
    """Whether a record has all members."""
    return bool(record) and all(record.get(name) == value for name, value in members.items())


Check = Callable[[SandboxEvidence], Iterator[str]]
"""Yields what is missing, as sentences; nothing if the exercise is done."""


def named(found: Mapping[str, T], name: str, noun: str, of: str) -> T:
    """Return what has a name.

    Raises:
        InvalidRequest: Nothing has it.
    """
    if name not in found:
        raise InvalidRequest(f"there is no {noun} {visible(str(name), 60)!r}; there are {', '.join(found)}", of=of)
    return found[name]


@attrs.frozen(kw_only=True)
class Exercise:
    """A task of a notebook, its check, and up to three hints, the last of which contains the code."""

    id: str
    notebook: str
    title: str
    task: str
    hints: tuple[str, ...] = attrs.field(converter=tuple, repr=False)
    check: Check = attrs.field(repr=False)
