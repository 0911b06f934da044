"""The sandbox's chains: the teaching wallets of admins (EVM), and the transaction that executes a withdrawal."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from workbench import chains
from workbench.chains import WithdrawCall, WithdrawParameters
from workbench.chains.addresses import Family, family_of
from workbench.chains.values import refuse_private_key
from workbench.errors import InvalidRequest
from workbench.sandbox.context import Environment
from workbench.sandbox.contracts import secret_of, signer_of, wallet_address
from workbench.sandbox.control import usage_error
from workbench.sandbox.results import ExecutedWithdrawal, WalletSignature
from workbench.sandbox.signatures import message_of

Record = dict[str, Any]


class TeachingWallet:
    """Stands in for an admin's own wallet in lessons; it never holds the key of a real wallet."""

    note = "A teaching wallet of the sandbox. Its key is made from the seed; it is never the key of a real wallet."

    def __init__(self, sandbox: Any, admin: str) -> None:
        """Find an admin's wallet.

        Args:
            sandbox: An embedded sandbox or the client of a served one: it holds the keys.
            admin: Address of the admin.
        """
        refuse_private_key(admin, "admin")
        self._holder = sandbox
        self.address: str = sandbox.wallet_address(admin=admin).address

    def sign(self, typed_data: Mapping[str, Any]) -> str:
        """Return the signature over EIP-712 typed data, as 0x hex."""
        signed: WalletSignature = self._holder.wallet_sign(admin=self.address, typed_data=typed_data)
        return signed.signature

    def __repr__(self) -> str:
        # a traceback with locals may print a wallet that was refused before it had an address
        return f"<TeachingWallet {getattr(self, 'address', 'without address')}, sandbox only>"


def admin_secret(environment: Environment, admin: str) -> tuple[str, bytes]:
    """Return the address and the throw-away key of an admin whose wallet the sandbox made.

    Raises:
        Refused: Not an admin of a contract, not an address that the sandbox made, or not on an EVM chain.
    """
    for contract in environment.store.all("contract"):
        for i, address in enumerate(contract["admin_addresses"]):
            if family_of(contract["chain_id"]) is Family.EVM and chains.same_address(address, admin):
                label = f"{contract['id']}:{i}"
                if wallet_address(environment.seeds, contract["chain_id"], label) == address:
                    return address, secret_of(environment.seeds, "wallet", label)
    raise usage_error("the sandbox has a wallet only for admins of its own EVM contracts; see guide()")


def sign_as(environment: Environment, admin: str, typed_data: Mapping[str, Any]) -> WalletSignature:
    """Sign typed data as an admin."""
    address, secret = admin_secret(environment, admin)
    try:
        signature = chains.sign(chains.digest(typed_data), secret)
    except InvalidRequest as error:
        raise usage_error(str(error.problems[0])) from None
    return WalletSignature(address=address, signature="0x" + signature.hex())


def execute(environment: Environment, transaction: Mapping[str, Any]) -> ExecutedWithdrawal:
    """Execute a withdrawal: check both halves as the contract would, and move the balance.

    Raises:
        Refused: What the contract would not take, and why.
    """
    call, contract = _call(environment, transaction)
    if call.expires_at * 1000 <= environment.clock.at:
        raise usage_error("the service's signature has expired")
    signer = signer_of(environment.seeds, contract["chain_id"], contract["id"])
    _check_half(contract, "the service's", lambda nonce: _signed_by_service(call, contract, signer, nonce))
    if isinstance(call, WithdrawCall):
        _check_admins(call, contract, transaction)
    elif not _is_active(environment, contract, call):
        raise usage_error("the service's signature is used up. Sign again")
    elif transaction.get("from") not in contract["admin_addresses"]:  # assumed: withdrawal_ed25519_transaction
        raise usage_error("it has to be sent from an admin of the contract (from), whose signature is their half")
    token = next((one for one in contract["tokens"] if chains.same_address(one["address"], call.asset)), None)
    if token is None:
        raise usage_error("the contract does not hold this token")
    left = Decimal(token["balance"]) - Decimal(call.amount).scaleb(-token["decimals"])
    if left < 0:
        raise usage_error("the contract holds less than asked")
    changed = {**token, "balance": _whole_tokens(left)}
    environment.store.put(
        "contract",
        contract["id"],
        {
            **contract,
            "tokens": [changed if one is token else one for one in contract["tokens"]],
            "nonce": contract["nonce"] + 1,
        },
    )
    environment.store.fill(f"signature/{contract['id']}", {})  # the nonce has moved, so they are all used up
    for scope in (contract["tenant"], contract["id"]):
        if environment.store.get("active_signature", scope) is not None:
            environment.store.delete("active_signature", scope)
    return ExecutedWithdrawal(
        contract_id=contract["id"],
        token=changed["address"],
        amount=str(call.amount),
        recipient=call.recipient,
        balance=changed["balance"],
        nonce=contract["nonce"] + 1,
    )


def _whole_tokens(amount: Decimal) -> str:
    """Write a balance as contracts show it, as 1250.50: at least two decimals, and no more than it has."""
    places = max(2, -int(amount.normalize().as_tuple().exponent))
    return f"{amount:.{places}f}"


def _call(environment: Environment, transaction: Mapping[str, Any]) -> tuple[WithdrawCall | WithdrawParameters, Record]:
    try:
        to, chain = str(transaction["to"]), transaction["chainId"]
        chain_id = int(chain, 0) if isinstance(chain, str) else int(chain)
        call: WithdrawCall | WithdrawParameters
        if family_of(chain_id) is Family.EVM:
            call = chains.read_call_data(str(transaction["data"]))
        else:
            call = chains.read_parameters(chain_id, transaction["parameters"])
    except InvalidRequest as error:
        raise usage_error(str(error.problems[0])) from None
    except (KeyError, TypeError, ValueError):
        raise usage_error("a transaction has to, chainId and data, or on Solana and Stellar parameters") from None
    for contract in environment.store.all("contract"):
        if contract["chain_id"] == chain_id and chains.same_address(contract["proxy_address"], call.proxy):
            if not chains.same_address(contract["controller_address"], to):
                raise usage_error("it is not sent to the contract's controller")
            if isinstance(call, WithdrawCall) and call.version != contract["contract_version"]:
                raise usage_error(f"the contract takes version {contract['contract_version']} of the call")
            return call, contract
    raise usage_error("the sandbox has no such contract on this chain")


def _is_active(environment: Environment, contract: Record, call: WithdrawParameters) -> bool:
    """Return whether a signature was not used: what is signed on Stellar has no nonce that would tell."""
    salt = chains.write_salt(call.salt)
    kept = environment.store.all(f"signature/{contract['id']}")
    return any(one["answer"]["signature"]["salt"] == salt for one in kept)


def _check_half(contract: Record, what: str, signed: Callable[[int], bool]) -> None:
    """Refuse a signature that is not over this withdrawal with the contract's nonce."""
    now = contract["nonce"]
    if signed(now):
        return
    for nonce in range(now - 1, max(-1, now - 21), -1):  # the last that were used up
        if signed(nonce):
            raise usage_error(
                f"{what} signature is for nonce {nonce}, which is used up: the contract's nonce is now {now}. Sign again"
            )
    raise usage_error(f"the signature is not {what} over this withdrawal")


def _signed_by_service(call: WithdrawCall | WithdrawParameters, contract: Record, signer: str, nonce: int) -> bool:
    withdrawal = {name: getattr(call, name) for name in ("asset", "amount", "recipient", "expires_at", "salt")}
    messages = [
        message_of({**contract, "nonce": nonce}, {"user": admin, **withdrawal}) for admin in contract["admin_addresses"]
    ]
    if isinstance(call, WithdrawParameters):
        return any(chains.verify_ed25519(signer, message, call.signature) for message in messages)
    return any(_recovers(message, call.signature, signer) for message in messages)


def _check_admins(call: WithdrawCall, contract: Record, transaction: Mapping[str, Any]) -> None:
    """Check the admins' half: version 1 takes the owner as the sender, version 2 one signature for each admin."""
    left = list(contract["admin_addresses"])
    if call.version == 1 and not any(chains.same_address(str(transaction.get("from")), admin) for admin in left):
        raise usage_error("version 1 has to be sent from the contract's owner (from)")
    for salt, signature in zip(call.admin_salts, call.admin_signatures, strict=True):

        def signed(nonce: int, salt: bytes = salt, signature: bytes = signature) -> bool:
            for admin in left:
                message = chains.withdraw_typed_data(
                    user=admin, proxy=contract["proxy_address"], salt=salt, chain_id=contract["chain_id"],
                    asset=call.asset, amount=call.amount, recipient=call.recipient, nonce=nonce,
                )  # fmt: skip
                if _recovers(chains.digest(message), signature, admin):
                    left.remove(admin)
                    return True
            return False

        _check_half(contract, "an admin's", signed)


def _recovers(digest: bytes, signature: bytes, address: str) -> bool:
    try:
        return chains.same_address(chains.recover(digest, signature), address)
    except InvalidRequest:
        return False
