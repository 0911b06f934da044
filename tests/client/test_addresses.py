"""Client, bulk runs, commands and forms refuse mistyped addresses, and warn about addresses without a checksum."""

import random
import warnings

import pytest

import workbench as wb
from tests.each import each
from workbench.base.errors import AdviceWarning
from workbench.base.schema import checks
from workbench.client.calls.request_checks import address_problems, address_warnings
from workbench.service import chains
from workbench.service.interface.contracts import SignWithdrawal
from workbench.service.interface.people import UpdateUser
from workbench.terminal import main

EVM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
WRONG_CASE = EVM.replace("aAe", "aae")
STELLAR = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
SOLANA = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
PERSON = "00000000-0000-4000-8000-000000000001"


def asked(recipient: str, *, chain_id: int | None = 84532, token: str = EVM) -> SignWithdrawal:
    return SignWithdrawal(
        chain_id=chain_id, token=token, amount="1", admin_address=token, recipient_address=recipient,
        is_amount_native=True,
    )  # fmt: skip


MISTYPED = {
    "EIP-55": (asked(WRONG_CASE), "recipientAddress", "wrong checksum"),
    "CRC-16": (asked(STELLAR[:-1] + "A", chain_id=1501, token=STELLAR), "recipientAddress", "wrong checksum"),
    "zero": (asked("0x" + "0" * 40), "recipientAddress", "zero address"),
    "another family": (asked(SOLANA), "recipientAddress", "is a Solana address, and Base Sepolia"),
    "no chain": (asked(WRONG_CASE, chain_id=None), "recipientAddress", "wrong checksum"),
    "length": (asked("z" * 44, chain_id=901, token=SOLANA), "recipientAddress", "33 bytes"),
    "a user's wallet": (UpdateUser(user_id=PERSON, wallet_address=WRONG_CASE), "walletAddress", "wrong checksum"),
}


@each("request_, path, words", MISTYPED.values(), ids=MISTYPED)
def test_the_client_refuses(request_, path, words):
    """A mistyped address is not sent unless the view allows it."""
    (problem,) = address_problems(request_)
    with wb.connect() as api:
        with pytest.raises(wb.InvalidRequest, match=words) as caught:
            api.send(request_)
        with pytest.raises(wb.errors.ApiError):  # the request is sent, and the sandbox refuses unknown ids
            api.allowing(unverified_address=True).send(request_)

    assert problem in caught.value.problems
    assert (problem.path, problem.rule) == (path, "unverified_address")
    assert "allowing(unverified_address=True)" in problem.text


@pytest.mark.parametrize("address", [EVM, EVM.lower(), "0x" + EVM[2:].upper()])
def test_valid_addresses_pass(address):
    """Valid addresses have no problem. An address in a single letter case gets a warning."""
    assert address_problems(asked(address)) == ()
    assert [problem.path for problem in address_warnings(asked(address))] == ["recipientAddress"] * (address != EVM)


@pytest.mark.parametrize(
    "count",
    [
        1_000,
        pytest.param(10_000, marks=pytest.mark.slow),
        pytest.param(100_000, marks=[pytest.mark.soak, pytest.mark.timeout(600)]),
    ],
)
def test_single_character_slips(count):
    """An address with one mistyped character is refused, or sent with a warning if it has no checksum."""
    draw = random.Random(5)
    alphabet = "0123456789abcdefABCDEFGHJKLMNPQRSTUVWXYZghijkmnopqrstuvwxyz"
    kinds = [(84532, EVM), (84532, EVM.lower()), (1501, STELLAR), (901, SOLANA)]
    passed = 0
    for _ in range(count):
        chain_id, good = draw.choice(kinds)
        place = draw.randrange(len(good))
        slip = good[:place] + draw.choice(alphabet.replace(good[place], "")) + good[place + 1 :]
        request = asked(slip, chain_id=chain_id, token=good)
        if not address_problems(request) and not checks.problems(request) and slip.lower() != good.lower():
            passed += chains.has_checksum(slip)
            warned = any(problem.path == "recipientAddress" for problem in address_warnings(request))
            assert chains.has_checksum(slip) or warned

    assert passed <= count / 1_000  # EIP-55 misses about one typo in several thousand


def test_bulk_refuses(tmp_path):
    """A row with a mistyped address stops the run before anything is sent."""
    with wb.connect() as api, pytest.raises(wb.InvalidRequest, match="wrong checksum"):
        wb.bulk.run(api.update_user, [{"user_id": PERSON, "wallet_address": WRONG_CASE}])


def test_the_command_line_refuses(capsys):
    """A command refuses a mistyped address, and its hint names the option."""
    assert main(["users", "update", "--user-id", PERSON, "--wallet-address", WRONG_CASE]) != 0
    error = capsys.readouterr().err

    assert "wrong checksum" in error
    assert "--allow unverified-address" in error


def test_a_form_refuses():
    """A form reports a mistyped address at its field, and offers the checkbox that allows it."""
    with wb.connect() as api:
        form = wb.form(api.update_user, user_id=PERSON, wallet_address=WRONG_CASE)

        assert [problem.rule for problem in form.problems] == ["unverified_address"]
        form.allow("unverified_address")
        assert form.problems == ()


def test_production_warns_of_an_address_without_a_checksum():
    """In production an address without a checksum is sent with a warning."""
    from workbench.client.calls.guards import Limits
    from workbench.client.calls.request_checks import request_problems
    from workbench.service.interface.table import Operations

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AdviceWarning)
        assert (
            request_problems(Operations.sign_withdrawal, asked(EVM.lower()), (), check=True, real=True, limits=Limits())
            == ()
        )

    assert ["recipient_address has no checksum" in str(one.message) for one in caught] == [True]
    assert request_problems(Operations.sign_withdrawal, asked(WRONG_CASE), (), check=False, real=True, limits=Limits())
