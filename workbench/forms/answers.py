"""What came of a call: the answer as a card, the events that followed, what one may do next, and a look that passes."""

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import ipywidgets

from workbench import rendering
from workbench.errors import WorkbenchError, visible
from workbench.forms.following import Next
from workbench.forms.still import Cancellable, after
from workbench.interface import walk
from workbench.interface.events import Event
from workbench.interface.fields import OPEN
from workbench.rendering.markup import isolated
from workbench.session import sandbox_of

REVEALED = 60.0  # seconds that private values of an answer stay on the screen


class Reveal:
    """Private values of a record, on the screen for a minute. It is a widget and no output, and the journal counts it."""

    def __init__(
        self, record: Any, api: Any, box: Any, *, later: Callable[[float, Callable[[], None]], Cancellable] = after
    ) -> None:
        names = sorted(private_names(record))
        _note(
            api, f"{type(record).__name__} {getattr(record, 'id', '') or ''}: {', '.join(names)} for {REVEALED:.0f} s"
        )
        self._face = ipywidgets.HTML(rendering.html(record, reveal=names)).add_class("wb-revealed")
        hide = ipywidgets.Button(description="Hide now")
        hide.on_click(lambda _: self.hide())
        words = ipywidgets.HTML(
            f'<div class="wb-advice">! Shown for {REVEALED:.0f} seconds; noted in the journal.</div>'
        )
        self._widgets = [words, self._face, hide]
        self._box = box
        box.children = tuple(self._widgets)
        self._timer = later(REVEALED, self.hide)

    @property
    def shown(self) -> bool:
        """Whether it is still to be seen."""
        return bool(self._widgets)

    def hide(self) -> None:
        """Take it off the screen, and out of the widgets' state."""
        self._timer.cancel()
        self._face.value = ""
        self._box.children = ()
        for widget in self._widgets:
            widget.close()
        self._widgets = []


def _note(api: Any, text: str) -> None:
    if api.info()["journal"] != "none":
        api.journal.note("revealed", text)


def private_names(record: Any) -> set[str]:
    """Return the dotted names of the private members that a record has."""
    found = set()
    for path, one in walk.leaves(type(record)):
        holder = record
        for name in path.split("."):
            holder = getattr(holder, name, None)
        if holder is not None and one.about.privacy is not OPEN and not isinstance(holder, tuple):
            found.add(path)
    return found


class AnswerCard:
    """The answer of a form."""

    def __init__(
        self, form: Any, answer: Any, mark: int | None, entry: str | None, steps: list[tuple[Next, dict[str, Any]]]
    ) -> None:
        self._form = form
        self._api: Any = form._api
        self._answer = answer
        self._mark = mark
        self.reveal: Reveal | None = None
        self.opened: list[Any] = []
        said = f"Done in {form._api.environment.upper()}." + (f" Journal: {entry}" if entry else "")
        self._events = ipywidgets.HTML().add_class("wb-events")
        self._more = ipywidgets.VBox()
        self._shown = ipywidgets.VBox()
        actions = [self._next(one, arguments) for one, arguments in steps if self._possible(one)]
        if mark is not None:
            actions.append(_button("Look for events again", lambda: self.look()))
        if self._may_reveal():
            actions.append(_button("Show private values for 60 s", self._reveal))
        actions.append(_button("New form", lambda: self._open(self._form.operation.name, {})))
        self.widget = ipywidgets.VBox([
            ipywidgets.HTML(f'<div class="wb-words" role="status">✓ {escape(said)}</div>'),
            ipywidgets.HTML(rendering.html(answer)).add_class("wb-answer-card"), self._shown, self._events,
            ipywidgets.HBox(actions).add_class("wb-row-actions"), self._more,
        ])  # fmt: skip
        self.look()

    def _possible(self, one: Next) -> bool:
        return not one.control or sandbox_of(self._api) is not None

    def _next(self, one: Next, arguments: dict[str, Any]) -> Any:
        if not one.control:
            return _button(f"Next: {one.says}", lambda: self._open(one.do, arguments))
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        if one.do == "review":
            shown += ', status="approved"'
        return ipywidgets.HTML(f"<pre>api.sandbox.{escape(one.do)}({escape(shown)})</pre>")

    def _open(self, name: str, values: dict[str, Any]) -> None:
        from workbench.forms.live import form

        made = form(getattr(self._api, name), script=self._form.script, **values)
        made.when_done = self._form.when_done
        self.opened.append(made)
        self._more.children = (*self._more.children, made.widget)

    def _may_reveal(self) -> bool:
        return (
            walk.is_record(self._answer)
            and self._form.operation.name != "sign_withdrawal"  # its signature is given out by wb.withdrawals alone
            and bool(private_names(self._answer))
        )

    def _reveal(self) -> None:
        if self.reveal is not None and self.reveal.shown:
            self.reveal.hide()
        self.reveal = Reveal(self._answer, self._api, self._shown)

    def look(self) -> None:
        """Show the events that came since the call."""
        if self._mark is None:
            return
        try:
            events = self._api.inbox.events(since=self._mark)
        except WorkbenchError as error:
            self._events.value = rendering.html(error)
            return
        if events:
            self._events.value = f"<div><strong>Events that followed: {len(events)}</strong></div>" + folded(
                events[:20]
            )
        else:
            self._events.value = '<div class="wb-quiet">No event has followed yet.</div>'

    def close(self) -> None:
        """Take it off the screen."""
        if self.reveal is not None and self.reveal.shown:
            self.reveal.hide()
        for made in self.opened:
            made.close()


def folded(events: Sequence[Event]) -> str:
    """Return events as lines that open to their cards."""
    lines = []
    for event in events:
        title = (
            f"<summary><strong>{isolated(visible(event.kind, 80))}</strong> {isolated(visible(event.id, 80))}</summary>"
        )
        lines.append(f'<details class="wb-event">{title}{rendering.html(event)}</details>')
    return "".join(lines)


def _button(words: str, act: Callable[[], None]) -> Any:
    made = ipywidgets.Button(description=words)
    made.on_click(lambda _: act())
    return made
