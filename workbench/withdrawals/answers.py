"""The service's answer to a withdrawal, compared with the request; the signature is held where no dump or pickle reaches."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NoReturn

import attrs

from workbench import chains
from workbench.errors import InvalidRequest, Problem
from workbench.interface.contracts import WithdrawalSignature
from workbench.interface.masks import DOTS
from workbench.withdrawals.amounts import NativeUnits, units_of
from workbench.withdrawals.terms import Terms, same_address

SHOWN_FOR = 60.0  # seconds for which a revealed value can be read


class NotSerializable:
    """Base of objects that are never pickled or copied, and print masked."""

    __slots__ = ()

    def __repr__(self) -> str:
        return DOTS

    def __rich_repr__(self) -> Iterator[str]:
        yield repr(self)  # rich would go into a mapping or a list

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError("a withdrawal's signature cannot be pickled or copied: it allows moving funds")


class Secret(NotSerializable):
    """A signature and its salt, as bytes and as text of the service. Not an attrs class: `asdict` would show it."""

    __slots__ = ("data", "data_text", "public_key", "salt", "salt_text")

    def __init__(self, *, data: bytes, salt: bytes, data_text: str, salt_text: str, public_key: bytes | None) -> None:
        self.data = data
        self.salt = salt
        self.data_text = data_text
        self.salt_text = salt_text
        self.public_key = public_key


class Revealed(NotSerializable):
    """A signature that can be read for a minute: `.data` and `.salt` as the service wrote them. It prints masked.

    It is not text, so that no cell output and no history keeps the signature.
    """

    __slots__ = ("_clock", "_secret", "_until")

    def __init__(self, secret: Secret, clock: Any) -> None:
        self._secret: Secret | None = secret
        self._clock = clock
        self._until = clock.monotonic() + SHOWN_FOR

    @property
    def data(self) -> str:
        """The signature, as the service wrote it."""
        return self._read().data_text

    @property
    def salt(self) -> str:
        """The salt, as the service wrote it."""
        return self._read().salt_text

    @property
    def seconds_left(self) -> int:
        """Seconds for which it can still be read."""
        return 0 if self._secret is None else max(0, int(self._until - self._clock.monotonic()))

    def hide(self) -> None:
        """Discard it now."""
        self._secret = None

    def _read(self) -> Secret:
        if self._clock.monotonic() >= self._until:
            self.hide()
        if self._secret is None:
            raise InvalidRequest(f"revealed for {SHOWN_FOR:.0f} s, which are over; call reveal() again")
        return self._secret

    def __repr__(self) -> str:
        return f"<revealed signature, {self.seconds_left} s left: .data and .salt>"


@attrs.frozen(kw_only=True)
class CheckedAnswer:
    """The content of an answer, and where it differs from the request."""

    expires_at: datetime | None
    expires_at_unix: int | None  # as it is signed
    units: NativeUnits | None
    secret: Secret | None = None
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def check_answer(terms: Terms, answer: WithdrawalSignature) -> CheckedAnswer:
    """Compare an answer with the request. Nothing is raised: problems and unusual values are listed."""
    expires_at = answer.expires_at if isinstance(answer.expires_at, datetime) else None  # text where unreadable
    made = CheckedAnswer(
        expires_at=expires_at,
        expires_at_unix=None if expires_at is None else int(expires_at.timestamp()),
        units=terms.amount if isinstance(terms.amount, NativeUnits) else None,
    )
    signature = answer.signature
    if answer.status != "ready" or signature is None or not signature.data:
        return made
    problems: list[Problem] = []
    notes = [str(mark) for mark in answer.marks]
    parameters = _parameters(terms, answer, notes)
    if parameters is not None:
        problems += _differences(terms, parameters, made.expires_at_unix)
        units = made.units or NativeUnits(parameters.amount)
        made = attrs.evolve(made, units=units, expires_at_unix=parameters.expires_at)
    if answer.chain_id is not None and number_of(answer.chain_id) != terms.contract.chain_id:
        problems.append(Problem("chainId", "differs", "is not the contract's chain"))
    secret = _secret(terms.contract.chain_id, signature.data, signature.salt, parameters, problems)
    if answer.sender is not None and not same_address(answer.sender, terms.admin):
        notes.append(f"the service names another sender than the admin: {answer.sender}")
    return attrs.evolve(made, secret=secret, problems=tuple(problems), notes=tuple(notes))


def _parameters(terms: Terms, answer: WithdrawalSignature, notes: list[str]) -> chains.WithdrawParameters | None:
    if not answer.parameters:
        return None
    try:
        return chains.read_parameters(terms.contract.chain_id, answer.parameters)
    except InvalidRequest as error:
        # assumed: withdrawal_parameters_order; parameters of another form do not make the signature invalid
        notes.append(f"the answer's parameters do not have the expected form: {error.problems[0]}")
        return None


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
        yield Problem("parameters[4]", "differs", "is not expiresAt")


def _amount_problem(terms: Terms, signed: int) -> str | None:
    """Compare the signed number of units with the request; where cents were requested, with decimals and rate."""
    expected = units_of(terms.amount, terms.decimals, terms.rate)
    if isinstance(terms.amount, NativeUnits):
        return None if signed == expected else "is not the requested amount"
    # the rate may have moved a little since the contract was listed; wrong decimals make a factor of ten or more
    if expected is None or abs(signed - int(expected)) <= (0 if terms.rate == 1 else max(1, int(expected / 20))):
        return None
    reason = "the decimals given may be wrong"
    if terms.rate != 1:
        reason += ", or the rate has changed since the contract was listed"
    about = "" if terms.rate == 1 else "about "
    return (
        f"is {NativeUnits(signed)}, but {terms.amount} with {terms.decimals} decimals and the contract's rate are "
        f"{about}{int(expected):,}: {reason}"
    )


def number_of(value: Any) -> int | None:
    """Return a whole number, also from decimal or 0x text; None where it is none."""
    try:
        return int(value, 0) if isinstance(value, str) else int(value)
    except (TypeError, ValueError):
        return None


def _secret(
    chain_id: int, data: str, salt: str | None, parameters: chains.WithdrawParameters | None, problems: list[Problem]
) -> Secret | None:
    """Return the signature and its salt, or add why they cannot be read to the problems."""
    try:
        raw = chains.read_signature(chain_id, data)
        salted = chains.read_bytes(salt if salt is not None else (parameters.salt if parameters else ""), 32, "salt")
    except InvalidRequest as error:
        problems.append(Problem(f"signature.{error.problems[0].path}", "form", error.problems[0].message))
        return None
    if parameters is not None and (parameters.signature != raw or parameters.salt != salted):
        problems.append(Problem("parameters[6]", "differs", "and signature.data, or their salts, are not the same"))
    return Secret(
        data=raw,
        salt=salted,
        data_text=data,
        salt_text=salt or "",
        public_key=parameters.public_key if parameters else None,
    )
