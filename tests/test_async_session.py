"""Async sessions: every operation can be awaited, in process and over HTTP."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.base.errors import InvalidArguments, UsageError
from workbench.service.interface.table import OPERATIONS

PERSON: dict[str, Any] = {
    "first_name": "Ada", "last_name": "testingApproved", "email": "ada@example.com", "birth_date": "1990-02-01",
    "national_id": "900112233", "country_of_issue": "US", "ip_address": "203.0.113.5", "occupation": "Engineer",
    "annual_salary": "1", "account_purpose": "x", "expected_monthly_volume": "1", "wallet_address": "0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB",
    "address": {
        "line1": "1 Example Street", "city": "Springfield", "region": "IL", "postal_code": "62701", "country_code": "US",
    },
}  # fmt: skip
STREET = {"address_line1": "1 Example Street", "city": "Springfield", "region": "IL", "postal_code": "62701", "country_code": "US"}  # fmt: skip


@pytest.fixture(params=["in process", "over HTTP"])
def where(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """None for an embedded sandbox, or the URL of a served sandbox."""
    with ExitStack() as stack:
        yield stack.enter_context(wb.Sandbox().serve()) if request.param == "over HTTP" else None


async def every_operation(api: wb.AsyncSession) -> list[str]:
    """Call each operation once, and return the names of the operations."""
    guide = api.sandbox.guide()
    contract = guide["contracts"][0]
    owner = guide["companies"][0]
    assert await api.list_contracts()
    signed = await api.sign_withdrawal(
        chain_id=contract["chain_id"], token=contract["tokens"][0]["address"], amount="100",
        admin_address=contract["admin_addresses"][0], recipient_address=contract["admin_addresses"][0],
        is_amount_native=False,
    )  # fmt: skip
    assert signed.status == "ready"
    purchase = {"card_id": guide["cards"]["active"][0], "amount": 500, "currency": "USD", "merchant_name": "Shop"}
    first = await api.simulate_authorization(**purchase, merchant_category_code="5411")
    second = await api.simulate_authorization(**purchase, merchant_category_code="5412")
    await api.simulate_reversal(transaction_id=first.transaction_id, new_amount=200)
    api.sandbox.settle(second.transaction_id)
    assert (await api.simulate_refund(transaction_id=second.transaction_id, amount=100)).status == "settled"
    user = await api.create_user_application(**PERSON)
    account = await api.create_payment_account(
        type="externalFiatAccount", user_id=user.id,
        external_fiat_account={
            "beneficiary_type": "individual", "beneficiary_first_name": "Ada", "beneficiary_last_name": "Berg",
            "currency": "usd", "beneficiary_address": STREET, "bank_name": "A Bank", "account_number": "000123456789",
            "routing_number": "021000021",
        },
    )  # fmt: skip
    await api.delete_payment_account(payment_account_id=account.id)
    assert (await api.update_user(user_id=user.id, first_name="Grace")).first_name == "Grace"
    await api.update_ubo(company_id=owner["id"], ubo_id=owner["owners"][0]["id"], email="owner@example.com")
    await api.update_dispute(dispute_id=guide["disputes"]["pending"][0], text_evidence="A receipt.")
    assert (await api.list_rewards_activity(user_id=guide["rewards_users"][0]["id"], limit=2)).items
    return [entry.operation for entry in api.journal]


def test_every_operation_is_awaited(where: str | None) -> None:
    """Each operation answers, and its effect is in the journal and inbox, as with a synchronous session."""

    async def run() -> None:
        async with await wb.connect_async(where) as api:
            recorded = await every_operation(api)
            assert set(recorded) == {name for name, row in OPERATIONS.items() if row.effect}
            assert api.journal.unknown() == []
            kinds = {event.kind for event in api.inbox.events()}
            assert {"transaction.requested", "transaction.completed", "user.updated"} <= kinds
            assert await api.inbox.wait("user.updated", timeout=60)

    asyncio.run(run())


@pytest.mark.timeout(60)
def test_a_canceled_wait_for_an_event_holds_up_nothing() -> None:
    """The thread of a canceled wait ends at once, so that the event loop and the program end too."""

    async def run() -> None:
        async with await wb.connect_async() as api:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await api.inbox.wait("card.updated", timeout=3600)
            with pytest.raises(UsageError, match="timeout must be a number"):
                await api.inbox.wait("card.updated", timeout="5")  # type: ignore[arg-type]

    asyncio.run(run())


def test_both_kinds_of_session_take_the_same_arguments() -> None:
    """`connect` and `connect_async` have the same signature, with every argument named."""
    plain, awaited = inspect.signature(wb.connect), inspect.signature(wb.connect_async)

    assert plain.parameters == awaited.parameters
    assert all(one.kind is not one.VAR_KEYWORD for one in plain.parameters.values())
    assert {"seed", "api_key", "tenant", "timeout", "check", "journal", "behavior", "path"} <= set(plain.parameters)


@pytest.mark.usefixtures("short_pauses")
def test_a_profile_opens_an_async_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An async session has the name and the service of its profile too."""
    (tmp_path / "profiles.toml").write_text('[profiles.acme]\nbase_url = "http://127.0.0.1:9/v1"\n')
    monkeypatch.setenv("WORKBENCH_CONFIG", str(tmp_path / "profiles.toml"))
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path))
    api = asyncio.run(wb.connect_async("acme", api_key="some-key-1234"))

    assert repr(api).startswith("<AsyncSession acme: sandbox, 127.0.0.1:9, key ")
    with pytest.raises(wb.NotSent):
        asyncio.run(api.list_contracts())


def test_a_wrong_argument_is_named_when_awaited() -> None:
    """Unknown arguments are refused before anything is sent."""

    async def run() -> None:
        async with await wb.connect_async() as api:
            await api.simulate_refund(amount=1, transaction="x")  # type: ignore[call-arg]

    with pytest.raises(InvalidArguments, match="transaction_id"):
        asyncio.run(run())


def test_all_wrong_arguments_are_named_at_once() -> None:
    """`connect` refuses invalid arguments with one error that names every problem."""
    wrong: Any = {
        "seed": "x", "behavior": "strange", "environment": "moon", "timeout": 0, "limits": 5, "journal": 3,
    }  # fmt: skip
    with pytest.raises(UsageError) as caught:
        wb.connect(**wrong)

    assert {problem.path.partition(".")[0] for problem in caught.value.problems} == set(wrong)


def test_a_tenant_chooses_its_key() -> None:
    """A session of a seeded tenant uses the tenant's key and receives the tenant's events."""
    with wb.connect(tenant="provider-managed") as api, wb.connect() as other:
        assert api.list_contracts() != other.list_contracts()
    with pytest.raises(UsageError, match="tenant must be one of"):
        wb.connect(tenant="nobody")


def test_a_session_lists_little_besides_its_operations() -> None:
    """`dir()` of a session lists the operations and a few further names."""
    with wb.connect() as api:
        public = {name for name in dir(api) if not name.startswith("_")} - set(OPERATIONS)

    assert public == {
        "allowing", "arm", "armed", "base_url", "call", "close", "converter", "disarm", "environment", "from_wire",
        "health", "host", "idempotency", "inbox", "info", "journal", "limits", "notices", "responses", "sandbox", "send",
    }  # fmt: skip


REFUND = wb.sequences.catalogue["refund-full"]
THREADED: dict[str, Callable[[Any], object]] = {
    "browse": wb.browse,
    "form": lambda api: wb.form(api.update_user),
    "bulk.run": lambda api: wb.bulk.run(api.update_dispute, []),
    "course.task": lambda api: wb.course.task("fraud-burst", api),
    "course.answer": lambda api: wb.course.answer("read-a-card", api=api, held=1),
    "course.hint": lambda api: wb.course.hint("start-1", api=api),
    "course.check": lambda api: wb.course.check("start-1", api),
    "reports.record_balances": lambda api: wb.history(api).record_balances("x.parquet"),
    "sequences.run_many": lambda api: wb.sequences.run_many(api, REFUND),
    "sql": lambda api: wb.sql("select * from contracts", api),
    "withdrawals.plan": lambda api: wb.withdrawals.plan(
        api, "x", token="x", amount=wb.withdrawals.usd("1.00"), admin="x", to="x"
    ),
}
"""Functions that need a session of `connect()`, called with an async session."""
ANY_SESSION = {"sequences.run", "rewards.fetch", "reports.deliveries"}
ANY_SESSION |= {"testing.record", "bulk.investigate"}
"""Functions of a session that are awaited, or that make no call."""
AFTER_CHECKS = {"bulk.resume"}
"""Functions that refuse an async session after other arguments."""


async def _refusal(call: Callable[[Any], object]) -> str:
    async with await wb.connect_async() as api:
        with pytest.raises(UsageError) as refused:
            call(api)
        return str(refused.value)


@pytest.mark.parametrize("name", THREADED)
def test_what_needs_a_thread_says_so(name: str) -> None:
    """Functions that need a thread all raise the same error, before anything is called."""
    assert "in an event loop call this in a thread" in asyncio.run(_refusal(THREADED[name]))


def test_a_session_does_the_same_awaited() -> None:
    """An async session has the members of a synchronous one, except for closing. The table lists each function."""
    different = set(dir(wb.Session)) ^ set(dir(wb.AsyncSession))
    assert {name for name in different if not name.startswith("_")} == {"close", "aclose"}
    spaces = {"": wb, **{f"{name}.": getattr(wb, name) for name in dir(wb) if inspect.ismodule(getattr(wb, name))}}
    functions = {
        f"{space}{name}"
        for space, module in spaces.items()
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if {"api", "call"} & set(inspect.signature(function).parameters)
    }

    assert functions - ANY_SESSION - AFTER_CHECKS <= THREADED.keys()
