"""Commands that receive, verify, show and forward events, and send sample events."""

import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

import workbench
from tests.terminal.conftest import ROOT
from workbench.client.webhooks.inbox import Inbox

pytestmark = pytest.mark.slow  # each test starts a receiver or a server

BODY = "tests/terminal/application.json"
WB = [sys.executable, "-m", "workbench"]


@pytest.fixture
def key(wb):
    return json.loads(wb("sandbox", "guide", "-o", "json").out)["api_keys"]["full"]


class Listening:
    """A listener in a separate process."""

    def __init__(self, *tokens: str) -> None:
        self._child = subprocess.Popen(
            [*WB, "events", "listen", *tokens], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._child.stderr is not None
        found = re.search(r"http://\S+?(?=[.,] |\.$)", self._child.stderr.readline())
        assert found is not None
        self.url = found[0]

    def finish(self) -> str:
        return self._child.communicate(timeout=60)[0]

    def __enter__(self) -> "Listening":
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.communicate()


@contextmanager
def receiver(*keys: str):
    """An inbox that listens in place of another program."""
    with Inbox(keys=keys, accept_unsigned=not keys) as inbox, inbox.serve() as url:
        yield inbox, url


def test_events_of_the_kept_sandbox(wb):
    """Events of earlier commands are listed in order, and can be filtered by kind."""
    wb("users", "create", "--from", BODY)
    wb("sandbox", "advance", "2m")

    rows = [
        json.loads(line) for line in wb("events", "list", "--kind", "user.updated", "-o", "ndjson").out.splitlines()
    ]
    assert [row["body"]["applicationStatus"] for row in rows] == ["pending", "approved"]
    assert rows[0]["body"]["email"] == "n•••@e•••.com"
    assert len(wb("events", "list", "--last", "1", "-o", "ndjson").out.splitlines()) == 1
    assert wb("events", "list", "--kind", "house.bought").code == 2


def test_fields_of_bodies(wb):
    """Members of a body, which may have any structure, can be selected in each format."""
    wb("users", "create", "--from", BODY)

    assert "pending" in wb("events", "list", "--fields", "resource,body.applicationStatus").out
    assert wb("events", "list", "--fields", "body.email", "-o", "csv").out.splitlines() == [
        "body.email",
        "n•••@e•••.com",
    ]


def test_listen_verifies_and_shows(wb):
    """`listen` shows each event and whether it was verified."""
    wb("users", "create", "--from", BODY)
    ended = wb("events", "listen", "--earlier", "--count", "1")

    assert ended.code == 0
    assert re.match(r"✓ verified  \d\d:\d\d:\d\d  user\.updated pending ", ended.out)


@pytest.mark.slow
def test_list_follows(tmp_path, monkeypatch):
    """With `--follow`, new events are printed as they arrive, until a signal."""
    import workbench as wb

    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    with wb.Sandbox(seed=7).serve() as url:
        command = [
            sys.executable,
            "-m",
            "workbench",
            "events",
            "list",
            "--follow",
            "-o",
            "ndjson",
            "--url",
            url,
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process, wb.connect(url) as api:
            assert process.stdout is not None
            card = api.sandbox.guide()["cards"]["active"][0]
            api.simulate_authorization(
                card_id=card, amount=500, currency="USD", merchant_name="Corner Grocery", merchant_category_code="5411"
            )
            kinds = [json.loads(process.stdout.readline())["action"] for _ in range(2)]
            process.send_signal(signal.SIGTERM)
            rest = process.communicate(timeout=30)[0]

    assert (kinds, rest) == (["requested", "created"], "")


@pytest.mark.slow
def test_listen_says_what_it_does_not_store(tmp_path, monkeypatch):
    """Deliveries with a wrong key or host are reported with time and reason. A tunnel's host can be allowed."""
    import httpx

    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    command = [sys.executable, "-m", "workbench", "events", "listen", "--fresh", "--allow-host", "tunnel.example"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = re.search(r"http://\S+/webhooks", process.stderr.readline())
        assert url is not None
        statuses = [
            httpx.post(url[0], json={"id": "x"}, headers={"signature": "0" * 64, "host": host}).status_code
            for host in ("127.0.0.1", "tunnel.example", "elsewhere.example")
        ]
        printed = ""
        while printed.count("not stored") < 3:
            printed += (line := process.stderr.readline())
            assert line, printed
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)

    assert statuses == [401, 401, 421]
    assert len(re.findall(r"\d\d:\d\d:\d\d  not stored: Missing or wrong signature\.", printed)) == 2
    assert "not stored: elsewhere.example is not a host name of this server (421)" in printed


def test_listen_ends_in_time(wb):
    """Without new events, `listen` ends after the timeout. Earlier events are shown only on request."""
    wb("users", "create", "--from", BODY)
    ended = wb("events", "listen", "--timeout", "0", "--count", "1")

    assert ended.code == 5
    assert ended.out == ""


def test_forwarding_is_byte_for_byte_and_in_order(wb, key):
    """Forwarded deliveries have the sandbox's bytes, signatures and order."""
    wb("users", "create", "--from", BODY)
    wb("sandbox", "advance", "2m")
    with receiver(key) as (inbox, url):
        ended = wb("events", "listen", "--earlier", "--forward-to", url, "--count", "2")
        kept = inbox.stored()

    assert ended.code == 0
    assert [one.event.body.application_status for one in kept] == ["pending", "approved"]
    assert all(one.verified for one in kept)
    ids = [json.loads(line)["id"] for line in wb("events", "list", "-o", "ndjson").out.splitlines()]
    assert [one.event.id for one in kept] == ids


def test_a_receiver_that_refuses_is_said(wb):
    """If a receiver with another key rejects an event, the command reports it and ends with 5."""
    wb("users", "create", "--from", BODY)
    with receiver("another-key") as (inbox, url):
        ended = wb("events", "listen", "--earlier", "--forward-to", url, "--count", "1")
        kept = inbox.stored()

    assert ended.code == 5
    assert "forwarded: 401" in ended.err
    assert kept == []


def test_trigger_sends_a_signed_example(wb, key):
    """`trigger` sends one sample event that a receiver with the key accepts. Its members can be set."""
    with receiver(key) as (inbox, url):
        ended = wb("events", "trigger", "user.updated", "--forward-to", url, "--set", "application_status=denied")
        (event,) = inbox.events()

    assert ended.code == 0
    assert event.body.application_status == "denied"


@pytest.mark.parametrize(
    "tokens, code",
    [
        (["events", "trigger", "house.bought", "--forward-to", "http://127.0.0.1:1/"], 2),
        (["events", "trigger", "user.updated", "--forward-to", "ftp://127.0.0.1/"], 2),
        (["events", "trigger", "user.updated", "--forward-to", "http://u:p@127.0.0.1/"], 2),
        (["events", "trigger", "user.updated", "--forward-to", "http://127.0.0.1:1/", "--set", "shoe=1"], 2),
        (["events", "trigger", "user.updated", "--forward-to", "http://127.0.0.1:1/"], 6),
        (["events", "resend", "nobody"], 3),
    ],
    ids=["kind", "scheme", "password", "member", "nobody listens", "no such event"],
)
def test_what_cannot_be_sent(wb, tokens, code):
    """An event that cannot be sent ends with its exit code."""
    assert wb(*tokens).code == code


def test_resend(wb, key):
    """One event is redelivered to the endpoints of a served sandbox."""
    with workbench.Sandbox(seed=7) as sandbox, receiver(key) as (inbox, endpoint), sandbox.serve() as url:
        sandbox.register_endpoint(endpoint, signing_key=key)
        wb("users", "create", "--from", BODY, "--url", url)
        event = inbox.wait("user.updated")
        ended = wb("events", "resend", event.id, "--url", url)
        sandbox.flush()
        attempts = [len(delivery.attempts) for delivery in sandbox.deliveries() if delivery.event_id == event.id]

    assert ended.code == 0
    assert sum(attempts) == 2


def test_listen_for_a_profile_needs_a_key(wb, own_state):
    """Without the service's key anyone could send events, so they are accepted only with `--unsigned`."""
    (own_state / "profiles.toml").write_text('[profiles.far]\nbase_url = "https://api.example.com/v1"\n')
    ended = wb("events", "listen", "--profile", "far", "--timeout", "0")

    assert (ended.code, "WORKBENCH_WEBHOOK_KEY" in ended.err, "--unsigned" in ended.err) == (2, True, True)
    assert wb("events", "listen", "--profile", "far", "--timeout", "0", "--unsigned").code == 0


def test_events_of_a_profile_are_kept(wb, own_state, monkeypatch):
    """For a profile, `listen` stores verified events, and `events list` shows them later without the service's key."""
    (own_state / "profiles.toml").write_text('[profiles.far]\nbase_url = "https://api.example.com/v1"\n')
    monkeypatch.setenv("WORKBENCH_WEBHOOK_KEY", "key-of-the-sender")
    with Listening("--profile", "far", "--count", "1", "--timeout", "60") as listening:
        ended = wb("events", "trigger", "user.updated", "--forward-to", listening.url)
        said = listening.finish()

    assert ended.code == 0
    assert said.startswith("✓ verified")
    assert "user.updated approved" in said
    (row,) = [json.loads(line) for line in wb("events", "list", "--profile", "far", "-o", "ndjson").out.splitlines()]
    assert row["body"]["applicationStatus"] == "approved"


@pytest.mark.slow
def test_a_served_sandbox_and_a_listener(tmp_path):
    """One process serves, one listens and a third makes a call. The listener shows the resulting event."""
    serving = subprocess.Popen(
        [*WB, "sandbox", "serve"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert serving.stdout is not None
        url = serving.stdout.readline().strip()
        listening = Listening("--url", url, "--count", "2", "--timeout", "60")
        acted = subprocess.run(
            [*WB, "sandbox", "deposit", "--url", url, "--amount", "0.31"], cwd=ROOT, check=True, capture_output=True
        )
        subprocess.run(
            [*WB, "sandbox", "deposit", "--url", url, "--amount", "1.99"], cwd=ROOT, check=True, capture_output=True
        )
        said = listening.finish()
    finally:
        serving.terminate()
        serving.communicate(timeout=30)

    assert acted.returncode == 0
    assert len(re.findall(r"✓ verified  \S+  microDeposit\.received", said)) == 2
    assert serving.returncode == 143


def test_listen_takes_the_sandbox_s_key_beside_one_s_own(wb, monkeypatch):
    """If the key of another sender is set, events signed with the sandbox tenant's key are verified too."""
    monkeypatch.setenv("WORKBENCH_WEBHOOK_KEY", "key-of-another-sender")
    wb("users", "create", "--from", BODY)
    ended = wb("events", "listen", "--earlier", "--count", "1", "--timeout", "5")

    assert ended.code == 0
    assert ended.out.startswith("✓ verified")


def test_the_amount_of_a_micro_deposit_is_shown(wb):
    """A micro deposit is listed and received with its amount, which is masked unless it is revealed."""
    wb("sandbox", "deposit", "--amount", "0.31")

    assert "0.31 USD" in wb("events", "list", "--reveal").out
    assert "0.31" not in wb("events").out
    assert "0.31 USD" in wb("events", "listen", "--earlier", "--count", "1", "--reveal").out


def test_a_count_without_an_event_is_refused(wb):
    """`--count 0` would never be reached."""
    ended = wb("events", "listen", "--count", "0")

    assert (ended.code, "--count must be at least 1" in ended.err) == (2, True)
