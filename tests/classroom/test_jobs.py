"""The jobs of a trainer that need no browser, some of them in `make test`; `python -m tests.classroom.jobs` does all."""

from pathlib import Path
from typing import Any

import pytest

from tests.classroom.jobs import HEADING, JOBS, PAGE, School


def test_the_page_has_a_line_for_each_job() -> None:
    table = PAGE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]

    assert len(JOBS) == 28
    assert [title for title in JOBS if f"| {title} |" not in table] == []
    assert "failed" not in table.replace("failed:", "")


@pytest.mark.slow
def test_a_trainer_pauses_the_class(tmp_path: Path) -> None:
    page: Any = None  # no browser
    school = School(tmp_path, page, write=False)
    try:
        school.join("Learner 5")
        assert JOBS["Pause for all"](school)
    finally:
        school.stop()
