"""Masking of private values in records and mappings, for all output that is printed, logged, journaled or exported."""

from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from workbench.base.schema.fields import DOTS as DOTS
from workbench.base.schema.fields import MASK as MASK
from workbench.base.schema.fields import OPEN
from workbench.base.schema.readers import is_empty, write_time
from workbench.base.schema.rules import FULL
from workbench.base.schema.walk import DecimalNumber, Member, is_record, members, record_of


class MaskedDict(dict[str, Any]):
    """A mapping whose repr is masked. The values themselves are not masked."""

    __slots__ = ()

    def shown(self) -> dict[str, Any]:
        """Return the masked mapping that the repr shows."""
        return dict.fromkeys(self, DOTS)

    def __repr__(self) -> str:
        return repr(self.shown())

    def __rich_repr__(self) -> Iterator[dict[str, Any]]:
        yield self.shown()


def masked(x: object, reveal: Collection[str] = (), *, of: type[Any] | None = None) -> Any:
    """Convert a record, a mapping, or a list of them to plain values under wire names, with private values masked.

    Args:
        reveal: Attribute names, or dotted paths, of members that are not masked.
        of: Record class of a mapping. Without a class, all values of the mapping are masked.
    """
    if isinstance(x, MaskedDict) and of is None:
        return x.shown()
    return _masked(x, of, "", frozenset(reveal))


def _masked(x: object, of: type[Any] | None, prefix: str, reveal: frozenset[str]) -> Any:
    if isinstance(x, list | tuple):
        return [_masked(item, of, prefix, reveal) for item in x]
    if is_record(x):
        given = ((member, getattr(x, member.name)) for member in members(type(x)))
        of_members = {
            field.wire: _value(field, value, prefix, reveal)
            for field, value in given
            if value is not None and value is not FULL and value != ()
        }
        return of_members | {str(name): DOTS for name in getattr(x, "extra", ())}
    if not isinstance(x, Mapping):
        return _unknown(x)
    known = {} if of is None else {member.wire: member for member in members(of)}
    return {
        str(name): _value(known[name], value, prefix, reveal) if name in known else _unknown(value)
        for name, value in x.items()
    }


def shown(member: Member, value: object) -> Any:
    """Convert a member's value to plain types, masked if the member is private."""
    return _value(member, value, "", frozenset())


def _unknown(value: object) -> Any:
    return value if value is None or isinstance(value, bool) else DOTS


def _value(member: Member, value: object, prefix: str, reveal: frozenset[str]) -> Any:
    inner = record_of(member.kind)
    if inner is not None or is_record(value):
        return _masked(value, inner, f"{prefix}{member.name}.", reveal)
    revealed = bool(reveal) and (prefix + member.name in reveal or member.name in reveal)
    if member.about.privacy is not OPEN and not revealed:
        return member.about.mask(value)
    if isinstance(value, MaskedDict) and not revealed:
        return value.shown()
    if isinstance(value, Decimal) and member.kind == DecimalNumber(text=False):
        return value
    return _plain(value, revealed)


def _plain(value: object, whole: bool) -> Any:
    if isinstance(value, list | tuple):
        return [DOTS if isinstance(item, list | Mapping) and not whole else _plain(item, whole) for item in value]
    if isinstance(value, Mapping):
        return dict(value) if whole else DOTS  # an unexpected object may contain private values
    if is_empty(value):
        return None  # NaT is an instance of datetime, but has no date
    if isinstance(value, datetime):
        return write_time(value)
    if isinstance(value, date):
        return value.isoformat()
    return format(value, "f") if isinstance(value, Decimal) else value
