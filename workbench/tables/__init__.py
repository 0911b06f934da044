"""Records to DataFrames: typed, exact, masked, with the caveats in `attrs`.

`wb.to_frame` makes frames, `wb.export` writes them, `wb.rewards.read` and `wb.events.read` read at any size.
"""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.tables.frames import Saved as Saved
    from workbench.tables.frames import export as export
    from workbench.tables.frames import load as load
    from workbench.tables.frames import to_frame as to_frame
    from workbench.tables.rows import cumsum as cumsum

_NAMES = {
    "Saved": "workbench.tables.frames",
    "cumsum": "workbench.tables.rows",
    "export": "workbench.tables.frames",
    "load": "workbench.tables.frames",
    "to_frame": "workbench.tables.frames",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
