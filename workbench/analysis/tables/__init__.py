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

if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
