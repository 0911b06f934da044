"""The widgets of a form, and what they say while it is filled."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from html import escape
from typing import Any, Literal

import ipywidgets

from workbench import faces
from workbench.client.effects import what
from workbench.client.guards import Confirmation
from workbench.errors import (
    InvalidRequest,
    Problem,
)
from workbench.faces.markup import isolated
from workbench.forms import heads, style, ways
from workbench.forms.answers import AnswerCard
from workbench.forms.draft import TICKS, Alternative, Draft
from workbench.forms.draft import leaves as leaves_of
from workbench.forms.fields import EMPTY_HINT, Field, Said, help_of
from workbench.forms.heads import problem
from workbench.forms.reading import in_words
from workbench.forms.script import Script
from workbench.forms.still import Still, close_soon
from workbench.interface import walk

State = Literal["open", "sending", "done", "unknown", "closed"]
_WAYS = ("Python", "Terminal", "curl", "Sequence step")


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

    def _build(self) -> None:
        operation, api = self.operation, self._api
        production = api.environment == "production"
        self.fields: dict[str, Field] = {}
        self._sections: dict[str, Any] = {}
        self._titles: dict[str, Any] = {}
        self._notes: dict[str, Any] = {}
        self._choosers: dict[Alternative, Any] = {}
        self.card: AnswerCard | None = None
        self._texts: dict[str, str] = {}
        self._still = Still()
        self._head = ipywidgets.HTML(heads.head(operation, api)).add_class("wb-head")
        top = [self._section(section.path) for section in self.draft.sections if not section.path]
        self._summary = ipywidgets.HTML().add_class("wb-summary")
        self._error = ipywidgets.HTML().add_class("wb-error")
        self._typed = ipywidgets.Text(description="Type to confirm").add_class("wb-typed")
        self._typed.style.description_width = "initial"
        self._ticks = {name: self._tick(name, words) for name, words in TICKS.items()}
        self._arming = self._arming_box() if production and operation.effect else None
        self._sender = ipywidgets.HBox([self._button()]).add_class("wb-row-actions")
        self._ways_box = self._ways()
        self._answer_box = ipywidgets.VBox().add_class("wb-answer")
        hint = f'<div class="wb-quiet">Nothing is sent before you press the button. {escape(EMPTY_HINT)}</div>'
        self._inputs = ipywidgets.VBox([ipywidgets.HTML(hint),
            *top, *self._ticks.values(), *([self._arming] if self._arming else []), self._summary, self._typed,
            self._sender,
        ])  # fmt: skip
        self.widget = ipywidgets.VBox([
            style.sheet(),
                self._still.rule, self._head, self._inputs, self._error, self._answer_box, self._ways_box,
        ])  # fmt: skip
        for name in ("wb-room", "wb-form", f"wb-form-{operation.name.replace('_', '-')}"):
            self.widget.add_class(name)
        if production:
            self.widget.add_class("wb-production")
        self._refresh()

    def _section(self, path: str) -> Any:
        section = next(one for one in self.draft.sections if one.path == path)
        inputs, parts = [], []
        leaves = {leaf.path: leaf for leaf in leaves_of(section)}
        for one in walk.members(section.cls):
            inner = f"{path}.{one.name}" if path else one.name
            if inner in leaves:
                field = self.fields[inner] = Field(leaves[inner], self._changed, self._accepted)
                inputs.append(field.box)
            else:
                parts.append(self._section(inner))
        choosers = [self._chooser(one) for one in self.draft.alternatives if one.section == path]
        grid = ipywidgets.Box(inputs).add_class("wb-fields")
        note = self._notes[path] = ipywidgets.HTML().add_class("wb-note")
        title = []
        if section.member is not None:
            title = [self._titles.setdefault(path, ipywidgets.HTML())]
        box = ipywidgets.VBox([*title, note, *choosers, grid, *parts])
        if section.member is not None:
            box.add_class("wb-section").add_class(f"wb-{path.replace('.', '-').replace('_', '-')}")
        self._sections[path] = box
        return box

    def _chooser(self, alternative: Alternative) -> Any:
        options = [("choose …", -1)]
        options += [(_named(group), number) for number, group in enumerate(alternative.rule.groups)]
        made = ipywidgets.Dropdown(options=options, value=-1, description=alternative.rule.doc)
        made.style.description_width = "initial"

        def chosen(change: Any) -> None:
            if self._quiet:
                return
            self._guard(lambda: self._choose(alternative, None if change["new"] < 0 else change["new"]))

        made.observe(chosen, "value")
        self._choosers[alternative] = made
        return ipywidgets.VBox([made]).add_class("wb-field").add_class("wb-alternative").add_class("wb-wide")

    def _choose(self, alternative: Alternative, number: int | None) -> None:
        self.draft.choose(alternative, number)
        self._sync()
        self._refresh()

    def _sync(self) -> None:
        """Empty the inputs whose values the draft has forgotten."""
        for path, field in self.fields.items():
            if path not in self.draft.given:
                field.show(None)

    def _button(self) -> Any:
        live = self._api.environment == "production"
        words = f"{faces.label(self.operation.name).capitalize()} in {self._api.environment.upper()}"
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

    def _arming_box(self) -> Any:
        reason = ipywidgets.Text(description="Why", placeholder="kept in the journal").add_class("wb-reason")
        minutes = ipywidgets.Text(value="10", description="Minutes").add_class("wb-minutes")
        button = ipywidgets.Button(description=f"Arm {faces.label(self.operation.name)} in PRODUCTION")
        button.add_class("wb-arm").add_class("wb-send").add_class("wb-live")

        def arm(_: Any) -> None:
            digits = minutes.value.isascii() and minutes.value.isdigit()
            self._guard(lambda: self._arm(int(minutes.value) if digits else minutes.value, reason.value))

        button.on_click(arm)
        words = "This has an effect in production. It can be sent only while it is armed."
        return ipywidgets.VBox([ipywidgets.HTML(f"<strong>{words}</strong>"), reason, minutes, button]).add_class(
            "wb-section"
        )

    def _arm(self, minutes: Any, reason: str) -> None:
        self._api.arm(operations={self.operation.name}, minutes=minutes, reason=reason)
        self._refresh()

    def _ways(self) -> Any:
        self._way_boxes = {name: ipywidgets.HTML() for name in _WAYS}
        tab = ipywidgets.Tab(list(self._way_boxes.values()), titles=_WAYS)
        cell = ipywidgets.Button(description="Put in a cell", tooltip="It appears below the next cell that you run")
        add = ipywidgets.Button(description="Add to sequence", tooltip="As a step of form.script")
        said = ipywidgets.HTML()

        def put(_: Any) -> None:
            self.put_in_cell()
            said.value = "The call stands below the next cell that you run."

        def added(_: Any) -> None:
            name = self.add_to_sequence()
            said.value = f"Step {escape(name)} is in form.script, which has {len(self.script.sequence.steps)} now."

        cell.add_class("wb-put").on_click(lambda _: self._guard(lambda: put(_)))
        add.add_class("wb-add").on_click(lambda _: self._guard(lambda: added(_)))
        self._add = add
        actions = ipywidgets.HBox([cell, add, said]).add_class("wb-row-actions")
        inner = ipywidgets.VBox([actions, tab])
        return ipywidgets.Accordion(
            [inner], titles=("The same call in Python, terminal, curl and as a step",), selected_index=None
        ).add_class("wb-ways")

    def _silently(self, widget: Any, value: Any) -> None:
        self._quiet = True
        try:
            widget.value = value
        finally:
            self._quiet = False

    # while it is filled

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
        self._sync_dependents(path)
        self._refresh()

    def _sync_dependents(self, path: str) -> None:
        for other, field in self.fields.items():
            if other != path and other not in self.draft.given and field.input.value not in ("", None):
                field.show(None)

    def _accepted(self, path: str, yes: bool) -> None:
        (self.draft.accepted.add if yes else self.draft.accepted.discard)(path)
        self._refresh()

    def _refresh(self) -> None:
        """Put beside each input what is to be said of it now."""
        if self.state not in ("open", "sending"):
            return
        record = self.draft.record()
        problems = self.draft.problems()
        at: dict[str, list[Problem]] = {}
        for one in problems:
            at.setdefault(one.path, []).append(one)
        advised: dict[str, list[str]] = {}
        for one in self.draft.advice():
            advised.setdefault(one.path, []).append(one.message)
        for path, field in self.fields.items():
            field.visible(self.draft.shown(path))
            field.needed(self.draft.wanted(path))
            field.say(self._said(field, at.get(field.leaf.wire, []), advised.get(field.leaf.wire, []), record))
        for section in self.draft.sections:
            mine = at.get(section.wire, []) if section.wire or self._attempted else []
            mine = [one for one in mine if self._attempted or one.rule != "required"]
            self._notes[section.path].value = "".join(problem(one.message) for one in mine)
            if section.member is not None:
                optional = "" if self.draft.wanted(section.path) else " (optional)"
                words = f"<strong>{escape(faces.label(section.member.name))}{optional}</strong>"
                self._titles[
                    section.path
                ].value = f'{words} <span class="wb-help">{escape(help_of(section.member))}</span>'
                self._sections[section.path].layout.display = None if self.draft.shown(section.path) else "none"
        rules = {one.rule for one in problems}
        partial = any(one.rule == "required" and "address" in one.path.lower() and "." in one.path for one in problems)
        for name, tick in self._ticks.items():
            wanted = (
                name in rules
                or name in self.draft.ticks
                or (name == "partial_address" and partial and self._takes_part())
            )
            tick.layout.display = None if wanted else "none"
            if tick.value != (name in self.draft.ticks):
                self._silently(tick, name in self.draft.ticks)
        self._tell(problems, record)
        self._retell()

    def _takes_part(self) -> bool:
        return any(one.member is not None and one.member.about.partial for one in self.draft.sections)

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
            whole = [one for one in problems if not one.path]
            lines = [problem(one.message) for one in whole] if self._attempted else []
            count = (
                f"{len(problems)} thing{'s' if len(problems) != 1 else ''} to mend or to fill in before it can be sent."
            )
            listed = ", ".join(dict.fromkeys(one.path or "the whole" for one in problems[:8]))
            more = " …" if len(problems) > 8 else ""
            lines.append(f'<div class="wb-quiet">{count} {isolated(listed)}{more}</div>')
            self._summary.value = "".join(lines)
        else:
            will = what(self.operation, record)
            self._summary.value = f"<div>Sends, in {self._api.environment.upper()}: {isolated(will)}</div>"
        asked = self.asks
        self._typed.layout.display = None if asked is not None else "none"
        if asked is not None:
            self._summary.value += (
                f'<div class="wb-problem">{isolated(asked.says)}. Type {isolated(asked.types)} to go on.</div>'
            )
        self.button.disabled = self.state == "sending" or needs_arming

    def _retell(self) -> None:
        self._texts = {
            "Python": ways.python(self.draft),
            "Terminal": ways.terminal(self.draft),
            "curl": ways.curl(self.draft, self._api),
            "Sequence step": _toml(self.draft),
        }
        for name, box in self._way_boxes.items():
            box.value = f"<pre>{escape(self._texts[name])}</pre>"


def _toml(draft: Draft) -> str:
    return ways.toml(draft)


def _holder(record: Any, path: str) -> Any:
    for name in path.split(".")[:-1]:
        record = getattr(record, name, None)
    return record


def _named(group: tuple[str, ...]) -> str:
    if len(group) == 1:
        return faces.label(group[0])
    shown = ", ".join(faces.label(name) for name in group[:3])
    return shown + (f" and {len(group) - 3} more" if len(group) > 3 else "")
