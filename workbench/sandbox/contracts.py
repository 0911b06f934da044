"""The tenant's contracts, and the signatures that allow withdrawals from them."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

from workbench.chains import check, eip55, family_of_address, same_address
from workbench.chains.families import Family, family_of
from workbench.interface import table
from workbench.interface.contracts import IssuingContract, ListContracts
from workbench.interface.walk import build
from workbench.interface.withdrawals import SignWithdrawal, WithdrawalSignature
from workbench.sandbox.clock import moment_of
from workbench.sandbox.signing import Withdrawal, signature_over
from workbench.sandbox.turn import RequestContext
from workbench.sandbox.wallets import of_tenant

Record = dict[str, Any]
_OWN = frozenset({"tenant", "nonce"})


def list_contracts(turn: RequestContext, _: ListContracts) -> list[IssuingContract]:
    """Return the tenant's contracts, the oldest first."""
    if not turn.tenant["corporate_cards"]:  # "Available only to tenants that issue corporate cards."
        raise turn.refusal(table.NO_CORPORATE_CARDS)
    return [shown(contract) for contract in of_tenant(turn)]


def shown(contract: Record) -> IssuingContract:
    """Return a contract as it is answered."""
    tokens = [
        {
            "address": token["address"],
            "balance": token["balance"],
            "exchange_rate": Decimal(token["exchange_rate"]),
            "advance_rate": Decimal(token["advance_rate"]),
        }
        for token in contract["tokens"]
    ]
    kept = {name: value for name, value in contract.items() if name not in _OWN and value is not None}
    made: IssuingContract = build(IssuingContract, {**kept, "tokens": tokens})
    return made


def sign_withdrawal(turn: RequestContext, asked: SignWithdrawal) -> WithdrawalSignature:
    """Sign a withdrawal, or give the signature that was given to the same question and still lives."""
    contract, token, admin = _contract(turn, asked)
    amount = native_units(token, int(asked.amount), asked.is_amount_native)
    turn.assumed += ("token_decimals", "withdrawal_encodings", "withdrawal_lifetime")
    if amount < 1:
        raise turn.wrong("amount must be at least one unit of the token")
    held = native_units(token, Fraction(token["balance"]) * 10 ** token["decimals"], True)
    if amount > held:
        raise turn.refusal(
            table.NOT_ENOUGH,
            token=token["symbol"],
            contract=contract["proxy_address"],
            balance=held,
            requested=amount,
        )
    recipient = _recipient(turn, contract, asked.recipient_address)
    question = "|".join((contract["id"], token["address"], str(amount), admin, recipient))
    kept = turn.store.get("signature", question)
    if kept is not None and kept["expires_at"] > turn.clock.at:
        turn.assumed.append("withdrawal_same_again")
        return _ready(kept)
    if _other_lives(turn):  # assumed: withdrawal_other_while_active
        turn.assumed.append("withdrawal_other_while_active")
        if turn.settings["withdrawal_other_while_active"] == "409":
            raise turn.refusal(table.SIGNATURE_ACTIVE)
    pending = turn.store.get("pending", turn.tenant["id"])
    if pending is not None and pending["times"] > 0:
        turn.assumed.append("withdrawal_pending")
        turn.store.put("pending", turn.tenant["id"], {**pending, "times": pending["times"] - 1})
        return WithdrawalSignature(status="pending", retry_after=pending["retry_after"])
    return _ready(_signed(turn, question, contract, token, amount, admin, recipient))


def native_units(token: Record, amount: int | Fraction, native: bool) -> int:
    """Return an amount in the token's native units; cents are counted by its exchange rate, rounded down."""
    # assumed: token_decimals, cents_to_units
    if native:
        return int(amount)
    return int(Fraction(amount) / 100 / Fraction(token["exchange_rate"]) * 10 ** token["decimals"])


def _contract(turn: RequestContext, asked: SignWithdrawal) -> tuple[Record, Record, str]:
    """Find the contract to withdraw from, and its admin: of those that fit, the one created first. assumed: withdrawal_contract_choice"""
    fitting = [
        (contract, token)
        for contract in of_tenant(turn)
        for token in contract["tokens"]
        if (asked.collateral_contract_id or contract["id"]).lower() == contract["id"]
        and (asked.chain_id or contract["chain_id"]) == contract["chain_id"]
        and same_address(token["address"], asked.token)
    ]
    if not fitting:
        raise turn.refusal(table.ASSET_NOT_FOUND, token=asked.token)
    for contract, token in fitting:
        for admin in contract["admin_addresses"]:
            if same_address(admin, asked.admin_address):
                if len(fitting) > 1:
                    turn.assumed.append("withdrawal_contract_choice")
                return contract, token, admin
    raise turn.refusal(table.NOT_AN_ADMIN, address=asked.admin_address)


def _other_lives(turn: RequestContext) -> bool:
    active = turn.store.get("active_signature", turn.tenant["id"])
    return active is not None and bool(active > turn.clock.at)


def _recipient(turn: RequestContext, contract: Record, address: str) -> str:
    """Return the recipient in one spelling. assumed: recipient_family"""
    if family_of(contract["chain_id"]) is Family.EVM and family_of_address(address) is Family.EVM:
        address = eip55(address)  # the case of an EVM address does not count
    slips = check(address, contract["chain_id"])
    if slips:
        raise turn.wrong(f"recipientAddress {slips[0]}")
    return address


def _signed(
    turn: RequestContext, question: str, contract: Record, token: Record, amount: int, admin: str, recipient: str
) -> Record:
    now = turn.clock.at
    # whole seconds, since the chain counts in them
    expires_at = (now // 1000 + turn.settings["withdrawal_lifetime"]) * 1000
    withdrawal = Withdrawal(
        chain_id=contract["chain_id"],
        contract_id=contract["id"],
        controller=contract["controller_address"],
        proxy=contract["proxy_address"],
        token=token["address"],
        amount=amount,
        admin=admin,
        recipient=recipient,
        nonce=contract["nonce"],
        expires_at=expires_at // 1000,
        salt=turn.seeds.octets(f"salt:{turn.store.next('salt')}"),
    )
    kept = {
        "id": question,
        "tenant": turn.tenant["id"],
        "contract": contract["id"],
        "token": token["address"],
        "amount": amount,
        "expires_at": expires_at,
        "answer": signature_over(turn.seeds, withdrawal),
    }
    turn.store.put("signature", question, kept)
    turn.store.put("active_signature", turn.tenant["id"], expires_at)
    return kept


def _ready(kept: Record) -> WithdrawalSignature:
    made: WithdrawalSignature = build(
        WithdrawalSignature, {"status": "ready", "expires_at": moment_of(kept["expires_at"]), **kept["answer"]}
    )
    return made
