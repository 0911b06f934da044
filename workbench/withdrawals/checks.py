"""What is looked at before a signature is asked for: everything at once, what may be overridden, what is only advised."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs

from workbench import chains
from workbench.chains.families import Chain
from workbench.errors import InvalidRequest, Problem
from workbench.interface.contracts import IssuingContract, Token
from workbench.withdrawals.amounts import (
    Amount,
    Cents,
    amount_problem,
    decimals_problem,
    dollars_of,
    exact_balance,
    plain,
    said_dollars,
    units_of,
)

TAIL = 8  # characters of the recipient that are typed to override


@attrs.frozen(kw_only=True)
class Asked:
    """What somebody wants to withdraw, as it was given; nothing of it is checked yet."""

    contract: IssuingContract
    token: Any
    amount: Any
    admin: Any
    to: Any
    decimals: Any
    recipients: tuple[str, ...] | None  # the allow-list of the profile; None: anywhere


@attrs.frozen(kw_only=True)
class Findings:
    """What was found: what refuses, what refuses unless it is overridden, and what is only advised."""

    refused: tuple[Problem, ...]
    doubtful: tuple[Problem, ...]
    warnings: tuple[str, ...]


def findings(asked: Asked) -> Findings:
    """Look at everything, and give all that was found."""
    try:
        chain = chains.chain_of(asked.contract.chain_id)
    except InvalidRequest as error:
        problem = Problem("contract", "chain", f"has a chain number that is none: it {error.problems[0].message}")
        return Findings(refused=(problem,), doubtful=(), warnings=())
    refused = [*_addresses(asked, chain), *_token(asked), *_recipient_list(asked)]
    refused += [p for p in (amount_problem(asked.amount), decimals_problem(asked.decimals)) if p is not None]
    doubtful, warnings = [*_recipient(asked)], [*_admin(asked), *_look_alikes(asked), *_versions(asked, chain)]
    if amount_problem(asked.amount) is None and decimals_problem(asked.decimals) is None:
        token = token_of(asked.contract, asked.token)
        if token is not None:
            short, warning = _balance(asked.amount, asked.decimals, token)
            doubtful += [short] if short is not None else []
            warnings += [warning] if warning else []
        warnings += _size(asked, token)
    return Findings(refused=tuple(refused), doubtful=tuple(doubtful), warnings=tuple(warnings))


def token_of(contract: IssuingContract, address: object) -> Token | None:
    """Find a token among those of a contract."""
    if not isinstance(address, str):
        return None
    return next((token for token in contract.tokens or () if _same(token.address, address)), None)


def rate_of(token: Token | None) -> Decimal | None:
    """Return the exchange rate of a token, where the contract states one that can be one."""
    rate = None if token is None else token.exchange_rate
    return rate if rate is not None and rate.is_finite() and rate > 0 else None


def _same(a: object, b: object) -> bool:
    return isinstance(a, str) and isinstance(b, str) and chains.same_address(a, b)


def _addresses(asked: Asked, chain: Chain) -> Iterator[Problem]:
    for path, address in (("token", asked.token), ("admin", asked.admin), ("to", asked.to)):
        for slip in chains.address_problems(address, chain.id):
            yield Problem(path, slip.kind, slip.message)


def _token(asked: Asked) -> Iterator[Problem]:
    sound = isinstance(asked.token, str) and not chains.address_problems(asked.token, asked.contract.chain_id)
    if sound and token_of(asked.contract, asked.token) is None:
        accepted = ", ".join(str(token.address) for token in asked.contract.tokens or ())
        yield Problem("token", "accepted", f"is none that this contract accepts; it accepts {accepted or 'none'}")


def _recipient_list(asked: Asked) -> Iterator[Problem]:
    listed = asked.recipients
    if listed is not None and isinstance(asked.to, str) and not any(_same(asked.to, one) for one in listed):
        yield Problem("to", "allow_list", "is not on the profile's list of recipients (limits.recipients)")


def _recipient(asked: Asked) -> Iterator[Problem]:
    contract, to = asked.contract, asked.to
    if not isinstance(to, str):
        return
    if chains.is_zero_address(to):
        yield Problem("to", "zero", "is the zero address, from which nothing ever comes back")
    places = {
        "the token's own contract": (asked.token, *(token.address for token in contract.tokens or ())),
        "the contract the funds are taken from": (contract.proxy_address,),
        "the contract's controller": (contract.controller_address,),
        "the contract's program": (contract.program_address,),
        "the address for deposits to this contract": (contract.deposit_address,),
    }
    for what, addresses in places.items():
        if any(_same(to, address) for address in addresses):
            yield Problem("to", "own", f"is {what}: what is sent there may be lost")
            return


def _admin(asked: Asked) -> Iterator[str]:
    admins = asked.contract.admin_addresses or ()
    if not isinstance(asked.admin, str) or any(_same(asked.admin, one) for one in admins):
        return
    known = f"its admins are {', '.join(map(str, admins))}" if admins else "it names none"
    yield f"{asked.admin} is not among the contract's admins, so the service will probably refuse; {known}"


def _look_alikes(asked: Asked) -> Iterator[str]:
    contract, to = asked.contract, asked.to
    if not isinstance(to, str):
        return
    known = {
        "an admin of the contract": contract.admin_addresses or (),
        "a recipient of the profile's list": asked.recipients or (),
        "the contract": (contract.proxy_address,),
        "the contract's controller": (contract.controller_address,),
        "a token of the contract": tuple(token.address for token in contract.tokens or ()),
        "the address making the withdrawal": (asked.admin,),
    }
    told = set()
    for what, addresses in known.items():
        for address in addresses:
            if isinstance(address, str) and address not in told and chains.similar_addresses(to, address):
                told.add(address)
                yield (
                    f"the recipient begins and ends like {what}, {address}, and is another address; "
                    "this is how people are led to send funds to a stranger. Compare every character"
                )


def _versions(asked: Asked, chain: Chain) -> Iterator[str]:
    if chain.family is chains.Family.EVM and asked.contract.contract_version not in (1, 2):
        yield "the call of this contract's version is not known here: a signature can be asked for, no transaction made"
    if chain.test is None:
        yield f"{chain} is not a chain we know; it is taken for an EVM chain"
    no_checksum = isinstance(asked.to, str) and not chains.has_checksum(asked.to)
    if no_checksum and chain.family is chains.Family.EVM and not chains.address_problems(asked.to, chain.id):
        yield f"the recipient: {chains.checksum_note(asked.to)}"


def _balance(amount: Amount, decimals: int | None, token: Token) -> tuple[Problem | None, str | None]:
    """Compare with the balance, in whichever unit both are known in."""
    held = exact_balance(token.balance)
    if held is None:
        return None, "the contract does not say how much of the token it holds, so that was not compared"
    wanted, has, unit = _compared(amount, decimals, rate_of(token), held)
    if wanted is None:
        return None, f"whether the balance of {plain(held)} tokens covers it cannot be told without {unit}"
    if wanted > has:
        return Problem("amount", "balance", f"is more than the contract holds, {plain(held)} tokens{unit}"), None
    return None, None


def _compared(
    amount: Amount, decimals: int | None, rate: Decimal | None, held: Fraction
) -> tuple[Fraction | None, Fraction, str]:
    if isinstance(amount, Cents):
        if rate is None:
            return None, held, "the token's exchange rate"
        return Fraction(amount.cents, 100), held * Fraction(rate), f" ({said_dollars(held * Fraction(rate))})"
    if decimals is None:
        return None, held, "the token's decimals"
    return Fraction(amount.units), held * 10**decimals, ""


def _size(asked: Asked, token: Token | None) -> Iterator[str]:
    rate = rate_of(token)
    worth = dollars_of(asked.amount, asked.decimals, rate)
    if worth is not None and worth < Fraction(1, 100):
        yield "it is worth less than a cent: were cents meant, and not native units?"
    units = units_of(asked.amount, asked.decimals, rate)
    if units is not None and units < 1:
        yield "it is less than one native unit of the token"
