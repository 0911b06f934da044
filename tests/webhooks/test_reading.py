"""Parsing of deliveries: checks before parsing, and preservation of unknown content."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.each import each
from workbench.base.errors import InvalidWebhook, UsageError
from workbench.client.webhooks import inbox as inbox_module
from workbench.client.webhooks import store
from workbench.client.webhooks.inbox import Inbox
from workbench.client.webhooks.verify import read_delivery
from workbench.client.webhooks.verify import sample as sample_event
from workbench.service.interface.events import EVENT_KINDS


def envelope(**members: Any) -> bytes:
    """Return the bytes of an envelope with changed members. None omits a member."""
    whole = {"id": "e-1", "resource": "user", "action": "updated", "version": "1.0.0", "body": {"id": "u-1"}, **members}
    return json.dumps({name: value for name, value in whole.items() if value is not None}).encode()


BROKEN = {
    "nothing": b"",
    "no JSON": b"{",
    "not UTF-8": b'{"id":"\xff"}',
    "UTF-16": '{"id":"x"}'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf{}",
    "a list": b"[]",
    "a number": b"1",
    "NaN": b'{"id":NaN}',
    "a member twice": b'{"id":"a","id":"b","resource":"user","action":"updated"}',
    "100,000 deep": b'{"id":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "65 deep": envelope(body=json.loads("[" * 65 + "]" * 65)),
    "5,000 digits": b'{"id":"a","resource":"r","action":"a","body":' + b"9" * 5000 + b"}",
    "no id": envelope(id=None),
    "id is a number": envelope(id=7),
    "empty id": envelope(id=""),
    "no resource": envelope(resource=None),
    "no action": envelope(action=None),
    "body is a number": envelope(body=1),
    "body is text": envelope(body="x"),
    "body is true": envelope(body=True),
    "larger than a mebibyte": envelope(body={"text": "x" * 2**20}),
}


@each("body", BROKEN.values(), ids=BROKEN)
def test_broken_delivery_is_refused(body: bytes) -> None:
    """An ambiguous or broken delivery raises InvalidWebhook, and nothing is stored."""
    inbox = Inbox(accept_unsigned=True)

    with pytest.raises(InvalidWebhook):
        inbox.receive({}, body)
    assert (len(inbox), len(inbox.refusals)) == (0, 1)


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(body: bytes) -> None:
    """Any bytes give an event or InvalidWebhook."""
    try:
        event = read_delivery(body)
    except InvalidWebhook:
        return
    assert event.id


UNKNOWN = {
    "another kind": envelope(resource="dispute", action="opened", body={"anything": [1, {"goes": None}]}),
    "another version": envelope(version="2.0.0"),
    "more members": envelope(tenant={"id": "t"}, body={"id": "u-1", "nickname": "Al"}),
    "a new status": envelope(body={"id": "u-1", "applicationStatus": "onHold", "applicationReason": "A, B ,, C"}),
    "a body of another shape": envelope(body=["a", "list"]),
    "no body": envelope(body=None),
    "version is a number": envelope(version=2),
    "time is an object": envelope(eventReceivedAt={"at": "noon"}),
    "status is a number": envelope(body={"id": "u-1", "applicationStatus": 7}),
}


@each("body", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_survives_untouched(body: bytes) -> None:
    """An unknown kind, version, member or value is accepted, and its bytes are stored unchanged."""
    inbox = Inbox(accept_unsigned=True)
    receipt = inbox.receive({}, body)

    assert not receipt.duplicate
    assert [(stored.event.id, stored.raw) for stored in inbox.stored()] == [("e-1", body)]


def test_unreadable_envelope_members_are_in_extra() -> None:
    """An envelope member of another type is stored in `extra`, and the other members are read."""
    event = read_delivery(envelope(version=2, body={"id": "u-1", "firstName": "Ada"}))

    assert (event.version, dict(event.extra), event.body.first_name) == (None, {"version": 2}, "Ada")


@pytest.mark.parametrize(
    "text,amount,odd",
    [
        ("0.10", Decimal("0.10"), []),
        ("1e-1", Decimal("0.1"), []),
        ("-1", Decimal(-1), ["body.amount"]),
        ("1.99", Decimal("1.99"), []),
        ("2.00", Decimal("2.00"), ["body.amount"]),
    ],
)
def test_micro_deposit_amounts_are_exact(text: str, amount: Decimal, odd: list[str]) -> None:
    """Amounts are decimals from text, never floats. Amounts outside the range of a micro deposit are marked."""
    event = read_delivery(envelope(resource="microDeposit", action="received", body={"id": "m-1", "amount": text}))

    assert (event.body.amount, type(event.body.amount)) == (amount, Decimal)
    assert [mark.path for mark in event.marks] == odd


def test_unreadable_amount_is_kept_and_marked() -> None:
    """An amount that is not a decimal stays text and is marked."""
    event = read_delivery(envelope(resource="microDeposit", action="received", body={"id": "m-1", "amount": "NaN"}))

    assert (event.body.amount, [mark.path for mark in event.body.marks]) == ("NaN", ["amount"])


def test_trial_deposits_and_links_are_not_shown() -> None:
    """Amount and memo of a trial deposit, names and links are masked whenever an event is printed."""
    secret = ["0.32", "ACCTVERIFY", "canary.example", "Grace", "Canary"]
    deposit = sample_event("microDeposit.received", amount=Decimal("0.32"), originator_name="Grace Canary")
    link = {"url": "https://canary.example/complete", "params": {"signature": "canary.example"}}
    user = sample_event("user.updated", first_name="Grace", last_name="Canary", application_completion_link=link)
    inbox = Inbox(accept_unsigned=True)
    receipts = [inbox.receive(one.headers, one.body) for one in (deposit, user)]
    shown = f"{inbox!r}{inbox.stored()!r}{inbox.events()!r}{[e.body for e in inbox.events()]!r}{receipts!r}{[deposit, user]!r}"

    assert [word for word in secret if word in shown] == []


@each("kind", EVENT_KINDS)
def test_example_of_each_kind(kind: str) -> None:
    """Every kind has a signed sample, which is read as its record and has no unusual members."""
    sample = sample_event(kind, "key")
    receipt = Inbox(keys=["key"]).receive(sample.headers, sample.body)

    assert receipt.verified
    assert (receipt.event.kind, type(receipt.event.body)) == (kind, EVENT_KINDS[kind].body)
    assert (receipt.event.marks, receipt.event.body.marks, dict(receipt.event.body.extra)) == ((), (), {})


def test_examples_differ_and_can_be_changed() -> None:
    """Each sample is a new event, and its members and envelope can be set."""
    first, second = (sample_event("user.updated") for _ in range(2))
    given_ = sample_event(
        "user.updated", event_id="e-9", application_status="denied", status_change_reason="provider_initiated"
    )

    assert first.event.id != second.event.id
    assert (given_.event.id, given_.event.version, given_.event.body.application_status) == ("e-9", "1.1.0", "denied")


@pytest.mark.parametrize("arguments", [{"kind": "user.created"}, {"kind": "user.updated", "surname": "x"}])
def test_example_of_nothing_known(arguments: dict[str, str]) -> None:
    """An unknown kind or member is named."""
    with pytest.raises(UsageError, match=r"did you mean user\.updated|surname is not a member"):
        sample_event(**arguments)


def test_an_event_is_parsed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An event is parsed only when it is received. Reads, handlers and waits share the record."""
    samples = [sample_event("user.updated") for _ in range(51)]
    parsed: list[bytes] = []

    def counted(body: bytes, *rest: Any) -> Any:
        parsed.append(body)
        return read_delivery(body, *rest)

    for module in (inbox_module, store):
        monkeypatch.setattr(module, "read_delivery", counted)
    inbox = Inbox(tmp_path / "inbox.db", accept_unsigned=True)
    handled: list[Any] = []
    inbox.on("user.*", name="handled")(lambda event: handled.append(event))
    received = [inbox.receive(one.headers, one.body).event for one in samples]
    looks = [inbox.events() for _ in range(3)]
    inbox.wait("user.updated")

    assert len(parsed) == 51
    assert all(a is b is c for a, b, c in zip(received, looks[0], handled, strict=True))
    inbox.close()
    again = Inbox(tmp_path / "inbox.db", accept_unsigned=True)
    assert [again.events() for _ in range(3)] == looks
    assert len(parsed) == 2 * 51
    again.close()


def test_parsed_events_are_bounded_and_purged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache has the newest events up to a total body size, and no purged events."""
    samples = [sample_event("user.updated") for _ in range(20)]
    monkeypatch.setattr(store, "MAX_PARSED", 3 * len(samples[0].body))
    parsed = store.ParsedEvents()
    monkeypatch.setattr(store, "ParsedEvents", lambda: parsed)
    inbox = Inbox(accept_unsigned=True)
    for one in samples:
        inbox.receive(one.headers, one.body)
    looks = [inbox.events() for _ in range(2)]

    assert looks[0] == looks[1] == [one.event for one in samples]
    assert [a is b for a, b in zip(*looks, strict=True)] == [False] * 17 + [True] * 3
    assert len(parsed) == 3
    inbox.purge(*(one.event.id for one in samples))
    assert len(parsed) == 0
