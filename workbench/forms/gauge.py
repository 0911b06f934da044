"""How far long work has come, on a page: a bar, words, what came of it, and the buttons Stop and Go on."""

from collections.abc import Callable
from typing import Any

import ipywidgets

from workbench.forms import style
from workbench.forms.heads import headline
from workbench.forms.still import StaticView, below
from workbench.rendering.markup import isolated


class ProgressWidget:
    """The widgets of one piece of long work. It shows what it is told; stopping and going on are its owner's.

    Args:
        title: What the work is.
        api: Whose environment and key it names.
        stop: Called when Stop is pressed, in whatever thread the kernel hears it.
        resume: Called when Go on is pressed.
    """

    def __init__(self, title: str, api: Any, *, stop: Callable[[], None], resume: Callable[[], None]) -> None:
        self.bar = ipywidgets.IntProgress(min=0, max=1, value=0, layout=ipywidgets.Layout(width="100%"))
        self.said = ipywidgets.HTML().add_class("wb-progress")
        self.stopper = _button("Stop", "Starts nothing new and keeps what is done", "wb-stop", stop)
        self.goer = _button("Go on", "Goes on where it stopped", "wb-resume", resume)
        self.face = ipywidgets.HTML().add_class("wb-result")
        self.head = headline(title, api)
        head = ipywidgets.HTML(self.head).add_class("wb-head")
        self._buttons = ipywidgets.HBox([self.stopper, self.goer]).add_class("wb-row-actions")
        self._still = StaticView()
        self.widget = ipywidgets.VBox(
            [style.sheet(), self._still.rule, head, self.bar, self.said, self._buttons, self.face]
        )
        self.widget.add_class("wb-room").add_class("wb-work")
        if api.environment == "production":
            self.widget.add_class("wb-production")

    def tell(self, done: int, total: int, words: str) -> None:
        """Show how far it has come."""
        self.bar.max, self.bar.value = max(total, 1), done
        self.said.value = f'<span role="status">{isolated(words)}</span>'

    def offer(self, *, stop: bool, go: bool) -> None:
        """Show the buttons that do something now; none of them once nothing is left to do."""
        self.stopper.disabled, self.goer.disabled = not stop, not go
        for button in (self.stopper, self.goer):
            heard_at_once(button)

    def over(self) -> None:
        """Take the buttons away: all is done."""
        self._buttons.layout.display = "none"

    def result(self, html: str) -> None:
        """Show what came of it, here and where no widget lives."""
        self.face.value = html

    def display(self, html: str, plain: str) -> None:
        """Show it as the output of the running cell."""
        self._still.display(self.widget, self.head + html, plain)

    def update(self, html: str, plain: str) -> None:
        """Put what came of it where no widget lives."""
        self._still.update(self.head + html, plain)

    def close(self) -> None:
        """Close the widgets."""
        for widget in below(self.widget):
            widget.close()


def _button(words: str, tip: str, name: str, act: Callable[[], None]) -> Any:
    made = ipywidgets.Button(description=words, tooltip=tip).add_class(name)
    made.on_click(lambda _: act())
    heard_at_once(made)
    return made


def heard_at_once(widget: Any) -> None:
    """Let what a person does to a widget be heard while a cell runs.

    JupyterLab sends a widget's events to a subshell, a thread of the kernel beside the one that runs cells. ipykernel
    7.4 sends them instead to the thread that spoke last through this widget, which is the busy one for what a cell
    made; without its mark they go where the page sends them. A page that has no subshells is heard after the cell.
    """
    if widget.comm is not None:
        vars(widget.comm).pop("_reply_subshell_id", None)
