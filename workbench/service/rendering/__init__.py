"""Render records, errors, problems, events and plans as plain text and as static, escaped HTML.

The rendering functions are pure and do no I/O. External text is untrusted. Control, direction and invisible characters
are shown as escapes, and the HTML contains only fixed tags and attributes.
"""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.service.rendering.calls import curl as curl
    from workbench.service.rendering.design import LOOKS as LOOKS
    from workbench.service.rendering.design import Look as Look
    from workbench.service.rendering.design import look as look
    from workbench.service.rendering.design import paint as paint
    from workbench.service.rendering.design import word as word
    from workbench.service.rendering.markup import state_diagram as state_diagram
    from workbench.service.rendering.show import describe as describe
    from workbench.service.rendering.show import html as html
    from workbench.service.rendering.show import html_table as html_table
    from workbench.service.rendering.show import plain as plain
    from workbench.service.rendering.show import register as register
    from workbench.service.rendering.show import table as table
    from workbench.service.rendering.text import MAX_ROWS as MAX_ROWS
    from workbench.service.rendering.text import cell_text as cell_text
    from workbench.service.rendering.text import label as label
    from workbench.service.rendering.text import moment as moment
    from workbench.service.rendering.text import money as money

_NAMES = {
    "LOOKS": "workbench.service.rendering.design",
    "Look": "workbench.service.rendering.design",
    "MAX_ROWS": "workbench.service.rendering.text",
    "cell_text": "workbench.service.rendering.text",
    "curl": "workbench.service.rendering.show",
    "describe": "workbench.service.rendering.show",
    "html": "workbench.service.rendering.show",
    "html_table": "workbench.service.rendering.show",
    "label": "workbench.service.rendering.text",
    "look": "workbench.service.rendering.design",
    "moment": "workbench.service.rendering.text",
    "money": "workbench.service.rendering.text",
    "paint": "workbench.service.rendering.design",
    "plain": "workbench.service.rendering.show",
    "register": "workbench.service.rendering.show",
    "state_diagram": "workbench.service.rendering.markup",
    "table": "workbench.service.rendering.show",
    "word": "workbench.service.rendering.design",
}

if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
