"""A form for one call: filled by a person or from code, checked while it is filled, sent once."""

import threading
from collections.abc import Mapping
from typing import Any

from workbench.client.calls import Calls
from workbench.client.client import AsyncClient
from workbench.client.guards import Confirmation, confirmation
from workbench.errors import InvalidArguments, Problem, WorkbenchError
from workbench.forms import heads, ways
from workbench.forms.draft import TICKS, Draft
from workbench.forms.page import State
from workbench.forms.script import Script
from workbench.forms.sending import Sending
from workbench.forms.still import below, bundle, shell
from workbench.interface import walk
from workbench.interface.operation import Call


def form(call: Any, *, script: Script | None = None, **values: Any) -> "Form":
    """Return a form for an operation of a client: `form(api.create_user_application)`. Nothing is sent by making one.

    Args:
        script: Where "add to sequence" puts the step; one of its own where left out.
        values: What is known already, as `fill` takes it.
    """
    __tracebackhide__ = True
    made = Form(call, script=script)
    if values:
        made.fill(**values)
    return made


class Form(Sending):
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
        """Return values by the names of the operation's arguments, nested ones as mappings; None leaves one out.

        Raises:
            InvalidArguments: A name is none of the operation's.
            InvalidRequest: A value looks like a private key; nothing was taken.
        """
        __tracebackhide__ = True
        self._open_or_refuse()
        held = [values]
        del values
        self.draft.fill(held.pop())
        self._entries.show()
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
        """Put the call as Python into a cell below the one that runs, or that runs next; give its text, privates masked."""
        text = ways.python(self.draft) if self.state != "done" else self._beside.texts["Python"]
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
        return dict(self._beside.texts)

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
