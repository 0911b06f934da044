"""Good candidates pass an exam, bad ones do not, whatever they claim."""

import sys
from pathlib import Path

import pytest

from tests.course.test_drills import ANSWERS
from workbench.course.classroom.exam import examine
from workbench.course.drills import DRILLS

CANDIDATE = str(Path(__file__).with_name("candidate.py"))
GOOD = [*((drill, "0") for drill in DRILLS), ("stuck-reviews", "url")]
BAD = [
    *((drill, number) for drill in DRILLS for number in "12"),
    ("stuck-reviews", "production"),
    ("duplicate-bookings", "forge"),
]


def missing(drill: str, way: str, seconds: float = 60) -> tuple[str, ...]:
    (result,) = examine([sys.executable, CANDIDATE, way], [drill], seconds=seconds)
    assert result.passed == (not result.missing)
    return result.missing


def test_every_drill_is_examined() -> None:
    assert set(ANSWERS) == set(DRILLS)
    assert (len(GOOD), len(BAD)) == (15, 30)


@pytest.mark.slow
def test_a_good_candidate_passes_and_a_forger_does_not() -> None:
    assert missing("stuck-reviews", "url") == ()
    assert missing("duplicate-bookings", "forge")


@pytest.mark.slow
def test_a_receiver_is_checked_while_it_runs() -> None:
    """The right one is ended when it is solved; one that accepts forgeries does not pass."""
    assert missing("rotated-key", "0") == ()
    assert missing("rotated-key", "2")


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("drill, way", GOOD)
def test_good_candidates_pass_each_time(drill: str, way: str, number: int) -> None:
    assert missing(drill, way) == ()


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("drill, way", BAD)
def test_bad_candidates_do_not_pass(drill: str, way: str) -> None:
    assert missing(drill, way)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_candidate_that_does_not_end_is_ended_and_does_not_pass() -> None:
    assert missing("cut-rewards", "slow", seconds=8) == ("the program was still running after 8 seconds.",)
