"""Checks before a call: arming in production, caps, allowed recipients and duplicate writes."""

import json
import os
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import attrs

from workbench.base.arguments import hide_arguments_of_methods
from workbench.base.errors import DuplicateSuspected, NotArmed, Problem, UsageError, WrongEnvironment, advise, visible
from workbench.base.frozen import frozen
from workbench.base.keys import Key
from workbench.base.remedies import Remedy, declare
from workbench.base.schema.fields import SECRET
from workbench.base.schema.walk import Member, values
from workbench.base.system.process import at_start, refusal
from workbench.client.calls.journal import Recorder
from workbench.client.calls.pace import Budget, Clock, Pace, http_date
from workbench.service.chains.values import private_key_problem
from workbench.service.interface.convert import Converter, converter
from workbench.service.interface.formats import CHAIN_ADDRESS, EVM_ADDRESS, SOLANA_ADDRESS, STELLAR_ADDRESS, WALLET
from workbench.service.interface.table import OPERATIONS, Call, Operation

declare(
    "arm",
    python='Allow it temporarily: arm(operations={{"{operation}"}}, minutes=10, reason="…").',
    other="A person must arm {operation} for a few minutes.",
)
declare(
    "again",
    python="allowing(again=True) sends it again",
    other="a person must allow the repetition",
)

LONGEST = 120  # maximum number of minutes for which operations can be armed


@hide_arguments_of_methods
@frozen(kw_only=True)
class Limits:
    """Limits for a client's calls: rates, amounts, rows and recipients. None sets no limit.

    Attributes:
        reads_per_second: Maximum reads per second.
        writes_per_second: Maximum calls with an effect per second.
        amount: Maximum cents of one call.
        native_amount: Maximum native token units of one withdrawal.
        rows: Maximum rows of one bulk run.
        sum: Maximum cents of one bulk run.
        recipients: Addresses that withdrawals may go to.
    """

    reads_per_second: float | None = None
    writes_per_second: float | None = None
    amount: int | None = None
    native_amount: int | None = None
    rows: int | None = None
    sum: int | None = None
    recipients: tuple[str, ...] | None = None

    @property
    def caps(self) -> bool:
        """Whether the amounts or recipients of single calls are limited."""
        return any(cap is not None for cap in (self.amount, self.native_amount, self.recipients))


@frozen(kw_only=True)
class Arming:
    """Permission for writes in production: operations, expiry and reason."""

    operations: frozenset[str]
    until: datetime
    until_monotonic: float
    reason: str


@attrs.define(kw_only=True, eq=False, repr=False)
class ClientContext:
    """State shared by a client and its views, and the checks that decide whether a call may be sent."""

    environment: str
    limits: Limits
    clock: Clock
    host: str
    key: Key
    timeout: float | None
    check: bool
    converter: Converter
    pace: Pace
    recorder: Recorder | None
    headers: list[tuple[bytes, bytes]]  # headers of each call, without the API key
    real: bool  # whether calls go to a real service, not to an embedded sandbox or a server on this machine
    is_embedded: bool  # whether the call stays in this process
    is_sandbox: bool = False  # whether a sandbox of the workbench was detected
    arming: Arming | None = None
    idempotency_header: str | None = None
    attempts: int = 3  # maximum number of attempts for a read
    budget: Budget = attrs.field(factory=Budget)
    newest_date: tuple[str, float] | None = None  # newest Date header, with the local time at which it arrived
    noticed: dict[str, str] = attrs.field(factory=dict)
    as_bytes: bool = False  # whether response bodies are returned as bytes, without parsing
    on_rate_limit: Callable[[], object] = lambda: None

    @property
    def production(self) -> bool:
        """Whether the environment is production: effects must be armed, and simulations do not exist."""
        return self.environment == "production"

    @property
    def locked(self) -> str:
        """Reason why calls with an effect may not be sent to this service; empty if they may be sent."""
        if self.is_embedded or self.is_sandbox:
            return ""
        return f"{READONLY}=1 is set" if readonly() else refusal(effect=True, production=self.production)

    @property
    def armed(self) -> Arming | None:
        """Current arming, or None. It also expires while the machine is suspended."""
        arming = self.arming
        if arming and (self.clock.now() >= arming.until or self.clock.monotonic() >= arming.until_monotonic):
            self.arming = arming = None
        return arming

    def new_arming(self, operations: Iterable[Any] | str, minutes: Any, reason: Any) -> Arming:
        """Return an arming that begins now.

        Raises:
            UsageError: The arming is invalid. The message lists all problems.
        """
        problems: list[Problem] = []
        names = _names(operations, problems)
        if not isinstance(minutes, int | float) or isinstance(minutes, bool) or not 0 < minutes <= LONGEST:
            problems.append(Problem("minutes", "maximum", f"must be more than 0 and at most {LONGEST}"))
        if not isinstance(reason, str) or not reason.strip():
            problems.append(Problem("reason", "required", "is required; the journal records it"))
        elif (pasted := private_key_problem(reason, "reason")) is not None:
            problems.append(pasted)
        if self.locked:
            problems.append(Problem("", "readonly", f"{self.locked}; nothing can be armed"))
        if problems:
            raise UsageError(problems, of="arm")
        return Arming(
            operations=names,
            until=self.clock.now() + timedelta(minutes=minutes),
            until_monotonic=self.clock.monotonic() + 60 * minutes,
            reason=visible(reason.strip(), 200),
        )

    def check_operation(self, operation: Operation[..., Any]) -> None:
        """Check that this client may call an operation, regardless of the request.

        Raises:
            WrongEnvironment: The operation is a simulation, and the environment is production.
            NotArmed: The write is not armed in production, or WORKBENCH_READONLY=1 or a training class forbids writes.
        """
        if self.production and operation.sandbox_only:
            raise WrongEnvironment(
                f"{operation.name} exists only in sandboxes, and this client is for production. Nothing was sent."
            )
        if not operation.effect:
            return
        if self.locked:
            raise NotArmed(f"{operation.name}: {self.locked}, so the call was not sent.")
        if not self.production:
            return
        arming = self.armed
        if arming is None or operation.name not in arming.operations:
            was = "" if arming is None else f" Armed now: {', '.join(sorted(arming.operations))}."
            raise NotArmed(
                f"{operation.name} has an effect, and this client is for production.{was} Nothing was sent. "
                f"{Remedy('arm', operation=operation.name, option=operation.name.replace('_', '-'))}"
            )

    def check_duplicate(self, what: str, earlier: Any) -> None:
        """In production, refuse a write that repeats a write of the last 24 hours. Elsewhere, only warn."""
        text = (
            f"{what}: the same request was sent at {earlier.started:%Y-%m-%d %H:%M:%S} UTC, "
            f"outcome {earlier.outcome.shown} (journal {earlier.id})"
        )
        if self.production:
            raise DuplicateSuspected(f"{text}. Nothing was sent; {Remedy('again')}.", earlier=earlier.id)
        advise(f"{text}; it is sent again")

    @property
    def clock_skew(self) -> float | None:
        """Seconds by which this machine's clock is ahead of the service's last `Date` header; None before any call.

        The header has a resolution of one second, so a difference below two is not significant.
        """
        if self.newest_date is None:
            return None
        text, here = self.newest_date
        there = http_date(text)
        return None if there is None else here - there

    def note(self, kind: str, text: str) -> None:
        """Record a note in the journal, if the client has one."""
        if self.recorder is not None:
            self.recorder.note(kind, text)


READONLY = "WORKBENCH_READONLY"


def readonly() -> bool:
    """Return whether WORKBENCH_READONLY forbids effects on real services, now or when the process started."""
    return _is_on(at_start(READONLY)) or _is_on(os.environ.get(READONLY, ""))


def _is_on(value: str) -> bool:
    return value.strip().lower() not in {"", "0", "false", "no"}


def _names(operations: Iterable[Any] | str, problems: list[Problem]) -> frozenset[str]:
    named = [operations] if isinstance(operations, str) else operations
    rows = [name.operation if isinstance(name, Call) else name for name in named]
    names = {row.name if isinstance(row, Operation) else row for row in rows}
    wrong = sorted(str(name) for name in names if name not in OPERATIONS or not OPERATIONS[name].effect)
    if wrong or not names:
        rejected = f"; not {visible(', '.join(wrong), 100)}" if wrong else ""
        problems.append(Problem("operations", "enum", f"must be names of operations with an effect{rejected}"))
    return frozenset(names)


def confirmation_text(operation: Operation[..., Any], request: object, host: str) -> str:
    """Return the text to confirm before a call in production, with operation, host and every value that is sent.

    Amounts and destinations come first. At most the last four characters of a secret value are shown.
    """
    rows = [(field, path, value) for path, field, value, _ in values(request)]
    rows.sort(key=lambda row: _importance(row[0]))
    typed = operation.effect.confirm(request) if operation.effect is not None else None
    lines = [f"PRODUCTION, {host}: {operation.name}: {typed.says if typed else operation.doc.rstrip('.')}."]
    lines += [f"{path}: {_confirmed(field, value)}" for field, path, value in rows]
    return "\n".join(lines)


_DESTINATIONS = (EVM_ADDRESS, SOLANA_ADDRESS, STELLAR_ADDRESS, CHAIN_ADDRESS, WALLET)


def _importance(member: Member) -> int:
    rule = member.about.rule
    if rule.unit is not None or "amount" in member.name:
        return 0
    named = member.name in ("account_number", "routing_number")
    return 1 if named or rule in _DESTINATIONS else 2


def _confirmed(member: Member, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    rule = member.about.rule
    if member.about.privacy is SECRET:
        numbered = rule.format in ("account-number", "password") and isinstance(value, str) and len(value) > 6
        return f"ends in {visible(value[-4:])} ({len(value)} characters)" if numbered else "given, not shown"
    write = converter().kind_writer(member.kind, False)
    written = value if write is None else write(value)
    if not isinstance(written, str):
        return f"{written} {rule.unit}" if rule.unit else str(written)
    return json.dumps(visible(written), ensure_ascii=False)
