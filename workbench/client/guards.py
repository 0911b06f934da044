"""Guards before a call: arming in production, caps, a list of recipients, the same write twice."""

import os
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from workbench.client.pace import Clock
from workbench.errors import (
    DuplicateSuspected,
    InvalidRequest,
    NotArmed,
    Problem,
    WrongEnvironment,
    advise,
    visible,
)
from workbench.interface.table import OPERATIONS, Call, Operation

ENVIRONMENTS = ("sandbox", "production")
LONGEST = 120  # minutes that an arming may last


@attrs.frozen(kw_only=True)
class Limits:
    """Limits on what a client sends: rates, amounts, rows and recipients; None sets no limit.

    Attributes:
        reads_per_second: Reads a second.
        writes_per_second: Calls with an effect a second.
        amount: Cents of one call.
        native_amount: Native token units of one withdrawal.
        rows: Rows of one bulk run.
        sum: Cents of one bulk run.
        recipients: Addresses that withdrawals may go to.
    """

    reads_per_second: float | None = None
    writes_per_second: float | None = None
    amount: int | None = None
    native_amount: int | None = None
    rows: int | None = None
    sum: int | None = None
    recipients: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class Arming:
    """What may have an effect in production, until when, and why."""

    operations: frozenset[str]
    until: datetime
    until_monotonic: float
    reason: str


@attrs.frozen(kw_only=True)
class Confirmation:
    """What a person is asked to type before a call in production that cannot be undone."""

    says: str
    types: str


class Guards:
    """The guards of one client and all its views."""

    def __init__(self, environment: str, limits: Limits, clock: Clock, *, real: bool) -> None:
        self.environment = environment
        self.production = environment == "production"
        self.real = real  # whether a service answers, not an embedded sandbox
        self.in_class = False  # whether the sandbox of a class answers
        self.limits = limits
        self._clock = clock
        self._arming: Arming | None = None

    @property
    def locked(self) -> bool:
        """Whether nothing with an effect may be sent: to a real service, by WORKBENCH_READONLY or from a class."""
        return self.real and not self.in_class and (readonly() or in_class())

    @property
    def armed(self) -> Arming | None:
        """What is armed now. A machine that slept does not stay armed."""
        arming = self._arming
        if arming and (self._clock.now() >= arming.until or self._clock.monotonic() >= arming.until_monotonic):
            self._arming = arming = None
        return arming

    @armed.setter
    def armed(self, arming: Arming | None) -> None:
        self._arming = arming

    def arming(self, operations: Iterable[Any] | str, minutes: Any, reason: Any) -> Arming:
        """Return an arming that begins now.

        Raises:
            InvalidRequest: With all that is wrong with it.
        """
        problems: list[Problem] = []
        names = _names(operations, problems)
        if not isinstance(minutes, int | float) or isinstance(minutes, bool) or not 0 < minutes <= LONGEST:
            problems.append(Problem("minutes", "maximum", f"must be more than 0 and at most {LONGEST}"))
        if not isinstance(reason, str) or not reason.strip():
            problems.append(Problem("reason", "required", "is missing; it is kept in the journal"))
        if self.locked:
            problems.append(Problem("", "readonly", f"{READS_ONLY}; nothing can be armed"))
        if problems:
            raise InvalidRequest(problems, of="arm")
        return Arming(
            operations=names,
            until=self._clock.now() + timedelta(minutes=minutes),
            until_monotonic=self._clock.monotonic() + 60 * minutes,
            reason=visible(reason.strip(), 200),
        )

    def check(self, operation: Operation[..., Any]) -> None:
        """Refuse what this environment or its arming does not allow, whatever the request.

        Raises:
            WrongEnvironment: A simulation aimed at production.
            NotArmed: An effect in production that nobody armed, or WORKBENCH_READONLY=1.
        """
        if self.production and operation.sandbox_only:
            raise WrongEnvironment(
                f"{operation.name} exists in sandboxes only, and this client is for production. Nothing was sent."
            )
        if not operation.effect:
            return
        if self.locked:
            raise NotArmed(f"{operation.name}: {READS_ONLY}, so nothing with an effect is sent.")
        if not self.production:
            return
        arming = self.armed
        if arming is None or operation.name not in arming.operations:
            was = "" if arming is None else f" Armed now: {', '.join(sorted(arming.operations))}."
            raise NotArmed(
                f"{operation.name} has an effect, and this client is for production.{was} Nothing was sent. "
                f'Allow it temporarily: arm(operations={{"{operation.name}"}}, minutes=10, reason="…").'
            )

    def check_duplicate(self, what: str, earlier: Any, allowed: bool) -> None:
        """Refuse the same write within a day in production; elsewhere warn of it."""
        said = (
            f"{what}: the same request was sent at {earlier.started:%Y-%m-%d %H:%M:%S} UTC, outcome {earlier.outcome.shown} "
            f"(journal {earlier.id})"
        )
        if allowed:
            return
        if self.production:
            raise DuplicateSuspected(
                f"{said}. Nothing was sent. allowing(again=True) sends it again.", earlier=earlier.id
            )
        advise(f"{said}; it is sent again")


READONLY = "WORKBENCH_READONLY"
READS_ONLY = "WORKBENCH_READONLY=1 is set, or this is a class"


def readonly() -> bool:
    """Return whether WORKBENCH_READONLY forbids every effect on a real service, now or when the process began."""
    return _is_on(at_start(READONLY)) or _is_on(os.environ.get(READONLY, ""))


def class_url() -> str:
    """Return the URL of this learner's sandbox in a class, from WORKBENCH_CLASS; empty where there is none."""
    return at_start("WORKBENCH_CLASS") or os.environ.get("WORKBENCH_CLASS", "")


def in_class(*, joined: bool = False) -> bool:
    """Return whether this process belongs to a class: by WORKBENCH_CLASS, or since it joined one by a code."""
    if joined:
        _JOINED.add(True)
    return bool(_JOINED or class_url())


_JOINED: set[bool] = set()


@cache
def at_start(variable: str) -> str:
    """Return what a variable of the environment was when the process began: no later code of it has changed that."""
    try:
        begun = Path("/proc/self/environ").read_bytes()
    except OSError:  # another system than Linux: as it was when this module was loaded
        return _LOADED.get(variable, "")
    entries = (entry.partition(b"=") for entry in begun.split(b"\0"))
    return next((os.fsdecode(value) for name, _, value in entries if os.fsdecode(name) == variable), "")


_LOADED = dict(os.environ)


def _is_on(value: str) -> bool:
    return value.strip().lower() not in {"", "0", "false", "no"}


def _names(operations: Iterable[Any] | str, problems: list[Problem]) -> frozenset[str]:
    named = [operations] if isinstance(operations, str) else operations
    rows = [one.operation if isinstance(one, Call) else one for one in named]
    names = {one.name if isinstance(one, Operation) else one for one in rows}
    wrong = sorted(str(name) for name in names if name not in OPERATIONS or not OPERATIONS[name].effect)
    if wrong or not names:
        words = f"; not {visible(', '.join(wrong), 100)}" if wrong else ""
        problems.append(Problem("operations", "enum", f"must be names of operations with an effect{words}"))
    return frozenset(names)


def environment_problem(environment: object) -> Problem | None:
    """Return what is wrong with the name of an environment."""
    if environment in ENVIRONMENTS:
        return None
    return Problem("environment", "enum", 'must be "sandbox" or "production"')


def confirmation(operation: Operation[..., Any], request: Any) -> Confirmation | None:
    """Return what a person is asked to type before this call in production; None where it can be undone."""
    if operation.name == "sign_withdrawal":
        unit = "native units" if request.is_amount_native else "cents"
        asked = f"{request.amount} {unit} to {request.recipient_address}"
        return Confirmation(says=asked, types=f"{request.amount} {str(request.recipient_address)[-8:]}")
    says, subject = "", ""
    if operation.name == "delete_payment_account":
        subject = request.payment_account_id
        says = f"payment account {subject} is permanently deleted"
    elif operation.name == "update_dispute" and request.status:
        subject = request.dispute_id
        says = f"dispute {subject} is canceled, which cannot be undone"
    elif operation.name == "update_user":
        subject = request.user_id
        if request.is_active is False:
            says = f"user {subject} is deactivated"
        elif any(getattr(request, f"{kind}_address") is not None for kind in ("wallet", "solana", "stellar")):
            says = f"user {subject} gets another wallet"
    return Confirmation(says=says, types=str(subject)[-8:]) if says else None
