"""Read a number as people and programs write it, under each decimal mark that makes it valid."""

import re
from decimal import Decimal
from functools import lru_cache

import attrs

SPACES = " \u00a0\u2007\u2009\u202f"
MARKS = (".", ",")
"""Decimal marks."""
CURRENCIES = {"€": "EUR", "£": "GBP", "R$": "BRL", "US$": "USD", "C$": "CAD", "A$": "AUD", "zł": "PLN", "₹": "INR",
    "Fr.": "CHF", "SFr.": "CHF", "₩": "KRW", "円": "JPY", "Kč": "CZK", "Ft": "HUF", "₺": "TRY"}  # fmt: skip
"""Currencies by their symbols. A currency with its own symbol is not written with a symbol that others share."""
_YEN = ("JPY", "CNY")
SHARED_SYMBOLS = {"$": ("USD", "CAD", "AUD", "MXN"), "¥": _YEN, "￥": _YEN, "kr": ("SEK", "NOK", "DKK")}
"""Symbols that several currencies share, with these currencies."""
_CREDIT = """CR C H HABEN CREDIT HAVE CRÉDIT HABER AVERE BIJ ABONO CRÉDITO ACCREDITO MA UZN UZNANIE GUTSCHRIFT EINGANG
    IN DEPOSIT REFUND 入金 貸方"""
_DEBIT = """DR D S SOLL DEBIT DÉBIT DEBE DARE AF DB CARGO DÉBITO ADDEBITO WN OBC OBCIĄŻENIE BELASTUNG LASTSCHRIFT
    AUSGANG OUT WITHDRAWAL PURCHASE 出金 借方"""
SYMBOL_CODES = frozenset({*CURRENCIES.values()}.union(*SHARED_SYMBOLS.values()))
"""Currencies that have a symbol in these tables."""
SIDES = {**dict.fromkeys(_CREDIT.split(), "credit"), **dict.fromkeys(_DEBIT.split(), "debit")}
"""Texts that mark an amount as a credit or a debit."""
_MINUS = "\\-−–▲△"  # the triangles are minus signs of Japanese accounts
_LONGEST = 60  # maximum length of a number, in characters
_PARTS = re.compile(
    rf"(?P<before>[^\d+{_MINUS}.,]*?)[ \u00a0]*(?P<sign>[+{_MINUS}]?)[ \u00a0]*"
    rf"(?P<between>[^\d+{_MINUS}.,\s]*)[ \u00a0]*"
    r"(?P<digits>[.,]?\d(?:[\d.,'’ \u00a0\u2007\u2009\u202f]*\d)?)[ \u00a0]*"
    rf"(?P<trail>[{_MINUS}]?)(?P<after>[^\d]*)"
)
_BRACKETS = re.compile(r"([^\d()]*)\((.*)\)([^\d()]*)")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:([.,'’ \u00a0\u2007\u2009\u202f])\d{3})(?:\1\d{3})*")
_LAKHS = re.compile(r"[1-9]\d?(?:,\d\d)+,\d{3}")
_DIGIT = re.compile("[0-9]")
_SUSPECT = re.compile("[#=]|Err:|[0-9][Ee][+-]")
SHORTENED = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?[eE][+-][0-9]+%?")
"""Number that a spreadsheet shortened to scientific notation."""
ERROR = re.compile(r"#(?:[^\s#]{1,20}[!?]|N/?[AVD]|GETTING_DATA|FMT|#+)|Err:[0-9]{3}", re.IGNORECASE)
"""Error value of a spreadsheet in any language, or the `###` of a column too narrow for its number."""


@attrs.frozen
class WrittenNumber:
    """A number as written: its sign, its digits with separators, and its currency or side."""

    negative: bool
    digits: str
    currency: str = ""  # a currency code, or a symbol that several currencies share
    side: str = ""  # "credit" or "debit"

    def value(self, mark: str) -> Decimal | None:
        """Return the number under a decimal mark; None if the text is not valid under that mark."""
        whole, is_marked, fraction = self.digits.partition(mark)
        if is_marked and (not fraction or not fraction.isascii() or not fraction.isdigit()):
            return None
        if not whole.isdigit():
            if whole and (mark in whole or not (_THOUSANDS.fullmatch(whole) or _LAKHS.fullmatch(whole))):
                return None
            whole = re.sub(r"\D", "", whole) or "0"
        number = Decimal(f"{whole}.{fraction}" if is_marked else whole)
        return number.copy_negate() if self.negative and number else number


@lru_cache(maxsize=100_000)
def written_number(text: str) -> WrittenNumber | None:
    """Return the parts of a written number; None for any other text."""
    if len(text) > _LONGEST or not _DIGIT.search(text):
        return None
    text = text.strip(SPACES)
    brackets = _BRACKETS.fullmatch(text)
    in_brackets = brackets is not None
    match = _PARTS.fullmatch("".join(brackets.groups()) if brackets else text)
    if match is None or not (match["digits"].isascii() or _is_spaced(match["digits"])):
        return None
    sign, trail = match["sign"], match["trail"]
    if bool(sign) + bool(trail) + in_brackets > 1:
        return None
    currency = side = ""
    for word in (match["before"], match["between"], *match["after"].split()):
        word = word.strip(SPACES)
        if not word:
            continue
        if word in CURRENCIES or word in SHARED_SYMBOLS or re.fullmatch("[A-Z]{3}", word):
            if currency:
                return None
            currency = CURRENCIES.get(word, word)
        elif word.upper().rstrip(".") in SIDES and not side:
            side = SIDES[word.upper().rstrip(".")]
        else:
            return None
    return WrittenNumber(in_brackets or (sign or trail) not in ("", "+"), match["digits"], currency, side)


def number_in(cell: object) -> WrittenNumber | None:
    """Return the parts of the number in a cell of text; None for any other cell."""
    return written_number(cell) if isinstance(cell, str) else None


def _is_spaced(digits: str) -> bool:
    return all(c.isascii() or c in SPACES or c == "’" for c in digits)


def destroyed(cell: object) -> str | None:
    """Return how a spreadsheet damaged a cell's value; None if no damage is visible."""
    if not isinstance(cell, str) or not _SUSPECT.search(cell, 0, _LONGEST):
        return None
    text = cell.strip(SPACES)
    if SHORTENED.fullmatch(text):
        return "is a number that a spreadsheet shortened: its digits are lost; enter it again in a column of text"
    if ERROR.fullmatch(text):
        return "is an error value, or its column was too narrow; correct the cell in the spreadsheet"
    if text.startswith('="') or re.fullmatch(r"=[A-Z]+\(.*\)", text):
        return "is a formula; replace it by its value"
    return None
