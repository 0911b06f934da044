"""Functions as commands: a session for `api`, options for target and output, and a code from what is returned."""

import inspect
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import wraps
from typing import Any

from workbench.terminal.exits import DONE, PARTLY, say
from workbench.terminal.output import Output, show
from workbench.terminal.where import Where, session

_WHERE = inspect.Parameter("where", inspect.Parameter.KEYWORD_ONLY, default=Where(), annotation=Where)
_HOW = inspect.Parameter("how", inspect.Parameter.KEYWORD_ONLY, default=Output(), annotation=Output)


def command(function: Callable[..., Any]) -> Callable[..., int]:
    """Return a function as a command.

    A first parameter `api` is a session on the target of the options for it. What the function returns is shown in the
    format of the options for output; a function that returns a code, or nothing, prints by itself. The code is 5 for
    a result that is not `ok`.
    """
    declared = inspect.signature(function)
    parameters = list(declared.parameters.values())
    takes_session = bool(parameters) and parameters[0].name == "api"
    shows = declared.return_annotation not in (None, int)
    given = parameters[takes_session:]
    added = [_WHERE] * takes_session + [_HOW] * (shows and "how" not in declared.parameters)

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> int:
        where = kwargs.pop("where", _WHERE.default) if takes_session else None
        how = kwargs.get("how", _HOW.default) if "how" in declared.parameters else kwargs.pop("how", _HOW.default)
        with session(where) if where is not None else nullcontext() as api:
            result = function(*([api] if takes_session else ()), *args, **kwargs)
            return present(result, how) if shows else result or DONE

    adopt(run, [*given, *added])
    return run


def adopt(function: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> None:
    """Give a function the parameters that its command has."""
    order = sorted(parameters, key=lambda parameter: parameter.kind)
    function.__signature__ = inspect.Signature(order)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    function.__dict__.pop("__wrapped__", None)


def present(result: Any, how: Output) -> int:
    """Show a result, with its verdict on stderr, and return its code."""
    as_rows = hasattr(result, "rows") and (how.output != "table" or bool(how.fields))
    if isinstance(result, str) or (hasattr(result, "rows") and not as_rows and not hasattr(result, "sheet")):
        print(result)
    else:
        show(result.rows() if as_rows else result, how)
    if verdict := getattr(result, "verdict", ""):
        say(verdict)
    return DONE if getattr(result, "ok", True) else PARTLY


def show_or_say(rows: list[Any], how: Output, nothing: str) -> None:
    """Show rows; where a person would see an empty table, say what that means."""
    if rows or how.output != "table":
        show(rows, how)
    else:
        say(nothing)
