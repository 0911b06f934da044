"""Times given by a caller are read in the time zone of the report."""

from datetime import UTC, datetime

import pytest

from workbench.analysis.tables.periods import moment
from workbench.base.errors import UsageError


def test_a_time_without_a_zone_is_read_in_the_zone_of_the_report() -> None:
    """If the report has no zone, a time without a zone is refused as ambiguous."""
    assert moment("2025-12-01T10:00", "since", "Europe/Berlin") == datetime(2025, 12, 1, 9, tzinfo=UTC)
    assert moment("2025-12-01T10:00+02:00", "since") == datetime(2025, 12, 1, 8, tzinfo=UTC)
    with pytest.raises(UsageError, match="since must have a time zone"):
        moment("2025-12-01T10:00", "since")
