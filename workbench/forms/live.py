"""A form for one call: filled by a person or from code, checked while it is filled, sent once."""

import threading
import warnings
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Literal

import ipywidgets

from workbench import faces
from workbench.client.advice import AdviceWarning
from workbench.client.calls import Calls
from workbench.client.client import AsyncClient
from workbench.client.effects import what
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
from workbench.forms import following, style, ways
from workbench.forms.answers import AnswerCard
from workbench.forms.draft import TICKS, Alternative, Draft
from workbench.forms.draft import leaves as leaves_of
from workbench.forms.fields import EMPTY_HINT, Field, Said, help_of
from workbench.forms.reading import in_words
from workbench.forms.still import Still, bundle, shell
from workbench.interface import walk
from workbench.interface.operation import Call
from workbench.sequences import Sequence

State = Literal["open", "sending", "done", "unknown", "closed"]

_WAYS = ("Python", "Terminal", "curl", "Sequence step")


def form(call: Any, *, script: "Script | None" = None, **values: Any) -> "Form":
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


class Script:
    """A sequence under way: the steps that forms added, in order. `script.sequence` is what can be run."""

    def __init__(self, name: str = "from-forms") -> None:
        self.sequence = Sequence(name=name, steps=())

    def add(self, one: Sequence) -> str:
        """Add the steps of another sequence, with its parameters; give the name of the last step."""
        import attrs

        taken = {step.name for step in self.sequence.steps}
        steps = []
        for step in one.steps:
            name, number = step.name, 2
            while name in taken:
                name, number = f"{step.name}-{number}", number + 1
            taken.add(name)
            steps.append(attrs.evolve(step, name=name))
        known = {parameter.name for parameter in self.sequence.parameters}
        more = tuple(parameter for parameter in one.parameters if parameter.name not in known)
        self.sequence = attrs.evolve(
            self.sequence,
            steps=(*self.sequence.steps, *steps),
            parameters=(*self.sequence.parameters, *more),
        )
        return steps[-1].name

    def __repr__(self) -> str:
        return f"<script of {len(self.sequence.steps)} steps: script.sequence.to_toml() shows it>"


class Form:
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

    # the form on a page

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
        self._head = ipywidgets.HTML(_head(operation, api)).add_class("wb-head")
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
        old.close()

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

    _quiet = False

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
            self._notes[section.path].value = "".join(_problem(one.message) for one in mine)
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
            lines = [_problem(one.message) for one in whole] if self._attempted else []
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
            self._error.value = _problem(
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
        for widget in below(self._inputs):
            if widget is not self._inputs:
                widget.close()
        self._inputs.children = ()
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
        return _static(self)

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


def _problem(text: str) -> str:
    return f'<div class="wb-problem" role="alert">✗ {isolated(text)}</div>'


def _head(operation: Any, api: Any) -> str:
    info = api.info()
    where = info["environment"]
    return (
        f"<div><strong>{escape(faces.label(operation.name).capitalize())}</strong> "
        f'<span class="wb-where wb-where-{escape(where)}">{escape(where.upper())}</span> '
        f'<span class="wb-quiet">{isolated(info["host"])} · key {escape(info["key_fingerprint"])}</span></div>'
        f"<div>{escape(operation.doc)}</div>"
    )


def _static(form: Form) -> str:
    if form.state == "done":
        said = "<div>It was sent. The answer:</div>" + faces.html(form.answer)
    elif form.state == "unknown" and form.error is not None:
        said = faces.html(form.error)
    else:
        rows = [
            {"field": leaf.path, "what it is": help_of(leaf.member), "needed": leaf.member.required}
            for leaf in form.draft.leaves.values()
        ]
        said = "<div>Nothing was sent. Run the cell for a live form.</div>" + faces.html_table(rows)
    return f"{_head(form.operation, form._api)}{said}"


def below(widget: Any) -> list[Any]:
    """Give a widget and all below it."""
    found = [widget]
    for one in found:
        found.extend(child for child in getattr(one, "children", ()))
    return found
