"""Clock, seeded randomness and environment of a sandbox, and the context of one request or control.

The store contains the time, so each copy of a sandbox has a separate clock. Only controls move a fixed clock. All
random values come from the seed.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from hashlib import blake2b
from typing import Any

import attrs

from workbench.base.errors import ApiError, Problem, UsageError
from workbench.base.remedies import interface
from workbench.base.schema.readers import write_time
from workbench.base.schema.walk import given, is_record
from workbench.sandbox.store import Members, Record, Store
from workbench.service.interface import table
from workbench.service.interface.assumptions import BEHAVIORS, failure_id
from workbench.service.interface.convert import Converter
from workbench.service.interface.table import Failure, Operation

_BY_MESSAGE: Mapping[str, Failure] = {
    failure.message: failure for row in table.OPERATIONS.values() for failure in row.failures
}


START = datetime(2026, 1, 15, 15, 0, tzinfo=UTC)
DAY = 24 * 60 * 60 * 1000  # in milliseconds
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(moment: datetime) -> int:
    """Return a time as milliseconds since 1970."""
    return (moment - EPOCH) // _MILLISECOND


NEVER = 10**15 - 1
"""Time in milliseconds that sorts after every other time."""


def due_by(at: int) -> str:
    """Return an upper bound for the ids of queued items that are due by a time."""
    return f"{at:015d}~"


def moment_of(at: int) -> datetime:
    """Convert milliseconds since 1970 to a time."""
    return EPOCH + timedelta(milliseconds=at)


class SandboxClock:
    """Clock of a sandbox. Only controls move a fixed clock; a running clock follows the wall clock."""

    def __init__(self, store: Store, move: Callable[[int], None]) -> None:
        self._store = store
        self._move = move
        self._shown = threading.local()

    @property
    def runs(self) -> bool:
        """Whether the clock is running."""
        return self.speed is not None

    @property
    def speed(self) -> float | None:
        """Speed relative to the wall clock, or None for a fixed clock."""
        kept = self._store.get("meta", "clock")
        return None if type(kept) is int else kept["speed"]

    @property
    def ms(self) -> int:
        """The time in milliseconds since 1970."""
        shown: int | None = getattr(self._shown, "at", None)
        if shown is not None:
            return shown
        kept: Any = self._store.get("meta", "clock")
        if type(kept) is int:
            return kept
        return int(kept["at"] + (time.time() * 1000 - kept["wall"]) * kept["speed"])

    @contextmanager
    def showing(self, at: int) -> Iterator[None]:
        """Fix the time seen by this thread while a scheduled change runs or a request is answered."""
        before = getattr(self._shown, "at", None)
        self._shown.at = at
        try:
            yield
        finally:
            self._shown.at = before

    def set(self, at: int, speed: float | None) -> None:
        """Set the time within a transaction. Without a speed, the clock becomes fixed."""
        if getattr(self._shown, "at", None) is not None:
            self._shown.at = at
        running = {"at": at, "wall": time.time() * 1000, "speed": speed}
        self._store.put("meta", "clock", at if speed is None else running)

    def now(self) -> datetime:
        """Return the time, timezone-aware, in UTC."""
        return moment_of(self.ms)

    def text(self) -> str:
        """Return the time in its wire format."""
        return write_time(self.now())

    def advance(self, *, seconds: float) -> datetime:
        """Move the clock forward, and return the time. Scheduled changes happen at their due times.

        Raises:
            UsageError: `seconds` is negative.
        """
        step = timedelta(seconds=seconds)
        if step < timedelta():
            raise UsageError("the clock can only move forward")
        self._move(step // _MILLISECOND)
        return self.now()

    def __repr__(self) -> str:
        return f"<clock at {self.text()}>"


@attrs.frozen
class Seeds:
    """Random values derived from the seed. The same label gives the same value on every machine.

    Args:
        seed: Seed of the world.
        secret: Secret from which API keys are derived, in addition to the seed; empty for keys from the seed alone.
        full_key: The full API key that the caller passed; empty if it is derived.
    """

    seed: int
    secret: str = attrs.field(default="", repr=False)
    full_key: str = attrs.field(default="", repr=False)

    @cached_property
    def _key(self) -> bytes:
        return blake2b(b"card-issuing-workbench:%d" % self.seed, digest_size=32).digest()

    @classmethod
    def of(cls, settings: Members) -> "Seeds":
        """Return the `Seeds` of a sandbox from the sandbox's stored arguments."""
        return cls(settings["seed"], settings.get("secret", ""), settings.get("full_key", ""))

    def api_key(self, name: str) -> str:
        """Return the API key with this name."""
        if name == "full" and self.full_key:
            return self.full_key
        return f"sandbox_{self.octets(f'key:{self.secret}{name}', 16).hex()}"

    def octets(self, label: str, size: int = 32) -> bytes:
        """Return `size` random bytes, at most 64, which depend only on the seed and the label."""
        return blake2b(label.encode(), key=self._key, digest_size=size).digest()

    def uuid(self, label: str) -> str:
        """Return an id in the format of a random UUID."""
        h = blake2b(label.encode(), key=self._key, digest_size=16).hexdigest()
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{'89ab'[int(h[16], 16) & 3]}{h[17:20]}-{h[20:]}"

    def number(self, label: str, low: int, high: int) -> int:
        """Return an integer from low to high, inclusive."""
        return low + int.from_bytes(self.octets(label, 8)) % (high - low + 1)


@attrs.define
class Environment:
    """Store, clock, seeds, settings and converter of one sandbox."""

    store: Store
    clock: SandboxClock
    seeds: Seeds
    settings: Members
    converter: Converter


class RequestContext:
    """Context of a request or control: the tenant, and the assumptions that the response relies on."""

    def __init__(self, environment: Environment, name: str) -> None:
        self.environment = environment
        self.store = environment.store
        self.clock = environment.clock
        self.seeds = environment.seeds
        self.settings = environment.settings
        self.cause: list[Any] = [0, name]  # number of the request, assigned at first use, and name of the call
        self.operation: Operation[..., Any] | None = None
        self.tenant: Members = {}
        self.assumed: list[str] = []
        self.headers: dict[str, str] = {}

    def new_id(self, kind: str) -> str:
        """Return a new id for a record of a kind, derived from the seed and a counter."""
        return self.seeds.uuid(f"{kind}:{self.store.next(kind)}")

    def emit(self, kind: str, tenant: str, **of: object) -> None:
        """Store an event. The event is serialized when it is read."""
        number, name = self.cause
        if number == 0:
            number = self.cause[0] = self.store.next("request")
        sequence = self.store.next("event")
        at = self.clock.ms
        kept = {"sequence": sequence, "kind": kind, "tenant": tenant, "at": at, "request": number, "cause": name}
        self.store.put("event", str(sequence), {**kept, **of})

    def schedule(self, seconds: float, action: str, key: str) -> None:
        """Schedule an action on a record after some seconds. An earlier schedule of the same action is replaced."""
        name, at = f"{action}:{key}", self.clock.ms + int(seconds * 1000)
        self.cancel(name)
        self.store.put("scheduled", name, at)
        self.store.put("due", f"{at:015d}:{name}", {"at": at, "name": name})
        if at < self.store.get("meta", "next_due"):
            self.store.put("meta", "next_due", at)

    def cancel(self, name: str) -> None:
        """Cancel a scheduled action, such as "settle:ID", if it exists."""
        at = self.store.get("scheduled", name)
        if at is not None:
            self.store.delete("scheduled", name)
            self.store.delete("due", f"{at:015d}:{name}")

    def get_for_tenant(self, kind: str, key: str) -> Record:
        """Return the tenant's record with an id. Ids are case-insensitive.

        Raises:
            ApiError: The tenant has no record with this id. Records of other tenants raise the same error.
        """
        record: Record | None = self.store.get(kind, key.lower())
        if record is None or record["tenant"] != self.tenant["id"]:
            raise self.error(f"{kind.replace('_', ' ').capitalize()} not found")
        return record

    def error(self, of: Failure | str, assumed: str | None = None, **message: object) -> ApiError:
        """Return the documented error for a failure or for the message of a failure.

        Args:
            assumed: Id of the assumption that the error relies on. Its setting determines the status.
        """
        own = () if self.operation is None else self.operation.failures
        failure = of if isinstance(of, Failure) else next((f for f in own if f.message == of), None) or _BY_MESSAGE[of]
        if assumed is not None:
            self.assumed.append(assumed)
        if failure.assumed and self.operation is not None:
            listed = failure in self.operation.failures
            self.assumed.append(failure_id(self.operation, failure) if listed else "validation_errors")
        status = failure.status if assumed is None else self._status(failure.status, assumed)
        return ApiError.of(status)(
            operation=self.cause[1],
            status=status,
            error=table.ERRORS.get(status, failure.error),
            message=failure.message.format(**message) if message else failure.message,
        )

    def _status(self, status: int, assumed: str) -> int:
        """Return a refusal's status. The assumption's setting replaces `status`, if it is documented for `status`."""
        chosen = self.settings.get(assumed)
        usual = BEHAVIORS[assumed].documented if assumed in BEHAVIORS else None
        is_for_another = isinstance(usual, str) and usual.isdigit() and int(usual) != status
        return int(chosen) if isinstance(chosen, str) and chosen.isdigit() and not is_for_another else status

    def bad_request(self, problems: str, assumed: str) -> ApiError:
        """Return the 400 error for an invalid request, and record the assumption that makes the request invalid."""
        if self.operation is table.Operations.create_payment_account:
            if not self.settings["account_error_text"]:
                return self.error(table.INVALID_ACCOUNT, assumed)
            self.assumed.append("account_error_text")
            problems = f"{table.INVALID_ACCOUNT.message}: {problems}"
        return self.error("{problems}", assumed, problems=problems)


def refuse_empty(context: RequestContext, is_empty: bool) -> None:
    """Raise an error for an update without members, if the service refuses such updates. assumed: empty_patch"""
    if is_empty:
        context.assumed.append("empty_patch")
        if context.settings["empty_patch"] != "accepted":
            raise context.bad_request("nothing to change", "empty_patch")


def plain(record: object) -> Record:
    """Return the members of a record as plain values, keyed by attribute name."""
    kept: Record = {}
    for name, value in given(record).items():
        if is_record(value):
            kept[name] = plain(value)
        elif isinstance(value, date):
            kept[name] = value.isoformat()
        else:
            kept[name] = str(value) if isinstance(value, str) else value
    return kept


WRONG_ARGUMENT = "UsageError"
"""Error name in the response to a control with an invalid argument. The message states the problem."""


def refusal(status: int, error: str, message: str) -> ApiError:
    """Return the error of a rejected control, before `control_error` adds the control's name."""
    return ApiError.of(status)(operation="", status=status, error=error, message=message)


def wrong_argument(path: str, rule: str, message: str) -> ApiError:
    """Return the 400 error for an invalid argument of a control."""
    return refusal(400, WRONG_ARGUMENT, str(Problem(path, rule, message)))


def usage_error(message: str) -> ApiError:
    """Return the 400 error for a control that a record's state does not allow."""
    return refusal(400, "BadRequestError", message)


def not_found(what: str) -> ApiError:
    """Return the 404 error of a control."""
    return refusal(404, "NotFoundError", f"{what} not found")


def control_error(name: str, refused: ApiError) -> ApiError | UsageError:
    """Return the error of a rejected control, with the name of the control in its message."""
    called = python_name(name) if interface() == "python" else name
    message = refused.message or ""
    if refused.error == WRONG_ARGUMENT:
        return UsageError(message, of=called)
    answered = type(refused)(operation=name, status=refused.status, error=refused.error or "", message=message)
    answered.args = (f"{called}: {message}",)
    return answered


def python_name(control: str) -> str:
    """Return the Python name of a control. Some controls are in groups, such as `cards.lock` and `create.user`."""
    group, _, rest = control.partition("_")
    if group == "create":
        return f"create.{rest}"
    return f"cards.{group}" if rest == "card" else control
