"""If a library is missing, the error names the extra that installs it and a command that works."""

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from tests import environments
from workbench.base import extras

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Environment = Callable[[str], Path]
STATED = tomllib.loads((environments.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = [name for name in STATED["optional-dependencies"] if name not in ("all", "dev")]

PYTHON = {
    "wb.to_frame(api.list_contracts())": "tables",
    "wb.charts.points_chart": "tables",
    "wb.sql('select 1', x=[])": "tables",
    "wb.rewards.fetch(api)": "tables",
    "wb.Sandbox().serve()": "server",
    "api.sandbox.share()": "server",
    "wb.Inbox(keys=['key']).serve().__enter__()": "server",
    "wb.form(api.update_user)": "lab",
    "wb.browse(api)": "lab",
}
COMMANDS = {
    "events listen --count 1": "server",
    "sandbox serve": "server",
    "course serve --folder class --learners 1": "server",
    "sandbox agent": "agents",
    "sandbox shell": "lab",
    "course lab": "lab",
    "report dashboard --out x.html": "lab",
    "rewards read 3f2a0b1c-0000-4000-8000-000000000000": "tables",
}
TRIED = """
import sys
import workbench as wb
with wb.connect() as api:
    for use in sys.argv[1:]:
        try:
            eval(use)
        except ImportError as error:
            print(use, type(error).__name__, error.extra, error, sep="|")
"""


def test_python_names_the_extra(environment: Environment, tmp_path: Path) -> None:
    """With the base installation, each function that needs an extra raises `MissingExtra`."""
    printed = environments.run(environment(""), "-c", TRIED, *PYTHON, cwd=tmp_path)
    raised = {
        use: (kind, extra, message) for use, kind, extra, message in (line.split("|") for line in printed.splitlines())
    }

    assert {use: (kind, extra) for use, (kind, extra, _) in raised.items()} == {
        use: ("MissingExtra", extra) for use, extra in PYTHON.items()
    }
    for _, extra, message in raised.values():
        assert f"the extra {extra} installs it. Run: pip install '/" in message


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=[pytest.mark.soak] * (extra in [*COMMANDS.values()][:number]))
        for number, (command, extra) in enumerate(COMMANDS.items())
    ],
)
def test_commands_name_the_extra(command: str, environment: Environment, tmp_path: Path) -> None:
    """With the base installation, each command that needs an extra ends with 2 and names the pip command."""
    state = {"WORKBENCH_STATE": str(tmp_path / "state"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [environment("").parent / "workbench", *command.split()],
        cwd=tmp_path, env={**environments.clean(), **state}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip

    assert (done.returncode, "Internal error" in done.stderr) == (2, False), done.stderr
    assert f"the extra {COMMANDS[command]} installs it. Run: pip install" in " ".join(done.stderr.split())


def test_the_fixture_names_the_extra(environment: Environment, tmp_path: Path) -> None:
    """With pytest and the base installation, the fixture `served_sandbox` raises `MissingExtra`."""
    python = environments.make(
        tmp_path / "env", {*environments.closure(), "pytest", "iniconfig", "pluggy", "packaging", "pygments"}
    )
    environment("")
    environments.install(python, *Path(environment("")).parents[2].glob("wheel/*.whl"))
    (tmp_path / "test_it.py").write_text("def test_it(served_sandbox):\n    pass\n")
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "test_it.py"],
        cwd=tmp_path,
        env=environments.clean(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert "MissingExtra: httptools is not i" in done.stdout


def test_the_command_adds_the_extra(environment: Environment, tmp_path: Path) -> None:
    """The command installs the extra from the same wheel, without a package index."""
    done = environments.run(
        environment(""), "-c", "from workbench.base import extras; print(extras.install_command('server'))"
    )
    pip, install, target = shlex.split(done)
    wheel, _, extra = target.rpartition("[")
    python = environments.make(tmp_path / "env", environments.closure(["server"]))
    environments.install(python, target)

    assert (pip, install, extra) == ("pip", "install", "server]")
    assert wheel.endswith(".whl")
    assert (
        environments.run(python, "-c", "import workbench as wb\nwith wb.Sandbox().serve(): print('served')")
        == "served\n"
    )


@pytest.mark.parametrize(
    "origin, command",
    [
        ('{"url": "file:///", "dir_info": {"editable": true}}', "pip install -e '/[server]'"),
        ('{"url": "file:///", "dir_info": {}}', "pip install '/[server]'"),
        (
            '{"url": "https://example.com/w.whl", "archive_info": {}}',
            "pip install 'card-issuing-workbench[server] @ https://example.com/w.whl'",
        ),
        (
            '{"url": "https://example.com/w.git", "vcs_info": {"vcs": "git"}}',
            "pip install 'card-issuing-workbench[server] @ git+https://example.com/w.git'",
        ),
    ],
    ids=["checkout", "folder", "wheel elsewhere", "repository"],
)
def test_the_command_fits_the_installation(origin: str, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command refers to the checkout, folder, wheel or repository that was installed."""
    monkeypatch.setattr(metadata.PathDistribution, "read_text", lambda *_: origin)

    assert extras.install_command("server") == command


@pytest.mark.parametrize(
    "origin", [None, '{"url": "file:///no/such/file.whl", "archive_info": {}}'], ids=["unknown", "gone"]
)
def test_libraries_are_named_where_the_wheel_is_gone(origin: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the wheel's location is unknown or missing, the command names only the libraries, not the workbench."""
    stated = metadata.requires(extras.DISTRIBUTION)
    monkeypatch.setattr(metadata, "requires", lambda _: stated)
    monkeypatch.setattr(metadata.PathDistribution, "read_text", lambda *_: origin)
    command = extras.install_command("lab")

    assert extras.DISTRIBUTION not in command
    assert {"jupyterlab", "pandas", "uvicorn"} <= set(re.findall(r"'([\w-]+)", command))


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_library_leads_to_its_extra(extra: str) -> None:
    """Each library of an extra is attributed to that extra."""
    wanted = {re.split(r"[\[<>=; ]", line)[0] for line in STATED["optional-dependencies"][extra]} - {
        extras.DISTRIBUTION
    }

    assert {extras.extra_of(library.replace("-", "_")) for library in wanted} <= {extra}


def test_other_code_may_look_for_libraries() -> None:
    """Other code that imports a missing library gets Python's usual error."""
    code = """import importlib.util, workbench
print(importlib.util.find_spec('no_such_thing'))
try:
    exec('import no_such_thing', {})  # a namespace without a name
except ModuleNotFoundError as error:
    print(error.name)
import no_such_thing"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stdout == "None\nno_such_thing\n"
    assert "ModuleNotFoundError: No module named 'no_such_thing'" in done.stderr
