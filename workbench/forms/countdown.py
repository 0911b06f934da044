"""The remaining time of a withdrawal's signature, updated every second."""

import ipywidgets

from workbench.forms.widgets import Cancellable, Displayed, Later, StaticView, after, close, line, root
from workbench.withdrawals.withdrawal import Withdrawal


class Countdown(Displayed):
    """A withdrawal with its remaining time. It shows what `withdrawal` shows, and never the signature."""

    def __init__(self, withdrawal: Withdrawal, *, later: Later = after) -> None:
        self._withdrawal = withdrawal
        self._later = later
        self._timer: Cancellable | None = None
        self.left = ipywidgets.HTML().add_class("wb-countdown")
        self._card = ipywidgets.HTML(self.html)
        self.static = StaticView()
        self.widget = root(self.static, self.left, self._card, name="wb-withdrawal")
        self._tick()

    def _tick(self) -> None:
        expired = self._withdrawal.expired
        self.left.value = line("problem" if expired else "timer", self._withdrawal.countdown())
        if expired or self._withdrawal.remaining() is None:
            self._timer = None
            self._card.value = self.html  # an expired signature is dropped
        else:
            self._timer = self._later(1.0, self._tick)

    @property
    def running(self) -> bool:
        """Whether time is left."""
        return self._timer is not None

    def close(self) -> None:
        """Stop, and close the widgets."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        close(self.widget)

    @property
    def html(self) -> str:
        """The withdrawal as static HTML."""
        return self._withdrawal._repr_html_()

    def __repr__(self) -> str:
        return str(self._withdrawal)


def countdown(withdrawal: Withdrawal) -> Countdown:
    """Show a withdrawal with the remaining time of its signature."""
    return Countdown(withdrawal)
