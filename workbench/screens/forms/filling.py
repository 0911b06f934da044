"""Prefill a form with many inputs from a person of the sandbox, or from a file."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets

from workbench.base.errors import UsageError, visible
from workbench.base.schema import walk
from workbench.client.session import sandbox_of
from workbench.screens.forms.draft import Draft
from workbench.screens.forms.fields import GROUPS, NOTHING
from workbench.screens.forms.widgets import Quiet, line, row
from workbench.service import rendering
from workbench.service.interface.convert import MAX_BODY
from workbench.service.interface.examples import example
from workbench.service.rendering.text import sentence

Values = Mapping[str, Any]
_FROM_FILE = "Fill in from a JSON file"


class Filling(Quiet):
    """Widgets that prefill a form: a menu of the sandbox's people, and a button that reads a file.

    Args:
        fill: Function that sets the form's values. It receives a function that returns the values, and shows the
            function's errors.
    """

    def __init__(
        self,
        draft: Draft,
        api: Any,
        choices: Callable[[str], Mapping[str, Any]],
        fill: Callable[[Callable[[], Values]], None],
    ) -> None:
        self._draft, self._api, self._fill = draft, api, fill
        self.message = ipywidgets.HTML().add_class("wb-message")
        self.file = ipywidgets.FileUpload(accept=".json", description="", tooltip=_FROM_FILE).add_class("wb-file")
        self.on_change(self.file, self._file_chosen)
        parts = [self.file]
        people = (
            choices("user_id")
            if draft.operation.name == "create_user_application" and api.environment == "sandbox"
            else {}
        )
        self._sandbox: Any = sandbox_of(api)
        if people and self._sandbox is not None:
            options = [("Select a person of the sandbox …", NOTHING), *people.items()]
            self.people = ipywidgets.Dropdown(options=options, value=NOTHING, description="Fill in from")
            self.people.style.description_width = "initial"
            self.people.add_class("wb-people")
            self.on_change(self.people, self._person_chosen)
            parts.insert(0, self.people)
        self.widget = ipywidgets.VBox([row(*parts), self.message]).add_class("wb-filling")

    def _person_chosen(self, key: str) -> None:
        if key == NOTHING:
            return
        with self.quietly():
            self.people.value = NOTHING
        self._fill(lambda: self._of_person(key))

    def _of_person(self, key: str) -> Values:
        """Return the values that the sandbox stores for a user, with examples for missing required values."""
        stored, request = self._sandbox.state(key), self._draft.operation.request
        names = [*GROUPS["Identity"], *GROUPS["Contact"]]
        known = {name: stored[name] for name in names if stored.get(name)}
        values = walk.given(example(request, **known))
        invented = [sentence(rendering.label(name)) for name in values if name not in known]
        self._say(f"Filled in from the sandbox, except {', '.join(invented)}: these values are examples.")
        return values

    def _file_chosen(self, files: Sequence[Mapping[str, Any]]) -> None:
        if files:
            (file,) = files
            with self.quietly():
                self.file.value = ()  # the widget must not keep private values
            self._fill(lambda: self._of_file(str(file["name"]), bytes(file["content"])))

    def _of_file(self, name: str, data: bytes) -> Values:
        """Return the members of a JSON request in a file, in the format of `workbench users create --from`."""
        self.message.value = ""
        if len(data) > MAX_BODY:
            raise UsageError(f"{visible(name, 200)} is larger than {MAX_BODY:,} bytes")
        request, _ = self._api.converter.read_file(self._draft.operation, data, name)
        self._say(f"Filled in from {visible(name, 200)}.")
        return walk.given(request)

    def _say(self, text: str) -> None:
        self.message.value = line("ok", text)
