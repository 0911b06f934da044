"""A folder whose first write was killed counts as empty, and a folder with other files is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from workbench.analysis.rewards.folder import Folder
from workbench.base.errors import UsageError

QUERY = {"type": None}
KILLED = """
import os, signal, sys
from pathlib import Path
from workbench.base.system.files import write_file
write_file(Path(sys.argv[1], "part-000000.parquet"), lambda file: (file.write(b"half"), file.flush(), os.kill(os.getpid(), signal.SIGKILL)))
"""


def test_a_killed_first_write_leaves_the_folder_usable(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert [path.name.startswith(".part-000000") for path in tmp_path.iterdir()] == [True]
    assert Folder(tmp_path, QUERY).done == {}
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_another_process_writes_stays(tmp_path: Path) -> None:
    """A temporary file of a running process is not removed, and the folder still counts as empty."""
    other = tmp_path / f".part-000000.parquet.{os.getpid()}-abcdefgh.parquet"
    other.touch()
    Folder(tmp_path, QUERY)
    assert other.exists()


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UsageError, match="is not empty"):
        Folder(tmp_path, QUERY)


READ = """
import os, signal, sys
from pathlib import Path
import workbench as wb

def fetch(folder, at=0):
    steps = iter(range(1, 1_000_000))
    def counted(step):
        def call(*args, **given):
            if next(steps) == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*args, **given)
        return call
    for name in ("open", "fsync", "replace"):
        setattr(os, name, counted(getattr(os, name)))
    with wb.connect(seed=1) as api:
        user = api.sandbox.guide()["rewards_users"][0]["id"]
        rows = wb.rewards.fetch(api, user, path=folder, progress=False)
        return len(wb.to_frame(rows))

def ended(*arguments):
    child = os.fork()
    if not child:
        code = 99
        try:
            code = 0 if fetch(*arguments) == int(sys.argv[2]) else 3
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

kills = 0
for at in range(1, int(sys.argv[3])):
    folder = Path(sys.argv[1], str(at))
    if ended(folder, at) == 0:
        break
    kills += 1
    assert ended(folder) == 0, at
print(kills)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.soak
def test_a_read_killed_at_each_step_of_its_disk_is_read_to_its_end(tmp_path: Path) -> None:
    """After a kill at any open, sync or rename, a repeated read has all rows."""
    with wb.connect(seed=1) as api:
        user = api.sandbox.guide()["rewards_users"][0]["id"]
        rows = len(wb.to_frame(wb.rewards.fetch(api, user, progress=False)))
    run = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path), str(rows), "60"], capture_output=True, text=True, check=True
    )
    print(f"\n{run.stdout.strip()} kills")

    assert 3 < int(run.stdout) < 59
