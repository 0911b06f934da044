"""A tab of the panel: rows on pages, details of the opened row, actions as forms, and an export of the view."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import ipywidgets

from workbench import rendering
from workbench.chains.values import refuse_private_key
from workbench.errors import InvalidRequest, Problem, WorkbenchError, visible
from workbench.forms import offers, views
from workbench.forms.answers import folded
from workbench.forms.form import Form, form
from workbench.forms.offers import Offer
from workbench.forms.pager import Pager
from workbench.forms.snippets import Script
from workbench.forms.views import VIEWS, View
from workbench.forms.widgets import button, close, close_soon, css_name, line, row
from workbench.interface import walk
from workbench.interface.rules import ISO_DAY, RewardType
from workbench.rendering.markup import isolated
from workbench.sequences import Sequence

_MAX_RELATED = 20


class ActionPanel:
    """Buttons and at most one open form. Nothing is sent until the form's own button is pressed.

    Args:
        name: The tab.
        script: Where the form adds its step.
        when_done: Called after an answer, when the rows of the tab are out of date.
        show_rewards: Shows the rewards of a user, which have a tab.
    """

    def __init__(
        self, api: Any, name: str, script: Script, *, when_done: Callable[[], None],
        show_rewards: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.form: Form | None = None
        self._api, self._name, self._script = api, name, script
        self._when_done, self._show_rewards = when_done, show_rewards
        self.of_tab = row(*(self._button(one, {}) for one in offers.of_tab(name, api.environment)))
        self.of_row = row()
        for box in (self.of_tab, self.of_row):
            box.add_class("wb-offers")
        self.box = ipywidgets.VBox().add_class("wb-action")

    def offer(self, key: str, facts: Mapping[str, Any]) -> None:
        """Offer the actions of an opened row."""
        old = self.of_row.children
        made = [self._button(one, values) for one, values in offers.of_row(self._name, facts, self._api.environment)]
        label = ipywidgets.HTML(f'<span class="wb-quiet">Actions for {isolated(visible(key, 80))}:</span>')
        self.of_row.children = (label, *made) if made else ()
        close_soon(old)

    def _button(self, one: Offer, values: dict[str, Any]) -> Any:
        return button(
            one.label, lambda: self.open(one, values), css_name(f"do-{one.do}"), "Opens a form; nothing is sent yet"
        )

    def open(self, one: Offer, values: dict[str, Any]) -> None:
        """Open the form of an offer in place of the open one."""
        if one.do == "list_rewards_activity":
            self._show_rewards(values["user_id"])
            return
        self.close()
        self.form = form(getattr(self._api, one.do), script=self._script, **values)
        self.form.when_done = self._when_done
        self.box.children = (row(button("Close form", self.close, "wb-close")), self.form.widget)

    def close(self) -> None:
        """Close the form, and discard what was typed into it."""
        old, self.box.children = self.box.children, ()
        if self.form is not None:
            self.form.close()
            self.form = None
        close(*old)


class Tab:
    """One resource.

    Args:
        script: Where forms that are opened here add their steps.
        show_rewards: Shows the rewards of a user.
    """

    def __init__(self, api: Any, name: str, script: Script, show_rewards: Callable[[str], None]) -> None:
        self.name = name
        self.view: View | None = None
        self.pager: Pager | None = None
        self.opened: str | None = None
        """The id of the opened row."""
        self._api = api
        self._read_once = False
        self.actions = ActionPanel(api, name, script, when_done=self._reread, show_rewards=show_rewards)
        self.message = ipywidgets.HTML().add_class("wb-message")
        self.detail = ipywidgets.HTML().add_class("wb-detail")
        self.file = ipywidgets.Text(value=f"{name.replace(' ', '-')}.csv", description="File").add_class("wb-file")
        self._table = ipywidgets.VBox()
        tools = row(
            button("Refresh", self.read, "wb-refresh"), self.file,
            button("Export", lambda: self.guard(self._export), "wb-export", "The rows shown, as .csv, .xlsx or .parquet"),
        )  # fmt: skip
        self.widget = ipywidgets.VBox([
            *self._inputs(), tools, self.actions.of_tab, self.message, self._table, self.actions.of_row,
            self.actions.box, self.detail,
        ])  # fmt: skip
        self.widget.add_class(css_name(f"tab-{name}"))

    def _inputs(self) -> list[Any]:
        return []

    def _load(self) -> View:
        return VIEWS[self.name](self._api)

    def load(self) -> None:
        """Read the rows, unless they were read before."""
        if not self._read_once:
            self.read()

    def read(self) -> None:
        """Read the rows; errors are shown in the tab."""
        self._read_once = True

        def act() -> None:
            self._show(self._load())
            self.detail.value, self.opened = "", None
            self.actions.offer("", {})

        self.guard(act)

    def _reread(self) -> None:
        """Read the rows again after an action; the opened row, the form and its answer stay."""

        def act() -> None:
            old, view = self.pager, self._load()
            self._show(view, like=old)
            if self.opened in view.ids:
                self._describe(view.ids.index(self.opened))

        self.guard(act)

    def _show(self, view: View, like: Pager | None = None) -> None:
        old, self.view = self.pager, view
        self.pager = Pager(view.columns, view.rows, opened=self.open)
        if like is not None:
            self.pager.like(like)
        self._table.children = [self.pager.widget]
        if old is not None:
            close(old.widget)
        notes = [*view.notes[:8], *([] if view.rows else ["No rows."])]
        self.message.value = "".join(line("quiet", note) for note in notes)

    def open(self, number: int) -> None:
        """Show the record of a row, the events about it, the calls that created or changed it, and its actions."""
        if self.view is not None:
            self.actions.close()
            self._describe(number)

    def _describe(self, number: int) -> None:
        assert self.view is not None
        key, thing = self.view.ids[number], self.view.thing(number)
        self.opened = key
        facts = dict(thing) if isinstance(thing, Mapping) else walk.given(thing) if walk.is_record(thing) else {}
        self.actions.offer(key, {**facts, **dict(zip(self.view.columns, self.view.rows[number], strict=True))})
        card = f"<pre>{escape(thing.to_toml())}</pre>" if isinstance(thing, Sequence) else rendering.html(thing)
        events, calls = views.events_about(self._api, key), views.calls_about(self._api, key)
        parts = [f'<div class="wb-card">{card}</div>']
        if events:
            head = f"<div><strong>Related events: {len(events):,}</strong></div>"
            parts.append(head + folded(events[-_MAX_RELATED:]))
        if calls:
            rows = [
                {"started": one.started, "outcome": str(one.outcome), "what": one.what, "id": one.id}
                for one in calls[-_MAX_RELATED:]
            ]
            head = f"<div><strong>Related requests: {len(calls):,}</strong></div>"
            parts.append(head + rendering.html_table(rows))
        self.detail.value = "".join(parts)

    def export(self, path: str | Path, *, overwrite: bool = False) -> Any:
        """Write the rows that pass the filter, in the order shown, to a .csv, .xlsx or .parquet file.

        Raises:
            InvalidRequest: No rows were read yet.
            FileExistsError: The file exists, and `overwrite` is False.
        """
        import pandas as pd

        from workbench.tables.exports import export

        if self.view is None or self.pager is None:
            raise InvalidRequest("no rows were read yet", of="export")
        if self.view.frame is not None:
            frame = self.view.frame.iloc[self.pager.order]
            frame.attrs.update(self.view.frame.attrs)
        else:
            frame = pd.DataFrame(self.pager.view(), columns=list(self.pager.columns))
        return export(frame, path, overwrite=overwrite)

    def _export(self) -> None:
        self.message.value = line("ok", str(self.export(self.file.value)))

    def guard(self, act: Callable[[], Any]) -> None:
        """Do what a widget asks for, and show what goes wrong."""
        self.message.value = ""
        try:
            act()
        except WorkbenchError as error:
            self.message.value = f'<div role="alert">{rendering.html(error)}</div>'
        except (OSError, ValueError) as error:  # the file exists, the folder does not, or the extension is unknown
            self.message.value = line("problem", rendering.plain(str(error)))


class RewardsTab(Tab):
    """The rewards of one user, by id, type and time, and a chart of them."""

    def _inputs(self) -> list[Any]:
        users = [one["id"] for one in views.guide(self._api).get("rewards_users", ())]
        self.user = ipywidgets.Combobox(options=users, description="User ID", placeholder="UUID of a user")
        options = [("Earned and redeemed", ""), *((str(one), str(one)) for one in RewardType)]
        self.type = ipywidgets.Dropdown(options=options, value="", description="Type")
        self.since = ipywidgets.Text(description="Since", placeholder="2026-01-31")
        self.until = ipywidgets.Text(description="Until", placeholder="2026-02-28")
        for name in ("user", "type", "since", "until"):
            getattr(self, name).add_class(f"wb-{name}")
        read = button("Read rewards", self.read, "wb-read")
        read.button_style = "primary"
        draw = button("Plot points", lambda: self.guard(self.draw), "wb-draw")
        self.picture = ipywidgets.VBox().add_class("wb-chart")
        return [row(self.user, self.type, self.since, self.until, read, draw), self.picture]

    def load(self) -> None:
        """Read nothing: the rewards of a user are read once one is named."""

    def _load(self) -> View:
        refuse_private_key(self.user.value, "userId")
        filters: dict[str, Any] = {"type": self.type.value or None}
        for name, box in (("since", self.since), ("until", self.until)):
            if box.value:
                filters[name] = _day(name, box.value)
        return views.rewards(self._api, self.user.value, **filters)

    def draw(self) -> None:
        """Plot the points that were read."""
        from workbench.charts import points_chart

        if self.view is None or self.view.frame is None:
            raise InvalidRequest("read the rewards of a user first", of="draw")
        data = BytesIO()
        figure: Any = points_chart(self.view.frame).figure
        figure.savefig(data, format="png", dpi=110)
        picture = ipywidgets.Image(value=data.getvalue(), format="png").add_class("wb-picture")
        picture.layout.max_width = "min(100%, 720px)"
        old, self.picture.children = self.picture.children, (picture,)
        close(*old)


def _day(name: str, text: str) -> datetime:
    if ISO_DAY.fullmatch(text):
        try:
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
        except ValueError:
            pass
    raise InvalidRequest([Problem(name, "date", "must be a calendar date written YYYY-MM-DD")], of="rewards")
