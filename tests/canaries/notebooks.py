"""Replace the fictitious people in the cells of the shipped notebooks by planted values."""

import json
from pathlib import Path

from tests.canaries.planted import found

PLANTS = {
    '"Ada"': '"Zqfirst"', '"last_name": "Example"': '"last_name": "Zqlast"', '_last_name": "Example"': '_last_name": "Zqeficiary"',
    "1990-01-01": "1917-03-29", "ada@example.com": "zqmail@example.com", "grace@example.com": "zqpost@example.com",
    "5550123": "5550137", "555 0123": "5550173 ", "203.0.113.7": "203.0.113.177", '"Engineer"': '"Zqoccupation"',
    '"60000"': '"662483779131"', "1 Example Street": "1 Zqstreet", "2 Example Street": "2 Zqroad", "1985-06-15": "1919-11-23",
    "The cardholder was abroad": "Zqevidence: The cardholder was abroad", '"account_number": "000123456"': '"account_number": "000773129731"',
    "000123456": "000771293",
}  # fmt: skip
"""Values of fictitious people in the shipped notebooks, and the planted value that replaces each."""


def plant(path: Path, folder: Path) -> tuple[Path, list[str]]:
    """Write a copy of a notebook with planted values; return its path and the names of the planted values."""
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            for theirs, ours in PLANTS.items():
                source = source.replace(theirs, ours)
            cell["source"] = source
    made = folder / path.name
    made.write_text(json.dumps(notebook))
    return made, found("".join(cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"))
