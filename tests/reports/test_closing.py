"""The close of months: figures that later events do not change, that tie, and files with the same bytes each time."""

import hashlib
import os
import random
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

import workbench as wb
from tests.reports.test_scope import bought
from workbench.base.errors import UsageError
from workbench.base.schema.rules import FULL


def spend_a_month(api: Any, chance: random.Random, open_: list[str]) -> None:
    """Buy, settle, reverse and refund for a month, also what began in earlier months."""
    cards = api.sandbox.guide()["cards"]["active"][:3]
    for _ in range(12):
        api.sandbox.advance(hours=chance.randint(20, 60))
        bought = api.simulate_authorization(
            card_id=chance.choice(cards), amount=chance.randint(500, 30_000), currency="USD",
            merchant_name=f"Shop {chance.randint(1, 4)}", merchant_category_code="5411",
        )  # fmt: skip
        if bought.status == "authorized":
            open_.append(bought.transaction_id)
        transaction = chance.choice(open_)
        state = api.sandbox.state(transaction)
        if state["status"] == "authorized":
            act = chance.choice(["settle", "settle", "part", "reverse"])
            if act == "reverse":
                api.simulate_reversal(transaction_id=transaction, new_amount=FULL)
            else:
                api.sandbox.settle(transaction, *([max(state["held"] - 100, 1)] if act == "part" else []))
        elif state["status"] == "settled" and state["settled"] > state["refunded"]:
            left = state["settled"] - state["refunded"]
            api.simulate_refund(transaction_id=transaction, amount=chance.randint(1, left))
            dispute_one(api, chance, open_)


def points(api: Any) -> pd.DataFrame:
    """Return the rewards of those who buy."""
    users = {r["user"] for r in api.sandbox.records("transaction")}
    frame: pd.DataFrame = wb.rewards.fetch(api, sorted(users), progress=False).frame()
    return frame


def dispute_one(api: Any, chance: random.Random, open_: list[str]) -> None:
    """Open a dispute of a settled transaction, and resolve one that is open."""
    records = api.sandbox.records("dispute")
    settled = {r["id"] for r in api.sandbox.records("transaction") if r["status"] == "settled"}
    undisputed = [t for t in open_ if t in settled - {record["transaction"] for record in records}]
    if undisputed:
        api.sandbox.open_dispute(chance.choice(undisputed))
    waiting = [record["id"] for record in records if record["status"] in ("pending", "inReview")]
    if waiting and chance.random() < 0.6:
        api.sandbox.resolve_dispute(chance.choice(waiting), status=chance.choice(["accepted", "rejected"]))


@pytest.mark.parametrize(
    "seed,tz",
    [
        pytest.param(1, "UTC", marks=pytest.mark.soak),
        (2, "America/New_York"),
        pytest.param(3, "Asia/Tokyo", marks=pytest.mark.soak),
    ],
)
def test_three_closes_in_a_row(seed: int, tz: str, tmp_path: Path) -> None:
    """Later refunds, releases, clawbacks and disputes change no earlier close; balances tie; the ledger ends at zero."""
    chance, open_ = random.Random(seed), []
    with wb.connect() as api:
        months, first = ["2026-01", "2026-02", "2026-03"], {}
        for month in months:
            while f"{pd.Timestamp(api.sandbox.clock.now()).tz_convert(tz):%Y-%m}" <= month:
                spend_a_month(api, chance, open_)
            first[month] = wb.history(api).filter(tz=tz).close(month, rewards=points(api))
        again = {month: wb.history(api).filter(tz=tz).close(month, rewards=points(api)) for month in months}
        table = wb.history(api).postings()
        ledger = tmp_path / "ledger.csv"
        table[table["net_cents"] != 0].to_csv(ledger, index=False)  # what an application booked, each at its time
        statements = {
            month: wb.history(api).filter(tz=tz).close(month, ledger=ledger).frames["Reconciliation"]
            for month in months
        }
        cards = {record["card"] for record in api.sandbox.records("transaction")}
        balances = [api.sandbox.balance(card) for card in cards]
        whole = wb.history(api).filter(tz=tz).roll_forward()

    for month in months:
        for name, frame in first[month].frames.items():
            pd.testing.assert_frame_equal(frame, again[month].frames[name])
            assert {**frame.attrs, "trace": ""} == {**again[month].frames[name].attrs, "trace": ""}
        assert len(statements[month]) == 0
        assert statements[month].attrs["unexplained"] == {"usd": 0}
    rolled = again["2026-03"].frames["Roll-forward"]
    assert rolled["opening_cents"].tolist()[1:] == rolled["closing_cents"].tolist()[:-1]
    assert not rolled["running"].any()
    disputes, rewards = again["2026-03"].frames["Disputes"], again["2026-03"].frames["Points"]
    assert disputes["opening"].tolist()[1:] == disputes["closing"].tolist()[:-1]
    assert disputes["opened"].iloc[-2:].sum() > 0
    assert disputes["resolved"].iloc[-2:].sum() > 0
    assert rewards["opening"].tolist()[1:] == rewards["outstanding"].tolist()[:-1]
    assert rewards["clawed_back"].iloc[-1] > 0
    flows = rewards["opening"] + rewards["earned"] - rewards["clawed_back"] - rewards["redeemed"]
    assert flows.tolist() == rewards["outstanding"].tolist()
    assert whole["net_cents"].sum() == sum(balance.posted - balance.refunded for balance in balances) - _undated(whole)
    assert whole["closing_cents"].iloc[-1] == sum(balance.held for balance in balances)


def _undated(report: pd.DataFrame) -> int:
    """Return the net of what a report leaves out."""
    return sum(entry.get("net_cents", 0) for entry in report.attrs["left_out"])


@pytest.fixture(scope="module")
def made() -> Any:
    chance, open_ = random.Random(5), list[str]()
    with wb.connect() as api:
        for _ in range(3):
            spend_a_month(api, chance, open_)
        yield wb.history(api).close("2026-01", signed_by="A. Person")


def test_the_same_bytes_twice(made: Any, tmp_path: Path) -> None:
    """A close that is written again is the same file; one that exists is not replaced."""
    written = [made.write(tmp_path / name) for name in ("a", "b")]

    for one, other in zip(*written, strict=True):
        assert hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(other.read_bytes()).digest()
    with pytest.raises(FileExistsError):
        made.write(tmp_path / "a")


def test_the_workbook_has_all_that_a_reader_needs(made: Any, tmp_path: Path) -> None:
    """Cover with time, zone, currency and completeness, formats, totals, filters, frozen heads, charts, definitions."""
    workbook, page, ledger, _ = made.write(tmp_path / "close")
    book = openpyxl.load_workbook(workbook)
    sheet = book["Spend by merchant"]
    heads = {cell.value: cell.column_letter for cell in sheet[1]}
    merchants = made.frames["Spend by merchant"]
    total = sheet[f"{heads['net (USD)']}{len(merchants) + 2}"]
    cover = " ".join(str(row[0].value) + ": " + str(row[1].value) for row in book["Cover"].iter_rows(max_col=2))

    assert book.sheetnames == ["Cover", *made.frames, "Definitions"]
    assert [row.value * 100 for row in sheet[heads["net (USD)"]][1:-1]] == pytest.approx(
        merchants["net_cents"].tolist()
    )
    assert total.value == f"=SUBTOTAL(109,{heads['net (USD)']}2:{heads['net (USD)']}{len(merchants) + 1})"
    assert (sheet.freeze_panes, sheet.auto_filter.ref is not None) == ("B2", True)
    assert len(sheet._charts) == 1
    assert sheet[f"{heads['net (USD)']}2"].number_format == "#,##0.00"
    for text in ("Time zone: UTC", "Currency: USD", "Data until: 2026-02-01 00:00:00 UTC", "Complete", "Signed off by"):
        assert text in cover
    assert "net_cents divided by 100" in " ".join(str(row[1].value) for row in book["Definitions"].iter_rows(max_col=2))
    assert f"{merchants['net_cents'].sum() / 100:,.2f}" in page.read_text()
    assert pd.read_csv(ledger)["net_cents"].sum() == made.frames["Postings"]["net_cents"].sum()
    with zipfile.ZipFile(workbook) as file:
        assert any(name.startswith("xl/charts/chart") for name in file.namelist())


def test_the_page_draws_what_the_workbook_draws(made: Any, tmp_path: Path) -> None:
    """Each sheet with a chart has bars on the page; a bar is as long as its number, that of a running period is paler."""
    workbook, page, _, _ = made.write(tmp_path / "close")
    book, text = openpyxl.load_workbook(workbook), page.read_text()
    drawn = [sheet.title for sheet in book if sheet._charts]
    sheets = {part.partition("<")[0]: part for part in text.split("<h2>")[1:]}
    merchants = made.frames["Spend by merchant"]
    lengths = [float(length) for length in re.findall(r"--length:([\d.]+)%", sheets["Spend by merchant"])]

    assert [name for name, part in sheets.items() if "--length:" in part] == drawn
    assert len(drawn) >= 2
    assert lengths == [round(100 * net / merchants["net_cents"].max(), 1) for net in merchants["net_cents"]]
    rolled = wb.history([*bought("t-1", 5_000, 0), *bought("t-2", 700, 31)]).roll_forward()
    wb.to_file({"Roll-forward": rolled}, tmp_path / "rolled.html")
    assert (tmp_path / "rolled.html").read_text().count('class="running"') == 1


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    """Formulas, tags and names of sheets that a workbook does not take."""
    frame = pd.DataFrame(
        {"merchant_name": ["=1+1", "<script>alert(1)</script>"], "net_cents": pd.array([1, 2], "Int64")}
    )
    pack = {"a/b*?:[x]" * 9: frame, "A b": frame, "a b": frame}
    wb.to_file(pack, tmp_path / "a.xlsx")
    wb.to_file(pack, tmp_path / "a.html")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")

    assert len(book.sheetnames) == len({name.lower() for name in book.sheetnames}) == 5
    assert book[book.sheetnames[1]]["A2"].data_type == "s"
    assert "<script>" not in (tmp_path / "a.html").read_text()
    assert "Completeness unknown" in (tmp_path / "a.html").read_text()
    with pytest.raises(UsageError, match=r"supported: \.xlsx, \.html"):
        wb.to_file(pack, tmp_path / "a.csv")


def test_a_month_without_data_or_in_the_future_is_refused() -> None:
    """The error says how far the data reach."""
    with wb.connect() as api:
        history = wb.history(api)
        with pytest.raises(UsageError, match=r"2025-07 has no data: the history has postings from 2025-12"):
            history.close("2025-07")
        with pytest.raises(UsageError, match="2026-01 is not over: the data end 2026-01-15"):
            history.close("2026-01")
        with pytest.raises(UsageError, match=r"must be a period such as"):
            history.close("June")


def test_the_name_stands_in_every_file_and_all_appear_at_once(made: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """A close that fails on its last file leaves nothing; one that is written has the name and the statement."""
    workbook, page, ledger, record = made.write(tmp_path / "june")
    texts = [page.read_text(), record.read_text(), (ledger.parent / f"{ledger.name}.notes.txt").read_text()]
    cover = " ".join(str(row[1].value) for row in openpyxl.load_workbook(workbook)["Cover"].iter_rows(max_col=2))

    assert all("A. Person" in text for text in [*texts, cover])
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        made.write(tmp_path / "july")
    assert [path.name for path in tmp_path.iterdir()] == ["june"]


def test_what_arrives_late_has_a_line(tmp_path: Path) -> None:
    """A settlement of January that arrives in February is a row of the prior period, and changes the opening."""
    rows = [*bought("t-1", 5_000, 0), *bought("t-2", 700, 1)]
    late = rows.pop()
    known = [*rows, {"at": "2026-02-01T00:00:00+00:00", "event": bought("t-9", 1, 0)[0]["event"]}]
    closed = wb.history([*rows, *bought("t-3", 100, 40)]).close("2026-01", signed_by="A. Person")
    closed.write(tmp_path / "january")
    arrived = {**late, "at": "2026-02-05T00:00:00+00:00"}
    after = wb.history([*rows, arrived, *bought("t-3", 100, 40), *bought("t-4", 100, 70)])
    february = after.close("2026-02", former=tmp_path / "january")

    assert known
    assert february.frames["Prior period"]["posting"].tolist()[:1] == ["settlement"]
    assert any(
        "signed 7.00 USD by A. Person, now 0.00 USD: changed by -7.00 USD" in line for line in february.statement
    )


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice (soffice) is not installed")
def test_libreoffice_opens_the_workbook(made: Any, tmp_path: Path) -> None:
    """It computes the totals that the file states, and shows no value as too wide."""
    workbook, *_ = made.write(tmp_path / "close")
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    shown = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1"  # every sheet
    command = ["soffice", "--headless", "--convert-to", shown, "--outdir", str(tmp_path), str(workbook)]
    subprocess.run(command, check=True, capture_output=True, env=environment, timeout=120)
    sheets = {path.stem.removeprefix(f"{workbook.stem}-"): path.read_text() for path in tmp_path.glob("*.csv")}

    assert {*made.frames} <= {*sheets}
    for name in ("Spend by category", "Spend by merchant"):
        assert f"{made.frames[name]['net_cents'].sum() / 100:,.2f}" in sheets[name]
    assert [name for name, text in sheets.items() if "###" in text] == []
