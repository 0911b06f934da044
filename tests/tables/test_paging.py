"""Pages of one user: every row once, nothing skipped in silence, and an end that is known for what it is."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.tables.paging import Ask, Key, Walk, walk

Serve = Callable[[int, int], list[Key]]


def rows(count: int, start: int = 0) -> list[Key]:
    return [Key("earned", f"{i}") for i in range(start, start + count)]


def service(there: Sequence[Key]) -> Serve:
    return lambda offset, limit: list(there[offset : offset + limit])


def hiding(there: Sequence[Key], hidden: set[int]) -> Serve:
    """Leave rows out after the limit was applied."""
    return lambda offset, limit: [
        row for i, row in enumerate(there[offset : offset + limit], offset) if i not in hidden
    ]


def read(serve: Serve, **limits: int) -> tuple[list[Key], Walk, list[Ask]]:
    """Walk through a service; give the rows kept, what is said, and what was asked."""
    said, pages, asked = Walk(), [], []
    steps = walk(said, **limits)
    try:
        ask = next(steps)
        while True:
            asked.append(ask)
            page = serve(ask.offset, ask.limit)
            pages.append(page)
            ask = steps.send(page)
    except StopIteration:
        pass
    kept = [
        page[i]
        for page, keep in zip(pages, said.kept, strict=True)
        for i in (range(len(page)) if keep is None else keep)
    ]
    return kept, said, asked


@given(st.integers(0, 60), st.integers(2, 12))
def test_a_still_list_is_read_whole(count: int, limit: int) -> None:
    """Every row once, in order, complete, with no more than a page more than needed."""
    kept, said, asked = read(service(rows(count)), limit=limit)

    assert kept == rows(count)
    assert (said.end, said.readings, said.duplicates, said.hidden) == ("all", 1, 0, False)
    assert len(asked) <= count // (limit - 1) + 2


@given(st.integers(1, 60), st.sets(st.integers(0, 59)), st.integers(2, 12))
def test_rows_hidden_after_the_limit(count: int, hidden: set[int], limit: int) -> None:
    """P2: a short page is not the end; every row that can be seen is read, unless a whole page of them is hidden."""
    there = rows(count)
    visible = [row for i, row in enumerate(there) if i not in hidden]
    kept, said, _ = read(hiding(there, hidden), limit=limit)

    runs = "".join("h" if i in hidden else "v" for i in range(count))
    if "h" * limit not in runs:
        assert sorted(kept, key=lambda row: int(row.id or 0)) == visible
        assert said.end == "all"
    assert len(set(kept)) == len(kept)


@given(st.integers(1, 80), st.integers(1, 20))
def test_a_limit_that_is_ignored(count: int, own: int) -> None:
    """A service that gives pages of its own length loses no row, and is found out after three pages."""
    kept, said, _ = read(lambda offset, limit: rows(count)[offset : offset + own], limit=50)

    assert kept == rows(count)
    assert said.limit_ignored == (own if count > 2 * own or (own == 20 and count > 20) else None)


def moving(change: Callable[[list[Key], int], list[Key]], count: int = 30) -> Serve:
    """Return a list that changes before each answer."""
    state: dict[str, Any] = {"there": rows(count, 1000), "calls": 0}

    def serve(offset: int, limit: int) -> list[Key]:
        state["calls"] += 1
        state["there"] = change(state["there"], state["calls"])
        there: list[Key] = state["there"]
        return there[offset : offset + limit]

    return serve


def test_rows_inserted_while_reading_are_noticed() -> None:
    """P1: one row more at the front between two pages: the list is read again, and then it is whole."""
    kept, said, _ = read(moving(lambda there, call: [Key("earned", "new"), *there] if call == 2 else there), limit=10)

    assert kept == [Key("earned", "new"), *rows(30, 1000)]
    assert (said.end, said.readings) == ("all", 2)


def test_rows_removed_while_reading_are_noticed() -> None:
    """P1: one row less: without the overlap a row would be skipped; it is not."""
    kept, said, _ = read(moving(lambda there, call: there[1:] if call == 3 else there), limit=10)

    assert kept == rows(29, 1001)
    assert (said.end, said.readings) == ("all", 2)


def test_a_last_row_removed_is_noticed() -> None:
    """P1: where only full pages were, an empty one is no end but a change."""
    kept, said, _ = read(moving(lambda there, call: there[:5] if call == 2 else there, count=10), limit=10)

    assert kept == rows(5, 1000)
    assert (said.end, said.readings) == ("all", 2)


def test_a_list_that_never_rests_is_not_complete() -> None:
    """P1: after three readings it is left, with every row met, each once, and never called complete."""
    kept, said, _ = read(moving(lambda there, call: [Key("earned", f"n{call}"), *there]), limit=10)

    assert said.end == "drift"
    assert said.readings == 3
    assert len(set(kept)) == len(kept)
    assert set(kept) >= {Key("earned", "n1"), *rows(17, 1000)}


def test_a_row_inserted_after_a_short_page_is_noticed() -> None:
    """P1: the last row comes again after a short page; the short page asked again is another, so it is read again."""
    change = moving(lambda there, call: [Key("earned", "new"), *there] if call == 2 else there, count=5)
    kept, said, _ = read(change, limit=10)

    assert kept == [Key("earned", "new"), *rows(5, 1000)]
    assert (said.end, said.readings) == ("all", 2)


def test_the_reach_of_the_offset() -> None:
    """P3: 12,000 rows: 10,100 are read, none asked for beyond offset 10,000, and it is not complete."""
    kept, said, asked = read(service(rows(12_000)))

    assert kept == rows(10_100)
    assert said.end == "reach"
    assert max(ask.offset for ask in asked) == 10_000


@pytest.mark.parametrize("count", [10_050, 10_000, 10_100, 10_101])
def test_near_the_reach(count: int) -> None:
    """Up to the reach all rows are read; it is complete only where an empty page said so."""
    kept, said, _ = read(service(rows(count)))

    assert kept == rows(min(count, 10_100))
    assert said.end == ("all" if count == 10_000 else "reach")


@pytest.mark.parametrize("count", [250, 100, 30, 1])
def test_an_offset_that_is_ignored(count: int) -> None:
    """P4: the same page for other offsets: noticed with the second request, or the third; its rows are kept once."""
    kept, said, asked = read(lambda offset, limit: rows(count)[:limit])

    assert said.end == "offset ignored"
    assert len(asked) == (2 if count >= 100 else 3)
    assert kept == rows(count)[:100]


def test_ids_stand_in_both_types() -> None:
    """P6: the same id earned and redeemed is two rows; the same twice in one type is one."""
    there = [Key("earned", "1"), Key("redeemed", "1"), Key("earned", "1")]
    kept, said, _ = read(service(there), limit=10)

    assert kept == there[:2]
    assert said.duplicates == 1


def test_rows_without_an_id_are_kept_and_counted() -> None:
    """P6: nobody can say whether they are the same, so all of them stay, and those of an overlap stand once."""
    there = [Key("earned", None, b"%d" % (i // 2)) for i in range(25)]
    kept, said, _ = read(service(there), limit=10)

    assert kept == there
    assert said.without_id == 25
