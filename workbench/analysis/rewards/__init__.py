"""Read the rewards activity of many users into DataFrames.

rewards = wb.rewards.fetch(api, users)
rewards.frame()
"""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.analysis.rewards.reading import fetch as fetch

_NAMES = {"fetch": "workbench.analysis.rewards.reading"}

if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
