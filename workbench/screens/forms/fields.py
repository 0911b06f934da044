"""Inputs of a form, by section: a field for each leaf of a draft, and a chooser for each alternative."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cached_property, partial
from html import escape
from typing import Any

import attrs
import ipywidgets

from workbench.base.errors import Problem, UsageError, visible
from workbench.base.schema import readers, walk
from workbench.base.schema.fields import OPEN, SECRET
from workbench.base.schema.rules import FULL, iso_day
from workbench.base.schema.walk import Boolean, Choice, Date, Integer, Member, Text
from workbench.client.withdrawals.terms import grouped
from workbench.screens.forms.draft import Alternative, Draft, Leaf, cents_of, is_money, joined, typed_amount
from workbench.screens.forms.widgets import Quiet, css_name, line
from workbench.service import rendering
from workbench.service.rendering.text import sentence

NOTHING = ""
"""Value of a dropdown without a choice; a dropdown cannot show an option whose value is None."""


EMPTY = '""'
"""Text that a person types to send an empty string. An empty box omits the value."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Identity": (
        "first_name", "last_name", "birth_date", "national_id", "country_of_issue",
        "persona_share_token", "sumsub_share_token", "sumsub_share_token_mode",
    ),
    "Contact": ("email", "phone_country_code", "phone_number", "ip_address", "address"),
    "Occupation and spending": ("occupation", "annual_salary", "account_purpose", "expected_monthly_volume"),
    "Wallets and collateral": (
        "wallet_address", "solana_address", "stellar_address", "chain_id", "contract_address",
    ),
    "References": ("id", "source_key", "external_id"),
    "Terms": ("is_terms_of_service_accepted", "has_existing_documents"),
}  # fmt: skip
"""Members in each step of a form with many inputs. Members that are not listed belong to the first step."""
WORDS: Mapping[str, str] = {
    "is_terms_of_service_accepted": "Terms of service accepted", "has_existing_documents": "Existing documents",
    "is_active": "Active", "sumsub_share_token_mode": "Use of the Sumsub token",
    "third_party": "Account of a third party", "is_amount_native": "Amount in native units of the token",
    "new_amount": "Amount that stays authorized",
    "line1": "Street and number", "address_line1": "Street and number",
    "line2": "Second line", "address_line2": "Second line",
}  # fmt: skip
"""Labels of fields whose names are unclear to people."""
_CHOICES: Mapping[str, str] = {
    "sumsub_share_token": "Verify by a Sumsub share token", "persona_share_token": "Verify by a Persona share token",
    "first_name": "Verify by personal information", "user_id": "For a user", "company_id": "For a company",
}  # fmt: skip
"""Labels of the groups of fields to choose from, by the first field of the group."""
_QUESTIONS: Mapping[str, str] = {
    "sumsub_share_token": "How is the identity verified?", "user_id": "Whose account is it?",
}  # fmt: skip
"""Question above each choice, by the first field of the choice's first group."""
_MANY = 8  # maximum number of inputs in a form without steps


def help_of(member: Member) -> str:
    """Return a member's help text with its meaning, unit and limits; empty if it repeats the label."""
    if is_money(member):
        return f"{member.about.doc.partition(';')[0]}, such as 12.50"
    doc = "" if member.about.doc.lower() == label_of(member).lower() else member.about.doc
    parts = [doc, walk.rule_words(member) if not isinstance(member.kind, Choice) else ""]
    text = "; ".join(part for part in parts if part)
    return text[:1].upper() + text[1:]


def label_of(member: Member) -> str:
    """Return the label of a member's input, such as "Card ID"."""
    return WORDS.get(member.name) or sentence(rendering.label(member.name))


def question_of(alternative: Alternative) -> str:
    """Return the question that asks a person to choose a group of fields."""
    return _QUESTIONS.get(alternative.rule.groups[0][0], alternative.rule.doc)


def _input(leaf: Leaf, known: Mapping[str, Any]) -> Any:
    """Return the input widget for a leaf. `known` maps labels to the values to choose from."""
    if known:
        return ipywidgets.Combobox(options=tuple(known), placeholder="Search, or enter an ID")
    about, options = leaf.member.about, [("Select …" if leaf.member.required else "Omitted", NOTHING)]
    match leaf.member.kind:
        case Choice(of=values):
            return ipywidgets.Dropdown(
                options=[*options, *((str(value), str(value)) for value in values)], value=NOTHING
            )
        case Boolean():
            return ipywidgets.Dropdown(options=[*options, ("Yes", True), ("No", False)], value=NOTHING)
        case Text() | Integer() | Date():
            if about.rule.format == "long-text":
                return ipywidgets.Textarea(rows=4)
            return ipywidgets.Password() if about.privacy is SECRET else ipywidgets.Text()
    raise TypeError(f"no form field exists for {leaf.path}: {leaf.member.kind}")


def value_of(member: Member, typed: str) -> Any:
    """Convert typed text to a member's type. An empty box gives None. Text that does not fit is returned unchanged."""
    if typed == "":
        return None
    if typed == EMPTY and isinstance(member.kind, Text):
        return ""
    if is_money(member) and typed != "FULL":
        cents = cents_of(typed)
        return typed if cents is None else cents
    try:
        return readers.value_of(member, typed)
    except ValueError:
        return typed


def text_of(member: Member, value: object) -> str:
    """Return the text to type for a value."""
    if is_money(member) and type(value) is int and value >= 0:
        return typed_amount(value)
    return EMPTY if value == "" else readers.text_of(member, value)


def explained(member: Member, value: object, record: Any) -> str:
    """Return a readable value: money with its currency, a date with its month, an address in groups of four."""
    rule = member.about.rule
    unit = rule.unit or ""
    if value is FULL:
        return "the entire amount"
    if value == "":
        return "sent as empty text"
    if "native token units" in unit:
        if not (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 78):
            return ""
        number, native = int(value), record.is_amount_native
        units, cents = f"{number:,} native units of the token", f"{number:,} cents = {rendering.money(number)}"
        return {True: units, False: cents}.get(native, f"either {units} or {cents}: choose below")
    if unit == "cents":
        currency = getattr(record, "currency", None)
        return f"{value:,} cents ({rendering.money(value, currency)})" if type(value) is int else ""
    if isinstance(member.kind, Date):
        day = iso_day(value) if isinstance(value, str) else value
        return f"{day.day} {day:%B} {day.year:04d}" if isinstance(day, date) else ""
    if not isinstance(value, str) or isinstance(member.kind, Boolean):
        return ""
    if rule.pattern and len(value) >= 32:
        return grouped(visible(value, 100))
    counted = rule.max_length is not None and len(value) > rule.max_length * 0.8 >= 16
    return f"{len(value):,} of {rule.max_length:,} characters" if counted else ""


@attrs.define(eq=False)
class Step:
    """A part of a form: its title, its box (empty until opened), its field paths, and its choosers."""

    title: str
    box: Any
    paths: list[str]
    choosers: list[Alternative]
    build: Callable[[], list[Any]]
    """Function that returns the content of the box."""

    def open(self) -> None:
        """Create the content of the box when the step is first opened."""
        if not self.box.children:
            self.box.children = self.build()


class Field(Quiet):
    """Widgets of one leaf, which are created when first used. A private value set from code never enters the widgets.

    Args:
        known: Values to choose from, by searchable label.
        changed: Function that is called with the path and the value that a person entered.
        accepted: Function that is called when a person acknowledges the omission of the field, or withdraws the
            acknowledgment.
    """

    def __init__(
        self,
        leaf: Leaf,
        known: Mapping[str, Any],
        changed: Callable[[str, Any], None],
        accepted: Callable[[str, bool], None],
    ) -> None:
        self.leaf, self.known = leaf, known
        self.touched = False
        self.filled = False  # whether the widgets may contain a value
        self._annotated: tuple[Any, ...] | None = None
        self._required: bool | None = None
        self._changed = changed
        member = leaf.member
        self.label = label_of(member)
        """Label for people."""
        self._accepted = accepted

    @cached_property
    def input(self) -> Any:
        """Widget in which a person types."""
        member = self.leaf.member
        widget = _input(self.leaf, self.known)
        if isinstance(widget, ipywidgets.Text | ipywidgets.Textarea):
            widget.continuous_update = False  # show a problem only after the field loses the focus
        if is_money(member):
            widget.placeholder = "0.00"
        widget.style.description_width = "initial"
        widget.tooltip = walk.described(member)
        self.on_change(widget, self._typed)
        return widget

    @cached_property
    def note(self) -> Any:
        """Note below the input."""
        return ipywidgets.HTML().add_class("wb-note")

    @cached_property
    def full(self) -> Any:
        """Checkbox for the entire amount; None if the field has no such amount."""
        kind = self.leaf.member.kind
        if not (isinstance(kind, Integer) and kind.full):
            return None
        return self.checkbox("The entire amount", self._full_ticked, "wb-full")

    @cached_property
    def tick(self) -> Any:
        """Checkbox to acknowledge an omission with an effect; None if the omission has no effect."""
        if not self.leaf.acknowledged:
            return None
        omitted = f"I understand that omitting this field means {self.leaf.default}"
        return self.checkbox(omitted, partial(self._accepted, self.leaf.path), "wb-tick")

    @cached_property
    def box(self) -> Any:
        """Box with all widgets of the field."""
        member = self.leaf.member
        parts = [widget for widget in (self.input, self.full, self.tick, self.note) if widget is not None]
        box = ipywidgets.VBox(parts).add_class("wb-field")
        box.add_class(css_name(member.name)).add_class(css_name(self.leaf.path))
        box.layout.display = "none"  # hidden until the form is shown
        return box.add_class("wb-wide") if member.about.rule.format == "long-text" else box

    @property
    def made(self) -> bool:
        """Whether the widgets of the field exist."""
        return "input" in self.__dict__

    def _typed(self, value: object) -> None:
        self.touched = self.filled = True
        if isinstance(value, str):
            value = self.known.get(value) or value_of(self.leaf.member, value)
        if self.full is not None and value is not None and self.full.value:
            with self.quietly():
                self.full.value = False
        self._changed(self.leaf.path, value)

    def _full_ticked(self, yes: bool) -> None:
        self.touched = self.filled = True
        if yes:
            with self.quietly():
                self.input.value = ""
        self._changed(self.leaf.path, FULL if yes else value_of(self.leaf.member, self.input.value))

    def show(self, value: object) -> None:
        """Show a value set from code. For a private value, show only that it is set."""
        about = self.leaf.member.about
        self.filled = value is not None
        with self.quietly():
            if isinstance(self.input, ipywidgets.Dropdown):
                known = [option for _, option in self.input.options]
                self.input.value = value if value in known and value is not None else NOTHING
                return
            private = about.privacy is not OPEN and value is not None
            mask = about.mask(value) if private else ""
            if about.privacy is not OPEN:
                self.input.placeholder = f"filled in: {visible(mask, 60)}" if private else ""
            if self.full is not None:
                self.full.value = value is FULL
            text = next((label for label, known in self.known.items() if known == value), None)
            self.input.value = "" if private or value is FULL else text or text_of(self.leaf.member, value)

    def words(self, value: object, record: object) -> str:
        """Return a value in readable form; for a value that was picked by its label, the value itself."""
        if self.input.value in self.known:
            return text_of(self.leaf.member, value)
        return explained(self.leaf.member, value, record)

    def annotate(self, problems: Sequence[str] = (), explained: str = "", advice: Sequence[str] = ()) -> None:
        """Update the problems, readable value, advice and help below the input, if they changed."""
        said = (tuple(problems), explained, tuple(advice))
        if said == self._annotated:
            return
        self._annotated, about = said, self.leaf.member.about
        rows = [line("problem", text) for text in problems]
        rows += [line("words", explained)] if explained else []
        rows += [line("advice", text) for text in advice]
        rows.append(f'<span class="wb-help">{escape(help_of(self.leaf.member))}</span>')
        if about.assumed:
            known = f"{about.assumed} ({about.assumed.confidence})"
            rows.append(f" <details><summary>assumed</summary> {escape(known)}</details>")
        self.note.value = "".join(rows)

    def require(self, required: bool) -> None:
        """Mark the field as optional or required in its label."""
        if required is self._required:
            return
        self._required = required
        self.input.description = self.label + ("" if required else " (optional)")


class Inputs(Quiet):
    """Widgets with which people edit a draft.

    Args:
        known: Function that returns a member's values to choose from, by searchable label.
        edit: Function that applies a change by a person, and shows the result.
    """

    def __init__(
        self, draft: Draft, known: Callable[[str], Mapping[str, Any]], edit: Callable[[Callable[[], None]], None]
    ) -> None:
        self.fields: dict[str, Field] = {}
        self.choosers: dict[Alternative, Any] = {}
        self.refused: dict[str, str] = {}
        """Messages about rejected values, such as private keys, by path."""
        self._draft = draft
        self._known = known
        self._edit = edit
        self._boxes: dict[str, Any] = {}
        self._titles: dict[str, Any] = {}
        self._notes: dict[str, Any] = {}
        self._places: list[tuple[Any, Sequence[str]]] = []  # boxes, each with the paths of its fields
        self._optional: dict[str, Any] = {}  # the collapsed panel that contains a field, by path
        self.steps: list[Step] = []
        """Parts of a form with many inputs; none for a short form."""
        for path, leaf in draft.leaves.items():
            self.fields[path] = self._field(leaf)
        self.widget = self._section("") if len(self._leaves("")) <= _MANY else self._in_steps()

    def _leaves(self, path: str) -> list[str]:
        """Return the paths of the inputs that belong directly to a section."""
        return [leaf for leaf in self._draft.leaves if leaf.rpartition(".")[0] == path]

    def _in_steps(self) -> Any:
        """Add the inputs to `steps`, and return the widget for problems of the entire request."""
        draft = self._draft
        first = sentence(rendering.label(draft.operation.name.partition("_")[2]))
        place = {name: title for title, names in GROUPS.items() for name in names}
        steps: dict[str, list[str]] = {first: [], **{title: [] for title in GROUPS}}
        for member in walk.members(draft.operation.request):
            steps[place.get(member.name, first)].append(member.name)
        left = [alternative for alternative in draft.alternatives if not alternative.section]
        for title, names in steps.items():
            here = [choice for choice in left if {name for group in choice.rule.groups for name in group} & {*names}]
            left = [choice for choice in left if choice not in here]
            if names:
                paths = [path for path in self.fields if path.partition(".")[0] in names]
                build = partial(self._step, names, here)
                self.steps.append(Step(title, ipywidgets.VBox(), paths, here, build))
        note = self._notes[""] = ipywidgets.HTML().add_class("wb-note")
        return note

    def _step(self, names: Sequence[str], choices: Sequence[Alternative]) -> list[Any]:
        """Return the content of a step's box, with the draft's values."""
        leaves = [name for name in names if name in self._draft.leaves]
        sections = [name for name in names if name in self._draft.sections]
        boxes = [*map(self._chooser, choices), *self._boxed(leaves), *map(self._section, sections)]
        self.show()
        return boxes

    def _boxed(self, paths: Sequence[str]) -> list[Any]:
        """Return boxes with a section's fields.

        In a form of more than 8 fields, a collapsed panel has the optional fields of a section with required fields.
        """
        optional = [path for path in paths if self._draft.optional(path)]
        if len(self._draft.leaves) <= _MANY or len(optional) == len(paths):
            optional = []
        boxes = [self._place([path for path in paths if path not in optional])]
        if optional:
            box = self._place(optional)
            title = "Optional: " + ", ".join(self.fields[path].label for path in optional)
            panel = ipywidgets.Accordion([box], titles=(title,), selected_index=None).add_class("wb-optional")
            self._optional |= dict.fromkeys(optional, panel)
            boxes.append(panel)
        return boxes if paths else []

    def _place(self, paths: Sequence[str]) -> Any:
        box = ipywidgets.Box().add_class("wb-fields")
        self._places.append((box, paths))
        return box

    def make_shown(self) -> None:
        """Create the visible fields. Fields of an alternative are created when the alternative is chosen."""
        for box, paths in self._places:
            fields = [self.fields[path] for path in paths if self.fields[path].made or self._draft.shown(path)]
            for field in fields:
                if not field.made:
                    field.show(self._draft.given.get(field.leaf.path))
            if len(fields) != len(box.children):
                box.children = [field.box for field in fields]

    @property
    def boxes(self) -> list[Any]:
        """Return the boxes of the fields that exist."""
        return [field.box for field in self.fields.values() if field.made]

    def labels(self, problems: Sequence[Problem]) -> list[str]:
        """Return the labels of the inputs, sections and choices that the problems name."""
        known = {field.leaf.wire: field.label for field in self.fields.values()}
        for section in self._draft.sections.values():
            undecided = [question_of(choice) for choice, group in self._draft.chosen.items() if group is None]
            name = sentence(rendering.label(section.member.name)) if section.member else "the request"
            known[section.wire] = name if section.member or not undecided else undecided[0]
        return list(dict.fromkeys(known.get(problem.path, problem.path) for problem in problems))

    def reveal(self, path: str) -> None:
        """Open the collapsed panel that contains a field."""
        if path in self._optional:
            self._optional[path].selected_index = 0

    def _section(self, path: str) -> Any:
        section = self._draft.sections[path]
        note = self._notes[path] = ipywidgets.HTML().add_class("wb-note")
        inner = [joined(path, member.name) for member in walk.members(section.cls)]
        parts = [
            note,
            *(self._chooser(alternative) for alternative in self._draft.alternatives if alternative.section == path),
            *self._boxed(self._leaves(path)),
            *(self._section(name) for name in inner if name in self._draft.sections),
        ]
        if not path:
            return ipywidgets.VBox(parts)
        title = self._titles[path] = ipywidgets.HTML()
        box = self._boxes[path] = ipywidgets.VBox([title, *parts]).add_class("wb-section").add_class(css_name(path))
        return box

    def _field(self, leaf: Leaf) -> Field:
        known = self._known(leaf.member.name) if leaf.member.about.privacy is OPEN else {}
        accepted = self._draft.accepted
        return Field(
            leaf,
            known,
            lambda path, value: self._edit(lambda: self._put(path, value)),
            lambda path, yes: self._edit(lambda: (accepted.add if yes else accepted.discard)(path)),
        )

    def _chooser(self, alternative: Alternative) -> Any:
        options = [("Select …", -1)]
        for number, group in enumerate(alternative.rule.groups):
            more = f" and {len(group) - 3} more" if len(group) > 3 else ""
            named = sentence(", ".join(rendering.label(name) for name in group[:3])) + more
            options.append((_CHOICES.get(group[0], named), number))
        dropdown = ipywidgets.Dropdown(options=options, value=-1, description=question_of(alternative))
        dropdown.style.description_width = "initial"
        self.on_change(dropdown, lambda number: self._edit(partial(self._choose, alternative, number)))
        self.choosers[alternative] = dropdown
        return ipywidgets.VBox([dropdown]).add_class("wb-field").add_class("wb-alternative").add_class("wb-wide")

    def _choose(self, alternative: Alternative, number: int) -> None:
        self._draft.choose(alternative, None if number < 0 else number)
        self.sync()

    def _put(self, path: str, value: object) -> None:
        self.refused.pop(path, None)
        try:
            self._draft.put(path, value)
        except UsageError as error:
            self._draft.put(path, None)
            self.fields[path].show(None)
            self.refused[path] = error.problems[0].message
        self._draft.settle(path)
        self.sync(but=path)

    def show(self) -> None:
        """Show the values of the draft in the inputs."""
        for path, field in self.fields.items():
            if field.made:
                field.show(self._draft.given.get(path))
            if path in self._draft.given:
                self.reveal(path)
        with self.quietly():
            for alternative, chooser in self.choosers.items():
                number = self._draft.chosen[alternative]
                chooser.value = -1 if number is None else number

    def sync(self, *, but: str = "") -> None:
        """Clear the inputs whose values were removed from the draft, except the input that is being edited."""
        for path, field in self.fields.items():
            if field.filled and path != but and path not in self._draft.given:
                field.show(None)

    def show_sections(self, problems: Sequence[Problem], *, attempted: bool) -> None:
        """Show the titles and problems of sections, and hide the sections that were not chosen."""
        draft = self._draft
        for section in draft.sections.values():
            if section.path not in self._notes:  # the step with this section was never opened
                continue
            undecided = [
                choice for choice, group in draft.chosen.items() if group is None and choice.section == section.path
            ]
            messages = [
                next(
                    (
                        f"Answer: {question_of(choice)}"
                        for choice in undecided
                        if problem.message.startswith(choice.rule.doc)
                    ),
                    problem.message,
                )
                for problem in problems
                if problem.path == section.wire and (attempted or (section.wire and problem.rule != "required"))
            ]
            self._notes[section.path].value = "".join(line("problem", text) for text in messages)
            if section.member is not None:
                optional = "" if draft.required(section.path) else " (optional)"
                title = f"<strong>{escape(sentence(rendering.label(section.member.name)))}{optional}</strong>"
                help_text = f'<span class="wb-help">{escape(help_of(section.member))}</span>'
                self._titles[section.path].value = f"{title} {help_text}"
                self._boxes[section.path].layout.display = None if draft.shown(section.path) else "none"
