"""All attempts of a call have the same idempotency key: in resends, resumed runs, and with the caller's key."""

import asyncio
import json
import sqlite3
import warnings
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest

import workbench as wb
from tests.client.doubles import AUTHORIZED, PURCHASE, TRANSACTION, FakeClock, Service, client_on
from tests.each import each
from workbench.base.errors import AdviceWarning
from workbench.client.calls.client import AsyncClient

REFUND = {"transaction_id": TRANSACTION, "amount": 100}
HONORED = {"idempotency_keys": True}


def keys_of(service: Service) -> list[str | None]:
    """Return the idempotency keys of the requests that a service received."""
    return [request.headers.get("idempotency-key") for request in service.requests]


def journal_entries(api: Any) -> list[Any]:
    """Return the entries of a client's journal."""
    return list(api.journal)


def test_a_resent_call_keeps_the_key_of_the_first_attempt() -> None:
    """Every resend sends the key of the first attempt, whether the caller or the client chose the key."""
    for given in (None, "order-1"):
        lost = httpx.ReadTimeout("x")
        service = Service(lost, lost, AUTHORIZED)
        client = client_on(service, idempotency_header="Idempotency-Key")
        block = nullcontext() if given is None else client.idempotency(given)
        with pytest.raises(wb.OutcomeUnknown), block:
            client.simulate_refund(**REFUND)
        for _ in range(2):
            (entry,) = client.journal.unknown()
            try:
                client.journal.resend(entry.id, REFUND, accept_double=True)
            except wb.OutcomeUnknown:
                client.journal.resolve(entry.id, "not_sent")
        first, *others = journal_entries(client)

        assert keys_of(service) == [given or first.id] * 3
        assert [entry.idempotency_key for entry in (first, *others)] == [given or first.id] * 3
        assert len({entry.id for entry in (first, *others)}) == 3


def test_the_journal_keeps_the_key_in_its_file(tmp_path: Path) -> None:
    """A resend in another process sends the key that the journal's file stores."""
    path = tmp_path / "journal.db"
    service = Service(httpx.ReadTimeout("x"), AUTHORIZED)
    first = client_on(service, journal=path)
    with pytest.raises(wb.OutcomeUnknown), first.idempotency("order-1"):
        first.simulate_refund(**REFUND)
    first.close()
    later = client_on(service, journal=path)
    (entry,) = later.journal.unknown()
    later.journal.resend(entry.id, REFUND, accept_double=True)

    assert entry.idempotency_key == "order-1"
    assert [row.idempotency_key for row in later.journal] == ["order-1", "order-1"]
    assert keys_of(service) == ["order-1", "order-1"]
    later.close()


def test_a_foreign_table_keeps_a_file_as_it_is(tmp_path: Path) -> None:
    """A file with another schema is refused, and left unchanged."""
    path = tmp_path / "journal.db"
    with client_on(Service(AUTHORIZED), journal=path) as api:
        api.simulate_refund(**REFUND)
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("DROP TABLE keys")
        file.execute("DELETE FROM checksums WHERE of_table = 'keys'")
        file.execute("DROP TABLE notes")
        file.execute("CREATE TABLE notes (other TEXT)")
        file.execute("PRAGMA user_version=2")
    file.close()
    before = path.read_bytes()

    with pytest.raises(wb.errors.UnusableFile):
        wb.Journal(path)
    assert path.read_bytes() == before


def test_a_key_of_the_caller_is_sent_without_a_profile_that_names_its_header() -> None:
    """The caller's key is sent only inside the block, by this client, and for calls with an effect."""
    service = Service([], AUTHORIZED, AUTHORIZED)
    client = client_on(service)
    with client.idempotency("order-1"):
        client.list_contracts()
        client.allowing(again=True).simulate_authorization(**PURCHASE)
        client_on(service).simulate_authorization(**PURCHASE)
    client.simulate_authorization(**PURCHASE)

    assert keys_of(service) == [None, "order-1", None, None]
    assert [entry.idempotency_key for entry in client.journal] == ["order-1", None]


def test_a_key_belongs_to_one_call() -> None:
    """An equal call may repeat the key. A different call with the key is refused before it is sent, also later."""
    service = Service(AUTHORIZED)
    client = client_on(service)
    with client.idempotency("order-1"):
        client.simulate_authorization(**PURCHASE)
        client.simulate_authorization(**PURCHASE)
        with pytest.raises(wb.InvalidRequest, match="order-1"):
            client.simulate_authorization(**{**PURCHASE, "amount": 1251})
    with client.idempotency("order-1"), pytest.raises(wb.InvalidRequest, match="order-1"):
        client.simulate_refund(**REFUND)
    with client.idempotency("order-2"):
        client.simulate_refund(**REFUND)

    assert keys_of(service) == ["order-1", "order-1", "order-2"]


@each("key", ["", " ", "a\nb", "ä", "x" * 256, " a", 7, None])
def test_a_key_that_no_header_can_hold_is_refused(key: Any) -> None:
    """A key that no header can contain is refused before anything is sent."""
    client = client_on(Service(AUTHORIZED))
    with pytest.raises(wb.errors.UsageError, match="idempotency"), client.idempotency(key):
        raise AssertionError


def test_tasks_have_keys_of_their_own() -> None:
    """Concurrent calls send the keys of their blocks, even if a task outlives its block."""
    service = Service(AUTHORIZED)
    client = AsyncClient(
        base_url="https://api.example.com/v1",
        api_key="a-key",
        clock=FakeClock(),
        transport=httpx.MockTransport(service),
    )

    async def buy(number: int) -> None:
        with client.idempotency(f"order-{number}"):
            await asyncio.sleep(0)
            await client.simulate_authorization(**{**PURCHASE, "amount": number})

    async def run() -> None:
        await asyncio.gather(*(buy(number) for number in range(1, 21)))
        with client.idempotency("order-21"):
            task = asyncio.create_task(buy_later())
        await task
        await buy_later()

    async def buy_later() -> None:
        await asyncio.sleep(0)
        await client.simulate_authorization(**{**PURCHASE, "amount": 21})

    asyncio.run(run())
    sent = {
        json.loads(request.content)["amount"]: request.headers.get("idempotency-key")
        for request in service.requests[:21]
    }

    assert sent == {number: f"order-{number}" for number in range(1, 22)}
    assert keys_of(service)[21] is None


def test_twenty_lost_answers_and_twenty_resends_are_carried_out_once_each() -> None:
    """A service that honors keys carries out twenty resent calls once each, with default keys and the caller's keys."""
    for header in ("Idempotency-Key", None):
        api = wb.connect(behavior=HONORED, idempotency_header=header)
        card = api.sandbox.guide()["cards"]["active"][0]
        before = len(api.sandbox.records("transaction"))
        api.sandbox.add_fault("lost", times=20)
        for amount in range(101, 121):
            purchase = {**PURCHASE, "card_id": card, "amount": amount}
            block = nullcontext() if header else api.idempotency(f"order-{amount}")
            with pytest.raises(wb.OutcomeUnknown), block:
                api.simulate_authorization(**purchase)
        for entry in api.journal.unknown():
            purchase = {**PURCHASE, "card_id": card, "amount": entry.request["amount"]}
            api.journal.resend(entry.id, purchase, accept_double=True)

        assert not api.journal.unknown()
        assert len(api.sandbox.records("transaction")) - before == 20


def test_rows_of_a_run_that_are_sent_again_keep_their_keys(tmp_path: Path) -> None:
    """Rows with lost answers that were resolved as not sent are resumed, and take effect once each."""
    api = wb.connect(behavior=HONORED, idempotency_header="Idempotency-Key")
    card = api.sandbox.guide()["cards"]["active"][0]
    before = len(api.sandbox.records("transaction"))
    rows = [{**PURCHASE, "card_id": card, "amount": amount} for amount in range(101, 121)]
    api.sandbox.add_fault("lost", times=20)
    path = tmp_path / "run.db"
    result = wb.bulk.run(api.simulate_authorization, rows, path=path, progress=False)
    while result.unknown() or not result.ok:
        resolved = {row.row: "not_sent" for row in result.unknown()}
        result = wb.bulk.resume(api, path, rows, resolved=resolved, progress=False)  # type: ignore[arg-type]

    assert len(api.sandbox.records("transaction")) - before == 20
    keys = [entry.idempotency_key for entry in api.journal]
    assert len(set(keys)) == 20 < len(keys)


def test_rows_that_are_the_same_have_keys_of_their_own(tmp_path: Path) -> None:
    """Two equal rows are two purchases, in one run and in two runs."""
    api = wb.connect(behavior=HONORED, idempotency_header="Idempotency-Key")
    card = api.sandbox.guide()["cards"]["active"][0]
    before = len(api.sandbox.records("transaction"))
    for number in range(2):
        rows = [{**PURCHASE, "card_id": card}] * 2
        path = tmp_path / f"{number}.db"
        assert wb.bulk.run(api.simulate_authorization, rows, path=path, duplicates=True, progress=False).ok

    assert len(api.sandbox.records("transaction")) - before == 4


def test_a_sandbox_that_ignores_the_header_says_so_once() -> None:
    """The behavior `documented` has no idempotency keys, which a warning states once."""
    api = wb.connect()
    card = api.sandbox.guide()["cards"]["active"][0]
    with pytest.warns(AdviceWarning, match="idempotency_keys"), api.idempotency("order-1"):
        api.simulate_authorization(**{**PURCHASE, "card_id": card, "amount": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with api.idempotency("order-2"):
            api.simulate_authorization(**{**PURCHASE, "card_id": card, "amount": 2})
        with api.idempotency("order-3"):
            api.update_user(user_id=api.sandbox.guide()["users"]["approved"][0], first_name="Grace")
