"""The inputs of a form, section by section: a field for each leaf, a chooser for each alternative."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import ipywidgets

from workbench import rendering
from workbench.errors import Problem
from workbench.forms.draft import Draft
from workbench.forms.fields import Changed, Field, help_of
from workbench.forms.heads import problem
from workbench.forms.outline import Alternative
from workbench.forms.outline import leaves as leaves_of
from workbench.interface import walk


class Inputs:
    """The widgets that a draft is filled by.

    Args:
        changed: Called with the path and the value that a person gave.
        accepted: Called when a person ticks, or unticks, that the meaning of leaving something out is known.
        chosen: Called with an alternative and the number of its group, None for none.
    """

    def __init__(
        self,
        draft: Draft,
        *,
        changed: Changed,
        accepted: Callable[[str, bool], None],
        chosen: Callable[[Alternative, int | None], None],
    ) -> None:
        self.fields: dict[str, Field] = {}
        self.choosers: dict[Alternative, Any] = {}
        self._draft = draft
        self._changed, self._accepted, self._chosen = changed, accepted, chosen
        self._sections: dict[str, Any] = {}
        self._titles: dict[str, Any] = {}
        self._notes: dict[str, Any] = {}
        self._quiet = False
        self.widgets = [self._section(one.path) for one in draft.sections if not one.path]

    def _section(self, path: str) -> Any:
        section = next(one for one in self._draft.sections if one.path == path)
        inputs, parts = [], []
        leaves = {leaf.path: leaf for leaf in leaves_of(section)}
        for one in walk.members(section.cls):
            inner = f"{path}.{one.name}" if path else one.name
            if inner in leaves:
                field = self.fields[inner] = Field(leaves[inner], self._changed, self._accepted)
                inputs.append(field.box)
            else:
                parts.append(self._section(inner))
        choosers = [self._chooser(one) for one in self._draft.alternatives if one.section == path]
        grid = ipywidgets.Box(inputs).add_class("wb-fields")
        note = self._notes[path] = ipywidgets.HTML().add_class("wb-note")
        title = [self._titles.setdefault(path, ipywidgets.HTML())] if section.member is not None else []
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
            if not self._quiet:
                self._chosen(alternative, None if change["new"] < 0 else change["new"])

        made.observe(chosen, "value")
        self.choosers[alternative] = made
        return ipywidgets.VBox([made]).add_class("wb-field").add_class("wb-alternative").add_class("wb-wide")

    def show(self) -> None:
        """Put what the draft holds into the inputs."""
        for path, field in self.fields.items():
            field.show(self._draft.given.get(path))
        self._quiet = True
        try:
            for alternative, chooser in self.choosers.items():
                number = self._draft.chosen[alternative]
                chooser.value = -1 if number is None else number
        finally:
            self._quiet = False

    def forget(self, *, but: str = "") -> None:
        """Empty the inputs whose values the draft has forgotten, but not the one that is being typed in."""
        for path, field in self.fields.items():
            if path != but and path not in self._draft.given and field.filled:
                field.show(None)

    def head(self, at: Mapping[str, Sequence[Problem]], *, attempted: bool) -> None:
        """Say above each section what it is and what is wrong with it as a whole; hide those not chosen."""
        draft = self._draft
        for section in draft.sections:
            mine = at.get(section.wire, ()) if section.wire or attempted else ()
            mine = [one for one in mine if attempted or one.rule != "required"]
            self._notes[section.path].value = "".join(problem(one.message) for one in mine)
            if section.member is not None:
                optional = "" if draft.wanted(section.path) else " (optional)"
                words = f"<strong>{escape(rendering.label(section.member.name))}{optional}</strong>"
                title = f'{words} <span class="wb-help">{escape(help_of(section.member))}</span>'
                self._titles[section.path].value = title
                self._sections[section.path].layout.display = None if draft.shown(section.path) else "none"

    def clear(self) -> None:
        """Leave nothing of what was typed."""
        for field in self.fields.values():
            field.clear()


def _named(group: tuple[str, ...]) -> str:
    if len(group) == 1:
        return rendering.label(group[0])
    shown = ", ".join(rendering.label(name) for name in group[:3])
    return shown + (f" and {len(group) - 3} more" if len(group) > 3 else "")
