"""Many calls: bulk writes that lose and double nothing, with their plan, their ends, and how to go on.

applied = wb.apply(api.create_user_application, "people.csv", path="people.run")
applied.ok, applied.verdict, wb.frame(applied)
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.runs.ends import Outcome, RunChanged
    from workbench.runs.hold import Held
    from workbench.runs.plan import Plan
    from workbench.runs.progress import Interrupted
    from workbench.runs.sending import Applied, apply, resume

_HOMES: Mapping[str, str] = {
    "Applied": "sending", "Held": "hold", "Interrupted": "progress", "Outcome": "ends", "Plan": "plan",
    "RunChanged": "ends", "apply": "sending", "resume": "sending",
}  # fmt: skip

__all__ = ["Applied", "Held", "Interrupted", "Outcome", "Plan", "RunChanged", "apply", "resume"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
