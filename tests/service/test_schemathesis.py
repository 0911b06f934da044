"""Schemathesis with all its checks reports no problem in the twelve operations of the served sandbox.

Negative data and links between operations are included. 400, 404, 409 and 422 are valid answers to a well-formed
request that the state refuses.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.sandbox import Sandbox
from workbench.service.interface.table import OPERATIONS

HERE = Path(__file__).parent
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 404, 409, 422]
"""


def known_ids(sandbox: Sandbox) -> dict[str, list[str]]:
    """Return the sandbox's ids by member name."""
    guide = sandbox.guide()
    transactions = [one["id"] for one in sandbox.records("transaction")]
    company = guide["companies"][0]
    return {
        "cardId": guide["cards"]["active"],
        "transactionId": transactions,
        "userId": [one for users in guide["users"].values() for one in users],
        "paymentAccountId": guide["payment_accounts"],
        "companyId": [company["id"]],
        "uboId": [one["id"] for one in company["owners"]],
        "disputeId": [one for disputes in guide["disputes"].values() for one in disputes],
    }


def run(tmp_path: Path, sandbox: Sandbox, *arguments: str, known: bool = True) -> str:
    """Run schemathesis against the served sandbox, with or without the sandbox's ids; return its report."""
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG if known else "")
    hooks = {"SCHEMATHESIS_HOOKS": "tests.service.schema_hooks", "KNOWN_IDS": json.dumps(known_ids(sandbox))}
    with sandbox.serve() as url:
        done = subprocess.run(
            [
                sys.executable, "-m", "schemathesis.cli", "--config-file", config, "run", f"{url}/openapi.json",
                "--header", f"Api-Key:{sandbox.full_key}", "--checks", "all", "--no-color", "--warnings", "off", *arguments,
            ],
            cwd=HERE.parent.parent, capture_output=True, text=True, check=False, timeout=3000,
            env={**os.environ, **(hooks if known else {})},
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "phases,examples",
    [
        pytest.param("coverage", 1, marks=[pytest.mark.soak, pytest.mark.timeout(600)]),
        pytest.param("fuzzing,stateful", 1, marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
        pytest.param("coverage,fuzzing,stateful", 2_000, marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_finds_nothing(tmp_path: Path, phases: str, examples: int) -> None:
    """Every operation is tested, and no check fails."""
    sandbox = Sandbox()
    report = run(
        tmp_path, sandbox, "--phases", phases, "--max-examples", str(examples), "--generation-deterministic"
    )  # fmt: skip
    tested = re.search(r"Tested: (\d+)", report)
    cases = re.search(r"(\d+) generated, (\d+) passed", report)
    done = {one.operation for one in sandbox.requests() if one.status < 300} & set(OPERATIONS)
    print(f"\nschemathesis, {phases}: {cases and cases[0]}, {len(done)} operations carried out lately")

    assert tested is not None
    assert cases is not None
    assert (tested[1], cases[1]) == ("15", cases[2])


@pytest.mark.parametrize("behavior", [pytest.param("documented", marks=pytest.mark.soak), "observed"])
@pytest.mark.parametrize(
    "phases, examples",
    [
        pytest.param("examples,fuzzing", 1, marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
        pytest.param("examples,coverage,fuzzing,stateful", 100, marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_finds_nothing_as_it_comes(tmp_path: Path, behavior: str, phases: str, examples: int) -> None:
    """Without settings or known ids, no valid request is refused with 400, and each behavior matches its document."""
    sandbox = Sandbox(behavior=behavior)
    options = ["--phases", phases, "--max-examples", str(examples), "--generation-deterministic"]
    report = run(tmp_path, sandbox, *options, known=False)
    cases = re.search(r"(\d+) generated, (\d+) passed", report)
    print(f"\nschemathesis as it comes, {behavior}: {cases and cases[0]}")

    assert "Tested: 15" in report
    assert cases is not None
    assert cases[1] == cases[2]
