"""A withdrawal as the service answered it: who may take how much, from where, to where, until when."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from workbench import chains
from workbench.chains import Family
from workbench.chains.signatures import ED25519_PROGRAM, ed25519_instruction
from workbench.chains.values import BytesLike, refuse_private_key
from workbench.errors import InvalidRequest, Problem, hide_arguments, visible
from workbench.interface.contracts import WithdrawalSignature
from workbench.interface.masks import DOTS
from workbench.rendering import moment
from workbench.rendering.layout import Cell, Sheet
from workbench.rendering.markup import Shown
from workbench.withdrawals.amounts import NativeUnits, in_both_units, in_sentence
from workbench.withdrawals.answers import NotSerializable, Revealed, Secret, check_answer
from workbench.withdrawals.terms import Terms, duration_text, sheet_of
from workbench.withdrawals.wallet import (
    AdminMessage,
    AdminSignature,
    CallData,
    Explanation,
    Parameters,
    Transaction,
    admin_message,
    explain_for,
)

_ONE_DAY = timedelta(days=1)  # a longer life is unusual; a larger skew is not a clock that drifts


class Withdrawal(NotSerializable, Shown):
    """A withdrawal that the service signed, and its next steps. The signature is masked, and deleted when it expires.

    Attributes:
        expires_at: The time at which the signature expires.
        problems: Differences between answer and request; with any, the signature is withheld.
        units: The amount in native units: as requested, or as the service converted it; None if it did not say.
    """

    __slots__ = (
        "_answer", "_audit", "_clock", "_secret", "_skew", "expires_at", "plan", "problems", "retry_after", "status", "units",
    )  # fmt: skip

    def __init__(
        self, plan: Terms, answer: WithdrawalSignature, clock: Any, skew: Callable[[], float],
        audit: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.plan = plan
        self.status = visible(str(answer.status), 80)
        self.retry_after = answer.retry_after if type(answer.retry_after) is int else None
        self._answer = found = check_answer(plan, answer)
        self._secret = found.secret
        self.expires_at, self.problems, self.units = found.expires_at, found.problems, found.units
        self._clock, self._skew, self._audit = clock, skew, audit

    @property
    def ready(self) -> bool:
        """Whether there is a signature that matches the request and has not expired."""
        return self._obstacle() is None

    @property
    def answered(self) -> bool:
        """Whether the answer had a signature, even if it has expired since."""
        return self._answer.secret is not None

    @property
    def notes(self) -> tuple[str, ...]:
        """What is unusual about the answer, but no obstacle."""
        life = self.remaining()
        long = (f"it is valid unusually long: {duration_text(life)}",) if life is not None and life > _ONE_DAY else ()
        return (*self._answer.notes, *long)

    def remaining(self) -> timedelta | None:
        """Return the remaining time of the signature by the service's clock; negative if it has expired."""
        if self.expires_at is None:
            return None
        now: datetime = self._clock.now()
        return self.expires_at - (now - timedelta(seconds=self._skew()))

    @property
    def expired(self) -> bool:
        """Whether the signature has expired, by the service's clock."""
        left = self.remaining()
        return left is not None and left <= timedelta()

    def countdown(self) -> str:
        """Return the remaining time as text ("9 min 58 s left"), or since when the signature has expired."""
        left = self.remaining()
        if left is None:
            return "the service did not state an expiry"
        if left > timedelta():
            return f"{duration_text(left)} left"
        return f"this signature expired {duration_text(left)} ago{_skew_text(timedelta(seconds=self._skew()))}"

    @property
    def summary(self) -> str:
        """Who may take how much of what, from which contract, to where, until when."""
        plan = self.plan
        if not self.answered:
            obstacle = "The answer cannot be used" if self.problems else self._not_ready()
            return f"{obstacle[0].upper()}{obstacle[1:]}. Requested: {plan.summary}"
        until = moment(self.expires_at) if self.expires_at else "a time that the service did not state"
        return (
            f"{plan.admin} {'could' if self.expired else 'may'} take "
            f"{in_sentence(plan.amount, plan.decimals, plan.rate, self.units)} of the token {plan.token.address} from the "
            f"contract {plan.contract.proxy_address} on {plan.chain} and send them to {plan.recipient}, until {until}."
        )

    def reveal(self) -> Revealed:
        """Return a view in which the signature can be read for a minute. The journal notes that it was shown.

        Raises:
            InvalidRequest: There is no signature, it has expired, or it does not match the request.
        """
        revealed = Revealed(self._require_secret(), self._clock)
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
        secret, message = self._require_secret(), self._message(nonce)
        if self.plan.chain.family is Family.EVM:
            refuse_private_key(signer, "signer")
            if not isinstance(signer, str):
                raise _invalid("signer", "is required: the address that signs for the service")
            try:
                return chains.same_address(chains.recover(message, secret.data), signer)
            except InvalidRequest:  # no key fits, or contracts would refuse it
                return False
        key = signer if signer is not None else secret.public_key
        if key is None:
            raise _invalid("signer", "is required: the public key of the service, which this answer does not carry")
        return chains.verify_ed25519(key, message, secret.data)

    def _message(self, nonce: int | None) -> bytes:
        """Return the bytes that the service is assumed to sign."""
        secret, plan = self._require_secret(), self.plan
        family, proxy = plan.chain.family, plan.contract.proxy_address
        parties: dict[str, Any] = {
            "chain_id": plan.contract.chain_id, "user": plan.admin, "asset": plan.token.address,
            "amount": self._native_units(None).units, "recipient": plan.recipient, "expires_at": self._expires_at_unix(),
            "salt": secret.salt,
        }  # fmt: skip
        if family is Family.STELLAR:
            return chains.stellar_message(proxy=proxy, **parties)
        if nonce is None:
            raise _invalid("nonce", "is required: the nonce of the contract, on EVM chains the value of adminNonce()")
        parties |= {"controller": plan.contract.controller_address, "nonce": nonce}
        if family is Family.SOLANA:
            return chains.solana_message(proxy=proxy, **parties)
        return chains.digest(chains.coordinator_typed_data(collateral=proxy, **parties))

    @hide_arguments
    def typed_data(
        self, *, nonce: int, salt: BytesLike | None = None, admin: str | None = None, units: NativeUnits | None = None
    ) -> AdminMessage:
        """Return the EIP-712 message for an admin's own wallet to sign.

        Args:
            nonce: The value of the contract's `adminNonce()`.
            salt: 32 random bytes chosen by the admin, as bytes, hex or base64; generated by default.
            admin: The admin who signs; by default the one of the withdrawal.
            units: The amount in native units, needed if it was requested in cents and the answer does not state it.
        """
        self._require_secret()
        if self.plan.chain.family is not Family.EVM:
            words = f"is {self.plan.chain}; typed data is for EVM chains, parameters() gives what this one takes"
            raise _invalid("chain", words)
        return admin_message(self.plan, self._native_units(units).units, nonce=nonce, salt=salt, admin=admin)

    @hide_arguments
    def transaction(
        self, *signatures: AdminSignature, direct_transfer: bool | None = None, nonce: int | None = None,
        units: NativeUnits | None = None,
    ) -> Transaction:  # fmt: skip
        """Return the transaction for a wallet to send. It holds the signatures and prints masked.

        On EVM chains it is whole: `to` (the contract's controller), `data`, `value`, `chainId`, and `from` for version 1.
        On Solana and Stellar it goes as far as is public: the admin sends it (`from`), so that its own signature is their
        half, and it carries the `parameters`; on Solana also the instruction that checks the service's signature. The
        instruction of the contract's program, or the function of the Stellar contract, comes from its documentation.

        Args:
            signatures: EVM: results of `typed_data(…).accept(…)`, one for each admin, in this order; none for version 1.
            direct_transfer: Required by version 2 on EVM chains; its meaning depends on the contract.
            nonce: Solana: the nonce of the contract.
            units: The amount in native units, needed if it was requested in cents and the answer does not state it.
        """
        secret, plan, contract = self._require_secret(), self.plan, self.plan.contract
        base: dict[str, Any] = {"to": contract.controller_address, "chainId": hex(contract.chain_id)}
        if plan.chain.family is not Family.EVM:
            if signatures or direct_transfer is not None:
                raise _invalid("signatures", f"and direct_transfer are for EVM chains, not for {plan.chain}")
            base = {"from": plan.admin, **base}
            if plan.chain.family is Family.SOLANA:
                base["instructions"] = [self._ed25519_instruction(secret, nonce)]
            return Transaction({**base, "parameters": self.parameters(units=units)})
        amount = self._native_units(units)
        self._check_admins(signatures, amount)
        data = chains.withdraw_call_data(
            version=contract.contract_version,  # type: ignore[arg-type]  # a JSON number, which may read as 2.0
            proxy=contract.proxy_address,
            asset=plan.token.address,
            amount=amount.units,
            recipient=plan.recipient,
            expires_at=self._expires_at_unix(),
            salt=secret.salt,
            signature=secret.data,
            admin_salts=tuple(one.salt for one in signatures),
            admin_signatures=tuple(one.signature for one in signatures),
            direct_transfer=direct_transfer,
        )
        transaction = {**base, "data": CallData(data), "value": "0x0"}
        # version 1 has no signatures of admins: its owner sends it
        return Transaction({"from": plan.admin, **transaction} if contract.contract_version == 1 else transaction)

    def _ed25519_instruction(self, secret: Secret, nonce: int | None) -> dict[str, Any]:
        if secret.public_key is None:
            raise _invalid("publicKey", "is missing: this answer does not carry the key of the service")
        data = ed25519_instruction(secret.public_key, self._message(nonce), secret.data)
        return {"programId": ED25519_PROGRAM, "accounts": [], "data": CallData("0x" + data.hex())}

    @hide_arguments
    def explain(self, data: Any) -> Explanation:
        """Explain call data, or a transaction, in plain words, and list how it differs from this withdrawal."""
        return explain_for(self.plan, self._answer, data)

    def _check_admins(self, signatures: tuple[AdminSignature, ...], amount: NativeUnits) -> None:
        """Check each signature again, over this withdrawal's own message."""
        seen: list[str] = []
        for index, one in enumerate(signatures):
            if not isinstance(one, AdminSignature):
                raise _invalid(
                    "signatures", "must be results of typed_data(…).accept(…), not a wallet's bare signature"
                )
            if any(chains.same_address(one.admin, other) for other in seen):
                raise _invalid(f"signatures[{index}]", "is by an admin whose signature was passed already")
            seen.append(one.admin)
            message = admin_message(self.plan, amount.units, nonce=one.nonce, salt=one.salt, admin=one.admin)
            message.accept(one.signature)
        if len({one.nonce for one in signatures}) > 1:
            raise _invalid("signatures", "have different nonces; the contract has one")

    def parameters(self, *, units: NativeUnits | None = None) -> Parameters:
        """Return the arguments of the on-chain call, in the order and encoding of the chain's program (assumed).

        Proxy, asset, amount in native units, recipient, expiry in Unix seconds, salt as 32 numbers, signature, and the
        public key if the answer has it.
        """
        secret, plan = self._require_secret(), self.plan
        return Parameters(
            chains.withdraw_parameters(
                chain_id=plan.contract.chain_id, proxy=plan.contract.proxy_address, asset=plan.token.address,
                amount=self._native_units(units).units, recipient=plan.recipient, expires_at=self._expires_at_unix(), salt=secret.salt,
                signature=secret.data, public_key=secret.public_key,
            )
        )  # fmt: skip

    def _require_secret(self) -> Secret:
        """Return the signature, or raise why there is none."""
        obstacle = self._obstacle()
        if obstacle is not None or self._secret is None:
            raise InvalidRequest(obstacle or self._not_ready(), of="withdrawal")
        return self._secret

    def _obstacle(self) -> str | tuple[Problem, ...] | None:
        if not self.problems and self.expired:
            self._secret = None
            return self.countdown()
        return self.problems or (self._not_ready() if self._secret is None else None)

    def _not_ready(self) -> str:
        if self.status == "ready":
            return "the service answered ready without a signature"
        text = f"not ready ({self.status or 'no status'})"
        if self.status != "pending":
            return text
        when = f"the service asks to retry after {self.retry_after} s" if self.retry_after is not None else ""
        return "; ".join(part for part in (text, when, "plan.sign(wait=60) waits and retries") if part)

    def _native_units(self, given: NativeUnits | None) -> NativeUnits:
        if given is not None and not isinstance(given, NativeUnits):
            raise _invalid("units", "must be an amount in native units, such as native_units(25_000_000)")
        found = self.units or given
        if found is None:
            text = "is required: the amount was requested in cents, and the answer does not state native units"
            raise _invalid("units", text)
        if given not in (None, found):
            raise _invalid("units", f"differs from what the service signed, {found}")
        return found

    def _expires_at_unix(self) -> int:
        if self._answer.expires_at_unix is None:
            raise _invalid("expiresAt", "is missing: the service did not state when the signature expires")
        return self._answer.expires_at_unix

    def sheet(self) -> Sheet:
        """Return the withdrawal as a sheet; the signature is masked, and missing once it has expired."""
        plan = self.plan
        amount = plan.amount_text
        if self.answered and self.units is not None and self.units != plan.amount:
            amount = f"{plan.amount}, which the service counts as {in_both_units(self.units, plan.decimals, plan.rate)}"
        expired = self.answered and self.expired
        return sheet_of(
            "withdrawal",
            {
                "amount": amount,
                **plan.rows,
                "until": moment(self.expires_at) if self.expires_at else None,
                "time": self.countdown() if self.expires_at else None,
                "signature": Cell((DOTS,), "private") if self.answered and not expired else None,
            },
            status="expired" if expired else self.status or None,
            words=(f"{plan.headline}.", self.summary),
            notes=(
                *(f"Do not use it: {problem}." for problem in self.problems),
                *(f"Note: {one}." for one in self.notes),
                *self._next_steps(),
            ),
        )

    def _next_steps(self) -> tuple[str, ...]:
        if not self.ready:
            return ()
        if self.plan.chain.family is not Family.EVM:
            nonce = "nonce=…" if self.plan.chain.family is Family.SOLANA else ""
            text = f"Next: parameters() returns the arguments of the call, transaction({nonce}) what the admin's own wallet sends"
            return (f"{text}, as far as it is public.",)
        if self.plan.contract.contract_version == 1:
            return ("Next: transaction() returns the call, which the contract's owner sends from their own wallet.",)
        text = (
            "This is the service's half. Next: typed_data(nonce=…) returns the message for an admin's own wallet to sign, "
            "accept(…) checks the wallet's signature, transaction(…) returns the call that anybody can then send."
        )
        return (text,)

    def __repr__(self) -> str:
        state = "expired" if self.answered and self.expired else self.status
        return f"<withdrawal of {self.plan.amount} to {self.plan.recipient}, {state}, signature {DOTS}>"


def _skew_text(skew: timedelta) -> str:
    """Return how this machine's clock differs from the service's; a difference above a day is not called an error."""
    if not skew:
        return ""
    if abs(skew) > _ONE_DAY:
        return f" (the service's clock is {duration_text(skew)} {'behind' if skew > timedelta() else 'ahead of'} yours)"
    return f" (your clock is {duration_text(skew)} {'fast' if skew > timedelta() else 'slow'})"


def _invalid(path: str, message: str) -> InvalidRequest:
    return InvalidRequest([Problem(path, "withdrawal", message)], of="withdrawal")
