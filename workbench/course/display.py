"""What the course displays: sheets and tables, as text and as HTML."""

import re
from importlib.util import find_spec

from workbench.base.system.progress import notebook_shell
from workbench.service.rendering.markup import Shown, write
from workbench.service.rendering.text import Cell, Grid, Sheet

DONE = Cell(("✓ done",), "status:done")
OPEN = Cell(("○ not done",), "status:planned")
RIGHT = Cell(("✓ right",), "status:done")
WRONG = Cell(("✗ try again",), "status:planned")


class Display(Shown):
    """A sheet that is displayed as plain text and as HTML.

    Args:
        brief: The sheet without code, to show next to fields and buttons; default: the same sheet.
    """

    def __init__(self, sheet: Sheet | Grid, brief: Sheet | Grid | None = None) -> None:
        self._sheet = sheet
        self._brief = brief or sheet

    def sheet(self) -> Sheet | Grid:
        """Return the sheet."""
        return self._sheet

    __repr__ = Shown.__str__

    @property
    def brief_html(self) -> str:
        """Return HTML to show next to fields and buttons."""
        return marked(write(self._brief))

    def _repr_html_(self) -> str:
        return marked(super()._repr_html_())


def marked(html: str) -> str:
    """Return HTML in which text between backticks is code."""
    return re.sub("`([^`<>\n]+)`", r"<code>\1</code>", html)


def require_widgets() -> None:
    """Raise NotImplementedError if no notebook can show widgets. IPython then shows the sheet."""
    if notebook_shell() is None or not find_spec("ipywidgets"):
        raise NotImplementedError
