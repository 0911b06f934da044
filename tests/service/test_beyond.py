"""A sandbox that other machines can reach: keys, host names, endpoints and certificate."""

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import workbench as wb
from workbench.base.errors import AdviceWarning, UnusableFile, UsageError
from workbench.client.webhooks.inbox import Inbox
from workbench.sandbox import Sandbox
from workbench.sandbox.server import self_signed

pytestmark = pytest.mark.slow  # each test serves over HTTP

HOST = "sandbox.test"
KEYS = Sandbox().guide()["api_keys"]


@pytest.fixture
def public() -> Iterator[tuple[Sandbox, str]]:
    """Yield a sandbox that is served on every address, and its address on this machine."""
    sandbox = Sandbox(random_keys=True, webhook_hosts=("app.test", "localhost"))
    with pytest.warns(AdviceWarning, match="without TLS"), sandbox.serve("0.0.0.0", hosts=(HOST,)) as url:
        yield sandbox, url.replace(HOST, "127.0.0.1")


def ask(url: str, path: str, body: Any = None, key: str | None = None, host: str = HOST) -> httpx.Response:
    """Send a request under a host name."""
    headers = {"host": host, "content-type": "application/json", **({} if key is None else {"api-key": key})}
    method = "GET" if body is None else "POST"
    return httpx.request(method, url + path, headers=headers, content=None if body is None else json.dumps(body))


def test_keys_of_the_seed_are_not_served_to_others() -> None:
    """A sandbox with keys from its seed is not served beyond this machine."""
    with pytest.raises(ValueError, match="random_keys"):
        Sandbox().serve("0.0.0.0", hosts=(HOST,))


def test_a_wildcard_needs_a_name() -> None:
    """A wildcard address requires host names."""
    with pytest.raises(ValueError, match="pass the host names"), Sandbox(random_keys=True).serve("0.0.0.0"):
        pass


def test_a_host_of_webhooks_is_a_name() -> None:
    """A URL or a port in place of a host name, which no endpoint would match, is refused."""
    for wrong in ("http://shop.example/", "shop.example:80", "a b"):
        with pytest.raises(UsageError, match="webhook_hosts must be names without a port or path"):
            Sandbox(webhook_hosts=[wrong])

    assert Sandbox(webhook_hosts=["shop.example", "::1", "my_app"]).records("card")


def test_names_are_those_that_were_given(public: tuple[Sandbox, str]) -> None:
    """If other machines can connect, requests under the names of this machine are refused."""
    sandbox, url = public

    assert ask(url, "/v1/issuing/tenants/contracts", key=sandbox.full_key).status_code == 200
    for host in ("127.0.0.1", "localhost", "0.0.0.0", "example.com"):
        assert ask(url, "/v1/issuing/tenants/contracts", key=sandbox.full_key, host=host).status_code == 421


def test_keys_are_random(public: tuple[Sandbox, str]) -> None:
    """Random keys differ from the keys of other installations, and the guide requires a key."""
    sandbox, url = public
    sandbox.reset()
    made = sandbox.create.key("made")

    assert not set(KEYS.values()) & set(sandbox.guide()["api_keys"].values())
    assert made.api_key != Sandbox().create.key("made").api_key
    for key in (None, KEYS["full"]):
        assert ask(url, "/_sandbox/guide", key=key).status_code == 401
        assert ask(url, "/_sandbox/reset", body={}, key=key).status_code == 401
    assert ask(url, "/_sandbox/guide", key=sandbox.full_key).json()["base_url"] == f"http://{HOST}/v1"


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:9/", "http://10.0.0.5/", "http://169.254.169.254/", "http://[::1]/"]
)
def test_endpoints_are_not_on_this_machine(public: tuple[Sandbox, str], target: str) -> None:
    """Webhooks to this machine or its network are refused unless the host name is allowed."""
    sandbox, url = public
    found = ask(url, "/_sandbox/register_endpoint", body={"endpoint_url": target}, key=sandbox.full_key)

    assert (found.status_code, "is not in the list of allowed hosts" in found.json()["message"]) == (400, True)
    assert sandbox.endpoints() == []


def test_what_an_allowed_host_answers_is_not_shown(public: tuple[Sandbox, str]) -> None:
    """An allowed host receives events, and only the status of its response is shown."""
    sandbox, url = public
    port = url.rpartition(":")[2]
    sandbox.register_endpoint(f"http://localhost:{port}/")
    user = sandbox.guide()["users"]["approved"][0]
    sandbox.review(user, "locked")
    sandbox.flush()
    (delivery, *_) = sandbox.deliveries()

    assert [(attempt.status, bool(attempt.length)) for attempt in delivery.attempts] == [(421, True)]


def test_random_keys_stay_in_the_file(tmp_path: Path) -> None:
    """A file preserves its random keys, and a file with seeded keys cannot change to random ones."""
    first = Sandbox(path=tmp_path / "a.db", random_keys=True)
    key = first.full_key
    first.close()
    again = Sandbox(path=tmp_path / "a.db")
    Sandbox(path=tmp_path / "b.db").close()

    assert again.full_key == key
    assert again.guide()["users"] == Sandbox().guide()["users"]
    with pytest.raises(UnusableFile, match="random_keys False"):
        Sandbox(path=tmp_path / "b.db", random_keys=True)
    again.close()


def test_a_given_key(tmp_path: Path) -> None:
    """A given key is stored as the full key. The other keys are derived from it, not from the seed."""
    key = "a-key-that-was-given"
    with pytest.raises(ValueError, match="16 to 200"):
        Sandbox(api_key="short")
    for _ in range(2):
        sandbox = Sandbox(path=tmp_path / "a.db", api_key=key)
        sandbox.reset()
        keys = sandbox.guide()["api_keys"]
        sandbox.close()

        assert (keys["full"], sandbox.full_key) == (key, key)
        assert not {*list(keys.values())[1:]} & {*KEYS.values()}
    with pytest.raises(UnusableFile, match="another API key"):
        Sandbox(path=tmp_path / "a.db", api_key="another-key-altogether")
    again = Sandbox(path=tmp_path / "a.db")
    again.close()

    assert again.full_key == key
    assert Sandbox(api_key="another-key-altogether").guide()["api_keys"] != keys


def test_health_needs_no_key(public: tuple[Sandbox, str]) -> None:
    """The health path works without a key, and shows only that the server is ready."""
    _, url = public

    assert ask(url, "/_sandbox/health").json() == {"status": "ok"}
    assert ask(url, "/_sandbox/health", body={}).status_code == 405


def test_served_with_tls(tmp_path: Path) -> None:
    """A session reaches a sandbox and its controls over TLS, and trusts only the given certificate."""
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    fingerprint = self_signed(cert, key, ["localhost", "127.0.0.1"])
    sandbox = Sandbox()
    with sandbox.serve(certfile=cert, keyfile=key) as url:
        with wb.connect(url, ca_file=cert) as api:
            card = api.sandbox.guide()["cards"]["active"][0]
            made = api.simulate_authorization(
                card_id=card, amount=100, currency="USD", merchant_name="x", merchant_category_code="5411"
            )
            api.sandbox.settle(made.transaction_id)
            kinds = [event.kind for event in api.inbox.events()]
            with httpx.Client(transport=api.sandbox.transport(), base_url=api.sandbox.base_url) as http:
                listed = http.get("/issuing/tenants/contracts", headers={"Api-Key": api.sandbox.full_key})
        with pytest.raises(wb.NotSent, match="certificate"):
            wb.connect(url)
        page = httpx.get(url + "/openapi.json", verify=ssl.create_default_context(cafile=cert), headers={"origin": url})

    assert url.startswith("https://")
    assert kinds[-1] == "transaction.completed"
    assert (listed.status_code, page.status_code) == (200, 200)
    assert (key.stat().st_mode & 0o777, fingerprint) == (0o600, self_signed(cert, key, ["127.0.0.1", "localhost"]))


def test_a_certificate_that_cannot_be_used(tmp_path: Path) -> None:
    """A file without a certificate is named, and nothing is served."""
    (tmp_path / "tls.crt").write_text("nothing")
    with pytest.raises(UnusableFile, match=r"tls\.crt"), Sandbox().serve(certfile=tmp_path / "tls.crt"):
        pass


def test_a_shared_sandbox_has_keys_of_its_own() -> None:
    """A shared sandbox's URL refuses the seeded keys, which every installation has, and accepts the guide's keys."""
    with wb.connect(seed=1) as api:
        url = api.sandbox.share()
        everywhere = wb.Sandbox(seed=1).guide()["api_keys"]
        there = httpx.get(f"{url}/_sandbox/guide").json()["api_keys"]
        asked = f"{url}/v1/issuing/tenants/contracts"

        assert there.keys() == everywhere.keys()
        assert not {*there.values()} & {*everywhere.values()}
        for headers in ({"Api-Key": everywhere["full"]}, {"Authorization": f"Bearer {everywhere['full']}"}):
            assert httpx.get(asked, headers=headers).status_code == 401
            assert httpx.post(f"{url}/_sandbox/advance", headers=headers, json={"hours": 1}).status_code == 401
        assert httpx.get(asked, headers={"Api-Key": there["full"]}).status_code == 200
        with wb.connect(url) as other:
            assert other.list_contracts() == api.list_contracts()
            assert other.sandbox.events() is not None
            assert other.sandbox.guide()["api_keys"] == there
        assert api.list_contracts()  # the session of this process still works


def test_a_session_of_a_shared_url_verifies_its_events() -> None:
    """Events and webhooks that a shared URL sends are signed with this URL's keys, which its callers know."""
    with wb.connect(seed=1) as api, wb.connect(api.sandbox.share()) as other:
        guide = other.sandbox.guide()
        with Inbox(keys=[guide["api_keys"]["full"]]) as receiver, receiver.serve() as url:
            other.sandbox.register_endpoint(url)
            api.sandbox.review(guide["users"]["approved"][0], "denied")
            assert other.sandbox.flush().ok

            assert [row.state for row in other.sandbox.deliveries()] == ["delivered"]
            for inbox in (receiver, other.inbox, api.inbox):
                assert [event.body.application_status for event in inbox.events()] == ["denied"]


def test_a_shared_sandbox_keeps_random_keys() -> None:
    sandbox = Sandbox(random_keys=True)
    try:
        assert httpx.get(f"{sandbox.share()}/_sandbox/guide").json()["api_keys"] == sandbox.guide()["api_keys"]
    finally:
        sandbox.close()
