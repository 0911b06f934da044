"""The fast reader of rewards pages and the exact one give the same values, types and refusals."""

import itertools
import os
from typing import Any

import pandas as pd
import pytest

from tests.each import each, some
from tests.tables import pages
from tests.tables.pages import BATCH, rewards_from_pages
from workbench.analysis.tables.frames import to_frame
from workbench.base.errors import UnexpectedAnswer
from workbench.base.schema.strict_json import NotJson, loads
from workbench.service.interface.convert import Unreadable, converter
from workbench.service.interface.table import OPERATIONS

REFUSED = "refused"


def quiet(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame without the attributes in which the two readers differ."""
    frame.attrs = {name: frame.attrs[name] for name in ("kind", "unknown", "revealed")}
    return frame


def fast(*bodies: bytes) -> Any:
    try:
        return quiet(rewards_from_pages(bodies))
    except UnexpectedAnswer:
        return REFUSED


def exact(*bodies: bytes) -> Any:
    """Return the frame of the records that a client parses."""
    raw = []
    for body in bodies:
        try:
            raw.append(loads(body, repair=True))
        except NotJson:
            return REFUSED
    if not all(isinstance(one, dict) and isinstance(one.get("items"), list) for one in raw):
        return REFUSED
    try:
        return quiet(to_frame([converter().read_answer(OPERATIONS["list_rewards_activity"], one) for one in raw]))
    except Unreadable:
        return REFUSED


def assert_same(one: Any, other: Any) -> None:
    if isinstance(one, str) or isinstance(other, str):
        assert one is other, (one, other)
    else:
        pd.testing.assert_frame_equal(one, other, check_exact=True)
        assert one.attrs == other.attrs


@each("name", pages.ODD)
def test_both_routes_agree(name: str) -> None:
    """Both readers give the same frame of an unusual page, or both refuse it."""
    body = pages.ODD[name]

    assert_same(exact(body), fast(body))


@pytest.mark.slow
@pytest.mark.parametrize("name", some(4, pages.ODD))
def test_an_unusual_page_among_ordinary_ones(name: str) -> None:
    """An unusual page changes no row of the hundred pages around it, or all are refused."""
    bodies = [pages.page(2, i) for i in range(100)]
    bodies[70] = pages.ODD[name]

    assert_same(exact(*bodies), fast(*bodies))


@each("name", (name for name, body in pages.ODD.items() if exact(body) is REFUSED))
def test_a_page_that_is_none_stops_the_read(name: str) -> None:
    """The error has the number of the unreadable page among others."""
    bodies = [pages.page(2, i) for i in range(10)]
    bodies[7] = pages.ODD[name]

    with pytest.raises(UnexpectedAnswer, match="page 7 of the rewards activity cannot be read"):
        rewards_from_pages(bodies)


def test_the_matrix_is_as_large_as_promised() -> None:
    """At least sixty unusual pages are tested, some readable and some not."""
    kinds = [exact(body) is REFUSED for body in pages.ODD.values()]

    assert len(kinds) >= 60
    assert 20 < sum(kinds) < len(kinds) - 40


def agree_on_mutations(count: int, seed: int) -> None:
    """Compare both readers on mutated pages, one by one and all readable ones together."""
    readable = []
    for body in itertools.islice(pages.mutated(seed), count):
        one, other = exact(body), fast(body)
        try:
            assert_same(one, other)
        except AssertionError as error:
            error.add_note(f"the page was {body!r}")
            raise
        if one is not REFUSED:
            readable.append(body)
    assert len(readable) > count // 20
    assert_same(exact(*readable[:500]), fast(*readable[:500]))


@pytest.mark.slow
def test_two_hundred_mutated_pages() -> None:
    """Both readers agree on mutated pages."""
    agree_on_mutations(200, seed=1)


@pytest.mark.soak
def test_two_thousand_mutated_pages() -> None:
    """Both readers agree on 2,000 mutated pages."""
    agree_on_mutations(2_000, seed=2)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_a_hundred_thousand_mutated_pages() -> None:
    """Both readers agree on 100,000 mutated pages; WORKBENCH_SEED sets the seed."""
    agree_on_mutations(100_000, seed=int(os.environ.get("WORKBENCH_SEED", "3")))


@pytest.mark.parametrize(
    "name,exact_pages",
    [("the time 2026-01-01", 1), ("points with an exponent", 1), ("a number for points", 1), ("cents with a zero", 1),
     ("a null row", None), ("points in words", 1), ("half a surrogate pair", 1)],
    ids=lambda value: str(value),
)  # fmt: skip
def test_which_route_ran_is_counted(name: str, exact_pages: int | None) -> None:
    """Only unusual pages are read by the exact reader."""
    bodies = [pages.page(5, i) for i in range(4 * BATCH)]
    assert rewards_from_pages(bodies).attrs["routes"] == {"fast": 4 * BATCH, "exact": 0}

    bodies[100] = pages.ODD[name]
    if exact_pages is None:
        with pytest.raises(UnexpectedAnswer, match="page 100"):
            rewards_from_pages(bodies)
    else:
        assert rewards_from_pages(bodies).attrs["routes"] == {"fast": 4 * BATCH - exact_pages, "exact": exact_pages}


def test_what_was_unusual_is_noted() -> None:
    """Notes of the exact reader are in the frame."""
    frame = rewards_from_pages([pages.GOOD, pages.ODD["the time 2026-01-01"]])

    assert "postedAt: 1 × has no zone; UTC is assumed." in frame.attrs["notes"]


def test_a_new_member_leaves_the_fast_route_fast() -> None:
    """Undocumented members are counted, and the pages are still read by the fast reader."""
    bodies = [pages.page(5, i).replace(b'"type"', b'"tier":"gold","type"') for i in range(10)]
    frame = rewards_from_pages(bodies)

    assert frame.attrs["routes"] == {"fast": 10, "exact": 0}
    assert frame.attrs["unknown"] == {"tier": 50}
    assert set(frame["extra"]) == {'{"tier":"•••"}'}


@pytest.mark.parametrize("total", [b"5", b"[5]"], ids=["fast", "exact"])
def test_a_new_member_of_the_page_is_noted(total: bytes) -> None:
    """A note names undocumented members of a page, which are left out."""
    frame = rewards_from_pages([b'{"items":[],"total":' + total + b',"next":null}', b'{"items":[]}'])

    assert frame.attrs["notes"] == ["The page member total is not in the interface document (1 pages); it is left out."]


def test_users_stand_beside_their_rows() -> None:
    """The first column has the user of each page."""
    frame = rewards_from_pages([pages.page(2), b'{"items":[]}', pages.page(1, 9)], users=["u1", "u2", "u3"])

    assert next(iter(frame.columns)) == "user_id"
    assert frame["user_id"].tolist() == ["u1", "u1", "u3"]


def test_no_pages_have_the_same_dtypes() -> None:
    """No pages give an empty frame with the same columns and types."""
    pd.testing.assert_series_equal(rewards_from_pages([]).dtypes, rewards_from_pages([pages.GOOD]).dtypes)


def test_other_wire_names() -> None:
    """The fast reader applies the wire names of a profile."""
    names = {"rewards_item.points": "amount", "rewards_activity.items": "rows"}
    body = b'{"rows":[{"id":"1","amount":"2.5"}]}'

    assert str(rewards_from_pages([body], names=names)["points"][0]) == "2.500000"
    assert rewards_from_pages([body], names=names).attrs["routes"] == {"fast": 1, "exact": 0}


def test_a_refusal_names_the_place_and_no_value() -> None:
    """The error has the path of the member, but not the value."""
    with pytest.raises(UnexpectedAnswer, match=r"items\[0\]\.transactionAmountCents must be a whole number") as caught:
        rewards_from_pages([pages.GOOD, pages.value("transactionAmountCents", '"CANARY"')])
    assert "CANARY" not in str(caught.value)
