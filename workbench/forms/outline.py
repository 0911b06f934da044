"""What a form of a request has: its sections, inputs and alternatives, read from the declarations."""

from collections.abc import Iterator
from typing import Any

import attrs

from workbench.interface import walk
from workbench.interface.cross_rules import OneOf
from workbench.interface.walk import Boolean, Member, Nested


@attrs.frozen
class Leaf:
    """One input of a form: its dotted path, its member, and the path by wire names that problems carry."""

    path: str
    member: Member
    wire: str

    @property
    def parent(self) -> str:
        """Path of the record it belongs to; empty for the request itself."""
        return self.path.rpartition(".")[0]


@attrs.frozen
class Section:
    """A nested record of a form, or the request itself (path "")."""

    path: str
    member: Member | None
    cls: type[Any]
    wire: str


@attrs.frozen
class Alternative:
    """A choice between groups of fields of one section, from a `OneOf`."""

    section: str
    rule: OneOf

    def names(self) -> frozenset[str]:
        """Return the names of all its members."""
        return frozenset(name for group in self.rule.groups for name in group)


def sections(cls: type[Any], path: str = "", wire: str = "", member: Member | None = None) -> Iterator[Section]:
    """Yield the request and every record nested in it, in order."""
    yield Section(path, member, cls, wire)
    for one in walk.members(cls):
        if isinstance(one.kind, Nested):
            yield from sections(one.kind.of, joined(path, one.name), joined(wire, one.wire), one)


def leaves(section: Section) -> Iterator[Leaf]:
    """Yield the inputs of one section."""
    for one in walk.members(section.cls):
        if not isinstance(one.kind, Nested):
            yield Leaf(joined(section.path, one.name), one, joined(section.wire, one.wire))


def joined(head: str, tail: str) -> str:
    """Return the path of a part of something."""
    return f"{head}.{tail}" if head else tail


def needs_tick(leaf: Leaf) -> bool:
    """Whether leaving it out decides something, so that a person has to say that they know."""
    return isinstance(leaf.member.kind, Boolean) and leaf.member.about.otherwise is True and not leaf.member.required


def meant(leaf: Leaf) -> str:
    """Say what leaving it out means."""
    return "accepted" if "accepted" in leaf.member.name else "yes"
