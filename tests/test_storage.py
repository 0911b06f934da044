"""The SQLite file is readable only by its owner, checked when opened, and shared by processes."""

import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import AdviceWarning, FileBusy, UnusableFile
from workbench.base.system.database import Database, as_uri
from workbench.base.system.files import file_system, write_file
from workbench.base.system.locks import FileLock

OURS = 0x57425454
SCHEMA = "CREATE TABLE things(name TEXT PRIMARY KEY, number INTEGER)"


def opened(path: Path | None, **how: object) -> Database:
    """Open a database file."""
    return Database(path, **{"application": OURS, "schema": SCHEMA, **how})  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a database file with one row."""
    path = tmp_path / "ours.db"
    file = opened(path)
    with file.write() as db:
        db.execute("INSERT INTO things VALUES ('one', 1)")
    file.close()
    return path


def test_settings_for_durability(path: Path) -> None:
    """Committed data is on disk when the call returns, and deleted data is overwritten."""
    file = opened(path)
    names = ("journal_mode", "synchronous", "secure_delete", "trusted_schema")
    found = [file.run(f"PRAGMA {name}")[0][0] for name in names]
    file.close()

    assert found == ["wal", 2, 1, 0]


def test_error_undoes_the_transaction(path: Path) -> None:
    """An error inside a transaction rolls it back."""
    file = opened(path)
    with pytest.raises(sqlite3.IntegrityError), file.write() as db:
        db.executemany("INSERT INTO things VALUES (?, 2)", [("two",), ("one",)])
    found = file.run("SELECT name FROM things")
    file.close()

    assert found == [("one",)]


def foreign(path: Path) -> None:
    """Create a database of another program."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t(x)")
    connection.close()


def edit(statement: str) -> object:
    """Return a function that changes a file with an SQL statement."""

    def change(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()

    return change


def damage(path: Path) -> None:
    """Overwrite a page of the table."""
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)


SPOILED = {
    "text": (lambda path: path.write_text("dear diary"), "not a workbench database"),
    "a short file": (lambda path: path.write_bytes(b"SQLite format 3\0"), "not a workbench database"),
    "a database of others": (lambda path: (path.unlink(), foreign(path)), "not a workbench database"),
    "newer": (edit("PRAGMA user_version=2"), "another version of the workbench .its format is 2; this version reads 1"),
    "older": (edit("PRAGMA user_version=0"), "another version of the workbench .its format is 0; this version reads 1"),
    "a trigger": (
        edit("CREATE TRIGGER evil AFTER INSERT ON things BEGIN DELETE FROM things; END"),
        "unexpected schema",
    ),
    "a view": (edit("CREATE VIEW evil AS SELECT 1"), "unexpected schema"),
    "another table under our name": (edit("ALTER TABLE things ADD COLUMN more"), "unexpected schema"),
    "damaged": (damage, "damaged"),
}


@pytest.mark.parametrize("case", SPOILED.values(), ids=SPOILED)
def test_unusable_file_is_left_alone(path: Path, case: tuple[object, str]) -> None:
    """A foreign, newer, changed or damaged file is refused with the reason and left unchanged."""
    spoil, reason = case
    spoil(path)  # type: ignore[operator]
    before = path.read_bytes()

    with pytest.raises(UnusableFile, match=reason):
        opened(path)
    assert path.read_bytes() == before


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    """The error names a path that cannot be a file."""
    with pytest.raises(UnusableFile, match="cannot be opened"):
        opened(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="a pipe has a name only on POSIX")
def test_a_pipe_or_device_keeps_its_access_and_its_place(tmp_path: Path) -> None:
    """A path such as /dev/null is refused: its access does not change, and no file replaces it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o644)
    pipe.chmod(0o644)
    with pytest.raises(UnusableFile, match="pipe is not a regular file; file left unchanged"):
        opened(pipe)
    with pytest.raises(OSError, match="is not a regular file"):
        write_file(pipe, b"x")

    assert (stat.S_ISFIFO(pipe.stat().st_mode), stat.S_IMODE(pipe.stat().st_mode)) == (True, 0o644)


def test_own_tables_beside_ours_are_fine(path: Path) -> None:
    """A table that a user's handler creates in the file is accepted."""
    edit("CREATE TABLE book(id TEXT)")(path)  # type: ignore[operator]
    file = opened(path)

    assert file.run("SELECT name FROM things") == [("one",)]
    file.close()


def test_busy_file_is_named(path: Path) -> None:
    """A file that another process locks for too long is reported as busy, and can be used again later."""
    holder = sqlite3.connect(path, isolation_level=None)
    file = opened(path, busy_seconds=0.01)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(FileBusy, match="another process holds it"), file.write():
        pass
    holder.execute("ROLLBACK")
    with file.write() as db:
        db.execute("INSERT INTO things VALUES ('two', 2)")
    holder.close()

    assert len(file.run("SELECT * FROM things")) == 2
    file.close()


def test_opening_waits_for_a_process_that_recovers_the_file(path: Path) -> None:
    """The first process after a kill locks the file while it recovers the log. Other processes wait for it."""
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA journal_mode=DELETE")
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(FileBusy, match="another process holds it"):
        opened(path, busy_seconds=0.01)
    timer = threading.Timer(0.3, holder.execute, ["ROLLBACK"])
    timer.start()
    file = opened(path)
    timer.join()
    holder.close()

    assert file.run("SELECT name FROM things") == [("one",)]
    file.close()


def test_shared_file_system_is_warned_of(tmp_path: Path) -> None:
    """On a network folder the file uses the older journal mode, with a warning."""
    with pytest.warns(UserWarning, match=r"shared file system \(nfs4\)"):
        file = opened(tmp_path / "ours.db", file_system=lambda _: "nfs4")

    assert file.run("PRAGMA journal_mode") == [("delete",)]
    file.close()


def test_type_of_file_system() -> None:
    """The file system's type is that of the longest matching mount point."""
    assert file_system(Path("/proc/self/status")) == "proc"


def test_new_file_is_private(tmp_path: Path) -> None:
    """A new file in a new folder is accessible only to its owner."""
    opened(tmp_path / "a" / "b" / "ours.db").close()

    assert stat.S_IMODE((tmp_path / "a" / "b" / "ours.db").stat().st_mode) == 0o600


def test_memory_is_the_same() -> None:
    """Without a path, the same operations work in memory."""
    file = opened(None)
    with file.write() as db:
        db.execute("INSERT INTO things VALUES ('one', 1)")

    assert file.run("SELECT number FROM things") == [(1,)]
    file.close()


ADDS = """
import sys
sys.path[:0] = sys.argv[2:3]
from tests.test_storage import opened
from pathlib import Path
file = opened(Path(sys.argv[1]))
for _ in range(100):
    with file.write() as db:
        number = db.execute("SELECT number FROM things WHERE name = 'one'").fetchone()[0]
        db.execute("UPDATE things SET number = ? WHERE name = 'one'", (number + 1,))
file.close()
"""


@pytest.mark.slow
def test_processes_at_once(path: Path) -> None:
    """Four processes that each increment a number a hundred times lose no update."""
    here = str(Path(__file__).parent.parent)
    running = [subprocess.Popen([sys.executable, "-c", ADDS, str(path), here]) for _ in range(4)]

    assert [one.wait() for one in running] == [0] * 4
    file = opened(path)
    assert file.run("SELECT number FROM things WHERE name = 'one'") == [(401,)]
    file.close()


HOLD = """
import sys
from pathlib import Path
from workbench.base.system.database import Database
from workbench.base.system.locks import FileLock
path = Path(sys.argv[1])
file = Database(path, application=0x57425454, schema=sys.argv[2])
with FileLock(path):
    print(file.lease("work"), flush=True)
    sys.stdin.read()
"""


def test_locks_are_those_of_the_file_by_whatever_link(path: Path, tmp_path: Path) -> None:
    """A lock on a file also applies to a process that opened the file through a symbolic link."""
    link = tmp_path / "folder" / "link.db"
    link.parent.mkdir()
    link.symlink_to(path)
    command = [sys.executable, "-c", HOLD, str(path), SCHEMA]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        held = holder.stdout.readline()
        here = opened(link)
        lease = here.lease("work")
        with pytest.raises(FileBusy), FileLock(link):
            pass
        holder.stdin.close()
    here.close()

    assert (held, lease) == ("True\n", False)


def test_a_file_of_several_names_is_refused(path: Path, tmp_path: Path) -> None:
    """Locks and the database log depend on the file name, so a hard link would bypass them."""
    (tmp_path / "another.db").hardlink_to(path)

    with pytest.raises(UnusableFile, match="hard links"):
        opened(path)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_neither_connection_nor_leases(path: Path) -> None:
    """A forked process opens the file again. The parent keeps its leases even after the child ends."""
    file = opened(path)
    leased = file.lease("work")

    def child(answers: Any) -> None:
        free = file.lease("work"), file.lease("other work")
        with file.write() as db:
            db.execute("INSERT INTO things VALUES ('child', 2)")
        answers.send(free)

    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=child, args=(there,))
    process.start()
    free = here.recv()
    process.join()
    another = opened(path)
    after = another.lease("work"), another.lease("other work")
    found = [name for (name,) in file.run("SELECT name FROM things ORDER BY number")]
    another.close()
    file.close()

    assert (leased, free, after) == (True, (False, True), (False, True))
    assert found == ["one", "child"]


THREADS = """
import os, sys, threading, time
from tests.test_storage import checked
from workbench.client.calls.journal import Recorder
file, journal = checked(sys.argv[1]), Recorder(None, None)
file.lease("work")
journal._here()
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
def slow(frame, event, argument):  # another thread may run between any two lines
    if frame.f_code.co_name in ("after_fork", "_connect", "_watch", "_here"):
        time.sleep(0.002)
        return slow
threading.settrace(slow)
processes = set()
def add(i):
    processes.add(journal._here())
    with file.write() as db:
        db.execute("INSERT INTO things(name) VALUES (?)", (f"thread {i}",))
threads = [threading.Thread(target=add, args=(i,)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(20)
os._exit(len(processes) - 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_threads_of_a_forked_process_begin_at_once(tmp_path: Path) -> None:
    """One thread reopens the file, and the others wait for it: each writes its row with a checksum, and none holds the
    file afterwards. All threads of a process have one name in its journal.
    """
    path, here = tmp_path / "ours.db", str(Path(__file__).parent.parent)
    command = [sys.executable, "-W", "ignore", "-c", THREADS, str(path)]
    ended = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=100)
    file = checked(path)
    with file.write(wait=False):
        pass
    rows = file.run(f"SELECT name FROM things WHERE {file.undamaged('things')} ORDER BY name")
    sums = file.run("SELECT count(*) FROM checksums")
    file.close()

    assert (ended.returncode, ended.stderr) == (0, "")
    assert (rows, sums) == ([(f"thread {i}",) for i in range(8)], [(8,)])


NAMED = "CREATE TABLE things(number INTEGER PRIMARY KEY, name TEXT, size INTEGER)"


def checked(path: Path | None) -> Database:
    """Open a database file whose rows have checksums."""
    return Database(path, application=OURS, schema=NAMED, checked=["things"])


def names(file: Database) -> list[str]:
    """Return the names that can be read."""
    return [name for (name,) in file.run(f"SELECT name FROM things WHERE {file.undamaged('things')} ORDER BY number")]


@pytest.mark.parametrize(
    "change",
    ["name = 'other'", "size = 7", "size = NULL", "name = CAST(x'ff00fe' AS TEXT)", "number = 5"],
    ids=["text", "number", "null", "no text", "key"],
)
def test_a_damaged_row_is_named_and_the_others_are_read(tmp_path: Path, change: str) -> None:
    """A row that another program changed is excluded."""
    path = tmp_path / "ours.db"
    file = checked(path)
    with file.write() as db:
        db.executemany("INSERT INTO things VALUES (?, ?, 1)", [(1, "one"), (2, "two"), (3, "three")])
        db.execute("UPDATE things SET size = 2 WHERE number = 2")
        db.execute("DELETE FROM things WHERE number = 3")
    file.close()
    edit(f"UPDATE things SET {change} WHERE number = 2")(path)  # type: ignore[operator]

    with pytest.warns(AdviceWarning, match=r"damaged records of things are set aside \(2\)"):
        file = checked(path)
    assert names(file)[0] == "one"
    assert file.damaged("things") == [2]
    assert len(names(file)) == (2 if "number" in change else 1)
    file.close()


@pytest.mark.parametrize("name", ["C# runs.db", "q1?mode=rwc&z.db", "100%41.db", "a b.db"])
def test_a_file_is_read_and_made_under_its_own_name(tmp_path: Path, name: str) -> None:
    """Unescaped, `#`, `?` and `%` in an SQLite URI would open or create another file."""
    for _ in range(2):
        file = checked(tmp_path / name)
        with file.write() as db:
            db.execute("INSERT INTO things (name, size) VALUES ('one', 1)")
        file.close()

    assert {path.name for path in tmp_path.iterdir()} <= {name, f"{name}-wal", f"{name}-shm"}
    with closing(sqlite3.connect(as_uri(tmp_path / name, "ro"), uri=True)) as stored:
        assert stored.execute("SELECT count(*) FROM things").fetchone() == (2,)
    assert {path.name for path in tmp_path.iterdir()} <= {name, f"{name}-wal", f"{name}-shm"}
