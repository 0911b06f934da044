"""Damage that a spreadsheet does to identifiers and other texts is reported as problems of the cells."""

import csv
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from tests.each import each
from workbench.base.errors import AdviceWarning, InvalidRequest
from workbench.base.schema import checks, walk
from workbench.runs.bulk import InvalidRows, run
from workbench.runs.bulk.plan import plan_of
from workbench.runs.bulk.rows import raw_bodies
from workbench.runs.bulk.spreadsheets import damage
from workbench.service.interface.examples import example
from workbench.service.interface.people import CreateUserApplication, ExternalFiatAccount
from workbench.service.interface.table import OPERATIONS

ROWS = [*csv.DictReader(Path(__file__).with_name("destroyed.csv").read_text(encoding="utf-8").splitlines())]
LEAVES = {
    member.name: member
    for row in OPERATIONS.values()
    for _, member in walk.leaves(row.request)
    if walk.record_of(member.kind) is None
}
UNSEEN = {("account_number", "general"), ("phone_number", "general")}
"""Members and formats whose text is still a possible value, because only leading zeros were lost."""


def _noticed(name: str, text: str) -> bool:
    """Return whether a cell is reported as spreadsheet damage, as a broken rule or as implausible."""
    member = LEAVES[name]
    if damage(member, text) is not None:
        return True
    records = {
        "routing_number": lambda: walk.change(example(ExternalFiatAccount), routing_number=text, currency="usd"),
        "merchant_category_code": lambda: walk.change(
            example(OPERATIONS["simulate_authorization"].request), merchant_category_code=text
        ),
        "postal_code": lambda: walk.change(example(CreateUserApplication).address, postal_code=text, country_code="US"),
        "phone_number": lambda: walk.change(example(CreateUserApplication), phone_country_code="1", phone_number=text),
        "national_id": lambda: walk.change(example(CreateUserApplication), national_id=text, country_of_issue="US"),
    }
    if name not in records:
        return False
    record = records[name]()
    problems = (*checks.problems(record), *checks.cautions(record)[0], *checks.cautions(record)[1])
    return any(problem.path.endswith(member.wire) for problem in problems)


@each("row", ROWS, ids=lambda row: "-".join([row["member"], row["meant"], row["format"]]))
def test_a_destroyed_cell_is_a_problem(row: dict[str, str]) -> None:
    """Each cell that LibreOffice changed is reported, except for the listed cases that look like valid values."""
    name, meant, form, shown = row.values()
    if shown != meant and (name, form) not in UNSEEN:
        assert _noticed(name, shown), shown


@each("name, value", sorted({(row["member"], row["meant"]) for row in ROWS}))
def test_a_right_cell_is_none(name: str, value: str) -> None:
    """An undamaged value is not reported."""
    assert damage(LEAVES[name], value) is None
    assert name == "national_id" or not _noticed(name, value)


@pytest.mark.parametrize("text", ["#N/A", "#VALUE!", "########", '="Ada"', "Err:502", "#REF!"])
def test_an_error_value_is_refused_as_name(text: str, tmp_path: Path) -> None:
    """An error value or a formula in place of a name is reported with its row and column."""
    path = tmp_path / "people.csv"
    path.write_text("first_name,last_name\n" + f'"{text.replace(chr(34), chr(34) * 2)}",Example\n')
    with pytest.raises(InvalidRequest, match=r"row 2, first_name (is an error value|is a formula)"):
        plan_of(OPERATIONS["create_user_application"], path, secret=b"")


def test_destroyed_account_numbers_are_not_sent() -> None:
    """A run refuses damaged account numbers before anything is sent, and states the fix in the spreadsheet."""
    import workbench as wb

    session = wb.connect()
    user = session.sandbox.guide()["users"]["approved"][0]
    account = walk.given(example(OPERATIONS["create_payment_account"].request))
    fiat = {**walk.given(account["external_fiat_account"])}
    rows = [
        {"user_id": user, "type": account["type"], "external_fiat_account": {**fiat, **changed}}
        for changed in (
            {"account_number": "1.23457E+11"},
            {"account_number": "12345678.0"},
            {"account_number": "#REF!"},
            {"account_number": '="000123"'},
            {"account_number": "123 456"},
            {"routing_number": "21000021"},
            {"routing_number": "021000022"},
        )
    ]
    with pytest.raises(InvalidRows) as caught:
        run(session.create_payment_account, rows, progress=False, duplicates=True)
    found = [*dict.fromkeys((problem.row, problem.column) for problem in caught.value.rows())]

    assert found == [(number, f"external_fiat_account.{name}") for number, name in zip(
        range(1, 8), ["account_number"] * 5 + ["routing_number"] * 2, strict=True
    )]  # fmt: skip
    assert "format the column as text" in str(caught.value)
    assert len(session.journal) == 0


def test_a_filtered_row_is_said_to_be_sent(tmp_path: Path) -> None:
    """A person who filters a sheet may not expect that hidden rows are read too, so a message says so."""
    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet.append(["user_id", "first_name"])
    for name in ("Ada", "Bob", "Cleo"):
        sheet.append(["00000000-0000-4000-8000-000000000001", name])
    sheet.row_dimensions[3].hidden = True
    book.save(tmp_path / "people.xlsx")
    with pytest.warns(AdviceWarning, match=r"people\.xlsx: 1 hidden or filtered rows .* read as well"):
        rows = raw_bodies(tmp_path / "people.xlsx")

    assert [row["first_name"] for row in rows] == ["Ada", "Bob", "Cleo"]
