"""What commands take, as they declare it. A command line that is right is read here, and by cyclopts otherwise.

cyclopts costs as much as a call on the sandbox. So it is imported only where it is needed: for help, for completion, and to
say what is wrong with a command line. It reads the same declarations: `function_for_cyclopts`.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import attrs

C = TypeVar("C")
_READERS: Mapping[Any, tuple[str, Callable[[str], Any]]] = {
    str: (r"(?s:.*)", str),
    Path: (r"(?s:.+)", Path),
    int: (r"-?[0-9]{1,18}", int),
    float: (r"-?[0-9]{1,15}(\.[0-9]{1,15})?", float),
}


class Parameter:
    """What cyclopts should know of an option, by its own words; of all options of a class where it decorates one."""

    def __init__(self, **facts: Any) -> None:
        self.facts = facts

    def __call__(self, cls: C) -> C:
        cls.parameter = self  # type: ignore[attr-defined]
        return cls


@attrs.frozen
class Group:
    """A heading of options or commands in help."""

    name: str
    sort_key: int


class App:
    """A group of commands."""

    def __init__(self, name: str, help: str) -> None:  # noqa: A002 - the word of cyclopts
        self.name, self.help = name, help
        self.default: Callable[..., int | None] | None = None
        self.commands: dict[str, tuple[Callable[..., int | None] | str, dict[str, Any]]] = {}

    def command(self, made: Callable[..., int | None] | str, *, name: str = "", **facts: Any) -> Any:
        """Add a command: a function, or where it is as `module:name` in this package."""
        name = name or (made if isinstance(made, str) else made.__name__).replace("_", "-")
        self.commands[name] = made, facts
        return made


@attrs.frozen
class Option:
    """An option or a positional argument of a command."""

    key: str
    of: str  # the argument of the function it belongs to; it is that argument where `field` is empty
    field: str
    kind: Any
    default: Any
    place: Any  # of inspect.Parameter
    names: tuple[str, ...]
    facts: Mapping[str, Any]

    def read(self, text: str) -> Any:
        """Return a text as a value of this option.

        Raises:
            ValueError: It is not one, or not surely.
        """
        kind = get_args(self.kind)[0] if get_origin(self.kind) in (list, tuple) else self.kind
        if get_origin(kind) is Literal and text in get_args(kind):
            return text
        pattern, read = _READERS.get(kind, ("(?!)", str))
        if not re.fullmatch(pattern, text):
            raise ValueError(text)
        return read(text)

    @property
    def many(self) -> bool:
        """Whether it can be given several times."""
        return self.place is inspect.Parameter.VAR_POSITIONAL or get_origin(self.kind) in (list, tuple)


def options_of(function: Callable[..., Any]) -> Iterator[Option]:
    """Yield the options of a command; a class of options is one argument of its function."""
    for one in inspect.signature(function).parameters.values():
        kind, facts = _split(one.annotation)
        if not attrs.has(kind):
            yield Option(one.name, one.name, "", kind, one.default, one.kind, _names(one.name, facts), facts)
            continue
        for field in attrs.fields(kind):
            of_field, facts = _split(field.type)
            names = _names(field.name, facts)
            facts = {
                "help": described(kind.__doc__, field.name),
                **vars(kind)["parameter"].facts,
                **facts,
                "name": names,
            }
            key = f"{one.name}__{field.name}"
            yield Option(key, one.name, field.name, of_field, field.default, one.KEYWORD_ONLY, names, facts)


def _split(annotation: Any) -> tuple[Any, dict[str, Any]]:
    """Return the type of an annotation without None, and what is declared of it."""
    facts: dict[str, Any] = {}
    if get_origin(annotation) is Annotated:
        annotation, *declared = get_args(annotation)
        facts = {name: value for one in declared if isinstance(one, Parameter) for name, value in one.facts.items()}
    if get_origin(annotation) in (UnionType, Union):
        annotation = next(one for one in get_args(annotation) if one is not NoneType)
    return annotation, facts


def _names(name: str, facts: Mapping[str, Any]) -> tuple[str, ...]:
    given = facts.get("name", "--" + name.replace("_", "-").strip("-"))
    return (given,) if isinstance(given, str) else tuple(given)


def described(doc: str | None, name: str) -> str:
    """Return what a docstring says of an argument or a member."""
    found = re.search(rf"^( +){name}: (.+(?:\n\1 +.+)*)", doc or "", re.MULTILINE)
    return " ".join(found[2].split()) if found else ""


def read_line(options: Sequence[Option], tokens: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of options by key; None where a command line asks for help, is wrong, or is not surely right."""
    named = {
        name: one
        for one in options
        if one.place is not inspect.Parameter.POSITIONAL_ONLY
        for name in (*one.names, one.facts.get("negative") or one.names[0])
    }
    places = [one for one in options if one.place is not inspect.Parameter.KEYWORD_ONLY]
    values: dict[str, Any] = {}
    rest = iter(tokens)
    for token in rest:
        name, sign, text = token.partition("=")
        if token[:1] != "-":
            option, text = next((one for one in places if one.many or one.key not in values), None), token
        elif (option := named.get(name)) is not None and option.kind is not bool and not sign:
            text = next(rest, "--")
            option = option if text[:1] != "-" or option.facts.get("allow_leading_hyphen") else None
        if option is None or text == "--" or (option.key in values and not option.many):
            return None
        try:
            value = name in option.names if option.kind is bool and not sign else option.read(text)
        except ValueError:
            return None
        values[option.key] = (*values.get(option.key, ()), value) if option.many else value
    given = [one.key in values or one.many for one in places]
    optional = inspect.Parameter.VAR_POSITIONAL
    needed = [
        one.key in values for one in options if one.default is inspect.Parameter.empty and one.place is not optional
    ]
    return values if all(needed) and given == sorted(given, reverse=True) else None


def call(function: Callable[..., int | None], values: Mapping[str, Any]) -> int:
    """Call a command with the values of its options by key, and return its exit code: 0 if it returns none."""
    arguments = inspect.signature(function).parameters
    given: dict[str, Any] = {}
    for option in options_of(function):
        if option.key in values:
            value = list(values[option.key]) if get_origin(option.kind) is list else values[option.key]
            if option.field:
                given.setdefault(option.of, {})[option.field] = value
            else:
                given[option.of] = value
    places, named = [], {}
    for name, one in arguments.items():
        kind = _split(one.annotation)[0]
        if one.kind is one.VAR_POSITIONAL:
            places += given.get(name, ())
        elif attrs.has(kind):
            named[name] = kind(**given.get(name, {}))
        elif name in given and one.kind is one.POSITIONAL_ONLY:
            places.append(given[name])
        elif name in given:
            named[name] = given[name]
    return function(*places, **named) or 0


def function_for_cyclopts(function: Callable[..., int | None]) -> Callable[..., int | None]:
    """Return a function whose signature cyclopts reads: each option an argument of its own."""
    import cyclopts

    arguments = []
    for one in options_of(function):
        facts = dict(one.facts)
        if "group" in facts:
            facts["group"] = cyclopts.Group(facts["group"].name, sort_key=facts["group"].sort_key)
        kind: Any = one.kind if one.default is not None else one.kind | None
        default = one.default if one.default is not attrs.NOTHING else inspect.Parameter.empty
        annotation: Any = Annotated[kind, cyclopts.Parameter(**facts)]
        arguments.append(inspect.Parameter(one.key, one.place, default=default, annotation=annotation))
    arguments.sort(key=lambda one: one.kind)
    return as_function(partial(call, function), arguments, function.__name__, function.__doc__)


def as_function(
    run: Callable[[dict[str, Any]], int | None], arguments: Sequence[inspect.Parameter], name: str, doc: str | None
) -> Callable[..., int | None]:
    """Return a function with these arguments, which `run` gets by their names."""
    signature = inspect.Signature(arguments)

    def command(*args: Any, **kwargs: Any) -> int | None:
        return run(dict(signature.bind(*args, **kwargs).arguments))

    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in arguments}
    command.__name__, command.__doc__ = name, doc
    return command


def app_for_cyclopts(app: App) -> Any:
    """Return a group of commands as cyclopts has them."""
    import cyclopts

    groups: dict[Group, Any] = {}
    made = cyclopts.App(name=app.name, help=app.help)
    if app.default is not None:
        made.default(function_for_cyclopts(app.default))
    for name, (command, facts) in app.commands.items():
        facts = dict(facts)
        if (group := facts.pop("group", None)) is not None:
            facts["group"] = groups.setdefault(group, cyclopts.Group(group.name, sort_key=group.sort_key))
        place = f"workbench.terminal.app:{command}" if isinstance(command, str) else function_for_cyclopts(command)
        made.command(place, name=name, **facts)
    return made
