"""Commands for assumptions, the installation check, completion, sequences and controls."""

import json
import shlex
import subprocess
import sys

import pytest

from tests.terminal.conftest import ROOT
from workbench.service.interface.assumptions import assumptions
from workbench.service.interface.vocabulary import DeclineReason
from workbench.terminal.application import completion_script


def test_every_assumption_is_listed(wb):
    """`docs assumptions` lists all assumptions and can filter them."""
    rows = json.loads(wb("docs", "assumptions", "-o", "json").out)

    assert [row["id"] for row in rows] == [one.id for one in assumptions()]
    assert all(row["reason"] and row["change"] for row in rows)
    some = json.loads(wb("docs", "assumptions", "decline", "--confidence", "widely seen", "-o", "json").out)
    assert some
    assert {row["confidence"] for row in some} == {"widely seen"}
    assert wb("docs", "assumptions", "--confidence", "by heart").code == 2


def test_doctor(wb, own_state):
    """`profiles check` lists the installed parts and the state folder, and changes nothing."""
    ended = wb("profiles", "check")

    assert str(own_state) in ended.out
    assert "extra tables" in ended.out
    assert list(own_state.iterdir()) == []


def test_doctor_names_a_damaged_sandbox(wb, own_state):
    """An unusable sandbox file is named and left unchanged."""
    (own_state / "sandbox.db").write_bytes(b"not a database" * 100)
    ended = wb("profiles", "check")

    assert ended.code == 5
    assert "sandbox.db" in ended.out
    assert wb("contracts", "list").code == 6
    assert (own_state / "sandbox.db").read_bytes().startswith(b"not a database")


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory):
    """The completion script for bash, in a file."""
    path = tmp_path_factory.mktemp("completion") / "workbench"
    path.write_text(completion_script("bash"))
    return path


def completed(script, *words: str) -> set[str]:
    """Return the completions that bash offers for the last word."""
    asked = (
        f'workbench() {{ {sys.executable} -m workbench "$@"; }}; source {script}\n'
        f"COMP_WORDS=(workbench {' '.join(shlex.quote(word) for word in words)}); COMP_CWORD={len(words)}; _workbench\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", asked], check=True, capture_output=True, text=True, cwd=ROOT)
    return {word.strip() for word in done.stdout.splitlines()} - {""}


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, expected",
    [
        pytest.param(["transactions", "a"], {"authorize"}, marks=pytest.mark.soak),
        (["sandbox", "set"], {"settle"}),
        pytest.param(["transactions", "authorize", "--dec"], {"--decline-reason"}, marks=pytest.mark.soak),
        (["transactions", "authorize", "--decline-reason", ""], set(DeclineReason)),
        pytest.param(["withdrawals", "sign", "--is-amount-native", ""], {"false", "true"}, marks=pytest.mark.soak),
        pytest.param(["contracts", "list", "--output", ""], {"csv", "json", "ndjson", "table"}, marks=pytest.mark.soak),
        (["docs", "update-u"], {"update-ubo", "update-user"}),
        (["transactions", "authorize", "--card-id", ""], set()),
    ],
    ids=["command", "control", "option", "choices", "true or false", "format", "operation", "no sandbox"],
)
def test_completion_in_bash(bash_script, words, expected):
    """Commands, options and choices are completed.

    Without a stored sandbox no ids are offered, and no sandbox is created.
    """
    assert completed(bash_script, *words) == expected


def test_sequences(wb, tmp_path):
    """Sequences are listed, shown as files, checked and run."""
    names = [row["name"] for row in json.loads(wb("sequences", "list", "-o", "json").out)]
    assert "refund-full" in names
    text = wb("sequences", "show", "refund-full").out
    (tmp_path / "mine.toml").write_text(text)

    assert wb("sequences", "check", str(tmp_path / "mine.toml")).code == 0
    ended = wb("sequences", "run", str(tmp_path / "mine.toml"), "--fresh", "-o", "json")
    assert ended.code == 0
    assert "all as expected" in ended.err
    assert [row["outcome"] for row in json.loads(ended.out)] == ["done"] * 3


def test_a_wrong_sequence_file(wb, tmp_path):
    """A wrong file ends with 2, and an unknown name gets the nearest known name."""
    (tmp_path / "bad.toml").write_text('[[step]]\nname = "x"\ndo = "buy_house"\n')

    assert wb("sequences", "check", str(tmp_path / "bad.toml")).code == 2
    assert wb("sequences", "run", str(tmp_path / "bad.toml")).code == 2
    assert wb("sequences", "run", "refund-ful").code == 2
    assert "did you mean refund-full" in wb("sequences", "run", "refund-ful").err


def test_a_balance_reads_as_money(wb):
    """A balance is shown as dollars to people and as cents to programs."""
    card = json.loads(wb("sandbox", "guide", "-o", "json").out)["cards"]["active"][0]

    assert "25,000.00 USD" in wb("sandbox", "balance", card).out
    assert json.loads(wb("sandbox", "balance", card, "-o", "json").out)["limit"] == 2_500_000


@pytest.mark.parametrize(
    "tokens",
    [["sandbox", "settle"], ["sandbox", "advance", "x"], ["sandbox", "pending_first", "--times", "1.5"],
     ["sandbox", "execute", "[]"], ["sandbox", "update-endpoint", "x", "--enabled", "perhaps"]],
    ids=["missing", "no number", "no whole number", "no object", "no flag"],
)  # fmt: skip
def test_a_control_with_wrong_arguments(wb, tokens):
    """A control with invalid arguments ends with 2."""
    assert wb(*tokens).code == 2


def test_a_control_that_is_refused(wb):
    """A control that the record's state does not allow ends with 3."""
    assert wb("sandbox", "settle", "3f2a0b1c-0000-4000-8000-000000000000").code == 3


def test_keys_of_controls_come_from_the_environment(wb, monkeypatch):
    """A signing key is read from its environment variable and has no option."""
    assert "signing-key" not in wb("sandbox", "register-endpoint", "--help").out
    monkeypatch.setenv("WORKBENCH_WEBHOOK_KEY", "canary-of-a-key")
    ended = wb("sandbox", "register-endpoint", "http://127.0.0.1:9/hooks", "--fresh")

    assert ended.code == 0
    assert "canary" not in ended.out + ended.err
