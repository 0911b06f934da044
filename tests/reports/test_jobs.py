"""The jobs of an analyst agree with independent code for one seed and zone; `python -m tests.reports.jobs` runs all."""

import pytest

from tests.reports.jobs import HEADING, JOBS, PAGE, SCOPES, Case, run

COSTLY = "Every number of a report from its explanation"  # tests/reports/test_explanations.py runs this job


def test_the_page_lists_every_job() -> None:
    """The page has a row for each job, and no result is wrong."""
    table = PAGE.read_text(encoding="utf-8").partition(HEADING)[2]

    assert len(JOBS) >= 50
    assert [title for title in JOBS if f"| {title} |" not in table] == []
    assert "wrong" not in table


WAYS = [pytest.param(scope, 1 if scope == "complete" else 4, marks=pytest.mark.slow) for scope in SCOPES]
WAYS += [pytest.param(scope, 1, marks=pytest.mark.soak) for scope in SCOPES if scope != "complete"]
"""Each scope with the step by which jobs are taken: on a complete log all of them, on others every fourth one."""


@pytest.mark.parametrize("scope, step", WAYS)
def test_jobs_agree_with_other_code(scope: str, step: int) -> None:
    """Numbers of reports agree with independent code over the raw deliveries."""
    case = Case(2, "America/New_York", scope)
    titles = [title for title in JOBS if title != COSTLY][[*SCOPES].index(scope) % step :: step]
    results = {title: run(title, [case]) for title in titles}

    assert {title: result for title, result in results.items() if "wrong" in result.get(scope, "")} == {}
