"""Draw the output of commands as SVG files in docs/images: `python docs/make_screens.py`."""

import io
import sys
from pathlib import Path

from rich.console import Console

from workbench import testing

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.testing.applications import ChecksThenActs

IMAGES = Path(__file__).parent / "images"


def draw(name: str, command: str, shown: object, lines: int = 30, width: int = 104) -> None:
    """Draw the first lines of a text as a picture of a terminal."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print("\n".join(str(shown).splitlines()[:lines]), markup=False, highlight=False)
    (IMAGES / f"{name}.svg").write_text(console.export_svg(title=command, unique_id=name), encoding="utf-8")


def main() -> None:
    """Draw a failure in a universe."""
    draw(
        "explore",
        "testing.explore(Application)",
        testing.explore(ChecksThenActs, invariants=testing.MONEY[:1]),
        lines=40,
    )


if __name__ == "__main__":
    main()
