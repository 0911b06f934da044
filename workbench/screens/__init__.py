"""Forms and the panel."""

from __future__ import annotations

from workbench.base.lazy import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PANES: dict[str, Callable[[Any], Any]] = {}
"""Functions of packages above, by the label of a button of the panel: each returns what opens for a session."""
