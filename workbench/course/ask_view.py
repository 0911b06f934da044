"""A task or a question in a notebook: fields for answers, and buttons, whose feedback is shown below."""

from collections.abc import Callable
from functools import partial

import ipywidgets

from workbench import course
from workbench.base.errors import WorkbenchError
from workbench.course.display import Display
from workbench.screens.forms.widgets import Displayed, root
from workbench.service.rendering.elements import isolated

Act = Callable[[], Display]
"""Function of a button, which returns the feedback."""
_ONE_ANSWER = "one letter"


class AskView(Displayed):
    """A task or question that is answered without code.

    Args:
        shown: The task, as `wb.course.task` returns it.
    """

    def __init__(self, shown: "course.learner.TaskShown") -> None:
        self._asked = shown
        about = shown.task
        self.feedback = ipywidgets.HTML('<div role="status"></div>')
        is_choice = about.allowed.startswith(_ONE_ANSWER)
        labels = {} if is_choice else {name: "Answer" if about.kind == "quiz" else name for name in about.questions}
        self.fields = {name: ipywidgets.Text(description=label) for name, label in labels.items()}
        if is_choice:
            acts: dict[str, Act] = {letter: partial(course.answer, about.name, letter) for letter in about.options}
        else:
            acts = {"Check": self.check}
        if about.hints:
            acts["Hint"] = partial(course.hint, about.name)
        self.buttons = {label: self._button(label, act) for label, act in acts.items()}
        row = ipywidgets.Box(list(self.buttons.values()), layout={"flex_flow": "row wrap"})
        parts = [ipywidgets.HTML(shown._repr_html_()), *self.fields.values(), row, self.feedback]
        self.widget = root(*parts, name="wb-ask")

    def __repr__(self) -> str:
        return repr(self._asked)

    @property
    def html(self) -> str:
        """What is asked, and the feedback so far."""
        return f"{self._asked._repr_html_()}{self.feedback.value}"

    def _button(self, label: str, act: Act) -> ipywidgets.Button:
        button = ipywidgets.Button(description=label)
        button.layout.width = "auto"
        button.on_click(lambda _: self.press(act))
        return button

    def check(self) -> Display:
        """Answer with what is in the fields, and check the task."""
        values = {name: field.value for name, field in self.fields.items() if field.value.strip()}
        answered = course.answer(self._asked.task.name, **values) if values else None
        is_quiz = self._asked.task.kind == "quiz"
        return answered if is_quiz and answered is not None else course.check(self._asked.task.name)

    def press(self, act: Act) -> None:
        """Show the feedback of a button."""
        try:
            said = act()._repr_html_()
        except WorkbenchError as error:
            said = isolated(str(error))
        self.feedback.value = f'<div role="status">{said}</div>'
        self.update_static()
