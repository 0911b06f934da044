"""A withdrawal at the prompt, from file to file: plan, signature, verification, message, transaction and execution."""

import json
from pathlib import Path

import pytest

TO = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


@pytest.fixture
def files(wb, tmp_path):
    """Files of a planned and signed withdrawal, with the admin's signature."""
    contract = json.loads(wb("contracts", "list", "-o", "json").out)[0]

    def run(name, *tokens):
        ended = wb(*tokens)
        assert ended.code == 0, ended.err
        (tmp_path / name).write_text(ended.out)
        return str(tmp_path / name)

    admin, token = contract["adminAddresses"][0], contract["tokens"][0]["address"]
    plan = run("plan.json", "withdrawals", "plan", "--contract", contract["id"], "--token", token, "--admin", admin,
               "--to", TO, "--amount", "25.00", "-o", "json")  # fmt: skip
    signed = run("signed.json", "withdrawals", "sign", "--from", plan, "--reveal", "-o", "json")
    message = run("message.json", "withdrawals", "typed-data", plan, signed)
    half = run("half.json", "sandbox", "wallet-sign", admin, f"@{message}", "--reveal", "-o", "json")
    return plan, signed, message, half


def transaction(wb, files, *options):
    plan, signed, message, half = files
    return wb("withdrawals", "transaction", plan, signed, "--message", message, "--signature", half, *options)


def test_a_withdrawal_from_plan_to_execution(wb, files, tmp_path):
    """Each command reads the files of earlier commands, and the sandbox executes the result once."""
    plan, signed, *_ = files
    built = transaction(wb, files, "--no-direct-transfer", "--reveal")
    sent = tmp_path / "transaction.json"
    sent.write_text(built.out)

    assert wb("withdrawals", "verify", plan, signed).code == 0
    explained = wb("withdrawals", "explain", str(sent), "--plan", plan, "--signed", signed)
    assert "matches this withdrawal" in explained.out
    assert json.loads(wb("sandbox", "execute", f"@{sent}", "-o", "json", "--fields", "balance").out) == {
        "balance": "24975.50"
    }
    again = wb("sandbox", "execute", f"@{sent}")
    assert (again.code, "used up" in " ".join(again.err.split())) == (3, True)


def test_the_transaction_is_masked(wb, files):
    """Without --reveal the signatures are masked, and the message names the option."""
    half = json.loads(Path(files[3]).read_text())["signature"]
    shown = transaction(wb, files, "--direct-transfer")

    assert half[2:40] not in shown.out
    assert "--reveal prints it for a wallet." in shown.out


def test_what_version_2_needs_is_asked_for(wb, files):
    """A version 2 contract requires --direct-transfer or --no-direct-transfer."""
    ended = transaction(wb, files)

    assert (ended.code, ended.out) == (2, "")
    assert "--no-direct-transfer is required" in ended.err


def test_another_signer_is_refused(wb, files):
    """A signature by another signer ends with 3."""
    ended = wb("withdrawals", "verify", *files[:2], "--signer", TO)

    assert ended.code == 3
    assert "does not match this withdrawal" in ended.err


def test_a_changed_plan_is_noticed(wb, files, tmp_path):
    """An answer to another plan is withheld."""
    other = tmp_path / "other.json"
    other.write_text(json.dumps(json.loads(Path(files[0]).read_text()) | {"amount": "2600"}))
    ended = wb("withdrawals", "verify", str(other), files[1])

    assert ended.code == 2
    assert "25,000,000" in ended.err


def test_an_amount_in_one_unit(wb):
    """An amount is required in exactly one unit: dollars or native units."""
    terms = ("--contract", "a", "--token", TO, "--admin", TO, "--to", TO)

    assert wb("withdrawals", "plan", *terms).code == 2
    assert wb("withdrawals", "plan", *terms, "--amount", "1.00", "--native-units", "5").code == 2
