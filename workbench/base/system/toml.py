"""TOML with limits on size and depth, because Python's reader takes quadratic time and memory for long names."""

import re
from collections.abc import Callable, Mapping
from datetime import date, time
from pathlib import Path
from typing import Any

import orjson

from workbench.base.errors import Problem, UsageError, visible
from workbench.base.system.limits import FileLimits, LimitExceeded, read_bytes
from workbench.base.text import NotText, decode

MAX_BYTES = 1_000_000
MAX_PARTS = 100
_VALUES = re.compile(
    r"#[^\n]*+"
    r"|'''.*?(?:'''|\Z)|\"\"\"(?:[^\"\\]|\\.|\"(?!\"\"))*+(?:\"\"\"|\Z)"
    r"|'[^'\n]*+'?|\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\"?",
    re.DOTALL,
)
"""Pattern of a comment or text, including an unterminated one, without backtracking."""
_LONG_NAME = rf"(?<![\w.-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MAX_PARTS}}}"


class NotToml(ValueError):
    """Text that is not TOML, or exceeds a limit. The message quotes no value."""


def load(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        OSError: The file cannot be read.
        NotToml: See `loads`.
    """
    return loads(read_text(path))


def read(path: Path, of: str) -> dict[str, Any]:
    """Read a TOML file whose path is an argument of the caller.

    Args:
        of: Name of the argument, for messages.

    Raises:
        UsageError: The file cannot be read, or is not TOML.
    """
    try:
        return load(path)
    except OSError as error:
        text = f"cannot be read: {visible(path.name, 60)} ({error.strerror})"
    except ValueError as error:
        text = f"is not TOML: {visible(path.name, 60)} ({visible(str(error), 200)})"
    raise UsageError([Problem(of, "file", text)])


def read_text(path: Path) -> str:
    """Return the text of a file for `loads`.

    Raises:
        OSError: The file cannot be read.
        NotToml: The file is too large, a device, or not in UTF-8.
    """
    try:
        return decode(read_bytes(path, FileLimits(file=MAX_BYTES)))
    except LimitExceeded as error:
        raise NotToml(f"cannot be read: {error}") from None
    except NotText as error:
        raise NotToml(f"is {error}") from None


def loads(text: str) -> dict[str, Any]:
    """Read the text of a TOML file.

    Raises:
        NotToml: The text is not TOML, is too long, or is nested too deeply.
    """
    if len(text) > MAX_BYTES:
        raise NotToml(f"is longer than {MAX_BYTES:,} characters")
    if re.search(_LONG_NAME, _VALUES.sub("_", text)):
        raise NotToml(f"is nested too deeply: a name has more than {MAX_PARTS} parts")
    import tomllib  # imported late, because few commands read a file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = visible(str(error), 200)
    except RecursionError:
        reason = "is nested too deeply"
    except ValueError:
        reason = "has a number with too many digits"
    raise NotToml(reason)


def dumps(value: object, default: Callable[[Any], object] | None = None) -> str:
    """Return a value as TOML on one line.

    Args:
        default: Function that replaces a value whose type TOML does not have.

    Raises:
        TypeError: TOML does not have the type of the value, and there is no `default`.
    """
    if isinstance(value, Mapping):
        members = (f"{key(str(name))} = {dumps(item, default)}" for name, item in value.items())
        return "{ " + ", ".join(members) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(dumps(item, default) for item in value) + "]"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, str | int | float):  # TOML strings equal JSON strings, except for DEL
        return orjson.dumps(value).decode().replace("\x7f", "\\u007f")
    if default is None:
        raise TypeError(f"{type(value).__name__} cannot be written as TOML")
    return dumps(default(value))


def key(name: str) -> str:
    """Return a name as a TOML key."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else dumps(name)
