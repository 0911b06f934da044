"""Write a form's call as Python, terminal command, curl or sequence step, with private values masked."""

import json
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from html import escape
from itertools import chain, count
from typing import Any

import attrs
import ipywidgets

from workbench.base.schema import masks
from workbench.base.system.process import own_address
from workbench.base.system.progress import ipython_shell
from workbench.client.session import profile_of, sandbox_of
from workbench.runs.sequences import Sequence, param
from workbench.runs.sequences.sequence import Parameter, Step
from workbench.screens.forms.draft import Draft
from workbench.screens.forms.widgets import button, row
from workbench.service.interface.table import PREFIX
from workbench.service.rendering import calls


def python(draft: Draft) -> str:
    """Return the call as Python code."""
    return calls.python(draft.operation, draft.nested(partial(_masked, draft)))


def terminal(draft: Draft, api: Any = None) -> str:
    """Return the call as a command for the session's service. For an embedded sandbox, see `note`."""
    values = {path: _masked(draft, path, draft.given[path]) for path in draft.leaves if path in draft.given}
    tokens = [calls.command(draft.operation, values)]
    own = own_address()
    # commands use the sandbox `own` by default, so only another sandbox needs --url
    if (url := _url(api)) and (own is None or url != own.url):
        tokens += ["--url", url]
    elif name := profile_of(api):
        tokens += ["--profile", name] + (["--live"] if api.environment == "production" else [])
    return " ".join(tokens)


def _url(api: object) -> str:
    """Return the URL of the session's sandbox; empty if the sandbox is not served."""
    return getattr(sandbox_of(api), "_url", "")


def note(snippet: str, api: object) -> str:
    """Return instructions for reaching the session's sandbox with a command or curl.

    The note is empty for Python and for real services, which need no instructions.
    """
    if snippet not in ("Terminal", "curl") or sandbox_of(api) is None:
        return ""
    if not (url := _url(api)):
        return (
            "The sandbox is in this kernel's memory. Run api.sandbox.share() in a cell to serve the sandbox to "
            "commands and curl on this machine. This text then contains the URL."
        )
    if snippet == "Terminal":
        return ""
    return (
        "Set its key once in each terminal: export WORKBENCH_API_KEY="
        f"$(workbench sandbox guide --url {url} -o csv --fields api_keys.full | tail -1)"
    )


def curl(draft: Draft, api: Any) -> str:
    """Return the call as a curl command that reads the key from a shell variable."""
    url = _url(api)
    base_url = f"{url}{PREFIX}" if url else api.base_url
    return calls.curl(draft.operation, draft.record(), base_url=base_url, converter=api.converter)


def step(draft: Draft) -> Sequence:
    """Return the call as a one-step sequence whose private values are parameters."""
    private: list[Parameter] = []

    def taken(path: str, value: object) -> Any:
        if not draft.private(path):
            return value
        private.append(Parameter(name=path.replace(".", "_"), doc=draft.leaves[path].member.about.doc))
        return param(private[-1].name)

    name, arguments = draft.operation.name, draft.nested(taken)
    return Sequence(name=name, steps=(Step(name=name, do=name, arguments=arguments),), parameters=tuple(private))


def _masked(draft: Draft, path: str, value: object) -> Any:
    return masks.DOTS if draft.private(path) else value


SNIPPETS: Mapping[str, Callable[[Draft, Any], str]] = {
    "Python": lambda draft, _: python(draft),
    "Terminal": terminal,
    "curl": curl,
    "Sequence step": lambda draft, _: step(draft).to_toml(),
}


class Script:
    """A sequence built from forms. `script.sequence` holds the steps in order.

    Args:
        called: Expression that refers to the script, for messages.
    """

    def __init__(self, name: str = "from-forms", *, called: str = "form.script") -> None:
        self.called = called
        self.sequence = Sequence(name=name, steps=())

    def add(self, more: Sequence) -> str:
        """Append the step and parameters of a one-step sequence; return the step's new name."""
        ((line,), taken) = more.steps, {step.name for step in self.sequence.steps}
        names = chain([line.name], (f"{line.name}-{number}" for number in count(2)))
        added = attrs.evolve(line, name=next(name for name in names if name not in taken))
        known = {parameter.name for parameter in self.sequence.parameters}
        parameters = [parameter for parameter in more.parameters if parameter.name not in known]
        self.sequence = attrs.evolve(
            self.sequence,
            steps=(*self.sequence.steps, added),
            parameters=(*self.sequence.parameters, *parameters),
        )
        return added.name

    def __repr__(self) -> str:
        return f"<script of {len(self.sequence.steps)} steps: {self.called}.sequence.to_toml() shows it>"


class SnippetPanel:
    """A collapsed panel below a form. A snippet is created when its tab opens, and updated while the tab is visible.

    Args:
        script: Script to which "Add to sequence" adds the step.
        guard: Function that runs a button's action and shows errors.
    """

    def __init__(self, draft: Draft, api: object, script: Script, guard: Callable[[Callable[[], Any]], None]) -> None:
        self._draft, self._api, self._script = draft, api, script
        self._kept: dict[str, str] | None = None  # snippets of a sent form, whose values were discarded; None before
        self._guard = guard
        self._content = ipywidgets.VBox()
        title = "The same call in Python, terminal, curl and as a step"
        self.widget = ipywidgets.Accordion([self._content], titles=(title,), selected_index=None)
        self.widget.add_class("wb-snippets")
        self.widget.observe(lambda _: guard(self.refresh), "selected_index")

    @property
    def message(self) -> Any:
        """Widget that shows the result of pressing a button of the panel."""
        return self._tab and self._message

    @property
    def add_button(self) -> Any:
        """Button that adds the call to the script."""
        return self._tab and self._add

    @cached_property
    def _tab(self) -> Any:
        """Return the snippets with the buttons above them. The widgets are created when the panel first opens."""
        tab = ipywidgets.Tab([ipywidgets.HTML() for _ in SNIPPETS], titles=tuple(SNIPPETS), selected_index=0)
        tab.observe(lambda _: self._guard(self.refresh), "selected_index")
        put = button(
            "Insert below the next cell you run",
            lambda: self._guard(self.put_in_cell),
            "wb-put",
            "A page without JupyterLab's commands can insert a cell only when a cell is run",
        )
        what = "Add the call as a step of a sequence"
        self._add = button("Add to sequence", lambda: self._guard(self.add_to_sequence), "wb-add", what)
        self._add.disabled = self._kept is not None
        self._insert = ipywidgets.HTML().add_class("wb-now")
        self._message = ipywidgets.HTML().add_class("wb-message")
        self._content.children = (row(self._insert, put, self._add, self._message), tab)
        return tab

    def show(self, index: int | None) -> None:
        """Open the tab of a snippet by index, or collapse the panel."""
        self._tab.selected_index = index or 0
        self.widget.selected_index = None if index is None else 0

    def text(self, name: str) -> str:
        """Return the snippet with this name, such as "curl"."""
        return self._kept[name] if self._kept is not None else SNIPPETS[name](self._draft, self._api)

    def refresh(self) -> None:
        """Update the visible snippet."""
        if self.widget.selected_index is None:
            return
        index = self._tab.selected_index or 0
        name = list(SNIPPETS)[index]
        below = f'<div class="wb-help">{escape(comment)}</div>' if (comment := note(name, self._api)) else ""
        self._tab.children[index].value = f"<pre>{escape(self.text(name))}</pre>{below}"
        self._insert.value = insert_button(self.text("Python"))

    def finish(self) -> None:
        """Store the snippets of a sent call before its values are discarded."""
        self._kept = {name: self.text(name) for name in SNIPPETS}
        if self._content.children:
            self._add.disabled = True

    def put_in_cell(self) -> str:
        """Insert the call as Python into a new cell below the current or next running cell; return its text."""
        text = self.text("Python")
        kernel = ipython_shell()
        if kernel is not None:
            kernel.set_next_input(text)
        self.message.value = "The call will appear below the next cell that you run."
        return text

    def add_to_sequence(self) -> str:
        """Add the call as a step to the script; return the name of the step."""
        name = self._script.add(step(self._draft))
        count = len(self._script.sequence.steps)
        self.message.value = escape(f"Added step {name} to {self._script.called} ({count} in total).")
        return name


def insert_button(text: str) -> str:
    """Return an HTML button that lets JupyterLab insert a cell with the text below this cell.

    JupyterLab executes the command that the button names. The page inserts the cell, because the kernel can change the
    notebook only while a cell runs. The style sheet hides the button outside JupyterLab.
    """
    request = {"commands": ["notebook:insert-cell-below", "notebook:replace-selection"], "args": {"text": text}}
    return (
        '<button type="button" class="jupyter-button widget-button wb-put-now" '
        'title="A new cell below this one, with the Python of this call; private values are masked" '
        'data-commandlinker-command="apputils:run-all-enabled" '
        f'data-commandlinker-args="{escape(json.dumps(request))}">Insert in a new cell below</button>'
    )
