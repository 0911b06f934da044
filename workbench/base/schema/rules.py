"""Shared parts of rules: the full amount, formats with a pattern, and rules over several fields."""

import re
from datetime import date
from enum import Enum
from typing import Literal

from workbench.base.frozen import frozen
from workbench.base.schema.fields import Reason


class Full(Enum):
    """The full amount, stated explicitly. A request with `amount=FULL` is sent without the amount."""

    FULL = "FULL"

    def __repr__(self) -> str:
        return "FULL"


FULL: Literal[Full.FULL] = Full.FULL
ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def iso_day(text: str) -> date | None:
    """Parse a date in the format YYYY-MM-DD. Return None for other texts."""
    try:
        return date.fromisoformat(text) if ISO_DAY.fullmatch(text) else None
    except ValueError:
        return None


UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_BLANK = r"\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
EMAIL_ADDRESS = re.compile(rf"[^@{_BLANK}]+@[^@{_BLANK}]+")
Names = tuple[str, ...]


@frozen
class OneOf:
    """Rule that a request contains exactly one of several groups of fields, with all fields of the group."""

    groups: tuple[Names, ...]
    doc: str
    assumed: Reason | None = None


@frozen
class When:
    """Rule for requests in which a field has a certain value: other fields are required, or must match a pattern."""

    name: str
    value: str
    doc: str
    needs: Names = ()
    pattern: tuple[str, str, str] | None = None  # name of the field, pattern, and description of the pattern
    assumed: Reason | None = None


CrossRule = OneOf | When
