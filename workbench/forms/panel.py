"""One panel over everything there is: a tab for each resource, rows that open to their card, events and request."""

from collections.abc import Callable
from datetime import UTC, datetime
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import ipywidgets

from workbench import faces
from workbench.chains import refuse_private_key
from workbench.client.calls import Calls
from workbench.client.client import AsyncClient
from workbench.errors import InvalidArguments, InvalidRequest, Problem, WorkbenchError
from workbench.faces.markup import isolated
from workbench.forms import style, views
from workbench.forms.answers import folded
from workbench.forms.known import events_about, guide, made_by
from workbench.forms.pager import Pager
from workbench.forms.rows import View, thing_of
from workbench.forms.still import Still, below, bundle
from workbench.forms.views import VIEWS
from workbench.interface.rules import ISO_DAY, RewardType
from workbench.sequences import Sequence

_ORDER = (
    "contracts", "users", "payment accounts", "disputes", "rewards", "transactions", "sequences", "events", "deliveries",
    "journal", "assumptions",
)  # fmt: skip
_STILL = 20  # rows of the first tab in the static face


def browse(api: Any) -> "Panel":
    """Give a panel over all that this client can see and this session knows. It reads; nothing it does has an effect."""
    return Panel(api)


class Panel:
    """Tabs, each read when it is first opened. From code: `panel.open("users")`, `panel.tabs["users"].pager`."""

    def __init__(self, api: Any) -> None:
        if not isinstance(api, Calls) or isinstance(api, AsyncClient):
            raise InvalidArguments("browse() takes a Client or a session", of="browse")
        self._api: Any = api
        self.tabs = {name: (Rewards if name == "rewards" else Tab)(api, name) for name in _ORDER}
        info = api.info()
        where = info["environment"]
        head = ipywidgets.HTML(
            f'<div><strong>What there is</strong> <span class="wb-where wb-where-{where}">{where.upper()}</span> '
            f'<span class="wb-quiet">{isolated(info["host"])} · key {escape(info["key_fingerprint"])}</span></div>'
        ).add_class("wb-head")
        titles = [name.capitalize() for name in _ORDER]
        self._tab = ipywidgets.Tab([tab.widget for tab in self.tabs.values()], titles=titles)
        self._tab.observe(self._selected, "selected_index")
        self._still = Still()
        self.widget = ipywidgets.VBox([style.sheet(), self._still.rule, head, self._tab])
        self.widget.add_class("wb-room").add_class("wb-browse")
        if where == "production":
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

    def _selected(self, change: Any) -> None:
        if change["new"] is not None:
            self.tabs[_ORDER[change["new"]]].load()

    def close(self) -> None:
        """Close every widget."""
        for widget in below(self.widget):
            widget.close()

    @property
    def html(self) -> str:
        """The tabs read so far as static HTML, for viewers without widgets."""
        parts = []
        for name, tab in self.tabs.items():
            if tab.view is not None and tab.view.rows:
                rows = [dict(zip(tab.view.columns, row, strict=True)) for row in tab.view.rows]
                parts.append(f"<div><strong>{escape(name)}</strong></div>{faces.html_table(rows, limit=_STILL)}")
        info = self._api.info()
        return f"<div>{escape(info['environment'].upper())} {isolated(info['host'])}</div>{''.join(parts)}"

    def _ipython_display_(self) -> None:
        self._still.display(self.widget, self.html, repr(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.widget, self.html, repr(self))

    def __repr__(self) -> str:
        read = ", ".join(f"{name} {len(tab.view.rows):,}" for name, tab in self.tabs.items() if tab.view is not None)
        return f"<panel on {self._api.environment}: {read or 'nothing read yet'}>"


class Tab:
    """One resource: its rows on pages, what the opened row is, and an export of the view."""

    def __init__(self, api: Any, name: str) -> None:
        self.name = name
        self.view: View | None = None
        self.pager: Pager | None = None
        self._api: Any = api
        self._tried = False
        self._said = ipywidgets.HTML().add_class("wb-said")
        self._table = ipywidgets.VBox()
        self._detail = ipywidgets.HTML().add_class("wb-detail")
        again = ipywidgets.Button(description="Read again").add_class("wb-again")
        again.on_click(lambda _: self.read())
        self._file = ipywidgets.Text(value=f"{name.replace(' ', '-')}.csv", description="File").add_class("wb-file")
        save = ipywidgets.Button(description="Export this view", tooltip="As .csv, .xlsx or .parquet")
        save.add_class("wb-export").on_click(lambda _: self._guard(self._export))
        self._actions = ipywidgets.HBox([again, self._file, save]).add_class("wb-row-actions")
        self.widget = ipywidgets.VBox([*self._before(), self._actions, self._said, self._table, self._detail])
        self.widget.add_class(f"wb-tab-{name.replace(' ', '-')}")

    def _before(self) -> list[Any]:
        return []

    def load(self) -> None:
        """Read it, if it was not read before."""
        if not self._tried:
            self.read()

    def read(self) -> None:
        """Read it; what goes wrong is shown here."""
        self._tried = True
        self._guard(lambda: self.show(VIEWS[self.name](self._api)))

    def show(self, view: View) -> None:
        """Show a view."""
        self.view = view
        if self.pager is not None:
            self.pager.close()
        self.pager = Pager(view.columns, view.rows, opened=self.opened)
        self._table.children = [self.pager.widget]
        self._detail.value = ""
        notes = "".join(f'<div class="wb-quiet">{isolated(note)}</div>' for note in view.notes[:8])
        self._said.value = notes if view.rows else notes + '<div class="wb-quiet">Nothing is known here yet.</div>'

    def opened(self, number: int) -> None:
        """Show what a row is, the events about it, and the requests that made or changed it."""
        if self.view is None:
            return
        thing, key = thing_of(self.view.things[number]), self.view.ids[number]
        if isinstance(thing, Sequence):
            face = f"<pre>{escape(thing.to_toml())}</pre>"
        else:
            face = faces.html(thing)
        events = events_about(self._api, key)
        calls = made_by(self._api, key)
        parts = [f'<div class="wb-card">{face}</div>']
        if events:
            parts.append(f"<div><strong>Events about it: {len(events):,}</strong></div>{folded(events[-20:])}")
        if calls:
            rows = [
                {"started": one.started, "end": str(one.end), "what": one.what, "id": one.id} for one in calls[-20:]
            ]
            parts.append(f"<div><strong>Requests that name it: {len(calls):,}</strong></div>{faces.html_table(rows)}")
        self._detail.value = "".join(parts)

    def export(self, path: str | Path, *, overwrite: bool = False) -> Any:
        """Write the rows that pass the filter, in the order shown, to a .csv, .xlsx or .parquet file."""
        import pandas as pd

        from workbench.tables.exports import save

        if self.view is None or self.pager is None:
            raise InvalidRequest("nothing was read yet", of="export")
        if self.view.frame is not None:
            frame = self.view.frame.iloc[self.pager.order]
            frame.attrs.update(self.view.frame.attrs)
        else:
            frame = pd.DataFrame(self.pager.view(), columns=list(self.pager.columns))
        return save(frame, path, overwrite=overwrite)

    def _export(self) -> None:
        saved = self.export(self._file.value)
        self._said.value = f'<div class="wb-words">✓ {isolated(str(saved))}</div>'

    def _guard(self, act: Callable[[], Any]) -> None:
        self._said.value = ""
        try:
            act()
        except WorkbenchError as error:
            self._said.value = f'<div role="alert">{faces.html(error)}</div>'
        except (OSError, ValueError) as error:  # a file that exists, a folder that does not, an unknown ending
            self._said.value = f'<div class="wb-problem" role="alert">✗ {isolated(faces.plain(str(error)))}</div>'


class Rewards(Tab):
    """The rewards of one user: asked for by id, type and time, drawn as a chart."""

    def _before(self) -> list[Any]:
        known = [one["id"] for one in guide(self._api).get("rewards_users", ())]
        self.user = ipywidgets.Combobox(
            options=known, description="User id", placeholder="a user's id", ensure_option=False
        )
        options = [("earned and redeemed", ""), *((str(one), str(one)) for one in RewardType)]
        self.type = ipywidgets.Dropdown(options=options, value="", description="Type")
        self.since = ipywidgets.Text(description="Since", placeholder="2026-01-31")
        self.until = ipywidgets.Text(description="Until", placeholder="2026-02-28")
        ask = ipywidgets.Button(description="Read rewards", button_style="primary").add_class("wb-read")
        ask.on_click(lambda _: self.read())
        draw = ipywidgets.Button(description="Draw points over time").add_class("wb-draw")
        draw.on_click(lambda _: self._guard(self.draw))
        self.picture = ipywidgets.VBox().add_class("wb-chart")
        for widget, name in (
            (self.user, "wb-user"),
            (self.type, "wb-type"),
            (self.since, "wb-since"),
            (self.until, "wb-until"),
        ):
            widget.add_class(name)
        asked = ipywidgets.HBox([self.user, self.type, self.since, self.until, ask, draw]).add_class("wb-row-actions")
        return [asked, self.picture]

    def load(self) -> None:
        """Read nothing before a user was named."""

    def read(self) -> None:
        """Read the rewards of the user that was named."""
        self._guard(self._read)

    def _read(self) -> None:
        refuse_private_key(self.user.value, "userId")
        asked: dict[str, Any] = {"type": self.type.value or None}
        for name, widget in (("since", self.since), ("until", self.until)):
            if widget.value:
                asked[name] = _day(name, widget.value)
        self.show(views.rewards(self._api, self.user.value, **asked))

    def draw(self) -> None:
        """Draw the points of what was read."""
        from workbench.charts import points_chart

        if self.view is None or self.view.frame is None:
            raise InvalidRequest("read the rewards of a user first", of="draw")
        data = BytesIO()
        figure: Any = points_chart(self.view.frame).figure
        figure.savefig(data, format="png", dpi=110)
        picture = ipywidgets.Image(value=data.getvalue(), format="png").add_class("wb-picture")
        picture.layout.max_width = "min(100%, 720px)"
        old, self.picture.children = self.picture.children, (picture,)
        for widget in old:
            widget.close()


def _day(name: str, text: str) -> datetime:
    if ISO_DAY.fullmatch(text):
        try:
            return datetime.fromisoformat(text).replace(tzinfo=UTC)
        except ValueError:
            pass
    raise InvalidRequest([Problem(name, "date", "must be a day of the calendar written YYYY-MM-DD")], of="rewards")
