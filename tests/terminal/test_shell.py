"""The shell: predefined names, display of results, and a history without keys."""

import json
import re
import sqlite3
import sys
from contextlib import closing

import pexpect
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from tests.terminal.conftest import ROOT
from workbench.client.session import connect
from workbench.terminal.shell import holds_key, keep_no_keys

pytestmark = pytest.mark.slow  # each test starts processes


@pytest.fixture
def ipython(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shell = InteractiveShell()
    with connect() as api:
        shell.user_ns["api"] = api
        yield shell
    shell.history_manager.end_session()


def test_one_line(piped, tmp_path):
    """`-c` runs one line with the predefined names and displays the result."""
    done = piped(
        "sandbox",
        "shell",
        "--fresh",
        "-c",
        "len(api.list_contracts()), wb.FULL, sandbox, inbox",
        IPYTHONDIR=str(tmp_path),
    )
    said = done.stdout.decode()

    assert done.returncode == 0
    assert re.search(r"\(3, +FULL", said.replace("\n", ""))


def test_an_error_has_its_code_and_its_face(piped, tmp_path):
    """A refusal in `-c` ends with 3 and shows the error without a traceback."""
    code = "api.simulate_refund(transaction_id='3f2a0b1c-0000-4000-8000-000000000000', amount=wb.FULL)"
    done = piped("sandbox", "shell", "--fresh", "-c", code, IPYTHONDIR=str(tmp_path))

    assert done.returncode == 3
    assert b"Transaction not found" in done.stdout
    assert b"Traceback" not in done.stdout


def test_history_keeps_no_key(ipython, monkeypatch):
    """Inputs that contain a key are left out of the history. Other inputs are stored."""
    monkeypatch.setenv("WORKBENCH_FAR_API_KEY", "canary-7f3a")
    keep_no_keys(ipython)
    ipython.run_cell("settings = dict(api_key='canary-1')", store_history=True)
    ipython.run_cell("print('canary-7f3a')", store_history=True)
    ipython.run_cell("kept = 1", store_history=True)
    ipython.history_manager.writeout_cache()
    with closing(sqlite3.connect(ipython.history_manager.hist_file)) as history:
        rows = history.execute("SELECT source, source_raw FROM history").fetchall()

    assert "kept = 1" in str(rows)
    assert "canary" not in str(rows)
    assert "canary" not in str(ipython.history_manager.input_hist_raw)


@pytest.mark.parametrize(
    "text, holds",
    [
        ("wb.Client(api_key='x')", True),
        ('{"api_key": "x"}', True),
        ("api_key = key", False),
        ("token=row.token", False),
    ],
)
def test_what_counts_as_a_key(text, holds):
    """A literal assigned to the name of a key counts as a key. A variable does not."""
    assert holds_key(text) is holds


def test_the_shell_itself(tmp_path, own_state):
    """At a terminal, the shell lists its names, runs a control and ends with `exit`."""
    child = pexpect.spawn(
        sys.executable, ["-m", "workbench", "sandbox", "shell", "--fresh"], cwd=ROOT, timeout=60, encoding="utf-8",
        env={"PATH": "", "TERM": "dumb", "IPYTHONDIR": str(tmp_path), "HOME": str(tmp_path), "WORKBENCH_STATE": str(own_state)},
    )  # fmt: skip
    child.expect_exact("sandbox.settle")
    child.expect(r"In \[1\]")
    child.sendline("sandbox.advance(days=2)")
    child.expect_exact("SandboxTime")
    child.sendline("exit")
    child.expect(pexpect.EOF)
    child.close()

    assert child.exitstatus == 0


def test_completion_of_operations_and_arguments(ipython):
    """IPython completes operations and their arguments from the signatures."""

    def completed(text: str) -> set[str]:
        with provisionalcompleter():
            return {one.text for one in ipython.Completer.completions(text, len(text))}

    assert {"simulate_refund", "simulate_reversal"} <= {one.rpartition(".")[2] for one in completed("api.simulate_re")}
    assert "transaction_id=" in completed("api.simulate_refund(tran")


@pytest.fixture
def few_rewards(monkeypatch):
    """Let a dashboard read the rewards of one user, because those of all users take seconds."""
    from workbench.screens.panel import lists

    monkeypatch.setattr(lists, "rewards", lambda api, users=(), read=lists.rewards: read(api, list(users)[:1]))


def test_the_dashboard_is_a_file(wb, tmp_path, monkeypatch, few_rewards):
    """The command writes the panel's overview to one HTML file, opens it on request, and does not overwrite a file."""
    import webbrowser

    from workbench.screens.panel.panel import Panel

    opened = []
    path = tmp_path / "program.html"
    monkeypatch.setattr(Panel, "document", lambda _, every=0: f"<!doctype html>{every}")
    monkeypatch.setattr(webbrowser, "open", opened.append)

    assert "Wrote" in wb("report", "dashboard", "--out", str(path)).err
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert wb("report", "dashboard", "--out", str(path)).code != 0
    assert opened == []
    assert wb("report", "dashboard", "--out", str(tmp_path / "other.html"), "--open").code == 0
    assert opened == [(tmp_path / "other.html").as_uri()]


def test_the_dashboard_is_of_what_the_options_name(wb, tmp_path, monkeypatch, few_rewards):
    """The target options apply to the command: --fresh writes a program of 240 people."""
    from workbench.screens.panel.panel import Panel

    monkeypatch.setattr(Panel, "document", lambda panel, every=0: str(len(panel.lists["users"])))
    path = tmp_path / "program.html"

    assert "Wrote" in wb("report", "dashboard", "--fresh", "--out", str(path)).err
    assert int(path.read_text(encoding="utf-8")) > 240


def test_the_dashboard_is_written_again(wb, tmp_path, monkeypatch, few_rewards):
    """With --every, the file is rewritten at each interval until Ctrl-C, and the page reloads as often."""
    from contextlib import nullcontext

    from workbench.screens.panel.panel import Panel
    from workbench.terminal import shell

    waited, path = [], tmp_path / "program.html"

    def wait(seconds):
        waited.append((seconds, path.read_text(encoding="utf-8")))
        if len(waited) == 3:
            raise KeyboardInterrupt

    numbers = iter(range(9))
    monkeypatch.setattr(Panel, "document", lambda _, every=0: f"{next(numbers)} reloads after {every} s")
    monkeypatch.setattr(shell, "waiting_for_signals", lambda: nullcontext(wait))

    assert wb("report", "dashboard", "--out", str(path), "--every", "30s").code == 130
    assert waited == [(30, f"{number} reloads after 30 s") for number in (1, 2, 3)]
    assert wb("report", "dashboard", "--out", str(tmp_path / "a.html"), "--every", "soon").code == 2


def test_json_is_importable():
    """The shell's session can describe itself without its key."""
    with connect() as api:
        assert api.sandbox.full_key not in json.dumps(api.info())
