"""A withdrawal as the service answered it: who may take how much, from where, to where, until when."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from workbench import chains
from workbench.chains.families import Family
from workbench.chains.values import BytesLike
from workbench.errors import InvalidRequest, Problem, hide_arguments, visible
from workbench.interface.masks import DOTS
from workbench.interface.withdrawals import WithdrawalSignature
from workbench.rendering import moment
from workbench.rendering.layout import Sheet
from workbench.withdrawals.admin import AdminMessage, AdminSignature, admin_message
from workbench.withdrawals.amounts import Native, brief
from workbench.withdrawals.answers import Read, read
from workbench.withdrawals.calls import CallData, Explanation, Parameters, Transaction, explain, explained
from workbench.withdrawals.looks import withdrawal_sheet
from workbench.withdrawals.secret import NotSerializable, Revealed
from workbench.withdrawals.sheets import Shown, spoken

if TYPE_CHECKING:
    from workbench.withdrawals.planning import Plan

_LONG = timedelta(days=1)  # a longer life is remarked, a larger skew told in other words


class Withdrawal(NotSerializable, Shown):
    """What a withdrawal's signature allows. The signature itself stays masked, and is dropped when it expires."""

    __slots__ = ("_audit", "_clock", "_now", "_read", "_secret", "_skew", "plan", "retry_after", "status")

    def __init__(
        self, plan: "Plan", answer: WithdrawalSignature, now: Callable[[], datetime], skew: Callable[[], float],
        clock: Any, audit: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.plan = plan
        self.status = visible(str(answer.status), 80)
        self.retry_after = answer.retry_after if type(answer.retry_after) is int else None
        self._read: Read = read(plan, answer)
        self._secret = self._read.secret
        self._now, self._skew, self._clock, self._audit = now, skew, clock, audit

    # what it says

    @property
    def ready(self) -> bool:
        """Whether a signature is here, fits what was asked, and still lives."""
        return self._trouble() is None

    @property
    def expires_at(self) -> datetime | None:
        """When the signature expires."""
        return self._read.expires_at

    @property
    def answered(self) -> bool:
        """Whether the answer carried a signature, even one that has expired since."""
        return self._read.secret is not None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Where the answer differs from what was asked; with any, the signature is not given out."""
        return self._read.problems

    @property
    def notes(self) -> tuple[str, ...]:
        """What is remarkable about the answer, and does not stand in the way."""
        life = self.remaining()
        long = (f"it lives unusually long: {spoken(life)}",) if life is not None and life > _LONG else ()
        return (*self._read.notes, *long)

    @property
    def units(self) -> Native | None:
        """The amount in native units: as asked, or as the service counted it; None where it did not say."""
        return self._read.units

    def remaining(self) -> timedelta | None:
        """Return how long the signature still lives, by the service's clock; below zero where it has expired."""
        if self.expires_at is None:
            return None
        return self.expires_at - (self._now() - timedelta(seconds=self._skew()))

    @property
    def expired(self) -> bool:
        """Whether the signature has expired, by the service's clock."""
        left = self.remaining()
        return left is not None and left <= timedelta()

    def countdown(self) -> str:
        """Say how long it still lives, or since when it does not: "9 min 58 s left"."""
        left = self.remaining()
        if left is None:
            return "the service did not say until when"
        if left > timedelta():
            return f"{spoken(left)} left"
        return f"this signature expired {spoken(left)} ago{_clocks(timedelta(seconds=self._skew()))}"

    @property
    def says(self) -> str:
        """Who may take how much of what, from which contract, to where, until when."""
        plan = self.plan
        if not self.answered:
            trouble = "The answer cannot be used" if self.problems else self._unready()
            return f"{trouble[0].upper()}{trouble[1:]}. What was asked: {plan.says}"
        until = moment(self.expires_at) if self.expires_at else "a time that the service did not say"
        return (
            f"{plan.admin} {'could' if self.expired else 'may'} take "
            f"{brief(plan.amount, plan.decimals, plan.rate, self.units)} of the token {plan.token.address} from the contract "
            f"{plan.contract.proxy_address} on {plan.chain} and send them to {plan.recipient}, until {until}."
        )

    # the signature

    def reveal(self) -> Revealed:
        """Return a view in which the signature can be read for a minute. That it was shown is noted in the journal.

        Raises:
            InvalidRequest: There is none, it has expired, or it does not fit what was asked.
        """
        revealed = Revealed(self._need(), self._clock)
        self._audit(f"withdrawal signature for {self.plan.amount} to {self.plan.recipient}")
        return revealed

    @hide_arguments
    def verify(self, signer: str | bytes | None = None, *, nonce: int | None = None) -> bool:
        """Return whether the service's signature fits the message it is assumed to sign.

        On Stellar the signed bytes are not public: there True says only that the sandbox made the signature, and a real
        one gives False.

        Args:
            signer: On EVM chains the address that signs for the service; elsewhere its public key, by default the one in
                the answer, which shows only that the answer is consistent.
            nonce: On EVM chains and Solana the nonce of the contract, on EVM chains the value of `adminNonce()`.
        """
        secret, plan = self._need(), self.plan
        parties: dict[str, Any] = {
            "chain_id": plan.contract.chain_id, "user": plan.admin, "asset": plan.token.address,
            "amount": self._units(None).units, "recipient": plan.recipient, "expires_at": self._end(),
            "salt": secret.salt,
        }  # fmt: skip
        family, proxy = plan.chain.family, plan.contract.proxy_address
        if family is not Family.STELLAR:
            if nonce is None:
                raise _wrong("nonce", "is required: the nonce of the contract, on EVM chains the value of adminNonce()")
            parties |= {"controller": plan.contract.controller_address, "nonce": nonce}
        if family is Family.EVM:
            chains.refuse_private_key(signer, "signer")
            if not isinstance(signer, str):
                raise _wrong("signer", "is required: the address that signs for the service")
            digest = chains.digest(chains.coordinator_typed_data(collateral=proxy, **parties))
            try:
                return chains.same_address(chains.recover(digest, secret.data), signer)
            except InvalidRequest:  # no key fits, or contracts would refuse it
                return False
        key = signer if signer is not None else secret.public_key
        if key is None:
            raise _wrong("signer", "is required: the public key of the service, which this answer does not carry")
        message = chains.solana_message if family is Family.SOLANA else chains.stellar_message
        return chains.verify_ed25519(key, message(proxy=proxy, **parties), secret.data)

    # the admin's half, and the transaction: EVM

    @hide_arguments
    def typed_data(
        self, *, nonce: int, salt: BytesLike | None = None, admin: str | None = None, units: Native | None = None
    ) -> AdminMessage:
        """Return the message that an admin's own wallet signs (EIP-712): JSON for any wallet.

        Args:
            nonce: What the contract's `adminNonce()` gives.
            salt: 32 random bytes of the admin's own, as bytes, hex or base64; drawn where left out.
            admin: Who signs, where it is another admin than the one the withdrawal was asked for.
            units: The amount, where it was asked in cents and the service's answer does not say how it counted.
        """
        self._need()
        self._evm("typed data")
        return admin_message(self.plan, self._units(units).units, nonce=nonce, salt=salt, admin=admin)

    @hide_arguments
    def call_data(
        self, *signatures: AdminSignature, direct_transfer: bool | None = None, units: Native | None = None
    ) -> CallData:
        """Return the data of the transaction to the contract's controller. It holds the signature, and prints masked.

        Args:
            signatures: What `typed_data(…).accept(…)` gave, one for each admin, in the order wanted; none for version 1.
            direct_transfer: Needed by version 2; what it means is up to the contract.
        """
        secret, plan = self._need(), self.plan
        self._evm("call data")
        amount = self._units(units)
        self._admins(signatures, amount)
        return CallData(
            chains.withdraw_call_data(
                version=plan.contract.contract_version,  # type: ignore[arg-type]  # a JSON number, which may read as 2.0
                proxy=plan.contract.proxy_address,
                asset=plan.token.address,
                amount=amount.units,
                recipient=plan.recipient,
                expires_at=self._end(),
                salt=secret.salt,
                signature=secret.data,
                admin_salts=tuple(one.salt for one in signatures),
                admin_signatures=tuple(one.signature for one in signatures),
                direct_transfer=direct_transfer,
            )
        )

    @hide_arguments
    def transaction(
        self, *signatures: AdminSignature, direct_transfer: bool | None = None, units: Native | None = None
    ) -> Transaction:
        """Return the transaction, ready for a wallet to send: `to`, `data`, `value`, `chainId`, and `from` for version 1.

        Args: as for `call_data`.
        """
        contract = self.plan.contract
        data = self.call_data(*signatures, direct_transfer=direct_transfer, units=units)
        made = {"to": contract.controller_address, "data": data, "value": "0x0", "chainId": hex(contract.chain_id)}
        # version 1 has no signatures of admins: its owner is who sends it
        return Transaction({"from": self.plan.admin, **made} if contract.contract_version == 1 else made)

    @hide_arguments
    def explain(self, data: Any) -> Explanation:
        """Read call data, or a transaction, back into words, and name where it differs from this withdrawal."""
        return explained(self.plan, self._read, explain(data, decimals=self.plan.decimals), data)

    def _admins(self, signatures: tuple[AdminSignature, ...], amount: Native) -> None:
        """Check each signature once more, over this withdrawal's own message."""
        seen: list[str] = []
        for index, one in enumerate(signatures):
            if not isinstance(one, AdminSignature):
                raise _wrong("signatures", "are what typed_data(…).accept(…) gave, not the bare signature of a wallet")
            if any(chains.same_address(one.admin, other) for other in seen):
                raise _wrong(f"signatures[{index}]", "is of an admin whose signature is here already")
            seen.append(one.admin)
            message = admin_message(self.plan, amount.units, nonce=one.nonce, salt=one.salt, admin=one.admin)
            message.accept(one.signature)
        if len({one.nonce for one in signatures}) > 1:
            raise _wrong("signatures", "were made with different nonces; the contract has one")

    # the arguments: Solana and Stellar

    def parameters(self, *, units: Native | None = None) -> Parameters:
        """Return the arguments of the on-chain call, in the order and the forms the chain's program takes (assumed).

        Proxy, asset, amount in native units, recipient, end in unix seconds, salt as 32 numbers, signature, and the public
        key where the answer carries it.
        """
        secret, plan = self._need(), self.plan
        return Parameters(
            chains.withdraw_parameters(
                chain_id=plan.contract.chain_id, proxy=plan.contract.proxy_address, asset=plan.token.address,
                amount=self._units(units).units, recipient=plan.recipient, expires_at=self._end(), salt=secret.salt,
                signature=secret.data, public_key=secret.public_key,
            )
        )  # fmt: skip

    # what stands in the way

    def _need(self) -> Any:
        """Return the secret, or say why it is not to be had."""
        trouble = self._trouble()
        if trouble is not None:
            raise InvalidRequest(trouble, of="withdrawal")
        return self._secret

    def _trouble(self) -> str | tuple[Problem, ...] | None:
        if self.problems:
            return self.problems
        if self.expired:
            self._secret = None
            return self.countdown()
        if self._secret is None:
            return self._unready()
        return None

    def _unready(self) -> str:
        if self.status == "ready":
            return "the service said ready, and sent no signature"
        text = f"not ready ({self.status or 'no status'})"
        if self.status != "pending":
            return text
        when = f"the service asks to come back in {self.retry_after} s" if self.retry_after is not None else ""
        return "; ".join(part for part in (text, when, "plan.sign(wait=60) waits for it as told") if part)

    def _units(self, given: Native | None) -> Native:
        if given is not None and not isinstance(given, Native):
            raise _wrong("units", "is an amount in native units, as native(25_000_000)")
        if self.units is None and given is None:
            raise _wrong(
                "units", "is needed: the amount was asked in cents, and the answer does not say how it was counted"
            )
        if self.units is not None and given is not None and given != self.units:
            raise _wrong("units", f"differs from what the service signed, {self.units}")
        found = self.units or given
        assert found is not None
        return found

    def _end(self) -> int:
        if self._read.end is None:
            raise _wrong("expiresAt", "is missing: the service did not say until when the signature lives")
        return self._read.end

    def _evm(self, what: str) -> None:
        if self.plan.chain.family is not Family.EVM:
            raise _wrong(
                "chain", f"is {self.plan.chain}; {what} is for EVM chains, parameters() gives what this one takes"
            )

    def sheet(self) -> Sheet:
        """Return what is to be shown."""
        return withdrawal_sheet(self)

    def __repr__(self) -> str:
        state = "expired" if self.answered and self.expired else self.status
        return f"<withdrawal of {self.plan.amount} to {self.plan.recipient}, {state}, signature {DOTS}>"


def _clocks(skew: timedelta) -> str:
    """Say how this machine's clock stands to the service's; a day apart is no clock that runs wrong."""
    if not skew:
        return ""
    if abs(skew) > _LONG:
        return f" (the service's clock is {spoken(skew)} {'behind' if skew > timedelta() else 'ahead of'} yours)"
    return f" (your clock is {spoken(skew)} {'fast' if skew > timedelta() else 'slow'})"


def _wrong(path: str, message: str) -> InvalidRequest:
    return InvalidRequest([Problem(path, "withdrawal", message)], of="withdrawal")
