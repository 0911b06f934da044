"""The answer of a form: its card, the events that followed, next steps, and private values shown for a minute."""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets

from workbench import rendering
from workbench.client.base import context_of
from workbench.errors import visible
from workbench.forms.details import Offer, after_call, private_names
from workbench.forms.widgets import Later, after, button, close, line, row
from workbench.interface import walk
from workbench.rendering.markup import isolated
from workbench.session import sandbox_of

REVEAL_SECONDS = 60.0
_MAX_EVENTS = 20


class Reveal:
    """The private values of a record, shown for a minute and noted in the journal. No output holds them."""

    def __init__(self, record: Any, api: Any, box: Any, *, later: Later = after) -> None:
        names = sorted(private_names(record))
        what = f"{type(record).__name__} {getattr(record, 'id', '') or ''}"
        context_of(api).note("revealed", f"{what}: {', '.join(names)} for {REVEAL_SECONDS:.0f} s")
        self._card = ipywidgets.HTML(rendering.html(record, reveal=names)).add_class("wb-revealed")
        note = line("advice", f"Shown for {REVEAL_SECONDS:.0f} seconds; recorded in the journal.")
        self._box = box
        box.children = (ipywidgets.HTML(note), self._card, button("Hide now", self.hide))
        self.shown = True
        self._timer = later(REVEAL_SECONDS, self.hide)

    def hide(self) -> None:
        """Remove it from the screen and from the state of the widgets."""
        if self.shown:
            self.shown = False
            self._timer.cancel()
            self._card.value = ""
            widgets, self._box.children = self._box.children, ()
            close(*widgets)


class AnswerCard:
    """The answer of a form.

    Args:
        mark: The place in the inbox before the call; None without an inbox.
        entry: The id of the call in the journal.
        steps: Next steps with their arguments.
        open_form: Opens a form for an operation and returns its widget.
        show_thing: Opens a thing of a list and returns its widget, or None where it is shown elsewhere.
        guard: Does what a button asks for, and shows what goes wrong.
    """

    def __init__(
        self, api: Any, operation: str, answer: Any, *, mark: int | None, entry: str | None,
        steps: Sequence[tuple[Offer, dict[str, Any]]], open_form: Callable[[str, dict[str, Any]], Any],
        show_thing: Callable[[str, str], Any], guard: Callable[[Callable[[], Any]], None],
    ) -> None:  # fmt: skip
        self.reveal: Reveal | None = None
        self.events = ipywidgets.HTML().add_class("wb-events")
        self._api, self._answer, self._mark = api, answer, mark
        self._open_form, self._show_thing, self._guard = open_form, show_thing, guard
        # A signature is only given out by `wb.withdrawals`.
        self.may_reveal = (
            operation != "sign_withdrawal" and walk.is_record(answer) and bool(private_names(answer))
        )  # fmt: skip
        self._more, self._shown = ipywidgets.VBox(), ipywidgets.VBox()
        actions = [self._step(*one) for one in steps]
        if mark is not None:
            actions.append(button("Check for events again", lambda: guard(self.check_events)))
        if self.may_reveal:
            actions.append(button(f"Show private values for {REVEAL_SECONDS:.0f} s", self.show_private))
        actions.append(button("New form", lambda: self._add(open_form(operation, {}))))
        self._actions = row(*actions)
        done = f"Sent to {api.environment.upper()}." + (f" Journal: {entry}" if entry else "")
        self.widget = ipywidgets.VBox([
            ipywidgets.HTML(line("ok", done)), ipywidgets.HTML(rendering.html(answer)).add_class("wb-answer-card"),
            self._shown, self.events, self._actions, self._more,
        ])  # fmt: skip
        guard(self.check_events)

    def _step(self, one: Offer, arguments: dict[str, Any]) -> Any:
        if one.opens:
            return button(one.label, lambda: self._guard(lambda: self._add(self._show_thing(one.do, arguments["id"]))))
        if not one.control:
            return button(one.label, lambda: self._add(self._open_form(one.do, arguments)))

        def use() -> None:
            """Use a control of the sandbox, once; then show what followed and what can be done next."""
            made.disabled = True
            answer = getattr(sandbox_of(self._api), one.do)(**arguments, **one.extra)
            self.check_events()
            steps = [step for step in after_call(one.do, None, answer, self._api) if not step[0].opens]
            self._actions.children = (*(self._step(*step) for step in steps), *self._actions.children)

        made = button(one.label, lambda: self._guard(use), "wb-control", "A control of the sandbox")
        return made

    def _add(self, shown: Any) -> None:
        """Show a form or a thing below; None is shown elsewhere."""
        self._more.children = (*self._more.children, *([] if shown is None else [shown]))

    def show_private(self) -> None:
        """Show the private values of the answer for a minute."""
        self.hide_private()
        self.reveal = Reveal(self._answer, self._api, self._shown)

    def hide_private(self) -> None:
        """Hide them."""
        if self.reveal is not None:
            self.reveal.hide()

    def check_events(self) -> None:
        """Show the events that arrived since the call."""
        if self._mark is None:
            return
        events = self._api.inbox.events(since=self._mark)
        lines = [f"<div><strong>Events that followed: {len(events)}</strong></div>"]
        for one in events[:_MAX_EVENTS]:  # lines that unfold to their cards
            title = f"<strong>{isolated(visible(one.kind, 80))}</strong> {isolated(visible(one.id, 80))}"
            lines.append(f'<details class="wb-event"><summary>{title}</summary>{rendering.html(one)}</details>')
        self.events.value = "".join(lines) if events else line("quiet", "No events yet.")
