"""The folder of this user in which journals and pins are kept, readable by nobody else."""

import os
from pathlib import Path

from workbench.errors import CannotRecord

APPLICATION = "card-issuing-workbench"


def state_path() -> Path:
    """Return where the folder is: `WORKBENCH_STATE`, or the user's own place for it."""
    chosen = os.environ.get("WORKBENCH_STATE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_state_path

    return user_state_path(APPLICATION, appauthor=False)


def state_folder() -> Path:
    """Return the folder, made where it is missing.

    Raises:
        CannotRecord: It cannot be made.
    """
    folder = state_path()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    else:
        return folder
    raise CannotRecord(
        f"the folder {folder} cannot be made ({reason}); nothing was sent. WORKBENCH_STATE names another."
    )
