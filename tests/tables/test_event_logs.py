"""Event logs: typed, counted, in bounded memory, and never quoted in an error."""

import gzip
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.tables import samples
from workbench.errors import InvalidRequest
from workbench.tables import event_logs
from workbench.tables.event_logs import read

ONE_LINE = [body.replace(b"\n", b"") for body in (samples.USER_UPDATED, samples.MICRO_DEPOSIT, samples.STRANGE)]
CARD = (
    b'{"id":"e4","resource":"transaction","action":"completed","version":"1.0.0",'
    b'"eventReceivedAt":"2026-01-01T23:30:00-02:00","body":{"id":"t1","type":"spend","spend":{"status":"completed"}}}'
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "events.ndjson"
    path.write_bytes(b"\n".join([*ONE_LINE, CARD, b"", ONE_LINE[0]]) + b"\n")
    return path


def test_a_summary_by_day_kind_and_status(log: Path) -> None:
    """Days are UTC, an event without a time has none, a strange kind counts too."""
    made = read(log).summary()

    assert [tuple(row) for row in made.astype(object).where(made.notna(), None).itertuples(index=False)] == [
        (None, "moon.landed", None, 1),
        (pd.Timestamp("2026-01-01"), "microDeposit.received", None, 1),
        (pd.Timestamp("2026-01-01"), "user.updated", "pending", 2),
        (pd.Timestamp("2026-01-02"), "transaction.completed", "completed", 1),
    ]
    assert made.dtypes.astype(str).to_dict() == {
        "day": "datetime64[s]",
        "kind": "str",
        "status": "str",
        "events": "Int64",
    }


def test_packed_logs_and_several(log: Path, tmp_path: Path) -> None:
    """Gzip files and patterns are read as one."""
    (tmp_path / "more.ndjson.gz").write_bytes(gzip.compress(log.read_bytes()))
    made = read([log, str(tmp_path / "*.gz")]).summary()

    assert made["events"].sum() == 10


@pytest.mark.parametrize("line", [b'{"CANARY":', b"CANARY", b'["CANARY"]'], ids=["cut", "word", "list"])
def test_a_broken_line_is_named_not_quoted(tmp_path: Path, line: bytes) -> None:
    """The error says file and reason, and nothing of what stood there."""
    (tmp_path / "bad.ndjson").write_bytes(ONE_LINE[0] + b"\n" + line + b"\n")
    with pytest.raises(InvalidRequest, match=r"bad\.ndjson") as caught:
        read(tmp_path / "bad.ndjson").summary()

    assert "CANARY" not in str(caught.value)
    assert caught.value.__context__ is None


def test_no_events(tmp_path: Path) -> None:
    """An empty log has an empty summary and an empty frame, with their columns."""
    (tmp_path / "empty.ndjson").write_bytes(b"")
    events = read(tmp_path / "empty.ndjson")

    assert list(events.summary().columns) == ["day", "kind", "status", "events"]
    assert len(events.frame(of="user.updated")) == 0


def test_a_typed_frame(log: Path) -> None:
    """Events of a log make the same frame as events in memory, masked."""
    frame = read(log).frame(of="user.updated")

    assert frame["body.application_status"].tolist() == ["pending", "pending"]
    assert frame["body.email"].tolist() == ["a•••@e•••.com"] * 2
    assert "CANARY" not in frame.to_csv()


def test_parquet_in_batches(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file larger than a batch has one schema: all kinds' columns, or one's; a revealed amount is exact."""
    monkeypatch.setattr(event_logs, "BLOCK", 500)
    events = read(log)
    everything = pq.read_table(events.to_parquet(tmp_path / "all.parquet"))
    deposits = pq.read_table(
        events.to_parquet(tmp_path / "deposits.parquet", of="microDeposit.received", reveal={"amount"})
    )

    assert everything.num_rows == 5
    assert "body.spend.merchant_name" in everything.column_names
    assert deposits.column("body.amount").to_pylist() == [Decimal("0.12")]
    assert (tmp_path / "deposits.parquet").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        events.to_parquet(tmp_path / "all.parquet")


def test_lines_that_are_no_events_are_named(tmp_path: Path) -> None:
    """Reading strictly, a line that is JSON but no event is an error with its number."""
    (tmp_path / "bad.ndjson").write_bytes(ONE_LINE[0] + b'\n{"id":5}\n')

    with pytest.raises(InvalidRequest, match=r"bad\.ndjson, line 2: id must be text"):
        read(tmp_path / "bad.ndjson").frame()


def test_missing_logs_are_missing(tmp_path: Path) -> None:
    """A file that is not there, or a pattern that fits nothing, is said at once."""
    for path in ("none.ndjson", "*.gz"):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / path)
