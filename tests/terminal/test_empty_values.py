"""Command lines with an empty shell variable, or with the usual names of other tools."""

import re
from collections.abc import Iterator

import pytest
from cyclopts import CycloptsError

from tests.terminal.test_everywhere import APP, COMMANDS
from workbench.terminal.application import make_app

Option = tuple[str, bool]


def options(path: tuple[str, ...]) -> list[Option]:
    """Return the long options of a command, and whether each takes a value."""
    app = APP
    for name in path:
        app = app[name]
    arguments = [argument for argument in app.assemble_argument_collection() if argument.show and not argument.children]
    names = [([name for name in argument.names if name.startswith("--")], argument) for argument in arguments]
    return [
        (listed[0], argument.token_count()[0] > 0 and not argument.negatives and "bool" not in str(argument.hint))
        for listed, argument in names
        if listed
    ]


def pairs(path: tuple[str, ...], every: int = 1) -> Iterator[tuple[str, str]]:
    """Yield each option with a value, paired with each other option after it."""
    listed = options(path)
    number = 0
    for first, takes in listed:
        for second, _ in listed:
            number += 1
            if takes and first != second and number % every == 0:
                yield first, second


def check(path: tuple[str, ...], every: int) -> int:
    """Parse each pair: the first option lacks its value, and nothing is run. Return the number of pairs."""
    app, count = make_app(path[0]), 0
    for first, second in pairs(path, every):
        with pytest.raises(CycloptsError) as caught:
            app.parse_args([*path, first, second, *(["x"] * 4)], print_error=False, exit_on_error=False)
        assert re.search(rf"{first}\b", str(caught.value)), (path, first, second, str(caught.value))
        count += 1
    return count


@pytest.mark.parametrize(
    "every, least",
    [
        pytest.param(80, 100, marks=pytest.mark.slow),
        pytest.param(1, 10_000, marks=[pytest.mark.soak, pytest.mark.timeout(900)]),
    ],
)
def test_no_option_of_any_command_takes_another_for_its_value(every: int, least: int) -> None:
    """An option with an empty variable, before any other option, causes an error that names it."""
    assert sum(check(path, every) for path in COMMANDS) > least


@pytest.mark.parametrize(
    "line",
    [
        "users update {user} --first-name --dry-run",
        "users update {user} --first-name --live",
        "sandbox add-fault status --of --times 1",
        "sandbox snapshot --fresh",
        "journal list --text --fresh",
    ],
)
def test_nothing_is_sent_for_an_empty_variable(wb, line: str) -> None:
    user = wb("sandbox", "guide", "-o", "json", "--fields", "users.approved").out.split('"')[3]
    before = wb("sandbox", "requests", "-o", "ndjson").out.count("\n")
    ended = wb(*line.format(user=user).split())

    assert (ended.code, ended.out) == (2, "")
    assert wb("sandbox", "requests", "-o", "ndjson").out.count("\n") == before
    option = re.search(r"(--[a-z-]+) (--[a-z-]+)", line)
    if option:
        assert f"Write {option[1]}={option[2]} if that is its value." in ended.err


def test_a_value_that_looks_like_an_option_is_written_with_a_sign(wb) -> None:
    """`--first-name=--dry-run` sends the text after the equals sign as a name."""
    shown = wb(
        "users", "update", "9b26cf74-10af-42ce-bea3-5d52ed4a93c6", "--first-name=--dry-run", "--dry-run", "--reveal"
    )

    assert (shown.code, '"firstName":"--dry-run"' in shown.out) == (0, True)


@pytest.mark.parametrize(
    "line, shown",
    [
        ("events list -n 1", ""),
        ("contracts list --format json", '"proxyAddress"'),
        ("-V", "0."),
        ("docs refund", "simulate_refund"),
        ("docs transactions refund", "simulate_refund"),
        ("docs simulateRefund", "simulate_refund"),
        ("docs skeleton simulate_refund", "amount"),
        ("journal list --operation transactions-refund", ""),
    ],
)
def test_usual_names_of_other_tools_work(wb, line: str, shown: str) -> None:
    ended = wb(*line.split())

    assert (ended.code, ended.err.startswith("Unknown")) == (0, False), ended.err
    assert shown in ended.out


@pytest.mark.parametrize(
    "line, named",
    [
        ("simulate-refund x", "workbench transactions refund"),
        ("refund x", "workbench transactions refund"),
        ("list-contracts", "workbench contracts list"),
        ("events --kind user.updated", "workbench events --help"),
    ],
)
def test_usual_names_of_other_tools_lead_to_the_command(wb, line: str, named: str) -> None:
    ended = wb(*line.split())

    assert ended.code == 2
    assert named in ended.err


def test_what_is_armed_is_named_before_the_question(wb, own_state) -> None:
    """A message names the host, the operations and the duration."""
    text = '[profiles.acme]\nbase_url = "https://api.example.com/v1"\nenvironment = "production"\n'
    (own_state / "profiles.toml").write_text(text)
    ended = wb("profiles", "arm", "update_user", "--profile", "acme", "--reason", "x")

    assert "PRODUCTION, api.example.com: update_user for 10 minutes." in ended.err


def test_the_variable_of_an_unknown_profile_is_named(wb, monkeypatch) -> None:
    monkeypatch.setenv("WORKBENCH_PROFILE", "nope")
    ended = wb("contracts", "list")

    assert ended.code == 2
    assert "WORKBENCH_PROFILE: no profile 'nope'" in ended.err
    assert "✗ WORKBENCH_PROFILE names the profile 'nope'" in wb("profiles", "check").out


def test_what_is_not_there_is_not_ticked(wb, monkeypatch) -> None:
    """A library that is not installed is marked neither right nor wrong."""
    monkeypatch.setattr("workbench.terminal.about.find_spec", lambda name: None)
    ended = wb("profiles", "check")

    assert ended.code == 0
    assert all(f"– extra {name} is not installed" in ended.out for name in ("tables", "server", "lab"))
    assert "– no profiles yet" in ended.out
