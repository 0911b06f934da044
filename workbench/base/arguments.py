"""Checks of public functions' arguments against their annotations. The errors contain no argument values.

An annotation has the same meaning for functions, sandbox controls and options. An annotation is a type, and `Annotated`
adds a `Between`, a `Fits`, or the allowed values.
"""

import errno
import inspect
import os
import re
import sys
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import wraps
from inspect import iscoroutinefunction
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, ParamSpec, TypeVar

from workbench.base.errors import Problem, UsageError, WorkbenchError, allowed_names, not_allowed, unknown_name, visible
from workbench.base.frozen import frozen

P = ParamSpec("P")
R = TypeVar("R")


@frozen
class Between:
    """Minimum and maximum of a number."""

    low: float
    high: float
    unit: str = ""


@frozen
class Fits:
    """A rule other than a range: a function that tests a value, and the text of the rule."""

    test: Callable[[Any], object]
    says: str


def limits_of(hint: object) -> tuple[Any, Any]:
    """Return an annotation's type, and its limits or None. For a `Literal` of texts, these are `str` and the texts."""
    if typing.get_origin(hint) is Annotated:
        return typing.get_args(hint)[:2]
    kinds = kinds_of(hint)
    texts = next((typing.get_args(kind) for kind in kinds if typing.get_origin(kind) is typing.Literal), ())
    if not texts or not all(isinstance(text, str) for text in texts):
        return hint, None
    return (str | None if NoneType in kinds else str), texts


def kinds_of(declared: object) -> tuple[Any, ...]:
    """Return the types that an annotation allows."""
    is_union = typing.get_origin(declared) in (typing.Union, UnionType)
    return typing.get_args(declared) if is_union else (declared,)


def argument_problem(name: str, value: object, hint: object) -> Problem | None:
    """Return the problem with an argument's value, or None if the annotation allows the value."""
    declared, limit = limits_of(hint)
    if value is None and NoneType in kinds_of(declared):
        return None
    if isinstance(limit, Fits):
        return None if limit.test(value) else Problem(name, "type", limit.says)
    literals = [part for part in kinds_of(declared) if typing.get_origin(part) is typing.Literal]
    choices = [*typing.get_args(literals[0])] if literals else [] if isinstance(limit, Between) else [*(limit or ())]
    fits = _fits(value, declared)
    if limit is not None and choices:
        fits = fits and value in choices
    if fits and isinstance(limit, Between):
        fits = isinstance(value, int | float) and limit.low <= value <= limit.high
    if fits:
        return None
    if choices and isinstance(value, str):
        return not_allowed(name, value, choices)
    if isinstance(limit, Between):
        unit = f" of {limit.unit}" if limit.unit else ""
        return Problem(name, "type", f"must be {_named(declared)}{unit} from {limit.low:,} to {limit.high:,}")
    item = ", or an item has the wrong type" if items_of(value) else ""
    return Problem(name, "type", f"must be {_named(declared)}, not {a_type(value)}{item}")


_HOST = re.compile(r"[^\s/:@]+|\[?[0-9A-Fa-f:.]+\]?")


def check_host_names(argument: str, names: Collection[str]) -> None:
    """Raise UsageError if a name has a port, a path or a blank, since no request would match it."""
    if wrong := [name for name in names if not _HOST.fullmatch(name)]:
        rule = f"must be names without a port or path, such as localhost, not {allowed_names(wrong)}"
        raise UsageError([Problem(argument, "format", rule)])


def _fits(value: object, hint: object) -> bool:
    """Return whether a value, and every item of a list, tuple or set, matches an annotation."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _fits(value, typing.get_args(hint)[0])
    if origin in (typing.Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is typing.Literal:
        return isinstance(value, str | int | None) and value in typing.get_args(hint)
    kind = origin or (type(None) if hint is None else hint)
    if kind is Any:
        return True
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is tuple and parts and parts[-1] is not ...:
        return isinstance(value, tuple) and len(value) == len(parts) and all(map(_fits, value, parts))
    if kind in (Sequence, Iterable, Collection):
        return (
            isinstance(value, kind) and not isinstance(value, str) and all(_fits(x, parts[0]) for x in items_of(value))
        )
    return not isinstance(kind, type) or typing.Protocol in kind.__bases__ or isinstance(value, kind)


def items_of(value: object) -> Iterable[object]:
    """Return the items of a container that can be iterated repeatedly; for any other value, no items."""
    return value if isinstance(value, list | tuple | dict | set | frozenset | bytes) else ()


_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "None",
    datetime: "a datetime",
    Mapping: "a mapping",
    Iterable: "an iterable",
    Sequence: "a list",
    Collection: "a collection",
    Callable: "a function",
    bytes: "bytes",
}


def _named(hint: object) -> str:
    """Return the types that an annotation allows, as text."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _named(parts[0])
    if origin in (typing.Union, UnionType):
        return " or ".join(dict.fromkeys(_named(part) for part in parts if part is not type(None)))
    if origin is typing.Literal:
        return " or ".join(repr(part) for part in parts)
    kind = origin or hint
    return _NAMES.get(kind) or f"a {getattr(kind, '__name__', str(kind))}"


def a_type(value: object) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def hide_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Strip internal frames and arguments from errors of a public function or coroutine function.

    Tracebacks may be printed with the local variables of their frames, which hold requests, keys and bodies. A Python
    error caused by a wrong argument becomes a `UsageError`. Any other foreign error gets a note with the file and line
    that raised it.
    """

    @wraps(function)
    def called(*args: P.args, **given: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return function(*args, **given)
        except BaseException as caught:  # noqa: BLE001 - raised again
            error = _stripped(caught, function, args, given)
        del args, given
        try:
            raise error
        finally:
            del error

    @wraps(function)
    async def awaited(*args: P.args, **given: P.kwargs) -> Any:
        __tracebackhide__ = True
        try:
            return await function(*args, **given)  # type: ignore[misc]
        except BaseException as caught:  # noqa: BLE001 - raised again
            error = _stripped(caught, function, args, given)
        del args, given
        try:
            raise error
        finally:
            del error

    return awaited if iscoroutinefunction(function) else called  # type: ignore[return-value]


T = TypeVar("T", bound=type[Any])


def hide_arguments_of_methods(cls: T) -> T:
    """Apply `hide_arguments` to the constructor and the public methods of a class."""
    for name, method in list(vars(cls).items()):
        is_public = name == "__init__" or not name.startswith("_")
        if is_public and isinstance(method, FunctionType) and method.__code__.co_filename != __file__:
            setattr(cls, name, hide_arguments(method))
    return cls


def _stripped(
    error: BaseException, function: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Any]
) -> BaseException:
    """Return an error without frames and context. A Python error caused by a wrong argument becomes a UsageError."""
    frames, error.__traceback__ = error.__traceback__, None
    error.__context__ = None  # an explicit cause stays in __cause__
    if not isinstance(error, Exception) or isinstance(error, WorkbenchError):
        return error
    if unusable := unusable_name(error) or _no_file(error):
        return UsageError([Problem("", "path", unusable)], of=_public_name(function))
    if isinstance(error, _OF_ARGUMENTS):
        problems = argument_problems(function, args, given) or _unusable(error, function, args, given)
        if problems:
            return UsageError(problems, of=_public_name(function, args))
    while frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    if frames is not None and frames.tb_frame.f_code.co_filename != __file__ and not hasattr(error, "__notes__"):
        error.add_note(f"raised in {frames.tb_frame.f_code.co_filename}, line {frames.tb_lineno}")
    return error


UTF_8 = "set LC_ALL=C.UTF-8, or PYTHONUTF8=1"


def unusable_name(error: Exception) -> str:
    """Return the reason why Python rejected a file name; empty if the error has another cause."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return "a file or folder name is too long"
    if isinstance(error, UnicodeEncodeError) and error.reason.startswith("surrogates"):
        return "a name or text contains half of a surrogate pair"
    if isinstance(error, UnicodeEncodeError) and sys.getfilesystemencoding() != "utf-8":
        return f"this locale ({error.encoding}) cannot write a character of a file name; {UTF_8}"
    is_null = isinstance(error, ValueError) and "embedded null" in str(error)  # Python 3.14 writes "stat: embedded …"
    return "a file name contains a NUL character" if is_null else ""


def _no_file(error: Exception) -> str:
    """Return the reason why a file cannot be read; empty if the error has another cause."""
    if not isinstance(error, OSError) or error.errno not in _NO_SUCH_FILE:
        return ""
    name = error.filename if isinstance(error.filename, str) else ""
    shown = f"{visible(os.path.basename(name), 100)}: " if name else ""  # noqa: PTH119 - quick to load
    return f"{shown}{os.strerror(error.errno).lower()}"


_NO_SUCH_FILE = frozenset({errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.ENXIO})
"""System error numbers for a path without a readable file."""


def _public_name(function: Callable[..., Any], args: tuple[Any, ...] = ()) -> str:
    """Return the name that a caller uses for a function. For a constructor, return the class name."""
    *_, name = parts = getattr(function, "__qualname__", "").split(".")
    if name != "__init__" or len(parts) == 1:
        return name
    return type(args[0]).__name__.lstrip("_") if args else parts[-2]


_OF_ARGUMENTS = (TypeError, AttributeError, LookupError, ValueError)
"""Python errors that an argument of the wrong type can cause."""


def argument_problems(function: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Any]) -> list[Problem]:
    """Return the problems with arguments: unknown names, missing arguments and wrong types."""
    parameters = inspect.signature(function).parameters
    names = [
        name
        for name, parameter in parameters.items()
        if name != "self" and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    open_names = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    if unknown := [] if open_names else [name for name in given if name not in names]:
        return [unknown_name(name, names) for name in unknown]
    try:
        bound = inspect.signature(function).bind(*args, **given)
    except TypeError as error:
        lacking = [
            Problem(name, "required", "is missing")
            for name, parameter in parameters.items()
            if name in names
            and parameter.default is parameter.empty
            and name not in given
            and list(parameters).index(name) >= len(args)
        ]
        known = f"; {_public_name(function, args)} takes {', '.join(names)}" if "positional" in str(error) else ""
        return lacking or [Problem("", "arguments", f"{visible(str(error), 200)}{known}")]
    with suppress(NameError, TypeError):  # the annotated type may be imported only for type checkers
        hints = _hints(function)
        checked = (
            argument_problem(name, value, hints[name])
            for name, value in bound.arguments.items()
            if name in hints and parameters[name].kind in (1, 3, 0)
        )
        return [problem for problem in checked if problem is not None]
    return []


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function's parameters."""
    parameters = inspect.signature(function).parameters.values()
    hints = {each.name: each.annotation for each in parameters if each.annotation is not inspect.Parameter.empty}
    return hints | typing.get_type_hints(inspect.unwrap(function), include_extras=True)


def _unusable(
    error: Exception, function: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Any]
) -> list[Problem]:
    """Return the problems with arguments that caused a Python error, such as a missing attribute or column."""
    bound = inspect.signature(function).bind(*args, **given).arguments
    with suppress(NameError, TypeError):  # an argument of exactly the annotated type is not the cause
        hints = _hints(function)
        right = {name for name, x in bound.items() if type(x) is not object and type(x) in kinds_of(hints.get(name))}
        bound = {name: value for name, value in bound.items() if name not in right}
    if isinstance(error, KeyError):
        column = error.args[0] if error.args else None
        frames = [name for name, value in bound.items() if hasattr(value, "columns") and column not in value.columns]
        return [Problem(name, "column", f"has no column {visible(str(column), 60)}") for name in frames]
    if re.search(r"\.(str|dt) accessor|dtype=", str(error)):  # these messages come from pandas
        frames = [name for name, value in bound.items() if hasattr(value, "columns")]
        return [
            Problem(name, "column", f"has a column of the wrong type ({visible(str(error), 100)})") for name in frames
        ]
    if isinstance(error, AttributeError):
        candidates = [name for name, value in bound.items() if value is error.obj]
        items = [name for name, value in bound.items() if any(item is error.obj for item in items_of(value))]
    else:
        kind = re.search(r"'([\w.]+)' object|(?:not|got) '?([\w.]+)'?$", str(error))
        named = kind and (kind[1] or kind[2]).rpartition(".")[2]
        candidates = [name for name, value in bound.items() if type(value).__name__ == named]
        items = [name for name, value in bound.items() if any(type(item).__name__ == named for item in items_of(value))]
    return [Problem(name, "type", f"cannot be {a_type(bound[name])}") for name in candidates] or [
        Problem(name, "type", "contains an item of the wrong type") for name in items
    ]
