"""Limits on the content of files, for every reader, because a small file can be very large when unpacked."""

import os
import stat
from pathlib import Path

import attrs

from workbench.base.frozen import frozen

_PART = 2**22  # bytes per read
MAX_RATIO = 200
"""Maximum ratio of unpacked to packed size."""


@frozen(kw_only=True)
class FileLimits:
    """Limits on the content of a file."""

    file: int = 200_000_000  # maximum bytes of the file
    rows: int = 200_000
    columns: int = 1_000
    cell: int = 1_000_000  # maximum characters in a cell
    size: int = 500_000_000  # maximum size in memory, in bytes (approximate)


FRAMES = FileLimits(file=4_000_000_000, rows=20_000_000, size=2_000_000_000)
"""Limits for a file that is read into a DataFrame, column by column."""


class LimitExceeded(ValueError):
    """A file exceeds a limit. The message names the limit."""


def read_bytes(path: Path, limits: FileLimits = FileLimits()) -> bytes:
    """Return the bytes of a file, or of a pipe. A pipe without a writer is empty.

    Raises:
        OSError: The file cannot be read.
        LimitExceeded: The file is too large, or a device, which has no end.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb", buffering=0) as file:
        if stat.S_ISCHR(mode := os.fstat(handle).st_mode) or stat.S_ISBLK(mode):
            raise LimitExceeded("a device, not a file")
        if hasattr(os, "O_NONBLOCK"):
            os.set_blocking(handle, True)
        content, size = [], 0
        while part := file.read(_PART):
            content.append(part)
            size += len(part)
            if size > limits.file:
                raise LimitExceeded(f"more than {limits.file:,} bytes")
    return b"".join(content)


def limits(default: FileLimits, **given: int | None) -> FileLimits:
    """Return the default limits with replacements for `rows`, `columns`, `cell` or `size`."""
    return attrs.evolve(default, **{name: limit for name, limit in given.items() if limit is not None})


def too_many_rows(rows: int, limits: FileLimits) -> LimitExceeded:
    """Return the error for a file with too many rows."""
    return LimitExceeded(f"{rows:,} rows (maximum max_rows={limits.rows:,})")


def too_many_columns(columns: int, limits: FileLimits) -> LimitExceeded:
    """Return the error for a file with too many columns."""
    return LimitExceeded(f"{columns:,} columns (maximum max_columns={limits.columns:,})")


def too_large(limits: FileLimits) -> LimitExceeded:
    """Return the error for a file that exceeds the limit when unpacked."""
    return LimitExceeded(f"unpacks to too many bytes (maximum max_size={limits.size:,})")


def check_ratio(unpacked: int, packed: int) -> None:
    """Check that a stream does not unpack to far more than its packed size.

    Raises:
        LimitExceeded: The stream exceeds the ratio.
    """
    if unpacked > max(50_000_000, MAX_RATIO * packed):
        raise LimitExceeded(f"unpacks to more than {unpacked:,} bytes, over {MAX_RATIO} times its packed size")
