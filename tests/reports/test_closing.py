"""Month-end closes: later events do not change them, balances tie, and the files are reproducible."""

import codecs
import hashlib
import json
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
    """Make, settle, reverse, refund and dispute purchases for about a month, including earlier ones."""
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
    """Return the rewards of the users who made purchases."""
    users = {r["user"] for r in api.sandbox.records("transaction")}
    frame: pd.DataFrame = wb.rewards.fetch(api, sorted(users), progress=False).frame()
    return frame


def dispute_one(api: Any, chance: random.Random, open_: list[str]) -> None:
    """Open a dispute of a settled transaction, and sometimes resolve an open dispute."""
    records = api.sandbox.records("dispute")
    settled = {r["id"] for r in api.sandbox.records("transaction") if r["status"] == "settled"}
    undisputed = [t for t in open_ if t in settled - {record["transaction"] for record in records}]
    if undisputed:
        api.sandbox.open_dispute(chance.choice(undisputed))
    waiting = [record["id"] for record in records if record["status"] in ("pending", "inReview")]
    if waiting and chance.random() < 0.6:
        api.sandbox.resolve_dispute(chance.choice(waiting), status=chance.choice(["accepted", "rejected"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed,tz",
    [
        pytest.param(1, "UTC", marks=pytest.mark.soak),
        (2, "America/New_York"),
        pytest.param(3, "Asia/Tokyo", marks=pytest.mark.soak),
    ],
)
def test_three_closes_in_a_row(seed: int, tz: str, tmp_path: Path) -> None:
    """Later refunds, releases and disputes change no earlier close, balances tie, and no break is left."""
    chance, open_ = random.Random(seed), []
    with wb.connect() as api:
        months, first = ["2026-01", "2026-02", "2026-03"], {}
        for month in months:
            while f"{pd.Timestamp(api.sandbox.clock.now()).tz_convert(tz):%Y-%m}" <= month:
                spend_a_month(api, chance, open_)
            first[month] = wb.history(api).filter(tz=tz).close(month, rewards=points(api))
        table = wb.history(api).postings()
        ledger = tmp_path / "ledger.csv"
        # each posting with its time, as in the ledger of an application
        table[table["net_cents"] != 0].to_csv(ledger, index=False)
        again = {month: wb.history(api).filter(tz=tz).close(month, rewards=points(api)) for month in months}
        statements = {
            month: wb.history(api).filter(tz=tz).close(month, ledger=ledger).frames["Reconciliation"]
            for month in (months[-1:] if seed == 2 else months)
        }
        cards = {record["card"] for record in api.sandbox.records("transaction")}
        balances = [api.sandbox.balance(card) for card in cards]
        whole = wb.history(api).filter(tz=tz).roll_forward()

    for month in months:
        for name, frame in first[month].frames.items():
            pd.testing.assert_frame_equal(frame, again[month].frames[name])
            assert {**frame.attrs, "trace": ""} == {**again[month].frames[name].attrs, "trace": ""}
    for statement in statements.values():
        assert len(statement) == 0
        assert statement.attrs["unexplained"] == {"usd": 0}
    rolled = again["2026-03"].frames["Roll-forward"]
    assert rolled["opening_cents"].tolist()[1:] == rolled["closing_cents"].tolist()[:-1]
    assert not rolled["running"].any()
    disputes, rewards = again["2026-03"].frames["Disputes"], again["2026-03"].frames["Points"]
    assert disputes["opening"].tolist()[1:] == disputes["closing"].tolist()[:-1]
    assert (disputes["opening"] + disputes["opened"] - disputes["resolved"] == disputes["closing"]).all()
    assert disputes["opened"].iloc[-2:].sum() > 0
    assert disputes["resolved"].iloc[-2:].sum() > 0
    assert rewards["opening"].tolist()[1:] == rewards["outstanding"].tolist()[:-1]
    assert rewards["clawed_back"].iloc[-1] > 0
    flows = rewards["opening"] + rewards["earned"] - rewards["clawed_back"] - rewards["redeemed"]
    assert flows.tolist() == rewards["outstanding"].tolist()
    assert whole["net_cents"].sum() == sum(balance.posted - balance.refunded for balance in balances) - _undated(whole)
    assert whole["closing_cents"].iloc[-1] == sum(balance.held for balance in balances)


MONTHS = ("2026-01", "2026-02", "2026-03")
REPORTS = ("Roll-forward", "Spend by category", "Spend by merchant", "Approvals by day", "Declines", "Changes")


def closes(source: Any, folder: Path, count: int = 3) -> list[Any]:
    """Return a close for each month, each compared with the previous one."""
    made: list[Any] = []
    for month in MONTHS[:count]:
        former = folder / made[-1].month if made else None
        made.append(wb.history(source).close(month, signed_by="A. Person", former=former))
        if len(made) < count:
            made[-1].write(folder / month)
    return made


def by_month(facts: pd.DataFrame) -> dict[str, int]:
    """Return the net amount of postings by month."""
    net = facts.groupby(facts["at"].dt.strftime("%Y-%m"))["net_cents"].sum()
    return {str(month): int(cents) for month, cents in net.items() if cents}


@pytest.mark.slow
def test_three_closes_from_every_source(tmp_path: Path) -> None:
    """Session, inbox and log give the same closes. The next close states what arrived late, to the cent."""
    chance, open_ = random.Random(4), list[str]()
    with wb.connect() as api:
        while f"{api.sandbox.clock.now():%Y-%m}" <= MONTHS[-1]:
            spend_a_month(api, chance, open_)
        spend_a_month(api, chance, open_)
        begun = {event.event.body.id for event in api.sandbox.events() if event.payload["action"] == "created"}
        own = [e for e in api.sandbox.events() if e.event.resource == "transaction" and e.event.body.id in begun]
        inbox = [e for e in api.inbox.stored() if e.event.resource == "transaction" and e.event.body.id in begun]
        rows = [{"at": event.at.isoformat(), "event": event.payload} for event in own]
        late = [
            {**row, "at": (pd.Timestamp(row["at"]) + pd.Timedelta(days=9 * (n % 4 == 0))).isoformat()}
            for n, row in enumerate(rows)
        ]
        sources: dict[str, Any] = {"session": own, "inbox": inbox}
        for name, lines in {"log": rows, "late": late}.items():
            sources[name] = tmp_path / f"{name}.ndjson"
            sources[name].write_text("\n".join(json.dumps(row) for row in sorted(lines, key=lambda row: row["at"])))
        made = {name: closes(source, tmp_path / name, 2 if name == "inbox" else 3) for name, source in sources.items()}

    for name in ("inbox", "log"):
        for first, other in zip(made["session"][: len(made[name])], made[name], strict=True):
            assert first.statement == other.statement
            for report in REPORTS:
                pd.testing.assert_frame_equal(first.frames[report], other.frames[report])
    known = {**dict.fromkeys(MONTHS, 0)}
    for number, close in enumerate(made["late"]):
        known[close.month] += by_month(close.frames["Postings"]).get(close.month, 0)
        for month, cents in by_month(close.frames["Prior period"]).items():
            known[month] = known.get(month, 0) + cents
        assert (len(close.frames["Prior period"]) > 0) == any("Prior period: " in line for line in close.statement)
        signed = [line for line in close.statement if line.startswith("Opening: ")]
        assert len(signed) == (number > 0)
    arrived = by_month(wb.history(late).filter(at="2026-04-01").postings())
    assert {month: known[month] for month in MONTHS} == {month: arrived[month] for month in MONTHS}
    assert sum(len(close.frames["Prior period"]) for close in made["late"]) > 0


def _undated(report: pd.DataFrame) -> int:
    """Return the net amount that a report leaves out."""
    return sum(entry.get("net_cents", 0) for entry in report.attrs["left_out"])


@pytest.fixture(scope="module")
def made() -> Any:
    chance, open_ = random.Random(5), list[str]()
    with wb.connect() as api:
        for _ in range(3):
            spend_a_month(api, chance, open_)
        yield wb.history(api).close("2026-01", signed_by="A. Person")


@pytest.mark.slow
def test_the_same_bytes_twice(made: Any, tmp_path: Path) -> None:
    """Two writes of a close give equal files. An existing folder is not overwritten."""
    written = [made.write(tmp_path / name) for name in ("a", "b")]

    for one, other in zip(*written, strict=True):
        assert hashlib.sha256(one.read_bytes()).digest() == hashlib.sha256(other.read_bytes()).digest()
    with pytest.raises(FileExistsError):
        made.write(tmp_path / "a")


def charts(sheet: Any) -> list[Any]:
    """Return the charts of a sheet."""
    return list(sheet._charts)


@pytest.mark.slow
def test_the_workbook_has_all_that_a_reader_needs(made: Any, tmp_path: Path) -> None:
    """The workbook has a cover, formats, totals, filters, frozen heads, charts and definitions."""
    workbook, page, ledger, _ = made.write(tmp_path / "close")
    book = openpyxl.load_workbook(workbook)
    sheet = book["Spend by merchant"]
    heads = {cell.value: cell.column_letter for cell in sheet[1]}
    merchants = made.frames["Spend by merchant"]
    total = sheet[f"{heads['Net (USD)']}{len(merchants) + 2}"]
    cover = " ".join(str(row[0].value) + ": " + str(row[1].value) for row in book["Cover"].iter_rows(max_col=2))

    assert book.sheetnames == ["Cover", *made.frames, "Definitions"]
    assert [row.value * 100 for row in sheet[heads["Net (USD)"]][1 : len(merchants) + 1]] == pytest.approx(
        merchants["net_cents"].tolist()
    )
    assert total.value == f"=SUBTOTAL(109,{heads['Net (USD)']}2:{heads['Net (USD)']}{len(merchants) + 1})"
    assert (sheet.freeze_panes, sheet.auto_filter.ref is not None) == ("B2", True)
    (chart,) = charts(sheet)
    assert charts(book["Postings"]) == []
    assert chart.series[0].cat.numRef.f == f"'Spend by merchant'!$A$2:$A${len(merchants) + 1}"
    assert sheet[f"{heads['Net (USD)']}2"].number_format == "#,##0.00"
    for text in (
        "Time zone: UTC",
        "Currency: USD",
        "Data until: 2026-02-01 00:00:00 UTC",
        "Complete",
        "Signed off by, on: A. Person",
    ):
        assert text in cover
    assert "net_cents divided by 100" in " ".join(str(row[1].value) for row in book["Definitions"].iter_rows(max_col=2))
    assert f"{merchants['net_cents'].sum() / 100:,.2f}" in page.read_text()
    assert ledger.read_bytes().startswith(codecs.BOM_UTF8)
    assert pd.read_csv(ledger)["net_cents"].sum() == made.frames["Postings"]["net_cents"].sum()
    with zipfile.ZipFile(workbook) as file:
        assert any(name.startswith("xl/charts/chart") for name in file.namelist())


def test_the_page_draws_what_the_workbook_draws(made: Any, tmp_path: Path) -> None:
    """Sheets with a chart have bars on the page, in proportion to their numbers. A running period is paler."""
    workbook, page, _, _ = made.write(tmp_path / "close")
    book, text = openpyxl.load_workbook(workbook), page.read_text()
    drawn = [sheet.title for sheet in book if charts(sheet)]
    sheets = {part.partition("<")[0]: part for part in text.split("<h2>")[1:]}
    merchants = made.frames["Spend by merchant"]
    lengths = [float(length) for length in re.findall(r"--length:([\d.]+)%", sheets["Spend by merchant"])]

    assert [name for name, part in sheets.items() if "--length:" in part] == drawn
    assert len(drawn) >= 2
    assert lengths == [round(100 * net / merchants["net_cents"].max(), 1) for net in merchants["net_cents"]]
    rolled = wb.history([*bought("t-1", 5_000, 0), *bought("t-2", 700, 31)]).roll_forward()
    wb.to_file({"Roll-forward": rolled}, tmp_path / "rolled.html")
    assert (tmp_path / "rolled.html").read_text().count('class="running"') == 1


def test_a_pack_is_written_for_people(tmp_path: Path) -> None:
    """Heads have units, periods have names, each note occurs once, and keys scroll wide tables."""
    rows = [*bought("t-1", 5_000, 0, localCurrency="jpy", localAmount=700), *bought("t-2", 700, 31)]
    history = wb.history([*rows, *bought("t-3", 90, 0, currency="eur")]).filter(currency="usd")
    frames = {"By month": history.spend(freq="month"), "By quarter": history.spend(freq="Q-JAN")}
    frames["All"] = history.transactions().iloc[:1]
    frames["Declines"] = history.declines()
    frames["Long"] = pd.concat([frames["All"]] * 41, ignore_index=True)
    frames["Changes"] = history.filter("2026-02").changes("transaction_id")
    wb.to_file(frames, tmp_path / "pack.xlsx")
    wb.to_file(frames, tmp_path / "pack.html")
    page, book = (tmp_path / "pack.html").read_text(), openpyxl.load_workbook(tmp_path / "pack.xlsx")
    sheets = {sheet.title: [[cell.value for cell in row] for row in sheet.iter_rows()] for sheet in book}
    heads = ["Month", "Transactions", "Posted (USD)", "Refunded (USD)", "Net (USD)", "Running"]

    assert sheets["By month"][:4] == [
        heads,
        ["2026-01", 1, 50, 0, 50, "no"],
        ["2026-02", 1, 7, 0, 7, "yes"],
        ["Total", None, "=SUBTOTAL(109,C2:C3)", "=SUBTOTAL(109,D2:D3)", "=SUBTOTAL(109,E2:E3)", None],
    ]
    assert [row[0] for row in sheets["By quarter"][1:3]] == ["FY2026-Q4", "FY2027-Q1"]
    assert {"Card ID", "Local amount (JPY)", "Authorized (USD)"} <= {*sheets["All"][0]}
    assert sheets["All"][1][sheets["All"][0].index("Local amount (JPY)")] == 700
    for note in {note for frame in frames.values() for note in frame.attrs["notes"]}:
        in_all = all(note in frame.attrs["notes"] for frame in frames.values())
        count = 1 if in_all else sum(note in frame.attrs["notes"] for frame in frames.values())
        assert str(page).count(note) == count, note
        assert sum(cell == note for sheet in sheets.values() for row in sheet for cell in row) == count, note
    assert page.count('<div class="wide" tabindex="0" role="region" aria-label="') == sum(
        map(bool, map(len, frames.values()))
    )
    assert page.count('<th scope="col"') == sum(frame.shape[1] for frame in frames.values() if len(frame))
    assert sheets["Declines"][0][0] == "No rows."
    assert sheets["Changes"][3][0] == "Total"
    assert {row[0] for row in sheets["Definitions"][2:]} <= {"Times"}.union(*(sheets[name][0] for name in frames))
    assert [book[name].page_setup.fitToWidth for name in ("By month", "All")] == [None, 3]
    assert [book[name].page_setup.fitToHeight for name in ("By month", "Long")] == [None, 0]
    assert book["All"].print_title_cols == "$A:$A"


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    """Formulas, tags and invalid sheet names are written as text."""
    frame = pd.DataFrame(
        {"merchant_name": ["=1+1", "<script>alert(1)</script>"], "net_cents": pd.array([1, 2], "Int64")}
    )
    names = ["a/b*?:[x]" * 9, "A b", "a b", "History", "cover", *(f"{'x' * 30}{n}" for n in range(3))]
    pack = dict.fromkeys(names, frame)
    wb.to_file(pack, tmp_path / "a.xlsx")
    wb.to_file(pack, tmp_path / "a.html")
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")

    assert len({name.lower() for name in book.sheetnames} - {"history"}) == len(names) + 2
    assert book[book.sheetnames[1]]["A2"].data_type == "s"
    assert "<script>" not in (tmp_path / "a.html").read_text()
    assert "Completeness unknown" in (tmp_path / "a.html").read_text()
    with pytest.raises(UsageError, match=r"supported: \.xlsx, \.html"):
        wb.to_file(pack, tmp_path / "a.csv")


def test_a_month_without_data_or_in_the_future_is_refused() -> None:
    """The error states the range of the data."""
    with wb.connect() as api:
        history = wb.history(api)
        with pytest.raises(UsageError, match=r"2025-07 has no data: the history has postings from 2025-12"):
            history.close("2025-07")
        with pytest.raises(UsageError, match="2026-01 is not over: the data end 2026-01-15"):
            history.close("2026-01")
        with pytest.raises(UsageError, match=r"must be a period such as"):
            history.close("June")
        assert history.filter(at="2026-01-01").close("2025-12").month == "2025-12", "the data end with the month"


@pytest.mark.slow
def test_the_name_stands_in_every_file_and_all_appear_at_once(made: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Each file has the signer's name. If the last file cannot be written, no file appears."""
    workbook, page, ledger, record = made.write(tmp_path / "june")
    texts = [page.read_text(), record.read_text(), (ledger.parent / f"{ledger.name}.notes.txt").read_text()]
    cover = " ".join(str(row[1].value) for row in openpyxl.load_workbook(workbook)["Cover"].iter_rows(max_col=2))

    assert all("A. Person" in text for text in [*texts, cover])
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        made.write(tmp_path / "july")
    assert [path.name for path in tmp_path.iterdir()] == ["june"]


@pytest.mark.slow
def test_what_arrives_late_has_a_line(tmp_path: Path) -> None:
    """A settlement of January that arrives in February is in the prior period of February's close."""
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
        "7.00 USD in the close signed by A. Person, 0.00 USD now; change -7.00 USD" in line
        for line in february.statement
    )


PROFILE = """<oor:items xmlns:oor="http://openoffice.org/2001/registry"><item oor:path="/org.openoffice.Setup/L10N">
<prop oor:name="ooSetupSystemLocale" oor:op="fuse"><value>{}</value></prop></item></oor:items>"""


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice (soffice) is not installed")
@pytest.mark.parametrize("locale, separators", [("en-US", ",."), ("de-DE", ".,")])
def test_libreoffice_opens_the_workbook(made: Any, locale: str, separators: str, tmp_path: Path) -> None:
    """In two languages LibreOffice computes the stated totals, and shows months and complete values."""
    workbook, *_ = made.write(tmp_path / "close")
    profile = tmp_path / "profile" / "user" / "registrymodifications.xcu"
    profile.parent.mkdir(parents=True)
    profile.write_text(PROFILE.format(locale))
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    # the last value of the filter, -1, exports every sheet
    shown = "csv:Text - txt - csv (StarCalc):59,34,76,1,,0,false,true,false,false,false,-1"
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{tmp_path}/profile", "--convert-to", shown]
    command += ["--outdir", str(tmp_path), str(workbook)]
    subprocess.run(command, check=True, capture_output=True, env=environment, timeout=120)
    sheets = {path.stem.removeprefix(f"{workbook.stem}-"): path.read_text() for path in tmp_path.glob("*.csv")}

    assert {*made.frames} <= {*sheets}
    for name in ("Spend by category", "Spend by merchant"):
        total = f"{made.frames[name]['net_cents'].sum() / 100:,.2f}"
        assert total.translate(str.maketrans(",.", separators)) in sheets[name]
    assert re.findall(r"^\d{4}-\d\d;", sheets["Roll-forward"], re.MULTILINE)
    assert [name for name, text in sheets.items() if "###" in text] == []
