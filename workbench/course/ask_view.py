"""Tasks in a notebook: a menu of all tasks, and for the chosen task, fields for answers and buttons with feedback."""

from collections.abc import Callable
from functools import partial
from typing import Any

import ipywidgets

from workbench import course
from workbench.base.errors import WorkbenchError
from workbench.course.display import Display
from workbench.screens.forms.widgets import Displayed, button, close_soon, in_order, root
from workbench.service.rendering.elements import isolated
from workbench.service.rendering.text import label, sentence

Act = Callable[[], Display]
"""Function of a button, which returns the feedback."""


class AskView(Displayed):
    """A task or question that learners answer without code.

    Args:
        shown: The task, as `wb.course.task` returns it.
    """

    def __init__(self, shown: Any) -> None:
        task = shown.task
        self._asked, self._name, self._is_quiz = shown, task["name"], task["kind"] == "quiz"
        self.feedback = ipywidgets.HTML('<div role="status"></div>')
        letters: dict[str, Act] = {letter: partial(course.answer, self._name, letter) for letter in task["options"]}
        self.fields = {
            name: in_order(ipywidgets.Text(description=sentence(label(name)), continuous_update=False))
            for name in ({} if letters else task["questions"])
        }
        acts = letters or {"Check": self.check}
        if task["hints"]:
            acts["Hint"] = partial(course.hint, self._name)
        self.buttons = {label: button(label, partial(self.press, act)) for label, act in acts.items()}
        row = ipywidgets.Box(list(self.buttons.values()), layout={"flex_flow": "row wrap"})
        fields = [ipywidgets.Box([field]).add_class("wb-field") for field in self.fields.values()]
        parts = [ipywidgets.HTML(shown._repr_html_()), *fields, row, self.feedback]
        self.widget = root(*parts, name="wb-ask")

    def __repr__(self) -> str:
        return repr(self._asked)

    @property
    def html(self) -> str:
        """Return the question and the latest feedback as HTML."""
        return f"{self._asked._repr_html_()}{self.feedback.value}"

    def check(self) -> Display:
        """Store the answers from the fields, and check the task."""
        values = {name: field.value for name, field in self.fields.items() if field.value.strip()}
        answered = course.answer(self._name, **values) if values else None
        return answered if self._is_quiz and answered is not None else course.check(self._name)

    def press(self, act: Act) -> None:
        """Run the action of a button, and show its feedback or error."""
        try:
            said = act()._repr_html_()
        except WorkbenchError as error:
            said = isolated(str(error))
        self.feedback.value = f'<div role="status">{said}</div>'
        self.update_static()


class ChooserView(Displayed):
    """List of all tasks. The button Start opens the selected task below the list.

    Args:
        shown: Table of all tasks, the result of `wb.course.task()`.
        api: The session for the tasks; default: the most recent session.
    """

    def __init__(self, shown: Any, api: object = None) -> None:
        self._table: Display = shown
        self._api = api
        self.asked: AskView | None = None
        options = [(f"{name}: {title}", name) for name, title in shown.titles.items()]
        self.names = in_order(ipywidgets.Dropdown(description="Task", options=options, layout={"width": "36em"}))
        self.start = button("Start", self.begin)
        self.begun = ipywidgets.Box()
        choice = ipywidgets.Box([self.names, self.start], layout={"flex_flow": "row wrap"})
        self.widget = root(choice, self.begun, name="wb-tasks")

    def __repr__(self) -> str:
        return repr(self._table)

    @property
    def html(self) -> str:
        """Return the table of tasks as HTML."""
        return self._table._repr_html_()

    def begin(self) -> None:
        """Begin the chosen task, and show it below the list."""
        former, self.asked = self.begun.children, None
        try:
            shown = course.task(self.names.value, self._api)
        except WorkbenchError as error:
            self.begun.children = (ipywidgets.HTML(f'<div role="alert">{isolated(str(error))}</div>'),)
        else:
            self.asked = AskView(shown)
            self.begun.children = (self.asked.widget,)
        close_soon(former)
