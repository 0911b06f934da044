"""`workbench sandbox …`: the controls, made in one loop from their table."""

import inspect
import json
import os
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from cyclopts import Group, Parameter

from workbench import rendering
from workbench.errors import visible
from workbench.sandbox.control import Control
from workbench.sandbox.controls import CONTROLS
from workbench.terminal.ends import DONE, say, wrong
from workbench.terminal.output import Output, show
from workbench.terminal.where import Where, session

_ARGUMENTS = Group("Control", sort_key=1)
_WHERE, _HOW = Where(), Output()


def control_command(name: str) -> Callable[..., int]:
    """Return the function of a control's command."""
    control = CONTROLS[name]
    taken = [one for one in control.signature.parameters.values() if one.name not in {"self", *_KEYS}]
    keys = [one for one in control.signature.parameters.values() if one.name in _KEYS]

    parameters = [_parameter(one, first=i == 0) for i, one in enumerate(taken)]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, Parameter(name="*")])
        for name, kind in (("where", Where | None), ("how", Output | None))
    ]  # fmt: skip
    signature = inspect.Signature(parameters)

    def command(*args: Any, **kwargs: Any) -> int:
        given = dict(signature.bind(*args, **kwargs).arguments)
        where, how = given.pop("where", None) or _WHERE, given.pop("how", None) or _HOW
        arguments = {one.name: _value(one, given[one.name]) for one in taken if given.get(one.name) is not None}
        arguments |= _keys_of(name, keys)
        missing = [one.name for one in taken if one.default is one.empty and given.get(one.name) is None]
        if missing:
            raise wrong(f"sandbox {name} needs {', '.join(missing)}; workbench sandbox {name} --help says more.")
        with session(where) as api:
            answer = getattr(api.sandbox, name)(**arguments)
        show(_read_by_people(answer) if how.output == "table" and not how.fields else answer, how)
        return DONE

    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__name__ = name
    command.__doc__ = _doc(control)
    return command


KEY_VARIABLE = "WORKBENCH_WEBHOOK_KEY"
_KEYS = frozenset({"api_key", "signing_key"})
_MEANINGS = (
    ("Mapping", "A JSON object, or @FILE"), ("bool", "true or false"), ("int", "A whole number"), ("float", "A number"),
)  # fmt: skip
_MONEY = frozenset({"limit", "available", "held", "posted", "refunded"})


def _read_by_people(answer: Any) -> Any:
    """Return a balance as money; anything else as it is."""
    if isinstance(answer, Mapping) and answer and answer.keys() <= _MONEY:
        return {name: rendering.money(cents) for name, cents in answer.items()}
    return answer


def _doc(control: Control) -> str:
    return f"{control.doc.split(chr(10))[0]}\n\nA control of the sandbox: the interface does not have it."


def _parameter(one: inspect.Parameter, *, first: bool) -> inspect.Parameter:
    needed = "" if one.default is not one.empty else " Required."
    kind = (
        inspect.Parameter.POSITIONAL_OR_KEYWORD if one.default is one.empty or first else inspect.Parameter.KEYWORD_ONLY
    )
    about = Parameter(
        name=f"--{one.name.replace('_', '-')}", help=f"{_kind(one)}.{needed}", group=_ARGUMENTS, show_default=False,
        allow_leading_hyphen=True,
    )  # fmt: skip
    return one.replace(kind=kind, default=None, annotation=Annotated[str | None, about])


def _keys_of(name: str, keys: list[inspect.Parameter]) -> dict[str, str]:
    """Return the key a control takes, from the environment: keys never stand on a command line."""
    key = os.environ.get(KEY_VARIABLE)
    for one in keys:
        if one.name == "signing_key" and key:
            return {one.name: key}
        if one.default is one.empty:
            raise wrong(f"sandbox {name} needs a key: set {KEY_VARIABLE}.")
    return {}


def _kind(one: inspect.Parameter) -> str:
    text = (
        one.annotation if isinstance(one.annotation, str) else getattr(one.annotation, "__name__", str(one.annotation))
    )
    for word, meaning in _MEANINGS:
        if word in text:
            return meaning
    return "Text"


def _value(one: inspect.Parameter, text: str) -> Any:
    """Return a text as the type that the control declares.

    Raises:
        Exit: It is no number, or no JSON object.
    """
    if text == "none" and one.default is one.empty and "None" in str(one.annotation):
        return None
    match _kind(one):
        case "true or false":
            if text not in {"true", "false"}:
                raise wrong(f"--{one.name} is true or false, not {visible(text, 60)!r}.")
            return text == "true"
        case "A whole number":
            if not text.removeprefix("-").isdecimal() or not text.isascii():
                raise wrong(f"--{one.name} is a whole number, not {visible(text, 60)!r}.")
            return int(text)
        case "A number":
            try:
                number = Decimal(text)
            except InvalidOperation:
                number = Decimal("NaN")
            if not number.is_finite():
                raise wrong(f"--{one.name} is a number, not {visible(text, 60)!r}.")
            return float(number)
        case "A JSON object, or @FILE":
            return _object(one.name, text)
    return text


def _object(name: str, text: str) -> Mapping[str, Any]:
    from pathlib import Path

    try:
        value = json.loads(Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text)
    except ValueError:
        value = None
    if not isinstance(value, Mapping):
        raise wrong(f"--{name} is a JSON object, or @FILE with one.")
    return value


def reset(*, where: Annotated[Where, Parameter(name="*")] = _WHERE) -> int:
    """Begin again: the sandbox as it was at first. Nobody else's sandbox is touched."""
    with session(where) as api:
        api.sandbox.reset()
    say("The sandbox is as it was at first.")
    return DONE
