"""Forms and the panel."""

from __future__ import annotations

from workbench.base.lazy import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PANES: dict[str, Callable[[Any], Any]] = {}
"""Functions that other packages register, by the label of a button in the panel; each returns an object to open."""
