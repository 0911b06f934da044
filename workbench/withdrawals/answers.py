"""The service's answer to a withdrawal, read and compared with what was asked."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs

from workbench import chains
from workbench.errors import InvalidRequest, Problem
from workbench.interface.contracts import IssuingContract
from workbench.interface.withdrawals import SignWithdrawal, WithdrawalSignature
from workbench.withdrawals.amounts import Native, units_of
from workbench.withdrawals.secret import Secret

if TYPE_CHECKING:
    from workbench.withdrawals.planning import Plan


@attrs.frozen(kw_only=True)
class Read:
    """What an answer says, and where it differs from the question."""

    expires_at: datetime | None
    end: int | None  # unix seconds, as they are signed
    units: Native | None
    secret: Secret | None
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def read(plan: "Plan", answer: WithdrawalSignature) -> Read:
    """Read an answer. Nothing in it is refused: what is odd is named."""
    asked, contract = plan.request, plan.contract
    units = None if not asked.is_amount_native else Native(int(asked.amount))
    expires_at = answer.expires_at if isinstance(answer.expires_at, datetime) else None  # kept as text where unreadable
    end = None if expires_at is None else int(expires_at.timestamp())
    signature = answer.signature
    if answer.status != "ready" or signature is None or not signature.data:
        return Read(expires_at=expires_at, end=end, units=units, secret=None, problems=(), notes=())
    problems: list[Problem] = []
    notes = [str(mark) for mark in answer.marks]
    parameters = _parameters(contract.chain_id, answer, notes)
    if parameters is not None:
        problems += _differences(asked, contract, parameters)
        counted = Native(parameters.amount)
        if units is not None and counted != units:
            problems.append(Problem("parameters[2]", "differs", "is another amount than was asked for"))
        if units is None:
            problems += _miscounted(plan, counted, notes)
        units = units or counted
        if end is not None and parameters.expires_at != end:
            problems.append(Problem("parameters[4]", "differs", "is another end than expiresAt"))
        end = parameters.expires_at
    problems += _chain(contract.chain_id, answer.chain_id)
    secret = _secret(contract.chain_id, signature.data, signature.salt, parameters, problems)
    if answer.sender is not None and not _same(answer.sender, asked.admin_address):
        notes.append(f"the service names another sender than the admin: {answer.sender}")
    return Read(
        expires_at=expires_at, end=end, units=units, secret=secret, problems=tuple(problems), notes=tuple(notes)
    )


def _parameters(chain_id: int, answer: WithdrawalSignature, notes: list[str]) -> chains.WithdrawParameters | None:
    if not answer.parameters:
        return None
    try:
        return chains.read_parameters(chain_id, answer.parameters)
    except InvalidRequest as error:
        # assumed: withdrawal_parameters_order; one that cannot be read says nothing against the signature
        notes.append(f"the answer's parameters are not as we know them: {error.problems[0]}")
        return None


def _differences(
    asked: SignWithdrawal, contract: IssuingContract, said: chains.WithdrawParameters
) -> Iterator[Problem]:
    places = (
        (0, said.proxy, contract.proxy_address, "contract"),
        (1, said.asset, asked.token, "token"),
        (3, said.recipient, asked.recipient_address, "recipient"),
    )
    for place, here, there, what in places:
        if not _same(here, there):
            yield Problem(f"parameters[{place}]", "differs", f"is another {what} than was asked for")


def _miscounted(plan: "Plan", counted: Native, notes: list[str]) -> Iterator[Problem]:
    """Compare how the service counted an amount in cents with what the decimals and the rate say."""
    expected = units_of(plan.amount, plan.decimals, plan.rate)
    if expected is None:
        return
    if plan.rate == 1:
        if counted.units != int(expected):
            text = (
                f"is {counted}, where {plan.decimals} decimals make {int(expected):,}: the decimals given may be wrong"
            )
            yield Problem("parameters[2]", "differs", text)
    elif abs(counted.units - expected) > expected / 20:
        notes.append(f"the service counts {counted}, where the contract's rate makes about {int(expected):,}")


def _chain(chain_id: int, said: str | None) -> Iterator[Problem]:
    if said is None:
        return
    try:
        number = int(said, 0)
    except ValueError:
        number = None
    if number != chain_id:
        yield Problem("chainId", "differs", "is another chain than the contract's")


def _secret(
    chain_id: int, data: str, salt: str | None, said: chains.WithdrawParameters | None, problems: list[Problem]
) -> Secret | None:
    """Hold the signature and its salt, where they can be read; a problem says where they cannot."""
    try:
        raw = chains.read_signature(chain_id, data)
        salted = chains.read_bytes(salt if salt is not None else (said.salt if said else ""), 32, "salt")
    except InvalidRequest as error:
        problems.append(Problem(f"signature.{error.problems[0].path}", "form", error.problems[0].message))
        return None
    if said is not None and (said.signature != raw or said.salt != salted):
        problems.append(Problem("parameters[6]", "differs", "and signature.data, or their salts, are not the same"))
    return Secret(
        data=raw, salt=salted, data_text=data, salt_text=salt or "", public_key=said.public_key if said else None
    )


def _same(a: Any, b: Any) -> bool:
    return isinstance(a, str) and isinstance(b, str) and chains.same_address(a, b)
