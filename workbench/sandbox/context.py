"""What handlers work with: the environment of a sandbox, and the context of one request or control."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from workbench.errors import ApiError
from workbench.interface import table
from workbench.interface.convert import Converter
from workbench.interface.operation import Failure, Operation
from workbench.interface.walk import given, is_record, members, snake
from workbench.sandbox.clock import Clock
from workbench.sandbox.seeds import Seeds
from workbench.sandbox.store import Store

_BY_MESSAGE: Mapping[str, Failure] = {
    failure.message: failure for row in table.OPERATIONS.values() for failure in row.failures
}


def _assumption_id(operation: Operation[..., Any], failure: Failure) -> str:
    """Return the id of a failure among the assumptions; the general one where the operation does not list it."""
    if failure in operation.failures:
        return f"{operation.name}.{failure.status}.{snake(failure.message.split()[0].strip('{}'))}"
    return "validation_errors"


class Environment:
    """Store, clock, seeds, settings and converter of one sandbox."""

    def __init__(
        self, store: Store, clock: Clock, seeds: Seeds, settings: Mapping[str, Any], converter: Converter
    ) -> None:
        self.store = store
        self.clock = clock
        self.seeds = seeds
        self.settings = settings
        self.converter = converter
        self.rewards: dict[str, Any] = {}  # rows by user, made when first requested
        self._names: dict[type[Any], dict[str, str]] = {}

    def names(self, cls: type[Any]) -> dict[str, str]:
        """Return the wire names of a record's attributes."""
        found = self._names.get(cls)
        if found is None:
            found = self._names[cls] = {one.name: self.converter.wire_name(cls, one) for one in members(cls)}
        return found


class RequestContext:
    """The context of a request or control: its tenant, and the assumptions that its answer rests on."""

    __slots__ = (
        "assumed",
        "cause",
        "clock",
        "converter",
        "environment",
        "headers",
        "operation",
        "seeds",
        "settings",
        "store",
        "tenant",
    )  # fmt: skip

    def __init__(self, environment: Environment, name: str) -> None:
        self.environment = environment
        self.store = environment.store
        self.clock = environment.clock
        self.seeds = environment.seeds
        self.settings = environment.settings
        self.converter = environment.converter
        self.cause: list[Any] = [0, name]  # number of the request, given when it first matters; what it was
        self.operation: Operation[..., Any] | None = None
        self.tenant: Mapping[str, Any] = {}
        self.assumed: list[str] = []
        self.headers: dict[str, str] = {}

    def new_id(self, kind: str) -> str:
        """Return a new id."""
        return self.seeds.uuid(f"{kind}:{self.store.next(kind)}")

    def emit(self, kind: str, tenant: str, **of: Any) -> None:
        """Store an event; its wire form is made when it is read."""
        number, name = self.cause
        if number == 0:
            number = self.cause[0] = self.store.next("request")
        sequence = self.store.next("event")
        self.store.put(
            "event",
            str(sequence),
            {"kind": kind, "tenant": tenant, "at": self.clock.at, "request": number, "cause": name, **of},
        )

    def schedule(self, seconds: float, action: str, key: str) -> None:
        """Schedule an action on a record after some seconds; it replaces the same action scheduled before."""
        due = {"at": self.clock.at + int(seconds * 1000), "do": action, "of": key}
        self.store.put("due", f"{action}:{key}", due)

    def cancel(self, due: str) -> None:
        """Cancel a scheduled action, if there is one."""
        if self.store.get("due", due) is not None:
            self.store.delete("due", due)

    def get_for_tenant(self, kind: str, key: str, what: str) -> Any:
        """Return the tenant's record.

        Raises:
            ApiError: There is none; a record of another tenant reads the same.
        """
        found = self.store.get(kind, key)
        if found is None or found["tenant"] != self.tenant["id"]:
            raise self.error(f"{what} not found")
        return found

    def error(self, of: Failure | str, **words: object) -> ApiError:
        """Return the error of a failure, or of the failure with this message."""
        failure = self._row(of) if isinstance(of, str) else of
        if failure.assumed and self.operation is not None:
            self.assumed.append(_assumption_id(self.operation, failure))
        return ApiError.of(failure.status)(
            operation=self.cause[1],
            status=failure.status,
            error=failure.error,
            message=failure.message.format(**words) if words else failure.message,
        )

    def _row(self, message: str) -> Failure:
        own = () if self.operation is None else self.operation.failures
        return next((failure for failure in own if failure.message == message), None) or _BY_MESSAGE[message]

    def bad_request(self, problems: str) -> ApiError:
        """Return the 400 for a request that breaks a rule."""
        if self.operation is table.CREATE_PAYMENT_ACCOUNT:
            return self.error(table.INVALID_ACCOUNT)
        return self.error("{problems}", problems=problems)


def plain(record: Any) -> dict[str, Any]:
    """Return the members of a record as plain values by attribute name."""
    kept: dict[str, Any] = {}
    for name, value in given(record).items():
        if is_record(value):
            kept[name] = plain(value)
        elif isinstance(value, date):
            kept[name] = value.isoformat()
        else:
            kept[name] = str(value) if isinstance(value, str) else value
    return kept
