"""Frozen classes compare, hash and print as the classes of attrs do."""

from typing import Any

import attrs
import pytest

from workbench.base.frozen import frozen


def classes(decorator: Any) -> tuple[type[Any], type[Any]]:
    """Return a class and its subclass, made by a decorator."""

    @decorator
    class Point:
        x: int
        y: int = 0
        tags: list[str] = attrs.field(factory=list, hash=False)
        note: str = attrs.field(default="secret", repr=False, eq=False)
        size: int = attrs.field(default=1, repr=lambda size: f"{size} px")

    @decorator
    class Named(Point):
        name: str = ""

    return Point, Named


@pytest.mark.parametrize("place", [0, 1], ids=["class", "subclass"])
def test_it_prints_as_attrs_does(place: int) -> None:
    """The repr omits fields with `repr=False` and uses the functions of other fields."""
    ours, theirs = (classes(decorator)[place](x=1, y=2) for decorator in (frozen, attrs.frozen))

    assert repr(theirs).rpartition(".")[2] == repr(ours)
    assert "secret" not in repr(ours)


def test_it_compares_as_attrs_does() -> None:
    """Instances of one class with equal values are equal. A field with `eq=False` does not count."""
    point, named = classes(frozen)

    assert point(x=1, note="a") == point(x=1, note="b")
    assert point(x=1) != point(x=2)
    assert point(x=1) != named(x=1)
    assert point(x=1) != (1, 0)


def test_equal_instances_have_one_hash() -> None:
    """A field with `hash=False`, whose value may be a list, is not hashed."""
    point, named = classes(frozen)

    assert hash(point(x=1, tags=["a"])) == hash(point(x=1, tags=["b"]))
    assert len({point(x=1), point(x=1, note="b"), point(x=2), named(x=1)}) == 3


def test_it_cannot_be_changed() -> None:
    point, _ = classes(frozen)

    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        point(x=1).x = 2


def test_methods_of_the_class_remain() -> None:
    """A method that the class body defines is not replaced."""

    @frozen(kw_only=True)
    class Own:
        x: int

        def __repr__(self) -> str:
            return "<own>"

    assert (repr(Own(x=1)), Own(x=1) == Own(x=1)) == ("<own>", True)
