"""Listen at the prompt: one command receives and verifies the event that another command triggers.

Needs: server.
"""

import json
import subprocess
import sys
from pathlib import Path

workbench = str(Path(sys.executable).with_name("workbench"))


def run(*words):
    done = subprocess.run([workbench, *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


subprocess.run(f"{workbench} docs skeleton create-user-application > body.json", shell=True, check=True)
created = json.loads(run("users", "create", "--from", "body.json", "-o", "json"))
run("sandbox", "advance", "2m")
lines = run("events", "listen", "--earlier", "--count", "2").splitlines()
assert [line.split()[0:2] for line in lines] == [["✓", "verified"]] * 2, lines
assert all(line.endswith(created["id"]) for line in lines), lines
