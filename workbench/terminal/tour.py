"""`workbench course demo`: run the statements of tour.md and show their results."""

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from workbench.base.errors import WorkbenchError
from workbench.service import rendering
from workbench.service.rendering.text import Screen, screen_of

TEXT = Path(__file__).with_name("tour.md")
_MAX_WIDTH = 100


def demo(*, out: Path = Path("out")) -> None:
    """Walk through the main tasks on an embedded sandbox.

    Args:
        out: Folder for the chart.
    """
    out.mkdir(parents=True, exist_ok=True)
    screen = screen_of(sys.stdout)
    names: dict[str, Any] = {"out": out}
    with ExitStack() as stack:
        stack.callback(lambda: names["api"].close() if "api" in names else None)
        _tell(screen, names)


def _tell(screen: Screen, names: dict[str, Any]) -> None:
    for block in TEXT.read_text(encoding="utf-8").strip().split("\n\n"):
        print()
        if not block.startswith(">>> "):
            _write_prose(block, screen)
            continue
        for statement in statements(block):
            _write_statement(statement, screen)
            _run(statement, names, screen)


def statements(block: str) -> Iterator[str]:
    """Yield the statements of a block, without their prompts."""
    for statement in re.split(r"^>>> ", block, flags=re.MULTILINE)[1:]:
        yield "\n".join(line.removeprefix("... ") for line in statement.rstrip().split("\n"))


def _write_prose(text: str, screen: Screen) -> None:
    marks, _, title = text.partition(" ")
    if set(marks) == {"#"}:
        print(screen.paint(title, "title"))
    else:
        print(textwrap.fill(text, min(screen.width, _MAX_WIDTH), break_long_words=False, break_on_hyphens=False))


def _write_statement(statement: str, screen: Screen) -> None:
    for number, line in enumerate(statement.split("\n")):
        print(screen.paint("... " if number else ">>> ", "muted") + screen.paint(line, "title"))


def _run(statement: str, names: dict[str, Any], screen: Screen) -> None:
    """Run a statement and show its value, or the error of this package that it raises."""
    (parsed,) = ast.parse(statement).body
    try:
        if not isinstance(parsed, ast.Expr):
            exec(statement, names)  # noqa: S102 - the statements are those of tour.md
            return
        value = eval(statement, names)  # noqa: S307
    except WorkbenchError as error:
        value = error
    if value is not None:
        print(textwrap.indent(rendering.plain(value, screen.width - 4, paint=screen.paint), "    "))
