"""The sandbox that commands share: one of this user's own, in a file, so that a command sees what the last one did."""

from pathlib import Path
from typing import Any


def kept_path() -> Path:
    """Return where the sandbox of this user is kept."""
    from workbench.client.state import state_folder

    return state_folder() / "sandbox.db"


def kept_sandbox() -> Any:
    """Open the sandbox of this user; the first time it is made from its seed.

    Raises:
        UnusableFile: The file is damaged, newer, or of another program.
    """
    from workbench.sandbox import Sandbox

    return Sandbox(path=kept_path())


def kept_session() -> Any:
    """Return a session on the sandbox of this user, with a journal in a file beside it."""
    from workbench.session import connect

    return connect(path=kept_path(), journal=kept_path().with_name("journal-sandbox.db"))
