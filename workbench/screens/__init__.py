"""Forms and the panel."""

from __future__ import annotations

from workbench.base.lazy import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PANES: dict[str, Callable[[Any], Any]] = {}
"""Functions of higher packages by the label of their button in the panel; each returns an object to open."""
