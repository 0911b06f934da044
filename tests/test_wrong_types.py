"""Each public function refuses values of wrong types, one argument at a time, with a workbench error.

The functions are those that `dir(wb)` and its namespaces list, so a new function is tested without an entry in this file.
"""

import getpass
import inspect
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import workbench as wb

JUNK: dict[str, object] = {
    "None": None, "whole number": 3, "negative": -1, "float": 1.5, "NaN": float("nan"), "bytes": b"x", "NUL": "\0", "surrogate": "a\udcff",
    "text": "x", "list": [1], "list of None": [None], "dict": {"a": 1}, "dict of numbers": {1: 2}, "object": object(), "tuple": ("a",),
    "set": {3}, "class": int, "error": ValueError("x"), "true": True,
}  # fmt: skip
OFTEN_WRONG = ["bytes", "list of None"]
"""Values that once raised errors of Python."""
CLASSES_OF_RESULTS = {"testing.Universe"}
"""Classes that only functions of the package create."""
CALLED_BACK = {"application", "clock", "http", "new", "now", "old", "progress", "scenario", "transport"}
"""Parameters for functions and objects of the caller, whose errors are the caller's."""
ALLOWED = (wb.WorkbenchError, AssertionError, FileExistsError)
"""Allowed errors: workbench errors, failed assertions of a test, and refusals to overwrite a file."""


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public functions and classes of the package and its namespaces."""
    owners = {"": wb} | {f"{name}.": getattr(wb, name) for name in dir(wb) if isinstance(getattr(wb, name), ModuleType)}
    for prefix, owner in owners.items():
        for name in dir(owner):
            function = getattr(owner, name)
            is_error = isinstance(function, type) and issubclass(function, BaseException)
            if callable(function) and not is_error and prefix not in ("records.", "errors."):
                yield prefix + name, function


FUNCTIONS = {name: function for name, function in functions() if name not in CLASSES_OF_RESULTS}


@pytest.fixture(scope="module")
def usual() -> dict[str, Any]:
    """Return a valid value for each required argument."""
    api, other = wb.connect(seed=1), wb.connect(seed=2)
    refund = wb.sequences.catalogue["refund-full"]
    wb.sequences.run(other, refund, progress=False)
    table = wb.history(other).transactions()
    return {
        "api": api, "a": api, "b": other, "events": other, "transactions": table, "frame": table, "row": 0, "column": "card_id", "x": table,
        "of": table, "mine": table, "theirs": table, "spend": wb.history(table).spend(), "approvals": wb.history(table).approvals(),
        "cohorts": wb.history(table).cohorts(), "history": wb.history(other).status_history(), "disputes": pd.DataFrame(),
        "rewards": wb.to_frame(other.list_rewards_activity(user_id=other.sandbox.guide()["rewards_users"][0]["id"])),
        "contracts": wb.to_frame(api.list_contracts()), "query": "select 1", "text": refund.to_toml(), "name": "x", "do": "list_contracts",
        "sequence": wb.sequences.from_toml("name = 'a'\n[[steps]]\nname = 'list'\ndo = 'list_contracts'\n"), "exercise": "start-1",
        "call": api.simulate_refund, "rows": [], "seed": 1, "at": "2026-01-15", "kind": "card", "notebook": "x", "sandbox": api.sandbox,
        "operation": "list_contracts", "to": "har", "calls": api.journal, "journal": api.journal, "dollars": "1", "units": 1, "users": [],
        "card_id": api.sandbox.guide()["cards"]["active"][0], "base_url": "http://127.0.0.1:9", "url": "http://127.0.0.1:9",
        "books": "http://127.0.0.1:9", "link": "http://127.0.0.1:9/x", "api_key": "k",
    }  # fmt: skip


def attempt(function: Callable[..., Any], given: dict[str, Any]) -> None:
    """Call a function, enter a returned context manager, and read a lazy result."""
    result = function(**given)
    if hasattr(type(result), "__enter__"):
        with result:
            pass
    if inspect.isgenerator(result):
        list(result)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "kinds",
    [pytest.param(OFTEN_WRONG, marks=pytest.mark.slow), pytest.param(list(JUNK), marks=pytest.mark.soak)],
    ids=["some", "all"],
)
def test_no_wrong_type_raises_an_error_of_python(
    name: str, kinds: list[str], usual: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each argument, required or optional, gets each value while the other required arguments are valid."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(getpass, "getpass", lambda prompt: "k")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    wb.to_file(pd.DataFrame({"a": [1]}), "a.parquet")
    (tmp_path / "a.toml").write_text(usual["text"])
    path = "a.toml" if "toml" in name else "rows.csv" if "rows" in name else "a.parquet"
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    named = [part for part in parameters if part.kind not in (part.VAR_KEYWORD, part.VAR_POSITIONAL)]
    required = {part.name: {**usual, "path": path}.get(part.name) for part in named if part.default is part.empty}
    raised = []
    for part in named:
        for kind in kinds if part.name not in CALLED_BACK else ():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    attempt(FUNCTIONS[name], {**required, part.name: JUNK[kind]})
            except ALLOWED:
                continue
            except Exception as error:  # noqa: BLE001 - what is looked for
                raised.append(f"{part.name}, {kind}: {type(error).__name__}: {error}")
    plt.close("all")
    assert raised == []


@pytest.mark.slow
@pytest.mark.parametrize("names", ["a file", "a member"])
def test_a_locale_that_is_not_utf_8_is_named(names: str) -> None:
    """A name with an ë is valid. The error names the locale that cannot represent it."""
    uses = {
        "a file": "wb.Sandbox(path=f'/nowhere/Zo{chr(0xEB)}.db')",
        "a member": "wb.connect().update_user(user_id='0' * 8 + '-0000-4000-8000-' + '0' * 12, first_name=sys.argv[1])",
    }
    script = f"import sys, workbench as wb\ntry: {uses[names]}\nexcept wb.errors.WorkbenchError as error: print(ascii(str(error)))"
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", script, "Zo\u00eb"], capture_output=True, text=True, check=True, env=plain
    )

    assert "locale (" in done.stdout, done.stdout
    assert "set LC_ALL=C.UTF-8" in done.stdout
