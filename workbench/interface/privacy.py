"""Who may see a value, and how a private one looks: never its length, nor more of it than its format allows."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

DOTS = "•••"
MASK = "•"  # a value with this character is a masked one, and is never sent


class Privacy(Enum):
    """Who may see a value without asking for it."""

    OPEN = "open"
    PERSONAL = "personal"
    SECRET = "secret"


OPEN, PERSONAL, SECRET = Privacy


def _name(text: str) -> str:
    return " ".join(f"{part[0]}." for part in text.split() if part[0].isalnum()) or DOTS


def _email(text: str) -> str:
    local, at, domain = text.rpartition("@")
    name, _, top = domain.rpartition(".")
    if not at or not local or not name or not top.isalpha() or len(top) > 6:
        return DOTS
    return f"{local[0]}{DOTS}@{name[0]}{DOTS}.{top}"


def _ends(text: str) -> str:
    return DOTS + text[-2:] if len(text) > 4 else DOTS


def _ip(text: str) -> str:
    head, dot, _ = text.rpartition(".")
    return f"{head}.{MASK}" if dot and head.count(".") == 2 else DOTS


def _length(text: str) -> str:
    return f"{DOTS} ({len(text):,} characters)"


_MASKS: Mapping[str, Callable[[str], str]] = {
    "name": _name, "email": _email, "phone": _ends, "ip": _ip, "long-text": _length, "account-number": _ends,
}  # fmt: skip
"""How a text of a format is masked; any other is `•••`, whatever its length."""


def mask(value: Any, form: str | None, privacy: Privacy) -> str:
    """Return what is shown in place of a private value; empty for None.

    Args:
        form: Format of the field's rule; of a secret, only an account number shows its last two characters.
    """
    if value is None:
        return ""
    of_format = masker(form, privacy)
    return DOTS if of_format is None or not isinstance(value, str) else of_format(value)


def masker(form: str | None, privacy: Privacy) -> Callable[[str], str] | None:
    """Return what masks the texts of a format; None if all become dots."""
    return _MASKS.get(form or "") if privacy is not SECRET or form == "account-number" else None
