"""A folder whose first write was killed is used as an empty one; one with other files is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.errors import UsageError
from workbench.rewards.folder import Folder

QUERY = {"type": None}
KILLED = """
import os, signal, sys
from pathlib import Path
from workbench.system.files import write_file
write_file(Path(sys.argv[1], "part-000000.parquet"), lambda file: (file.write(b"half"), file.flush(), os.kill(os.getpid(), signal.SIGKILL)))
"""


def test_a_killed_first_write_leaves_the_folder_usable(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert [path.name.startswith(".part-000000") for path in tmp_path.iterdir()] == [True]
    assert Folder(tmp_path, QUERY).done == {}
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_another_process_writes_stays(tmp_path: Path) -> None:
    """The folder counts as empty all the same."""
    other = tmp_path / f".part-000000.parquet.{os.getpid()}-abcdefgh.parquet"
    other.touch()
    Folder(tmp_path, QUERY)
    assert other.exists()


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UsageError, match="is not empty"):
        Folder(tmp_path, QUERY)
