"""The widgets of a form, and what they say while it is filled."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from html import escape
from typing import Any, Literal

import ipywidgets

from workbench import rendering
from workbench.client.effects import what
from workbench.client.guards import Confirmation
from workbench.errors import InvalidRequest, Problem
from workbench.forms import heads, style, ways
from workbench.forms.answers import AnswerCard
from workbench.forms.arming import arming_box
from workbench.forms.beside import CallPreview
from workbench.forms.draft import TICKS, Draft
from workbench.forms.fields import EMPTY_HINT, Field, Said
from workbench.forms.heads import problem
from workbench.forms.inputs import Inputs
from workbench.forms.outline import Alternative
from workbench.forms.reading import in_words
from workbench.forms.script import Script
from workbench.forms.still import StaticView, close_soon
from workbench.rendering.markup import isolated

State = Literal["open", "sending", "done", "unknown", "closed"]


class Page(ABC):
    """What a person sees of a form. It shows a draft and changes it; sending is the form's."""

    operation: Any  # an Operation; declared as one in a class, it would be a method
    draft: Draft
    script: Script
    state: State
    _api: Any
    _attempted: bool
    _refused: dict[str, str]  # where a private key was taken away, and what was said
    _quiet = False

    @property
    @abstractmethod
    def asks(self) -> Confirmation | None:
        """What has to be typed before this call in production."""

    @property
    @abstractmethod
    def html(self) -> str:
        """The form, or what came of it, as static HTML."""

    @abstractmethod
    def put_in_cell(self) -> str:
        """Put the call as Python into a new cell."""

    @abstractmethod
    def add_to_sequence(self) -> str:
        """Add the call as a step."""

    @abstractmethod
    def _clicked(self, button: Any) -> None: ...

    @abstractmethod
    def _guard(self, act: Callable[[], Any]) -> None: ...

    # what it is made of

    def _build(self) -> None:
        operation, api = self.operation, self._api
        production = api.environment == "production"
        self._entries = Inputs(
            self.draft, changed=self._changed, accepted=self._accepted,
            chosen=lambda alternative, number: self._guard(lambda: self._choose(alternative, number)),
        )  # fmt: skip
        self.fields: dict[str, Field] = self._entries.fields
        self._choosers = self._entries.choosers
        self.card: AnswerCard | None = None
        self._still = StaticView()
        self._head = ipywidgets.HTML(heads.head(operation, api)).add_class("wb-head")
        self._summary = ipywidgets.HTML().add_class("wb-summary")
        self._error = ipywidgets.HTML().add_class("wb-error")
        self._typed = ipywidgets.Text(description="Type to confirm").add_class("wb-typed")
        self._typed.style.description_width = "initial"
        self._ticks = {name: self._tick(name, words) for name, words in TICKS.items()}
        self._arming = arming_box(operation.name, self._arm) if production and operation.effect else None
        self._sender = ipywidgets.HBox([self._button()]).add_class("wb-row-actions")
        self._beside = CallPreview(put=self.put_in_cell, add=self._added, guard=self._guard)
        self._answer_box = ipywidgets.VBox().add_class("wb-answer")
        hint = f'<div class="wb-quiet">Nothing is sent before you press the button. {escape(EMPTY_HINT)}</div>'
        self._inputs = ipywidgets.VBox([
            ipywidgets.HTML(hint), *self._entries.widgets, *self._ticks.values(),
            *([self._arming] if self._arming else []), self._summary, self._typed, self._sender,
        ])  # fmt: skip
        self.widget = ipywidgets.VBox([
            style.sheet(), self._still.rule, self._head, self._inputs, self._error, self._answer_box,
            self._beside.widget,
        ])  # fmt: skip
        for name in ("wb-room", "wb-form", f"wb-form-{operation.name.replace('_', '-')}"):
            self.widget.add_class(name)
        if production:
            self.widget.add_class("wb-production")
        self._refresh()

    def _button(self) -> Any:
        live = self._api.environment == "production"
        words = f"{rendering.label(self.operation.name).capitalize()} in {self._api.environment.upper()}"
        made = ipywidgets.Button(description=words, button_style="" if live else "primary")
        made.add_class("wb-send").on_click(self._clicked)
        made.tooltip = words
        if live:
            made.add_class("wb-live")
        self.button = made
        return made

    def _fresh_button(self) -> None:
        """Put a new button in place of the old one, so that clicks still under way to the old one do nothing."""
        old = self.button
        old.on_click(self._clicked, remove=True)
        self._sender.children = [self._button()]
        close_soon([old])

    def _tick(self, name: str, words: str) -> Any:
        made = ipywidgets.Checkbox(value=False, indent=False, description=words)
        made.layout.display = "none"
        made.layout.width = "100%"
        made.add_class("wb-tick").add_class(f"wb-allow-{name.replace('_', '-')}")

        def ticked(change: Any) -> None:
            if not self._quiet:
                (self.draft.ticks.add if change["new"] else self.draft.ticks.discard)(name)
                self._refresh()

        made.observe(ticked, "value")
        return made

    def _silently(self, widget: Any, value: Any) -> None:
        self._quiet = True
        try:
            widget.value = value
        finally:
            self._quiet = False

    # what a person does to it

    def _arm(self, minutes: Any, reason: str) -> None:
        def arm() -> None:
            self._api.arm(operations={self.operation.name}, minutes=minutes, reason=reason)
            self._refresh()

        self._guard(arm)

    def _added(self) -> str:
        name = self.add_to_sequence()
        return f"Step {name} is in {self.script.called}, which has {len(self.script.sequence.steps)} now."

    def _choose(self, alternative: Alternative, number: int | None) -> None:
        self.draft.choose(alternative, number)
        self._entries.forget()
        self._refresh()

    def _changed(self, path: str, value: Any) -> None:
        held = [value]
        del value
        self._guard(lambda: self._take(path, held.pop()))

    def _take(self, path: str, value: Any) -> None:
        if self.state != "open":
            return
        held = [value]
        del value
        self._refused.pop(path, None)
        try:
            self.draft.put(path, held.pop())
        except InvalidRequest as error:
            self.draft.put(path, None)
            self.fields[path].show(None)
            self._refused[path] = error.problems[0].message
        self.draft.settle(path)
        self._entries.forget(but=path)
        self._refresh()

    def _accepted(self, path: str, yes: bool) -> None:
        (self.draft.accepted.add if yes else self.draft.accepted.discard)(path)
        self._refresh()

    # what it says

    def _refresh(self) -> None:
        """Put beside each input what is to be said of it now."""
        if self.state not in ("open", "sending"):
            return
        record = self.draft.record()
        problems = self.draft.problems()
        at = _by_path(problems)
        advised = _by_path(self.draft.advice())
        for path, field in self.fields.items():
            wire = field.leaf.wire
            field.visible(self.draft.shown(path))
            field.needed(self.draft.wanted(path))
            field.say(self._said(field, at.get(wire, []), [one.message for one in advised.get(wire, [])], record))
        self._entries.head(at, attempted=self._attempted)
        self._offer_ticks(problems)
        self._tell(problems, record)
        self._beside.tell({
            "Python": ways.python(self.draft), "Terminal": ways.terminal(self.draft),
            "curl": ways.curl(self.draft, self._api), "Sequence step": ways.toml(self.draft),
        })  # fmt: skip

    def _offer_ticks(self, problems: tuple[Problem, ...]) -> None:
        """Show the ticks that would allow what now stands in the way, and those that are set."""
        rules = {one.rule for one in problems}
        partial = any(one.rule == "required" and "address" in one.path.lower() and "." in one.path for one in problems)
        if partial and any(one.member is not None and one.member.about.partial for one in self.draft.sections):
            rules.add("partial_address")
        for name, tick in self._ticks.items():
            tick.layout.display = None if name in rules | self.draft.ticks else "none"
            if tick.value != (name in self.draft.ticks):
                self._silently(tick, name in self.draft.ticks)

    def _said(self, field: Field, problems: list[Problem], advice: list[str], record: Any) -> Said:
        path, one = field.leaf.path, field.leaf.member
        if path in self._refused:
            return Said(problems=(self._refused[path],))
        value = self.draft.given.get(path)
        told = [
            p.message for p in problems if self._attempted or (field.touched and p.rule != "tick") or value is not None
        ]
        holder = _holder(record, path)
        words = "" if value is None or (self.draft.private(path) and value != "") else in_words(one, value, holder)
        return Said(words=words, problems=tuple(told), advice=tuple(advice))

    def _tell(self, problems: tuple[Problem, ...], record: Any) -> None:
        """Say above the button what sending will do, or what is still missing."""
        armed = self._api.armed
        needs_arming = self._arming is not None and not (armed and self.operation.name in armed.operations)
        if self._arming is not None:
            self._arming.layout.display = None if needs_arming else "none"
        if problems:
            said = _missing(problems, attempted=self._attempted)
        else:
            will = what(self.operation, record)
            said = f"<div>Sends, in {self._api.environment.upper()}: {isolated(will)}</div>"
        asked = self.asks
        self._typed.layout.display = None if asked is not None else "none"
        if asked is not None:
            said += f'<div class="wb-problem">{isolated(asked.says)}. Type {isolated(asked.types)} to go on.</div>'
        self._summary.value = said
        self.button.disabled = self.state == "sending" or needs_arming


def _by_path(problems: tuple[Problem, ...]) -> dict[str, list[Problem]]:
    found: dict[str, list[Problem]] = {}
    for one in problems:
        found.setdefault(one.path, []).append(one)
    return found


def _missing(problems: tuple[Problem, ...], *, attempted: bool) -> str:
    lines = [problem(one.message) for one in problems if not one.path] if attempted else []
    count = f"{len(problems)} thing{'s' if len(problems) != 1 else ''} to mend or to fill in before it can be sent."
    listed = ", ".join(dict.fromkeys(one.path or "the whole" for one in problems[:8]))
    more = " …" if len(problems) > 8 else ""
    return "".join([*lines, f'<div class="wb-quiet">{count} {isolated(listed)}{more}</div>'])


def _holder(record: Any, path: str) -> Any:
    for name in path.split(".")[:-1]:
        record = getattr(record, name, None)
    return record
