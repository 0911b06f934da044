"""Show the answer to a form's call: its card, later events, next steps, and private values for a minute."""

from functools import partial
from types import NoneType
from typing import Any

import ipywidgets

from workbench.base.errors import visible
from workbench.base.schema import walk
from workbench.base.schema.fields import OPEN
from workbench.client.calls.base import context_of
from workbench.sandbox.control_records import StoredRecord
from workbench.sandbox.controls import perform
from workbench.screens.forms.offers import Offer, after_call, done
from workbench.screens.forms.widgets import Later, after, button, close, close_soon, line, row
from workbench.service import rendering
from workbench.service.rendering.elements import isolated

REVEAL_SECONDS = 60.0
_MAX_EVENTS = 20


class Reveal:
    """Private values of a record, shown for a minute. The journal records this, and notebooks store no values."""

    def __init__(self, record: object, api: Any, box: Any, *, later: Later = after) -> None:
        names = sorted(private(record))
        what = f"{type(record).__name__} {getattr(record, 'id', '') or ''}"
        context_of(api).note("revealed", f"{what}: {', '.join(names)} for {REVEAL_SECONDS:.0f} s")
        self._card = ipywidgets.HTML(rendering.html(record, reveal=names)).add_class("wb-revealed")
        note = line("advice", f"Shown for {REVEAL_SECONDS:.0f} seconds; recorded in the journal.")
        self._box = box
        box.children = (ipywidgets.HTML(note), self._card, button("Hide now", self.hide))
        self.shown = True
        self._timer = later(REVEAL_SECONDS, self.hide)

    def hide(self) -> None:
        """Remove the values from the screen and from the widget state."""
        if self.shown:
            self.shown = False
            self._timer.cancel()
            self._card.value = ""
            widgets, self._box.children = self._box.children, ()
            close(*widgets)


class AnswerCard:
    """Widgets that show the answer to a form's call.

    Args:
        form: The form, which opens further forms and records and shows errors.
        mark: Position of the inbox before the call; None without an inbox.
        entry: Id of the call in the journal.
    """

    def __init__(self, form: Any, request: Any, answer: Any, *, mark: int | None, entry: str | None) -> None:
        self.reveal: Reveal | None = None
        self.events = ipywidgets.HTML().add_class("wb-events")
        self._form, self._answer, self._mark = form, answer, mark
        api, operation = form.api, form.operation.name
        # only `wb.withdrawals` may return a signature
        self.may_reveal = operation != "sign_withdrawal" and bool(private(answer))
        self._more, self._shown = ipywidgets.VBox(), ipywidgets.VBox()
        self._steps = partial(after_call, operation, request, answer, api)
        actions = []
        if mark is not None:
            actions.append(button("Check for events again", lambda: form.view.guard(self.check_events)))
        if self.may_reveal:
            actions.append(button(f"Show private values for {REVEAL_SECONDS:.0f} s", self.show_private))
        actions.append(button("New form", lambda: self._add(form.open(operation, {}))))
        self._lasting = tuple(actions)
        self._actions = row()
        self._became = ipywidgets.HTML()
        sent = f"Sent to {api.environment.upper()}." + (f" Journal: {entry}" if entry else "")
        self.widget = ipywidgets.VBox(
            [
                ipywidgets.HTML(line("ok", sent)),
                self._became,
                ipywidgets.HTML(rendering.html(answer)).add_class("wb-answer-card"),
                self._actions,
                self._shown,
                self.events,
                self._more,
            ]
        )
        self.offer_steps()
        form.view.guard(self.check_events)

    def offer_steps(self, said: str = "") -> None:
        """Show a sentence about the last action, and offer the actions that the record's state allows."""
        self._became.value = line("ok", f"{said}.") if said else ""
        before = self._actions.children
        self._actions.children = (*(self._step(*offer) for offer in self._steps()), *self._lasting)
        close_soon([step for step in before if step not in self._lasting])

    def _step(self, offer: Offer, arguments: dict[str, Any]) -> Any:
        form, api = self._form, self._form.api

        def show() -> None:
            self._add(form.show_thing(offer.do, arguments["id"]) if offer.opens else form.open(offer.do, arguments))

        def use() -> None:
            """Call a control of the sandbox once, then show the resulting events and next steps."""
            step_button.disabled = True
            with form.acting():
                answer = perform(api.sandbox, offer.do, {**arguments, **offer.extra})
            said = done(offer.do, answer)
            self.offer_steps(said)
            self.check_events()
            form.when_done(said)

        act, name, tooltip = (use, "wb-control", "A control of the sandbox") if offer.control else (show, "", "")
        step_button = button(offer.label, lambda: form.view.guard(act), name, tooltip)
        return step_button

    def _add(self, shown: object) -> None:
        """Add a form or record below the answer. None means that the form or record is already shown elsewhere."""
        self._more.children = (*self._more.children, *([] if shown is None else [shown]))

    def show_private(self) -> None:
        """Show the private values of the answer for a minute."""
        self.hide_private()
        self.reveal = Reveal(self._answer, self._form.api, self._shown)

    def hide_private(self) -> None:
        """Hide the private values of the answer."""
        if self.reveal is not None:
            self.reveal.hide()

    def check_events(self) -> None:
        """Show the events that arrived since the call."""
        if self._mark is None:
            return
        events = self._form.api.inbox.events(since=self._mark)
        lines = [f"<div><strong>Events that followed: {len(events)}</strong></div>"]
        for event in events[:_MAX_EVENTS]:  # each line expands to the event's card
            title = f"<strong>{isolated(visible(event.kind, 80))}</strong> {isolated(visible(event.id, 80))}"
            lines.append(f'<details class="wb-event"><summary>{title}</summary>{rendering.html(event)}</details>')
        self.events.value = "".join(lines) if events else line("quiet", "No events yet.")


def private(thing: object) -> set[str]:
    """Return the dotted names of a record's private values, which are masked until they are revealed."""
    if isinstance(thing, StoredRecord):
        shown = thing.shown()
        return {name for name, value in thing.items() if shown.get(name) != value}
    leaves = walk.leaves(type(thing)) if walk.is_record(thing) else ()
    paths = (path for path, leaf in leaves if leaf.about.privacy is not OPEN)
    return {path for path in paths if not isinstance(walk.get_path(thing, path), tuple | NoneType)}
