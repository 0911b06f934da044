"""A form for one call: filled by a person or from code, checked while it is filled, sent once."""

import threading
import warnings
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from workbench import faces
from workbench.client.advice import AdviceWarning
from workbench.client.calls import Calls
from workbench.client.client import AsyncClient
from workbench.client.guards import Confirmation, confirmation
from workbench.errors import (
    DuplicateSuspected,
    InvalidArguments,
    InvalidRequest,
    NotArmed,
    OutcomeUnknown,
    Problem,
    WorkbenchError,
)
from workbench.faces.markup import isolated
from workbench.forms import following, heads, ways
from workbench.forms.answers import AnswerCard
from workbench.forms.draft import TICKS, Draft
from workbench.forms.heads import problem
from workbench.forms.page import Page, State
from workbench.forms.script import Script
from workbench.forms.still import below, bundle, close_soon, shell
from workbench.interface import walk
from workbench.interface.operation import Call


def form(call: Any, *, script: Script | None = None, **values: Any) -> "Form":
    """Give a form for an operation of a client: `form(api.create_user_application)`. Nothing is sent by making one.

    Args:
        script: Where "add to sequence" puts the step; one of its own where left out.
        values: What is known already, as `fill` takes it.
    """
    __tracebackhide__ = True
    made = Form(call, script=script)
    if values:
        made.fill(**values)
    return made


class Form(Page):
    """A form. From code: `fill(…)`, `problems`, `value`, `submit()`, `close()`; in a notebook it is shown as widgets."""

    def __init__(self, call: Any, *, script: Script | None = None) -> None:
        if not isinstance(call, Call) or not isinstance(call.client, Calls):
            raise InvalidArguments("form() takes an operation of a client, as form(api.simulate_refund)", of="form")
        if isinstance(call.client, AsyncClient):
            raise InvalidArguments("a form calls a Client or a session; an AsyncClient is for code", of="form")
        if not walk.members(call.operation.request):
            raise InvalidArguments(f"{call.operation.name} takes no arguments: just call it", of="form")
        self.operation = call.operation
        self.script = Script() if script is None else script
        self.state: State = "open"
        self.answer: Any = None
        self.error: WorkbenchError | None = None
        self.draft = Draft(call.operation)
        self._api: Any = call.client
        self._attempted = False
        self._refused: dict[str, str] = {}  # where a private key was taken away, and what was said
        self._lock = threading.Lock()
        self._build()

    # from code

    def fill(self, **values: Any) -> "Form":
        """Give values by the names of the operation's arguments, nested ones as mappings; None leaves one out.

        Raises:
            InvalidArguments: A name is none of the operation's.
            InvalidRequest: A value looks like a private key; nothing was taken.
        """
        __tracebackhide__ = True
        self._open_or_refuse()
        held = [values]
        del values
        self.draft.fill(held.pop())
        for path, field in self.fields.items():
            field.show(self.draft.given.get(path))
        for alternative, chooser in self._choosers.items():
            number = self.draft.chosen[alternative]
            self._silently(chooser, -1 if number is None else number)
        self._refresh()
        return self

    def allow(self, *names: str) -> "Form":
        """Tick what has to be allowed on purpose: "masked_value", "unusual_text", "partial_address", "again"."""
        unknown = [name for name in names if name not in TICKS]
        if unknown:
            raise InvalidArguments(f"allow() takes {', '.join(TICKS)}", of="allow")
        self.draft.ticks.update(names)
        self._refresh()
        return self

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All that stands in the way of sending."""
        return self.draft.problems()

    @property
    def value(self) -> Any:
        """The request, checked.

        Raises:
            InvalidRequest: Anything is wrong.
        """
        __tracebackhide__ = True
        self._open_or_refuse()
        return self.draft.value()

    @property
    def asks(self) -> Confirmation | None:
        """What has to be typed before this call in production; None where nothing has."""
        if self._api.environment != "production" or self.draft.problems():
            return None
        return confirmation(self.operation, self.draft.record())

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
                problem = Problem("", "confirm", f"{asked.says}: type {asked.types} to go on")
                raise InvalidRequest([problem], of=self.operation.name)
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

    def close(self) -> None:
        """Forget what was typed and close every widget."""
        if self.state == "closed":
            return
        self._clear()
        self.state = "closed"
        if self.card is not None:
            self.card.close()
        for widget in below(self.widget):
            widget.close()

    def put_in_cell(self) -> str:
        """Put the call as Python into a new cell below the one that runs; give its text. Private values are masked."""
        text = ways.python(self.draft) if self.state != "done" else self._texts["Python"]
        kernel = shell()
        if kernel is not None:
            kernel.set_next_input(text)
        return text

    def add_to_sequence(self) -> str:
        """Add the call as a step to `script`; give the step's name. Private values become parameters of the run."""
        self._open_or_refuse()
        return self.script.add(ways.step(self.draft))

    @property
    def ways(self) -> Mapping[str, str]:
        """The same call as Python, terminal command, curl and sequence step, private values masked."""
        return dict(self._texts)

    # sending

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
        self._error.value = f'<div role="alert">{faces.html(error)}</div>{said}'

    _entry: str | None = None

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
        found = self._api.journal.find(operation=self.operation.name)
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
        if isinstance(error, DuplicateSuspected):
            self._ticks["again"].layout.display = None
        if not isinstance(error, InvalidRequest | NotArmed | DuplicateSuspected):  # it left, or tried to
            self.draft.clear_private()
            self._sync()
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

    def _finish(self, state: State) -> None:
        self._clear()
        self.state = state
        self._add.disabled = True
        spent = [widget for widget in below(self._inputs) if widget is not self._inputs]
        self._inputs.children = ()
        close_soon(spent)
        self._inputs.layout.display = "none"

    def _clear(self) -> None:
        """Forget every value, in the draft and in the widgets."""
        self.draft.clear()
        if self.state in ("open", "sending"):
            for field in self.fields.values():
                field.clear()
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

    # how it is shown

    @property
    def html(self) -> str:
        """The form, or what came of it, as static HTML: for viewers without widgets, and for notebooks opened again."""
        return heads.static(self)

    def _ipython_display_(self) -> None:
        if self.state == "closed":
            print(repr(self))  # noqa: T201 - what a cell ends in is printed
            return
        self._still.display(self.widget, self.html, repr(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.widget, self.html, repr(self))

    def __repr__(self) -> str:
        given = len(self.draft.given)
        return f"<form {self.operation.name} in {self._api.environment}, {self.state}: {given} values, {len(self.problems)} problems>"

    def __reduce_ex__(self, _: Any) -> Any:
        raise TypeError("a form is not pickled: it holds what was typed")
