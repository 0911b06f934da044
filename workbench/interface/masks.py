"""How a private value looks when it is not to be seen. One table drives reprs, faces, frames, logs and exports."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

DOTS = "•••"
MASK = "•"  # a value with this character is a masked one, and is never sent


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


LOOKS: Mapping[str, Callable[[str], str]] = {
    "name": _name, "email": _email, "phone": _ends, "ip": _ip, "long-text": _length, "account-number": _ends,
}  # fmt: skip
"""How a text of a format is masked; any other is `•••`, whatever its length."""


def masked(value: Any, form: str | None = None, secret: bool = False) -> str:
    """Return what stands for a private value: never its length, nor more of it than its format's look allows.

    Args:
        form: The format of the field's rule.
        secret: Only an account number shows its last two characters then.
    """
    if value is None:
        return ""
    look = LOOKS.get(form or "")
    if look is None or not isinstance(value, str) or (secret and form != "account-number"):
        return DOTS
    return look(value)


class MaskedDict(dict[str, Any]):
    """A mapping of plain values that prints masked: its repr, its faces, and what rich makes of it."""

    __slots__ = ()

    def shown(self) -> dict[str, Any]:
        """Return it as it is printed."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return repr(self.shown())

    def __rich_repr__(self) -> Iterator[dict[str, Any]]:
        yield self.shown()
