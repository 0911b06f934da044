"""Withdrawal signatures: the service's half of a withdrawal, signed with keys made from the seed, one per contract."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from workbench import chains
from workbench.chains import address_problems, eip55, same_address
from workbench.chains.addresses import Family, family_of, family_of_address
from workbench.chains.values import ed25519_public_key
from workbench.interface import table
from workbench.interface.contracts import SignWithdrawal, WithdrawalSignature
from workbench.interface.walk import build
from workbench.sandbox.context import RequestContext, Seeds, moment_of
from workbench.sandbox.contracts import of_tenant, secret_of

Record = dict[str, Any]


def sign_withdrawal(context: RequestContext, request: SignWithdrawal) -> WithdrawalSignature:
    """Sign a withdrawal, or give the signature that was given to the same question and still lives."""
    contract, token, admin = _contract(context, request)
    amount = native_units(token, int(request.amount), request.is_amount_native)
    context.assumed += ("token_decimals", "withdrawal_encodings", "withdrawal_lifetime")
    if amount < 1:
        raise context.bad_request("amount must be at least one unit of the token", "withdrawal_smallest_amount")
    held = native_units(token, Fraction(token["balance"]) * 10 ** token["decimals"], True)
    if amount > held:
        raise context.error(
            table.NOT_ENOUGH,
            token=token["symbol"],
            contract=contract["proxy_address"],
            balance=held,
            requested=amount,
        )
    recipient = _recipient(context, contract, request.recipient_address)
    question = "|".join((token["address"], str(amount), admin, recipient))
    kept = context.store.get(f"signature/{contract['id']}", question)
    if kept is not None and kept["expires_at"] > context.clock.at:
        context.assumed.append("withdrawal_same_again")
        return _ready(kept)
    if (context.store.get("active_signature", _scope(context, contract)) or 0) > context.clock.at:
        context.assumed.append("withdrawal_other_while_active")
        if context.settings["withdrawal_other_while_active"] == "409":
            raise context.error(table.SIGNATURE_ACTIVE)
    pending = context.store.get("pending", context.tenant["id"])
    if pending is not None and pending["times"] > 0:
        context.assumed.append("withdrawal_pending")
        context.store.put("pending", context.tenant["id"], {**pending, "times": pending["times"] - 1})
        return WithdrawalSignature(status="pending", retry_after=pending["retry_after"])
    return _ready(_signed(context, question, contract, token, amount, admin, recipient))


def _scope(context: RequestContext, contract: Record) -> str:
    """Return the id of what has one signature at a time."""
    return str(context.tenant["id"] if context.settings["withdrawal_scope"] == "tenant" else contract["id"])


def native_units(token: Record, amount: int | Fraction, native: bool) -> int:
    """Return an amount in the token's native units; cents are counted by its exchange rate, rounded down."""
    # assumed: token_decimals, cents_to_units
    if native:
        return int(amount)
    return int(Fraction(amount) / 100 / Fraction(token["exchange_rate"]) * 10 ** token["decimals"])


def _contract(context: RequestContext, request: SignWithdrawal) -> tuple[Record, Record, str]:
    """Find the contract to withdraw from, and its admin: of those that fit, the one created first. assumed: withdrawal_contract_choice"""
    fitting = [
        (contract, token)
        for contract in of_tenant(context)
        for token in contract["tokens"]
        if (request.collateral_contract_id or contract["id"]).lower() == contract["id"]
        and (request.chain_id or contract["chain_id"]) == contract["chain_id"]
        and same_address(token["address"], request.token)
    ]
    if not fitting:
        raise context.error(table.ASSET_NOT_FOUND, token=request.token)
    for contract, token in fitting:
        for admin in contract["admin_addresses"]:
            if same_address(admin, request.admin_address):
                if len(fitting) > 1:
                    context.assumed.append("withdrawal_contract_choice")
                return contract, token, admin
    raise context.error(table.NOT_AN_ADMIN, address=request.admin_address)


def _recipient(context: RequestContext, contract: Record, address: str) -> str:
    """Return the recipient in one spelling. assumed: address_case"""
    if family_of(contract["chain_id"]) is Family.EVM and family_of_address(address) is Family.EVM:
        address = eip55(address)  # the case of an EVM address does not count
    wrong = address_problems(address, contract["chain_id"])
    if wrong:
        raise context.bad_request(f"recipientAddress {wrong[0]}", "recipient_family")
    return address


def _signed(
    context: RequestContext, question: str, contract: Record, token: Record, amount: int, admin: str, recipient: str
) -> Record:
    now = context.clock.at
    # whole seconds, since the chain counts in them
    expires_at = (now // 1000 + context.settings["withdrawal_lifetime"]) * 1000
    withdrawal = {
        "user": admin,
        "asset": token["address"],
        "amount": amount,
        "recipient": recipient,
        "expires_at": expires_at // 1000,
        "salt": context.seeds.octets(f"salt:{context.store.next('salt')}"),
    }
    kept = {"expires_at": expires_at, "answer": signature_over(context.seeds, contract, withdrawal)}
    context.store.put(f"signature/{contract['id']}", question, kept)
    context.store.put("active_signature", _scope(context, contract), expires_at)
    return kept


def _ready(kept: Record) -> WithdrawalSignature:
    made: WithdrawalSignature = build(
        WithdrawalSignature, {"status": "ready", "expires_at": moment_of(kept["expires_at"]), **kept["answer"]}
    )
    return made


def message_of(contract: Record, withdrawal: Mapping[str, Any]) -> bytes:
    """Return the 32 bytes that are signed.

    assumed: withdrawal_service_half, withdrawal_solana_message, withdrawal_stellar_message

    Args:
        withdrawal: `user` (an admin), `asset`, `amount` in native units, `recipient`, `expires_at` in unix seconds, `salt`.
    """
    chain_id, proxy = contract["chain_id"], contract["proxy_address"]
    if family_of(chain_id) is Family.STELLAR:
        return chains.stellar_message(chain_id=chain_id, proxy=proxy, **withdrawal)
    more = {"chain_id": chain_id, "controller": contract["controller_address"], "nonce": contract["nonce"]}
    if family_of(chain_id) is Family.SOLANA:
        return chains.solana_message(proxy=proxy, **more, **withdrawal)
    return chains.digest(chains.coordinator_typed_data(collateral=proxy, **more, **withdrawal))


def signature_over(seeds: Seeds, contract: Record, withdrawal: Mapping[str, Any]) -> Record:
    """Return the members of the answer that carry the signature, as JSON values."""
    secret = secret_of(seeds, "contract", contract["id"])
    evm = family_of(contract["chain_id"]) is Family.EVM
    signature = (chains.sign if evm else chains.sign_ed25519)(message_of(contract, withdrawal), secret)
    data = chains.write_signature(contract["chain_id"], signature)
    return {
        "signature": {"data": data, "salt": chains.write_salt(withdrawal["salt"])},
        "sender": withdrawal["user"],
        "chain_id": hex(contract["chain_id"]),
        "parameters": chains.withdraw_parameters(
            chain_id=contract["chain_id"],
            proxy=contract["proxy_address"],
            signature=signature,
            public_key=None if evm else ed25519_public_key(secret),
            **{name: value for name, value in withdrawal.items() if name != "user"},
        ),
    }
