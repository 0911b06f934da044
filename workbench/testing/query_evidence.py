"""What a page of rewards shows of the assumed names of its query: a service that does not know a name ignores it."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

_NAMES = ("limit", "offset", "type")


@attrs.define
class Pages:
    """First items of earlier pages without an offset, by their other parameters; and the types of each user."""

    _first: dict[tuple[tuple[str, Any], ...], Any] = attrs.field(factory=dict)
    _types: dict[str, set[Any]] = attrs.field(factory=dict)

    def read(self, query: Mapping[str, Any], answer: object) -> Iterator[tuple[str, bool]]:
        """Yield each name of a query that its answer decides on, and whether the service honored it."""
        items = answer.get("items") if isinstance(answer, Mapping) else None
        if not isinstance(items, list) or not items:
            return
        limit = _number(query.get("limit"))
        if limit is not None and len(items) >= limit:
            yield "limit", len(items) == limit
        types = {item.get("type") for item in items if isinstance(item, Mapping)} - {None}
        known = self._types.setdefault(str(query.get("userId")), set())
        if query.get("type") and types and (types | known) != {query["type"]}:  # otherwise any answer would match
            yield "type", types == {query["type"]}
        known |= types
        of = tuple(sorted((name, str(query[name])) for name in query if name != "offset"))
        if not _number(query.get("offset")):
            self._first[of] = items[0]
        elif of in self._first:
            yield "offset", self._first[of] != items[0]


def decided_by_answers(assumption: str) -> bool:
    """Return whether an assumption is a name that only an answer can show to be known."""
    operation, _, name = assumption.partition(".")
    return operation == "list_rewards_activity" and name in _NAMES


def _number(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
