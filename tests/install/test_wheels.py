"""Each pinned package has a wheel for each Python and system that the README names, so nothing is compiled."""

import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename
from pip._internal.commands import create_command

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
    """Return the pins that a Python version installs on a system, by package name."""
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


@cache
def index() -> str:
    """Return the URL of pip's package index."""
    options, _ = create_command("download").parse_args(["package"])
    return str(options.index_url)


def files(client: httpx.Client, name: str) -> list[dict[str, Any]]:
    """Return the wheels of a package in the package index."""
    answer = client.get(f"{index().rstrip('/')}/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    answer.raise_for_status()
    if "json" not in answer.headers["content-type"]:
        pytest.skip("the index of packages describes no files")
    listed: list[dict[str, Any]] = answer.json()["files"]
    return [file for file in listed if file["filename"].endswith(".whl") and not file.get("yanked")]


def tags(python: str, system: str) -> set[Tag]:
    """Return the wheel tags that a Python version accepts on a system."""
    version = tuple(map(int, python.split(".")))
    platforms = SYSTEMS[system][2]
    return {
        *cpython_tags(version, platforms=platforms),
        *compatible_tags(version, f"cp{python.replace('.', '')}", platforms),
    }


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_pin_has_a_wheel() -> None:
    """The package index has a matching wheel of each pin for each Python and system."""
    needed = {(python, system): pins(python, system) for python, system in product(PYTHONS, SYSTEMS)}
    names = sorted(set().union(*needed.values()))
    try:
        with httpx.Client(follow_redirects=True, timeout=60) as client, ThreadPoolExecutor(8) as pool:
            listed = dict(zip(names, pool.map(partial(files, client), names), strict=True))
    except httpx.TransportError:
        pytest.skip("no index of packages can be reached")
    fitting = {
        line: [
            (parse_wheel_filename(file["filename"])[3], SpecifierSet(file.get("requires-python") or ""))
            for file in listed[line.partition("==")[0]]
            if file["filename"].split("-")[1] == line.partition("==")[2]
        ]
        for line in set().union(*(wanted.values() for wanted in needed.values()))
    }
    missing = [
        (python, system, line)
        for (python, system), wanted in needed.items()
        for accepted in [tags(python, system)]
        for line in wanted.values()
        if not any(not accepted.isdisjoint(of) and f"{python}.99" in allowed for of, allowed in fitting[line])
    ]

    assert len(names) > 50
    assert missing == []
