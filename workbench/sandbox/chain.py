"""The chain as the sandbox plays it, EVM only: the admins' teaching wallets, and the transaction that withdraws."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from workbench import chains
from workbench.chains import WithdrawCall
from workbench.chains.families import Family, family_of
from workbench.errors import ApiError, BadRequest, InvalidRequest
from workbench.sandbox.signing import secret_of, signer_of, wallet_address
from workbench.sandbox.turn import Environment

Record = dict[str, Any]


def refused(name: str, why: str) -> ApiError:
    """Return the 400 of a control."""
    return BadRequest(operation=name, status=400, error="BadRequestError", message=why)


def admin_secret(ground: Environment, admin: str) -> tuple[str, bytes]:
    """Return the address and the throw-away key of an admin whose wallet the sandbox made.

    Raises:
        ApiError: It is no admin here, not one of the sandbox's making, or not on an EVM chain.
    """
    for contract in ground.store.all("contract"):
        for i, address in enumerate(contract["admin_addresses"]):
            if family_of(contract["chain_id"]) is Family.EVM and chains.same_address(address, admin):
                label = f"{contract['id']}:{i}"
                if wallet_address(ground.seeds, contract["chain_id"], label) == address:
                    return address, secret_of(ground.seeds, "wallet", label)
    raise refused("wallet", "the sandbox has a wallet only for admins of its own EVM contracts; see guide()")


def sign_as(ground: Environment, admin: str, typed_data: Mapping[str, Any]) -> Record:
    """Sign typed data as an admin."""
    address, secret = admin_secret(ground, admin)
    try:
        signature = chains.sign(chains.digest(typed_data), secret)
    except InvalidRequest as error:
        raise refused("wallet_sign", str(error.problems[0])) from None
    return {"address": address, "signature": "0x" + signature.hex()}


def execute(ground: Environment, transaction: Mapping[str, Any]) -> Record:
    """Carry a withdrawal out: check both halves as the contract would, and move the balance.

    Raises:
        ApiError: What the contract would not take, and why.
    """
    call, contract = _call(ground, transaction)
    if call.expires_at * 1000 <= ground.clock.at:
        raise refused("execute", "the service's signature has expired")
    if not _signed_by_service(ground, call, contract):
        raise refused("execute", "the signature is not the service's over this withdrawal")
    _check_admins(call, contract, transaction)
    for token in contract["tokens"]:
        if chains.same_address(token["address"], call.asset):
            break
    else:
        raise refused("execute", "the contract does not hold this token")
    left = Decimal(token["balance"]) - Decimal(call.amount).scaleb(-token["decimals"])
    if left < 0:
        raise refused("execute", "the contract holds less than asked")
    changed = {**token, "balance": _whole_tokens(left)}
    ground.store.put(
        "contract",
        contract["id"],
        {
            **contract,
            "tokens": [changed if one is token else one for one in contract["tokens"]],
            "nonce": contract["nonce"] + 1,
        },
    )
    for question, kept in ground.store.items("signature"):  # the nonce has moved, so they are all used up
        if kept["contract"] == contract["id"]:
            ground.store.delete("signature", question)
    if ground.store.get("active_signature", contract["tenant"]) is not None:
        ground.store.delete("active_signature", contract["tenant"])
    return {
        "contract_id": contract["id"],
        "token": changed["address"],
        "amount": str(call.amount),
        "recipient": call.recipient,
        "balance": changed["balance"],
        "nonce": contract["nonce"] + 1,
    }


def _whole_tokens(amount: Decimal) -> str:
    """Write a balance as contracts show it, as 1250.50: at least two decimals, and no more than it has."""
    places = max(2, -int(amount.normalize().as_tuple().exponent))
    return f"{amount:.{places}f}"


def _call(ground: Environment, transaction: Mapping[str, Any]) -> tuple[WithdrawCall, Record]:
    try:
        data, to = str(transaction["data"]), str(transaction["to"])
        chain = transaction["chainId"]
        chain_id = int(chain, 0) if isinstance(chain, str) else int(chain)
        call = chains.read_call_data(data)
    except InvalidRequest as error:
        raise refused("execute", str(error.problems[0])) from None
    except (KeyError, TypeError, ValueError):
        raise refused("execute", "a transaction has to, data and chainId") from None
    for contract in ground.store.all("contract"):
        if contract["chain_id"] == chain_id and chains.same_address(contract["proxy_address"], call.proxy):
            if not chains.same_address(contract["controller_address"], to):
                raise refused("execute", "it is not sent to the contract's controller")
            if call.version != contract["contract_version"]:
                raise refused("execute", f"the contract takes version {contract['contract_version']} of the call")
            return call, contract
    raise refused("execute", "the sandbox has no such contract on this chain")


def _signed_by_service(ground: Environment, call: WithdrawCall, contract: Record) -> bool:
    signer = signer_of(ground.seeds, contract["chain_id"], contract["id"])
    for admin in contract["admin_addresses"]:
        message = chains.coordinator_typed_data(
            chain_id=contract["chain_id"],
            controller=contract["controller_address"],
            user=admin,
            collateral=contract["proxy_address"],
            asset=call.asset,
            amount=call.amount,
            recipient=call.recipient,
            nonce=contract["nonce"],
            expires_at=call.expires_at,
            salt=call.salt,
        )
        if _recovers(chains.digest(message), call.signature, signer):
            return True
    return False


def _check_admins(call: WithdrawCall, contract: Record, transaction: Mapping[str, Any]) -> None:
    """Check the admins' half: version 1 takes the owner as the sender, version 2 one signature for each admin."""
    admins = contract["admin_addresses"]
    if call.version == 1:
        if not any(chains.same_address(str(transaction.get("from")), admin) for admin in admins):
            raise refused("execute", "version 1 has to be sent from the contract's owner (from)")
        return
    left = list(admins)
    for salt, signature in zip(call.admin_salts, call.admin_signatures, strict=True):
        for admin in left:
            message = chains.withdraw_typed_data(
                chain_id=contract["chain_id"],
                proxy=contract["proxy_address"],
                user=admin,
                asset=call.asset,
                amount=call.amount,
                recipient=call.recipient,
                nonce=contract["nonce"],
                salt=salt,
            )
            if _recovers(chains.digest(message), signature, admin):
                left.remove(admin)
                break
        else:
            raise refused("execute", "an admin signature is not that of an admin of the contract over this withdrawal")


def _recovers(digest: bytes, signature: bytes, address: str) -> bool:
    try:
        return chains.same_address(chains.recover(digest, signature), address)
    except InvalidRequest:
        return False
