"""Rules that bind several fields of one record, as data: checks, OpenAPI and forms read them alike."""

import attrs

from workbench.interface.fields import Confidence

Names = tuple[str, ...]


@attrs.frozen
class OneOf:
    """Exactly one of these groups of fields is given, and it is given whole."""

    groups: tuple[Names, ...]
    doc: str
    assumed: str | None = None
    confidence: Confidence | None = None


@attrs.frozen
class AnyOf:
    """At least one of these fields is given."""

    names: Names
    doc: str
    assumed: str | None = None
    confidence: Confidence | None = None


@attrs.frozen
class When:
    """Where a field has a value, others are needed, or have to fit a pattern."""

    name: str
    value: str
    doc: str
    needs: Names = ()
    pattern: tuple[str, str, str] | None = None  # field, pattern, the pattern in words
    assumed: str | None = None
    confidence: Confidence | None = None


CrossRule = OneOf | AnyOf | When
