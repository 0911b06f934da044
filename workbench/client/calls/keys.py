"""State folder of the user, secret of the installation, and API keys.

A key is never printed, copied into a dump or pickled; it is displayed as a fingerprint and bound to a host.
"""

import contextlib
import hashlib
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from workbench.base.arguments import hide_arguments
from workbench.base.errors import LOG, CannotRecord, InvalidProfile, Problem, UsageError, WorkbenchError, advise
from workbench.base.system.files import make_folder, sync_folder
from workbench.base.system.progress import ipython_shell

APPLICATION = "card-issuing-workbench"


def state_path() -> Path:
    """Return the path of the state folder: `WORKBENCH_STATE`, or the user's default."""
    chosen = os.environ.get("WORKBENCH_STATE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_state_path

    return user_state_path(APPLICATION, appauthor=False)


def state_folder() -> Path:
    """Return the state folder; create it, readable only by its owner, if it is missing.

    Raises:
        CannotRecord: The folder cannot be created.
    """
    folder = state_path()
    try:
        make_folder(folder)
    except OSError as error:
        raise CannotRecord(
            f"the folder {folder} cannot be made ({error.strerror or type(error).__name__}); nothing was sent. "
            "WORKBENCH_STATE names another."
        ) from None
    return folder


def read_or_make(path: Path, content: bytes) -> bytes:
    """Return the content of a file. If it is missing, write `content` atomically, readable only by its owner.

    If several processes create it at once, all return the content of the one that succeeded.
    """
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    fresh = path.with_name(f".{path.name}-{os.urandom(8).hex()}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
    sync_folder(path.parent)
    return path.read_bytes()


def installation_secret() -> bytes:
    """Return this installation's secret; create it on first use.

    Raises:
        CannotRecord: It can be neither read nor created.
    """
    path = state_folder() / "secret"
    reason = "it is damaged; remove it to have a new one made"
    try:
        secret = read_or_make(path, os.urandom(32))
        if len(secret) == 32:
            return secret
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise CannotRecord(f"The secret of this installation, {path}, cannot be used ({reason}); nothing was sent.")


PLACEHOLDER = "<API_KEY>"
MAX_AGE = 900.0
"""Seconds after which a key function is called again."""


class Key:
    """An API key. Only `header()` returns its value, when a request is built.

    A key from a function is fetched again once it is older than `MAX_AGE`, and after a 401.
    """

    __slots__ = ("_fetch", "_fetched", "_held", "_lock", "_pin", "fingerprint", "version")

    _fetch: Callable[[], str] | None
    _fetched: float
    _held: Callable[[], bytes]
    _lock: threading.Lock
    _pin: tuple[str, str] | None
    fingerprint: str
    version: int  # how often another value has replaced it

    @hide_arguments
    def __init__(self, value: str, fetch: Callable[[], str] | None = None) -> None:
        self._set(_fetch=fetch, _lock=threading.Lock(), _pin=None, version=0)
        self._hold(value)

    @classmethod
    def of(cls, given: "str | Key | Callable[[], str]") -> "Key":
        """Return a `Key` from a key, a text, or a function that fetches it."""
        if isinstance(given, Key):
            return given
        return cls(given(), given) if callable(given) else cls(given)

    def _set(self, **attributes: object) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def _hold(self, value: str) -> None:
        problem = key_problem(value)
        if problem is not None:
            raise UsageError([Problem("api_key", "api_key", problem)])
        held = value.encode("ascii")
        fingerprint = hashlib.sha256(held).hexdigest()[:8]
        if self._pin is not None:
            pin(fingerprint, *self._pin)
        self._set(_held=lambda: held, fingerprint=fingerprint, _fetched=time.monotonic())

    def pin(self, host: str, environment: str) -> None:
        """Bind this key and its replacements to a host and an environment, as `pin` does."""
        pin(self.fingerprint, host, environment)
        self._set(_pin=(host, environment))

    @property
    def is_due(self) -> bool:
        """Whether the key is old enough to be fetched again."""
        return self._fetch is not None and time.monotonic() - self._fetched > MAX_AGE

    def renew(self, version: int) -> bool:
        """Fetch the key again, once for all threads that used this version; return whether it changed.

        On failure the old key remains, and a warning is logged.
        """
        with self._lock:
            if self._fetch is None or self.version != version:
                return self.version != version
            before = self.fingerprint
            try:
                self._hold(self._fetch())
            except Exception as error:  # noqa: BLE001 - the function is the caller's
                # Errors of the workbench name no key; others may.
                why = str(error) if isinstance(error, WorkbenchError) else type(error).__name__
                LOG.warning("the API key could not be fetched again; the current key stays in use: %s", why)
                self._set(_fetched=time.monotonic())
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


def key_problem(value: object) -> str | None:
    """Return why a text cannot be sent as a key, without quoting it; None if it can."""
    if value is None:
        return "is missing"
    if not isinstance(value, str):
        return f"must be text, not of type {type(value).__name__}"
    if not value:
        return "is empty"
    if value.strip() == PLACEHOLDER:
        return f"is the placeholder of the documentation, {PLACEHOLDER}; put your own key there"
    if value.lower().startswith("bearer"):
        return "begins with Bearer; the service takes the bare key in the Api-Key header"
    for position, character in enumerate(value, 1):
        if not "!" <= character <= "~":
            blank = "a blank or line end" if character.isspace() else "a character that cannot be sent"
            return f"has {blank} (position {position} of {len(value)})"
    if value[0] in "\"'" or value[-1] in "\"'":
        return "has quotes around it; they do not belong to a key"
    return None


def warn_if_in_cell(value: str) -> None:
    """Warn if the current notebook cell contains the key, which would be saved with the notebook."""
    shell = ipython_shell()
    cells = shell.user_ns.get("In", ()) if shell is not None else ()
    if cells and value in cells[-1]:
        advise("this cell's source contains the key, and will be saved with it; use a profile or WORKBENCH_API_KEY")


def pin(fingerprint: str, host: str, environment: str) -> None:
    """Bind a key to a host and an environment on first use, so that a sandbox key is never sent to production.

    Raises:
        InvalidProfile: It was used with another host or environment before.
    """
    here = {"host": host, "environment": environment}
    path = state_folder() / "pins" / f"{fingerprint}.json"
    try:
        make_folder(path.parent)
        stored = json.loads(read_or_make(path, json.dumps(here).encode()))
        pinned = f"{stored['host']} ({stored['environment']})"
    except (ValueError, KeyError, TypeError, OSError):
        raise InvalidProfile(
            f"{path} cannot be read, so the host of the key cannot be checked; delete the file to start again"
        ) from None
    if stored != here:
        text = (
            f"with fingerprint {fingerprint} belongs to {pinned}, not to {host} ({environment}). If it really moved, "
            f"remove {path}"
        )
        raise InvalidProfile((Problem("api_key", "pinned", text),))
