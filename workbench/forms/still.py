"""A widget with static HTML beside it: where the widget is alive the HTML is hidden, elsewhere it is what one sees.

A notebook that is opened again has outputs and no widgets. The rule that hides the HTML is part of the live widget, so it
is gone when the widget is.
"""

import asyncio
import secrets
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import ipywidgets


class Cancellable(Protocol):
    """Something that was put off."""

    def cancel(self) -> Any:
        """Do not do it."""


def after(seconds: float, act: Callable[[], None]) -> Cancellable:
    """Do something later: on the running loop of a kernel, or in a thread."""
    try:
        return asyncio.get_running_loop().call_later(seconds, act)
    except RuntimeError:
        timer = threading.Timer(seconds, act)
        timer.daemon = True
        timer.start()
        return timer


class StaticView:
    """The static HTML of one widget on one page."""

    def __init__(self) -> None:
        self._name = f"wb-still-{secrets.token_hex(6)}"
        self.rule = ipywidgets.HTML(f"<style>.{self._name} {{ display: none; }}</style>")
        self.rule.layout.height = "0"
        self._handles: list[Any] = []

    def display(self, widget: Any, html: str, plain: str) -> None:
        """Show the HTML and the widget, each as an output of its own."""
        import IPython.display

        show: Any = IPython.display.display
        self._handles.append(show(self._bundle(html, plain), raw=True, display_id=True))
        show({**widget._repr_mimebundle_(), "text/plain": plain}, raw=True)

    def update(self, html: str, plain: str) -> None:
        """Put other HTML in its place, as the answer that came."""
        for handle in self._handles:
            handle.update(self._bundle(html, plain), raw=True)

    def _bundle(self, html: str, plain: str) -> dict[str, str]:
        return {"text/html": f'<div class="{self._name}">{html}</div>', "text/plain": plain}


def bundle(widget: Any, html: str, plain: str) -> dict[str, Any]:
    """Return a widget, its static HTML and its plain text as one output."""
    return {**widget._repr_mimebundle_(), "text/html": html, "text/plain": plain}


def shell() -> Any:
    """Return the IPython this runs in, or None."""
    module = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()


def below(widget: Any) -> list[Any]:
    """Return a widget and all below it."""
    found = [widget]
    for one in found:
        found.extend(child for child in getattr(one, "children", ()))
    return found


SETTLED = 2.0  # seconds after which a browser has surely met a widget


def close_soon(widgets: Sequence[Any]) -> None:
    """Close widgets: at once where nobody looks, in a kernel once the browser has met them.

    A widget closed while its parent is still on the way leaves the parent without a view. Their values are cleared
    before, so nothing private waits.
    """

    def close() -> None:
        for widget in widgets:
            widget.close()

    if shell() is None:
        close()
    else:
        after(SETTLED, close)
