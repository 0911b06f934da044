"""What the course displays: sheets and tables, as text and as HTML."""

import re

from workbench.service.rendering.markup import Shown
from workbench.service.rendering.text import Cell, Grid, Sheet

DONE = Cell(("✓ done",), "status:done")
OPEN = Cell(("○ not done",), "status:planned")
RIGHT = Cell(("✓ right",), "status:done")
WRONG = Cell(("✗ try again",), "status:planned")


class Display(Shown):
    """A sheet that is displayed as plain text and as HTML.

    Args:
        sheet: The sheet or grid to display.
    """

    def __init__(self, sheet: Sheet | Grid) -> None:
        self._sheet = sheet

    def sheet(self) -> Sheet | Grid:
        """Return the displayed sheet or grid."""
        return self._sheet

    __repr__ = Shown.__str__

    def _repr_html_(self) -> str:
        return marked(super()._repr_html_())


def marked(html: str) -> str:
    """Return HTML with text between backticks marked as code."""
    return re.sub("`([^`<>\n]+)`", r"<code>\1</code>", html)
