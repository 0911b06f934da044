"""Conveniences of daily use: fields, durations, skeletons, examples, suggestions and completion."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pexpect
import pytest

from tests.each import some
from tests.terminal.conftest import ROOT
from workbench.client.calls.journal import Journal
from workbench.client.session import connect
from workbench.service.interface.naming import command_of
from workbench.service.interface.table import OPERATIONS
from workbench.terminal.about import ENVIRONMENT

BODY = "tests/terminal/application.json"
FORMS = ("table", "json", "ndjson", "csv")


def authorize(wb):
    card = json.loads(wb("sandbox", "guide", "-o", "json").out)["cards"]["active"][0]
    return wb("transactions", "authorize", "--card-id", card, "--amount", "1250", "--currency", "USD", "--merchant-name",
              "Shop", "--merchant-category-code", "5411", "-o", "json", "--fields", "transactionId")  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_fields_pick_through_lists(wb, form):
    """A member of each item in a list can be selected in every output format."""
    ended = wb("contracts", "list", "-o", form, "--fields", "id,tokens.balance")

    assert ended.code == 0
    for contract in json.loads(wb("contracts", "list", "-o", "json").out):
        assert all(token["balance"] in ended.out for token in contract["tokens"])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("words", [["contracts", "list"], ["sandbox", "guide"], ["docs", "assumptions"]])
def test_an_unknown_field_is_an_error(wb, own_state, form, words):
    """An unknown name ends with 2 in every output format, and the error lists the known names."""
    (own_state / "profiles.toml").write_text('[profiles.own.sandbox]\nover_limit = "account_credit_limit_exceeded"\n')
    ended = wb(*words, "-o", form, "--fields", "shoe")

    assert (ended.code, ended.out) == (2, "")
    assert "allowed: " in ended.err


def test_fields_of_the_guide(wb):
    """Nested members of a mapping can be selected."""
    guide = json.loads(wb("sandbox", "guide", "-o", "json").out)

    assert json.loads(wb("sandbox", "guide", "-o", "json", "--fields", "cards.active").out) == {
        "cards.active": guide["cards"]["active"]
    }
    assert guide["cards"]["active"][0] in wb("sandbox", "guide", "--fields", "cards.active").out


@pytest.mark.parametrize(
    "words, seconds",
    [(["2h30m"], 9_000), (["1d 1m"], 86_460), (["2d"], 172_800), (["90s"], 90)],
    ids=str,
)
def test_durations_have_units(wb, words, seconds):
    """The clock advances by the stated duration."""
    before = json.loads(wb("sandbox", "advance", "0s", "-o", "json").out)["now"]
    after = json.loads(wb("sandbox", "advance", *words, "-o", "json").out)["now"]

    from datetime import datetime

    assert (datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds() == seconds


def test_a_time_to_move_to(wb):
    """`--until` moves the clock to a time. A number without a unit, and a time in the past, are refused."""
    assert json.loads(wb("sandbox", "advance", "--until", "2030-02-01T12:00:00Z", "-o", "json").out)["now"].startswith(
        "2030-02-01T12:00"
    )
    assert wb("sandbox", "advance", "3600").code == 2
    assert wb("sandbox", "advance", "1h", "--until", "2031-01-01T00:00:00Z").code == 2
    assert wb("sandbox", "advance", "--until", "2020-01-01T00:00:00Z").code == 2


@pytest.mark.parametrize("name", [name for name, row in OPERATIONS.items() if row.method != "GET"])
def test_a_skeleton_is_a_body_that_is_taken(wb, tmp_path, name):
    """The output of `skeleton` is a valid body, except for its invented ids."""
    ended = wb("docs", "skeleton", name.replace("_", "-"))
    (tmp_path / "body.json").write_text(ended.out)
    row = OPERATIONS[name]
    ids = ["3f2a0b1c-0000-4000-8000-000000000000"] * row.path.count("{")
    more = (
        ["--amount", "FULL"]
        if name == "simulate_refund"
        else ["--new-amount", "FULL"]
        if name == "simulate_reversal"
        else []
    )
    sent = wb(*command_of(row), *ids, "--from", str(tmp_path / "body.json"), *more, "--fresh")

    assert ended.code == 0
    assert sent.code in {0, 3}
    assert "Did you mean" in sent.err or "problems" not in sent.err


def test_a_skeleton_of_something_else(wb):
    """An unknown operation ends with 2."""
    assert wb("docs", "skeleton", "buy-house").code == 2


@pytest.mark.parametrize("columns", ["50", "100"])
def test_help_wraps_once(wb, monkeypatch, columns):
    """The lines of a docstring are joined before they are wrapped, so no line is needlessly short."""
    out = wb("events", "listen", "--help").out

    assert "Deliveries from other senders are accepted too" in " ".join(out.split())
    paragraph = out.split("\n\n")[2]
    assert all(len(line.rstrip()) > 80 for line in paragraph.splitlines()[:-1])


def test_a_value_that_was_mistyped(wb):
    """The nearest name is suggested for mistyped options, choices and values."""
    assert "card_locked" in wb("transactions", "authorize", "--decline-reason", "card_loked").err
    assert "Did you mean --amount?" in wb("transactions", "authorize", "--amont", "5").err
    assert 'Did you mean "approved"' in wb("sandbox", "review", "x", "aproved").err


def test_quiet(wb):
    """With `-q`, only results and errors are printed."""
    assert wb("sandbox", "reset", "-q").err == ""
    assert wb("sandbox", "settle", "3f2a0b1c-0000-4000-8000-000000000000", "-q").err != ""
    assert wb("sandbox", "reset").err != ""


@pytest.mark.parametrize("options, times", [((), 1), (("-q",), 0)])
def test_a_warning_of_the_client_is_one_message(wb, piped, options, times):
    """The notice about a fault is one line, and is suppressed with `-q`."""
    wb("sandbox", "add-fault", "latency", "--of", "list_contracts")
    assert piped("contracts", "list", *options).stderr.count(b"the sandbox injects faults") == times
    wb("sandbox", "reset")
    wb("sandbox", "clear-faults")


def test_a_fault_holds_for_the_next_commands(wb):
    """A fault rule applies until it is removed, and the affected request is listed."""
    wb("sandbox", "reset")
    wb("sandbox", "add-fault", "status", "--of", "list_contracts", "--status", "403")
    refused = wb("contracts", "list")
    wb("sandbox", "clear-faults")

    assert refused.code != 0
    assert json.loads(wb("sandbox", "requests", "-o", "json").out)[-1]["fault"] == "status"
    assert wb("contracts", "list").code == 0


def test_a_journal_of_an_application(wb, tmp_path):
    """`--path` opens an application's journal."""
    path = tmp_path / "app.db"
    with connect(journal=Journal(path)) as api:
        api.simulate_authorization(card_id=api.sandbox.guide()["cards"]["active"][0], amount=100, currency="USD",
                                   merchant_name="Shop", merchant_category_code="5411")  # fmt: skip

    assert len(wb("journal", "list", "-o", "ndjson", "--path", str(path)).out.splitlines()) == 1
    assert "simulate_authorization" in wb("journal", "list", "--path", str(path), "-o", "json").out
    assert wb("journal", "list", "--path", str(tmp_path / "nowhere.db")).code == 2


@pytest.mark.slow
def test_events_show_time_and_transaction(wb):
    """At 80 columns, a row shows the event's time and the transaction's full id."""
    made = json.loads(authorize(wb).out)["transactionId"]
    child = pexpect.spawn(sys.executable, ["-m", "workbench", "events", "list"], cwd=ROOT, timeout=60, encoding="utf-8",
                          dimensions=(40, 80), env={**os.environ, "NO_COLOR": "1"})  # fmt: skip
    shown = child.read()
    child.close()

    assert made in shown
    assert re.search(r"\d\d:\d\d +transaction.requested", shown)


def test_the_environment_is_documented(wb, monkeypatch):
    """`profiles config` and docs/connections.md name every variable that the code reads. No value is shown."""
    monkeypatch.setenv("WORKBENCH_API_KEY", "canary-of-a-key")
    out = wb("profiles", "config", "-o", "json").out
    page = (ROOT / "docs/connections.md").read_text(encoding="utf-8")

    assert "canary" not in out
    assert all(name in out for name in ENVIRONMENT)
    assert page.endswith("".join(f"| `{name}` | {text} |\n" for name, text in ENVIRONMENT.items()))


CASES = [
    ("workbench trans", "transactions"),
    ("workbench transactions auth", "authorize"),
    ("workbench transactions authorize --dec", "--decline-reason"),
    ("workbench transactions authorize --decline-reason card_l", "card_locked"),
    ("workbench contracts list -o nd", "ndjson"),
    ("workbench sequences run refund-f", "refund-full"),
    ("workbench events trigger user.u", "user.updated"),
    ("workbench sandbox review x appr", "approved"),
]


@pytest.fixture(scope="module")
def completions(tmp_path_factory):
    """A folder with the completion scripts for fish and zsh, and with `workbench` as a command."""
    folder = tmp_path_factory.mktemp("completions")
    for shell, name in (("fish", "workbench.fish"), ("zsh", "_workbench")):
        script = [sys.executable, "-m", "workbench", "docs", "completion", shell]
        (folder / name).write_bytes(subprocess.run(script, cwd=ROOT, check=True, capture_output=True).stdout)
    command = folder / "workbench"
    command.write_text(f'#!/bin/sh\ncd {ROOT} && exec {sys.executable} -m workbench "$@"\n')
    command.chmod(0o755)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize("line, expected", some(8, CASES, start=3))
def test_completion_in_fish(completions, line, expected):
    """Commands, options, choices and names are completed in fish."""
    script = f"source {completions}/workbench.fish; complete -C {shlex.quote(line)}"
    environ = {**os.environ, "PATH": f"{completions}:{os.environ['PATH']}", "HOME": str(completions)}
    done = subprocess.run(["fish", "-c", script], capture_output=True, text=True, check=True, env=environ)

    assert expected in [row.partition("\t")[0] for row in done.stdout.splitlines()]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.parametrize("line, expected", some(4, CASES))
def test_completion_in_zsh(completions, line, expected):
    """Commands, options, choices and names are completed in zsh."""
    environ = {**os.environ, "PATH": f"{completions}:{os.environ['PATH']}", "HOME": str(completions), "TERM": "dumb"}
    child = pexpect.spawn("zsh", ["-f", "-i"], env=environ, timeout=30, encoding="utf-8", dimensions=(60, 200))
    child.sendline(
        f"PS1='%% '; unsetopt zle_bracketed_paste; fpath=({completions} $fpath); autoload -U compinit; compinit -u -D; echo rea''dy"
    )
    child.expect("ready")
    child.send(f"{line}\t")
    child.expect(
        re.escape(expected[len(line.rpartition(" ")[2]) :])
        if expected.startswith(line.rpartition(" ")[2])
        else re.escape(expected)
    )
    child.close(force=True)
