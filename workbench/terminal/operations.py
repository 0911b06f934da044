"""Commands of the operations, generated from their declarations. Each command is an attribute of this module."""

import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
from cyclopts import Group, Parameter

from workbench.base.errors import InvalidRequest
from workbench.base.frozen import frozen
from workbench.base.schema.readers import value_of
from workbench.base.schema.walk import (
    Integer,
    Member,
    Nested,
    build,
    get_path,
    leaves,
    option_help,
    value_name,
    wire_path,
)
from workbench.client.calls.base import context_of
from workbench.client.calls.request_checks import request_problems
from workbench.service.interface.convert import MAX_BODY, placeholders
from workbench.service.interface.naming import command_of
from workbench.service.interface.table import OPERATIONS, Operation, Operations
from workbench.terminal.binding import command
from workbench.terminal.exits import say, usage_error
from workbench.terminal.output import Output
from workbench.terminal.where import complete_member

if TYPE_CHECKING:
    from workbench.client.session import Session

_REQUEST = Group("Request", sort_key=1)
_CALL = Group("Call", sort_key=7)
_POSITIONAL, _KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
_NO_CONTENT = 204


Allowed = Literal["partial-address", "masked-value", "unusual-text", "unverified-address", "resend"]


@Parameter(name="*", group=_CALL)
@frozen(kw_only=True)
class Calling:
    """Options for sending a request.

    Attributes:
        from_: Read the body from this JSON file (- for stdin). Options override the members in the file.
        dry_run: Show the request as a curl command with a masked key, and send nothing.
        again: Allow the same write again within a day.
        allow: Allow an input that is refused by default: part of an address, a value with •, invisible characters, a
            mistyped blockchain address, or a resend after a 429.
    """

    from_: Annotated[str | None, Parameter(name="--from", metavar="FILE")] = None
    dry_run: bool = False
    again: bool = False
    allow: Annotated[tuple[Allowed, ...], Parameter(show_default=False)] = ()


def __getattr__(name: str) -> Callable[..., int | None]:
    if name not in OPERATIONS:
        raise AttributeError(name)
    return _command(OPERATIONS[name])


def option_members(cls: type[Any]) -> Iterator[tuple[str, Member]]:
    """Yield each scalar member of a request with its dotted path."""
    return ((path, member) for path, member in leaves(cls) if not isinstance(member.kind, Nested))


def _option(path: str) -> str:
    return f"--{path.replace('_', '-')}"


def _command(operation: Operation[..., Any]) -> Callable[..., int]:
    holders = dict(leaves(operation.request))
    in_path = placeholders(operation.path)
    parameters = []
    for path, member in option_members(operation.request):
        options = Parameter(
            name=_option(path),
            help=option_help(member, holders.get(path.rpartition(".")[0])),
            metavar=value_name(member),
            group=_REQUEST,
            show_default=False,
            completer=complete_member(member),
        )
        kind = _POSITIONAL if member.wire in in_path else _KEYWORD
        name = path.replace(".", "__")
        parameters.append(inspect.Parameter(name, kind, default=None, annotation=Annotated[str | None, options]))
    parameters.append(inspect.Parameter("calling", _KEYWORD, annotation=Calling, default=Calling()))

    def run(api: object, /, *, how: Output, calling: Calling, **texts: Any) -> Any:
        wrong: dict[str, str] = {}
        try:
            return _send(api, operation, values(operation, texts, wrong), calling, how)
        except InvalidRequest as error:
            if error.operation != operation.name:
                raise
            raise _with_options(error, operation, wrong) from None

    run.__name__, run.__doc__ = operation.name, "\n".join(_doc(operation))
    return command(run, parameters)


def _doc(operation: Operation[..., Any]) -> Iterator[str]:
    yield f"{operation.doc}\n"
    if operation.roles:
        yield f"The key needs the role {', '.join(sorted(operation.roles))}."
    if operation.sandbox_only:
        yield "Sandbox only."
    yield f"Source: {operation.source}. Details: workbench docs {operation.name.replace('_', '-')}"
    if any(member.about.assumed for _, member in option_members(operation.request)):
        yield "\n[assumed]: not shown by the interface document; the details give the reason."


def _with_options(error: InvalidRequest, operation: Operation[..., Any], wrong: Mapping[str, str]) -> InvalidRequest:
    """Return the error with options instead of member paths, and with the reasons why option values are invalid."""
    options = {wire_path(operation.request, path): _option(path) for path, _ in leaves(operation.request)}
    named = [attrs.evolve(problem, path=options.get(problem.path, problem.path)) for problem in error.problems]
    worded = [attrs.evolve(problem, message=wrong.get(problem.path, problem.message)) for problem in named]
    return InvalidRequest(worded, of=" ".join(command_of(operation)))


def _send(api: Any, operation: Operation[..., Any], given: dict[str, Any], calling: Calling, how: Output) -> Any:
    """Send a request from values by dotted path and return the answer. With `dry_run`, print the request instead."""
    if calling.from_ is not None:
        given = _read_body(operation, calling.from_, api.converter) | given
    arguments = nested(given)
    allowing = {name.replace("-", "_") for name in calling.allow}
    if calling.again:
        allowing.add("again")
    if calling.dry_run:
        print(_dry_run(api, operation, arguments, allowing, how))
        return None
    if api.environment == "production":
        from workbench.terminal.journal import confirm

        confirm(api, operation, build(operation.request, arguments))
    answer: Any = api.allowing(**dict.fromkeys(allowing, True)).call(operation, arguments)
    if operation.success == _NO_CONTENT:
        say("Deleted.")
        return None
    items = getattr(answer, "items", answer)  # a page of rewards activity has its records in `items`
    return list(items) if operation.many or operation is Operations.list_rewards_activity else items


def _dry_run(
    api: "Session", operation: Operation[..., Any], arguments: Mapping[str, Any], allowing: Collection[str], how: Output
) -> str:
    """Return a request as a curl command, after the same checks that the client makes."""
    from workbench.service.rendering.calls import curl  # imported late, as few commands need it

    request = build(operation.request, arguments)
    real = context_of(api).real
    broken = request_problems(operation, request, allowing, check=True, real=real, limits=api.limits)
    if broken:
        raise InvalidRequest(broken, of=operation.name)
    if api.host.endswith(".invalid"):
        say(
            "This sandbox has no HTTP server. Start one with `workbench sandbox serve --own`, then pass its URL with "
            "--url."
        )
    return curl(operation, request, base_url=api.base_url, converter=api.converter, reveal=how.reveal)


def values(operation: Operation[..., Any], texts: Mapping[str, str | None], wrong: dict[str, str]) -> dict[str, Any]:
    """Convert option texts to values by dotted path. Add the reason for each invalid text to `wrong`."""
    converted: dict[str, Any] = {}
    for path, member in option_members(operation.request):
        if (text := texts.get(path.replace(".", "__"))) is not None:
            try:
                converted[path] = value_of(member, text)
            except ValueError as error:
                converted[path], wrong[_option(path)] = text, str(error)
    return converted


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested dictionaries from values by dotted path."""
    body: dict[str, Any] = {}
    for path, value in flat.items():
        *way, last = path.split(".")
        holder = body
        for name in way:
            holder = holder.setdefault(name, {})
        holder[last] = value
    return body


def _read_body(operation: Operation[..., Any], place: str, converter: Any) -> dict[str, Any]:
    """Read a body from a JSON file, or from stdin for `-`, as values by dotted path.

    Raises:
        Exit: The file is too large, or stdin is a terminal.
        InvalidRequest: The file is not JSON, or has undocumented members.
    """
    if place == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise usage_error("--from - reads the body from stdin, but stdin is a terminal.")
        data = sys.stdin.buffer.read(MAX_BODY + 1)
        if len(data) > MAX_BODY:
            raise usage_error(f"stdin is larger than {MAX_BODY:,} bytes.")
    else:
        from workbench.terminal.inputs import input_bytes  # imported late, as few commands need it

        data = input_bytes(Path(place), MAX_BODY)
    request, raw = converter.read_file(operation, data, place)
    return {
        path: value
        for path, member in option_members(operation.request)
        if (value := get_path(request, path)) is not None
        # An omitted amount does not mean FULL, which must be given explicitly.
        and not (isinstance(member.kind, Integer) and member.kind.full and member.wire not in raw)
    }
