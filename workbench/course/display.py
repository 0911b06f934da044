"""What the course shows: sheets and tables, as text and as HTML."""

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
    """A sheet, displayed as plain text and as HTML.

    Args:
        brief: The sheet to show next to fields and buttons, without code; default: the same.
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
        """HTML to show next to fields and buttons."""
        return marked(write(self._brief))

    def _repr_html_(self) -> str:
        return marked(super()._repr_html_())


def marked(html: str) -> str:
    """Return HTML with text between backticks as code."""
    return re.sub("`([^`<>\n]+)`", r"<code>\1</code>", html)


def require_widgets() -> None:
    """Raise NotImplementedError, after which IPython shows the sheet, where no notebook can show widgets."""
    if notebook_shell() is None or not find_spec("ipywidgets"):
        raise NotImplementedError
