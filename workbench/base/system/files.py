"""Atomic writes of files and folders, and checks of paths before a write."""

import errno
import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from workbench.base.arguments import unusable_name
from workbench.base.errors import Problem, UnusableFile, UsageError, advise

_SHARED = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "fuse.rclone", "drvfs"})


def file_system(path: Path) -> str:
    """Return the type of a path's file system, such as `ext4` or `nfs`; empty if unknown."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    whole = path.absolute()
    points = {Path(parts[1].replace("\\040", " ")): parts[2] for parts in map(str.split, mounts) if len(parts) > 2}
    return next((points[parent] for parent in (whole, *whole.parents) if parent in points), "")


def check_name(path: str | os.PathLike[str]) -> None:
    """Reject an invalid file name early, before the result for the file is computed.

    Raises:
        UsageError: The name is not text or a path, is too long, or contains NUL or an unpaired surrogate.
    """
    if not isinstance(path, str | os.PathLike):
        raise UsageError([Problem("", "path", "must be text or a path")])
    try:
        os.lstat(path)
    except FileNotFoundError:  # the file does not exist yet
        return
    except (OSError, ValueError) as error:
        if problem := unusable_name(error):
            raise UsageError([Problem("", "path", problem)]) from None


def make_folder(folder: Path) -> None:
    """Create a folder that only its owner can access, and its missing parents. All survive a power failure.

    Raises:
        OSError: The folder cannot be created.
    """
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
    for made_folder in missing:
        sync_folder(made_folder.parent)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk, if the file system supports this."""
    if os.name != "posix":
        return
    try:
        opened = os.open(folder, os.O_RDONLY)
    except PermissionError:  # the folder may be writable but not readable
        return
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)


def write_file(path: Path, write: Callable[[BinaryIO], Any] | bytes, *, private: bool = True) -> None:
    """Write a file atomically. The file is on disk when this function returns.

    Args:
        path: The file. An existing file is replaced.
        write: Function that writes into the open file, or the content itself.
        private: Whether only the owner may read the file.

    Raises:
        OSError: The file cannot be written. The previous content is unchanged.
    """
    write_files({path: write}, private=private)


def write_files(
    files: Mapping[Path, Callable[[BinaryIO], Any] | bytes | None], *, private: bool | Collection[Path] = True
) -> None:
    """Write files that belong together. All are complete before the first is renamed, and on disk on return.

    If the process is killed meanwhile, the last file is either new or unchanged. If it is new, each other file is new
    or missing, never an earlier version.

    Args:
        files: Content of each file, as for `write_file`. None removes the file. The last file is the main file.
        private: Whether only the owner may read the files, or the paths of the files that only the owner may read.

    Raises:
        OSError: A file cannot be written. The previous files are unchanged, unless the main file was already
            replaced.
    """
    # symbolic links stay, and their targets are written
    targets = {path.resolve(): write for path, write in files.items()}
    chosen = (files if private else ()) if isinstance(private, bool) else private
    owned = {path.resolve() for path in chosen}
    main = [*targets][-1]
    drafts: dict[Path, Path] = {}
    former: dict[Path, Path] = {}
    try:
        for path, write in targets.items():
            if path.exists() and not path.is_file() and not path.is_dir():  # a rename would replace a device
                raise OSError(errno.EINVAL, "is not a regular file", str(path))
            with suppress(OSError):  # the folder may be writable but not readable
                remove_temporary(path.parent, path)
            if write is not None:
                drafts[path] = _draft(path)
                _write_draft(drafts[path], write, path in owned)
        if main.exists():
            for path in targets:
                if path != main and path.exists():
                    former[path] = path.replace(_draft(path))
            drafts[main].replace(main)
            del drafts[main]  # after this, an error does not restore the former files
        for path, draft in drafts.items():
            draft.replace(path)
    except BaseException:
        if main in drafts:
            for path, draft in former.items():
                draft.replace(path)
        raise
    finally:
        for draft in (*drafts.values(), *former.values()):
            draft.unlink(missing_ok=True)
    for folder in {path.parent for path in targets}:
        sync_folder(folder)


def _draft(path: Path) -> Path:
    """Return a temporary name in the same folder for an incomplete file or folder."""
    return path.with_name(f".{path.name[:40]}.{os.getpid()}-{os.urandom(4).hex()}{path.suffix}")


def _write_draft(draft: Path, write: Callable[[BinaryIO], Any] | bytes, private: bool) -> None:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(draft, flags, 0o600 if private else 0o666)  # the operating system applies the umask
    with os.fdopen(handle, "wb") as file:
        file.write(write) if isinstance(write, bytes) else write(file)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def new_folder(folder: Path, *, replace: bool = False) -> Iterator[Path]:
    """Create a folder with its files atomically. The folder appears when all files are on disk.

    Args:
        folder: The folder. Missing parents are created.
        replace: Whether the new folder replaces an existing folder.

    Yields:
        A temporary folder to write the files into. If the caller removes this folder, no new folder appears.

    Raises:
        FileExistsError: The folder exists and has files, and `replace` is false.
        OSError: A file cannot be written. The folder does not appear.
    """
    folder = folder.absolute()
    if not replace and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists")
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_temporary(folder.parent, folder)
    draft = _draft(folder)
    draft.mkdir()
    try:
        yield draft
        if draft.exists():
            for parent, _, names in os.walk(draft):
                for name in names:
                    _sync_file(Path(parent, name))
                sync_folder(Path(parent))
            _exchange(draft, folder) if replace and folder.exists() else draft.replace(folder)
            sync_folder(folder.parent)
    finally:
        _remove_folder(draft)


def _remove_folder(path: Path) -> None:
    import shutil  # imported late, since the import loads compression libraries

    shutil.rmtree(path, ignore_errors=True)


def _sync_file(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _exchange(draft: Path, folder: Path) -> None:
    """Exchange two folders, in one step on Linux. Elsewhere, a kill between the steps leaves no folder at the path."""
    if sys.platform == "linux":
        import ctypes  # imported late, because few writes need it

        libc, old, new = ctypes.CDLL(None), os.fsencode(folder), os.fsencode(draft)
        if hasattr(libc, "renameat2") and not libc.renameat2(_HERE, new, _HERE, old, _EXCHANGE):
            return
    aside = folder.replace(_draft(folder))
    try:
        draft.replace(folder)
    except OSError:
        aside.replace(folder)
        raise
    aside.replace(draft)


_HERE, _EXCHANGE = -100, 2  # values of AT_FDCWD and RENAME_EXCHANGE on Linux
_TEMPORARY = r"\.(.+)\.(\d+)-\w{8}(?:\.[^.]+)?"


def remove_temporary(folder: Path, *paths: Path) -> bool:
    """Remove temporary files of killed writers from a folder, and return whether other files remain.

    Args:
        paths: Files and folders whose drafts are removed; default: all.
    """
    others, names = False, {path.name[:40] for path in paths}
    for name in os.listdir(folder):  # noqa: PTH208 - a folder may have many files
        writer = re.fullmatch(_TEMPORARY, name)
        others = others or writer is None
        if writer is not None and (not names or writer[1] in names) and not _is_running(int(writer[2])):
            path = folder / name
            _remove_folder(path) if path.is_dir() else path.unlink(missing_ok=True)
    return others


def _is_running(process: int) -> bool:
    if os.name != "posix":  # on Windows, os.kill would end the process
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def check_place(path: Path) -> None:
    """Check that a file can be created at a path, and warn about a shared file system. Nothing is created.

    Raises:
        UnusableFile: The nearest existing parent is not a writable folder.
    """
    path = path.resolve()
    folder = next(parent for parent in path.parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise UnusableFile(f"{path} cannot be created: {folder} is not a writable folder")
    warn_if_shared(path, file_system)


def warn_if_shared(path: Path, probe: Callable[[Path], str]) -> bool:
    kind = probe(path.parent)
    if kind in _SHARED:
        advise(f"{path} lies on a shared file system ({kind}); file locks may not work between machines")
    return kind in _SHARED
