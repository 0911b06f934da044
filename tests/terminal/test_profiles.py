"""Profiles, production and arming at the prompt."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pexpect
import pytest

from tests.terminal.conftest import ROOT
from workbench.base.system import http_server
from workbench.base.system.messages import Request, Response
from workbench.sandbox import Sandbox

PROFILES = """
[profiles.test]
base_url = "https://test.example.com/v1"

[profiles.live]
base_url = "https://api.example.com/v1"
environment = "production"
limits = { amount = 5_000 }

[profiles.here]
base_url = "http://127.0.0.1:9/v1"
environment = "production"

[profiles.own.sandbox]
over_limit = "account_credit_limit_exceeded"
"""
NOBODY = "3f2a0b1c-0000-4000-8000-000000000000"


@pytest.fixture(autouse=True)
def profiles(own_state, monkeypatch):
    path = own_state / "profiles.toml"
    path.write_text(PROFILES)
    path.chmod(0o600)
    monkeypatch.setenv("WORKBENCH_API_KEY", "canary-of-a-key")
    return path


def test_profiles_are_listed_without_keys(wb):
    """The list shows each profile and its base URL, but no key."""
    listed = wb("profiles", "list")

    assert listed.code == 0
    assert [name in listed.out for name in ("test", "live", "own")] == [True, True, True]
    assert "canary" not in listed.out
    assert "https://test.example.com/v1" in [
        row["base_url"] for row in json.loads(wb("profiles", "list", "-o", "json").out)
    ]


def test_profiles_are_checked(wb, profiles):
    """A mistake in a profiles file is reported with exit code 5, and a key in the file is not shown."""
    profiles.chmod(0o600)
    assert wb("profiles", "check").code == 0
    profiles.write_text(PROFILES + '\n[profiles.bad]\nbase_url = "ftp://x"\napi_key = "canary-in-a-file"\n')
    ended = wb("profiles", "check")

    assert ended.code == 5
    assert "✗ profile bad" in ended.out
    assert "keys are never read from a file" in ended.out
    assert "canary" not in ended.out + ended.err


def answer_with(status: int) -> Callable[[Request], Response]:
    return lambda request: http_server.bare(status, "")


@pytest.mark.parametrize(
    "scheme, status, code, words",
    [
        ("http", None, 6, "refused"),
        ("https", 200, 6, "SSL"),
        ("http", 401, 3, "401"),
        ("http", 404, 3, "404"),
    ],
    ids=["refused port", "broken TLS", "wrong key", "wrong path"],
)
@pytest.mark.usefixtures("short_pauses")
def test_a_profile_that_does_not_work_is_reported(wb, profiles, scheme, status, code, words):
    """A failed check of a service reports the reason and does not end with 0."""
    with http_server.running(answer_with(status or 200)) as url:
        where = url.replace("http:", f"{scheme}:") if status else "http://127.0.0.1:9"
        profiles.write_text(f'[profiles.here]\nbase_url = "{where}/v1"\n')
        ended = wb("profiles", "check", "here")

    assert ended.code == code
    assert words in ended.err
    assert "canary" not in ended.err


def test_the_check_of_a_profile_reports_as_learn_does(wb, profiles, tmp_path, monkeypatch):
    """The check sends only reads. The behavior file contains what they show, and a difference ends with 5."""
    sandbox = Sandbox(behavior={"rate_limit": 600})
    monkeypatch.setenv("WORKBENCH_API_KEY", sandbox.full_key)
    with sandbox.serve() as url:
        user = sandbox.guide()["rewards_users"][0]["id"]
        profiles.write_text(f'[profiles.here]\nbase_url = "{url}"\n')
        ended = wb("profiles", "check", "here", "--user-id", user, "--out", str(tmp_path / "acme.toml"), "-o", "json")
    rows = {row["id"]: row for row in json.loads(ended.out)}

    assert ended.code == 5
    assert (rows["rate_limit"]["status"], rows["rate_limit"]["value"]) == ("refuted", 600)
    assert rows["rewards_order"]["status"] == "confirmed"
    assert "rate_limit = 600" in (tmp_path / "acme.toml").read_text()
    assert {row.method for row in sandbox.requests()} == {"GET"}


def test_an_unknown_profile(wb):
    """An unknown profile ends with 2, and the error lists the existing profiles."""
    ended = wb("contracts", "list", "--profile", "nowhere")

    assert ended.code == 2
    assert "live" in ended.err


def test_a_profile_may_be_a_sandbox_of_its_own(wb):
    """A profile without a service uses an embedded sandbox with the profile's settings."""
    assert wb("contracts", "list", "--profile", "own", "--fields", "id").code == 0


def test_production_needs_to_be_said(wb):
    """Without --live, a command with a production profile is refused."""
    ended = wb("contracts", "list", "--profile", "live")

    assert ended.code == 2
    assert "--live" in ended.err


def test_simulations_are_refused_in_production(wb):
    """A simulation is not sent to production."""
    ended = wb("transactions", "refund", NOBODY, "--amount", "FULL", "--profile", "live", "--live")

    assert ended.code == 6
    assert "exists only in sandboxes" in ended.err


def test_effects_need_arming(wb):
    """A call with an effect in production is refused until `workbench profiles arm` allows it."""
    ended = wb("users", "update", NOBODY, "--first-name", "Ada", "--profile", "live", "--live")

    assert ended.code == 6
    assert "arm" in ended.err


@pytest.mark.parametrize(
    "tokens",
    [["payment-accounts", "delete", NOBODY], ["disputes", "update", NOBODY, "--status", "canceled"],
     ["profiles", "arm", "update_user", "--reason", "x"]],
    ids=["delete", "cancel", "arm"],
)  # fmt: skip
def test_a_typed_word_needs_a_terminal(wb, tokens):
    """A script cannot confirm a command that requires typed text."""
    live = [] if tokens[0] == "profiles" else ["--live"]
    ended = wb(*tokens, "--profile", "live", *live)

    assert ended.code == 2
    assert "needs a terminal" in ended.err


def spawn(*tokens: str) -> pexpect.spawn:
    return pexpect.spawn(sys.executable, ["-m", "workbench", *tokens], cwd=ROOT, timeout=60, encoding="utf-8")


def test_arming_asks_for_a_word_and_lasts(wb, own_state):
    """At a terminal, typing the host arms only the named operations for some minutes, recorded in the user's file."""
    child = spawn("profiles", "arm", "update_user", "--profile", "live", "--reason", "ticket 7", "--minutes", "5")
    child.expect_exact("Type api.example.com to allow it: ")
    child.sendline("api.example.com")
    child.expect_exact("Armed until")
    child.expect(pexpect.EOF)
    child.close()

    assert child.exitstatus == 0
    (armed,) = own_state.glob("armed-*.json")
    assert armed.stat().st_mode & 0o777 == 0o600
    other = wb("disputes", "update", NOBODY, "--text-evidence", "x", "--profile", "live", "--live")
    assert other.code == 6
    assert "Armed now" in other.err


def armed(own_state) -> None:
    until = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()
    said = {
        "operations": ["delete_payment_account", "sign_withdrawal"],
        "until": until,
        "reason": "x",
        "host": "127.0.0.1:9",
    }
    (own_state / "armed-here.json").write_text(json.dumps(said))


WITHDRAWAL = [
    "withdrawals", "sign", "--token", "0x52908400098527886E0F7030069857D2E4169EE7", "--amount", "2500", "--is-amount-native",
    "false", "--admin-address", "0x52908400098527886E0F7030069857D2E4169EE7", "--recipient-address",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "tokens, says, types",
    [
        (["payment-accounts", "delete", NOBODY], "permanently deleted", NOBODY[-8:]),
        (WITHDRAWAL, "2500 cents to 0x8617E340B3D01FA5F11F306F4090FD50E238070D", "2500 E238070D"),
    ],
    ids=["delete", "withdrawal"],
)
def test_what_cannot_be_undone_is_typed(own_state, tokens, says, types):
    """In production, even an armed deletion or withdrawal requires typed text. Wrong text sends nothing."""
    armed(own_state)
    # exit status 6 means that the connection was refused and the request was not sent
    for word, code in ((types, 6), ("yes", 2)):
        child = spawn(*tokens, "--profile", "here", "--live")
        child.expect_exact(says)
        child.expect_exact(f"Type {types} to continue: ")
        child.sendline(word)
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == code, child.before


def test_a_wrong_word_arms_nothing(own_state):
    """Any other text ends with 2 and arms nothing."""
    child = spawn("profiles", "arm", "update_user", "--profile", "live", "--reason", "x")
    child.expect_exact("Type api.example.com to allow it: ")
    child.sendline("yes")
    child.expect(pexpect.EOF)
    child.close()

    assert child.exitstatus == 2
    assert list(own_state.glob("armed-*.json")) == []


def test_an_arming_ends(wb, own_state):
    """An expired or modified arming allows nothing and is removed."""
    path = own_state / "armed-live.json"
    for text in (
        '{"operations": ["update_user"], "until": "2020-01-01T00:00:00+00:00", "reason": "x", "host": "api.example.com"}',
        '{"operations": ["update_user"], "until": "2999-01-01T00:00:00+00:00", "reason": "x", "host": "api.example.com"}',
        "{",
    ):
        path.write_text(text)
        assert wb("users", "update", NOBODY, "--first-name", "Ada", "--profile", "live", "--live").code == 6
        assert not path.exists()


@pytest.mark.parametrize(
    "tokens",
    [["profiles", "arm", "list_contracts", "--profile", "live", "--reason", "x"], ["profiles", "arm", "update_user", "--profile", "test", "--reason", "x"],
     ["profiles", "arm", "update_user", "--profile", "live", "--reason", " "],
     ["profiles", "arm", "update_user", "--profile", "live", "--reason", "x", "--minutes", "600"]],
    ids=["a read", "a sandbox", "no reason", "too long"],
)  # fmt: skip
def test_what_cannot_be_armed(wb, tokens):
    """Reads, sandboxes, an empty reason and long durations are refused."""
    assert wb(*tokens).code == 2


def test_two_places_contradict_each_other(wb):
    """A command has exactly one target."""
    assert wb("contracts", "list", "--profile", "test", "--fresh").code == 2


def test_doctor_names_a_file_others_can_read(wb, profiles):
    """If other users can read the profiles file, the check prints the command that fixes it."""
    assert wb("profiles", "check").code in {0, 5}
    profiles.chmod(0o644)
    ended = wb("profiles", "check")

    assert ended.code == 5
    assert f"chmod 600 {profiles}" in ended.out
    assert "canary" not in ended.out + ended.err


def test_a_new_sandbox_is_new_whatever_the_environment_says(wb, monkeypatch):
    """`--fresh` ignores the profile in WORKBENCH_PROFILE, which commands otherwise use."""
    monkeypatch.setenv("WORKBENCH_PROFILE", "here")

    assert wb("contracts", "list", "--fresh").code == 0
    assert wb("contracts", "list").code == 2  # the production profile was not confirmed
