"""The sandbox's Dockerfile: its steps run in an empty environment, on a folder with only the copied files."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import httpx
import pytest

from tests import environments
from tests.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = environments.ROOT
KEY = "key-of-the-compose-file-0123"
STEPS = [
    (word, arguments.strip())
    for word, arguments in re.findall(
        r"^([A-Z]+) (.+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE
    )
]


def step(word: str) -> list[str]:
    """Return the arguments of the only step of a kind, parsed from JSON."""
    (found,) = [arguments for name, arguments in STEPS if name == word]
    listed: list[str] = json.loads(found[found.index("[") :])
    return listed


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the COPY and RUN steps, and return the environment's Python."""
    app = tmp_path_factory.mktemp("app")
    environment = tmp_path_factory.mktemp("image")
    python = environment / "bin" / "python"
    for word, arguments in STEPS:
        if word == "COPY":
            *sources, target = arguments.split()
            for source in sources:
                copy(ROOT / source, app / target / Path(source).name if target.endswith("/") else app / target)
        elif word == "RUN":
            for command in arguments.split(" && "):
                carry_out(shlex.split(command), app, environment)
    return python


def copy(source: Path, target: Path) -> None:
    """Copy a file or folder, without compiled files."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def carry_out(command: list[str], app: Path, environment: Path) -> None:
    """Run a command of a RUN step, as far as possible without network and container."""
    if command[:2] == ["pip", "install"] and "-r" in command:
        pinned = environments.pinned(app / command[command.index("-r") + 1])
        assert pinned == {name: metadata.version(name) for name in pinned}
        environments.make(environment, pinned)
    elif command[:2] == ["pip", "install"]:
        assert "--no-build-isolation" in command
        environments.install(environment / "bin" / "python", ".", "--no-build-isolation", cwd=app)
    else:
        assert command[0] in ("useradd", "install")  # the step creates a user or a folder in the container


@contextmanager
def container(image: Path, data: Path, *arguments: str, **environ: str) -> Iterator[str]:
    """Run the entry point with this test's port and folder, and yield the URL once it is healthy."""
    port = str(free_port())
    entry = [part.replace("8080", port).replace("/data", str(data)) for part in step("ENTRYPOINT")]
    check = [part.replace("8080", port) for part in step("HEALTHCHECK")]
    assert (entry[0], check[0]) == ("workbench", "python")
    environment = {**environments.clean(), "HOME": str(data), **environ}
    with subprocess.Popen(
        [image.parent / entry[0], *entry[1:], *arguments],
        env=environment, cwd=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        try:
            deadline = time.monotonic() + 60
            while subprocess.run([image, *check[1:]], env=environment, capture_output=True, check=False).returncode:
                assert process.poll() is None, process.communicate()[0]
                assert time.monotonic() < deadline
                time.sleep(0.2)
            yield f"http://localhost:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            (data / "log").write_text(process.communicate(timeout=30)[0])


def test_only_what_is_copied_is_sent() -> None:
    """`.dockerignore` allows only the copied paths, and thus no `.env` file or key."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = {source for word, arguments in STEPS if word == "COPY" for source in arguments.split()[:-1]}

    assert lines[1] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == copied


@pytest.mark.soak
def test_compose_story(image: Path, tmp_path: Path) -> None:
    """An application and the sandbox share a key by a variable. Calls and webhooks work before and after a restart."""
    app_port = free_port()
    code = f"""
import os, workbench as wb
with wb.connect(os.environ["SANDBOX_URL"], api_key=os.environ["WORKBENCH_SANDBOX_KEY"]) as api:
    with wb.Inbox(keys=[os.environ["WORKBENCH_SANDBOX_KEY"]]) as inbox, inbox.serve(port={app_port}) as url:
        if not api.sandbox.endpoints():
            api.sandbox.register_endpoint(url.replace("127.0.0.1", "localhost"))
        card = api.sandbox.guide()["cards"]["active"][0]
        api.simulate_authorization(
            card_id=card, amount=4590, currency="USD", merchant_name="Example Books", merchant_category_code="5942"
        )
        print(inbox.wait("transaction.created", timeout=30).kind)
"""
    given = {"WORKBENCH_SANDBOX_KEY": KEY}
    for _ in range(2):
        with container(image, tmp_path, "--webhook-host", "localhost", **given) as url:
            done = environments.run(image, "-c", code, cwd=tmp_path, SANDBOX_URL=url, **given)
            refused = httpx.get(f"{url}/v1/issuing/tenants/contracts", headers={"api-key": "another"}).status_code

        assert (done, refused) == ("transaction.created\n", 401)
        assert KEY not in (tmp_path / "log").read_text()


def test_key_from_a_file(image: Path, tmp_path: Path) -> None:
    """The key can be in a file. The guide's base URL has the host name of the request."""
    (tmp_path / "secret").write_text(KEY + "\n")
    with container(image, tmp_path, "--api-key-file", str(tmp_path / "secret")) as url:
        port = url.rpartition(":")[2]
        found = {
            name: httpx.post(f"{url}/_sandbox/guide", headers={"api-key": KEY, "host": f"{name}:{port}"}).json()
            for name in ("localhost", "sandbox")
        }

    assert {guide["api_keys"]["full"] for guide in found.values()} == {KEY}
    assert {name: guide["base_url"] for name, guide in found.items()} == {
        name: f"http://{name}:{port}/v1" for name in found
    }


def test_without_a_key_the_log_has_random_ones(image: Path, tmp_path: Path) -> None:
    """Without a given key the keys are random and listed in the log, and the guide requires one."""
    with container(image, tmp_path) as url:
        assert httpx.get(f"{url}/_sandbox/guide").status_code == 401

    assert re.search(r"full +sandbox_[0-9a-f]{32}", (tmp_path / "log").read_text())


def test_only_the_server_is_installed(image: Path) -> None:
    """The image has the server's libraries and none of the other extras."""
    found = environments.run(image, "-c", "import importlib.metadata as m; print(*(d.name for d in m.distributions()))")

    assert {"uvicorn", "httpx"} <= set(found.split())
    assert not {"pandas", "jupyterlab", "pytest"} & set(found.split())
    assert Path(sys.prefix) not in image.parents
    assert os.path.realpath(image) == os.path.realpath(sys.executable)
