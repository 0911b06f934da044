"""Private keys and seed phrases that were pasted into a request: refused in every member, whatever it is for."""

from collections.abc import Iterator
from typing import Any

from workbench.chains import private_key_problem
from workbench.errors import Problem
from workbench.interface.fields import SECRET
from workbench.interface.walk import Member, is_record, members

_HASHES = frozenset({"external_id"})
_SHORTEST = 47  # twelve words of three letters; anything else is longer


def takes_hash(one: Member) -> bool:
    """Whether 64 hexadecimal digits may be what a member is for: an id of the caller's own, a token of somebody else's."""
    return one.name in _HASHES or one.about.privacy is SECRET


def pasted_keys(request: Any, prefix: str = "") -> tuple[Problem, ...]:
    """Return the members of a request that look like a private key, with their wire paths."""
    return tuple(_found(request, prefix))


def _found(record: Any, prefix: str) -> Iterator[Problem]:
    for one in members(type(record)):
        value, path = getattr(record, one.name), prefix + one.wire
        for number, item in enumerate(value) if isinstance(value, list | tuple) else ((None, value),):
            place = path if number is None else f"{path}[{number}]"
            if is_record(item):
                yield from _found(item, f"{place}.")
            elif isinstance(item, str) and len(item) >= _SHORTEST:
                problem = private_key_problem(item, place, hash_expected=takes_hash(one))
                if problem is not None:
                    yield problem
