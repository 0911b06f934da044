"""This process: variables of its environment, and what packages above the core say about it.

The core asks two questions and knows nobody who answers: may a call go out to a real service (`GUARDS`), and which
sandbox does `connect()` open where none is named (`RESOLVERS`)?
"""

import os
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, Protocol


class Guard(Protocol):
    """Whether calls of this process may go out to a real service."""

    def __call__(self, *, effect: bool, production: bool) -> str:
        """Return why a call, with an effect or without, may not be sent; empty where it may."""


class Address(NamedTuple):
    """The address of a served sandbox, the certificate file to trust if it is self-signed, and what to do where
    nothing answers.
    """

    url: str
    ca_file: str | None = None
    advice: str = ""


GUARDS: list[Guard] = []
HOSTED: set[str] = set()
"""URLs of the sandboxes of shared servers, each a tenant's or a person's own, that this process connected to."""
RESOLVERS: list[Callable[[bool], Address | None]] = []
"""Each returns the address of the sandbox that this process works on, for production or not; None where it has none."""


def refusal(*, effect: bool, production: bool) -> str:
    """Return why a call may not go out to a real service; empty where it may."""
    return next(filter(None, (guard(effect=effect, production=production) for guard in GUARDS)), "")


def own_address(*, production: bool = False) -> Address | None:
    """Return the address of the sandbox that this process uses by default."""
    return next(filter(None, (resolver(production) for resolver in RESOLVERS)), None)


@cache
def at_start(variable: str) -> str:
    """Return what a variable of the environment was when the process began: no later code of it has changed that."""
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib would cost more than all the rest
            begun = file.read()
    except OSError:  # another system than Linux: as it was when this module was loaded
        return _LOADED.get(variable, "")
    entries = (entry.partition(b"=") for entry in begun.split(b"\0"))
    return next((os.fsdecode(value) for name, _, value in entries if os.fsdecode(name) == variable), "")


_LOADED = dict(os.environ)
