"""A question of the course in a notebook: buttons for options or their order, or a field, and the feedback below."""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Literal

import ipywidgets

from workbench.screens.forms.widgets import Displayed, root


class QuizView(Displayed):
    """A question that is answered by a press; `quiz(name, answer)` gives the same feedback.

    Args:
        question: The question, without its options, as HTML.
        kind: "choice" has a button for each option, "order" moves the options up and down, "amount" has a field.
        options: Texts of the options by letter.
        allowed: What the field takes.
        answered: Function that returns the feedback on an answer, as HTML.
    """

    def __init__(
        self,
        question: str,
        kind: Literal["choice", "order", "amount"],
        options: Mapping[str, str],
        allowed: str,
        answered: Callable[[str], str],
        name: str,
    ) -> None:
        self._question, self._answered, self._name = question, answered, name
        self._options, self._letters = options, list(options)
        self.feedback = ipywidgets.HTML('<div role="status"></div>')
        self._steps = [ipywidgets.HTML() for _ in options] if kind == "order" else []
        controls = self._field(allowed) if kind == "amount" else self._order() if kind == "order" else self._buttons()
        self.widget = root(ipywidgets.HTML(question), *controls, self.feedback, name="wb-quiz")

    def __repr__(self) -> str:
        return f"<quiz {self._name}>"

    @property
    def html(self) -> str:
        """The question, its options and the feedback so far."""
        options = "".join(f"<div>{letter})  {escape(text)}</div>" for letter, text in self._options.items())
        return f"{self._question}{options}{self.feedback.value}"

    def _buttons(self) -> list[Any]:
        buttons = []
        for answer, text in self._options.items():
            button = ipywidgets.Button(description=f"{answer})  {text}")
            button.on_click(lambda _, answer=answer: self.answer(answer))
            buttons.append(button)
        return buttons

    def _order(self) -> list[Any]:
        """Rows with a step each and buttons that move it; a row keeps its place, so the focus stays on its button."""
        rows = []
        for place, step in enumerate(self._steps):
            moves = []
            for text, by, end in (("Up", -1, 0), ("Down", 1, len(self._steps) - 1)):
                button = ipywidgets.Button(
                    description=text, tooltip=f"Move step {place + 1} {text.lower()}", disabled=place == end
                )
                button.layout.width = "64px"
                button.on_click(lambda _, place=place, by=by: self.move(place, by))
                moves.append(button)
            rows.append(ipywidgets.HBox([*moves, step], layout={"align_items": "center"}))
        check = ipywidgets.Button(description="Check the order")
        check.on_click(lambda _: self.answer("".join(self._letters)))
        self._show_steps()
        return [*rows, check]

    def _show_steps(self) -> None:
        for place, (step, letter) in enumerate(zip(self._steps, self._letters, strict=True), 1):
            step.value = f"{place}. {escape(self._options[letter])}"

    def move(self, place: int, by: int) -> None:
        """Exchange the step at a place, from 0, with the one before (-1) or after (1), and say where it is now."""
        letters = self._letters
        letters[place], letters[place + by] = letters[place + by], letters[place]
        self._show_steps()
        moved = escape(self._options[letters[place + by]])
        self.feedback.value = f'<div role="status">{moved}: now step {place + by + 1}.</div>'

    def _field(self, allowed: str) -> list[Any]:
        field = ipywidgets.Text(description="Answer", placeholder=allowed, continuous_update=False)
        field.layout.width = "min(34em, 100%)"
        button = ipywidgets.Button(description="Check")
        field.observe(lambda change: self.answer(change["new"]), "value")
        button.on_click(lambda _: self.answer(field.value))
        return [ipywidgets.HBox([field, button])]

    def answer(self, answer: str) -> None:
        """Show the feedback on an answer."""
        self.feedback.value = f'<div role="status">{self._answered(answer)}</div>'
        self.update_static()
