"""Jobs of a trainer. `make test` checks the pages that list them, and `python -m tests.classroom.jobs` runs all."""

from pathlib import Path
from typing import Any

import pytest

from tests.classroom import day
from tests.classroom.jobs import HEADING, JOBS, PAGE, School


def test_the_page_has_a_line_for_each_job() -> None:
    table = PAGE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]

    assert len(JOBS) == 28
    assert [title for title in JOBS if f"| {title} |" not in table] == []
    assert "failed" not in table.replace("failed:", "")


def test_the_page_has_a_line_for_each_step_of_the_day() -> None:
    table = PAGE.read_text(encoding="utf-8").partition(day.HEADING)[2].partition("\n## ")[0]

    assert [title for title in day.STEPS if f"| {title} |" not in table] == []
    assert ", 0 differences" in table


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_the_board_says_what_is_so_on_a_day_of_a_class() -> None:
    assert day.main([]) == 0


@pytest.mark.soak
def test_a_trainer_pauses_the_class(tmp_path: Path) -> None:
    page: Any = None  # this job needs no browser
    school = School(tmp_path, page, write=False)
    try:
        school.join("Learner 5")
        assert JOBS["Pause for all"](school)
    finally:
        school.stop()
