"""The journal: what it records and shows, and how unknown outcomes are resolved."""

import json
import multiprocessing
import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.client.doubles import AUTHORIZED, CARD, PURCHASE, TRANSACTION, FakeClock, Service, client_on
from workbench.base.errors import (
    AdviceWarning,
    ApiError,
    BadRequest,
    CannotRecord,
    DuplicateSuspected,
    InvalidRequest,
    NotFound,
    OutcomeUnknown,
    UnusableFile,
    UsageError,
)
from workbench.base.schema.rules import FULL
from workbench.base.system.database import Database
from workbench.base.system.locks import FileLock
from workbench.client.calls.base import context_of
from workbench.client.calls.effects import Outcome
from workbench.client.calls.journal import Journal, recorder_of
from workbench.client.calls.keys import installation_secret
from workbench.service.interface.table import OPERATIONS

NATIONAL_ID = "900113344"
ACCOUNT = "000998877665544"
LOST = httpx.ReadTimeout("lost")

GONE = {"error": "NotFoundError", "message": "Payment account not found"}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a state folder of the test."""
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture(params=["memory", "file"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Journal]:
    """Return a function that makes a journal, in memory or in a file."""
    if request.param == "memory":
        return lambda: Journal(clock=FakeClock())
    return lambda: Journal(tmp_path / "journal.db", clock=FakeClock())


def test_a_call_is_recorded_before_it_leaves(make: Callable[[], Journal]) -> None:
    """While a call is in flight, the journal already contains it."""
    journal = make()
    seen = []

    def look(_: httpx.Request) -> httpx.Response:
        seen.extend(entry.outcome for entry in journal)
        return httpx.Response(200, json=AUTHORIZED)

    client_on(Service(look), journal=journal).simulate_authorization(**PURCHASE)

    assert seen == [Outcome.SENDING]
    assert [entry.outcome for entry in journal] == [Outcome.DONE]


def test_reads_are_not_recorded(make: Callable[[], Journal]) -> None:
    """A read is not recorded in the journal."""
    journal = make()
    client_on(Service([]), journal=journal).list_contracts()

    assert len(journal) == 0


def test_an_entry_tells_what_happened(make: Callable[[], Journal]) -> None:
    """An entry has the request, answer, times and status, with private values masked."""
    journal = make()
    client = client_on(Service({"id": CARD, "email": "grace@example.com", "status": "x"}), journal=journal)
    client.update_user(user_id=CARD, email="grace@example.com")
    entry = journal[next(iter(journal)).id]

    assert entry.request == {"userId": CARD, "email": "g•••@e•••.com"}
    assert entry.answer["id"] == CARD
    assert (200, "sandbox", f"PATCH user {CARD} (email)") == (entry.status, entry.environment, entry.what)
    assert f"<{entry}>" == repr(entry)
    assert "grace@" not in f"{entry!r} {entry} {entry.request} {entry.answer} {journal!r}"


def test_entries_can_be_found(make: Callable[[], Journal]) -> None:
    """Entries can be filtered by operation, outcome, time and text."""
    journal = make()
    clock = FakeClock()
    client = client_on(Service(AUTHORIZED, httpx.Response(400), LOST), journal=journal, clock=clock)
    client.simulate_authorization(**PURCHASE)
    clock.at += 60
    with pytest.raises(Exception, match="400"):
        client.simulate_refund(transaction_id=TRANSACTION, amount=100)
    clock.at += 60
    with pytest.raises(OutcomeUnknown):
        client.simulate_refund(transaction_id=TRANSACTION, amount=2500)

    assert len(journal.list(operation="simulate_refund")) == 2
    assert [e.what for e in journal.list(outcome="refused")] == ["POST refund of 1.00 on transaction " + TRANSACTION]
    assert len(journal.list(since=clock.start + timedelta(seconds=30))) == 2
    assert len(journal.list(until=clock.start + timedelta(seconds=30))) == 1
    assert len(journal.list(text=CARD)) == 1
    with pytest.raises(UsageError):
        journal["nothing"]


def _unknown(client: Any) -> str:
    with pytest.raises(OutcomeUnknown) as caught:
        client.simulate_refund(transaction_id=TRANSACTION, amount=2500)
    return caught.value.attempt.id


@pytest.mark.parametrize("end", ["done", "not_sent"])
def test_a_person_resolves(make: Callable[[], Journal], end: Any) -> None:
    """A resolution stores the person and the note, and the call is no longer listed as unknown."""
    journal = make()
    attempt = _unknown(client_on(Service(LOST), journal=journal))
    resolved = journal.resolve(attempt, end, note="seen in the dashboard")

    assert resolved.resolution is not None
    assert (end, "seen in the dashboard") == (resolved.resolution.outcome, resolved.resolution.note)
    assert resolved.resolution.by
    assert journal.unknown() == []
    assert [attempt] == [entry.id for entry in journal.list(outcome=end)]
    assert journal[attempt].outcome is Outcome.UNKNOWN


def test_only_unknown_ends_are_resolved(make: Callable[[], Journal]) -> None:
    """A known outcome is not overwritten, and only `done` and `not_sent` are accepted."""
    journal = make()
    client = client_on(Service(LOST, AUTHORIZED), journal=journal)
    attempt = _unknown(client)
    client.simulate_authorization(**PURCHASE)
    done = journal.list(outcome="done")[0].id
    with pytest.raises(UsageError, match="only an unknown outcome can be resolved"):
        journal.resolve(done, "not_sent")
    with pytest.raises(UsageError, match="resolved as"):
        journal.resolve(attempt, "refused")  # type: ignore[arg-type]


def test_resend_is_asked_for_twice(make: Callable[[], Journal]) -> None:
    """A resend requires `accept_double`. It sends the call once and resolves the entry."""
    journal = make()
    service = Service(LOST, AUTHORIZED)
    client = client_on(service, journal=journal)
    attempt = _unknown(client)
    request = OPERATIONS["simulate_refund"].request(transaction_id=TRANSACTION, amount=2500)
    with pytest.raises(UsageError, match="accept_double=True"):
        journal.resend(attempt, request)
    client.journal.resend(attempt, request, accept_double=True)

    assert service.count == 2
    assert journal.unknown() == []
    assert journal[attempt].resolution is not None
    with pytest.raises(UsageError, match="was resolved as done by resend"):
        journal.resend(attempt, request, accept_double=True)


def test_resend_takes_arguments_too(make: Callable[[], Journal]) -> None:
    """A resend accepts a record or a dict of arguments, and names unknown arguments."""
    journal = make()
    service = Service(LOST, AUTHORIZED)
    attempt = _unknown(client_on(service, journal=journal))
    with pytest.raises(InvalidRequest, match="did you mean amount"):
        journal.resend(attempt, {"transaction_id": TRANSACTION, "ammount": 2500}, accept_double=True)
    journal.resend(attempt, {"transaction_id": TRANSACTION, "amount": 2500}, accept_double=True)

    assert service.count == 2
    assert journal.unknown() == []


def test_what_a_person_said_can_be_put_right(make: Callable[[], Journal]) -> None:
    """A resolution can be corrected, by name or displayed text. The notes keep the earlier resolution."""
    journal = make()
    attempt = _unknown(client_on(Service(LOST), journal=journal))
    journal.resolve(attempt, "done", note="seen")
    assert journal.resolve(attempt, "not sent").resolution.outcome is Outcome.NOT_SENT  # type: ignore[union-attr]

    assert [note.kind for note in journal.notes] == ["resolved again"]
    assert f"{attempt} was done" in journal.notes[0].text
    assert [attempt] == [entry.id for entry in journal.list(outcome="not sent")]


def test_a_slip_in_a_filter_is_named(make: Callable[[], Journal]) -> None:
    """A filter that no entry can match is refused instead of returning an empty list."""
    journal = make()
    client = client_on(Service(AUTHORIZED), journal=journal)
    client.simulate_authorization(**PURCHASE)
    with pytest.raises(UsageError, match="done, refused, not_sent, unknown, sending"):
        journal.list(outcome="failed")
    with pytest.raises(UsageError, match="did you mean simulate_refund"):
        journal.list(operation="simulate_refnd")

    assert len(journal.list(operation=client.simulate_authorization)) == 1


def test_resend_takes_the_same_request_only(make: Callable[[], Journal]) -> None:
    """A resend refuses a different request or another operation."""
    journal = make()
    service = Service(LOST, AUTHORIZED)
    attempt = _unknown(client_on(service, journal=journal))
    takes = OPERATIONS["simulate_refund"].request
    for other in (
        takes(transaction_id=TRANSACTION, amount=2501),
        OPERATIONS["simulate_reversal"].request(transaction_id=TRANSACTION, new_amount=FULL),
    ):
        with pytest.raises(UsageError, match="differs from the request"):
            journal.resend(attempt, other, accept_double=True)

    assert service.count == 1


def _answer(error: str, message: str, status: int) -> httpx.Response:
    return httpx.Response(status, json={"statusCode": status, "error": error, "message": message})


PERSON = {
    "persona_share_token": "token", "ip_address": "203.0.113.5", "occupation": "Engineer",
    "annual_salary": "1", "account_purpose": "Everyday", "expected_monthly_volume": "1",
    "external_id": "customer-77",
}  # fmt: skip


@pytest.mark.parametrize(
    "name, arguments, answer, probable",
    [
        ("delete_payment_account", {"payment_account_id": CARD}, httpx.Response(404, json=GONE), True),
        ("delete_payment_account", {"payment_account_id": CARD}, _answer("NotFoundError", "Team not found", 404), False),
        ("create_user_application", PERSON, _answer("ConflictError", "External id already in use", 409), True),
        ("create_user_application", PERSON, _answer("Conflict", "in-progress request using this Idempotent Key", 409), False),
        ("create_user_application", PERSON, _answer("ConflictError", "Email already in use", 409), False),
        ("create_user_application", PERSON, httpx.Response(409), False),
        ("update_user", {"user_id": CARD, "external_id": "x"}, _answer("ConflictError", "External id already in use", 409), False),
    ],
)  # fmt: skip
def test_a_refused_resend_proves_nothing(
    make: Callable[[], Journal], name: str, arguments: dict[str, Any], answer: httpx.Response, probable: bool
) -> None:
    """After a refused resend the first attempt stays unknown. The operation's own conflict suggests that it is done."""
    journal = make()
    client = client_on(Service(LOST, answer), journal=journal)
    with pytest.raises(OutcomeUnknown) as caught:
        getattr(client, name)(**arguments)
    attempt = caught.value.attempt.id
    with pytest.raises(ApiError) as refused:
        journal.resend(attempt, arguments, accept_double=True)

    assert [entry.id for entry in journal.unknown()] == [attempt]
    assert ("Probably carried out by the earlier attempt" in str(refused.value)) is probable
    assert ("probably done" in journal.evidence(attempt).reason) is probable
    assert journal.evidence(attempt).outcome is None


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(404),
        httpx.Response(404, json={**GONE, "message": "Team not found"}),
        httpx.Response(404, html="<h1>Not Found</h1>"),
    ],
    ids=["empty", "team", "proxy"],
)
def test_another_404_to_a_resent_deletion_is_a_refusal(make: Callable[[], Journal], answer: httpx.Response) -> None:
    """Only the documented 404 proves a deletion; a wrong team's or a proxy's 404 does not."""
    journal = make()
    client = client_on(Service(LOST, answer), journal=journal)
    with pytest.raises(OutcomeUnknown) as caught:
        client.delete_payment_account(payment_account_id=CARD)
    request = OPERATIONS["delete_payment_account"].request(payment_account_id=CARD)

    with pytest.raises(NotFound):
        client.journal.resend(caught.value.attempt.id, request, accept_double=True)


def test_an_end_that_cannot_be_recorded_is_reported(
    make: Callable[[], Journal], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the outcome cannot be recorded, the caller still gets the answer, and the entry counts as unknown."""
    journal = make()
    client = client_on(Service(AUTHORIZED), journal=journal)

    def full(*_: Any, **__: Any) -> None:
        raise CannotRecord("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(recorder_of(journal), "finish", full)
        with pytest.warns(AdviceWarning, match="could not be recorded"):
            answer = client.simulate_authorization(**PURCHASE)

    assert answer.transaction_id == TRANSACTION
    assert len(journal.unknown()) == 1


# files


def test_a_file_is_for_its_owner_and_holds_no_private_value(tmp_path: Path, state: Path) -> None:
    """The file contains masked values and keyed hashes, and only its owner can read it."""
    path = tmp_path / "folder" / "journal.db"
    journal = Journal(path)
    client = client_on(Service({"id": CARD, "status": "x"}), journal=journal)
    context_of(client).real = True  # the journal stores hashes only for a real service
    with pytest.warns(AdviceWarning, match="never issued"):
        client.update_ubo(
            company_id=CARD, ubo_id=CARD, national_id=NATIONAL_ID, country_of_issue="US", email="grace@example.com"
        )
    client.create_payment_account(
        type="externalFiatAccount", user_id=CARD,
        external_fiat_account={
            "beneficiary_type": "business", "beneficiary_business_name": "Canary Trading", "currency": "usd",
            "beneficiary_address": {
                "address_line1": "77 Canary Wharf", "city": "Springfield", "region": "IL", "postal_code": "62701",
                "country_code": "US",
            },
            "bank_name": "Example Bank", "account_number": ACCOUNT, "routing_number": "000000000",
        },
    )  # fmt: skip
    journal.close()
    kept = b"".join(one.read_bytes() for one in path.parent.iterdir())

    for canary in (NATIONAL_ID, ACCOUNT, "grace@", "Canary Trading", "Canary Wharf", "62701", "canary-key"):
        assert canary.encode() not in kept
    assert ACCOUNT[-2:].encode() in kept
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path, state / "secret")] == [0o600, 0o600]
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA application_id").fetchone()[0] != 0


def test_the_secret_is_one_per_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, state: Path) -> None:
    """Hashes are keyed by a secret that is created once. A damaged secret is refused."""
    assert installation_secret() == installation_secret()
    first = installation_secret()
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "another"))
    assert installation_secret() != first
    (tmp_path / "another" / "secret").write_bytes(b"short")
    with pytest.raises(CannotRecord, match="damaged"):
        installation_secret()


@pytest.mark.parametrize(
    "content", [b"not sqlite at all" * 20, b"SQLite format 3\0" + b"\0" * 84], ids=["text", "other"]
)
def test_a_file_of_others_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """A file that is not a journal is refused when it is opened, and left unchanged."""
    path = tmp_path / "journal.db"
    path.write_bytes(content)
    with pytest.raises(UnusableFile, match="not a workbench database"):
        Journal(path)

    assert path.read_bytes() == content


def test_a_folder_that_cannot_be_written_keeps_calls_here(tmp_path: Path) -> None:
    """No client is created if its journal cannot be written."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UnusableFile, match="cannot be created"):
        client_on(Service(AUTHORIZED), journal=tmp_path / "file" / "journal.db")


def test_a_journal_that_is_only_opened_leaves_no_file(tmp_path: Path) -> None:
    """The file is created by the first call."""
    assert list(Journal(tmp_path / "folder" / "journal.db")) == []
    assert list(tmp_path.iterdir()) == []


def _dies(path: str) -> None:
    def die(_: httpx.Request) -> httpx.Response:
        os._exit(0)

    client_on(Service(die), journal=path).simulate_authorization(**PURCHASE)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_call_of_a_dead_process_is_unknown(tmp_path: Path) -> None:
    """A call that was in flight when its process died has an unknown outcome for the next process."""
    path = str(tmp_path / "journal.db")
    child = multiprocessing.get_context("fork").Process(target=_dies, args=(path,))
    child.start()
    child.join()
    (entry,) = Journal(path).unknown()

    assert entry.error == "the outcome was not recorded"
    assert Journal(path).resolve(entry.id, "not_sent").final_outcome is Outcome.NOT_SENT
    assert list(tmp_path.glob("*.lock")) == []


@pytest.mark.parametrize("pid", [1, 2**22 + 1], ids=["a pid in use", "no such pid"])
@pytest.mark.parametrize("host", [socket.gethostname(), "pod-abc"])
def test_a_journal_that_moved_has_unknown_calls(tmp_path: Path, host: str, pid: int) -> None:
    """Calls in flight are unknown under another host name, and if another process has the process id."""
    path = tmp_path / "journal.db"
    client_on(Service(AUTHORIZED), journal=path).simulate_authorization(**PURCHASE)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE calls SET ending = 'sending', process = ?", (f"{host}:{pid}:77",))
    connection.execute("DELETE FROM checksums")
    connection.commit()
    connection.close()
    journal = Journal(path)
    (entry,) = journal.unknown()

    assert journal.resolve(entry.id, "done").final_outcome is Outcome.DONE


@pytest.mark.slow
def test_a_call_in_flight_elsewhere_is_not_unknown(tmp_path: Path) -> None:
    """A call that another live client has in flight is `sending`, not unknown."""
    path = tmp_path / "journal.db"

    def look(_: httpx.Request) -> httpx.Response:
        code = "import sys, workbench as wb; print(*[e.outcome for e in wb.Journal(sys.argv[1])])"
        ends.append(subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True).stdout.strip())
        ends.extend(entry.outcome for entry in Journal(path))
        return httpx.Response(200, json=AUTHORIZED)

    ends: list[Any] = []
    client = client_on(Service(look), journal=path)
    client.simulate_authorization(**PURCHASE)
    client.close()

    assert ends == ["sending", Outcome.SENDING]
    assert list(tmp_path.glob("*.lock")) == []


def test_two_journals_on_one_file_see_the_same(tmp_path: Path) -> None:
    """A journal opened on a file reads the entries that a client recorded in it."""
    path = tmp_path / "journal.db"
    client_on(Service(AUTHORIZED), journal=path).simulate_authorization(**PURCHASE)

    assert [e.what for e in Journal(path)] == ["POST authorization of 12.50 USD on card " + CARD]


# duplicate calls


def _real(service: Service, **more: Any) -> Any:
    client = client_on(service, **more)
    context_of(client).real = True
    return client


def test_the_same_again_is_an_error_in_production(make: Callable[[], Journal]) -> None:
    """In production an equal write within a day is refused unless allowed. A refused call does not count."""
    clock = FakeClock()
    service = Service({"id": CARD}, {"id": CARD}, httpx.Response(400), {"id": CARD}, {"id": CARD})
    client = _real(service, journal=make(), clock=clock, environment="production")
    recorder_of(client.journal).clock = clock
    client.arm(operations={"update_user"}, minutes=100, reason="test")
    client.update_user(user_id=CARD, first_name="Grace")
    with pytest.raises(DuplicateSuspected, match=r"Nothing was sent.*again=True") as caught:
        client.update_user(user_id=CARD, first_name="Grace")

    assert service.count == 1
    assert caught.value.earlier in [entry.id for entry in client.journal]
    client.allowing(again=True).update_user(user_id=CARD, first_name="Grace")
    with pytest.raises(BadRequest):
        client.update_user(user_id=CARD, first_name="Ada")
    client.update_user(user_id=CARD, first_name="Ada")  # a refused call is not a duplicate
    client.update_user(user_id=CARD, last_name="Ada")

    assert service.count == 5


def test_the_same_again_is_a_warning_on_a_sandbox_of_others(make: Callable[[], Journal]) -> None:
    """On a real sandbox an equal write within a day gives a warning; after a day it does not."""
    clock = FakeClock()
    journal = make()
    recorder_of(journal).clock = clock
    client = _real(Service(AUTHORIZED), journal=journal, clock=clock)
    client.simulate_authorization(**PURCHASE)
    with pytest.warns(AdviceWarning, match="it is sent again"):
        client.simulate_authorization(**PURCHASE)
    clock.at += 24 * 3600 + 1
    client.simulate_authorization(**PURCHASE)

    assert len(journal) == 3


def test_the_same_again_is_silent_on_the_embedded_sandbox() -> None:
    """On an embedded sandbox calls can be repeated without a warning."""
    client = client_on(Service(AUTHORIZED))
    for _ in range(3):
        client.simulate_authorization(**PURCHASE)

    assert len(client.journal) == 3


def test_hashes_are_keyed(make: Callable[[], Journal]) -> None:
    """Equal bodies have equal hashes with one secret, and different hashes with different secrets."""
    journal = make()
    row = OPERATIONS["update_ubo"]

    mine, other = recorder_of(journal), recorder_of(Journal())
    assert mine.digest(row, b"900113344") == mine.digest(row, b"900113344")
    assert mine.digest(row, b"900113344") != other.digest(row, b"900113344")


def test_the_journal_is_plain_data(make: Callable[[], Journal]) -> None:
    """Requests and answers of entries can be written as JSON, from memory and from a file."""
    journal = make()
    client_on(Service({"id": CARD, "createdAt": "2026-03-01T00:00:00Z", "x": 1}), journal=journal).update_user(
        user_id=CARD, first_name="Grace"
    )
    (entry,) = journal

    assert json.dumps([entry.request, entry.answer], default=str)
    assert "journal in" in repr(journal)


# other cases


def test_a_journal_of_no_client_sends_nothing(tmp_path: Path) -> None:
    """A journal without a client cannot resend a call."""
    attempt = _unknown(client_on(Service(LOST), journal=tmp_path / "journal.db"))
    journal = Journal(tmp_path / "journal.db")
    with pytest.raises(UsageError, match="has no client"):
        journal.resend(attempt, object(), accept_double=True)


def test_the_person_has_a_name(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Journal]) -> None:
    """A resolution names a person even if the system does not know the user's name."""
    journal = make()
    attempt = _unknown(client_on(Service(LOST), journal=journal))

    def nobody() -> str:
        raise KeyError("no such user")

    monkeypatch.setattr("getpass.getuser", nobody)
    resolved = journal.resolve(attempt, "done")

    assert resolved.resolution is not None
    assert resolved.resolution.by.startswith("uid ")


def test_a_damaged_journal_is_reported(tmp_path: Path) -> None:
    """A damaged file is reported as unreadable."""
    path = tmp_path / "journal.db"
    journal = Journal(path)
    client_on(Service(AUTHORIZED), journal=journal).simulate_authorization(**PURCHASE)
    journal.close()
    path.write_bytes(b"x" * 5000)
    with pytest.raises(CannotRecord, match="cannot be read"):
        list(journal)


def test_a_closed_journal_opens_again(tmp_path: Path) -> None:
    """Closing a client closes the file, and the next read opens it again."""
    client = client_on(Service(AUTHORIZED), journal=tmp_path / "journal.db")
    client.simulate_authorization(**PURCHASE)
    client.close()
    client.close()

    assert len(client.journal) == 1


def test_a_journal_that_was_never_needed_is_not_a_file(tmp_path: Path) -> None:
    """Reading an empty journal creates no file."""
    journal = Journal(tmp_path / "journal.db")

    assert ([], [], 0, ()) == (list(journal), journal.unknown(), len(journal), journal.notes)
    assert list(tmp_path.iterdir()) == []


def _records(journal: Journal, results: Any) -> None:
    client_on(Service(AUTHORIZED), journal=journal).simulate_authorization(**PURCHASE)
    journal.close()
    results.put(len(journal))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_opens_the_file_anew(tmp_path: Path) -> None:
    """Parent and child record their calls in the same file."""
    journal = Journal(tmp_path / "journal.db")
    client = client_on(Service(AUTHORIZED), journal=journal)
    client.simulate_authorization(**PURCHASE)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_records, args=(journal, results))
    child.start()
    counted = results.get(timeout=10)
    child.join()
    client.simulate_authorization(**PURCHASE)

    assert (2, 3) == (counted, len(journal))


def test_a_secret_is_made_by_one_of_many(state: Path) -> None:
    """Threads that create the secret at the same time all get the same one."""
    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(lambda _: installation_secret(), range(64)))) == 1
    assert [path.name for path in state.iterdir()] == ["secret"]


def test_a_secret_that_cannot_be_made(state: Path) -> None:
    """A secret that cannot be created is reported."""
    state.mkdir()
    (state / "secret").mkdir()
    with pytest.raises(CannotRecord, match="cannot be used"):
        installation_secret()


def test_entries_are_listed_and_filtered() -> None:
    """`list` accepts the filter names that users try first."""
    from workbench.client.session import connect

    api = connect(seed=1)
    card = api.sandbox.guide()["cards"]["active"][0]
    api.simulate_authorization(
        card_id=card, amount=100, currency="USD", merchant_name="Corner Grocery", merchant_category_code="5411"
    )

    assert list(api.journal) == api.journal.list()
    assert api.journal.get("nothing") is None
    assert [str(entry.final_outcome) for entry in api.journal] == ["done"]
    assert [] == api.journal.list(operation="update_user")
    assert 1 == len(api.journal.list(operation="simulate_authorization", outcome="done"))


@pytest.mark.parametrize(
    "changes,said",
    [
        ({"status": "canceled"}, "cancel"),
        ({"text_evidence": "late"}, "text evidence"),
        ({"status": "canceled", "text_evidence": "late"}, "cancel and text evidence"),
    ],
)
def test_an_entry_says_what_is_changed_in_a_dispute(changes: dict[str, Any], said: str) -> None:
    """The description of a dispute update names exactly the changed members."""
    service = Service(httpx.Response(204))
    client = client_on(service)
    client.update_dispute(dispute_id=CARD, **changes)

    assert [entry.what for entry in client.journal] == [f"PATCH dispute {CARD} ({said})"]


def test_a_call_is_recorded_while_another_process_removes_stale_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process that opens the journal takes the lock of a process for an instant, and no call is refused."""
    acquire, remove, held, tried = FileLock.acquire, FileLock.remove, threading.Event(), threading.Event()
    path, started = tmp_path / "journal.db", list[threading.Thread]()

    def acquire_late(lock: FileLock, *seconds: float) -> bool:
        if threading.current_thread() is threading.main_thread() and not started:
            acquire(lock)
            lock.release()  # the lock file still exists
            started.append(threading.Thread(target=lambda: len(Journal(path))))
            started[0].start()
            assert held.wait(20)
            tried.set()
        return acquire(lock, *seconds)

    def remove_late(lock: FileLock) -> None:
        if threading.current_thread() in started:
            held.set()
            tried.wait(20)
            time.sleep(0.2)
        remove(lock)

    with client_on(Service(AUTHORIZED), journal=path) as client:
        monkeypatch.setattr(FileLock, "acquire", acquire_late)
        monkeypatch.setattr(FileLock, "remove", remove_late)
        client.simulate_authorization(**PURCHASE)
        started[0].join(20)
        assert [entry.outcome for entry in client.journal] == [Outcome.DONE]


def test_threads_that_close_a_journal_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads close a journal at the same time, and the journal can still be read."""
    end_lease, threads = Database.end_lease, list[threading.Thread]()
    client = client_on(Service(AUTHORIZED), journal=tmp_path / "journal.db")
    client.simulate_authorization(**PURCHASE)

    def end_lease_late(file: Database, work: str, **options: bool) -> None:
        end_lease(file, work, **options)
        if not threads:
            threads.append(threading.Thread(target=client.close))
            threads[0].start()
            threads[0].join(0.3)

    monkeypatch.setattr(Database, "end_lease", end_lease_late)
    client.close()
    threads[0].join(20)

    assert [entry.outcome for entry in client.journal] == [Outcome.DONE]
