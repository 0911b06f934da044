"""Values of contracts, and status histories from events."""

from datetime import UTC, datetime
from decimal import Decimal

import pandas as pd
import pytest

import workbench as wb
from tests.tables import samples


def test_values_and_advances_are_exact() -> None:
    """1250.50 tokens at 0.999 USD are 1249.2495 USD, of which half is advanced."""
    made = wb.history(samples.answer("list_contracts", samples.CONTRACT, samples.BARE_CONTRACT)).contracts()

    assert made["value_usd"].tolist() == [Decimal("1249.24950"), Decimal("0.1")]
    assert made["advance_usd"].tolist() == [Decimal("624.624750"), Decimal("0.1")]
    assert "1 contracts have an empty or missing list of tokens" in made.attrs["notes"][0]


def test_totals_in_all_and_by_chain() -> None:
    """Totals by chain add up to the overall total, with the same notes."""
    other = samples.CONTRACT.replace(b"11155111", b"43113")
    contracts = samples.answer("list_contracts", samples.CONTRACT, other)
    everything = wb.history(contracts).contracts(())
    by_chain = wb.history(contracts).contracts("chain_id")

    assert everything["value_usd"].tolist() == [Decimal("2498.699")]
    assert by_chain["chain_id"].tolist() == [43113, 11155111]
    assert by_chain["value_usd"].tolist() == [Decimal("1249.3495")] * 2
    assert by_chain["advance_usd"].sum() == everything["advance_usd"][0]
    assert everything.attrs["notes"] == by_chain.attrs["notes"]


def test_no_contracts_are_worth_nothing() -> None:
    """Without contracts the columns are the same, and the total is 0."""
    made = wb.history([]).contracts()

    assert str(made["value_usd"].dtype) == "decimal128(18, 6)[pyarrow]"
    assert wb.history([]).contracts(())["value_usd"].tolist() == [Decimal(0)]


def test_a_token_without_a_rate_has_no_value() -> None:
    """The value is missing, not 0, and a note counts the token."""
    made = wb.history(samples.answer("list_contracts", samples.CONTRACT.replace(b'"exchangeRate":1,', b""))).contracts()

    assert made["value_usd"].isna().tolist() == [False, True]
    assert made.attrs["notes"][-1].startswith("1 tokens without a balance or a rate")


def change(event_id: str, user: str, status: str, day: int, reason: str = "") -> object:
    text = (
        f'{{"id":"{event_id}","resource":"user","action":"updated","version":"1.0.0",'
        f'"eventReceivedAt":"2026-01-{day:02}T00:00:00Z","body":{{"id":"{user}","email":"x@example.com",'
        f'"applicationStatus":"{status}","applicationReason":"{reason}"}}}}'
    )
    return samples.event(text.encode())


EVENTS = [
    change("1", "u1", "pending", 1),
    change("2", "u2", "pending", 2),
    change("4", "u1", "approved", 6),
    change("3", "u1", "needsInformation", 3, "BAD_PHOTO, EXPIRED,"),
    change("3", "u1", "needsInformation", 3, "BAD_PHOTO, EXPIRED,"),
    change("5", "u1", "approved", 9),
    samples.event(samples.MICRO_DEPOSIT),
    samples.event(samples.STRANGE),
]


def test_the_history_of_a_user() -> None:
    """Status changes are in the order of their times, without repeated events and statuses."""
    made = wb.history(EVENTS).status_history()  # type: ignore[arg-type]

    assert made["user_id"].tolist() == ["u1", "u1", "u1", "u2"]
    assert made["status"].tolist() == ["pending", "needsInformation", "approved", "pending"]
    assert made["previous"].tolist()[1:3] == ["pending", "needsInformation"]
    assert made["previous"].isna().tolist() == [True, False, False, True]
    assert str(made["at"].dtype) == "datetime64[us, UTC]"


def test_how_long_each_status_lasted() -> None:
    """The last status has a duration only if `at` is set."""
    made = wb.history(EVENTS).time_in_status()
    until = wb.history(EVENTS).filter(at=datetime(2026, 1, 7, tzinfo=UTC)).time_in_status()

    assert made["days"].tolist()[:2] == [2.0, 3.0]
    assert made["days"].isna().tolist() == [False, False, True, True]
    assert until["days"].tolist() == [2.0, 3.0, 1.0, 5.0]


@pytest.mark.parametrize("report", ["status_history", "time_in_status"])
def test_no_events_have_the_same_columns(report: str) -> None:
    """Without events the columns and types are the same."""
    empty, full = (getattr(wb.history(events), report)() for events in ([], EVENTS))

    pd.testing.assert_series_equal(empty.dtypes.astype(str), full.dtypes.astype(str))
