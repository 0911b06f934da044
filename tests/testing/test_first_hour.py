"""The section "Your first hour" of docs/testing.md runs: a bug is found and repaired, and then the test passes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent.parent / "docs" / "testing.md").read_text(encoding="utf-8")
HOUR = PAGE.partition("## Your first hour")[2].partition("\n## ")[0]
SHOP, TEST, REPAIR = re.findall(r"```python\n(.*?)```", HOUR, re.DOTALL)
OUTPUT = re.findall(r"```text\n(.*?)```", HOUR, re.DOTALL)[0]


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        "--rootdir",
        str(folder),
        str(folder),
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "universes", [pytest.param(50, marks=pytest.mark.slow), pytest.param(500, marks=pytest.mark.soak)]
)
def test_a_bug_is_found_repaired_and_the_test_is_green(universes: int, tmp_path: Path) -> None:
    assert "universes=500" in TEST
    (tmp_path / "shop.py").write_text(SHOP, encoding="utf-8")
    (tmp_path / "test_shop.py").write_text(TEST.replace("universes=500", f"universes={universes}"), encoding="utf-8")
    before = run(tmp_path)
    told = re.sub(r"^E? +", "", before.stdout, flags=re.MULTILINE)
    repaired = (
        SHOP.partition('        if self.database.execute("SELECT 1')[0]
        + REPAIR
        + "\n    def books"
        + SHOP.partition("    def books")[2]
    )
    (tmp_path / "shop.py").write_text(repaired, encoding="utf-8")
    after = run(tmp_path)

    assert before.returncode == 1, before.stdout
    assert [line for line in OUTPUT.splitlines() if line.strip() not in told] == []
    assert after.returncode == 0, after.stdout
