"""API keys and signing keys. They are validated, and never printed, pickled or dumped."""

import hashlib
import os
import threading
from collections.abc import Callable
from typing import NoReturn

from workbench.base.arguments import hide_arguments
from workbench.base.errors import Problem, UsageError, WorkbenchError, logger
from workbench.base.system.seconds import monotonic

KeyText = str | bytes | bytearray

PLACEHOLDER = "<API_KEY>"
MAX_AGE = 900.0
"""Seconds after which a key function is called again."""


class Key:
    """An API key, or a key that signs deliveries. Only `header()` returns its value.

    A key from a function is fetched again when it is older than `MAX_AGE`, after the service refuses it, and after a
    delivery whose signature does not match.
    """

    __slots__ = ("_check", "_fetch", "_fetched", "_held", "_locks", "_name", "fingerprint", "version")

    _fetch: Callable[[], str] | None
    _fetched: float
    _held: Callable[[], bytes]
    _locks: dict[int, threading.Lock]  # by process id, since a forked process may inherit a lock that is held
    _check: Callable[[str], object] | None
    _name: str
    fingerprint: str
    version: int  # number of times that the key's value was replaced

    @hide_arguments
    def __init__(self, value: KeyText, fetch: Callable[[], str] | None = None, *, name: str = "api_key") -> None:
        self._set(_fetch=fetch, _locks={}, _check=None, _name=name, version=0)
        self._hold(value)

    @classmethod
    def of(cls, given: "KeyText | Key | Callable[[], str]", name: str = "api_key") -> "Key":
        """Return a `Key` for a key, a text, or a function that fetches the key. Messages call the key `name`."""
        if isinstance(given, Key):
            return given
        return cls(given(), given, name=name) if callable(given) else cls(given, name=name)

    def _set(self, **attributes: object) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def _hold(self, value: KeyText) -> None:
        problem = key_problem(value, takes_bytes=self._name != "api_key")
        if problem is not None:
            raise UsageError([Problem(self._name, self._name, problem)])
        held = value.encode("ascii") if isinstance(value, str) else bytes(value)
        fingerprint = hashlib.sha256(held).hexdigest()[:8]
        if self._check is not None:
            self._check(fingerprint)
        self._set(_held=lambda: held, fingerprint=fingerprint, _fetched=monotonic())

    def checked_by(self, check: Callable[[str], object]) -> None:
        """Call `check` with the fingerprint now and after each fetch. `check` raises an error for a wrong key."""
        check(self.fingerprint)
        self._set(_check=check)

    @property
    def is_due(self) -> bool:
        """Whether the key is old enough to be fetched again."""
        return self._fetch is not None and monotonic() - self._fetched > MAX_AGE

    def renew(self, version: int) -> bool:
        """Fetch the key again, once for all waiting threads, and return whether its version now differs from `version`.

        On failure the old key remains, and a warning is logged.
        """
        fetched = self._fetched
        with self._locks.setdefault(os.getpid(), threading.Lock()):
            if self._fetch is None or self.version != version or self._fetched != fetched:
                return self.version != version
            before = self.fingerprint
            try:
                self._hold(self._fetch())
            except Exception as error:  # noqa: BLE001 - the function is the caller's
                # Errors of the workbench contain no key, but other errors may.
                why = str(error) if isinstance(error, WorkbenchError) else type(error).__name__
                logger().warning("a key could not be fetched again; the current key stays in use: %s", why)
                self._set(_fetched=monotonic())
            if self.fingerprint == before:
                return False
            self._set(version=version + 1)
            return True

    def header(self) -> bytes:
        """Return the value of the key header."""
        return self._held()

    def __repr__(self) -> str:
        return f"<key {getattr(self, 'fingerprint', 'refused')}>"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a key cannot be changed")

    def __copy__(self) -> "Key":
        return self

    def __deepcopy__(self, _: object) -> "Key":
        return self

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise TypeError("a key cannot be pickled")


_BLANK = "\0 \t\r\n\v\f"


def key_problem(value: object, *, takes_bytes: bool = False) -> str | None:
    """Return the reason why a value cannot be used as a key, without quoting the value; None for a valid key."""
    if value is None:
        return "is missing"
    if isinstance(value, bytes | bytearray) and takes_bytes:
        text = value.decode("latin-1")
        if not (text.isascii() and text.strip(_BLANK).isprintable()):
            return None  # arbitrary bytes are a valid key, since they are not meant as text
        value = text
    if not isinstance(value, str):
        return f"must be text, not of type {type(value).__name__}"
    if not value.strip(_BLANK):
        return "is empty"
    if value.strip() == PLACEHOLDER:
        return f"is the placeholder of the documentation, {PLACEHOLDER}; replace it with your own key"
    if value.lower().startswith("bearer"):
        return "begins with Bearer; pass the key alone"
    for position, character in enumerate(value, 1):
        if not "!" <= character <= "~":
            blank = "a space or line break" if character.isspace() else "a character that cannot be sent"
            return f"has {blank} (position {position} of {len(value)})"
    if value[0] in "\"'" or value[-1] in "\"'":
        return "has quotes around it; remove them"
    return None
