"""Help texts at two widths for every command, and a run of each example."""

import json
import re
import shlex
from contextlib import closing

import pytest

from tests.terminal.test_everywhere import COMMANDS
from workbench.sandbox import Sandbox
from workbench.terminal.commands import example_of
from workbench.terminal.operations import OPERATIONS, option_members
from workbench.terminal.where import kept_path

NOT_RUN = {
    "sandbox agent": "serves until its input is closed",
    "course serve": "serves until it is stopped",
    "course prepare": "fetches packages from the internet",
    "course lab": "opens JupyterLab",
    "events listen": "listens until it is stopped",
    "events resend": "needs an application behind a URL",
    "events trigger": "needs an application behind a URL",
    "sandbox add-fault": "needs a served sandbox",
    "corpus add": "needs recordings of a service",
    "corpus check": "needs a corpus",
    "corpus learn": "needs recordings of a service",
    "sandbox register-endpoint": "needs a served sandbox",
    "sandbox remove-endpoint": "needs an endpoint",
    "sandbox update-endpoint": "needs an endpoint",
    "sandbox restore": "follows the example of snapshot",
    "sandbox serve": "serves until it is stopped",
    "report close": "needs a log of events, and a month that is over",
    "docs completion": "prints a script of the shell; has its own test",
    "sandbox shell": "opens IPython",
    "course answer": "needs a drill that is on",
    "profiles arm": "needs a profile",
    "profiles check": "needs a profile",
    "report dashboard": "has its own tests",
    "course check": "ends with 5 until the drill is solved",
    "test explore": "needs an application",
    "test http": "needs an application behind a URL",
    "bulk resume": "needs an interrupted run",
    "bulk run": "needs a file of rows",
    "course add": "needs a class",
    "course join": "needs a class",
    "course board": "needs a class",
    "course print": "needs a class",
    "course results": "needs a class",
    "sequences check": "needs a file of the user's",
    "journal resolve": "needs a call with an unknown outcome",
    "journal health": "ends with 5 where something needs attention",
    "journal unknown": "needs the journal of an application",
}
"""Commands whose examples are only parsed and not run, with reasons."""


def test_a_list_is_a_row_for_each_item(wb, monkeypatch):
    """At 80 columns, a list of contracts is a table with one row each. `--full` shows every member."""
    monkeypatch.setenv("COLUMNS", "80")
    contracts = json.loads(wb("contracts", "list", "-o", "json").out)
    short, full = wb("contracts", "list"), wb("contracts", "list", "--full")

    assert len(short.out.splitlines()) == len(contracts) + 3
    assert all(contract["id"] in short.out for contract in contracts)
    assert "Not shown: " in short.err
    assert "deposit address" in full.out
    assert full.err == ""


def test_a_list_of_one_is_its_record(wb):
    """A list with a single item shows every member of the item."""
    user = json.loads(wb("sandbox", "guide", "-o", "json").out)["rewards_users"][0]["id"]

    assert "spend category" in wb("rewards", "list", "--user-id", user, "--limit", "1").out


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_argument_names_what_it_takes(wb, name):
    """Placeholders name the type (UUID, CENTS, DATE, INT …). Assumptions have a mark and a single footnote."""
    from workbench.service.interface.naming import command_of

    out = wb(*command_of(OPERATIONS[name]), "--help").out
    assumed = [path for path, member in option_members(OPERATIONS[name].request) if member.about.assumed]

    assert not re.search(r"\bSTR\b", out)
    assert "assumed: " not in out
    assert out.count("[assumed]: ") == bool(assumed)
    assert len(re.findall(r"\[assumed\](?!:)", out)) == len(assumed)


def test_a_member_of_an_optional_object_is_required_with_it(wb):
    """A user's address is optional, but an address needs its first line."""
    out = " ".join(wb("users", "update", "--help").out.split())

    assert "Street and number. [required if address is given]" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    "columns, every",
    [("80", 2), pytest.param("80", 1, marks=pytest.mark.soak), pytest.param("200", 1, marks=pytest.mark.soak)],
)
def test_no_option_is_broken(wb, monkeypatch, columns, every):
    """At two widths, help never splits an option, names its type, and shows complete examples."""
    monkeypatch.setenv("COLUMNS", columns)
    for command in COMMANDS[::every]:
        ended = wb(*command, "--help")
        out = ended.out
        printed = out[out.index("Example: ") :].removeprefix("Example: ").replace("\\\n", " ")

        assert ended.code == 0
        assert f"Usage: workbench {' '.join(command)}" in out
        assert shlex.split(printed)[: 1 + len(command)] == ["workbench", *command]
        assert not re.search(r"(?:--?|--[a-z.-]+-)\s*$", out, re.MULTILINE), command
        assert not re.search(r"--[a-z.-]+ STR\b", out), command
        assert shlex.split(printed) == shlex.split(example_of([*command])), command


def test_an_example_names_the_options_that_are_required(wb):
    """A command that needs an option, such as the folder of a class, has an example with the option."""
    lacking = []
    for command in [("course", "add"), ("course", "board"), ("course", "print"), ("course", "results")]:
        required = re.findall(
            r"^ *(--[a-z-]+) (?:(?!\n *--).)*?\[required\]", wb(*command, "--help").out, re.MULTILINE | re.DOTALL
        )
        lacking += [(command, name) for name in required if name not in example_of([*command])]

    assert lacking == []


@pytest.mark.slow
def test_every_example_runs(wb, monkeypatch, tmp_path):
    """Each example that needs neither a server nor a user's file succeeds on the user's own sandbox."""
    monkeypatch.chdir(tmp_path)
    for name, operation in {"body": "create-user-application", "account": "create-payment-account"}.items():
        (tmp_path / f"{name}.json").write_text(wb("docs", "skeleton", operation).out, encoding="utf-8")
    order = ["withdrawals plan", "withdrawals sign", "withdrawals typed-data", "sandbox wallet-sign",
             "withdrawals transaction", "withdrawals verify", "withdrawals explain", "sandbox execute"]  # fmt: skip
    others = [" ".join(command) for command in COMMANDS if " ".join(command) not in order]
    failed = {}
    for command in [*order, *others]:
        if command in NOT_RUN:
            continue
        example = example_of(command.split())
        if "TRANSACTION-ID" in example:
            wb(*shlex.split(example_of(["transactions", "authorize"]))[1:])
            (created,) = json.loads(wb("events", "list", "--kind", "transaction.created", "-n", "1", "-o", "json").out)
            example = example.replace("TRANSACTION-ID", created["body"]["id"])
            if command == "sandbox open-dispute":
                wb("sandbox", "settle", created["body"]["id"])
        line, _, into = example.removeprefix("workbench ").partition(" > ")
        ended = wb(*shlex.split(line))
        if into:
            (tmp_path / into.replace("~", "home")).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / into.replace("~", "home")).write_text(ended.out, encoding="utf-8")
        if ended.code:
            failed[example] = (ended.code, ended.err[-300:])

    assert failed == {}, "\n".join(f"{line}: {end}" for line, end in failed.items())


def test_examples_name_records_of_the_own_sandbox(wb):
    """The example of `users update` names and changes a user of your own sandbox."""
    example = example_of(["users", "update"])
    user = shlex.split(example)[3]

    assert wb(*shlex.split(example)[1:]).code == 0
    with closing(Sandbox(path=kept_path())) as sandbox:
        assert user in sandbox.guide()["users"]["approved"]
        assert sandbox.state(user)["is_active"] is False
