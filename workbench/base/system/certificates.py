"""Trusted certificates of a connection."""

import os
import ssl
from functools import cache
from pathlib import Path
from typing import Any

from workbench.base.errors import UnusableFile, visible

MAX_BYTES = 10_000_000


def trusted(ca_file: str | os.PathLike[str] | None) -> Any:
    """Return a TLS context that trusts the certificates of a file, or the default certificates.

    Raises:
        UnusableFile: The file contains no certificates, or is too large.
        OSError: The file cannot be read.
    """
    if ca_file is None:
        return _default()
    if Path(ca_file).stat().st_size > MAX_BYTES:
        raise UnusableFile(f"{ca_file} has more than {MAX_BYTES:,} bytes, too many for a file of certificates.")
    try:
        return ssl.create_default_context(cafile=ca_file)
    except ssl.SSLError as error:
        raise UnusableFile(f"{ca_file} contains no certificates in PEM format: {visible(str(error), 100)}") from None


@cache
def _default() -> ssl.SSLContext:
    """Return the context that all connections with default certificates share, because its creation takes 20 ms."""
    import httpx  # imported late, because the import is slow

    return httpx.create_ssl_context(trust_env=False)
