"""A disk that can refuse or lose writes: the file operations of Python and SQLite are counted, recorded and replayed.

Each step (opening a file for writing, a write, a change of length, a sync, a rename or a removal) can be refused. The steps
up to a moment can be replayed as a power cut may leave them: data that was not synced is present, missing or partial.
"""

import _pyio
import builtins
import ctypes
import errno
import functools
import io
import itertools
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

SECTOR = 512  # number of bytes that a disk writes atomically
_OK = 0
_CODES = {  # SQLite's error codes, by the step that fails
    "open": 14, "write": 10 | 3 << 8, "sync": 10 | 4 << 8, "truncate": 10 | 6 << 8, "remove": 10 | 10 << 8,
    "grow": 10 | 19 << 8,
}  # fmt: skip
_FULL = 13


@attrs.frozen
class Step:
    """A recorded file operation, or a recorded report of the program (kind "note")."""

    kind: str
    path: str = ""
    value: Any = None  # offset, length, new name or note, depending on the kind
    data: bytes = b""


@attrs.define
class Disk:
    """The files of a folder, with the recorded `steps`. The step number `refuse` fails.

    Args:
        folder: Folder to record. Files outside of it are not affected.
        refuse: Number of the step that fails, from 1.
        error: Error number of the operating system.
        lasting: Whether all later steps fail too, until `healed` is called.
    """

    folder: Path
    refuse: int | None = None
    error: int = errno.ENOSPC
    lasting: bool = False
    steps: list[Step] = attrs.field(factory=list)
    count: int = 0
    refused: int = 0
    _files: dict[int, str] = attrs.field(factory=dict)  # path by file descriptor
    _at_first: dict[str, bytes | None] = attrs.field(factory=dict)  # original content by path; None for a folder

    def note(self, *value: Any) -> None:
        """Record a report of the program."""
        self.steps.append(Step("note", value=value))

    def healed(self) -> None:
        """Let all further steps succeed."""
        self.refuse = None

    def path(self, name: Any) -> str | None:
        """Return the absolute path of a file in the folder; None for a file outside of it."""
        found = os.path.abspath(os.fsdecode(name))  # noqa: PTH100 - a link stays one
        return found if found.startswith(f"{self.folder}{os.sep}") or found == str(self.folder) else None

    def refuses(self) -> bool:
        """Count a step, and return whether it fails."""
        self.count += 1
        fails = self.refuse is not None and (self.count >= self.refuse if self.lasting else self.count == self.refuse)
        self.refused += fails
        return fails

    def step(self, kind: str, path: str, value: Any = None, data: bytes = b"") -> None:
        """Count and record a file operation of Python."""
        if self.refuses():
            raise OSError(self.error, os.strerror(self.error), path)
        self.steps.append(Step(kind, path, value, data))

    def notes(self, until: int | None = None) -> list[tuple[Any, ...]]:
        """Return the program's reports among the first `until` steps (default: all)."""
        return [step.value for step in self.steps[:until] if step.kind == "note"]

    @contextmanager
    def used(self) -> Iterator["Disk"]:
        """Let Python and SQLite use this disk within the block."""
        if not self._at_first:
            found = (self.folder, *self.folder.rglob("*"))
            self._at_first = {str(one): None if one.is_dir() else one.read_bytes() for one in found}
        with pytest.MonkeyPatch.context() as patch, _sqlite_uses(self):
            for name, call in _functions(self).items():
                patch.setattr(os, name, call)
            for module in (io, builtins):
                patch.setattr(module, "open", _pyio.open)  # the Python implementation of io calls the functions of `os`
            yield self

    # power cuts

    def cut(self, at: int, chance: random.Random, folder: Path) -> None:
        """Create a folder as a power cut after the first `at` steps could leave it.

        Data that was written but not synced is present, missing or partial, independently for each sector. Renames and
        removals, which file systems log, are applied in order up to a random moment since the folder was synced.
        """
        image = _Image(self._at_first)
        for step in self.steps[:at]:
            image.apply(step)
        image.cut(chance, chance.choice([0.0, 0.5, 1.0]))
        for path, content in image.files():
            target = folder / Path(path).relative_to(self.folder)
            if content is None:
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)


class _File:
    def __init__(self, content: bytes = b"") -> None:
        self.content = bytearray(content)
        self.pending: list[Step] = []

    def sync(self) -> None:
        for step in self.pending:
            self.write(step, 0, len(step.data))
        self.pending = []

    def write(self, step: Step, start: int, end: int) -> None:
        if step.kind == "truncate":
            size = step.value
            self.content = self.content[:size] + bytes(max(0, size - len(self.content)))
            return
        at = step.value + start
        if len(self.content) < at:
            self.content += bytes(at - len(self.content))
        self.content[at : at + end - start] = step.data[start:end]

    def cut(self, chance: random.Random, kept: float) -> None:
        for step in self.pending:
            if step.kind == "truncate":
                if chance.random() < kept:
                    self.write(step, 0, 0)
                continue
            at, length = step.value, len(step.data)
            whole = chance.random() < 0.7
            keep = chance.random() < kept
            edges = sorted({0, length, *range(-at % SECTOR, length, SECTOR)})
            for start, end in itertools.pairwise(edges):
                if keep if whole else chance.random() < kept:
                    self.write(step, start, end)
        self.pending = []


class _Image:
    """The contents that a disk certainly has after a power cut, and the contents that it may have."""

    def __init__(self, at_first: dict[str, bytes | None]) -> None:
        self.now = {path: None if content is None else _File(content) for path, content in at_first.items()}
        self.kept = dict(self.now)
        self.pending: dict[str, list[tuple[tuple[str, _File | None, bool], ...]]] = {}

    def _name(self, *changes: tuple[str, _File | None, bool]) -> None:
        for path, file, there in changes:
            if there:
                self.now[path] = file
            else:
                self.now.pop(path, None)
        self.pending.setdefault(str(Path(changes[-1][0]).parent), []).append(changes)

    def apply(self, step: Step) -> None:
        path = step.path
        if step.kind == "mkdir":
            self._name((path, None, True))
        elif step.kind == "create" and path not in self.now:
            self._name((path, _File(), True))
        elif step.kind in ("write", "truncate"):
            self._file(path).pending.append(step)
        elif step.kind == "sync":
            found = self.now.get(path)
            if found is not None:
                found.sync()
            else:
                self._sync_folder(path)
        elif step.kind == "remove":
            self._name((path, None, False))
        elif step.kind == "link":
            self._name((step.value, self._file(path), True))
        elif step.kind == "rename":
            self._name((path, None, False), (step.value, self._file(path), True))

    def _file(self, path: str) -> _File:
        found = self.now[path]
        assert found is not None
        return found

    def _keep(self, changes: tuple[tuple[str, _File | None, bool], ...]) -> None:
        for path, file, there in changes:
            if there:
                self.kept[path] = file
            else:
                self.kept.pop(path, None)

    def _sync_folder(self, folder: str) -> None:
        for changes in self.pending.pop(folder, ()):
            self._keep(changes)

    def cut(self, chance: random.Random, kept: float) -> None:
        for waiting in self.pending.values():
            for changes in waiting[: chance.randint(0, len(waiting)) if kept == 0.5 else round(kept * len(waiting))]:
                self._keep(changes)
        for file in {id(file): file for file in self.kept.values() if file is not None}.values():
            file.cut(chance, kept)

    def files(self) -> Iterator[tuple[str, bytes | None]]:
        """Yield the existing files, each folder before its contents. Files without a folder are lost."""
        for path, file in sorted(self.kept.items()):
            if all(str(one) in self.kept for one in Path(path).parents if len(str(one)) >= len(min(self.kept))):
                yield path, None if file is None else bytes(file.content)


def _functions(disk: Disk) -> dict[str, Callable[..., Any]]:
    """Return replacements of the functions of `os` that change files, for a disk."""
    real = {name: getattr(os, name) for name in (
        "open", "close", "write", "ftruncate", "fsync", "replace", "rename", "link", "unlink", "mkdir", "chmod", "fchmod",
    )}  # fmt: skip
    at: dict[int, int] = {}  # offset of the next write, by file descriptor

    def open_(name: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        path = disk.path(name)
        if path is not None and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            there = os.path.exists(path)  # noqa: PTH110
            if there and flags & os.O_TRUNC:
                disk.step("truncate", path, 0)
            elif not there or flags & os.O_EXCL == 0:
                disk.step("open" if there else "create", path)
        descriptor: int = real["open"](name, flags, mode, **more)
        if path is not None:
            disk._files[descriptor] = path
            at[descriptor] = os.fstat(descriptor).st_size if flags & os.O_APPEND else 0
        return descriptor

    def close(descriptor: int) -> None:
        disk._files.pop(descriptor, None)
        real["close"](descriptor)

    def write(descriptor: int, data: Any) -> int:
        path = disk._files.get(descriptor)
        if path is not None:
            place = os.lseek(descriptor, 0, os.SEEK_CUR) if sys.platform != "win32" else at[descriptor]
            half = bytes(data)[: len(data) // 2]
            try:
                disk.step("write", path, place, bytes(data))
            except OSError:
                if disk.error == errno.ENOSPC and half:
                    return int(real["write"](descriptor, half))  # the next write fails, as on a disk that becomes full
                raise
        return int(real["write"](descriptor, data))

    def ftruncate(descriptor: int, size: int) -> None:
        if descriptor in disk._files:
            disk.step("truncate", disk._files[descriptor], size)
        real["ftruncate"](descriptor, size)

    def fsync(descriptor: int) -> None:
        if descriptor in disk._files:
            disk.step("sync", disk._files[descriptor])
        real["fsync"](descriptor)

    def moved(kind: str) -> Callable[..., None]:
        def move(source: Any, target: Any, **more: Any) -> None:
            path, to = disk.path(source), disk.path(target)
            if path is not None and to is not None and not (kind == "link" and os.path.exists(to)):  # noqa: PTH110
                disk.step("link" if kind == "link" else "rename", path, to)
            real[kind](source, target, **more)

        return move

    def changed(kind: str, call: str) -> Callable[..., None]:
        def change(name: Any, *arguments: Any, **more: Any) -> None:
            path = disk._files.get(name) if isinstance(name, int) else disk.path(name)
            there = path is not None and os.path.exists(path)  # noqa: PTH110
            if path is not None and there is not (kind == "mkdir"):
                disk.step(kind, path)
            real[call](name, *arguments, **more)

        return change

    return {
        "open": open_, "close": close, "write": write, "ftruncate": ftruncate, "fsync": fsync,
        "replace": moved("replace"), "rename": moved("rename"), "link": moved("link"),
        "unlink": changed("remove", "unlink"), "mkdir": changed("mkdir", "mkdir"),
        "chmod": changed("mode", "chmod"), "fchmod": changed("mode", "fchmod"),
    }  # fmt: skip


# SQLite

_POINTER, _INT, _LONG = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
_OPEN = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _POINTER, _INT, _POINTER)
_DELETE = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _INT)
_WRITE = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _INT, _LONG)
_TRUNCATE = ctypes.CFUNCTYPE(_INT, _POINTER, _LONG)
_SYNC = ctypes.CFUNCTYPE(_INT, _POINTER, _INT)
_MAP = ctypes.CFUNCTYPE(_INT, _POINTER, _INT, _INT, _INT, _POINTER)
_CREATE, _MAIN_JOURNAL, _WAL = 0x4, 0x800, 0x80000  # flags with which SQLite opens a file


class _VFS(ctypes.Structure):
    _fields_ = [
        ("version", _INT), ("size", _INT), ("longest", _INT), ("next", _POINTER), ("name", ctypes.c_char_p),
        ("data", _POINTER), ("open", _OPEN), ("delete", _DELETE), *((f"other{i}", _POINTER) for i in range(14)),
    ]  # fmt: skip


class _Methods(ctypes.Structure):
    _fields_ = [
        ("version", _INT), ("close", _POINTER), ("read", _POINTER), ("write", _WRITE), ("truncate", _TRUNCATE),
        ("sync", _SYNC), *((f"other{i}", _POINTER) for i in range(7)), ("map", _MAP),
        *((f"last{i}", _POINTER) for i in range(5)),
    ]  # fmt: skip


@contextmanager
def _sqlite_uses(disk: Disk) -> Iterator[None]:
    """Let SQLite use a disk for the files that it opens within the block."""
    layer = _layer()
    layer.disk = disk
    layer.library.sqlite3_vfs_register(ctypes.addressof(layer.own), 1)
    try:
        yield
    finally:
        layer.disk = None
        layer.library.sqlite3_vfs_register(ctypes.addressof(layer.real), 1)


@functools.cache
def _layer() -> "_Layer":
    """Return the layer of this process. It is never removed, because open connections store its addresses."""
    import _sqlite3

    library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    if sys.platform == "win32" or not hasattr(library, "sqlite3_vfs_find"):
        pytest.skip("SQLite's functions cannot be reached here")
    return _Layer(library)


class _Layer:
    """A layer between SQLite and the operating system that uses the current disk."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.disk: Disk | None = None
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_VFS)
        library.sqlite3_vfs_find.argtypes = [ctypes.c_char_p]
        library.sqlite3_vfs_register.argtypes = [_POINTER, _INT]
        self.real = library.sqlite3_vfs_find(None).contents
        self._paths: dict[int, str] = {}  # path by address of the open file
        self._unsynced: set[str] = set()  # new journals and WAL files; the first sync also syncs the folder
        self._ours: dict[int, _Methods] = {}  # our methods, by address of the real ones
        self._real: dict[int, _Methods] = {}  # real methods, by address of ours
        self._calls = (_WRITE(self._write), _TRUNCATE(self._truncate), _SYNC(self._sync), _MAP(self._map))
        self.own = _VFS.from_buffer_copy(self.real)
        self.own.open, self.own.delete = _OPEN(self._open), _DELETE(self._delete)
        self.own.name, self.own.next = b"a disk of a test", None

    def _refuses(self) -> bool:
        return self.disk is not None and self.disk.refuses()

    def _record(self, *step: Any) -> None:
        if self.disk is not None:
            self.disk.steps.append(Step(*step))

    def _code(self, kind: str) -> int:
        full = self.disk is not None and self.disk.error == errno.ENOSPC
        return _FULL if kind == "write" and full else _CODES[kind]

    def _method(self, file: int) -> _Methods:
        return self._real[_POINTER.from_address(file).value or 0]

    def _open(
        self, _: int, name: int | None, file: int, flags: int, out: int
    ) -> int:  # `name` is an address, because the real `open` keeps the pointer
        path = None if name is None or self.disk is None else self.disk.path(ctypes.string_at(name))
        there = path is None or os.path.exists(path)  # noqa: PTH110
        if path is not None and flags & _CREATE:
            if self._refuses():
                _POINTER.from_address(file).value = None
                return self._code("open")
            if not there:
                self._record("create", path)
                if flags & (_MAIN_JOURNAL | _WAL):
                    self._unsynced.add(path)
        result: int = self.real.open(ctypes.addressof(self.real), name, file, flags, out)
        address = _POINTER.from_address(file).value
        if path is not None and result == _OK and address:
            if address not in self._ours:
                found = _Methods.from_address(address)
                copy = self._ours[address] = _Methods.from_buffer_copy(found)
                copy.write, copy.truncate, copy.sync, copy.map = self._calls
                self._real[ctypes.addressof(copy)] = found
            _POINTER.from_address(file).value = ctypes.addressof(self._ours[address])
            self._paths[file] = path
        return result

    def _delete(self, _: int, name: int, sync_folder: int) -> int:
        path = None if self.disk is None else self.disk.path(ctypes.string_at(name))
        if path is not None and os.path.exists(path):  # noqa: PTH110
            if self._refuses():
                return self._code("remove")
            self._record("remove", path)
            if sync_folder:
                self._record("sync", str(Path(path).parent))
        return int(self.real.delete(ctypes.addressof(self.real), name, sync_folder))

    def _write(self, file: int, data: int, length: int, offset: int) -> int:
        if self._refuses():
            code = self._code("write")
            if code == _FULL:
                self._method(file).write(file, data, length // 2, offset)
            return code
        self._record("write", self._paths[file], offset, ctypes.string_at(data, length))
        return int(self._method(file).write(file, data, length, offset))

    def _truncate(self, file: int, size: int) -> int:
        if self._refuses():
            return self._code("truncate")
        self._record("truncate", self._paths[file], size)
        return int(self._method(file).truncate(file, size))

    def _sync(self, file: int, flags: int) -> int:
        if self._refuses():
            return self._code("sync")
        path = self._paths[file]
        self._record("sync", path)
        if path in self._unsynced:
            self._unsynced.remove(path)
            self._record("sync", str(Path(path).parent))
        return _OK  # no real sync, because the power of the real disk is not cut

    def _map(self, file: int, region: int, size: int, extend: int, out: int) -> int:
        if extend and self._refuses():
            return self._code("grow")
        return int(self._method(file).map(file, region, size, extend, out))
