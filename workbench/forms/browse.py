"""The panel over everything a session can see: a tab for each resource, rows that open to details and actions."""

from html import escape
from typing import Any

import ipywidgets

from workbench import rendering
from workbench.client.base import BaseClient
from workbench.client.client import AsyncClient
from workbench.errors import InvalidArguments
from workbench.forms.snippets import Script
from workbench.forms.tabs import RewardsTab, Tab
from workbench.forms.views import VIEWS
from workbench.forms.widgets import Displayed, StaticView, close, headline, root, sentence

_TITLE = "Workbench"
_STATIC_ROWS = 20


def browse(api: Any) -> "Panel":
    """Return a panel of what this client can read and this session has received.

    Browsing only reads. What has an effect is a form that is opened here, with its own button.

    Args:
        api: A Client or a session.

    Raises:
        InvalidArguments: `api` is something else.
    """
    return Panel(api)


class Panel(Displayed):
    """Tabs, each read when it is first opened. From code: `panel.open("users")`, `panel.tabs["users"].pager`."""

    def __init__(self, api: Any) -> None:
        if not isinstance(api, BaseClient) or isinstance(api, AsyncClient):
            raise InvalidArguments("browse() takes a Client or a session", of="browse")
        self._api: Any = api
        self.script = Script(called="panel.script")
        """The steps that forms of the panel added."""
        self.rewards = RewardsTab(api, "rewards", self.script, self._show_rewards)
        self.tabs: dict[str, Tab] = {}
        for name in VIEWS:
            self.tabs[name] = Tab(api, name, self.script, self._show_rewards)
            if name == "disputes":
                self.tabs["rewards"] = self.rewards
        self._tab = ipywidgets.Tab(
            [tab.widget for tab in self.tabs.values()], titles=[sentence(name) for name in self.tabs], selected_index=0
        )
        self._tab.observe(lambda _: self._selected().load(), "selected_index")
        self.static = StaticView()
        head = ipywidgets.HTML(headline(_TITLE, api)).add_class("wb-head")
        self.widget = root(self.static, head, self._tab, name="wb-browse", api=api)
        self._selected().load()

    def _selected(self) -> Tab:
        return self.tabs[self.selected]

    @property
    def selected(self) -> str:
        """The name of the tab in view."""
        return list(self.tabs)[self._tab.selected_index or 0]

    def open(self, name: str) -> Tab:
        """Open a tab by its name, and read it if it was not read before.

        Raises:
            InvalidArguments: There is no such tab.
        """
        if name not in self.tabs:
            raise InvalidArguments(f"the tabs are {', '.join(self.tabs)}", of="browse")
        self._tab.selected_index = list(self.tabs).index(name)
        self.tabs[name].load()
        return self.tabs[name]

    def _show_rewards(self, user: str) -> None:
        self.open("rewards")
        self.rewards.user.value = user
        self.rewards.read()

    def close(self) -> None:
        """Close every widget."""
        for tab in self.tabs.values():
            tab.actions.close()
        close(self.widget)

    @property
    def html(self) -> str:
        """The tabs that were read, as static HTML."""
        parts = [headline(_TITLE, self._api)]
        for name, tab in self.tabs.items():
            if tab.view is not None and tab.view.rows:
                rows = [dict(zip(tab.view.columns, row, strict=True)) for row in tab.view.rows]
                parts.append(f"<div><strong>{escape(sentence(name))}</strong></div>")
                parts.append(rendering.html_table(rows, limit=_STATIC_ROWS))
        return "".join(parts)

    def __repr__(self) -> str:
        read = ", ".join(f"{name} {len(tab.view.rows):,}" for name, tab in self.tabs.items() if tab.view is not None)
        return f"<panel on {self._api.environment}: {read or 'nothing read yet'}>"
