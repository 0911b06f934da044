"""A reader for files of any program: a value is right, or the file is refused with a question or a problem."""

import random
import shutil
import subprocess
import tomllib
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.charts import samples
from tests.each import each
from tests.tables import bank_files
from tests.tables.bank_files import COUNTRIES, FILES, TEXTS, Style, Truth, answers, expected, truth, written
from workbench.analysis.sheets.encodings import decoded
from workbench.analysis.sheets.questions import UnclearTable
from workbench.base.errors import UsageError


def values(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the cells of a frame as Python objects, with None for missing ones."""
    return {str(name): [None if pd.isna(value) else value for value in frame[name].tolist()] for name in frame}


def same(frame: pd.DataFrame, columns: dict[str, Any]) -> bool:
    return values(frame) == {name: list(column) for name, column in columns.items()}


def read(path: Path, right: dict[str, Any]) -> tuple[pd.DataFrame, list[str]]:
    """Read a file, answering each question; return the frame and the arguments of the answers."""
    given: dict[str, Any] = {}
    for _ in range(8):
        try:
            return wb.read_table(path, **given), [*given]
        except UnclearTable as error:
            question = error.questions[0]
        assert question.argument not in given, question
        assert repr(right[question.argument]) in question.readings, question
        given[question.argument] = right[question.argument]
    raise AssertionError("too many questions")


@pytest.mark.parametrize("name", FILES)
def test_files_of_banks_are_right_after_their_questions(tmp_path: Path, name: str) -> None:
    """Files of banks are read correctly. The only question is sometimes the encoding."""
    style = FILES[name]
    table = truth(7, style.language)
    path = tmp_path / "bank.csv"
    path.write_bytes(written(table, style))

    frame, asked = read(path, answers(style))

    assert same(frame, expected(table, style))
    assert set(asked) <= {"encoding"}, asked


TWO_READINGS: dict[str, tuple[str, str, set[str]]] = {
    "dates": ("day\n03/04/2026\n", "dates", {"'d/m/y'", "'m/d/y'"}),
    "short years": ("day\n03/04/26\n", "dates", {"'d/m/y'", "'m/d/y'", "'y/m/d'"}),
    "decimals": ('a;b\nx;1,234\n', "decimal", {"'.'", "','"}),
    "times": ("at,a\n2026-03-04 10:00,x\n", "tz", {"'UTC'", "'Europe/Berlin'"}),
    "balances": ("day,text,a\n2026-03-01,x,1.50\n2026-03-02,y,2.50\n,Balance,7.00\n", "totals", {"'drop'", "'keep'"}),
    "a shop or a total": ("day,text,a\n2026-03-01,x,5.50\n2026-03-02,TOTAL,5.50\n2026-03-03,y,1.00\n", "totals", {"'drop'", "'keep'"}),
    "full balances": ("day,a\n2026-03-01,1.50\n2026-03-02,2.50\nBalance,7.00\n", "totals", {"'drop'", "'keep'"}),
    "separators": ("a;b,c\nx;y,z\nu;v,w\n", "separator", {"';'", "','"}),
}  # fmt: skip


@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_a_total_is_not_a_row(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """A total in any position is left out or leads to a question, and no other row is lost."""
    cents = data.draw(st.lists(st.integers(1, 10**6), min_size=2, max_size=5))
    rows = [["2026-03-01", f"shop {n}", str(n + 1), f"{value / 100:.2f}", "EUR"] for n, value in enumerate(cents)]
    total = [
        "",
        "",
        str(sum(range(1, len(cents) + 1))),
        f"{sum(cents) / 100:.2f}",
        data.draw(st.sampled_from(["", "EUR"])),
    ]
    kept = sorted(
        {
            data.draw(st.integers(0, 1)),
            *data.draw(st.sets(st.integers(0, 2))),
            3,
            *data.draw(st.just({4}) | st.just(set())),
        }
    )
    place = data.draw(st.sampled_from([column for column in kept if column < 2]))
    total[place] = data.draw(st.sampled_from(["Total", "TOTAL", "Summe", "Grand total"]))
    lines = [
        ",".join(row[column] for column in kept) for row in [["day", "text", "n", "amount", "currency"], *rows, total]
    ]
    path = tmp_path_factory.mktemp("total") / "a.csv"
    path.write_text("\n".join(lines))

    frame, _ = read(path, {"totals": "drop"})
    assert [round(float(value) * 100) for value in frame["amount"]] == cents
    assert [row["reason"] for row in frame.attrs["left_out"]] == ["total"]


def test_a_shop_with_the_name_of_a_total_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "day,text,amount\n2026-03-01,Total Energies,5.50\n2026-03-02,TOTAL,7.10\n2026-03-03,x,1.00\n"
    )

    assert len(wb.read_table(tmp_path / "a.csv")) == 3


WESTERN = ("cp1252", "iso8859-15", "cp850", "mac-roman")
CODECS = {
    "de": WESTERN, "es": WESTERN, "it": WESTERN, "sv": WESTERN, "fr": ("cp1252", "mac-roman"), "pl": ("cp1250",),
    "ru": ("cp1251",), "ja": ("gb18030", "cp932"), "zh": ("gb18030",), "signs": ("cp1252",),
}  # fmt: skip
WORDS = {
    **TEXTS, "sv": ("Åsa i Malmö", "Räksmörgås"), "pl": ("Łódź", "Gdańsk"), "ru": ("Москва, улица", "Ёлка № 5"),
    "zh": ("上海", "北京"), "signs": ("a‰¤¼",),
}  # fmt: skip


@each("language", CODECS)
def test_letters_are_those_of_a_language_or_a_question(language: str) -> None:
    """European encodings are recognized by their letters. For others the right one is among the answers."""
    text, asked = "\n".join(WORDS[language]), []
    for codec in ("utf-8", "utf-16", *CODECS[language]):
        try:
            letters = decoded(text.encode(codec), None)
        except UnclearTable as error:
            asked.append(codec)
            letters = error.questions[0].readings[repr(codec)].removeprefix("letters ")
        assert letters[:2] in text

    assert asked == {"ja": ["cp932"], "zh": ["gb18030"], "signs": ["cp1252"]}.get(language, [])


@pytest.mark.parametrize("name", TWO_READINGS)
def test_two_valid_readings_are_one_question(tmp_path: Path, name: str) -> None:
    text, argument, readings = TWO_READINGS[name]
    (tmp_path / "a.csv").write_text(text)

    with pytest.raises(UnclearTable) as caught:
        wb.read_table(tmp_path / "a.csv")

    (question,) = caught.value.questions
    assert (question.argument, set(question.readings)) == (argument, readings)


@pytest.mark.parametrize("text", ["05/05/2026", "13/04/2026", "2026-04-03", "3 Apr 2026", "2026年4月3日"])
def test_dates_with_one_meaning_are_taken(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(f"day\n{text}\n", encoding="utf-8")

    assert wb.read_table(tmp_path / "a.csv")["day"].tolist()[0] in {
        date(2026, 5, 5),
        date(2026, 4, 13),
        date(2026, 4, 3),
    }


def test_ids_stay_text(tmp_path: Path) -> None:
    """Whole numbers stay text, so that leading zeros and groups of digits are preserved."""
    (tmp_path / "a.csv").write_text("id;phone;siren;n\n007;+49 301 234;552 100 554;12\n")

    assert values(wb.read_table(tmp_path / "a.csv")) == {
        "id": ["007"], "phone": ["+49 301 234"], "siren": ["552 100 554"], "n": ["12"],
    }  # fmt: skip


DESTROYED = ("1.23457E+11", "1,2E+15", "#REF!", "#N/A", "#NAME?", "########", '="000123"', "#BEZUG!", "#VALUE!")


@pytest.mark.parametrize("cell", DESTROYED)
def test_cells_that_a_spreadsheet_destroyed_are_named(tmp_path: Path, cell: str) -> None:
    quoted = '"' + cell.replace('"', '""') + '"'
    (tmp_path / "a.csv").write_text(f"id;a\n1;x\n2;y\n{quoted};z\n")

    with pytest.raises(UsageError, match=r"a\.csv, line 4 id (is|has)"):
        wb.read_table(tmp_path / "a.csv")
    frame = wb.read_table(tmp_path / "a.csv", rejects=tmp_path / "rejects.csv")
    assert frame["id"].tolist() == ["1", "2"]
    assert "4" in (tmp_path / "rejects.csv").read_text()


def test_a_ledger_is_mapped_once_and_kept(tmp_path: Path) -> None:
    """Column names and answers are stored in a TOML file, and apply to the next file."""
    (tmp_path / "march.csv").write_text("Datum;Soll;Haben;Beleg\n03/04/2026;1.234,50;;007\n04/04/2026;;12,00;008\n")
    (tmp_path / "april.csv").write_text("Datum;Soll;Haben;Beleg\n05/04/2026;;3,25;009\n")
    how: dict[str, Any] = {"dates": "d/m/y", "credit": "+", "currency": "EUR"}
    columns = {"at": "Datum", "debit": "Soll", "credit": "Haben", "key": "Beleg"}

    first = wb.read_table(tmp_path / "march.csv", columns=columns, mapping=tmp_path / "bank.toml", **how)
    second = wb.read_table(tmp_path / "april.csv", mapping=tmp_path / "bank.toml")

    assert tomllib.loads((tmp_path / "bank.toml").read_text()) == {"columns": columns, **how}
    assert first["amount_cents"].tolist() == [-123450, 1200]
    assert values(second) == {"at": [date(2026, 4, 5)], "amount_cents": [325], "currency": ["eur"], "key": ["009"]}
    (tmp_path / "april.csv.toml").write_bytes((tmp_path / "bank.toml").read_bytes())
    assert "april.csv.toml" in wb.read_table(tmp_path / "april.csv").attrs["notes"][0]


ODD_ANSWERS = (
    "dates = 5",
    "colour = 1",
    "columns = ['a']",
    "header = -1",
    "tz = 'Nowhere'",
    "= =",
    "currency = 'EURO'",
)


@pytest.mark.parametrize("text", ODD_ANSWERS)
def test_answers_are_checked(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text("a\nx\n")
    (tmp_path / "a.csv.toml").write_text(text)

    with pytest.raises(UsageError, match="read_table"):
        wb.read_table(tmp_path / "a.csv")


@pytest.mark.parametrize("first", ["open;usd", "2026-03-01;usd", "2026-03-02;1,50"])
def test_a_first_row_of_values_is_not_taken_for_names(tmp_path: Path, first: str) -> None:
    """Numbers, dates and repeated cells are not taken for column names. `header=0` reads them as a row."""
    (tmp_path / "a.csv").write_text(f"{first}\n2026-03-03;usd\n2026-03-04;usd\n")

    with pytest.raises(UsageError, match="no line has column names"):
        wb.read_table(tmp_path / "a.csv")
    assert wb.read_table(tmp_path / "a.csv", header=0).shape == (3, 2)


@pytest.mark.parametrize("ending", ["comma", "semicolon", "tab", "bar", "xlsx"])
def test_two_possible_lines_of_names_are_one_question(tmp_path: Path, ending: str) -> None:
    """The second line is above more columns of numbers and dates, but the first line may have the names as well."""
    rows = ["Account Period Owner", "Date Count Text", "2026-03-01 12 Shop", "2026-03-02 13 Cafe"]
    separator = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}.get(ending, ",")
    file = tmp_path / f"a.{'xlsx' if ending == 'xlsx' else 'csv'}"
    if ending == "xlsx":
        pd.DataFrame([row.split() for row in rows]).to_excel(file, header=False, index=False)
    else:
        file.write_text("\n".join(row.replace(" ", separator) for row in rows))

    with pytest.raises(UnclearTable, match="the line with the column names") as caught:
        wb.read_table(file)
    assert [question.argument for question in caught.value.questions] == ["header"]
    for header in (1, 2):
        frame = wb.read_table(file, header=header)
        assert [*frame] == rows[header - 1].split()
        assert len(frame) == len(rows) - header


UNITS = {
    "fractions are main units": ("a\n12.50\n3.00\n", "EUR", {}, [1250, 300]),
    "yen have no minor unit": ("a\n1250\n", "JPY", {}, [1250]),
    "cents by argument": ("a\n1250\n", "EUR", {"unit": "cents"}, [1250]),
    "main by argument": ("a\n1250\n", "EUR", {"unit": "main"}, [125000]),
    "whole numbers are asked for": ("a\n1250\n", "EUR", {}, "unit="),
    "no currency is assumed": ("a\n12.50\n", None, {}, "currency="),
    "a thousandth is a problem": ("a\n12.505\n3.5\n", "EUR", {}, "more decimal places"),
    "an empty amount is a problem": ("a;b\n12.50;x\n;y\n", "EUR", {}, "is empty"),
}


@pytest.mark.parametrize("name", UNITS)
def test_units_are_stated(tmp_path: Path, name: str) -> None:
    text, currency, more, found = UNITS[name]
    (tmp_path / "a.csv").write_text(text)
    how: dict[str, Any] = {"columns": {"amount": "a"}, "currency": currency, **more}

    if isinstance(found, str):
        with pytest.raises(UsageError, match=found):
            wb.read_table(tmp_path / "a.csv", **how)
    else:
        assert wb.read_table(tmp_path / "a.csv", **how)["amount_cents"].tolist() == found


def test_names_of_the_file_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,currency\n12.50,mine\n")

    with pytest.raises(UsageError, match="rename that column"):
        wb.read_table(tmp_path / "a.csv", columns={"amount": "a"}, currency="EUR")


def test_a_known_other_side_proposes_answers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("day;a\n03/04/2026;1,234\n05/04/2026;2,345\n")
    mine = pd.DataFrame({"at": [date(2026, 4, 3), date(2026, 4, 5)], "amount_cents": [123400, 234500]})

    with pytest.raises(UnclearTable) as caught:
        wb.read_table(tmp_path / "a.csv", against=mine)

    assert {question.argument: question.proposed for question in caught.value.questions} == {
        "dates": "'d/m/y'", "decimal": "'.'",
    }  # fmt: skip


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".parquet"])
@pytest.mark.parametrize("tz", ["UTC", "America/New_York"])
def test_our_own_files_come_back_to_the_cent(tmp_path: Path, ending: str, tz: str) -> None:
    """A saved frame has the same ids, times, codes and amounts when read back."""
    frame = samples.spent().head(40)
    path = wb.to_file(frame, tmp_path / f"a{ending}", tz=tz).path
    read = wb.read_table(path)

    assert [*read] == [*frame]
    for name in ("transaction_id", "merchant_category_code", "authorized_cents", "net_cents", "authorized_at"):
        assert read[name].astype("str").tolist() == frame[name].astype("str").tolist(), name


def test_dates_that_a_spreadsheet_took_for_months_are_asked_for(tmp_path: Path) -> None:
    """Swapped days and months, as from an American spreadsheet, lead to a question."""
    book = openpyxl.Workbook()
    for row in (
        ["day", "a"],
        [date(2026, 3, 4), 1.5],
        ["13/04/2026", 2.5],
        [date(2026, 5, 4), 3.5],
        ["25/04/2026", 4.5],
    ):
        book.worksheets[0].append(row)
    book.save(tmp_path / "a.xlsx")

    with pytest.raises(UnclearTable, match=r"'d/m/y' \(line 2 is 2026-03-04\) or dates='d/m/y swapped'"):
        wb.read_table(tmp_path / "a.xlsx")
    days = wb.read_table(tmp_path / "a.xlsx", dates="d/m/y swapped")["day"].tolist()
    assert days == [date(2026, 4, 3), date(2026, 4, 13), date(2026, 4, 5), date(2026, 4, 25)]


def test_serial_numbers_are_dates_where_dates_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("day;a\n46085;1,50\n46090;2,50\n")

    with pytest.raises(UnclearTable, match=r"'excel' .line 2 is 2026-03-04. or dates='excel 1904'"):
        wb.read_table(tmp_path / "a.csv", columns={"at": "day"})
    read = wb.read_table(tmp_path / "a.csv", columns={"at": "day"}, dates="excel")
    assert read["at"].tolist() == [date(2026, 3, 4), date(2026, 3, 9)]
    assert wb.read_table(tmp_path / "a.csv")["day"].tolist() == ["46085", "46090"]


def test_sides_in_a_column_are_asked_for(tmp_path: Path) -> None:
    """If another column says S or H, amounts without a sign are not taken as positive."""
    (tmp_path / "a.csv").write_text("day;a;s\n2026-03-01;12,50;S\n2026-03-02;3,00;H\n")
    how: dict[str, Any] = {"currency": "EUR", "columns": {"at": "day", "amount": "a"}}

    with pytest.raises(UnclearTable, match="'side': 's'"):
        wb.read_table(tmp_path / "a.csv", **how)
    how["columns"]["side"] = "s"
    assert wb.read_table(tmp_path / "a.csv", credit="+", **how)["amount_cents"].tolist() == [-1250, 300]


def test_formulas_of_a_workbook_are_read_as_their_stored_values(tmp_path: Path) -> None:
    """A workbook with a formula that has no stored value is refused."""
    book = openpyxl.Workbook()
    book.worksheets[0].append(["name", "amount"])
    book.worksheets[0].append(["x", "=1+1"])
    book.save(tmp_path / "a.xlsx")

    with pytest.raises(UsageError, match="formulas have no stored values"):
        wb.read_table(tmp_path / "a.xlsx")


def test_hidden_rows_and_other_sheets_are_said(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for name in ("March", "April"):
        page = book.create_sheet(name)
        page.append(["name", "amount"])
        page.append(["x", 1.5])
    book.remove(book.worksheets[0])
    book.worksheets[0].row_dimensions[2].hidden = True
    book.save(tmp_path / "a.xlsx")

    with pytest.raises(UnclearTable, match=r"pass sheet='March' \(2 rows\) or sheet='April'"):
        wb.read_table(tmp_path / "a.xlsx")
    assert wb.read_table(tmp_path / "a.xlsx", sheet="March").attrs["notes"][0].startswith("1 hidden")


def sheet(path: Path, table: Truth, language: str) -> None:
    """Write a workbook with dates, numbers, a title and a total."""
    book = openpyxl.Workbook()
    page = book.worksheets[0]
    page.append(["Export", None, None, None])
    page.append([])
    page.append([*bank_files.NAMES[language]])
    for day, reference, text, amount in table.rows:
        page.append([day, reference, text, amount])
        page.cell(page.max_row, 1).number_format = "DD/MM/YYYY"
        page.cell(page.max_row, 4).number_format = "#,##0.00"
    page.append([None, None, bank_files.TOTALS[language], f"=SUM(D4:D{page.max_row})"])
    book.save(path)


LANGUAGES = {
    "en": (1033, "76"),
    "de": (1031, "1"),
    "fr": (1036, "76"),
    "es": (3082, "1"),
    "it": (1040, "76"),
    "ja": (1041, "76"),
}
"""Microsoft's number of a language, and LibreOffice's number of an encoding: 1 for cp1252, 76 for UTF-8."""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice (soffice) is not installed")
@pytest.mark.parametrize(
    "language", [pytest.param(each, marks=() if each == "de" else pytest.mark.soak) for each in LANGUAGES]
)
def test_files_of_libreoffice_are_right_after_their_questions(tmp_path: Path, language: str) -> None:
    """Workbooks and CSV files of LibreOffice are read correctly in each language."""
    table = truth(11, language)
    sheet(tmp_path / "made.xlsx", table, language)
    number, encoding = LANGUAGES[language]
    csv = f"csv:Text - txt - csv (StarCalc):59,34,{encoding},1,,{number},false,true,false"
    for target, folder in (("xlsx:Calc MS Excel 2007 XML", "book"), (csv, "text")):
        command = ["soffice", "--headless", f"-env:UserInstallation=file://{tmp_path}/profile", "--convert-to", target]
        subprocess.run(
            [*command, "--outdir", str(tmp_path / folder), str(tmp_path / "made.xlsx")], check=True, capture_output=True
        )
    right = {
        "dates": "d/m/y",
        "decimal": {"en": ".", "ja": "."}.get(language, ","),
        "encoding": "cp1252",
        "totals": "drop",
    }
    columns = dict(zip(bank_files.NAMES[language], zip(*table.rows, strict=True), strict=True))

    book, asked = read(tmp_path / "book" / "made.xlsx", right)
    text, more = read(tmp_path / "text" / "made.csv", right)

    assert [same(book, columns), same(text, columns)] == [True, True], (values(book), values(text))
    assert {*asked, *more} <= {"encoding"}


@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_no_value_is_silently_wrong(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """In any style, values are right or the file is refused. With all answers they are right."""
    style = Style(
        language=data.draw(st.sampled_from([*bank_files.NAMES])),
        order=data.draw(st.sampled_from(["d/m/y", "m/d/y", "y/m/d"])),
        mark=data.draw(st.sampled_from("/-")),
        decimal=data.draw(st.sampled_from(".,")),
        negative=data.draw(st.sampled_from(["minus", "trailing", "brackets", "triangle"])),
        separator=data.draw(st.sampled_from(",;\t|")),
        titles=data.draw(st.integers(0, 2)), blank=data.draw(st.booleans()), total=data.draw(st.booleans()),
        encoding=data.draw(st.sampled_from(["utf-8", "utf-16", "utf-8-sig", "cp1252", "cp850", "mac-roman", "cp932"])),
    )  # fmt: skip
    table = truth(
        data.draw(st.integers(0, 99)), style.language, data.draw(st.integers(1, 6)), early=data.draw(st.booleans())
    )
    path = tmp_path_factory.mktemp("table") / "a.csv"
    with suppress(UnicodeEncodeError):
        path.write_bytes(written(table, style))
    assume(path.exists())

    try:
        frame = wb.read_table(path)
    except UsageError:
        pass
    else:
        assert same(frame, expected(table, style))
    assert same(wb.read_table(path, **answers(style)), expected(table, style))


def test_damaged_files_raise_no_error_of_python(tmp_path: Path) -> None:
    draw = random.Random(5)
    for style in (COUNTRIES["de"], COUNTRIES["us"]):
        data = written(truth(1, style.language, 4), style)
        for _ in range(60):
            changed = bytearray(data)
            for _ in range(draw.randint(1, 4)):
                changed[draw.randrange(len(changed))] = draw.randrange(256)
            (tmp_path / "a.csv").write_bytes(
                bytes(changed[: draw.choice([len(changed), draw.randrange(len(changed))])])
            )
            with suppress(UsageError):
                wb.read_table(tmp_path / "a.csv", columns={"at": "Buchungstag"} if draw.random() < 0.3 else None)


NAMELESS = {
    "an index of pandas": (",Date,Amount\n0,2026-03-31,1.50\n", ["column 1", "Date", "Amount"]),
    "a mark of the side at the end": ("Date;Amount;\n2026-03-31;1.50;S\n", ["Date", "Amount", "column 3"]),
    "a separator at the end of each line": ("Date;Amount;\n2026-03-31;1.50;\n", ["Date", "Amount"]),
    "one name twice": ("Date,Cur,Amount,Cur\n2026-03-31,EUR,1.50,EUR\n", ["Date", "Cur (column 2)", "Amount", "Cur (column 4)"]),
}  # fmt: skip


@pytest.mark.parametrize("head", [",column 1,Amount", "Cur,Cur,Cur (column 2)"])
def test_a_name_by_place_that_another_column_has_is_refused(tmp_path: Path, head: str) -> None:
    """A generated column name that equals another name is refused, because it would overwrite the column."""
    path = tmp_path / "a.csv"
    path.write_text(f"{head}\na,b,1.50\n")

    with pytest.raises(UsageError, match="duplicate column: "):
        wb.read_table(path)


@pytest.mark.parametrize("name", NAMELESS)
def test_columns_without_a_name_of_their_own_are_named_by_place(tmp_path: Path, name: str) -> None:
    """Columns with an empty or repeated name are named by position, and keep their values."""
    text, names = NAMELESS[name]
    path = tmp_path / "a.csv"
    path.write_text(text)

    frame = wb.read_table(path)
    assert list(frame) == names
    assert str(frame.iloc[0]["Amount"]) == "1.500000"
    if "Cur" in text:
        with pytest.raises(UsageError, match=r"Cur \(column 2\), Amount, Cur \(column 4\)"):
            wb.read_table(path, columns={"amount": "Amount", "currency": "Cur"})


@pytest.mark.parametrize(
    "head, problem",
    [
        ("transaction_id,,amount", "column 2 is not a member of SimulateRefund"),
        ("transaction_id,amount,amount", "amount (column 2) is one of several columns named amount"),
    ],
    ids=["no name", "twice"],
)
def test_a_bulk_run_refuses_columns_without_a_name_of_their_own(tmp_path: Path, head: str, problem: str) -> None:
    """Columns named by position are no members, so nothing is sent."""
    (tmp_path / "a.csv").write_text(f"{head}\n1,2,3\n")

    with wb.connect(seed=7) as api:
        with pytest.raises(wb.InvalidRequest) as raised:
            wb.bulk.run(api.simulate_refund, tmp_path / "a.csv")
        assert not list(api.journal)
    assert problem in str(raised.value)
