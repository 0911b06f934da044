"""Event logs: typed and counted events, bounded memory, and errors without quotations."""

import gzip
import json
import re
import subprocess
import sys
from decimal import Decimal
from itertools import product
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.each import across, some
from tests.reports.test_scope import bought
from tests.tables import samples
from workbench.analysis.reports import log_lines
from workbench.analysis.reports.event_logs import read_log
from workbench.analysis.tables.frames import to_frame
from workbench.base.errors import UsageError
from workbench.service.interface.events import Event

ONE_LINE = [body.replace(b"\n", b"") for body in (samples.USER_UPDATED, samples.MICRO_DEPOSIT, samples.STRANGE)]
CARD = (
    b'{"id":"e4","resource":"transaction","action":"completed","version":"1.0.0",'
    b'"eventReceivedAt":"2026-01-01T23:30:00-02:00","body":{"id":"t1","type":"spend","spend":{"status":"completed"}}}'
)

SALE = (
    b'{"id":"e5","resource":"transaction","action":"completed","version":"1.0.0","body":{"id":"t2","type":"spend",'
    b'"spend":{"amount":1250,"currency":"usd","merchantName":"Shop","userEmail":"ada@example.com","status":"completed",'
    b'"authorizedAt":"2026-01-01T23:30:00.123Z"}}}'
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "events.ndjson"
    path.write_bytes(b"\n".join([*ONE_LINE, CARD, b"", ONE_LINE[0]]) + b"\n")
    return path


def test_a_summary_by_day_kind_and_status(log: Path) -> None:
    """Days are in UTC. Events without a time and of unknown kinds are counted too."""
    made = read_log(log).summary()

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
    """Gzip files and file patterns are read together."""
    (tmp_path / "more.ndjson.gz").write_bytes(gzip.compress(log.read_bytes()))
    made = read_log([log, str(tmp_path / "*.gz")]).summary()

    assert made["events"].sum() == 10


@pytest.mark.parametrize("day", ["2026-13-01", "2026-02-30", "0000-01-01"])
def test_a_day_that_does_not_exist_is_missing(tmp_path: Path, day: str) -> None:
    event = {"id": "e", "resource": "microDeposit", "action": "received", "body": {"id": "m", "receivedAt": day}}
    (tmp_path / "days.ndjson").write_text(json.dumps(event))

    assert read_log(tmp_path / "days.ndjson").summary().day.isna().tolist() == [True]


@pytest.mark.parametrize("line", [b'{"CANARY":', b"CANARY", b'["CANARY"]'], ids=["cut", "word", "list"])
def test_a_broken_line_is_named_not_quoted(tmp_path: Path, line: bytes) -> None:
    """The error has the file and the reason, but does not quote the line."""
    (tmp_path / "bad.ndjson").write_bytes(ONE_LINE[0] + b"\n" + line + b"\n")
    with pytest.raises(UsageError, match=r"bad\.ndjson") as caught:
        read_log(tmp_path / "bad.ndjson").summary()

    assert "CANARY" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_packed_log_is_refused(tmp_path: Path, damage: str) -> None:
    """Every way of reading the log raises UsageError."""
    packed = gzip.compress(b"\n".join([*ONE_LINE, CARD] * 20))
    path = tmp_path / "events.ndjson.gz"
    path.write_bytes(packed[:-20] if damage == "cut" else packed[:60] + b"\xff" * 9 + packed[69:])
    logs = read_log(path)

    for way in (lambda: list(logs), logs.frame, logs.summary, lambda: logs.to_parquet(tmp_path / "made.parquet")):
        with pytest.raises(UsageError, match=r"events\.ndjson\.gz.*: the file is damaged or incomplete"):
            way()


@pytest.mark.slow
@pytest.mark.parametrize(
    "line, length, ending", some(5, product([1, 2, 5], [3_001, 3_500, 9_000], [".ndjson", ".ndjson.gz"]))
)
def test_a_line_that_is_too_long_is_one_rejected_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: int, length: int, ending: str
) -> None:
    """In any position and with every reader, a line that is too long is one reject."""
    monkeypatch.setattr(log_lines, "BLOCK", 500)
    monkeypatch.setattr(log_lines, "MAX_LINE", 3_000)
    lines = [CARD.replace(b'"e4"', b'"e%d"' % number) for number in range(4)]
    lines.insert(line - 1, CARD + b" " * (length - len(CARD)))
    content = b"\n".join([*lines, b'{"id":5}']) + b"\n"
    path = tmp_path / f"events{ending}"
    path.write_bytes(gzip.compress(content, 1) if ending.endswith("gz") else content)

    for read in (list, lambda logs: logs.frame(), lambda logs: logs.summary()):
        logs = read_log(path, invalid="reject")
        read(logs)
        assert [reject.line for reject in logs.rejects] == [line, 6]
        assert logs.rejects[0].problem == "longer than 3,000 bytes"
    assert [f"e{number}" for number in range(4)] == [event.id for event in read_log(path, invalid="reject")]


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line beyond the second limit ends the read, without reading the rest of the file."""
    monkeypatch.setattr(log_lines, "MAX_LINE", 3_000)
    monkeypatch.setattr(log_lines, "_MAX_SKIPPED", 10_000)
    (tmp_path / "events.ndjson").write_bytes(CARD + b"\n" + b" " * (log_lines.BLOCK + 20_000))

    for read in (list, lambda logs: logs.frame(), lambda logs: logs.summary()):
        with pytest.raises(UsageError, match=r"events\.ndjson: a line is longer than 10,000 bytes"):
            read(read_log(tmp_path / "events.ndjson", invalid="reject"))


def test_no_events(tmp_path: Path) -> None:
    """An empty log has a summary and a frame with their columns."""
    (tmp_path / "empty.ndjson").write_bytes(b"")
    events = read_log(tmp_path / "empty.ndjson")

    assert list(events.summary().columns) == ["day", "kind", "status", "events"]
    assert len(events.frame(of="user.updated")) == 0


def test_a_typed_frame(log: Path) -> None:
    """Events of one kind become a frame with masked private values."""
    frame = read_log(log).frame(of="user.updated")

    assert frame["body.application_status"].tolist() == ["pending", "pending"]
    assert frame["body.email"].tolist() == ["a•••@e•••.com"] * 2
    assert "CANARY" not in frame.to_csv()


def test_parquet_in_batches(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Parquet file written in batches has one schema. Revealed amounts are exact."""
    monkeypatch.setattr(log_lines, "BLOCK", 500)
    events = read_log(log)
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
    """By default a JSON line that is not an event is an error with its line number."""
    (tmp_path / "bad.ndjson").write_bytes(ONE_LINE[0] + b'\n{"id":5}\n')

    with pytest.raises(UsageError, match=r"bad\.ndjson, line 2: id must be text"):
        read_log(tmp_path / "bad.ndjson").frame()


@pytest.mark.parametrize("name", ["a[b].ndjson", "[!a].ndjson", "a*b?.ndjson"])
def test_a_file_is_read_under_whatever_name(log: Path, tmp_path: Path, name: str) -> None:
    """An existing file is read even if its name looks like a pattern."""
    (tmp_path / name).write_bytes(log.read_bytes())

    assert len(list(read_log(tmp_path / name))) == len(list(read_log(log)))


def test_missing_logs_are_missing(tmp_path: Path) -> None:
    """A missing file, or a pattern without matches, is refused immediately."""
    for path in ("none.ndjson", "*.gz"):
        with pytest.raises(UsageError):
            read_log(tmp_path / path)


def test_an_unknown_kind_is_refused(log: Path) -> None:
    """The error lists the known kinds."""
    with pytest.raises(UsageError, match=r"unknown event kind moon\.landed \(known: user\.updated, "):
        read_log(log).frame(of="moon.landed")


@pytest.mark.slow
def test_progress_is_reported(log: Path, tmp_path: Path) -> None:
    """Progress has the share of bytes and the number of rows, also for packed logs."""
    (tmp_path / "more.ndjson.gz").write_bytes(gzip.compress(log.read_bytes() * 1000))
    events = read_log([log, tmp_path / "more.ndjson.gz"])
    for work in (
        lambda report: events.frame(progress=report),
        lambda report: events.frame("user.*", progress=report),
        lambda report: events.summary(progress=report),
        lambda report: events.to_parquet(tmp_path / "events.parquet", progress=report),
    ):
        seen: list[tuple[int, int, bool]] = []
        work(lambda state, seen=seen: seen.append((state.done, state.rows, state.ended)))

        assert seen[0] == (0, 0, False)
        assert seen[-1] == (1, seen[-1][1], True)
        assert seen[-1][1] in (5_005, 2_002)


def test_rare_members_nulls_and_escapes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rare members, explicit nulls and escapes need no slow reader."""
    monkeypatch.setattr(log_lines, "_SAMPLE", 1)
    lines = [ONE_LINE[0], SALE, SALE.replace(b"Shop", b"Caf\\u00e9"), SALE.replace(b'"Shop"', b"null")]
    lines += [SALE.replace(b'"Shop"', b'"Shop","merchantName":null'), CARD.replace(b'"body"', b' "body" ')][1:]
    (tmp_path / "events.ndjson").write_bytes(b"\n".join(lines))
    expected = to_frame(list(read_log(tmp_path / "events.ndjson")))
    monkeypatch.setattr(log_lines, "read_strictly", None)  # so that reading a line separately fails

    pd.testing.assert_frame_equal(expected, read_log(tmp_path / "events.ndjson").frame())


VALUES = (
    "null", "true", "0", "-1", "1e2", "1.0", str(2**63), '""', '" a "', '"x"', '"2026-01-02"', '"2026-01-02T03:04:05"',
    '"2026-01-02T03:04:05Z"', '"2026-13-02T03:04:05Z"', '"0000-01-02T03:04:05Z"', '"2026-01-02T24:00:00Z"',
    '"2026-01-02T03:04:05.1234567+02:00"', '"1767323045"', '"approved"', '"APPROVED"', '"\\u0041"', '"\\ud800"',
    '"a\\"b\\\\c\\n"', '"é"', "{}", "[]", '{"a":1}', '{"id":"1","id":"2"}', "12.50", '"12.50"',
)  # fmt: skip


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """Return an event's line with some members changed, added or omitted."""
    event = json.loads(draw(st.sampled_from([ONE_LINE[0], ONE_LINE[1], CARD, SALE])))
    objects = [event, event["body"], *(value for value in event["body"].values() if isinstance(value, dict))]
    marks: dict[str, str] = {}
    for number in range(draw(st.integers(0, 2))):
        into = draw(st.sampled_from(objects))
        name = draw(st.sampled_from([*(key for key in into if key != "body"), "new", "status", "kind"]))
        if draw(st.booleans()) and name in into:
            del into[name]
        # duplicate the member wherever this name occurs, possibly in another object too
        elif draw(st.integers(0, 9)) == 0 and name in into:
            marks[f'"{name}":'] = f'"{name}":{draw(st.sampled_from(VALUES))},"{name}":'
        else:
            into[name] = f"@{number}@"
            marks[f'"@{number}@"'] = draw(st.sampled_from(VALUES))
    text = json.dumps(event, separators=(",", ":"))
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return text.encode()


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(lines(), min_size=1, max_size=4), st.sampled_from([None, "user.updated", "transaction.completed"]))
def test_a_log_gives_the_frame_of_its_events(tmp_path: Path, log_lines: list[bytes], of: str | None) -> None:
    """Any lines give the same frame as events in memory, or the same error."""
    path = tmp_path / "events.ndjson"
    path.write_bytes(b"\n".join(log_lines))
    logs = read_log(path)
    try:
        events = list(logs)
    except UsageError as error:
        if of is None:
            with pytest.raises(UsageError, match=re.escape(str(error).partition("\n")[0])):
                logs.frame()
        return
    made, expected = logs.frame(of), to_frame(events, of=of or Event)

    pd.testing.assert_frame_equal(expected, made)
    assert expected.attrs == made.attrs


CHANGED_LINES = {
    "a space before each brace": ("}", " }"), "a comma before a brace": ('"}', '",}'), "a tab": ("}}", "\t}}"),
    "an escaped mark": ('"Shop"', '"Sh\\"op"'), "two escaped marks": ('"Shop"', '"Sh\\"op\\""'),
    "an escaped member": ('"Shop"', '"S\\",\\"merchantName\\":\\"Y"'), "a duplicate member": ('"Shop"', '"Shop","merchantName":"X"'),
}  # fmt: skip


@pytest.mark.parametrize("change, place", across(CHANGED_LINES, (0, 5, 11)))
def test_a_changed_line_between_others_is_read_strictly(change: str, place: int, tmp_path: Path) -> None:
    """An unusual line in any position gives the frame and rejects of the strict reader."""
    rows = [row["event"] for number in range(6) for row in bought(f"t{number}", 1_000 + number, number)]
    usual = [json.dumps(row, separators=(",", ":")) for row in rows]
    changed_line = usual[place].replace(*CHANGED_LINES[change])
    assert changed_line != usual[place]
    log = tmp_path / "log.ndjson"
    log.write_text("\n".join([*usual[:place], changed_line, *usual[place + 1 :], ""]))
    fast, strict = (read_log(log, invalid="reject") for _ in range(2))
    frame, events = fast.frame(progress=False), [*strict]

    assert [(reject.line, reject.problem) for reject in fast.rejects] == [
        (reject.line, reject.problem) for reject in strict.rejects
    ]
    assert frame.astype(str).values.tolist() == to_frame(events)[[*frame]].astype(str).values.tolist()


@pytest.mark.slow
def test_the_engine_shows_no_progress_bar() -> None:
    """DuckDB's progress bar, which appears in notebooks and with `python -c`, is off."""
    code = "from workbench.analysis.reports.log_lines import log_engine\nwith log_engine() as engine: print(engine.execute("
    code += "\"select current_setting('enable_progress_bar')\").fetchone())"

    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout.strip() == b"(False,)"
