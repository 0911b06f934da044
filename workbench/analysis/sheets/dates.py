"""Read a date or a time as written, under each order of day, month and year that makes it valid."""

import re
import unicodedata
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import lru_cache

import attrs

ORDERS = ("d/m/y", "m/d/y", "y/m/d")
SERIALS = {"excel": date(1899, 12, 30), "excel 1904": date(1904, 1, 1)}
"""Day 0 of the date numbers of spreadsheets."""
_LONGEST = 60  # maximum length of a date, in characters
_LAST_SHORT_YEAR = 40
_CALENDAR_YEARS = range(1900, 2400)
"""Years of the Gregorian calendar, unlike 2569 in Thailand. Year 9999 means that a period has no end."""
_NUMERIC = re.compile(r"(\d{1,4})([./-]) ?(\d{1,2})\2 ?(\d{1,4})\.?")
_NAMED = re.compile(r"(\d{1,2})(?:\.|st|nd|rd|th|er|º)?[ -]?(?:de )?([^\W\d_]+)\.?,?[ -]?(?:de )?(\d{4}|\d\d)")
_NAME_FIRST = re.compile(r"([^\W\d_]+)\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")
_IDEOGRAPHIC = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})日")
_COMPACT = re.compile(r"((?:19|20)\d\d)(\d\d)(\d\d)")
_TIME = re.compile(
    r"(.+?)(?:[T ]|, )\s*(\d{1,2})[:.](\d\d)(?:[:.](\d\d)(?:[.,](\d{1,9}))?)?"
    r"\s*([AaPp]\.?[Mm]\.?)?\s*(Z|UTC|GMT|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)?"
)
_MONTHS = (
    "january jan januar janner janvier janv enero ene gennaio gen januari janeiro stycznia sty",
    "february feb februar fevrier fevr febrero febbraio februari fevereiro fev lutego lut",
    "march mar marz mrz mars marzo maart mrt marco marca",
    "april apr avril avr abril abr aprile kwietnia kwi",
    "may mai mayo maggio mag mei maio maja maj",
    "june jun juni juin junio giugno giu junho czerwca cze",
    "july jul juli juillet juil julio luglio lug julho lipca lip",
    "august aug aout agosto ago augustus sierpnia sie",
    "september sep sept septembre septiembre settembre set setembro wrzesnia wrz",
    "october oct oktober okt octobre octubre ottobre ott outubro out pazdziernika paz",
    "november nov novembre noviembre novembro listopada lis",
    "december dec dezember dez decembre diciembre dic dicembre dezembro grudnia gru",
)
_MONTH_OF = {name: number for number, names in enumerate(_MONTHS, 1) for name in names.split()}


@attrs.frozen
class WrittenDate:
    """A date as written: its meaning under each order of day, month and year, its time of day, and its UTC offset."""

    days: dict[str, date]
    clock: time | None = None
    offset: timezone | None = None

    def value(self, order: str) -> date | None:
        """Return the date or time under an order; None if the text is not valid under that order."""
        day = self.days.get(order)
        if day is None or self.clock is None:
            return day
        return datetime.combine(day, self.clock, self.offset)

    @property
    def has_time(self) -> bool:
        """Whether the text has a time of day other than plain midnight."""
        return self.clock is not None and (self.offset is not None or self.clock != time())


@lru_cache(maxsize=10_000)
def written_date(text: str, *, compact: bool = False) -> WrittenDate | None:
    """Return a written date with its readings; None for any other text.

    Args:
        text: The text.
        compact: Whether eight digits count as a date. They could also be an id.
    """
    if len(text) > _LONGEST or not any(map(str.isdigit, text)):
        return None
    text = text.strip()
    days = _days(text, compact)
    if days:
        return WrittenDate(days)
    match = _TIME.fullmatch(text)
    days = _days(match[1], compact) if match else {}
    clock = _clock(match) if match and days else None
    if clock is None or match is None:
        return None
    return WrittenDate(days, clock, _offset(match[7]))


def serial_date(cell: object) -> WrittenDate | None:
    """Return a spreadsheet's day number (1954 to 2123) as a date with its readings; None for any other cell."""
    text = str(cell).strip() if isinstance(cell, str | int) else ""
    if not re.fullmatch("[2-7][0-9]{4}", text):
        return None
    return WrittenDate({name: first + timedelta(days=int(text)) for name, first in SERIALS.items()})


def _days(text: str, compact: bool) -> dict[str, date]:
    if match := _NUMERIC.fullmatch(text):
        first, mark, second, third = match.groups()
        if len(first) > 2:
            return _every(first, second, third) if len(first) == 4 and len(third) < 3 else {}
        days = {"d/m/y": _date(third, second, first)}
        if mark != ".":  # in dates with dots, the month does not come first
            days["m/d/y"] = _date(third, first, second)
        if len(third) < 3:
            days["y/m/d"] = _date(first, second, third)
        return {order: day for order, day in days.items() if day is not None}
    if match := _NAMED.fullmatch(text):
        return _every(match[3], _month(match[2]), match[1])
    if match := _NAME_FIRST.fullmatch(text):
        return _every(match[3], _month(match[1]), match[2])
    if (match := _IDEOGRAPHIC.fullmatch(text)) or (compact and (match := _COMPACT.fullmatch(text))):
        return _every(*match.groups())
    return {}


def _every(year: str, month: str, day: str) -> dict[str, date]:
    written = _date(year, month, day)
    return {} if written is None else dict.fromkeys(ORDERS, written)


def _date(year: str, month: str, day: str) -> date | None:
    if len(year) not in (2, 4) or not all(part.isascii() for part in (year, month, day)):
        return None
    number = int(year)
    if len(year) == 2:
        if number > _LAST_SHORT_YEAR:  # might be a year of the 20th century
            return None
        number += 2000
    if number not in _CALENDAR_YEARS and number != 9999:
        return None
    try:
        return date(number, int(month), int(day))
    except ValueError:
        return None


def _month(name: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKD", name.lower()) if not unicodedata.combining(c))
    return str(_MONTH_OF.get(plain, 0))


def _clock(match: re.Match[str]) -> time | None:
    hour, half = int(match[2]), (match[6] or "").lower().replace(".", "")
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "pm" else 0)
    try:
        return time(hour, int(match[3]), int(match[4] or 0), int((match[5] or "0").ljust(6, "0")[:6]))
    except ValueError:
        return None


def _offset(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text in ("Z", "UTC", "GMT"):
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[3:].removeprefix(":") or 0)
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))
