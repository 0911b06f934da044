"""Columns of a record class: names, kinds and Arrow types.

A member of a nested record is a dotted column such as `address.city`. A list of records, such as the tokens of a
contract, makes one row per item; any other list becomes one text. The column `extra` holds undocumented members, and
values that do not fit the type of their column, as JSON text by wire path.
"""

import inspect
import json
import re
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
import pyarrow as pa

from workbench.base.errors import UsageError
from workbench.base.schema.fields import ANY, SECRET, About, Answer, Privacy
from workbench.base.schema.readers import DECIMAL, MAX_DIGITS, write_time
from workbench.base.schema.walk import (
    Array,
    Boolean,
    Choice,
    Date,
    DateTime,
    DecimalNumber,
    Integer,
    Kind,
    Nested,
    Numeric,
    Text,
    Untyped,
    is_record,
    members,
    snake,
)
from workbench.service.interface.contracts import Signature, WithdrawalSignature
from workbench.service.interface.convert import converter

EXTRA = "extra"
AMOUNT = re.compile(r"_(cents|usd)(?= |$)")
"""Part of a column name that states the unit: cents (minor unit of the currency) or US dollars."""
DECIMAL_TEXT = "whole tokens, as a decimal number"
"""Unit of text members that hold decimal numbers; they become decimal columns."""

OPEN = About(doc="", rule=ANY, wire=None, privacy=Privacy.OPEN, assumed=None, needed=False, partial=False)


def currencies(frame: Any, amount: str) -> set[str]:
    """Return the codes of an amount column's currencies: those of the rows, or else that of the report."""
    is_local = amount.startswith("local_")
    name = "local_currency" if is_local else "currency"
    codes = {*frame[name].dropna()} if name in frame else set()
    if not codes and not is_local:
        codes = {frame.attrs.get("currency")}
    return {str(code).upper() for code in codes if code}


@attrs.frozen(kw_only=True)
class Column:
    """A column: its dotted attribute path, wire path and kind, and whether it may be shown."""

    name: str
    wire: str
    kind: Kind
    about: About
    sealed: bool = False  # whether `reveal` cannot show it
    many: bool = False  # whether the value is a tuple, which becomes one text

    @property
    def private(self) -> bool:
        """Whether the column is masked unless revealed."""
        return self.about.privacy is not Privacy.OPEN


@attrs.frozen(kw_only=True)
class FrameLayout:
    """Columns of a record class. If the class has a list of records, each item of the list becomes a row."""

    of: type[Any]
    kind: str
    columns: tuple[Column, ...]
    answers: tuple[tuple[str, str], ...]  # attribute and wire path of each nested record with possible unknown members
    rows_of: str | None  # attribute of the list that expands into rows
    has_extra: bool
    seals_extra: bool  # whether `reveal` cannot show `extra`

    def shown(self, reveal: Collection[str]) -> frozenset[str]:
        """Return the private columns that `reveal` names, either by path or by the last part of the path.

        Raises:
            UsageError: A name is not a masked column, or the column cannot be revealed.
        """
        private = [column for column in self.columns if column.private]
        prefixes: set[str] = set()
        for name in reveal:
            fits = [c for c in private if name in (c.name, c.name.rpartition(".")[2])]
            if self.has_extra and name == EXTRA and not self.seals_extra:
                prefixes.add(EXTRA)
            elif not fits or any(c.sealed for c in fits):
                may = ", ".join(sorted(c.name for c in private if not c.sealed)) or "none"
                why = "cannot be revealed" if fits or name == EXTRA else "is not a masked column here"
                raise UsageError(f"{name} {why}; columns that can be revealed: {may}")
            prefixes.update(c.name for c in fits)
        return frozenset(prefixes)


@cache
def layout_of(cls: type[Any]) -> FrameLayout:
    """Return the columns of a record class, or of another attrs class with plain annotations.

    Raises:
        UsageError: The class has two lists of records, or a type that cannot be a column.
    """
    columns: list[Column] = []
    opened: list[str] = []
    answers: list[tuple[str, str]] = []

    def collect(of: type[Any], path: str, wires: str, sealed: bool) -> None:
        if is_record(of) and issubclass(of, Answer):
            answers.append((path, wires))
        for name, wire, about, kind in _members(of):
            # A frame never shows the parts of a withdrawal signature.
            shut = sealed or of is Signature or (of is WithdrawalSignature and about.privacy is SECRET)
            inner = kind.of if isinstance(kind, Array) else kind
            if isinstance(inner, Nested):
                if inner is not kind:
                    opened.append(path + name)
                collect(inner.of, f"{path}{name}.", f"{wires}{wire}{'' if inner is kind else '[]'}.", shut)
                continue
            if isinstance(inner, Text) and about.rule.unit == DECIMAL_TEXT:
                inner = DecimalNumber(text=True)
            columns.append(
                Column(
                    name=path + name,
                    wire=wires + wire,
                    kind=inner,
                    about=about,
                    sealed=shut,
                    many=isinstance(kind, Array),
                )
            )

    collect(cls, "", "", False)
    if len(opened) > 1 or "." in "".join(opened):
        raise UsageError(
            f"cannot convert {cls.__name__} to a table: lists of records in {', '.join(opened)} "
            "(allowed: one list, at the top level)"
        )
    return FrameLayout(
        of=cls,
        kind=snake(cls.__name__),
        columns=tuple(columns),
        answers=tuple(answers),
        rows_of=opened[0] if opened else None,
        has_extra=is_record(cls) and issubclass(cls, Answer),
        seals_extra=cls is WithdrawalSignature,
    )


def _members(cls: type[Any]) -> list[tuple[str, str, About, Kind]]:
    if is_record(cls):
        return [(member.name, member.wire, member.about, member.kind) for member in members(cls)]
    hints = get_type_hints(cls)
    # A plain attrs class marks private attributes with repr=False.
    names = [f.name for f in attrs.fields(cls) if f.repr] if attrs.has(cls) else list(hints)
    return [(name, name, OPEN, kind_of(hints[name], f"{cls.__name__}.{name}")) for name in names]


class Real(Kind):
    """A `float`, such as a duration in seconds. It never holds an amount of money."""


_PLAIN: Mapping[Any, Kind] = {
    str: Text(),
    int: Integer(),
    bool: Boolean(),
    Decimal: DecimalNumber(text=True),
    float: Real(),
    datetime: DateTime(),
    date: Date(),
    Any: Untyped(),
}


def kind_of(hint: object, where: str) -> Kind:
    """Return the kind of a plain annotation, for classes that are not interface records.

    Raises:
        UsageError: The annotation cannot be a column.
    """
    if hint in _PLAIN:
        return _PLAIN[hint]
    if inspect.isclass(hint) and issubclass(hint, StrEnum):
        return Choice(hint)
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        if len(options) == 1 or (len(options) == 2 and options[1] is str):
            return kind_of(options[0], where)
    if inspect.isclass(hint) and attrs.has(hint):
        return Nested(hint)
    if origin in (tuple, list, set, frozenset):
        return Array(kind_of(get_args(hint)[0], where))
    if origin is not None and inspect.isclass(origin) and issubclass(origin, Mapping):
        return Untyped()
    raise UsageError(f"{where}: cannot make a column of {hint}")


def json_text(value: object) -> str:
    """Return a value as compact JSON text. Decimals are written as text and keep all their digits."""
    return encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_json_value))


def _json_value(value: object) -> Any:
    if isinstance(value, Decimal):
        return format(value, "f")  # a reader would take a JSON number for a float
    if isinstance(value, datetime):
        return write_time(value) if value.tzinfo is not None else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if is_record(value):
        return converter().unstructure(value)
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def encodable(text: str) -> str:
    """Return text whose unpaired surrogates are escaped, so that it can be encoded as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


UNFIT = object()
"""Marker for a value that does not fit the type of its column."""


def _exact(value: object) -> Any:
    if isinstance(value, Decimal):
        return value if value.is_finite() else UNFIT
    if type(value) is int or (isinstance(value, str) and len(value) <= MAX_DIGITS and DECIMAL.fullmatch(value)):
        return Decimal(value)
    return UNFIT


def _day(value: object) -> Any:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return UNFIT
    return value if isinstance(value, date) and not isinstance(value, datetime) else UNFIT


@attrs.frozen
class Form:
    """Arrow type of a kind, and a function that converts a value to the type. It returns `UNFIT` for other values."""

    arrow: Any
    convert: Callable[[Any], Any]


MOMENT_TYPE = pa.timestamp("us", "UTC")
_TEXT_FORM = Form(pa.large_string(), lambda value: str(value.value if isinstance(value, Enum) else value))
_EXACT_FORM = Form(None, _exact)  # the values determine the type; see `rows.packed`
_FORMS: Mapping[type[Kind], Form] = {
    Text: _TEXT_FORM,
    Choice: _TEXT_FORM,
    Integer: Form(pa.int64(), lambda value: value if type(value) is int and -(2**63) <= value < 2**63 else UNFIT),
    Boolean: Form(pa.bool_(), lambda value: value if type(value) is bool else UNFIT),
    DecimalNumber: _EXACT_FORM,
    Numeric: _EXACT_FORM,
    Real: Form(
        pa.float64(),
        lambda value: float(value) if isinstance(value, float | int) and type(value) is not bool else UNFIT,
    ),
    DateTime: Form(MOMENT_TYPE, lambda value: value if isinstance(value, datetime) and value.tzinfo else UNFIT),
    Date: Form(pa.date32(), _day),
    Untyped: Form(pa.large_string(), json_text),
}


def form(column: Column) -> Form:
    """Return the Arrow type of a column and the conversion of its values.

    Raises:
        UsageError: The kind cannot be a column.
    """
    if column.many or (isinstance(column.kind, Integer) and column.kind.full):
        return _TEXT_FORM  # a list becomes one text, and FULL is a text in a column of numbers
    if type(column.kind) not in _FORMS:
        raise UsageError(f"{column.name}: cannot make a column of {column.kind}")
    return _FORMS[type(column.kind)]


def masked(column: Column, value: object) -> str | None:
    """Return the masked form of a private value."""
    if value is None or value == ():
        return None
    values = value if isinstance(value, tuple) else (value,)
    return ", ".join(column.about.mask(item) for item in values)


def joined(values: Sequence[Any], kind: Kind) -> str | None:
    """Return the items of a list joined by ", "; None if the list is empty."""
    take = json_text if isinstance(kind, Untyped) else str
    return ", ".join(take(value) for value in values) if values else None
