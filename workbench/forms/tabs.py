"""A tab of a panel: rows on pages, what the opened row is and what one may do with it, and an export of the view."""

from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets

from workbench import rendering
from workbench.errors import InvalidRequest, WorkbenchError
from workbench.forms.answers import folded
from workbench.forms.doing import ActionPanel
from workbench.forms.known import events_about, made_by
from workbench.forms.pager import Pager
from workbench.forms.rows import View, thing_of
from workbench.forms.script import Script
from workbench.forms.views import VIEWS
from workbench.interface import walk
from workbench.rendering.markup import isolated
from workbench.sequences import Sequence


class Tab:
    """One resource: its rows on pages, what the opened row is, what one may do, and an export of the view.

    Args:
        script: Where forms that are opened here add their steps.
        visit: Shows the rewards of a user.
    """

    def __init__(self, api: Any, name: str, script: Script, visit: Callable[[str], None]) -> None:
        self.name = name
        self.view: View | None = None
        self.pager: Pager | None = None
        self._api: Any = api
        self._tried = False
        self._shown: str | None = None  # the id of the row that is open
        self.doing = ActionPanel(api, name, script, done=self._again, visit=visit)
        self._said = ipywidgets.HTML().add_class("wb-said")
        self._table = ipywidgets.VBox()
        self._detail = ipywidgets.HTML().add_class("wb-detail")
        again = ipywidgets.Button(description="Read again").add_class("wb-again")
        again.on_click(lambda _: self.read())
        self._file = ipywidgets.Text(value=f"{name.replace(' ', '-')}.csv", description="File").add_class("wb-file")
        save = ipywidgets.Button(description="Export this view", tooltip="As .csv, .xlsx or .parquet")
        save.add_class("wb-export").on_click(lambda _: self._guard(self._export))
        self._actions = ipywidgets.HBox([again, self._file, save]).add_class("wb-row-actions")
        self.widget = ipywidgets.VBox([
            *self._before(), self._actions, self.doing.of_tab, self._said, self._table, self.doing.of_row,
            self.doing.box, self._detail,
        ])  # fmt: skip
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

    def _again(self) -> None:
        """Read it after something was done here; the open row, the form and its answer stay."""
        self._guard(self._reread)

    def _reread(self) -> None:
        view, key, old = VIEWS[self.name](self._api), self._shown, self.pager
        self._put(view)
        if old is not None and self.pager is not None:
            self.pager.like(old)
        if key in view.ids:
            self._describe(view.ids.index(key))

    def show(self, view: View) -> None:
        """Show a view."""
        self._put(view)
        self._detail.value, self._shown = "", None
        self.doing.offer("", {})

    def _put(self, view: View) -> None:
        self.view = view
        if self.pager is not None:
            self.pager.close()
        self.pager = Pager(view.columns, view.rows, opened=self.opened)
        self._table.children = [self.pager.widget]
        notes = "".join(f'<div class="wb-quiet">{isolated(note)}</div>' for note in view.notes[:8])
        self._said.value = notes if view.rows else notes + '<div class="wb-quiet">Nothing is known here yet.</div>'

    def opened(self, number: int) -> None:
        """Show what a row is, the events about it, the requests that made or changed it, and what one may do."""
        if self.view is not None:
            self.doing.close()
            self._describe(number)

    def _describe(self, number: int) -> None:
        assert self.view is not None
        self._shown = self.view.ids[number]
        thing, key = thing_of(self.view.things[number]), self.view.ids[number]
        if isinstance(thing, Sequence):
            face = f"<pre>{escape(thing.to_toml())}</pre>"
        else:
            face = rendering.html(thing)
        self.doing.offer(key, {**_members(thing), **dict(zip(self.view.columns, self.view.rows[number], strict=True))})
        events = events_about(self._api, key)
        calls = made_by(self._api, key)
        parts = [f'<div class="wb-card">{face}</div>']
        if events:
            parts.append(f"<div><strong>Events about it: {len(events):,}</strong></div>{folded(events[-20:])}")
        if calls:
            rows = [
                {"started": one.started, "outcome": str(one.outcome), "what": one.what, "id": one.id}
                for one in calls[-20:]
            ]
            parts.append(
                f"<div><strong>Requests that name it: {len(calls):,}</strong></div>{rendering.html_table(rows)}"
            )
        self._detail.value = "".join(parts)

    def export(self, path: str | Path, *, overwrite: bool = False) -> Any:
        """Write the rows that pass the filter, in the order shown, to a .csv, .xlsx or .parquet file."""
        import pandas as pd

        if self.view is None or self.pager is None:
            raise InvalidRequest("nothing was read yet", of="export")
        if self.view.frame is not None:
            frame = self.view.frame.iloc[self.pager.order]
            frame.attrs.update(self.view.frame.attrs)
        else:
            frame = pd.DataFrame(self.pager.view(), columns=list(self.pager.columns))
        from workbench.tables.exports import export

        return export(frame, path, overwrite=overwrite)

    def close_form(self) -> None:
        """Close the form that is open here, if one is."""
        self.doing.close()

    def _export(self) -> None:
        saved = self.export(self._file.value)
        self._said.value = f'<div class="wb-words">✓ {isolated(str(saved))}</div>'

    def _guard(self, act: Callable[[], Any]) -> None:
        self._said.value = ""
        try:
            act()
        except WorkbenchError as error:
            self._said.value = f'<div role="alert">{rendering.html(error)}</div>'
        except (OSError, ValueError) as error:  # a file that exists, a folder that does not, an unknown ending
            self._said.value = f'<div class="wb-problem" role="alert">✗ {isolated(rendering.plain(str(error)))}</div>'


def _members(thing: Any) -> dict[str, Any]:
    """Return what a thing says of itself, by name."""
    if walk.is_record(thing):
        return {one.name: getattr(thing, one.name) for one in walk.members(type(thing))}
    return dict(thing) if isinstance(thing, Mapping) else {}
