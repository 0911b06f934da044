"""The sending of a form: once, whoever asks, and what is kept or forgotten afterwards."""

import threading
import warnings
from collections.abc import Callable
from html import escape
from typing import Any

from workbench import rendering
from workbench.client.advice import AdviceWarning
from workbench.errors import DuplicateSuspected, InvalidRequest, NotArmed, OutcomeUnknown, Problem, WorkbenchError
from workbench.forms import following
from workbench.forms.answers import AnswerCard
from workbench.forms.heads import problem
from workbench.forms.page import Page, State
from workbench.forms.still import below, close_soon
from workbench.rendering.markup import isolated


class Sending(Page):
    """A page that sends what its draft holds."""

    answer: Any
    error: WorkbenchError | None
    when_done: Callable[[], None] | None = None
    """Called after an answer came, as by a panel that shows what there is now."""
    _lock: threading.Lock
    _entry: str | None = None  # of the journal, for the last call

    def submit(self, *, typed: str | None = None) -> Any:
        """Send it, once, and give the answer. Afterwards what was typed is forgotten and the inputs are closed.

        Args:
            typed: In production, what `asks` wants typed before a call that cannot be undone.

        Raises:
            InvalidRequest: Something is wrong, was not typed, or the form was sent before; nothing was sent.
            WorkbenchError: As the call.
        """
        __tracebackhide__ = True
        with self._lock:  # one call of a form at a time, whoever asks
            self._open_or_refuse()
            self._attempted = True
            self._refresh()
            record = self.draft.value()
            asked = self.asks
            if asked is not None and (typed if typed is not None else self._typed.value) != asked.types:
                wanted = Problem("", "confirm", f"{asked.says}: type {asked.types} to go on")
                raise InvalidRequest([wanted], of=self.operation.name)
            self._sending(True)
        mark = self._mark()
        before = self._last_entry()
        try:
            answer = self._caller().send(record)
        except BaseException as error:
            self._failed(error, before)
            raise
        self._done(record, answer, mark, before)
        return answer

    def _clicked(self, button: Any) -> None:
        if button is not self.button or self.state != "open":
            return
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            self._guard(self.submit)
        advice = [str(one.message) for one in noted if issubclass(one.category, AdviceWarning)]
        if advice:
            self._error.value += "".join(f'<div class="wb-advice">! {isolated(text)}</div>' for text in advice)

    def _guard(self, act: Callable[[], Any]) -> None:
        """Do what a widget asks for; what goes wrong is shown in the form, without a private value."""
        self._error.value = ""
        try:
            act()
        except WorkbenchError as error:
            self._show(error)
        except Exception as error:  # noqa: BLE001 - a widget's callback would lose it: it is shown by its kind
            self._error.value = problem(
                f"an unexpected {type(error).__name__} of the workbench itself; the form is as it was"
            )

    def _show(self, error: WorkbenchError) -> None:
        self.error = error
        entry = self._entry
        said = f'<div class="wb-quiet">Journal: {escape(entry)}</div>' if entry else ""
        self._error.value = f'<div role="alert">{rendering.html(error)}</div>{said}'

    def _caller(self) -> Any:
        return self._api.allowing(**dict.fromkeys(self.draft.ticks, True)) if self.draft.ticks else self._api

    def _sending(self, on: bool) -> None:
        self.state = "sending" if on else "open"
        self.button.disabled = on

    def _mark(self) -> int | None:
        inbox = getattr(self._api, "inbox", None)
        mark: int | None = inbox.mark() if inbox is not None else None
        return mark

    def _last_entry(self) -> str | None:
        if not self.operation.effect or self._api.info()["journal"] == "none":
            return None
        found = self._api.journal.list(operation=self.operation.name)
        return found[-1].id if found else None

    def _note_entry(self, before: str | None) -> None:
        last = self._last_entry()
        self._entry = last if last != before else None

    def _failed(self, error: BaseException, before: str | None) -> None:
        if isinstance(error, OutcomeUnknown):
            self._entry = error.attempt.id
            self.error = error
            self._finish("unknown")
            self._still.update(self.html, repr(self))
            self._show(error)
            return
        self._note_entry(before)
        self._sending(False)
        self._fresh_button()
        if not isinstance(error, InvalidRequest | NotArmed | DuplicateSuspected):  # it left, or tried to
            self.draft.clear_private()
            self._entries.forget()
        self._refresh()
        if isinstance(error, DuplicateSuspected):
            self._ticks["again"].layout.display = None

    def _done(self, record: Any, answer: Any, mark: int | None, before: str | None) -> None:
        self.answer = answer
        self.error = None
        self._note_entry(before)
        self._finish("done")
        self._error.value = ""
        steps = following.steps(self.operation.name, record, answer)
        self.card = AnswerCard(self, answer, mark, self._entry, steps)
        self._answer_box.children = [self.card.widget]
        self._still.update(self.html, repr(self))
        if self.when_done is not None:
            self.when_done()

    def _finish(self, state: State) -> None:
        self._clear()
        self.state = state
        self._beside.spent()
        spent = [widget for widget in below(self._inputs) if widget is not self._inputs]
        self._inputs.children = ()
        close_soon(spent)
        self._inputs.layout.display = "none"

    def _clear(self) -> None:
        """Forget every value, in the draft and in the widgets."""
        self.draft.clear()
        if self.state in ("open", "sending"):
            self._entries.clear()
            self._silently(self._typed, "")

    def _open_or_refuse(self) -> None:
        words = {
            "sending": "a call of this form is in the air",
            "done": "this form was sent and is spent; form(…) makes a new one",
            "unknown": "this form was sent, and how it ended is unknown; it is not sent again",
            "closed": "this form is closed; form(…) makes a new one",
        }.get(self.state)
        if words:
            raise InvalidRequest([Problem("", "spent", words)], of=self.operation.name)
