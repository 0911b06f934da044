"""One input of a form: made by the kind of its member, with what is to be said beside it."""

from collections.abc import Callable, Iterable
from html import escape
from typing import Any

import attrs
import ipywidgets

from workbench import rendering
from workbench.errors import visible
from workbench.forms.outline import Leaf, meant, needs_tick
from workbench.forms.reading import EMPTY, text_of, value_of
from workbench.interface import walk
from workbench.interface.fields import OPEN, SECRET
from workbench.interface.rules import FULL
from workbench.interface.walk import Boolean, Choice, Date, Integer, Kind, Member, Text
from workbench.rendering.markup import isolated

Changed = Callable[[str, Any], None]
NOTHING = ""
"""The value of a choice that nobody made; a dropdown cannot show an option whose value is None."""


def _options(leaf: Leaf, values: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [("choose …" if leaf.member.required else "left out", NOTHING), *values]


def _choice(leaf: Leaf) -> Any:
    kind = leaf.member.kind
    assert isinstance(kind, Choice)
    return ipywidgets.Dropdown(options=_options(leaf, [(str(one), str(one)) for one in kind.of]), value=NOTHING)


def _flag(leaf: Leaf) -> Any:
    return ipywidgets.Dropdown(options=_options(leaf, [("yes", True), ("no", False)]), value=NOTHING)


def _text(leaf: Leaf) -> Any:
    about = leaf.member.about
    if about.rule.format == "long-text":
        return ipywidgets.Textarea(rows=4)
    if about.privacy is SECRET:
        return ipywidgets.Password()
    return ipywidgets.Text()


_BUILDERS: tuple[tuple[type[Kind] | tuple[type[Kind], ...], Callable[[Leaf], Any]], ...] = (
    (Choice, _choice),
    (Boolean, _flag),
    ((Text, Integer, Date), _text),
)


def builder(leaf: Leaf) -> Callable[[Leaf], Any]:
    """Return what makes the input of a leaf.

    Raises:
        TypeError: No input is known for its kind.
    """
    for kinds, make in _BUILDERS:
        if isinstance(leaf.member.kind, kinds):
            return make
    raise TypeError(f"no input is known for {leaf.path}: {leaf.member.kind}")


def help_of(one: Member) -> str:
    """Say what a member is, its unit and its limits, and what leaving it out does."""
    words = [one.about.doc, walk.rule_words(one) if not isinstance(one.kind, Choice) else ""]
    return "; ".join(word for word in words if word)


@attrs.frozen
class Said:
    """What stands beside an input."""

    words: str = ""
    problems: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


class Field:
    """The widgets of one leaf. It never holds a private value that came from code: that stays in the draft."""

    def __init__(self, leaf: Leaf, changed: Changed, accepted: Callable[[str, bool], None]) -> None:
        self.leaf = leaf
        self._changed = changed
        self._quiet = False
        self.touched = False
        one = leaf.member
        self.input = builder(leaf)(leaf)
        self.needed(one.required)
        self.input.style.description_width = "initial"
        self.input.tooltip = walk.described(one)
        self.input.observe(self._typed, "value")
        self.note = ipywidgets.HTML().add_class("wb-note")
        self.full: Any = None
        self.tick: Any = None
        parts = [self.input, self.note]
        if isinstance(one.kind, Integer) and one.kind.full:
            self.full = ipywidgets.Checkbox(value=False, indent=False, description="FULL: all of it")
            self.full.add_class("wb-full").observe(self._all_of_it, "value")
            parts.insert(1, self.full)
        if needs_tick(leaf):
            words = f"I know that leaving it out means {meant(leaf)}"
            self.tick = ipywidgets.Checkbox(value=False, indent=False, description=words)
            self.tick.add_class("wb-tick")
            self.tick.observe(lambda change: accepted(leaf.path, change["new"]), "value")
            parts.insert(1, self.tick)
        self.box = ipywidgets.VBox(parts)
        for name in (
            "wb-field",
            f"wb-{one.name.replace('_', '-')}",
            f"wb-{leaf.path.replace('.', '-').replace('_', '-')}",
        ):
            self.box.add_class(name)
        if one.about.rule.format == "long-text":
            self.box.add_class("wb-wide")
        self.say(Said())

    def _typed(self, change: Any) -> None:
        if self._quiet:
            return
        self.touched = True
        value = change["new"]
        if isinstance(value, str):
            value = value_of(self.leaf.member, value)
        if self.full is not None and value is not None and self.full.value:
            self._silently(self.full, False)
        self._changed(self.leaf.path, value)

    def _all_of_it(self, change: Any) -> None:
        if self._quiet:
            return
        self.touched = True
        if change["new"]:
            self._silently(self.input, "")
        self._changed(self.leaf.path, FULL if change["new"] else value_of(self.leaf.member, self.input.value))

    def _silently(self, widget: Any, value: Any) -> None:
        self._quiet = True
        try:
            widget.value = value
        finally:
            self._quiet = False

    def show(self, value: Any) -> None:
        """Put a value that came from code into the input; of a private one, only that it is given."""
        one = self.leaf.member
        if isinstance(self.input, ipywidgets.Dropdown):
            known = [option for _, option in self.input.options]
            self._silently(self.input, value if value in known and value is not None else NOTHING)
            return
        private = one.about.privacy is not OPEN and value is not None
        if private:
            look = one.about.mask(value)
            self.input.placeholder = f"given in code: {visible(look, 60)}"
        else:
            self.input.placeholder = ""
        if self.full is not None:
            self._silently(self.full, value is FULL)
        self._silently(self.input, "" if private or value is FULL else text_of(value))

    def say(self, said: Said) -> None:
        """Put problems, the reading in words, advice and help beside the input."""
        one = self.leaf.member
        rows = [
            f'<div class="wb-problem" role="alert">✗ {isolated(visible(text, 400))}</div>' for text in said.problems
        ]
        if said.words:
            rows.append(f'<div class="wb-words">= {isolated(said.words)}</div>')
        rows += [f'<div class="wb-advice">! {isolated(visible(text, 400))}</div>' for text in said.advice]
        rows.append(f'<span class="wb-help">{escape(help_of(one))}</span>')
        if one.about.assumed:
            known = f" ({one.about.confidence})" if one.about.confidence else ""
            rows.append(f" <details><summary>assumed</summary> {escape(one.about.assumed + known)}</details>")
        html = "".join(rows)
        if self.note.value != html:
            self.note.value = html

    @property
    def filled(self) -> bool:
        """Whether it shows that something is given."""
        given = self.input.value not in ("", None) or bool(getattr(self.input, "placeholder", ""))
        return given or (self.full is not None and bool(self.full.value))

    def needed(self, yes: bool) -> None:
        """Say in its label whether it may be left out, as things stand."""
        words = rendering.label(self.leaf.member.name) + ("" if yes else " (optional)")
        if self.input.description != words:
            self.input.description = words

    def visible(self, shown: bool) -> None:
        """Show or hide it."""
        wanted = None if shown else "none"
        if self.box.layout.display != wanted:
            self.box.layout.display = wanted

    def clear(self) -> None:
        """Leave nothing of what was typed."""
        self.touched = False
        self.show(None)
        if self.tick is not None:
            self._silently(self.tick, False)

    def close(self) -> None:
        """Clear it, then close its widgets: a saved notebook holds nothing of it."""
        self.clear()
        for widget in (self.input, self.note, self.full, self.tick, self.box):
            if widget is not None:
                widget.close()


EMPTY_HINT = f"An empty box is left out; {EMPTY} sends empty text."
