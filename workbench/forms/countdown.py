"""How long a withdrawal's signature still lives, said anew each second until it does not."""

from collections.abc import Callable
from typing import Any

import ipywidgets

from workbench.forms import style
from workbench.forms.still import Cancellable, StaticView, after, below, bundle
from workbench.rendering.markup import isolated
from workbench.withdrawals.withdrawal import Withdrawal


class Countdown:
    """A withdrawal with its time running. It shows what `withdrawal` shows, and never the signature."""

    def __init__(
        self, withdrawal: Withdrawal, *, later: Callable[[float, Callable[[], None]], Cancellable] = after
    ) -> None:
        self._withdrawal = withdrawal
        self._later = later
        self._timer: Cancellable | None = None
        self._still = StaticView()
        self._left = ipywidgets.HTML().add_class("wb-countdown")
        self._face = ipywidgets.HTML(self.html)
        self.widget = ipywidgets.VBox([style.sheet(), self._still.rule, self._left, self._face]).add_class("wb-room")
        self._tick()

    def _tick(self) -> None:
        over = self._withdrawal.expired
        look = "wb-problem" if over else "wb-words"
        self._left.value = f'<div class="{look}" role="timer">{isolated(self._withdrawal.countdown())}</div>'
        if over or self._withdrawal.remaining() is None:
            self._timer = None
            self._face.value = self.html  # an expired signature is dropped, and says so
        else:
            self._timer = self._later(1.0, self._tick)

    @property
    def running(self) -> bool:
        """Whether the time still runs."""
        return self._timer is not None

    def close(self) -> None:
        """Stop, and close the widgets."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for widget in below(self.widget):
            widget.close()

    @property
    def html(self) -> str:
        """The withdrawal as static HTML."""
        return self._withdrawal._repr_html_()

    def _ipython_display_(self) -> None:
        self._still.display(self.widget, self.html, str(self._withdrawal))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.widget, self.html, str(self._withdrawal))


def countdown(withdrawal: Withdrawal) -> Countdown:
    """Show a withdrawal with its time running."""
    return Countdown(withdrawal)
