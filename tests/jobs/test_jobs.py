"""The page of jobs lists every script; `python -m tests.jobs` runs them."""

import pytest

from tests.jobs.__main__ import PAGE, Environments, jobs, run


def test_the_page_lists_every_script() -> None:
    """Each script is on the page with its first line, and none of them failed."""
    page = PAGE.read_text(encoding="utf-8")

    assert jobs()
    assert [job.path.stem for job in jobs() if f"| {job.title} (`{job.path.stem}`) |" not in page] == []
    assert "**failed**" not in page


@pytest.mark.soak
def test_every_script_runs(tmp_path) -> None:
    """Each script succeeds with the built wheel, its extra and its other packages."""
    made = Environments(tmp_path)
    failed = [
        job.path.stem for job in jobs() if not run(job, made.python(job.extra, job.others), tmp_path / job.path.stem)[0]
    ]

    assert failed == []
