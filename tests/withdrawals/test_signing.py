"""Signature requests: sent once, repeated only as the service asks, and refusals that say what to do."""

import attrs
import httpx
import pytest

import workbench as wb
from tests.withdrawals.lessons import RECIPIENT, Moving, Service, answered, arguments, planned
from workbench.base.errors import UsageError
from workbench.service import chains

PENDING = {"status": "pending", "retryAfter": 3}


def asked(api):
    return len([entry for entry in api.journal if entry.operation == "sign_withdrawal"])


def test_it_asks_once(api):
    """One call is made, and the summary has admin, amount, contract, recipient and expiry."""
    plan = planned(api)

    withdrawal = plan.sign()

    assert (1, True) == (asked(api), withdrawal.ready)
    assert withdrawal.summary == (
        f"{plan.admin} may take 25.00 USD (25,000,000 native units, as the service counts) of the token "
        f"{plan.token.address} from the contract {plan.contract.proxy_address} on Base Sepolia (chain 84532) and send "
        f"them to {RECIPIENT}, until 2026-01-15 15:10:00 UTC."
    )


def test_the_same_question_gets_the_same_signature(api):
    """A repeated request gets the signature that is still valid, so a cell can run twice."""
    first, second = planned(api).sign(), planned(api).sign()

    assert first.reveal().data == second.reveal().data
    assert first.expires_at == second.expires_at


def test_pending_is_an_answer(api):
    """A single pending answer says when to request again, and contains no signature."""
    api.sandbox.pending_first(times=1, retry_after=3)
    plan = planned(api)

    withdrawal = plan.sign()

    assert ("pending", 3, False) == (withdrawal.status, withdrawal.retry_after, withdrawal.ready)
    assert withdrawal.summary.startswith(
        "Not ready (pending); the service asks to retry after 3 s; plan.sign(timeout=60)"
    )
    for use in (
        withdrawal.reveal,
        withdrawal.parameters,
        withdrawal.transaction,
        lambda: withdrawal.typed_data(nonce=0),
    ):
        with pytest.raises(UsageError, match=r"not ready \(pending\)"):
            use()
    assert plan.sign().ready


def test_pending_is_polled(api):
    """With a timeout the request is repeated after exactly the interval that the service states."""
    api.sandbox.pending_first(times=2, retry_after=7)
    clock = Moving(api.sandbox.clock.now())

    withdrawal = wb.withdrawals.plan(api, **arguments(api), clock=clock).sign(timeout=60)

    assert ([7, 7], 3, True) == (clock.waits, asked(api), withdrawal.ready)


def test_the_deadline_holds(contract):
    """Waiting ends at the timeout."""
    api = Service(contract, PENDING)

    withdrawal = api.plan().sign(timeout=8)

    assert ("pending", [3, 3], [False, True, True]) == (withdrawal.status, api.clock.waits, api.asked)


@pytest.mark.parametrize(
    "answer",
    [{"status": "pending"}, {"status": "queued", "retryAfter": 3}, {"status": "ready"}],
    ids=["no time", "another word", "no signature"],
)
def test_without_an_interval_nothing_is_polled(contract, answer):
    """An answer without an interval, with an unknown status or without a signature ends the polling."""
    api = Service(contract, answer)

    withdrawal = api.plan().sign(timeout=60)

    assert ([], 1, False) == (api.clock.waits, len(api.asked), withdrawal.ready)
    assert str(withdrawal)


def test_a_time_of_nothing_does_not_spin(contract):
    """A retryAfter of 0 waits one second."""
    api = Service(contract, {"status": "pending", "retryAfter": 0}, answered(contract))

    assert api.plan().sign(timeout=60).ready
    assert [1] == api.clock.waits


@pytest.mark.parametrize("wait", [-1, float("nan"), float("inf"), True, "60", 10**9])
def test_a_wait_that_is_none(contract, wait):
    """An invalid timeout is refused before a request is sent."""
    api = Service(contract, PENDING)

    with pytest.raises(wb.InvalidRequest, match="timeout"):
        api.plan().sign(timeout=wait)
    assert api.asked == []


def test_more_than_the_balance(api):
    """After a 422 the error says to list the contracts again, request less, or deposit."""
    stale = api.list_contracts()[0]
    plan = planned(api, contract=stale, amount=wb.withdrawals.usd("20000.00"))
    first = planned(api, amount=wb.withdrawals.usd("20000.00")).sign()
    message = first.typed_data(nonce=0)
    admin = api.sandbox.wallet(first.plan.admin)
    api.sandbox.execute(first.transaction(message.accept(admin.sign(message)), direct_transfer=True))

    with pytest.raises(wb.errors.Unprocessable, match="List the contracts again and request less, or deposit first"):
        plan.sign()


def test_another_signature_lives():
    """After a 409 the error says that nothing was signed, and which signature to use or wait for."""
    api = wb.connect(behavior="observed")
    planned(api).sign()

    with pytest.raises(wb.errors.Conflict, match="Use the earlier signature, or wait until it expires"):
        planned(api, amount=wb.withdrawals.usd("26.00")).sign()
    assert planned(api).sign().ready
    api.sandbox.advance(minutes=11)
    assert planned(api, amount=wb.withdrawals.usd("26.00")).sign().ready


def test_a_token_the_service_does_not_know(api):
    """After a 404 the error says where the accepted tokens are listed."""
    import attrs

    contract = api.list_contracts()[0]
    token = attrs.evolve(contract.tokens[0], address=RECIPIENT)
    other = contract.admin_addresses[1]

    with pytest.raises(wb.NotFound, match="shows the tokens of each contract"):
        planned(api, contract=attrs.evolve(contract, tokens=(token,)), token=RECIPIENT, to=other).sign()


def test_a_key_without_the_role(api):
    """After a 403 the error names the role, and says that read is not enough."""
    key = api.sandbox.guide()["api_keys"]["read only"]
    reader = wb.Session(
        base_url=api.base_url, api_key=key, transport=api.sandbox.transport(), sandbox=api.sandbox, keys=(key,)
    )

    with pytest.raises(wb.errors.Forbidden, match=r"contractsAndSignatures:write \(read is not enough\)"):
        planned(reader).sign()


@pytest.mark.parametrize("status", [500, 503, 408])
def test_it_is_never_asked_again_by_itself(api, status):
    """After an unclear answer no second request is sent."""
    seen = []

    def answer(request):
        seen.append(request.headers)
        return httpx.Response(status, json={"message": "Internal server error"})

    client = wb.Client(base_url="https://api.example.com", api_key="a-key", transport=httpx.MockTransport(answer))
    contract = api.list_contracts()[0]

    with pytest.raises(wb.OutcomeUnknown):
        planned(client, contract=contract).sign()
    assert ["no-store"] == [headers["cache-control"] for headers in seen]


def test_production_asks_for_typing(api, contract):
    """In production a person types the amount and the end of the recipient, and the client must be armed."""
    mainnet = attrs.evolve(contract, chain_id=1)

    def answer(request):
        return httpx.Response(200, json=answered(mainnet, expiresAt="2099-01-01T00:00:00Z", parameters=None))

    client = wb.Client(
        base_url="https://api.example.com",
        api_key="a-key",
        environment="production",
        transport=httpx.MockTransport(answer),
        journal=wb.Journal(),
    )
    plan = planned(client, contract=mainnet)
    typed = f"2500 {RECIPIENT[-8:]}"

    for wrong in (None, "", "2500", f"25.00 {RECIPIENT[-8:]}"):
        with pytest.raises(
            wb.InvalidRequest, match="must be, in production, the number of cents, a space, and the last 8 characters"
        ):
            plan.sign(typed=wrong)
    with pytest.raises(wb.errors.NotArmed):
        plan.sign(typed=typed)
    client.arm(operations={"sign_withdrawal"}, minutes=5, reason="test")
    assert plan.sign(typed=typed).ready
    with pytest.raises(wb.errors.DuplicateSuspected):
        plan.sign(typed=typed)
    assert "sign(typed=" in str(plan)
    assert chains.chain_of(1) == plan.chain
