"""`filter(at=…)` includes rows before the moment, and excludes a row at exactly that moment, in every report."""

from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from tests.charts import samples
from workbench.analysis.reports.record_reports import disputes_of, roll_forward_of_disputes

TICK = timedelta(microseconds=1)
Report = Callable[[Any, Any], pd.DataFrame]
REPORTS: dict[str, Report] = {
    "transactions": lambda source, at: wb.history(source).filter(at=at).transactions(),
    "postings": lambda source, at: wb.history(source).filter(at=at).postings(),
    "spend": lambda source, at: wb.history(source).filter(at=at).spend(),
    "approvals": lambda source, at: wb.history(source).filter(at=at).approvals(),
    "roll forward": lambda source, at: wb.history(source).filter(at=at).roll_forward("month"),
    "points": lambda source, at: wb.history(source).filter(at=at).points(),
    "liability": lambda source, at: wb.history(source).filter(at=at).liability().drop(columns="running"),
    "status history": lambda source, at: wb.history(source).filter(at=at).status_history(),
    "disputes": lambda source, at: wb.history(source).filter(at=at).disputes().groupby("status")[["disputes"]].sum(),
    "disputes by month": lambda source, at: roll_forward_of_disputes(source, at=at, tz="UTC").drop(columns="running"),
}


@cache
def source(name: str) -> tuple[Any, "pd.Series[Any]"]:
    """Return the source of a report and the times of its rows."""
    if name in ("points", "liability"):
        return samples.rewards(), samples.rewards()["created_at"]
    with wb.connect(seed=7) as api:
        if name.startswith("disputes"):
            disputes, _ = disputes_of(api)
            return disputes, pd.concat([disputes["created_at"], disputes["resolved_at"]])
        if name == "status history":
            user = api.sandbox.guide()["users"]["pending"][0]
            for status in ("needsInformation", "manualReview", "approved"):
                api.sandbox.review(user, status)
                api.sandbox.advance(hours=5)
            events = wb.to_frame(api.inbox.events(), of="user.updated")
            return events, events["at"]
        wb.sequences.run(api, wb.sequences.traffic(seed=7, cards=1, days=10), progress=False)
        postings = wb.history(api).postings()
        return postings, postings["known_at"].fillna(postings["at"])


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTS)
def test_what_happens_at_a_moment_is_not_known_before_it(name: str) -> None:
    """The report at a row's time equals the report a microsecond earlier. A microsecond later it differs."""
    report, (rows, times) = REPORTS[name], source(name)
    moments = sorted({*times.dropna()})
    changed = []
    for moment in (moments[0], moments[len(moments) // 2], moments[-1]):
        before, same, after = (report(rows, moment + TICK * step) for step in (-1, 0, 1))
        changed.append(not after.equals(same))

        pd.testing.assert_frame_equal(before, same)
    assert any(changed)


def test_a_decline_of_a_stored_record_is_known_at_its_time() -> None:
    """A declined record without events changes only once, so a report for a past date counts it."""
    with wb.connect(seed=7) as api:
        stored = api.sandbox.records("transaction")[:3]
    declined = {"status": "declined", "declined_reason": "invalid_pin", "settled": 0, "held": 0, "posted_at": None}
    records = [{**record, **declined} for record in stored]
    shown = wb.history(records).filter(at="2026-01-15").declines()

    assert shown["declined"].sum() == 3
