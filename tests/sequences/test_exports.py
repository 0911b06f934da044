"""Calls that were made become a sequence, a test, a script and a HAR file, each of which runs; nothing private is in them."""

import json
import re

import httpx
import pytest

from workbench.base.errors import UsageError
from workbench.client.session import Session, connect
from workbench.runs.sequences import catalogue, from_toml, run
from workbench.sandbox import Sandbox
from workbench.testing import to_text

SEED = 3
PRIVATE = {"first_name": "Adalind", "last_name": "Canary", "email": "canary@example.org", "national_id": "000654321"}


@pytest.fixture(scope="module")
def api() -> Session:
    """A session with an application, a purchase, a refusal and a deletion."""
    made = connect(seed=SEED)
    applied = made.create_user_application(**{**catalogue["application-pending"]["apply"].arguments, **PRIVATE})
    made.update_user(user_id=applied.id, last_name="Canary", phone_number="5550199", phone_country_code="1")
    for name in ("refund-partial", "wrong-reversal-twice", "payment-account-made-and-deleted"):
        run(made, catalogue[name])
    return made


def checked(text: str) -> str:
    """Return an export that holds nothing private."""
    assert not any(value in text for value in (*PRIVATE.values(), "5550199"))
    return text


def test_a_sequence(api: Session) -> None:
    """Ids are references, and it runs on another sandbox of the seed."""
    space: dict[str, str] = {}
    exec(checked(to_text(api.journal, "pytest", seed=SEED)).split("\n\n\n")[0], space)
    text = space["SEQUENCE"]
    result = run(Sandbox(seed=SEED), from_toml(text))

    assert result.ok, result.verdict
    assert 'user_id = { ref = "create user application.id" }' in text


def test_a_pytest_file(api: Session) -> None:
    """Its test passes."""
    space: dict[str, object] = {}
    exec(compile(checked(to_text(api.journal, "pytest", seed=SEED, name="An export")), "test_export.py", "exec"), space)

    space["test_an_export"]()  # type: ignore[operator]


def test_a_har_file(api: Session) -> None:
    """Its requests get the recorded statuses and ids from a sandbox of the seed, settled where the recorded one was."""
    entries = json.loads(checked(to_text(api.journal, "har")))["log"]["entries"]
    sandbox = Sandbox(seed=SEED)
    with httpx.Client(transport=sandbox.transport(), headers={"Api-Key": sandbox.full_key}) as client:
        for entry in entries:
            asked, recorded = entry["request"], entry["response"]
            if asked["url"].endswith("/refund"):
                sandbox.settle(asked["url"].split("/")[-2])
            body = json.loads(asked["postData"]["text"]) if "postData" in asked else None
            answer = client.request(asked["method"], asked["url"], json=body)
            assert answer.status_code == recorded["status"]
            if answer.is_success and recorded["content"]["text"]:
                given = json.loads(recorded["content"]["text"])
                assert {name: answer.json()[name] for name in given if name.lower().endswith("id")} == {
                    name: value for name, value in given.items() if name.lower().endswith("id")
                }


def test_the_log_of_a_sandbox(api: Session) -> None:
    """It has no answers, so its ids stay; refused paths are left out."""
    text = checked(to_text(api.sandbox.requests(), "pytest", last=3))

    assert re.findall(r'^do = "(\w+)"', text, re.MULTILINE) == [one.operation for one in api.sandbox.requests()[-3:]]


@pytest.mark.parametrize("calls, to", [([], "har"), (None, "docx")], ids=["nothing", "format"])
def test_what_cannot_be_exported(api: Session, calls: object, to: str) -> None:
    """No call, or an unknown format."""
    with pytest.raises(UsageError):
        to_text(api.journal if calls is None else [], to)  # type: ignore[arg-type]
