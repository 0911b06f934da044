"""Words and marks of banks in several languages have one meaning, or the file is refused with a question."""

import decimal
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.analysis.sheets.questions import UnclearTable
from workbench.base.errors import UsageError

HOW: dict[str, Any] = {"currency": "EUR", "columns": {"at": "day", "amount": "a"}}


def read(path: Path, text: str, **how: Any) -> list[int]:
    """Return the amounts of a file in cents."""
    (path / "a.csv").write_text(text, encoding="utf-8")
    cents: list[int] = wb.read_table(path / "a.csv", **{**HOW, **how})["amount_cents"].tolist()
    return cents


SIDES = {
    "Spanish": ("Cargo", "Abono"), "Spanish, long": ("Débito", "Crédito"), "Polish": ("Wn", "Ma"),
    "Polish, short": ("OBC", "UZN"), "Polish, long": ("Obciążenie", "Uznanie"), "Swiss": ("Belastung", "Gutschrift"),
    "German": ("Ausgang", "Eingang"), "Japanese": ("出金", "入金"), "Japanese, books": ("借方", "貸方"),
    "Italian": ("Addebito", "Accredito"), "English": ("Withdrawal", "Deposit"), "of wallets": ("OUT", "IN"),
    "of cards": ("Purchase", "Refund"), "only credits marked": ("", "CR"), "only debits marked": ("-", ""),
}  # fmt: skip


@pytest.mark.parametrize("language", SIDES)
def test_a_column_of_sides_is_asked_for(tmp_path: Path, language: str) -> None:
    """If another column may say credit or debit, in any language, amounts without a sign are not taken as positive."""
    debit, credit = SIDES[language]
    text = f"day;a;s\n2026-03-01;12,50;{debit}\n2026-03-02;3,00;{credit}\n"
    with pytest.raises(UnclearTable, match=r"'side': 's'.*'text': 's'"):
        read(tmp_path, text)

    columns = HOW["columns"]
    assert read(tmp_path, text, columns=columns | {"side": "s"}, credit="+") == [-1250, 300]
    assert read(tmp_path, text, columns=columns | {"text": "s"}) == [1250, 300]


MARKS = {
    "only credits are marked": (("12,50", ""), ("3,00", "CR")),
    "only debits are marked": (("12,50", "DR"), ("3,00", "")),
    "a minus sign beside the mark": (("-12,50", "DR"), ("3,00", "CR")),
}


@pytest.mark.parametrize("case", MARKS)
@pytest.mark.parametrize("credit, cents", [("+", [-1250, 300]), ("-", [1250, -300])])
def test_an_amount_without_a_mark_is_of_the_other_side(
    tmp_path: Path, case: str, credit: str, cents: list[int]
) -> None:
    """Often only one side is marked. A minus sign beside the mark does not reverse the side again."""
    cells = "".join(f"2026-03-01;{amount} {mark}\n" for amount, mark in MARKS[case])
    column = "".join(f"2026-03-01;{amount};{mark}\n" for amount, mark in MARKS[case])

    assert read(tmp_path, f"day;a\n{cells}", credit=credit) == cents
    assert read(tmp_path, f"day;a;s\n{column}", columns=HOW["columns"] | {"side": "s"}, credit=credit) == cents


def test_an_amount_without_a_mark_beside_both_marks_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line 4 a says neither credit nor debit"):
        read(tmp_path, "day;a\n2026-03-01;1,50 DR\n2026-03-02;3,00 CR\n2026-03-03;4,00\n", credit="+")


BALANCES = {
    "before, without a date": ";Opening balance;100,00\n2026-03-01;x;1,50\n2026-03-02;y;2,50\n",
    "after, without a date": "2026-03-01;x;1,50\n2026-03-02;y;2,50\n;Kontostand am 31.03.2026;104,00\n",
    "with a date": "2026-03-01;Ancien solde;100,00\n2026-03-01;x;1,50\n2026-03-02;y;2,50\n",
    "in Polish": "2026-03-01;x;1,50\n2026-03-02;y;2,50\n;Stan końcowy;104,00\n",
    "in Japanese, with a date": "2026-03-01;前月繰越;100,00\n2026-03-02;x;1,50\n2026-03-03;y;2,50\n",
    "of a page": "2026-03-01;x;1,50\n2026-03-01;y;2,50\n;Page total;4,00\n2026-03-02;z;2,00\n",
    "a row without a date": "2026-03-01;x;1,50\n;y;2,50\n2026-03-03;z;104,00\n",
}


@pytest.mark.parametrize("case", BALANCES)
def test_a_balance_is_not_a_row_without_a_word(tmp_path: Path, case: str) -> None:
    """A balance or total, in any language, is left out or leads to a question."""
    text = "day;text;a\n" + BALANCES[case]
    try:
        found = read(tmp_path, text)
    except UnclearTable:
        found = read(tmp_path, text, totals="drop")

    kept = read(tmp_path, text, totals="keep")
    assert (len(kept), len(found)) == (text.count("\n") - 1, text.count("\n") - 2)


@pytest.mark.parametrize(
    "name", ["a (TEUR)", "a in thousands", "a (000s)", "a k€", "a in Mio. EUR", "金額（千円）", "amount_usd_thousands"]
)
def test_thousands_are_not_taken_for_units(tmp_path: Path, name: str) -> None:
    """A column name with thousands or millions leads to a question, which `unit` answers."""
    text, columns = f"day;{name}\n2026-03-01;12,50\n", {"at": "day", "amount": name}
    with pytest.raises(UnclearTable, match=r"unit='main'"):
        read(tmp_path, text, columns=columns)
    assert read(tmp_path, text, columns=columns, unit="main") == [1250]


@pytest.mark.parametrize("name, asked", [("amount_cents", False), ("Betrag in Cent", True), ("Amount (minor)", True)])
def test_cents_with_zeros_after_the_mark_stay_cents(tmp_path: Path, name: str, asked: bool) -> None:
    """pandas writes whole numbers as 1250.0 if a cell of their column is empty."""
    text, columns = f"day;{name}\n2026-03-01;1250.0\n2026-03-02;300.0\n", {"at": "day", "amount": name}
    if asked:
        with pytest.raises(UnclearTable, match="unit='cents'"):
            read(tmp_path, text, columns=columns)
    assert read(tmp_path, text, columns=columns, **({"unit": "cents"} if asked else {})) == [1250, 300]


CONFLICTS = {
    "name and column": ("day;a EUR;c\n2026-03-01;1,50;USD\n", {"amount": "a EUR", "currency": "c"}, {"currency": None}),
    "cell and column": ("day;a;c\n2026-03-01;1,50 €;USD\n", {"amount": "a", "currency": "c"}, {"currency": None}),
    "argument and column": ("day;a;c\n2026-03-01;1,50;USD\n", {"amount": "a", "currency": "c"}, {}),
    "argument and another column": ("day;a;c\n2026-03-01;1,50;USD\n2026-03-02;2,50;EUR\n", {"amount": "a"}, {}),
    "argument and symbol": ("day;a\n2026-03-01;$1.50\n", {"amount": "a"}, {}),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_a_currency_that_the_file_contradicts_is_refused(tmp_path: Path, case: str) -> None:
    text, columns, how = CONFLICTS[case]
    with pytest.raises(UsageError, match="currenc"):
        read(tmp_path, text, columns={"at": "day"} | columns, **how)


def test_years_with_two_digits_before_or_after_dots_are_asked_for(tmp_path: Path) -> None:
    """26.3.31 is 31 March 2026 in Japan, and 31.03.26 is the same day in Germany."""
    for text, order, other in (("26.3.31", "y/m/d", "d/m/y"), ("31.03.26", "d/m/y", "y/m/d")):
        (tmp_path / "a.csv").write_text(f"day;a\n{text};1,50\n")
        with pytest.raises(UnclearTable, match=f"dates='{other}'"):
            wb.read_table(tmp_path / "a.csv")
        assert wb.read_table(tmp_path / "a.csv", dates=order)["day"].tolist() == [date(2026, 3, 31)]


@pytest.mark.parametrize("year", ["2569", "1447", "0008"])
def test_years_of_another_calendar_are_not_dates(tmp_path: Path, year: str) -> None:
    with pytest.raises(UsageError, match="line 2 day is not a date"):
        read(tmp_path, f"day;a\n31/03/{year};1,50\n")


@pytest.mark.parametrize(
    "text", ["31 marca 2026", "31 mar 2026", "31. März 2026", "31 de marzo de 2026", "31 mars 2026"]
)
def test_months_have_their_names(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(
        f"day;a\n{text};1,50\n1 kwietnia 2026;1,50\n1. Jänner 2026;1,50\n", encoding="utf-8"
    )

    days = wb.read_table(tmp_path / "a.csv")["day"].tolist()
    assert days == [date(2026, 3, 31), date(2026, 4, 1), date(2026, 1, 1)]


def test_separators_at_the_end_of_each_row_hide_no_separator(tmp_path: Path) -> None:
    """Rows of a Polish bank end in two more separators than their header."""
    text = '#Data;#Opis;#Kwota;\n2026-03-31;"ŻABKA";-12,50 PLN;;\n2026-03-30;"Wpływ";1 234,56 PLN;;\n'
    assert read(tmp_path, text, columns={"at": "#Data", "amount": "#Kwota"}, currency=None) == [-1250, 123456]


@pytest.mark.parametrize("precision", [1, 3])
def test_a_table_does_not_depend_on_the_decimal_context_of_the_caller(tmp_path: Path, precision: int) -> None:
    """Not the amounts, their signs, the marks of sides nor the sum of a total."""
    text = "day;a\n2026-03-01;1.234,567\n2026-03-02;-98.765,432\n2026-03-03;1.000,001\n;-96.530,864\n"
    expected = [1_234_567, -98_765_432, 1_000_001]
    with decimal.localcontext(prec=precision, rounding=decimal.ROUND_UP):
        assert read(tmp_path, text, currency="KWD") == expected
        assert read(tmp_path, text, currency="KWD", columns={"at": "day", "amount": "-a"}) == [
            -cents for cents in expected
        ]
        marked = "day;a\n2026-03-01;1.234,567 DR\n2026-03-02;98.765,432 CR\n"
        assert read(tmp_path, marked, currency="KWD", credit="-") == [1_234_567, -98_765_432]
