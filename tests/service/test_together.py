"""Requests that are there at the same time share one transaction, and nobody can tell but by the time it takes."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.service.plain import Plain
from workbench.errors import UnusableFile
from workbench.sandbox import Request, Sandbox
from workbench.sandbox.file_store import FileBackend
from workbench.sandbox.server import GroupCommit

PURCHASE = {"amount": 100, "currency": "USD", "merchantName": "Corner Grocery", "merchantCategoryCode": "5411"}


def purchases(sandbox: Sandbox, *amounts: int) -> list[Request]:
    """Return requests that authorize purchases; one of nothing is refused."""
    card = sandbox.guide()["cards"]["active"][0]
    headers = {"api-key": sandbox.full_key, "content-type": "application/json"}
    bodies = [json.dumps({"cardId": card, **PURCHASE, "amount": amount}).encode() for amount in amounts]
    return [Request("POST", "/v1/simulate/transactions/authorize", "", headers, body) for body in bodies]


def together(sandbox: Sandbox, requests: list[Request]) -> list[Any]:
    """Return what is answered to requests of one moment; an error stands in place of its answer."""

    async def play() -> list[Any]:
        front = GroupCommit(sandbox)
        return await asyncio.gather(*(front.play(one) for one in requests), return_exceptions=True)

    return asyncio.run(play())


def rows(sandbox: Sandbox) -> int:
    """Return how many transactions the file has had."""
    assert isinstance(sandbox.store.backend, FileBackend)
    found: int = sandbox.store.backend.file.run("SELECT max(version) FROM log")[0][0]
    return found


def test_one_transaction_and_the_same_bytes(tmp_path: Path) -> None:
    """The answers and the state are those of one request after another, a refused one among them; the file is written once."""
    sandbox, other = Sandbox(path=tmp_path / "a.db"), Sandbox(path=tmp_path / "b.db")
    before = rows(sandbox)
    answers = [played.response for played in together(sandbox, purchases(sandbox, 100, 0, 200, 300))]

    assert [answer.status for answer in answers] == [200, 400, 200, 200]
    assert answers == [other.handle(one) for one in purchases(other, 100, 0, 200, 300)]
    assert sandbox.store.copy() == other.store.copy()
    assert rows(sandbox) == before + 1
    sandbox.close()
    again = Sandbox(path=tmp_path / "a.db")
    assert json.loads(json.dumps(again.store.copy())) == json.loads(json.dumps(other.store.copy()))
    again.close()
    other.close()


def test_events_are_told_after_the_commit(tmp_path: Path) -> None:
    """A subscriber hears each event once, in order, when it is durable."""
    sandbox = Sandbox(path=tmp_path / "a.db")
    heard: list[tuple[int, int]] = []
    sandbox.subscribe(lambda _, body: heard.append((json.loads(body)["body"]["spend"]["amount"], rows(sandbox))))
    before = rows(sandbox)
    together(sandbox, purchases(sandbox, 100, 200, 300))

    assert [amount for amount, _ in heard] == [100, 100, 200, 200, 300, 300]
    assert {storage for _, storage in heard} == {before + 1}
    sandbox.close()


def test_commit_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request of the transaction learns it; nothing is kept, told or listed, and the next ones are answered."""
    sandbox = Sandbox(path=tmp_path / "a.db")
    assert isinstance(sandbox.store.backend, FileBackend)
    heard: list[bytes] = []
    sandbox.subscribe(lambda _, body: heard.append(body))
    first = together(sandbox, purchases(sandbox, 50, 60))
    before, told, listed = sandbox.store.copy(), list(heard), sandbox.requests()

    def full() -> None:
        sandbox.store.backend.file.rollback()  # type: ignore[union-attr]
        raise UnusableFile("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(sandbox.store.backend.file, "commit", full)
        failed = together(sandbox, purchases(sandbox, 100, 0, 200))
    assert [type(one) for one in failed] == [UnusableFile] * 3
    assert (sandbox.store.copy(), heard, sandbox.requests()) == (before, told, listed)
    more = together(sandbox, purchases(sandbox, 100, 200))
    assert [one.response.status for one in (*first, *more)] == [200] * 4
    sandbox.close()


def test_busy_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the transaction cannot begin, each request learns it, and the store is free again."""
    sandbox = Sandbox(path=tmp_path / "a.db")
    requests = purchases(sandbox, 100, 200)

    def busy(_: object) -> None:
        raise UnusableFile("busy")

    with monkeypatch.context() as patch:
        patch.setattr(sandbox.store.backend, "begin", busy)
        failed = together(sandbox, requests)
    assert [type(one) for one in failed] == [UnusableFile] * 2
    assert [one.response.status for one in together(sandbox, requests)] == [200, 200]
    sandbox.close()


def test_subscriber_that_fails(sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    """What was written is answered, whatever becomes of those who listen."""

    def listener(_: object, __: object) -> None:
        raise RuntimeError("ada@example.com")

    sandbox.subscribe(listener)
    assert [one.response.status for one in together(sandbox, purchases(sandbox, 100, 200))] == [200, 200]
    assert "RuntimeError" in caplog.text
    assert "ada@" not in caplog.text


def test_many_senders(sandbox: Sandbox, url: str, tmp_path: Path) -> None:
    """What sixteen senders were answered stands in the file, and took fewer transactions than there were writes."""
    card, before = sandbox.guide()["cards"]["active"][0], rows(sandbox)
    answered: list[str] = []

    def send() -> None:
        with Plain(url) as plain:
            for _ in range(20):
                found = plain.call(
                    "POST", "/simulate/transactions/authorize", {"cardId": card, **PURCHASE, "amount": 1}
                )
                answered.append(found["transactionId"])

    senders = [threading.Thread(target=send) for _ in range(16)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    other = Sandbox(path=tmp_path / "sandbox.db")

    assert len(set(answered)) == 320
    assert set(answered) <= {key for key, _ in other.store.items("transaction")}
    assert rows(sandbox) - before < 320
    other.close()
