"""The first page of help, written without the argument parser, so that it is there at once."""

import sys
import textwrap

from workbench.rendering.screen import Screen, screen_of
from workbench.terminal.commands import GROUPS, Command, below, commands

_LEAST = 30
_BELOW = """
Commands act on one sandbox of yours, kept in a file, so each sees what the one before did. `--fresh` takes a new one in
memory, `--url URL` a served one, `--profile NAME` a real service. `workbench COMMAND --help` says more of each.
Exit codes: 0 done, 2 wrong input, 3 refused, 4 outcome unknown, 5 partly done, 6 not sent.
"""


def overview() -> int:
    """Show every command with one line about it."""
    screen = screen_of(sys.stdout)
    lines = [screen.paint("workbench", "title") + " COMMAND [OPTIONS]", ""]
    listed = [*commands().values(), *_more()]
    for group in GROUPS:
        lines.append(screen.paint(group, "title"))
        lines += _lines([one for one in listed if one.group == group], screen)
        lines.append("")
    for paragraph in _BELOW.strip().split("\n\n"):
        lines += textwrap.wrap(paragraph, screen.width)
    print("\n".join(map(screen.fit, lines)))
    return 0


def _more() -> list[Command]:
    def none() -> None:
        """Stands for commands that are listed a level deeper."""

    return [
        Command(
            path=("sandbox", "…"), doc="Controls the interface does not have: settle, review, advance and more.",
            group="Sandbox", make=lambda: none,
        )
    ]  # fmt: skip


def group_help(words: tuple[str, ...]) -> int:
    """Show the commands that begin with some words."""
    screen = screen_of(sys.stdout)
    lines = [screen.paint(f"workbench {' '.join(words)}", "title") + " COMMAND [OPTIONS]", ""]
    print("\n".join(map(screen.fit, lines + _lines(below(words), screen))))
    return 0


def _lines(listed: list[Command], screen: Screen) -> list[str]:
    column = max((len(one.name) for one in listed), default=0) + 4
    if screen.width - column < _LEAST:  # a narrow terminal: what it does stands below its name
        return [
            line
            for one in listed
            for line in (f"  {one.name}", *(f"      {said}" for said in textwrap.wrap(one.doc, screen.width - 6)))
        ]
    made = []
    for one in listed:
        first, *rest = textwrap.wrap(one.doc, screen.width - column) or [""]
        made.append(f"  {one.name.ljust(column - 4)}  {first}")
        made += [" " * column + line for line in rest]
    return made
