"""The package: cheap to import, its names exist."""

import subprocess
import sys

import pytest

import workbench as wb
from workbench import rendering, withdrawals

HEAVY = ("coincurve", "Crypto", "nacl", "httpx", "pandas", "matplotlib", "ipywidgets", "IPython")


@pytest.mark.parametrize("name", withdrawals.__all__)
def test_each_name_exists(name):
    """Every public name can be had, and says what it is."""
    value = getattr(withdrawals, name)

    assert name == value.__name__
    assert value.__doc__
    assert name in dir(withdrawals)


def test_a_name_that_does_not_exist():
    with pytest.raises(AttributeError, match="nothing_of_this"):
        withdrawals.nothing_of_this  # noqa: B018


def test_it_is_public():
    """The package and both amounts are names of the package."""
    assert (withdrawals, withdrawals.usd, withdrawals.native_units) == (
        wb.withdrawals,
        wb.withdrawals.usd,
        wb.withdrawals.native_units,
    )


def test_libraries_are_loaded_when_used():
    """Importing the package and all it names loads no library for cryptography, and no client."""
    code = f"""
import sys
from workbench import withdrawals
for name in set(withdrawals.__all__) - set(["countdown"]):  # a widget
    getattr(withdrawals, name)
withdrawals.usd("25.00")
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_rendering_shows_what_has_a_sheet(api):
    """The rendering package shows a plan by its own sheet, as a notebook does."""
    contract = api.list_contracts()[0]
    plan = wb.withdrawals.plan(
        api,
        contract,
        token=contract.tokens[0],
        amount=wb.withdrawals.native_units(25_000_000),
        admin=contract.admin_addresses[0],
        to=contract.admin_addresses[1],
        decimals=6,
    )

    assert str(plan) == rendering.plain(plan)
    assert plan._repr_html_() == rendering.html(plan)
