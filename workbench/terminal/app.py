"""The commands, each loaded by its import path when it is run, and the run of one command line."""

import sys
import warnings
from typing import Any

from cyclopts import App, CycloptsError, Group, Parameter

from workbench.errors import visible
from workbench.interface.table import OPERATIONS
from workbench.rendering.screen import screen_of
from workbench.terminal.exits import DONE, WRONG_INPUT, Exit, prompt_words, say, usage_error

_KEY_OPTIONS = ("--api-key", "--key", "--secret", "--password")
_EPILOGUE = (
    "Commands act on your own sandbox, kept in a file, so each command sees the effects of earlier ones. Use --fresh for "
    "a new sandbox in memory, --url URL for a served one and --profile NAME for a real service.\n\n"
    "Exit codes: 0 done, 2 wrong input, 3 refused, 4 outcome unknown, 5 partly done, 6 not sent."
)
_COMMANDS = (
    ("Bulk", "rewards", "bulk:rewards", "Read all rewards activity of users and save it."),
    ("Bulk", "bulk", "bulk:app", "Send one request for each row of a file, at most once each."),
    ("Sandbox", "sandbox", "sandbox:app", "Serve, reset and control the sandbox: settle, review, advance and more."),
    ("Events", "events", "events:app", "List events as webhooks deliver them, or redeliver one."),
    ("Events", "listen", "events:listen", "Receive webhooks: verify, show and forward them."),
    ("Events", "trigger", "events:trigger", "Send a signed sample event."),
    ("Sequences", "run", "sequences:run", "Run a sequence."),
    ("Sequences", "sequences", "sequences:app", "List, show and check sequences."),
    ("Training", "class", "training:class_app", "Serve a class, and export its results."),
    ("Training", "drill", "training:drill_app", "Solve incidents in the sandbox, graded by what it holds at the end."),
    ("Journal and profiles", "journal", "journal:app", "List calls with an effect, and resolve unknown outcomes."),
    ("Journal and profiles", "profiles", "profiles:app", "List, show and check connection profiles."),
    ("Journal and profiles", "arm", "profiles:arm", "Allow operations with an effect in production for some minutes."),
    ("Help", "assumptions", "about:list_assumptions", "List the assumptions about the service and where to change them."),
    ("Help", "docs", "about:docs", "Show the rules of an operation."),
    ("Help", "doctor", "about:doctor", "Check this installation."),
    ("Help", "demo", "about:demo", "Walk through the main tasks on an embedded sandbox."),
    ("Help", "shell", "shell:shell", "Open IPython with api, sandbox, inbox and wb ready."),
    ("Help", "lab", "shell:lab", "Open JupyterLab."),
    ("Help", "completion", "completion:script", "Print the completion script for bash or zsh."),
)  # fmt: skip


def kebab(name: str) -> str:
    """Return a name as it is typed at a prompt."""
    return name.replace("_", "-")


def make_app() -> App:
    """Return the command line. No command is imported before it is used."""
    app = App(
        name="workbench", help="A workbench for a card issuing API.", help_format="plaintext", version=_version,
        result_action="return_value", print_error=False, exit_on_error=False, suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative="", show_default=_shown_default),
    )  # fmt: skip
    groups = {name: Group(name, sort_key=i) for i, name in enumerate(["Operations", *(row[0] for row in _COMMANDS)])}
    operations = (("Operations", kebab(name), f"operations:{name}", row.doc) for name, row in OPERATIONS.items())
    for i, (group, name, path, doc) in enumerate([*operations, *_COMMANDS]):
        app.command(f"workbench.terminal.{path}", name=name, help=doc, group=groups[group], sort_key=i)
    for flag in ("--help", "--version"):
        app[flag].group = groups["Help"]
    return app


def _shown_default(value: Any) -> Any:
    """Show the default of an option unless it is an unset flag or an empty list."""
    return value if value not in (False, ()) or (value == 0 and not isinstance(value, bool)) else None


def _version() -> str:
    from importlib.metadata import version

    return version("card-issuing-workbench")


def run(tokens: list[str]) -> int:
    """Run a command line and return its exit code."""
    app = make_app()
    if tokens[:1] == ["__complete"]:  # the protocol of the completion scripts
        app(tokens)
        return DONE
    if tokens[:1] == ["help"]:
        tokens = [*tokens[1:], "--help"]
    tokens = _with_dashes(app, tokens)
    _refuse_keys(tokens)
    asks_help = not tokens or any(token in {"--help", "-h", "--version"} for token in tokens)
    if asks_help or tokens[0] in _GROUPS:
        _style(app, epilogue=_EPILOGUE if not tokens or tokens[0].startswith("-") else None)
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


def _with_dashes(app: App, tokens: list[str]) -> list[str]:
    """Return tokens with the underscores of Python's names replaced: `simulate_refund`, `--card_id`."""
    made: list[str] = []
    in_command = True
    for token in tokens:
        name, sign, value = token.partition("=")
        in_command = in_command and len(made) < 2 and not token.startswith("-") and (not made or made[0] in _GROUPS)
        made.append(kebab(name) + sign + value if token.startswith("--") or in_command else token)
    return made


_GROUPS = frozenset(name for _, name, path, _ in _COMMANDS if path.endswith("app"))


def _refuse_keys(tokens: list[str]) -> None:
    """Refuse a key on the command line, where other users and the shell's history would see it."""
    for token in tokens:
        name = token.partition("=")[0].lower()
        if name in _KEY_OPTIONS:
            raise usage_error(
                f"{name} is not an option: other users of this machine and the shell history would see the key. "
                "Set WORKBENCH_API_KEY, store the key in the keyring, or type it when asked."
            )


def _style(app: App, epilogue: str | None) -> None:
    """Write help without borders, as wide as the terminal."""
    from cyclopts.help import DefaultFormatter, PanelSpec
    from rich.box import Box
    from rich.console import Console

    screen = screen_of(sys.stdout)
    app.help_epilogue = epilogue
    app.help_formatter = DefaultFormatter(
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
