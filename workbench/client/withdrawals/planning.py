"""Planning of withdrawals: checks, summary, and a single signature request."""

from collections.abc import Mapping
from typing import Any

import attrs

from workbench.base.errors import ApiError, InvalidRequest, Problem, UsageError, WorkbenchError
from workbench.base.remedies import Remedy, declare
from workbench.client.calls.base import context_of
from workbench.client.calls.client import refuse_async
from workbench.client.withdrawals.amounts import Amount, Cents
from workbench.client.withdrawals.terms import TAIL, Terms, findings, sheet_of
from workbench.client.withdrawals.withdrawal import Withdrawal
from workbench.service import chains
from workbench.service.chains.values import refuse_private_key
from workbench.service.interface.contracts import IssuingContract, Token, WithdrawalSignature
from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Sheet

declare(
    "recipient",
    python="to continue anyway, pass the last {count} characters of the recipient: allow=…",
    other="to continue anyway, a person must type the last {count} characters of the recipient",
)
declare(
    "sign",
    python="sign({typed}) requests a signature for this withdrawal",
    other="signing requests a signature for this withdrawal",
)

MAX_WAIT = 3_600.0  # maximum seconds to wait for a pending signature


def plan(
    api: Any,
    contract: IssuingContract | str,
    *,
    token: str | Token,
    amount: Amount,
    admin: str,
    to: str,
    decimals: int | None = None,
    allow: str | None = None,
    clock: object = None,
    names: Mapping[str, str] | None = None,
) -> "Plan":
    """Plan a withdrawal and run all checks before a signature is requested.

    In production an admin that the contract does not list, an unknown chain, a test network or an unknown contract
    version is an error; elsewhere it is a warning.

    Args:
        api: A synchronous Client or Session.
        contract: A contract from `api.list_contracts()`, or the contract's id.
        token: The token to withdraw, as an address or an item of `contract.tokens`.
        amount: `usd("25.00")` or `native_units(25_000_000)`.
        admin: The admin of the contract who makes the withdrawal.
        to: The address of the recipient.
        decimals: The token's decimals if you know them; the interface does not state them.
        allow: The last 8 characters of the recipient, to continue despite a problem that can be overridden.
        clock: Clock for the expiry (default: the client's).
        names: Labels of addresses, such as {"0x…": "USDC"}: token symbols, wallet owners. A sandbox's labels are
            included.

    Raises:
        UsageError: The withdrawal has problems. The message lists all problems.
    """
    refuse_async(api, "withdrawals.plan")
    if isinstance(contract, str):
        contract = _contract(api, contract)
    address = token.address if isinstance(token, Token) else token
    planned = Plan(
        contract,
        address,
        amount,
        admin,
        to,
        decimals,
        {**known_names(api), **(names or {})},
        api=api,
        clock=clock or context_of(api).clock,  # a session with a sandbox uses the clock of the sandbox
    )
    graded = [*findings(planned, recipients=api.limits.recipients, production=api.environment == "production")]
    problems = [problem for level, problem in graded if level == "refused"]
    overridable = [problem for level, problem in graded if level == "overridable"]
    if allow is None or allow != str(to)[-TAIL:]:
        problems += [attrs.evolve(problem, remedy=Remedy("recipient", count=TAIL)) for problem in overridable]
        if allow is not None:
            problems.append(Problem("allow", "typed", f"must be the last {TAIL} characters of the recipient"))
    if problems:
        raise UsageError(problems, of="plan")
    warnings = (problem.message for level, problem in graded if level == "warning")
    planned.warnings = (*warnings, *(f"overridden: {problem}" for problem in overridable))
    planned._zero = any(problem.rule == "zero" for problem in overridable)
    return planned


def known_names(api: Any) -> dict[str, str]:
    """Return the labels of a sandbox's addresses; empty for a real service."""
    try:
        contracts = api.sandbox.guide()["contracts"]
    except (AttributeError, WorkbenchError):
        return {}
    names: dict[str, str] = {}
    for contract in contracts:
        which = f"of contract {str(contract['id'])[:8]}…"
        names |= {address: f"admin {index} {which}" for index, address in enumerate(contract["admin_addresses"], 1)}
        names |= {token["address"]: token["symbol"] for token in contract["tokens"]}
        names[contract["proxy_address"]] = f"the address {which}"
    return names


def _contract(api: Any, contract_id: str) -> IssuingContract:
    refuse_private_key(contract_id, "contract")
    contracts: tuple[IssuingContract, ...] = tuple(api.list_contracts())
    for contract in contracts:
        if contract.id == contract_id:
            return contract
    ids = ", ".join(str(contract.id) for contract in contracts)
    text = f"is not a contract of this tenant (contracts: {ids or 'none'})"
    raise UsageError([Problem("contract", "unknown", text)], of="plan")


@attrs.define(eq=False, repr=False)
class Plan(Terms, Shown):
    """A checked withdrawal whose signature has not been requested. `sign()` requests it, once."""

    _api: Any = attrs.field(kw_only=True)
    _clock: Any = attrs.field(kw_only=True)
    _zero: bool = attrs.field(default=False, init=False)  # whether the caller allowed the zero address
    _was_pending: bool = attrs.field(default=False, init=False)
    warnings: tuple[str, ...] = attrs.field(default=(), init=False)

    @property
    def needs_confirmation(self) -> bool:
        """Whether `sign()` requires a typed confirmation; true only in production."""
        return bool(self._api.environment == "production")

    def sign(self, *, timeout: float = 0.0, typed: str | None = None) -> Withdrawal:
        """Request the signature. Repeat the request only while the answer is `pending`, as the service asks.

        Args:
            timeout: Maximum number of seconds to wait while the answer is `pending`; 0 requests once and returns the
                answer.
            typed: In production: the number that is sent and the last 8 characters of the recipient, such as
                "2500 6EEd1234".

        Raises:
            ApiError: The service refused the request. The error says what to do.
            OutcomeUnknown: No answer arrived, so a signature may exist. The request was not repeated.
        """
        if type(timeout) not in (int, float) or not 0 <= timeout <= MAX_WAIT:
            problem = Problem("timeout", "range", f"must be a number of seconds from 0 to {MAX_WAIT:.0f}")
            raise InvalidRequest([problem], of="sign_withdrawal")
        if self.needs_confirmation and typed != f"{self.number} {self.recipient[-TAIL:]}":
            unit = "cents" if isinstance(self.amount, Cents) else "native units"
            text = (
                f"must be, in production, the number of {unit}, a space, and the last {TAIL} characters of the "
                "recipient"
            )
            raise InvalidRequest([Problem("typed", "confirmation", text)], of="sign_withdrawal")
        deadline = self._clock.monotonic() + timeout
        while True:
            withdrawal = self._request_signature()
            self._was_pending = withdrawal.status == "pending"
            if not self._was_pending or not timeout or withdrawal.retry_after is None:
                return withdrawal
            pause = max(1, withdrawal.retry_after)
            if self._clock.monotonic() + pause > deadline:
                return withdrawal
            self._clock.sleep(pause)

    def answered(self, answer: WithdrawalSignature) -> Withdrawal:
        """Return the withdrawal for a stored answer to this plan's request."""
        return Withdrawal(self, answer, context_of(self._api), self._clock)

    def _request_signature(self) -> Withdrawal:
        api = self._api
        if self._was_pending:  # the service expects the same request again, which the duplicate check would refuse
            api = api.allowing(again=True)
        if self._zero:
            api = api.allowing(unverified_address=True)
        try:
            answer = api.send(self.request)
        except ApiError as error:
            refusal = self._with_hint(error)
        else:
            return self.answered(answer)
        raise refusal  # raised outside the `except` block, so that the exception chain does not contain the request

    def _with_hint(self, error: ApiError) -> ApiError:
        """Add advice for this withdrawal to an error of the service."""
        hint = {
            403: f"Either this key lacks the role contractsAndSignatures:write (read is not enough), or {self.admin} "
            "is not an admin of this contract: compare it with contract.admin_addresses",
            404: "No contract of this tenant accepts this token on this chain: list_contracts() shows the tokens of "
            "each contract",
            409: "Nothing was signed. Use the earlier signature, or wait until it expires, then sign again",
            422: f"The contract holds less than requested: its balance was {self.token.balance or 'nothing'} when "
            "the contract was listed. List the contracts again and request less, or deposit first",
        }.get(error.status)
        if hint is None:
            return error
        return type(error)(
            operation=error.operation,
            status=error.status,
            error=error.error,
            message=error.message,
            body=error.body,
            hint=hint,
        )

    def sheet(self) -> Sheet:
        """Return the plan as a sheet."""
        typed = 'typed="<number> <last 8 of the recipient>"' if self.needs_confirmation else ""
        return sheet_of(
            "planned withdrawal",
            {
                "amount": self.amount_text,
                **self.rows,
                "rate": f"{self.rate:f} USD a token" if self.rate else None,
                "the recipient's address": chains.checksum_note(self.recipient),
            },
            words=(f"{self.headline}.", self.summary),
            notes=(
                *(f"Warning: {warning}." for warning in self.warnings),
                f"Nothing has been requested yet. {Remedy('sign', typed=typed)}.",
            ),
        )

    def __repr__(self) -> str:
        return f"<planned withdrawal of {self.amount} to {self.recipient}>"
