"""Use commands: the first page, help, a call, exit codes, completion, a closed pipe.

Needs: base.
"""

import subprocess
import sys
from pathlib import Path

workbench = str(Path(sys.executable).with_name("workbench"))


def run(*arguments, status=0):
    done = subprocess.run([workbench, *arguments], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout


assert "Operations" in run()
assert "chainId" in run("contracts", "list", "--fresh", "-o", "json") or "chain_id" in run(
    "contracts", "list", "--fresh", "-o", "json"
)
run("contracts", "list", "--nothing", status=2)
assert "workbench" in run("docs", "completion", "bash")
closed = subprocess.run(f"{workbench} --help | head -1", shell=True, capture_output=True, text=True)
assert "Traceback" not in closed.stderr
