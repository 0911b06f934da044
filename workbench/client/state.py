"""What belongs to this user and this machine: the state folder and the installation's secret."""

import contextlib
import os
from pathlib import Path

from workbench.errors import CannotRecord

APPLICATION = "card-issuing-workbench"


def state_path() -> Path:
    """Return the path of the state folder: `WORKBENCH_STATE`, or this user's own place for it."""
    chosen = os.environ.get("WORKBENCH_STATE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_state_path

    return user_state_path(APPLICATION, appauthor=False)


def state_folder() -> Path:
    """Return the state folder, made where it is missing, readable by its owner only.

    Raises:
        CannotRecord: It cannot be made.
    """
    folder = state_path()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotRecord(
            f"the folder {folder} cannot be made ({error.strerror or type(error).__name__}); nothing was sent. "
            "WORKBENCH_STATE names another."
        ) from None
    return folder


def read_or_make(path: Path, content: bytes) -> bytes:
    """Return what a file holds; where it is missing, put this content there for its owner only, whole and on disk.

    Of several processes that make it at once one succeeds, and all return what that one wrote.
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
    return path.read_bytes()


def installation_secret() -> bytes:
    """Return this installation's secret, made at its first use.

    Raises:
        CannotRecord: It can neither be read nor made.
    """
    path = state_folder() / "secret"
    reason = "it is damaged; remove it to have a new one made"
    try:
        found = read_or_make(path, os.urandom(32))
        if len(found) == 32:
            return found
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise CannotRecord(f"The secret of this installation, {path}, cannot be used ({reason}); nothing was sent.")
