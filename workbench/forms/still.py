"""A widget with static HTML beside it: where the widget is alive the HTML is hidden, elsewhere it is what one sees.

A notebook that is opened again has outputs and no widgets. The rule that hides the HTML is part of the live widget, so it
is gone when the widget is.
"""

import secrets
import sys
from typing import Any

import ipywidgets


class Still:
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
    """Give a widget, its static HTML and its plain text as one output."""
    return {**widget._repr_mimebundle_(), "text/html": html, "text/plain": plain}


def shell() -> Any:
    """Give the IPython this runs in, or None."""
    module = sys.modules.get("IPython")
    return None if module is None else module.get_ipython()


def below(widget: Any) -> list[Any]:
    """Give a widget and all below it."""
    found = [widget]
    for one in found:
        found.extend(child for child in getattr(one, "children", ()))
    return found
