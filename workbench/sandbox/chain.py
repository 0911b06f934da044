"""Withdrawals: the service's signatures with seeded keys, teaching wallets of EVM contract admins, and execution."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from workbench.base.errors import UsageError
from workbench.base.remedies import Remedy, declare
from workbench.sandbox.context import Environment, RequestContext, Seeds, usage_error
from workbench.sandbox.contracts import of_tenant, secret_of, signer_of, wallet_address
from workbench.sandbox.control_records import ExecutedWithdrawal, WalletSignature, from_json
from workbench.sandbox.store import Members, Record
from workbench.service import chains
from workbench.service.chains import WithdrawCall, WithdrawParameters, address_problems, eip55, same_address
from workbench.service.chains.addresses import Family, family_of, family_of_address
from workbench.service.chains.curves import ed25519_public_key
from workbench.service.chains.values import refuse_private_key
from workbench.service.interface import table
from workbench.service.interface.contracts import SignWithdrawal, WithdrawalSignature

declare(
    "guide",
    python="see sandbox.guide()",
    other="see the guide of the sandbox",
)


class TeachingWallet:
    """Teaching wallet of a contract admin. Its key is derived from the seed and never belongs to a real wallet."""

    note = "A teaching wallet of the sandbox. Its key is derived from the seed and never belongs to a real wallet."

    def __init__(self, sandbox: Any, admin: str) -> None:
        """Look up the teaching wallet of an admin.

        Args:
            sandbox: Embedded sandbox, or client of a served sandbox. The sandbox stores the keys.
            admin: Address of the admin.
        """
        refuse_private_key(admin, "admin")
        self._holder = sandbox
        self.address: str = sandbox._wallet_address(admin=admin).address

    def sign(self, typed_data: Members) -> str:
        """Return the signature over EIP-712 typed data, as 0x hex."""
        signed: WalletSignature = self._holder._wallet_sign(admin=self.address, typed_data=typed_data)
        return signed.signature

    def __repr__(self) -> str:
        # A traceback with locals may print a wallet that has no address yet.
        return f"<TeachingWallet {getattr(self, 'address', 'without address')}, sandbox only>"


def admin_secret(environment: Environment, admin: str) -> tuple[str, bytes]:
    """Return the address and the throw-away key of an admin's teaching wallet.

    Raises:
        ApiError: The address is not an admin address of this sandbox, or is not on an EVM chain.
    """
    for contract in environment.store.all("contract"):
        for i, address in enumerate(contract["admin_addresses"]):
            if family_of(contract["chain_id"]) is Family.EVM and chains.same_address(address, admin):
                label = f"{contract['id']}:{i}"
                if wallet_address(environment.seeds, contract["chain_id"], label) == address:
                    return address, secret_of(environment.seeds, "wallet", label)
    raise usage_error(f"the sandbox has wallets only for admins of its own EVM contracts; {Remedy('guide')}")


def sign_as(environment: Environment, admin: str, typed_data: Members) -> WalletSignature:
    """Sign EIP-712 typed data with the teaching wallet of an admin."""
    address, secret = admin_secret(environment, admin)
    try:
        signature = chains.sign(chains.digest(typed_data), secret)
    except UsageError as error:
        raise usage_error(str(error.problems[0])) from None
    return WalletSignature(address=address, signature="0x" + signature.hex())


def execute(environment: Environment, transaction: Members) -> ExecutedWithdrawal:
    """Execute a withdrawal: verify both signatures as the contract would, and debit the contract's balance.

    Raises:
        ApiError: The contract would reject the transaction; the message gives the reason.
    """
    call, contract = _call(environment, transaction)
    if call.expires_at * 1000 <= environment.clock.ms:
        raise usage_error("the service's signature has expired")
    signer = signer_of(environment.seeds, contract["chain_id"], contract["id"])
    _check_half(contract, "the service's", lambda nonce: _signed_by_service(call, contract, signer, nonce))
    if isinstance(call, WithdrawCall):
        _check_admins(call, contract, transaction)
    elif not _is_active(environment, contract, call):
        raise usage_error("the service's signature is used up. Sign again")
    elif transaction.get("from") not in contract["admin_addresses"]:  # assumed: withdrawal_ed25519_transaction
        raise usage_error("from must be an admin of the contract: sending the transaction authorizes the withdrawal")
    token = next((token for token in contract["tokens"] if chains.same_address(token["address"], call.asset)), None)
    if token is None:
        raise usage_error("the contract does not hold this token")
    left = Decimal(token["balance"]) - Decimal(call.amount).scaleb(-token["decimals"])
    if left < 0:
        raise usage_error("the contract holds less than requested")
    changed = {**token, "balance": _whole_tokens(left)}
    tokens = [changed if listed is token else listed for listed in contract["tokens"]]
    contract = environment.store.save("contract", contract, tokens=tokens, nonce=contract["nonce"] + 1)
    # execution increases the nonce, which invalidates all earlier signatures
    environment.store.fill(f"signature/{contract['id']}", {})
    for scope in (contract["tenant"], contract["id"]):
        if environment.store.get("active_signature", scope) is not None:
            environment.store.delete("active_signature", scope)
    return ExecutedWithdrawal(
        contract_id=contract["id"],
        token=changed["address"],
        amount=str(call.amount),
        recipient=call.recipient,
        balance=changed["balance"],
        nonce=contract["nonce"],
    )


def _whole_tokens(amount: Decimal) -> str:
    """Format a balance as contracts show it, for example 1250.50, with at least two decimals."""
    places = max(2, -int(amount.normalize().as_tuple().exponent))
    return f"{amount:.{places}f}"


def _call(environment: Environment, transaction: Members) -> tuple[WithdrawCall | WithdrawParameters, Record]:
    try:
        to, chain = str(transaction["to"]), transaction["chainId"]
        chain_id = int(chain, 0) if isinstance(chain, str) else int(chain)
        call: WithdrawCall | WithdrawParameters
        if family_of(chain_id) is Family.EVM:
            call = chains.read_call_data(str(transaction["data"]))
        else:
            call = chains.read_parameters(chain_id, transaction["parameters"])
    except UsageError as error:
        raise usage_error(str(error.problems[0])) from None
    except (KeyError, TypeError, ValueError):
        raise usage_error("required: to, chainId and data; on Solana and Stellar, parameters instead of data") from None
    for contract in environment.store.all("contract"):
        if contract["chain_id"] == chain_id and chains.same_address(contract["proxy_address"], call.proxy):
            if not chains.same_address(contract["controller_address"], to):
                raise usage_error("the transaction is not sent to the contract's controller")
            if isinstance(call, WithdrawCall) and call.version != contract["contract_version"]:
                raise usage_error(f"the contract takes version {contract['contract_version']} of the call")
            return call, contract
    raise usage_error("the sandbox has no such contract on this chain")


def _is_active(environment: Environment, contract: Record, call: WithdrawParameters) -> bool:
    """Return whether the sandbox still stores the service's signature, so that it is unused. Stellar has no nonce."""
    asked = environment.store.all(f"signature/{contract['id']}")
    return any(_salt(environment.seeds, signature["asked"]) == call.salt for signature in asked)


def _salt(seeds: Seeds, asked: Members) -> bytes:
    """Derive the salt of a withdrawal from a stored number, so that no file contains the salt."""
    return seeds.octets(f"salt:{asked['salt_number']}")


def _check_half(contract: Record, what: str, signed: Callable[[int], bool]) -> None:
    """Raise an error for a signature that does not match this withdrawal and the contract's nonce."""
    now = contract["nonce"]
    if signed(now):
        return
    for nonce in range(now - 1, max(-1, now - 21), -1):  # the most recently used nonces
        if signed(nonce):
            raise usage_error(
                f"{what} signature is for nonce {nonce}, which is used up: the contract's nonce is now {now}. Sign "
                "again"
            )
    raise usage_error(f"{what} signature does not match this withdrawal")


def _signed_by_service(call: WithdrawCall | WithdrawParameters, contract: Record, signer: str, nonce: int) -> bool:
    withdrawal = {name: getattr(call, name) for name in ("asset", "amount", "recipient", "expires_at", "salt")}
    messages = [
        message_of({**contract, "nonce": nonce}, {"user": admin, **withdrawal}) for admin in contract["admin_addresses"]
    ]
    if isinstance(call, WithdrawParameters):
        return any(chains.verify_ed25519(signer, message, call.signature) for message in messages)
    return any(_recovers(message, call.signature, signer) for message in messages)


def _check_admins(call: WithdrawCall, contract: Record, transaction: Members) -> None:
    """Check the admins' authorization: the owner as sender in version 1, a signature by each admin in version 2."""
    left = list(contract["admin_addresses"])
    if call.version == 1 and not any(chains.same_address(str(transaction.get("from")), admin) for admin in left):
        raise usage_error("a call of version 1 must be sent by the contract's owner (from)")
    for salt, signature in zip(call.admin_salts, call.admin_signatures, strict=True):

        def signed(nonce: int, salt: bytes = salt, signature: bytes = signature) -> bool:
            for admin in left:
                message = chains.withdraw_typed_data(
                    user=admin,
                    proxy=contract["proxy_address"],
                    salt=salt,
                    chain_id=contract["chain_id"],
                    asset=call.asset,
                    amount=call.amount,
                    recipient=call.recipient,
                    nonce=nonce,
                )
                if _recovers(chains.digest(message), signature, admin):
                    left.remove(admin)
                    return True
            return False

        _check_half(contract, "an admin's", signed)


def _recovers(digest: bytes, signature: bytes, address: str) -> bool:
    try:
        return chains.same_address(chains.recover(digest, signature), address)
    except UsageError:
        return False


def sign_withdrawal(context: RequestContext, request: SignWithdrawal) -> WithdrawalSignature:
    """Sign a withdrawal, or return the unexpired signature of an identical request."""
    contract, token, admin = _contract(context, request)
    amount, unit = int(request.amount), 10 ** token["decimals"]
    if not request.is_amount_native:  # assumed: token_decimals, cents_to_units
        amount = int(Fraction(amount, 100) / Fraction(token["exchange_rate"]) * unit)
    context.assumed += ("token_decimals", "withdrawal_encodings", "withdrawal_lifetime")
    if amount < 1:
        raise context.bad_request("amount must be at least one unit of the token", "withdrawal_smallest_amount")
    held = int(Fraction(token["balance"]) * unit)
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
    now = context.clock.ms
    if kept is not None and kept["expires_at"] > now:
        context.assumed.append("withdrawal_same_again")
        if context.settings["withdrawal_same_again"] == "same":
            return _ready(context, contract, kept)
    elif (context.store.get("active_signature", _scope(context, contract)) or 0) > now:
        context.assumed.append("withdrawal_other_while_active")
        if context.settings["withdrawal_other_while_active"] != "new":
            raise context.error(table.SIGNATURE_ACTIVE, "withdrawal_other_while_active")
    pending = context.store.get("pending", context.tenant["id"])
    if pending is not None and pending["times"] > 0:
        context.assumed.append("withdrawal_pending")
        context.store.put("pending", context.tenant["id"], {**pending, "times": pending["times"] - 1})
        return WithdrawalSignature(status="pending", retry_after=pending["retry_after"])
    # chains compare expiry times in whole seconds
    expires_at = now // 1000 + context.settings["withdrawal_lifetime"]
    asked = {
        "user": admin,
        "asset": token["address"],
        "amount": amount,
        "recipient": recipient,
        "expires_at": expires_at,
        "salt_number": context.store.next("salt"),
    }
    kept = {"expires_at": expires_at * 1000, "asked": asked}
    context.store.put(f"signature/{contract['id']}", question, kept)
    context.store.put("active_signature", _scope(context, contract), kept["expires_at"])
    return _ready(context, contract, kept)


def _scope(context: RequestContext, contract: Record) -> str:
    """Return the id of the tenant or contract that can have only one active signature."""
    return str(context.tenant["id"] if context.settings["withdrawal_scope"] == "tenant" else contract["id"])


def _contract(context: RequestContext, request: SignWithdrawal) -> tuple[Record, Record, str]:
    """Return the first matching contract with its token and the admin. assumed: withdrawal_contract_choice"""
    fitting = [
        (contract, token)
        for contract in of_tenant(context)
        for token in contract["tokens"]
        if (request.collateral_contract_id or contract["id"]).lower() == contract["id"]
        and (request.chain_id or contract["chain_id"]) == contract["chain_id"]
        and same_address(token["address"], request.token)
    ]
    if context.settings["withdrawal_contract_choice"] == "last":
        fitting.reverse()
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
    """Return the normalized address of the recipient. assumed: address_case"""
    if family_of(contract["chain_id"]) is Family.EVM and family_of_address(address) is Family.EVM:
        address = eip55(address)  # addresses on EVM chains are case-insensitive
    wrong = address_problems(address, contract["chain_id"])
    if wrong:
        raise context.bad_request(f"recipientAddress {wrong[0]}", "recipient_family")
    return address


def _ready(context: RequestContext, contract: Record, kept: Record) -> WithdrawalSignature:
    """Return the signature of a stored request. Equal requests get equal signature bytes."""
    asked = {name: value for name, value in kept["asked"].items() if name != "salt_number"}
    answer = _signed(context.seeds, contract, {**asked, "salt": _salt(context.seeds, kept["asked"])})
    members = {"status": "ready", "expires_at": kept["expires_at"], **answer}
    return from_json(WithdrawalSignature, members)


def message_of(contract: Record, withdrawal: Members) -> bytes:
    """Return the 32-byte digest that is signed.

    assumed: withdrawal_service_half, withdrawal_solana_message, withdrawal_stellar_message

    Args:
        withdrawal: `user` (an admin), `asset`, `amount` in native units, `recipient`, `expires_at` in unix seconds,
            `salt`.
    """
    chain_id, proxy = contract["chain_id"], contract["proxy_address"]
    if family_of(chain_id) is Family.STELLAR:
        return chains.stellar_message(chain_id=chain_id, proxy=proxy, **withdrawal)
    more = {"chain_id": chain_id, "controller": contract["controller_address"], "nonce": contract["nonce"]}
    if family_of(chain_id) is Family.SOLANA:
        return chains.solana_message(proxy=proxy, **more, **withdrawal)
    return chains.digest(chains.coordinator_typed_data(collateral=proxy, **more, **withdrawal))


def _signed(seeds: Seeds, contract: Record, withdrawal: Members) -> Record:
    """Return the signature members of the response as JSON values."""
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
