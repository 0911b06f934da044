"""Shared parts of widgets: static HTML, closing of widgets, and small pieces of markup."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets

from workbench.base.errors import WorkbenchError, visible
from workbench.base.system.private import release_from_thread
from workbench.base.system.progress import ipython_shell
from workbench.screens.scripts import FOCUS, bundle
from workbench.service.rendering.design import variables
from workbench.service.rendering.elements import isolated

CLOSE_DELAY = 2.0
"""Seconds within which a browser is assumed to have received a widget."""
_LINES = {
    "problem": ("problem", "✗ ", ' role="alert"'), "advice": ("advice", "! ", ""), "ok": ("ok", "✓ ", ' role="status"'),
    "words": ("ok", "= ", ""), "quiet": ("quiet", "", ""),
}  # fmt: skip
"""CSS class, leading mark and ARIA role of each kind of line."""


Later = Callable[[float, Callable[[], None]], Any]
"""Function that schedules a call after some seconds, and returns a handle with `cancel()`."""


def after(seconds: float, act: Callable[[], None]) -> Any:
    """Schedule a call on the running event loop of the kernel; without a loop, in a thread."""
    try:
        return asyncio.get_running_loop().call_later(seconds, act)
    except RuntimeError:
        timer = threading.Timer(seconds, act)
        timer.daemon = True
        timer.start()
        return timer


class Displayed:
    """Base of objects that a notebook shows as `widget`. Elsewhere they are shown as `html` or repr.

    A reopened notebook has outputs but no widgets. Therefore static HTML is stored in a separate output, hidden by a
    style rule of the live widget.
    """

    widget: Any
    _shown: tuple[Any, ...] = ()

    @property
    def html(self) -> str:
        """Return the current state as static HTML."""
        raise NotImplementedError

    @property
    def saved(self) -> str:
        """Return the HTML that a saved notebook contains."""
        return self.html

    def update_static(self) -> None:
        """Show the current state as static HTML where no widget is live."""
        for shown in self._shown:
            shown.update(self._static(), raw=True)

    def _ipython_display_(self) -> None:
        import IPython.display

        show: Callable[..., Any] = IPython.display.display
        self._shown = (*self._shown, show(self._static(), raw=True, display_id=True))
        show({**self._view(), "text/plain": repr(self)}, raw=True)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {**self._view(), "text/html": self.html, "text/plain": repr(self)}

    def _view(self) -> dict[str, Any]:
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
        return {"application/vnd.jupyter.widget-view+json": view}

    def _static(self) -> dict[str, str]:
        # Without a kernel, the output below shows JupyterLab's message that no model was found, or its broken icon if
        # the widget's state was saved. The rule hides both.
        name = static_class(self.widget)
        below = f".jp-OutputArea-child:has(.{name}) + *"
        empty = f"{below} > .jp-OutputArea-output.jupyter-widgets:not(:has(*))"
        rule = f"<style>{empty}, {below} .jupyter-widgets-error-widget {{ display: none; }}</style>"
        return {"text/html": f'{rule}<div class="{name}">{self.saved}</div>', "text/plain": repr(self)}


def static_class(widget: Any) -> str:
    """Return the CSS class of a widget's static HTML."""
    return f"wb-static-{widget.model_id}"


@cache
def css(name: str, below: str) -> str:
    """Return a style sheet of this package by name. It includes the design tokens, and is scoped to a selector."""
    return variables(below) + (Path(__file__).parents[1] / name).with_suffix(".css").read_text(encoding="utf-8")


class Frame(anywidget.AnyWidget):
    """Widget that adds the style sheet of a form, and page code that preserves the keyboard focus."""

    _esm = bundle(FOCUS, FOCUS.with_name("frame.js"))
    _css = css("forms/forms", ".wb-root")


def root(*children: object, name: str, api: Any = None) -> Any:
    """Return the outermost widget, which contains a `Frame` and the children."""
    widget = ipywidgets.VBox().add_class("wb-root").add_class(name)
    widget.add_class(f"hides-{static_class(widget)}").children = (Frame(), *children)
    return widget.add_class("wb-production") if api is not None and api.environment == "production" else widget


class Quiet:
    """Base of objects that set widget values without triggering the observers for changes by a person."""

    setting = False
    """Whether code is setting values now."""

    def on_change(self, widget: Any, act: Callable[[Any], None]) -> None:
        """Call a function with each value that a person enters in a widget."""
        in_order(widget).observe(lambda change: None if self.setting else act(change["new"]), "value")

    def checkbox(self, label: str, act: Callable[[bool], Any], name: str) -> Any:
        """Return a checkbox with the CSS class `name` that calls `act` with each new value."""
        box = ipywidgets.Checkbox(indent=False, description=label).add_class(name)
        self.on_change(box, act)
        return box

    @contextmanager
    def quietly(self) -> Iterator[None]:
        """Set values within a `with` block without triggering observers."""
        self.setting = True
        try:
            yield
        finally:
            self.setting = False


def what_went_wrong(error: Exception) -> str:
    """Return the text to show for an error, such as an existing file, a missing folder, or an error of this package."""
    if isinstance(error, WorkbenchError | OSError | ValueError):
        return visible(str(error), 600)
    return f"unexpected {type(error).__name__}: an internal error of the workbench"


def close(*widgets: Any) -> None:
    """Close widgets and their descendants, with the layout and style models of each widget."""
    for widget in widgets:
        for model in (getattr(widget, "layout", None), getattr(widget, "style", None), widget):
            if model is not None:
                model.close()
        close(*getattr(widget, "children", ()))


def close_soon(widgets: Sequence[Any]) -> None:
    """Close widgets: immediately outside a notebook; in a kernel, after the browser has received the widgets.

    A widget closed while its parent is still being sent leaves the parent without a view. Clear private values first,
    because they must not remain until then.
    """
    if ipython_shell() is None:
        close(*widgets)
    else:
        after(CLOSE_DELAY, lambda: close(*widgets))


def in_order(widget: Any) -> Any:
    """Return a widget whose events are processed in page order, even while a cell runs.

    JupyterLab sends the events of all widgets to one subshell, a kernel thread next to the one that runs cells.
    ipykernel 7.4 instead routes the events of each widget to the thread that last sent something through it: a click on
    a button could overtake the edit before it and send the old value.
    """
    release_from_thread(widget.comm)
    return widget


def button(text: str, act: Callable[[], Any], name: str = "", tooltip: str = "") -> Any:
    """Return a button with the CSS class `name` that calls `act` when it is clicked."""
    button = in_order(ipywidgets.Button(description=text, tooltip=tooltip or text))
    if name:
        button.add_class(name)
    button.on_click(lambda _: act())
    return button


def row(*children: object) -> Any:
    """Return widgets side by side. They wrap if the page is narrow."""
    return ipywidgets.HBox(list(children)).add_class("wb-row-actions")


def line(kind: str, text: str) -> str:
    """Return one line of text as HTML.

    Args:
        kind: "problem", "advice", "ok", "words" (the readable value) or "quiet".
        text: Text to show. It is escaped.
    """
    name, mark, role = _LINES[kind]
    return f'<div class="wb-{name}"{role}>{mark}<bdi>{escape(visible(text, 400))}</bdi></div>'


def headline(title: str, api: Any) -> str:
    """Return the head of a widget: title, environment, host and key fingerprint."""
    info = api.info()
    where = info["environment"]
    return (
        f"<div><strong>{escape(title)}</strong> "
        f'<span class="wb-where wb-where-{escape(where)}">{escape(where.upper())}</span> '
        f'<span class="wb-quiet">{isolated(info["host"])} · key {escape(info["key_fingerprint"])}</span></div>'
    )


def css_name(name: str) -> str:
    """Return the CSS class of a path or name."""
    return f"wb-{name.replace('.', '-').replace('_', '-').replace(' ', '-')}"
