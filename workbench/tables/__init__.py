"""Records to DataFrames: typed, exact, masked, with the caveats in `attrs`.

`wb.to_frame` makes frames, `wb.export` writes them, `wb.rewards.read` and `wb.events.read` read at any size.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.tables.analysis import applications as applications
    from workbench.tables.analysis import approvals as approvals
    from workbench.tables.analysis import cohorts as cohorts
    from workbench.tables.analysis import declines as declines
    from workbench.tables.analysis import deliveries as deliveries
    from workbench.tables.analysis import disputes as disputes
    from workbench.tables.analysis import movers as movers
    from workbench.tables.analysis import posting_times as posting_times
    from workbench.tables.analysis import spend as spend
    from workbench.tables.analysis import spend_funnel as spend_funnel
    from workbench.tables.event_logs import Events as Events
    from workbench.tables.events import transactions as transactions
    from workbench.tables.frames import Saved as Saved
    from workbench.tables.frames import export as export
    from workbench.tables.frames import load as load
    from workbench.tables.frames import to_frame as to_frame
    from workbench.tables.reports import contract_totals as contract_totals
    from workbench.tables.reports import contract_values as contract_values
    from workbench.tables.reports import micro_deposits as micro_deposits
    from workbench.tables.reports import reasons as reasons
    from workbench.tables.reports import record_balances as record_balances
    from workbench.tables.reports import status_history as status_history
    from workbench.tables.reports import time_in_status as time_in_status
    from workbench.tables.results import ClusterRewards as ClusterRewards
    from workbench.tables.results import Rewards as Rewards
    from workbench.tables.rewards_pages import rewards_from_pages as rewards_from_pages
    from workbench.tables.rows import cumsum as cumsum

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
