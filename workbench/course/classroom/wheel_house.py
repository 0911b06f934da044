"""Files that laptops without internet install from: wheels for several systems, and the notebooks of the course.

`workbench course prepare` downloads the files to the folder `setup` of a class. It needs internet access.

    setup.json      names and SHA-256 of the files, and the wheels of each system; nothing else is served
    install.py      installs from this folder, or from the class server
    notebooks.zip   notebooks without outputs, and their pictures
    wheels/         wheels of the workbench with the extra lab, of all it requires, and of pip
"""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import attrs
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from workbench import __version__
from workbench.base.errors import UsageError, WorkbenchError, visible
from workbench.base.extras import DISTRIBUTION, install_source
from workbench.base.schema import strict_json
from workbench.base.system.files import make_folder, new_folder

SETUP = "setup"
MANIFEST = "setup.json"
NOTEBOOKS = "notebooks.zip"
REQUIREMENT = f"{DISTRIBUTION}[lab]=={__version__}"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_PICTURES = frozenset({".png", ".svg"})


class PackageMissing(WorkbenchError):
    """A package has no wheel for a system, or cannot be downloaded."""


@attrs.frozen
class System:
    """An operating system and processor.

    Attributes:
        name: Prefix of the system's target names, `sys.platform` and `platform.machine()`.
        markers: Values for the variables in requirement markers.
        tags: Platform tags of the system's wheels, for pip.
    """

    name: str
    markers: Mapping[str, str]
    tags: Sequence[str]


def _system(platform: str, machine: str, os_name: str, title: str, tags: Iterable[str]) -> System:
    markers = {"sys_platform": platform, "platform_machine": machine, "os_name": os_name, "platform_system": title}
    return System(f"{platform}-{machine.lower()}", markers, tuple(tags))


def _manylinux(machine: str) -> list[str]:
    old = [f"{name}_{machine}" for name in ("manylinux2014", "manylinux2010", "manylinux1")]
    # pip supports no older minor versions
    return [*(f"manylinux_2_{minor}_{machine}" for minor in range(28, 4, -1)), *old]


SYSTEMS: Mapping[str, System] = {
    "windows": _system("win32", "AMD64", "nt", "Windows", ["win_amd64"]),
    "macos": _system("darwin", "arm64", "posix", "Darwin", ["macosx_12_0_arm64"]),
    "linux": _system("linux", "x86_64", "posix", "Linux", _manylinux("x86_64")),
    "linux-arm": _system("linux", "aarch64", "posix", "Linux", _manylinux("aarch64")),
}
"""Systems with wheels to fetch, by name."""


def prepare(
    folder: Path, notebooks: Path, systems: Iterable[str], pythons: Iterable[str], requirement: str = REQUIREMENT
) -> Iterator[tuple[str, str, str]]:
    """Download the wheels for each system and Python with pip, write the folder, and yield what was done.

    The folder is replaced only when the new folder is complete, so an interrupted run leaves the former folder
    unchanged. pip takes the index from its own settings, for example PIP_INDEX_URL, or PIP_NO_INDEX and PIP_FIND_LINKS.
    A system for which a wheel is missing is left out. If all systems are left out, the former folder stays.

    Args:
        folder: Folder of the class.
        notebooks: Folder of the notebooks.
        systems: Names of systems, from `SYSTEMS`.
        pythons: Versions of Python.
        requirement: Requirement to install.

    Yields:
        The target, its size or the reason why it was left out, and its system-specific packages.

    Raises:
        UsageError: The folder has no notebooks, or pip cannot build a wheel of this workbench.
    """
    if not any(notebooks.glob("*.ipynb")):
        raise UsageError(f"notebooks: {visible(str(notebooks), 200)} has no notebooks", of="course prepare")
    make_folder(folder)
    targets: dict[str, list[str]] = {}
    with new_folder(folder / SETUP, replace=True) as setup:
        scratch = setup / "fetched"
        make_folder(scratch)
        make_folder(setup / "wheels")
        own = scratch / "own"
        _build(own)
        for python in pythons:
            for name in systems:
                target = f"{SYSTEMS[name].name}-{python}"
                fetched = scratch / target
                try:
                    _fetch(fetched, own, SYSTEMS[name], python, requirement)
                except PackageMissing as error:
                    yield target, str(error), ""
                    continue
                files = sorted(fetched.iterdir())
                targets[target] = [file.name for file in files]
                size = sum(file.stat().st_size for file in files)
                for file in files:
                    file.replace(setup / "wheels" / file.name)
                special = [_name(file.name) for file in files if not file.stem.endswith("-any")]
                yield target, f"{len(files)} packages, {size / 1e6:.0f} MB", ", ".join(special)
        if not targets:
            shutil.rmtree(setup)
            return
        shutil.rmtree(scratch)
        with (setup / NOTEBOOKS).open("wb") as archive:
            _pack(notebooks, archive)
        shutil.copyfile(Path(__file__).with_name("install.py"), setup / "install.py")
        listed = [setup / NOTEBOOKS, *sorted((setup / "wheels").iterdir())]
        files_ = {file.relative_to(setup).as_posix(): _described(file) for file in listed}
        content = {"requirement": requirement, "targets": targets, "files": files_}
        (setup / MANIFEST).write_bytes(json.dumps(content, indent=1).encode())


def read_manifest(folder: Path | None) -> dict[str, Any] | None:
    """Return the content of setup.json in a class folder; None if nothing was prepared."""
    try:
        content: dict[str, Any] = json.loads((folder / SETUP / MANIFEST).read_bytes()) if folder else {}
    except (FileNotFoundError, ValueError):
        content = {}
    return content or None


def _described(file: Path) -> dict[str, str]:
    with file.open("rb") as content:
        return {"sha256": hashlib.file_digest(content, "sha256").hexdigest()}


def _name(wheel: str) -> str:
    return str(canonicalize_name(wheel.partition("-")[0]))


def _pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [done.stderr[-300:]]
        raise PackageMissing(visible(lines[-1].removeprefix("ERROR: "), 300))


def _build(folder: Path) -> None:
    """Build the wheel of this workbench from its installation source, and write it to a folder."""
    source, _ = install_source()
    if not source:
        raise UsageError(
            "the wheel or checkout that this workbench was installed from is missing; install it from one",
            of="course prepare",
        )
    try:
        _pip("wheel", "--no-deps", "--wheel-dir", folder, source)
    except PackageMissing as error:
        raise UsageError(f"pip cannot build a wheel of {source}: {error}", of="course prepare") from None


def _fetch(folder: Path, own: Path, system: System, python: str, requirement: str) -> None:
    """Download the wheels of a requirement and its dependencies for a system, and the wheel of pip.

    pip evaluates markers for the machine that it runs on, so this function resolves the requirements itself.

    Raises:
        PackageMissing: A package has no wheel for the system, or cannot be downloaded.
    """
    folder.mkdir()
    markers = {**system.markers, "python_version": python, "python_full_version": f"{python}.0"}
    tags = [part for tag in system.tags for part in ("--platform", tag)]
    for wheel in own.iterdir():  # the workbench's wheel is not in a package index
        shutil.copy(wheel, folder)
    options: list[str | Path] = ["--no-deps", "--only-binary=:all:", "--dest", folder, *tags]
    options += ["--python-version", python, "--implementation", "cp"]
    followed: set[tuple[str, str]] = set()
    waiting = [Requirement(requirement), Requirement("pip")]
    while waiting:
        present = {_name(file.name) for file in folder.iterdir()}
        needed = {str(canonicalize_name(each.name)): each for each in waiting}
        specs = [_pinned(each) for name, each in needed.items() if name not in present]
        if specs:
            _pip("download", *options, *specs)
        wheels = {_name(file.name): file for file in folder.iterdir()}
        following: list[Requirement] = []
        for each in waiting:
            name = str(canonicalize_name(each.name))
            (distribution,) = metadata.distributions(path=[str(wheels[name])])
            if not each.specifier.contains(distribution.version, prereleases=True):
                raise PackageMissing(f"{each} does not allow {name} {distribution.version}")
            for extra in {"", *each.extras} - {extra for known, extra in followed if known == name}:
                followed.add((name, extra))
                following += [
                    further
                    for further in map(Requirement, distribution.requires or ())
                    if further.marker is None or further.marker.evaluate({**markers, "extra": extra})
                ]
        waiting = following


def _pinned(requirement: Requirement) -> str:
    """Return a requirement for pip. It is pinned to the installed version, if the version is known."""
    try:
        return f"{requirement.name}=={metadata.version(requirement.name)}"
    except metadata.PackageNotFoundError:
        return f"{requirement.name}{requirement.specifier}"


def _pack(notebooks: Path, file: Any) -> None:
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
