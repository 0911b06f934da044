"""A shell's history, and notebooks that ran, contain only the values that a person typed."""

import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from rich.pretty import pretty_repr
from traitlets.config import Config

import workbench as wb
from tests.canaries.notebooks import PLANTS
from tests.canaries.planted import ACCOUNT, CHANGES, PERSON, PLANTED, found
from tests.notebooks.reading import NOTEBOOKS
from workbench.service import rendering
from workbench.terminal.shell import keep_no_keys

KEY = PLANTED["api key"]
CELLS = (
    "import workbench as wb",
    "made = api.create_user_application(**person); made",
    "api.update_user(user_id=made.id, **changes)",
    "api.create_payment_account(user_id=made.id, **account)",
    "wb.to_frame([made]), wb.to_frame(list(api.journal))",
    "api.sandbox.state(made.id), api.sandbox.events()",
    "form = wb.form(api.create_user_application, **person); form",
    "form.put_in_cell()",
    "form.snippets",
    "form.close()",
    "panel = wb.browse(api); panel.show('users', made.id)",
    "wb.form(api.update_user, user_id=made.id, **changes).submit()",
    "api.create_user_application(**{**person, 'national_id': '1'})",
    "client = wb.Client(base_url='https://api.example.com/v1', api_key=fetch); client",
    "plan.sign().reveal()",
    "[len(Out) > 8, type(_).__name__]",
)
"""What is typed: values stand in variables that were read from a file, say."""


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Any]:
    """Yield a shell with the workbench loaded that stores inputs and outputs in a history file."""
    before = sys.excepthook
    config = Config(
        {"HistoryManager": {"enabled": True, "hist_file": str(tmp_path / "history.sqlite"), "db_log_output": True}}
    )
    config.InteractiveShell.colors = "nocolor"
    make: Any = InteractiveShell
    made = make(config=config, ipython_dir=str(tmp_path / "ipython"))
    made.history_manager.enabled = True
    yield made
    made.history_manager.end_session()
    sys.excepthook = before


def _history(shell: Any) -> tuple[list[str], bytes]:
    """Return the inputs in the history file, and all its bytes."""
    shell.history_manager.writeout_cache()
    path = Path(shell.history_manager.hist_file)
    with closing(sqlite3.connect(path)) as opened:
        inputs = [one for row in opened.execute("SELECT source, source_raw FROM history") for one in row]
    return inputs, b"".join(one.read_bytes() for one in path.parent.glob("history.sqlite*"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
def test_the_history_holds_what_was_typed_and_no_more(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Calls, forms and failures leave no planted value in the history, `In`, `Out` or the printed output."""
    asked: list[str] = []
    shell.set_next_input = lambda text, replace=False: asked.append(text)
    with wb.connect(seed=7) as api:
        contract = api.list_contracts()[0]
        plan = wb.withdrawals.plan(
            api, contract, token=contract.tokens[0].address, amount=wb.withdrawals.usd("1.00"), admin=contract.admin_addresses[0],
            to="0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", decimals=6,
        )  # fmt: skip
        undo = rendering.register(shell)
        keep_no_keys(shell)
        shell.push(
            {"api": api, "person": PERSON, "changes": CHANGES, "account": ACCOUNT, "fetch": lambda: KEY, "plan": plan}
        )
        signature = plan.sign().reveal()
        drawn = (signature.data.removeprefix("0x"), signature.salt)
        for cell in CELLS:
            shell.run_cell(cell, store_history=True)
        undo()
    inputs, kept = _history(shell)
    printed = capsys.readouterr()

    assert set(CELLS) <= set(inputs)
    assert "9 digits" in printed.out
    assert [] == found(kept, drawn)
    assert [] == found(printed.out + printed.err, drawn)
    assert [] == found(repr(shell.user_ns["Out"]) + pretty_repr(shell.user_ns["Out"]), drawn)
    assert [] == found(repr(shell.user_ns["In"]), drawn)


def test_a_call_put_into_a_cell_is_masked(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form inserts its call with masked private values, so a saved notebook does not contain them."""
    asked: list[str] = []
    shell.set_next_input = lambda text, replace=False: asked.append(text)
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    with wb.connect(seed=7) as api:
        form = wb.form(api.create_user_application, **PERSON)
        given = form.put_in_cell()
        form.close()

    assert [given] == asked
    assert "api.create_user_application(" in given
    assert "•••" in given
    assert [] == found(given + repr(asked))


@pytest.mark.filterwarnings("ignore::workbench.base.errors.AdviceWarning")
def test_what_a_person_types_is_theirs_but_for_keys(shell: Any) -> None:
    """A value typed into a cell stays in the history. A cell with a key is left out."""
    undo = rendering.register(shell)
    keep_no_keys(shell)
    shell.run_cell("name = 'Zqfirst'", store_history=True)
    shell.run_cell(
        f"client = __import__('workbench').Client(base_url='https://api.example.com/v1', api_key='{KEY}')",
        store_history=True,
    )
    undo()
    inputs, kept = _history(shell)

    assert "name = 'Zqfirst'" in inputs
    assert "# omitted: held a key" in inputs
    assert ["first name"] == found(kept)


# tests/notebooks/test_executed.py runs the notebooks with these values in their cells


def test_the_notebooks_plant_where_they_put_people_in() -> None:
    """The notebooks contain each text that the tests replace with a planted person."""
    sources = "".join(path.read_text() for path in NOTEBOOKS)

    assert [] == [theirs for theirs in PLANTS if theirs.replace('"', '\\"') not in sources]
    assert not re.search(r"zq", sources, re.IGNORECASE)
