"""Calls as a user writes them, checked by both type checkers and never run: exact types, and refused wrong calls.

Each `type: ignore` below is necessary: mypy (`warn_unused_ignores`) and pyright report one that is not.
"""
# pyright: reportUnnecessaryTypeIgnoreComment=true

import asyncio
import sqlite3
from typing import Literal, assert_type

import workbench as wb
from workbench.analysis.rewards.read_result import Rewards
from workbench.records import (
    AnyEvent,
    CompanyApplication,
    DeclineReason,
    Dispute,
    Event,
    EventApplicationStatus,
    IssuingContract,
    PaymentAccount,
    RewardsActivity,
    SimulatedTransaction,
    Spend,
    TransactionChanged,
    User,
    UserUpdated,
    WithdrawalSignature,
)
from workbench.service.interface.people import Address, Deletion
from workbench.service.interface.transactions import RewardsItem


def sync(api: wb.Client) -> None:
    """Call each operation of the synchronous client."""
    assert_type(api.list_contracts(), list[IssuingContract])
    assert_type(
        api.sign_withdrawal(
            chain_id=84532,
            token="0x",
            amount="2500",
            is_amount_native=False,
            admin_address="0x",
            recipient_address="0x",
        ),
        WithdrawalSignature,
    )
    assert_type(
        api.simulate_authorization(
            card_id="", amount=1250, currency="USD", merchant_name="", merchant_category_code="5411"
        ),
        SimulatedTransaction,
    )
    assert_type(api.simulate_reversal(transaction_id="", new_amount=wb.FULL), SimulatedTransaction)
    assert_type(api.simulate_refund(transaction_id="", amount=100), SimulatedTransaction)
    assert_type(
        api.create_payment_account(type="externalFiatAccount", user_id="", external_fiat_account={}), PaymentAccount
    )
    assert_type(api.delete_payment_account(payment_account_id=""), Deletion)
    assert_type(api.update_user(user_id="", address={"city": "Springfield"}), User)
    assert_type(api.update_ubo(company_id="", ubo_id="", birth_date="1990-02-01"), CompanyApplication)
    assert_type(api.update_dispute(dispute_id="", status="canceled"), Dispute)
    assert_type(
        api.create_user_application(
            persona_share_token="", ip_address="", occupation="", annual_salary="", account_purpose="",
            expected_monthly_volume="",
        ),
        User,
    )  # fmt: skip
    page = api.list_rewards_activity(user_id="", limit=20)
    assert_type(page, RewardsActivity)
    assert_type(page.items, tuple[RewardsItem, ...])


async def awaited(api: wb.AsyncClient) -> None:
    """Await each operation of the async client."""
    assert_type(await api.list_contracts(), list[IssuingContract])
    assert_type(
        await api.sign_withdrawal(
            token="0x", amount="2500", is_amount_native=False, admin_address="0x", recipient_address="0x"
        ),
        WithdrawalSignature,
    )
    assert_type(
        await api.simulate_authorization(
            card_id="", amount=1250, currency="USD", merchant_name="", merchant_category_code="5411"
        ),
        SimulatedTransaction,
    )
    assert_type(await api.simulate_reversal(transaction_id="", new_amount=1000), SimulatedTransaction)
    assert_type(await api.simulate_refund(transaction_id="", amount=wb.FULL), SimulatedTransaction)
    assert_type(
        await api.create_payment_account(type="externalFiatAccount", company_id="", external_fiat_account={}),
        PaymentAccount,
    )
    assert_type(await api.delete_payment_account(payment_account_id=""), Deletion)
    assert_type(await api.update_user(user_id="", first_name=None), User)
    assert_type(await api.update_ubo(company_id="", ubo_id=""), CompanyApplication)
    assert_type(await api.update_dispute(dispute_id=""), Dispute)
    assert_type(
        await api.create_user_application(
            sumsub_share_token="", ip_address="", occupation="", annual_salary="", account_purpose="",
            expected_monthly_volume="",
        ),
        User,
    )  # fmt: skip
    assert_type(await api.list_rewards_activity(user_id=""), RewardsActivity)


def views(api: wb.Client, other: wb.AsyncClient) -> None:
    """A view has the type of its client."""
    assert_type(api.allowing(partial_address=True), wb.Client)
    assert_type(other.allowing(again=True), wb.AsyncClient)
    assert_type(wb.connect(), wb.Session)
    assert_type(wb.connect().list_contracts(), list[IssuingContract])
    assert_type(wb.connect().allowing(again=True), wb.Session)


def wrong(api: wb.Client) -> None:
    """Make wrong calls, which type checkers refuse."""
    api.simulate_refund(transaction_id="")  # type: ignore[call-arg]
    api.simulate_reversal(transaction_id="")  # type: ignore[call-arg]
    api.simulate_refund(transaction_id="", amount=10.99)  # type: ignore[arg-type]
    api.simulate_refund(transaction_id="", amount="10")  # type: ignore[arg-type]
    api.simulate_refund(transaction_id="", amount=None)  # type: ignore[arg-type]
    api.sign_withdrawal(token="", amount="1", admin_address="", recipient_address="")  # type: ignore[call-arg]
    api.sign_withdrawal(token="", amount=1, is_amount_native=True, admin_address="", recipient_address="")  # type: ignore[arg-type]
    api.update_user(user_id="", color="red")  # type: ignore[call-arg]
    api.update_user("")  # type: ignore[call-arg]
    api.update_user(user_id=7)  # type: ignore[arg-type]
    _ = api.update_user(user_id="").nothing  # type: ignore[attr-defined]
    api.nothing()  # type: ignore[attr-defined]
    _ = wb.nothing  # type: ignore[attr-defined]
    wb.Client(base_url="")  # type: ignore[call-arg]
    wb.Client(base_url="", api_key="", environment="live")  # type: ignore[arg-type]
    Address(line1="", city="", region="", postal_code="")  # type: ignore[call-arg]


async def wrong_awaited(api: wb.AsyncClient) -> None:
    """Make the same wrong calls with the async client."""
    await api.simulate_refund(transaction_id="")  # type: ignore[call-arg]
    await api.simulate_authorization(card_id="", amount=1.5, currency="", merchant_name="", merchant_category_code="")  # type: ignore[arg-type]
    _ = (await api.list_contracts()).nothing  # type: ignore[attr-defined]
    _ = api.list_contracts().id  # type: ignore[attr-defined]


def session(api: wb.Session) -> None:
    """Type checkers, and therefore completion, know the members of a session."""
    assert_type(api.sandbox, wb.Sandbox)
    assert_type(api.inbox, wb.Inbox)
    assert_type(api.inbox.events(), list[AnyEvent])
    assert_type(api.sandbox.events()[0].event, AnyEvent)
    assert_type(wb.rewards.fetch(api, ["id"]), Rewards)
    assert_type(wb.sequences.run(api, wb.sequences.catalogue["refund-full"]).events(), list[AnyEvent])


async def tasks(api: wb.AsyncSession) -> None:
    """Calls are coroutines, so tasks accept them. A read of an async session is awaited."""
    task = asyncio.create_task(api.list_contracts())
    assert_type(await task, list[IssuingContract])
    async with asyncio.TaskGroup() as group:
        started = group.create_task(api.simulate_refund(transaction_id="", amount=wb.FULL))
    assert_type(started.result(), SimulatedTransaction)
    assert_type(await wb.rewards.fetch(api, ["id"]), Rewards)
    assert_type((await api.inbox.wait("user.updated")).body, UserUpdated)


def words(api: wb.Client) -> None:
    """Requests accept enum members or their values. A misspelled value is refused."""
    purchase = {"currency": "USD", "merchant_name": "x", "merchant_category_code": "5411"}
    api.simulate_authorization(card_id="", amount=1, decline_reason=DeclineReason.CARD_LOCKED, **purchase)
    api.simulate_authorization(card_id="", amount=1, decline_reason="card_locked", **purchase)
    api.simulate_authorization(card_id="", amount=1, decline_reason="card_lcked", **purchase)  # type: ignore[arg-type]
    api.list_rewards_activity(user_id="", type="earned")
    api.list_rewards_activity(user_id="", type="earnd")  # type: ignore[arg-type]
    api.update_dispute(dispute_id="", status="cancelled")  # type: ignore[arg-type]
    api.create_payment_account(type="account", user_id="", external_fiat_account={})  # type: ignore[arg-type]


def kinds(event: AnyEvent, inbox: wb.Inbox, deliver: tuple[dict[str, str], bytes]) -> None:
    """Comparing `kind` narrows the type of the body, and a literal kind determines the type of the event."""
    if event.kind == "user.updated":
        assert_type(event.body, UserUpdated)
        _ = event.body.aplication_status  # type: ignore[attr-defined]
    if event.kind == "transaction.completed" and event.body.spend is not None:
        assert_type(event.body.spend.amount, int | None)
    receipt = inbox.receive(*deliver)
    if receipt.event is not None and receipt.event.kind == "user.updated":
        assert_type(receipt.event.body.application_status, EventApplicationStatus | str | None)
    assert_type(inbox.wait("user.updated", timeout=30).body, UserUpdated)
    assert_type(inbox.events("transaction.created")[0].body, TransactionChanged)
    assert_type(inbox.wait(), AnyEvent)
    assert_type(wb.events.sample("user.updated").event.body, UserUpdated)
    assert_type(wb.events.sample("transaction.completed", "key").event.body, TransactionChanged)

    @inbox.on("user.updated")
    def changed(event: Event[UserUpdated]) -> str:
        return event.body.id

    @inbox.on("transaction.completed", atomic=True)
    def booked(event: Event[TransactionChanged], db: sqlite3.Connection) -> None: ...

    @inbox.on("card.*")
    def any_card(event: AnyEvent) -> None: ...

    @inbox.on("card.updated")  # type: ignore[type-var]
    def other(event: Event[UserUpdated]) -> None: ...


def bodies(event: Event, inbox: wb.Inbox) -> None:
    """An event's body is one of the records, `match` narrows it, and a handler keeps its type."""
    match event.body:
        case UserUpdated(application_status=status):
            assert_type(status, EventApplicationStatus | str | None)
        case TransactionChanged(spend=Spend() as spend):
            assert_type(spend.amount, int | None)
    _ = event.body.nothing  # type: ignore[union-attr]

    @inbox.on("user.updated")
    def handle(event: Event) -> int:
        return len(event.id)

    assert_type(handle(event), int)


async def together(api: wb.AsyncSession) -> None:
    """Concurrent operations keep their types."""
    contracts, user = await asyncio.gather(api.list_contracts(), api.update_user(user_id="", first_name="Ada"))
    assert_type(contracts, list[IssuingContract])
    assert_type(user, User)


def misspelled(api: wb.Session) -> None:
    """Misspelled names of kinds, faults and outcomes are reported before a program runs."""
    api.inbox.wait("transaction.complete")  # type: ignore[call-overload]
    api.inbox.on("transactions.*")  # type: ignore[call-overload]
    api.sandbox.add_fault("losst")  # type: ignore[arg-type]
    api.sandbox.add_fault("lost", of="simulate_refunds")  # type: ignore[arg-type]
    api.sandbox.add_fault("lost", of="simulate_refund")
    api.journal.list(outcome="doen")  # type: ignore[arg-type]
    wb.events.sample("user.update")  # type: ignore[call-overload]
    wb.events.sample("user.updated", event_id=5)  # type: ignore[call-overload]
    evidence = api.journal.evidence("")
    assert_type(evidence.outcome, Literal["done", "not_sent"] | None)
