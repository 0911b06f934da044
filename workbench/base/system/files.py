"""Atomic writes of files and folders, readable only by their owner."""

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Mapping
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
    """Reject an invalid file name, before the work that the file is for.

    Raises:
        UsageError: It is not text or a path, is too long, or contains NUL or half of a surrogate pair.
    """
    if not isinstance(path, str | os.PathLike):
        raise UsageError([Problem("", "path", "must be text or a path")])
    try:
        os.lstat(path)
    except FileNotFoundError:  # a file to be written
        return
    except (OSError, ValueError) as error:
        if problem := unusable_name(error):
            raise UsageError([Problem("", "path", problem)]) from None


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, accessible only by their owner, durable against power failure.

    Raises:
        OSError: It cannot be created.
    """
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
    for made_folder in missing:
        sync_folder(made_folder.parent)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk, if the file system supports it."""
    if os.name != "posix":
        return
    try:
        opened = os.open(folder, os.O_RDONLY)
    except PermissionError:  # it may be written, not listed
        return
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)


def write_file(path: Path, write: Callable[[BinaryIO], Any] | bytes, *, private: bool = True) -> None:
    """Write a file atomically; it is on disk when this returns.

    Args:
        path: The file; an existing one is replaced.
        write: Writes into the open file, or the content itself.
        private: Whether only its owner may read it.

    Raises:
        OSError: It cannot be written; the previous content is unchanged.
    """
    path = path.resolve()  # a link stays one
    name = path.with_name(f".{path.name[:40]}.{os.getpid()}-{os.urandom(4).hex()}{path.suffix}")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(name, flags, 0o600 if private else 0o666)  # less what the process's mask takes away
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(write) if isinstance(write, bytes) else write(file)
            file.flush()
            os.fsync(file.fileno())
        name.replace(path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_files(files: Mapping[Path, Callable[[BinaryIO], Any] | bytes | None], *, private: bool = True) -> None:
    """Write files that belong together: each is complete on disk before the first one gets its name.

    Args:
        files: The content of each file, as for `write_file`; None removes the file.
        private: Whether only its owner may read them.

    Raises:
        OSError: One cannot be written; the previous files are unchanged.
    """
    temporary: dict[Path, Path] = {}
    try:
        for path, write in files.items():
            if write is not None:
                draft = path.resolve().with_name(f".{path.name[:40]}.{os.getpid()}-{secrets.token_hex(4)}{path.suffix}")
                temporary[draft] = path.resolve()
                write_file(draft, write, private=private)
        for draft, path in temporary.items():
            draft.replace(path)
        for path in (path for path, write in files.items() if write is None):
            path.unlink(missing_ok=True)
    finally:
        for draft in temporary:
            draft.unlink(missing_ok=True)
    for folder in {path.resolve().parent for path in files}:
        sync_folder(folder)


def write_folder(folder: Path, write: Callable[[Path], Any]) -> None:
    """Create a folder with its files at once: it appears when all of them are on disk.

    Args:
        folder: The folder; its parents are created.
        write: Writes the files into the folder that it is called with.

    Raises:
        FileExistsError: The folder exists.
        OSError: A file cannot be written; the folder does not appear.
    """
    folder = folder.absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"{folder} exists")
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_temporary(folder.parent)
    draft = folder.with_name(f".{folder.name[:40]}.{os.getpid()}-{secrets.token_hex(4)}")
    draft.mkdir()
    try:
        write(draft)
        sync_folder(draft)
        draft.replace(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync_folder(folder.parent)


_TEMPORARY = re.compile(r"\..+\.(\d+)-\w{8}(?:\.\w+)?")


def remove_temporary(folder: Path) -> bool:
    """Remove temporary files of killed writers from a folder; return whether other files remain."""
    others = False
    for path in folder.iterdir():
        writer = _TEMPORARY.fullmatch(path.name)
        others = others or writer is None
        if writer is not None and not _is_running(int(writer[1])):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    return others


def _is_running(process: int) -> bool:
    if os.name != "posix":  # a signal would end it there
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
        advise(f"{path} lies on a shared file system ({kind}); its locks may not hold between machines")
    return kind in _SHARED
