"""Declaration of record fields with `about()` in the class body, privacy of fields, and masking of private values.

A mask shows only characters that the field's format allows, and the length only of a long text.
"""

from collections.abc import Callable, Mapping
from enum import Enum, StrEnum
from typing import Any, TypeVar, dataclass_transform

import attrs

from workbench.base.frozen import equal, frozen, hash_of

DOTS = "•••"
MASK = "•"  # marks a masked value, which is sent only if the caller allows it


class Privacy(Enum):
    """How a value is shown by default: unmasked, masked by its format, or masked entirely.

    An account number is masked by its format even if it is secret.
    """

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


_MASKS: Mapping[str, Callable[[str], str]] = {
    "name": _name,
    "email": _email,
    "phone": _ends,
    "account-number": _ends,
    "ip": lambda text: f"{text.rpartition('.')[0]}.{MASK}" if text.count(".") == 3 else DOTS,
    "long-text": lambda text: f"{DOTS} ({len(text):,} characters)",
}
"""Masks by format. Text of any other format becomes `•••`, regardless of length."""


T = TypeVar("T")
ABOUT = "about"  # metadata key of the attribute
RECORD = "__record__"  # marks a class created by `record`


class Confidence(StrEnum):
    """Level of support for an assumption about the service."""

    WIDELY = "widely seen"  # several independent public clients of this interface agree on the assumption
    LIVE = "reported from live calls"
    ONCE = "seen in one place"
    UNCONFIRMED = "unconfirmed"


WIDELY, LIVE, ONCE, UNCONFIRMED = Confidence


class Reason(str):
    """Reason for an assumption about the service, with a text and the level of confidence.

    For a member, `of` is the assumed aspect: "name", "event" (its name in an event), "need" (whether it is
    required), or "meaning".
    """

    __slots__ = ("confidence", "of")
    confidence: Confidence
    of: str

    def __new__(cls, text: str, confidence: Confidence = UNCONFIRMED, of: str = "name") -> "Reason":
        reason = super().__new__(cls, text)
        reason.confidence, reason.of = confidence, of
        return reason


@frozen(kw_only=True)
class Rule:
    """Constraints on a value, named as in JSON Schema."""

    pattern: str | None = None
    min_length: int | None = None
    max_length: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    format: str | None = None  # such as "uuid", "date", "email", "decimal", "name" or "phone"
    unit: str | None = None  # such as "cents", "USD" or "native token units"
    chain_address: bool = False  # whether the value is a blockchain address, which may have a checksum
    says: str | None = None  # text for the rule if the pattern is not readable, such as "an EVM address (0x…)"


@frozen(kw_only=True)
class About:
    """Metadata of a field."""

    doc: str
    rule: Rule
    wire: str | None  # None if the wire name is the attribute name in camelCase
    privacy: Privacy
    assumed: Reason | None  # reason for assuming the member; None if the document states the member
    needed: bool  # whether the document requires the member in a response
    partial: bool  # whether the service is assumed to accept a partial record here
    nullable: bool = False  # whether the document allows null in a response
    otherwise: Any = None  # the service's default if a request omits the field

    @property
    def masker(self) -> Callable[[str], str] | None:
        """Function that masks a private text of the field; None if the mask is `•••`."""
        form = self.rule.format or ""
        return _MASKS.get(form) if self.privacy is not SECRET or form == "account-number" else None

    def mask(self, value: Any) -> str:
        """Return the masked form of a private value of the field; empty for None."""
        of_format = self.masker if isinstance(value, str) else None
        return "" if value is None else of_format(value) if of_format else DOTS

    def shown(self, value: object) -> str:
        """Return a value of the field as a repr shows it."""
        if value is None:
            return "None"
        if self.privacy is not OPEN:
            return self.mask(value)
        # a mapping is a nested record that was not built yet, so its private members are unknown
        if isinstance(value, Mapping):
            return f"<{len(value)} members>"
        return repr(str(value) if isinstance(value, StrEnum) else value)


ANY = Rule()


def about(
    doc: str,
    rule: Rule = ANY,
    *,
    default: object = attrs.NOTHING,
    init: bool = True,
    wire: str | None = None,
    privacy: Privacy = OPEN,
    assumed: Reason | None = None,
    needed: bool | None = None,
    partial: bool = False,
    nullable: bool = False,
    otherwise: object = None,
    **limits: Any,
) -> Any:
    """Declare a field with its meaning, rule and privacy, and the reason if the field is assumed.

    Args:
        limits: Members of `Rule` that differ from `rule`: `about("…", CENTS, minimum=1)`.
    """
    if limits:
        rule = attrs.evolve(rule, **limits)
    if needed is None:
        needed = default is attrs.NOTHING and not (assumed and assumed.of == "need")
    fact = About(
        doc=doc,
        rule=rule,
        wire=wire,
        privacy=privacy,
        assumed=assumed,
        needed=needed,
        partial=partial,
        nullable=nullable,
        otherwise=otherwise,
    )
    return attrs.field(default=default, init=init, eq=init, repr=fact.shown, metadata={ABOUT: fact}, kw_only=True)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(about,))
def record(cls: type[T]) -> type[T]:
    """Make a class a record, which is frozen and keyword-only, and masks private values in its repr."""
    frozen = attrs.frozen(kw_only=True, repr=False, eq=False)(cls)
    if not hasattr(cls, RECORD):  # all records share these methods, since attrs would compile them for each class
        for name, method in (("__repr__", _repr), ("__eq__", equal), ("__hash__", hash_of)):
            setattr(frozen, name, method)
    setattr(frozen, RECORD, True)
    return frozen


def _repr(self: Any) -> str:
    shown = []
    for field in self.__attrs_attrs__:
        value = getattr(self, field.name)
        if value is None or value == () or not field.init:
            continue
        shown.append(f"{field.name}={field.repr(value)}")
    more = getattr(self, "extra", None)
    if more:
        shown.append(f"extra=<{len(more)} unknown members>")
    return f"{type(self).__name__}({', '.join(shown)})"


@record
class Answer:
    """Base class of records that the service sends. Undocumented members are in `extra`.

    A member that the document calls required may still be missing, and then its value is None. `marks` lists unusual
    values found while reading, such as a time without a zone or an unreadable number. `checks.flags` lists all unusual
    members.
    """

    extra: dict[str, Any] = about("Undocumented members", init=False, default=attrs.Factory(dict), privacy=PERSONAL)
    marks: tuple[Any, ...] = about("Unusual values found while reading", init=False, default=())
