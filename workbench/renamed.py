"""Names of earlier versions, and what to write instead. CHANGELOG.md has the same as a table."""

from collections.abc import Mapping

RENAMED: Mapping[str, str] = {
    # names of wb and its namespaces
    "wb.compare": "wb.compare_behavior(a, b), or wb.compare_records(a, b) for stored records",
    "wb.reports.movers": "wb.reports.monthly_changes",
    "wb.charts.movers_chart": "wb.charts.monthly_changes_chart",
    "wb.tables.to_frame": "wb.to_frame",
    "wb.tables.export": "wb.export",
    "wb.sequences.dumps": "sequence.to_toml()",
    "wb.reports.micro_deposits": 'wb.to_frame(events, of="microDeposit.received", reveal={"amount"})',
    "wb.course.use": 'wb.course.begin("06", api)',
    # arguments of functions
    "approvals(by=)": "freq=",
    "applications(by=)": "freq=",
    "points_chart(by=)": "freq=",
    "points_chart(cumulated=)": "cumulative=",
    "outstanding(group=)": "by=",
    "liability(by=)": "on=",
    "wait(within=)": "timeout=",
    "flush(within=)": "timeout=",
    "sign(wait=)": "timeout=",
    "connect(settings=)": "behavior={…}",
    "connect_async(settings=)": "behavior={…}",
    "Sandbox(settings=)": "behavior={…}",
    "session(settings=)": "behavior={…}",
}


def renamed(name: str) -> str:
    """Return what to write instead of a name of an earlier version, as the end of a message; empty if there is none."""
    return f"; since 0.3 it is {RENAMED[name]}" if name in RENAMED else ""
