"""All commands: where each stands, what it does in a line, and what makes it. Nothing is imported to list them.

Operations and controls come from their tables, in one loop each; the others are named here.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import attrs

from workbench.interface.table import OPERATIONS

GROUPS = ("Operations", "Many calls", "Sandbox", "Events", "Sequences", "Journal and profiles", "Help")


@attrs.frozen(kw_only=True)
class Command:
    """One command: its words, one line about it, and what gives its function."""

    path: tuple[str, ...]
    doc: str
    group: str
    make: Callable[[], Callable[..., Any]] = attrs.field(repr=False)

    @property
    def name(self) -> str:
        """Return the words of the command."""
        return " ".join(self.path)


def _of(module: str, name: str) -> Callable[[], Callable[..., Any]]:
    def make() -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(f"workbench.terminal.{module}"), name)
        return found

    return make


def _operation(name: str) -> Callable[[], Callable[..., Any]]:
    def make() -> Callable[..., Any]:
        from workbench.terminal.operations import operation_command

        return operation_command(OPERATIONS[name])

    return make


def _control(name: str) -> Callable[[], Callable[..., Any]]:
    def make() -> Callable[..., Any]:
        from workbench.terminal.controls import control_command

        return control_command(name)

    return make


_NAMED = (
    ("rewards", "Read the rewards activity of users, all pages, and save it.", "Many calls", "reads", "rewards"),
    ("apply", "Send one write for each row of a file, at most once each.", "Many calls", "bulk", "apply"),
    ("resume", "Go on with a run that was killed, interrupted or stopped.", "Many calls", "bulk", "resume"),
    ("events", "List the events, as a webhook would bring them.", "Events", "events", "list_events"),
    ("events resend", "Send one event again to where it is wanted.", "Events", "events", "resend"),
    ("listen", "Receive webhooks: verify, show, forward.", "Events", "events", "listen"),
    ("trigger", "Send one signed example of an event.", "Events", "events", "trigger"),
    ("sandbox serve", "Serve a sandbox over HTTP, for other programs.", "Sandbox", "served", "serve"),
    ("sandbox reset", "Begin again: the sandbox of this user as it was at first.", "Sandbox", "controls", "reset"),
    ("journal list", "List the calls with an effect, and how they ended.", "Journal and profiles", "journals", "listed"),
    ("journal unknown", "List the calls of which nobody knows how they ended.", "Journal and profiles", "journals", "unknown"),
    ("journal resolve", "Say how a call with an unknown end ended.", "Journal and profiles", "journals", "resolve"),
    ("journal export", "Write the journal as lines of JSON, private values masked.", "Journal and profiles", "journals", "export"),
    ("profiles list", "List the profiles.", "Journal and profiles", "profiles", "listed"),
    ("profiles show", "Show a profile.", "Journal and profiles", "profiles", "show_profile"),
    ("profiles check", "Check profiles, and the guesses they rest on with reads alone.", "Journal and profiles", "profiles", "check"),
    ("arm", "Allow operations with an effect in production, for some minutes.", "Journal and profiles", "arming", "arm"),
    ("run", "Run a sequence.", "Sequences", "scripts", "run"),
    ("sequences list", "List the sequences of the catalogue.", "Sequences", "scripts", "listed"),
    ("sequences show", "Show a sequence as its file.", "Sequences", "scripts", "show_sequence"),
    ("sequences check", "Check sequence files, every problem at once.", "Sequences", "scripts", "check"),
    ("assumptions", "List every guess about the service, its reason, and where to change it.", "Help", "about", "assumed"),
    ("docs", "Show the rules of an operation, with section and marks.", "Help", "about", "docs"),
    ("doctor", "Look at this installation and say what is wrong.", "Help", "about", "doctor"),
    ("demo", "Run the main job on a sandbox in this process, as a tour.", "Help", "about", "demo"),
    ("shell", "Open IPython with api, sandbox, inbox and wb ready.", "Help", "shell", "shell"),
    ("lab", "Open JupyterLab.", "Help", "shell", "lab"),
    ("completion", "Print the completion script for bash or zsh.", "Help", "completion", "script"),
)  # fmt: skip


def commands() -> Mapping[tuple[str, ...], Command]:
    """Return every command but the controls, by its words."""
    return {command.path: command for command in _commands()}


def _commands() -> Iterator[Command]:
    for name, operation in OPERATIONS.items():
        yield Command(path=(name,), doc=operation.doc, group="Operations", make=_operation(name))
    for words, doc, group, module, function in _NAMED:
        yield Command(path=tuple(words.split()), doc=doc, group=group, make=_of(module, function))


def controls() -> Mapping[tuple[str, ...], Command]:
    """Return the controls of the sandbox as commands: `sandbox settle` and so on."""
    from workbench.sandbox.controls import CONTROLS

    return {
        ("sandbox", name): Command(
            path=("sandbox", name), doc=control.doc.split("\n")[0], group="Sandbox", make=_control(name)
        )
        for name, control in CONTROLS.items()
        if name != "reset"
    }


def find(tokens: list[str]) -> tuple[Command | None, list[str], tuple[str, ...]]:
    """Find the command that tokens begin with: the command, the tokens after it, and the words that were understood."""
    known = known_below(tuple(tokens[:1]))
    words = tuple(word.replace("-", "_") for word in tokens[:2] if not word.startswith("-"))
    for size in (2, 1):
        if len(words) >= size and words[:size] in known:
            return known[words[:size]], tokens[size:], words[:size]
    return None, tokens, words


def known_below(words: tuple[str, ...]) -> Mapping[tuple[str, ...], Command]:
    """Return all commands by their words; the controls are among them where the first word is theirs."""
    return {**commands(), **(controls() if words[:1] == ("sandbox",) else {})}


def below(words: tuple[str, ...]) -> list[Command]:
    """Return the commands that begin with these words."""
    known = known_below(words)
    return [command for path, command in known.items() if path[: len(words)] == words]
