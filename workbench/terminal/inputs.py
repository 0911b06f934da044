"""Files and pipes that a person names at a prompt."""

from pathlib import Path

from workbench.base.errors import visible
from workbench.base.system.limits import FileLimits, LimitExceeded, read_bytes
from workbench.base.text import NotText, decode
from workbench.terminal.exits import usage_error


def input_bytes(path: Path, limit: int) -> bytes:
    """Return the bytes of a file or pipe that a person named.

    Raises:
        Exit: It is too large, or a device.
    """
    try:
        return read_bytes(path, FileLimits(file=limit))
    except LimitExceeded as error:
        raise usage_error(f"{visible(str(path), 200)} cannot be read: {error}.") from None


def input_text(path: Path, limit: int) -> str:
    """Return the text of a file or pipe that a person named, without blanks around it.

    Raises:
        Exit: It is too large, a device, or in another encoding than UTF-8.
    """
    try:
        return decode(input_bytes(path, limit)).strip()
    except NotText as error:
        raise usage_error(f"{visible(str(path), 200)} is {error}.") from None
