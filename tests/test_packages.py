"""Packages of pure functions: their public names exist, and importing all of them loads no library before it is used."""

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import pytest

import workbench as wb
from workbench.analysis.rewards.read_result import Rewards
from workbench.base.errors import UsageError
from workbench.base.renamed import replacements
from workbench.client.calls.effects import Entry
from workbench.client.withdrawals.planning import Plan
from workbench.client.withdrawals.wallet import AdminMessage, Explanation
from workbench.client.withdrawals.withdrawal import Withdrawal
from workbench.course.learner import CheckResult
from workbench.runs.bulk.outcomes import RowResult
from workbench.screens.forms.form import Form
from workbench.screens.panel.dashboard import Dashboard
from workbench.screens.panel.listing import Listing
from workbench.testing.comparing import Comparison
from workbench.testing.exploring import Failure

PACKAGES = {
    "workbench.service.chains": (
        "coincurve",
        "Crypto",
        "nacl",
        "eth_account",
        "pandas",
        "httpx",
        "matplotlib",
        "ipywidgets",
    ),
    "workbench.client.withdrawals": (
        "coincurve",
        "Crypto",
        "nacl",
        "httpx",
        "pandas",
        "matplotlib",
        "ipywidgets",
        "IPython",
    ),
}
NAMES = [(package, name) for package in PACKAGES for name in importlib.import_module(package).__all__]


@pytest.mark.parametrize("package, name", NAMES, ids=[f"{package}.{name}" for package, name in NAMES])
def test_each_name_exists(package, name):
    """Every public name can be had, and says what it is."""
    module = importlib.import_module(package)
    value = getattr(module, name)

    assert name == value.__name__
    assert value.__doc__
    assert name in dir(module)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_does_not_exist(package):
    """Anything else is an ordinary AttributeError."""
    with pytest.raises(AttributeError, match="nothing_of_this"):
        importlib.import_module(package).nothing_of_this  # noqa: B018


@pytest.mark.parametrize("package, libraries", PACKAGES.items(), ids=PACKAGES)
def test_libraries_are_loaded_when_used(package, libraries):
    """Importing a package and all it names loads no library for cryptography, and no client; only a widget needs one."""
    code = f"""
import importlib, sys
module = importlib.import_module({package!r})
for name in set(module.__all__) - {{"countdown"}}:
    getattr(module, name)
print([name for name in {libraries!r} if name in sys.modules])
from workbench.service import chains
chains.address_problems("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
print("Crypto" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split("\n")[:2] == ["[]", "True"]


def former_names() -> Iterator[tuple[str, str]]:
    """Return the names that 0.3 took away, from the page of names, each with the object that had it."""
    for line in (Path(__file__).parents[1] / "docs/names.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 4 and re.fullmatch(r"`(wb[.\w]*|api\.sandbox|api)`", cells[1]):
            yield from ((cells[1].strip("`"), name) for name in re.findall(r"`(\w+)`", cells[3]))


def test_a_former_name_says_what_to_write_instead() -> None:
    """Each public name of 0.2 that is gone, and what is named instead exists."""
    api = wb.connect()
    plumbing = {
        "direct",
        "drain",
        "environment",
        "for_key",
        "handle",
        "http_app",
        "last_event",
        "settings",
        "wire_names",
    }
    for space, name in former_names():
        if (
            name == "chains"
            or space in ("wb.chains", "wb.errors")
            or (space == "api.sandbox" and name in {*plumbing, "world_id"})
        ):
            continue  # still importable; or nobody's business
        _, *members = space.split(".")
        owner = reduce(getattr, members, api if space.startswith("api") else wb)
        with pytest.raises(AttributeError, match=r"; (it is now|since 0\.3 the types of)"):
            getattr(owner, name)
    for former, now in replacements()["names"].items():
        if re.fullmatch(r"wb\.[\w.]+", now):
            assert reduce(getattr, now.split(".")[1:], wb), former


STILL_THERE = {"wb.Inbox", "wb.bulk", "wb.chains", "wb.connect", "wb.errors.UnexpectedAnswer"}
"""Names of which the changelog says that something else about them changed."""


def test_the_names_of_the_changelog_say_what_to_write_instead() -> None:
    """Each name of `wb` in the left column of its tables, back to 0.1."""
    text = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
    left = "".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    former = set(re.findall(r"\bwb(?:\.\w+)+", left)) - STILL_THERE

    assert len(former) > 40
    for name in former:
        with pytest.raises(AttributeError, match=r"; (it is now|since 0\.3 the types of)"):
            raise AssertionError(f"{name} is {reduce(getattr, name.split('.')[1:], wb)}")


RESULTS = {
    "api": wb.Session, "journal": wb.Journal, "inbox": wb.Inbox, "sandbox": wb.Sandbox, "entry": Entry, "row": RowResult,
    "check": CheckResult, "form": Form, "dashboard": Dashboard, "listing": Listing, "rewards": Rewards, "plan": Plan,
    "comparison": Comparison, "failure": Failure, "message": AdminMessage, "explanation": Explanation,
    "withdrawal": Withdrawal,
}  # fmt: skip


def test_former_members_say_what_to_write_instead() -> None:
    """Members of sessions, inboxes and results that earlier versions had; no class has them any more."""
    former = [name.split(".") for name in replacements()["names"] if re.fullmatch(r"(?!wb)\w+\.\w+", name)]

    assert {owner for owner, _ in former} == set(RESULTS)
    for owner, member in former:
        assert member not in dir(RESULTS[owner])
        with pytest.raises(AttributeError, match=f"has no {member}; it is now "):
            RESULTS[owner].__getattr__(None, member)


def test_arguments_in_another_order_are_named() -> None:
    """A call in the form of earlier versions says what the function takes."""
    api = wb.connect()
    with pytest.raises(UsageError, match="too many positional arguments; run takes call, rows, workers"):
        wb.bulk.run(api, "simulate_refund", [])  # type: ignore[call-arg]
    with pytest.raises(UsageError, match=r"takes an operation of a client, such as api\.create_user_application"):
        wb.bulk.run("simulate_refund", [])
    with pytest.raises(UsageError, match="takes an operation of a client"):
        wb.bulk.run(api, [])
