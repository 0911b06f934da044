"""A sandbox in a file survives kills and restarts, and several processes share it."""

import json
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.driver import state_of
from workbench.base.errors import UnusableFile
from workbench.sandbox import Request, Sandbox
from workbench.sandbox.internals import internals
from workbench.sandbox.store import FileStore

PURCHASE = {"amount": 100, "currency": "USD", "merchantName": "Corner Grocery", "merchantCategoryCode": "5411"}


def purchase(sandbox: Sandbox) -> str:
    """Authorize a purchase; return the transaction."""
    card = sandbox.guide()["cards"]["active"][0]
    headers = {"api-key": sandbox.full_key, "content-type": "application/json"}
    body = json.dumps({"cardId": card, **PURCHASE}).encode()
    answer = internals(sandbox).engine.answer(Request("POST", "/v1/simulate/transactions/authorize", "", headers, body))
    assert answer.status == 200, answer
    found: str = json.loads(answer.body)["transactionId"]
    return found


def query(path: Path, statement: str) -> list[tuple[Any, ...]]:
    """Return the result of a statement on a sandbox's file."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def everything(sandbox: Sandbox) -> Any:
    """Return the state as JSON values."""
    return json.loads(json.dumps(state_of(sandbox), default=str))


def test_state_survives_a_restart(tmp_path: Path) -> None:
    """Records, clock, snapshots and endpoints survive a restart in the same order."""
    first = Sandbox(seed=7, behavior="observed", path=tmp_path / "s.db")
    purchase(first)
    first.advance(hours=1)
    first.snapshot("noon")
    purchase(first)
    before, order = everything(first), [one["id"] for one in first.records("transaction")]
    first.close()
    second = Sandbox(path=tmp_path / "s.db")

    assert (second.seed, second.behavior) == (7, "observed")
    assert everything(second) == before
    assert [one["id"] for one in second.records("transaction")] == order
    second.restore("noon")
    assert len(second.records("transaction")) == len(order) - 1
    second.close()


@pytest.mark.parametrize("other", [{"seed": 2}, {"environment": "production"}, {"behavior": "observed"}], ids=str)
def test_what_it_was_made_with_stays(tmp_path: Path, other: dict[str, Any]) -> None:
    """A file is not opened with a seed, environment or behavior other than its own."""
    Sandbox(seed=1, path=tmp_path / "s.db").close()

    with pytest.raises(UnusableFile, match="cannot be changed"):
        Sandbox(path=tmp_path / "s.db", **other)
    Sandbox(path=tmp_path / "s.db").close()


def test_refused_request_writes_nothing(tmp_path: Path) -> None:
    """A refused request and a read leave the file unchanged."""
    sandbox = Sandbox(path=tmp_path / "s.db")
    stored = "SELECT kind, id, data FROM value"
    before = query(tmp_path / "s.db", stored)
    headers = {"api-key": sandbox.full_key, "content-type": "application/json"}
    for method, path in (("POST", "/v1/simulate/transactions/authorize"), ("GET", "/v1/issuing/tenants/contracts")):
        internals(sandbox).engine.answer(Request(method, path, "", headers))

    assert query(tmp_path / "s.db", stored) == before
    sandbox.close()


def test_two_on_one_file_see_each_other(tmp_path: Path) -> None:
    """Two sandboxes on one file see each other's writes, and never assign an id twice."""
    one, other = Sandbox(path=tmp_path / "s.db"), Sandbox(path=tmp_path / "s.db")
    ids = [purchase(sandbox) for sandbox in (one, other, one, other)]
    other.clock.advance(seconds=5)

    assert len(set(ids)) == 4
    assert {one.state(ids[1])["id"], other.state(ids[0])["id"]} == set(ids[:2])
    assert everything(one) == everything(other)
    other.reset()
    assert everything(one) == everything(other)
    one.close()
    other.close()


@pytest.mark.soak
def test_many_purchases_and_a_reset(tmp_path: Path) -> None:
    """After many purchases all sandboxes on the file agree, and a reset frees the space of deleted values."""
    one, other = Sandbox(path=tmp_path / "s.db"), Sandbox(path=tmp_path / "s.db")
    for _ in range(600):
        one.clock.advance(seconds=1)
        purchase(one)
    placed = query(tmp_path / "s.db", "SELECT count(*) FROM value")[0][0]

    assert everything(one) == everything(other)
    one.close()
    third = Sandbox(path=tmp_path / "s.db")
    assert everything(third) == everything(other)
    third.reset()
    assert query(tmp_path / "s.db", "SELECT count(*) FROM value")[0][0] < placed - 1_000
    assert everything(third) == everything(other)
    third.close()
    other.close()


def test_what_was_used_last_is_in_memory(tmp_path: Path) -> None:
    """A store caches a limited number of values, and reads the others from the file."""
    store = FileStore(tmp_path / "s.db", recent=10)
    for start in range(0, 2_000, 20):
        with store:
            for number in range(start, start + 20):
                store.put("row", str(number), {"number": number, "text": "x" * 1_000})
    tracemalloc.start()
    numbers = [store.get("row", str(number))["number"] for number in range(2_000)]
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    store.close()

    assert numbers == list(range(2_000))
    assert grown < 300_000  # maximum growth in bytes, for 2 MB of values


def test_fork_is_independent(tmp_path: Path) -> None:
    """A fork has the state but shares no file, endpoint or later write."""
    sandbox = Sandbox(path=tmp_path / "s.db")
    sandbox.register_endpoint("http://127.0.0.1:9/")
    purchase(sandbox)
    fork = sandbox.fork()
    before = sandbox.events()
    purchase(fork)

    assert sandbox.events() == before == fork.events()[:-2]
    assert fork.endpoints() == []
    sandbox.close()


def test_faults_and_requests_are_kept(tmp_path: Path) -> None:
    """The next process finds fault rules with their counts, and the last requests, until they are removed."""
    first = Sandbox(path=tmp_path / "s.db")
    first.add_fault("status", of="simulate_authorization", nth=2, status=503, matching={"amount": 100})
    first.reset()
    purchase(first)
    first.close()
    second = Sandbox(path=tmp_path / "s.db")
    (rule,), (request,) = second.list_faults(), second.requests()
    with pytest.raises(AssertionError, match="503"):
        purchase(second)

    assert (rule.matched, rule.applied, dict(rule.matching)) == (1, 0, {"amount": 100})
    assert (request.operation, request.status, request.body["amount"]) == ("simulate_authorization", 200, 100)
    assert [one.fault for one in second.requests()] == [None, "status"]
    assert second.fork().list_faults() == []
    second.clear_faults()
    second.close()
    third = Sandbox(path=tmp_path / "s.db")
    assert (third.list_faults(), len(third.requests())) == ([], 2)
    third.close()


@pytest.mark.filterwarnings("ignore:.*damaged record is set aside")
@pytest.mark.parametrize("kind,lost", [("event", 1), ("transaction", 2)], ids=str)
def test_damaged_values_are_set_aside(tmp_path: Path, kind: str, lost: int) -> None:
    """Damaged events, and the events of a damaged transaction, are set aside. All others can be read."""
    first = Sandbox(path=tmp_path / "s.db")
    purchase(first)
    purchase(first)
    first.snapshot("all")
    before = first.events()
    first.close()
    of = "id = '1'" if kind == "event" else f"o = (SELECT max(o) FROM value WHERE kind = '{kind}')"
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        connection.execute(f"UPDATE value SET data = zeroblob(40) WHERE kind = '{kind}' AND {of}")
        connection.commit()
    second = Sandbox(path=tmp_path / "s.db")

    assert second.events() == (before[lost:] if kind == "event" else before[:-lost])
    second.close()
