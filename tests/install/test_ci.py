"""The CI workflow of docs/deployment.md runs in an environment with the built wheel and the extras that it installs."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests import environments
from tests.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
PAGE = (environments.ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
(WORKFLOW,) = [
    text for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) if "runs-on" in text
]
TEST = "def test_a_purchase(workbench_session): assert len(workbench_session.list_contracts()) == 3\n"


@pytest.mark.soak
def test_the_steps_of_the_workflow_run(environment: Callable[[str], Path], tmp_path: Path) -> None:
    """Steps that download something are skipped; the wheel and the extras that they name are checked."""
    steps = yaml.safe_load(WORKFLOW)["jobs"]["test"]["steps"]
    (tmp_path / "test_shop.py").write_text(TEST)
    port = str(free_port())
    pip, *commands = [step for step in steps if "run" in step]
    wheel, extras = re.search(r'"\./vendor/(.+\.whl)\[(.+)\]"', pip["run"]).groups()
    assert wheel == environments.wheel(tmp_path / "wheel").name
    assert extras == "test,server"
    path = f"{environment('test').parent}:{os.environ['PATH']}"
    variables = {
        **environments.clean(),
        "PATH": path,
        "HOME": str(tmp_path),
        "WORKBENCH_STATE": str(tmp_path / "state"),
    }
    printed = []
    runner = "trap 'kill %1' EXIT\n"  # one shell runs all steps; at its exit, it kills the server of a step
    for step in commands:
        given = "".join(f"export {name}={value!r}\n" for name, value in step.get("env", {}).items())
        runner += f"{given}set -e\n{step['run']}\n"
    done = subprocess.run(
        ["bash", "-m", "-c", runner.replace("8080", port)], cwd=tmp_path, env=variables, capture_output=True, text=True,
        check=False, timeout=100,
    )  # fmt: skip
    printed = done.stdout + done.stderr

    assert done.returncode == 0, printed
    assert '"status": "ok"' in printed
    assert '"depositAddress"' in printed
    assert "1 passed" in printed
