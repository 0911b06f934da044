"""Profiles are read strictly, with all problems in one error. Keys are bound to hosts and never read from a file."""

import json
import os
import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ipykernel.kernelbase import Kernel

import workbench as wb
from workbench.base.errors import InvalidProfile, UsageError
from workbench.client.calls import key_sources
from workbench.client.calls.base_url import base_url
from workbench.client.calls.key_sources import key_variable
from workbench.client.calls.keys import pin, state_folder
from workbench.client.calls.options import Profile
from workbench.client.calls.profiles import client_settings, config_path, open_profile, profile_names

KEY = "canary-key-77"


TYPES = key_sources.can_prompt


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a configuration and state folder of the test, without a keyring and without a person at the prompt."""
    for name in [name for name in os.environ if name.startswith("WORKBENCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("WORKBENCH_CONFIG", str(tmp_path / "profiles.toml"))
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.setattr(key_sources, "can_prompt", lambda: False)
    return tmp_path


def write(home: Path, text: str) -> Path:
    path = home / "profiles.toml"
    path.write_text(text)
    path.chmod(0o600)
    return path


GOOD = """
[profiles.acme-test]
base_url = "https://api.example.com/v1/"
timeout = 12.5
idempotency_header = "Idempotency-Key"
wire_names."simulate_authorization.decline_reason" = "declinedReason"
limits = { amount = 100_000, writes_per_second = 2, recipients = ["0xabababababababababababababababababababab"] }

[profiles.acme]
base_url = "https://api.example.org"
environment = "production"
"""


def test_a_profile_becomes_a_session(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session has the host, environment, names and limits of its profile, and a journal file."""
    write(home, GOOD)
    monkeypatch.setenv("WORKBENCH_ACME_TEST_API_KEY", KEY)
    api = wb.connect("acme-test")

    assert (api.host, api.environment) == ("api.example.com", "sandbox")
    assert (api.limits.amount, api.limits.reads_per_second, api.limits.writes_per_second) == (100_000, 10.0, 2)
    assert str(home / "state" / "journal-acme-test.db") == api.info()["journal"]
    assert repr(api).startswith("<Session acme-test: sandbox, api.example.com, key ")
    assert profile_names() == ("acme-test", "acme")
    assert KEY not in repr(api) + str(api.info())


def test_events_of_a_profile_are_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The inbox of a profile is a file, and accepts deliveries signed with the API key or a separate key."""
    write(home, GOOD)
    first, second = wb.events.sample("user.updated", KEY), wb.events.sample("user.updated", "signing-key")
    api = wb.connect("acme-test", api_key=lambda: KEY)
    assert api.inbox.receive(first.headers, first.body).verified
    api.close()
    monkeypatch.setenv("WORKBENCH_WEBHOOK_KEY", "signing-key")
    again = wb.connect("acme-test", api_key=lambda: KEY)
    with pytest.raises(wb.errors.InvalidWebhook):
        again.inbox.receive(first.headers, first.body)

    assert again.inbox.receive(second.headers, second.body).verified
    assert len(again.inbox.events()) == 2
    assert KEY not in repr(vars(again))
    again.close()


def test_production_is_shown(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session for production shows its environment, and that it is not armed."""
    write(home, GOOD)
    monkeypatch.setenv("WORKBENCH_ACME_API_KEY", KEY)

    assert "production, api.example.org" in repr(wb.connect("acme"))
    assert "not armed" in repr(wb.connect("acme"))


def test_a_profile_may_be_a_sandbox(home: Path) -> None:
    """A profile without a base URL opens an embedded sandbox with the profile's settings."""
    write(home, '[profiles.lesson]\nsandbox = { seed = 7, behavior = "observed", review_seconds = 5 }\n')
    api = wb.connect("lesson")

    assert (api.sandbox.behavior, api.sandbox.seed) == ("observed", 7)
    assert api.list_contracts() == wb.connect(seed=7, behavior="observed").list_contracts()


def test_variables_alone_are_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file, environment variables can define a profile."""
    monkeypatch.setenv("WORKBENCH_BASE_URL", "https://api.example.com")
    monkeypatch.setenv("WORKBENCH_ENVIRONMENT", "production")
    monkeypatch.setenv("WORKBENCH_API_KEY", KEY)
    api = wb.connect("ci")

    assert (api.host, api.environment) == ("api.example.com", "production")


def test_the_profile_may_be_named_by_a_variable(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """WORKBENCH_PROFILE names the profile if no argument does."""
    write(home, GOOD)
    monkeypatch.setenv("WORKBENCH_PROFILE", "acme")

    assert open_profile().environment == "production"


WRONG = """
color = "red"
[profiles.bad]
base_url = "http://api.example.com/v1"
environment = "live"
timeout = "soon"
api_key = "canary-key-77"
webhook_secret = "canary-key-77"
color = "red"
ca_file = "/nowhere/ca.pem"
idempotency_header = "Bad Header"
forget_key_variable = "yes"
wire_names."simulate_authorization.declinereason" = "x"
limits = { amount = 1.5, reads_per_second = 0, recipients = "me", speed = 1 }
"""


def test_everything_wrong_is_listed(home: Path) -> None:
    """An invalid profile gives one error that names every problem with its path, and shows no value."""
    path = write(home, WRONG)
    path.chmod(0o644)
    with pytest.raises(InvalidProfile) as caught:
        open_profile("bad")
    paths = {problem.path.removeprefix("profiles.bad.") for problem in caught.value.problems}

    assert {
        "color", "base_url", "environment", "timeout", "api_key", "webhook_secret", "ca_file", "idempotency_header",
        "forget_key_variable", 'wire_names."simulate_authorization.declinereason"', "limits.amount",
        "limits.reads_per_second", "limits.recipients", "limits.speed",
    } == paths  # fmt: skip
    text = str(caught.value)
    assert "chmod 600" in text
    assert "did you mean simulate_authorization.decline_reason" in text
    assert "https://api.example.com/v1" in text
    assert "canary" not in text


@pytest.mark.parametrize(
    "text, words",
    [("[profiles.x\n", "is not TOML"), ("profiles = 3\n", "table of tables"), ("[profiles]\nx = 3\n", "table of tables"),
     ("[profiles.other]\n", "known: other"), ("[profiles.x]\n", "base_url is missing"), ("\xff", "is not TOML"),
     ("[other]\n[profiles.x]\n", "other is unknown in .*; profiles are tables")],
    ids=map(str, range(7)),
)  # fmt: skip
def test_invalid_files(home: Path, text: str, words: str) -> None:
    """A file that cannot be read as profiles gives an error with the reason."""
    write(home, text)
    with pytest.raises(InvalidProfile, match=words):
        open_profile("x")


@pytest.mark.parametrize("name", ["../x", "a b", "", "x" * 65, "a\n"])
def test_invalid_profile_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An invalid profile name is refused, and never becomes part of a path."""
    monkeypatch.setenv("WORKBENCH_PROFILE", "..")
    with pytest.raises(InvalidProfile, match="profile"):
        open_profile(name)


# keys


def test_keys_are_looked_for_in_order(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is searched in the profile's variable, the general variable, the keyring and then a prompt."""
    write(home, GOOD)
    profile = open_profile("acme-test")
    asked: list[str] = []
    monkeypatch.setattr(key_sources, "can_prompt", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda prompt: asked.append(prompt) or "typed-key")
    typed = key_sources.find_key(profile).fingerprint
    ring = types.SimpleNamespace(get_password=lambda service, name: f"ring-{service}-{name}")
    monkeypatch.setitem(sys.modules, "keyring", ring)
    from_ring = key_sources.find_key(profile).fingerprint
    monkeypatch.setenv("WORKBENCH_API_KEY", "general-key")
    general = key_sources.find_key(profile).fingerprint
    monkeypatch.setenv(key_variable("acme-test"), "own-key")
    own = key_sources.find_key(profile).fingerprint

    assert len({typed, from_ring, general, own}) == 4
    assert asked == ["API key of acme-test (sandbox): "]


COMMANDS = {
    "prints": ([sys.executable, "-c", "print('key-of-the-vault')"], None),
    "fails": ([sys.executable, "-c", "raise SystemExit('canary')"], "ended with status 1"),
    "prints nothing": ([sys.executable, "-c", "pass"], "did not print a key"),
    "is not there": (["no-such-program-here"], "cannot be run: FileNotFoundError"),
    "takes too long": ([sys.executable, "-c", "import time; time.sleep(60)"], "took longer than 1 seconds"),
    "is not a shell": (["echo key; echo"], "cannot be run: FileNotFoundError"),
}


@pytest.mark.parametrize("command, problem", COMMANDS.values(), ids=COMMANDS)
def test_a_command_prints_the_key(
    command: list[str], problem: str | None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command prints the key. It runs without a shell and with a time limit, and its output is never shown."""
    write(home, GOOD.replace("timeout = 12.5", f"key_command = {json.dumps(command)}"))
    monkeypatch.setattr(key_sources, "_COMMAND_SECONDS", 1 if "time" in command[-1] else 30)
    profile = open_profile("acme-test")

    assert key_sources.key_source(profile) == f"from the command {command[0]}"
    if problem is None:
        assert key_sources.find_key(profile).header() == b"key-of-the-vault"
        return
    with pytest.raises(InvalidProfile, match=problem) as caught:
        key_sources.find_key(profile)
    assert "canary" not in str(caught.value)


def test_where_a_key_comes_from_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source of a key is shown, also for a key in the keyring."""
    write(home, GOOD)
    profile = open_profile("acme-test")
    missing = key_sources.key_source(profile)
    monkeypatch.setitem(sys.modules, "keyring", types.SimpleNamespace(get_password=lambda *_: "ring-key"))
    stored = key_sources.key_source(profile)
    monkeypatch.setenv("WORKBENCH_API_KEY", "general-key")

    assert missing == "missing: neither in WORKBENCH_ACME_TEST_API_KEY nor in the keyring"
    assert (stored, key_sources.key_source(profile)) == ("in the keyring", "in WORKBENCH_API_KEY")


def test_a_broken_keyring_is_not_used(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing keyring counts as a keyring without the key."""

    def broken(*_: Any) -> str:
        raise RuntimeError("no backend")

    write(home, GOOD)
    monkeypatch.setitem(sys.modules, "keyring", types.SimpleNamespace(get_password=broken))
    with pytest.raises(InvalidProfile, match="WORKBENCH_ACME_TEST_API_KEY or WORKBENCH_API_KEY"):
        key_sources.find_key(open_profile("acme-test"))


@pytest.mark.parametrize("allowed", [True, False])
def test_a_notebook_may_prompt(allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook that a person runs may prompt for a key; an unattended notebook may not."""
    monkeypatch.setattr(Kernel, "_allow_stdin", allowed)
    shell = types.SimpleNamespace(kernel=object.__new__(Kernel))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(sys, "stdin", None)

    assert TYPES() is allowed


def test_a_variable_can_be_forgotten(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile can remove the key's variable from the environment after reading it."""
    write(home, GOOD.replace("timeout = 12.5", 'forget_key_variable = true\nkey_variable = "OURS"'))
    monkeypatch.setenv("OURS", KEY)
    profile = open_profile("acme-test")
    key_sources.find_key(profile)

    assert "OURS" not in os.environ

    class TakenByAnotherThread(dict[str, str]):
        def get(self, *arguments: Any) -> Any:
            value = super().get(*arguments)
            self.pop("OURS", None)
            return value

    monkeypatch.setattr(os, "environ", TakenByAnotherThread(OURS=KEY))
    assert key_sources.find_key(profile).header().decode() == KEY


# hosts that keys are pinned to


def test_a_key_belongs_to_its_host(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that was used with one host and environment is refused for another."""
    write(home, GOOD)
    monkeypatch.setenv("WORKBENCH_API_KEY", KEY)
    client_settings(open_profile("acme-test"))
    client_settings(open_profile("acme-test"))
    with pytest.raises(InvalidProfile, match=r"belongs to api.example.com \(sandbox\)") as caught:
        client_settings(open_profile("acme"))

    assert KEY not in str(caught.value)
    (pinned,) = (home / "state" / "pins").iterdir()
    assert KEY not in pinned.read_text() + pinned.name
    assert pinned.stat().st_mode & 0o077 == 0


def test_a_damaged_pin_file_stops_here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the file of pins cannot be read, no key is used."""
    write(home, GOOD)
    monkeypatch.setenv("WORKBENCH_API_KEY", KEY)
    client_settings(open_profile("acme"))
    (pinned,) = (home / "state" / "pins").iterdir()
    pinned.write_text("{")
    with pytest.raises(InvalidProfile, match=r"\.json cannot be read"):
        client_settings(open_profile("acme"))


# base URLs


@pytest.mark.parametrize(
    "given, used",
    [("https://api.example.com/v1", "https://api.example.com/v1"), ("https://api.example.com/v1/", "https://api.example.com/v1"),
     ("https://api.example.com", "https://api.example.com/v1"), ("https://API.Example.com:443/v1", "https://api.example.com/v1"),
     ("https://api.example.com:8443/x", "https://api.example.com:8443/x/v1"), ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
     ("http://localhost:80/v1//", "http://localhost/v1"), ("http://[::1]:9/v1", "http://[::1]:9/v1"),
     ("https://api.example.com//v1", "https://api.example.com/v1")],
    ids=map(str, range(9)),
)  # fmt: skip
def test_base_urls_are_put_right(given: str, used: str) -> None:
    """A base URL is normalized."""
    assert used == str(base_url(given))


@pytest.mark.parametrize(
    "given, words",
    [("http://api.example.com/v1", "use https://api.example.com/v1"), ("https://a.example.com/v1/v1", "use https://a.example.com/v1"),
     ("https://u:p@api.example.com", "user or a password"), ("https://api.example.com?x=1", "query"),
     ("https://api.example.com/v1#x", "fragment"), ("ftp://api.example.com", "https://"), ("api.example.com/v1", "https://"),
     ("https://", "host"), ("", "missing"), ("https://api.example.com/../v1", "plain path"), ("https://ex\u0430mple.com", "characters"),
     ("https://api.example.com\n/v1", "characters"), ("https://api.example.com:port", "not a URL"), ("https://[::1", "not a URL"),
     ("http://127.0.0.1.example.com/v1", "use https"), ("https:\\\\api.example.com", "characters"), ("//api.example.com", "https://"),
     ("https://api.example.com/%2e%2e/v1", "plain path"), ("http://localhost.example.com", "use https"),
     ("https://api.example.com/ v1", "characters"), ("https://api.example.com\\v1", "characters")],
    ids=map(str, range(21)),
)  # fmt: skip
def test_base_urls_are_refused(given: str, words: str) -> None:
    """An invalid base URL is refused with a valid alternative."""
    with pytest.raises(UsageError, match=words):
        base_url(given)


# wire names and headers


@pytest.mark.parametrize(
    "names, words",
    [({"simulate_refund.transaction_id": "id"}, "not the name of a field"), ({"update_user.first_name": "lastName"}, "the name of another member of the record"),
     ({"update_user.first_name": "a", "update_user.last_name": "a"}, "the name of another member of the record"), ({"nothing": "x"}, "not the name of a field"),
     ({"update_user.first_name": "first name"}, "name of a member"), ({"update_user.first_name": ""}, "name of a member")],
    ids=map(str, range(6)),
)  # fmt: skip
def test_invalid_wire_names_are_refused(names: dict[str, str], words: str) -> None:
    """A wire name must belong to a renamable field, and no two members may share one."""
    with pytest.raises(UsageError, match=words):
        wb.Client(base_url="https://api.example.com", api_key="a-key", wire_names=names)


def test_two_members_may_swap_their_names() -> None:
    """Two members may exchange their wire names, because the names stay unique."""
    names = {"update_user.first_name": "lastName", "update_user.last_name": "firstName"}

    assert wb.Client(base_url="https://api.example.com", api_key="a-key", wire_names=names)


def test_wire_names_are_a_mapping() -> None:
    """Wire names in another form are refused with the option's name."""
    names: Any = ["update_user.first_name"]
    with pytest.raises(UsageError, match="wire_names must be a mapping of names"):
        wb.Client(base_url="https://api.example.com", api_key="a-key", wire_names=names)


@pytest.mark.parametrize("header", ["Api-Key", "host", "Bad Header", "X:\r\n", "", "Content-Length", 7])
def test_invalid_headers_are_refused(header: Any) -> None:
    """An additional header must have a valid name that the client does not use itself."""
    with pytest.raises(UsageError, match="idempotency_header"):
        wb.Client(base_url="https://api.example.com", api_key="a-key", idempotency_header=header)


# folders of settings and state


def test_places_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without environment variables, settings and state are in the platform's folders."""
    for name in ("WORKBENCH_CONFIG", "WORKBENCH_STATE"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    assert config_path().parts[-2:] == ("card-issuing-workbench", "profiles.toml")
    assert state_folder().name == "card-issuing-workbench"
    assert state_folder().stat().st_mode & 0o077 == 0
    assert profile_names() == ()


def test_a_file_that_cannot_be_read(home: Path) -> None:
    """A path that is not a readable file is reported."""
    (home / "profiles.toml").mkdir()
    with pytest.raises(InvalidProfile, match="cannot be read"):
        open_profile("x")


def test_a_timeout_is_a_time() -> None:
    """A timeout is None or a number of seconds above 0."""
    for wrong in (0, "5", True, float("nan")):
        with pytest.raises(UsageError, match="timeout"):
            wb.Client(base_url="https://api.example.com", api_key="a-key", timeout=wrong)  # type: ignore[arg-type]
    assert wb.Client(base_url="https://api.example.com", api_key="a-key", timeout=None)


def test_limits_are_limits() -> None:
    """A mapping is not accepted as limits, because a misspelled name would set no limit."""
    with pytest.raises(UsageError, match="Limits"):
        wb.Client(base_url="https://api.example.com", api_key="a-key", limits={"amount": 5})  # type: ignore[arg-type]


def test_a_sandbox_profile_is_not_a_service(home: Path) -> None:
    """Functions that need a service say that the profile is a sandbox."""
    write(home, "[profiles.lesson]\nsandbox = { seed = 7 }\n")
    with pytest.raises(InvalidProfile, match="names no service"):
        client_settings(open_profile("lesson"))


def test_keys_bound_at_once_are_all_kept(home: Path) -> None:
    """Keys that are first used at the same moment do not overwrite each other (89 of 120 were lost)."""
    names = [f"key-{n}" for n in range(120)]
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda name: pin(name, "api.example.com", "sandbox"), names))

    assert sorted(path.stem for path in (home / "state" / "pins").iterdir()) == sorted(names)


def test_a_huge_number_in_the_profiles_is_named(home: Path) -> None:
    """A number with more digits than Python reads is reported as a problem of the file."""
    write(home, f"number = {'9' * 5_000}")

    with pytest.raises(InvalidProfile, match="too many digits"):
        open_profile("acme")


def test_a_keyring_that_does_not_answer_has_a_limit(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A keyring that waits for a person or a bus times out with an error, as a command does."""
    asked, answered = threading.Event(), threading.Event()

    def waits(*_: object) -> str:
        asked.set()
        answered.wait(10)
        return "late"

    monkeypatch.setitem(sys.modules, "keyring", types.SimpleNamespace(get_password=waits))
    monkeypatch.setattr(key_sources, "_COMMAND_SECONDS", 0.05)
    profile = Profile(name="acme-test", base_url="https://api.example.com/v1")
    for look in (key_sources.find_key, key_sources.key_source):
        with pytest.raises(InvalidProfile, match="the keyring did not answer within"):
            look(profile)
    answered.set()
    assert asked.is_set()


def test_the_signing_key_of_a_profile(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signing key comes from a variable or a command, and is checked like the API key."""
    profile = Profile(name="acme-test", webhook_key_command=[sys.executable, "-c", "print('signing-key')"])
    (key,) = key_sources.signing_keys(profile)
    assert key.header() == b"signing-key"
    monkeypatch.setenv("WORKBENCH_WEBHOOK_KEY", "other-key")
    assert [found.header() for found in key_sources.signing_keys(profile)] == [b"other-key"]
    monkeypatch.setenv("WORKBENCH_WEBHOOK_KEY", "other-key\n")
    with pytest.raises(UsageError, match="WORKBENCH_WEBHOOK_KEY has a space or line break"):
        key_sources.signing_keys(profile)


def test_paths_of_a_profile_are_expanded(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` becomes the home folder, and relative paths start at the profiles file's folder."""
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    folder = tmp_path / "settings"
    (folder / "certs").mkdir(parents=True)
    for name in ("ca.pem", "client.pem"):
        (folder / "certs" / name).write_text("x")
    monkeypatch.setenv("WORKBENCH_CONFIG", str(folder / "profiles.toml"))
    (folder / "profiles.toml").write_text(
        "[profiles.acme]\nbase_url = 'https://api.example.com/v1'\njournal = '~/j.db'\nca_file = 'certs/ca.pem'\n"
        "http = { client_cert_file = 'certs/client.pem' }\n[profiles.mine]\nsandbox = { path = 's.db', seed = 3 }\n"
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    profile, mine = open_profile("acme"), open_profile("mine")

    assert profile.journal == str(tmp_path / "me/j.db")
    assert profile.ca_file == str(folder / "certs/ca.pem")
    assert profile.http["client_cert_file"] == str(folder / "certs/client.pem")
    assert mine.sandbox["path"] == str(folder / "s.db")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="where users have entries")
def test_a_user_without_a_home() -> None:
    """Without a home folder an embedded sandbox works, and errors name the variable that sets a folder."""
    script = (
        "import os, pwd; os.environ.pop('HOME', None); pwd.getpwuid = {}.__getitem__\n"
        "import workbench as wb\n"
        "assert len(wb.connect(seed=7).list_contracts()) > 0\n"
        "for work in (lambda: wb.connect('acme'), lambda: wb.Journal().installation, lambda: wb.Client(\n"
        "    base_url='https://api.example.com/v1', api_key='k' * 20, environment='production').journal.unknown()):\n"
        "    try: work()\n"
        "    except (wb.WorkbenchError, AttributeError) as error: print(type(error).__name__)\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WORKBENCH_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd="/", env=environment
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "InvalidProfile" in done.stdout
