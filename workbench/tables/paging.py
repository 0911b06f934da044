"""How the pages of one user are requested, and when they are complete: a generator that performs no I/O.

The service gives neither a total nor a sign that more rows follow; its order and the names of its parameters are not
documented. So full pages overlap by one row, which shows whether rows moved in between; a short page is not the end,
since hidden rows may have been left out of it; the end is an empty page, or a second one where rows seem to be hidden.
No row is skipped: after a page of n rows the next one starts where these ended, whichever way the service counts.
"""

from collections.abc import Generator, Sequence
from typing import Literal, NamedTuple

import attrs

from workbench.interface.transactions import MAX_LIMIT, MAX_OFFSET

DEFAULT_LIMIT = 20  # "default 20"
OVERLAP = 1
MAX_READINGS = 3
"""How often the list of one user is read if it changes meanwhile."""


class Key(NamedTuple):
    """What identifies a row. An id may occur in both types; a row without an id is identified by its text."""

    type: str | None
    id: str | None
    text: bytes | None = None


@attrs.frozen
class PageRequest:
    """A page to request."""

    offset: int
    limit: int = MAX_LIMIT


End = Literal["all", "reach", "offset ignored", "drift", "failed"]
Keys = Sequence[Key]
Requests = Generator[PageRequest, Keys, None]


@attrs.define
class PageCursor:
    """The read of one user: how far it came, and what was seen on the way; filled by `requests`."""

    kept: list[tuple[int, ...] | None] = attrs.field(factory=list)  # the rows to keep of each page; None: all
    end: End = "failed"
    rows: int = 0  # that are kept
    pages: int = 0
    offset: int = 0  # where it stopped
    readings: int = 1
    duplicates: int = 0
    without_id: int = 0
    hidden: bool = False  # rows followed a short page
    limit_ignored: int | None = None  # rows of each page, if every page has fewer than requested
    by_type: bool = False  # each type was read by itself too, to reach further
    back_to: str | None = None  # the time of the oldest row that was requested, where older ones were not wanted
    other_type: int = 0  # rows of a type that was not requested
    reason: str = ""  # of a failure

    @property
    def complete(self) -> bool:
        """Whether all rows were read, as far as can be known."""
        return self.end == "all" and not self.other_type

    def requests(self, *, limit: int = MAX_LIMIT, reach: int = MAX_OFFSET) -> Requests:
        """Yield the pages to request; must be sent the keys of the rows of each."""
        earlier: list[Keys] = []
        while True:
            pages: list[Keys] = []
            start = len(self.kept)
            drifted = yield from self._reading(pages, limit, reach)
            if not drifted:
                self.kept[:start] = [()] * start
                return
            earlier += pages
            if self.readings == MAX_READINGS:
                self.end = "drift"
                self.kept[:] = _newest(earlier)
                return
            # Rows moved while they were read, so some may be missing: the list is read again from its start.
            self.readings += 1

    def _reading(self, pages: list[Keys], limit: int, reach: int) -> Generator[PageRequest, Keys, bool]:
        """Read once, and return whether the list changed meanwhile."""
        seen: set[Key] = set()
        lengths: list[int] = []
        self.duplicates = self.without_id = 0
        self.hidden = False
        before: Keys = ()
        beyond = False  # whether the page before was empty
        offset = before_at = 0

        def request(at: int) -> Generator[PageRequest, Keys, Keys]:
            self.pages += 1
            page = yield PageRequest(at, limit)
            pages.append(page)
            self.kept.append(())
            return page

        while True:
            self.offset = offset
            page = yield from request(offset)
            at = len(self.kept) - 1
            full_before = len(before) >= limit
            overlap = before_at + len(before) - offset if full_before else 0
            # Another offset, the same page. After a short page that can be, if hidden rows precede its rows; but none
            # of them can occur again a full window later.
            same = bool(before) and list(page) == list(before)
            if same and not full_before:
                same = before_at + limit <= reach and list((yield from request(before_at + limit))) == list(page)
            if same:
                self.end = "offset ignored"
                return False
            if full_before and list(page[:overlap]) != list(before[-overlap:]):
                return True
            if not page:
                # A page may be empty because all of its rows are hidden. Where rows seem to be, one more is requested.
                if (self.hidden or (at and self.kept[at - 1] == ())) and not beyond and offset + limit <= reach:
                    before, beyond, offset = (), True, offset + limit
                    continue
                self.end = "all"
                break
            self.hidden = self.hidden or beyond
            beyond = False
            if before and not full_before:
                if any(key in seen for key in page if key[1] is not None):
                    # Rows seen already after a short page: hidden rows were left out of the service's own window, or
                    # the list moved. Requesting the short page again shows which.
                    again = yield from request(before_at)
                    if list(again) != list(before):
                        return True
                self.hidden = True
            self.kept[at] = self._new(page, overlap, seen)
            lengths.append(len(page))
            if offset >= reach:
                self.end = "reach"
                break
            before, before_at = page, offset
            offset = min(offset + max(len(page) - (OVERLAP if len(page) >= limit else 0), 1), reach)
        usual = lengths[0] if lengths else limit
        if usual < limit and all(n == usual for n in lengths[:-1]) and (len(lengths) > 2 or usual == DEFAULT_LIMIT):
            self.limit_ignored = usual if len(lengths) > 1 else None
            self.hidden = self.hidden and self.limit_ignored is None
        return False

    def _new(self, page: Keys, overlap: int, seen: set[Key]) -> tuple[int, ...] | None:
        """Return the new rows of a page: outside the overlap and not seen before; rows without an id always are."""
        kept = []
        for i, key in enumerate(page):
            if i < overlap:
                continue
            if key[1] is None:
                self.without_id += 1
            elif key in seen:
                self.duplicates += 1
                continue
            kept.append(i)
            seen.add(key)
        return None if len(kept) == len(page) else tuple(kept)


def _newest(pages: Sequence[Keys]) -> list[tuple[int, ...] | None]:
    """Return the rows to keep of several readings of a list that kept changing: each key once, from the last of them."""
    seen: set[Key] = set()
    kept: list[tuple[int, ...] | None] = []
    for page in reversed(pages):
        kept.append(tuple(i for i, key in enumerate(page) if key not in seen))
        seen.update(page)
    return kept[::-1]
