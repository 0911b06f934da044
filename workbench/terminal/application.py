"""The command-line application: noun-verb commands, hints for invalid command lines, and help formatting."""

import re
import sys
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from workbench import __version__
from workbench.service.interface.naming import command_of, operation_named
from workbench.terminal import commands
from workbench.terminal.exits import DONE, TYPED, WRONG_INPUT, Exit, keep_quiet, run_to_exit, say, usage_error

if TYPE_CHECKING:
    pass

_KEY_OPTIONS = ("--api-key", "--key", "--secret", "--password")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    tokens = list(sys.argv[1:] if argv is None else argv)
    TYPED[:] = tokens
    if tokens[:1] == ["help"]:
        tokens = [*tokens[1:], "--help"]
    arguments = [token for token in tokens if token not in ("-q", "--quiet")]
    if arguments in ([], ["--help"], ["-h"]) and sys.stdout is not None:
        return run_to_exit(_first_page)  # the import of cyclopts would delay this page
    return run_to_exit(partial(_run, tokens))


def _first_page() -> int:
    print(commands.first_page())
    return DONE


def make_app(noun: str = "", *, described: bool = False) -> Any:
    """Return the command-line application. Commands are imported when they are first used.

    Args:
        noun: Load only the commands of this noun. By default, the commands of all nouns are loaded, which
            shell completion requires.
        described: Whether to import the commands now, for their help lines.
    """
    from cyclopts import App, Parameter

    app = App(
        name="workbench",
        help="A workbench for a card issuing API.",
        help_format="plaintext",
        version=__version__,
        version_flags=("--version", "-V"),
        result_action="return_value",
        print_error=False,
        exit_on_error=False,
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative="", show_default=_shown_default),
    )
    for name in [noun] if noun in commands.COMMANDS else commands.COMMANDS:
        group = App(name=name, help=commands.HELP[name])
        app.command(group)
        for verb, place in commands.COMMANDS[name].items():
            command: Any = f"workbench.terminal.{place}"
            if described or not verb:
                from pkgutil import resolve_name  # imported late, since few command lines need it

                command = resolve_name(command)
            group.command(command, name=verb) if verb else group.default(command)
        if name == "sandbox":
            from workbench.terminal.sandbox import add_controls

            add_controls(group)
    return app


def completion(shell: Literal["bash", "fish", "zsh"], /) -> None:
    """Print the completion script of a shell.

    bash: workbench docs completion bash > ~/.local/share/bash-completion/completions/workbench

    zsh: workbench docs completion zsh > _workbench, in a folder of $fpath

    fish: workbench docs completion fish > ~/.config/fish/completions/workbench.fish

    Args:
        shell: The shell.
    """
    print(completion_script(shell), end="")


def completion_script(shell: Literal["bash", "fish", "zsh"]) -> str:
    """Return the completion script of a shell."""
    script = make_app().generate_completion(shell=shell)
    # zsh runs the file at the first completion, so its last line must call the function that the file defines
    return f'{script}\n_cyclopts_workbench "$@"\n' if shell == "zsh" else script


def _shown_default(value: object) -> Any:
    """Return the default of an option for help; empty for an unset flag or an empty value."""
    return value if value not in (False, (), "") or (value == 0 and not isinstance(value, bool)) else None


def _run(tokens: list[str]) -> int:
    if tokens[:1] == ["__complete"]:  # completion scripts run `workbench __complete`
        make_app()(tokens)
        return DONE
    if quiet := {"-q", "--quiet"} & {*tokens}:
        tokens = [token for token in tokens if token not in quiet]
        keep_quiet()
    _refuse_keys(tokens)
    from cyclopts import CycloptsError

    from workbench.base.errors import AdviceWarning, visible

    tokens = _with_stdin(tokens)
    asks = {"--help", "-h"} & {*tokens}
    app = make_app(tokens[0], described=len(tokens) == 1 + bool(asks))
    bare = len(tokens) == 1 and tokens[0] in commands.COMMANDS and "" not in commands.COMMANDS[tokens[0]]
    if bare or asks:
        _style(app, commands.example_of([token for token in tokens if not token.startswith("-")]))
    try:
        with warnings.catch_warnings(), _logged(bool(quiet)):
            warnings.simplefilter("always", AdviceWarning)
            warnings.showwarning = _advise
            code: int | None = app(tokens)
    except CycloptsError as error:
        lines = [visible(line, 300) for line in str(error).strip().split("\n") if line.strip()]
        lines += [visible(hint, 300) for hint in _hints(error, tokens)]
        name = " ".join(["workbench", *(error.command_chain or ())])
        raise Exit(WRONG_INPUT, "\n".join([*lines, f"Run `{name} --help` for usage."])) from None
    return WRONG_INPUT if bare else code or DONE


def _with_stdin(tokens: list[str]) -> list[str]:
    """Return tokens in which each `-`, for standard input, is joined to the option before it: `--from=-`."""
    joined: list[str] = []
    for token in tokens:
        if token == "-" and joined and re.fullmatch("--[a-z-]+", joined[-1]):
            joined[-1] += "=-"
        else:
            joined.append(token)
    return joined


def _hints(error: object, tokens: list[str]) -> Iterator[str]:
    """Yield hints on the probable meaning of an invalid command line."""
    from cyclopts import MissingArgumentError, UnknownCommandError, UnusedCliTokensError

    if isinstance(error, MissingArgumentError) and error.argument is not None:
        following = [after for before, after in pairwise(tokens) if before in error.argument.names]
        if following and following[0].startswith("-"):
            name = error.argument.name
            yield f"{name} has no value: {following[0]} follows. Write {name}={following[0]} if that is its value."
    if isinstance(error, MissingArgumentError | UnusedCliTokensError) and error.unused_tokens:
        yield f"{error.unused_tokens[0]!r} has no option before it."
    if isinstance(error, UnknownCommandError):
        row = operation_named(" ".join(token for token in tokens[:2] if not token.startswith("-")))
        row = row or operation_named(tokens[0])
        if row is not None:
            yield f"The command is `workbench {' '.join(command_of(row))}`."


def _refuse_keys(tokens: list[str]) -> None:
    """Reject a key on the command line. Other users and the shell history would see the key."""
    for token in tokens:
        name = token.partition("=")[0].lower().replace("_", "-")
        if name in _KEY_OPTIONS:
            raise usage_error(
                f"{name} is not an option: other users of this machine and the shell history would see the key. "
                "Set WORKBENCH_API_KEY, store the key in the keyring, or type it when asked."
            )


def _style(app: Any, example: str) -> None:
    """Format help without borders at terminal width, with an example at the end. Option names are never broken."""
    from cyclopts.help import ColumnSpec, DefaultFormatter, DescriptionRenderer, HelpPanel, NameRenderer, PanelSpec
    from rich.box import Box
    from rich.console import Console

    from workbench.service.rendering.text import screen_of

    class Page(Console):
        """Console that raises the error of a closed pipe, so that the command can handle it."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    class Formatter(DefaultFormatter):
        """Formatter that wraps each paragraph anew, ignoring the line breaks in the docstring."""

        def __call__(self, console: Any, options: Any, panel: HelpPanel) -> None:
            for entry in panel.entries:
                unwrap(entry.description)
            super().__call__(console, options, panel)

        def render_description(self, console: Any, options: Any, description: object) -> None:
            unwrap(description)
            super().render_description(console, options, description)

    def unwrap(description: Any) -> None:
        text = getattr(description, "primary_renderable", None)
        if text is not None:
            text.plain = re.sub(r"(?<=\S)\n(?=\S)", " ", text.plain)

    screen = screen_of(sys.stdout)
    app.help_epilogue = f"Example: {_continued(example, screen.width)}"
    app.help_formatter = Formatter(
        panel_spec=PanelSpec(
            box=Box("    \n" * 8), padding=0, border_style="bold" if screen.color else "none", title_align="left"
        ),
        column_specs=(ColumnSpec(renderer=NameRenderer(), no_wrap=True), ColumnSpec(renderer=DescriptionRenderer())),
    )
    app.console = Page(width=screen.width, highlight=False, no_color=not screen.color)


def _continued(command: str, width: int) -> str:
    """Wrap a command line to a width with trailing backslashes, so that it can be pasted into a shell."""
    joined = re.sub(r"""(['"]).*?\1""", lambda quoted: quoted[0].replace(" ", "\xa0"), command)
    lines = textwrap.wrap(joined, max(40, width - 12), break_long_words=False, break_on_hyphens=False)
    return " \\\n    ".join(lines).replace("\xa0", " ")


@contextmanager
def _logged(quiet: bool) -> Iterator[None]:
    """With `-q`, suppress the warnings that the package logs. Otherwise Python prints the warnings."""
    if not quiet:
        yield
        return
    from workbench.base.errors import logger

    level = logger().level
    logger().setLevel("ERROR")
    try:
        yield
    finally:
        logger().setLevel(level)


def _advise(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning of the client as one line, without its source location."""
    from workbench.base.errors import visible

    say(f"Advice: {visible(str(message), 500)}")
