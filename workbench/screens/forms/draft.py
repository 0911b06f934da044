"""Values of a form before they become a request, with choices, problems and advice. No widgets, no I/O."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs

from workbench.base.arguments import hide_arguments
from workbench.base.errors import Problem, UsageError
from workbench.base.schema import checks, walk
from workbench.base.schema.fields import OPEN, SECRET
from workbench.base.schema.readers import MAX_DIGITS
from workbench.base.schema.rules import OneOf, When
from workbench.base.schema.walk import Boolean, Integer, Member, Nested
from workbench.client.calls.request_checks import address_problems, takes_hash
from workbench.service.chains.values import refuse_private_key
from workbench.service.interface.convert import placeholders
from workbench.service.interface.table import Operation

TICKS = {
    "masked_value": "A value contains •, as masked values do. Send it anyway",
    "unusual_text": "A value contains invisible characters. Send it anyway",
    "unverified_address": "An address has a wrong checksum, belongs to another chain, or is zero. Send it anyway",
    "partial_address": "Send an incomplete address (the service may merge or replace the stored address)",
    "again": "The same request was sent within the last 24 hours. Send it again",
}
"""Exceptions that can be allowed for one call, with their checkbox labels."""


_AMOUNT = re.compile(r"([0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)\.([0-9]{2})")


def is_money(member: Member) -> bool:
    """Return whether a member is an amount in cents, which people type as `12.50` and the client sends as 1250."""
    return isinstance(member.kind, Integer) and member.about.rule.unit == "cents"


def cents_of(typed: str) -> int | None:
    """Parse an amount such as `12.50` or `1,234.50` into cents; None for any other text."""
    match = _AMOUNT.fullmatch(typed) if typed.isascii() and len(typed) <= MAX_DIGITS else None
    return None if match is None else int(match[1].replace(",", "") + match[2])


def no_amount(typed: str) -> str:
    """Return the problem with a typed amount. Digits without a decimal point are rejected as ambiguous."""
    if (cents := cents_of(typed)) is not None:
        return f"is text; {typed} is {cents} cents"
    if typed.isascii() and typed.isdigit() and len(typed) <= 15:
        return f"write {typed}.00, or {typed_amount(int(typed))} for {int(typed):,} cents"
    return "must be an amount with two decimals, such as 12.50"


def typed_amount(cents: int) -> str:
    """Return cents as input text: 1250 as `12.50`."""
    return f"{cents // 100}.{cents % 100:02d}"


@attrs.frozen
class Leaf:
    """One input of a form: its dotted path, its member, and the wire path that problems use."""

    path: str
    member: Member
    wire: str

    @property
    def acknowledged(self) -> bool:
        """Whether omitting the value has an effect that a person must acknowledge."""
        return (
            isinstance(self.member.kind, Boolean) and self.member.about.otherwise is True and not self.member.required
        )

    @property
    def default(self) -> str:
        """Value that the service assumes if a request omits the field."""
        return "accepted" if "accepted" in self.member.name else "yes"


@attrs.frozen
class Section:
    """A nested record of a form, or the request itself (path "")."""

    path: str
    member: Member | None
    cls: type[Any]
    wire: str


@attrs.frozen
class Alternative:
    """A choice between groups of fields in a section, from a `OneOf`."""

    section: str
    rule: OneOf


@attrs.frozen
class Review:
    """Review of a draft: the current request, the problems that prevent sending, and advice."""

    record: Any
    problems: tuple[Problem, ...]
    advice: tuple[Problem, ...]


def joined(head: str, tail: str) -> str:
    """Join two parts of a dotted path."""
    return f"{head}.{tail}" if head else tail


class Draft:
    """Values entered so far, by dotted path.

    A text that does not fit its field is stored as text and reported as a problem.
    """

    def __init__(self, operation: Operation[..., Any]) -> None:
        self.operation = operation
        self.sections = {"": Section("", None, operation.request, "")}
        self.leaves: dict[str, Leaf] = {}
        for path, leaf in walk.leaves(operation.request):
            wire = joined(self.sections[path.rpartition(".")[0]].wire, leaf.wire)
            if isinstance(leaf.kind, Nested):
                self.sections[path] = Section(path, leaf, leaf.kind.of, wire)
            else:
                self.leaves[path] = Leaf(path, leaf, wire)
        self._rules = {path: walk.cross_rules(section.cls) for path, section in self.sections.items()}
        self.alternatives = tuple(
            Alternative(path, rule) for path, rules in self._rules.items() for rule in rules if isinstance(rule, OneOf)
        )
        self.given: dict[str, Any] = {}
        self.chosen: dict[Alternative, int | None] = dict.fromkeys(self.alternatives)
        self.ticks: set[str] = set()
        self.accepted: set[str] = set()  # optional flags that a person decided to leave out
        self._record: Any = None  # the request built from the current values; None until it is needed

    @hide_arguments
    def put(self, path: str, value: object) -> None:
        """Set one value; None removes the value from the request.

        Raises:
            UsageError: The value looks like a private key. It was not stored.
        """
        self._check_no_key(path, value)
        self._record = None
        if value is None:
            self.given.pop(path, None)
        else:
            self.given[path] = value

    @hide_arguments
    def fill(self, values: Mapping[str, Any]) -> None:
        """Set values by attribute name. Nested values are mappings or records.

        Raises:
            UsageError: The operation has no argument of that name, or a value looks like a private key. Nothing was
                set.
        """
        flat = dict(self._flat(values, ""))
        for path, value in flat.items():
            self._check_no_key(path, value)
        for path, value in flat.items():
            self.put(path, value)
        for alternative in self.alternatives:
            groups = enumerate(alternative.rule.groups)
            started = [
                number
                for number, group in groups
                if any(self._has(joined(alternative.section, name)) for name in group)
            ]
            if len(started) == 1:
                self.chosen[alternative] = started[0]

    @hide_arguments
    def replace(self, values: Mapping[str, Any]) -> None:
        """Set values as `fill` does, and discard values of groups that are not chosen."""
        for alternative in self.alternatives:
            named = [
                number
                for number, group in enumerate(alternative.rule.groups)
                if not alternative.section and any(values.get(name) is not None for name in group)
            ]
            if named:
                self.choose(alternative, named[0])
        self.fill(values)

    @hide_arguments
    def _check_no_key(self, path: str, value: object) -> None:
        if isinstance(value, str):
            leaf = self.leaves[path]
            refuse_private_key(value, leaf.wire, hash_expected=takes_hash(leaf.member))

    def _flat(self, values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        for name, value in values.items():
            path = prefix + name
            if path in self.sections:
                inner = walk.given(value) if walk.is_record(value) else value
                if inner is None:
                    yield from ((leaf, None) for leaf in self.leaves if leaf.startswith(f"{path}."))
                elif isinstance(inner, Mapping):
                    yield from self._flat(inner, f"{path}.")
                else:
                    raise UsageError((Problem(path, "type", "must be a mapping or a record"),))
            elif path in self.leaves:
                yield path, value
            else:
                raise UsageError((Problem(path, "unknown", "is not an argument"),), of=self.operation.name)

    def _has(self, path: str) -> bool:
        return path in self.given or any(given.startswith(f"{path}.") for given in self.given)

    def choose(self, alternative: Alternative, number: int | None) -> None:
        """Choose a group of an alternative and discard the values of other groups."""
        self.chosen[alternative] = number
        groups = alternative.rule.groups
        kept = groups[number] if number is not None else ()
        self._discard(joined(alternative.section, name) for group in groups for name in group if name not in kept)

    def settle(self, path: str) -> None:
        """Discard the values that no longer apply after a field was changed."""
        section, _, name = path.rpartition(".")
        rules = [rule for rule in self._whens(section) if rule.name == name]
        needed = {need for rule in rules if self.given.get(path) == rule.value for need in rule.needs}
        self._discard(joined(section, need) for rule in rules for need in rule.needs if need not in needed)

    def _discard(self, paths: Iterable[str]) -> None:
        self._record = None
        for path in paths:
            for discarded in [given for given in self.given if given == path or given.startswith(f"{path}.")]:
                del self.given[discarded]

    def clear(self) -> None:
        """Discard all values, choices, exceptions and acknowledgments."""
        self._discard(tuple(self.given))
        self.chosen = dict.fromkeys(self.alternatives)
        self.ticks.clear()
        self.accepted.clear()

    def clear_secrets(self) -> None:
        """Discard the secret values. A person must type them again."""
        self._discard([path for path in self.given if self.leaves[path].member.about.privacy is SECRET])

    def _whens(self, section: str) -> Iterator[When]:
        return (rule for rule in self._rules[section] if isinstance(rule, When))

    def _asked(self, path: str) -> list[bool]:
        """For each rule that names an input or section, return whether the rule currently requires it."""
        section, _, name = path.rpartition(".")
        chosen = [
            (alternative.rule.groups, number)
            for alternative, number in self.chosen.items()
            if alternative.section == section
        ]
        asked = [
            number is not None and name in groups[number]
            for groups, number in chosen
            if any(name in group for group in groups)
        ]
        needing = [rule for rule in self._whens(section) if name in rule.needs]
        met = any(self.given.get(joined(section, rule.name)) == rule.value for rule in needing)
        return [*asked, met] if needing else asked

    def shown(self, path: str) -> bool:
        """Return whether an input is shown: it has a value, or no rule hides it with the current choices."""
        section = path.rpartition(".")[0]
        return self._has(path) or ((not section or self.shown(section)) and all(self._asked(path)))

    def optional(self, path: str) -> bool:
        """Return whether an input or section is optional regardless of the other values."""
        member = (self.leaves.get(path) or self.sections[path]).member
        return not (member is not None and member.required) and not self._asked(path)

    def required(self, path: str) -> bool:
        """Return whether an input or section is required with the current values."""
        member = (self.leaves.get(path) or self.sections[path]).member
        return (member is not None and member.required) or any(self._asked(path))

    def needed(self, path: str) -> bool:
        """Return whether an input needs a decision with the current values."""
        section = path.rpartition(".")[0]
        inside = not section or self.required(section) or self._has(section)
        return self.leaves[path].acknowledged or (inside and self.shown(path) and self.required(path))

    def nested(self, shown: Callable[[str, Any], Any] | None = None) -> dict[str, Any]:
        """Return the values as arguments of the operation: nested mappings by attribute name.

        Args:
            shown: Function that takes a path and its value, and returns the text to show. With this function, required
                sections without values are omitted.
        """
        members_given: dict[str, Any] = {}
        holders = {"": members_given}
        for path in self.sections:
            head, _, last = path.rpartition(".")
            asked = shown is None and head in holders and self.required(path)
            if path and (asked or self._has(path)):
                holders[path] = holders[head][last] = {}
        for path in self.leaves:
            if path in self.given:
                head, _, last = path.rpartition(".")
                holders[head][last] = self.given[path] if shown is None else shown(path, self.given[path])
        return members_given

    def record(self) -> Any:
        """Return the current request, which may be invalid."""
        if self._record is None:
            self._record = walk.build(self.operation.request, self.nested())
        return self._record

    def review(self) -> Review:
        """Return the current request with its problems and advice."""
        record = self.record()
        seen = checks.survey(record)
        refused, advised = checks.cautions(seen, self.ticks)
        texts = {
            leaf.wire: text
            for leaf in self.leaves.values()
            if is_money(leaf.member) and isinstance(text := self.given.get(leaf.path), str)
        }
        problems = [
            Problem(problem.path, problem.rule, no_amount(texts[problem.path])) if problem.path in texts else problem
            for problem in checks.problems(seen, partial="partial_address" in self.ticks)
        ]
        ids = placeholders(self.operation.path)
        if self.operation.method == "PATCH" and all(self.leaves[path].wire in ids for path in self.given):
            problems.append(Problem("", "empty", "Nothing to change: fill in at least one field."))
        problems += refused
        if "unverified_address" not in self.ticks:
            problems += address_problems(seen)
        for leaf in self.leaves.values():
            if leaf.acknowledged and leaf.path not in self.given and leaf.path not in self.accepted:
                text = f"is omitted, which means {leaf.default}: choose yes or no, or confirm the omission"
                problems.append(Problem(leaf.wire, "tick", text))
        return Review(record, tuple(dict.fromkeys(problems)), advised)

    def problems(self) -> tuple[Problem, ...]:
        """Return all problems that prevent sending: broken rules, refused values, unacknowledged omissions."""
        return self.review().problems

    def private(self, path: str) -> bool:
        """Return whether a value is masked in output."""
        return self.leaves[path].member.about.privacy is not OPEN
