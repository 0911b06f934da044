"""From a command line to a command: words find it, the argument parser reads its options, its end is its exit code."""

import sys
import warnings
from typing import Any

from workbench.client.advice import AdviceWarning
from workbench.errors import visible
from workbench.rendering.screen import screen_of
from workbench.terminal.commands import Command, below, find
from workbench.terminal.ends import DONE, Exit, say, wrong
from workbench.terminal.overview import group_help, overview

_KEY_OPTIONS = ("--api-key", "--key", "--secret", "--password")


def run(tokens: list[str]) -> int:
    """Run a command line and give its exit code."""
    if tokens[0] == "--version":
        from importlib.metadata import version

        print(version("card-issuing-workbench"))
        return DONE
    if tokens[0] == "__complete":
        from workbench.terminal.completion import complete

        code: int = complete(tokens[1:])
        return code
    if tokens[0] == "help":
        tokens = [*tokens[1:], "--help"]
    _no_keys(tokens)
    command, rest, words = find(tokens)
    if command is None:
        return _unfound(tokens, words)
    if command.path == ("events",) and rest[:1] in (["--help"], ["-h"]):
        print(f"See also: {', '.join(one.name for one in below(('events',)) if one is not command)}\n", file=sys.stderr)
    return call(command, rest)


def _no_keys(tokens: list[str]) -> None:
    """Refuse a key on the command line, where every user of the machine and the shell's history would see it."""
    for token in tokens:
        if token.partition("=")[0].replace("_", "-").lower() in _KEY_OPTIONS:
            raise wrong(
                f"{token.partition('=')[0]} is no option: a key on a command line is seen by others and kept in the "
                "history. Set WORKBENCH_API_KEY, store it in the keyring, or type it when asked."
            )


def _unfound(tokens: list[str], words: tuple[str, ...]) -> int:
    asked_for_help = any(token in {"--help", "-h"} for token in tokens)
    group = words[:1]
    if words and below(group):
        if asked_for_help or len(words) == 1:
            group_help(group)
            return DONE if asked_for_help else 2
        raise wrong(f"workbench {words[0]} has no command {visible(tokens[1], 60)!r}.{_meant(tokens[1], group)}")
    if asked_for_help and not words:
        return overview()
    raise wrong(f"There is no command {visible(tokens[0], 60)!r}.{_meant(tokens[0], ())}")


def _meant(word: str, group: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    names = sorted({one.path[len(group)] for one in below(group) if len(one.path) > len(group)})
    near = get_close_matches(word.replace("-", "_"), names, 3, 0.5)
    return f" Did you mean {' or '.join(near)}?" if near else " workbench --help lists all."


def call(command: Command, tokens: list[str]) -> int:
    """Read the options of a command and run it."""
    from cyclopts import App, CycloptsError

    function = command.make()
    screen = screen_of(sys.stdout)
    app = App(
        name=f"workbench {command.name}", help_format="plaintext", version_flags=[], default_parameter=None,
        result_action="return_value", suppress_keyboard_interrupt=False,
        help_formatter="default" if screen.color and not screen.plain else "plain",
    )  # fmt: skip
    app.default(function)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", AdviceWarning)
            warnings.showwarning = _advise
            end: Any = app(_dashed(tokens), print_error=False, exit_on_error=False, backend="asyncio")
    except CycloptsError as error:
        raise Exit(2, f"{_said(error)}\nworkbench {command.name} --help says what it takes.") from None
    return end if isinstance(end, int) else DONE


def _advise(message: Warning | str, *_: Any, **__: Any) -> None:
    """Say what the client advises as a line, without the place in our own code."""
    say(f"Advice: {visible(str(message), 500)}")


def _dashed(tokens: list[str]) -> list[str]:
    """Take `--card_id` for `--card-id`, since attributes are written that way everywhere else."""
    made = []
    for token in tokens:
        name, sign, value = token.partition("=")
        made.append(name.replace("_", "-") + sign + value if token.startswith("--") else token)
    return made


def _said(error: Any) -> str:
    return "\n".join(visible(line, 300) for line in str(error).strip().split("\n") if line.strip())
