"""Terms of a withdrawal (contract, token, amount, admin, recipient), their checks and their display.

All checks run before a signature is requested; each finding is an error, an error that can be overridden, or a warning.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Literal

import attrs

from workbench.base.errors import Problem, UsageError, visible
from workbench.client.withdrawals.amounts import (
    Amount,
    Cents,
    amount_problems,
    decimal_text,
    dollars_of,
    dollars_text,
    in_both_units,
    in_sentence,
    named_amount,
    read_balance,
    tokens_of,
    tokens_text,
    units_of,
)
from workbench.service import chains
from workbench.service.chains import same_address
from workbench.service.interface.contracts import IssuingContract, SignWithdrawal, Token
from workbench.service.rendering.text import Cell, Row, Sheet, cell_text, status_cell


def sheet_of(
    title: str,
    rows: Mapping[str, object],
    *,
    status: str | None = None,
    words: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> Sheet:
    """Return a sheet of labeled, escaped values. None values are omitted."""
    return Sheet(
        title=title,
        status=None if status is None else status_cell(status),
        words=tuple(map(cell_text, words)),
        rows=tuple(Row(label, _cell(value)) for label, value in rows.items() if value is not None),
        notes=tuple(map(cell_text, notes)),
    )


def _cell(value: object) -> Cell:
    if isinstance(value, Cell):
        return value
    return Cell(tuple(map(cell_text, value if isinstance(value, tuple) else (value,))))


def grouped(address: str) -> str:
    """Return an address in groups of four characters for easier comparison."""
    head, body = (address[:2], address[2:]) if address[:2] == "0x" else ("", address)
    return " ".join(filter(None, (head, *re.findall(".{1,4}", body))))


def duration_text(span: timedelta) -> str:
    """Return a duration as text, such as `9 min 58 s`."""
    rest = int(abs(span).total_seconds())
    parts: list[str] = []
    for unit, size in {"d": 86_400, "h": 3_600, "min": 60, "s": 1}.items():
        count, rest = divmod(rest, size)
        if count or parts or unit == "s":
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


TAIL = 8  # number of the recipient's last characters that a person types to override a check

Finding = tuple[Literal["refused", "overridable", "warning"], Problem]


@attrs.define(eq=False, repr=False)
class Terms:
    """Terms of a withdrawal. Values may be invalid until they are checked."""

    contract: IssuingContract
    token_address: str
    amount: Amount
    admin: str
    recipient: str
    decimals: int | None
    # names by address, such as the symbol of a token or the owner of a wallet
    names: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def token(self) -> Token:
        """The token of the contract."""
        listed_token = self.listed_token
        assert listed_token is not None  # callers have checked that the contract lists the token
        return listed_token

    @property
    def listed_token(self) -> Token | None:
        """The token, or None if the contract does not list it."""
        tokens = self.contract.tokens or ()
        return next((token for token in tokens if same_address(token.address, self.token_address)), None)

    @property
    def chain(self) -> chains.Chain:
        """The chain of the contract."""
        return chains.chain_of(self.contract.chain_id)

    @property
    def rate(self) -> Decimal | None:
        """The token's exchange rate in USD; None if the contract states no valid rate."""
        rate = None if self.listed_token is None else self.listed_token.exchange_rate
        return rate if rate is not None and rate.is_finite() and rate > 0 else None

    @property
    def amount_text(self) -> str:
        """The amount in dollars and in native units, where known."""
        return in_both_units(self.amount, self.decimals, self.rate)

    @property
    def token_name(self) -> str:
        """Symbol of the token, or its shortened address."""
        return self._name_of(self.token_address) or f"token {shortened(self.token_address)}"

    @property
    def admin_name(self) -> str:
        """Position of the admin in the contract's list (`admin 1`), or its shortened address if not listed."""
        return self._place_of(self.admin) or f"admin {shortened(self.admin)}, which the contract does not list"

    @property
    def headline(self) -> str:
        """Amount, token, chain and admin in one line: `25.00 USDC on Base Sepolia, admin 1`."""
        amount = named_amount(self.amount, self.decimals, self.rate, self.token_name)
        return f"{amount} on {self.chain.name}, {self.admin_name}"

    @property
    def balances(self) -> str | None:
        """The contract's balance of the token before and after, in tokens; None if not stated."""
        balance, taken = read_balance(self.token.balance), tokens_of(self.amount, self.decimals, self.rate)
        if balance is None:
            return None
        if taken is None:
            return f"{tokens_text(balance)} tokens; what remains is unknown without the token's decimals or rate"
        after = tokens_text(balance - taken) if balance >= taken else "not enough"
        return f"{tokens_text(balance)} tokens before, {after} after"

    @property
    def credit(self) -> str | None:
        """Credit capacity of the contract before and after, in USD: sum of balance × exchange rate × advance rate."""
        tokens = self.contract.tokens or ()
        values = [worth for worth in map(credit_of, tokens) if worth is not None]
        taken, token = tokens_of(self.amount, self.decimals, self.rate), self.token
        less = None if taken is None else credit_of(token, taken)
        if less is None or not values:
            return None
        before = sum(values, Fraction())
        missing = len(tokens) - len(values)
        rest = f", {missing} tokens without a balance or rates are not counted" if missing else ""
        after = dollars_text(before - less) if before >= less else "not enough"
        return f"{dollars_text(before)} before, {after} after{rest}"

    @property
    def owner(self) -> str:
        """Owner of the recipient address; for an unknown owner, advice to compare the address."""
        contract, name = self.contract, self._name_of(self.recipient)
        if same_address(self.recipient, self.admin):
            return f"the admin who withdraws ({self.admin_name})"
        if admin := self._place_of(self.recipient):
            return f"{admin} of this contract"
        if any(same_address(self.recipient, own) for own in (contract.proxy_address, contract.deposit_address)):
            return "this contract"
        return name or "not known here: compare the address with the address that its owner gave you"

    def _place_of(self, address: str) -> str | None:
        admins = self.contract.admin_addresses or ()
        return next((f"admin {index}" for index, admin in enumerate(admins, 1) if same_address(address, admin)), None)

    def _name_of(self, address: str) -> str | None:
        return next((name for known, name in self.names.items() if same_address(known, address)), None)

    @property
    def summary(self) -> str:
        """The planned withdrawal in one sentence."""
        return (
            f"{self.admin} takes {in_sentence(self.amount, self.decimals, self.rate)} of the token "
            f"{self.token.address} out of the contract {self.contract.proxy_address} on {self.chain} and sends them "
            f"to {self.recipient}."
        )

    @property
    def rows(self) -> dict[str, object]:
        """The terms other than the amount, by label."""
        return {
            "token": (self.token.address, self.token_name),
            "contract balance": self.balances,
            "credit capacity": self.credit,
            "from contract": self.contract.proxy_address,
            "chain": str(self.chain),
            "by admin": (self.admin, self.admin_name),
            "to": (self.recipient, grouped(self.recipient)),
            "whose address": self.owner,
        }

    @property
    def number(self) -> str:
        """The amount as sent: a number of cents or native units."""
        return str(self.amount.cents if isinstance(self.amount, Cents) else self.amount.units)

    @property
    def request(self) -> SignWithdrawal:
        """The request for a signature, as sent to the service."""
        return SignWithdrawal(
            chain_id=self.contract.chain_id,
            token=self.token.address,
            amount=self.number,
            admin_address=self.admin,
            recipient_address=self.recipient,
            is_amount_native=not isinstance(self.amount, Cents),
            collateral_contract_id=self.contract.id,
        )


def shortened(address: object) -> str:
    """Return the first and last characters of an address, for display only; never compare them."""
    text = visible(str(address), 100)
    return f"{text[:6]}…{text[-4:]}" if len(text) > 13 else text


def credit_of(token: Token, tokens: Fraction | None = None) -> Fraction | None:
    """Return the credit in USD for a token's balance, or for another number of tokens; None if a rate is unknown.

    Balances are whole tokens, exchange rates USD per token and advance rates percentages, as declared in `Token`.
    """
    amount = read_balance(token.balance) if tokens is None else tokens
    rates = [rate for rate in (token.exchange_rate, token.advance_rate) if rate is not None and rate.is_finite()]
    return None if amount is None or len(rates) < 2 else amount * Fraction(rates[0]) * Fraction(rates[1]) / 100


def findings(terms: Terms, *, recipients: tuple[str, ...] | None, production: bool) -> Iterator[Finding]:
    """Check the terms of a withdrawal and yield all findings.

    Args:
        recipients: Allowed recipients of the profile; None allows any.
        production: Whether the withdrawal is real; unknown values are then errors.
    """
    try:
        chain = terms.chain
    except UsageError as error:
        yield "refused", Problem("contract", "chain", f"has an invalid chain id: it {error.problems[0].message}")
        return
    of_amount = list(amount_problems(terms.amount, terms.decimals))
    for problem in (*_addresses(terms, chain), *of_amount):
        yield "refused", problem
    if recipients is not None and not any(same_address(terms.recipient, recipient) for recipient in recipients):
        yield "refused", Problem("to", "allow_list", "is not on the profile's list of recipients (limits.recipients)")
    for problem in _unknown(terms, chain, production):
        if production:  # in production, a mistake costs money
            yield "refused", problem
        else:
            yield _warning(f"the {problem}")
    if not chains.address_problems(terms.recipient, chain.id):
        yield from _recipient(terms, terms.recipient, recipients or ())
        if chain.family is chains.Family.EVM and not chains.has_checksum(terms.recipient):
            yield _warning(f"the recipient: {chains.checksum_note(terms.recipient)}")
    if not of_amount:
        yield from _amount(terms)


def _warning(text: str) -> Finding:
    return "warning", Problem("", "warning", text)


def _addresses(terms: Terms, chain: chains.Chain) -> Iterator[Problem]:
    for path, address in (("token", terms.token_address), ("admin", terms.admin), ("to", terms.recipient)):
        for problem in chains.address_problems(address, chain.id):
            yield Problem(path, problem.kind, problem.message)
    if not chains.address_problems(terms.token_address, chain.id) and terms.listed_token is None:
        accepted = ", ".join(str(token.address) for token in terms.contract.tokens or ())
        yield Problem("token", "accepted", f"is not accepted by this contract, which accepts {accepted or 'none'}")


def _unknown(terms: Terms, chain: chains.Chain, production: bool) -> Iterator[Problem]:
    """Yield unknown signers, chains and contract versions."""
    admins = terms.contract.admin_addresses or ()
    if not any(same_address(terms.admin, admin) for admin in admins):
        listed = f"its admins are {', '.join(map(str, admins))}" if admins else "it lists no admins"
        yield Problem("admin", "admin", f"is not listed by the contract, so the service will probably refuse; {listed}")
    if chain.family is chains.Family.EVM and terms.contract.contract_version not in (1, 2):
        text = "has an unknown version: a signature can be requested, but no transaction can be built"
        yield Problem("contract", "version", text)
    if chain.test is None:
        yield Problem("contract", "chain", f"is on {chain}, an unknown chain, treated as an EVM chain")
    if chain.test and production:
        yield Problem("contract", "chain", f"is on {chain}, a test network, and this is production")


def _recipient(terms: Terms, to: str, recipients: tuple[str, ...]) -> Iterator[Finding]:
    """Yield findings on a recipient that equals or resembles a known address."""
    contract = terms.contract
    if chains.is_zero_address(to):
        yield "overridable", Problem("to", "zero", "is the zero address: funds sent there are lost")
    tokens = (terms.token_address, *(token.address for token in contract.tokens or ()))
    own = {
        "the token's own contract": tokens,
        "the contract the funds are taken from": (contract.proxy_address,),
        "the contract's controller": (contract.controller_address,),
        "the contract's program": (contract.program_address,),
        "the deposit address of this contract": (contract.deposit_address,),
    }
    what = next((what for what, places in own.items() if any(same_address(to, index) for index in places)), None)
    if what is not None:
        yield "overridable", Problem("to", "own", f"is {what}: funds sent there may be lost")
    known = {
        "the address making the withdrawal": (terms.admin,),
        "a token of the contract": tokens,
        "the contract's controller": (contract.controller_address,),
        "the contract": (contract.proxy_address,),
        "a recipient on the profile's list": recipients,
        "an admin of the contract": contract.admin_addresses or (),
    }
    for address, what in {str(address): what for what, places in known.items() for address in places}.items():
        if chains.similar_addresses(to, address):
            yield _warning(
                f"the recipient begins and ends like {what}, {address}, but is another address, "
                "as in address poisoning. Compare every character"
            )


def _amount(terms: Terms) -> Iterator[Finding]:
    """Compare the amount with the balance, in a unit known for both, and with the minimum amounts."""
    amount, decimals, rate = terms.amount, terms.decimals, terms.rate
    if terms.listed_token is not None:
        balance, asked = read_balance(terms.listed_token.balance), tokens_of(amount, decimals, rate)
        in_cents = isinstance(amount, Cents)
        if balance is None:
            yield _warning(
                "the contract does not state its balance of the token, so the amount was not compared with it"
            )
        elif asked is None:
            missing = "exchange rate is" if in_cents else "decimals are"
            compared = f"the amount was not compared with the balance of {decimal_text(balance)} tokens"
            yield _warning(f"{compared}: the token's {missing} unknown")
        elif asked > balance:
            in_dollars = f" ({dollars_text(balance * Fraction(rate))})" if in_cents and rate else ""
            text = f"exceeds the contract's balance, {decimal_text(balance)} tokens{in_dollars}"
            yield "overridable", Problem("amount", "balance", text)
    worth, units = dollars_of(amount, decimals, rate), units_of(amount, decimals, rate)
    if worth is not None and worth * 100 < 1:
        yield _warning("the amount is worth less than a cent: check that native units are meant, not cents")
    if units is not None and units < 1:
        yield _warning("the amount is less than one native unit of the token")
