"""How the pages of one user are asked for, and when they are all: a generator that performs no I/O.

The service says neither how many rows there are nor whether more follow, its order is not shown, and nor are the names
of its parameters. So full pages overlap by one row, which shows whether rows moved in between; a short page is not the
end, since hidden rows may have been left out of it; the end is an empty page. Nothing here skips a row: after a page of
n rows the next one starts where these ended, whichever way the service counts.
"""

from collections.abc import Generator, Sequence
from typing import Literal, NamedTuple

import attrs

from workbench.interface.rewards import MAX_LIMIT, MAX_OFFSET

DEFAULT_LIMIT = 20  # "default 20"
OVERLAP = 1
READINGS = 3
"""How often the list of one user is read where it changes in between."""


class Key(NamedTuple):
    """What a row is known by. An id alone may stand in both types; a row without id is known by its text."""

    type: str | None
    id: str | None
    text: bytes | None = None


@attrs.frozen
class Ask:
    """Ask for this page."""

    offset: int
    limit: int = MAX_LIMIT


End = Literal["all", "reach", "offset ignored", "drift", "failed"]


@attrs.define
class Walk:
    """What the read of one user came to."""

    kept: list[tuple[int, ...] | None] = attrs.field(factory=list)  # of each page the rows to keep; None: all
    end: End = "failed"
    offset: int = 0  # where it stopped
    asked: int = 0
    readings: int = 1
    duplicates: int = 0
    without_id: int = 0
    hidden: bool = False  # rows followed a short page
    limit_ignored: int | None = None  # rows of each page, where fewer than asked for come every time


Page = Sequence[Key]
Steps = Generator[Ask, Page, None]


def walk(said: Walk, *, limit: int = MAX_LIMIT, reach: int = MAX_OFFSET) -> Steps:
    """Ask for pages until they end; be sent the keys of each page's rows.

    Args:
        said: Where to note what was met; the caller's, since a read may be stopped.
    """
    earlier: list[Page] = []
    while True:
        pages: list[Page] = []
        start = len(said.kept)
        drifted = yield from _reading(said, pages, limit, reach)
        if not drifted:
            said.kept[:start] = [()] * start
            return
        earlier += pages
        if said.readings == READINGS:
            said.end = "drift"
            said.kept[:] = _newest(earlier)
            return
        # P1: rows moved while they were read, so some may be missing: the list is read again from its start.
        said.readings += 1


def _newest(pages: Sequence[Page]) -> list[tuple[int, ...] | None]:
    """Return the rows to keep of several readings of a list that kept changing: each key once, from the last of them."""
    seen: set[Key] = set()
    kept: list[tuple[int, ...] | None] = []
    for page in reversed(pages):
        kept.append(tuple(i for i, key in enumerate(page) if key not in seen))
        seen.update(page)
    return kept[::-1]


def _reading(said: Walk, pages: list[Page], limit: int, reach: int) -> Generator[Ask, Page, bool]:
    """Read once; whether the list changed meanwhile."""
    seen: set[Key] = set()
    lengths: list[int] = []
    said.duplicates = said.without_id = 0
    said.hidden = False
    before: Page = ()
    offset = before_at = 0

    def ask(at: int) -> Generator[Ask, Page, Page]:
        said.asked += 1
        page = yield Ask(at, limit)
        pages.append(page)
        said.kept.append(())
        return page

    while True:
        said.offset = offset
        page = yield from ask(offset)
        at = len(said.kept) - 1
        full_before = len(before) >= limit
        overlap = before_at + len(before) - offset if full_before else 0
        # P4: another offset, the same page. After a short page that can be, if hidden rows stand before its rows;
        # but none of them can come again a whole window later.
        same = bool(before) and list(page) == list(before)
        if same and not full_before:
            same = before_at + limit <= reach and list((yield from ask(before_at + limit))) == list(page)
        if same:
            said.end = "offset ignored"
            return False
        if full_before and list(page[:overlap]) != list(before[-overlap:]):
            return True
        if not page:
            said.end = "all"
            break
        if before and not full_before:
            if any(key in seen for key in page if key[1] is not None):
                # Rows seen already after a short page: hidden rows were left out of the service's own window, or the
                # list moved. The short page, asked for again, tells.
                again = yield from ask(before_at)
                if list(again) != list(before):
                    return True
            said.hidden = True
        said.kept[at] = _new(said, page, overlap, seen)
        lengths.append(len(page))
        if offset >= reach:
            said.end = "reach"
            break
        before, before_at = page, offset
        offset = min(offset + max(len(page) - (OVERLAP if len(page) >= limit else 0), 1), reach)
    usual = lengths[0] if lengths else limit
    if usual < limit and all(n == usual for n in lengths[:-1]) and (len(lengths) > 2 or usual == DEFAULT_LIMIT):
        said.limit_ignored = usual if len(lengths) > 1 else None
        said.hidden = said.hidden and said.limit_ignored is None
    return False


def _new(said: Walk, page: Page, overlap: int, seen: set[Key]) -> tuple[int, ...] | None:
    """Return the rows of a page that are new: none of the overlap, none that was seen; rows without id always."""
    kept = []
    for i, key in enumerate(page):
        if i < overlap:
            continue
        if key[1] is None:
            said.without_id += 1
        elif key in seen:
            said.duplicates += 1
            continue
        kept.append(i)
        seen.add(key)
    return None if len(kept) == len(page) else tuple(kept)
