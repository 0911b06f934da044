"""Each pinned package has a wheel for each Python and system that README promises: nothing has to be compiled."""

import hashlib
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PINS = Path(__file__).parents[2] / "requirements/all.txt"
"""The base and every extra but that of developers."""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_GLIBC = ("linux", "manylinux1", "manylinux2010", "manylinux2014", *(f"manylinux_2_{minor}" for minor in range(5, 29)))
_MACOS = (*(f"10_{minor}" for minor in range(9, 17)), "11_0", "12_0", "13_0", "14_0")
SYSTEMS = {
    "linux-x86_64": ("linux", "posix", [f"{libc}_x86_64" for libc in _GLIBC]),
    "linux-arm": ("linux", "posix", [f"{libc}_aarch64" for libc in _GLIBC]),
    "macos-arm": ("darwin", "posix", [f"macosx_{of}_{kind}" for of in _MACOS for kind in ("arm64", "universal2")]),
    "windows": ("win32", "nt", ["win_amd64"]),
}
"""What markers see of a system, and the tags of its wheels: glibc from 2.28, macOS from 14."""


def pins(python: str, system: str) -> dict[str, str]:
    """Return the lines of the pinned packages that a Python on a system installs, by name."""
    platform, kind, _ = SYSTEMS[system]
    seen = {
        "sys_platform": platform,
        "os_name": kind,
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    lines = re.findall(r"^[a-z][^\\\n]*", PINS.read_text(encoding="utf-8"), re.MULTILINE)
    found = map(Requirement, lines)
    return {of.name: f"{of.name}{of.specifier}" for of in found if of.marker is None or of.marker.evaluate(seen)}


def wheels(python: str, system: str, wanted: list[str]) -> dict[str, str]:
    """Return the file of each package that pip would install on a system, by name."""
    tags = [word for tag in SYSTEMS[system][2] for word in ("--platform", tag)]
    words = ["--dry-run", "--ignore-installed", "--no-deps", "--only-binary=:all:", "--python-version", python, *tags]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", *words, "--target", "unused", "--report", "-", *wanted],
        capture_output=True,
        text=True,
        check=False,
    )
    if re.search("NewConnectionError|NameResolutionError|ProxyError", done.stderr):
        pytest.skip("no index of packages can be reached")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["install"]
    return {of["metadata"]["name"]: of["download_info"]["url"].rpartition("/")[2] for of in found}


@cache
def compiled() -> frozenset[str]:
    """Return the names of the packages whose wheels are for one system; the others fit every one."""
    files = wheels("3.11", "linux-x86_64", [*pins("3.11", "linux-x86_64").values()])
    return frozenset(re.sub("[-_.]+", "-", name).lower() for name, file in files.items() if "-none-any." not in file)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("python", PYTHONS)
def test_every_pin_has_a_wheel(python: str, request: pytest.FixtureRequest) -> None:
    """Asked of the index once for each state of the file, since wheels that are there stay."""
    known = f"wheels/{python}-{hashlib.sha256(PINS.read_bytes()).hexdigest()}"
    if request.config.cache.get(known, False):
        return
    for system in SYSTEMS:
        anywhere = set(pins("3.11", "linux-x86_64")) - compiled()
        wanted = [line for name, line in pins(python, system).items() if name not in anywhere]
        assert wheels(python, system, wanted)
    request.config.cache.set(known, True)
