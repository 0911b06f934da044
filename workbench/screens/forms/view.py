"""Widgets of a form: inputs that edit the draft, a send button, and the result of the call."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, Literal

import ipywidgets

from workbench.base.errors import Problem, WorkbenchError
from workbench.base.schema.walk import get_path
from workbench.client.calls.base import journal_of
from workbench.client.calls.journal import what
from workbench.screens.forms.answers import AnswerCard
from workbench.screens.forms.draft import TICKS, Draft, Review
from workbench.screens.forms.fields import EMPTY, Field, Inputs
from workbench.screens.forms.filling import Filling
from workbench.screens.forms.snippets import Script, SnippetPanel
from workbench.screens.forms.steps import Steps
from workbench.screens.forms.widgets import Quiet, button, close, close_soon, headline, line, root, row
from workbench.service import rendering
from workbench.service.interface.effects import Confirmation
from workbench.service.rendering.elements import isolated
from workbench.service.rendering.text import sentence

_HINT = f"Nothing is sent until you press the button. Empty fields are omitted; {EMPTY} sends empty text."
State = Literal["open", "sending", "done", "unknown", "closed"]
_ADVICE = {
    "sign_withdrawal": line(
        "advice",
        "This form only checks the request. wb.withdrawals.plan(…) also compares it with the contract, its admins and "
        "its balance, and gives access to the signature.",
    )
}


def _by_path(problems: Iterable[Problem]) -> Mapping[str, list[Problem]]:
    by_path: dict[str, list[Problem]] = {}
    for problem in problems:
        by_path.setdefault(problem.path, []).append(problem)
    return by_path


class FormView(Quiet):
    """Widgets of a form.

    Args:
        send: Function that the send button calls.
        choices: Function that returns the possible values of an argument, by label.
    """

    def __init__(
        self,
        draft: Draft,
        api: Any,
        script: Script,
        send: Callable[[], None],
        choices: Callable[[str], Mapping[str, Any]],
    ) -> None:
        operation = self._operation = draft.operation
        self.draft = draft
        self.state: State = "open"
        self.attempted = False
        """Whether sending was attempted: from then on every problem is shown."""
        self.card: AnswerCard | None = None
        self.entry: str | None = None
        """Id of the last call in the journal."""
        self._api, self._send = api, send
        self.inputs = Inputs(draft, choices, self._edit)
        stepped = bool(self.inputs.steps)
        self.steps = Steps(draft, self.inputs, self._edit) if stepped else None
        self.filling = (
            Filling(draft, api, choices, lambda act: self._edit(lambda: self._fill(act))) if stepped else None
        )
        self.snippets = SnippetPanel(draft, api, script, self.guard)
        head = headline(sentence(rendering.label(operation.name)), api)
        head += f"<div>{escape(operation.doc)}</div>{_ADVICE.get(operation.name, '')}"
        self.head = ipywidgets.HTML(head).add_class("wb-head")
        self.summary = ipywidgets.HTML().add_class("wb-summary")
        self.error = ipywidgets.HTML().add_class("wb-error")
        self.typed: Any = None
        """Input in which a person confirms a call in production; None until it is required."""
        self.ticks: dict[str, Any] = {}
        """Checkboxes of the exceptions that were offered."""
        self.arming = self._arming_box() if api.environment == "production" and operation.effect else None
        self._sender = row(self._new_button())
        self._answer = ipywidgets.VBox().add_class("wb-answer")
        self._above = [
            ipywidgets.HTML(line("quiet", _HINT)),
            *([self.filling.widget] if self.filling else []),
            self.inputs.widget,
            *([self.steps.widget] if self.steps else []),
        ]
        self._body = ipywidgets.VBox()
        self._arrange()
        content = (self.head, self._body, self.error, self._answer, self.snippets.widget)
        self.widget = root(*content, name="wb-form", api=api).add_class(f"wb-form-{operation.name.replace('_', '-')}")
        self.refresh()

    def _arrange(self) -> None:
        """Show the parts of the form that exist, in their fixed order."""
        below = [*self.ticks.values(), self.arming, self.summary, self.typed, self._sender]
        self._body.children = [*self._above, *(part for part in below if part is not None)]

    def _new_button(self) -> Any:
        live = self._api.environment == "production"
        text = f"{sentence(rendering.label(self._operation.name))} in {self._api.environment.upper()}"

        def pressed() -> None:
            # a click that was queued for the old button has no effect
            if send_button is self.button and self.state == "open":
                self._send()

        send_button = self.button = button(text, pressed, "wb-send")
        send_button.button_style = "" if live else "primary"
        return send_button.add_class("wb-live") if live else send_button

    def replace_button(self) -> None:
        """Replace the send button, so that queued clicks on the old button have no effect."""
        old, self._sender.children = self._sender.children, (self._new_button(),)
        close_soon(old)

    def _tick(self, name: str, label: str) -> Any:
        ticks = self.draft.ticks
        box = self.checkbox(
            label, lambda yes: self._edit(lambda: (ticks.add if yes else ticks.discard)(name)), "wb-tick"
        )
        box.layout.display, box.layout.width = "none", "100%"
        return box.add_class(f"wb-allow-{name.replace('_', '-')}")

    def _arming_box(self) -> Any:
        name = self._operation.name
        reason = ipywidgets.Text(description="Reason", placeholder="recorded in the journal").add_class("wb-reason")
        minutes = ipywidgets.Text(value="10", description="Minutes").add_class("wb-minutes")

        def pressed() -> None:
            number = minutes.value.isascii() and minutes.value.isdigit()
            self.arm(int(minutes.value) if number else minutes.value, reason.value)

        arm = button(f"Arm {rendering.label(name)} in PRODUCTION", pressed, "wb-arm")
        arm.add_class("wb-send").add_class("wb-live")
        text = "This call has an effect in production. It can be sent only while the operation is armed."
        return ipywidgets.VBox([ipywidgets.HTML(f"<strong>{text}</strong>"), reason, minutes, arm]).add_class(
            "wb-section"
        )

    def arm(self, minutes: object, reason: str) -> None:
        """Arm the operation at the person's request."""
        self._edit(lambda: self._api.arm(operations={self._operation.name}, minutes=minutes, reason=reason))

    def _fill(self, values: Callable[[], Mapping[str, Any]]) -> None:
        def fill() -> None:
            self.draft.replace(values())
            self.inputs.show()

        self._edit(fill)

    def _edit(self, act: Callable[[], Any] = lambda: None) -> None:
        """Apply a change by a person, and show the result."""

        def edit() -> None:
            try:
                act()
            finally:
                self.refresh()

        if self.state == "open":
            self.guard(edit)

    def guard(self, act: Callable[[], Any]) -> None:
        """Run the action of a widget. Show errors without private values."""
        self.error.value, self.entry = "", None
        try:
            act()
        except WorkbenchError as error:
            self.show_error(error)
        except Exception as error:  # noqa: BLE001 - a widget's callback would hide the error
            text = f"unexpected {type(error).__name__}: an internal error of the workbench; the form is unchanged"
            self.error.value = line("problem", text)

    def asks(self, review: Review) -> Confirmation | None:
        """Return the text to type before this call in production; None if not required."""
        if self._api.environment != "production" or review.problems:
            return None
        effect = self._operation.effect
        return effect.confirm(review.record) if effect is not None else None

    def focus_problem(self) -> None:
        """Focus the first input that prevents sending."""
        wrong = {problem.path for problem in self.draft.problems()}
        if self.steps is not None:
            self.steps.focus_first(wrong)
            return
        inputs = [
            (self.draft.sections[alternative.section].wire, box)
            for alternative, box in self.inputs.choosers.items()
            if self.draft.chosen[alternative] is None and self.draft.shown(alternative.section)
        ]
        inputs += [
            (field.leaf.wire, field.input) for field in self.inputs.fields.values() if field.box.layout.display is None
        ]
        for wire, box in inputs:
            if wire in wrong:
                box.focus()
                return

    def show_error(self, error: WorkbenchError) -> None:
        """Show an error with its journal entry id. If the outcome is unknown, also show the evidence from events."""
        notes = [line("quiet", f"Journal: {self.entry}")] if self.entry else []
        journal = journal_of(self._api)
        if self.state == "unknown" and journal is not None and self.entry:
            notes.append(line("advice", f"Evidence: {journal.evidence(self.entry).reason}"))
        self.error.value = f'<div role="alert">{rendering.html(error)}</div>{"".join(notes)}'

    def refresh(self, review: Review | None = None) -> None:
        """Update problems, advice, and the description of what sending will do."""
        if self.state not in ("open", "sending"):
            return
        review = self.draft.review() if review is None else review
        problems, advice = _by_path(review.problems), _by_path(review.advice)
        if self.steps is not None:
            self.steps.open()
        self.inputs.make_shown()
        for path, field in self.inputs.fields.items():
            if not field.made:
                continue
            field.box.layout.display = None if self.draft.shown(path) else "none"
            field.require(self.draft.required(path))
            self._annotate(field, review.record, problems.get(field.leaf.wire, ()), advice.get(field.leaf.wire, ()))
        self.inputs.show_sections(review.problems, attempted=self.attempted)
        if self.steps is not None:
            self.steps.refresh(problems)
        self._show_ticks(review.problems)
        self._summarize(review)
        self.snippets.refresh()

    def _annotate(self, field: Field, record: object, problems: Sequence[Problem], advice: Sequence[Problem]) -> None:
        path = field.leaf.path
        if path in self.inputs.refused:
            field.annotate((self.inputs.refused[path],))
            return
        value = self.draft.given.get(path)
        eager = self.attempted or value is not None
        shown = [problem.message for problem in problems if eager or (field.touched and problem.rule != "tick")]
        private = self.draft.private(path) and value != ""
        meaning = ""
        if value is not None and not private:
            meaning = field.words(value, get_path(record, path.rpartition(".")[0]) if "." in path else record)
        field.annotate(shown, meaning, [problem.message for problem in advice])

    def _show_ticks(self, problems: tuple[Problem, ...]) -> None:
        """Show the checkboxes for exceptions that would allow sending, and the checkboxes that are already ticked."""
        rules = {problem.rule for problem in problems}
        partial = any(
            problem.rule == "required" and "address" in problem.path.lower() and "." in problem.path
            for problem in problems
        )
        if partial and any(
            section.member is not None and section.member.about.partial for section in self.draft.sections.values()
        ):
            rules.add("partial_address")
        self.offer(*(name for name in TICKS if name in rules | self.draft.ticks))
        with self.quietly():
            for name, tick in self.ticks.items():
                tick.layout.display = None if name in rules | self.draft.ticks else "none"
                tick.value = name in self.draft.ticks

    def offer(self, *names: str) -> None:
        """Show the checkboxes for the exceptions with these names."""
        if new := [name for name in names if name not in self.ticks]:
            self.ticks |= {name: self._tick(name, TICKS[name]) for name in new}
            self._arrange()
        for name in names:
            self.ticks[name].layout.display = None

    def _summarize(self, review: Review) -> None:
        """Show above the button what sending will do, or what is missing."""
        armed = self._api.armed
        needs_arming = self.arming is not None and not (armed and self._operation.name in armed.operations)
        if self.arming is not None:
            self.arming.layout.display = None if needs_arming else "none"
        if review.problems:
            named = self.inputs.labels(review.problems)
            more = f" and {len(named) - 8} more" if len(named) > 8 else ""
            text = line("quiet", f"To fill in or correct before sending: {', '.join(named[:8])}{more}")
        else:
            effect = isolated(what(self._operation, review.record))
            text = f"<div>Will be sent to {self._api.environment.upper()}: {effect}</div>"
        asked = self.asks(review)
        if asked is not None and self.typed is None:
            self.typed = ipywidgets.Text(description="Type to confirm").add_class("wb-typed")
            self.typed.style.description_width = "initial"
            self._arrange()
        if self.typed is not None:
            self.typed.layout.display = None if asked is not None else "none"
        if asked is not None:
            text += line("problem", f"{asked.says}. Type {asked.types} to confirm.")
        self.summary.value = text
        self.button.disabled = self.state == "sending" or needs_arming

    def finish(self, state: State) -> None:
        """Discard all values of the draft and the widgets, and close the inputs."""
        self.error.value = ""
        self.snippets.finish()
        self.clear()
        self.state = state
        self._body.layout.display = "none"
        spent, self._body.children = self._body.children, ()
        close_soon([*spent, *self.inputs.boxes])

    def clear(self) -> None:
        """Discard all values."""
        self.draft.clear()
        if self.state in ("open", "sending"):
            self.inputs.sync()
            if self.typed is not None:
                self.typed.value = ""

    def show_card(self, card: AnswerCard) -> None:
        """Show the answer of the call below the form."""
        self.card = card
        self._answer.children = (card.widget,)

    def make_static(self, text: str) -> None:
        """Replace the widgets of the form by static HTML."""
        if self.card is not None:
            self.card.hide_private()
        children = self.widget.children
        live = children.index(self.head)  # the styles, which stay, come before the head
        self.widget.children = (*children[:live], ipywidgets.HTML(text))
        close_soon(children[live:])

    def close(self) -> None:
        """Discard all values and close all widgets."""
        self.clear()
        self.state = "closed"
        if self.card is not None:
            self.card.hide_private()
        close(self.widget, *self.inputs.boxes)
