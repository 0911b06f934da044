"""A task or a question in a notebook: fields for answers, and buttons, whose feedback is shown below."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import ipywidgets

from workbench.base.errors import WorkbenchError
from workbench.course.display import Display
from workbench.screens.forms.widgets import Displayed, root
from workbench.service.rendering.elements import isolated

Press = Callable[[dict[str, str]], Display]
"""Function of a button: takes what is in the fields, and returns the feedback."""


class AskView(Displayed):
    """A task or question that is answered without code.

    Args:
        shown: What is asked.
        fields: Names of the fields.
        buttons: Functions of the buttons, by label.
    """

    def __init__(self, shown: Display, fields: Iterable[str], buttons: Mapping[str, Press]) -> None:
        self._asked = shown
        self.feedback = ipywidgets.HTML('<div role="status"></div>')
        self.fields = {name: ipywidgets.Text(description=name) for name in fields}
        self.buttons = {label: ipywidgets.Button(description=label) for label in buttons}
        for label, button in self.buttons.items():
            button.layout.width = "auto"
            button.on_click(lambda _, press=buttons[label]: self.press(press))
        row = ipywidgets.Box(list(self.buttons.values()), layout={"flex_flow": "row wrap"})
        parts: list[Any] = [ipywidgets.HTML(shown._repr_html_()), *self.fields.values(), row, self.feedback]
        self.widget = root(*parts, name="wb-ask")

    def __repr__(self) -> str:
        return repr(self._asked)

    @property
    def html(self) -> str:
        """What is asked, and the feedback so far."""
        return f"{self._asked._repr_html_()}{self.feedback.value}"

    def press(self, press: Press) -> None:
        """Show the feedback of a button."""
        values = {name: field.value for name, field in self.fields.items() if field.value.strip()}
        try:
            said = press(values)._repr_html_()
        except WorkbenchError as error:
            said = isolated(str(error))
        self.feedback.value = f'<div role="status">{said}</div>'
        self.update_static()
