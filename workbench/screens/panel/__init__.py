"""Notebook panels: browse the data of a session, and run background tasks with progress."""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.screens.panel.background import bulk_panel as bulk
    from workbench.screens.panel.background import countdown as countdown
    from workbench.screens.panel.background import rewards_panel as rewards
    from workbench.screens.panel.background import sequence_panel as sequence

    __all__ = ["bulk", "rewards", "sequence"]  # modules of these functions have other names

_NAMES = {
    "bulk": "workbench.screens.panel.background:bulk_panel",
    "countdown": "workbench.screens.panel.background",
    "rewards": "workbench.screens.panel.background:rewards_panel",
    "sequence": "workbench.screens.panel.background:sequence_panel",
}

if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
