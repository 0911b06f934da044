"""Withdrawal signatures: who gets one, for which amount, how long, and how they verify. Source: Endpoints 2."""

import base64
import contextlib
import re

import pytest

from tests.sandbox.driver import Api
from workbench.sandbox import Sandbox
from workbench.sandbox.internals import internals
from workbench.service import chains

CHAINS = [0, 1, 2, 3]  # contracts on EVM (version 2 and 1), Solana and Stellar
NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize("number", CHAINS)
def test_a_signature_verifies_over_the_assumed_message(api, number):
    """EVM signatures recover to the published signer, and others verify with the published key."""
    contract = api.guide["contracts"][number]
    token = contract["tokens"][0]

    answer = api.sign(number).body

    signature = answer["signature"]
    salt = base64.b64decode(signature["salt"])
    raw = chains.read_signature(contract["chain_id"], signature["data"])
    parameters = chains.read_parameters(contract["chain_id"], answer["parameters"])
    assert ("ready", 32, 25 * 10 ** token["decimals"]) == (answer["status"], len(salt), parameters.amount)
    said = {
        "chain_id": contract["chain_id"],
        "user": contract["admin_addresses"][0],
        "asset": token["address"],
        "amount": parameters.amount,
        "recipient": contract["admin_addresses"][-1],
        "expires_at": parameters.expires_at,
        "salt": salt,
    }
    if number < 2:
        data = chains.coordinator_typed_data(
            controller=contract["controller_address"], collateral=contract["proxy_address"], nonce=0, **said
        )
        assert contract["signer"] == chains.recover(chains.digest(data), raw)
    else:
        said["proxy"] = contract["proxy_address"]
        if number == 2:
            message = chains.solana_message(controller=contract["controller_address"], nonce=0, **said)
        else:
            message = chains.stellar_message(**said)
        assert chains.verify_ed25519(bytes.fromhex(contract["signer"]), message, raw)


@pytest.mark.parametrize(
    "number, pattern", [(0, r"0x[0-9a-f]{130}"), (2, r"[A-Za-z0-9+/]{86}=="), (3, r"[0-9a-f]{128}")], ids=["EVM", "Solana", "Stellar"]
)  # fmt: skip
def test_the_encodings_are_those_of_the_chain(api, number, pattern):
    """EVM signatures are 0x hex of 65 bytes, Solana base64 of 64, Stellar plain hex of 64. expiresAt is ISO with Z."""
    answer = api.sign(number).body

    assert re.fullmatch(pattern, answer["signature"]["data"])
    assert answer["expiresAt"] == "2026-01-15T15:10:00.000Z"
    assert hex(api.guide["contracts"][number]["chain_id"]) == answer["chainId"]


def test_an_absent_unit_flag_means_cents(api):
    """An omitted unit flag means cents, marked as withdrawal_unit_default."""
    answer = api.sign(isAmountNative=None)

    assert answer.body["parameters"][2] == "25000000"
    assert "withdrawal_unit_default" in answer.assumed


def test_native_units_are_taken_as_they_are(api):
    assert api.sign(isAmountNative="true").body["parameters"][2] == "2500"


def test_cents_are_counted_by_the_exchange_rate(api):
    """265050 cents of a token worth 2650.50 USD are one token."""
    assert api.sign(which=1, amount="265050").body["parameters"][2] == "1000000"


@pytest.mark.parametrize("amount, native, status", [("2500050", "false", 200), ("2500051", "false", 422), ("25000500000", "true", 200), ("25000500001", "true", 422)])  # fmt: skip
def test_more_than_the_balance_is_422(api, amount, native, status):
    answer = api.sign(amount=amount, isAmountNative=native)

    assert status == answer.status
    if status == 422:
        assert answer.body["error"] == "UnprocessableEntityError"
        assert "Balance: 25000500000 Requested: " in answer.body["message"]


@pytest.mark.parametrize("amount", ["0", "", "1.5", "-1", "1e6", "0x10", "9" * 79])
def test_the_amount_is_digits_above_zero(api, amount):
    assert api.sign(amount=amount).status == 400


@pytest.mark.parametrize("name", ["token", "amount", "adminAddress", "recipientAddress"])
def test_four_parameters_are_required(api, name):
    assert api.sign(**{name: None}).status == 400


def test_an_unknown_token_is_404(api):
    token = api.guide["contracts"][1]["proxy_address"]

    answer = api.call(
        "GET",
        "/issuing/tenants/signatures/withdrawals",
        token=token,
        amount="1",
        adminAddress=api.guide["contracts"][0]["admin_addresses"][0],
        recipientAddress=api.guide["contracts"][0]["admin_addresses"][0],
    )

    assert (404, f"Asset not found: {token}") == (answer.status, answer.body["message"])


def test_an_address_that_is_not_an_admin_is_403(api):
    """The 403 message has the address."""
    address = api.guide["contracts"][1]["admin_addresses"][0]

    answer = api.sign(adminAddress=address)

    assert (answer.status, answer.body["error"]) == (403, "ForbiddenError")
    assert address in answer.body["message"]


def test_the_recipient_is_of_the_chain(api):
    stellar = api.guide["contracts"][3]["admin_addresses"][0]

    assert api.sign(recipientAddress=stellar).status == 400
    assert api.sign(3, recipientAddress=stellar).status == 200


def test_the_case_of_evm_addresses_does_not_count(api):
    contract = api.guide["contracts"][0]
    admin = contract["admin_addresses"][0]

    answers = [api.sign(adminAddress=a, recipientAddress=a) for a in (admin, admin.lower(), "0x" + admin[2:].upper())]

    assert len({answer.body["signature"]["data"] for answer in answers}) == 1


def test_chain_and_contract_may_be_left_out_or_named(api):
    contract = api.guide["contracts"][0]

    one = api.sign(chainId=None)
    other = api.sign(rainCollateralContractId=contract["id"])

    assert one.body == other.body
    assert api.sign(rainCollateralContractId=NOBODY).status == 404
    assert api.sign(chainId=900).status == 404


def test_the_same_question_gets_the_same_signature_while_it_lives(api):
    first = api.sign().body

    api.sandbox.advance(minutes=9, seconds=59)
    assert first == api.sign().body
    api.sandbox.clock.advance(seconds=1)

    assert first["signature"] != api.sign().body["signature"]


def test_another_question_gets_a_new_signature_or_409(api, observed):
    api.sign()
    assert api.sign(amount="2501").status == 200

    observed.sign()
    answer = observed.sign(amount="2501")
    assert (answer.status, answer.body["error"]) == (409, "ConflictError")
    observed.sandbox.advance(minutes=10)
    assert observed.sign(amount="2501").status == 200


def test_a_control_has_the_first_answers_pending(api):
    """A pending answer has status 200, retryAfter and no signature."""
    api.sandbox.pending_first(times=2, retry_after=5)

    for _ in range(2):
        answer = api.sign()
        assert (answer.status, answer.body) == (200, {"status": "pending", "retryAfter": 5})
    assert api.sign().body["status"] == "ready"


def test_two_sandboxes_of_one_seed_sign_alike_and_of_two_seeds_not():
    """The seed determines the signing keys."""
    one, same, other = (Api(Sandbox(seed)).sign().body["signature"]["data"] for seed in (1, 1, 2))

    assert one == same
    assert one != other


def withdraw(api, number, *, salt=b"\x07" * 32, signer=0, **changes):
    """Return the transaction of a withdrawal, with the service's and the admin's signatures."""
    contract = api.guide["contracts"][number]
    answer = api.sign(number, recipientAddress=contract["admin_addresses"][0]).body
    read = chains.read_parameters(contract["chain_id"], answer["parameters"])
    call = {
        "proxy": read.proxy,
        "asset": read.asset,
        "amount": read.amount,
        "recipient": read.recipient,
        "expires_at": read.expires_at,
        "salt": read.salt,
        "signature": read.signature,
    }
    if contract["contract_version"] == 2:
        wallet = api.sandbox.wallet(contract["admin_addresses"][signer])
        data = chains.withdraw_typed_data(
            chain_id=contract["chain_id"],
            proxy=read.proxy,
            user=wallet.address,
            asset=read.asset,
            amount=read.amount,
            recipient=read.recipient,
            nonce=contract["nonce"],
            salt=salt,
        )
        call |= {"admin_salts": [salt], "admin_signatures": [wallet.sign(data)], "direct_transfer": True}
    call |= changes
    return {
        "chainId": contract["chain_id"],
        "to": contract["controller_address"],
        "from": contract["admin_addresses"][0],
        "data": chains.withdraw_call_data(version=contract["contract_version"], **call),
    }


@pytest.mark.parametrize("number", [0, 1], ids=["version 2", "version 1"])
def test_a_withdrawal_runs_to_the_end(api, number):
    """The teaching wallet signs, the chain checks both signatures, and the balance decreases."""
    done = api.sandbox.execute(withdraw(api, number))

    left = ("24975.50", "8095.00")[number]
    assert (done.balance, done.nonce, done.amount) == (left, 1, "25000000")
    contract = api.call("GET", "/issuing/tenants/contracts").body[number]
    assert contract["tokens"][0]["balance"] == left


def test_a_withdrawal_is_executed_once(api):
    from workbench.base.errors import BadRequest

    transaction = withdraw(api, 0)
    api.sandbox.execute(transaction)

    with pytest.raises(BadRequest, match="for nonce 0, which is used up"):
        api.sandbox.execute(transaction)


def test_an_expired_or_altered_withdrawal_is_refused(api):
    from workbench.base.errors import BadRequest

    transaction = withdraw(api, 0)
    for changed, words in (
        (withdraw(api, 0, amount=1), "the service's signature does not match"),
        (withdraw(api, 0, admin_salts=[b"\x08" * 32]), "an admin's signature does not match"),
        ({**transaction, "to": api.guide["contracts"][0]["proxy_address"]}, "controller"),
        ({**transaction, "chainId": 1}, "no such contract"),
        ({**transaction, "data": "0x"}, "withdrawAsset"),
        ({}, "required: to, chainId and data"),
    ):
        with pytest.raises(BadRequest, match=words):
            api.sandbox.execute(changed)
    with pytest.raises(BadRequest, match="owner"):
        api.sandbox.execute({**withdraw(api, 1), "from": api.guide["contracts"][0]["admin_addresses"][0]})
    api.sandbox.advance(minutes=10)
    with pytest.raises(BadRequest, match="expired"):
        api.sandbox.execute(transaction)


def test_a_teaching_wallet_says_what_it_is(api):
    """A teaching wallet says that it belongs to no real wallet. An address that is not an admin has none."""
    from workbench.base.errors import BadRequest

    wallet = api.sandbox.wallet(api.guide["contracts"][0]["admin_addresses"][1])

    assert "TeachingWallet" in repr(wallet)
    assert "never belongs to a real wallet" in wallet.note
    with pytest.raises(BadRequest):
        api.sandbox.wallet(api.guide["contracts"][0]["proxy_address"])


def test_a_served_sandbox_has_the_same_wallets(sandbox):
    """A served sandbox's wallet gives the same signature as the embedded sandbox's."""
    from workbench.sandbox.remote import RemoteSandbox

    admin = sandbox.guide()["contracts"][0]["admin_addresses"][0]
    data = chains.withdraw_typed_data(
        chain_id=84532, proxy=admin, user=admin, asset=admin, amount=1, recipient=admin, nonce=0, salt=b"\x01" * 32
    )

    with sandbox.serve() as url:
        there = RemoteSandbox(url).wallet(admin)
        assert there.address == admin
        assert there.sign(data) == sandbox.wallet(admin).sign(data)


def test_an_executed_withdrawal_ends_the_active_signature(observed):
    """After a withdrawal is executed, another one of the contract can be signed, in `observed` too."""
    observed.sandbox.execute(withdraw(observed, 0))

    assert observed.sign(0, amount="2600").status == 200


@pytest.mark.parametrize("number", CHAINS)
def test_no_file_contains_a_signature(number, tmp_path):
    """Neither state nor request log contains a signature or salt, and a repeated request gets the same bytes."""
    with contextlib.closing(Sandbox(path=tmp_path / "sandbox.db")) as sandbox:
        first = Api(sandbox).sign(number).body
    with contextlib.closing(Sandbox(path=tmp_path / "sandbox.db")) as sandbox:
        again = Api(sandbox).sign(number).body
        stored = repr(internals(sandbox).engine.store.copy()) + repr(internals(sandbox).engine.store.requests())

    assert again == first
    assert stored.count("salt_number") == 1
    for secret in (first["signature"]["data"], first["signature"]["salt"]):
        assert secret not in stored
        assert secret.removeprefix("0x").encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
