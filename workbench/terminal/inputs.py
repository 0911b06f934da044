"""Read the files, pipes and `name=value` settings that are passed on the command line."""

from collections.abc import Sequence
from pathlib import Path

from workbench.base.errors import visible
from workbench.base.system.limits import FileLimits, LimitExceeded, read_bytes
from workbench.base.text import NotText, decode
from workbench.terminal.exits import usage_error


def input_bytes(path: Path, limit: int) -> bytes:
    """Return the bytes of a file or pipe that was passed to a command.

    Raises:
        Exit: The file is too large, or is a device.
    """
    try:
        return read_bytes(path, FileLimits(file=limit))
    except LimitExceeded as error:
        raise usage_error(f"{visible(str(path), 200)} cannot be read: {error}.") from None


def input_text(path: Path, limit: int) -> str:
    """Return the text of a file or pipe that was passed to a command, without surrounding whitespace.

    Raises:
        Exit: The file is too large, is a device, or is not in UTF-8.
    """
    try:
        return decode(input_bytes(path, limit)).strip()
    except NotText as error:
        raise usage_error(f"{visible(str(path), 200)} is {error}.") from None


def pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Parse texts such as `name=value`, and return the values by name."""
    if wrong := [text for text in texts if "=" not in text]:
        raise usage_error(f"--{option} {visible(wrong[0], 60)}: expected NAME=VALUE.")
    return {name: text for name, _, text in (text.partition("=") for text in texts)}
