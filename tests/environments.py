"""Create environments with only some of the installed distributions, as users have them, without a network.

The files of distributions are linked from the test environment, and the workbench is installed from a wheel.
"""

import errno
import os
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from importlib.util import cache_from_source
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
WORKBENCH = "card-issuing-workbench"


def run(*command: str | Path, cwd: Path | None = None, **environ: str) -> str:
    """Run a command that must succeed, and return its output."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**clean(), **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def clean() -> dict[str, str]:
    """Return this process's environment variables without those that lead to the checkout or its settings."""
    dropped = ("WORKBENCH_", "PYTHON", "PYTEST", "VIRTUAL_ENV", "HYPOTHESIS", "COV")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}


def closure(extras: Iterable[str] = ()) -> set[str]:
    """Return the names of the distributions that the workbench needs with some of its extras."""
    return closure_of(WORKBENCH, extras) - {WORKBENCH}


def closure_of(distribution: str, extras: Iterable[str] = ()) -> set[str]:
    """Return the names of a distribution with some of its extras, and of all its dependencies."""
    found: set[str] = set()
    waiting = [(distribution, frozenset(extras))]
    seen = set()
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        found.add(canonicalize_name(name))
        for text in metadata.requires(name) or ():
            needed = Requirement(text)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in wanted or {""}):
                waiting.append((canonicalize_name(needed.name), frozenset(needed.extras) or frozenset({""})))
    return found


def pinned(file: Path) -> dict[str, str]:
    """Return the versions that a requirements file pins for this system."""
    lines = re.findall(r"^[\w.\[\],-]+==[^\\\n]+", file.read_text(encoding="utf-8"), re.MULTILINE)
    needed = [Requirement(line.strip()) for line in lines]
    return {
        canonicalize_name(one.name): str(one.specifier)[2:]
        for one in needed
        if one.marker is None or one.marker.evaluate()
    }


def make(folder: Path, distributions: Iterable[str]) -> Path:
    """Create an environment with some of the installed distributions, and return its Python."""
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in distributions:
        for file in metadata.distribution(name).files or ():
            target = packages / file
            if ".." not in file.parts:
                target.parent.mkdir(parents=True, exist_ok=True)
                source = Path(str(file.locate()))
                if source.exists() and not target.exists():
                    _link(source, target)
                    _link_compiled(source, target)
            elif target.resolve().parent == (folder / "bin").resolve():
                _copy_script(Path(str(file.locate())), target.resolve(), folder)
    return folder / "bin" / "python"


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        target.symlink_to(source)  # hard links fail if the folder is on another file system


def _link_compiled(source: Path, target: Path) -> None:
    """Link the bytecode of a module too, so that an environment does not compile the module again."""
    if source.suffix == ".py" and (compiled := Path(cache_from_source(source))).exists():
        linked = Path(cache_from_source(target))
        linked.parent.mkdir(exist_ok=True)
        if not linked.exists():
            _link(compiled, linked)


def repack(name: str, folder: Path) -> Path:
    """Rebuild the wheel of an installed distribution, and return the wheel."""
    distribution = metadata.distribution(name)
    about = distribution.read_text("WHEEL") or ""
    tags = [line.partition(": ")[2].split("-") for line in about.splitlines() if line.startswith("Tag: ")]
    tag = "-".join(".".join(dict.fromkeys(parts)) for parts in zip(*tags, strict=True))
    target = folder / f"{canonicalize_name(name).replace('-', '_')}-{distribution.version}-{tag}.whl"
    dropped = {"INSTALLER", "REQUESTED", "direct_url.json", "RECORD"}
    with zipfile.ZipFile(target, "w") as archive:
        files = [file for file in distribution.files or () if ".." not in file.parts and file.suffix != ".pyc"]
        for file in files:
            if not (file.parent.suffix == ".dist-info" and file.name in dropped):
                archive.write(str(file.locate()), str(file))
        (info,) = {file.parent for file in files if file.name == "METADATA" and file.parent.suffix == ".dist-info"}
        archive.writestr(
            f"{info}/RECORD", "".join(f"{written},,\n" for written in [*archive.namelist(), f"{info}/RECORD"])
        )
    return target


def _copy_script(source: Path, target: Path, folder: Path) -> None:
    content = source.read_bytes()
    if content.startswith(b"#!") and b"python" in content.partition(b"\n")[0]:
        content = f"#!{folder / 'bin' / 'python'}\n".encode() + content.partition(b"\n")[2]
    target.write_bytes(content)
    target.chmod(0o755)


def install(python: Path, what: str | Path, *options: str, cwd: Path | None = None) -> None:
    """Install a wheel or a folder into an environment, without dependencies."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "--python", python)
    run(*pip, "install", "--no-index", "--no-deps", *options, what, cwd=cwd)


@cache
def wheel(folder: Path) -> Path:
    """Build the wheel of this checkout in a folder."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built
