"""The package itself: cheap to import, and what it names exists."""

import subprocess
import sys

import pytest

from workbench import chains

LIBRARIES = ("coincurve", "Crypto", "nacl", "eth_account", "pandas", "httpx", "matplotlib", "ipywidgets")


@pytest.mark.parametrize("name", chains.__all__)
def test_each_name_exists(name):
    """Every public name can be had, and says what it is."""
    value = getattr(chains, name)

    assert name == value.__name__
    assert value.__doc__
    assert name in dir(chains)


def test_a_name_that_does_not_exist():
    """Anything else is an ordinary AttributeError."""
    with pytest.raises(AttributeError, match="nothing_of_this"):
        chains.nothing_of_this  # noqa: B018


def test_libraries_are_loaded_when_used():
    """Importing the package and all its functions loads no library for cryptography; checking an address loads one."""
    code = f"""
import sys
from workbench import chains
for name in chains.__all__:
    getattr(chains, name)
print([name for name in {LIBRARIES!r} if name in sys.modules])
chains.address_problems("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
print([name for name in {LIBRARIES!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split("\n")[:2] == ["[]", "['Crypto']"]
