"""Invalid rows as a frame, rejects files that can be corrected, keys in results, and evidence for unknown rows."""

import csv
import signal
import stat
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

from tests.bulk.test_runs import api_of, filed, people
from workbench.analysis.tables.frames import to_frame
from workbench.base.errors import InvalidRequest, UsageError
from workbench.base.schema.masks import DOTS
from workbench.base.schema.rules import FULL
from workbench.base.system.progress import Progress
from workbench.client.session import connect
from workbench.runs.bulk import InvalidRows, RunChanged, investigate, resume, run
from workbench.runs.bulk.plan import write_rejects
from workbench.runs.bulk.rows import raw_bodies
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals

MISTYPED = "0x8ba1f109551bD432803012645Ac136ddd64DBA7A"  # a wrong checksum: the last digit is mistyped


@pytest.fixture
def sandbox() -> Sandbox:
    return Sandbox(seed=3)


def flat(row: dict[str, Any]) -> dict[str, str]:
    """Return a row as the cells of a file, with wire names."""
    cells = {name: str(value) for name, value in row.items() if name != "address"}
    return cells | {f"address.{name}": str(value) for name, value in row["address"].items()}


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows in the format of the file extension."""
    frame = pd.DataFrame([flat(row) for row in rows], dtype="string")
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".xlsx":
            frame.to_excel(path, index=False)
        case ".parquet":
            frame.to_parquet(path)
        case ".json":
            frame.to_json(path, orient="records")
        case ".ndjson":
            frame.to_json(path, orient="records", lines=True)
    return path


def test_all_problems_are_a_frame_sorted_by_row(sandbox: Sandbox, tmp_path: Path) -> None:
    """The frame has row, column as spelled in the file, rule and, unless private, the value."""
    lines = [
        "firstName,address.countryCode,birth_date,occupation,email,external_id,currencyy",
        f"Ada,USA,{'2030-01-01'},Engineer,canary,b-1,x",
        f"Bob,US,{'1990-01-01'},Engineer,a@example.com,{'b' * 256},",
    ]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(InvalidRows) as caught:
        run(api_of(sandbox).create_user_application, path, progress=False)
    frame = caught.value.frame
    rows = {(one.row, one.column): one for one in caught.value.rows()}

    assert list(frame.columns) == ["row", "column", "rule", "message", "found"]
    assert list(frame["row"]) == sorted(frame["row"])
    assert (rows[2, "address.countryCode"].rule, rows[2, "address.countryCode"].found) == ("implausible", "USA")
    assert rows[2, "birth_date"].rule == "implausible"
    assert (rows[2, "email"].rule, rows[2, "email"].found) == ("email", DOTS)
    assert rows[2, "currencyy"].rule == "unknown"
    assert rows[3, "external_id"].found == f"{'b' * 60}… (256 characters)"
    assert rows[3, "ipAddress"].rule == "required"
    assert "canary" not in frame.to_csv()


@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
def test_implausible_rows_are_sent_on_request(sandbox: Sandbox) -> None:
    """A birth date in the future breaks no rule, so `implausible=True` sends it."""
    rows = [{**people(1)[0], "birth_date": "2030-01-01"}]
    with pytest.raises(InvalidRows, match="implausible=True"):
        run(api_of(sandbox).create_user_application, rows, progress=False)

    assert run(api_of(sandbox).create_user_application, rows, implausible=True, progress=False).ok


@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
def test_mistyped_addresses_are_sent_only_where_that_is_allowed(sandbox: Sandbox, tmp_path: Path) -> None:
    """Only a view of the client that allows mistyped addresses sends them, in a run and in a resumed run."""
    rows = [{**people(1)[0], "wallet_address": MISTYPED}]
    api = api_of(sandbox)
    with pytest.raises(InvalidRows, match="wallet_address"):
        run(api.create_user_application, rows, path=tmp_path / "run", progress=False)
    allowed = api.allowing(unverified_address=True)

    assert run(allowed.create_user_application, rows, path=tmp_path / "run", progress=False).ok
    with pytest.raises(InvalidRows, match="wallet_address"):
        resume(api, tmp_path / "run", rows, progress=False)
    assert resume(allowed, tmp_path / "run", rows, progress=False).ok


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet", ".json", ".ndjson"])
def test_rejected_rows_are_corrected_in_their_file(sandbox: Sandbox, tmp_path: Path, suffix: str) -> None:
    """Valid rows are sent. The rejects file lists the others with reasons, and a resume sends them once corrected."""
    api, path, rejects = api_of(sandbox), tmp_path / "run", tmp_path / f"rejects{suffix}"
    rows = people(5)
    api.create_user_application(**rows[3])  # a second application of this person is refused
    rows[1]["email"] = "nobody"
    file = written(tmp_path / f"people{suffix}", rows)
    first = run(api.create_user_application, file, path=path, rejects=rejects, progress=False)

    assert first.counts == {"done": 3, "refused": 1, "not_sent": 1}
    assert stat.S_IMODE(rejects.stat().st_mode) == 0o600
    reader = {".csv": pd.read_csv, ".xlsx": pd.read_excel, ".parquet": pd.read_parquet}.get(suffix)
    found = reader(rejects) if reader else pd.read_json(rejects, lines=suffix == ".ndjson")
    assert next(iter(found.columns)) == "row"
    assert "email must be" in found["reasons"].iloc[0]
    assert "409" in found["reasons"].iloc[1]
    numbers = [int(number) for number in found["row"]]
    again = [rows[1] | {"email": "b1@example.com"}, rows[3] | {"external_id": "b-new", "email": "new@example.com"}]
    corrected = pd.DataFrame([flat(row) for row in again], dtype="string")
    corrected.insert(0, "row", pd.Series(map(str, numbers), dtype="string"))
    corrected["reasons"] = found["reasons"].astype("string")
    to = {".csv": corrected.to_csv, ".xlsx": corrected.to_excel}.get(suffix)
    if to is not None:
        to(rejects, index=False)
    elif suffix == ".parquet":
        corrected.to_parquet(rejects)
    else:
        corrected.to_json(rejects, orient="records", lines=suffix == ".ndjson")
    final = resume(api, path, rejects, progress=False)

    assert final.ok, final.verdict
    assert len(final) == 5
    assert sorted(filed(sandbox)) == ["b-0", "b-1", "b-2", "b-3", "b-4", "b-new"]
    assert resume(api, path, rejects, progress=False).ok  # no row is sent twice
    assert len(filed(sandbox)) == 6


def test_rows_corrected_in_the_original_are_sent(sandbox: Sandbox, tmp_path: Path) -> None:
    """Rejected rows were never sent, so they may be corrected in the original file."""
    api, path, rows = api_of(sandbox), tmp_path / "run", people(3)
    wrong = [rows[0], rows[1] | {"email": "nobody"}, rows[2]]
    run(api.create_user_application, wrong, path=path, rejects=tmp_path / "rejects.csv", progress=False)

    assert resume(api, path, wrong, rejects=tmp_path / "rejects.csv", progress=False).counts == {
        "done": 2,
        "not_sent": 1,
    }
    assert resume(api, path, rows, progress=False).ok


def test_rejects_need_a_known_format(sandbox: Sandbox, tmp_path: Path) -> None:
    """An unsupported extension is reported before anything is sent."""
    with pytest.raises(UsageError, match="unsupported file extension"):
        run(api_of(sandbox).create_user_application, people(1), rejects=tmp_path / "rejects.doc", progress=False)

    assert filed(sandbox) == []


def test_results_carry_the_key_the_id_and_the_status(sandbox: Sandbox, tmp_path: Path) -> None:
    """The key is a request member or an additional column, and never a private value."""
    api, rows = api_of(sandbox), [row | {"customer": f"c-{i}"} for i, row in enumerate(people(2))]
    frame = to_frame(run(api.create_user_application, rows, key="customer", path=tmp_path / "run", progress=False))

    assert list(frame["key"]) == ["c-0", "c-1"]
    assert list(frame["id"]) == [
        one["id"] for one in sandbox.records("user") if str(one["external_id"]).startswith("b-")
    ]
    assert set(frame["answer_status"]) == {"pending"}
    again = resume(api, tmp_path / "run", people(2), key="external_id", progress=False)
    assert [one.key for one in again] == ["b-0", "b-1"]
    assert [one.answer_status for one in again] == ["pending", "pending"]
    with pytest.raises(InvalidRequest, match="email is private"):
        run(api.create_user_application, people(2), key="email", progress=False)
    with pytest.raises(InvalidRequest, match="no row has the key column nickname"):
        run(api.create_user_application, people(2), key="nickname", progress=False)


@pytest.mark.parametrize("key", ["customer", "external_id"])
def test_a_later_process_shows_the_keys_of_rows_that_an_earlier_one_sent(
    sandbox: Sandbox, tmp_path: Path, key: str
) -> None:
    """The run's file stores the keys, so a resume shows them even without the key column or with only some rows."""
    more = "customer" if key == "customer" else "occupation"
    api, rows = api_of(sandbox), [row | {more: f"c-{i}"} for i, row in enumerate(people(3))]
    rows[2]["email"] = "not an address"
    first = run(
        api.create_user_application,
        rows,
        key=key,
        path=tmp_path / "run",
        rejects=tmp_path / "rejects.csv",
        progress=False,
    )
    expected = [one.key for one in first]
    corrected = (tmp_path / "rejects.csv").read_text().replace("not an address", people(3)[2]["email"])
    (tmp_path / "rejects.csv").write_text(corrected)

    assert None not in expected
    for again in (rows, [{**row} for row in people(3)] if key == "customer" else rows, tmp_path / "rejects.csv"):
        resumed = resume(api, tmp_path / "run", again, rejects=tmp_path / "others.csv", progress=False)
        assert expected == [one.key for one in resumed]
    assert [] == [(one.outcome, one.message) for one in resumed if one.outcome != "done"]


def test_progress_names_failed_rows_and_the_rate_of_this_run(sandbox: Sandbox, tmp_path: Path) -> None:
    """Rows that an earlier process completed do not count toward the rate."""
    api, seen = api_of(sandbox), []
    rows = [{"transaction_id": "00000000-0000-4000-8000-000000000001", "amount": n} for n in range(1, 4)]
    run(api.simulate_refund, rows, progress=lambda now: seen.append(now.detail))

    assert seen[-1] == "3 refused (row 1, 2, 3)"
    assert Progress(total=10, done=9, earlier=9).seconds_left is None


def test_evidence_for_unknown_rows_is_looked_up_and_nothing_decided(tmp_path: Path) -> None:
    """A matching event leads to a proposal. A row without an event has to be looked up."""
    api = connect(seed=3)
    lost = [2, 3]

    def handle(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        if len(calls) in lost:
            if len(calls) == 2:
                inner.handle_request(request)
            raise httpx.ReadTimeout("late")
        return inner.handle_request(request)

    calls: list[httpx.Request] = []
    inner = api.sandbox.transport()
    from workbench.client.calls.client import Client

    other = Client(
        base_url=api.sandbox.base_url, api_key=api.sandbox.full_key, transport=httpx.MockTransport(handle),
        journal=api.journal,
    )  # fmt: skip
    result = run(other.create_user_application, people(4), path=tmp_path / "run", key="external_id", progress=False)
    found = investigate(api, result)

    assert [one.row for one in found] == lost
    assert [one.proposal for one in found] == ["done", "look it up"]
    assert [one.key for one in found] == ["b-1", "b-2"]
    assert "carried out" in found[0].found
    assert len(to_frame(found)) == 2
    assert result.counts == {"done": 2, "unknown": 2}
    for one in found:  # a person's resolution takes precedence over the evidence
        api.journal.resolve(one.attempt, "not_sent")
    assert [(one.proposal, one.found) for one in investigate(api, result)] == [
        ("not_sent", "the journal says not sent")
    ] * 2


def test_sigterm_awaits_the_rows_in_flight(sandbox: Sandbox, tmp_path: Path) -> None:
    """After SIGTERM, as after Ctrl-C, no row has an unknown outcome."""
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    def slow(number: int) -> None:
        if number == 2:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        time.sleep(0.1)

    path = tmp_path / "run"
    with pytest.raises(SystemExit) as caught:
        run(api_of(sandbox, before=slow).create_user_application, people(20), path=path, workers=2, progress=False)
    done = len(filed(sandbox))

    assert caught.value.code == 143
    assert 1 <= done < 20
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    final = resume(api_of(sandbox), path, people(20), progress=False)
    assert final.ok, final.verdict
    assert len(filed(sandbox)) == 20


@pytest.mark.parametrize("cell", ["1e999999999", "-1e999999999", "9" * 5000])
def test_huge_numbers_are_a_problem_of_their_cell(sandbox: Sandbox, tmp_path: Path, cell: str) -> None:
    """The error names the cell, and is not an error of a library."""
    for suffix in (".csv", ".json", ".ndjson"):
        path = tmp_path / f"rows{suffix}"
        path.write_text(
            f"transaction_id,amount\n00000000-0000-4000-8000-000000000001,{cell}\n" if suffix == ".csv"
            else f'[{{"transaction_id": "00000000-0000-4000-8000-000000000001", "amount": {cell}}}]' if suffix == ".json"
            else f'{{"transaction_id": "00000000-0000-4000-8000-000000000001", "amount": {cell}}}\n'
        )  # fmt: skip
        # InvalidRequest names the row's problem; UsageError means that the file is unreadable
        with pytest.raises((InvalidRequest, UsageError)):
            run(api_of(sandbox).simulate_refund, path, progress=False)


@pytest.mark.parametrize(
    "value",
    [
        b"x",
        datetime(2026, 1, 2, tzinfo=UTC),
        timedelta(1),
        [b"x"],
        {"a": b"x"},
        float("inf"),
        Decimal("1e999"),
        "\ud800",
    ],
    ids=repr,
)
def test_values_without_a_form_in_json_are_a_problem(sandbox: Sandbox, value: Any) -> None:
    """DataFrames and Parquet files can contain any type. A type that JSON lacks is a problem of its row."""
    with pytest.raises(InvalidRows) as refused:
        run(
            api_of(sandbox).update_user,
            [{"user_id": "00000000-0000-4000-8000-000000000001", "first_name": value}],
            progress=False,
        )

    assert [(1, "first_name")] == [(one.row, one.column) for one in refused.value.rows()]


def test_deep_columns_are_a_problem(sandbox: Sandbox, tmp_path: Path) -> None:
    """A column name with too many dots is a problem, however it is spelled."""
    path = tmp_path / "deep.csv"
    with path.open("w") as file:
        csv.writer(file).writerows([["transaction_id", "amount" + ".a" * 20_000], ["x", "1"]])
    with pytest.raises(UsageError):
        run(api_of(sandbox).simulate_refund, path, progress=False)
    with pytest.raises(UsageError):
        run(api_of(sandbox).simulate_refund, [{"amount" + ".a" * 20_000: FULL}], progress=False)


def test_a_column_that_occurs_twice_is_a_problem(sandbox: Sandbox, tmp_path: Path) -> None:
    """Two columns of one name are named as such, since the name itself is right."""
    path = tmp_path / "twice.csv"
    path.write_text("dispute_id,status,status\nx,canceled,canceled\n")
    with pytest.raises(InvalidRows, match=r"status \(column 3\) is one of several columns named status"):
        run(api_of(sandbox).update_dispute, path, progress=False)


def test_a_run_belongs_to_its_world(tmp_path: Path) -> None:
    """A restarted or reset sandbox does not contain the run's records, so the run is refused."""
    path, rows = tmp_path / "run", people(2)
    api = connect(seed=3)
    run(api.create_user_application, rows, path=path, progress=False)

    assert resume(api, path, rows, progress=False).ok
    with pytest.raises(RunChanged, match="world was sandbox"):
        resume(connect(seed=3), path, rows, progress=False)
    api.sandbox.reset()
    with pytest.raises(RunChanged, match="does not contain the run's records"):
        resume(api, path, rows, progress=False)


def test_a_sandbox_in_a_file_keeps_its_world(tmp_path: Path) -> None:
    """A run continues after a restart of a sandbox in a file, embedded or served."""
    path, rows = tmp_path / "run", people(2)
    with connect(path=tmp_path / "sandbox.db") as api:
        run(api.create_user_application, rows, path=path, progress=False)
    with closing(Sandbox(path=tmp_path / "sandbox.db")) as sandbox, sandbox.serve() as url, connect(url) as api:
        with pytest.raises(RunChanged, match="host"):
            resume(api, path, rows, progress=False)
        assert internals(api.sandbox).world_id() == internals(sandbox).world_id()
    with connect(path=tmp_path / "sandbox.db") as api:
        assert resume(api, path, rows, progress=False).ok


def test_rejected_rows_are_guarded_against_spreadsheets(tmp_path):
    """Text that a spreadsheet would run as a formula is quoted in the CSV file, and readers remove the quote."""
    path = tmp_path / "rejected.csv"
    write_rejects(path, {1: ({"nickname": "=HYPERLINK(1)", "=cmd": "x"}, "no")})
    assert "'=HYPERLINK(1)" in path.read_text()
    assert ",=HYPERLINK" not in path.read_text()
    assert "'=cmd" in path.read_text()
    assert raw_bodies(path)[0]["nickname"] == "=HYPERLINK(1)"
