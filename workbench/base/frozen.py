"""Frozen classes that share their methods for comparison, hash and repr.

attrs compiles these methods for each class, which takes longer than all its other work on the class. A command at the
prompt imports over a hundred classes and calls few of these methods.
"""

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:  # type checkers know the decorator of attrs
    from attrs import frozen as frozen
else:

    def frozen(cls=None, /, **options):
        """Make a class frozen, as `attrs.frozen` does, with shared methods in place of compiled ones."""
        if cls is None:
            return lambda decorated: frozen(decorated, **options)
        shared = {"__repr__": _repr, "__eq__": equal, "__hash__": hash_of}
        for name in shared.keys() - cls.__dict__.keys():
            setattr(cls, name, shared[name])
        return attrs.frozen(repr=False, eq=False, **options)(cls)


def compared(self: Any) -> tuple[Any, ...]:
    """Return the values by which instances are compared."""
    return tuple(getattr(self, field.name) for field in self.__attrs_attrs__ if field.eq)


def equal(self: object, other: object) -> Any:
    """Compare with an instance of the same class."""
    return compared(self) == compared(other) if type(other) is type(self) else NotImplemented


def hash_of(self: Any) -> int:
    """Return the hash of the compared values, except values of fields with `hash=False`."""
    hashed = [getattr(self, field.name) for field in self.__attrs_attrs__ if field.eq and field.hash is not False]
    return hash((type(self), *hashed))


def _repr(self: Any) -> str:
    shown = []
    for field in self.__attrs_attrs__:
        if field.repr:
            write = repr if field.repr is True else field.repr
            shown.append(f"{field.name}={write(getattr(self, field.name))}")
    return f"{type(self).__name__}({', '.join(shown)})"
