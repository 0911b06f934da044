"""A SQLite database of the workbench: validated on open, durable on commit.

A commit survives a killed process, and optionally a power failure (WAL, `synchronous=FULL`). Several processes may
write concurrently (`BEGIN IMMEDIATE`). A file is left unchanged if it belongs to another program or version, is
damaged, or has an unknown schema. Deleted values are overwritten. The file is readable only by its owner.
"""

import hashlib
import os
import sqlite3
import stat
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from workbench.base.arguments import hide_arguments
from workbench.base.errors import FileBusy, UnusableFile, advise, visible
from workbench.base.system.files import file_system, make_folder, warn_if_shared
from workbench.base.system.forks import INHERITING, WRITERS
from workbench.base.system.interrupts import uninterrupted
from workbench.base.system.locks import FileLock
from workbench.base.system.seconds import monotonic

_MAGIC = b"SQLite format 3\0"

_WAIT = 0.05  # seconds that SQLite itself waits while another process holds the file

_CHECKED_WHOLE = 64 * 2**20  # maximum bytes of a file that is checked completely at each start

_SETTINGS = {
    "trusted_schema": "OFF", "secure_delete": "ON", "foreign_keys": "ON",
    "recursive_triggers": "ON",  # so that REPLACE also deletes the checksum of the replaced row
    "wal_autocheckpoint": "4000",  # in pages; each checkpoint waits for the disk twice
}  # fmt: skip

_FAILURES = (sqlite3.DatabaseError, UnicodeDecodeError)  # a SQLite message may contain a damaged name that is not UTF-8

_CHECKSUMS = (
    "CREATE TABLE checksums(of_table TEXT NOT NULL, of_row INTEGER NOT NULL, crc32 INTEGER NOT NULL, "
    "PRIMARY KEY(of_table, of_row)) WITHOUT ROWID"
)


class _Connection(sqlite3.Connection):
    """Connection that is closed with its owner, without Python's warning about unclosed connections.

    A forked process never closes its copy. The process that opened the connection closes it.
    """

    _process = 0

    def __init__(self, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self._process = os.getpid()

    def __del__(self) -> None:
        if self._process == os.getpid():
            with suppress(sqlite3.Error):
                self.close()
        elif self._process:
            OF_PARENTS.append(self)


OF_PARENTS: list[object] = []
"""Connections and leases of the parent process, stored here so that this process does not close them."""


class Database:
    """A workbench database in a file or in memory. The database has one connection, which one thread at a time uses."""

    @hide_arguments
    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        *,
        application: int,
        schema: str,
        checked: Sequence[str] = (),
        version: int = 1,
        busy_seconds: float = 5.0,
        survives_power_loss: bool = True,
        file_system: Callable[[Path], str] = file_system,
    ) -> None:
        """Open the file, or create it.

        Args:
            path: Path of the file, or None to store the database in memory.
            application: Application id in the file header.
            schema: Statements that create the tables.
            checked: Tables with a checksum for each row, which detects damage (see `undamaged`).
            version: Version of the schema. A file of another version is refused and left unchanged.
            survives_power_loss: Whether to sync to disk at each commit. Without syncs, the file stays intact and a
                commit survives a killed process, but a power failure may lose the last writes.

        Raises:
            UnusableFile: The file is not a workbench file, has another version, is damaged, or cannot be opened. It is
                left unchanged.
            FileBusy: Another process held the file for too long.
        """
        # resolve symbolic links, so that a file always has the same path
        self.path = None if path is None else Path(path).resolve()
        self._busy_seconds = busy_seconds
        self._busy_at = 0.0  # time of the last timeout while the file was busy
        self._synchronous = "FULL" if survives_power_loss else "NORMAL"
        self._checked = checked if self.path is not None else ()
        if self.path is not None:
            _prepare(self.path)
            _check_header(self.path, application, version)
            _check_stored(self.path, schema)  # checked before anything is written to the file or its log
        self._connect()
        with INHERITING:
            WRITERS.add(self)
        self._pid = os.getpid()
        try:
            self._open(application, schema, version, file_system)
        except BaseException as error:
            self.connection.close()
            if isinstance(error, _FAILURES):
                raise self._named(error) from None
            raise

    def _connect(self) -> None:
        self.lock = threading.RLock()
        self._leases: dict[str, FileLock] = {}
        try:
            self.connection = sqlite3.connect(
                ":memory:" if self.path is None else self.path,
                timeout=_WAIT,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
                factory=_Connection,
            )
            for name, value in {**_SETTINGS, "synchronous": self._synchronous}.items():
                # after a process was killed, another process may hold the file to recover it
                self._patiently(f"PRAGMA {name}={value}")
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if "locked" in str(error):
                raise self._named(error) from None
            raise UnusableFile(f"{self.path} cannot be opened: {visible(str(error), 200)}") from None
        # This is a C function, because an interrupt inside a Python callback would become a database error.
        self.connection.create_function("crc32", 1, zlib.crc32, deterministic=True)

    def after_fork(self) -> None:
        """Reopen the file in a forked process: connections do not survive a fork, and leases stay with the parent.

        If several threads call this method at once, one reopens the file and the others wait.
        """
        if self._pid == os.getpid() or self.path is None:
            return
        with INHERITING:
            if self._pid != os.getpid():
                OF_PARENTS.append((self.connection, self._leases))
                self._connect()
                self._watch()
                self._pid = os.getpid()

    def _open(self, application: int, schema: str, version: int, probe: Callable[[Path], str]) -> None:
        run = self.connection.execute
        self._patiently("BEGIN IMMEDIATE")
        try:
            if run("PRAGMA application_id").fetchone()[0] != application:
                if run("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                    raise UnusableFile(f"{self.path} is not a workbench database; file left unchanged.")
                for statement in (*schema.split(";"), *[_CHECKSUMS] * bool(self._checked)):
                    run(statement)
                run(f"PRAGMA user_version={version:d}")
                run(f"PRAGMA application_id={application:d}")
            run("COMMIT")
        except BaseException:
            self._rollback_open()
            raise
        if self.path is None:
            return
        self._check_schema(schema)
        if self.path.stat().st_size <= _CHECKED_WHOLE and run("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise UnusableFile(f"{self.path} is damaged; file left unchanged.")
        shared = warn_if_shared(self.path, probe)
        self._patiently(f"PRAGMA journal_mode={'DELETE' if shared else 'WAL'}")
        self._watch()
        for table in self._checked if self.path.stat().st_size <= _CHECKED_WHOLE else ():
            if damage := self.damaged(table):
                numbers = ", ".join(map(str, damage[:20])) + (
                    f" and {len(damage) - 20} more" if len(damage) > 20 else ""
                )
                advise(f"{self.path}: damaged records of {table} are set aside ({numbers}); the others can be read")

    # checksums of rows

    def _crc32(self, table: str, row: str = "") -> str:
        """Return the SQL expression for the checksum of a row. `row` is the prefix of the columns, such as `NEW.`."""
        columns = [name for _, name, *_ in self.connection.execute(f"PRAGMA table_info({table})")]
        return f"crc32(CAST({' || '.join(f'quote({row}{name})' for name in columns)} AS BLOB))"

    def _watch(self) -> None:
        """Maintain the checksums with temporary triggers of this connection. The file contains no triggers."""
        # The columns are queried only once, because each query needs the lock of the connection.
        self._sums = {table: self._crc32(table, f"{table}.") for table in self._checked}
        for table in self._checked:
            put = f"INSERT OR REPLACE INTO checksums VALUES ('{table}', NEW.rowid, {self._crc32(table, 'NEW.')});"
            drop = f"DELETE FROM checksums WHERE of_table = '{table}' AND of_row = OLD.rowid;"
            for event, statements in {"INSERT": put, "UPDATE": drop + put, "DELETE": drop}.items():
                self.connection.execute(
                    f"CREATE TEMP TRIGGER {table}_{event} AFTER {event} ON main.{table} BEGIN {statements} END"
                )

    def undamaged(self, table: str) -> str:
        """Return the SQL condition that a row of a checked table is undamaged.

        Apply the condition before reading columns, because damaged columns may contain invalid text.
        """
        if table not in self._checked:
            return "1"
        stored = f"SELECT crc32 FROM checksums WHERE of_table = '{table}' AND of_row = {table}.rowid"
        return f"coalesce(({stored}) = {self._sums[table]}, 1)"

    def damaged(self, table: str) -> list[int]:
        """Return the numbers of damaged and missing rows of a checked table."""
        if table not in self._checked:
            return []
        query = (
            f"SELECT rowid FROM {table} WHERE NOT {self.undamaged(table)} "
            "UNION SELECT of_row FROM checksums "
            f"WHERE of_table = '{table}' AND of_row NOT IN (SELECT rowid FROM {table}) ORDER BY 1"
        )
        return [number for (number,) in self.run(query)]

    def _check_schema(self, schema: str) -> None:
        """Reject a file that lacks a table or index of the schema, or has views or triggers, which could run."""
        if problem := _schema_problem(_objects(self.connection), schema):
            raise UnusableFile(f"{self.path} {problem}; file left unchanged.")

    @contextmanager
    def write(self, *, wait: bool = True, asked: float | None = None) -> Iterator[sqlite3.Connection]:
        """Yield the connection inside a transaction, which is committed at the end or rolled back on an error.

        Args:
            wait: Whether to wait for other processes.
            asked: Time at which the caller began to wait, by `monotonic()`; default: now. If another thread has timed
                out since then, the file is tried only once, so that threads do not wait one after the other.

        Raises:
            FileBusy: Another process held the file for too long.
            UnusableFile: The disk is full, or the file cannot be written.
        """
        self.after_fork()
        asked = monotonic() if asked is None else asked
        with uninterrupted, self.lock:
            try:
                self._rollback_open()
                self._patiently("BEGIN IMMEDIATE", wait=wait, asked=asked)
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException as error:
                self._rollback_open()
                if isinstance(error, _FAILURES):
                    raise self._named(error) from None
                raise

    def _rollback_open(self) -> None:
        """Roll back a transaction left open by an interrupt or other exception."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def run(self, query: str, values: object = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows. Outside a transaction, the statement is committed immediately."""
        self.after_fork()
        asked = monotonic()
        with self.lock:
            try:
                return self._patiently(query, values, asked=asked).fetchall()
            except _FAILURES as error:
                raise self._named(error) from None

    def run_many(self, statement: str, rows: Iterable[Any]) -> None:
        """Run a statement for each row, inside a transaction."""
        try:
            self.connection.executemany(statement, rows)
        except _FAILURES as error:
            raise self._named(error) from None

    def _patiently(
        self, statement: str, values: Any = (), *, wait: bool = True, asked: float = float("inf")
    ) -> sqlite3.Cursor:
        """Run a statement that needs exclusive access, retrying until the timeout.

        SQLite waits at growing intervals, which miss the pauses of a process that writes continuously.
        """
        until = monotonic() + self._busy_seconds if wait and asked > self._busy_at else 0.0
        while True:
            try:
                return self.connection.execute(statement, values)
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or monotonic() >= until:
                    self._busy_at = monotonic() if wait else self._busy_at
                    raise

    def _named(self, error: Exception) -> Exception:
        """Convert a SQLite error to a workbench error without stored values. Errors in a statement stay unchanged."""
        if isinstance(error, sqlite3.OperationalError):
            busy = any(word in str(error) for word in ("locked", "busy"))
            kind = FileBusy if busy else UnusableFile
            state = "is busy: another process holds it" if busy else f"cannot be used: {error}"
            return kind(f"{self.path or 'memory'} {state}. Nothing was stored.")
        if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.DataError):
            return error
        return UnusableFile(f"{self.path} is damaged: {error}; file left unchanged.")

    def lease(self, work: str, seconds: float = 0.0) -> bool:
        """Acquire the lease for a task, which one process at a time can hold. Return whether this process holds it.

        Args:
            seconds: Seconds to wait for the lease.
        """
        self.after_fork()
        if self.path is None or work in self._leases:
            return True
        lock = FileLock(self.path.with_name(f"{self.path.name}.{hashlib.sha256(work.encode()).hexdigest()[:8]}"))
        with uninterrupted:
            if not lock.acquire(seconds):
                return False
            self._leases[work] = lock
        return True

    def end_lease(self, work: str, *, forever: bool = False) -> None:
        """Release the lease for a task. With `forever`, also delete the lock file of the lease."""
        self.after_fork()
        with uninterrupted:
            lock = self._leases.pop(work, None)
            if lock is not None:
                lock.remove() if forever else lock.release()

    def is_leased(self, work: str) -> bool:
        """Return whether a process holds the lease for a task. A stale lease is removed."""
        self.after_fork()
        if self.path is None or work in self._leases:
            return work in self._leases
        if free := self.lease(work):
            self.end_lease(work, forever=True)
        return not free

    def remove_ended_leases(self) -> None:
        """Remove the stale leases of processes that have ended."""
        if self.path is not None:
            prefix = f"{self.path.name}."
            for path in self.path.parent.iterdir():
                if path.name.startswith(prefix) and path.name.endswith(".lock", len(prefix)):
                    lock = FileLock(path.with_suffix(""))
                    if lock.acquire():
                        lock.remove()

    def forget_deleted(self) -> None:
        """Rewrite the file so that it contains no deleted data."""
        self.run("VACUUM")
        self.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the connection and release its leases."""
        self.after_fork()
        with self.lock:
            self.connection.close()
            while self._leases:
                self._leases.popitem()[1].release()


def _prepare(path: Path) -> None:
    """Create the folder and the file with access for their owner only. An existing folder is not changed."""
    try:
        make_folder(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, stat.S_IRUSR | stat.S_IWUSR))
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a device or pipe of others, whose access must not change
            raise UnusableFile(f"{path} is not a regular file; file left unchanged.")
        if os.name == "posix" and status.st_size == 0:
            path.chmod(stat.S_IRUSR | stat.S_IWUSR)
    except OSError as error:
        raise UnusableFile(f"{path} cannot be opened: {error.strerror}") from None
    if status.st_nlink > 1:  # lock and write-ahead log are named after the file, and would differ between the names
        raise UnusableFile(
            f"{path} has {status.st_nlink} names (hard links); keep one of them. The file was left unchanged."
        )


_OBJECTS = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"


_Objects = set[tuple[str, str, str]]


def _objects(connection: sqlite3.Connection) -> _Objects:
    """Return type, name and statement of each table and index, with whitespace normalized."""
    return {(kind, name, " ".join(sql.split())) for kind, name, sql in connection.execute(_OBJECTS)}


@cache
def _expected(schema: str) -> _Objects:
    """Return the objects that a schema creates."""
    with closing(sqlite3.connect(":memory:")) as ours:
        ours.executescript(schema)
        return _objects(ours)


def _schema_problem(stored: _Objects, schema: str) -> str:
    """Return the reason why the objects of a file do not match the schema; empty if they match."""
    expected = _expected(schema)
    strange = {kind for kind, _, _ in stored - expected} - {"table", "index"}
    return "has an unexpected schema" if expected - stored or strange else ""


def _check_stored(path: Path, schema: str) -> None:
    """Reject a file with another schema without opening it for writing, so that not even its log changes."""
    # the file is new, or a killed process left it incomplete
    if not path.stat().st_size or path.with_name(f"{path.name}-journal").exists():
        return
    problem = _stored_problem(path, schema)
    log = path.with_name(f"{path.name}-wal")
    if problem and log.exists() and log.stat().st_size:  # the changes in the log are checked in a copy
        if path.stat().st_size + log.stat().st_size > _CHECKED_WHOLE:
            return  # the file is too large to copy, and is checked when the database is open
        import shutil  # imported late, since few files need a copy
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            copied = Path(folder, path.name)
            for file in (path, log):
                shutil.copyfile(file, copied.with_name(file.name))
            problem = _stored_problem(copied, schema, immutable=False)
    if problem:
        raise UnusableFile(f"{path} {problem}; file left unchanged.")


def as_uri(path: Path, mode: str) -> str:
    """Return the URI of a SQLite file. `#`, `?` and `%` are escaped, because they have a meaning in a URI.

    Args:
        path: The file.
        mode: "ro", "rw", or "ro&immutable=1".
    """
    return f"{path.absolute().as_uri()}?mode={mode}"


def _stored_problem(path: Path, schema: str, *, immutable: bool = True) -> str:
    address = as_uri(path, "ro&immutable=1" if immutable else "rw")
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            stored = _objects(connection)
    except _FAILURES:
        return ""  # the file is damaged or changing, which is reported when it is opened
    return _schema_problem(stored, schema) if stored else ""


def _check_header(path: Path, application: int, version: int) -> None:
    with path.open("rb") as file:
        head = file.read(100)
    if not head or path.with_name(path.name + "-journal").exists():  # new, or left incomplete by a killed process
        return
    if len(head) < 100 or not head.startswith(_MAGIC) or int.from_bytes(head[68:72], "big") != application:
        raise UnusableFile(f"{path} is not a workbench database; file left unchanged.")
    file_version = int.from_bytes(head[60:64], "big")
    if file_version != version:
        raise UnusableFile(
            f"{path} was written by another version of the workbench (its format is {file_version}; this version "
            f"reads {version}). Open it with that version, or name another file. The file was left unchanged."
        )
