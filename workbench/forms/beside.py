"""The same call beside a form, in four ways, and the buttons that take it on: into a cell, into a sequence."""

import json
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import ipywidgets

WAYS = ("Python", "Terminal", "curl", "Sequence step")
_BELOW = "Put below the next cell you run"


class CallPreview:
    """The box below a form. It shows texts; what its buttons do is the form's.

    Args:
        put: Puts the call below the next cell that is run.
        add: Adds the call to a sequence, and gives the words that say so.
        guard: Does what a button asks for and shows what goes wrong.
    """

    def __init__(
        self, *, put: Callable[[], Any], add: Callable[[], str], guard: Callable[[Callable[[], Any]], None]
    ) -> None:
        self.texts: dict[str, str] = {}
        self._boxes = {name: ipywidgets.HTML() for name in WAYS}
        self._now = ipywidgets.HTML().add_class("wb-now")
        self._said = ipywidgets.HTML().add_class("wb-told")
        self._put = ipywidgets.Button(description=_BELOW, tooltip="A page can show a new cell only when a cell is run")
        self._add = ipywidgets.Button(description="Add to sequence", tooltip="As a step of a sequence that can be run")
        self._put.add_class("wb-put").on_click(lambda _: guard(lambda: self._putting(put)))
        self._add.add_class("wb-add").on_click(lambda _: guard(lambda: self._adding(add)))
        actions = ipywidgets.HBox([self._now, self._put, self._add, self._said]).add_class("wb-row-actions")
        tab = ipywidgets.Tab(list(self._boxes.values()), titles=WAYS)
        self.widget = ipywidgets.Accordion(
            [ipywidgets.VBox([actions, tab])],
            titles=("The same call in Python, terminal, curl and as a step",),
            selected_index=None,
        ).add_class("wb-ways")

    def tell(self, texts: Mapping[str, str]) -> None:
        """Show how the call stands now."""
        self.texts = dict(texts)
        for name, box in self._boxes.items():
            box.value = f"<pre>{escape(self.texts[name])}</pre>"
        self._now.value = into_a_cell(self.texts["Python"])

    def spent(self) -> None:
        """The form was sent: what is left of it is no step any more."""
        self._add.disabled = True

    def _putting(self, put: Callable[[], Any]) -> None:
        put()
        self._said.value = "The call stands below the next cell that you run."

    def _adding(self, add: Callable[[], str]) -> None:
        self._said.value = escape(add())


def into_a_cell(text: str) -> str:
    """Return a button with which JupyterLab makes a new cell below this one and writes the text into it.

    It is HTML alone: JupyterLab carries out the commands that such a button names. What stands in the notebook is
    changed by the page, so the kernel cannot do it outside a cell's run. The style sheet hides it on other pages.
    """
    asked = {"commands": ["notebook:insert-cell-below", "notebook:replace-selection"], "args": {"text": text}}
    return (
        '<button type="button" class="jupyter-button widget-button wb-put-now" '
        'title="A new cell below this one, with the Python of this call; private values are dots" '
        'data-commandlinker-command="apputils:run-all-enabled" '
        f'data-commandlinker-args="{escape(json.dumps(asked))}">Put in a new cell below</button>'
    )
