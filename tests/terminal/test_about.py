"""What the terminal tells of itself, completion, and sequences."""

import json
import subprocess

import pytest

from workbench.interface.assumptions import assumptions
from workbench.interface.rules import DeclineReason
from workbench.interface.table import OPERATIONS


def completed(wb, *words: str) -> list[str]:
    return wb("__complete", *words).out.splitlines()


def test_every_guess_is_listed(wb):
    """`assumptions` gives them all, and can be narrowed."""
    rows = json.loads(wb("assumptions", "-o", "json").out)

    assert [row["id"] for row in rows] == [one.id for one in assumptions()]
    assert all(row["reason"] and row["change"] for row in rows)
    some = json.loads(wb("assumptions", "decline", "--known", "widely seen", "-o", "json").out)
    assert some
    assert {row["confidence"] for row in some} == {"widely seen"}
    assert wb("assumptions", "--known", "by heart").code == 2


def test_doctor(wb, own_state):
    """`doctor` names what is there and where the state is, and changes nothing."""
    ended = wb("doctor")

    assert str(own_state) in ended.out
    assert "httpx" in ended.out
    assert list(own_state.iterdir()) == []


def test_doctor_names_a_damaged_sandbox(wb, own_state):
    """A sandbox file that cannot be used is named, and left as it is."""
    (own_state / "sandbox.db").write_bytes(b"not a database" * 100)
    ended = wb("doctor")

    assert ended.code == 5
    assert "sandbox.db" in ended.out
    assert wb("list_contracts").code == 6
    assert (own_state / "sandbox.db").read_bytes().startswith(b"not a database")


def test_operations_options_and_choices_complete(wb):
    """Commands, options and choices are completed."""
    assert set(OPERATIONS) <= set(completed(wb, ""))
    assert completed(wb, "simulate_a") == ["simulate_authorization"]
    assert "settle" in completed(wb, "sandbox", "se")
    assert completed(wb, "simulate_authorization", "--dec") == ["--decline-reason"]
    assert completed(wb, "simulate_authorization", "--decline-reason", "") == sorted(DeclineReason)
    assert completed(wb, "sign_withdrawal", "--is-amount-native", "") == ["false", "true"]
    assert completed(wb, "list_contracts", "--output", "") == ["csv", "json", "ndjson", "python", "table"]
    assert completed(wb, "docs", "update_u") == ["update_ubo", "update_user"]


def test_ids_complete_where_there_is_a_sandbox(wb):
    """Ids come from the sandbox of this user; without one there are none, and none is made."""
    assert completed(wb, "simulate_authorization", "--card-id", "") == []
    guide = json.loads(wb("sandbox", "guide", "-o", "json").out)
    cards = [card for held in guide["cards"].values() for card in held]

    assert completed(wb, "simulate_authorization", "--card-id", "") == sorted(cards)
    assert set(completed(wb, "update_dispute", "")) >= set(guide["disputes"]["pending"])
    wb("simulate_authorization", "--card-id", guide["cards"]["active"][0], "--amount", "1", "--currency", "USD",
       "--merchant-name", "x", "--merchant-category-code", "5411")  # fmt: skip
    (made,) = [one for one in completed(wb, "sandbox", "settle", "") if not one.startswith("-")]
    assert wb("sandbox", "settle", made).code == 0


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_scripts(wb, shell, tmp_path):
    """The script of a shell is printed, and bash can read it."""
    script = wb("completion", shell).out

    assert "workbench __complete" in script
    if shell == "bash":
        (tmp_path / "script").write_text(script)
        subprocess.run(["bash", "-n", str(tmp_path / "script")], check=True)


def test_completion_in_bash(wb, tmp_path):
    """In bash, a tab completes an operation."""
    import sys
    from pathlib import Path

    program = Path(sys.executable).parent / "workbench"
    if not program.exists():
        pytest.skip("the command is not installed here")
    asked = (
        f"PATH={program.parent}:$PATH; {wb('completion', 'bash').out}\n"
        "COMP_WORDS=(workbench simulate_ref); COMP_CWORD=1; _workbench; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(["bash", "-c", asked], check=True, capture_output=True, text=True)

    assert done.stdout.strip() == "simulate_refund"


def test_sequences(wb, tmp_path):
    """Sequences are listed, shown as files, checked and run; what goes otherwise ends with 5."""
    names = [row["name"] for row in json.loads(wb("sequences", "list", "-o", "json").out)]
    assert "refund-full" in names
    text = wb("sequences", "show", "refund-full").out
    (tmp_path / "mine.toml").write_text(text)

    assert wb("sequences", "check", str(tmp_path / "mine.toml")).code == 0
    ended = wb("run", str(tmp_path / "mine.toml"), "--fresh", "-o", "json")
    assert ended.code == 0
    assert "all as expected" in ended.err
    assert [row["end"] for row in json.loads(ended.out)] == ["done"] * 3


def test_a_wrong_sequence_file(wb, tmp_path):
    """Every problem of a file is told, and nothing is run."""
    (tmp_path / "bad.toml").write_text('[[step]]\nname = "x"\ndo = "buy_house"\n')

    assert wb("sequences", "check", str(tmp_path / "bad.toml")).code == 2
    assert wb("run", str(tmp_path / "bad.toml")).code == 2
    assert wb("run", "refund-ful").code == 2
    assert "Did you mean" in wb("run", "refund-ful").err


def test_a_balance_reads_as_money(wb):
    """A balance is money for people and cents for programs."""
    card = json.loads(wb("sandbox", "guide", "-o", "json").out)["cards"]["active"][0]

    assert "25,000.00 USD" in wb("sandbox", "balance", card).out
    assert json.loads(wb("sandbox", "balance", card, "-o", "json").out)["limit"] == 2_500_000


@pytest.mark.parametrize(
    "tokens",
    [["sandbox", "settle"], ["sandbox", "advance", "--days", "x"], ["sandbox", "pending_first", "--times", "1.5"],
     ["sandbox", "execute", "[]"], ["sandbox", "enable_endpoint", "x", "--enabled", "perhaps"]],
    ids=["missing", "no number", "no whole number", "no object", "no flag"],
)  # fmt: skip
def test_a_control_with_wrong_arguments(wb, tokens):
    """A control's arguments are exact; a slip ends with 2."""
    assert wb(*tokens).code == 2


def test_a_control_that_is_refused(wb):
    """A control that the state does not allow ends with 3."""
    assert wb("sandbox", "settle", "3f2a0b1c-0000-4000-8000-000000000000").code == 3


def test_keys_of_controls_come_from_the_environment(wb, monkeypatch):
    """A signing key is taken from its variable, and there is no option for it."""
    assert "signing-key" not in wb("sandbox", "register_endpoint", "--help").out
    monkeypatch.setenv("WORKBENCH_WEBHOOK_KEY", "canary-of-a-key")
    ended = wb("sandbox", "register_endpoint", "http://127.0.0.1:9/hooks", "--fresh")

    assert ended.code == 0
    assert "canary" not in ended.out + ended.err


def test_demo(wb, tmp_path):
    """`workbench demo` tells the tour and names its picture."""
    ended = wb("demo", "--out", str(tmp_path))

    assert ended.code == 0
    assert str(tmp_path / "rewards.png") in ended.out
    assert wb("demo", "--bodies", str(tmp_path / "nowhere")).code == 2
