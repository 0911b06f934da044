"""Functions as commands: a session for `api`, options for target and output, and an exit code for the result."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import wraps
from typing import Any

from workbench.base.schema.walk import is_record
from workbench.terminal.exits import DONE, PARTLY, say
from workbench.terminal.output import Output, show
from workbench.terminal.where import Where, session

_WHERE = inspect.Parameter("where", inspect.Parameter.KEYWORD_ONLY, default=Where(), annotation=Where)
_HOW = inspect.Parameter("how", inspect.Parameter.KEYWORD_ONLY, default=Output(), annotation=Output)


def command(function: Callable[..., Any], parameters: Sequence[inspect.Parameter] | None = None) -> Callable[..., int]:
    """Return a function as a command, with the function's parameters or, if given, with `parameters`.

    A first parameter `api` receives a session on the target that the options select. The result of the function is
    shown in the format that the output options select. A function that returns a code or nothing prints its output
    itself. The exit code is 5 if the result is not `ok`.
    """
    declared = inspect.signature(function)
    own = list(declared.parameters.values())
    takes_session = bool(own) and own[0].name == "api"
    shows = declared.return_annotation not in (None, int)
    own_parameters = own[takes_session:] if parameters is None else [*parameters]
    wants_how = "how" in declared.parameters
    listed = [*own_parameters, *([_WHERE] if takes_session else []), *([_HOW] if shows and not wants_how else [])]
    if parameters is not None and wants_how:
        listed.append(_HOW)
    signature = inspect.Signature(sorted(listed, key=lambda parameter: parameter.kind))

    @wraps(function)
    def run(*args: object, **kwargs: object) -> int:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        where = bound.arguments.pop("where", Where()) if takes_session else Where()
        how = bound.arguments.get("how", _HOW.default)
        if not wants_how:
            bound.arguments.pop("how", None)
        with session(where) if takes_session else nullcontext() as api:
            first = [api] if takes_session else []
            if parameters is None:
                result = function(*first, *bound.args, **bound.kwargs)
            else:
                result = function(*first, **bound.arguments)
            return present(result, how) if shows else result or DONE

    run.__dict__.pop("__wrapped__")
    run.__dict__["__signature__"] = signature
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in listed}
    return run


def present(result: Any, how: Output) -> int:
    """Show a result, print its verdict to stderr, and return the exit code."""
    as_rows = hasattr(result, "rows") and (how.output != "table" or bool(how.fields))
    if result is None:
        return DONE
    described = isinstance(result, Mapping | list) or is_record(result) or hasattr(result, "sheet")
    if as_rows or described or how.output != "table":
        show(result.rows() if as_rows else result, how)
    else:
        print(result)
    if verdict := getattr(result, "verdict", ""):
        say(verdict)
    return DONE if getattr(result, "ok", True) else PARTLY


def show_or_say(rows: list[Any], how: Output, nothing: str) -> None:
    """Show rows. If there are none, people see a message instead of an empty table."""
    if rows or how.output != "table":
        show(rows, how)
    else:
        say(nothing)
