"""A table test reports each failing case by name, as separate tests would."""

from collections.abc import Iterator

import pytest

from tests.each import across, each, some


def test_all_failures_are_raised_together_with_their_cases() -> None:
    """Each case runs after failures of earlier cases. The group of errors names the failed cases."""
    ran = []

    @each("number", range(5))
    def law(number: int) -> None:
        ran.append(number)
        assert number != 1
        if number == 2:
            raise ValueError
        if number == 3:
            pytest.fail("a reason")

    with pytest.raises(BaseExceptionGroup, match="3 of 5 cases: 1, 2, 3") as caught:
        law()

    assert ran == [0, 1, 2, 3, 4]
    assert [type(error) for error in caught.value.exceptions] == [AssertionError, ValueError, pytest.fail.Exception]
    assert [error.__notes__ for error in caught.value.exceptions] == [[f"number = {i}"] for i in (1, 2, 3)]


@each("left", [1, 2])
@each("right", [pytest.param(0, id="nothing"), pytest.param(3, id="three")])
def test_a_fixture_is_shared(left: int, right: int, pytestconfig: pytest.Config) -> None:
    """Cases can be combined with fixtures."""
    assert left - right
    assert isinstance(pytestconfig, pytest.Config)


def test_two_tables_give_each_pair() -> None:
    """The failure of a pair names both cases."""
    ran = []

    @each("left", "ab")
    @each("right, up", [("c", 1), ("d", 2)], ids=["first", "second"])
    def law(left: str, right: str, up: int) -> None:
        ran.append((left, right, up))
        assert left + right != "bd"

    with pytest.raises(ExceptionGroup, match="1 of 2 cases: 'b'") as caught:
        law()

    assert ran == [("a", "c", 1), ("a", "d", 2), ("b", "c", 1), ("b", "d", 2)]
    assert "1 of 2 cases: second" in str(caught.value.exceptions[0])


def test_a_table_without_cases_is_an_error() -> None:
    """A test without cases would pass, and marks of single cases have no effect in a table."""
    with pytest.raises(ValueError, match="no case of name"):
        each("name", [])(print)()
    with pytest.raises(TypeError, match="has marks"):
        each("name", [pytest.param(1, marks=pytest.mark.slow)])(print)()


def test_cases_are_read_when_the_law_runs() -> None:
    """The cases are read once, so the test can be repeated."""
    read = []

    def cases() -> Iterator[int]:
        read.append(True)
        yield from (1, 2)

    ran: list[int] = []

    def note(number: int) -> None:
        ran.append(number)

    law = each("number", cases())(note)
    assert not read
    law()
    law()
    assert (read, ran) == ([True], [1, 2, 1, 2])


def test_quick_pairs_have_each_value_of_both_tables() -> None:
    """All pairs exist, and most of them are slow."""
    for first, second in (("abc", range(7)), (range(7), "abc"), ("ab", "cd")):
        pairs = across(first, second)
        quick = [pair.values for pair in pairs if not pair.marks]

        assert len(pairs) == len(first) * len(second)
        assert len(quick) == max(len(first), len(second))
        assert ({one for one, _ in quick}, {other for _, other in quick}) == ({*first}, {*second})


def test_some_cases_are_in_every_run() -> None:
    """Every third case is in `make test`; each keeps its own marks."""
    cases = some(3, [pytest.param(0, marks=pytest.mark.slow), *range(1, 7)], start=1)

    assert [[mark.name for mark in case.marks] for case in cases] == [
        ["slow", "soak"], [], ["soak"], ["soak"], [], ["soak"], ["soak"],
    ]  # fmt: skip
