"""Form for one call. A person or code fills in the form, which checks the values as they are typed and sends once."""

import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from workbench.base.arguments import hide_arguments
from workbench.base.errors import (
    AdviceWarning,
    DuplicateSuspected,
    InvalidRequest,
    NotArmed,
    OutcomeUnknown,
    Problem,
    UnreadableEffect,
    UsageError,
    WorkbenchError,
)
from workbench.base.remedies import word, worded_for
from workbench.base.schema import walk
from workbench.client.calls.base import BaseClient, journal_of
from workbench.client.calls.client import refuse_async
from workbench.client.webhooks.inbox import last_event
from workbench.screens.forms.answers import AnswerCard
from workbench.screens.forms.draft import TICKS, Draft, Review
from workbench.screens.forms.fields import help_of
from workbench.screens.forms.offers import done
from workbench.screens.forms.snippets import SNIPPETS, Script
from workbench.screens.forms.view import FormView, State
from workbench.screens.forms.widgets import Displayed, line
from workbench.service import rendering
from workbench.service.interface.effects import Confirmation
from workbench.service.interface.table import Call

word("form", {"again": "tick “again” to send it again", "allow": "tick it below to send it"})

_CLOSED = {
    "sending": "a request of this form is in flight",
    "done": "this form was already sent; form(…) creates a new one",
    "unknown": "this form was sent with an unknown outcome and is not sent again",
    "closed": "this form is closed; form(…) creates a new one",
}
MAX_LIVE = 20
"""Number of submitted forms that keep their widgets; older forms become static HTML."""
_submitted: deque[weakref.ref["Form"]] = deque()


class Form(Displayed):
    """A form for one call. From code, use `fill(…)`, `problems`, `value`, `submit()` and `close()`.

    Notebooks show the form as widgets.

    The form consists of a `draft` with the values and a `view` with the widgets.
    """

    def __init__(
        self,
        call: object,
        *,
        script: Script | None = None,
        choices: Callable[[str], Mapping[str, Any]] = lambda _: {},
    ) -> None:
        if not isinstance(call, Call) or not isinstance(call.client, BaseClient):
            raise UsageError("form() takes an operation of a client, as form(api.simulate_refund)", of="form")
        refuse_async(call.client, "form")
        if not walk.members(call.operation.request):
            raise UsageError(f"{call.operation.name} has no arguments; call it directly", of="form")
        self._choices = choices  # possible values by label, for each argument
        self.operation = call.operation
        """The operation that the form calls."""
        self.script = Script() if script is None else script
        self.draft = Draft(call.operation)
        self.answer: Any = None
        self.error: WorkbenchError | None = None
        self.acting: Callable[[], AbstractContextManager[None]] = nullcontext
        """Function that returns a context for the request, in which a panel prepares to undo the call."""
        self.when_done: Callable[[str], None] = lambda _: None
        """Function that is called after an answer, with a description of the action. A panel then updates its lists."""
        self.opened: list[Any] = []
        """Forms and panels that were opened from the answer."""
        self.show_thing: Callable[[str, str], Any] = lambda *_: None
        """Function that opens an item of a list in the form's panel, or else returns the widget of a new panel."""
        self.api: Any = call.client
        """The client or session that the form calls."""
        self._lock = threading.Lock()
        self.view = FormView(self.draft, call.client, self.script, self._send_clicked, choices)
        self.widget = self.view.widget

    @property
    def state(self) -> State:
        """The state: "open", "sending", "done", "unknown" (sent, outcome unknown) or "closed"."""
        return self.view.state

    @hide_arguments
    def fill(self, **values: object) -> "Form":
        """Set values by the names of the operation's arguments. Nested values are mappings; None omits a value.

        Raises:
            UsageError: The operation has no argument of that name, or a value looks like a private key. Nothing was
                set.
        """
        self._check_open()
        self.draft.fill(values)
        self.view.inputs.show()
        self.view.refresh()
        return self

    def allow(self, *names: str) -> "Form":
        """Allow exceptions that are refused by default: "masked_value", "unusual_text", "partial_address", "again"."""
        if not set(names) <= set(TICKS):
            raise UsageError(f"allow() takes {', '.join(TICKS)}", of="allow")
        self.draft.ticks.update(names)
        self.view.refresh()
        return self

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems that prevent sending."""
        return self.draft.problems()

    @property
    def value(self) -> Any:
        """The current request, after its rules were checked.

        Raises:
            InvalidRequest: The form has problems.
        """
        self._check_open()
        return self._checked(self.draft.review())

    def _checked(self, review: Review) -> Any:
        if review.problems:
            raise InvalidRequest(review.problems, of=self.operation.name)
        return review.record

    @property
    def asks(self) -> Confirmation | None:
        """Text to type before this call in production; None if not required."""
        return self.view.asks(self.draft.review())

    @property
    def snippets(self) -> Mapping[str, str]:
        """Return the call as "Python", "Terminal" command, "curl" and "Sequence step", with private values masked."""
        return {name: self.view.snippets.text(name) for name in SNIPPETS}

    def put_in_cell(self) -> str:
        """Insert the call as Python into a new cell below the current or next running cell; return its text."""
        return self.view.snippets.put_in_cell()

    def add_to_sequence(self) -> str:
        """Add the call as a step to `script`; private values become parameters. Return the name of the step."""
        self._check_open()
        return self.view.snippets.add_to_sequence()

    def submit(self, *, typed: str | None = None) -> Any:
        """Send the request once, and return the answer.

        If the call is done or its outcome is unknown, all values are discarded and the inputs are closed.

        Args:
            typed: The confirmation text of `asks`, required in production for a destructive call.

        Raises:
            InvalidRequest: The form has problems, was not confirmed, or was sent before. Nothing was sent.
            WorkbenchError: The call failed.
        """
        with self._lock:  # a form runs one call at a time
            self._check_open()
            self.view.attempted = True
            review = self.draft.review()
            self.view.refresh(review)
            self._checked(review)
            asked = self.view.asks(review)
            if asked is not None and (typed if typed is not None else self.view.typed.value) != asked.types:
                wanted = Problem("", "confirm", f"{asked.says}: type {asked.types} to confirm")
                raise InvalidRequest([wanted], of=self.operation.name)
            self.view.state, self.view.button.disabled = "sending", True
        inbox, before = getattr(self.api, "inbox", None), self._last_entry()
        mark = None if inbox is None else last_event(inbox)
        api = self.api.allowing(**dict.fromkeys(self.draft.ticks, True)) if self.draft.ticks else self.api
        try:
            with self.acting():
                answer = api.send(review.record)
        except BaseException as error:
            self._failed(error, self._last_entry(before))
            raise
        self._done(review.record, answer, mark, self._last_entry(before))
        return answer

    def _last_entry(self, before: str | None = None) -> str | None:
        """Return the journal id of the operation's last call; None if this id equals `before`."""
        journal = journal_of(self.api)
        entries = journal.list(operation=self.operation.name) if journal is not None and self.operation.effect else ()
        return entries[-1].id if entries and entries[-1].id != before else None

    def close(self) -> None:
        """Discard all values and close all widgets, including the forms opened from the answer."""
        if self.state != "closed":
            for form in self.opened:
                form.close()
            self.view.close()

    @property
    def html(self) -> str:
        """The form or its answer as static HTML, for viewers without widgets and for reopened notebooks."""
        if self.state == "done":
            text = "<div>The form was sent. Answer:</div>" + rendering.html(self.answer)
        elif self.state == "unknown" and self.error is not None:
            text = rendering.html(self.error)
        else:
            rows = [
                {"field": leaf.path, "description": help_of(leaf.member), "required": leaf.member.required}
                for leaf in self.draft.leaves.values()
            ]
            text = "<div>Nothing was sent. Run the cell for a live form.</div>" + rendering.html_table(rows)
        return str(self.view.head.value) + text

    @worded_for("form")
    def _send_clicked(self) -> None:
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            self.view.guard(self.submit)
        advice = [str(entry.message) for entry in noted if issubclass(entry.category, AdviceWarning)]
        self.view.error.value += "".join(line("advice", text) for text in advice)
        if self.state == "open":
            self.view.focus_problem()

    def _failed(self, error: BaseException, entry: str | None) -> None:
        view = self.view
        view.entry = entry
        if isinstance(error, WorkbenchError):
            self.error = error
        if isinstance(error, OutcomeUnknown):
            view.finish("done" if isinstance(error, UnreadableEffect) else "unknown")
            view.show_error(error)
            self.update_static()
            self._make_earlier_static()
            return
        view.state = "open"
        view.replace_button()
        # after any other error, the request may have been sent, so secret values must be typed again
        if not isinstance(error, UsageError | InvalidRequest | NotArmed | DuplicateSuspected):
            self.draft.clear_secrets()
            view.inputs.sync()
        view.refresh()
        if isinstance(error, DuplicateSuspected):
            view.offer("again")

    def _done(self, request: object, answer: object, mark: int | None, entry: str | None) -> None:
        self.answer, self.error = answer, None
        self.view.finish("done")
        self.view.show_card(AnswerCard(self, request, answer, mark=mark, entry=entry))
        self.update_static()
        self._make_earlier_static()
        self.when_done(done(self.operation.name, answer))

    def _make_earlier_static(self) -> None:
        """Beyond `MAX_LIVE` submitted forms, make the oldest static, unless a form opened from its answer is in use."""
        _submitted.append(weakref.ref(self))
        earlier = _submitted.popleft()() if len(_submitted) > MAX_LIVE else None
        if earlier is None or earlier.state == "closed":
            return
        if any(getattr(form, "state", "open") in ("open", "sending") for form in earlier.opened):
            _submitted.append(weakref.ref(earlier))
        else:
            earlier.view.make_static(earlier.html)

    def open(self, name: str, values: Mapping[str, Any]) -> Any:
        """Open a form for another operation, or for the same operation again, and return the form's widget."""
        form = Form(getattr(self.api, name), script=self.script, choices=self._choices)
        if values:
            form.fill(**values)
        form.acting, form.show_thing = self.acting, self.show_thing
        form.when_done = self._followed
        self.opened.append(form)
        return form.view.widget

    def _followed(self, what: str) -> None:
        """After the call of a form that was opened from the answer, offer the record's next actions."""
        if self.view.card is not None and self.state == "done":
            self.view.card.offer_steps(what)
        self.when_done(what)

    def _check_open(self) -> None:
        if self.state in _CLOSED:
            raise InvalidRequest([Problem("", "spent", _CLOSED[self.state])], of=self.operation.name)

    def __repr__(self) -> str:
        given, wrong = len(self.draft.given), len(self.problems)
        return f"<form {self.operation.name} in {self.api.environment}, {self.state}: {given} values, {wrong} problems>"

    def _ipython_display_(self) -> None:
        if self.state == "closed":
            print(repr(self))  # noqa: T201 - the cell has no widget to show
        else:
            super()._ipython_display_()

    def __reduce_ex__(self, _: object) -> Any:
        raise TypeError("a form cannot be pickled: it holds private values")
