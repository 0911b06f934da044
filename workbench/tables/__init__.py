"""Records to DataFrames: typed, exact, masked, with what a reader must know of them in `attrs`.

`wb.to_frame` makes tables, `wb.export` saves them, `wb.rewards.read` and `wb.events.read` read at any size.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.tables.bodies import Body as Body
    from workbench.tables.bodies import load_bodies as load_bodies
    from workbench.tables.bodies import typed as typed
    from workbench.tables.cluster import ClusterRewards as ClusterRewards
    from workbench.tables.contracts import contract_totals as contract_totals
    from workbench.tables.contracts import contract_values as contract_values
    from workbench.tables.decimals import added as added
    from workbench.tables.decimals import cumulated as cumulated
    from workbench.tables.decimals import divided as divided
    from workbench.tables.decimals import floats as floats
    from workbench.tables.decimals import grouped as grouped
    from workbench.tables.decimals import mean as mean
    from workbench.tables.decimals import multiplied as multiplied
    from workbench.tables.decimals import quantile as quantile
    from workbench.tables.decimals import resampled as resampled
    from workbench.tables.decimals import subtracted as subtracted
    from workbench.tables.decimals import total as total
    from workbench.tables.described import describe as describe
    from workbench.tables.event_logs import Events as Events
    from workbench.tables.event_logs import read as read_events  # noqa: F401
    from workbench.tables.exports import Saved as Saved
    from workbench.tables.exports import export as export
    from workbench.tables.exports import file_name as file_name
    from workbench.tables.frames import register as register
    from workbench.tables.frames import to_frame as to_frame
    from workbench.tables.histories import micro_deposits as micro_deposits
    from workbench.tables.histories import reasons as reasons
    from workbench.tables.histories import status_history as status_history
    from workbench.tables.histories import time_in_status as time_in_status
    from workbench.tables.progress import Progress as Progress
    from workbench.tables.reads import Rewards as Rewards
    from workbench.tables.reads import read_rewards as read_rewards
    from workbench.tables.rewards_frames import rewards_from_pages as rewards_from_pages

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
