"""A signed withdrawal: comparison of the answer with the request, expiry, and data for the wallet that executes it."""

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import attrs

from workbench.base.arguments import hide_arguments
from workbench.base.errors import Problem, UsageError, visible
from workbench.base.remedies import Remedy, declare
from workbench.base.schema.masks import DOTS
from workbench.client.calls.guards import ClientContext
from workbench.client.withdrawals.amounts import NativeUnits, in_both_units, in_sentence, units_of
from workbench.client.withdrawals.terms import Terms, duration_text, sheet_of
from workbench.client.withdrawals.wallet import (
    AdminMessage,
    AdminSignature,
    CallData,
    Explanation,
    NotSerializable,
    Parameters,
    Revealed,
    Secret,
    Transaction,
    admin_message,
    explain,
    number_of,
)
from workbench.service import chains
from workbench.service.chains import Family, same_address
from workbench.service.chains.values import ED25519_PROGRAM, BytesLike, ed25519_instruction, refuse_private_key
from workbench.service.interface.contracts import WithdrawalSignature
from workbench.service.rendering import moment
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Cell, Sheet

declare(
    "parameters",
    python="parameters() returns the arguments for this chain",
    other="this chain takes parameters",
)
declare(
    "wait",
    python="plan.sign(timeout=60) waits and retries",
    other="sign it again later",
)
declare(
    "native_units",
    python="such as native_units(25_000_000)",
    other="a whole number",
)
declare(
    "next_parameters",
    python=(
        "Next: parameters() returns the arguments of the call, transaction({nonce}) the public part of the "
        "transaction that the admin's wallet sends."
    ),
    other="Next: the admin's wallet sends the call, whose format is partly public.",
)
declare(
    "next_owner",
    python="Next: transaction() returns the call, which the contract's owner sends from a wallet.",
    other="Next: the contract's owner sends the call from a wallet.",
)
declare(
    "next_call",
    python=(
        "Next: typed_data(nonce=…) returns the message for an admin's wallet to sign, accept(…) checks the "
        "wallet's signature, transaction(…) returns the call that anyone can then send."
    ),
    other="Next: an admin's wallet signs the message; then anyone can send the call.",
)

_ONE_DAY = timedelta(days=1)  # usual maximum lifetime of a signature, and maximum plausible clock drift


class Withdrawal(NotSerializable, Shown):
    """A withdrawal signed by the service, and its next steps. The signature is masked, and deleted on expiry.

    Attributes:
        answered: Whether the answer contained a signature, even if it has expired since.
        expires_at: Expiry of the signature.
        problems: Differences between answer and request. If there are any, the signature is withheld.
        units: Amount in native units, as requested or as computed by the service; None if unknown.
    """

    __slots__ = (
        "_clock",
        "_context",
        "_expires_at_unix",
        "_notes",
        "_secret",
        "answered",
        "expires_at",
        "plan",
        "problems",
        "retry_after",
        "status",
        "units",
    )

    def __init__(self, plan: Terms, answer: WithdrawalSignature, context: ClientContext, clock: Any) -> None:
        self.plan, self._context, self._clock = plan, context, clock
        self.status = visible(str(answer.status), 80)
        self.retry_after = answer.retry_after if type(answer.retry_after) is int else None
        # a time that could not be parsed remains text in the answer
        self.expires_at = answer.expires_at if isinstance(answer.expires_at, datetime) else None
        # the signed message contains the expiry in whole seconds
        self._expires_at_unix = None if self.expires_at is None else int(self.expires_at.timestamp())
        self.units = plan.amount if isinstance(plan.amount, NativeUnits) else None
        self._secret: Secret | None = None
        self._notes: list[str] = []
        ready = answer.status == "ready" and answer.signature is not None and bool(answer.signature.data)
        self.problems = tuple(self._check(answer)) if ready else ()
        self.answered = self._secret is not None

    def _check(self, answer: Any) -> Iterator[Problem]:
        """Yield differences between answer and request, and store the signature. Unusual values become notes."""
        plan, parameters = self.plan, None
        self._notes += map(str, answer.marks)
        if answer.parameters:
            try:
                parameters = chains.read_parameters(plan.contract.chain_id, answer.parameters)
            except UsageError as error:
                # assumed: withdrawal_parameters_order. Parameters of another form do not make the signature invalid.
                self._notes.append(f"the answer's parameters do not have the expected form: {error.problems[0]}")
        if parameters is not None:
            yield from _differences(plan, parameters, self._expires_at_unix)
            self.units, self._expires_at_unix = self.units or NativeUnits(parameters.amount), parameters.expires_at
        if answer.chain_id is not None and number_of(answer.chain_id) != plan.contract.chain_id:
            yield Problem("chainId", "differs", "differs from the contract's chain")
        if answer.sender is not None and not same_address(answer.sender, plan.admin):
            self._notes.append(f"the service names another sender than the admin: {answer.sender}")
        data, salt = answer.signature.data, answer.signature.salt
        try:
            raw = chains.read_signature(plan.contract.chain_id, data)
            salted = chains.read_bytes(
                salt if salt is not None else (parameters.salt if parameters else ""), 32, "salt"
            )
        except UsageError as error:
            yield Problem(f"signature.{error.problems[0].path}", "form", error.problems[0].message)
            return
        if parameters is not None and (parameters.signature != raw or parameters.salt != salted):
            yield Problem("parameters[6]", "differs", "and signature.data, or their salts, differ")
        key = parameters.public_key if parameters else None
        self._secret = Secret(data=raw, salt=salted, data_text=data, salt_text=salt or "", public_key=key)

    @property
    def ready(self) -> bool:
        """Whether the withdrawal has a signature that matches the request and has not expired."""
        return self._obstacle() is None

    @property
    def notes(self) -> tuple[str, ...]:
        """Unusual values of the answer that do not prevent its use."""
        life = self.remaining()
        if life is None or life <= _ONE_DAY:
            return tuple(self._notes)
        return (*self._notes, f"the signature is valid for an unusually long time: {duration_text(life)}")

    def _skew(self) -> float:
        skew = self._context.clock_skew
        return skew if skew is not None and math.isfinite(skew) and abs(skew) >= 2 else 0.0

    def remaining(self) -> timedelta | None:
        """Return the time until the signature expires, by the service's clock, negative after the expiry."""
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
        """Return the time until or since the expiry as text, such as "9 min 58 s left"."""
        left = self.remaining()
        if left is None:
            return "the service did not state an expiry"
        if left > timedelta():
            return f"{duration_text(left)} left"
        return f"this signature expired {duration_text(left)} ago{_skew_text(timedelta(seconds=self._skew()))}"

    @property
    def summary(self) -> str:
        """One-sentence summary: recipient, amount, contract and expiry."""
        plan = self.plan
        if not self.answered:
            obstacle = "The answer cannot be used" if self.problems else self._not_ready()
            return f"{obstacle[0].upper()}{obstacle[1:]}. Requested: {plan.summary}"
        until = moment(self.expires_at) if self.expires_at else "an expiry that the service did not state"
        return (
            f"{plan.admin} {'could' if self.expired else 'may'} take "
            f"{in_sentence(plan.amount, plan.decimals, plan.rate, self.units)} of the token {plan.token.address} from "
            f"the contract {plan.contract.proxy_address} on {plan.chain} and send them to {plan.recipient}, "
            f"until {until}."
        )

    def reveal(self) -> Revealed:
        """Return a view that shows the signature for one minute, and record this in the journal.

        Raises:
            UsageError: There is no signature, it has expired, or it does not match the request.
        """
        revealed = Revealed(self._require_secret(), self._clock)
        self._context.note("revealed", f"withdrawal signature for {self.plan.amount} to {self.plan.recipient}")
        return revealed

    @hide_arguments
    def verify(
        self,
        signer: str | bytes | None = None,
        *,
        nonce: int | None = None,
        message: Callable[..., bytes] | None = None,
    ) -> bool:
        """Verify the service's signature against the message it is assumed to sign.

        On Stellar the signed message is not public: without `message`, True means only that the sandbox made the
        signature, and a real signature returns False.

        Args:
            signer: EVM: the address that signs for the service. Other chains: its public key; the default, taken from
                the answer, shows only that the answer is consistent.
            nonce: EVM and Solana: the nonce of the contract; on EVM chains the value of `adminNonce()`.
            message: Stellar: a function that returns the signed bytes from `chain_id`, `proxy`, `user`, `asset`,
                `amount` (native units), `recipient`, `expires_at` and `salt`.
        """
        secret, signed = self._require_secret(), self._message(nonce, message)
        if self.plan.chain.family is Family.EVM:
            refuse_private_key(signer, "signer")
            if not isinstance(signer, str):
                raise _invalid("signer", "is required: the address that signs for the service")
            try:
                return same_address(chains.recover(signed, secret.data), signer)
            except UsageError:  # no key matches the signature, or contracts would reject it
                return False
        key = signer if signer is not None else secret.public_key
        if key is None:
            raise _invalid("signer", "is required: the public key of the service, which this answer does not contain")
        return chains.verify_ed25519(key, signed, secret.data)

    def _message(self, nonce: int | None, stellar: Callable[..., bytes] | None = None) -> bytes:
        """Return the message that the service is assumed to sign."""
        plan = self.plan
        family, proxy = plan.chain.family, plan.contract.proxy_address
        parties = {"chain_id": plan.contract.chain_id, "user": plan.admin, **self._signed()}
        if family is Family.STELLAR:
            return (stellar or chains.stellar_message)(proxy=proxy, **parties)
        if stellar is not None:
            raise _invalid("message", f"is for Stellar; on {plan.chain} the signed message is known")
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
        """Return the EIP-712 message for an admin's wallet to sign.

        Args:
            nonce: The value of the contract's `adminNonce()`.
            salt: 32 random bytes chosen by the admin, as bytes, hex or base64; generated by default.
            admin: The admin who signs (default: the admin of the withdrawal).
            units: Amount in native units; required if cents were requested and the answer does not state the units.
        """
        self._require_secret()
        if self.plan.chain.family is not Family.EVM:
            text = f"is {self.plan.chain}; typed data is for EVM chains, {Remedy('parameters')}"
            raise _invalid("chain", text)
        return admin_message(self.plan, self._native_units(units).units, nonce=nonce, salt=salt, admin=admin)

    @hide_arguments
    def transaction(
        self,
        *signatures: AdminSignature,
        direct_transfer: bool | None = None,
        nonce: int | None = None,
        units: NativeUnits | None = None,
    ) -> Transaction:
        """Return the transaction for a wallet to send. It contains the signatures, so its repr is masked.

        On EVM chains it is complete: `to` (the contract's controller), `data`, `value`, `chainId`, and `from` for
        version 1. On Solana and Stellar it is partial: `from` (the admin, who signs by sending it), `parameters`, and
        on Solana the instruction that checks the service's signature. For the instruction of the contract's program,
        or the function of the Stellar contract, see the contract's documentation.

        Args:
            signatures: EVM: results of `typed_data(…).accept(…)`, one for each admin, in order; none for version 1.
            direct_transfer: EVM version 2: required; its meaning depends on the contract.
            nonce: Solana: the nonce of the contract.
            units: Amount in native units; required if cents were requested and the answer does not state the units.
        """
        secret, plan, contract = self._require_secret(), self.plan, self.plan.contract
        base: dict[str, Any] = {"to": contract.controller_address, "chainId": hex(contract.chain_id)}
        if plan.chain.family is not Family.EVM:
            if signatures or direct_transfer is not None:
                raise _invalid("signatures", f"and direct_transfer are for EVM chains, not for {plan.chain}")
            base = {"from": plan.admin, **base}
            if plan.chain.family is Family.SOLANA:
                if secret.public_key is None:
                    raise _invalid("publicKey", "is missing: this answer does not contain the service's key")
                checked = ed25519_instruction(secret.public_key, self._message(nonce), secret.data)
                instruction = {"programId": ED25519_PROGRAM, "accounts": [], "data": CallData("0x" + checked.hex())}
                base["instructions"] = [instruction]
            return Transaction({**base, "parameters": self.parameters(units=units)})
        amount = self._native_units(units)
        self._check_admins(signatures, amount)
        data = chains.withdraw_call_data(
            version=contract.contract_version,  # type: ignore[arg-type]  # a JSON number, which may read as 2.0
            proxy=contract.proxy_address,
            signature=secret.data,
            **self._signed(units),
            admin_salts=tuple(signature.salt for signature in signatures),
            admin_signatures=tuple(signature.signature for signature in signatures),
            direct_transfer=direct_transfer,
        )
        transaction = {**base, "data": CallData(data), "value": "0x0"}
        # version 1 has no admin signatures, so the contract's owner sends the transaction
        return Transaction({"from": plan.admin, **transaction} if contract.contract_version == 1 else transaction)

    @hide_arguments
    def explain(self, data: object) -> Explanation:
        """Explain call data or a transaction in plain language, with its differences from this withdrawal."""
        explanation, plan, contract = explain(data, decimals=self.plan.decimals), self.plan, self.plan.contract
        matches = {
            "the contract differs from this withdrawal's": same_address(explanation.proxy, contract.proxy_address),
            "the token differs from this withdrawal's": same_address(explanation.token, plan.token.address),
            "the recipient differs from this withdrawal's": same_address(explanation.recipient, plan.recipient),
            "the amount differs from this withdrawal's": self.units in (None, explanation.units),
            "the expiry differs from this withdrawal's": self._expires_at_unix in (None, explanation.expires_at),
            "the version differs from this withdrawal's": explanation.version == contract.contract_version,
        }
        if isinstance(data, Mapping):
            matches |= {
                "it is not sent to the contract's controller": same_address(
                    data.get("to"), contract.controller_address
                ),
                "it is for another chain": number_of(data.get("chainId")) == contract.chain_id,
                "it also sends coins of the chain (value)": number_of(data.get("value", 0)) == 0,
            }
        text = explanation.amount_text
        if plan.decimals is not None:
            text = in_both_units(explanation.units, plan.decimals, plan.rate)
        differences = tuple(difference for difference, match in matches.items() if not match)
        return attrs.evolve(explanation, differences=differences, amount_text=text)

    def _check_admins(self, signatures: tuple[AdminSignature, ...], amount: NativeUnits) -> None:
        """Verify each admin signature over this withdrawal's message."""
        seen: list[str] = []
        for index, signed in enumerate(signatures):
            if not isinstance(signed, AdminSignature):
                raise _invalid(
                    "signatures", "must be results of typed_data(…).accept(…), not a wallet's bare signature"
                )
            if any(same_address(signed.admin, other) for other in seen):
                raise _invalid(f"signatures[{index}]", "is by an admin whose signature was passed already")
            seen.append(signed.admin)
            message = admin_message(self.plan, amount.units, nonce=signed.nonce, salt=signed.salt, admin=signed.admin)
            message.accept(signed.signature)
        if len({signature.nonce for signature in signatures}) > 1:
            raise _invalid("signatures", "have different nonces; the contract has one")

    def parameters(self, *, units: NativeUnits | None = None) -> Parameters:
        """Return the arguments of the on-chain call, in the order and encoding of the chain's program (assumed).

        The arguments are proxy, asset, amount in native units, recipient, expiry in Unix seconds, salt as 32 numbers,
        signature, and the public key if the answer has it.
        """
        secret, plan = self._require_secret(), self.plan
        values = chains.withdraw_parameters(
            chain_id=plan.contract.chain_id,
            proxy=plan.contract.proxy_address,
            signature=secret.data,
            public_key=secret.public_key,
            **self._signed(units),
        )
        return Parameters(values)

    def _signed(self, units: NativeUnits | None = None) -> dict[str, Any]:
        """Return the signed values other than the parties, as keyword arguments for functions of `chains`."""
        secret, amount = self._require_secret(), self._native_units(units).units
        if self._expires_at_unix is None:
            raise _invalid("expiresAt", "is missing: the service did not state when the signature expires")
        return {
            "asset": self.plan.token.address,
            "amount": amount,
            "recipient": self.plan.recipient,
            "expires_at": self._expires_at_unix,
            "salt": secret.salt,
        }

    def _require_secret(self) -> Secret:
        """Return the signature, or raise an error that states why it cannot be used."""
        obstacle = self._obstacle()
        if obstacle is not None or self._secret is None:
            raise UsageError(obstacle or self._not_ready(), of="withdrawal")
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
        return "; ".join(part for part in (text, when, str(Remedy("wait"))) if part)

    def _native_units(self, argument: NativeUnits | None) -> NativeUnits:
        if argument is not None and not isinstance(argument, NativeUnits):
            raise _invalid("units", f"must be an amount in native units, {Remedy('native_units')}")
        units = self.units or argument
        if units is None:
            text = "is required: the amount was requested in cents, and the answer does not state native units"
            raise _invalid("units", text)
        if argument not in (None, units):
            raise _invalid("units", f"differs from the amount that the service signed, {units}")
        return units

    def sheet(self) -> Sheet:
        """Return the withdrawal as a sheet with a masked signature, if it has not expired."""
        plan = self.plan
        amount = plan.amount_text
        if self.answered and self.units is not None and self.units != plan.amount:
            amount = f"{plan.amount}; the service computed {in_both_units(self.units, plan.decimals, plan.rate)}"
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
                *(f"Note: {note}." for note in self.notes),
                *self._next_steps(),
            ),
        )

    def _next_steps(self) -> tuple[str, ...]:
        if not self.ready:
            return ()
        if self.plan.chain.family is not Family.EVM:
            nonce = "nonce=…" if self.plan.chain.family is Family.SOLANA else ""
            return (str(Remedy("next_parameters", nonce=nonce)),)
        if self.plan.contract.contract_version == 1:
            return (str(Remedy("next_owner")),)
        return (f"This is the service's signature. {Remedy('next_call')}",)

    def __repr__(self) -> str:
        state = "expired" if self.answered and self.expired else self.status
        return f"<withdrawal of {self.plan.amount} to {self.plan.recipient}, {state}, signature {DOTS}>"


def _differences(terms: Terms, parameters: chains.WithdrawParameters, end: int | None) -> Iterator[Problem]:
    addresses = (
        (0, parameters.proxy, terms.contract.proxy_address, "contract"),
        (1, parameters.asset, terms.token.address, "token"),
        (3, parameters.recipient, terms.recipient, "recipient"),
    )
    for place, received, requested, what in addresses:
        if not same_address(received, requested):
            yield Problem(f"parameters[{place}]", "differs", f"is not the requested {what}")
    if problem := _amount_problem(terms, parameters.amount):
        yield Problem("parameters[2]", "differs", problem)
    if end is not None and parameters.expires_at != end:
        yield Problem("parameters[4]", "differs", "differs from expiresAt")


def _amount_problem(terms: Terms, signed: int) -> str | None:
    """Compare the signed units with the request; a request in cents needs decimals and rate."""
    expected = units_of(terms.amount, terms.decimals, terms.rate)
    if isinstance(terms.amount, NativeUnits):
        return None if signed == expected else "is not the requested amount"
    # The rate may have changed slightly since the contract was listed. Wrong decimals mean a factor of ten or more.
    if expected is None or abs(signed - int(expected)) <= (0 if terms.rate == 1 else max(1, int(expected / 20))):
        return None
    changed, about = (
        ("", "") if terms.rate == 1 else (", or the rate has changed since the contract was listed", "about ")
    )
    return (
        f"is {NativeUnits(signed)}, but {terms.amount} with {terms.decimals} decimals and the contract's rate are "
        f"{about}{int(expected):,}: the decimals may be wrong{changed}"
    )


def _skew_text(skew: timedelta) -> str:
    """Describe how far this machine's clock is off; a difference over a day is described as the service's error."""
    if not skew:
        return ""
    if abs(skew) > _ONE_DAY:
        return f" (the service's clock is {duration_text(skew)} {'behind' if skew > timedelta() else 'ahead of'} yours)"
    return f" (your clock is {duration_text(skew)} {'fast' if skew > timedelta() else 'slow'})"


def _invalid(path: str, message: str) -> UsageError:
    return UsageError([Problem(path, "withdrawal", message)], of="withdrawal")
