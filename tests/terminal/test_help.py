"""Help is fast, complete, and generated from the declarations."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.each import across, some
from workbench.base.schema.walk import Choice, camel, leaves
from workbench.sandbox.controls import CONTROLS
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.naming import command_of
from workbench.service.interface.table import OPERATIONS
from workbench.terminal import commands
from workbench.terminal.application import make_app
from workbench.terminal.operations import option_members
from workbench.terminal.sandbox import NOT_COMMANDS

ROOT = Path(__file__).parents[2]


def test_help_imports_no_command():
    """The first page of help imports no command, and neither the client, the sandbox, IPython nor pandas."""
    script = (
        "import sys; from workbench.terminal import main; main(['--help']); names = set(sys.modules);"
        "print('loaded:', *({'httpx','cattrs','cyclopts','rich','IPython','pandas','workbench.sandbox','workbench.terminal.operations'} & names),"
        "file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)

    assert done.stderr.strip() == "loaded:"


@pytest.mark.slow
def test_what_a_pipe_holds_back_is_written(piped):
    """The process ends immediately, but only after its output has been written."""
    assert piped("--help", PYTHONUNBUFFERED="").stdout.startswith(b"Usage: workbench COMMAND")
    assert piped("docs", "skeleton", "update-user", PYTHONUNBUFFERED="").stdout.startswith(b"{")


def test_help_lists_every_command(wb):
    """Each command has a line, with its name in kebab-case."""
    out = wb("--help").out

    assert [name for name in make_app() if not name.startswith("-") and not re.search(rf"[\s`]{name}\b", out)] == []
    assert wb().out == wb("-q").out == wb("-h").out == wb("help").out == out


@pytest.mark.slow
def test_each_operation_has_a_noun_and_a_verb(wb):
    """An operation's command has a noun and a verb and no other name. At most 18 commands are at the top level."""
    assert sorted(commands.OPERATIONS.values()) == sorted(OPERATIONS)
    for noun, verb in commands.OPERATIONS:
        assert wb(noun, verb, "--help").code == 0
    assert wb("list-contracts").code == wb("simulate_refund").code == 2
    assert len([name for name in make_app() if not name.startswith("-")]) <= 18


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_has_an_option_for_each_argument(wb, name):
    """Each argument has an option that shows its rule and marks assumptions."""
    ended = wb(*command_of(OPERATIONS[name]), "--help")

    assert ended.code == 0
    words = "".join(ended.out.split())  # the help text wraps long names and texts
    for path, member in option_members(OPERATIONS[name].request):
        assert path.replace("_", "-") in ended.out  # in one line, so that it can be searched and copied
        assert "".join(member.about.doc.split()[:2]) in words
        if member.about.assumed:
            assert "[assumed]:" in words


@pytest.mark.slow
@pytest.mark.parametrize("words, unbuffered", across(["--help", "users --help", "sandbox guide --fresh"], ["", "1"]))
def test_a_reader_that_has_gone_is_not_an_error(words, unbuffered):
    """With a closed pipe as output, help and results end without an error message."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "workbench", *words.split()],
        stdout=write, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    os.close(write)

    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(3, [name for name in CONTROLS if name not in NOT_COMMANDS]))
def test_a_control_has_an_option_for_each_argument(wb, name):
    """Each control is a command that describes its arguments. Keys come from the environment."""
    ended = wb("sandbox", name.replace("_", "-"), "--help")

    assert ended.code == 0
    for argument in CONTROLS[name].signature.parameters:
        if argument not in {"self", "signing_key"}:
            assert f"--{argument.replace('_', '-')}" in ended.out
        else:
            assert f"--{argument.replace('_', '-')}" not in ended.out


@pytest.mark.slow
@pytest.mark.parametrize("command", [*make_app()], ids=str)
def test_every_option_says_what_it_is(command):
    """Each parameter of a command has a help text."""
    app = make_app()[command] if not command.startswith("-") else None
    apps = [] if app is None else [app, *(app[name] for name in app if not name.startswith("-"))]

    for one in apps:
        if one.default_command is not None:
            lacking = [argument.name for argument in one.assemble_argument_collection(parse_docstring=True)
                       if argument.show and not argument.children and not argument.parameter.help]  # fmt: skip
            assert lacking == []


@pytest.mark.parametrize("group", ["sandbox", "journal", "profiles", "sequences", "bulk"])
def test_a_group_lists_its_commands(wb, group):
    """A noun without a verb lists its commands and ends with 2."""
    ended = wb(group)

    assert ended.code == 2
    assert f"workbench {group} COMMAND" in ended.out
    assert wb(group, "--help").code == 0


def test_the_page_lists_each_command():
    """docs/terminal.md has a row for each noun, with its verbs."""
    page = (ROOT / "docs/terminal.md").read_text(encoding="utf-8")
    rows = {row[1]: re.findall(r"`([\w-]+)`", row[2].partition(", and the other")[0]) for row in
            re.finditer(r"^\| `([\w-]+)` \| (.*) \|$", page, re.MULTILINE)}  # fmt: skip

    assert {noun: {verb for verb in verbs if verb} for noun, verbs in commands.COMMANDS.items()} == {
        noun: set(verbs) for noun, verbs in rows.items() if noun in commands.COMMANDS
    }


@pytest.mark.parametrize("group", commands.COMMANDS)
def test_a_group_says_what_each_command_does(wb, group):
    """The list of a noun's commands has a help line for each verb."""
    out = wb(group, "--help").out
    verbs = [name for name in make_app(group)[group] if not name.startswith("-")]

    assert [verb for verb in verbs if not re.search(rf"^ +{verb} +\S|^ *{verb}\n +\S", out, re.MULTILINE)] == []


@pytest.mark.parametrize(
    "tokens, message",
    [
        (["transactions", "refnd"], 'Did you mean "refund"'),
        (["sandbox", "setle"], 'Did you mean "settle"'),
        (["nonsense"], "workbench --help"),
        (["contracts", "list", "--shoe"], "--shoe"),
        (["transactions", "refund", "a", "b", "c"], "workbench transactions refund --help"),
        (["\x1b]52;c;aGk=\x07"], "\\x1b"),
    ],
    ids=["operation", "control", "nothing near", "option", "too many", "hostile"],
)
def test_a_wrong_word_is_named(wb, tokens, message):
    """An unknown word ends with 2. The error suggests the nearest name and escapes control characters."""
    ended = wb(*tokens)

    assert ended.code == 2
    assert ended.out == ""
    assert message in ended.err
    assert "\x1b" not in ended.err


def test_version(wb):
    """The version is the version of the installed distribution."""
    from importlib.metadata import version

    assert wb("--version").out.strip() == version("card-issuing-workbench")


@pytest.mark.parametrize("name", OPERATIONS)
def test_docs_have_the_rules(wb, name):
    """`docs` shows an operation's errors, source and roles."""
    row = OPERATIONS[name]
    ended = wb("docs", name)

    assert ended.code == 0
    assert row.source in ended.out
    assert all(failure.when in " ".join(ended.out.split()) for failure in row.failures)
    assert all(role in ended.out for role in row.roles)


def test_docs_of_an_unknown_operation(wb):
    """An unknown name ends with 2."""
    assert wb("docs", "buy_house").code == 2


@pytest.mark.parametrize("name", EVENT_KINDS)
def test_docs_of_an_event(wb, name):
    """`docs` shows an event's order, its members, and the meaning of each value of a member."""
    kind = EVENT_KINDS[name]
    out = " ".join(wb("docs", name).out.split())

    assert all(re.search(rf"[ .]{member.wire} ", out) for _, member in leaves(kind.body))
    assert all(word in out and meaning in out for words in kind.words.values() for word, meaning in words.items())
    assert all(meaning for words in kind.words.values() for meaning in words.values())
    for path, member in leaves(kind.body):
        if isinstance(member.kind, Choice):
            assert set(member.kind.of) == set(kind.words[camel(path)])


@pytest.mark.slow
def test_an_operation_on_the_sandbox_loads_no_network():
    """A call on the embedded sandbox imports no HTTP library, TLS, event loop, package metadata or help formatter."""
    script = (
        "import sys; from workbench.terminal import main; main(['contracts', 'list', '--fresh', '-o', 'ndjson']);"
        "main(['events', 'list', '--fresh', '-o', 'ndjson']);"
        "rest = {'httpx','httpcore','ssl','asyncio','IPython','pandas','rich','importlib.metadata'};"
        "print('loaded:', *(rest & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)

    assert done.stderr.strip() == "loaded:"
