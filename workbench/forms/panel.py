"""One panel over everything there is: a tab for each resource, rows that open to their card, and what one may do."""

from html import escape
from typing import Any

import ipywidgets

from workbench import rendering
from workbench.client.calls import Calls
from workbench.client.client import AsyncClient
from workbench.errors import InvalidArguments
from workbench.forms import style
from workbench.forms.heads import headline
from workbench.forms.rewards_tab import Rewards
from workbench.forms.script import Script
from workbench.forms.still import StaticView, below, bundle
from workbench.forms.tabs import Tab

_ORDER = (
    "contracts", "users", "payment accounts", "disputes", "rewards", "transactions", "sequences", "events", "deliveries",
    "journal", "assumptions",
)  # fmt: skip
_STILL = 20  # rows of the first tab in the static face


def browse(api: Any) -> "Panel":
    """Return a panel over all that this client can see and this session knows.

    Browsing reads alone. What has an effect is a form that one opens here, with a button of its own.
    """
    return Panel(api)


class Panel:
    """Tabs, each read when it is first opened. From code: `panel.open("users")`, `panel.tabs["users"].pager`."""

    def __init__(self, api: Any) -> None:
        if not isinstance(api, Calls) or isinstance(api, AsyncClient):
            raise InvalidArguments("browse() takes a Client or a session", of="browse")
        self._api: Any = api
        self.script = Script(called="panel.script")
        self.rewards = Rewards(api, "rewards", self.script, self._visit)
        self.tabs = {
            name: self.rewards if name == "rewards" else Tab(api, name, self.script, self._visit) for name in _ORDER
        }
        head = ipywidgets.HTML(headline("What there is", api)).add_class("wb-head")
        titles = [name.capitalize() for name in _ORDER]
        self._tab = ipywidgets.Tab([tab.widget for tab in self.tabs.values()], titles=titles)
        self._tab.observe(self._selected, "selected_index")
        self._still = StaticView()
        self.widget = ipywidgets.VBox([style.sheet(), self._still.rule, head, self._tab])
        self.widget.add_class("wb-room").add_class("wb-browse")
        if api.environment == "production":
            self.widget.add_class("wb-production")
        self.open(_ORDER[0])

    def open(self, name: str) -> "Tab":
        """Open a tab by its name, reading it if it was not read before."""
        if name not in self.tabs:
            raise InvalidArguments(f"the tabs are {', '.join(self.tabs)}", of="browse")
        tab = self.tabs[name]
        self._tab.selected_index = _ORDER.index(name)
        tab.load()
        return tab

    def _visit(self, user: str) -> None:
        """Show the rewards of a user."""
        self.open("rewards")
        self.rewards.user.value = user
        self.rewards.read()

    def _selected(self, change: Any) -> None:
        if change["new"] is not None:
            self.tabs[_ORDER[change["new"]]].load()

    def close(self) -> None:
        """Close every widget."""
        for tab in self.tabs.values():
            tab.close_form()
        for widget in below(self.widget):
            widget.close()

    @property
    def html(self) -> str:
        """The tabs read so far as static HTML, for viewers without widgets."""
        parts = []
        for name, tab in self.tabs.items():
            if tab.view is not None and tab.view.rows:
                rows = [dict(zip(tab.view.columns, row, strict=True)) for row in tab.view.rows]
                parts.append(f"<div><strong>{escape(name)}</strong></div>{rendering.html_table(rows, limit=_STILL)}")
        return headline("What there is", self._api) + "".join(parts)

    def _ipython_display_(self) -> None:
        self._still.display(self.widget, self.html, repr(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.widget, self.html, repr(self))

    def __repr__(self) -> str:
        read = ", ".join(f"{name} {len(tab.view.rows):,}" for name, tab in self.tabs.items() if tab.view is not None)
        return f"<panel on {self._api.environment}: {read or 'nothing read yet'}>"
