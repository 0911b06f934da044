"""Checks of the project: installation, content of the wheel, allowed imports, and content of the files."""

import ast
import functools
import json
import os
import pkgutil
import re
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import workbench as wb
from tests.each import each

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "workbench"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]


def tracked(*patterns: str) -> list[Path]:
    """Return the files that git tracks, optionally only those that match the patterns."""
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, check=True, capture_output=True)
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def texts() -> Iterator[tuple[str, str]]:
    """Yield name and text of each tracked file, except pictures."""
    for path in tracked():
        if path.suffix not in {".png", ".gif", ".ico", ".parquet", ".gz", ".xz"}:
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def offences(pattern: str) -> list[str]:
    """Return `file:line: match` for each match of the pattern in the project."""
    return [
        f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {found.group()}"
        for name, text in texts()
        for found in re.finditer(pattern, text)
    ]


def run(*command: str | Path, cwd: Path = ROOT, **environ: str) -> str:
    """Run a command in the checkout, which must succeed, and return its output."""
    done = subprocess.run(command, cwd=cwd, env=environ or None, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# installation


@pytest.mark.parametrize("name", PROJECT["scripts"])
def test_commands_resolve(name: str) -> None:
    """Each command's entry point is callable."""
    assert callable(pkgutil.resolve_name(PROJECT["scripts"][name]))


def test_installed_is_this_checkout() -> None:
    """The installed distribution has the code's version and the extras from pyproject.toml."""
    installed = metadata.metadata("card-issuing-workbench")

    assert installed["Version"] == wb.__version__
    assert set(PROJECT["optional-dependencies"]) == set(installed.get_all("Provides-Extra") or ())


def test_typed() -> None:
    """The package declares that it has types."""
    assert (PACKAGE / "py.typed").is_file()


def test_dev_is_everything() -> None:
    """The extra `dev` includes every other extra through `all`."""
    extras = PROJECT["optional-dependencies"]
    ours = {name: [Requirement(line) for line in extras[name]] for name in extras}
    named = {
        name: {extra for one in ours[name] if one.name == PROJECT["name"] for extra in one.extras} for name in ours
    }

    assert "all" in named["dev"]
    assert set(extras) - {"dev", "all"} == named["all"].union(*(named[name] for name in named["all"]))


def test_import_is_light() -> None:
    """`import workbench` loads no heavy library."""
    heavy = {"pandas", "numpy", "matplotlib", "ipywidgets", "IPython", "httpx", "pyarrow", "cattrs", "cyclopts", "rich"}
    script = f"import sys, workbench; print(*({heavy!r} & set(sys.modules)))"

    assert run(sys.executable, "-c", script).split() == []


@pytest.mark.slow
def test_base_works_without_extras() -> None:
    """Without the extras, all modules except forms, quizzes and the query process can be imported."""
    script = """
import importlib, pkgutil, sys
for name in ("anywidget", "ipywidgets", "jupyterlab", "ipykernel", "dask", "distributed", "duckdb", "openpyxl"):
    sys.modules[name] = None
import workbench
for module in pkgutil.walk_packages(workbench.__path__, "workbench.", onerror=lambda name: None):
    above = module.name.startswith(("workbench.screens.forms", "workbench.screens.panel"))
    if not above and not module.name.endswith(("__main__", "ask_view", "query_process")):
        importlib.import_module(module.name)
"""
    run(sys.executable, "-c", script)


# pinned versions


def pins(extra: str) -> dict[str, str]:
    """Return the pinned version of each name in an extra's requirements. Each pin has hashes, without host or path."""
    text = (ROOT / f"requirements/{extra}.txt").read_text().replace("\\\n", "")
    one = re.compile(
        r"([\w.-]+)(?:\[[\w,-]+\])?==([0-9][\w.]*)(?: ; [\w .'=!<>()]+)?(?: +--hash=sha256:[0-9a-f]{64})+ *"
    )
    found = [one.fullmatch(line) for line in text.splitlines()]
    assert None not in found
    return {match[1]: match[2] for match in found if match}


def test_requirements_fit_the_bounds() -> None:
    """Each declared dependency is pinned within its bounds, to the same version in each file."""
    everything = pins("dev")
    lines = [*PROJECT["dependencies"], *(line for extra in PROJECT["optional-dependencies"].values() for line in extra)]
    needs = [need for need in map(Requirement, lines) if need.name != PROJECT["name"]]
    misfits = [str(need) for need in needs if everything.get(canonicalize_name(need.name), "0") not in need.specifier]

    assert misfits == []
    assert pins("server").items() < pins("all").items() < everything.items()


# who may import which library

# For each library, the packages that may import it, as prefixes of paths inside workbench/.
FROM_TABLES = (
    "analysis/tables/", "analysis/sheets/", "analysis/rewards/", "runs/bulk/", "analysis/reports/", "runs/sequences/", "analysis/charts/", "testing/", "screens/panel/", "course/", "terminal/",
)  # fmt: skip
REACH = {
    "httpx": (
        "course/membership.py",
        "course/joining.py",
        "course/classroom/",
        "client/calls/client.py",
        "client/calls/transports.py",
        "sandbox/internals.py",
        "sandbox/remote.py",
        "sandbox/transport.py",
        "base/system/certificates.py",
        "testing/http_application.py",
    ),
    "httpcore": ("client/calls/transports.py",),
    "pandas": FROM_TABLES,
    "numpy": FROM_TABLES,
    "pyarrow": FROM_TABLES,
    "dask": ("analysis/rewards/",),
    "distributed": ("analysis/rewards/",),
    "matplotlib": ("analysis/charts/", "screens/panel/", "terminal/"),
    "anywidget": ("screens/",),
    "ipywidgets": ("screens/forms/", "screens/panel/", "course/ask_view.py"),
    "IPython": ("screens/forms/", "screens/panel/", "course/", "terminal/shell.py"),
    "cyclopts": ("terminal/",),
    "rich": ("terminal/"),
    "uvicorn": ("base/system/http_server.py",),
    "httptools": ("base/system/http_server.py",),
    "duckdb": ("analysis/reports/",),
    "filelock": ("base/system/locks.py",),
    "packaging": ("course/classroom/wheel_house.py",),
    "Crypto": ("service/chains/",),
}


@functools.cache
def imported(path: Path) -> set[str]:
    """Return the top-level names that a file imports, also inside functions.

    A file without a library of `REACH` has none.
    """
    names, source = set[str](), path.read_text(encoding="utf-8")
    if not re.search(rf"\b(?:import|from) +(?:[\w., ]+, *)?(?:{'|'.join(REACH)})\b", source):
        return names
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.slow
@pytest.mark.parametrize("library", REACH)
def test_reach(library: str) -> None:
    """A library is imported only in the packages listed for it."""
    users = [str(path.relative_to(PACKAGE)) for path in sorted(PACKAGE.rglob("*.py")) if library in imported(path)]

    assert [user for user in users if not user.startswith(REACH[library])] == []


# names


@pytest.mark.slow
def test_few_names_occur_twice() -> None:
    """Equal names confuse tracebacks: at most 35 class names and 29 file names occur twice."""
    paths = [path for path in PACKAGE.rglob("*.py") if not path.name.startswith("__")]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    classes = Counter(name for text in texts for name in re.findall(r"^ *class (\w+)[(:]", text, re.MULTILINE))
    files = Counter(path.name for path in paths)
    twice = [sorted(name for name, count in names.items() if count > 1) for names in (classes, files)]

    assert (len(twice[0]) <= 35, len(twice[1]) <= 29) == (True, True), twice


# content of files


@pytest.mark.slow
def test_no_machine_paths() -> None:
    """No file contains a path of the machine on which it was written."""
    folders = "|".join(["work", "farm", "opt", "root", "tmp/team"])

    assert offences(rf"""(?<![\w.}}/*-])/(?:{folders})/[\w.]+""") == []


def test_no_registry_hosts() -> None:
    """No file names the host of a package registry, so any mirror can be used."""
    hosts = "|".join([r"pypi\.", r"pythonhosted\.", r"registry\.npmjs\.", r"anaconda\."])

    assert offences(rf"https?://[\w.]*(?:{hosts})[a-z]+") == []


@pytest.mark.slow
def test_only_impossible_social_security_numbers() -> None:
    """Each number in SSN format is a number that is never issued."""
    possible = r"(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])"

    assert offences(possible) == []


@pytest.mark.slow
def test_only_example_addresses() -> None:
    """Each email address belongs to a reserved domain."""
    real = r"\b[\w.+-]+@(?!(?:[\w-]+\.)*(?:example\.(?:com|org|net)|example|test|invalid|localhost)\b)[\w-]+(?:\.[\w-]+)*\.[a-z]{2,6}\b"

    assert offences(real) == []


def test_notebooks_are_stored_bare() -> None:
    """Notebooks contain no outputs, execution counts or widget state."""
    dressed = []
    for path in tracked("*.ipynb"):
        notebook = json.loads(path.read_text())
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        if any(cell["outputs"] or cell["execution_count"] for cell in cells) or "widgets" in notebook["metadata"]:
            dressed.append(path.name)

    assert dressed == []


# make targets and hooks


@pytest.fixture(scope="module")
def commands() -> str:
    """The output of `make` without a target."""
    return run("make", "--no-print-directory")


@each("target", ["setup", "demo", "test", "soak", "lab", "bench", "check", "docs", "clean"])
def test_make_knows(target: str, commands: str) -> None:
    """Each documented target exists, and `make` without a target describes it."""
    assert re.search(rf"^make {target} +\S", commands, re.MULTILINE)


@pytest.mark.parametrize("script", [".ci/run", "binder/postBuild", "binder/start"])
def test_scripts_can_run(script: str) -> None:
    """Each script is executable and valid bash."""
    run("bash", "-n", ROOT / script)

    assert os.access(ROOT / script, os.X_OK)


def test_hooks_are_local() -> None:
    """The pre-commit hooks use the checkout's tools and fetch no other repository."""
    repos = re.findall(r"^ *- repo: (\S+)", (ROOT / ".pre-commit-config.yaml").read_text(), re.MULTILINE)

    assert set(repos) == {"local"}


# content of the wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without a registry."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The Python of a fresh environment with the wheel and the packages installed here, but without the checkout.

    The environment is always at the same path in build/, so that mypy can reuse its cache.
    """
    fresh = ROOT / "build" / "installed"
    run(sys.executable, "-m", "venv", "--clear", "--without-pip", fresh)
    (packages,) = fresh.glob("lib/python*/site-packages")
    (packages / "seen.pth").write_text(f"{Path(pytest.__file__).parent.parent}\n")
    zipfile.ZipFile(wheel).extractall(packages)
    return fresh / "bin/python"


@pytest.mark.soak
def test_a_project_that_installs_the_wheel_is_checked_strictly(installed: Path) -> None:
    """Strict mypy and pyright know arguments, enums, records and events by kind."""
    project, cache = ROOT / "tests" / "typing_project", ROOT / "build" / "mypy_cache"
    mypy = ("mypy", "--python-executable", installed, "--cache-dir", cache, "program.py")
    run(sys.executable, "-m", *mypy, cwd=project, **os.environ)
    run(sys.executable, "-m", "pyright", "--pythonpath", installed, "-p", ".", cwd=project, **os.environ)


@pytest.mark.slow
def test_commands_of_the_readme_need_no_checkout(installed: Path, tmp_path: Path) -> None:
    """The README's commands end with the expected exit codes if only the wheel is installed."""
    lines = re.findall(r"^\$ (workbench .+)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    ends = "; ".join(
        [f'workbench() {{ "{installed}" -m workbench "$@"; }}', *(f"{line}; echo end $? >&2" for line in lines)]
    )
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "WORKBENCH_STATE": str(tmp_path / "state")}
    done = subprocess.run(
        ["bash", "-uc", ends], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False, timeout=100
    )

    assert [2 if "nonsense" in line else 0 for line in lines] == [int(n) for n in re.findall(r"end (\d+)", done.stderr)]


@pytest.mark.slow
def test_wheel_carries_the_package_and_nothing_else(wheel: Path) -> None:
    """The wheel contains exactly the package's tracked files, of allowed types, and is small."""
    carried = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    shipped = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert carried == {str(path.relative_to(ROOT)) for path in tracked(*shipped)}
    assert {Path(name).suffix or name for name in carried} <= {
        ".py", ".json", ".toml", ".typed", ".md", ".js", ".css", ".html", ".txt",
    }  # fmt: skip
    assert wheel.stat().st_size < 2_000_000


@pytest.mark.slow
def test_binder_steps(tmp_path: Path) -> None:
    """Binder's steps succeed in a fresh environment: requirements, postBuild, and a start script that runs its command.

    The environment has the packages installed here and no registry, so that the test needs no network.
    """
    fresh = tmp_path / "env"
    run(sys.executable, "-m", "venv", "--without-pip", fresh)
    (packages,) = fresh.glob("lib/python*/site-packages")
    (packages / "seen.pth").write_text(f"{Path(pytest.__file__).parent.parent}\n")
    environ = {"PATH": f"{fresh / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    install = [fresh / "bin/python", "-m", "pip", "install", "-qq", "--no-index", "--no-build-isolation"]

    run(*install, "-r", "binder/requirements.txt", **environ)
    run(ROOT / "binder/postBuild", **environ)
    asked = "import os, sys, workbench; print(sys.prefix, os.environ['JUPYTER_CONFIG_PATH'])"
    prefix, settings = run(ROOT / "binder/start", "python", "-c", asked, **environ).split()

    assert prefix == str(fresh)
    assert json.loads(Path(settings, "labconfig/default_setting_overrides.json").read_text())
    assert (fresh / "bin/workbench").is_file()
