"""What a form holds before it is a request: values by path, what was chosen, what is wrong. No widget, no I/O."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.chains import check, refuse_private_key
from workbench.client.pasted import takes_hash
from workbench.errors import InvalidArguments, InvalidRequest, Problem, hide_arguments
from workbench.forms.outline import Alternative, Leaf, joined, leaves, meant, needs_tick, sections
from workbench.interface import checks, walk
from workbench.interface.convert import placeholders
from workbench.interface.cross_rules import OneOf, When
from workbench.interface.fields import OPEN
from workbench.interface.operation import Operation
from workbench.interface.rules import CHAIN_ADDRESS, EVM_ADDRESS, SOLANA_ADDRESS, STELLAR_ADDRESS, WALLET
from workbench.interface.walk import Member

_ADDRESSES = {rule.pattern for rule in (CHAIN_ADDRESS, EVM_ADDRESS, SOLANA_ADDRESS, STELLAR_ADDRESS, WALLET)}
TICKS = {
    "masked_value": "It holds •, as a masked value does. Send it all the same",
    "unusual_text": "It holds characters nobody can see. Send them all the same",
    "partial_address": "Send a part of the address; whether the service merges or replaces it is not shown",
    "again": "The same was sent within a day. Send it again",
}
"""What may be allowed for one call, with the words of its tick."""


class Draft:
    """The values given so far, by dotted path; a text that cannot be read stays text, and is refused by name."""

    def __init__(self, operation: Operation[..., Any]) -> None:
        self.operation = operation
        self.sections = tuple(sections(operation.request))
        self.leaves = {leaf.path: leaf for section in self.sections for leaf in leaves(section)}
        self.alternatives = tuple(
            Alternative(section.path, rule)
            for section in self.sections
            for rule in walk.cross_rules(section.cls)
            if isinstance(rule, OneOf)
        )
        self.given: dict[str, Any] = {}
        self.chosen: dict[Alternative, int | None] = dict.fromkeys(self.alternatives)
        self.ticks: set[str] = set()
        self.accepted: set[str] = set()  # flags whose meaning when left out was read and ticked

    # giving

    @hide_arguments
    def put(self, path: str, value: Any) -> None:
        """Return one value, or None to leave it out.

        Raises:
            InvalidRequest: It looks like a private key; it was not kept.
        """
        leaf = self.leaves[path]
        if isinstance(value, str):
            refuse_private_key(value, leaf.wire, hash_expected=takes_hash(leaf.member))
        if value is None:
            self.given.pop(path, None)
        else:
            self.given[path] = value

    @hide_arguments
    def fill(self, values: Mapping[str, Any]) -> None:
        """Return many values by attribute name; nested ones as mappings or records.

        Raises:
            InvalidArguments: A name is none of the operation's; nothing was taken.
            InvalidRequest: A value looks like a private key; nothing was taken.
        """
        flat = dict(self._flat(values, ""))
        for path, value in flat.items():
            if isinstance(value, str):
                leaf = self.leaves[path]
                refuse_private_key(value, leaf.wire, hash_expected=takes_hash(leaf.member))
        for path, value in flat.items():
            self.put(path, value)
        for alternative in self.alternatives:
            begun = self._begun(alternative)
            if len(begun) == 1:
                self.chosen[alternative] = begun[0]

    def _flat(self, values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        nested = {section.path for section in self.sections}
        for name, value in values.items():
            path = prefix + name
            if path in nested:
                inner = walk.given(value) if walk.is_record(value) else value
                if inner is None:
                    yield from ((one, None) for one in self.leaves if one.startswith(f"{path}."))
                elif isinstance(inner, Mapping):
                    yield from self._flat(inner, f"{path}.")
                else:
                    raise InvalidArguments((Problem(path, "type", "must be a mapping or a record"),))
            elif path in self.leaves:
                yield path, value
            else:
                raise InvalidArguments((Problem(path, "unknown", "is no argument of it"),), of=self.operation.name)

    def _begun(self, alternative: Alternative) -> list[int]:
        return [
            number
            for number, group in enumerate(alternative.rule.groups)
            if any(self._has(joined(alternative.section, name)) for name in group)
        ]

    def _has(self, path: str) -> bool:
        return path in self.given or any(one.startswith(f"{path}.") for one in self.given)

    def choose(self, alternative: Alternative, number: int | None) -> None:
        """Choose a group of an alternative; what was given for the others is forgotten."""
        self.chosen[alternative] = number
        kept = alternative.rule.groups[number] if number is not None else ()
        self._forget(joined(alternative.section, name) for name in alternative.names() - set(kept))

    def settle(self, path: str) -> None:
        """Forget what no longer belongs after a person changed a value that other fields depend on."""
        section, _, name = path.rpartition(".")
        rules = [rule for rule in self._whens(section) if rule.name == name]
        needed = {one for rule in rules if self.given.get(path) == rule.value for one in rule.needs}
        self._forget(joined(section, one) for rule in rules for one in rule.needs if one not in needed)

    def _forget(self, paths: Any) -> None:
        for path in paths:
            for one in [one for one in self.given if one == path or one.startswith(f"{path}.")]:
                del self.given[one]

    def clear(self) -> None:
        """Forget everything."""
        self.given.clear()
        self.chosen = dict.fromkeys(self.alternatives)
        self.ticks.clear()
        self.accepted.clear()

    def clear_private(self) -> None:
        """Forget the values that only a person's fingers should bring back."""
        for path in [path for path in self.given if self.leaves[path].member.about.privacy.value == "secret"]:
            del self.given[path]

    # reading

    def _whens(self, section: str) -> Iterator[When]:
        for one in self.sections:
            if one.path == section:
                yield from (rule for rule in walk.cross_rules(one.cls) if isinstance(rule, When))

    def shown(self, path: str) -> bool:
        """Whether an input belongs to what was chosen; one that has a value is always shown."""
        if self._has(path):
            return True
        section, _, name = path.rpartition(".")
        if section and not self.shown(section):
            return False
        for alternative in self.alternatives:
            if alternative.section == section and name in alternative.names():
                number = self.chosen[alternative]
                if number is None or name not in alternative.rule.groups[number]:
                    return False
        needing = [rule for rule in self._whens(section) if name in rule.needs]
        return not needing or any(self.given.get(joined(section, rule.name)) == rule.value for rule in needing)

    def wanted(self, path: str) -> bool:
        """Whether an input or section has to be given, as things stand."""
        section, _, name = path.rpartition(".")
        found = next(one for one in self._members(section) if one.name == name)
        if found.required:
            return True
        chosen = any(
            number is not None and name in alternative.rule.groups[number]
            for alternative, number in self.chosen.items()
            if alternative.section == section
        )
        return chosen or any(
            name in rule.needs and self.given.get(joined(section, rule.name)) == rule.value
            for rule in self._whens(section)
        )

    def _members(self, section: str) -> tuple[Member, ...]:
        return next(walk.members(one.cls) for one in self.sections if one.path == section)

    def nested(self) -> dict[str, Any]:
        """Return the values as they are given to the operation: nested mappings by attribute name."""
        made: dict[str, Any] = {}
        for section in self.sections:
            if section.path and (self._has(section.path) or (self.wanted(section.path) and self._open(section.path))):
                _holder(made, section.path)
        for path in self.leaves:
            if path in self.given:
                head, _, last = path.rpartition(".")
                _holder(made, head)[last] = self.given[path]
        return made

    def _open(self, path: str) -> bool:
        head = path.rpartition(".")[0]
        return not head or self._has(head) or (self.wanted(head) and self._open(head))

    def record(self) -> Any:
        """Return the request as it stands, whatever is wrong with it."""
        return walk.build(self.operation.request, self.nested())

    def problems(self) -> tuple[Problem, ...]:
        """Return all that stands in the way of sending: the interface's rules, what a careful client refuses, ticks."""
        record = self.record()
        found = [*checks.problems(record, partial="partial_address" in self.ticks)]
        if self.operation.method == "PATCH" and not self._changes():
            found.append(Problem("", "empty", "Nothing is given that would change: fill in at least one field."))
        found += checks.cautions(record, self.ticks)[0]
        for leaf in self.leaves.values():
            if self._unread(leaf):
                words = f"is left out, which means {meant(leaf)}: say yes or no, or tick that this is known"
                found.append(Problem(leaf.wire, "tick", words))
        return tuple(dict.fromkeys(found))

    def _changes(self) -> bool:
        """Whether anything is given besides the ids of what is changed."""
        ids = placeholders(self.operation.path)
        return any(self.leaves[path].wire not in ids for path in self.given)

    def _unread(self, leaf: Leaf) -> bool:
        return needs_tick(leaf) and leaf.path not in self.given and leaf.path not in self.accepted

    def advice(self) -> tuple[Problem, ...]:
        """Return what a careful person would look at, slips in addresses that their check sums show among it."""
        found = list(checks.cautions(self.record(), self.ticks)[1])
        chain = self.given.get("chain_id")
        for path, value in self.given.items():
            rule = self.leaves[path].member.about.rule
            if (
                rule.pattern
                and rule.pattern in _ADDRESSES
                and isinstance(value, str)
                and re.fullmatch(rule.pattern, value)
            ):
                try:
                    slips = check(value, chain if type(chain) is int else None)
                except InvalidRequest:  # a chain that is not known says nothing about an address
                    slips = check(value)
                found += [Problem(self.leaves[path].wire, slip.kind, slip.message) for slip in slips]
        return tuple(found)

    def value(self) -> Any:
        """Return the request.

        Raises:
            InvalidRequest: Anything is wrong; nothing was sent.
        """
        __tracebackhide__ = True
        problems = self.problems()
        if problems:
            raise InvalidRequest(problems, of=self.operation.name)
        return self.record()

    def private(self, path: str) -> bool:
        """Whether a value is masked wherever it is shown."""
        return self.leaves[path].member.about.privacy is not OPEN


def _holder(made: dict[str, Any], path: str) -> dict[str, Any]:
    for name in path.split(".") if path else ():
        made = made.setdefault(name, {})
    return made
