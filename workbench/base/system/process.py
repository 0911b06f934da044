"""State of this process: environment variables, and hooks for higher packages.

The hooks decide whether a call may be sent to a real service (`GUARDS`), and which sandbox `connect()` opens by default
(`RESOLVERS`).
"""

from __future__ import annotations  # `import workbench` must not load typing

import os

from workbench.base.lazy import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Guard(Protocol):
        """Hook that decides whether calls of this process may be sent to a real service."""

        def __call__(self, *, effect: bool, production: bool) -> str:
            """Return the reason why a call, with or without an effect, may not be sent; empty if it may be sent."""


class ServedAddress:
    """Address of a served sandbox, its certificate file if self-signed, and advice for a refused connection."""

    __slots__ = ("advice", "ca_file", "url")

    def __init__(self, url: str, ca_file: str | None = None, advice: str = "") -> None:
        self.url, self.ca_file, self.advice = url, ca_file, advice


GUARDS: list[Guard] = []
HOSTED: set[str] = set()
"""URLs of the sandboxes on shared servers (one per tenant or person) that this process connected to."""
RESOLVERS: list[Callable[[bool], ServedAddress | None]] = []
"""Functions that return the address of this process's sandbox, for production or not, or None without a sandbox."""


def refusal(*, effect: bool, production: bool) -> str:
    """Return the reason why a call may not be sent to a real service; empty if it may be sent."""
    return next(filter(None, (guard(effect=effect, production=production) for guard in GUARDS)), "")


def own_address(*, production: bool = False) -> ServedAddress | None:
    """Return the address of the sandbox that this process uses by default, or None."""
    return next(filter(None, (resolver(production) for resolver in RESOLVERS)), None)


def at_start(variable: str) -> str:
    """Return the value of an environment variable at the start of the process, which later code cannot change."""
    if variable not in _AT_START:
        _AT_START[variable] = _read_at_start(variable)
    return _AT_START[variable]


_AT_START: dict[str, str] = {}


def _read_at_start(variable: str) -> str:
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib would cost more than all the rest
            begun = file.read()
    except OSError:  # this is not Linux, so use the value at the time of import
        return _LOADED.get(variable, "")
    entries = (entry.partition(b"=") for entry in begun.split(b"\0"))
    return next((os.fsdecode(value) for name, _, value in entries if os.fsdecode(name) == variable), "")


_LOADED = dict(os.environ)
