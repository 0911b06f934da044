"""Help: there at once, complete, and the same words as the table."""

import os
import subprocess
import sys

import pytest

from workbench.interface.table import OPERATIONS
from workbench.sandbox.controls import CONTROLS
from workbench.terminal.commands import commands, controls


def cpu_seconds(*words: str) -> float:
    """The least processor time of a few runs: what others do on the machine does not count."""
    spent = []
    for _ in range(5):
        before = os.times()
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(spent)


@pytest.mark.slow
def test_help_costs_little():
    """`workbench --help` costs at most 150 ms over bare Python."""
    assert cpu_seconds("-m", "workbench", "--help") - cpu_seconds("-c", "pass") <= 0.15


def test_help_needs_no_parser():
    """The first page of help loads neither the argument parser nor the client."""
    script = (
        "import sys; sys.argv=['workbench','--help']; from workbench.terminal import main; main();"
        "print('loaded:', *({'cyclopts','rich','httpx','cattrs','IPython','pandas'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)

    assert done.stderr.strip() == "loaded:"


def test_help_lists_every_command(wb):
    """Each command has its line."""
    out = wb("--help").out

    assert [command.name for command in commands().values() if f"  {command.name} " not in out] == []


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_a_command_with_every_argument(wb, name):
    """An operation's help has an option for each argument, its rule, and its marks of guesses."""
    from workbench.terminal.arguments import option_members

    ended = wb(name, "--help")

    assert ended.code == 0
    words = " ".join(ended.out.split())
    for path, one in option_members(OPERATIONS[name].request):
        assert f"--{path.replace('_', '-')}" in words
        assert " ".join(one.about.doc.split()) in words
        if one.about.assumed:
            assert "assumed: " in words


@pytest.mark.slow
def test_every_control_is_a_command(wb):
    """Each control of the sandbox is a command with its arguments, keys apart: those come from the environment."""
    assert {path[1] for path in controls()} | {"reset"} == set(CONTROLS)
    for name in controls():
        ended = wb(*name, "--help")
        assert ended.code == 0
        for argument in CONTROLS[name[1]].signature.parameters:
            if argument not in {"self", "api_key", "signing_key"}:
                assert f"--{argument.replace('_', '-')}" in ended.out


@pytest.mark.parametrize("group", ["sandbox", "journal", "profiles", "sequences"])
def test_a_group_lists_its_commands(wb, group):
    """A group without a command says what there is, and that something is missing."""
    ended = wb(group)

    assert ended.code == 2
    assert f"  {group} " in ended.out
    assert wb(group, "--help").code == 0


@pytest.mark.parametrize(
    "tokens, said",
    [
        (["simulate_refnd"], "Did you mean simulate_refund"),
        (["sandbox", "setle"], "Did you mean settle"),
        (["nonsense"], "workbench --help lists all"),
        (["list_contracts", "--shoe"], "--shoe"),
        (["simulate_refund", "a", "b", "c"], "says what it takes"),
        (["\x1b]52;c;aGk=\x07"], "\\x1b"),
    ],
    ids=["operation", "control", "nothing near", "option", "too many", "hostile"],
)
def test_a_slip_is_named(wb, tokens, said):
    """A wrong word ends with 2, says what was meant, and shows no control character."""
    ended = wb(*tokens)

    assert ended.code == 2
    assert ended.out == ""
    assert said in ended.err
    assert "\x1b" not in ended.err


def test_version(wb):
    """The version is the distribution's."""
    from importlib.metadata import version

    assert wb("--version").out.strip() == version("card-issuing-workbench")


@pytest.mark.parametrize("name", OPERATIONS)
def test_docs_tell_the_rules(wb, name):
    """`docs` has each member, the failures, the source and the marks of an operation."""
    row = OPERATIONS[name]
    ended = wb("docs", name)

    assert ended.code == 0
    assert row.source in ended.out
    assert all(failure.when in ended.out for failure in row.failures)
    assert all(role in ended.out for role in row.roles)


def test_docs_of_an_unknown_operation(wb):
    """A name that is none ends with 2."""
    assert wb("docs", "buy_house").code == 2
