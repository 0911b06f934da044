"""Pages of a user's rewards: each row once, no row skipped silently, and a reason for the end of the read."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.rewards import pages
from workbench.analysis.rewards.pages import Key, PageCursor

Serve = Callable[[int, int], list[Key]]
NEW: Key = ("earned", "new", None)


def rows(count: int, start: int = 0) -> list[Key]:
    return [("earned", f"{i}", None) for i in range(start, start + count)]


def service(there: Sequence[Key]) -> Serve:
    return lambda offset, limit: list(there[offset : offset + limit])


def hiding(there: Sequence[Key], hidden: set[int]) -> Serve:
    """Return a service that hides rows after it applies the limit."""
    return lambda offset, limit: [
        row for i, row in enumerate(there[offset : offset + limit], offset) if i not in hidden
    ]


def read(serve: Serve, limit: int = pages.MAX_LIMIT) -> tuple[list[Key], PageCursor, list[int]]:
    """Read from a service; return the rows, the cursor and the requested offsets."""
    cursor, answers, asked = PageCursor(), [], []
    offsets = cursor.offsets()
    with patch.object(pages, "MAX_LIMIT", limit), suppress(StopIteration):
        offset = next(offsets)
        while True:
            asked.append(offset)
            answers.append(serve(offset, limit))
            offset = offsets.send(answers[-1])
    kept = [page[i] for page, keep in zip(answers, cursor.kept, strict=True) for i in keep]
    return kept, cursor, asked


@given(st.integers(0, 60), st.integers(2, 12))
def test_a_still_list_is_read_whole(count: int, limit: int) -> None:
    """An unchanged list is read completely and in order, with at most two additional requests."""
    kept, cursor, requests = read(service(rows(count)), limit=limit)

    assert kept == rows(count)
    assert (cursor.end, cursor.readings, cursor.duplicates, cursor.hidden) == ("all", 1, 0, False)
    assert len(requests) <= count // (limit - 1) + 3


@given(st.integers(1, 60), st.sets(st.integers(0, 59)), st.integers(2, 12))
def test_rows_hidden_after_the_limit(count: int, hidden: set[int], limit: int) -> None:
    """A short page does not end the read, so all visible rows are read unless an entire page is hidden."""
    there = rows(count)
    visible = [row for i, row in enumerate(there) if i not in hidden]
    kept, cursor, _ = read(hiding(there, hidden), limit=limit)

    runs = "".join("h" if i in hidden else "v" for i in range(count))
    if "h" * limit not in runs:
        assert sorted(kept, key=lambda row: int(row[1] or 0)) == visible
        assert cursor.end == "all"
    assert len(set(kept)) == len(kept)


@pytest.mark.parametrize("hidden", [range(10, 20), [3, *range(14, 24)]], ids=["after a full page", "after hidden rows"])
def test_an_empty_page_between_others(hidden: Sequence[int]) -> None:
    """A page without visible rows does not end the read if earlier pages had hidden rows."""
    kept, cursor, _ = read(hiding(rows(35), {*hidden}), limit=10)

    assert kept == [row for i, row in enumerate(rows(35)) if i not in hidden]
    assert (cursor.end, cursor.hidden) == ("all", True)


@given(st.integers(1, 80), st.integers(1, 20))
def test_a_limit_that_is_ignored(count: int, own: int) -> None:
    """If the service uses another page length, no row is lost, and the length is detected."""
    kept, cursor, _ = read(lambda offset, limit: rows(count)[offset : offset + own], limit=50)

    assert kept == rows(count)
    assert cursor.limit_ignored == (own if count > 2 * own or (own == 20 and count > 20) else None)


def moving(change: Callable[[list[Key], int], list[Key]], count: int = 30) -> Serve:
    """Return a service whose list changes before each answer."""
    state: dict[str, Any] = {"there": rows(count, 1000), "calls": 0}

    def serve(offset: int, limit: int) -> list[Key]:
        state["calls"] += 1
        state["there"] = change(state["there"], state["calls"])
        there: list[Key] = state["there"]
        return there[offset : offset + limit]

    return serve


def test_rows_inserted_while_reading_are_noticed() -> None:
    """If a row is inserted at the front during the read, the list is read again completely."""
    kept, cursor, _ = read(moving(lambda there, call: [NEW, *there] if call == 2 else there), limit=10)

    assert kept == [NEW, *rows(30, 1000)]
    assert (cursor.end, cursor.readings) == ("all", 2)


def test_rows_removed_while_reading_are_noticed() -> None:
    """If a row is removed during the read, no row is skipped, because pages overlap."""
    kept, cursor, _ = read(moving(lambda there, call: there[1:] if call == 3 else there), limit=10)

    assert kept == rows(29, 1001)
    assert (cursor.end, cursor.readings) == ("all", 2)


def test_a_last_row_removed_is_noticed() -> None:
    """An empty page directly after a full page is a change, so the list is read again."""
    kept, cursor, _ = read(moving(lambda there, call: there[:5] if call == 2 else there, count=10), limit=10)

    assert kept == rows(5, 1000)
    assert (cursor.end, cursor.readings) == ("all", 2)


def test_a_list_that_never_rests_is_not_complete() -> None:
    """If the list changes in three readings, the result has all rows seen and is not complete."""
    kept, cursor, _ = read(moving(lambda there, call: [("earned", f"n{call}", None), *there]), limit=10)

    assert cursor.end == "drift"
    assert cursor.readings == 3
    assert len(set(kept)) == len(kept)
    assert set(kept) >= {("earned", "n1", None), *rows(17, 1000)}


def test_a_row_inserted_after_a_short_page_is_noticed() -> None:
    """A short page is requested again. If it has changed, the list is read again."""
    change = moving(lambda there, call: [NEW, *there] if call == 2 else there, count=5)
    kept, cursor, _ = read(change, limit=10)

    assert kept == [NEW, *rows(5, 1000)]
    assert (cursor.end, cursor.readings) == ("all", 2)


def test_the_reach_of_the_offset() -> None:
    """Of 12,000 rows 10,100 are read, no offset is above 10,000, and the result is not complete."""
    kept, cursor, requests = read(service(rows(12_000)))

    assert kept == rows(10_100)
    assert cursor.end == "reach"
    assert max(requests) == 10_000


@pytest.mark.parametrize("count", [10_050, 10_000, 10_100, 10_101])
def test_near_the_reach(count: int) -> None:
    """Up to 10,100 rows are read. The result is complete only if an empty page followed."""
    kept, cursor, _ = read(service(rows(count)))

    assert kept == rows(min(count, 10_100))
    assert cursor.end == ("all" if count == 10_000 else "reach")


@pytest.mark.parametrize("count", [250, 100, 30, 1])
def test_an_offset_that_is_ignored(count: int) -> None:
    """A service that ignores the offset is detected by the second or third request."""
    kept, cursor, requests = read(lambda offset, limit: rows(count)[:limit])

    assert cursor.end == "offset ignored"
    assert len(requests) == (2 if count >= 100 else 3)
    assert kept == rows(count)[:100]


def test_ids_stand_in_both_types() -> None:
    """Equal ids of two types are two rows. Equal ids of one type are one row."""
    there: list[Key] = [("earned", "1", None), ("redeemed", "1", None), ("earned", "1", None)]
    kept, cursor, _ = read(service(there), limit=10)

    assert kept == there[:2]
    assert cursor.duplicates == 1


def test_rows_without_an_id_are_kept_and_counted() -> None:
    """Rows without an id are all preserved, except those in the overlap of pages."""
    there: list[Key] = [("earned", None, f"{i // 2}") for i in range(25)]
    kept, cursor, _ = read(service(there), limit=10)

    assert kept == there
    assert cursor.without_id == 25
