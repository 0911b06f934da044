"""A withdrawal before it is signed: checked as a whole, said in words, and asked for once."""

import math
from decimal import Decimal
from typing import Any

import attrs

from workbench import chains
from workbench.errors import ApiError, InvalidArguments, InvalidRequest, Problem, hide_arguments
from workbench.interface.contracts import IssuingContract, Token
from workbench.interface.withdrawals import SignWithdrawal
from workbench.rendering.layout import Sheet
from workbench.withdrawals.amounts import Amount, Cents, brief, readings
from workbench.withdrawals.checks import TAIL, Asked, findings, rate_of, token_of
from workbench.withdrawals.sheets import Shown, grouped, sheet_of
from workbench.withdrawals.withdrawal import Withdrawal

LONGEST_WAIT = 3_600.0  # seconds


@hide_arguments
def plan(
    api: Any, contract: IssuingContract | str, *, token: str | Token, amount: Amount, admin: str, to: str,
    decimals: int | None = None, allow: str | None = None, clock: Any = None,
) -> "Plan":  # fmt: skip
    """Plan a withdrawal, and check all of it before anything is asked.

    Args:
        contract: One of `api.list_contracts()`, or its id, for which they are listed now.
        token: The token to withdraw, as its address or one of `contract.tokens`.
        amount: `cents("25.00")`, or `native(25_000_000)`.
        admin: The admin of the contract who makes the withdrawal.
        to: Where the tokens go.
        decimals: The token's decimals where you know them; the interface does not tell.
        allow: The last 8 characters of the recipient, typed, to go on in spite of a doubt that was named.
        clock: What tells the time and waits; that of the client where left out.

    Raises:
        InvalidRequest: With all problems at once; nothing was sent.
    """
    __tracebackhide__ = True
    if hasattr(api, "__aenter__"):
        raise InvalidArguments("a withdrawal is planned with a Client or a Session, not with an asynchronous one")
    if isinstance(contract, str):
        contract = _listed(api, contract)
    address = token.address if isinstance(token, Token) else token
    asked = Asked(
        contract=contract, token=address, amount=amount, admin=admin, to=to, decimals=decimals,
        recipients=api.limits.recipients,
    )  # fmt: skip
    found = findings(asked)
    problems = list(found.refused)
    overridden = allow is not None and isinstance(asked.to, str) and allow == asked.to[-TAIL:]
    if not overridden:
        problems += [_overridable(problem) for problem in found.doubtful]
        if allow is not None:
            problems.append(Problem("allow", "typed", f"is not the last {TAIL} characters of the recipient"))
    if problems:
        raise InvalidRequest(problems, of="plan")
    warnings = (*found.warnings, *(f"overridden: {problem}" for problem in found.doubtful))
    clock = clock or api.clock  # the time of day of a session on a sandbox is the sandbox's
    return Plan(api, contract, token_of(contract, address), amount, admin, to, decimals, warnings, clock)


def _listed(api: Any, contract_id: str) -> IssuingContract:
    chains.refuse_private_key(contract_id, "contract")
    contracts: tuple[IssuingContract, ...] = tuple(api.list_contracts())
    for contract in contracts:
        if contract.id == contract_id:
            return contract
    known = ", ".join(str(contract.id) for contract in contracts)
    raise InvalidRequest(
        [Problem("contract", "unknown", f"is no contract of this tenant; its contracts are {known or 'none'}")],
        of="plan",
    )


def _check_wait(wait: Any) -> None:
    if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= LONGEST_WAIT:
        problem = Problem("wait", "range", f"is a number of seconds from 0 to {LONGEST_WAIT:.0f}")
        raise InvalidRequest([problem], of="sign_withdrawal")


def _overridable(problem: Problem) -> Problem:
    how = f"if that is meant, type the last {TAIL} characters of the recipient: allow=…"
    return attrs.evolve(problem, message=f"{problem.message}; {how}")


class Plan(Shown):
    """A withdrawal that was checked and not asked for yet. `sign()` asks the service, once."""

    __slots__ = (
        "_api", "_clock", "_was_pending", "admin", "amount", "contract", "decimals", "recipient", "token", "warnings",
    )  # fmt: skip

    def __init__(
        self, api: Any, contract: IssuingContract, token: Token | None, amount: Amount, admin: str, recipient: str,
        decimals: int | None, warnings: tuple[str, ...], clock: Any,
    ) -> None:  # fmt: skip
        assert token is not None  # the checks found it
        self._api = api
        self._clock = clock
        self._was_pending = False
        self.contract = contract
        self.token = token
        self.amount = amount
        self.admin = admin
        self.recipient = recipient
        self.decimals = decimals
        self.warnings = warnings

    @property
    def chain(self) -> chains.Chain:
        """The chain of the contract."""
        return chains.chain_of(self.contract.chain_id)

    @property
    def rate(self) -> Decimal | None:
        """The token's exchange rate in USD, where the contract states one."""
        return rate_of(self.token)

    @property
    def reading(self) -> str:
        """The amount both ways: in dollars and in native units, as far as each is known."""
        return readings(self.amount, self.decimals, self.rate)

    @property
    def says(self) -> str:
        """What is planned, in one sentence."""
        return (
            f"{self.admin} takes {brief(self.amount, self.decimals, self.rate)} of the token {self.token.address} out of the contract "
            f"{self.contract.proxy_address} on {self.chain} and sends them to {self.recipient}."
        )

    @property
    def request(self) -> SignWithdrawal:
        """What the service is asked."""
        amount = self.amount
        return SignWithdrawal(
            chain_id=self.contract.chain_id,
            token=self.token.address,
            amount=str(amount.cents if isinstance(amount, Cents) else amount.units),
            admin_address=self.admin,
            recipient_address=self.recipient,
            is_amount_native=not isinstance(amount, Cents),
            collateral_contract_id=self.contract.id,
        )

    @property
    def needs_typing(self) -> bool:
        """Whether `sign()` asks for a typed confirmation: in production."""
        return bool(self._api.environment == "production")

    def sign(self, *, wait: float = 0.0, typed: str | None = None) -> Withdrawal:
        """Ask the service for the signature: once, and while it answers `pending` again only as it tells.

        Args:
            wait: Seconds to wait at most while the service answers `pending`; 0 asks once and gives back what came.
            typed: In production: the number that is sent and the last 8 characters of the recipient, as
                "2500 6EEd1234".

        Raises:
            ApiError: The service refused; the error says what to do.
            OutcomeUnknown: No answer came, so a signature may exist; it was not asked for again.
        """
        __tracebackhide__ = True
        _check_wait(wait)
        self._confirm(typed)
        deadline = self._clock.monotonic() + wait
        while True:
            made = self._ask()
            self._was_pending = made.status == "pending"
            if not self._was_pending or not wait or made.retry_after is None:
                return made
            pause = max(1, made.retry_after)
            if self._clock.monotonic() + pause > deadline:
                return made
            self._clock.sleep(pause)

    def _confirm(self, typed: str | None) -> None:
        if not self.needs_typing:
            return
        number = str(self.amount.cents if isinstance(self.amount, Cents) else self.amount.units)
        if typed != f"{number} {self.recipient[-TAIL:]}":
            unit = "cents" if isinstance(self.amount, Cents) else "native units"
            text = f"is the number of {unit}, a blank, and the last {TAIL} characters of the recipient, in production"
            raise InvalidRequest([Problem("typed", "confirmation", text)], of="sign_withdrawal")

    def _ask(self) -> Withdrawal:
        __tracebackhide__ = True
        # the answer `pending` asks to come back with the same question, which is no slip of somebody's
        api = self._api.allowing(again=True) if self._was_pending else self._api
        try:
            answer = api.send(self.request)
        except ApiError as error:
            refusal = self._said(error)
        else:
            return Withdrawal(self, answer, self._now, self._skew, self._clock, self._audit)
        raise refusal

    def _said(self, error: ApiError) -> ApiError:
        """Return a refusal with what can be done about it."""
        hint = {
            403: "Either this key lacks the role contractsAndSignatures:write (read is not enough), or the service does "
            f"not take {self.admin} as an admin of this contract: compare it with contract.admin_addresses",
            404: "The service knows no contract of this tenant that takes this token on this chain: list_contracts() shows "
            "which tokens each contract accepts",
            409: "Nothing was signed. Use the signature that was given before, or wait until it expires, then sign again",
            422: f"The contract holds less than asked for: it said {self.token.balance or 'nothing'} of this token when it "
            "was listed. List the contracts anew and ask for less, or deposit first",
        }.get(error.status, error.hint)
        if hint == error.hint:
            return error
        return type(error)(
            operation=error.operation, status=error.status, error=error.error, message=error.message, body=error.body,
            hint=hint,
        )  # fmt: skip

    def _now(self) -> Any:
        return self._clock.now()

    def _skew(self) -> float:
        skew = self._api.clock_skew
        return skew if skew is not None and math.isfinite(skew) and abs(skew) >= 2 else 0.0

    def _audit(self, text: str) -> None:
        """Note in the journal that something secret was shown, without it."""
        try:
            journal = self._api.journal
        except InvalidRequest:  # a client without one
            return
        journal.note("revealed", text)

    def sheet(self) -> Sheet:
        """Return what is to be shown."""
        return sheet_of(
            "planned withdrawal",
            {
                "amount": self.reading,
                "token": self.token.address,
                "the contract holds": f"{self.token.balance} tokens" if self.token.balance else None,
                "rate": f"{self.rate:f} USD a token" if self.rate else None,
                "from contract": self.contract.proxy_address,
                "chain": str(self.chain),
                "by admin": self.admin,
                "to": (self.recipient, grouped(self.recipient)),
                "the recipient's address": chains.checksum_note(self.recipient),
            },
            words=(self.says,),
            notes=(*(f"Warning: {one}." for one in self.warnings), self._next()),
        )

    def _next(self) -> str:
        typed = 'sign(typed="<number> <last 8 of the recipient>")' if self.needs_typing else "sign()"
        return f"Nothing was asked for yet. {typed} asks the service once for a signature that allows this."

    def __repr__(self) -> str:
        return f"<planned withdrawal of {self.amount} to {self.recipient}>"
