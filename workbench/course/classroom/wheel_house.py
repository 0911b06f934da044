"""Files that laptops without internet install from: wheels for several systems, and the notebooks of the course.

`workbench course prepare` downloads the files to the folder `setup` of a class. It needs internet access.

    setup.json      names and SHA-256 of the files, and the wheels of each system; nothing else is served
    install.py      installs from this folder, or from the class server
    notebooks.zip   notebooks without outputs, and their pictures
    wheels/         wheels of the workbench, of its requirements with the extra `lab`, and of pip
"""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from workbench import __version__
from workbench.base.errors import UsageError, WorkbenchError, visible
from workbench.base.extras import DISTRIBUTION, install_source
from workbench.base.schema import strict_json
from workbench.base.system import toml
from workbench.base.system.files import make_folder, new_folder
from workbench.course.evidence import Facts, Record

SETUP = "setup"
MANIFEST = "setup.json"
NOTEBOOKS = "notebooks.zip"
REQUIREMENT = f"{DISTRIBUTION}[lab]=={__version__}"
SYSTEMS: Mapping[str, Record] = toml.load(Path(__file__).with_name("systems.toml"))
"""Systems with wheels to fetch, by name."""
_PICTURES = frozenset({".png", ".svg"})


class PackageMissing(WorkbenchError):
    """A package has no wheel for a system, or cannot be downloaded."""


def prepare(
    folder: Path, notebooks: Path, systems: Iterable[str], pythons: Sequence[str], requirement: str = REQUIREMENT
) -> Iterator[tuple[str, str]]:
    """Download the wheels for each system and Python with pip, write the folder, and yield what was done.

    The folder is replaced only when the new folder is complete, so an interrupted or failed run leaves the old
    folder unchanged. A system for which a wheel is missing is left out. pip takes the index from its own settings, for
    example PIP_INDEX_URL, or PIP_NO_INDEX and PIP_FIND_LINKS.

    Args:
        folder: Folder of the class.
        notebooks: Folder of the notebooks.
        systems: Names of systems, from `SYSTEMS`.
        pythons: Versions of Python.
        requirement: Requirement to install.

    Yields:
        The target, and its size or the reason why it was left out.

    Raises:
        UsageError: The folder has no notebooks, or the workbench's installation source is missing.
        PackageMissing: All systems were left out.
    """
    if not any(notebooks.glob("*.ipynb")):
        raise UsageError(f"notebooks: {visible(str(notebooks), 200)} has no notebooks", of="course prepare")
    make_folder(folder)
    targets: dict[str, list[str]] = {}
    with new_folder(folder / SETUP, replace=True) as setup, TemporaryDirectory() as scratch:
        wheels = setup / "wheels"
        make_folder(wheels)
        own = Path(scratch, "own")
        _build(own)
        for system, python in product(map(SYSTEMS.__getitem__, systems), pythons):
            target = f"{system['target']}-{python}"
            fetched = Path(scratch, target)
            try:
                _fetch(fetched, own, system, python, requirement)
            except PackageMissing as error:
                yield target, f"left out. {error}"
                continue
            files = sorted(fetched.iterdir())
            targets[target] = [file.name for file in files]
            size = sum(file.stat().st_size for file in files)
            yield target, f"{len(files)} packages, {size / 1e6:.0f} MB"
            for file in files:
                shutil.move(file, wheels / file.name)
        if not targets:
            raise PackageMissing("No system was prepared. The folder is unchanged.")
        _pack(notebooks, setup / NOTEBOOKS)
        shutil.copyfile(Path(__file__).with_name("install.py"), setup / "install.py")
        listed = [setup / NOTEBOOKS, *sorted(wheels.iterdir())]
        hashes = {file.relative_to(setup).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in listed}
        manifest = json.dumps({"requirement": requirement, "targets": targets, "files": hashes}, indent=1)
        (setup / MANIFEST).write_text(manifest, encoding="ascii")


def read_manifest(folder: Path) -> Facts:
    """Return the content of setup.json in a class folder; empty if nothing was prepared."""
    try:
        content: Facts = json.loads((folder / SETUP / MANIFEST).read_bytes())
    except (FileNotFoundError, ValueError):
        content = {}
    return content


def _wheels(folder: Path) -> dict[str, Path]:
    """Return the wheels in a folder by package name."""
    return {canonicalize_name(file.name.partition("-")[0]): file for file in folder.iterdir()}


def _pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PackageMissing(visible(done.stderr.strip().rpartition("ERROR: ")[2], 300))


def _build(folder: Path) -> None:
    """Build the wheel of this workbench from its installation source, and write it to a folder."""
    source, _ = install_source()
    if not source:
        raise UsageError(
            "the wheel or checkout that this workbench was installed from is missing; install from a wheel or checkout",
            of="course prepare",
        )
    _pip("wheel", "--no-deps", "--wheel-dir", folder, source)


def _fetch(folder: Path, own: Path, system: Record, python: str, requirement: str) -> None:
    """Download the wheels that a requirement needs on a system and Python version, and write them to a new folder.

    pip evaluates markers for the system that it runs on, so this function resolves the requirements itself.

    Raises:
        PackageMissing: A package has no wheel for the system, or cannot be downloaded.
    """
    shutil.copytree(own, folder)  # no package index has the workbench's own wheel
    markers = {**system["markers"], "python_version": python, "python_full_version": f"{python}.0"}
    tags = [part for tag in system["tags"] for part in ("--platform", tag)]
    options: list[str | Path] = ["--no-deps", "--only-binary=:all:", "--dest", folder, *tags]
    options += ["--python-version", python, "--implementation", "cp"]
    waiting, followed = {requirement, "pip"}, set[str]()
    while waiting:
        followed |= waiting
        requirements, waiting = [*map(Requirement, waiting)], set()
        if lacking := {_pinned(each) for each in requirements if canonicalize_name(each.name) not in _wheels(folder)}:
            _pip("download", *options, *lacking)
        for each in requirements:
            waiting.update(_required(_wheels(folder)[canonicalize_name(each.name)], each, markers))
        waiting -= followed


def _required(wheel: Path, requirement: Requirement, markers: Mapping[str, str]) -> Iterator[str]:
    """Yield the requirements of a wheel that apply on a system with the extras of `requirement`."""
    (distribution,) = metadata.distributions(path=[str(wheel)])
    for text in distribution.requires or ():
        marker = Requirement(text).marker
        if marker is None or any(marker.evaluate({**markers, "extra": extra}) for extra in ("", *requirement.extras)):
            yield text


def _pinned(requirement: Requirement) -> str:
    """Return a requirement as text for pip, pinned to the installed version if there is one."""
    try:
        return f"{requirement.name}=={metadata.version(requirement.name)}"
    except metadata.PackageNotFoundError:
        return f"{requirement.name}{requirement.specifier}"


def _pack(notebooks: Path, file: Path) -> None:
    """Write notebooks without their outputs, and their pictures, to a ZIP file."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(notebooks.rglob("*")):
            name = f"notebooks/{path.relative_to(notebooks).as_posix()}"
            if path.suffix == ".ipynb" and path.parent == notebooks:
                content = strict_json.stored(path.read_text(encoding="utf-8"))
                for cell in content["cells"]:
                    cell |= {"outputs": [], "execution_count": None} if cell["cell_type"] == "code" else {}
                archive.writestr(name, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
            elif path.suffix in _PICTURES:
                archive.write(path, name)
