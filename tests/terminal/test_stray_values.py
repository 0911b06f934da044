"""A value that no option precedes: each command suggests options that take it."""

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from cyclopts import CycloptsError, UnusedCliTokensError, convert

from tests.openapi.calls import SAMPLES
from workbench.service.interface.naming import command_of
from workbench.service.interface.table import OPERATIONS
from workbench.terminal import commands
from workbench.terminal.application import _hints, make_app
from workbench.terminal.operations import accepts, option_members

WORDS = ("word", "5", "2026-01", "2d", "bash", "json", "3f2a0b1c-0000-4000-8000-000000000000")
APP = make_app()


def names() -> Iterator[tuple[str, ...]]:
    """Yield each command; those of the sandbox's controls are among them."""
    for noun in commands.COMMANDS:
        verbs = [name for name in APP[noun] if not name.startswith("-")]
        yield from ((noun, verb) for verb in verbs)
        if not verbs:
            yield (noun,)


def arguments(path: tuple[str, ...]) -> list[Any]:
    command = APP
    for name in path:
        command = command[name]
    return list(command.assemble_argument_collection())


def positional(path: tuple[str, ...]) -> list[str] | None:
    """Return values for all positional arguments of a command, or None if it takes any number, or an object."""
    values = []
    for argument in arguments(path):
        kind = argument.field_info.kind
        if kind is inspect.Parameter.VAR_POSITIONAL or "dict" in str(argument.hint):
            return None
        if kind is not inspect.Parameter.KEYWORD_ONLY:
            words = [*WORDS, *re.findall(r"'([^']+)'", str(argument.hint))]
            values.append(next(word for word in words if is_convertible(argument.hint, word)))
    return values


def is_convertible(hint: Any, word: str) -> bool:
    try:
        convert(hint, [word])
    except (CycloptsError, ValueError):  # ValueError for types with several values
        return False
    return True


def parse(tokens: list[str]) -> CycloptsError | None:
    try:
        APP.parse_args(tokens, print_error=False, exit_on_error=False)
    except CycloptsError as error:
        return error
    return None


FIXED = {path: values for path in names() if (values := positional(path)) is not None}


def test_nearly_all_commands_have_a_fixed_number_of_positional_arguments() -> None:
    assert len(FIXED) >= 60


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.soak if i % 4 else pytest.mark.slow) for i, path in enumerate(FIXED)],
    ids=" ".join,
)
def test_a_suggestion_can_be_run(path: tuple[str, ...]) -> None:
    """The suggested option takes the value: with it, the command line has no more unused values."""
    tokens = [*path, *FIXED[path]]
    suggested = 0
    for word in WORDS:
        error = parse([*tokens, word])
        assert error is not None
        assert error.unused_tokens == [word]
        hint = next(_hints(error, [*tokens, word]))
        if found := re.search(r"Did you mean `(--\S+) (\S+)`\?", hint):
            suggested += 1
            assert found[2] == word
            assert not isinstance(parse([*tokens, found[1], word]), UnusedCliTokensError)

    takes = [x for x in arguments(path) if x.field_info.kind is inspect.Parameter.KEYWORD_ONLY and x.show]
    assert bool(suggested) == any(x.hint is not bool for x in takes)


def samples() -> Iterator[tuple[str, str, str]]:
    """Yield operation, option and text of each member of the stored requests that is text."""
    for name, operation in OPERATIONS.items():
        file = SAMPLES / f"{name}.request.json"
        body = json.loads(file.read_bytes()) if file.exists() else {}
        for path, member in option_members(operation.request):
            value = dig(body, path.split("."), member.wire)
            if isinstance(value, str):
                yield name, f"--{path.replace('_', '-')}", value


def dig(body: dict[str, Any], way: list[str], wire: str) -> object:
    for name in way[:-1]:
        body = body.get(name) or {}
    return body.get(wire)


SAMPLED = list(samples())


@pytest.mark.slow
@pytest.mark.parametrize("name, option, text", SAMPLED, ids=[f"{name} {option}" for name, option, _ in SAMPLED])
def test_an_operation_suggests_an_option_that_takes_the_value(name: str, option: str, text: str) -> None:
    """The value of a stored request is accepted by the first option that its command suggests."""
    operation = OPERATIONS[name]
    tokens = [*command_of(operation), *FIXED[command_of(operation)]]
    error = parse([*tokens, text])
    assert isinstance(error, UnusedCliTokensError)
    hint = " ".join(_hints(error, tokens))
    suggested = re.search(r"Did you mean `(--\S+) ", hint)

    assert accepts(operation, option, text)
    assert suggested is not None
    assert accepts(operation, suggested[1], text)


def test_a_name_without_dashes_is_an_option() -> None:
    """`first-name Ada` means `--first-name Ada`."""
    tokens = ["users", "update", WORDS[-1], "first-name", "Ada"]
    error = parse(tokens)
    assert error is not None

    assert list(_hints(error, tokens)) == ["Did you mean `--first-name Ada`?"]
