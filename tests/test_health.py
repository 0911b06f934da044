"""The health of a session names planted problems with their causes, and is an empty list without problems."""

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import workbench as wb
from workbench.base.errors import InvalidWebhook, WorkbenchError
from workbench.sandbox import delivery

NOBODY = "3f2a0b1c-0000-4000-8000-000000000000"
SPEND = {"currency": "USD", "merchant_name": "Corner Shop", "merchant_category_code": "5411"}
BODY = b'{"id":"e1","resource":"user","action":"updated","version":"1.0.0","body":{"id":"%s"}}' % NOBODY.encode()


@pytest.fixture
def api(tmp_path: Path) -> Any:
    with wb.connect(journal=tmp_path / "journal.db") as session:
        yield session


def card_of(api: wb.Session) -> str:
    return str(api.sandbox.guide()["cards"]["active"][0])


def buy(api: wb.Session, cents: int = 1_000) -> Any:
    return api.simulate_authorization(card_id=card_of(api), amount=cents, **SPEND)


def lost_answer(api: wb.Session) -> None:
    api.sandbox.add_fault("lost", of="simulate_authorization", times=1)
    with suppress(wb.OutcomeUnknown):
        buy(api)
    api.sandbox.clear_faults()


def refund_of_a_hold(api: wb.Session) -> None:
    for cents in (100, 200):
        with suppress(WorkbenchError):
            api.simulate_refund(transaction_id=buy(api, cents).transaction_id, amount=cents)


def unknown_user(api: wb.Session) -> None:
    with suppress(wb.NotFound):
        api.list_rewards_activity(user_id=NOBODY)


def broken_rule(api: wb.Session) -> None:
    unchecked = wb.Client(
        base_url=api.base_url, api_key=api.sandbox.full_key, transport=api.sandbox.transport(), check=False
    )
    with unchecked, suppress(WorkbenchError):
        unchecked.simulate_authorization(card_id=card_of(api), amount=-1, **SPEND)


def missing_role(api: wb.Session) -> None:
    key = api.sandbox.create.key("reader", roles="contractsAndSignatures:write").api_key
    other = wb.Client(base_url=api.base_url, api_key=key, transport=api.sandbox.transport())
    with other, suppress(WorkbenchError):
        other.list_rewards_activity(user_id=NOBODY)


def too_many(api: wb.Session) -> None:
    api.sandbox.add_fault("status", of="update_user", status=429, retry_after=90)
    with suppress(WorkbenchError):
        api.update_user(user_id=NOBODY, first_name="Ada")
    api.sandbox.clear_faults()


def not_sent(api: wb.Session) -> None:
    api.sandbox.add_fault("refused", of="simulate_refund")
    with suppress(wb.NotSent):
        api.simulate_refund(transaction_id=NOBODY, amount=5)
    api.sandbox.clear_faults()


def failing_handler(api: wb.Session) -> None:
    @api.inbox.on("transaction.created")
    def book(event: object) -> None:
        raise ValueError("the books are closed")

    buy(api)
    api.inbox.run_handlers()


def forged_delivery(api: wb.Session) -> None:
    with suppress(InvalidWebhook):
        api.inbox.receive({"signature": "00" * 32}, BODY)


def failing_endpoint(api: wb.Session) -> None:
    api.sandbox.register_endpoint("http://127.0.0.1:9/hooks")
    buy(api)
    api.sandbox.flush(timeout=10)


def slow_endpoint(api: wb.Session) -> None:
    """Receive deliveries slowly enough to count as slow."""
    receiver = wb.Inbox(accept_unsigned=True)
    with mock.patch.object(delivery, "_SLOW", 0), receiver, receiver.serve() as url:
        api.sandbox.register_endpoint(url)
        buy(api)
        api.sandbox.flush(timeout=10)


def forgotten_fault(api: wb.Session) -> None:
    api.sandbox.add_fault("latency", seconds=0.0)


def damaged_journal(api: wb.Session) -> None:
    buy(api)
    with closing(sqlite3.connect(api.info()["journal"])) as file:
        file.execute("UPDATE calls SET what = 'another purchase' WHERE number = (SELECT max(number) FROM calls)")
        file.commit()


PLANTED: dict[str, tuple[Callable[[wb.Session], None], str, dict[str, object]]] = {
    "lost answer": (lost_answer, "unknown outcome", {"operation": "simulate_authorization", "count": 1}),
    "refund of a hold": (refund_of_a_hold, "failed request", {"operation": "simulate_refund", "status": 400, "count": 2}),
    "unknown user": (unknown_user, "failed request", {"operation": "list_rewards_activity", "rule": "no user has this id"}),
    "broken rule": (broken_rule, "failed request", {"member": "amount", "rule": "the request breaks a rule"}),
    "missing role": (missing_role, "failed request", {"status": 403, "operation": "list_rewards_activity"}),
    "too many": (too_many, "failed request", {"status": 429, "operation": "update_user"}),
    "not sent": (not_sent, "not sent", {"operation": "simulate_refund"}),
    "failing handler": (failing_handler, "failed handler", {"count": 1}),
    "forged delivery": (forged_delivery, "refused delivery", {"count": 1}),
    "failing endpoint": (failing_endpoint, "failed endpoint", {}),
    "slow endpoint": (slow_endpoint, "slow endpoint", {}),
    "forgotten fault": (forgotten_fault, "active fault", {"count": 1}),
    "damaged journal": (damaged_journal, "damaged journal", {"count": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_trouble_is_named_first(api: wb.Session, name: str) -> None:
    plant, kind, expected = PLANTED[name]
    assert api.health().ok

    plant(api)
    trouble = next(iter(api.health()))

    assert trouble.kind == kind
    assert {member: getattr(trouble, member) for member in expected} == expected
    assert trouble.what.endswith(".")
    assert trouble.fix.endswith(".")


def test_all_of_them_at_once_are_listed_by_urgency(api: wb.Session) -> None:
    for plant, _, _ in PLANTED.values():
        plant(api)
    kinds = [trouble.kind for trouble in api.health()]

    assert set(kinds) >= {kind for _, kind, _ in PLANTED.values()}
    assert kinds[0] == "unknown outcome"
    assert kinds[-1] == "active fault"


def test_a_sound_month_is_an_empty_list() -> None:
    """Purchases, declines, settlements, allowed refunds and duplicate deliveries are not problems."""
    with wb.connect(seed=5) as api:
        booked: list[str] = []
        api.inbox.on("transaction.*")(lambda event: booked.append(event.id))
        for day in range(30):
            bought = buy(api, 500 + day)
            api.sandbox.settle(bought.transaction_id)
            if day % 5 == 0:
                api.simulate_refund(transaction_id=bought.transaction_id, amount=100)
            api.sandbox.advance(days=1)
        buy(api, 99_999_999)
        sample = wb.events.sample("user.updated", api.sandbox.full_key)
        for _ in range(2):
            api.inbox.receive(sample.headers, sample.body)
        api.inbox.run_handlers()
        health = api.health()

    assert booked
    assert (list(health), health.ok, str(health).splitlines()[0]) == ([], True, "No trouble.")
    assert set(health.versions) == {"workbench", "interface", "python", "httpx"}


def test_of_a_real_service_the_journal_tells(tmp_path: Path) -> None:
    """For a service without controls, the journal of a plain session provides the refused writes."""
    with wb.Sandbox().serve() as url, wb.connect(url, journal=tmp_path / "journal.db") as served:
        with suppress(WorkbenchError):
            served.simulate_refund(transaction_id=NOBODY, amount=1)
        by_log = [(trouble.operation, trouble.status, trouble.rule) for trouble in served.health()]
        plain = wb.Session(base_url=served.base_url, api_key=served.sandbox.full_key, journal=served.journal)
        by_journal = [(trouble.operation, trouble.status, trouble.rule) for trouble in plain.health()]

    assert by_log == by_journal == [("simulate_refund", 404, "no transaction has this id")]


def test_the_panel_lists_the_same(api: wb.Session) -> None:
    refund_of_a_hold(api)
    panel = wb.browse(api)
    panel.open("health")
    listing = panel.lists["health"].data

    assert [listing.facts(0)[name] for name in ("kind", "count", "operation")] == [
        "failed request",
        2,
        "simulate_refund",
    ]
    assert any("unconfirmed assumptions in use" in note for note in listing.notes)
