"""The jobs of an analyst agree with other code, in one seed and zone; `python -m tests.reports.jobs` runs all cases."""

import pytest

from tests.reports.jobs import HEADING, JOBS, PAGE, SCOPES, Case, run

COSTLY = "Every number of a report from its explanation"  # tests/reports/test_explanations.py runs this job


def test_the_page_lists_every_job() -> None:
    """Each job has its row, and none of them is wrong."""
    table = PAGE.read_text(encoding="utf-8").partition(HEADING)[2]

    assert len(JOBS) >= 50
    assert [title for title in JOBS if f"| {title} |" not in table] == []
    assert "wrong" not in table


@pytest.mark.slow
@pytest.mark.parametrize("scope", SCOPES)
def test_jobs_agree_with_other_code(scope: str) -> None:
    """Each number is that of plain SQL over the raw deliveries, and has its caveat."""
    case = Case(2, "America/New_York", scope)
    results = {title: run(title, [case]) for title in JOBS if title != COSTLY}

    assert {title: result for title, result in results.items() if "wrong" in result.get(scope, "")} == {}
