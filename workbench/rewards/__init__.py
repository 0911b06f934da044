"""Rewards activity of many users, read into DataFrames.

rewards = wb.rewards.fetch(api, users)
rewards.frame()
"""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.rewards.read_result import Rewards as Rewards
    from workbench.rewards.reading import fetch as fetch

_NAMES = {
    "Rewards": "workbench.rewards.read_result",
    "fetch": "workbench.rewards.reading",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
