"""The user's state folder, the installation's secret, and API keys.

A key is never printed, copied into a dump or pickled; it is displayed as a fingerprint and bound to a host.
"""

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path

from workbench.base.errors import CannotRecord, InvalidProfile, Problem, advise
from workbench.base.system.files import make_folder, sync_folder
from workbench.base.system.progress import ipython_shell

APPLICATION = "card-issuing-workbench"


def state_path() -> Path:
    """Return the path of the state folder, which is `WORKBENCH_STATE` or the user's default folder."""
    chosen = os.environ.get("WORKBENCH_STATE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_state_path

    return or_nowhere(user_state_path)


def or_nowhere(place: Callable[..., Path]) -> Path:
    """Return a folder of the user; for a user without a home, as in a container, a path that cannot be created."""
    try:
        return place(APPLICATION, appauthor=False)
    except RuntimeError:
        return Path(os.devnull, APPLICATION)


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
            f"the folder {folder} cannot be created ({error.strerror or type(error).__name__}); nothing was "
            "sent. Set WORKBENCH_STATE to another folder."
        ) from None
    return folder


def read_or_make(path: Path, content: bytes) -> bytes:
    """Return the content of a file. If it is missing, write `content` atomically, readable only by its owner.

    If several processes create the file at once, all return the content that was written first.
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
        CannotRecord: The secret can be neither read nor created.
    """
    path = state_folder() / "secret"
    reason = "it is damaged; remove the file to create a new secret"
    try:
        secret = read_or_make(path, os.urandom(32))
        if len(secret) == 32:
            return secret
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise CannotRecord(f"The secret of this installation, {path}, cannot be used ({reason}); nothing was sent.")


def warn_if_in_cell(value: str) -> None:
    """Warn if the current notebook cell contains the key, which would be saved with the notebook."""
    shell = ipython_shell()
    cells = shell.user_ns.get("In", ()) if shell is not None else ()
    if cells and value in cells[-1]:
        advise(
            "this cell's source contains the key, which is saved with the notebook; use a profile or WORKBENCH_API_KEY"
        )


def pin(fingerprint: str, host: str, environment: str) -> None:
    """Bind a key to a host and an environment on first use, so that a sandbox key is never sent to production.

    Raises:
        InvalidProfile: The key was used with another host or environment before.
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
            f"with fingerprint {fingerprint} belongs to {pinned}, not to {host} ({environment}). If the service moved, "
            f"remove {path}"
        )
        raise InvalidProfile((Problem("api_key", "pinned", text),))
