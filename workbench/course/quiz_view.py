"""A question of the course in a notebook: a button for each option, or a field, and the feedback below."""

from collections.abc import Callable
from typing import Any

import ipywidgets

from workbench.forms.widgets import Displayed, root


class QuizView(Displayed):
    """A question that is answered by a press; `quiz(name, answer)` gives the same feedback.

    Args:
        question: The question, without its options, as HTML.
        options: Texts of the buttons by answer; empty for a field.
        allowed: What the field takes.
        answered: Function that returns the feedback on an answer, as HTML.
    """

    def __init__(
        self, question: str, options: dict[str, str], allowed: str, answered: Callable[[str], str], name: str
    ) -> None:
        self._question, self._answered, self._name = question, answered, name
        self.feedback = ipywidgets.HTML('<div role="status"></div>')
        controls = self._buttons(options) if options else self._field(allowed)
        self.widget = root(ipywidgets.HTML(question), *controls, self.feedback, name="wb-quiz")

    def __repr__(self) -> str:
        return f"<quiz {self._name}>"

    @property
    def html(self) -> str:
        """The question and the feedback so far."""
        return f"{self._question}{self.feedback.value}"

    def _buttons(self, options: dict[str, str]) -> list[Any]:
        buttons = []
        for answer, text in options.items():
            button = ipywidgets.Button(description=f"{answer})  {text}")
            button.on_click(lambda _, answer=answer: self.answer(answer))
            buttons.append(button)
        return buttons

    def _field(self, allowed: str) -> list[Any]:
        field = ipywidgets.Text(description="Answer", placeholder=allowed, continuous_update=False)
        button = ipywidgets.Button(description="Check")
        field.observe(lambda change: self.answer(change["new"]), "value")
        button.on_click(lambda _: self.answer(field.value))
        return [ipywidgets.HBox([field, button])]

    def answer(self, answer: str) -> None:
        """Show the feedback on an answer."""
        self.feedback.value = f'<div role="status">{self._answered(answer)}</div>'
        self.update_static()
