"""Steps of a form with many inputs. One step is visible at a time, with links to the faulty fields of all steps."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import ipywidgets

from workbench.base.errors import Problem
from workbench.screens.forms.draft import Alternative, Draft
from workbench.screens.forms.fields import Field, Inputs, Step, question_of
from workbench.screens.forms.widgets import button, line, row


class Steps:
    """Widgets that show the inputs of one step and the problems of all steps.

    Args:
        edited: Function that is called after the step changes, to show the problems of the fields in the previous step.
    """

    def __init__(self, draft: Draft, inputs: Inputs, edited: Callable[[], None]) -> None:
        self.current = 0
        self._draft, self._inputs, self._edited = draft, inputs, edited
        self._links: dict[str | Alternative, Any] = {}
        self.progress = ipywidgets.HTML().add_class("wb-progress")
        self.tabs = [
            button(step.title, partial(self.go, number), "wb-step") for number, step in enumerate(inputs.steps)
        ]
        self.lists = [ipywidgets.Box().add_class("wb-links") for _ in inputs.steps]
        tabs = [part for pair in zip(self.tabs, self.lists, strict=True) for part in pair]
        self.title = ipywidgets.HTML().add_class("wb-step-title")
        self.back = button("Back", lambda: self.go(self.current - 1), "wb-back")
        self.next = button("Next", lambda: self.go(self.current + 1), "wb-next")
        boxes = [step.box for step in inputs.steps]
        side = ipywidgets.VBox([self.progress, *tabs]).add_class("wb-steps")
        main = ipywidgets.VBox([self.title, *boxes, row(self.back, self.next)]).add_class("wb-step-box")
        self.widget = ipywidgets.Box([side, main]).add_class("wb-stepped")

    def open(self) -> None:
        """Create the fields of the current step."""
        self._inputs.steps[self.current].open()

    def go(self, number: int) -> None:
        """Show a step. The fields of the previous step show their problems."""
        for path in self._inputs.steps[self.current].paths:
            self._inputs.fields[path].touched |= self._draft.shown(path)
        self.current = max(0, min(number, len(self.tabs) - 1))
        self._edited()

    def focus(self, target: str | Alternative) -> None:
        """Show the step with a field or chooser, and focus it."""
        for number, step in enumerate(self._inputs.steps):
            if target in step.paths or target in step.choosers:
                self.go(number)
        if isinstance(target, str):
            self._inputs.reveal(target)
        self._input(target).focus()

    def focus_first(self, problems: Collection[str]) -> None:
        """Focus the first chooser or field that prevents sending."""
        for step in self._inputs.steps:
            for target in self._to_do(step, problems):
                self.focus(target)
                return

    def _input(self, target: str | Alternative) -> Any:
        return self._inputs.fields[target].input if isinstance(target, str) else self._inputs.choosers[target]

    def refresh(self, problems: Mapping[str, Sequence[Problem]]) -> None:
        """Show the current step, and link to the fields in each step that prevent sending.

        Args:
            problems: Problems by wire path.
        """
        counts = []
        for number, step in enumerate(self._inputs.steps):
            links = self._to_do(step, problems)
            counts.append(len(links))
            self._show_links(number, links)
            self._show_tab(number, len(links))
        done = sum(count == 0 for count in counts)
        total = sum(counts)
        text = f"{done} of {len(counts)} steps complete"
        if total:
            text += f", {total} field{'' if total == 1 else 's'} to fill in or correct"
        else:
            text += f". {problems[''][0].message}" if "" in problems else ", ready to send"
        self.progress.value = line("quiet" if problems else "ok", text)
        self.title.value = (
            f"<strong>Step {self.current + 1} of {len(counts)}: {self._inputs.steps[self.current].title}</strong>"
        )
        for number, step in enumerate(self._inputs.steps):
            step.box.layout.display = None if number == self.current else "none"
        self.back.disabled = self.current == 0
        self.next.disabled = self.current == len(counts) - 1

    def _to_do(self, step: Step, problems: Collection[str]) -> list[str | Alternative]:
        """Return the choosers and fields of a step that prevent sending."""
        draft, fields = self._draft, self._inputs.fields
        undecided = [choice for choice in step.choosers if draft.chosen[choice] is None and "" in problems]
        missing = {path for path in step.paths if draft.needed(path) and path not in {*draft.given, *draft.accepted}}
        wrong = [path for path in step.paths if path in missing or fields[path].leaf.wire in problems]
        return [*undecided, *wrong]

    def _show_tab(self, number: int, count: int) -> None:
        tab, step = self.tabs[number], self._inputs.steps[number]
        optional = not any(map(self._draft.needed, step.paths))
        state = f" – {count} to do" if count else " – optional" if optional else " ✓"
        tab.description = tab.tooltip = f"{number + 1}. {step.title}{state}"
        (tab.add_class if number == self.current else tab.remove_class)("wb-current")

    def _show_links(self, number: int, targets: list[str | Alternative]) -> None:
        links = []
        for target in targets:
            link = self._links.get(target)
            if link is None:
                link = self._links[target] = button(self._label(target), partial(self.focus, target), "wb-link")
            wrong = target in self._draft.given
            text = ("✗ " if wrong else "") + self._label(target)
            if link.description != text:
                link.description = link.tooltip = text
            (link.add_class if wrong else link.remove_class)("wb-problem")
            links.append(link)
        if tuple(links) != tuple(self.lists[number].children):
            self.lists[number].children = tuple(links)

    def _label(self, target: str | Alternative) -> str:
        if isinstance(target, str):
            field: Field = self._inputs.fields[target]
            return field.label
        return question_of(target)
