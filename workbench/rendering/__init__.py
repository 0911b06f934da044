"""Render records, errors, problems, events and plans as plain text and as static, escaped HTML.

Pure functions, no I/O. External text is untrusted: control, direction and invisible characters are shown as escapes,
and the HTML contains only fixed tags and attributes.
"""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.rendering.design import LOOKS as LOOKS
    from workbench.rendering.design import Look as Look
    from workbench.rendering.design import look as look
    from workbench.rendering.design import paint as paint
    from workbench.rendering.design import word as word
    from workbench.rendering.markup import state_diagram as state_diagram
    from workbench.rendering.show import curl as curl
    from workbench.rendering.show import describe as describe
    from workbench.rendering.show import html as html
    from workbench.rendering.show import html_table as html_table
    from workbench.rendering.show import plain as plain
    from workbench.rendering.show import register as register
    from workbench.rendering.show import table as table
    from workbench.rendering.text import MAX_ROWS as MAX_ROWS
    from workbench.rendering.text import cell_text as cell_text
    from workbench.rendering.text import label as label
    from workbench.rendering.text import moment as moment
    from workbench.rendering.text import money as money

_NAMES = {
    "LOOKS": "workbench.rendering.design",
    "Look": "workbench.rendering.design",
    "MAX_ROWS": "workbench.rendering.text",
    "cell_text": "workbench.rendering.text",
    "curl": "workbench.rendering.show",
    "describe": "workbench.rendering.show",
    "html": "workbench.rendering.show",
    "html_table": "workbench.rendering.show",
    "label": "workbench.rendering.text",
    "look": "workbench.rendering.design",
    "moment": "workbench.rendering.text",
    "money": "workbench.rendering.text",
    "paint": "workbench.rendering.design",
    "plain": "workbench.rendering.show",
    "register": "workbench.rendering.show",
    "state_diagram": "workbench.rendering.markup",
    "table": "workbench.rendering.show",
    "word": "workbench.rendering.design",
}

if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
