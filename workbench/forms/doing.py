"""What one may do in a tab of a panel: buttons for what is offered, and the one form that is open."""

from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets

from workbench.errors import visible
from workbench.forms import offers
from workbench.forms.live import Form, form
from workbench.forms.offers import Offer
from workbench.forms.script import Script
from workbench.forms.still import close_soon
from workbench.rendering.markup import isolated


class ActionPanel:
    """Buttons and a form. Nothing is sent before the form's own button is pressed.

    Args:
        name: The tab.
        script: Where the form adds its step.
        done: Called after an answer came, when what the tab shows is old.
        visit: Shows the rewards of a user, which has a tab of its own.
    """

    def __init__(
        self, api: Any, name: str, script: Script, *, done: Callable[[], None], visit: Callable[[str], None]
    ) -> None:
        self.form: Form | None = None
        self._api: Any = api
        self._name, self._script, self._done, self._visit = name, script, done, visit
        made = [self._button(one, {}) for one in offers.of_tab(name, api.environment)]
        self.of_tab = ipywidgets.HBox(made).add_class("wb-row-actions").add_class("wb-offers")
        self.of_row = ipywidgets.HBox().add_class("wb-row-actions").add_class("wb-offers")
        self.box = ipywidgets.VBox().add_class("wb-doing")
        self._shut = ipywidgets.Button(description="Close the form").add_class("wb-shut")
        self._shut.on_click(lambda _: self.close())

    def offer(self, key: str, facts: Mapping[str, Any]) -> None:
        """Offer what goes on from an opened row."""
        old = self.of_row.children
        made = [self._button(one, values) for one, values in offers.of_row(self._name, facts, self._api.environment)]
        label = ipywidgets.HTML(f'<span class="wb-quiet">With {isolated(visible(key, 80))}:</span>')
        self.of_row.children = (label, *made) if made else ()
        close_soon(old)

    def _button(self, one: Offer, values: dict[str, Any]) -> Any:
        made = ipywidgets.Button(description=one.says, tooltip="Opens a form; nothing is sent yet")
        made.add_class(f"wb-do-{one.do.replace('_', '-')}").on_click(lambda _: self.open(one, values))
        return made

    def open(self, one: Offer, values: dict[str, Any]) -> None:
        """Open the form of an offer in place of the one that is open."""
        if one.do == "list_rewards_activity":
            self._visit(values["user_id"])
            return
        self.close()
        self.form = form(getattr(self._api, one.do), script=self._script, **values)
        self.form.when_done = self._done
        self.box.children = (ipywidgets.HBox([self._shut]), self.form.widget)

    def close(self) -> None:
        """Close the form, and forget what was typed into it."""
        self.box.children = ()
        if self.form is not None:
            self.form.close()
            self.form = None
