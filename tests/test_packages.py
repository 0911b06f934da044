"""Packages of pure functions have the listed public names, and importing them loads no library."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from tests.each import each
from workbench.base.errors import UsageError

PACKAGES = {
    "workbench.service.chains": (
        "Crypto",
        "eth_account",
        "pandas",
        "httpx",
        "matplotlib",
        "ipywidgets",
    ),
    "workbench.client.withdrawals": (
        "Crypto",
        "httpx",
        "pandas",
        "matplotlib",
        "ipywidgets",
        "IPython",
    ),
}
NAMES = [(package, name) for package in PACKAGES for name in importlib.import_module(package).__all__]


@each("package, name", NAMES, ids=[f"{package}.{name}" for package, name in NAMES])
def test_each_name_exists(package, name):
    """Each public name can be loaded and has a docstring."""
    module = importlib.import_module(package)
    value = getattr(module, name)

    assert name == value.__name__
    assert value.__doc__
    assert name in dir(module)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_does_not_exist(package):
    """An unknown name raises AttributeError."""
    with pytest.raises(AttributeError, match="nothing_of_this"):
        importlib.import_module(package).nothing_of_this  # noqa: B018


@pytest.mark.parametrize("package, libraries", PACKAGES.items(), ids=PACKAGES)
def test_libraries_are_loaded_when_used(package, libraries):
    """Importing a package and its names loads none of the listed libraries, which are loaded on first use."""
    code = f"""
import importlib, sys
module = importlib.import_module({package!r})
for name in module.__all__:
    getattr(module, name)
print([name for name in {libraries!r} if name in sys.modules])
from workbench.service import chains
chains.address_problems("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
print("Crypto" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split("\n")[:2] == ["[]", "True"]


def test_arguments_in_another_order_are_named() -> None:
    """A call with the argument order of earlier versions gets an error with the arguments."""
    api = wb.connect()
    with pytest.raises(UsageError, match="too many positional arguments; run takes call, rows, workers"):
        wb.bulk.run(api, "simulate_refund", [])  # type: ignore[call-arg]
    with pytest.raises(UsageError, match=r"takes an operation of a client, such as api\.create_user_application"):
        wb.bulk.run("simulate_refund", [])
    with pytest.raises(UsageError, match="takes an operation of a client"):
        wb.bulk.run(api, [])


def test_importing_the_package_loads_little() -> None:
    """The import loads no slow module of the standard library, and at most nine modules of the package."""
    code = "import sys; before = {*sys.modules}; import workbench; print(*sorted({*sys.modules} - before))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]
    )
    ours = {name for name in done.stdout.split() if name.startswith("workbench")}

    assert {"typing", "json", "re", "functools", "contextlib", "enum"} & {*done.stdout.split()} == set()
    assert len(ours) <= 9, ours
