"""The list of frames and their columns in columns.md. `python -m tests.tables.listing` updates the file."""

from pathlib import Path

import pandas as pd

import workbench as wb
from workbench.analysis.tables.columns import layout_of
from workbench.analysis.tables.event_frames import events_layout
from workbench.analysis.tables.frames import to_frame
from workbench.service.interface.events import EVENT_KINDS
from workbench.service.interface.table import OPERATIONS

PAGE = Path(__file__).parent / "columns.md"
HEAD = ["# Frames and their columns", "", "Charts depend on these columns.", ""]


def _columns(frame: pd.DataFrame, private: frozenset[str] = frozenset()) -> str:
    groups: dict[str, list[str]] = {}
    for name, dtype in frame.dtypes.items():
        shown = str(dtype).replace("[pyarrow]", "")
        groups.setdefault(shown, []).append(f"`{name}`{' •' if name in private else ''}")
    return "; ".join(f"{', '.join(names)}: {dtype}" for dtype, names in groups.items())


def listing() -> list[str]:
    """Return the lines of the list. Frames with the same columns share a line."""
    shared: dict[tuple[str, str], list[str]] = {}
    for name, row in OPERATIONS.items():
        frame = to_frame([], of=name)
        of = layout_of(row.answer) if frame.attrs["kind"] != "rewards_item" else None
        private = frozenset(c.name for c in of.columns if c.private) if of else frozenset()
        shared.setdefault((frame.attrs["kind"], _columns(frame, private)), []).append(f"`api.{name}(…)`")
    for kind in EVENT_KINDS:
        private = frozenset(c.name for c in events_layout({kind}).columns if c.private)
        shared.setdefault(("event", _columns(to_frame([], of=kind), private)), []).append(f"events of kind `{kind}`")
    derived = {
        "contracts()": wb.history([]).contracts(),
        'contracts("chain_id")': wb.history([]).contracts("chain_id"),
        "status_history()": wb.history([]).status_history(),
        "time_in_status()": wb.history([]).time_in_status(),
        "transactions()": wb.history([]).transactions(),
    }
    for call, frame in derived.items():
        shared[frame.attrs["kind"], _columns(frame)] = [f"`history.{call}`"]
    lines = ["| Frame of | `attrs['kind']` | Columns: dtype (• masked unless revealed) |", "|---|---|---|"]
    return [
        *lines,
        *(f"| {', '.join(sources)} | `{kind}` | {columns} |" for (kind, columns), sources in shared.items()),
    ]


if __name__ == "__main__":
    PAGE.write_text("\n".join([*HEAD, *listing(), ""]), encoding="utf-8")
