"""Convert records to typed, exact and masked DataFrames, with caveats in `attrs`.

`wb.to_frame` makes frames and `wb.to_file` writes them. `wb.rewards.fetch` and `wb.events.read_log` read at any size.
"""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.analysis.tables.rows import cumsum as cumsum

_NAMES = {
    "cumsum": "workbench.analysis.tables.rows",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
