"""The commands, each loaded by its import path when it is run, and the run of one command line."""

import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from cyclopts import App, CycloptsError, Parameter

from workbench.errors import visible
from workbench.interface.table import OPERATIONS
from workbench.rendering.screen import screen_of
from workbench.terminal import commands
from workbench.terminal.commands import kebab
from workbench.terminal.examples import example_of
from workbench.terminal.exits import DONE, WRONG_INPUT, Exit, keep_quiet, prompt_words, say, usage_error

_KEY_OPTIONS = ("--api-key", "--key", "--secret", "--password")
_GROUPS = frozenset(commands.OPERATIONS) | {
    name for rows in commands.COMMANDS.values() for name, (path, _) in rows.items() if path.endswith("app")
}


def make_app(words: Sequence[str] = ()) -> App:
    """Return the command line. No command is imported before it is used.

    Args:
        words: The command that is run: its help is that of its function, where the others have one line.
    """
    app = App(
        name="workbench", help="A workbench for a card issuing API.", help_format="plaintext", version=_version,
        result_action="return_value", print_error=False, exit_on_error=False, suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative="", show_default=_shown_default),
    )  # fmt: skip
    for noun, (doc, verbs) in commands.OPERATIONS.items():
        group = App(name=noun, help=doc)
        for verb, operation in verbs.items():
            line = None if [noun, verb] == [*words[:2]] else OPERATIONS[operation].doc
            group.command(f"workbench.terminal.operations:{operation}", name=verb, help=line)
        for verb, (path, line) in commands.VERBS.get(noun, {}).items():
            group.command(f"workbench.terminal.{path}", name=verb, help=line)
        app.command(group)
    for name, row in OPERATIONS.items():
        app.command(
            f"workbench.terminal.operations:{name}",
            name=kebab(name),
            help=None if [kebab(name)] == [*words[:1]] else row.doc,
        )
    for rows in commands.COMMANDS.values():
        for name, (path, line) in rows.items():
            app.command(f"workbench.terminal.{path}", name=name, help=None if [name] == [*words[:1]] else line)
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
    tokens = _with_dashes(tokens)
    app = make_app(tokens)
    if quiet := {"-q", "--quiet"} & {*tokens}:
        tokens = [token for token in tokens if token not in quiet]
        keep_quiet()
    if tokens[0] == "rewards" and tokens[1:] and tokens[1] not in {*app["rewards"]}:
        tokens.insert(1, "read")
    _refuse_keys(tokens)
    asks_help = any(token in {"--help", "-h", "--version"} for token in tokens)
    if asks_help or tokens[0] in _GROUPS:
        _style(app, example_of([token for token in tokens if not token.startswith("-")]))
    try:
        with warnings.catch_warnings():
            from workbench.errors import AdviceWarning

            warnings.simplefilter("always", AdviceWarning)
            warnings.showwarning = _advise
            code: Any = app(tokens)
    except CycloptsError as error:
        raise Exit(WRONG_INPUT, f"{_message(error)}\nRun `{_name(error)} --help` for usage.") from None
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


def _style(app: App, example: str) -> None:
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


def _message(error: CycloptsError) -> str:
    return "\n".join(visible(line, 300) for line in str(error).strip().split("\n") if line.strip())


def _name(error: CycloptsError) -> str:
    return " ".join(["workbench", *(error.command_chain or ())])
