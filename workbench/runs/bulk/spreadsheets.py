"""Find text damaged by a spreadsheet: error values, formulas, and numbers in place of account numbers and codes."""

import re

from workbench.analysis.sheets.numbers import ERROR, SHORTENED
from workbench.base.schema.walk import Member

NUMBERS = frozenset(
    {"account_number", "routing_number", "postal_code", "merchant_category_code", "phone_number", "phone_country_code",
     "national_id"}
)  # fmt: skip
"""Members whose digits are identifiers, not numbers."""
_AS_TEXT = "in the spreadsheet, format the column as text and enter the value again"
_DAMAGES = (
    (re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?[eE][+-]?[0-9]+%?"), "is in scientific notation, so digits are lost"),
    (re.compile(r"[+-]?[0-9]+[.,][0-9]{1,2}"), "has decimals, so it is a number"),
    (re.compile(r"[0-9]+(?:[.,][0-9]+)?%"), "is a percentage"),
    (re.compile(r"[+-]?[0-9]{1,3}(?:(?P<by>[.,’'])[0-9]{3})(?:(?P=by)[0-9]{3})*(?:[.,][0-9]+)?"), "has separators"),
    (re.compile(r"[$€£¥] ?[0-9.,]+|[0-9.,]+ ?[$€£¥]"), "is an amount of money"),
    (re.compile(r"'.*"), "begins with an apostrophe, by which a spreadsheet marks text"),
)
_DIGITS = re.compile(r"[0-9]+(?:[\s\u00a0\u202f]+[0-9]+)+")


def damage(member: Member, text: str) -> str | None:
    """Return how a spreadsheet damaged a cell's text, and the remedy; None if no damage is visible."""
    bare = text.strip()
    if ERROR.fullmatch(bare):
        return f"is an error value of a spreadsheet ({bare[:12]}); correct the cell"
    if bare.startswith("="):
        return "is a formula; replace it by its value as text"
    if member.name not in NUMBERS:
        is_id = member.name.endswith("_id") and SHORTENED.fullmatch(bare)
        return f"is in scientific notation, so digits are lost; {_AS_TEXT}" if is_id else None
    for pattern, what in _DAMAGES:
        if pattern.fullmatch(bare):
            return f"{what}; {_AS_TEXT}"
    if _DIGITS.fullmatch(bare) and member.name != "postal_code":
        return f"has blanks between its digits; {_AS_TEXT}"
    return None
