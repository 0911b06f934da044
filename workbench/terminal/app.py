"""The commands, each loaded by its import path when it is run, and the run of one command line."""

import re
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from workbench.errors import AdviceWarning, visible
from workbench.terminal import commands
from workbench.terminal.commands import kebab
from workbench.terminal.exits import DONE, WRONG_INPUT, Exit, keep_quiet, prompt_words, say, usage_error
from workbench.terminal.options import App, app_for_cyclopts, call, function_for_cyclopts, options_of, read_line

_KEY_OPTIONS = ("--api-key", "--key", "--secret", "--password")
_GROUPS = frozenset(commands.OPERATIONS) | {
    name for rows in commands.COMMANDS.values() for name, (path, _) in rows.items() if path.endswith("app")
}


def __getattr__(place: str) -> Any:
    """Return what cyclopts takes for a command, or a group of commands, at `module.name`."""
    if "." not in place:
        raise AttributeError(place)
    found = _found(place.replace(".", ":", 1))
    return app_for_cyclopts(found) if isinstance(found, App) else function_for_cyclopts(found)


def _found(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(f"workbench.terminal.{module}"), name)


def _path(tokens: Sequence[str]) -> tuple[str, ...] | None:
    """Return the words of the command that a command line begins with."""
    return next((path for path in ((*tokens[:2],), (*tokens[:1],)) if path in commands.PLACES), None)


def command_of(tokens: list[str]) -> tuple[Callable[..., int | None] | None, list[str]]:
    """Return the command that a command line begins with, and the words that it takes."""
    path = _path(tokens)
    if path is None:
        return None, []
    found, rest = _found(commands.PLACES[path][0]), tokens[len(path) :]
    if isinstance(found, App):
        if not rest or rest[0] not in found.commands:
            return found.default, rest
        found, rest = found.commands[rest[0]][0], rest[1:]
    return _found(found.replace(".", ":", 1)) if isinstance(found, str) else found, rest


def make_app(words: Sequence[str] = ()) -> Any:
    """Return the command line. No command is imported before it is used.

    Args:
        words: The command that is run: where it is known the others are left out, as making them costs more than running it.
    """
    from cyclopts import App, Parameter

    app = App(
        name="workbench", help="A workbench for a card issuing API.", help_format="plaintext", version=_version,
        result_action="return_value", print_error=False, exit_on_error=False, suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative="", show_default=_shown_default),
    )  # fmt: skip
    chosen = _path(words)
    for path, (place, line) in commands.PLACES.items():
        if chosen is None and not line:
            from workbench.interface.table import OPERATIONS

            line = OPERATIONS[place.partition(":")[2]].doc
        if chosen in (None, path):
            group = app
            if path[1:]:
                if path[0] not in app:
                    app.command(App(name=path[0], help=commands.OPERATIONS[path[0]][0]))
                group = app[path[0]]
            group.command(f"{__name__}:{place.replace(':', '.')}", name=path[-1], help=None if path == chosen else line)
    return app


def _shown_default(value: Any) -> Any:
    """Show the default of an option unless it is an unset flag or an empty list."""
    return value if value not in (False, ()) or (value == 0 and not isinstance(value, bool)) else None


def _version() -> str:
    from importlib.metadata import version

    return version("card-issuing-workbench")


def run(tokens: list[str]) -> int:
    """Run a command line and return its exit code."""
    if tokens[:1] == ["__complete"]:  # the protocol of the completion scripts
        make_app()(tokens)
        return DONE
    if quiet := {"-q", "--quiet"} & {*tokens}:
        tokens = [token for token in tokens if token not in quiet]
        keep_quiet()
    tokens = _with_dashes(tokens)
    if tokens[0] == "rewards" and tokens[1:] and tuple(tokens[:2]) not in commands.PLACES and tokens[1][:1] != "-":
        tokens.insert(1, "read")
    _refuse_keys(tokens)
    with warnings.catch_warnings():
        warnings.simplefilter("always", AdviceWarning)
        warnings.showwarning = _advise
        command, rest = command_of(tokens)
        if command is not None and (values := read_line([*options_of(command)], rest)) is not None:
            return call(command, values)
        return _run_by_cyclopts(tokens)


def _run_by_cyclopts(tokens: list[str]) -> int:
    from cyclopts import CycloptsError

    app = make_app(tokens)
    asks_help = any(token in {"--help", "-h", "--version"} for token in tokens)
    if asks_help or tokens in ([name] for name in _GROUPS):
        from workbench.terminal.examples import example_of

        _style(app, example_of([token for token in tokens if not token.startswith("-")]))
    try:
        code: Any = app(tokens)
    except CycloptsError as error:
        lines = [visible(line, 300) for line in str(error).strip().split("\n") if line.strip()]
        name = " ".join(["workbench", *(error.command_chain or ())])
        raise Exit(WRONG_INPUT, "\n".join([*lines, f"Run `{name} --help` for usage."])) from None
    if code is None and not asks_help:  # a group without a command: cyclopts printed its help
        return WRONG_INPUT
    return code if isinstance(code, int) else DONE


def _with_dashes(tokens: list[str]) -> list[str]:
    """Return tokens with the underscores of Python's names replaced: `simulate_refund`, `--card_id`."""
    made: list[str] = []
    in_command = True
    for token in tokens:
        name, sign, value = token.partition("=")
        in_command = in_command and len(made) < 2 and not token.startswith("-") and (not made or made[0] in _GROUPS)
        made.append(kebab(name) + sign + value if token.startswith("--") or in_command else token)
    return made


def _refuse_keys(tokens: list[str]) -> None:
    """Refuse a key on the command line, where other users and the shell's history would see it."""
    for token in tokens:
        name = token.partition("=")[0].lower()
        if name in _KEY_OPTIONS:
            raise usage_error(
                f"{name} is not an option: other users of this machine and the shell history would see the key. "
                "Set WORKBENCH_API_KEY, store the key in the keyring, or type it when asked."
            )


def _style(app: Any, example: str) -> None:
    """Write help without borders, as wide as the terminal, with an example at its end."""
    from cyclopts.help import DefaultFormatter, HelpPanel, PanelSpec
    from rich.box import Box
    from rich.console import Console
    from rich.text import Text

    class Formatter(DefaultFormatter):
        """Wraps each paragraph once, wherever its lines end in a docstring."""

        def __call__(self, console: Any, options: Any, panel: HelpPanel) -> None:
            for entry in panel.entries:
                unwrap(entry.description)
            super().__call__(console, options, panel)

        def render_description(self, console: Any, options: Any, description: Any) -> None:
            unwrap(description)
            super().render_description(console, options, description)

    def unwrap(description: Any) -> None:
        text = getattr(description, "primary_renderable", None)
        if isinstance(text, Text):
            text.plain = re.sub(r"(?<=\S)\n(?=\S)", " ", text.plain)

    from workbench.rendering.text import screen_of

    screen = screen_of(sys.stdout)
    app.help_epilogue = f"Example: {example}"
    app.help_formatter = Formatter(
        panel_spec=PanelSpec(
            box=Box("    \n" * 8), padding=0, border_style="bold" if screen.color else "none", title_align="left"
        ),
    )
    app.console = Console(width=screen.width, highlight=False, no_color=not screen.color)


def _advise(message: Warning | str, *_: Any, **__: Any) -> None:
    """Write the client's advice as a line, without its place in our source."""
    say(f"Advice: {prompt_words(visible(str(message), 500))}")
