"""Optional libraries. An import of a missing library raises `MissingExtra` with the command that installs it."""

from __future__ import annotations

import sys

from workbench.base.lazy import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import FrameType

DISTRIBUTION = "card-issuing-workbench"


class MissingExtraFinder:
    """Import finder of last resort that reports a missing library with its extra.

    It handles only imports by workbench modules, so that other code can still test whether a library is installed.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Raise `MissingExtra` if a module of the workbench imports a missing library that an extra installs.

        Raises:
            MissingExtra: The library belongs to an extra that is not installed.
        """
        importer: FrameType | None = sys._getframe(1)
        while importer is not None and _module_of(importer) in {"importlib", "importlib._bootstrap"}:
            importer = importer.f_back
        if path is None and importer is not None and _module_of(importer).startswith("workbench."):
            extra = extra_of(name)
            if extra is not None:
                from workbench.base.errors import MissingExtra

                raise MissingExtra(name, extra, install_command(extra)) from None
        return None


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))  # code run by exec() may have no module name


def install_finder() -> None:
    """Append the finder to `sys.meta_path`, once."""
    if MissingExtraFinder not in sys.meta_path:
        sys.meta_path.append(MissingExtraFinder)


def _requirements() -> Iterator[tuple[str, str]]:
    """Yield each extra with each of its requirements, as listed in the package metadata."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        stated = requires(DISTRIBUTION) or ()
    except PackageNotFoundError:  # the workbench is imported from a folder, not installed
        return
    for text in stated:
        requirement, marked, marker = text.partition(";")
        _, of_extra, extra = marker.partition("extra == ")
        if marked and of_extra:
            yield extra.strip(" \"'"), requirement.strip()


def _name_of(requirement: str) -> str:
    end = next((i for i, c in enumerate(requirement) if not (c.isalnum() or c in "-_.")), len(requirement))
    return requirement[:end].lower().replace("_", "-")


def extra_of(library: str) -> str | None:
    """Return the smallest extra that installs a library, or None if no extra installs it."""
    wanted = library.lower().replace("_", "-")
    extras = [extra for extra, _ in _requirements()]
    return min((extra for extra, text in _requirements() if _name_of(text) == wanted), key=extras.count, default=None)


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation.

    The workbench is not in a public package index, so the command contains the path of the checkout or wheel. If this
    path no longer exists, the command lists the libraries instead.
    """
    source, editable = install_source()
    if "://" in source:
        return f"pip install '{DISTRIBUTION}[{extra}] @ {source}'"
    if source:
        return f"pip install {'-e ' if editable else ''}'{source}[{extra}]'"
    return "pip install " + " ".join(f"'{text}'" for of, text in _requirements() if of == extra)


def install_source() -> tuple[str, bool]:
    """Return the URL or path of the installed source, empty if unknown, and whether the installation is editable."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        origin = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    url = origin.get("url", "")
    if not url.startswith("file:"):
        return (f"{origin['vcs_info']['vcs']}+{url}" if "vcs_info" in origin else url), False
    path = Path(url2pathname(urlsplit(url).path))
    return (str(path) if path.exists() else ""), bool(origin.get("dir_info", {}).get("editable"))
