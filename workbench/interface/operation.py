"""The row type of the table: an operation is a row, and the row is the method of both clients."""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any, Generic, ParamSpec, TypeVar, get_args, get_origin, overload
from urllib.parse import quote, urlencode

import attrs

from workbench.errors import STATUSES, ApiError, hide_arguments
from workbench.interface import walk
from workbench.interface.fields import Reason
from workbench.interface.rules import Role

P = ParamSpec("P")
R = TypeVar("R")


@attrs.frozen
class Failure:
    """A way an operation can be refused, with the service's message."""

    status: int
    error: str
    message: str  # may hold {names} that the sandbox fills
    when: str
    assumed: Reason | None = None


class Sync:
    """Marks a client whose methods return answers."""


class Async:
    """Marks a client whose methods return awaitables."""


class Call(Generic[P, R]):
    """An operation of one client, ready to be called. Forms, bulk runs and commands read `operation` and `client`."""

    def __init__(self, operation: "Operation[..., Any]", client: Any) -> None:
        self.operation = operation
        self.client = client
        self.__name__ = self.__qualname__ = operation.name
        self.__doc__ = operation.help
        self.__signature__ = operation.signature

    def __get__(self, instance: Any, owner: Any = None) -> "Call[P, R]":
        """Return it as it is: like a bound method, which `help` and `inspect` take it for."""
        return self

    @hide_arguments
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if args:
            raise TypeError(f"{self.__name__}() takes its arguments by keyword")
        answer: R = self.client.call(self.operation, kwargs)
        return answer

    def __repr__(self) -> str:
        return f"<operation {self.__name__} of {self.client!r}>"


@attrs.frozen(kw_only=True, eq=False, repr=False, slots=False)
class Operation(Generic[P, R]):
    """One operation of the interface."""

    name: str  # client method, command, operationId
    doc: str
    method: str
    path: str  # template; its {wireNames} are fields of `takes`
    takes: Callable[P, Any]
    returns: type[R]
    source: str
    effect: bool = True  # whether calling it may change something, or authorize it
    roles: frozenset[Role] = frozenset()
    sandbox_only: bool = False
    failures: tuple[Failure, ...] = ()
    success: int = 200
    assumed: Reason | None = None

    def __attrs_post_init__(self) -> None:
        self.__dict__.update(__name__=self.name, __qualname__=self.name)

    @overload
    def __get__(self, instance: None, owner: Any) -> "Operation[P, R]": ...
    @overload
    def __get__(self, instance: Sync, owner: Any) -> Call[P, R]: ...
    @overload
    def __get__(self, instance: Async, owner: Any) -> Call[P, Awaitable[R]]: ...
    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else Call(self, instance)

    def __call__(self, client: Any, **arguments: Any) -> Any:
        """Call it on a client, as a method taken from its class is called."""
        return Call(self, client)(**arguments)

    def target(self, path: Mapping[str, Any], query: Mapping[str, Any]) -> str:
        """Return the path with its places filled, and the query where there is one. A place without a value stays."""
        made = self.path
        for name, value in path.items():
            made = made.replace("{" + name + "}", quote(str(value), safe=""))
        if self.in_query and query:
            made += "?" + urlencode({name: _query(value) for name, value in query.items()}, quote_via=quote)
        return made

    def in_path(self, path: str) -> dict[str, str] | None:
        """Return what stands in the places of a path, after the base URL; None for a path of another operation."""
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(self.path))
        found = re.fullmatch(pattern, path)
        return None if found is None else found.groupdict()

    @property
    def request(self) -> type[Any]:
        """The record of its arguments."""
        assert isinstance(self.takes, type)
        return self.takes

    @property
    def answer(self) -> type[Any]:
        """The record it answers with, one or a list of them."""
        return get_args(self.returns)[0] if self.many else self.returns

    @property
    def many(self) -> bool:
        """Whether the answer is a list."""
        return get_origin(self.returns) is list

    @property
    def in_query(self) -> bool:
        """Whether its arguments travel in the query."""
        return self.method == "GET"

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of the method of a client."""
        return inspect.signature(self.takes).replace(return_annotation=self.returns)

    @cached_property
    def help(self) -> str:
        """The docstring of the method: what it does, its arguments with units and rules, what it raises, its source."""
        return _help(self)

    def __repr__(self) -> str:
        return f"<operation {self.name}: {self.method} {self.path}>"


class _OfRow:
    """An attribute that a row of the table computes, and the class `Operation` has as any class does."""

    def __init__(self, of_row: Callable[[Operation[..., Any]], Any], of_class: Any = None) -> None:
        self.of_row, self.of_class = of_row, of_class

    def __get__(self, row: Operation[..., Any] | None, owner: Any) -> Any:
        return self.of_class if row is None else self.of_row(row)


# `help(Client.simulate_refund)`, editors and documentation tools see a documented method with its signature.
Operation.__doc__ = _OfRow(lambda row: row.help, Operation.__doc__)  # type: ignore[assignment]
_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
Operation.__signature__ = _OfRow(  # type: ignore[attr-defined]
    lambda row: row.signature.replace(parameters=[_SELF, *row.signature.parameters.values()])
)


def _help(operation: Operation[..., Any]) -> str:
    lines = [operation.doc, ""]
    fields = walk.members(operation.request)
    if fields:
        lines += ["Args:", *(f"    {field.name}: {walk.described(field)}" for field in fields), ""]
    lines += ["Returns:", f"    {'A list of ' if operation.many else ''}{operation.answer.__name__}.", "", "Raises:"]
    lines.append("    InvalidRequest: An argument breaks a rule; nothing was sent.")
    for failure in operation.failures:
        raised = STATUSES.get(failure.status, ApiError).__name__
        lines.append(f"    {raised}: {failure.status} {failure.error}, {failure.when}.")
    if operation.effect:
        lines.append("    OutcomeUnknown: The request was sent, and no answer shows whether it was carried out.")
    lines.append("")
    if operation.roles:
        lines += [f"The key needs the role {', '.join(sorted(operation.roles))}.", ""]
    if operation.sandbox_only:
        lines += ["In the sandbox only.", ""]
    lines.append(f"Source: {operation.source}.")
    return "\n".join(lines)


def _query(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
