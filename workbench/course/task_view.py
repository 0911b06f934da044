"""A task in a notebook: fields for its answers, and buttons that check it and show hints."""

from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets

from workbench.base.errors import WorkbenchError
from workbench.course.display import Display
from workbench.screens.forms.widgets import Displayed, root
from workbench.service.rendering.markup import isolated


class TaskView(Displayed):
    """A task that is done without code: its answers are typed into fields, and a press checks it.

    Args:
        shown: The task.
        actions: Functions of the buttons, by label.
        answered: Function that stores answers.
    """

    def __init__(
        self, shown: Any, actions: Mapping[str, Callable[[], Display]], answered: Callable[[dict[str, str]], object]
    ) -> None:
        self._shown_task, self._answered = shown, answered
        self.feedback = ipywidgets.HTML('<div role="status"></div>')
        self.fields = {name: ipywidgets.Text(description=name) for name in shown.questions}
        self.buttons = {label: ipywidgets.Button(description=label) for label in actions}
        for label, button in self.buttons.items():
            button.on_click(lambda _, act=actions[label]: self._act(act))
        parts = [ipywidgets.HTML(shown._repr_html_()), *self.fields.values()]
        row = ipywidgets.HBox(list(self.buttons.values()))
        self.widget = root(*parts, row, self.feedback, name="wb-task")

    def __repr__(self) -> str:
        return repr(self._shown_task)

    @property
    def html(self) -> str:
        """The task and the feedback so far."""
        return f"{self._shown_task._repr_html_()}{self.feedback.value}"

    def _act(self, act: Callable[[], Display]) -> None:
        values = {name: field.value for name, field in self.fields.items() if field.value.strip()}
        try:
            if values:
                self._answered(values)
            said = act()._repr_html_()
        except WorkbenchError as error:
            said = isolated(str(error))
        self.feedback.value = f'<div role="status">{said}</div>'
        self.update_static()
