"""Contracts, where to deposit, and what a withdrawal signature allows."""

from decimal import Decimal
from typing import Any

from workbench import rendering
from workbench.demo.cast import Cast, masked
from workbench.demo.stage import Stage
from workbench.rendering.values import NO_FUNDS, TEST_CHAINS


def contracts(stage: Stage, cast: Cast) -> None:
    """List the contracts, and where to deposit."""
    stage.chapter("What we hold, and where to deposit")
    stage.say(
        "A tenant's money sits in smart contracts. One call lists them, with their tokens and with the two ways to "
        "deposit: to an address on the chain, or by bank transfer to a virtual account."
    )
    stage.call("api.list_contracts()")
    contracts = cast.api.list_contracts()
    stage.gap()
    stage.grid(
        ("contract", "chain", "version", "balances", "deposits by"),
        [
            (
                one.id,
                str(one.chain_id),
                str(one.contract_version),
                ", ".join(token.balance or "–" for token in one.tokens),
                ", ".join(["chain"] * bool(one.deposit_address) + _rails(one)) or "–",
            )
            for one in contracts
        ],
    )
    stage.gap()
    stage.say("To deposit on the chain:")
    stage.grid(
        ("chain", "deposit address", "note"),
        [(str(one.chain_id), one.deposit_address, _warning(one)) for one in contracts if one.deposit_address],
    )
    stage.gap()
    stage.say("To deposit by bank transfer, as it is turned into tokens of the first contract:")
    first = next(one for one in contracts if one.onramp)
    accounts = [(rail, getattr(first.onramp, rail)) for rail in _rails(first)]
    stage.grid(
        ("rail", "bank", "routing number", "account number", "note"),
        [
            (rail, one.beneficiary_bank_name or "–", one.routing_number, masked(one, "accountNumber"), _warning(first))
            for rail, one in accounts
        ],
    )


def _rails(contract: Any) -> list[str]:
    return [rail for rail in ("ach", "rtp", "wire") if contract.onramp and getattr(contract.onramp, rail)]


def _warning(contract: Any) -> str:
    return NO_FUNDS if contract.chain_id in TEST_CHAINS else ""


def _withdrawable(cast: Cast) -> Any:
    """Return an EVM contract of version 2 with a balance and an admin."""
    return next(
        one
        for one in cast.api.list_contracts()
        if one.admin_addresses
        and str(one.contract_version) == "2"
        and str(one.proxy_address).startswith("0x")
        and Decimal(one.tokens[0].balance or 0) >= 100
    )


def withdrawal(stage: Stage, cast: Cast) -> None:
    """Ask for a signature, and say what it allows."""
    stage.chapter("A withdrawal signature, and what it allows")
    stage.say(
        "This is the one call that authorizes moving funds, so nothing in it has a default that matters: whether the "
        "amount is in cents or in the token's own units has to be said. It is never sent twice by itself."
    )
    contract = _withdrawable(cast)
    token, admin = contract.tokens[0].address, contract.admin_addresses[0]
    stage.call(
        f"api.sign_withdrawal(chain_id={contract.chain_id}, token=contract.tokens[0].address,\n"
        '    amount="2500", is_amount_native=False,\n'
        "    admin_address=contract.admin_addresses[0], recipient_address=contract.admin_addresses[0])"
    )
    signed = cast.api.sign_withdrawal(
        chain_id=contract.chain_id, token=token, amount="2500", is_amount_native=False,
        admin_address=admin, recipient_address=admin,
    )  # fmt: skip
    stage.show(signed)
    stage.gap()
    until = rendering.moment(signed.expires_at) if signed.expires_at else "not said"
    stage.say("What it allows, in words:")
    stage.facts(
        {
            "who": admin,
            "may take": f"{rendering.money(2500)} of token {token}",
            "from": contract.proxy_address,
            "to": admin,
            "until": until,
        }
    )
    stage.note("The signature itself stays masked until it is asked for, and is in no log, journal or picture.")
