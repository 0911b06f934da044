"""Declaration of controls: methods of the sandbox for actions that the interface does not offer.

Annotations validate the arguments. An annotation is a type, and `Annotated` adds a `Between` or the allowed values. A
control runs in one transaction, and its events are sent after it returns.
"""

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from functools import wraps
from typing import Any, Self, TypeVar

import attrs

from workbench.base.arguments import Between, argument_problem, argument_problems, kinds_of, limits_of
from workbench.base.errors import ApiError, Problem, UsageError
from workbench.base.schema.walk import is_record
from workbench.sandbox.context import WRONG_ARGUMENT, control_error, not_found, refusal
from workbench.sandbox.engine import Engine
from workbench.sandbox.store import Members, Record
from workbench.service.interface.naming import operation_named
from workbench.service.interface.table import OPERATIONS

F = TypeVar("F", bound=Callable[..., Any])
CENTS = Between(1, 10**12, "cents")


@attrs.frozen
class Control:
    """A control, with name, documentation, signature, and whether it changes state."""

    name: str
    doc: str
    signature: inspect.Signature
    changes: bool
    transaction: bool
    hints: Members  # types and limits, by name of the argument
    method: Callable[..., Any]

    @property
    def summary(self) -> str:
        """The first paragraph of the documentation, on one line."""
        return " ".join(self.doc.partition("\n\n")[0].split())

    @property
    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """Allowed values of the arguments."""
        limits = {name: limits_of(hint)[1] for name, hint in self.hints.items()}
        return {
            name: tuple(map(str, limit)) for name, limit in limits.items() if limit and not isinstance(limit, Between)
        }


def control(*, changes: bool, transaction: bool = True) -> Callable[[F], F]:
    """Declare a method as a control under its name.

    A method with a leading underscore is not called directly: it belongs to a group such as `create`, or is internal.

    Args:
        changes: Whether the control changes state.
        transaction: Whether the control runs in one transaction; false for a control that waits.
    """

    def declare(method: Any) -> Any:
        declared = inspect.signature(method)

        @wraps(method)
        def run(self: ControlGroup, *args: object, **kwargs: object) -> Any:
            try:
                given = declared.bind(self, *args, **kwargs).arguments
            except TypeError:
                wrong = argument_problems(method, (self, *args), kwargs)
            else:
                del given["self"]
                return self._carry_out(row, _all_checked(row, given))
            raise UsageError(wrong, of=row.name)

        shown = [
            parameter.replace(annotation=limits_of(parameter.annotation)[0])
            for parameter in declared.parameters.values()
        ]
        signature = declared.replace(parameters=shown)
        hints = {name: parameter.annotation for name, parameter in declared.parameters.items() if name != "self"}
        row = Control(
            method.__name__.lstrip("_"), inspect.getdoc(method) or "", signature, changes, transaction, hints, method
        )
        run.__dict__.update(control=row, __signature__=signature)
        return run

    return declare


def _all_checked(row: Control, given: Members) -> Record:
    """Convert a control's arguments to their declared types, before the control runs or is sent to a server."""
    try:
        return {name: _checked(name, row.hints[name], value) for name, value in given.items()}
    except ApiError as refused:
        raise control_error(row.name, refused) from None


def _checked(name: str, hint: object, value: Any) -> Any:
    """Convert an argument to its declared type: a JSON number to float, and an operation's name to its Python name."""
    declared, limit = limits_of(hint)
    if float in kinds_of(declared) and type(value) in (int, Decimal):
        value = float(value)
    if isinstance(value, str) and isinstance(limit, tuple) and value not in limit and {*OPERATIONS} & {*limit}:
        row = operation_named(value)
        value = row.name if row is not None else value
    if problem := argument_problem(name, value, hint):
        if is_record(value):
            member = name if hasattr(value, name) else "id"
            text = f"{problem.message.partition(', not ')[0]}, not the record; write its .{member}"
            problem = Problem(name, problem.rule, text)
        elif isinstance(value, AbstractContextManager):  # the value is, for example, a receiver that is not running yet
            text = f"{problem.message.partition(', not ')[0]}; write `with ... as {name}:`, and pass {name} within it"
            problem = Problem(name, problem.rule, text)
        raise refusal(400, WRONG_ARGUMENT, str(problem))
    return value


class ControlGroup:
    """Base class of groups of controls, which act on an engine."""

    _engine: Engine
    _key: str  # API key of the default tenant
    _collect: Callable[[Iterable[Any]], list[Any]] = list
    """Function that collects the rows of a long result. A server collects rows in batches."""

    def _carry_out(self, row: Control, given: Members) -> Any:
        """Run a control in this process. The client of a served sandbox sends the control to the server."""
        try:
            present = self._engine.catch_up()
            if row.transaction:
                with present, self._engine.store:
                    result = row.method(self, **given)
            else:
                result = row.method(self, **given)
        except ApiError as refused:
            raise control_error(row.name, refused) from None
        if row.changes:
            self._engine.dispatcher.notify()
        return result

    def _for_key(self, api_key: str) -> Self:
        """Return a view of this sandbox that shows only the events, records, requests and examples of one tenant."""
        seen = copy.copy(self)
        seen._key = api_key
        return seen

    def _record(self, kind: str, key: str) -> Record:
        """Return a record of the key's tenant. The full key returns records of any tenant."""
        record: Record | None = self._engine.store.get(kind, key.lower())
        if record is None or not self._may_act_on(record):
            raise not_found(kind.replace("_", " ").capitalize())
        return record

    def _may_act_on(self, record: Record) -> bool:
        return self._key == self._engine.full_key or bool(record["tenant"] == self._tenant_id())

    def _tenant_id(self) -> str:
        """Return the tenant id of the sandbox's own key; empty if the key is unknown."""
        owner = self._engine.store.get("key", self._key)
        return str(owner["tenant"]) if owner else ""

    def _theirs(self, rows: Iterable[Record], all_tenants: bool = False) -> Iterator[Record]:
        """Iterate over the rows of the session's tenant, or over all rows."""
        tenant = self._tenant_id()
        return (row for row in rows if all_tenants or row["tenant"] == tenant)
