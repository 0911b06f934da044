"""Rewards activity: reads of any size into frames.

rewards = wb.rewards.read(api, users)
rewards.frame()
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.forms.work import rewards_panel as panel
    from workbench.tables.reports import liability as liability
    from workbench.tables.reports import outstanding as outstanding
    from workbench.tables.rewards import read as read

    __all__ = ["panel"]  # which has another name where it is

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
