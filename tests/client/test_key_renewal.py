"""A function's key is fetched again once after a 401, and when it is old. Reads are retried as configured."""

import asyncio
import logging
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

import workbench as wb
from tests.client.doubles import AUTHORIZED, KEY, PURCHASE, URL, FakeClock, Service, client_on
from workbench.base.errors import InvalidProfile, NoAnswer, Unauthorized, UsageError
from workbench.base.keys import Key
from workbench.client.calls import keys
from workbench.client.calls.client import AsyncClient
from workbench.client.calls.effects import Outcome
from workbench.client.calls.profiles import client_settings, open_profile

NEW = "new-key-0123456789"


class Vault:
    """Returns listed keys, repeats the last one, and counts the calls."""

    def __init__(self, *values: Any) -> None:
        self.values, self.asked = list(values), 0

    def __call__(self) -> str:
        self.asked += 1
        value = self.values.pop(0) if len(self.values) > 1 else self.values[0]
        if isinstance(value, BaseException):
            raise value
        key: str = value
        return key


def accepting(*accepted: str) -> Service:
    """Return a service that answers other keys with 401, and repeats the key that it received."""

    def answer(request: httpx.Request) -> httpx.Response:
        key = request.headers["api-key"]
        if key not in accepted:
            return httpx.Response(401, json={"error": "Unauthorized", "message": f"not {key}"})
        return httpx.Response(200, json=AUTHORIZED if request.method == "POST" else [])

    return Service(answer)


@pytest.fixture(params=["client", "async client"])
def call(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return a function that calls an operation, and returns the client and its answer or error."""

    def made(service: Service, vault: Any, name: str = "list_contracts", **arguments: Any) -> tuple[Any, Any]:
        options = {"base_url": URL, "api_key": vault, "clock": FakeClock(), "transport": httpx.MockTransport(service)}
        kind = wb.Client if request.param == "client" else AsyncClient
        api: Any = kind(**options)
        try:
            answer = getattr(api, name)(**arguments)
            return api, asyncio.run(answer) if asyncio.iscoroutine(answer) else answer
        except wb.WorkbenchError as error:
            return api, error

    return made


def test_a_401_asks_for_the_key_again(call: Callable[..., Any]) -> None:
    """After a 401 a read is sent again with the new key."""
    vault, service = Vault(KEY, NEW), accepting(NEW)
    api, answer = call(service, vault)

    assert (answer, vault.asked, service.count) == ([], 2, 2)
    assert Key(NEW).fingerprint in repr(api)


def test_a_call_with_an_effect_too(call: Callable[..., Any]) -> None:
    """A 401 proves that nothing was carried out, so a call with an effect is sent again, as one entry that is done."""
    service = accepting(NEW)
    api, answer = call(service, Vault(KEY, NEW), "simulate_authorization", **PURCHASE)

    assert (answer.status, service.count) == ("authorized", 2)
    assert [entry.outcome for entry in api.journal.list()] == [Outcome.DONE]


@pytest.mark.parametrize("values, sent", [((KEY,), 1), ((KEY, NEW), 2)], ids=["the same key", "another wrong key"])
def test_once(call: Callable[..., Any], values: tuple[str, ...], sent: int) -> None:
    """After a 401 the function is called once more, an unchanged key is not sent again, and the error has no key."""
    vault, service = Vault(*values), accepting("right-key-0123456789")
    api, error = call(service, vault, "simulate_authorization", **PURCHASE)

    assert isinstance(error, Unauthorized)
    assert (vault.asked, service.count) == (2, sent)
    assert [entry.outcome for entry in api.journal.list()] == [Outcome.REFUSED]
    assert KEY not in f"{error} {error.body}"
    assert NEW not in f"{error} {error.body}"


@pytest.mark.parametrize("failure", [OSError(f"vault, {NEW}"), "two words", NEW], ids=["fails", "no key", "other host"])
def test_what_cannot_be_fetched_leaves_the_key(
    failure: Any, caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no key can be fetched, the refusal is raised, and the log states the reason without private text."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    keys.pin(Key(NEW).fingerprint, "api.example.org", "production")
    vault = Vault(KEY, failure)
    key = Key.of(vault)
    key.checked_by(lambda fingerprint: keys.pin(fingerprint, "api.example.com", "sandbox"))
    with caplog.at_level(logging.WARNING, "workbench"), pytest.raises(Unauthorized):
        client_on(accepting("right-key-0123456789"), api_key=key).list_contracts()

    assert key.header().decode() == KEY
    assert "could not be fetched again" in caplog.text
    assert NEW not in caplog.text


def test_by_age(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A key that is too old is replaced before a call, without a 401."""
    monkeypatch.setattr("workbench.base.keys.MAX_AGE", -1.0)
    vault, service = Vault(KEY, NEW), accepting(NEW)
    _, answer = call(service, vault)

    assert (answer, vault.asked, service.count) == ([], 2, 1)


def test_a_young_key_stays(call: Callable[..., Any]) -> None:
    """The function is not called for each call of an operation."""
    vault = Vault(KEY)
    call(accepting(KEY), vault)

    assert vault.asked == 1


def test_threads_ask_once() -> None:
    """If several threads get a 401, one of them fetches the key, and all send the new key."""
    vault, service, meeting = Vault(KEY, NEW), accepting(NEW), threading.Barrier(4)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.headers["api-key"] == KEY:
            meeting.wait(10)
        return service(request)

    api = client_on(answer, api_key=vault)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: api.list_contracts(), range(4)))

    assert answers == [[]] * 4
    assert vault.asked == 2


def test_threads_ask_once_for_a_key_that_stays_the_same() -> None:
    """Threads that ask while the key is fetched wait for it, also if the service or the vault still has the old key."""
    waiting: list[threading.Thread] = []

    def ask() -> None:
        key.renew(0)

    def vault() -> str:
        asked.append(1)
        if len(asked) == 2:
            waiting.extend(threading.Thread(target=ask) for _ in range(4))
            for thread in waiting:
                thread.start()
                thread.join(0.1)  # times out: the thread waits for the key that this function returns
        return KEY

    asked: list[int] = []
    key = Key.of(vault)
    ask()
    for thread in waiting:
        thread.join(20)

    assert len(asked) == 2


def test_a_function_with_a_sandbox_that_is_served_here() -> None:
    """An embedded sandbox accepts the key that the function returns after a 401."""
    sandbox = wb.Sandbox()
    vault = Vault("unknown-key-0123456", sandbox.full_key)
    api = wb.Client(base_url=sandbox.base_url, api_key=vault, transport=sandbox.transport())

    assert api.list_contracts()
    assert vault.asked == 2


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that the profile's command prints."""
    secret = tmp_path / "key"
    secret.write_text(KEY)
    program = f"import pathlib; print(pathlib.Path({str(secret)!r}).read_text())"
    (tmp_path / "profiles.toml").write_text(
        f"[profiles.acme]\nbase_url = '{URL}'\nkey_command = [{sys.executable!r}, '-c', \"{program}\"]\n"
    )
    monkeypatch.setenv("WORKBENCH_CONFIG", str(tmp_path / "profiles.toml"))
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    return secret


def test_the_command_of_a_profile_is_run_again(profile: Path) -> None:
    """After a 401 `key_command` fetches a key that was replaced in the vault."""
    key = client_settings(open_profile("acme"))["api_key"]
    profile.write_text(NEW)

    assert client_on(accepting(NEW), api_key=key).list_contracts() == []


def test_no_key_of_another_host_replaces_it(profile: Path) -> None:
    """A new key is refused if it was used with another host."""
    key = client_settings(open_profile("acme"))["api_key"]
    keys.pin(Key(NEW).fingerprint, "api.example.org", "production")
    profile.write_text(NEW)

    assert not key.renew(0)
    assert key.fingerprint == Key(KEY).fingerprint
    with pytest.raises(InvalidProfile, match=r"api\.example\.org"):
        client_settings(open_profile("acme"))


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_retries_of_reads(retries: int) -> None:
    """`http={"retries": n}` retries a read n times, and never a call with an effect."""
    service = Service(httpx.ReadTimeout(""))
    with pytest.raises(NoAnswer):
        client_on(service, http={"retries": retries}).list_contracts()
    with pytest.raises(wb.OutcomeUnknown):
        client_on(service, http={"retries": retries}).simulate_authorization(**PURCHASE)

    assert service.count == retries + 2


@pytest.mark.parametrize("value", [-1, 1.5, "3", True])
def test_odd_numbers_of_retries_are_refused(value: Any) -> None:
    """The number of retries must be a whole number of 0 or more."""
    with pytest.raises(UsageError, match=r"http\.retries"):
        client_on(Service([]), http={"retries": value})
