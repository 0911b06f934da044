"""Checks before a signature is requested: everything at once, split into refused, overridable and advice."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import attrs

from workbench import chains
from workbench.errors import InvalidRequest, Problem
from workbench.interface.contracts import IssuingContract, Token
from workbench.withdrawals.amounts import (
    Amount,
    Cents,
    amount_problem,
    decimal_text,
    decimals_problem,
    dollars_of,
    dollars_text,
    read_balance,
    units_of,
)
from workbench.withdrawals.terms import rate_of, same_address, token_of

TAIL = 8  # characters of the recipient that are typed to override


@attrs.frozen(kw_only=True)
class Proposal:
    """A withdrawal as it was given, unchecked.

    Attributes:
        recipients: The profile's list of allowed recipients; None allows any.
        production: Whether it would be real.
    """

    contract: IssuingContract
    token: Any
    amount: Any
    admin: Any
    to: Any
    decimals: Any
    recipients: tuple[str, ...] | None
    production: bool


@attrs.frozen(kw_only=True)
class Findings:
    """What the checks found: problems, problems that can be overridden, and warnings."""

    refused: tuple[Problem, ...]
    overridable: tuple[Problem, ...]
    warnings: tuple[str, ...]


def findings(given: Proposal) -> Findings:
    """Check a proposed withdrawal, and return everything found."""
    try:
        chain = chains.chain_of(given.contract.chain_id)
    except InvalidRequest as error:
        problem = Problem("contract", "chain", f"has an invalid chain id: it {error.problems[0].message}")
        return Findings(refused=(problem,), overridable=(), warnings=())
    amount_problems = [p for p in (amount_problem(given.amount), decimals_problem(given.decimals)) if p is not None]
    refused = [*_addresses(given, chain), *_token(given), *_recipient_list(given), *amount_problems]
    unknown = [*_unknown(given, chain)]
    overridable, warnings = [*_recipient(given)], [*_similar(given), *_checksum(given, chain)]
    if given.production:  # where a mistake costs money
        refused += unknown
    else:
        warnings = [f"the {problem}" for problem in unknown] + warnings
    token = token_of(given.contract, given.token)
    if not amount_problems and token is not None:
        exceeded, warning = _balance(given.amount, given.decimals, token)
        overridable += exceeded
        warnings += warning
    if not amount_problems:
        warnings += _size(given, token)
    return Findings(refused=tuple(refused), overridable=tuple(overridable), warnings=tuple(warnings))


def _addresses(given: Proposal, chain: chains.Chain) -> Iterator[Problem]:
    for path, address in (("token", given.token), ("admin", given.admin), ("to", given.to)):
        for problem in chains.address_problems(address, chain.id):
            yield Problem(path, problem.kind, problem.message)


def _token(given: Proposal) -> Iterator[Problem]:
    valid = not chains.address_problems(given.token, given.contract.chain_id)
    if valid and token_of(given.contract, given.token) is None:
        accepted = ", ".join(str(token.address) for token in given.contract.tokens or ())
        yield Problem("token", "accepted", f"is not accepted by this contract, which accepts {accepted or 'none'}")


def _recipient_list(given: Proposal) -> Iterator[Problem]:
    listed = given.recipients
    if listed is not None and isinstance(given.to, str) and not any(same_address(given.to, one) for one in listed):
        yield Problem("to", "allow_list", "is not on the profile's list of recipients (limits.recipients)")


def _recipient(given: Proposal) -> Iterator[Problem]:
    contract, to = given.contract, given.to
    if not isinstance(to, str):
        return
    if chains.is_zero_address(to):
        yield Problem("to", "zero", "is the zero address, which nobody holds: what is sent there is lost")
    places = {
        "the token's own contract": (given.token, *(token.address for token in contract.tokens or ())),
        "the contract the funds are taken from": (contract.proxy_address,),
        "the contract's controller": (contract.controller_address,),
        "the contract's program": (contract.program_address,),
        "the deposit address of this contract": (contract.deposit_address,),
    }
    for what, addresses in places.items():
        if any(same_address(to, address) for address in addresses):
            yield Problem("to", "own", f"is {what}: what is sent there may be lost")
            return


def _unknown(given: Proposal, chain: chains.Chain) -> Iterator[Problem]:
    """Return what is unknown about signer, chain and version: refused in production, else a warning."""
    admins = given.contract.admin_addresses or ()
    if isinstance(given.admin, str) and not any(same_address(given.admin, one) for one in admins):
        known = f"its admins are {', '.join(map(str, admins))}" if admins else "it lists no admins"
        yield Problem("admin", "admin", f"is not listed by the contract, so the service will probably refuse; {known}")
    if chain.family is chains.Family.EVM and given.contract.contract_version not in (1, 2):
        text = "has an unknown version: a signature can be requested, but no transaction built"
        yield Problem("contract", "version", text)
    if chain.test is None:
        yield Problem("contract", "chain", f"is on {chain}, an unknown chain, treated as an EVM chain")
    if chain.test and given.production:
        yield Problem("contract", "chain", f"is on {chain}, a test network, and this is production")


def _similar(given: Proposal) -> Iterator[str]:
    contract, to = given.contract, given.to
    if not isinstance(to, str):
        return
    known = {
        "an admin of the contract": contract.admin_addresses or (),
        "a recipient of the profile's list": given.recipients or (),
        "the contract": (contract.proxy_address,),
        "the contract's controller": (contract.controller_address,),
        "a token of the contract": tuple(token.address for token in contract.tokens or ()),
        "the address making the withdrawal": (given.admin,),
    }
    named = set()
    for what, addresses in known.items():
        for address in addresses:
            if isinstance(address, str) and address not in named and chains.similar_addresses(to, address):
                named.add(address)
                yield (
                    f"the recipient begins and ends like {what}, {address}, but is another address, as in address "
                    "poisoning. Compare every character"
                )


def _checksum(given: Proposal, chain: chains.Chain) -> Iterator[str]:
    no_checksum = isinstance(given.to, str) and not chains.has_checksum(given.to)
    if no_checksum and chain.family is chains.Family.EVM and not chains.address_problems(given.to, chain.id):
        yield f"the recipient: {chains.checksum_note(given.to)}"


def _balance(amount: Amount, decimals: int | None, token: Token) -> tuple[list[Problem], list[str]]:
    """Compare the amount with the balance, in whichever unit both are known."""
    balance, rate = read_balance(token.balance), rate_of(token)
    if balance is None:
        return [], ["the contract does not state its balance of the token, so the amount was not compared with it"]
    compared = f"the amount was not compared with the balance of {decimal_text(balance)} tokens"
    if isinstance(amount, Cents):
        if rate is None:
            return [], [f"{compared}: the token's exchange rate is unknown"]
        worth = balance * Fraction(rate)
        exceeded, in_dollars = Fraction(amount.cents, 100) > worth, f" ({dollars_text(worth)})"
    else:
        if decimals is None:
            return [], [f"{compared}: the token's decimals are unknown"]
        exceeded, in_dollars = amount.units > balance * 10**decimals, ""
    if not exceeded:
        return [], []
    return [
        Problem("amount", "balance", f"exceeds the contract's balance, {decimal_text(balance)} tokens{in_dollars}")
    ], []


def _size(given: Proposal, token: Token | None) -> Iterator[str]:
    rate = rate_of(token)
    worth = dollars_of(given.amount, given.decimals, rate)
    if worth is not None and worth * 100 < 1:
        yield "the amount is worth less than a cent: did you mean cents instead of native units?"
    units = units_of(given.amount, given.decimals, rate)
    if units is not None and units < 1:
        yield "the amount is less than one native unit of the token"
