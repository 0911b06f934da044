"""The box that arms an effect in production, in the form that would send it."""

from collections.abc import Callable
from typing import Any

import ipywidgets

from workbench import rendering


def arming_box(operation: str, arm: Callable[[Any, str], None]) -> Any:
    """Return the widgets; `arm` is called with the minutes, a number where they are one, and the reason."""
    reason = ipywidgets.Text(description="Why", placeholder="kept in the journal").add_class("wb-reason")
    minutes = ipywidgets.Text(value="10", description="Minutes").add_class("wb-minutes")
    button = ipywidgets.Button(description=f"Arm {rendering.label(operation)} in PRODUCTION")
    button.add_class("wb-arm").add_class("wb-send").add_class("wb-live")

    def pressed(_: Any) -> None:
        digits = minutes.value.isascii() and minutes.value.isdigit()
        arm(int(minutes.value) if digits else minutes.value, reason.value)

    button.on_click(pressed)
    words = "This has an effect in production. It can be sent only while it is armed."
    return ipywidgets.VBox([ipywidgets.HTML(f"<strong>{words}</strong>"), reason, minutes, button]).add_class(
        "wb-section"
    )
