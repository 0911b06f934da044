"""Good candidates pass an exam, bad ones do not, whatever they claim."""

import sys
from pathlib import Path

import pytest

from tests.course.test_drills import ANSWERS
from workbench.course.classroom.exam import EXAMINED, examine

CANDIDATE = str(Path(__file__).with_name("candidate.py"))
GOOD = [*((drill, "0") for drill in EXAMINED), ("stuck-reviews", "url")]
BAD = [
    *((drill, number) for drill in EXAMINED for number in "12"),
    ("stuck-reviews", "production"),
    ("duplicate-bookings", "forge"),
]


def missing(drill: str, way: str, seconds: float = 60) -> tuple[str, ...]:
    (result,) = examine([sys.executable, CANDIDATE, way], [drill], seconds=seconds)
    assert result.passed == (not result.missing)
    return result.missing


def test_every_drill_but_the_one_with_a_receiver_is_examined() -> None:
    assert set(ANSWERS) - set(EXAMINED) == {"rotated-key"}
    assert (len(GOOD), len(BAD)) == (14, 28)


@pytest.mark.slow
def test_a_good_candidate_passes_and_a_forger_does_not() -> None:
    assert missing("stuck-reviews", "url") == ()
    assert missing("duplicate-bookings", "forge")


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
