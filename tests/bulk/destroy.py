"""Write `destroyed.csv`: how LibreOffice changes identifiers made of digits, by cell format.

Run `python -m tests.bulk.destroy` on a machine with `soffice`. The values are entered into a sheet as typed text, and the
table has the text that the sheet then shows.
"""

import csv
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import openpyxl

VALUES = {
    "account_number": ["000123456789", "1234567890", "12345678901234567", "4111111111111111"],
    "routing_number": ["021000021", "011401533", "121000248"],
    "postal_code": ["02134", "94105"],
    "merchant_category_code": ["0742", "5411"],
    "phone_number": ["0301234567", "5550142000"],
    "national_id": ["001234567", "123456789"],
}
FORMATS = {
    "general": "General",
    "scientific": "0.00E+00",
    "decimals": "0.00",
    "thousands": "#,##0",
    "currency": '"$"#,##0.00',
    "percent": "0%",
    "date": "yyyy-mm-dd",
    "spaces": "# ##0",
}
FORMULAS = {"reference": "=#REF!", "value": '="x"*1', "name": "=NOSUCHNAME+1", "missing": "=NA()", "zero": "=1/0"}
FILE = Path(__file__).with_name("destroyed.csv")
AS_SHOWN = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true"


def main() -> None:
    """Write the table."""
    cases: list[tuple[str, str, str]] = []
    book = openpyxl.Workbook()
    sheet: Any = book.active
    for name, values in VALUES.items():
        for value in values:
            for kind, number_format in FORMATS.items():
                cell = sheet.cell(row=len(cases) + 1, column=1, value=int(value))
                cell.number_format = number_format
                cases.append((name, value, kind))
        for kind, formula in FORMULAS.items():
            sheet.cell(row=len(cases) + 1, column=1, value=formula)
            cases.append((name, values[0], kind))
    sheet.column_dimensions["A"].width = 40
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sheet.xlsx"
        book.save(path)
        command = ["soffice", "--headless", "--convert-to", AS_SHOWN, "--outdir", folder, str(path)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        lines = path.with_suffix(".csv").read_text(encoding="utf-8").splitlines()
        shown = [next(filter(None, row), "") for row in csv.reader(lines)]
    with FILE.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["member", "meant", "format", "shown"])
        writer.writerows([*case, text] for case, text in zip(cases, shown, strict=True))


if __name__ == "__main__":
    main()
