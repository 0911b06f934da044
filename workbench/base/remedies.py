"""Remedies for problems, worded for each interface: Python, terminal, HTTP, form or agent.

An error holds a remedy as a code with parameters, such as `Remedy("again")`. The remedy's text is looked up when the
error is shown. The package that raises the error declares the text for Python, and other interfaces add their own
texts.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, get_args

import attrs

from workbench.base.frozen import frozen

Interface = Literal["python", "terminal", "http", "form", "agent"]
_CURRENT: ContextVar[Interface] = ContextVar("interface", default="python")

WORDINGS: dict[str, dict[str, str]] = {}
"""Texts of each remedy by interface. Interfaces without a text use "other"."""


def declare(code: str, *, python: str, other: str) -> None:
    """Declare a remedy, with its text in Python and a text for all other interfaces."""
    WORDINGS.setdefault(code, {}).update(python=python, other=other)


def word(interface: Interface, texts: Mapping[str, str]) -> None:
    """Add an interface's text for each remedy. `texts` maps codes to texts."""
    for code, text in texts.items():
        WORDINGS.setdefault(code, {})[interface] = text


@frozen(init=False)
class Remedy:
    """Remedy for a problem: a code, and the parameters of the remedy's text."""

    code: str
    parameters: Mapping[str, object] = attrs.field(hash=False)

    def __init__(self, code: str, **parameters: object) -> None:
        self.__attrs_init__(code, parameters)

    def __str__(self) -> str:
        return self.worded(_CURRENT.get())

    def worded(self, interface: Interface) -> str:
        """Return the text for an interface."""
        texts = WORDINGS[self.code]
        return texts.get(interface, texts["other"]).format_map(self.parameters)


def interface() -> Interface:
    """Return the interface that messages are worded for."""
    return _CURRENT.get()


@contextmanager
def worded_for(interface: Interface) -> Iterator[None]:
    """Word remedies for an interface within a `with` block."""
    if interface not in get_args(Interface):
        raise ValueError(interface)
    token = _CURRENT.set(interface)
    try:
        yield
    finally:
        _CURRENT.reset(token)
